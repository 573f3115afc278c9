/* Primitives whose elements say where to look: gather, scatter, sort. */
#include "verify/verify.h"

static const char exact[] = "prim.h: elements are moved, or combined exactly";

/* Rows of the operand: at least one, so that there is something to point at. */
static hone_value_t* table(hone_verify_maker_t* m, hone_verify_fill_t fill, hone_dim_t* out_rows) {
  hone_value_t* x = hone_verify_operand(m, 0, m->dtype, fill);
  if (!x || hone_rank(x) == 0) return NULL;
  *out_rows = hone_dim(x, 0);
  return x;
}

static hone_value_t* indices(hone_verify_maker_t* m, hone_dtype_t dtype, int rank,
                             hone_dim_t rows) {
  /* Nothing points into a table without rows. */
  hone_dim_t some = hone_d_min(m->b, hone_d(6), hone_d_mul(m->b, rows, hone_d(6)));
  const hone_dim_t dims[2] = {some, hone_d(3)};
  return hone_verify_index_input(m, dtype, rank, dims, rows);
}

static void build_gather(hone_verify_maker_t* m) {
  hone_dim_t rows;
  hone_value_t* x = table(m, HONE_VERIFY_ANY, &rows);
  if (!x || hone_rank(x) > 6) return;
  hone_verify_output(m, hone_gather(m->b, x, indices(m, HONE_I64, 2, rows)));
  hone_verify_output(m, hone_gather(m->b, x, indices(m, HONE_I32, 1, rows)));
}

static hone_verify_fill_t fill_of(const hone_verify_maker_t* m) {
  if (m->row->parameter == HONE_COMBINE_ADD) return HONE_VERIFY_DYADIC;
  return m->row->parameter == HONE_COMBINE_MUL ? HONE_VERIFY_POWERS : HONE_VERIFY_TAME;
}

static void build_scatter(hone_verify_maker_t* m) {
  hone_dim_t rows, dims[HONE_MAX_RANK];
  hone_value_t* x = table(m, fill_of(m), &rows);
  if (!x) return;
  hone_value_t* i = indices(m, HONE_I64, 1, rows);
  for (int k = 0; i && k < hone_rank(x); k++) dims[k] = k ? hone_dim(x, k) : hone_dim(i, 0);
  hone_value_t* updates = hone_verify_input(m, m->dtype, hone_rank(x), dims, fill_of(m));
  hone_verify_output(m, hone_scatter(m->b, (hone_combine_t)m->row->parameter, x, i, updates));
}

static void build_sort(hone_verify_maker_t* m) {
  hone_value_t* x = hone_verify_operand(m, 0, m->dtype, HONE_VERIFY_ANY);
  if (!x || hone_rank(x) == 0) return;
  for (int descending = 0; descending < 2; descending++) {
    hone_value_t* places;
    hone_verify_output(m,
                       hone_sort(m->b, x, -1, hone_dim(x, hone_rank(x) - 1), descending, &places));
    hone_verify_output(m, places);
  }
}

#define NO_SCALAR (HONE_VERIFY_ALL_FORMS & ~HONE_VERIFY_BIT(HONE_VERIFY_SCALAR))
#define SCATTER(COMBINE, NAME, DTYPES)                                               \
  {                                                                                  \
    .prim = HONE_PRIM_SCATTER, .variant = NAME, .parameter = HONE_COMBINE_##COMBINE, \
    .dtypes = (DTYPES), .forms = NO_SCALAR, .why = exact, .build = build_scatter     \
  }
#define ARITHMETIC                                                                     \
  (HONE_VERIFY_BIT(HONE_F32) | HONE_VERIFY_BIT(HONE_F64) | HONE_VERIFY_BIT(HONE_I32) | \
   HONE_VERIFY_BIT(HONE_I64))

static const hone_verify_row_t rows[] = {
    {.prim = HONE_PRIM_GATHER,
     .dtypes = ARITHMETIC | HONE_VERIFY_BIT(HONE_F16) | HONE_VERIFY_BIT(HONE_U8) |
               HONE_VERIFY_BOOL | HONE_VERIFY_BIT(HONE_STRING),
     .forms = NO_SCALAR,
     .why = exact,
     .build = build_gather},
    SCATTER(SET, "set", ARITHMETIC | HONE_VERIFY_BIT(HONE_F16) | HONE_VERIFY_BIT(HONE_U8)),
    SCATTER(ADD, "add", ARITHMETIC),
    SCATTER(MUL, "mul", ARITHMETIC),
    SCATTER(MIN, "min", ARITHMETIC),
    SCATTER(MAX, "max", ARITHMETIC),
    {.prim = HONE_PRIM_SORT,
     .dtypes = HONE_VERIFY_FLOATS | HONE_VERIFY_BIT(HONE_I32) | HONE_VERIFY_BIT(HONE_I64) |
               HONE_VERIFY_BIT(HONE_U8),
     .forms = NO_SCALAR,
     .why = exact,
     .build = build_sort},
};

const hone_verify_family_t hone_verify_index = {"index", sizeof rows / sizeof *rows, rows};
