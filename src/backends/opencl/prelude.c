/* The functions of codegen/c_render.h in OpenCL C 1.2, as macros.
 *
 * One table has a row for each function and class of types; it is written out
 * for each type, for one element and for HONE_LANES of them. Each kernel says
 * what HONE_LANES is: macros look it up where they are used. In a row stand
 *   $D  the dtype, with v for vectors     $T $U     its type, the unsigned one
 *   $c $d  conversion to $T, to $U        $a $b     the bits as $T, as $U
 *   $k  comparison to bool                $m        bool to what ?: takes
 *   $N  bits of an element                $C        the type of one element
 * The result of a comparison of vectors is 0 or -1 in each lane; a boolv is
 * that in ints. A row's macros may use an argument twice: it is a name. */
#include <string.h>

#include "backends/opencl/opencl.h"

typedef struct type {
  const char* dtype;
  const char* type;
  const char* as_unsigned;
  const char* as_signed;
  const char* bits;
  int class;
} type_t;

enum { F = 1, S = 2, U = 4, B = 8, F32 = 16, F64 = 32, I = S | U, X = F | S | U, ALL = X | B };
enum { ONE = 1, WIDE = 2, BOTH = 3 };

static const type_t types[] = {
    {"f32", "float", "uint", "int", "32", F | F32},
    {"f64", "double", "ulong", "long", "64", F | F64},
    {"i8", "char", "uchar", "char", "8", S},
    {"i16", "short", "ushort", "short", "16", S},
    {"i32", "int", "uint", "int", "32", S},
    {"i64", "long", "ulong", "long", "64", S},
    {"u8", "uchar", "uchar", "char", "8", U},
    {"u16", "ushort", "ushort", "short", "16", U},
    {"u32", "uint", "uint", "int", "32", U},
    {"u64", "ulong", "ulong", "long", "64", U},
    {"bool", "int", "uint", "int", "32", B},
};

/* Functions of floats that OpenCL has under the same name. */
static const char* const builtins[] = {"exp",  "log",  "sqrt", "sin",  "cos",
                                       "atan", "tanh", "erf",  "floor"};

typedef struct row {
  int classes, forms;
  const char* text;
} row_t;

static const row_t rows[] = {
    /* memory */
    {ALL, ONE, "load_$D(p) (*(p))"},
    {ALL, ONE, "store_$D(p, x) (*(p) = (x))"},
    {X, WIDE, "load_$D(p) HONE_J(vload)(0, p)"},
    {X, WIDE, "load_$D_by(p, s) HONE_J(HONE_BY_)($T, p, s)"},
    {X, WIDE, "store_$D(p, x) HONE_J(vstore)(x, 0, p)"},
    {F32, WIDE, "load_$D_own(p) (*($T*)(p))"},
    {F32, WIDE, "store_$D_own(p, x) (*($T*)(p) = (x))"},
    {B, WIDE, "load_$D(p) (-HONE_C(int)(HONE_J(vload)(0, p)))"},
    {B, WIDE, "load_$D_by(p, s) (-HONE_J(HONE_BY_)($T, p, s))"},
    {B, WIDE, "store_$D(p, x) HONE_J(vstore)(HONE_C(uchar)(-(x)), 0, p)"},
    {X, WIDE, "splat_$D(x) (($T)(x))"},
    {B, WIDE, "splat_$D(x) (($T)(-(x)))"},
    {I, WIDE, "iota_$D(x) (($T)(x) + $c(HONE_J(HONE_IOTA_)))"},
    /* two operands */
    {F, BOTH, "add_$D(a, b) ((a) + (b))"},
    {F, BOTH, "sub_$D(a, b) ((a) - (b))"},
    {F, BOTH, "mul_$D(a, b) ((a) * (b))"},
    {F, BOTH, "div_$D(a, b) ((a) / (b))"},
    {F, ONE, "rem_$D(a, b) fmod(a, b)"},
    {F, ONE, "pow_$D(a, b) pow(a, b)"},
    {F32, WIDE, "pow_$D(a, b) pow(a, b)"},
    {F32, BOTH, "fma_$D(a, b, c) HONE_FMA_F32(a, b, c)"},
    {F64, BOTH, "fma_$D(a, b, c) fma(a, b, c)"},
    {F, BOTH,
     "min_$D(a, b) ((a) < (b) ? (a) : (b) < (a) ? (b) : (a) == (b) ? $a($b(a) | $b(b)) : (a) + "
     "(b))"},
    {F, BOTH,
     "max_$D(a, b) ((a) > (b) ? (a) : (b) > (a) ? (b) : (a) == (b) ? $a($b(a) & $b(b)) : (a) + "
     "(b))"},
    {F, BOTH, "minc_$D(x, c) ((x) > (c) ? (c) : (x))"},
    {F, BOTH, "maxc_$D(x, c) ((x) < (c) ? (c) : (x))"},
    {F, BOTH, "relu_$D(x) ((x) <= ($T)(0) ? ($T)(0) : (x))"},
    {I, BOTH, "add_$D(a, b) $c($d(a) + $d(b))"},
    {I, BOTH, "sub_$D(a, b) $c($d(a) - $d(b))"},
    {I, ONE, "mul_$D(a, b) (($T)((ulong)(a) * (ulong)(b)))"},
    {I, WIDE, "mul_$D(a, b) $c($d(a) * $d(b))"},
    {S, BOTH,
     "div_$D(a, b) ((b) == ($T)(0) ? ($T)(0) : (b) == ($T)(-1) ? hone_neg_$D(a) : (a) / "
     "hone_divisor_$D(b))"},
    {S, BOTH,
     "rem_$D(a, b) ((b) == ($T)(0) ? ($T)(0) : (b) == ($T)(-1) ? ($T)(0) : (a) % "
     "hone_divisor_$D(b))"},
    {S, BOTH, "divisor_$D(b) (((b) == ($T)(0)) | ((b) == ($T)(-1)) ? ($T)(1) : (b))"},
    {U, BOTH, "div_$D(a, b) ((b) == ($T)(0) ? ($T)(0) : (a) / ((b) == ($T)(0) ? ($T)(1) : (b)))"},
    {U, BOTH, "rem_$D(a, b) ((b) == ($T)(0) ? ($T)(0) : (a) % ((b) == ($T)(0) ? ($T)(1) : (b)))"},
    {S, ONE, "pow_$D(a, b) (($T)hone_pow_signed(a, b))"},
    {U, ONE, "pow_$D(a, b) (($T)hone_pow_unsigned(a, b))"},
    {I, BOTH, "min_$D(a, b) ((b) < (a) ? (b) : (a))"},
    {I, BOTH, "max_$D(a, b) ((b) > (a) ? (b) : (a))"},
    {I | B, BOTH, "and_$D(a, b) ((a) & (b))"},
    {I | B, BOTH, "or_$D(a, b) ((a) | (b))"},
    {I | B, BOTH, "xor_$D(a, b) ((a) ^ (b))"},
    {I, BOTH, "shl_$D(a, b) ($d(b) < ($U)($N) ? $c($d(a) << ($d(b) & ($U)($N - 1))) : ($T)(0))"},
    {S, BOTH, "shr_$D(a, b) ((a) >> ($d(b) < ($U)($N) ? $c(b) : ($T)($N - 1)))"},
    {U, BOTH, "shr_$D(a, b) ((b) < ($U)($N) ? (a) >> ((b) & ($U)($N - 1)) : ($T)(0))"},
    {X, BOTH, "eq_$D(a, b) $k((a) == (b))"},
    {X, BOTH, "lt_$D(a, b) $k((a) < (b))"},
    {B, BOTH, "eq_$D(a, b) ((a) == (b))"},
    {B, BOTH, "lt_$D(a, b) (~(a) & (b))"},
    {B, BOTH, "add_$D(a, b) ((a) | (b))"},
    {B, BOTH, "mul_$D(a, b) ((a) & (b))"},
    {B, BOTH, "min_$D(a, b) ((a) & (b))"},
    {B, BOTH, "max_$D(a, b) ((a) | (b))"},
    /* one operand */
    {F, BOTH, "neg_$D(x) (-(x))"},
    {I, BOTH, "neg_$D(x) $c(-$d(x))"},
    {F, BOTH, "abs_$D(x) fabs(x)"},
    {I, BOTH, "abs_$D(x) ((x) < ($T)(0) ? hone_neg_$D(x) : (x))"},
    {F, BOTH, "round_$D(x) rint(x)"},
    {I, BOTH, "floor_$D(x) (x)"},
    {I, BOTH, "round_$D(x) (x)"},
    {ALL, BOTH, "select_$D(c, x, y) ($m(c) ? (x) : (y))"},
    /* from a float to integers, by the rules of base/float_convert.h */
    {F, ONE,
     "i32_of_$D(x) ((x) > -2147483648.0f & (x) < 2147483648.0f ? convert_int(x) : INT_MIN)"},
    {F, ONE, "i64_of_$D(x) ((x) > -0x1p63f & (x) < 0x1p63f ? convert_long(x) : LONG_MIN)"},
    {F, WIDE,
     "i32_of_$D(x) (HONE_C(int)((x) > ($T)(-2147483648.0f) & (x) < ($T)(2147483648.0f)) ? "
     "HONE_C(int)(x) : (HONE_V(int))(INT_MIN))"},
    {F, WIDE,
     "i64_of_$D(x) (HONE_C(long)((x) > ($T)(-0x1p63f) & (x) < ($T)(0x1p63f)) ? HONE_C(long)(x) "
     ": (HONE_V(long))(LONG_MIN))"},
    {F, ONE,
     "u64_of_$D(x) ((x) >= 0x1p63f & (x) < 0x1p64f ? convert_ulong(x) : "
     "(ulong)hone_i64_of_$D(x))"},
    {F, WIDE,
     "u64_of_$D(x) (HONE_C(long)((x) >= ($T)(0x1p63f) & (x) < ($T)(0x1p64f)) ? "
     "HONE_C(ulong)(x) : HONE_C(ulong)(hone_i64_of_$D(x)))"},
    /* to f32 rounded to odd, so that rounding to fewer bits after it is rounding once */
    {F32, BOTH, "odd_$D(x) (x)"},
    {B, BOTH, "odd_$D(x) hone_cast_f32_$D(x)"},
    {I | F64, ONE, "odd_$D(x) as_float(as_uint(HONE_RTZ(x, )) | ($c(HONE_RTZ(x, )) != (x)))"},
    {I | F64, WIDE,
     "odd_$D(x) HONE_A(float)(HONE_A(uint)(HONE_RTZ(x, HONE_LANES)) | "
     "(HONE_C(uint)($c(HONE_RTZ(x, HONE_LANES)) != (x)) & 1u))"},
};

/* What no table makes. f16 is stored in ushorts, so that devices without half
 * can have it; conversions go through memory of the work-item's own. */
static const char head[] =
    "#pragma OPENCL FP_CONTRACT OFF\n"
    "typedef char hone_i8; typedef short hone_i16; typedef int hone_i32; typedef long hone_i64;\n"
    "typedef uchar hone_u8; typedef ushort hone_u16; typedef uint hone_u32; typedef ulong "
    "hone_u64; typedef float hone_f32; typedef uchar hone_bool;\n"
    "#define HONE_J3(a, n) a##n\n#define HONE_J2(a, n) HONE_J3(a, n)\n"
    "#define HONE_J(a) HONE_J2(a, HONE_LANES)\n#define HONE_V(t) HONE_J2(t, HONE_LANES)\n"
    "#define HONE_C(t) HONE_J2(convert_##t, HONE_LANES)\n"
    "#define HONE_A(t) HONE_J2(as_##t, HONE_LANES)\n"
    "#define HONE_TO_RTZ(n) convert_float##n##_rtz\n#define HONE_RTZ(x, n) HONE_TO_RTZ(n)(x)\n"
    "#define HONE_INF INFINITY\n#define HONE_NAN NAN\n"
    "#define HONE_IOTA_2 (int2)(0, 1)\n#define HONE_IOTA_4 (int4)(HONE_IOTA_2, 2, 3)\n"
    "#define HONE_IOTA_8 (int8)(HONE_IOTA_4, 4, 5, 6, 7)\n"
    "#define HONE_IOTA_16 (int16)(HONE_IOTA_8, 8, 9, 10, 11, 12, 13, 14, 15)\n"
    "#define HONE_2(p, s, i) (p)[(i) * (s)], (p)[((i) + 1) * (s)]\n"
    "#define HONE_4(p, s, i) HONE_2(p, s, i), HONE_2(p, s, (i) + 2)\n"
    "#define HONE_8(p, s, i) HONE_4(p, s, i), HONE_4(p, s, (i) + 4)\n"
    "#define HONE_BY_2(t, p, s) ((t)(HONE_2(p, s, 0)))\n#define HONE_BY_4(t, p, s) ((t)(HONE_4(p, "
    "s, 0)))\n#define HONE_BY_8(t, p, s) ((t)(HONE_8(p, s, 0)))\n"
    "#define HONE_BY_16(t, p, s) ((t)(HONE_8(p, s, 0), HONE_8(p, s, 8)))\n"
    "#if defined(FP_FAST_FMAF) || defined(__FMA__) || defined(__aarch64__)\n"
    "#define HONE_FMA_F32(a, b, c) fma(a, b, c)\n"
    "#else\n#define HONE_FMA_F32(a, b, c) mad(a, b, c)\n#endif\n"
    "static long hone_floordiv(long a, long b) {\n"
    "  return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0)); }\n"
    "static long hone_mod(long a, long b) { return b == 0 ? 0 : a - hone_floordiv(a, b) * b; }\n"
    "#define hone_imin(a, b) min((long)(a), (long)(b))\n"
    "#define hone_imax(a, b) max((long)(a), (long)(b))\n"
    "static ulong hone_pow_unsigned(ulong a, ulong b) {\n"
    "  ulong r = 1; for (; b; b >>= 1, a *= a) if (b & 1) r *= a; return r; }\n"
    "static long hone_pow_signed(long a, long b) {\n"
    "  if (b >= 0) return (long)hone_pow_unsigned((ulong)a, (ulong)b);\n"
    "  return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0; }\n"
    "#define HONE_SMALL(n, t) \\\n"
    "static float##t hone_f16_value##n(ushort##t b) { return vload_half##t(0, (const half*)&b); } "
    "\\\n"
    "static ushort##t hone_f16_bits##n(float##t x) { \\\n"
    "  ushort##t b; vstore_half##t##_rte(x, 0, (half*)&b); return b; } \\\n"
    "static float##t hone_bf16_value##n(ushort##t b) { \\\n"
    "  return as_float##t(convert_uint##t(b) << (uint##t)(16)); } \\\n"
    "static ushort##t hone_bf16_bits##n(float##t x) { \\\n"
    "  uint##t u = as_uint##t(x); \\\n"
    "  u = (u + (uint##t)(0x7fff) + ((u >> (uint##t)(16)) & (uint##t)(1))) >> (uint##t)(16); \\\n"
    "  return convert_ushort##t(x != x ? (uint##t)(0x7fc0) : u); }\n"
    "HONE_SMALL(1, ) HONE_SMALL(2, 2) HONE_SMALL(4, 4) HONE_SMALL(8, 8) HONE_SMALL(16, 16)\n";

/* f16 and bf16, by their values in f32: $D is the dtype. */
static const char small[] =
    "#define hone_load_$D(p) hone_$D_value1(*(p))\n"
    "#define hone_store_$D(p, x) (*(p) = hone_$D_bits1(x))\n"
    "#define hone_round_$D(x) hone_$D_value1(hone_$D_bits1(x))\n"
    "#define hone_load_$Dv(p) HONE_J(hone_$D_value)(HONE_J(vload)(0, p))\n"
    "#define hone_load_$Dv_by(p, s) HONE_J(hone_$D_value)(HONE_J(HONE_BY_)(HONE_V(ushort), p, s))\n"
    "#define hone_store_$Dv(p, x) HONE_J(vstore)(HONE_J(hone_$D_bits)(x), 0, p)\n"
    "#define hone_round_$Dv(x) HONE_J(hone_$D_value)(HONE_J(hone_$D_bits)(x))\n";

static bool is_there(const hone_device_t* device, const type_t* type) {
  return !(type->class & F64) || device->has_f64;
}

/* One name after a $. */
static void put_name(hone_str_t* out, char letter, const type_t* type, bool wide) {
  static const char pairs[] = "TUcdab"; /* of $T and of $U */
  static const char* const formats[] = {"%s",         "HONE_V(%s)", "convert_%s",
                                        "HONE_C(%s)", "as_%s",      "HONE_A(%s)"};
  const char* at = strchr(pairs, letter);
  if (at) {
    const char* name = (at - pairs) % 2 ? type->as_unsigned : type->type;
    hone_str_appendf(out, formats[(at - pairs) / 2 * 2 + wide], name);
  } else if (letter == 'D') {
    hone_str_appendf(out, "%s%s", type->dtype, wide ? "v" : "");
  } else if (letter == 'N') {
    hone_str_append(out, type->bits);
  } else if (wide) { /* k, m */
    hone_str_appendf(out, "HONE_C(%s)", letter == 'k' ? "int" : type->as_signed);
  }
}

static void put_text(hone_str_t* out, const char* text, const type_t* type, bool wide) {
  for (const char* c = text; *c; c++) {
    if (*c == '$')
      put_name(out, *++c, type, wide);
    else
      hone_str_append_char(out, *c);
  }
}

static void put_rows(hone_str_t* out, const type_t* type) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (int wide = 0; wide < 2; wide++) {
      if (!(rows[i].classes & type->class) || !(rows[i].forms & (wide ? WIDE : ONE))) continue;
      hone_str_append(out, "#define hone_");
      put_text(out, rows[i].text, type, wide);
      hone_str_append_char(out, '\n');
    }
}

/* ---- casts ---- */

/* What `x` of type `from` is before it is converted to `to`. */
static const char* before_cast(const type_t* to, const type_t* from, bool wide) {
  if (from->class & B) return "((x) & ($T)(1))";
  if (!(from->class & F) || to->class & F) return "x";
  if (strcmp(to->dtype, "u64") == 0) return "hone_u64_of_$D(x)";
  if (strcmp(to->bits, "64") == 0 || strcmp(to->dtype, "u32") == 0) return "hone_i64_of_$D(x)";
  return "hone_i32_of_$D(x)";
}

static void put_cast(hone_str_t* out, const type_t* to, const type_t* from, bool wide) {
  hone_str_appendf(out, "#define hone_cast_%s_", to->dtype);
  if (to->class & B) {
    put_text(out, from->class & B ? "$D(x) (x)\n" : "$D(x) $k((x) != ($T)(0))\n", from, wide);
    return;
  }
  put_text(out, "$D(x) ", from, wide);
  put_text(out, "$c(", to, wide);
  put_text(out, before_cast(to, from, wide), from, wide);
  hone_str_append(out, ")\n");
}

/* To a type that is computed in f32: through it, rounded to odd. */
static void put_narrow_cast(hone_str_t* out, const char* to, const type_t* from, bool wide) {
  const char* v = wide ? "v" : "";
  hone_str_appendf(out, "#define hone_cast_%s_%s%s(x) hone_round_%s%s(hone_odd_%s%s(x))\n", to,
                   from->dtype, v, to, v, from->dtype, v);
}

static void put_casts(hone_str_t* out, const hone_device_t* device, const type_t* from) {
  for (int wide = 0; wide < 2; wide++) {
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
      if (is_there(device, &types[i])) put_cast(out, &types[i], from, wide);
    put_narrow_cast(out, "f16", from, wide);
    put_narrow_cast(out, "bf16", from, wide);
  }
}

static void put_bitcasts(hone_str_t* out, const hone_device_t* device, const type_t* from) {
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    const type_t* to = &types[i];
    if (!is_there(device, to) || (to->class | from->class) & B || strcmp(to->bits, from->bits) != 0)
      continue;
    for (int wide = 0; wide < 2; wide++) {
      hone_str_appendf(out, "#define hone_bitcast_%s_", to->dtype);
      put_text(out, "$D(x) ", from, wide);
      put_text(out, "$a(x)\n", to, wide);
    }
  }
}

/* ---- folds: all lanes into one element, half by half ---- */

static void put_folds(hone_str_t* out, const type_t* type, int lanes) {
  static const char* const ops[] = {"add", "mul", "min", "max"};
  for (int i = 0; i < 4; i++) {
    hone_str_appendf(out, "static %s hone_reduce_%s_%s_%d(%s%d x) { return ", type->type, ops[i],
                     type->dtype, lanes, type->type, lanes);
    if (lanes > 2) hone_str_appendf(out, "hone_reduce_%s_%s_%d(", ops[i], type->dtype, lanes / 2);
    hone_str_appendf(out, "hone_%s_%s%s(x.lo, x.hi)%s; }\n", ops[i], type->dtype,
                     lanes > 2 ? "v" : "", lanes > 2 ? ")" : "");
    if (lanes == 2)
      hone_str_appendf(out, "#define hone_reduce_%s_%sv(x) HONE_J(hone_reduce_%s_%s_)(x)\n", ops[i],
                       type->dtype, ops[i], type->dtype);
  }
}

/* ---- all of it ---- */

static bool has_folds(const type_t* type) {
  return hone_opencl_has_fold(hone_dtype_parse(type->dtype));
}

/* sin, cos, fmod and the pow of doubles take lanes one by one: PoCL loses most bits of every lane
 * where one of a vector is large or infinite, or divided by zero. */
static bool is_periodic(const char* name) {
  return strcmp(name, "sin") == 0 || strcmp(name, "cos") == 0;
}

/* `function` of one operand or two, as hone's `name`. */
static void put_lanes(hone_str_t* out, const char* name, const char* function, bool two,
                      const type_t* type) {
  const char *t = type->type, *operands = two ? "x, y" : "x";
  for (int n = 2; n <= 16; n *= 2) {
    hone_str_appendf(out, "static %s%d hone_%s_%s_%d(%s%d x", t, n, name, type->dtype, n, t, n);
    if (two) hone_str_appendf(out, ", %s%d y", t, n);
    hone_str_appendf(out, two ? ") { %s a[%d], b[%d]; " : ") { %s a[%d]; ", t, n, n);
    hone_str_appendf(out, two ? "vstore%d(x, 0, a); vstore%d(y, 0, b); " : "vstore%d(x, 0, a); ", n,
                     n);
    hone_str_appendf(out,
                     "for (int i = 0; i < %d; i++) a[i] = %s(a[i]%s); return vload%d(0, a); }\n", n,
                     function, two ? ", b[i]" : "", n);
  }
  hone_str_appendf(out, "#define hone_%s_%sv(%s) HONE_J(hone_%s_%s_)(%s)\n", name, type->dtype,
                   operands, name, type->dtype, operands);
}

static void put_builtins(hone_str_t* out, const type_t* type) {
  for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++) {
    const char* name = builtins[i];
    hone_str_appendf(out, "#define hone_%s_%s(x) %s(x)\n", name, type->dtype, name);
    if (is_periodic(name))
      put_lanes(out, name, name, false, type);
    else
      hone_str_appendf(out, "#define hone_%s_%sv(x) %s(x)\n", name, type->dtype, name);
  }
  put_lanes(out, "rem", "fmod", true, type);
  if (type->class & F64) put_lanes(out, "pow", "pow", true, type);
}

static void put_type(hone_str_t* out, const hone_device_t* device, const type_t* type) {
  hone_str_appendf(out, "#define hone_%sv HONE_V(%s)\n", type->dtype, type->type);
  if (type->class & F) put_builtins(out, type);
  put_rows(out, type);
  put_casts(out, device, type);
  put_bitcasts(out, device, type);
}

void hone_opencl_prelude(const hone_device_t* device, hone_str_t* out) {
  if (device->has_f64)
    hone_str_append(out,
                    "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
                    "typedef double hone_f64;\n");
  hone_str_append(out, head);
  for (int i = 0; i < 2; i++) put_text(out, small, &(type_t){.dtype = i ? "bf16" : "f16"}, false);
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (is_there(device, &types[i])) put_type(out, device, &types[i]);
  for (int lanes = 2; lanes <= 16; lanes *= 2) {
    hone_str_appendf(out, "#undef HONE_LANES\n#define HONE_LANES %d\n", lanes / 2);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
      if (is_there(device, &types[i]) && has_folds(&types[i])) put_folds(out, &types[i], lanes);
  }
}

bool hone_opencl_has_vector(hone_prim_t prim, hone_dtype_t dtype) {
  return prim != HONE_PRIM_POW || hone_dtype_is_float(dtype);
}

bool hone_opencl_has_fold(hone_dtype_t dtype) {
  return dtype == HONE_F32 || dtype == HONE_F64 || dtype == HONE_I32 || dtype == HONE_I64;
}
