/* Walks that leave early store what the interpreter of kernels does, whichever steps stand still,
 * go round or never end; what only looks like a walk has no exits. */
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/render.h"
#include "base/memory.h"
#include "base/random.h"
#include "codegen/testing/test_library.h"
#include "codegen/toolchain.h"
#include "loop/interpret.h"
#include "loop/text.h"

enum { PLACES = 200, MOST_ROUNDS = 5, LANES = 8, TABLES = 40 };

typedef void (*kernel_fn)(void* const* buffers, const long* sizes, long begin, long end);

/* What is done in the last step, or to what it leads to. */
typedef enum ending {
  AS_BEFORE,
  OTHER_TABLE,
  READS_START,
  STORES_START,
  STORES_THERE,
  ADDS,
  ENDING_COUNT
} ending_t;

typedef struct shape {
  int steps, rounds, lets; /* lets in a step: 1 or 2 */
  ending_t ending;
  bool has_exits;
} shape_t;

static const shape_t shapes[] = {
    {8, 1, 1, AS_BEFORE, true},      {9, 3, 1, AS_BEFORE, true},
    {7, 3, 1, AS_BEFORE, false},     {24, 5, 2, AS_BEFORE, true},
    {11, 4, 2, AS_BEFORE, true},     {6, 2, 2, AS_BEFORE, false},
    {12, 3, 1, OTHER_TABLE, false},  {12, 3, 2, OTHER_TABLE, false},
    {12, 3, 1, READS_START, false},  {12, 3, 2, STORES_START, false},
    {12, 3, 1, STORES_THERE, false}, {12, 3, 2, ADDS, false},
};
enum { SHAPES = TEST_COUNT(shapes) };

/* To place number `to`, from the one before. */
static void put_step(hone_str_t* out, const shape_t* s, int to) {
  bool is_last = to == s->steps;
  const char* table = is_last && s->ending == OTHER_TABLE ? "other" : "next";
  if (s->lets == 2)
    hone_str_appendf(out, "    let a%d in 0..%d = cast.i64(turn[x%d])\n", to, PLACES - 1, to - 1);
  hone_str_appendf(out, "    let x%d in 0..%d = cast.i64(%s[", to, PLACES - 1, table);
  if (s->lets == 2)
    hone_str_appendf(out, "a%d])\n", to);
  else if (is_last && s->ending == READS_START)
    hone_str_appendf(out, "max(x%d, x0)])\n", to - 1);
  else
    hone_str_appendf(out, "x%d])\n", to - 1);
}

static hone_kernel_t* make_kernel(int number) {
  const shape_t* s = &shapes[number];
  hone_str_t text;
  hone_kernel_t* kernel;
  hone_str_init(&text, NULL);
  hone_str_appendf(&text, "kernel walk%d {\n  input at: i32[%d] = 0\n", number, s->rounds);
  hone_str_appendf(&text, "  input next: i32[%d] = 1\n  input turn: i32[%d] = 2\n", PLACES, PLACES);
  hone_str_appendf(&text, "  input other: i32[%d] = 3\n  output out: i32[%d, %d] = 0\n", PLACES,
                   s->rounds, PLACES);
  hone_str_appendf(&text, "  for r in %d unroll {\n    let x0 in 0..%d = cast.i64(at[r])\n",
                   s->rounds, PLACES - 1);
  for (int i = 1; i <= s->steps; i++) put_step(&text, s, i);
  hone_str_appendf(&text, "    out[r, %s%d] %s other[x%d]\n  }\n}\n",
                   s->ending == STORES_THERE ? "x" : "", s->ending == STORES_THERE ? s->steps : 3,
                   s->ending == ADDS ? "+=" : "=", s->ending == STORES_START ? 1 : s->steps);
  hone_status_t status =
      hone_kernel_parse(NULL, hone_str_text(&text), strlen(hone_str_text(&text)), &kernel);
  if (status) fail_msg("%s\n%s", hone_status_message(status), hone_str_text(&text));
  hone_str_free(&text);
  return kernel;
}

/* Numbers below n, one after the other. */
static int32_t draw(uint64_t* index, int n) {
  enum { SEED = 7 };
  return (int32_t)(hone_random_u32(SEED, (*index)++) % (uint32_t)n);
}

/* Ways of all lengths: a place leads to one in front of it, or nowhere; in some tables to any. */
static void fill(uint64_t* index, int number, int32_t* next, int32_t* turn, int32_t* other,
                 int32_t* at) {
  int reach = 1 + number * 3;
  for (int i = 0; i < PLACES; i++) {
    int back = draw(index, reach);
    next[i] = number % 4 == 3 ? draw(index, PLACES) : (i > back ? i - back : i % 7 ? i - 1 : i);
    turn[i] = number % 3 ? i : (i ^ 1);
    other[i] = draw(index, PLACES);
  }
  for (int r = 0; r < MOST_ROUNDS; r++) at[r] = draw(index, PLACES);
}

static void check(hone_kernel_t* kernel, const hone_library_t* library) {
  static int32_t next[PLACES], turn[PLACES], other[PLACES], at[MOST_ROUNDS],
      got[MOST_ROUNDS * PLACES], want[MOST_ROUNDS * PLACES];
  uint64_t index = 0;
  void* symbol;
  kernel_fn call;
  assert_ok(hone_library_symbol(library, kernel->name, &symbol));
  memcpy(&call, &symbol, sizeof call);
  for (int number = 0; number < TABLES; number++) {
    fill(&index, number, next, turn, other, at);
    memset(got, 0x55, sizeof got);
    memset(want, 0x55, sizeof want);
    call((void*[]){at, next, turn, other, got}, NULL, 0, 1);
    assert_ok(hone_kernel_interpret(kernel, NULL, (void*[]){at, next, turn, other, want}));
    if (memcmp(got, want, sizeof got) != 0)
      fail_msg("%s differs with table %d", kernel->name, number);
  }
}

static void walks_leave_early_with_the_same_result(void** state) {
  (void)state;
  hone_target_t target;
  hone_str_t text;
  hone_kernel_t* kernels[SHAPES];
  assert_ok(hone_target_parse(NULL, &target));
  hone_str_init(&text, NULL);
  for (int i = 0; i < SHAPES; i++) {
    size_t before = text.size;
    kernels[i] = make_kernel(i);
    hone_str_appendf(&text, "%s ", HONE_KERNEL_EXPORT);
    assert_ok(hone_cpu_render(kernels[i], kernels[i]->name, LANES, &target, &text));
    bool has_exits = strstr(hone_str_text(&text) + before, "if (");
    if (has_exits != shapes[i].has_exits)
      fail_msg("%s has %s exits", kernels[i]->name, has_exits ? "some" : "no");
  }
  hone_library_t* library = test_library_build(&target, LANES, hone_str_text(&text));
  for (int i = 0; i < SHAPES; i++) {
    check(kernels[i], library);
    hone_kernel_destroy(kernels[i]);
  }
  hone_library_close(library);
  hone_str_free(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(walks_leave_early_with_the_same_result),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
