/* Tensor expressions: a kernel from what its elements are, to be scheduled by
 * hand (hone/schedule.h).
 *
 *   c[i, j] = sum over k of a[i, k] * b[k, j]
 *
 *   static hone_te_value_t product(void* self, hone_te_t* te, const hone_te_value_t* at) {
 *     matmul_t* m = self;
 *     hone_te_value_t k = hone_te_axis(te, m->k);
 *     hone_te_value_t a = hone_te_read(te, m->a, (hone_te_value_t[]){at[0], k});
 *     hone_te_value_t b = hone_te_read(te, m->b, (hone_te_value_t[]){k, at[1]});
 *     return hone_te_reduce(te, "add", hone_te_apply2(te, "mul", a, b), 1, &m->k);
 *   }
 *   …
 *   m.a = hone_te_placeholder(te, "a", HONE_F32, 2, (int64_t[]){n, n});
 *   m.b = hone_te_placeholder(te, "b", HONE_F32, 2, (int64_t[]){n, n});
 *   m.k = hone_te_reduce_axis(te, "k", n);
 *   hone_te_compute(te, "c", HONE_F32, 2, (int64_t[]){n, n}, (const char*[]){"i", "j"}, product,
 * &m); status = hone_te_finish(te, &kernel);
 *
 * Whatever fails gives NULL, and NULL as an argument gives NULL again; the
 * first failure is remembered and comes out of hone_te_finish. Everything made
 * here lives as long as the hone_te_t. One thread at a time. */
#ifndef HONE_TE_H
#define HONE_TE_H

#include "hone/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_te hone_te_t;
typedef struct hone_te_tensor hone_te_tensor_t; /* placeholder or computed */
typedef struct hone_te_reduce_axis hone_te_reduce_axis_t;
typedef const struct hone_term* hone_te_value_t; /* a number for each element */

/* The value of the element at `at`, a value of type i64 for each axis. */
typedef hone_te_value_t (*hone_te_body_t)(void* self, hone_te_t* te, const hone_te_value_t* at);

HONE_API HONE_MUST_USE hone_status_t hone_te_create(const hone_allocator_t* allocator,
                                                    const char* name, hone_te_t** out_te);
/* NULL is allowed. */
HONE_API void hone_te_destroy(hone_te_t* te);

/* An input: the kernel's next one. */
HONE_API hone_te_tensor_t* hone_te_placeholder(hone_te_t* te, const char* name, hone_dtype_t dtype,
                                               int rank, const int64_t* dims);
/* An output: the kernel's next one. `body` is called once, by hone_te_finish,
 * and may read placeholders and what was computed before. `axes` names the loops;
 * NULL: i, j, k, … */
HONE_API hone_te_tensor_t* hone_te_compute(hone_te_t* te, const char* name, hone_dtype_t dtype,
                                           int rank, const int64_t* dims, const char* const* axes,
                                           hone_te_body_t body, void* self);
/* What a reduction runs over: 0 … extent - 1, in a loop of that name. */
HONE_API hone_te_reduce_axis_t* hone_te_reduce_axis(hone_te_t* te, const char* name,
                                                    int64_t extent);

/* ---- values, in bodies only ---- */

HONE_API hone_te_value_t hone_te_axis(hone_te_t* te, const hone_te_reduce_axis_t* axis);
/* Rounded to the dtype. */
HONE_API hone_te_value_t hone_te_number(hone_te_t* te, hone_dtype_t dtype, double value);
/* The element at an index of type i64, which must lie inside for all values of the axes. */
HONE_API hone_te_value_t hone_te_read(hone_te_t* te, const hone_te_tensor_t* tensor,
                                      const hone_te_value_t* index);
/* An elementwise primitive by name: "add", "mul", "max", "lt", "exp", "select", … */
HONE_API hone_te_value_t hone_te_apply(hone_te_t* te, const char* primitive, int n,
                                       const hone_te_value_t* args);
HONE_API hone_te_value_t hone_te_apply2(hone_te_t* te, const char* primitive, hone_te_value_t a,
                                        hone_te_value_t b);
HONE_API hone_te_value_t hone_te_cast(hone_te_t* te, hone_dtype_t dtype, hone_te_value_t x);
/* All values over the axes, combined by "add", "mul", "min" or "max". */
HONE_API hone_te_value_t hone_te_reduce(hone_te_t* te, const char* combine, hone_te_value_t value,
                                        int n_axes, hone_te_reduce_axis_t* const* axes);

/* The kernel, with one nest of loops for each computed tensor in order, which
 * the caller destroys with hone_kernel_free. Call it once. Errors: the
 * first thing that failed. */
HONE_API HONE_MUST_USE hone_status_t hone_te_finish(hone_te_t* te, hone_kernel_t** out_kernel);
/* NULL is allowed. */
HONE_API void hone_kernel_free(hone_kernel_t* kernel);

#ifdef __cplusplus
}
#endif
#endif
