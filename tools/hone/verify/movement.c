/* Movement: no arithmetic, so every bit stays. */
#include "verify/verify.h"

static const char exact[] = "prim.h: no arithmetic";

/* Types by the size of their elements, and one that no kernel has. */
#define DTYPES                                                                         \
  (HONE_VERIFY_BIT(HONE_F32) | HONE_VERIFY_BIT(HONE_F64) | HONE_VERIFY_BIT(HONE_F16) | \
   HONE_VERIFY_BIT(HONE_BF16) | HONE_VERIFY_BIT(HONE_I8) | HONE_VERIFY_BIT(HONE_I32) | \
   HONE_VERIFY_BIT(HONE_I64) | HONE_VERIFY_BIT(HONE_U8) | HONE_VERIFY_BOOL |           \
   HONE_VERIFY_BIT(HONE_F8E4M3FN) | HONE_VERIFY_BIT(HONE_C64) | HONE_VERIFY_BIT(HONE_STRING))

static hone_value_t* operand(hone_verify_maker_t* m) {
  return hone_verify_operand(m, 0, m->dtype, HONE_VERIFY_ANY);
}

/* The axes backwards, so that a reshape is more than another view. */
static hone_value_t* reversed(hone_verify_maker_t* m, hone_value_t* x) {
  int64_t axes[HONE_MAX_RANK];
  int rank = x ? hone_rank(x) : 0;
  for (int i = 0; i < rank; i++) axes[i] = rank - 1 - i;
  return hone_permute(m->b, x, axes);
}

static void build_reshape(hone_verify_maker_t* m) {
  hone_value_t* x = reversed(m, operand(m));
  if (!x) return;
  hone_dim_t flat = hone_elements(m->b, x);
  hone_verify_output(m, hone_reshape(m->b, x, 1, &flat));
  hone_dim_t column[3] = {hone_d(1), flat, hone_d(1)};
  hone_verify_output(m, hone_reshape(m->b, x, 3, column));
}

static void build_permute(hone_verify_maker_t* m) {
  hone_value_t* x = operand(m);
  hone_verify_output(m, reversed(m, x));
  if (x && hone_rank(x) > 2) hone_verify_output(m, hone_move_axis(m->b, x, 0, 1));
}

static void build_expand(hone_verify_maker_t* m) {
  hone_value_t* x = operand(m);
  if (!x || hone_rank(x) == HONE_MAX_RANK) return;
  hone_dim_t shape[HONE_MAX_RANK];
  int rank = hone_rank(x);
  for (int i = 0; i < rank; i++)
    shape[i + 1] = hone_dim_is(hone_dim(x, i), 1) ? hone_d(3) : hone_dim(x, i);
  shape[0] = hone_d(2);
  hone_verify_output(m, hone_expand(m->b, x, rank + 1, shape));
}

/* From a third on, every other element, without the last. */
static void build_slice(hone_verify_maker_t* m) {
  hone_value_t* x = operand(m);
  hone_dim_t lo[HONE_MAX_RANK], hi[HONE_MAX_RANK], step[HONE_MAX_RANK];
  for (int i = 0; x && i < hone_rank(x); i++) {
    hone_dim_t extent = hone_dim(x, i);
    lo[i] = hone_d_floordiv(m->b, extent, hone_d(3));
    hi[i] = hone_d_max(m->b, lo[i], hone_d_sub(m->b, extent, hone_d(1)));
    step[i] = hone_d(1 + i % 2);
  }
  if (x) hone_verify_output(m, hone_slice(m->b, x, lo, hi, step));
}

static void build_pad(hone_verify_maker_t* m) {
  hone_value_t* x = operand(m);
  hone_value_t* value = hone_verify_input(m, m->dtype, 0, NULL, HONE_VERIFY_ANY);
  hone_dim_t lo[HONE_MAX_RANK], hi[HONE_MAX_RANK];
  for (int i = 0; x && i < hone_rank(x); i++) {
    lo[i] = hone_d(i % 3);
    hi[i] = hone_d((i + 1) % 3);
  }
  hone_verify_output(m, hone_pad(m->b, x, lo, hi, value));
}

static void build_flip(hone_verify_maker_t* m) {
  hone_value_t* x = operand(m);
  if (!x || hone_rank(x) == 0) return;
  hone_verify_output(m, hone_flip(m->b, x, -1));
  hone_value_t* all = x;
  for (int i = 0; all && i < hone_rank(x); i++) all = hone_flip(m->b, all, i);
  hone_verify_output(m, all);
}

static void build_concat(hone_verify_maker_t* m) {
  hone_value_t *x = operand(m), *y = operand(m);
  if (!x || !y || hone_rank(x) == 0) return;
  hone_value_t* parts[3] = {x, hone_flip(m->b, y, 0), x};
  hone_verify_output(m, hone_concat(m->b, 3, parts, 0));
  hone_verify_output(m, hone_concat(m->b, 2, parts, -1));
}

static void build_window(hone_verify_maker_t* m) {
  hone_value_t* x = operand(m);
  int rank = x ? hone_rank(x) : 0;
  if (rank == 0) return;
  int64_t axis = rank - 1;
  hone_dim_t size = hone_d(3), stride = hone_d(2), dilation = hone_d(1);
  hone_verify_output(m, hone_window(m->b, x, 1, &axis, &size, &stride, &dilation));
  const int64_t axes[2] = {0, rank - 1};
  const hone_dim_t sizes[2] = {hone_d(2), hone_d(3)}, ones[2] = {hone_d(1), hone_d(1)};
  const hone_dim_t dilations[2] = {hone_d(1), hone_d(2)};
  if (rank > 1) hone_verify_output(m, hone_window(m->b, x, 2, axes, sizes, ones, dilations));
}

#define NO_SCALAR (HONE_VERIFY_ALL_FORMS & ~HONE_VERIFY_BIT(HONE_VERIFY_SCALAR))
#define ROW(NAME, FORMS, BUILD) \
  { .prim = HONE_PRIM_##NAME, .dtypes = DTYPES, .forms = (FORMS), .why = exact, .build = (BUILD) }

static const hone_verify_row_t rows[] = {
    ROW(RESHAPE, HONE_VERIFY_ALL_FORMS, build_reshape),
    ROW(PERMUTE, NO_SCALAR, build_permute),
    ROW(EXPAND, HONE_VERIFY_ALL_FORMS, build_expand),
    ROW(SLICE, NO_SCALAR, build_slice),
    ROW(PAD, NO_SCALAR, build_pad),
    ROW(FLIP, NO_SCALAR, build_flip),
    ROW(CONCAT, NO_SCALAR, build_concat),
    ROW(WINDOW, NO_SCALAR, build_window),
};

const hone_verify_family_t hone_verify_movement = {"movement", sizeof rows / sizeof *rows, rows};
