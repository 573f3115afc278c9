/* Reductions and scans, by each way to combine, over the first, the last and all axes. */
#include "verify/verify.h"

static const char sums[] =
    "prim.h: any order, in at least the dtype's precision: n terms are off by n relative "
    "roundings of the sum of magnitudes";
static const char exact[] = "prim.h: integers are exact, and one of the operands comes out";
static const char largest[] = "prim.h: one of the operands comes out; which zero is unspecified";

static bool is_sum(const hone_verify_maker_t* m) {
  return m->row->bound.scaled && hone_dtype_is_float(m->dtype);
}

static hone_verify_fill_t fill_of(const hone_verify_maker_t* m) {
  if (m->row->parameter == HONE_COMBINE_MUL) return HONE_VERIFY_NEAR_ONE;
  return is_sum(m) ? HONE_VERIFY_TAME : HONE_VERIFY_ANY;
}

static hone_dim_t terms_of(hone_verify_maker_t* m, hone_value_t* x, int n, const int64_t* axes) {
  hone_dim_t terms = hone_d(1);
  for (int i = 0; i < n; i++) terms = hone_d_mul(m->b, terms, hone_dim(x, (int)axes[i]));
  return terms;
}

static void reduce(hone_verify_maker_t* m, hone_value_t* x, int n, const int64_t* axes) {
  hone_combine_t combine = (hone_combine_t)m->row->parameter;
  hone_value_t* y = hone_reduce(m->b, combine, x, n, axes, false);
  if (!is_sum(m)) {
    hone_verify_output(m, y);
    return;
  }
  hone_value_t* sum = hone_reduce(m->b, combine, hone_verify_magnitude(m, x), n, axes, false);
  hone_verify_output_scaled(m, y, sum, terms_of(m, x, n, axes));
}

static void build_reduce(hone_verify_maker_t* m) {
  hone_value_t* x = hone_verify_operand(m, 0, m->dtype, fill_of(m));
  int64_t axes[HONE_MAX_RANK];
  int rank = x ? hone_rank(x) : 0;
  for (int i = 0; i < rank; i++) axes[i] = i;
  reduce(m, x, rank, axes);
  if (rank < 2) return;
  reduce(m, x, 1, axes);
  reduce(m, x, 1, axes + rank - 1);
}

static void scan(hone_verify_maker_t* m, hone_value_t* x, int axis, bool exclusive) {
  hone_combine_t combine = (hone_combine_t)m->row->parameter;
  hone_value_t* y = hone_scan(m->b, combine, x, axis, exclusive);
  if (!is_sum(m)) {
    hone_verify_output(m, y);
    return;
  }
  hone_value_t* sum = hone_scan(m->b, combine, hone_verify_magnitude(m, x), axis, exclusive);
  hone_verify_output_scaled(m, y, sum, hone_dim(x, axis));
}

static void build_scan(hone_verify_maker_t* m) {
  hone_value_t* x = hone_verify_operand(m, 0, m->dtype, fill_of(m));
  if (!x || hone_rank(x) == 0) return;
  scan(m, x, -1, false);
  scan(m, x, 0, true);
}

#define SUM \
  { .ulps = 1, .scaled = true }
#define ROW(PRIM, COMBINE, NAME, DTYPES, BOUND, WHY, BUILD)                           \
  {                                                                                   \
    .prim = HONE_PRIM_##PRIM, .variant = NAME, .parameter = HONE_COMBINE_##COMBINE,   \
    .dtypes = (DTYPES), .forms = HONE_VERIFY_ALL_FORMS, .bound = BOUND, .why = (WHY), \
    .build = (BUILD)                                                                  \
  }
#define EXACT \
  { .ulps = 0 }
#define LARGEST \
  { .any_zero = true }
#define INTEGERS (HONE_VERIFY_INTS | HONE_VERIFY_BOOL)

static const hone_verify_row_t rows[] = {
    ROW(REDUCE, ADD, "add", HONE_VERIFY_FLOATS | HONE_VERIFY_COMPLEX, SUM, sums, build_reduce),
    ROW(REDUCE, ADD, "add", INTEGERS, EXACT, exact, build_reduce),
    ROW(REDUCE, MUL, "mul", HONE_VERIFY_FLOATS, SUM, sums, build_reduce),
    ROW(REDUCE, MUL, "mul", INTEGERS, EXACT, exact, build_reduce),
    ROW(REDUCE, MIN, "min", HONE_VERIFY_FLOATS | INTEGERS, EXACT, exact, build_reduce),
    ROW(REDUCE, MAX, "max", HONE_VERIFY_FLOATS, LARGEST, largest, build_reduce),
    ROW(REDUCE, MAX, "max", INTEGERS, EXACT, exact, build_reduce),
    ROW(SCAN, ADD, "add", HONE_VERIFY_FLOATS, SUM, sums, build_scan),
    ROW(SCAN, ADD, "add", HONE_VERIFY_INTS, EXACT, exact, build_scan),
    ROW(SCAN, MUL, "mul", HONE_VERIFY_FLOATS, SUM, sums, build_scan),
    ROW(SCAN, MAX, "max", HONE_VERIFY_FLOATS, LARGEST, largest, build_scan),
    ROW(SCAN, MAX, "max", HONE_VERIFY_INTS, EXACT, exact, build_scan),
    ROW(SCAN, MIN, "min", HONE_VERIFY_FLOATS | HONE_VERIFY_INTS, EXACT, exact, build_scan),
};

const hone_verify_family_t hone_verify_reduce = {"reduce", sizeof rows / sizeof *rows, rows};
