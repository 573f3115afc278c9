/* Everything there is to know about an element type is a row of one table. */
#include "hone/dtype.h"

typedef enum dtype_class {
  CLASS_NONE,
  CLASS_FLOAT,
  CLASS_SIGNED,
  CLASS_UNSIGNED,
  CLASS_COMPLEX
} dtype_class_t;

typedef struct dtype_row {
  const char* name;
  unsigned char bytes, bits;
} dtype_row_t;

static const dtype_row_t rows[HONE_DTYPE_COUNT] = {
#define DTYPE_ROW(name, number, text, bytes, bits) [number] = {text, bytes, bits},
    HONE_DTYPES(DTYPE_ROW)
#undef DTYPE_ROW
};

/* What hone's names do not say: ONNX's spelling and the kind of number. */
static const struct {
  const char* onnx_name;
  dtype_class_t class;
} traits[HONE_DTYPE_COUNT] = {
    [HONE_UNKNOWN] = {"undefined", CLASS_NONE},
    [HONE_F32] = {"float", CLASS_FLOAT},
    [HONE_U8] = {"uint8", CLASS_UNSIGNED},
    [HONE_I8] = {"int8", CLASS_SIGNED},
    [HONE_U16] = {"uint16", CLASS_UNSIGNED},
    [HONE_I16] = {"int16", CLASS_SIGNED},
    [HONE_I32] = {"int32", CLASS_SIGNED},
    [HONE_I64] = {"int64", CLASS_SIGNED},
    [HONE_STRING] = {"string", CLASS_NONE},
    [HONE_BOOL] = {"bool", CLASS_NONE},
    [HONE_F16] = {"float16", CLASS_FLOAT},
    [HONE_F64] = {"double", CLASS_FLOAT},
    [HONE_U32] = {"uint32", CLASS_UNSIGNED},
    [HONE_U64] = {"uint64", CLASS_UNSIGNED},
    [HONE_C64] = {"complex64", CLASS_COMPLEX},
    [HONE_C128] = {"complex128", CLASS_COMPLEX},
    [HONE_BF16] = {"bfloat16", CLASS_FLOAT},
    [HONE_F8E4M3FN] = {"float8e4m3fn", CLASS_FLOAT},
    [HONE_F8E4M3FNUZ] = {"float8e4m3fnuz", CLASS_FLOAT},
    [HONE_F8E5M2] = {"float8e5m2", CLASS_FLOAT},
    [HONE_F8E5M2FNUZ] = {"float8e5m2fnuz", CLASS_FLOAT},
    [HONE_U4] = {"uint4", CLASS_UNSIGNED},
    [HONE_I4] = {"int4", CLASS_SIGNED},
    [HONE_F4E2M1] = {"float4e2m1", CLASS_FLOAT},
    [HONE_F8E8M0] = {"float8e8m0", CLASS_FLOAT},
    [HONE_U2] = {"uint2", CLASS_UNSIGNED},
    [HONE_I2] = {"int2", CLASS_SIGNED},
    [HONE_F6E2M3] = {"float6e2m3", CLASS_FLOAT},
    [HONE_F6E3M2] = {"float6e3m2", CLASS_FLOAT},
};

/* Row of a type; that of UNKNOWN for a number outside the table. */
static unsigned row_of(hone_dtype_t dtype) {
  return (unsigned)dtype < HONE_DTYPE_COUNT ? (unsigned)dtype : HONE_UNKNOWN;
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

static bool same_name(const char* a, const char* b) {
  while (*a && lower(*a) == lower(*b)) a++, b++;
  return lower(*a) == lower(*b);
}

const char* hone_dtype_name(hone_dtype_t dtype) { return rows[row_of(dtype)].name; }

hone_dtype_t hone_dtype_parse(const char* name) {
  for (int i = 1; i < HONE_DTYPE_COUNT; i++)
    if (same_name(name, rows[i].name) || same_name(name, traits[i].onnx_name))
      return (hone_dtype_t)i;
  return HONE_UNKNOWN;
}

size_t hone_dtype_size(hone_dtype_t dtype) { return rows[row_of(dtype)].bytes; }
int hone_dtype_bits(hone_dtype_t dtype) { return rows[row_of(dtype)].bits; }

bool hone_dtype_is_valid(int number) { return number > HONE_UNKNOWN && number < HONE_DTYPE_COUNT; }

static dtype_class_t class_of(hone_dtype_t dtype) { return traits[row_of(dtype)].class; }

bool hone_dtype_is_float(hone_dtype_t dtype) { return class_of(dtype) == CLASS_FLOAT; }
bool hone_dtype_is_complex(hone_dtype_t dtype) { return class_of(dtype) == CLASS_COMPLEX; }

bool hone_dtype_is_int(hone_dtype_t dtype) {
  return class_of(dtype) == CLASS_SIGNED || class_of(dtype) == CLASS_UNSIGNED;
}

bool hone_dtype_is_unsigned(hone_dtype_t dtype) {
  return dtype == HONE_BOOL || class_of(dtype) == CLASS_UNSIGNED;
}
