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
  int columns = p->channels == rank - 1 ? rank - 2 : rank - 1;
  if (last < 0 || p->window->axes[last] != columns || !hone_dim_is(p->window->hi[last], 1) ||
      !hone_dim_is_int(p->window->shape[last]))
    return false;
  p->column_count = p->window->shape[last].k;
  return p->column_count > 1;
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
           hone_operand_fills_lanes(contract, 1 - side, HONE_BLOCK_LANES);
  }
  return false;
}

bool hone_picture_pays(const hone_picture_t* picture, int64_t bytes) {
  enum { GROUP = 4 /* bytes that go to a lane together */, LEAST_GROUPS = 5 };
  return picture->column_count * HONE_PICTURE_CHANNELS * bytes >= LEAST_GROUPS * GROUP;
}

int hone_picture_axis(int rank, int channels, int64_t axis) {
  return axis == channels ? rank - 1 : (int)axis - (axis > channels);
}

int hone_picture_pairs(const hone_node_t* contract, const hone_picture_t* p,
                       const int64_t* weight_axes, int64_t (*out_pairs)[2]) {
  int n = contract->n_axes / 2, last = p->window->inputs[0]->type.rank - 1, at = 0;
  for (int i = 0; i < n; i++) {
    int place = i == p->pair ? n - 1 : at++;
    out_pairs[place][p->data] = i == p->pair ? last : contract->axes[2 * i + p->data];
    out_pairs[place][1 - p->data] = weight_axes[contract->axes[2 * i + 1 - p->data]];
  }
  return n;
}

/* Four channels: all, and the first again. */
static hone_value_t* repeat_channels(hone_builder_t* b, hone_value_t* x, int axis) {
  hone_dim_t shape[HONE_MAX_RANK], channels = x->type.dims[axis];
  int rank = x->type.rank;
  x = hone_unsqueeze(b, x, axis);
  for (int i = 0; i <= rank && x; i++) shape[i] = i == axis ? hone_d(2) : x->type.dims[i];
  x = hone_expand(b, x, rank + 1, shape);
  for (int i = axis; i < rank; i++) shape[i] = shape[i + 1];
  shape[axis] = hone_d(2 * channels.k);
  x = hone_reshape(b, x, rank, shape);
  return hone_slice_axis(b, x, axis, hone_d(0), hone_d(HONE_PICTURE_CHANNELS));
}

hone_value_t* hone_picture_turn(hone_builder_t* b, hone_value_t* x, int channels) {
  int last = x->type.rank - 1;
  return hone_move_axis(b, repeat_channels(b, x, channels), channels, last);
}

hone_value_t* hone_picture_turn_weights(hone_builder_t* b, const hone_node_t* contract,
                                        const hone_picture_t* p, int64_t* out_axes) {
  hone_value_t* w = contract->inputs[1 - p->data];
  int rank = w->type.rank, channels = (int)contract->axes[2 * p->pair + 1 - p->data];
  hone_dim_t lo[HONE_MAX_RANK], hi[HONE_MAX_RANK];
  for (int i = 0; i < rank; i++) {
    lo[i] = hi[i] = hone_d(0);
    out_axes[i] = hone_picture_axis(rank, channels, i);
  }
  hi[rank - 1] = hone_d(HONE_PICTURE_CHANNELS - w->type.dims[channels].k);
  return hone_pad(b, hone_move_axis(b, w, channels, rank - 1), lo, hi, NULL);
}

hone_value_t* hone_picture_pad(hone_builder_t* b, const hone_node_t* pad, int channels,
                               hone_value_t* x, hone_value_t* value) {
  hone_dim_t lo[HONE_MAX_RANK], hi[HONE_MAX_RANK];
  for (int i = 0; i < x->type.rank; i++) {
    lo[hone_picture_axis(x->type.rank, channels, i)] = pad->lo[i];
    hi[hone_picture_axis(x->type.rank, channels, i)] = pad->hi[i];
  }
  return hone_pad(b, x, lo, hi, value);
}

hone_value_t* hone_picture_slide(hone_builder_t* b, const hone_node_t* window, int channels,
                                 hone_value_t* x) {
  int64_t axes[HONE_MAX_RANK];
  for (int i = 0; i < window->n_axes; i++)
    axes[i] = hone_picture_axis(x->type.rank, channels, window->axes[i]);
  return hone_window(b, x, window->n_axes, axes, window->shape, window->step, window->hi);
}
