#include "codegen/testing/prelude_cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/testing/folder.h"
#include "codegen/prelude.h"
#include "codegen/process.h"
#include "codegen/toolchain.h"
#include "ir/scalar.h"

enum {
  MOST_CASES = 4096,
  MOST_EDGES = 64,
  RANDOM = 1500,
  PER_UNIT = 40,        /* cases in one C file */
  TOLERANCE = 2,        /* of functions that are not exact, in units in the last place */
  TOLERANCE_OF_ERF = 5, /* in f32 */
};

/* One primitive on one dtype. */
typedef struct prelude_case {
  hone_prim_t prim;
  hone_dtype_t from, to; /* to: of the result */
  int64_t flags;
} prelude_case_t;

typedef struct suite {
  hone_arena_t* arena;
  hone_target_t target;
  hone_compiler_t compiler;
  int lanes;
  int n_dtypes;
  const hone_dtype_t* dtypes;
  int count;
  prelude_case_t cases[MOST_CASES];
} suite_t;

typedef void (*kernel_fn)(const void* a, const void* b, const void* c, void* out, long n);

/* ---- which cases ---- */

static hone_dtype_t computing(hone_dtype_t dtype) {
  if (dtype == HONE_I4 || dtype == HONE_I2) return HONE_I8;
  if (dtype == HONE_U4 || dtype == HONE_U2) return HONE_U8;
  return hone_dtype_is_float(dtype) && dtype != HONE_F64 ? HONE_F32 : dtype;
}

static void add_case(suite_t* s, hone_prim_t prim, hone_dtype_t from, hone_dtype_t to,
                     int64_t flags) {
  assert_true(s->count < MOST_CASES);
  s->cases[s->count++] = (prelude_case_t){prim, from, to, flags};
}

static void add_primitives(suite_t* s, hone_dtype_t dtype) {
  hone_scalar_class_t class = hone_scalar_class(dtype);
  for (int prim = 0; prim < HONE_PRIM_COUNT; prim++) {
    hone_prim_family_t family = hone_prim_info((hone_prim_t)prim)->family;
    bool compares = prim == HONE_PRIM_EQ || prim == HONE_PRIM_LT;
    bool defined = (family == HONE_FAMILY_BINARY && hone_scalar_binary((hone_prim_t)prim, class)) ||
                   (family == HONE_FAMILY_UNARY && hone_scalar_unary((hone_prim_t)prim, class));
    if (defined || prim == HONE_PRIM_SELECT)
      add_case(s, (hone_prim_t)prim, dtype, compares ? HONE_BOOL : dtype, 0);
  }
}

static void add_casts(suite_t* s, hone_dtype_t from, hone_dtype_t to) {
  if (from == to) return;
  add_case(s, HONE_PRIM_CAST, from, to, 0);
  if (to == HONE_BF16) add_case(s, HONE_PRIM_CAST, from, to, HONE_FLAG_FLUSHES);
  if (!hone_dtype_is_float(to) || hone_dtype_bits(to) != 8) return;
  add_case(s, HONE_PRIM_CAST, from, to, HONE_FLAG_SATURATE);
  if (to != HONE_F8E8M0) return;
  for (int saturate = 0; saturate < 2; saturate++) {
    int64_t flags = saturate ? HONE_FLAG_SATURATE : 0;
    add_case(s, HONE_PRIM_CAST, from, to, flags | HONE_FLAG_ROUND_UP);
    add_case(s, HONE_PRIM_CAST, from, to, flags | HONE_FLAG_ROUND_DOWN);
  }
}

static void add_all(suite_t* s) {
  for (int i = 0; i < s->n_dtypes; i++) {
    add_primitives(s, s->dtypes[i]);
    for (int k = 0; k < s->n_dtypes; k++) add_casts(s, s->dtypes[i], s->dtypes[k]);
  }
}

/* ---- their text ---- */

static void put_function(hone_str_t* out, const prelude_case_t* c) {
  const char* dtype = hone_dtype_name(computing(c->from));
  if (c->prim != HONE_PRIM_CAST) {
    hone_str_appendf(out, "hone_%s_%s", hone_prim_info(c->prim)->name, dtype);
    return;
  }
  hone_str_appendf(out, "hone_cast_%s%s%s%s_%s", hone_dtype_name(c->to),
                   c->flags & HONE_FLAG_ROUND_UP ? "_up" : "",
                   c->flags & HONE_FLAG_ROUND_DOWN ? "_down" : "",
                   c->flags & HONE_FLAG_SATURATE ? "_sat" : "", dtype);
}

/* The elements i and following; `v` is "v" or "", `n` ", n - i" for a part or "". */
static void put_body(hone_str_t* out, const prelude_case_t* c, const char* v, const char* part) {
  const char *from = hone_dtype_name(c->from), *to = hone_dtype_name(c->to);
  const char *suffix = *part ? "_n" : "", *in = hone_dtype_name(computing(c->from));
  int size = (int)hone_dtype_size(c->from), out_size = (int)hone_dtype_size(c->to);
  bool copies = c->prim == HONE_PRIM_CAST || c->prim == HONE_PRIM_SELECT;
  bool narrow = computing(c->to) != c->to && !copies;
  for (const char* name = "ab"; *name; name++)
    hone_str_appendf(out, "  hone_%s%s x%c = hone_load_%s%s%s(%c + i * %d%s);\n", in, v, *name,
                     from, v, suffix, *name, size, part);
  hone_str_appendf(out, "  hone_bool%s xc = hone_load_bool%s%s(c + i%s);\n", v, v, suffix, part);
  hone_str_appendf(out, "  hone_store_%s%s%s%s(o + i * %d, ", to,
                   *v && c->flags & HONE_FLAG_FLUSHES ? "_flushed" : "", v, suffix, out_size);
  if (narrow) hone_str_appendf(out, "hone_round_%s%s(", to, v);
  put_function(out, c);
  const char* arguments = c->prim == HONE_PRIM_SELECT                             ? "(xc, xa, xb)"
                          : hone_prim_info(c->prim)->family == HONE_FAMILY_BINARY ? "(xa, xb)"
                                                                                  : "(xa)";
  hone_str_appendf(out, "%s%s%s%s);\n", v, arguments, narrow ? ")" : "", part);
}

static void put_case(hone_str_t* out, const prelude_case_t* c, int index) {
  static const char parameters[] = "(const char* a, const char* b, const char* c, char* o, long n)";
  hone_str_appendf(out, "%s void s%d%s {\n for (long i = 0; i < n; i++) {\n", HONE_KERNEL_EXPORT,
                   index, parameters);
  put_body(out, c, "", "");
  hone_str_appendf(out, " }\n}\n%s void v%d%s {\n long i = 0;\n", HONE_KERNEL_EXPORT, index,
                   parameters);
  hone_str_append(out, " for (; i + HONE_LANES <= n; i += HONE_LANES) {\n");
  put_body(out, c, "v", "");
  hone_str_append(out, " }\n if (i < n) {\n");
  put_body(out, c, "v", ", n - i");
  hone_str_append(out, " }\n}\n");
}

static void build(suite_t* s, char** out_bytes, size_t* out_size) {
  int count = (s->count + PER_UNIT - 1) / PER_UNIT;
  hone_unit_t* units = hone_arena_array(s->arena, (size_t)count, sizeof *units);
  const char* prelude;
  assert_non_null(units);
  assert_ok(hone_prelude_make(s->arena, "cpu.inc", s->lanes, &prelude));
  for (int i = 0; i < count; i++) {
    hone_str_t text;
    hone_str_init(&text, hone_allocator_system());
    for (int k = i * PER_UNIT; k < (i + 1) * PER_UNIT && k < s->count; k++)
      put_case(&text, &s->cases[k], k);
    units[i] = (hone_unit_t){"cases", prelude, hone_arena_strdup(s->arena, hone_str_text(&text))};
    assert_non_null(units[i].text);
    hone_str_free(&text);
  }
  hone_cache_t* cache = NULL;
  const char* folder = getenv("HONE_BUILD_DIR");
  const char* path = folder ? hone_path_join(s->arena, folder, "test_kernels") : NULL;
  if (path) assert_ok(hone_cache_open(NULL, HONE_CACHE_KERNELS, path, 64 << 20, &cache));
  hone_build_options_t options = {
      .target = &s->target, .compiler = &s->compiler, .cache = cache, .time_limit_ms = 600000};
  assert_ok(hone_toolchain_build(hone_allocator_system(), &options, count, units, out_bytes,
                                 out_size, NULL));
  hone_cache_close(cache);
}

/* ---- numbers to run them on ---- */

static const double float_edges[] = {
    0.0,        -0.0,     1.0,       -1.0,     0.5,       -0.5,     1.5,   2.5,      -2.5,
    3.0,        0.1,      7.75,      -6.5,     100.3,     240.0,    448.0, 465.0,    57344.0,
    61441.0,    65504.0,  65520.0,   -70000.0, 127.5,     -128.6,   255.9, 256.0,    32768.0,
    0x1p31,     -0x1p31,  0x1p32,    0x1p63,   -0x1p63,   0x1p64,   1e30,  0x1p-126, 0x1p-127,
    0x1.8p-127, 0x1p-149, 0x1p-9,    0x1p-24,  0x1.8p-25, 0x1p-133, 3e38,  -3e38,    1e300,
    0x1p-1074,  INFINITY, -INFINITY, NAN};
static const int64_t integer_edges[] = {0,
                                        1,
                                        -1,
                                        2,
                                        -2,
                                        3,
                                        5,
                                        7,
                                        -8,
                                        8,
                                        15,
                                        16,
                                        31,
                                        32,
                                        63,
                                        64,
                                        100,
                                        127,
                                        -127,
                                        -128,
                                        128,
                                        200,
                                        255,
                                        32767,
                                        -32768,
                                        65535,
                                        8388609,
                                        16777217,
                                        -16777217,
                                        INT32_MAX,
                                        INT32_MIN,
                                        4294967295,
                                        (1ll << 53) + 1,
                                        (1ll << 60) + (1ll << 52) + 1,
                                        INT64_MAX,
                                        INT64_MIN};

static uint32_t next(uint64_t* at) { return hone_random_u32(7, (*at)++); }

/* Any element of the dtype, the odd ones included. */
static void put_random(hone_dtype_t dtype, uint64_t* at, char* element) {
  uint32_t word = next(at);
  int64_t bits = (int64_t)((uint64_t)next(at) << 32 | next(at));
  if (!hone_dtype_is_float(dtype)) {
    if (word % 2) bits = (int64_t)(word >> 8) % 80 - 8; /* among them amounts to shift by */
    if (dtype == HONE_BOOL) bits &= 1;
    hone_store_i64(dtype, &bits, 1, element);
  } else if (word % 2 && hone_dtype_bits(dtype) >= 8) {
    memcpy(element, &bits, hone_dtype_size(dtype));
  } else {
    double value = ((double)(uint32_t)bits / 4294967296.0 - 0.5) * ldexp(1, (int)(word >> 8) % 12);
    hone_from_double(dtype, value, true, element);
  }
}

static int put_edges(hone_dtype_t dtype, char* elements) {
  bool is_float = hone_dtype_is_float(dtype);
  int count = (int)(is_float ? TEST_COUNT(float_edges) : TEST_COUNT(integer_edges));
  for (int i = 0; i < count; i++) {
    char* element = elements + (size_t)i * hone_dtype_size(dtype);
    if (is_float)
      hone_from_double(dtype, float_edges[i], false, element);
    else
      hone_store_i64(dtype, &integer_edges[i], 1, element);
  }
  return count;
}

/* Rows a, b and c (conditions): all pairs of edges, then random ones; all
 * elements there are of types that have few. */
static long fill(hone_dtype_t dtype, char* a, char* b, char* c) {
  char edges[MOST_EDGES * 8];
  size_t size = hone_dtype_size(dtype);
  int count = put_edges(dtype, edges);
  uint64_t at = 0;
  long n = 0;
  for (int i = 0; i < count * count; i++, n++) {
    memcpy(a + (size_t)n * size, edges + (size_t)(i % count) * size, size);
    memcpy(b + (size_t)n * size, edges + (size_t)(i / count) * size, size);
  }
  for (int i = 0; i < RANDOM; i++, n++) {
    put_random(dtype, &at, a + (size_t)n * size);
    put_random(dtype, &at, b + (size_t)n * size);
  }
  for (int i = 0; size == 1 && dtype != HONE_BOOL && i < 256; i++, n++) {
    int64_t code = hone_dtype_is_float(dtype) ? i & ((1 << hone_dtype_bits(dtype)) - 1) : i;
    if (hone_dtype_is_float(dtype))
      a[n] = (char)code;
    else
      hone_store_i64(dtype, &code, 1, a + n);
    b[n] = a[0];
  }
  for (long i = 0; i < n; i++) c[i] = (char)(next(&at) & 1);
  return n;
}

/* ---- what they should give ---- */

static void expect(const prelude_case_t* c, long n, const char* a, const char* b,
                   const char* conditions, char* out) {
  hone_scalar_class_t class = hone_scalar_class(c->from);
  size_t size = hone_dtype_size(c->from), out_size = hone_dtype_size(c->to);
  hone_scalar_cast_t cast = hone_scalar_cast_of(c->from, c->to, c->flags);
  hone_scalar_binary_fn binary = hone_scalar_binary(c->prim, class);
  hone_scalar_unary_fn unary = hone_scalar_unary(c->prim, class);
  for (long i = 0; i < n; i++) {
    char* to = out + (size_t)i * out_size;
    hone_scalar_t x, y, r;
    hone_scalar_load(c->from, a + (size_t)i * size, 0, 1, &x);
    hone_scalar_load(c->from, b + (size_t)i * size, 0, 1, &y);
    if (c->prim == HONE_PRIM_SELECT) {
      memcpy(to, (conditions[i] ? a : b) + (size_t)i * size, size);
      continue;
    }
    if (c->prim == HONE_PRIM_CAST) {
      hone_scalar_cast(&cast, &x, 1, to);
      continue;
    }
    int bits = hone_dtype_bits(c->from);
    if (c->prim == HONE_PRIM_MIN || c->prim == HONE_PRIM_MAX) bits = (int)class;
    r = binary ? binary(x, y, bits) : unary(x);
    hone_scalar_store(c->to, &r, 1, to);
  }
}

/* The place of a float among all floats of its type, by its bits. */
static int64_t ordinal(hone_dtype_t dtype, const char* element) {
  int64_t bits = 0, sign = (int64_t)(1ull << (hone_dtype_bits(dtype) - 1));
  memcpy(&bits, element, hone_dtype_size(dtype));
  if (dtype == HONE_F8E8M0) return bits; /* has no sign */
  return bits & sign ? -(bits ^ sign) : bits;
}

static bool is_same(const prelude_case_t* c, const char* got, const char* want) {
  size_t size = hone_dtype_size(c->to);
  if (memcmp(got, want, size) == 0) return true;
  if (!hone_dtype_is_float(c->to)) return false;
  double x = hone_to_double(c->to, got), y = hone_to_double(c->to, want);
  if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
  /* Where there is no NaN, it becomes a zero whose sign no NaN promises. */
  if (hone_dtype_bits(c->to) < 8 && x == 0 && y == 0) return true;
  bool flushes = c->flags & HONE_FLAG_FLUSHES || c->prim == HONE_PRIM_EXP;
  if (flushes && x == 0 && fabs(y) < 0x1p-126) return true;
  int64_t apart = llabs(ordinal(c->to, got) - ordinal(c->to, want));
  /* Rounded to f32 first; rounding up then may miss what was cut off. */
  if (c->to == HONE_F8E8M0 && c->prim != HONE_PRIM_CAST) return apart <= 1;
  if (c->prim == HONE_PRIM_ERF && c->to == HONE_F32) return apart <= TOLERANCE_OF_ERF;
  return hone_prim_is_transcendental(c->prim) && apart <= TOLERANCE;
}

static int check(const prelude_case_t* c, const char* form, long n, const char* a, const char* b,
                 const char* got, const char* want) {
  size_t size = hone_dtype_size(c->from), out_size = hone_dtype_size(c->to);
  for (long i = 0; i < n; i++) {
    const char *x = got + (size_t)i * out_size, *y = want + (size_t)i * out_size;
    if (is_same(c, x, y)) continue;
    int64_t ia, ib, ix, iy;
    hone_load_i64(c->from, a + (size_t)i * size, 0, 1, &ia);
    hone_load_i64(c->from, b + (size_t)i * size, 0, 1, &ib);
    hone_load_i64(c->to, x, 0, 1, &ix);
    hone_load_i64(c->to, y, 0, 1, &iy);
    print_error(
        "%s of %s to %s, flags %d, %s: of %a (%lld) and %a (%lld) got %a (%lld), not "
        "%a (%lld)\n",
        hone_prim_info(c->prim)->name, hone_dtype_name(c->from), hone_dtype_name(c->to),
        (int)c->flags, form, hone_to_double(c->from, a + (size_t)i * size), (long long)ia,
        hone_to_double(c->from, b + (size_t)i * size), (long long)ib, hone_to_double(c->to, x),
        (long long)ix, hone_to_double(c->to, y), (long long)iy);
    return 1;
  }
  return 0;
}

/* ---- running ---- */

/* Rows of one case; `out` has its results, one element and vectors after each other. */
typedef struct rows {
  long n;
  char *a, *b, *c, *want, *out[2];
} rows_t;

enum { MOST_ELEMENTS = MOST_EDGES * MOST_EDGES + RANDOM + 256, ROW_BYTES = MOST_ELEMENTS * 8 };

static rows_t make_rows(suite_t* s) {
  rows_t r = {0};
  char** all[] = {&r.a, &r.b, &r.c, &r.want, &r.out[0], &r.out[1]};
  for (size_t i = 0; i < TEST_COUNT(all); i++)
    assert_non_null(*all[i] = hone_arena_alloc(s->arena, ROW_BYTES));
  return r;
}

static int run_here(suite_t* s, const char* bytes, size_t size) {
  hone_library_t* library;
  int wrong = 0;
  rows_t r = make_rows(s);
  assert_ok(hone_library_open(NULL, bytes, size, &library));
  for (int i = 0; i < s->count; i++) {
    const prelude_case_t* c = &s->cases[i];
    r.n = fill(c->from, r.a, r.b, r.c);
    expect(c, r.n, r.a, r.b, r.c, r.want);
    for (int form = 0; form < 2; form++) {
      char name[32];
      void* symbol;
      kernel_fn kernel;
      snprintf(name, sizeof name, "%c%d", "sv"[form], i);
      assert_ok(hone_library_symbol(library, name, &symbol));
      memcpy(&kernel, &symbol, sizeof kernel);
      memset(r.out[form], 0x55, ROW_BYTES);
      kernel(r.a, r.b, r.c, r.out[form], r.n);
      wrong += check(c, form ? "vectors" : "one element", r.n, r.a, r.b, r.out[form], r.want);
    }
  }
  hone_library_close(library);
  return wrong;
}

/* A program for another machine that does what run_here does: reads
 * inputs, runs all kernels, writes what they give. */
static const char runner_text[] =
    "#include <dlfcn.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
    "int main(int argc, char** argv) {\n"
    "  void* library = dlopen(argv[1], RTLD_NOW);\n"
    "  FILE *in = fopen(argv[2], \"r\"), *out = fopen(argv[3], \"w\");\n"
    "  long head[3];\n"
    "  if (!library || !in || !out) { puts(library ? \"files\" : dlerror()); return 1; }\n"
    "  while (fread(head, sizeof head, 1, in) == 1) {\n"
    "    long bytes = head[1]; char name[32], *row[4];\n"
    "    for (int i = 0; i < 4; i++) row[i] = malloc(bytes);\n"
    "    for (int i = 0; i < 3; i++) if (fread(row[i], bytes, 1, in) != 1) return 2;\n"
    "    for (int form = 0; form < 2; form++) {\n"
    "      sprintf(name, \"%c%ld\", \"sv\"[form], head[0]);\n"
    "      void (*kernel)(void*, void*, void*, void*, long) = dlsym(library, name);\n"
    "      if (!kernel) { puts(name); return 3; }\n"
    "      kernel(row[0], row[1], row[2], row[3], head[2]);\n"
    "      fwrite(row[3], bytes, 1, out);\n"
    "    }\n"
    "    for (int i = 0; i < 4; i++) free(row[i]);\n"
    "  }\n"
    "  return fclose(out) != 0;\n"
    "}\n";

static void run_program(const char* const* argv) {
  hone_process_t process = {.argv = argv};
  assert_ok(hone_process_run(hone_allocator_system(), 1, &process, 1, 200000));
  if (!hone_process_ok(&process)) fail_msg("%s: %s", argv[0], process.output);
}

static void write_inputs(suite_t* s, const char* path, rows_t* r) {
  FILE* file = fopen(path, "w");
  assert_non_null(file);
  for (int i = 0; i < s->count; i++) {
    r->n = fill(s->cases[i].from, r->a, r->b, r->c);
    long head[3] = {i, r->n * 8, r->n};
    char* rows[] = {r->a, r->b, r->c};
    assert_int_equal(fwrite(head, sizeof head, 1, file), 1);
    for (int k = 0; k < 3; k++) assert_int_equal(fwrite(rows[k], (size_t)head[1], 1, file), 1);
  }
  assert_int_equal(fclose(file), 0);
}

static int check_outputs(suite_t* s, const char* path, rows_t* r) {
  FILE* file = fopen(path, "r");
  int wrong = 0;
  assert_non_null(file);
  for (int i = 0; i < s->count; i++) {
    const prelude_case_t* c = &s->cases[i];
    r->n = fill(c->from, r->a, r->b, r->c);
    expect(c, r->n, r->a, r->b, r->c, r->want);
    for (int form = 0; form < 2; form++) {
      assert_int_equal(fread(r->out[form], (size_t)r->n * 8, 1, file), 1);
      wrong += check(c, form ? "vectors" : "one element", r->n, r->a, r->b, r->out[form], r->want);
    }
  }
  fclose(file);
  return wrong;
}

static int run_by_qemu(suite_t* s, const char* qemu, const char* bytes, size_t size) {
  test_folder_t folder;
  rows_t r = make_rows(s);
  test_folder_make(&folder);
  test_folder_write(&folder, "runner.c", runner_text);
  char library[PATH_MAX], source[PATH_MAX], program[PATH_MAX], in[PATH_MAX], out[PATH_MAX];
  snprintf(library, sizeof library, "%s", test_folder_file(&folder, "kernels.so"));
  snprintf(source, sizeof source, "%s", test_folder_file(&folder, "runner.c"));
  snprintf(program, sizeof program, "%s", test_folder_file(&folder, "runner"));
  snprintf(in, sizeof in, "%s", test_folder_file(&folder, "in"));
  snprintf(out, sizeof out, "%s", test_folder_file(&folder, "out"));
  assert_ok(hone_file_write(library, bytes, size));
  run_program(
      (const char* const[]){s->compiler.words[0], "-O1", "-o", program, source, "-ldl", NULL});
  write_inputs(s, in, &r);
  run_program(
      (const char* const[]){qemu, "-L", "/usr/aarch64-linux-gnu", program, library, in, out, NULL});
  int wrong = check_outputs(s, out, &r);
  test_folder_remove(&folder);
  return wrong;
}

/* ---- all of it ---- */

/* NULL: there is none. */
static const char* find_qemu(suite_t* s) {
  if (s->target.arch != HONE_ARCH_AARCH64) return NULL;
  const char* qemu;
  assert_ok(hone_program_find(s->arena, "qemu-aarch64", &qemu));
  if (!qemu) assert_ok(hone_program_find(s->arena, "qemu-aarch64-static", &qemu));
  return qemu;
}

static bool has_compiler(suite_t* s) {
  hone_status_t status = hone_compiler_find(s->arena, &s->target, &s->compiler);
  if (status) print_message("skipped: %s\n", hone_status_message(status));
  bool found = status == NULL;
  hone_status_free(status);
  return found;
}

static int run_suite(suite_t* s) {
  const char* qemu = s->target.runs_here ? NULL : find_qemu(s);
  if (!s->target.runs_here && !qemu) {
    print_message("skipped: nothing here runs code for %s\n", s->target.name);
    return 0;
  }
  if (!has_compiler(s)) return 0;
  add_all(s);
  char* bytes;
  size_t size;
  build(s, &bytes, &size);
  int wrong = qemu ? run_by_qemu(s, qemu, bytes, size) : run_here(s, bytes, size);
  hone_free(hone_allocator_system(), bytes, size);
  print_message("%s: %d cases, %d lanes, %d wrong\n", s->target.name, s->count, s->lanes, wrong);
  return wrong;
}

void test_prelude_cases(const char* target, int lanes, int count, const hone_dtype_t* dtypes) {
  suite_t* s = calloc(1, sizeof *s);
  assert_non_null(s);
  s->n_dtypes = count;
  s->dtypes = dtypes;
  assert_ok(hone_arena_create(NULL, &s->arena));
  assert_ok(hone_target_parse(target, &s->target));
  s->lanes = lanes ? lanes : s->target.vector_bytes / 4;
  int wrong = run_suite(s);
  hone_arena_destroy(s->arena);
  free(s);
  assert_int_equal(wrong, 0);
}
