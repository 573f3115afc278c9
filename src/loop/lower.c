/* From a region to a kernel: buffers, and nests of loops. */
#include "loop/lower.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "loop/lower_impl.h"

enum { MAX_USES = 100, DEFAULT_LOCAL_BYTES = 64 << 10, MAX_ROUNDS = 64 };

const hone_term_t* hone_lowering_fail(hone_lowering_t* l, const hone_node_t* node,
                                      const char* what) {
  if (!l->status)
    l->status = hone_status_make(HONE_UNSUPPORTED, "%s: %s %s",
                                 node->origin ? node->origin : l->kernel->name,
                                 hone_prim_info(node->prim)->name, what);
  return NULL;
}

/* ---- dimensions ---- */

static void add_size(void* self, const hone_symbol_t* symbol) {
  hone_lowering_t* l = self;
  if (l->has_size[symbol->id]) return;
  l->has_size[symbol->id] = true;
  l->sizes[symbol->id] = hone_kernel_size(l->kernel, symbol->name, symbol->min, symbol->max);
}

hone_dim_t hone_lowering_dim(hone_lowering_t* l, hone_dim_t d) {
  if (hone_dim_is_int(d)) return d;
  hone_dim_visit_symbols(d, add_size, l);
  int n = hone_dims_symbol_count(l->graph->dims);
  return hone_dim_replace(l->kernel->dims, d, n, l->sizes, l->has_size);
}

hone_place_t hone_place_of(hone_dim_t dim) {
  return (hone_place_t){.dim = dim, .has_parts = hone_dim_is(dim, 0)};
}

hone_place_t hone_place_of_loop(const hone_stmt_t* loop) {
  return (hone_place_t){.dim = loop->var,
                        .has_parts = true,
                        .n_parts = 1,
                        .parts = {{.var = loop->var, .extent = loop->extent}}};
}

/* ---- notes ---- */

static bool is_inlined(const hone_node_t* node) {
  hone_prim_family_t family = hone_prim_info(node->prim)->family;
  return family != HONE_FAMILY_WHOLE || node->prim == HONE_PRIM_GATHER;
}

/* Sums of products, and what is computed from them element by element. */
static void note_sums(hone_lowering_t* l) {
  for (int i = 0; i < l->graph->n_nodes; i++) {
    const hone_node_t* node = l->graph->nodes[i];
    bool has_sums = node->prim == HONE_PRIM_CONTRACT;
    bool is_reduced = has_sums || node->prim == HONE_PRIM_REDUCE;
    for (int k = 0; k < node->n_inputs; k++) {
      has_sums |= is_inlined(node) && l->notes[node->inputs[k]->id].has_sums;
      is_reduced |= l->notes[node->inputs[k]->id].is_reduced;
    }
    for (int k = 0; k < node->n_outputs; k++) {
      l->notes[node->outputs[k]->id].has_sums = has_sums;
      l->notes[node->outputs[k]->id].is_reduced = is_reduced;
    }
  }
}

bool hone_lowering_is_costly(const hone_lowering_t* l, const hone_value_t* value) {
  return hone_prim_is_transcendental(value->node->prim) || l->notes[value->id].has_sums;
}

/* Whether it is kept in a row when several loops read it; views of it are not. */
static bool is_kept(const hone_lowering_t* l, const hone_node_t* node) {
  return !is_inlined(node) || (hone_prim_info(node->prim)->family != HONE_FAMILY_MOVEMENT &&
                               l->notes[node->outputs[0]->id].has_sums);
}

/* Loops that read the operand of a node which `uses` loops read. */
static int uses_of_operand(const hone_lowering_t* l, const hone_node_t* node, int operand,
                           int uses) {
  enum { MANY = 2 };
  bool is_factor = node->prim == HONE_PRIM_CONTRACT;
  if (uses > 0 && is_factor && l->notes[node->inputs[operand]->id].has_sums) return MANY;
  return uses > 1 && is_kept(l, node) ? 1 : uses;
}

/* A value is read by the loops of whatever is computed from it in place. What is kept in a row
 * reads its operands once; a sum of products reads them again for each of its results. */
static void count_uses(hone_lowering_t* l) {
  const hone_graph_t* graph = l->graph;
  for (int i = 0; i < graph->n_outputs; i++) l->notes[graph->outputs[i]->id].n_uses++;
  for (int i = graph->n_nodes - 1; i >= 0; i--) {
    const hone_node_t* node = graph->nodes[i];
    int uses = 0;
    for (int k = 0; k < node->n_outputs; k++) uses += l->notes[node->outputs[k]->id].n_uses;
    for (int k = 0; k < node->n_inputs; k++) {
      int* count = &l->notes[node->inputs[k]->id].n_uses;
      *count += uses_of_operand(l, node, k, uses);
      if (*count > MAX_USES) *count = MAX_USES;
    }
  }
}

/* ---- buffers ---- */

static hone_buffer_t* parameter(hone_lowering_t* l, const hone_value_t* value, const char* name,
                                hone_role_t role, int number) {
  hone_dim_t dims[HONE_MAX_RANK];
  for (int i = 0; i < value->type.rank; i++) dims[i] = hone_lowering_dim(l, value->type.dims[i]);
  hone_buffer_t* buffer = hone_kernel_buffer(l->kernel, name, value->type.dtype, value->type.rank,
                                             dims, HONE_SPACE_GLOBAL, role);
  if (buffer) buffer->value = number;
  return buffer;
}

static bool make_inputs(hone_lowering_t* l) {
  for (int i = 0; i < l->graph->n_inputs; i++) {
    const hone_value_t* value = l->graph->inputs[i];
    hone_value_note_t* note = &l->notes[value->id];
    char name[16];
    snprintf(name, sizeof name, "in%d", i);
    if (!note->n_uses) continue;
    note->buffer = parameter(l, value, name, HONE_ROLE_INPUT, i);
    if (!note->buffer) return false;
  }
  return true;
}

static bool make_outputs(hone_lowering_t* l, hone_buffer_t** out) {
  for (int i = 0; i < l->graph->n_outputs; i++) {
    char name[16];
    snprintf(name, sizeof name, "out%d", i);
    out[i] = parameter(l, l->graph->outputs[i], name, HONE_ROLE_OUTPUT, i);
    if (!out[i]) return false;
  }
  return true;
}

/* ---- nests ---- */

static void note_roots(hone_lowering_t* l) {
  l->n_roots = 0;
  for (const hone_stmt_t* s = l->block; s != l->kernel->root && l->n_roots < 64; s = s->parent)
    l->roots[l->n_roots++] = s->var;
}

/* The order of the loops: that of the axes, but axes along which all rows are the same go inside
 * of those that have rows of their own, so that each is summed up once. */
static void order_axes(int rank, const hone_axis_parts_t* parts, int* out) {
  int n = 0;
  bool has_rows[HONE_MAX_RANK], any = false;
  for (int i = 0; i < rank; i++) any |= has_rows[i] = hone_axis_has_rows(&parts[i]);
  for (int i = 0; i < rank; i++)
    if (has_rows[i] || !any) out[n++] = i;
  for (int i = 0; i < rank; i++)
    if (!has_rows[i] && any) out[n++] = i;
}

bool hone_lower_nest(hone_lowering_t* l, const hone_value_t* const* values, int n_values,
                     hone_place_t* places) {
  int rank = values[0]->type.rank;
  hone_axis_parts_t parts[HONE_MAX_RANK];
  for (int i = 0; i < rank; i++) {
    hone_atom_t* atom = hone_atom_create(l, hone_lowering_dim(l, values[0]->type.dims[i]));
    if (!atom) return false;
    parts[i] = (hone_axis_parts_t){.n = 1, .atoms = {atom}, .is_known = true};
  }
  for (int i = 0; i < n_values; i++)
    if (!hone_domain_trace(l, values[i], parts)) return false;
  l->block = l->kernel->root;
  int order[HONE_MAX_RANK];
  order_axes(rank, parts, order);
  for (int i = 0; i < rank; i++)
    if (!hone_lower_axis(l, &parts[order[i]], "i", false, &places[order[i]])) return false;
  note_roots(l);
  return true;
}

static bool lower_outputs(hone_lowering_t* l) {
  hone_buffer_t** buffers =
      hone_arena_array(l->kernel->arena, (size_t)l->graph->n_outputs, sizeof *buffers);
  return buffers && make_inputs(l) && make_outputs(l, buffers) && hone_lower_pieces(l, buffers);
}

/* A kernel with a CHECK reports through one more parameter. */
static bool add_error_buffer(hone_kernel_t* kernel) {
  return !kernel->n_checks ||
         hone_kernel_buffer(kernel, "error", HONE_I64, 0, NULL, HONE_SPACE_GLOBAL, HONE_ROLE_ERROR);
}

/* ---- sizes that cannot be written down ---- */

static bool any_bad(int n, const hone_dim_t* dims) {
  for (int i = 0; i < n; i++)
    if (hone_dim_is_bad(dims[i])) return true;
  return false;
}

static bool term_is_bad(const hone_term_t* term) {
  if (hone_dim_is_bad(term->dim)) return true;
  if (term->buffer && any_bad(term->buffer->rank, term->index)) return true;
  for (int i = 0; i < term->n_args; i++)
    if (term_is_bad(term->args[i])) return true;
  return false;
}

static bool is_good(void* self, hone_stmt_t* stmt) {
  return !hone_dim_is_bad(stmt->extent) && (!stmt->value || !term_is_bad(stmt->value)) &&
         (!stmt->buffer || !any_bad(stmt->buffer->rank, stmt->index));
}

static hone_status_t check_sizes(hone_kernel_t* kernel) {
  bool good = hone_stmt_walk(kernel->root, is_good, NULL);
  for (int i = 0; i < kernel->n_buffers; i++)
    good = good && !any_bad(kernel->buffers[i]->rank, kernel->buffers[i]->dims);
  if (good) return NULL;
  if (hone_dims_out_of_memory(kernel->dims)) return hone_oom();
  return hone_status_make(HONE_UNSUPPORTED, "%s: its sizes are too long expressions", kernel->name);
}

/* ---- loops without rounds ---- */

/* They do nothing, and their indices divide by zero once loops are joined. */
static bool drop_empty_loops(void* self, hone_stmt_t* stmt) {
  (void)self;
  int kept = 0;
  for (int i = 0; i < stmt->n_body; i++) {
    const hone_stmt_t* inner = stmt->body[i];
    bool is_empty = inner->kind == HONE_STMT_LOOP && hone_dim_max_value(inner->extent) <= 0;
    if (!is_empty) stmt->body[kept++] = stmt->body[i];
  }
  stmt->n_body = kept;
  return true;
}

/* ---- lookups that nobody uses ---- */

static bool does_use(const hone_stmt_t* stmt, hone_dim_t var) {
  bool found = (stmt->value && hone_term_uses(stmt->value, var)) ||
               (stmt->kind == HONE_STMT_LOOP && hone_dim_uses(stmt->extent, var));
  for (int i = 0; stmt->buffer && stmt->index && i < stmt->buffer->rank && !found; i++)
    found = hone_dim_uses(stmt->index[i], var);
  /* NOLINTNEXTLINE(misc-no-recursion): as deep as the loops */
  for (int i = 0; i < stmt->n_body && !found; i++) found = does_use(stmt->body[i], var);
  return found;
}

/* Where all that is looked up is the same number, the place is not asked for; as it stands in the
 * way of lanes, it goes. From the last on, since one may be used to find another. */
static void drop_idle_lookups(hone_stmt_t* stmt) {
  for (int i = stmt->n_body - 1; i >= 0; i--) {
    bool is_used = stmt->body[i]->kind != HONE_STMT_LET;
    drop_idle_lookups(stmt->body[i]); /* NOLINT(misc-no-recursion): as deep as the loops */
    for (int j = i + 1; j < stmt->n_body && !is_used; j++)
      is_used = does_use(stmt->body[j], stmt->body[i]->var);
    if (!is_used) hone_stmt_remove(stmt->body[i]);
  }
}

/* ---- all ---- */

static const char* join_origins(hone_kernel_t* kernel, const hone_graph_t* graph) {
  char text[512] = "";
  size_t used = 0;
  const char* last = NULL;
  for (int i = 0; i < graph->n_nodes; i++) {
    const char* origin = graph->nodes[i]->origin;
    if (!origin || (last && strcmp(origin, last) == 0)) continue;
    int n = snprintf(text + used, sizeof text - used, "%s%s", used ? ", " : "", origin);
    if (n < 0 || (size_t)n >= sizeof text - used) break;
    used += (size_t)n;
    last = origin;
  }
  return hone_arena_strdup(kernel->arena, text);
}

/* One attempt, with the rows that are known so far. */
static hone_status_t attempt(hone_lowering_t* l, const char* name,
                             const hone_allocator_t* allocator) {
  HONE_TRY(hone_kernel_create(allocator, name, &l->kernel));
  int n_symbols = hone_dims_symbol_count(l->graph->dims);
  l->made = NULL;
  l->checked = NULL;
  l->ranges = NULL;
  l->rows_changed = false;
  l->sizes = hone_arena_array(l->kernel->arena, (size_t)n_symbols, sizeof *l->sizes);
  l->has_size = hone_arena_array(l->kernel->arena, (size_t)n_symbols, sizeof *l->has_size);
  l->kernel->origin = join_origins(l->kernel, l->graph);
  bool ok = l->sizes && l->has_size && l->kernel->origin && lower_outputs(l) &&
            add_error_buffer(l->kernel);
  if (ok && !l->status) l->status = check_sizes(l->kernel);
  if (ok && !l->status) return NULL;
  hone_kernel_destroy(l->kernel);
  l->kernel = NULL;
  return l->status ? l->status : hone_oom();
}

static void reset_notes(hone_lowering_t* l) {
  for (int i = 0; i < l->graph->n_values; i++)
    l->notes[i] = (hone_value_note_t){.n_uses = l->notes[i].n_uses,
                                      .has_sums = l->notes[i].has_sums,
                                      .is_reduced = l->notes[i].is_reduced,
                                      .rows = l->notes[i].rows};
}

static void mark_constants(const hone_lowering_t* l) {
  const hone_kernel_options_t* o = &l->options;
  for (int i = 0; i < l->kernel->n_buffers && o->constant_of; i++) {
    hone_buffer_t* buffer = l->kernel->buffers[i];
    buffer->is_constant =
        buffer->role == HONE_ROLE_INPUT && o->constant_of(o->constants, buffer->value);
  }
}

hone_status_t hone_kernel_lower(const hone_graph_t* graph, const char* name,
                                const hone_kernel_options_t* options,
                                const hone_allocator_t* allocator, hone_kernel_t** out_kernel) {
  *out_kernel = NULL;
  hone_lowering_t l = {.graph = graph};
  if (options) l.options = *options;
  if (!l.options.max_local_bytes) l.options.max_local_bytes = DEFAULT_LOCAL_BYTES;
  size_t bytes = (size_t)graph->n_values * sizeof *l.notes;
  l.notes = hone_alloc(allocator, bytes);
  if (!l.notes) return hone_oom();
  note_sums(&l);
  count_uses(&l);
  hone_status_t status = attempt(&l, name, allocator);
  for (int i = 0; i < MAX_ROUNDS && !status && l.rows_changed; i++) {
    hone_kernel_destroy(l.kernel);
    reset_notes(&l);
    status = attempt(&l, name, allocator);
  }
  hone_free(allocator, l.notes, bytes);
  if (status) return status;
  hone_stmt_walk(l.kernel->root, drop_empty_loops, NULL);
  drop_idle_lookups(l.kernel->root);
  mark_constants(&l);
  if (!hone_lower_starts(l.kernel, &l.options)) {
    hone_kernel_destroy(l.kernel);
    return hone_oom();
  }
  hone_lower_once(l.kernel);
  *out_kernel = l.kernel;
  return NULL;
}
