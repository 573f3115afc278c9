/* Control: branches, loops, calls, and operators of the host. */
#include "ops/common/scope.h"
#include "ops/lower.h"
#include "verify/verify.h"

static const char exact[] = "what is inside is exact";

static hone_value_t* operand(hone_verify_maker_t* m) {
  return hone_verify_operand(m, 0, m->dtype, HONE_VERIFY_MODERATE);
}

/* Both ways at once: with a condition, and with its negation. */
static void branch(hone_verify_maker_t* m, hone_value_t* x, hone_value_t* condition) {
  hone_builder_t yes, no;
  hone_value_t *a, *c, *out;
  hone_region_open(m->b, "then", &yes);
  a = hone_add(&yes, x, x);
  hone_region_open(m->b, "else", &no);
  c = hone_neg(&no, x);
  hone_if(m->b, condition, &yes, &a, &no, &c, 1, &out);
  hone_verify_output(m, out);
}

static void build_if(hone_verify_maker_t* m) {
  hone_value_t* x = operand(m);
  hone_value_t* condition = hone_verify_input(m, HONE_BOOL, 0, NULL, HONE_VERIFY_ANY);
  branch(m, x, condition);
  branch(m, x, hone_not(m->b, condition));
}

/* Three rounds, one value carried and one stacked. */
static void build_loop(hone_verify_maker_t* m) {
  hone_value_t* x = operand(m);
  if (!x) return;
  hone_builder_t body;
  hone_value_t *round, *carried, *outputs[2];
  hone_loop_open(m->b, "body", 1, &x->type, &body, &round, &carried);
  hone_value_t* next = hone_max(&body, hone_add(&body, carried, x), hone_neg(&body, carried));
  hone_value_t* stacked = hone_add(&body, carried, hone_cast(&body, round, m->dtype));
  hone_loop_close(m->b, &body, hone_scalar_i64(m->b, HONE_I64, 3), NULL, 1, &x, NULL, &next, 1,
                  &stacked, outputs);
  hone_verify_output(m, outputs[0]);
  hone_verify_output(m, outputs[1]);
}

static void build_call(hone_verify_maker_t* m) {
  hone_value_t* x = operand(m);
  hone_builder_t body;
  hone_value_t *results[2], *outputs[2];
  hone_call_open(m->b, "kernel", &body);
  results[0] = hone_add(&body, x, x);
  results[1] = hone_neg(&body, results[0]);
  hone_call_close(m->b, &body, 2, results, outputs);
  hone_verify_output(m, outputs[0]);
  hone_verify_output(m, outputs[1]);
}

/* An operator that no primitive expresses. */
static void build_host(hone_verify_maker_t* m) {
  static const char *inputs[2] = {"a", "b"}, *outputs[1] = {"c"};
  static const hone_onnx_node_t node = {.name = "join",
                                        .op_type = "StringConcat",
                                        .domain = "",
                                        .overload = "",
                                        .n_inputs = 2,
                                        .inputs = inputs,
                                        .n_outputs = 1,
                                        .outputs = outputs,
                                        .doc = ""};
  hone_value_t* x[2] = {operand(m), operand(m)};
  hone_host_t* host = hone_arena_alloc(m->b->graph->arena, sizeof *host);
  if (!x[0] || !x[1] || !host) return;
  *host = (hone_host_t){.op = hone_op_find("", node.op_type, 20, NULL), .node = &node, .opset = 20};
  const hone_node_t* made = hone_host_emit(m->b, host, 2, x, 1, &x[0]->type);
  if (made) hone_verify_output(m, made->outputs[0]);
}

#define SOME                                                                           \
  (HONE_VERIFY_BIT(HONE_F32) | HONE_VERIFY_BIT(HONE_F64) | HONE_VERIFY_BIT(HONE_F16) | \
   HONE_VERIFY_BIT(HONE_I32) | HONE_VERIFY_BIT(HONE_I64))
#define ROW(NAME, BUILD)                                                                    \
  {                                                                                         \
    .prim = HONE_PRIM_##NAME, .dtypes = SOME, .forms = HONE_VERIFY_ALL_FORMS, .why = exact, \
    .build = (BUILD)                                                                        \
  }

static const hone_verify_row_t rows[] = {
    ROW(IF, build_if),
    ROW(LOOP, build_loop),
    ROW(CALL, build_call),
    {.prim = HONE_PRIM_HOST,
     .dtypes = HONE_VERIFY_BIT(HONE_STRING),
     .forms = HONE_VERIFY_ALL_FORMS,
     .why = "`ref` runs it in any case",
     .build = build_host},
};

const hone_verify_family_t hone_verify_control = {"control", sizeof rows / sizeof *rows, rows};
