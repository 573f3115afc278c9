/* Anchors: what is computed by loops of its own into a local buffer, before
 * the statement that asks for it. */
#include <string.h>

#include "base/memory.h"
#include "loop/lower_impl.h"

/* ---- where ---- */

static bool uses_any(const hone_place_t* at, int rank, uint64_t skip, hone_dim_t var) {
  for (int i = 0; i < rank; i++)
    if (!(skip >> i & 1) && hone_dim_uses(at[i].dim, var)) return true;
  return false;
}

/* A stand-in for a body while statements for it are being built. */
static bool is_holder(const hone_lowering_t* l, const hone_stmt_t* stmt) {
  return stmt->kind == HONE_STMT_IF && !stmt->value && stmt != l->kernel->root;
}

/* A let of this body that the index depends on keeps the anchor behind it. */
static bool uses_let(const hone_stmt_t* body, const hone_place_t* at, int rank, uint64_t skip) {
  for (int i = 0; i < body->n_body; i++)
    if (body->body[i]->kind == HONE_STMT_LET && uses_any(at, rank, skip, body->body[i]->var))
      return true;
  return false;
}

/* The body to compute in: that of the innermost loop (or let) that the index
 * depends on. */
static hone_stmt_t* find_level(const hone_lowering_t* l, const hone_place_t* at, int rank,
                               uint64_t skip) {
  hone_stmt_t* body = l->block;
  for (; body != l->kernel->root; body = body->parent) {
    if (uses_let(body, at, rank, skip)) break;
    if (body->kind == HONE_STMT_LOOP && uses_any(at, rank, skip, body->var)) break;
  }
  return is_holder(l, body) ? body->parent : body;
}

/* Where in `level` the statement that is being built stands: a body and a
 * position there. */
static hone_stmt_t* find_spot(const hone_lowering_t* l, const hone_stmt_t* level,
                              int* out_position) {
  hone_stmt_t *body = l->block, *child = NULL;
  while (body != level && !(is_holder(l, body) && body->parent == level)) {
    child = body;
    body = body->parent;
  }
  *out_position = child ? hone_stmt_position(child) : -1;
  return body;
}

static hone_stmt_t* make_holder(hone_lowering_t* l, hone_stmt_t* parent) {
  hone_stmt_t* holder = hone_arena_alloc(l->kernel->arena, sizeof *holder);
  if (!holder) {
    l->kernel->out_of_memory = true;
    return NULL;
  }
  holder->kind = HONE_STMT_IF;
  holder->parent = parent;
  return holder;
}

/* Moves what is in the holder to its place. */
static bool splice(hone_lowering_t* l, hone_stmt_t* holder, hone_stmt_t* into, int position) {
  for (int i = 0; i < holder->n_body; i++)
    if (!hone_stmt_insert(l->kernel, into, position < 0 ? -1 : position + i, holder->body[i]))
      return false;
  return true;
}

/* ---- rows ---- */

static bool is_root(const hone_lowering_t* l, hone_dim_t var) {
  for (int i = 0; i < l->n_roots; i++)
    if (hone_dim_same(l->roots[i], var)) return true;
  return false;
}

void hone_lowering_note_rows(hone_lowering_t* l, const hone_value_t* value,
                             const hone_place_t* at) {
  hone_value_note_t* note = &l->notes[value->id];
  if (note->n_uses < 2) return;
  for (hone_stmt_t* s = l->block; s; s = s->parent) {
    if (s->kind != HONE_STMT_LOOP || is_root(l, s->var)) continue;
    for (int i = 0; i < value->type.rank; i++)
      if (hone_dim_uses(at[i].dim, s->var) && !(note->rows >> i & 1)) {
        note->rows |= (uint64_t)1 << i;
        l->rows_changed = true;
      }
  }
}

/* The axes that the buffer has: none where a row would be too long. */
static uint64_t row_axes(hone_lowering_t* l, const hone_value_t* value) {
  uint64_t rows = l->notes[value->id].rows;
  int64_t bytes = (int64_t)hone_dtype_size(value->type.dtype);
  for (int i = 0; i < value->type.rank; i++) {
    if (!(rows >> i & 1)) continue;
    int64_t most = hone_dim_max_value(hone_lowering_dim(l, value->type.dims[i]));
    if (!hone_i64_mul(bytes, most, &bytes)) return 0;
  }
  return bytes <= (int64_t)l->options.max_local_bytes ? rows : 0;
}

/* ---- what ---- */

/* What sums are made in: at least as precise as the result. */
static hone_dtype_t accumulator(hone_dtype_t dtype) {
  bool is_short = hone_dtype_is_float(dtype) && hone_dtype_size(dtype) < 4;
  return is_short ? HONE_F32 : dtype;
}

static const hone_term_t* cast(hone_lowering_t* l, const hone_term_t* term, hone_dtype_t dtype) {
  return hone_term_prim(l->kernel, HONE_PRIM_CAST, dtype, 0, 1, &term);
}

static bool store(hone_lowering_t* l, const hone_buffer_t* buffer, const hone_dim_t* index,
                  hone_combine_t combine, const hone_term_t* term) {
  return term && hone_stmt_store(l->kernel, l->block, buffer, index, combine, term);
}

static bool open_reduced(hone_lowering_t* l, const hone_value_t* value, int axis, hone_dim_t extent,
                         hone_place_t* out) {
  hone_atom_t* atom = l->notes[value->id].reduced[axis];
  if (!atom) atom = hone_atom_create(l, extent);
  if (!atom) return false;
  hone_axis_parts_t parts = {.n = 1, .atoms = {atom}, .is_known = true};
  return hone_lower_axis(l, &parts, "k", true, out);
}

static bool build_reduce(hone_lowering_t* l, const hone_value_t* value, const hone_place_t* at,
                         const hone_buffer_t* buffer, const hone_dim_t* index) {
  const hone_node_t* node = value->node;
  const hone_value_t* x = node->inputs[0];
  const hone_term_t* neutral = hone_term_neutral(l->kernel, node->combine, buffer->dtype);
  if (!store(l, buffer, index, HONE_COMBINE_SET, neutral)) return false;
  hone_place_t from[HONE_MAX_RANK];
  for (int i = 0, next = 0; i < x->type.rank; i++) {
    int axis = 0;
    while (axis < node->n_axes && node->axes[axis] != i) axis++;
    if (axis == node->n_axes)
      from[i] = at[next++];
    else if (!open_reduced(l, value, axis, hone_lowering_dim(l, x->type.dims[i]), &from[i]))
      return false;
  }
  const hone_term_t* term = hone_lower_element(l, x, from);
  return term && store(l, buffer, index, node->combine, cast(l, term, buffer->dtype));
}

/* Places of both operands; opens the loops of the axes summed over. */
static bool contract_places(hone_lowering_t* l, const hone_value_t* value, const hone_place_t* at,
                            hone_place_t (*from)[HONE_MAX_RANK]) {
  const hone_node_t* node = value->node;
  int next = node->n_batch;
  bool is_paired[2][HONE_MAX_RANK] = {{false}};
  for (int pair = 0; pair < node->n_axes / 2; pair++) {
    hone_place_t place;
    int64_t a = node->axes[2 * pair], b = node->axes[2 * pair + 1];
    hone_dim_t extent = hone_lowering_dim(l, node->inputs[0]->type.dims[a]);
    if (pair < node->n_batch)
      place = at[pair];
    else if (!open_reduced(l, value, pair - node->n_batch, extent, &place))
      return false;
    from[0][a] = from[1][b] = place;
    is_paired[0][a] = is_paired[1][b] = true;
  }
  for (int side = 0; side < 2; side++)
    for (int i = 0; i < node->inputs[side]->type.rank; i++)
      if (!is_paired[side][i]) from[side][i] = at[next++];
  return true;
}

/* The product of the operands' elements at these places; NULL when that fails. */
static const hone_term_t* product_of(hone_lowering_t* l, const hone_node_t* node,
                                     hone_dtype_t dtype, hone_place_t (*from)[HONE_MAX_RANK]) {
  const hone_term_t* factors[2];
  for (int side = 0; side < 2; side++) {
    factors[side] = hone_lower_element(l, node->inputs[side], from[side]);
    if (!factors[side]) return NULL;
    factors[side] = cast(l, cast(l, factors[side], node->dtype), dtype);
    if (!factors[side]) return NULL;
  }
  return hone_term_binary(l->kernel, HONE_PRIM_MUL, factors[0], factors[1]);
}

static bool build_contract(hone_lowering_t* l, const hone_value_t* value, const hone_place_t* at,
                           const hone_buffer_t* buffer, const hone_dim_t* index) {
  const hone_node_t* node = value->node;
  const hone_term_t* zero = hone_term_number(l->kernel, buffer->dtype, 0);
  hone_place_t from[2][HONE_MAX_RANK];
  l->kernel->by_parts |= (node->flags & HONE_FLAG_BY_PARTS) != 0;
  if (!store(l, buffer, index, HONE_COMBINE_SET, zero) || !contract_places(l, value, at, from))
    return false;
  return store(l, buffer, index, HONE_COMBINE_ADD, product_of(l, node, buffer->dtype, from));
}

static bool build(hone_lowering_t* l, const hone_value_t* value, const hone_place_t* at,
                  const hone_buffer_t* buffer, const hone_dim_t* index) {
  if (value->node->prim == HONE_PRIM_REDUCE) return build_reduce(l, value, at, buffer, index);
  if (value->node->prim == HONE_PRIM_CONTRACT) return build_contract(l, value, at, buffer, index);
  return store(l, buffer, index, HONE_COMBINE_SET, hone_lower_map(l, value, at));
}

static bool is_map(const hone_value_t* value) {
  return hone_prim_info(value->node->prim)->family != HONE_FAMILY_WHOLE;
}

/* Each sum of a row in one place, from where it goes to the row: what else takes sums
 * of products is written so too. */
static bool build_sums(hone_lowering_t* l, const hone_value_t* value, const hone_place_t* at,
                       const hone_buffer_t* row, const hone_dim_t* index) {
  hone_stmt_t* block = l->block;
  const hone_buffer_t* sum = hone_kernel_buffer(l->kernel, "acc", row->dtype, 0, NULL,
                                                HONE_SPACE_LOCAL, HONE_ROLE_SCRATCH);
  if (!sum || !build(l, value, at, sum, NULL)) return false;
  l->block = block;
  return store(l, row, index, HONE_COMBINE_SET, hone_term_load(l->kernel, sum, NULL));
}

/* Loops over the axes that the buffer has, then the anchor itself. */
static hone_buffer_t* compute(hone_lowering_t* l, const hone_value_t* value, const hone_place_t* at,
                              uint64_t rows) {
  hone_place_t places[HONE_MAX_RANK];
  hone_dim_t dims[HONE_MAX_RANK], index[HONE_MAX_RANK];
  int n = 0;
  for (int i = 0; i < value->type.rank; i++) {
    places[i] = at[i];
    if (!(rows >> i & 1)) continue;
    dims[n] = hone_lowering_dim(l, value->type.dims[i]);
    hone_stmt_t* loop = hone_stmt_loop(l->kernel, l->block, "j", dims[n], HONE_LOOP_SERIAL);
    if (!loop) return NULL;
    l->block = loop;
    places[i] = hone_place_of_loop(loop);
    index[n++] = loop->var;
  }
  hone_dtype_t dtype = is_map(value) ? value->type.dtype : accumulator(value->type.dtype);
  bool is_row = is_map(value) || (n > 0 && value->node->prim == HONE_PRIM_CONTRACT);
  hone_buffer_t* buffer = hone_kernel_buffer(l->kernel, is_row ? "row" : "acc", dtype, n, dims,
                                             HONE_SPACE_LOCAL, HONE_ROLE_SCRATCH);
  if (!buffer) return NULL;
  bool ok = (is_row && !is_map(value) ? build_sums : build)(l, value, places, buffer, index);
  return ok ? buffer : NULL;
}

/* ---- all ---- */

static const hone_made_t* find_made(const hone_lowering_t* l, const hone_value_t* value,
                                    const hone_stmt_t* level, const hone_place_t* at,
                                    uint64_t rows) {
  for (const hone_made_t* m = l->made; m; m = m->next) {
    bool same = m->value == value && m->level == level;
    for (int i = 0; i < value->type.rank && same; i++)
      same = rows >> i & 1 ? hone_dim_is_bad(m->index[i]) : hone_dim_same(m->index[i], at[i].dim);
    if (same) return m;
  }
  return NULL;
}

static const hone_made_t* make(hone_lowering_t* l, const hone_value_t* value, hone_stmt_t* level,
                               const hone_place_t* at, uint64_t rows) {
  int position;
  hone_stmt_t *spot = find_spot(l, level, &position), *block = l->block;
  hone_stmt_t* holder = make_holder(l, level);
  hone_made_t* made = hone_arena_alloc(l->kernel->arena, sizeof *made);
  if (!holder || !made) {
    l->kernel->out_of_memory = true;
    return NULL;
  }
  /* Statements that this one asks for in turn must find their way up. */
  l->block = holder;
  *made = (hone_made_t){.value = value, .level = level};
  made->buffer = compute(l, value, at, rows);
  l->block = block;
  if (!made->buffer || !splice(l, holder, spot, position)) return NULL;
  for (int i = 0; i < value->type.rank; i++)
    made->index[i] = rows >> i & 1 ? hone_dim_bad() : at[i].dim;
  made->next = l->made;
  l->made = made;
  return made;
}

/* Products that nothing is summed over need no loops, and no place to be summed in. Added
 * to 0 all the same, as sums are: -0 becomes 0. */
static const hone_term_t* lower_product(hone_lowering_t* l, const hone_value_t* value,
                                        const hone_place_t* at) {
  const hone_node_t* node = value->node;
  hone_dtype_t dtype = accumulator(value->type.dtype);
  hone_place_t from[2][HONE_MAX_RANK];
  if (!contract_places(l, value, at, from)) return NULL;
  const hone_term_t* product = product_of(l, node, dtype, from);
  const hone_term_t* zero = hone_term_number(l->kernel, dtype, 0);
  if (!product || !zero) return NULL;
  const hone_term_t* sum = hone_term_binary(l->kernel, HONE_PRIM_ADD, product, zero);
  return sum ? cast(l, sum, value->type.dtype) : NULL;
}

static bool is_product(const hone_node_t* node) {
  if (node->prim != HONE_PRIM_CONTRACT) return false;
  for (int64_t i = 2 * node->n_batch; i < node->n_axes; i += 2)
    if (!hone_dim_is(node->inputs[0]->type.dims[node->axes[i]], 1)) return false;
  return true;
}

/* What is computed at its place, if it was not yet. */
static const hone_term_t* load_made(hone_lowering_t* l, const hone_value_t* value,
                                    const hone_place_t* at, uint64_t rows) {
  hone_stmt_t* level = find_level(l, at, value->type.rank, rows);
  const hone_made_t* made = find_made(l, value, level, at, rows);
  if (!made) made = make(l, value, level, at, rows);
  if (!made) return NULL;
  hone_dim_t index[HONE_MAX_RANK];
  int n = 0;
  for (int i = 0; i < value->type.rank; i++)
    if (rows >> i & 1) index[n++] = at[i].dim;
  return cast(l, hone_term_load(l->kernel, made->buffer, index), value->type.dtype);
}

const hone_term_t* hone_lower_anchor(hone_lowering_t* l, const hone_value_t* value,
                                     const hone_place_t* at) {
  if (is_product(value->node)) return lower_product(l, value, at);
  hone_lowering_note_rows(l, value, at);
  uint64_t rows = row_axes(l, value);
  if (!rows && is_map(value)) return hone_lower_map(l, value, at);
  return load_made(l, value, at, rows);
}

bool hone_lowering_stays_alike(const hone_lowering_t* l, const hone_value_t* value,
                               const hone_place_t* at) {
  if (!l->notes[value->id].is_reduced || !hone_prim_is_transcendental(value->node->prim))
    return false;
  const hone_stmt_t* level = find_level(l, at, value->type.rank, 0);
  for (const hone_stmt_t* body = l->block; body != level && body; body = body->parent)
    if (body->kind == HONE_STMT_LOOP) return true;
  return false;
}

const hone_term_t* hone_lower_alike(hone_lowering_t* l, const hone_value_t* value,
                                    const hone_place_t* at) {
  return load_made(l, value, at, 0);
}
