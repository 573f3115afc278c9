/* Tensor expressions: values are terms of the kernel that is being made, and
 * bodies are called once all parameters are known, to fill in the loops. */
#include "hone/te.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "ir/scalar.h"
#include "loop/verify.h"

enum { MAX_AXES = 32 };

struct hone_te_tensor {
  hone_te_tensor_t* next;
  const hone_buffer_t* buffer;
  const char* axes[MAX_AXES];
  hone_te_body_t body; /* NULL: a placeholder */
  void* self;
  bool is_ready; /* its loops are there, or it is a placeholder */
};

struct hone_te_reduce_axis {
  const char* name;
  hone_dim_t symbol; /* stands for the loop's variable until there is one */
  int64_t extent;
};

struct hone_te {
  const hone_allocator_t* allocator;
  hone_kernel_t* kernel;
  int n_inputs, n_outputs;
  hone_te_tensor_t *first, *last;
  hone_stmt_t* at; /* the loop that a body's reductions go into; NULL outside bodies */
  hone_status_t status;
};

/* ---- errors ---- */

/* Remembers the first; gives NULL for what could not be made. */
static void* fail(hone_te_t* te, hone_status_t status) {
  if (te->status)
    hone_status_free(status);
  else
    te->status = status;
  return NULL;
}

static void* no_memory(hone_te_t* te) { return fail(te, hone_oom()); }

/* A term that could not be made for want of memory. */
static hone_te_value_t made(hone_te_t* te, hone_te_value_t value) {
  return value ? value : no_memory(te);
}

/* ---- start and end ---- */

hone_status_t hone_te_create(const hone_allocator_t* allocator, const char* name,
                             hone_te_t** out_te) {
  *out_te = NULL;
  hone_te_t* te = hone_alloc(allocator, sizeof *te);
  if (!te) return hone_oom();
  hone_status_t status = hone_kernel_create(allocator, name, &te->kernel);
  te->allocator = allocator;
  if (status)
    hone_free(allocator, te, sizeof *te);
  else
    *out_te = te;
  return status;
}

void hone_te_destroy(hone_te_t* te) {
  if (!te) return;
  hone_status_free(te->status);
  hone_kernel_destroy(te->kernel);
  hone_free(te->allocator, te, sizeof *te);
}

void hone_kernel_free(hone_kernel_t* kernel) { hone_kernel_destroy(kernel); }

/* ---- tensors and axes ---- */

static hone_te_tensor_t* make_tensor(hone_te_t* te, const char* name, hone_dtype_t dtype, int rank,
                                     const int64_t* dims, hone_role_t role) {
  hone_dim_t extents[MAX_AXES];
  if (te->status) return NULL;
  if (rank < 0 || rank > MAX_AXES || hone_scalar_class(dtype) > HONE_SCALAR_COMPLEX ||
      dtype == HONE_UNKNOWN)
    return fail(
        te, hone_status_make(HONE_INVALID_ARGUMENT,
                             "tensor %s: a type of numbers and at most %d axes", name, MAX_AXES));
  for (int i = 0; i < rank; i++) {
    if (dims[i] < 0)
      return fail(te, hone_status_make(HONE_INVALID_ARGUMENT, "tensor %s: extent %lld", name,
                                       (long long)dims[i]));
    extents[i] = hone_dim_int(dims[i]);
  }
  hone_te_tensor_t* tensor = hone_arena_alloc(te->kernel->arena, sizeof *tensor);
  hone_buffer_t* buffer =
      hone_kernel_buffer(te->kernel, name, dtype, rank, extents, HONE_SPACE_GLOBAL, role);
  if (!tensor || !buffer) return no_memory(te);
  buffer->value = role == HONE_ROLE_INPUT ? te->n_inputs++ : te->n_outputs++;
  tensor->buffer = buffer;
  if (te->last)
    te->last->next = tensor;
  else
    te->first = tensor;
  te->last = tensor;
  return tensor;
}

hone_te_tensor_t* hone_te_placeholder(hone_te_t* te, const char* name, hone_dtype_t dtype, int rank,
                                      const int64_t* dims) {
  hone_te_tensor_t* tensor = make_tensor(te, name, dtype, rank, dims, HONE_ROLE_INPUT);
  if (tensor) tensor->is_ready = true;
  return tensor;
}

hone_te_tensor_t* hone_te_compute(hone_te_t* te, const char* name, hone_dtype_t dtype, int rank,
                                  const int64_t* dims, const char* const* axes, hone_te_body_t body,
                                  void* self) {
  hone_te_tensor_t* tensor = make_tensor(te, name, dtype, rank, dims, HONE_ROLE_OUTPUT);
  if (!tensor) return NULL;
  tensor->body = body;
  tensor->self = self;
  for (int i = 0; i < rank; i++) {
    char letter[2] = {(char)('i' + i % 18), 0};
    tensor->axes[i] = hone_arena_strdup(te->kernel->arena, axes ? axes[i] : letter);
    if (!tensor->axes[i]) return no_memory(te);
  }
  return tensor;
}

hone_te_reduce_axis_t* hone_te_reduce_axis(hone_te_t* te, const char* name, int64_t extent) {
  if (te->status) return NULL;
  if (extent < 0)
    return fail(te, hone_status_make(HONE_INVALID_ARGUMENT, "axis %s: extent %lld", name,
                                     (long long)extent));
  hone_te_reduce_axis_t* axis = hone_arena_alloc(te->kernel->arena, sizeof *axis);
  char* label = hone_arena_format(te->kernel->arena, "%s.axis", name);
  char* copy = hone_arena_strdup(te->kernel->arena, name);
  const char* unique = label ? hone_kernel_fresh_name(te->kernel, label) : NULL;
  if (!axis || !copy || !unique) return no_memory(te);
  axis->name = copy;
  axis->extent = extent;
  axis->symbol =
      hone_dim_symbol(te->kernel->dims, unique, HONE_SYMBOL_RESULT, 0, extent > 0 ? extent - 1 : 0);
  return hone_dim_is_bad(axis->symbol) ? no_memory(te) : axis;
}

/* ---- values ---- */

/* Values are made while a body runs, from values that were. */
static bool is_in_body(hone_te_t* te, int n, const void* const* needs) {
  for (int i = 0; i < n; i++)
    if (!needs[i]) {
      if (!te->status)
        fail(te, hone_status_make(HONE_INVALID_ARGUMENT, "kernel %s: a value is missing",
                                  te->kernel->name));
      return false;
    }
  if (!te->at)
    fail(te, hone_status_make(HONE_INVALID_ARGUMENT,
                              "kernel %s: values are made in bodies of computed tensors",
                              te->kernel->name));
  return !te->status;
}

hone_te_value_t hone_te_axis(hone_te_t* te, const hone_te_reduce_axis_t* axis) {
  if (!is_in_body(te, 1, (const void*[]){axis})) return NULL;
  return made(te, hone_term_index(te->kernel, axis->symbol));
}

hone_te_value_t hone_te_number(hone_te_t* te, hone_dtype_t dtype, double value) {
  if (!is_in_body(te, 0, NULL)) return NULL;
  if (dtype == HONE_UNKNOWN || hone_scalar_class(dtype) > HONE_SCALAR_U64)
    return fail(te, hone_status_make(HONE_INVALID_ARGUMENT, "number: not of a type of numbers"));
  return made(te, hone_term_number(te->kernel, dtype, value));
}

static bool as_dim(hone_te_value_t value, hone_dim_t* out) {
  bool is_const = value->kind == HONE_TERM_CONST && value->dtype == HONE_I64;
  *out = is_const ? hone_dim_int((int64_t)value->bits[0]) : value->dim;
  return is_const || value->kind == HONE_TERM_INDEX;
}

hone_te_value_t hone_te_read(hone_te_t* te, const hone_te_tensor_t* tensor,
                             const hone_te_value_t* index) {
  hone_dim_t at[MAX_AXES];
  if (!is_in_body(te, 1, (const void*[]){tensor}) ||
      !is_in_body(te, tensor->buffer->rank, (const void* const*)index))
    return NULL;
  if (!tensor->is_ready)
    return fail(
        te, hone_status_make(HONE_INVALID_ARGUMENT, "read: %s is computed later than what reads it",
                             tensor->buffer->name));
  for (int i = 0; i < tensor->buffer->rank; i++)
    if (!as_dim(index[i], &at[i]))
      return fail(te, hone_status_make(HONE_UNSUPPORTED,
                                       "read of %s: an index is made of axes, numbers, add, sub, "
                                       "mul by a number and div by one",
                                       tensor->buffer->name));
  return made(te, hone_term_load(te->kernel, tensor->buffer, at));
}

hone_te_value_t hone_te_apply(hone_te_t* te, const char* primitive, int n,
                              const hone_te_value_t* args) {
  if (!is_in_body(te, n, (const void* const*)args)) return NULL;
  hone_prim_t prim = hone_prim_parse(primitive);
  const hone_prim_info_t* info = prim < HONE_PRIM_COUNT ? hone_prim_info(prim) : NULL;
  if (!info || info->family < HONE_FAMILY_UNARY || info->family > HONE_FAMILY_SELECT ||
      n != info->min_inputs)
    return fail(te, hone_status_make(HONE_INVALID_ARGUMENT,
                                     "there is no elementwise primitive '%s' of %d arguments",
                                     primitive, n));
  return made(te, hone_term_prim(te->kernel, prim, HONE_UNKNOWN, 0, n, args));
}

hone_te_value_t hone_te_apply2(hone_te_t* te, const char* primitive, hone_te_value_t a,
                               hone_te_value_t b) {
  return hone_te_apply(te, primitive, 2, (const hone_te_value_t[]){a, b});
}

hone_te_value_t hone_te_cast(hone_te_t* te, hone_dtype_t dtype, hone_te_value_t x) {
  if (!is_in_body(te, 1, (const void*[]){x})) return NULL;
  if (dtype == HONE_UNKNOWN || dtype == HONE_STRING)
    return fail(te, hone_status_make(HONE_INVALID_ARGUMENT, "cast: not to a type of numbers"));
  return made(te, hone_term_prim(te->kernel, HONE_PRIM_CAST, dtype, 0, 1, &x));
}

/* The nest of the reduction; gives its innermost loop and the value with the
 * loops' variables in it. */
static hone_stmt_t* make_reduction(hone_te_t* te, hone_te_value_t* value, int n,
                                   hone_te_reduce_axis_t* const* axes) {
  hone_stmt_t* parent = te->at;
  hone_kernel_t* kernel = te->kernel;
  size_t n_symbols = (size_t)hone_dims_symbol_count(kernel->dims);
  hone_dim_t* to = hone_arena_array(kernel->arena, n_symbols, sizeof *to);
  bool* is_mapped = hone_arena_array(kernel->arena, n_symbols, sizeof *is_mapped);
  for (int i = 0; i < n && parent && to && is_mapped; i++) {
    hone_dim_t extent = hone_dim_int(axes[i]->extent);
    parent = hone_stmt_loop(kernel, parent, axes[i]->name, extent, HONE_LOOP_SERIAL);
    if (!parent) break;
    parent->is_reduction = true;
    to[hone_dim_as_symbol(axes[i]->symbol)->id] = parent->var;
    is_mapped[hone_dim_as_symbol(axes[i]->symbol)->id] = true;
  }
  if (!parent || !to || !is_mapped) return no_memory(te);
  hone_substitution_t by = {.n = (int)n_symbols, .to = to, .is_mapped = is_mapped};
  *value = made(te, hone_term_replace(kernel, *value, &by));
  return *value ? parent : NULL;
}

hone_te_value_t hone_te_reduce(hone_te_t* te, const char* combine, hone_te_value_t value,
                               int n_axes, hone_te_reduce_axis_t* const* axes) {
  if (!is_in_body(te, 1, (const void*[]){value}) ||
      !is_in_body(te, n_axes, (const void* const*)axes))
    return NULL;
  hone_combine_t by = hone_combine_parse(combine);
  if (by == HONE_COMBINE_COUNT || by == HONE_COMBINE_SET)
    return fail(te, hone_status_make(HONE_INVALID_ARGUMENT,
                                     "reduce: '%s' is none of add, mul, min, max", combine));
  hone_buffer_t* sum = hone_kernel_buffer(te->kernel, "acc", value->dtype, 0, NULL,
                                          HONE_SPACE_LOCAL, HONE_ROLE_SCRATCH);
  if (!sum || !hone_stmt_store(te->kernel, te->at, sum, NULL, HONE_COMBINE_SET,
                               hone_term_neutral(te->kernel, by, value->dtype)))
    return no_memory(te);
  hone_stmt_t* loop = make_reduction(te, &value, n_axes, axes);
  if (!loop) return NULL;
  if (!hone_stmt_store(te->kernel, loop, sum, NULL, by, value)) return no_memory(te);
  return made(te, hone_term_load(te->kernel, sum, NULL));
}

/* ---- the kernel ---- */

/* The loops of a computed tensor and what its body puts in them. */
static void fill(hone_te_t* te, hone_te_tensor_t* tensor) {
  const hone_buffer_t* buffer = tensor->buffer;
  hone_te_value_t at[MAX_AXES];
  hone_dim_t index[MAX_AXES];
  te->at = te->kernel->root;
  for (int i = 0; i < buffer->rank && te->at; i++) {
    te->at = hone_stmt_loop(te->kernel, te->at, tensor->axes[i], buffer->dims[i], HONE_LOOP_SERIAL);
    index[i] = te->at ? te->at->var : hone_dim_int(0);
    at[i] = hone_term_index(te->kernel, index[i]);
  }
  if (!te->at) {
    no_memory(te);
    return;
  }
  hone_te_value_t value = tensor->body(tensor->self, te, at);
  if (!value && !te->status)
    fail(te, hone_status_make(HONE_INVALID_ARGUMENT, "compute %s: the body gave no value",
                              buffer->name));
  if (!te->status && !hone_stmt_store(te->kernel, te->at, buffer, index, HONE_COMBINE_SET, value))
    no_memory(te);
  te->at = NULL;
  tensor->is_ready = true;
}

hone_status_t hone_te_finish(hone_te_t* te, hone_kernel_t** out_kernel) {
  *out_kernel = NULL;
  for (hone_te_tensor_t* t = te->first; t && !te->status; t = t->next)
    if (t->body) fill(te, t);
  hone_status_t status = te->status;
  te->status = NULL;
  if (!status) status = hone_kernel_verify(te->kernel);
  return status ? status : hone_kernel_clone(te->kernel, out_kernel);
}
