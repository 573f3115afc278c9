/* Casts and bitcasts: from each dtype (the unit's) to each (the row's parameter). */
#include "verify/verify.h"

static const char exact[] = "prim.h: rounded once, to nearest even; integers wrap";

#define FEW_FORMS                                                           \
  (HONE_VERIFY_BIT(HONE_VERIFY_SCALAR) | HONE_VERIFY_BIT(HONE_VERIFY_ODD) | \
   HONE_VERIFY_BIT(HONE_VERIFY_STRIDED) | HONE_VERIFY_BIT(HONE_VERIFY_LINE))
#define LINE_ONLY HONE_VERIFY_BIT(HONE_VERIFY_LINE)

static void build_cast(hone_verify_maker_t* m) {
  hone_value_t* x = hone_verify_operand(m, 0, m->dtype, HONE_VERIFY_ANY);
  hone_verify_output(m, hone_cast(m->b, x, (hone_dtype_t)m->row->parameter));
}

static void build_saturating(hone_verify_maker_t* m) {
  hone_value_t* x = hone_verify_operand(m, 0, m->dtype, HONE_VERIFY_ANY);
  hone_dtype_t to = (hone_dtype_t)m->row->parameter;
  hone_verify_output(m, hone_cast_flags(m->b, x, to, HONE_FLAG_SATURATE));
  if (to != HONE_F8E8M0) return;
  hone_verify_output(m, hone_cast_flags(m->b, x, to, HONE_FLAG_ROUND_UP));
  hone_verify_output(m, hone_cast_flags(m->b, x, to, HONE_FLAG_ROUND_DOWN | HONE_FLAG_SATURATE));
}

/* Backwards, so that it is more than another view of the same bytes. */
static void build_bitcast(hone_verify_maker_t* m) {
  hone_dtype_t to = (hone_dtype_t)m->row->parameter;
  if (hone_dtype_size(to) != hone_dtype_size(m->dtype)) return;
  /* Kernels hold short floats as f32, which may give a NaN another payload. */
  bool is_short = hone_dtype_is_float(m->dtype) && hone_dtype_size(m->dtype) < 4;
  hone_value_t* x =
      hone_verify_operand(m, 0, m->dtype, is_short ? HONE_VERIFY_MODERATE : HONE_VERIFY_ANY);
  for (int i = 0; x && i < hone_rank(x); i++) x = hone_flip(m->b, x, i);
  hone_verify_output(m, hone_bitcast(m->b, x, to));
}

#define CAST(TO, DTYPES, FORMS)                                                          \
  {                                                                                      \
    .prim = HONE_PRIM_CAST, .variant = "to", .parameter = HONE_##TO, .dtypes = (DTYPES), \
    .forms = (FORMS), .why = exact, .build = build_cast                                  \
  }
#define FULL(TO) CAST(TO, HONE_VERIFY_MAIN, FEW_FORMS), CAST(TO, OTHERS, LINE_ONLY)
#define SHORT(TO) CAST(TO, HONE_VERIFY_MAIN | OTHERS, LINE_ONLY)
#define SATURATE(TO)                                                                  \
  {                                                                                   \
    .prim = HONE_PRIM_CAST, .variant = "saturate", .parameter = HONE_##TO,            \
    .dtypes = HONE_VERIFY_ALL_FLOATS | HONE_VERIFY_BIT(HONE_I32), .forms = LINE_ONLY, \
    .why = exact, .build = build_saturating                                           \
  }
#define BITCAST(TO, DTYPES)                                                                 \
  {                                                                                         \
    .prim = HONE_PRIM_BITCAST, .variant = "to", .parameter = HONE_##TO, .dtypes = (DTYPES), \
    .forms = FEW_FORMS, .why = "prim.h: the same bits", .build = build_bitcast              \
  }
#define OTHERS (HONE_VERIFY_SHORT_FLOATS | HONE_VERIFY_SHORT_INTS)
/* A real number becomes a complex one of no imaginary part, but not the reverse. */
#define TO_COMPLEX (HONE_VERIFY_ALL_FLOATS | HONE_VERIFY_COMPLEX)

static const hone_verify_row_t rows[] = {
    FULL(F32),
    FULL(F64),
    FULL(F16),
    FULL(BF16),
    FULL(I8),
    FULL(I16),
    FULL(I32),
    FULL(I64),
    FULL(U8),
    FULL(U16),
    FULL(U32),
    FULL(U64),
    FULL(BOOL),
    SHORT(F8E4M3FN),
    SHORT(F8E4M3FNUZ),
    SHORT(F8E5M2),
    SHORT(F8E5M2FNUZ),
    SHORT(F8E8M0),
    SHORT(F6E2M3),
    SHORT(F6E3M2),
    SHORT(F4E2M1),
    SHORT(I4),
    SHORT(U4),
    SHORT(I2),
    SHORT(U2),
    CAST(C64, TO_COMPLEX, LINE_ONLY),
    CAST(C128, TO_COMPLEX, LINE_ONLY),
    SATURATE(F8E4M3FN),
    SATURATE(F8E4M3FNUZ),
    SATURATE(F8E5M2),
    SATURATE(F8E5M2FNUZ),
    SATURATE(F8E8M0),
    BITCAST(F32, HONE_VERIFY_BIT(HONE_I32) | HONE_VERIFY_BIT(HONE_U32)),
    BITCAST(I32, HONE_VERIFY_BIT(HONE_F32) | HONE_VERIFY_BIT(HONE_U32)),
    BITCAST(U32, HONE_VERIFY_BIT(HONE_F32) | HONE_VERIFY_BIT(HONE_I32)),
    BITCAST(F64, HONE_VERIFY_BIT(HONE_I64) | HONE_VERIFY_BIT(HONE_U64)),
    BITCAST(I64, HONE_VERIFY_BIT(HONE_F64) | HONE_VERIFY_BIT(HONE_U64)),
    BITCAST(F16, HONE_VERIFY_BIT(HONE_BF16) | HONE_VERIFY_BIT(HONE_I16)),
    BITCAST(BF16, HONE_VERIFY_BIT(HONE_F16) | HONE_VERIFY_BIT(HONE_U16)),
    BITCAST(U16, HONE_VERIFY_BIT(HONE_F16) | HONE_VERIFY_BIT(HONE_BF16)),
    BITCAST(I8, HONE_VERIFY_BIT(HONE_U8)),
    BITCAST(U8, HONE_VERIFY_BIT(HONE_I8) | HONE_VERIFY_BIT(HONE_F8E5M2)),
};

const hone_verify_family_t hone_verify_cast = {"cast", sizeof rows / sizeof *rows, rows};
