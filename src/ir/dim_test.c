/* Dimension expressions: random ones, built beside a plain reckoning of the
 * same formula, must have its value, keep it within their range, and read back
 * from their text as themselves; and the identities that shapes rely on. */
#include "ir/dim.h"

#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "base/testing/test.h"

enum {
  N_SYMBOLS = 5,
  N_POOL = 40,   /* expressions that are made from each other */
  N_VALUES = 16, /* assignments of the symbols */
  N_CASES = 2500,
  LIMIT = 1 << 20, /* larger values leave the pool, so that nothing overflows */
};

typedef struct range {
  int64_t min, max;
} range_t;

static const range_t ranges[N_SYMBOLS] = {{0, 9}, {1, 64}, {-7, 7}, {0, INT32_MAX}, {4, 4}};

/* Expressions with their values under each assignment. */
typedef struct pool {
  hone_arena_t* arena;
  hone_dims_t* dims;
  uint64_t seed, drawn; /* which random numbers, and how many so far */
  int n;
  hone_dim_t items[N_POOL];
  int64_t values[N_POOL][N_VALUES];
  int64_t symbols[N_VALUES][N_SYMBOLS];
} pool_t;

/* At least `low`, at most `high`. */
static int64_t number(pool_t* pool, int64_t low, int64_t high) {
  uint64_t choices = (uint64_t)(high - low) + 1;
  return low + (int64_t)(hone_random_u32(pool->seed, pool->drawn++) % choices);
}

/* ---- what expressions mean ---- */

static int64_t plain_floordiv(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

typedef enum kind { ADD, SUB, MUL, FLOORDIV, CEILDIV, MOD, MIN, MAX, LT, EQ, KINDS } kind_t;

static int64_t plain_value(kind_t kind, int64_t a, int64_t b, int64_t x, int64_t y) {
  switch (kind) {
    case ADD:
      return a + b;
    case SUB:
      return a - b;
    case MUL:
      return a * b;
    case FLOORDIV:
      return plain_floordiv(a, b);
    case CEILDIV:
      return -plain_floordiv(-a, b);
    case MOD:
      return a - plain_floordiv(a, b) * b;
    case MIN:
      return a < b ? a : b;
    case MAX:
      return a > b ? a : b;
    case LT:
      return a < b ? x : y;
    default:
      return a == b ? x : y;
  }
}

static hone_dim_t make(hone_dims_t* dims, kind_t kind, hone_dim_t a, hone_dim_t b, hone_dim_t x,
                       hone_dim_t y) {
  static hone_dim_t (*const two[])(hone_dims_t*, hone_dim_t, hone_dim_t) = {
      [ADD] = hone_dim_add,           [SUB] = hone_dim_sub,         [MUL] = hone_dim_mul,
      [FLOORDIV] = hone_dim_floordiv, [CEILDIV] = hone_dim_ceildiv, [MOD] = hone_dim_mod,
      [MIN] = hone_dim_min,           [MAX] = hone_dim_max};
  if (kind == LT) return hone_dim_select_lt(dims, a, b, x, y);
  return kind == EQ ? hone_dim_select_eq(dims, a, b, x, y) : two[kind](dims, a, b);
}

/* ---- a pool of expressions ---- */

static void draw_symbols(pool_t* pool) {
  for (int v = 0; v < N_VALUES; v++)
    for (int s = 0; s < N_SYMBOLS; s++) {
      int64_t most = ranges[s].max < 1000 ? ranges[s].max : 1000;
      pool->symbols[v][s] = v == 0   ? ranges[s].min
                            : v == 1 ? most
                                     : number(pool, ranges[s].min, most);
    }
}

static void add_symbols(pool_t* pool) {
  for (int s = 0; s < N_SYMBOLS; s++) {
    char name[] = {(char)('a' + s), 0};
    pool->items[pool->n] =
        hone_dim_symbol(pool->dims, name, HONE_SYMBOL_INPUT, ranges[s].min, ranges[s].max);
    for (int v = 0; v < N_VALUES; v++) pool->values[pool->n][v] = pool->symbols[v][s];
    pool->n++;
  }
}

static void open_pool(pool_t* pool, uint64_t seed) {
  memset(pool, 0, sizeof *pool);
  pool->seed = seed;
  assert_ok(hone_arena_create(NULL, &pool->arena));
  assert_ok(hone_dims_create(pool->arena, &pool->dims));
  draw_symbols(pool);
  add_symbols(pool);
}

static bool any_zero(const int64_t* values) {
  for (int v = 0; v < N_VALUES; v++)
    if (values[v] == 0) return true;
  return false;
}

static bool all_small(const int64_t* values) {
  for (int v = 0; v < N_VALUES; v++)
    if (values[v] > LIMIT || values[v] < -LIMIT) return false;
  return true;
}

/* An operand: an item or a number, with its values. */
static hone_dim_t operand(pool_t* pool, int64_t* values) {
  bool is_int = number(pool, 0, 3) == 0;
  int64_t k = number(pool, -3, 12);
  int item = (int)number(pool, 0, pool->n - 1);
  for (int v = 0; v < N_VALUES; v++) values[v] = is_int ? k : pool->values[item][v];
  return is_int ? hone_dim_int(k) : pool->items[item];
}

/* Adds an expression of what is there; leaves out divisions by zero. */
static void grow(pool_t* pool) {
  int64_t in[4][N_VALUES];
  hone_dim_t args[4];
  kind_t kind = (kind_t)number(pool, 0, KINDS - 1);
  for (int i = 0; i < 4; i++) args[i] = operand(pool, in[i]);
  if (kind >= FLOORDIV && kind <= MOD && any_zero(in[1])) return;
  int64_t* out = pool->values[pool->n];
  for (int v = 0; v < N_VALUES; v++)
    out[v] = plain_value(kind, in[0][v], in[1][v], in[2][v], in[3][v]);
  if (!all_small(out)) return;
  hone_dim_t made = make(pool->dims, kind, args[0], args[1], args[2], args[3]);
  if (hone_dim_is_bad(made)) return; /* more terms than a sum keeps */
  pool->items[pool->n++] = made;
}

/* ---- properties ---- */

static void print_item(const pool_t* pool, int item) {
  char text[1024];
  hone_dim_print(pool->items[item], text, sizeof text);
  print_error("expression: %s, range %lld to %lld\n", text,
              (long long)hone_dim_min_value(pool->items[item]),
              (long long)hone_dim_max_value(pool->items[item]));
}

static void check_values(const pool_t* pool, int item) {
  for (int v = 0; v < N_VALUES; v++) {
    int64_t want = pool->values[item][v];
    int64_t got = hone_dim_eval(pool->items[item], pool->symbols[v]);
    bool inside = want >= hone_dim_min_value(pool->items[item]) &&
                  want <= hone_dim_max_value(pool->items[item]);
    if (got == want && inside) continue;
    print_item(pool, item);
    for (int s = 0; s < N_SYMBOLS; s++)
      print_error("%c = %lld\n", 'a' + s, (long long)pool->symbols[v][s]);
    fail_msg("is %lld, must be %lld", (long long)got, (long long)want);
  }
}

static void check_text(const pool_t* pool, int item) {
  char text[8192];
  const char* at = text;
  if (hone_dim_print(pool->items[item], text, sizeof text) >= sizeof text) return;
  hone_dim_t again = hone_dim_parse(pool->dims, &at);
  if (*at || !hone_dim_same(again, pool->items[item])) {
    print_item(pool, item);
    fail_msg("reads back as another expression");
  }
}

/* Bounds hold, overflow aside: then they are bad, or as wide as can be. */
static void check_bounds(const pool_t* pool, int item) {
  hone_dim_t d = pool->items[item];
  hone_dim_t least = hone_dim_bound(pool->dims, d, false);
  hone_dim_t most = hone_dim_bound(pool->dims, d, true);
  for (int v = 0; v < N_VALUES; v++) {
    int64_t want = pool->values[item][v];
    bool inside = (hone_dim_is_bad(least) || hone_dim_eval(least, pool->symbols[v]) <= want) &&
                  (hone_dim_is_bad(most) || hone_dim_eval(most, pool->symbols[v]) >= want);
    if (inside) continue;
    print_item(pool, item);
    fail_msg("%lld is not within its bounds", (long long)want);
  }
}

/* A symbol may as well be the number that it stands for. */
static void check_replaced(const pool_t* pool, int item) {
  enum { STRIDE = 5 };
  hone_dim_t d = pool->items[item];
  for (int v = 0; v < N_VALUES; v += STRIDE)
    for (int s = 0; s < N_SYMBOLS; s++) {
      hone_dim_t number = hone_dim_int(pool->symbols[v][s]);
      hone_dim_t now = hone_dim_replace_symbol(pool->dims, d, pool->items[s], number);
      if (hone_dim_is_bad(now)) continue; /* more terms than a sum keeps */
      if (!hone_dim_uses(now, pool->items[s]) &&
          hone_dim_eval(now, pool->symbols[v]) == pool->values[item][v])
        continue;
      print_item(pool, item);
      fail_msg("%c = %lld makes another value of it", 'a' + s, (long long)pool->symbols[v][s]);
    }
}

static void for_random_pools(void (*check)(const pool_t*, int)) {
  static pool_t pool;
  for (uint64_t seed = 0; seed < N_CASES; seed++) {
    open_pool(&pool, seed);
    for (int tries = 0; pool.n < N_POOL && tries < 10 * N_POOL; tries++) grow(&pool);
    assert_true(pool.n > N_SYMBOLS + 4);
    for (int item = 0; item < pool.n; item++) check(&pool, item);
    hone_arena_destroy(pool.arena);
  }
}

static void expressions_have_the_values_of_their_formulas(void** state) {
  for_random_pools(check_values);
}

static void symbols_can_be_replaced(void** state) { for_random_pools(check_replaced); }

/* More symbols than what an expression keeps of them can tell apart. */
static void others_of_many_symbols_stay(void** state) {
  enum { MANY = 130, ONE = 3, FAR = 64 };
  hone_arena_t* arena;
  hone_dims_t* dims;
  hone_dim_t symbols[MANY];
  assert_ok(hone_arena_create(NULL, &arena));
  assert_ok(hone_dims_create(arena, &dims));
  for (int i = 0; i < MANY; i++) symbols[i] = hone_dim_symbol(dims, NULL, HONE_SYMBOL_INPUT, 0, 9);
  hone_dim_t sum = hone_dim_add(dims, symbols[ONE], symbols[ONE + FAR]);
  hone_dim_t number = hone_dim_int(5);
  assert_true(hone_dim_uses(sum, symbols[ONE + FAR]));
  assert_false(hone_dim_uses(sum, symbols[ONE + 2 * FAR - 2]));
  assert_false(hone_dim_uses(symbols[ONE], symbols[ONE + FAR]));
  assert_true(hone_dim_same(hone_dim_replace_symbol(dims, sum, symbols[ONE], number),
                            hone_dim_add(dims, number, symbols[ONE + FAR])));
  assert_true(hone_dim_same(hone_dim_replace_symbol(dims, symbols[ONE], symbols[ONE + FAR], number),
                            symbols[ONE]));
  hone_arena_destroy(arena);
}

static void names_lead_to_symbols(void** state) {
  hone_arena_t* arena;
  hone_dims_t* dims;
  assert_ok(hone_arena_create(NULL, &arena));
  assert_ok(hone_dims_create(arena, &dims));
  hone_dim_t named = hone_dim_symbol(dims, "_2", HONE_SYMBOL_INPUT, 0, 9), without[3];
  for (int i = 0; i < 3; i++) without[i] = hone_dim_symbol(dims, NULL, HONE_SYMBOL_INPUT, 0, 9);
  assert_string_equal(hone_dim_as_symbol(without[2])->name, "_3");
  assert_true(hone_dim_same(hone_dim_symbol(dims, "_2", HONE_SYMBOL_INPUT, 0, 9), named));
  assert_true(hone_dim_same(hone_dim_symbol(dims, "_3", HONE_SYMBOL_INPUT, 0, 9), without[2]));
  assert_true(hone_dims_has_name(dims, "_1"));
  const char* const none[] = {"_", "_4", "_03", "_3x", "3", ""};
  for (size_t i = 0; i < TEST_COUNT(none); i++) assert_false(hone_dims_has_name(dims, none[i]));
  hone_arena_destroy(arena);
}

static void bounds_hold(void** state) {
  (void)state;
  for_random_pools(check_bounds);
}

static void expect_range(hone_dims_t* dims, const char* text, int64_t min, int64_t max) {
  hone_dim_t d = hone_dim_parse(dims, &text);
  assert_int_equal(hone_dim_min_value(hone_dim_bound(dims, d, false)), min);
  assert_int_equal(hone_dim_max_value(hone_dim_bound(dims, d, true)), max);
}

/* What a loop that was cut reaches is known against the extent of the whole. */
static void bounds_tell_parts_from_wholes(void** state) {
  hone_arena_t* arena;
  hone_dims_t* dims;
  (void)state;
  assert_ok(hone_arena_create(hone_allocator_system(), &arena));
  assert_ok(hone_dims_create(arena, &dims));
  expect_range(dims, "16*(n/16) - n", -15, 0);
  expect_range(dims, "16*(n/32) - n/2", -15, 0);
  expect_range(dims, "16*(n/16) + n%16 - n", 0, 0);
  expect_range(dims, "6*(n/6) + 4*((n%6)/4) + (n%6)%4 - n", 0, 0);
  expect_range(dims, "6*(n/6) + 4*((n%6)/4) - n", -3, 0);
  /* Of the second quotient's number no other term is made. */
  expect_range(dims, "2*(n/2) + 2*((0 - 1 - v%160)/16) - n", -21, -2);
  hone_arena_destroy(arena);
}

static void expressions_read_back_from_their_text(void** state) { for_random_pools(check_text); }

/* ---- identities ---- */

static void assert_parses_to(hone_dims_t* dims, const char* formula, const char* want) {
  char text[256];
  const char *at = formula, *want_at = want;
  hone_dim_t d = hone_dim_parse(dims, &at);
  hone_dim_t other = hone_dim_parse(dims, &want_at);
  hone_dim_print(d, text, sizeof text);
  assert_true(*at == 0 && *want_at == 0);
  if (!hone_dim_same(d, other)) fail_msg("%s is %s, not %s", formula, text, want);
}

static void equal_expressions_are_the_same(void** state) {
  static const char* const pairs[][2] = {
      {"h + 2 - 2", "h"},
      {"2*h + w - h", "w + h"},
      {"h*w", "w*h"},
      {"(h*w)*c", "h*(c*w)"},
      {"(h + 1)*(w + 1)", "h*w + h + w + 1"},
      {"(4*h + 8)/4", "h + 2"},
      {"(4*h + 3)/4", "h"},
      {"h/2/3", "h/6"},
      {"(h/2 + 1)/3", "(h + 2)/6"},
      {"-((-h)/2)", "(h + 1)/2"},
      {"-((-h - w)/4)", "(h + w + 3)/4"},
      {"(h - 5*w)/3 + (5*w - h + 2)/3", "0"},
      {"max(2*((h + 1)/2) - h, 0)", "2*((h + 1)/2) - h"},
      {"min(h, 2*((h + 1)/2))", "h"},
      {"lt(2*((h + 1)/2) - 2, h, c, w)", "c"},
      {"lt(h, 4*(h/4), c, w)", "w"},
      {"(16*h + 128*w + 15)/64", "h/4 + 2*w"},
      {"(16*h + 3) % 64", "16*(h % 4) + 3"},
      {"((16*h + 5)/64)*64 + (16*h + 5) % 64", "16*h + 5"},
      {"(24*h + 4*w + 3)/36", "(6*h + w)/9"},
      {"(h*w)/w", "h"},
      {"(6*h*w)/(2*h)", "3*w"},
      {"max(h, 0)", "h"},
      {"min(h, -1)", "-1"},
      {"max(h, h + 1)", "h + 1"},
      {"max(h, w)", "max(w, h)"},
      {"(3*h) % 3", "0"},
      {"lt(h, 0, 5, w)", "w"},
      {"eq(h, -1, 5, w)", "w"},
      {"eq(h, h, 5, w)", "5"},
      {"eq(h, w, c, c)", "c"},
      {"-(h - w)", "w - h"},
      {"7 / 2 + -7 / 2", "-1"},
      {"-7 % 3", "2"},
  };
  hone_arena_t* arena;
  hone_dims_t* dims;
  assert_ok(hone_arena_create(NULL, &arena));
  assert_ok(hone_dims_create(arena, &dims));
  for (size_t i = 0; i < TEST_COUNT(pairs); i++) assert_parses_to(dims, pairs[i][0], pairs[i][1]);
  hone_arena_destroy(arena);
}

static void what_does_not_fit_is_bad(void** state) {
  static const char* const texts[] = {"9223372036854775807 + 1",
                                      "h * 9223372036854775807 * 2",
                                      "h / 0",
                                      "h % 0",
                                      "5 / 0",
                                      "9223372036854775808",
                                      "(h",
                                      "min(h)",
                                      "+",
                                      "",
                                      "h +",
                                      "3h",
                                      "\"h",
                                      "-9223372036854775807 - 2"};
  hone_arena_t* arena;
  hone_dims_t* dims;
  assert_ok(hone_arena_create(NULL, &arena));
  assert_ok(hone_dims_create(arena, &dims));
  for (size_t i = 0; i < TEST_COUNT(texts); i++) {
    const char* at = texts[i];
    if (!hone_dim_is_bad(hone_dim_parse(dims, &at))) fail_msg("'%s' is taken", texts[i]);
  }
  assert_true(hone_dim_is_bad(hone_dim_add(dims, hone_dim_bad(), hone_dim_int(1))));
  assert_true(hone_dim_is_bad(hone_dim_max(dims, hone_dim_int(1), hone_dim_bad())));
  assert_false(hone_dims_out_of_memory(dims));
  hone_arena_destroy(arena);
}

static void the_largest_numbers_read_back(void** state) {
  hone_arena_t* arena;
  hone_dims_t* dims;
  assert_ok(hone_arena_create(NULL, &arena));
  assert_ok(hone_dims_create(arena, &dims));
  hone_dim_t h = hone_dim_symbol(dims, "h", HONE_SYMBOL_INPUT, 0, 9);
  hone_dim_t w = hone_dim_symbol(dims, "w", HONE_SYMBOL_INPUT, 0, 9);
  for (int i = 0; i < 6; i++) {
    char text[256];
    const char* at = text;
    hone_dim_t large = hone_dim_int(i % 2 ? INT64_MAX : INT64_MIN);
    hone_dim_t d = i < 2 ? hone_dim_add(dims, h, large) : hone_dim_mul(dims, i < 4 ? h : w, large);
    if (i > 3) d = hone_dim_add(dims, h, d);
    hone_dim_print(d, text, sizeof text);
    assert_false(hone_dim_is_bad(d));
    if (!hone_dim_same(hone_dim_parse(dims, &at), d)) fail_msg("%s reads back differently", text);
  }
  hone_arena_destroy(arena);
}

static void names_that_are_no_words_are_quoted(void** state) {
  hone_arena_t* arena;
  hone_dims_t* dims;
  char text[64];
  const char* at = text;
  assert_ok(hone_arena_create(NULL, &arena));
  assert_ok(hone_dims_create(arena, &dims));
  hone_dim_t odd = hone_dim_symbol(dims, "a \"b\\ 1", HONE_SYMBOL_INPUT, 0, 9);
  assert_int_equal(hone_dim_print(odd, text, sizeof text), strlen("\"a \\\"b\\\\ 1\""));
  assert_string_equal(text, "\"a \\\"b\\\\ 1\"");
  assert_true(hone_dim_same(hone_dim_parse(dims, &at), odd));
  assert_int_equal(hone_dim_print(odd, text, 3), strlen("\"a \\\"b\\\\ 1\""));
  assert_string_equal(text, "\"a");
  hone_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(expressions_have_the_values_of_their_formulas),
      cmocka_unit_test(bounds_hold),
      cmocka_unit_test(symbols_can_be_replaced),
      cmocka_unit_test(names_lead_to_symbols),
      cmocka_unit_test(others_of_many_symbols_stay),
      cmocka_unit_test(bounds_tell_parts_from_wholes),
      cmocka_unit_test(expressions_read_back_from_their_text),
      cmocka_unit_test(equal_expressions_are_the_same),
      cmocka_unit_test(what_does_not_fit_is_bad),
      cmocka_unit_test(the_largest_numbers_read_back),
      cmocka_unit_test(names_that_are_no_words_are_quoted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
