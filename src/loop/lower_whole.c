/* Outputs that are made as a whole: of a scan each element needs the one
 * before, and a scatter changes what is there. */
#include "loop/lower_impl.h"

static void indices(const hone_place_t* places, int rank, hone_dim_t* out) {
  for (int i = 0; i < rank; i++) out[i] = places[i].dim;
}

/* ---- scan ---- */

/* Loops over the axes but the scanned one, the running value, then that axis. */
static bool lower_scan(hone_lowering_t* l, const hone_value_t* value, const hone_buffer_t* out) {
  const hone_node_t* node = value->node;
  hone_kernel_t* k = l->kernel;
  hone_place_t places[HONE_MAX_RANK];
  hone_dim_t index[HONE_MAX_RANK];
  int64_t axis = node->axes[0];
  l->block = k->root;
  for (int i = 0; i < value->type.rank; i++) {
    if (i == axis) continue;
    hone_stmt_t* loop = hone_stmt_loop(k, l->block, "i", hone_lowering_dim(l, value->type.dims[i]),
                                       HONE_LOOP_SERIAL);
    if (!loop) return false;
    l->block = loop;
    places[i] = hone_place_of_loop(loop);
  }
  hone_dtype_t dtype = value->type.dtype;
  if (hone_dtype_is_float(dtype) && hone_dtype_size(dtype) < 4) dtype = HONE_F32;
  hone_buffer_t* sum =
      hone_kernel_buffer(k, "acc", dtype, 0, NULL, HONE_SPACE_LOCAL, HONE_ROLE_SCRATCH);
  if (!sum || !hone_stmt_store(k, l->block, sum, NULL, HONE_COMBINE_SET,
                               hone_term_neutral(k, node->combine, dtype)))
    return false;
  hone_stmt_t* loop = hone_stmt_loop(k, l->block, "k", hone_lowering_dim(l, value->type.dims[axis]),
                                     HONE_LOOP_SERIAL);
  if (!loop) return false;
  loop->is_reduction = true;
  l->block = loop;
  places[axis] = hone_place_of_loop(loop);
  indices(places, value->type.rank, index);
  const hone_term_t* term = hone_lower_element(l, node->inputs[0], places);
  const hone_term_t* total = hone_term_load(k, sum, NULL);
  if (!term || !total) return false;
  term = hone_term_prim(k, HONE_PRIM_CAST, dtype, 0, 1, &term);
  total = hone_term_prim(k, HONE_PRIM_CAST, value->type.dtype, 0, 1, &total);
  bool before = node->flags & HONE_FLAG_EXCLUSIVE;
  return (!before || hone_stmt_store(k, loop, out, index, HONE_COMBINE_SET, total)) &&
         hone_stmt_store(k, loop, sum, NULL, node->combine, term) &&
         (before || hone_stmt_store(k, loop, out, index, HONE_COMBINE_SET, total));
}

/* ---- scatter ---- */

static bool open_axes(hone_lowering_t* l, const hone_type_t* type, int begin, int end,
                      bool in_order, hone_place_t* places) {
  for (int i = begin; i < end; i++) {
    hone_stmt_t* loop = hone_stmt_loop(l->kernel, l->block, in_order ? "k" : "i",
                                       hone_lowering_dim(l, type->dims[i]), HONE_LOOP_SERIAL);
    if (!loop) return false;
    loop->is_reduction = in_order;
    l->block = loop;
    places[i] = hone_place_of_loop(loop);
  }
  return true;
}

/* Updates in the order of their rows: later ones win. */
static bool lower_scatter(hone_lowering_t* l, const hone_value_t* value, const hone_buffer_t* out) {
  const hone_node_t* node = value->node;
  const hone_value_t *indices_value = node->inputs[1], *updates = node->inputs[2];
  int n = indices_value->type.rank;
  hone_place_t places[HONE_MAX_RANK];
  hone_dim_t index[HONE_MAX_RANK];
  if (!hone_lower_copy(l, node->inputs[0], out)) return false;
  l->block = l->kernel->root;
  if (!open_axes(l, &updates->type, 0, n, true, places)) return false;
  const hone_term_t* row = hone_lower_element(l, indices_value, places);
  hone_dim_t extent = hone_lowering_dim(l, value->type.dims[0]);
  index[0] = hone_lower_checked_index(l, node, row, extent);
  if (hone_dim_is_bad(index[0])) return false;
  if (!open_axes(l, &updates->type, n, updates->type.rank, false, places)) return false;
  for (int i = 1; i < value->type.rank; i++) index[i] = places[n + i - 1].dim;
  const hone_term_t* term = hone_lower_element(l, updates, places);
  return term && hone_stmt_store(l->kernel, l->block, out, index, node->combine, term);
}

bool hone_value_is_whole(const hone_value_t* value) {
  hone_prim_t prim = value->node->prim;
  return prim == HONE_PRIM_SCAN || prim == HONE_PRIM_SCATTER;
}

bool hone_lower_whole(hone_lowering_t* l, const hone_value_t* value, const hone_buffer_t* out) {
  if (value->node->prim == HONE_PRIM_SCAN) return lower_scan(l, value, out);
  return lower_scatter(l, value, out);
}
