/* Numbers for inputs: ordinary ones, and all that is easily got wrong. */
#include <math.h>
#include <string.h>

#include "base/float_convert.h"
#include "base/random.h"
#include "verify/verify.h"

typedef struct draw {
  const hone_verify_input_t* input;
  int64_t limit;
  hone_dtype_t dtype;
  uint64_t seed, index;
} draw_t;

static uint32_t next(draw_t* d) { return hone_random_u32(d->seed, d->index++); }

static double pick(draw_t* d, int count, const double* list) {
  return list[next(d) % (uint32_t)count];
}

/* ---- floats ---- */

/* Rounded to the dtype: there FLT_MAX is infinite in f16, and 1e-40 zero. */
static double special_float(draw_t* d) {
  static const double list[] = {0.0,
                                -0.0,
                                1,
                                -1,
                                0.5,
                                2,
                                -2.5,
                                3.5,
                                1.5,
                                NAN,
                                INFINITY,
                                -INFINITY,
                                65504,
                                -65504,
                                0x1p-126,
                                0x1p-149,
                                -0x1p-149,
                                0x1p-24,
                                0x1p-14,
                                1e-40,
                                -1e-310,
                                240,
                                448,
                                57344,
                                0x1p-1074,
                                1e-3,
                                1.0 / 3,
                                16777217,
                                -0x1.fffffep127,
                                0x1.fffffep127,
                                0x1.fffffffffffffp1023,
                                1e6};
  return pick(d, sizeof list / sizeof *list, list);
}

static double unit(draw_t* d) { return (double)(next(d) >> 8) / (1 << 24); }

static double draw_float(draw_t* d) {
  static const double powers[] = {-1, 1, 2, 0.5, 1, 1};
  /* None so large that the order of a sum decides whether it overflows. */
  static const double few[] = {0.0, -0.0, NAN, INFINITY, -INFINITY, 1e-40, 0x1p-24, 3};
  switch (d->input->fill) {
    case HONE_VERIFY_ANY:
      return next(d) % 3 == 0 ? special_float(d) : (unit(d) - 0.5) * 16;
    case HONE_VERIFY_TAME:
      return next(d) % 211 == 0 ? pick(d, sizeof few / sizeof *few, few) : (unit(d) - 0.5) * 8;
    case HONE_VERIFY_DYADIC:
      return (double)(next(d) % 17) / 4 - 2;
    case HONE_VERIFY_POWERS:
      return pick(d, sizeof powers / sizeof *powers, powers);
    case HONE_VERIFY_NEAR_ONE:
      return 1 + (unit(d) - 0.5) / 16;
    case HONE_VERIFY_INDEX:
      return (double)(d->limit > 0 ? next(d) % (uint64_t)d->limit : 0);
    default:
      return (unit(d) - 0.5) * 8;
  }
}

/* ---- integers ---- */

static int64_t special_int(draw_t* d) {
  static const int64_t list[] = {0, 1, -1, 2, 3, 7, -7, 8, 31, 32, 33, 63, 64, 100, -100};
  int bits = hone_dtype_bits(d->dtype);
  uint64_t top = (uint64_t)1 << (bits - 1);
  uint32_t choice = next(d) % 20;
  if (choice >= 18) return (int64_t)(hone_dtype_is_unsigned(d->dtype) ? 2 * top - 1 : top - 1);
  if (choice >= 16) return (int64_t)top;
  if (choice == 15) return (int64_t)(top + 1);
  return list[choice];
}

static int64_t draw_int(draw_t* d) {
  uint64_t high = next(d), low = next(d);
  switch (d->input->fill) {
    case HONE_VERIFY_ANY:
    case HONE_VERIFY_TAME:
      return low % 3 == 0 ? special_int(d) : (int64_t)(high << 32 | next(d));
    case HONE_VERIFY_INDEX:
      return (int64_t)(d->limit > 0 ? low % (uint64_t)d->limit : 0);
    case HONE_VERIFY_POWERS:
      return low & 1 ? 1 : 2;
    default:
      return (int64_t)(low % 7) - (hone_dtype_is_unsigned(d->dtype) ? 0 : 3);
  }
}

/* ---- elements ---- */

static void draw_number(draw_t* d, hone_dtype_t dtype, char* element) {
  size_t size = hone_dtype_size(dtype);
  bool raw = d->input->fill == HONE_VERIFY_ANY && next(d) % 4 == 0;
  if (hone_dtype_is_float(dtype) && !raw) {
    hone_from_double(dtype, draw_float(d), false, element);
    return;
  }
  int64_t value = dtype == HONE_BOOL ? next(d) & 1 : draw_int(d);
  memcpy(element, &value, size); /* little end first */
  hone_normalise_elements(dtype, element, 1);
}

static hone_status_t draw_string(draw_t* d, hone_tensor_t* tensor, int64_t index) {
  static const char* const words[] = {"", "a", "b", "ab", "\xc3\xa9", "12"};
  const char* word = words[next(d) % 6];
  return hone_tensor_set_string(tensor, index, word, strlen(word));
}

static hone_status_t fill(draw_t* d, hone_tensor_t* tensor) {
  hone_dtype_t dtype = d->dtype;
  size_t size = hone_dtype_size(dtype);
  bool complex = hone_dtype_is_complex(dtype);
  hone_dtype_t part = dtype == HONE_C64 ? HONE_F32 : HONE_F64;
  char* at = hone_tensor_data(tensor);
  for (int64_t i = 0; i < hone_tensor_count(tensor); i++, at += size) {
    d->index = (uint64_t)i * 8;
    if (dtype == HONE_STRING) HONE_TRY(draw_string(d, tensor, i));
    if (dtype == HONE_STRING) continue;
    draw_number(d, complex ? part : dtype, at);
    if (complex) draw_number(d, part, at + size / 2);
  }
  return NULL;
}

hone_status_t hone_verify_fill_tensor(const hone_verify_input_t* input, int64_t limit,
                                      hone_dtype_t dtype, int rank, const int64_t* dims,
                                      uint64_t seed, hone_tensor_t** out_tensor) {
  draw_t d = {.input = input, .limit = limit, .dtype = dtype, .seed = seed};
  HONE_TRY(hone_tensor_create(NULL, dtype, rank, dims, out_tensor));
  return fill(&d, *out_tensor);
}
