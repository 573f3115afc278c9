/* The verifier: what the builder makes passes, and each rule that is broken by
 * hand is named together with the node. */
#include "ir/verify.h"

#include <string.h>

#include "base/testing/test.h"
#include "ir/builder.h"

/* sum = x + x; twice = sum * 2, both f32[n, 3]. */
typedef struct sample {
  hone_builder_t builder;
  hone_graph_t* graph;
  hone_value_t *x, *sum, *twice;
} sample_t;

static void open_sample(sample_t* s) {
  *s = (sample_t){0};
  assert_ok(hone_graph_create(NULL, "main", &s->graph));
  s->builder = (hone_builder_t){.graph = s->graph, .origin = "both (Add)"};
  hone_dim_t dims[] = {hone_dim_symbol(s->graph->dims, "n", HONE_SYMBOL_INPUT, 0, 9),
                       hone_dim_int(3)};
  hone_type_t type = hone_type_tensor(HONE_F32, 2, dims);
  s->x = hone_input(&s->builder, "x", &type);
  s->sum = hone_add(&s->builder, s->x, s->x);
  s->twice = hone_mul_number(&s->builder, s->sum, 2);
  assert_true(hone_builder_ok(&s->builder));
  assert_ok(hone_graph_set_outputs(s->graph, 1, &s->twice, NULL));
}

/* The graph is refused, with `text` in the message; destroys the sample. */
static void close_refused(sample_t* s, const char* text) {
  hone_status_t status = hone_graph_verify(s->graph);
  assert_int_equal(hone_status_code(status), HONE_INVALID_MODEL);
  if (!strstr(hone_status_message(status), text))
    fail_msg("'%s' is not in '%s'", text, hone_status_message(status));
  hone_status_free(status);
  hone_graph_destroy(s->graph);
}

static void what_the_builder_makes_passes(void** state) {
  sample_t s;
  open_sample(&s);
  assert_ok(hone_graph_verify(s.graph));
  hone_graph_drop_dead(s.graph);
  assert_ok(hone_graph_verify(s.graph));
  hone_graph_destroy(s.graph);
}

static void inputs_must_be_there_and_earlier(void** state) {
  sample_t s;
  open_sample(&s);
  s.sum->node->inputs[1] = NULL;
  close_refused(&s, "node both (Add)): an input is missing");
  open_sample(&s);
  s.sum->node->inputs[1] = s.twice;
  close_refused(&s, "an input is defined later");
}

static void inputs_must_be_of_the_same_graph(void** state) {
  sample_t s, other;
  open_sample(&s);
  open_sample(&other);
  s.sum->node->inputs[0] = other.x;
  close_refused(&s, "an input is of another graph");
  hone_graph_destroy(other.graph);
}

static void types_must_follow_from_the_inputs(void** state) {
  sample_t s;
  open_sample(&s);
  s.sum->type.dtype = HONE_F64;
  s.twice->type.dtype = HONE_F64;
  close_refused(&s, "the type of an output does not follow from the inputs");
  open_sample(&s);
  s.sum->type.rank = 1;
  close_refused(&s, "the type of an output does not follow from the inputs");
}

static void values_must_be_numbered_in_order(void** state) {
  sample_t s;
  open_sample(&s);
  s.sum->index = 1;
  close_refused(&s, "an output is astray");
  open_sample(&s);
  s.graph->values[s.sum->id] = s.x;
  close_refused(&s, "outputs are not numbered in order");
  open_sample(&s);
  s.graph->n_values--;
  close_refused(&s, "has values that no node makes");
}

static void outputs_must_be_values_of_the_graph(void** state) {
  sample_t s, other;
  open_sample(&s);
  open_sample(&other);
  s.graph->outputs[0] = other.twice;
  close_refused(&s, "output 0 of graph 'main' is not one of its values");
  hone_graph_destroy(other.graph);
}

static void bound_symbols_must_exist(void** state) {
  sample_t s;
  open_sample(&s);
  assert_ok(hone_value_bind(s.graph, s.sum, 99, true, 0));
  close_refused(&s, "binds a symbol that there is not");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_the_builder_makes_passes),
      cmocka_unit_test(inputs_must_be_there_and_earlier),
      cmocka_unit_test(inputs_must_be_of_the_same_graph),
      cmocka_unit_test(types_must_follow_from_the_inputs),
      cmocka_unit_test(values_must_be_numbered_in_order),
      cmocka_unit_test(outputs_must_be_values_of_the_graph),
      cmocka_unit_test(bound_symbols_must_exist),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
