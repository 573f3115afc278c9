/* What has no operands: inputs, constants, indices, extents, random numbers. */
#include "verify/verify.h"

static const char exact[] = "prim.h: given, or counted; random numbers are a function of the seed";

/* The shape of the form's operand, which is an output too: the graph has an input. */
static hone_value_t* shaped(hone_verify_maker_t* m) {
  return hone_verify_operand(m, 0, m->dtype, HONE_VERIFY_ANY);
}

static void build_input(hone_verify_maker_t* m) {
  hone_value_t* x = shaped(m);
  hone_verify_output(m, x);
}

/* Where the extents are numbers; as an output, and as an operand. */
static void build_constant(hone_verify_maker_t* m) {
  hone_value_t* x = shaped(m);
  int64_t dims[HONE_MAX_RANK];
  hone_tensor_t* tensor;
  if (!x || hone_verify_form_is_symbolic(m->form)) return;
  for (int i = 0; i < hone_rank(x); i++) dims[i] = hone_dim(x, i).k;
  hone_status_t status =
      hone_verify_fill_tensor(&(hone_verify_input_t){.fill = HONE_VERIFY_ANY}, 0, m->dtype,
                              hone_rank(x), dims, (uint64_t)m->form + 1, &tensor);
  if (status) {
    hone_fail_status(m->b, status);
    return;
  }
  hone_value_t* constant = hone_constant(m->b, tensor);
  hone_verify_output(m, constant);
  hone_verify_output(m, hone_max(m->b, x, constant));
}

static void build_iota(hone_verify_maker_t* m) {
  hone_value_t* x = shaped(m);
  if (!x) return;
  for (int axis = 0; axis < hone_rank(x) && axis < 3; axis++)
    hone_verify_output(
        m, hone_add(m->b, x, hone_iota(m->b, m->dtype, hone_rank(x), x->type.dims, axis)));
}

static void build_dims(hone_verify_maker_t* m) {
  hone_value_t* x = shaped(m);
  if (!x || hone_rank(x) == 0) return;
  hone_dim_t sum = hone_d_add(m->b, hone_elements(m->b, x), hone_d(1));
  hone_value_t* extents = hone_dims_value(m->b, hone_rank(x), x->type.dims);
  hone_verify_output(m, hone_add(m->b, extents, hone_dim_scalar(m->b, HONE_I64, sum)));
}

static void build_random(hone_verify_maker_t* m) {
  hone_value_t* x = shaped(m);
  if (!x) return;
  hone_verify_output(m, hone_random(m->b, m->dtype, hone_rank(x), x->type.dims, 17, true));
  hone_verify_output(m, hone_random(m->b, m->dtype, hone_rank(x), x->type.dims, 0, false));
}

#define ROW(NAME, DTYPES, BUILD)                                                                \
  {                                                                                             \
    .prim = HONE_PRIM_##NAME, .dtypes = (DTYPES), .forms = HONE_VERIFY_ALL_FORMS, .why = exact, \
    .build = (BUILD)                                                                            \
  }
#define SOME                                                                           \
  (HONE_VERIFY_BIT(HONE_F32) | HONE_VERIFY_BIT(HONE_F64) | HONE_VERIFY_BIT(HONE_I32) | \
   HONE_VERIFY_BIT(HONE_I64) | HONE_VERIFY_BIT(HONE_U8))

static const hone_verify_row_t rows[] = {
    ROW(INPUT, SOME | HONE_VERIFY_BIT(HONE_STRING) | HONE_VERIFY_COMPLEX, build_input),
    ROW(CONSTANT, SOME | HONE_VERIFY_BIT(HONE_F16) | HONE_VERIFY_BOOL, build_constant),
    ROW(IOTA, SOME | HONE_VERIFY_BIT(HONE_F16), build_iota),
    ROW(DIMS, HONE_VERIFY_BIT(HONE_F32), build_dims),
    ROW(RANDOM, HONE_VERIFY_BIT(HONE_F32) | HONE_VERIFY_BIT(HONE_F64), build_random),
};

const hone_verify_family_t hone_verify_source = {"source", sizeof rows / sizeof *rows, rows};
