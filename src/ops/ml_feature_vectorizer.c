/* FeatureVectorizer (ai.onnx.ml): lays the features of several inputs side by
 * side as f32; each part is cut or filled with zeros to its stated width. */
#include "base/memory.h"
#include "ops/common/ml.h"

/* [rows, …] as [rows, width]. */
static hone_value_t* part(hone_lower_t* l, hone_value_t* x, int64_t width) {
  hone_builder_t* b = l->b;
  if (!hone_is_known(b, x)) return NULL;
  x = hone_rank(x) < 2 ? hone_unsqueeze(b, hone_ravel(b, x), 0) : hone_flatten(b, x, 1);
  x = hone_cast(b, x, HONE_F32);
  if (width < 0 || !x) return x;
  hone_dim_t kept = hone_d_min(b, hone_dim(x, 1), hone_d(width));
  x = hone_slice_axis(b, x, 1, hone_d(0), kept);
  hone_dim_t none[2] = {hone_d(0), hone_d(0)};
  hone_dim_t fill[2] = {hone_d(0), hone_d_sub(b, hone_d(width), kept)};
  return hone_pad(b, x, none, fill, NULL);
}

static void lower_feature_vectorizer(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  int n_widths;
  const int64_t* widths = hone_attr_ints(l->node, "inputdimensions", &n_widths);
  hone_value_t** parts = hone_arena_array(b->graph->arena, (size_t)l->n_inputs, sizeof *parts);
  if (!parts) {
    hone_fail_status(b, hone_oom());
    return;
  }
  if (n_widths && n_widths != l->n_inputs) {
    hone_op_fail(l, "inputdimensions has %d entries for %d inputs", n_widths, l->n_inputs);
    return;
  }
  for (int i = 0; i < l->n_inputs; i++)
    parts[i] = part(l, hone_op_in(l, i), n_widths ? widths[i] : -1);
  hone_op_out(l, 0, hone_concat(b, l->n_inputs, parts, 1));
}

static const hone_op_t ops[] = {
    {.domain = HONE_ML_DOMAIN,
     .name = "FeatureVectorizer",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = -1,
     .attrs = "inputdimensions",
     .lower = lower_feature_vectorizer},
};
HONE_OP_FAMILY(ml_feature_vectorizer, ops)
