/* What becomes of exact sums of bytes, by chance: one multiplication, after which the result is the
 * rational number that is meant but for three roundings, if the bias is a whole number of the
 * factor; else one more addition. Both are as near as the chain before. */
#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "base/str.h"
#include "base/testing/test.h"
#include "passes/pass.h"
#include "passes/testing/graph_run.h"

enum { ROWS = 32, DEPTH = 6, CHANNELS = 8, SEEDS = 60 };

static const double UNIT = 0x1p-24; /* what rounding to f32 changes at most, of 1 */

typedef struct layer {
  int w[DEPTH][CHANNELS], less[CHANNELS];
  int whole[CHANNELS]; /* the bias, of the factor */
  float factor[CHANNELS], bias[CHANNELS], scale;
} layer_t;

typedef struct draw {
  uint64_t seed, index;
} draw_t;

static int draw_int(draw_t* d, int least, int greatest) {
  uint32_t count = (uint32_t)(greatest - least) + 1;
  return least + (int)(hone_random_u32(d->seed, d->index++) % count);
}

static float draw_float(draw_t* d) {
  return ldexpf((float)(1 + draw_int(d, 0, 0xffffff) * UNIT), draw_int(d, -20, 5));
}

static void draw_layer(draw_t* d, bool has_whole_bias, layer_t* out) {
  for (int i = 0; i < DEPTH; i++)
    for (int k = 0; k < CHANNELS; k++) out->w[i][k] = draw_int(d, -128, 127);
  out->scale = draw_float(d);
  for (int k = 0; k < CHANNELS; k++) {
    out->less[k] = draw_int(d, -100000, 100000);
    out->factor[k] = draw_int(d, 0, 3) ? draw_float(d) : -draw_float(d);
    out->whole[k] = draw_int(d, -1000000, 1000000);
    double bias = (double)out->factor[k] * out->whole[k];
    out->bias[k] = (float)(has_whole_bias ? bias : bias + out->factor[k] * 0.37);
  }
}

static void put_ints(hone_str_t* text, int count, const int* numbers) {
  for (int i = 0; i < count; i++) hone_str_appendf(text, "%s%d", i ? ", " : "", numbers[i]);
}

static void put_floats(hone_str_t* text, int count, const float* numbers) {
  for (int i = 0; i < count; i++)
    hone_str_appendf(text, "%s%.9g", i ? ", " : "", (double)numbers[i]);
}

/* An operation with the same numbers for each row. */
static void put_step(hone_str_t* text, int id, const char* prim, const char* dtype, int operand) {
  hone_str_appendf(text,
                   "} : %s[1, %d]\n%%%d = expand %%%d shape=[%d, %d] : %s[%d, %d]\n"
                   "%%%d = %s %%%d %%%d : %s[%d, %d]\n",
                   dtype, CHANNELS, id + 1, id, ROWS, CHANNELS, dtype, ROWS, CHANNELS, id + 2, prim,
                   operand, id + 1, dtype, ROWS, CHANNELS);
}

/* ((sum - less) * factor + bias) / scale, and the bytes that are summed up. */
static hone_graph_t* make_graph(const layer_t* layer) {
  hone_str_t text;
  hone_str_init(&text, NULL);
  hone_str_appendf(
      &text,
      "hone-graph 1\ngraph \"g\" {\n%%0 = input : f32[%d, %d]\n"
      "%%1 = constant {100} : f32[1, 1]\n%%2 = expand %%1 shape=[%d, %d] : f32[%d, %d]\n"
      "%%3 = mul %%0 %%2 : f32[%d, %d]\n%%4 = cast %%3 dtype=u8 : u8[%d, %d]\n"
      "%%5 = constant {",
      ROWS, DEPTH, ROWS, DEPTH, ROWS, DEPTH, ROWS, DEPTH, ROWS, DEPTH);
  put_ints(&text, DEPTH * CHANNELS, &layer->w[0][0]);
  hone_str_appendf(&text,
                   "} : i8[%d, %d]\n%%6 = contract %%4 %%5 dtype=i32 axes=[1, 0] batch=0 : ", DEPTH,
                   CHANNELS);
  hone_str_appendf(&text, "i32[%d, %d]\n%%7 = constant {", ROWS, CHANNELS);
  put_ints(&text, CHANNELS, layer->less);
  put_step(&text, 7, "sub", "i32", 6);
  hone_str_appendf(&text, "%%10 = cast %%9 dtype=f32 : f32[%d, %d]\n%%11 = constant {", ROWS,
                   CHANNELS);
  put_floats(&text, CHANNELS, layer->factor);
  put_step(&text, 11, "mul", "f32", 10);
  hone_str_append(&text, "%14 = constant {");
  put_floats(&text, CHANNELS, layer->bias);
  put_step(&text, 14, "add", "f32", 13);
  hone_str_appendf(&text, "%%17 = constant {%.9g} : f32[1, 1]\n", (double)layer->scale);
  hone_str_appendf(&text, "%%18 = expand %%17 shape=[%d, %d] : f32[%d, %d]\n", ROWS, CHANNELS, ROWS,
                   CHANNELS);
  hone_str_appendf(&text, "%%19 = div %%16 %%18 : f32[%d, %d]\nreturn %%19 %%4\n}\n", ROWS,
                   CHANNELS);
  hone_graph_t* graph = test_graph_parse(hone_str_text(&text));
  hone_str_free(&text);
  return graph;
}

static int count_of(const hone_graph_t* graph, hone_prim_t prim, hone_dtype_t dtype) {
  int count = 0;
  for (int i = 0; i < graph->n_nodes; i++)
    count += graph->nodes[i]->prim == prim && graph->nodes[i]->outputs[0]->type.dtype == dtype;
  return count;
}

/* Each result but for what may be rounded: `three` of the exact sum's product, or of both terms. */
static void check_results(const layer_t* layer, const hone_graph_t* graph, uint64_t seed,
                          bool has_whole_bias) {
  test_outputs_t outputs;
  test_graph_run(graph, seed, &outputs);
  assert_int_equal(outputs.count, 2);
  const float* got = hone_tensor_data(outputs.tensors[0]);
  const uint8_t* x = hone_tensor_data(outputs.tensors[1]);
  for (int i = 0; i < ROWS * CHANNELS; i++) {
    int row = i / CHANNELS, channel = i % CHANNELS, sum = -layer->less[channel];
    for (int k = 0; k < DEPTH; k++) sum += x[row * DEPTH + k] * layer->w[k][channel];
    double factor = (double)layer->factor[channel] / layer->scale;
    double first = sum * factor, second = layer->bias[channel] / (double)layer->scale;
    double want = has_whole_bias ? (sum + layer->whole[channel]) * factor : first + second;
    double least = has_whole_bias ? fabs(want) : fabs(first) + fabs(second);
    if (!(fabs(got[i] - want) <= 3.001 * UNIT * least))
      fail_msg("%a for a sum of %d, wanted %a", (double)got[i], sum, want);
  }
  test_outputs_free(&outputs);
}

static void check(uint64_t seed, bool has_whole_bias) {
  layer_t layer;
  draw_t draw = {seed, 0};
  const char* only = "affine";
  const hone_pass_options_t options = {.n_only = 1, .only = &only, .verify = true};
  draw_layer(&draw, has_whole_bias, &layer);
  hone_graph_t* graph = make_graph(&layer);
  assert_ok(hone_passes_run(graph, &options, NULL));
  assert_int_equal(count_of(graph, HONE_PRIM_DIV, HONE_F32), 0);
  assert_int_equal(count_of(graph, HONE_PRIM_MUL, HONE_F32), 2); /* with that of the input */
  assert_int_equal(count_of(graph, HONE_PRIM_ADD, HONE_F32), has_whole_bias ? 0 : 1);
  check_results(&layer, graph, seed, has_whole_bias);
  hone_graph_destroy(graph);
}

static void whole_biases_are_added_exactly(void** state) {
  for (uint64_t seed = 0; seed < SEEDS; seed++) check(seed, true);
}

static void others_are_added_in_floats(void** state) {
  for (uint64_t seed = 0; seed < SEEDS; seed++) check(seed, false);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(whole_biases_are_added_exactly),
                                     cmocka_unit_test(others_are_added_in_floats)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
