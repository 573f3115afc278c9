/* Indices through a reshape. Extents of 1 play no part. The rest falls into
 * groups of consecutive axes with equal products on both sides; within one,
 * the loop variables that make up the result's indices are dealt out to the
 * operand's axes, and where they do not fit, the group's row-major number is
 * taken apart by division. */
#include <string.h>

#include "loop/lower_impl.h"

/* The axes of one side that are not 1. */
typedef struct side {
  int n;
  int axis[HONE_MAX_RANK];
  hone_dim_t extent[HONE_MAX_RANK];
} side_t;

static side_t side_of(hone_lowering_t* l, const hone_type_t* type) {
  side_t side = {0};
  for (int i = 0; i < type->rank; i++) {
    hone_dim_t extent = hone_lowering_dim(l, type->dims[i]);
    if (hone_dim_is(extent, 1)) continue;
    side.axis[side.n] = i;
    side.extent[side.n++] = extent;
  }
  return side;
}

/* Ends (exclusive) of the group that begins at `from` and `to`. */
static void find_group(hone_lowering_t* l, const side_t* a, const side_t* b, int* from, int* to) {
  hone_dims_t* dims = l->kernel->dims;
  if (*from == a->n || *to == b->n) {
    *from = a->n;
    *to = b->n;
    return;
  }
  hone_dim_t pa = a->extent[(*from)++], pb = b->extent[(*to)++];
  while (!hone_dim_same(pa, pb)) {
    hone_dim_t q = hone_dim_floordiv(dims, pa, pb);
    bool b_divides = hone_dim_same(hone_dim_mul(dims, q, pb), pa);
    if (b_divides && *to < b->n) {
      pb = hone_dim_mul(dims, pb, b->extent[(*to)++]);
    } else if (*from < a->n) {
      pa = hone_dim_mul(dims, pa, a->extent[(*from)++]);
    } else {
      *to = b->n;
      return;
    }
  }
}

/* Deals the parts out; false when they do not fit the extents. */
static bool deal_parts(hone_lowering_t* l, const side_t* a, int from, int from_end,
                       const hone_place_t* at, const side_t* b, int to, int to_end,
                       hone_place_t* out) {
  hone_dims_t* dims = l->kernel->dims;
  for (int j = to; j < to_end; j++)
    if (!at[b->axis[j]].has_parts) return false;
  int part = 0;
  for (int i = from; i < from_end; i++) {
    hone_place_t* place = &out[a->axis[i]];
    hone_dim_t left = a->extent[i];
    *place = (hone_place_t){.has_parts = true};
    while (!hone_dim_is(left, 1)) {
      while (to < to_end && part == at[b->axis[to]].n_parts) {
        to++;
        part = 0;
      }
      if (to == to_end) return false;
      hone_dim_t var = at[b->axis[to]].parts[part].var;
      hone_dim_t extent = at[b->axis[to]].parts[part].extent;
      hone_dim_t rest = hone_dim_floordiv(dims, left, extent);
      if (!hone_dim_same(hone_dim_mul(dims, rest, extent), left)) return false;
      place->dim = hone_dim_add(dims, hone_dim_mul(dims, place->dim, extent), var);
      place->parts[place->n_parts].var = var;
      place->parts[place->n_parts++].extent = extent;
      left = rest;
      part++;
    }
  }
  return true;
}

/* By the row-major number of the group. */
static void divide_group(hone_lowering_t* l, const side_t* a, int from, int from_end,
                         const hone_place_t* at, const side_t* b, int to, int to_end,
                         hone_place_t* out) {
  hone_dims_t* dims = l->kernel->dims;
  hone_dim_t number = hone_dim_int(0);
  for (int j = to; j < to_end; j++)
    number = hone_dim_add(dims, hone_dim_mul(dims, number, b->extent[j]), at[b->axis[j]].dim);
  for (int i = from_end - 1; i >= from; i--) {
    hone_dim_t rest = i == from ? number : hone_dim_mod(dims, number, a->extent[i]);
    out[a->axis[i]] = hone_place_of(rest);
    number = hone_dim_floordiv(dims, number, a->extent[i]);
  }
}

void hone_lower_reshape(hone_lowering_t* l, const hone_node_t* node, const hone_place_t* at,
                        hone_place_t* out) {
  side_t a = side_of(l, &node->inputs[0]->type), b = side_of(l, &node->outputs[0]->type);
  for (int i = 0; i < node->inputs[0]->type.rank; i++) out[i] = (hone_place_t){.has_parts = true};
  for (int from = 0, to = 0; from < a.n || to < b.n;) {
    int from_end = from, to_end = to;
    find_group(l, &a, &b, &from_end, &to_end);
    if (!deal_parts(l, &a, from, from_end, at, &b, to, to_end, out))
      divide_group(l, &a, from, from_end, at, &b, to, to_end, out);
    from = from_end;
    to = to_end;
  }
}
