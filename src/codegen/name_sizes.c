/* Before rendering: long expressions of sizes get names. */
#include "base/memory.h"
#include "codegen/c_text.h"

/* Nodes of an expression from which on it gets a name. */
enum { LONG = 8 };

typedef struct naming {
  hone_kernel_t* kernel;
  hone_dim_t part; /* whose value is being written: it stays */
  int n_names;
  hone_map_t names; /* expression -> symbol */
  bool failed;
} naming_t;

typedef struct search {
  const hone_kernel_t* kernel;
  bool found;
} search_t;

static void look_for_variable(void* self, const hone_symbol_t* symbol) {
  search_t* search = self;
  for (int i = 0; i < search->kernel->n_sizes; i++)
    if (hone_dim_as_symbol(search->kernel->sizes[i])->id == symbol->id) return;
  search->found = true;
}

static bool has_variables(const hone_kernel_t* kernel, hone_dim_t part) {
  search_t search = {.kernel = kernel};
  hone_dim_visit_symbols(part, look_for_variable, &search);
  return search.found;
}

static hone_dim_t name_part(void* self, hone_dim_t part);

/* Binds the part behind those that it is made of. */
static hone_dim_t bind(naming_t* naming, hone_dim_t part) {
  hone_kernel_t* kernel = naming->kernel;
  hone_dim_t outer = naming->part;
  naming->part = part;
  hone_dim_t value = hone_dim_rename(kernel->dims, part, name_part, naming);
  naming->part = outer;
  hone_stmt_t* let = hone_stmt_let(kernel, NULL, "size", hone_dim_min_value(part),
                                   hone_dim_max_value(part), hone_term_index(kernel, value));
  if (!let) return hone_dim_bad();
  hone_stmt_remove(let);
  bool ok = hone_stmt_insert(kernel, kernel->root, naming->n_names++, let);
  return ok ? let->var : hone_dim_bad();
}

static hone_dim_t name_part(void* self, hone_dim_t part) {
  naming_t* naming = self;
  if (hone_dim_same(part, naming->part) || hone_dim_size(part) < LONG) return part;
  const hone_expr_t* known = hone_map_get_u64(&naming->names, (uint64_t)(uintptr_t)part.expr);
  if (known) return (hone_dim_t){0, known};
  if (has_variables(naming->kernel, part)) return part;
  hone_dim_t name = bind(naming, part);
  hone_status_t status = hone_dim_is_bad(name) ? hone_oom() : NULL;
  if (!status)
    status = hone_map_put_u64(&naming->names, (uint64_t)(uintptr_t)part.expr,
                              (void*)(uintptr_t)name.expr);
  naming->failed |= status != NULL;
  hone_status_free(status);
  return name;
}

static bool name_in_buffer(naming_t* naming, hone_buffer_t* buffer) {
  hone_dim_t dims[HONE_MAX_BUFFER_RANK];
  for (int i = 0; i < buffer->rank; i++)
    dims[i] = hone_dim_rename(naming->kernel->dims, buffer->dims[i], name_part, naming);
  const hone_dim_t* named = hone_index_copy(naming->kernel, buffer->rank, dims);
  if (named) buffer->dims = named;
  return named != NULL;
}

/* Statements that are bound come in front while the others are gone through. */
static bool name_all(naming_t* naming) {
  hone_kernel_t* kernel = naming->kernel;
  const hone_substitution_t by = {.rename = name_part, .self = naming};
  for (int i = 0; i < kernel->n_buffers; i++)
    if (!name_in_buffer(naming, kernel->buffers[i])) return false;
  for (int i = naming->n_names; i < kernel->root->n_body; i++) {
    int before = naming->n_names;
    if (!hone_stmt_replace(kernel, kernel->root->body[i], &by)) return false;
    i += naming->n_names - before;
  }
  return !naming->failed;
}

hone_status_t hone_kernel_name_sizes(hone_kernel_t* kernel) {
  naming_t naming = {.kernel = kernel};
  hone_map_init(&naming.names, kernel->allocator);
  bool ok = name_all(&naming);
  hone_map_free(&naming.names);
  return ok ? NULL : hone_oom();
}
