/* Layer, instance and root-mean-square normalization: over the axes of the
 * reductions to mean 0 (not for rms) and variance 1, then scaled and shifted. The
 * variance may be the mean square distance from the mean or the mean square minus
 * the squared mean. */
#include "passes/common/recognise.h"

#define CENTERED "c=sub(x, mean(x))"
#define DEVIATION "add((mean(sq(c)) | variance(x)), #eps)"
#define TIMES_INVERSE "mul(" CENTERED ", rsqrt(" DEVIATION "))"
#define OVER_ROOT "div(" CENTERED ", root(" DEVIATION "))"
#define SCALED                                                        \
  "(mul(" CENTERED ", rsqrt(" DEVIATION "), ~scale) | mul(" OVER_ROOT \
  ", ~scale)"                                                         \
  " | div(mul(" CENTERED ", ~scale), root(" DEVIATION ")))"
#define AFFINE "add(" SCALED ", ~bias)"
/* x * i + (bias - mean * i) with i = scale / deviation */
#define FOLDED \
  "add(mul(x, i=mul(rsqrt(add(variance(x), #eps)), ~scale)), sub(~bias, mul(mean(x), i)))"
#define MEAN_SQUARE "add(mean(sq(x)), #eps)"
#define RMS "(mul(x, rsqrt(" MEAN_SQUARE ")) | div(x, root(" MEAN_SQUARE ")))"
#define RMS_SCALED \
  "(mul(x, rsqrt(" MEAN_SQUARE "), ~scale) | mul(div(x, root(" MEAN_SQUARE ")), ~scale))"

/* Scale and bias go along what is normalized; else it is another normalization. */
static bool along_reduced(const hone_pattern_match_t* match) {
  return hone_pattern_only_along_reduced(match, "scale") &&
         hone_pattern_only_along_reduced(match, "bias");
}

static const hone_recognition_t table[] = {
    {"layer_norm", AFFINE, "x scale bias", along_reduced},
    {"layer_norm", FOLDED, "x scale bias", along_reduced},
    {"instance_norm", AFFINE, "x scale bias", NULL},
    {"instance_norm", FOLDED, "x scale bias", NULL},
    {"layer_norm", SCALED, "x scale", along_reduced},
    {"rms_norm", RMS_SCALED, "x scale", along_reduced},
    {"layer_norm", "(" TIMES_INVERSE " | " OVER_ROOT ")", "x", NULL},
    {"rms_norm", RMS, "x", NULL},
};

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  return hone_recognise(context, graph, sizeof table / sizeof *table, table);
}

extern const hone_pass_t hone_pass_normalization;
const hone_pass_t hone_pass_normalization = {
    .name = "normalization",
    .summary = "layer, instance and rms normalization, however they are spelt, become calls",
    .phases = {HONE_PHASE_RECOGNISE + 20},
    .run = run,
};
