/* Tensor expressions: the three schedules of a matrix product, and misuse. */
#include "hone/te.h"

#include <string.h>

#include "base/testing/fault.h"
#include "hone/schedule.h"
#include "loop/interpret.h"
#include "loop/text.h"

enum { N = 64 };

typedef struct matmul {
  hone_te_tensor_t *a, *b;
  hone_te_reduce_axis_t* k;
} matmul_t;

static hone_te_value_t product(void* self, hone_te_t* te, const hone_te_value_t* at) {
  matmul_t* m = self;
  hone_te_value_t k = hone_te_axis(te, m->k);
  hone_te_value_t a = hone_te_read(te, m->a, (hone_te_value_t[]){at[0], k});
  hone_te_value_t b = hone_te_read(te, m->b, (hone_te_value_t[]){k, at[1]});
  return hone_te_reduce(te, "add", hone_te_apply2(te, "mul", a, b), 1, &m->k);
}

static hone_status_t make_matmul(const hone_allocator_t* allocator, hone_kernel_t** out) {
  hone_te_t* te;
  matmul_t m;
  HONE_TRY(hone_te_create(allocator, "mmult", &te));
  m.a = hone_te_placeholder(te, "A", HONE_F32, 2, (int64_t[]){N, N});
  m.b = hone_te_placeholder(te, "B", HONE_F32, 2, (int64_t[]){N, N});
  m.k = hone_te_reduce_axis(te, "k", N);
  hone_te_compute(te, "C", HONE_F32, 2, (int64_t[]){N, N}, (const char*[]){"x", "y"}, product, &m);
  hone_status_t status = hone_te_finish(te, out);
  hone_te_destroy(te);
  return status;
}

static void assert_prints(const hone_kernel_t* kernel, const char* expected) {
  hone_str_t text;
  hone_str_init(&text, NULL);
  assert_ok(hone_kernel_print(kernel, &text));
  assert_string_equal(hone_str_text(&text), expected);
  hone_str_free(&text);
}

static void a_product_is_a_nest_of_loops(void** state) {
  hone_kernel_t* kernel;
  assert_ok(make_matmul(NULL, &kernel));
  assert_prints(kernel,
                "kernel mmult {\n"
                "  input A: f32[64, 64] = 0\n"
                "  input B: f32[64, 64] = 1\n"
                "  output C: f32[64, 64] = 0\n"
                "  local acc: f32[]\n"
                "  for x in 64 {\n"
                "    for y in 64 {\n"
                "      acc[] = f32(0)\n"
                "      for k in 64 reduction {\n"
                "        acc[] += mul(A[x, k], B[k, y])\n"
                "      }\n"
                "      C[x, y] = acc[]\n"
                "    }\n"
                "  }\n"
                "}\n");
  hone_kernel_free(kernel);
}

static float a[N][N], b[N][N], c[N][N], want[N][N];

/* Runs the product under a schedule; whole numbers, so any order gives the same. */
static void assert_schedule(const char* schedule) {
  hone_kernel_t* kernel;
  assert_ok(make_matmul(NULL, &kernel));
  assert_ok(hone_schedule_apply(kernel, schedule));
  memset(c, 0, sizeof c);
  assert_ok(hone_kernel_interpret(kernel, NULL, (void*[]){a, b, c}));
  assert_memory_equal(c, want, sizeof c);
  hone_kernel_free(kernel);
}

static void schedules_agree(void** state) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      a[i][j] = (float)((i * 7 + j) % 9 - 4);
      b[i][j] = (float)((i + j * 5) % 7 - 3);
    }
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      want[i][j] = 0;
      for (int k = 0; k < N; k++) want[i][j] += a[i][k] * b[k][j];
    }
  assert_schedule("");
  assert_schedule(
      "tile x y 32 32\nsplit k 32\ndistribute y.i\ndistribute x.i\n"
      "reorder k.o x.i.1 y.i.1 k.i");
  assert_schedule(
      "split y 32\ndistribute y.i\nreorder k y.i.1\nvectorize y.i.0\nvectorize y.i.1\n"
      "vectorize y.i.2\nfuse x y.o\nparallel x_y.o");
}

/* ---- more than one tensor ---- */

typedef struct softmax {
  hone_te_tensor_t *x, *most, *sum;
  hone_te_reduce_axis_t *j, *k;
} softmax_t;

static hone_te_value_t row_most(void* self, hone_te_t* te, const hone_te_value_t* at) {
  softmax_t* s = self;
  hone_te_value_t index[2] = {at[0], hone_te_axis(te, s->j)};
  return hone_te_reduce(te, "max", hone_te_read(te, s->x, index), 1, &s->j);
}

static hone_te_value_t power(softmax_t* s, hone_te_t* te, hone_te_value_t i, hone_te_value_t j) {
  hone_te_value_t x = hone_te_read(te, s->x, (hone_te_value_t[]){i, j});
  hone_te_value_t shifted = hone_te_apply2(te, "sub", x, hone_te_read(te, s->most, &i));
  return hone_te_apply(te, "exp", 1, &shifted);
}

static hone_te_value_t row_sum(void* self, hone_te_t* te, const hone_te_value_t* at) {
  softmax_t* s = self;
  return hone_te_reduce(te, "add", power(s, te, at[0], hone_te_axis(te, s->k)), 1, &s->k);
}

static hone_te_value_t quotient(void* self, hone_te_t* te, const hone_te_value_t* at) {
  softmax_t* s = self;
  return hone_te_cast(
      te, HONE_F64,
      hone_te_apply2(te, "div", power(s, te, at[0], at[1]), hone_te_read(te, s->sum, &at[0])));
}

static void tensors_read_what_came_before(void** state) {
  hone_te_t* te;
  hone_kernel_t* kernel;
  softmax_t s;
  assert_ok(hone_te_create(NULL, "softmax", &te));
  s.x = hone_te_placeholder(te, "x", HONE_F32, 2, (int64_t[]){2, 3});
  s.j = hone_te_reduce_axis(te, "j", 3);
  s.k = hone_te_reduce_axis(te, "k", 3);
  s.most = hone_te_compute(te, "most", HONE_F32, 1, (int64_t[]){2}, NULL, row_most, &s);
  s.sum = hone_te_compute(te, "sum", HONE_F32, 1, (int64_t[]){2}, NULL, row_sum, &s);
  assert_non_null(hone_te_compute(te, "out", HONE_F64, 2, (int64_t[]){2, 3}, NULL, quotient, &s));
  assert_ok(hone_te_finish(te, &kernel));
  hone_te_destroy(te);
  float x[2][3] = {{1, 2, 3}, {5, 5, 5}}, most[2], sum[2];
  double out[2][3];
  assert_ok(hone_kernel_interpret(kernel, NULL, (void*[]){x, most, sum, out}));
  assert_true(most[0] == 3 && sum[1] == 3);
  assert_true(out[0][2] > 0.665 && out[0][2] < 0.666);
  assert_true(out[1][0] > 0.333 && out[1][0] < 0.334);
  hone_kernel_free(kernel);
}

/* ---- misuse ---- */

typedef hone_te_value_t (*misuse_t)(hone_te_t* te, hone_te_tensor_t* x, hone_te_value_t i);

typedef struct misuse_body {
  hone_te_tensor_t *x, *y;
  misuse_t make;
} misuse_body_t;

static hone_te_value_t misused(void* self, hone_te_t* te, const hone_te_value_t* at) {
  misuse_body_t* m = self;
  return m->make(te, m->x, at[0]);
}

static hone_te_value_t no_value(hone_te_t* te, hone_te_tensor_t* x, hone_te_value_t i) {
  return NULL;
}
static hone_te_value_t no_primitive(hone_te_t* te, hone_te_tensor_t* x, hone_te_value_t i) {
  return hone_te_apply2(te, "convolve", i, i);
}
static hone_te_value_t no_argument(hone_te_t* te, hone_te_tensor_t* x, hone_te_value_t i) {
  return hone_te_apply2(te, "add", hone_te_read(te, x, &i), NULL);
}
static hone_te_value_t no_index(hone_te_t* te, hone_te_tensor_t* x, hone_te_value_t i) {
  hone_te_value_t value = hone_te_read(te, x, &i);
  return hone_te_read(te, x, &value);
}
static hone_te_value_t outside(hone_te_t* te, hone_te_tensor_t* x, hone_te_value_t i) {
  hone_te_value_t far = hone_te_apply2(te, "add", i, hone_te_number(te, HONE_I64, 100));
  return hone_te_read(te, x, &far);
}
static hone_te_value_t other_type(hone_te_t* te, hone_te_tensor_t* x, hone_te_value_t i) {
  return i;
}
static hone_te_value_t no_combine(hone_te_t* te, hone_te_tensor_t* x, hone_te_value_t i) {
  return hone_te_reduce(te, "set", i, 0, NULL);
}

static void assert_misuse(misuse_t make, const char* why) {
  hone_te_t* te;
  hone_kernel_t* kernel;
  misuse_body_t m = {.make = make};
  assert_ok(hone_te_create(NULL, "k", &te));
  m.x = hone_te_placeholder(te, "x", HONE_F32, 1, (int64_t[]){8});
  hone_te_compute(te, "y", HONE_F32, 1, (int64_t[]){8}, NULL, misused, &m);
  hone_status_t status = hone_te_finish(te, &kernel);
  assert_non_null(status);
  if (!strstr(hone_status_message(status), why))
    fail_msg("'%s' not in: %s", why, hone_status_message(status));
  assert_null(kernel);
  hone_status_free(status);
  hone_te_destroy(te);
}

static void misuse_is_explained(void** state) {
  assert_misuse(no_value, "gave no value");
  assert_misuse(no_primitive, "no elementwise primitive 'convolve'");
  assert_misuse(no_argument, "missing");
  assert_misuse(no_index, "an index is made of");
  assert_misuse(outside, "always lies outside");
  assert_misuse(other_type, "another type");
  assert_misuse(no_combine, "none of add");
}

static void shapes_are_checked(void** state) {
  hone_te_t* te;
  hone_kernel_t* kernel;
  assert_ok(hone_te_create(NULL, "k", &te));
  assert_null(hone_te_placeholder(te, "x", HONE_F32, 1, (int64_t[]){-1}));
  assert_null(hone_te_reduce_axis(te, "k", 3)); /* nothing is made after a failure */
  assert_null(hone_te_number(te, HONE_F32, 1));
  assert_code(hone_te_finish(te, &kernel), HONE_INVALID_ARGUMENT);
  hone_te_destroy(te);
}

static hone_status_t matmul_with(const hone_allocator_t* allocator, void* context) {
  hone_kernel_t* kernel;
  HONE_TRY(make_matmul(allocator, &kernel));
  hone_kernel_free(kernel);
  return NULL;
}

static void memory_may_run_out(void** state) { assert_survives_faults(matmul_with, NULL); }

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_product_is_a_nest_of_loops),
      cmocka_unit_test(schedules_agree),
      cmocka_unit_test(tensors_read_what_came_before),
      cmocka_unit_test(misuse_is_explained),
      cmocka_unit_test(shapes_are_checked),
      cmocka_unit_test(memory_may_run_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
