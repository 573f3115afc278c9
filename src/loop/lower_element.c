/* One element of a value: elementwise primitives become terms, movement
 * primitives change the index and are gone. */
#include <stdio.h>
#include <string.h>

#include "base/tensor_impl.h"
#include "loop/lower_impl.h"

typedef const hone_term_t* (*element_fn)(hone_lowering_t* l, const hone_value_t* value,
                                         const hone_place_t* at);

/* index clamped to 0 … extent - 1, so that a load is always allowed. */
static hone_dim_t clamp(hone_lowering_t* l, hone_dim_t index, hone_dim_t extent) {
  hone_dims_t* dims = l->kernel->dims;
  hone_dim_t last = hone_dim_sub(dims, extent, hone_dim_int(1));
  return hone_dim_max(dims, hone_dim_min(dims, index, last), hone_dim_int(0));
}

/* ---- sources ---- */

static const hone_term_t* element_input(hone_lowering_t* l, const hone_value_t* value,
                                        const hone_place_t* at) {
  hone_dim_t index[HONE_MAX_RANK];
  for (int i = 0; i < value->type.rank; i++) index[i] = at[i].dim;
  return hone_term_load(l->kernel, l->notes[value->id].buffer, index);
}

static const hone_term_t* element_constant(hone_lowering_t* l, const hone_value_t* value,
                                           const hone_place_t* at) {
  const hone_tensor_t* tensor = value->node->constant;
  int64_t offset = 0;
  for (int i = 0; i < value->type.rank; i++) {
    if (hone_tensor_dims(tensor)[i] == 1) continue;
    if (!hone_dim_is_int(at[i].dim))
      return hone_lowering_fail(l, value->node, "reads a constant that is no input");
    offset = offset * hone_tensor_dims(tensor)[i] + at[i].dim.k;
  }
  const char* data = hone_tensor_data(tensor);
  size_t size = hone_dtype_size(value->type.dtype);
  return hone_term_const(l->kernel, value->type.dtype, data + (size_t)offset * size);
}

static const hone_term_t* to_dtype(hone_lowering_t* l, hone_dim_t dim, hone_dtype_t dtype) {
  const hone_term_t* index = hone_term_index(l->kernel, dim);
  return hone_term_prim(l->kernel, HONE_PRIM_CAST, dtype, 0, 1, &index);
}

static const hone_term_t* element_iota(hone_lowering_t* l, const hone_value_t* value,
                                       const hone_place_t* at) {
  return to_dtype(l, at[value->node->axes[0]].dim, value->type.dtype);
}

/* A choice among the expressions by the index. */
static const hone_term_t* element_dims(hone_lowering_t* l, const hone_value_t* value,
                                       const hone_place_t* at) {
  const hone_node_t* node = value->node;
  const hone_term_t* chosen = NULL;
  for (int i = node->n_dims - 1; i >= 0; i--) {
    const hone_term_t* one = hone_term_index(l->kernel, hone_lowering_dim(l, node->shape[i]));
    const hone_term_t* is_before = hone_term_lt(l->kernel, at[0].dim, hone_dim_int(i + 1));
    chosen = chosen ? hone_term_select(l->kernel, is_before, one, chosen) : one;
  }
  return chosen ? chosen : hone_term_number(l->kernel, HONE_I64, 0);
}

/* ---- elementwise ---- */

const hone_term_t* hone_lower_map(hone_lowering_t* l, const hone_value_t* value,
                                  const hone_place_t* at) {
  const hone_node_t* node = value->node;
  const hone_term_t* args[3];
  for (int i = 0; i < node->n_inputs; i++) {
    args[i] = hone_lower_element(l, node->inputs[i], at);
    if (!args[i]) return NULL;
  }
  return hone_term_prim(l->kernel, node->prim, value->type.dtype, node->flags & ~HONE_FLAG_STAYS,
                        node->n_inputs, args);
}

/* ---- movement ---- */

static const hone_term_t* element_reshape(hone_lowering_t* l, const hone_value_t* value,
                                          const hone_place_t* at) {
  hone_place_t from[HONE_MAX_RANK];
  hone_lower_reshape(l, value->node, at, from);
  return hone_lower_element(l, value->node->inputs[0], from);
}

static const hone_term_t* element_permute(hone_lowering_t* l, const hone_value_t* value,
                                          const hone_place_t* at) {
  hone_place_t from[HONE_MAX_RANK];
  for (int i = 0; i < value->type.rank; i++) from[value->node->axes[i]] = at[i];
  return hone_lower_element(l, value->node->inputs[0], from);
}

bool hone_lower_repeats(hone_dim_t extent) { return hone_dim_max_value(extent) == 1; }

static const hone_term_t* element_expand(hone_lowering_t* l, const hone_value_t* value,
                                         const hone_place_t* at) {
  const hone_value_t* x = value->node->inputs[0];
  hone_place_t from[HONE_MAX_RANK];
  for (int i = 0; i < value->type.rank; i++)
    from[i] = hone_lower_repeats(x->type.dims[i]) ? (hone_place_t){.has_parts = true} : at[i];
  return hone_lower_element(l, x, from);
}

static const hone_term_t* element_slice(hone_lowering_t* l, const hone_value_t* value,
                                        const hone_place_t* at) {
  const hone_node_t* node = value->node;
  hone_dims_t* dims = l->kernel->dims;
  hone_place_t from[HONE_MAX_RANK];
  for (int i = 0; i < value->type.rank; i++) {
    bool is_whole = hone_dim_is(node->lo[i], 0) && hone_dim_is(node->step[i], 1);
    hone_dim_t scaled = hone_dim_mul(dims, at[i].dim, hone_lowering_dim(l, node->step[i]));
    hone_dim_t moved = hone_dim_add(dims, scaled, hone_lowering_dim(l, node->lo[i]));
    bool same_extent = hone_dim_same(node->inputs[0]->type.dims[i], value->type.dims[i]);
    from[i] = is_whole && same_extent ? at[i] : hone_place_of(moved);
  }
  return hone_lower_element(l, node->inputs[0], from);
}

static const hone_term_t* element_flip(hone_lowering_t* l, const hone_value_t* value,
                                       const hone_place_t* at) {
  const hone_node_t* node = value->node;
  hone_dims_t* dims = l->kernel->dims;
  hone_place_t from[HONE_MAX_RANK];
  memcpy(from, at, (size_t)value->type.rank * sizeof *from);
  for (int i = 0; i < node->n_axes; i++) {
    int64_t axis = node->axes[i];
    hone_dim_t last =
        hone_dim_sub(dims, hone_lowering_dim(l, value->type.dims[axis]), hone_dim_int(1));
    from[axis] = hone_place_of(hone_dim_sub(dims, last, at[axis].dim));
  }
  return hone_lower_element(l, node->inputs[0], from);
}

/* x where the index is inside, v in the pad. */
static const hone_term_t* element_pad(hone_lowering_t* l, const hone_value_t* value,
                                      const hone_place_t* at) {
  const hone_node_t* node = value->node;
  const hone_value_t* x = node->inputs[0];
  hone_kernel_t* k = l->kernel;
  hone_place_t from[HONE_MAX_RANK];
  const hone_term_t* inside = hone_term_const(k, HONE_BOOL, &(uint8_t){1});
  for (int i = 0; i < value->type.rank && inside; i++) {
    from[i] = at[i];
    if (hone_dim_is(node->lo[i], 0) && hone_dim_is(node->hi[i], 0)) continue;
    hone_dim_t extent = hone_lowering_dim(l, x->type.dims[i]);
    hone_dim_t index = hone_dim_sub(k->dims, at[i].dim, hone_lowering_dim(l, node->lo[i]));
    const hone_term_t* is_right = hone_term_lt(k, hone_dim_int(-1), index);
    const hone_term_t* is_left = hone_term_lt(k, index, extent);
    inside = hone_term_binary(k, HONE_PRIM_AND, inside,
                              hone_term_binary(k, HONE_PRIM_AND, is_right, is_left));
    from[i] = hone_place_of(clamp(l, index, extent));
  }
  const hone_term_t* padding = hone_lower_element(l, node->inputs[1], NULL);
  if (!inside || !padding || hone_term_is_false(inside)) return padding;
  return hone_term_select(k, inside, hone_lower_element(l, x, from), padding);
}

static const hone_term_t* element_concat(hone_lowering_t* l, const hone_value_t* value,
                                         const hone_place_t* at) {
  const hone_node_t* node = value->node;
  hone_kernel_t* k = l->kernel;
  int64_t axis = node->axes[0];
  hone_dim_t end = hone_lowering_dim(l, value->type.dims[axis]);
  hone_place_t from[HONE_MAX_RANK];
  memcpy(from, at, (size_t)value->type.rank * sizeof *from);
  const hone_term_t* chosen = NULL;
  for (int i = node->n_inputs - 1; i >= 0; i--) {
    hone_dim_t extent = hone_lowering_dim(l, node->inputs[i]->type.dims[axis]);
    hone_dim_t begin = hone_dim_sub(k->dims, end, extent);
    from[axis] = hone_place_of(clamp(l, hone_dim_sub(k->dims, at[axis].dim, begin), extent));
    const hone_term_t* part = hone_lower_element(l, node->inputs[i], from);
    if (!part) return NULL;
    const hone_term_t* is_before = hone_term_lt(k, at[axis].dim, end);
    chosen = chosen ? hone_term_select(k, is_before, part, chosen) : part;
    end = begin;
  }
  return chosen;
}

static const hone_term_t* element_window(hone_lowering_t* l, const hone_value_t* value,
                                         const hone_place_t* at) {
  const hone_node_t* node = value->node;
  hone_dims_t* dims = l->kernel->dims;
  int rank = node->inputs[0]->type.rank;
  hone_place_t from[HONE_MAX_RANK];
  memcpy(from, at, (size_t)rank * sizeof *from);
  for (int i = 0; i < node->n_axes; i++) {
    int64_t axis = node->axes[i];
    hone_dim_t start = hone_dim_mul(dims, at[axis].dim, hone_lowering_dim(l, node->step[i]));
    hone_dim_t offset = hone_dim_mul(dims, at[rank + i].dim, hone_lowering_dim(l, node->hi[i]));
    from[axis] = hone_place_of(hone_dim_add(dims, start, offset));
  }
  return hone_lower_element(l, node->inputs[0], from);
}

/* ---- indirect ---- */

/* Where the index has been checked before in this block, else bad. */
static hone_dim_t find_checked(const hone_lowering_t* l, const hone_term_t* index,
                               hone_dim_t extent) {
  for (const hone_checked_t* c = l->checked; c; c = c->next)
    if (c->block == l->block && c->index == index && hone_dim_same(c->extent, extent))
      return c->var;
  return hone_dim_bad();
}

static hone_dim_t note_checked(hone_lowering_t* l, const hone_term_t* index, hone_dim_t extent,
                               hone_dim_t var) {
  hone_checked_t* checked = hone_arena_alloc(l->kernel->arena, sizeof *checked);
  if (!checked) {
    l->kernel->out_of_memory = true;
    return hone_dim_bad();
  }
  *checked = (hone_checked_t){l->checked, l->block, index, extent, var};
  l->checked = checked;
  return var;
}

hone_dim_t hone_lower_checked_index(hone_lowering_t* l, const hone_node_t* node,
                                    const hone_term_t* index, hone_dim_t extent) {
  hone_kernel_t* k = l->kernel;
  if (!index) return hone_dim_bad();
  bool is_safe = index->dtype == HONE_U8 && hone_dim_min_value(extent) > UINT8_MAX;
  index = hone_term_prim(k, HONE_PRIM_CAST, HONE_I64, 0, 1, &index);
  if (!index) return hone_dim_bad();
  hone_dim_t known = find_checked(l, index, extent);
  if (!hone_dim_is_bad(known)) return known;
  const hone_term_t* least = hone_term_number(k, HONE_I64, -1);
  const hone_term_t* is_right = hone_term_binary(k, HONE_PRIM_LT, least, index);
  const hone_term_t* is_left = hone_term_binary(k, HONE_PRIM_LT, index, hone_term_index(k, extent));
  const hone_term_t* inside = hone_term_binary(k, HONE_PRIM_AND, is_right, is_left);
  if (hone_term_is_true(inside) && index->kind == HONE_TERM_INDEX) return index->dim;
  is_safe = is_safe || hone_lowering_is_inside(l, index, extent);
  char message[256];
  snprintf(message, sizeof message, "%s: an index is out of range",
           node->origin ? node->origin : hone_prim_info(node->prim)->name);
  int64_t most = hone_dim_max_value(extent) - 1;
  const hone_term_t* safe =
      is_safe ? index : hone_term_select(k, inside, index, hone_term_number(k, HONE_I64, 0));
  if (!is_safe && !hone_term_is_true(inside) && !hone_stmt_check(k, l->block, inside, message))
    return hone_dim_bad();
  hone_stmt_t* let = hone_stmt_let(k, l->block, "x", 0, most > 0 ? most : 0, safe);
  return let ? note_checked(l, index, extent, let->var) : hone_dim_bad();
}

static const hone_term_t* element_gather(hone_lowering_t* l, const hone_value_t* value,
                                         const hone_place_t* at) {
  const hone_node_t* node = value->node;
  const hone_value_t *x = node->inputs[0], *indices = node->inputs[1];
  const hone_term_t* index = hone_lower_element(l, indices, at);
  hone_dim_t row = hone_lower_checked_index(l, node, index, hone_lowering_dim(l, x->type.dims[0]));
  if (hone_dim_is_bad(row)) return NULL;
  hone_place_t from[HONE_MAX_RANK];
  from[0] = hone_place_of(row);
  for (int i = 1; i < x->type.rank; i++) from[i] = at[indices->type.rank + i - 1];
  return hone_lower_element(l, x, from);
}

/* ---- all ---- */

static const element_fn by_prim[HONE_PRIM_COUNT] = {
    [HONE_PRIM_INPUT] = element_input,
    [HONE_PRIM_CONSTANT] = element_constant,
    [HONE_PRIM_IOTA] = element_iota,
    [HONE_PRIM_DIMS] = element_dims,
    [HONE_PRIM_RESHAPE] = element_reshape,
    [HONE_PRIM_PERMUTE] = element_permute,
    [HONE_PRIM_EXPAND] = element_expand,
    [HONE_PRIM_SLICE] = element_slice,
    [HONE_PRIM_PAD] = element_pad,
    [HONE_PRIM_FLIP] = element_flip,
    [HONE_PRIM_CONCAT] = element_concat,
    [HONE_PRIM_WINDOW] = element_window,
    [HONE_PRIM_GATHER] = element_gather,
    [HONE_PRIM_REDUCE] = hone_lower_anchor,
    [HONE_PRIM_CONTRACT] = hone_lower_anchor,
};

bool hone_prim_is_loop(const hone_node_t* node, const char** out_why) {
  bool is_whole = node->prim == HONE_PRIM_SCAN || node->prim == HONE_PRIM_SCATTER;
  *out_why = "has no loops: it is run as a whole";
  return by_prim[node->prim] || hone_prim_is_elementwise(node->prim) || is_whole;
}

static const hone_term_t* find_memo(const hone_lowering_t* l, const hone_value_t* value,
                                    const hone_place_t* at) {
  for (hone_element_memo_t* m = l->notes[value->id].memos; m; m = m->next) {
    bool same = m->block == l->block;
    for (int i = 0; i < value->type.rank && same; i++) same = hone_dim_same(m->at[i], at[i].dim);
    if (same) return m->term;
  }
  return NULL;
}

/* What two read would else be lowered twice, what it reads four times, and so on. */
static const hone_term_t* keep_memo(hone_lowering_t* l, const hone_value_t* value,
                                    const hone_place_t* at, const hone_term_t* term) {
  size_t rank = (size_t)value->type.rank;
  hone_element_memo_t* memo;
  if (!term) return NULL;
  memo = hone_arena_alloc(l->kernel->arena, sizeof *memo + rank * sizeof *memo->at);
  if (!memo) {
    l->kernel->out_of_memory = true;
    return NULL;
  }
  memo->block = l->block;
  memo->term = term;
  for (size_t i = 0; i < rank; i++) memo->at[i] = at[i].dim;
  memo->next = l->notes[value->id].memos;
  l->notes[value->id].memos = memo;
  return term;
}

static const hone_term_t* lower_map(hone_lowering_t* l, const hone_value_t* value,
                                    const hone_place_t* at) {
  const hone_term_t* known = find_memo(l, value, at);
  return known ? known : keep_memo(l, value, at, hone_lower_map(l, value, at));
}

const hone_term_t* hone_lower_element(hone_lowering_t* l, const hone_value_t* value,
                                      const hone_place_t* at) {
  const hone_node_t* node = value->node;
  const hone_value_note_t* note = &l->notes[value->id];
  if (l->kernel->out_of_memory || l->status) return NULL;
  if (by_prim[node->prim]) return by_prim[node->prim](l, value, at);
  if (!hone_prim_is_elementwise(node->prim))
    return hone_lowering_fail(l, node, "cannot be part of a kernel");
  if (hone_lowering_stays_alike(l, value, at)) return hone_lower_alike(l, value, at);
  if (note->n_uses < 2) return hone_lower_map(l, value, at);
  if (!hone_lowering_is_costly(l, value)) return lower_map(l, value, at);
  hone_lowering_note_rows(l, value, at);
  return note->rows ? hone_lower_anchor(l, value, at) : lower_map(l, value, at);
}
