/* Kernels in text, their verifier and their interpreter. */
#include "loop/text.h"

#include <string.h>

#include "base/testing/fault.h"
#include "loop/interpret.h"
#include "loop/testing/kernels.h"
#include "loop/verify.h"

/* ---- text ---- */

static void assert_prints(const hone_kernel_t* kernel, const char* text) {
  hone_str_t out;
  hone_str_init(&out, NULL);
  assert_ok(hone_kernel_print(kernel, &out));
  assert_string_equal(hone_str_text(&out), text);
  hone_str_free(&out);
}

static void assert_round_trip(const char* text) {
  hone_kernel_t *kernel, *copy;
  assert_ok(hone_kernel_parse(NULL, text, strlen(text), &kernel));
  assert_prints(kernel, text);
  assert_ok(hone_kernel_clone(kernel, &copy));
  assert_prints(copy, text);
  hone_kernel_destroy(copy);
  hone_kernel_destroy(kernel);
}

static void kernels_read_back(void** state) {
  for (int i = 0; i < hone_test_kernel_count; i++) {
    hone_kernel_t* kernel = hone_test_kernel_make(&hone_test_kernels[i]);
    hone_str_t once;
    hone_str_init(&once, NULL);
    assert_ok(hone_kernel_print(kernel, &once));
    assert_round_trip(hone_str_text(&once));
    hone_str_free(&once);
    hone_kernel_destroy(kernel);
  }
}

static void everything_reads_back(void** state) {
  assert_round_trip(
      "kernel \"a b\" {\n"
      "  origin \"Conv_3, \\\"Relu\\\"\"\n"
      "  size n 0..64\n"
      "  input x: f32[n, 8] = 0\n"
      "  input w: f32[2, 8, 4] = 1 constant from [8, 8] by 0*4 1*1 0*1\n"
      "  input \"let\": u64[] = 2\n"
      "  input few: i8[8, 4] = 3 constant sparse from [8, 4] by 0*1 1*1 sparse 0 1\n"
      "  output out: f16[n] = 0\n"
      "  error failed: i64[1]\n"
      "  shared tile: f32[8]\n"
      "  local acc: f32[]\n"
      "  by_parts\n"
      "  checks 2\n"
      "  for g in n group {\n"
      "    for t in 8 item {\n"
      "      tile[t] = f32(x\"0100c07f\")\n"
      "      barrier\n"
      "      if lt(index((3*t)), index(g)) {\n"
      "        for u in 2 unroll {\n"
      "          for v in 4 vector reduction {\n"
      "            tile[t] min= mul(x[g, t], w[u, t, v])\n"
      "          }\n"
      "        }\n"
      "      }\n"
      "      let q in -3..3 = select(eq(\"let\"[], u64(18446744073709551615)), i64(3), i64(-3))\n"
      "      check 1 \"it is\" lt(index(q), index(g))\n"
      "      %1 = exp(tile[t])\n"
      "      acc[] = mul(%1, %1)\n"
      "      out[g] = cast.f16.saturate(cast.bf16.flushes(sub(acc[], f32(inf))))\n"
      "    }\n"
      "  }\n"
      "  schedule \"split i 8 exact\"\n"
      "  schedule \"parallel i.o\"\n"
      "}\n");
}

/* Deep and shared terms print in lines, whose number grows with their size. */
static void shared_terms_stay_short(void** state) {
  hone_kernel_t* kernel = hone_test_kernel_make(hone_test_kernel("sum_all"));
  hone_stmt_t* store = kernel->root->body[0];
  const hone_term_t* x = hone_term_load(kernel, store->buffer, NULL);
  for (int i = 0; i < 60; i++) x = hone_term_binary(kernel, HONE_PRIM_MUL, x, x);
  for (int i = 0; i < 500; i++)
    x = hone_term_prim(kernel, HONE_PRIM_NEG, HONE_UNKNOWN, 0, 1, (const hone_term_t* const[]){x});
  store->value = x;
  assert_ok(hone_kernel_verify(kernel));
  hone_str_t text;
  hone_str_init(&text, NULL);
  assert_ok(hone_kernel_print(kernel, &text));
  assert_true(text.size < 20000);
  assert_round_trip(hone_str_text(&text));
  hone_str_free(&text);
  hone_kernel_destroy(kernel);
}

/* ---- what is refused ---- */

/* One line in a kernel with a size n, buffers, and a loop i of 8. */
static void assert_refused(const char* line, const char* why) {
  hone_str_t text;
  hone_kernel_t* kernel = NULL;
  hone_str_init(&text, NULL);
  hone_str_appendf(&text,
                   "kernel k {\n  size n 4..9\n  input x: f32[8, n] = 0\n  output out: f32[8] = 0\n"
                   "  error failed: i64[1]\n  local acc: f32[]\n  checks 1\n"
                   "  for i in 8 {\n    %s\n  }\n}\n",
                   line);
  hone_status_t status = hone_kernel_parse(NULL, hone_str_text(&text), text.size, &kernel);
  if (!status) fail_msg("accepted: %s", line);
  assert_int_equal(hone_status_code(status), HONE_INVALID_DATA);
  if (!strstr(hone_status_message(status), why))
    fail_msg("%s: not for this: %s", line, hone_status_message(status));
  hone_status_free(status);
  hone_str_free(&text);
}

static void rules_are_checked(void** state) {
  assert_refused("out[i] = x[i]", "rank");
  assert_refused("out[i] = x[i, j]", "not known");
  assert_refused("x[i, 0] = f32(1)", "nothing is stored there");
  assert_refused("failed[0] = i64(1)", "nothing is stored there");
  assert_refused("out[i] = cast.f32(failed[0])", "not read");
  assert_refused("out[i] = x[i + 8, 0]", "always lies outside");
  assert_refused("out[i] = x[i, n]", "always lies outside");
  assert_refused("out[i - 8] = f32(0)", "always lies outside");
  assert_refused("out[i] = i64(1)", "another type");
  assert_refused("out[i] = add(f32(1), cast.f32(x[0, 0]))\nout[0] = add(f32(1), f64(1))",
                 "different types");
  assert_refused("out[i] = select(f32(1), f32(2), acc[])", "select");
  assert_refused("out[i] = and(acc[], acc[])", "not defined");
  assert_refused("if acc[] { }", "another type");
  assert_refused("for i in 3 { }", "taken");
  assert_refused("for acc in 3 { }", "taken");
  assert_refused("for j in n vector { out[i] = f32(0) }", "known");
  assert_refused("for j in n unroll { out[i] = f32(0) }", "known");
  assert_refused("for j in 4 vector { for l in 2 { out[i] = f32(0) } }", "innermost");
  assert_refused("for j in 4 parallel { out[i] = f32(0) }", "outermost");
  assert_refused("for j in 4 group { out[i] = f32(0) }", "outermost");
  assert_refused("for j in 4 item { out[i] = f32(0) }", "items");
  assert_refused("barrier", "items");
  assert_refused("for j in 4 { }\nout[j] = f32(0)", "scope");
  assert_refused("if lt(index(i), index(4)) { let q in 0..3 = index(i) }\nout[q] = f32(0)",
                 "scope");
  assert_refused("check 1 \"x\" bool(1)", "so many");
  assert_refused("out[i] = cast(acc[])", "casts");
  assert_refused("out[i] = pad(acc[])", "no such");
  assert_refused("out[i] = %1", "range");
  assert_refused("%1 = f32(1)\nout[i] = %1\nout[i] = %1", "range");
  assert_refused("out[i] = bitcast.f64(acc[])", "size");
  assert_refused("for j in 4 as dot4_i8 { out[i] = f32(0) }", "intrinsic computes");
  assert_refused("for j in 4 as magic { out[i] = f32(0) }", "no such intrinsic");
}

/* ---- interpreter ---- */

static void products_are_right(void** state) {
  hone_kernel_t* kernel = hone_test_kernel_make(hone_test_kernel("matmul"));
  float a[12][20], b[20][16], out[12][16];
  for (int i = 0; i < 12 * 20; i++) a[i / 20][i % 20] = (float)(i % 7 - 3);
  for (int i = 0; i < 20 * 16; i++) b[i / 16][i % 16] = (float)(i % 5 - 2);
  assert_ok(hone_kernel_interpret(kernel, NULL, (void*[]){a, b, out}));
  for (int i = 0; i < 12; i++)
    for (int j = 0; j < 16; j++) {
      float sum = 0;
      for (int k = 0; k < 20; k++) sum += a[i][k] * b[k][j];
      assert_true(out[i][j] == (sum > 0 ? sum : 0));
    }
  hone_kernel_destroy(kernel);
}

static hone_kernel_t* parsed(const char* text) {
  hone_kernel_t* kernel;
  assert_ok(hone_kernel_parse(NULL, text, strlen(text), &kernel));
  return kernel;
}

static void accesses_outside_are_found(void** state) {
  hone_kernel_t* kernel = parsed(
      "kernel k { size n 1..9 input x: i8[4] = 0 output out: i8[9] = 0\n"
      "for i in n { out[i] = x[i] } }");
  int8_t x[4] = {1, 2, 3, 4}, out[9] = {0};
  assert_ok(hone_kernel_interpret(kernel, (int64_t[]){4}, (void*[]){x, out}));
  assert_int_equal(out[3], 4);
  assert_code(hone_kernel_interpret(kernel, (int64_t[]){5}, (void*[]){x, out}), HONE_OUT_OF_RANGE);
  assert_code(hone_kernel_interpret(kernel, (int64_t[]){10}, (void*[]){x, out}), HONE_OUT_OF_RANGE);
  hone_kernel_destroy(kernel);
}

static void checks_set_the_error_word(void** state) {
  hone_kernel_t* kernel = hone_test_kernel_make(hone_test_kernel("gather"));
  float x[10][4] = {{0}}, out[2][4] = {{0}};
  int64_t at[2] = {3, 9}, failed = 0;
  x[9][2] = 5;
  assert_ok(hone_kernel_interpret(kernel, (int64_t[]){2}, (void*[]){x, at, out, &failed}));
  assert_int_equal(failed, 0);
  assert_true(out[1][2] == 5);
  at[0] = 10;
  assert_ok(hone_kernel_interpret(kernel, (int64_t[]){2}, (void*[]){x, at, out, &failed}));
  assert_int_equal(failed, 1);
  hone_kernel_destroy(kernel);
}

/* Each item gives its number to its neighbour through shared memory. */
static void items_meet_at_barriers(void** state) {
  hone_kernel_t* kernel = parsed(
      "kernel k { output out: i32[3, 8] = 0 shared s: i32[8] local mine: i32[]\n"
      "for g in 3 group { for t in 8 item {\n"
      "  mine[] = cast.i32(index(10*g + t))\n"
      "  for r in 2 {\n"
      "    s[t] = mine[]\n"
      "    barrier\n"
      "    mine[] = s[(t + 1) % 8]\n"
      "    barrier\n"
      "  }\n"
      "  out[g, t] = mine[]\n"
      "} } }");
  int32_t out[3][8];
  assert_ok(hone_kernel_interpret(kernel, NULL, (void*[]){out}));
  for (int g = 0; g < 3; g++)
    for (int t = 0; t < 8; t++) assert_int_equal(out[g][t], 10 * g + (t + 2) % 8);
  hone_kernel_destroy(kernel);
}

/* A scratch buffer does not carry anything from one round to the next. */
static void scratch_memory_is_fresh(void** state) {
  hone_kernel_t* kernel = parsed(
      "kernel k { output out: i32[4] = 0 local acc: i32[]\n"
      "for i in 4 { if eq(index(i), index(0)) { acc[] = i32(7) } out[i] = acc[] } }");
  int32_t out[4];
  assert_ok(hone_kernel_interpret(kernel, NULL, (void*[]){out}));
  assert_int_equal(out[0], 7);
  assert_true(out[1] != 7);
  hone_kernel_destroy(kernel);
}

static hone_status_t everything(const hone_allocator_t* allocator, void* context) {
  const char* text = hone_test_kernel("gather")->text;
  float x[10][4] = {{0}}, out[2][4];
  int64_t at[2] = {3, 9}, failed = 0;
  hone_str_t str;
  hone_kernel_t *kernel, *copy = NULL;
  HONE_TRY(hone_kernel_parse(allocator, text, strlen(text), &kernel));
  hone_str_init(&str, allocator);
  hone_status_t status = hone_kernel_print(kernel, &str);
  if (!status)
    status = hone_kernel_interpret(kernel, (int64_t[]){2}, (void*[]){x, at, out, &failed});
  if (!status) status = hone_kernel_clone(kernel, &copy);
  hone_str_free(&str);
  hone_kernel_destroy(copy);
  hone_kernel_destroy(kernel);
  return status;
}

static void memory_may_run_out(void** state) { assert_survives_faults(everything, NULL); }

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kernels_read_back),         cmocka_unit_test(everything_reads_back),
      cmocka_unit_test(shared_terms_stay_short),   cmocka_unit_test(rules_are_checked),
      cmocka_unit_test(products_are_right),        cmocka_unit_test(accesses_outside_are_found),
      cmocka_unit_test(checks_set_the_error_word), cmocka_unit_test(items_meet_at_barriers),
      cmocka_unit_test(scratch_memory_is_fresh),   cmocka_unit_test(memory_may_run_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
