/* Trees to programs, and the run of a program over a text. */
#include "ops/common/regex.h"

#include <string.h>

#include "base/memory.h"
#include "ops/common/regex_impl.h"

enum { MAX_CODE = 1 << 16, MAX_STEPS = 1 << 20 };

typedef enum opcode {
  OP_CLASS,  /* one character of `set`, then the next instruction */
  OP_ASSERT, /* nothing, where `assertion` holds */
  OP_JUMP,   /* to x */
  OP_SPLIT,  /* to x and to y */
  OP_MATCH,
} opcode_t;

typedef struct code {
  opcode_t op;
  int x, y;
  hone_regex_assert_t assertion;
  const hone_regex_class_t* set;
} code_t;

struct hone_regex {
  hone_arena_t* arena;
  const hone_allocator_t* allocator;
  hone_text_case_t* text_case;
  int count, room;
  code_t* code;
  int steps; /* while it is written: bounds the work that nested repetitions make */
  bool out_of_memory;
};

/* ---- writing the program ---- */

/* Appends an instruction and gives its index; -1 when the program gets too
 * large or memory is out. */
static int append(hone_regex_t* regex, code_t code) {
  if (regex->count == regex->room) {
    if (regex->room >= MAX_CODE) return -1;
    int room = regex->room ? regex->room * 2 : 64;
    code_t* more = hone_arena_array(regex->arena, (size_t)room, sizeof *more);
    if (!more) {
      regex->out_of_memory = true;
      return -1;
    }
    if (regex->count) memcpy(more, regex->code, (size_t)regex->count * sizeof *more);
    regex->code = more;
    regex->room = room;
  }
  regex->code[regex->count] = code;
  return regex->count++;
}

static bool write_node(hone_regex_t* regex, const hone_regex_node_t* node);

static bool write_sequence(hone_regex_t* regex, const hone_regex_node_t* node) {
  for (const hone_regex_node_t* child = node->child; child; child = child->next)
    if (!write_node(regex, child)) return false;
  return true;
}

/* split A, B; A: child, jump end; B: the other children alike. The jumps are
 * chained through x until the end is known. */
static bool write_choice(hone_regex_t* regex, const hone_regex_node_t* node) {
  int jumps = -1;
  for (const hone_regex_node_t* child = node->child; child; child = child->next) {
    int split = child->next ? append(regex, (code_t){.op = OP_SPLIT}) : -1;
    if (child->next && split < 0) return false;
    if (!write_node(regex, child)) return false;
    if (!child->next) break;
    int jump = append(regex, (code_t){.op = OP_JUMP, .x = jumps});
    if (jump < 0) return false;
    jumps = jump;
    regex->code[split].x = split + 1;
    regex->code[split].y = regex->count;
  }
  while (jumps >= 0) {
    int before = regex->code[jumps].x;
    regex->code[jumps].x = regex->count;
    jumps = before;
  }
  return true;
}

/* Any number of times: split over, child, jump back. */
static bool write_star(hone_regex_t* regex, const hone_regex_node_t* child) {
  int split = append(regex, (code_t){.op = OP_SPLIT});
  if (split < 0 || !write_node(regex, child) ||
      append(regex, (code_t){.op = OP_JUMP, .x = split}) < 0)
    return false;
  regex->code[split].x = split + 1;
  regex->code[split].y = regex->count;
  return true;
}

static bool write_repeat(hone_regex_t* regex, const hone_regex_node_t* node) {
  for (int i = 0; i < node->min; i++)
    if (!write_node(regex, node->child)) return false;
  if (node->max < 0) return write_star(regex, node->child);
  int splits = -1; /* chained through y */
  for (int i = node->min; i < node->max; i++) {
    int split = append(regex, (code_t){.op = OP_SPLIT, .y = splits});
    if (split < 0 || !write_node(regex, node->child)) return false;
    regex->code[split].x = split + 1;
    splits = split;
  }
  while (splits >= 0) {
    int before = regex->code[splits].y;
    regex->code[splits].y = regex->count;
    splits = before;
  }
  return true;
}

static bool write_node(hone_regex_t* regex, const hone_regex_node_t* node) {
  if (++regex->steps > MAX_STEPS) return false;
  switch (node->kind) {
    case HONE_REGEX_EMPTY:
      return true;
    case HONE_REGEX_CLASS:
      return append(regex, (code_t){.op = OP_CLASS, .set = node->set}) >= 0;
    case HONE_REGEX_ASSERT:
      return append(regex, (code_t){.op = OP_ASSERT, .assertion = node->assertion}) >= 0;
    case HONE_REGEX_SEQUENCE:
      return write_sequence(regex, node);
    case HONE_REGEX_CHOICE:
      return write_choice(regex, node);
    case HONE_REGEX_REPEAT:
      return write_repeat(regex, node);
  }
  return false;
}

hone_status_t hone_regex_create(const hone_allocator_t* allocator, const char* pattern, size_t size,
                                hone_regex_t** out_regex) {
  *out_regex = NULL;
  hone_arena_t* arena;
  HONE_TRY(hone_arena_create(allocator, &arena));
  hone_regex_t* regex = hone_arena_alloc(arena, sizeof *regex);
  if (!regex) {
    hone_arena_destroy(arena);
    return hone_oom();
  }
  regex->arena = arena;
  regex->allocator = allocator;
  const hone_regex_node_t* tree = NULL;
  hone_status_t status = hone_text_case_create(allocator, &regex->text_case);
  if (!status) status = hone_regex_parse(arena, pattern, size, &tree);
  if (!status && (!write_node(regex, tree) || append(regex, (code_t){.op = OP_MATCH}) < 0))
    status = regex->out_of_memory
                 ? hone_oom()
                 : hone_status_make(HONE_INVALID_ARGUMENT,
                                    "regular expression '%.*s': too large when its repetitions "
                                    "are written out",
                                    (int)size, pattern);
  if (status)
    hone_regex_destroy(regex);
  else
    *out_regex = regex;
  return status;
}

void hone_regex_destroy(hone_regex_t* regex) {
  if (!regex) return;
  hone_text_case_destroy(regex->text_case);
  hone_arena_destroy(regex->arena);
}

/* ---- running it ---- */

/* Instructions to go on from: a set that remembers the order of joining.
 * `place` may hold anything for instructions that are not in the set. */
typedef struct threads {
  int count;
  int* list;
  int* place;
} threads_t;

typedef struct run {
  const hone_regex_t* regex;
  int32_t before, after; /* characters around the place; HONE_NO_CHAR at the ends */
  int* stack;
} run_t;

static bool is_in(const threads_t* threads, int pc) {
  int place = threads->place[pc];
  return place >= 0 && place < threads->count && threads->list[place] == pc;
}

static bool is_word(int32_t c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool holds(const run_t* run, hone_regex_assert_t assertion) {
  bool edge = is_word(run->before) != is_word(run->after);
  switch (assertion) {
    case HONE_REGEX_TEXT_BEGIN:
      return run->before == HONE_NO_CHAR;
    case HONE_REGEX_TEXT_END:
      return run->after == HONE_NO_CHAR;
    case HONE_REGEX_LINE_BEGIN:
      return run->before == HONE_NO_CHAR || run->before == '\n';
    case HONE_REGEX_LINE_END:
      return run->after == HONE_NO_CHAR || run->after == '\n';
    case HONE_REGEX_WORD_EDGE:
      return edge;
    case HONE_REGEX_NO_WORD_EDGE:
      return !edge;
  }
  return false;
}

/* Adds an instruction and all that can be reached from it without a character.
 * Each is on the stack at most once, since it is in the set from then on. */
static void join(run_t* run, threads_t* threads, int start) {
  int depth = 0;
  run->stack[depth++] = start;
  while (depth) {
    int pc = run->stack[--depth];
    const code_t* code = &run->regex->code[pc];
    int targets[2], n = 0;
    if (!is_in(threads, pc)) {
      threads->place[pc] = threads->count;
      threads->list[threads->count++] = pc;
      if (code->op == OP_JUMP || code->op == OP_SPLIT) targets[n++] = code->x;
      if (code->op == OP_SPLIT) targets[n++] = code->y;
      if (code->op == OP_ASSERT && holds(run, code->assertion)) targets[n++] = pc + 1;
    }
    while (n) run->stack[depth++] = targets[--n];
  }
}

static bool has(const hone_regex_class_t* set, int32_t c) {
  for (int i = 0; i < set->count; i++)
    if (c >= set->ranges[i].low && c <= set->ranges[i].high) return true;
  return false;
}

static bool accepts(const run_t* run, const hone_regex_class_t* set, int32_t c) {
  bool found = has(set, c);
  if (!found && set->any_case)
    found = has(set, hone_text_lower(run->regex->text_case, c)) ||
            has(set, hone_text_upper(run->regex->text_case, c));
  return found != set->negated;
}

/* The state after character `c`. */
static void step(run_t* run, const threads_t* from, threads_t* to, int32_t c) {
  to->count = 0;
  for (int i = 0; i < from->count; i++) {
    const code_t* code = &run->regex->code[from->list[i]];
    if (code->op == OP_CLASS && accepts(run, code->set, c)) join(run, to, from->list[i] + 1);
  }
}

static bool has_match(const run_t* run, const threads_t* threads) {
  for (int i = 0; i < threads->count; i++)
    if (run->regex->code[threads->list[i]].op == OP_MATCH) return true;
  return false;
}

/* Runs over the text; `text` is UTF-8 up to the first HONE_NO_CHAR. */
static bool run_text(run_t* run, threads_t* now, threads_t* next, const char* text, size_t size) {
  size_t at = 0;
  run->before = HONE_NO_CHAR;
  run->after = size ? hone_text_next(text, size, &at) : HONE_NO_CHAR;
  if (size && run->after == HONE_NO_CHAR) return false;
  join(run, now, 0);
  while (run->after != HONE_NO_CHAR && now->count) {
    int32_t c = run->after;
    run->before = c;
    bool more = at < size;
    run->after = more ? hone_text_next(text, size, &at) : HONE_NO_CHAR;
    if (more && run->after == HONE_NO_CHAR) return false;
    step(run, now, next, c);
    threads_t* swap = now;
    now = next;
    next = swap;
  }
  return has_match(run, now);
}

hone_status_t hone_regex_full_match(const hone_regex_t* regex, const char* text, size_t size,
                                    bool* out_matches) {
  /* Two sets of a list and a place table each, and a stack that two targets
   * of every instruction may be on. */
  size_t n = (size_t)regex->count, bytes = (6 * n + 2) * sizeof(int);
  int* memory = hone_alloc(regex->allocator, bytes);
  *out_matches = false;
  if (!memory) return hone_oom();
  threads_t a = {.list = memory, .place = memory + n};
  threads_t b = {.list = memory + 2 * n, .place = memory + 3 * n};
  run_t run = {.regex = regex, .stack = memory + 4 * n};
  *out_matches = run_text(&run, &a, &b, text, size);
  hone_free(regex->allocator, memory, bytes);
  return NULL;
}
