/* Element types. The numbers are those of ONNX's TensorProto.DataType, so
 * that importing and exporting need no table. */
#ifndef HONE_DTYPE_H
#define HONE_DTYPE_H

#include "hone/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* name, number, text form, bytes an element takes in memory, bits of payload.
 * Types of fewer than 8 bits are packed in files only: in memory each element
 * takes one byte (low bits; signed integers sign-extended). A string element is a
 * hone_string_t. */
#define HONE_DTYPES(X)                  \
  X(UNKNOWN, 0, "unknown", 0, 0)        \
  X(F32, 1, "f32", 4, 32)               \
  X(U8, 2, "u8", 1, 8)                  \
  X(I8, 3, "i8", 1, 8)                  \
  X(U16, 4, "u16", 2, 16)               \
  X(I16, 5, "i16", 2, 16)               \
  X(I32, 6, "i32", 4, 32)               \
  X(I64, 7, "i64", 8, 64)               \
  X(STRING, 8, "string", 16, 0)         \
  X(BOOL, 9, "bool", 1, 8)              \
  X(F16, 10, "f16", 2, 16)              \
  X(F64, 11, "f64", 8, 64)              \
  X(U32, 12, "u32", 4, 32)              \
  X(U64, 13, "u64", 8, 64)              \
  X(C64, 14, "c64", 8, 64)              \
  X(C128, 15, "c128", 16, 128)          \
  X(BF16, 16, "bf16", 2, 16)            \
  X(F8E4M3FN, 17, "f8e4m3fn", 1, 8)     \
  X(F8E4M3FNUZ, 18, "f8e4m3fnuz", 1, 8) \
  X(F8E5M2, 19, "f8e5m2", 1, 8)         \
  X(F8E5M2FNUZ, 20, "f8e5m2fnuz", 1, 8) \
  X(U4, 21, "u4", 1, 4)                 \
  X(I4, 22, "i4", 1, 4)                 \
  X(F4E2M1, 23, "f4e2m1", 1, 4)         \
  X(F8E8M0, 24, "f8e8m0", 1, 8)         \
  X(U2, 25, "u2", 1, 2)                 \
  X(I2, 26, "i2", 1, 2)                 \
  X(F6E2M3, 27, "f6e2m3", 1, 6)         \
  X(F6E3M2, 28, "f6e3m2", 1, 6)

typedef enum hone_dtype {
#define HONE_DTYPE_ENUM(name, number, text, bytes, bits) HONE_##name = number,
  HONE_DTYPES(HONE_DTYPE_ENUM)
#undef HONE_DTYPE_ENUM
      HONE_DTYPE_COUNT
} hone_dtype_t;

/* One element of a string tensor: bytes, not necessarily ending in 0. */
typedef struct hone_string {
  const char* data;
  size_t size;
} hone_string_t;

/* "f32" and so on; static storage, "unknown" for a number outside the table. */
HONE_API const char* hone_dtype_name(hone_dtype_t dtype);
/* HONE_UNKNOWN when no type has that name. Takes ONNX's spelling as well
 * ("float", "float16", "int64", …). */
HONE_API hone_dtype_t hone_dtype_parse(const char* name);
/* Bytes an element takes in memory; 0 for HONE_UNKNOWN. */
HONE_API size_t hone_dtype_size(hone_dtype_t dtype);
/* Bits of payload: 4 for HONE_I4; 0 for strings. */
HONE_API int hone_dtype_bits(hone_dtype_t dtype);
HONE_API bool hone_dtype_is_valid(int number);
HONE_API bool hone_dtype_is_float(hone_dtype_t dtype);    /* f64 … f4e2m1 */
HONE_API bool hone_dtype_is_int(hone_dtype_t dtype);      /* signed and unsigned, not bool */
HONE_API bool hone_dtype_is_unsigned(hone_dtype_t dtype); /* u2 … u64 and bool */
HONE_API bool hone_dtype_is_complex(hone_dtype_t dtype);

#ifdef __cplusplus
}
#endif
#endif
