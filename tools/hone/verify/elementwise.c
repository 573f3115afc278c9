/* Elementwise primitives, with one, two and three operands. */
#include "verify/verify.h"

static const char exact[] = "prim.h: the exact result is rounded once";
static const char close[] =
    "prim.h: transcendental, to a few units in the last place; four of the dtype's";

static void build_unary(hone_verify_maker_t* m) {
  hone_value_t* x = hone_verify_operand(m, 0, m->dtype, HONE_VERIFY_ANY);
  hone_verify_output(m, hone_unary(m->b, m->row->prim, x));
}

static void build_binary(hone_verify_maker_t* m) {
  hone_value_t* x = hone_verify_operand(m, 0, m->dtype, HONE_VERIFY_ANY);
  hone_value_t* y = hone_verify_operand(m, 1, m->dtype, HONE_VERIFY_ANY);
  hone_verify_output(m, hone_binary(m->b, m->row->prim, x, y));
}

static void build_select(hone_verify_maker_t* m) {
  hone_value_t* condition = hone_verify_operand(m, 0, HONE_BOOL, HONE_VERIFY_ANY);
  hone_value_t* x = hone_verify_operand(m, 1, m->dtype, HONE_VERIFY_ANY);
  hone_value_t* y = hone_verify_operand(m, 2, m->dtype, HONE_VERIFY_ANY);
  hone_verify_output(m, hone_select(m->b, condition, x, y));
}

#define BITS (HONE_VERIFY_ALL_INTS)
/* f8e8m0 holds scales: prim.h says how they are rounded in a cast, and nowhere else. */
#define COUNTED (HONE_VERIFY_NUMBERS & ~HONE_VERIFY_BIT(HONE_F8E8M0))
#define ROW(NAME, DTYPES, BUILD)                                                                \
  {                                                                                             \
    .prim = HONE_PRIM_##NAME, .dtypes = (DTYPES), .forms = HONE_VERIFY_ALL_FORMS, .why = exact, \
    .build = (BUILD)                                                                            \
  }
#define FUNCTION(NAME, DTYPES, UNITS)                                             \
  {                                                                               \
    .prim = HONE_PRIM_##NAME, .dtypes = (DTYPES), .forms = HONE_VERIFY_ALL_FORMS, \
    .bound = {.ulps = (UNITS)}, .why = close, .build = build_unary                \
  }
/* CPUs compute erf of f32 to 5 units where products are fused, to 6 where they are not. */
#define LESS_CLOSE HONE_VERIFY_BIT(HONE_F32)

static const hone_verify_row_t rows[] = {
    ROW(ADD, COUNTED | HONE_VERIFY_BOOL | HONE_VERIFY_COMPLEX, build_binary),
    ROW(SUB, COUNTED | HONE_VERIFY_COMPLEX, build_binary),
    ROW(MUL, COUNTED | HONE_VERIFY_BOOL | HONE_VERIFY_COMPLEX, build_binary),
    ROW(DIV, COUNTED | HONE_VERIFY_COMPLEX, build_binary),
    ROW(REM, HONE_VERIFY_FLOATS | HONE_VERIFY_ALL_INTS, build_binary),
    {.prim = HONE_PRIM_POW,
     .dtypes = HONE_VERIFY_FLOATS,
     .forms = HONE_VERIFY_ALL_FORMS,
     .bound = {.ulps = 4},
     .why = close,
     .build = build_binary},
    {.prim = HONE_PRIM_POW,
     .variant = "integer",
     .dtypes = HONE_VERIFY_INTS,
     .forms = HONE_VERIFY_ALL_FORMS,
     .why = exact,
     .build = build_binary},
    ROW(MIN, HONE_VERIFY_NUMBERS | HONE_VERIFY_BOOL, build_binary),
    ROW(MAX, HONE_VERIFY_NUMBERS | HONE_VERIFY_BOOL, build_binary),
    ROW(EQ, HONE_VERIFY_NUMBERS | HONE_VERIFY_BOOL | HONE_VERIFY_COMPLEX, build_binary),
    ROW(LT, HONE_VERIFY_NUMBERS | HONE_VERIFY_BOOL, build_binary),
    ROW(AND, BITS | HONE_VERIFY_BOOL, build_binary),
    ROW(OR, BITS | HONE_VERIFY_BOOL, build_binary),
    ROW(XOR, BITS | HONE_VERIFY_BOOL, build_binary),
    ROW(SHL, BITS, build_binary),
    ROW(SHR, BITS, build_binary),
    ROW(NEG, COUNTED | HONE_VERIFY_COMPLEX, build_unary),
    ROW(ABS, COUNTED, build_unary),
    ROW(SQRT, HONE_VERIFY_FLOATS, build_unary),
    ROW(FLOOR, HONE_VERIFY_ALL_FLOATS& COUNTED, build_unary),
    ROW(ROUND, HONE_VERIFY_ALL_FLOATS& COUNTED, build_unary),
    FUNCTION(EXP, HONE_VERIFY_FLOATS, 4),
    FUNCTION(LOG, HONE_VERIFY_FLOATS, 4),
    FUNCTION(SIN, HONE_VERIFY_FLOATS, 4),
    FUNCTION(COS, HONE_VERIFY_FLOATS, 4),
    FUNCTION(ATAN, HONE_VERIFY_FLOATS, 4),
    FUNCTION(TANH, HONE_VERIFY_FLOATS, 4),
    FUNCTION(ERF, HONE_VERIFY_FLOATS & ~LESS_CLOSE, 4),
    FUNCTION(ERF, LESS_CLOSE, 6),
    ROW(SELECT, HONE_VERIFY_NUMBERS | HONE_VERIFY_BOOL | HONE_VERIFY_COMPLEX, build_select),
};

const hone_verify_family_t hone_verify_elementwise = {"elementwise", sizeof rows / sizeof *rows,
                                                      rows};
