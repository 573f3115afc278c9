/* Complex arithmetic: the few functions that are defined on it, element by
 * element in double. */
#include <complex.h>
#include <string.h>

#include "backends/ref/kernels.h"
#include "base/float_convert.h"

typedef double complex (*complex_fn)(double complex a, double complex b);

static double complex c_add(double complex a, double complex b) { return a + b; }
static double complex c_sub(double complex a, double complex b) { return a - b; }
static double complex c_mul(double complex a, double complex b) { return a * b; }
static double complex c_div(double complex a, double complex b) { return a / b; }
static double complex c_eq(double complex a, double complex b) { return a == b; }
static double complex c_neg(double complex a, double complex b) { return (void)b, -a; }
static double complex c_abs(double complex a, double complex b) { return (void)b, cabs(a); }
static double complex c_exp(double complex a, double complex b) { return (void)b, cexp(a); }

static const complex_fn functions[HONE_PRIM_COUNT] = {
    [HONE_PRIM_ADD] = c_add, [HONE_PRIM_SUB] = c_sub, [HONE_PRIM_MUL] = c_mul,
    [HONE_PRIM_DIV] = c_div, [HONE_PRIM_EQ] = c_eq,   [HONE_PRIM_NEG] = c_neg,
    [HONE_PRIM_ABS] = c_abs, [HONE_PRIM_EXP] = c_exp,
};

static double complex load(hone_dtype_t dtype, const char* at) {
  hone_dtype_t part = dtype == HONE_C64 ? HONE_F32 : HONE_F64;
  double parts[2];
  hone_load_f64(part, at, (int64_t)hone_dtype_size(part), 2, parts);
  return parts[0] + parts[1] * I;
}

static void store(hone_dtype_t dtype, double complex value, char* at) {
  double parts[2] = {creal(value), cimag(value)};
  if (dtype == HONE_BOOL)
    *at = parts[0] != 0;
  else if (dtype == HONE_C64)
    hone_store_f64(HONE_F32, parts, 2, at);
  else if (dtype == HONE_C128)
    hone_store_f64(HONE_F64, parts, 2, at);
  else
    hone_store_f64(dtype, parts, 1, at);
}

hone_status_t hone_ref_complex(ref_call_t* call) {
  complex_fn f = functions[call->node->prim];
  if (!f)
    return hone_status_make(HONE_UNSUPPORTED, "%s of complex numbers is not defined",
                            hone_prim_info(call->node->prim)->name);
  const ref_view_t* x = call->in[0];
  const ref_view_t* y = call->node->n_inputs > 1 ? call->in[1] : x;
  const ref_view_t* views[3] = {x, y, &call->out[0]};
  ref_rows_t rows;
  char* at[HONE_REF_MAX_VIEWS];
  hone_ref_rows_start(&rows, 3, views);
  for (int64_t n; (n = hone_ref_rows_next(&rows, at)) > 0;)
    for (int64_t i = 0; i < n; i++)
      store(views[2]->dtype,
            f(load(x->dtype, at[0] + i * rows.row_stride[0]),
              load(y->dtype, at[1] + i * rows.row_stride[1])),
            at[2] + i * rows.row_stride[2]);
  return NULL;
}
