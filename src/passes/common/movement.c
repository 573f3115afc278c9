#include "passes/common/movement.h"

#include <string.h>

#include "passes/common/match.h"

static bool is_one(hone_dim_t d) { return hone_dim_is(d, 1); }

bool hone_move_same_but_ones(const hone_type_t* a, int rank, const hone_dim_t* shape) {
  int i = 0, k = 0;
  for (;;) {
    while (i < a->rank && is_one(a->dims[i])) i++;
    while (k < rank && is_one(shape[k])) k++;
    if (i == a->rank || k == rank) return i == a->rank && k == rank;
    if (!hone_dim_same(a->dims[i++], shape[k++])) return false;
  }
}

/* ---- pins ---- */

bool hone_move_channels_last(const hone_node_t* contract, int64_t* out_axes) {
  int batch = contract->n_batch, rank = contract->outputs[0]->type.rank;
  int free = contract->inputs[0]->type.rank - contract->n_axes / 2;
  for (int i = 0; i < rank; i++)
    out_axes[i] = i < free ? batch + i : i < free + batch ? i - free : i;
  return batch > 0 && free > 0;
}

void hone_move_to_front(int rank, int64_t axis, int64_t* out_axes) {
  for (int i = 0; i < rank; i++) out_axes[i] = i == 0 ? axis : i <= axis ? i - 1 : i;
}

void hone_move_back(int rank, int count, int64_t axis, int64_t* out_axes) {
  for (int i = 0; i < rank; i++)
    out_axes[i] = i < axis ? count + i : i < axis + count ? i - axis : i;
}

static bool same_axes(int rank, const int64_t* a, const int64_t* b) {
  return memcmp(a, b, (size_t)rank * sizeof *a) == 0;
}

/* Permute, gather of rows, permute: whether the first brings one axis to the front
 * and the last puts it back. */
static bool takes_in_place(const hone_node_t* permute, const hone_node_t* gather) {
  const hone_node_t* front = hone_match_prim(gather->inputs[0], HONE_PRIM_PERMUTE);
  int64_t to[HONE_MAX_RANK], back[HONE_MAX_RANK];
  if (!front) return false;
  hone_move_to_front(front->n_axes, front->axes[0], to);
  hone_move_back(permute->n_axes, gather->inputs[1]->type.rank, front->axes[0], back);
  return same_axes(front->n_axes, front->axes, to) &&
         same_axes(permute->n_axes, permute->axes, back);
}

/* Whether both put the axes that are not 1 into the same order. */
static bool order_alike(const hone_type_t* type, const int64_t* a, const int64_t* b) {
  for (int i = 0, k = 0;; i++, k++) {
    while (i < type->rank && is_one(type->dims[a[i]])) i++;
    while (k < type->rank && is_one(type->dims[b[k]])) k++;
    if (i == type->rank || k == type->rank) return i == k;
    if (a[i] != b[k]) return false;
  }
}

bool hone_move_is_pinned(const hone_node_t* permute) {
  const hone_node_t* made = permute->inputs[0]->node;
  int64_t axes[HONE_MAX_RANK];
  if (made->prim == HONE_PRIM_GATHER) return takes_in_place(permute, made);
  return made->prim == HONE_PRIM_CONTRACT && hone_move_channels_last(made, axes) &&
         order_alike(&permute->inputs[0]->type, axes, permute->axes);
}

hone_node_t* hone_move_permute_of(const hone_value_t* value) {
  hone_node_t* permute = hone_match_prim(value, HONE_PRIM_PERMUTE);
  return permute && !hone_move_is_pinned(permute) ? permute : NULL;
}

/* ---- permute ---- */

static bool is_identity(int rank, const int64_t* axes) {
  for (int i = 0; i < rank; i++)
    if (axes[i] != i) return false;
  return true;
}

/* Whether the axes that are not 1 keep their order. */
static bool moves_only_ones(const hone_type_t* type, const int64_t* axes) {
  int64_t last = -1;
  for (int i = 0; i < type->rank; i++) {
    if (is_one(type->dims[axes[i]])) continue;
    if (axes[i] < last) return false;
    last = axes[i];
  }
  return true;
}

static void permute_dims(const hone_type_t* type, const int64_t* axes, hone_dim_t* out) {
  for (int i = 0; i < type->rank; i++) out[i] = type->dims[axes[i]];
}

void hone_move_partners(const hone_type_t* plain, const hone_type_t* reshaped, int* out_axes) {
  for (int i = 0, k = 0; i < reshaped->rank; i++) {
    out_axes[i] = -1;
    if (is_one(reshaped->dims[i])) continue;
    while (is_one(plain->dims[k])) k++;
    out_axes[i] = k++;
  }
}

void hone_move_partners_of_all(const hone_type_t* plain, int rank, const hone_dim_t* shape,
                               int* out_axes) {
  int next[2] = {0, 0}; /* among the plain's axes: of those that are not 1, and that are */
  for (int i = 0; i < rank; i++) {
    bool one = is_one(shape[i]);
    while (is_one(plain->dims[next[one]]) != one) next[one]++;
    out_axes[i] = next[one]++;
  }
}

/* `axes` of a reshape's result as axes of its input, which differ by ones: the
 * other axes in the new order, the ones where they are. */
static void axes_before_reshape(const hone_type_t* before, const hone_type_t* after,
                                const int64_t* axes, int64_t* out) {
  int partner[HONE_MAX_RANK], next = 0;
  hone_move_partners(before, after, partner);
  for (int i = 0; i < before->rank; i++) {
    out[i] = i;
    if (is_one(before->dims[i])) continue;
    while (is_one(after->dims[axes[next]])) next++;
    out[i] = partner[axes[next++]];
  }
}

/* Where the permute puts that axis. */
static int place_of(int rank, const int64_t* axes, int64_t axis) {
  int place = 0;
  while (place < rank - 1 && axes[place] != axis) place++;
  return place;
}

hone_value_t* hone_move_permute(hone_builder_t* b, hone_value_t* x, const int64_t* axes) {
  if (!hone_is_known(b, x)) return NULL;
  int rank = x->type.rank;
  if (is_identity(rank, axes)) return x;
  const hone_node_t* made = x->node;
  hone_dim_t shape[HONE_MAX_RANK];
  int64_t inner[HONE_MAX_RANK];
  permute_dims(&x->type, axes, shape);
  if (hone_move_permute_of(x)) {
    for (int i = 0; i < rank; i++) inner[i] = made->axes[axes[i]];
    return hone_move_permute(b, made->inputs[0], inner);
  }
  if (made->prim == HONE_PRIM_EXPAND)
    return hone_expand(b, hone_move_permute(b, made->inputs[0], axes), rank, shape);
  if (made->prim == HONE_PRIM_IOTA)
    return hone_iota(b, x->type.dtype, rank, shape, place_of(rank, axes, made->axes[0]));
  if (moves_only_ones(&x->type, axes)) return hone_move_reshape(b, x, rank, shape);
  if (made->prim == HONE_PRIM_RESHAPE &&
      hone_move_same_but_ones(&made->inputs[0]->type, rank, x->type.dims)) {
    axes_before_reshape(&made->inputs[0]->type, &x->type, axes, inner);
    return hone_move_reshape(b, hone_move_permute(b, made->inputs[0], inner), rank, shape);
  }
  return hone_permute(b, x, axes);
}

/* ---- reshape ---- */

/* Of the expansion of y to `wide`, when only ones come or go: y so reshaped
 * that expanding it to `shape` gives the same. */
static hone_value_t* reshape_source(hone_builder_t* b, hone_value_t* y, const hone_type_t* wide,
                                    int rank, const hone_dim_t* shape) {
  hone_dim_t narrow[HONE_MAX_RANK];
  for (int i = 0, k = 0; i < rank; i++) {
    narrow[i] = hone_dim_int(1);
    if (is_one(shape[i])) continue;
    while (is_one(wide->dims[k])) k++;
    narrow[i] = y->type.dims[k++];
  }
  return hone_move_reshape(b, y, rank, narrow);
}

hone_value_t* hone_move_reshape(hone_builder_t* b, hone_value_t* x, int rank,
                                const hone_dim_t* shape) {
  if (!hone_is_known(b, x)) return NULL;
  const hone_node_t* made = x->node;
  if (made->prim == HONE_PRIM_RESHAPE && hone_type_is_known(&made->inputs[0]->type))
    return hone_move_reshape(b, made->inputs[0], rank, shape);
  if (made->prim == HONE_PRIM_EXPAND && hone_move_same_but_ones(&x->type, rank, shape)) {
    hone_value_t* y = reshape_source(b, made->inputs[0], &x->type, rank, shape);
    return hone_expand(b, y, rank, shape);
  }
  return hone_reshape(b, x, rank, shape);
}

/* ---- backwards ---- */

/* What `v` is made from by expands and reshapes. */
static const hone_value_t* beneath(const hone_value_t* v) {
  while (v->node->prim == HONE_PRIM_EXPAND || v->node->prim == HONE_PRIM_RESHAPE)
    v = v->node->inputs[0];
  return v;
}

/* Whether `now` costs nothing: its movement is of ones only, of a constant or
 * pinned, or a permute has merely become another one. */
static bool is_free(const hone_value_t* now, const hone_value_t* before) {
  const hone_value_t* v = now ? beneath(now) : NULL;
  if (!v || !hone_move_permute_of(v)) return v != NULL;
  if (hone_move_permute_of(before)) return true;
  return beneath(v->node->inputs[0])->node->prim == HONE_PRIM_CONSTANT;
}

hone_value_t* hone_move_unpermute(hone_builder_t* b, hone_value_t* x, const int64_t* axes) {
  int64_t inverse[HONE_MAX_RANK];
  hone_match_invert(x->type.rank, axes, inverse);
  hone_value_t* u = hone_move_permute(b, x, inverse);
  return is_free(u, x) ? u : NULL;
}
