/* Contractions: products of matrices of many sizes, batches, transposed operands, and
 * what is put around them (a bias, a function), which becomes one kernel with them. */
#include "verify/verify.h"

static const char sums[] =
    "prim.h: any order, in at least the dtype's precision: n terms are off by n relative "
    "roundings of the sum of magnitudes";
static const char exact[] = "prim.h: integers are exact modulo 2^bits";

/* Rows of a, columns of b, terms of each sum. */
typedef struct sizes {
  int64_t m, n, k;
} sizes_t;

static const sizes_t by_form[HONE_VERIFY_FORM_COUNT] = {
    [HONE_VERIFY_EMPTY] = {3, 5, 0},       [HONE_VERIFY_ONE] = {1, 1, 1},
    [HONE_VERIFY_ODD] = {3, 7, 5},         [HONE_VERIFY_WIDTH] = {16, 64, 32},
    [HONE_VERIFY_BESIDE] = {17, 65, 33},   [HONE_VERIFY_LARGE] = {131, 129, 67},
    [HONE_VERIFY_BROADCAST] = {1, 33, 40}, [HONE_VERIFY_STRIDED] = {40, 1, 19},
    [HONE_VERIFY_FLIPPED] = {9, 10, 11},   [HONE_VERIFY_RANK8] = {5, 6, 7},
};

static hone_verify_fill_t fill_of(const hone_verify_maker_t* m) {
  return m->row->bound.scaled ? HONE_VERIFY_TAME : HONE_VERIFY_ANY;
}

static void product(hone_verify_maker_t* m, hone_value_t* x, hone_value_t* y, hone_dim_t terms) {
  hone_dtype_t dtype = m->row->parameter ? (hone_dtype_t)m->row->parameter : m->dtype;
  hone_value_t* out = hone_matmul(m->b, x, y, dtype);
  if (!m->row->bound.scaled) {
    hone_verify_output(m, out);
    return;
  }
  hone_value_t* sum =
      hone_matmul(m->b, hone_verify_magnitude(m, x), hone_verify_magnitude(m, y), HONE_F64);
  hone_verify_output_scaled(m, out, sum, terms);
}

/* Operands of a form: extents, and how they lie in memory. */
static void build(hone_verify_maker_t* m) {
  const sizes_t* s = &by_form[m->form];
  hone_dim_t rows = hone_d(s->m), columns = hone_d(s->n), terms = hone_d(s->k);
  if (m->form == HONE_VERIFY_SYMBOLIC) {
    rows = hone_verify_symbol(m, "n");
    columns = hone_d(24);
    terms = hone_verify_symbol(m, "m");
  }
  const bool batched = m->form == HONE_VERIFY_RANK8, turned = m->form == HONE_VERIFY_FLIPPED;
  const hone_dim_t a[4] = {hone_d(2), hone_d(3), rows, terms};
  const hone_dim_t b[4] = {hone_d(2), hone_d(3), terms, columns};
  const hone_dim_t b_turned[2] = {columns, terms};
  int skip = batched ? 0 : 2;
  hone_value_t* x = hone_verify_input(m, m->dtype, 4 - skip, a + skip, fill_of(m));
  hone_value_t* y = turned ? hone_verify_input(m, m->dtype, 2, b_turned, fill_of(m))
                           : hone_verify_input(m, m->dtype, 4 - skip, b + skip, fill_of(m));
  product(m, x, turned ? hone_transpose(m->b, y) : y, terms);
}

/* relu(x w + b): what surrounds a product in models. Its terms are small enough to be
 * exact in any order. */
static void build_surrounded(hone_verify_maker_t* m) {
  const sizes_t* s = &by_form[m->form];
  const hone_dim_t a[2] = {hone_d(s->m), hone_d(s->k)}, b[2] = {hone_d(s->k), hone_d(s->n)};
  hone_value_t* x = hone_verify_input(m, m->dtype, 2, a, HONE_VERIFY_POWERS);
  hone_value_t* y = hone_verify_input(m, m->dtype, 2, b, HONE_VERIFY_POWERS);
  hone_value_t* bias = hone_verify_input(m, m->dtype, 1, &b[1], HONE_VERIFY_DYADIC);
  hone_value_t* sum = hone_matmul(m->b, hone_mul_number(m->b, x, 2), y, m->dtype);
  hone_verify_output_exact(m, hone_max_number(m->b, hone_add(m->b, sum, bias), 0));
}

#define FORMS                                                     \
  (HONE_VERIFY_ALL_FORMS & ~HONE_VERIFY_BIT(HONE_VERIFY_SCALAR) & \
   ~HONE_VERIFY_BIT(HONE_VERIFY_LINE))
#define SMALL                                                                     \
  (HONE_VERIFY_BIT(HONE_VERIFY_ODD) | HONE_VERIFY_BIT(HONE_VERIFY_WIDTH) |        \
   HONE_VERIFY_BIT(HONE_VERIFY_BESIDE) | HONE_VERIFY_BIT(HONE_VERIFY_BROADCAST) | \
   HONE_VERIFY_BIT(HONE_VERIFY_LARGE))

static const hone_verify_row_t rows[] = {
    {.prim = HONE_PRIM_CONTRACT,
     .dtypes = HONE_VERIFY_FLOATS,
     .forms = FORMS,
     .bound = {.ulps = 1, .scaled = true},
     .why = sums,
     .build = build},
    {.prim = HONE_PRIM_CONTRACT,
     .variant = "to.f32",
     .parameter = HONE_F32,
     .dtypes =
         HONE_VERIFY_BIT(HONE_F16) | HONE_VERIFY_BIT(HONE_BF16) | HONE_VERIFY_BIT(HONE_F8E4M3FN),
     .forms = FORMS,
     .bound = {.ulps = 1, .scaled = true},
     .why = sums,
     .build = build},
    {.prim = HONE_PRIM_CONTRACT,
     .dtypes = HONE_VERIFY_BIT(HONE_I32) | HONE_VERIFY_BIT(HONE_I64) | HONE_VERIFY_BIT(HONE_U32),
     .forms = FORMS,
     .why = exact,
     .build = build},
    {.prim = HONE_PRIM_CONTRACT,
     .variant = "to.i32",
     .parameter = HONE_I32,
     .dtypes = HONE_VERIFY_BIT(HONE_I8) | HONE_VERIFY_BIT(HONE_U8) | HONE_VERIFY_BIT(HONE_I16) |
               HONE_VERIFY_BIT(HONE_I4),
     .forms = FORMS,
     .why = exact,
     .build = build},
    {.prim = HONE_PRIM_CONTRACT,
     .variant = "surrounded",
     .dtypes = HONE_VERIFY_BIT(HONE_F32) | HONE_VERIFY_BIT(HONE_F64) | HONE_VERIFY_BIT(HONE_I32),
     .forms = SMALL,
     .why = "terms are powers of two and their sums exact",
     .build = build_surrounded},
};

const hone_verify_family_t hone_verify_contract = {"contract", sizeof rows / sizeof *rows, rows};
