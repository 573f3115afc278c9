#include "passes/common/picture.h"

#include "passes/common/match.h"
#include "passes/common/operand.h"

/* The only axis of the picture that is summed over beside the window's; false: there are others, or
 * none. */
static bool find_channels(const hone_node_t* contract, hone_picture_t* p) {
  int rank = p->window->inputs[0]->type.rank, found = -1, n_window = 0;
  for (int i = 0; 2 * i < contract->n_axes; i++) {
    int axis = (int)contract->axes[2 * i + p->data];
    if (axis >= rank) {
      n_window++;
      continue;
    }
    if (found >= 0) return false;
    found = axis;
    p->pair = i;
  }
  p->channels = found;
  return found >= 0 && n_window == p->window->n_axes;
}

/* Whether columns lie side by side, channels apart, and a window takes some without gaps. */
static bool find_columns(hone_picture_t* p) {
  int rank = p->window->inputs[0]->type.rank, last = p->window->n_axes - 1;
  p->columns = p->channels == rank - 1 ? rank - 2 : rank - 1;
  if (last < 0 || p->window->axes[last] != p->columns || !hone_dim_is(p->window->hi[last], 1) ||
      !hone_dim_is_int(p->window->shape[last]))
    return false;
  p->column_count = p->window->shape[last].k;
  return p->column_count > 1;
}

/* Outputs for whole vectors, the last of several at least half of one. */
static bool has_lanes(const hone_node_t* contract, int side) {
  enum { LANES = 16 };
  const hone_type_t* weights = &contract->inputs[side]->type;
  int64_t outputs = hone_match_count(weights);
  for (int i = 0; 2 * i < contract->n_axes; i++) {
    hone_dim_t extent = weights->dims[contract->axes[2 * i + side]];
    if (!hone_dim_is_int(extent) || extent.k < 1) return false;
    outputs /= extent.k;
  }
  int64_t part = outputs % LANES;
  return outputs >= LANES && (part == 0 || 2 * part >= LANES);
}

bool hone_picture_find(const hone_node_t* contract, hone_picture_t* out) {
  if (contract->prim != HONE_PRIM_CONTRACT || contract->n_batch) return false;
  for (int side = 0; side < 2; side++) {
    *out = (hone_picture_t){.data = side};
    out->window = hone_match_prim(contract->inputs[side], HONE_PRIM_WINDOW);
    if (!out->window || !hone_match_constant(hone_operand_origin(contract->inputs[1 - side])) ||
        !find_channels(contract, out) || !find_columns(out))
      continue;
    hone_dim_t channels = out->window->inputs[0]->type.dims[out->channels];
    return hone_dim_is_int(channels) && channels.k >= 2 && channels.k <= HONE_PICTURE_CHANNELS &&
           has_lanes(contract, 1 - side);
  }
  return false;
}

bool hone_picture_pays(const hone_picture_t* picture, int64_t bytes) {
  enum { GROUP = 4 /* bytes that go to a lane together */, LEAST_GROUPS = 5 };
  return picture->column_count * HONE_PICTURE_CHANNELS * bytes >= LEAST_GROUPS * GROUP;
}
