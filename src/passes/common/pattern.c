#include "passes/common/pattern.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "passes/common/match.h"

enum {
  MAX_TERMS = 160,
  MAX_ARGS = 5,
  MAX_WORD = 24,
  MAX_LOOK = 16,
  MAX_DEPTH = 40,
  MAX_DEFINED = 12
};

typedef enum term_kind {
  TERM_VALUE,  /* x */
  TERM_SOURCE, /* ~x */
  TERM_SCALAR, /* #x */
  TERM_CORE,   /* *x */
  TERM_NUMBER,
  TERM_NODE,
  TERM_REDUCE,
  TERM_MEAN,
  TERM_CALL,
  TERM_MOVED,
  TERM_EITHER,
  TERM_NAMED, /* x=p */
} term_kind_t;

typedef struct term {
  term_kind_t kind;
  int name; /* of TERM_VALUE … and TERM_NAMED: index into the names */
  double number;
  hone_prim_t prim;
  hone_combine_t combine;
  const char* label;
  int n_args;
  int args[MAX_ARGS]; /* indices of terms */
} term_t;

struct hone_pattern {
  int n_terms;
  term_t terms[MAX_TERMS];
  int n_names;
  char names[HONE_PATTERN_NAMES][MAX_WORD];
  int root;
  uint64_t root_prims; /* bit i: output 0 of a primitive i may match */
};

/* ---- words made of others ---- */

static const struct {
  const char *name, *parameters, *meaning;
} words[] = {
    {"sq", "a", "(mul(a, a) | pow(a, 2))"},
    {"cube", "a", "(mul(a, a, a) | pow(a, 3))"},
    {"rsqrt", "a", "(div(1, sqrt(a)) | pow(a, -0.5) | sqrt(div(1, a)))"},
    {"root", "a", "(sqrt(a) | pow(a, 0.5))"},
    /* c / sqrt(a) */
    {"over_root", "c a", "(mul(c, rsqrt(a)) | div(c, root(a)))"},
    {"negated", "a", "(neg(a) | mul(-1, a) | sub(0, a))"},
    {"sigmoid", "a", "div(1, add(1, exp(negated(a))))"},
    {"clamp", "a low high", "(min(high, max(low, a)) | max(low, min(high, a)))"},
    {"variance", "x", "(mean(sq(sub(x, mean(x)))) | sub(mean(sq(x)), sq(mean(x))))"},
    /* q k' with the scale on any of them, and v, as attention has them */
    {"scaled", "a", "(mul(a, #scale) | div(a, #scale) | a)"},
    {"part", "a", "moved((mul(moved(a), #part_scale) | div(moved(a), #part_scale) | a))"},
};

/* ---- parsing ---- */

typedef struct parser {
  const char* at;
  hone_pattern_t* pattern;
  bool failed;
  int depth;
  const char* parameters; /* of the word whose meaning is parsed; NULL: none */
  const int* arguments;
  int n_defined; /* parts of the text with a name of their own */
  char defined[MAX_DEFINED][MAX_WORD];
  int meaning[MAX_DEFINED]; /* their terms */
} parser_t;

static int parse_term(parser_t* p);

static char peek(parser_t* p) {
  while (*p->at == ' ') p->at++;
  return *p->at;
}

static bool take(parser_t* p, char c) {
  if (peek(p) != c) return false;
  p->at++;
  return true;
}

static void expect(parser_t* p, char c) {
  if (!take(p, c)) p->failed = true;
}

static void read_word(parser_t* p, char word[MAX_WORD]) {
  int n = 0;
  for (peek(p); islower((unsigned char)*p->at) || isdigit((unsigned char)*p->at) || *p->at == '_';
       p->at++)
    if (n < MAX_WORD - 1) word[n++] = *p->at;
  word[n] = 0;
  if (n == 0 || n == MAX_WORD - 1) p->failed = true;
}

static int add_term(parser_t* p, const term_t* term) {
  if (p->pattern->n_terms == MAX_TERMS) {
    p->failed = true;
    return 0;
  }
  p->pattern->terms[p->pattern->n_terms] = *term;
  return p->pattern->n_terms++;
}

static int name_index(parser_t* p, const char* name) {
  hone_pattern_t* pattern = p->pattern;
  for (int i = 0; i < pattern->n_names; i++)
    if (strcmp(pattern->names[i], name) == 0) return i;
  if (pattern->n_names == HONE_PATTERN_NAMES) {
    p->failed = true;
    return 0;
  }
  memcpy(pattern->names[pattern->n_names], name, strlen(name) + 1);
  return pattern->n_names++;
}

/* Which of the parameters, parted by spaces, the word is; -1: none. */
static int parameter_index(const char* parameters, const char* word) {
  size_t length = strlen(word);
  for (int i = 0; parameters && *parameters; i++) {
    size_t n = strcspn(parameters, " ");
    if (n == length && strncmp(parameters, word, n) == 0) return i;
    parameters += n;
    parameters += strspn(parameters, " ");
  }
  return -1;
}

static int named(parser_t* p, term_kind_t kind, const char* word) {
  int parameter = parameter_index(p->parameters, word);
  if (kind == TERM_VALUE && parameter >= 0) return p->arguments[parameter];
  for (int i = 0; kind == TERM_VALUE && i < p->n_defined; i++)
    if (strcmp(p->defined[i], word) == 0) return p->meaning[i];
  return add_term(p, &(term_t){.kind = kind, .name = name_index(p, word)});
}

static int parse_meaning(parser_t* p, int word, const term_t* call) {
  int wanted = 1;
  for (const char* c = words[word].parameters; *c; c++) wanted += *c == ' ';
  if (call->n_args != wanted) p->failed = true;
  parser_t inner = {.at = words[word].meaning,
                    .pattern = p->pattern,
                    .depth = p->depth,
                    .parameters = words[word].parameters,
                    .arguments = call->args};
  int term = parse_term(&inner);
  p->failed = p->failed || inner.failed;
  return term;
}

/* What stands in front of the parenthesis. */
static int finish_call(parser_t* p, const char* word, term_t* term) {
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(words[i].name, word) == 0) return parse_meaning(p, (int)i, term);
  term->prim = hone_prim_parse(word);
  if (strcmp(word, "mean") == 0) {
    term->kind = TERM_MEAN;
  } else if (strcmp(word, "moved") == 0) {
    term->kind = TERM_MOVED;
  } else if (strcmp(word, "sum") == 0 || strcmp(word, "top") == 0) {
    term->kind = TERM_REDUCE;
    term->combine = word[0] == 's' ? HONE_COMBINE_ADD : HONE_COMBINE_MAX;
  } else if (term->prim == HONE_PRIM_COUNT) {
    term->kind = TERM_CALL;
    term->name = name_index(p, word);
    term->label = p->pattern->names[term->name];
  }
  return add_term(p, term);
}

static int parse_call(parser_t* p, const char* word) {
  term_t term = {.kind = TERM_NODE};
  do {
    if (term.n_args == MAX_ARGS) p->failed = true;
    int argument = parse_term(p);
    if (term.n_args < MAX_ARGS) term.args[term.n_args++] = argument;
  } while (!p->failed && take(p, ','));
  expect(p, ')');
  return finish_call(p, word, &term);
}

static int parse_either(parser_t* p) {
  term_t term = {.kind = TERM_EITHER};
  do {
    if (term.n_args == MAX_ARGS) p->failed = true;
    int argument = parse_term(p);
    if (term.n_args < MAX_ARGS) term.args[term.n_args++] = argument;
  } while (!p->failed && take(p, '|'));
  expect(p, ')');
  return add_term(p, &term);
}

static int parse_number(parser_t* p) {
  char* end;
  term_t term = {.kind = TERM_NUMBER, .number = strtod(p->at, &end)};
  if (end == p->at) p->failed = true;
  p->at = end;
  return add_term(p, &term);
}

static int parse_word(parser_t* p) {
  char word[MAX_WORD];
  read_word(p, word);
  if (p->failed) return 0;
  if (take(p, '(')) return parse_call(p, word);
  if (!take(p, '=')) return named(p, TERM_VALUE, word);
  term_t term = {.kind = TERM_NAMED, .n_args = 1, .name = name_index(p, word)};
  term.args[0] = parse_term(p);
  return add_term(p, &term);
}

static int parse_term(parser_t* p) {
  if (p->failed || p->depth == MAX_DEPTH) {
    p->failed = true;
    return 0;
  }
  static const char marks[] = "~#*";
  static const term_kind_t kinds[] = {TERM_SOURCE, TERM_SCALAR, TERM_CORE};
  char first = peek(p);
  int term;
  p->depth++;
  if (first && strchr(marks, first)) {
    char word[MAX_WORD];
    p->at++;
    read_word(p, word);
    term = p->failed ? 0 : named(p, kinds[strchr(marks, first) - marks], word);
  } else if (take(p, '(')) {
    term = parse_either(p);
  } else if (isdigit((unsigned char)first) || first == '-') {
    term = parse_number(p);
  } else {
    term = parse_word(p);
  }
  p->depth--;
  return term;
}

/* "name := p;" in front of the pattern itself. */
static bool parse_definition(parser_t* p) {
  const char* start = p->at;
  size_t length = strcspn(start, ":;");
  if (start[length] != ':' || p->n_defined == MAX_DEFINED) return false;
  read_word(p, p->defined[p->n_defined]);
  expect(p, ':');
  expect(p, '=');
  p->meaning[p->n_defined] = parse_term(p);
  p->n_defined++;
  expect(p, ';');
  return !p->failed;
}

static uint64_t prims_of(const hone_pattern_t* pattern, int index) {
  const term_t* term = &pattern->terms[index];
  uint64_t all = 0;
  switch (term->kind) {
    case TERM_NODE:
      return 1ull << term->prim;
    case TERM_REDUCE:
      return 1ull << HONE_PRIM_REDUCE;
    case TERM_MEAN:
      return 1ull << HONE_PRIM_DIV | 1ull << HONE_PRIM_MUL;
    case TERM_CALL:
      return 1ull << HONE_PRIM_CALL;
    case TERM_NAMED:
    case TERM_EITHER:
      for (int i = 0; i < term->n_args; i++) all |= prims_of(pattern, term->args[i]);
      return all;
    default:
      return 0;
  }
}

hone_status_t hone_pattern_parse(hone_arena_t* arena, const char* text,
                                 const hone_pattern_t** out_pattern) {
  _Static_assert(HONE_PRIM_COUNT <= 64, "a set of primitives fits 64 bits");
  hone_pattern_t* pattern = hone_arena_alloc(arena, sizeof *pattern);
  if (!pattern) return hone_oom();
  parser_t p = {.at = text, .pattern = pattern};
  while (parse_definition(&p)) continue;
  pattern->root = parse_term(&p);
  if (p.failed || peek(&p))
    return hone_status_make(HONE_INTERNAL, "bad pattern '%s' at '%s'", text, p.at);
  pattern->root_prims = prims_of(pattern, pattern->root);
  *out_pattern = pattern;
  return NULL;
}

/* ---- frames ---- */

/* Where the axes of a value are in the root of the match: an axis of it, or one
 * of these. */
enum { AXIS_ANY = -1, AXIS_FREE = -2, RANK_UNKNOWN = -1 };

typedef struct frame {
  int rank; /* RANK_UNKNOWN: nothing is known, and nothing is checked */
  int8_t axis[HONE_MAX_RANK];
} frame_t;

typedef struct bound {
  hone_value_t* value;
  frame_t frame;
} bound_t;

typedef struct state {
  const hone_pattern_t* pattern;
  hone_pattern_match_t* match;
  bound_t bound[HONE_PATTERN_NAMES];
  int reduced_rank; /* of the inputs of the reductions; -1: none yet */
  uint32_t reduced; /* axes of the root that they go along, as far as is known */
  int steps;        /* taken so far: a bound on the work */
} state_t;

enum { MAX_STEPS = 4000 };

static frame_t identity(const hone_value_t* value) {
  frame_t frame = {.rank = value->type.rank};
  for (int i = 0; i < frame.rank; i++) frame.axis[i] = (int8_t)i;
  return frame;
}

static const frame_t unknown = {.rank = RANK_UNKNOWN};

/* Whether the same value under both stands in the same place; what `a` leaves
 * open is taken from `b`. Adds to *reduced the axes that either leaves open and
 * the other one knows. */
static bool same_frame(const hone_value_t* value, frame_t* a, const frame_t* b, uint32_t* reduced) {
  if (a->rank == RANK_UNKNOWN || b->rank == RANK_UNKNOWN) return true;
  for (int i = 0; i < a->rank; i++) {
    int axis = a->axis[i] < 0 ? b->axis[i] : a->axis[i];
    if (hone_dim_is(value->type.dims[i], 1) || axis < 0) continue;
    if (a->axis[i] == AXIS_FREE || b->axis[i] == AXIS_FREE) *reduced |= 1u << axis;
    if (b->axis[i] >= 0 && b->axis[i] != axis) return false;
    a->axis[i] = (int8_t)axis;
  }
  return true;
}

/* The frame of a reshape's input where only extents of 1 come and go. */
static bool reshape_frame(const hone_node_t* node, frame_t* frame) {
  const hone_type_t *in = &node->inputs[0]->type, *out = &node->outputs[0]->type;
  frame_t inner = {.rank = frame->rank == RANK_UNKNOWN ? RANK_UNKNOWN : in->rank};
  int k = 0;
  for (int i = 0; i < in->rank; i++) {
    inner.axis[i] = AXIS_ANY;
    if (hone_dim_is(in->dims[i], 1)) continue;
    while (k < out->rank && hone_dim_is(out->dims[k], 1)) k++;
    if (k == out->rank || !hone_dim_same(in->dims[i], out->dims[k])) return false;
    inner.axis[i] = frame->axis[k++];
  }
  while (k < out->rank && hone_dim_is(out->dims[k], 1)) k++;
  if (k < out->rank) return false;
  *frame = inner;
  return true;
}

static bool is_float_cast(const hone_node_t* node) {
  return node->prim == HONE_PRIM_CAST && hone_dtype_is_float(node->dtype) &&
         hone_dtype_is_float(node->inputs[0]->type.dtype);
}

/* Whether a value is only seen through `node`; turns the frame into the input's. */
static bool is_see_through(const hone_node_t* node, bool moved, frame_t* frame) {
  if (is_float_cast(node)) return true;
  if (node->prim == HONE_PRIM_EXPAND) {
    for (int i = 0; i < frame->rank; i++)
      if (hone_dim_is(node->inputs[0]->type.dims[i], 1)) frame->axis[i] = AXIS_ANY;
    return true;
  }
  if (node->prim == HONE_PRIM_PERMUTE) {
    frame_t inner = *frame;
    for (int i = 0; i < frame->rank; i++) inner.axis[node->axes[i]] = frame->axis[i];
    *frame = inner;
    return true;
  }
  if (node->prim != HONE_PRIM_RESHAPE) return false;
  if (reshape_frame(node, frame)) return true;
  if (moved) *frame = unknown;
  return moved;
}

/* ---- matching ---- */

static bool note(state_t* s, hone_node_t* node) {
  hone_pattern_match_t* m = s->match;
  for (int i = 0; i < m->n_nodes; i++)
    if (m->nodes[i] == node) return true;
  if (m->n_nodes == HONE_MATCH_NODES) return false;
  m->nodes[m->n_nodes++] = node;
  return true;
}

/* What `value` repeats, noting the nodes on the way. */
static hone_value_t* look(state_t* s, hone_value_t* value, bool moved, frame_t* frame) {
  for (int i = 0; i < MAX_LOOK && is_see_through(value->node, moved, frame); i++) {
    if (!note(s, value->node)) return value;
    value = value->node->inputs[0];
  }
  return value;
}

/* Gives a name to a value, or compares it with what has the name. */
static bool bind(state_t* s, int name, hone_value_t* value, const frame_t* frame) {
  bound_t* bound = &s->bound[name];
  if (!bound->value) {
    *bound = (bound_t){.value = value, .frame = *frame};
    return true;
  }
  frame_t seen = *frame;
  if (bound->value != value) value = look(s, value, false, &seen);
  return bound->value == value && same_frame(value, &bound->frame, &seen, &s->reduced);
}

static bool is_single(const hone_value_t* value) {
  double number;
  return hone_match_count(&value->type) == 1 || hone_match_number(value, &number);
}

/* Half floats have about three digits. */
static bool is_number(const hone_value_t* value, double number) {
  double found;
  if (!hone_match_number(value, &found)) return false;
  double room = hone_dtype_bits(value->type.dtype) < 32 ? 5e-3 : 2e-6;
  return fabs(found - number) <= room * fabs(number);
}

static bool is_commutative(hone_prim_t prim) {
  switch (prim) {
    case HONE_PRIM_ADD:
    case HONE_PRIM_MUL:
    case HONE_PRIM_MIN:
    case HONE_PRIM_MAX:
    case HONE_PRIM_EQ:
    case HONE_PRIM_AND:
    case HONE_PRIM_OR:
    case HONE_PRIM_XOR:
      return true;
    default:
      return false;
  }
}

/* What a failed attempt must not leave behind. */
typedef struct mark {
  int n_nodes, reduced_rank;
  uint32_t reduced;
  bound_t bound[HONE_PATTERN_NAMES];
} mark_t;

static void save(const state_t* s, mark_t* mark) {
  mark->n_nodes = s->match->n_nodes;
  mark->reduced_rank = s->reduced_rank;
  mark->reduced = s->reduced;
  memcpy(mark->bound, s->bound, sizeof(bound_t) * (size_t)s->pattern->n_names);
}

static void restore(state_t* s, const mark_t* mark) {
  s->match->n_nodes = mark->n_nodes;
  s->reduced_rank = mark->reduced_rank;
  s->reduced = mark->reduced;
  memcpy(s->bound, mark->bound, sizeof(bound_t) * (size_t)s->pattern->n_names);
}

/* What is still to be matched, in this order: a way of matching one part that
 * leads nowhere for the rest is given up for the next way. */
typedef struct goal {
  enum { GOAL_TERM, GOAL_TREE, GOAL_NAME } kind;
  int term;     /* of a name: its index */
  unsigned set; /* of a tree: which of the operands */
  hone_value_t* value;
  frame_t frame;
  const struct goal* next;
} goal_t;

static bool match(state_t* s, int term, hone_value_t* value, const frame_t* frame,
                  const goal_t* next);
static bool match_tree(state_t* s, int index, unsigned set, hone_value_t* value, frame_t frame,
                       const goal_t* next);

static bool go_on(state_t* s, const goal_t* goal) {
  if (!goal) return true;
  if (goal->kind == GOAL_TERM) return match(s, goal->term, goal->value, &goal->frame, goal->next);
  if (goal->kind == GOAL_TREE)
    return match_tree(s, goal->term, goal->set, goal->value, goal->frame, goal->next);
  frame_t frame = goal->frame;
  hone_value_t* value = look(s, goal->value, false, &frame);
  return bind(s, goal->term, value, &frame) && go_on(s, goal->next);
}

/* The operands of `set` under a tree of nodes of the term's primitive. */
static bool match_tree(state_t* s, int index, unsigned set, hone_value_t* value, frame_t frame,
                       const goal_t* next) {
  const term_t* term = &s->pattern->terms[index];
  if ((set & (set - 1)) == 0) {
    int i = 0;
    while (!(set >> i & 1)) i++;
    return match(s, term->args[i], value, &frame, next);
  }
  value = look(s, value, false, &frame);
  if (value->node->prim != term->prim || !note(s, value->node)) return false;
  hone_value_t* const* in = value->node->inputs;
  mark_t mark;
  save(s, &mark);
  /* All non-empty proper subsets for the left operand, the first terms first. */
  for (unsigned left = set & (0u - set); left != set; left = (left - set) & set) {
    goal_t right = {GOAL_TREE, index, set & ~left, in[1], frame, next};
    if (match_tree(s, index, left, in[0], frame, &right)) return true;
    restore(s, &mark);
  }
  return false;
}

/* The node's first operands, in order. */
static bool match_operands(state_t* s, const term_t* term, const hone_node_t* node,
                           const frame_t* frame, const goal_t* next) {
  goal_t goals[MAX_ARGS];
  if (node->n_inputs < term->n_args) return false;
  for (int i = term->n_args - 1; i >= 0; i--) {
    if (!node->inputs[i]) return false;
    goals[i] = (goal_t){GOAL_TERM, term->args[i], 0, node->inputs[i], *frame, next};
    next = &goals[i];
  }
  return go_on(s, next);
}

static bool match_node(state_t* s, int index, hone_value_t* value, frame_t frame,
                       const goal_t* next) {
  const term_t* term = &s->pattern->terms[index];
  if (is_commutative(term->prim))
    return match_tree(s, index, (1u << term->n_args) - 1, value, frame, next);
  if (value->node->prim != term->prim) value = look(s, value, false, &frame);
  if (value->node->prim != term->prim || value->index != 0 || !note(s, value->node)) return false;
  bool keeps = hone_prim_is_elementwise(term->prim);
  return match_operands(s, term, value->node, keeps ? &frame : &unknown, next);
}

static bool match_call(state_t* s, const term_t* term, hone_value_t* value, frame_t frame,
                       const goal_t* next) {
  value = look(s, value, false, &frame);
  hone_node_t* node = value->node;
  return node->prim == HONE_PRIM_CALL && value->index == 0 &&
         strcmp(node->label, term->label) == 0 && note(s, node) &&
         match_operands(s, term, node, &unknown, next);
}

/* Every reduction of a pattern has the same axes. */
static bool agree_on_axes(state_t* s, const hone_node_t* node) {
  hone_pattern_match_t* m = s->match;
  int rank = node->inputs[0]->type.rank;
  if (s->reduced_rank < 0) {
    s->reduced_rank = rank;
    m->n_axes = node->n_axes;
    memcpy(m->axes, node->axes, (size_t)node->n_axes * sizeof *m->axes);
    return true;
  }
  uint32_t mine = 0, theirs = 0;
  for (int i = 0; i < node->n_axes; i++) mine |= 1u << node->axes[i];
  for (int i = 0; i < m->n_axes; i++) theirs |= 1u << m->axes[i];
  return s->reduced_rank == rank && mine == theirs;
}

/* The reduction that `value` is; turns the frame into that of its input. */
static hone_node_t* find_reduce(state_t* s, hone_combine_t combine, hone_value_t* value,
                                frame_t* frame) {
  value = look(s, value, false, frame);
  hone_node_t* node = value->node;
  if (node->prim != HONE_PRIM_REDUCE || node->combine != combine) return NULL;
  if (!agree_on_axes(s, node) || !note(s, node)) return NULL;
  frame_t inner = {.rank = node->inputs[0]->type.rank};
  uint32_t reduced = 0;
  for (int i = 0; i < node->n_axes; i++) reduced |= 1u << node->axes[i];
  for (int i = 0, k = 0; i < inner.rank; i++)
    inner.axis[i] = reduced >> i & 1 ? AXIS_FREE : frame->axis[k++];
  *frame = frame->rank == RANK_UNKNOWN ? unknown : inner;
  return node;
}

/* Whether `value` is how many elements `node` adds up (or one over it). */
static bool is_count(const hone_node_t* node, const hone_value_t* value, bool inverse) {
  const hone_type_t* in = &node->inputs[0]->type;
  hone_dim_t count = hone_dim_int(1);
  for (int i = 0; i < node->n_axes; i++)
    count = hone_dim_mul(node->graph->dims, count, in->dims[node->axes[i]]);
  if (hone_dim_is_int(count))
    return count.k > 0 && is_number(value, inverse ? 1.0 / (double)count.k : (double)count.k);
  while (value->node->prim == HONE_PRIM_CAST || value->node->prim == HONE_PRIM_RESHAPE ||
         value->node->prim == HONE_PRIM_EXPAND)
    value = value->node->inputs[0];
  return !inverse && value->node->prim == HONE_PRIM_DIMS && value->node->n_dims == 1 &&
         hone_dim_same(value->node->shape[0], count);
}

static bool match_mean(state_t* s, const term_t* term, hone_value_t* value, frame_t frame,
                       const goal_t* next) {
  value = look(s, value, false, &frame);
  hone_node_t* node = value->node;
  bool divides = node->prim == HONE_PRIM_DIV;
  if ((!divides && node->prim != HONE_PRIM_MUL) || !note(s, node)) return false;
  mark_t mark;
  save(s, &mark);
  for (int i = 0; i < (divides ? 1 : 2); i++) {
    frame_t inner = frame;
    hone_node_t* reduce = find_reduce(s, HONE_COMBINE_ADD, node->inputs[i], &inner);
    if (reduce && is_count(reduce, node->inputs[1 - i], !divides) &&
        match(s, term->args[0], reduce->inputs[0], &inner, next))
      return true;
    restore(s, &mark);
  }
  return false;
}

static bool match_either(state_t* s, const term_t* term, hone_value_t* value, const frame_t* frame,
                         const goal_t* next) {
  mark_t mark;
  save(s, &mark);
  for (int i = 0; i < term->n_args; i++) {
    if (match(s, term->args[i], value, frame, next)) return true;
    restore(s, &mark);
  }
  return false;
}

/* What stands for a name, or is a number. */
static bool match_leaf(state_t* s, const term_t* term, hone_value_t* value, frame_t frame) {
  if (term->kind == TERM_NUMBER) return is_number(value, term->number);
  if (term->kind == TERM_VALUE) return bind(s, term->name, value, &frame);
  value = look(s, value, term->kind == TERM_CORE, &frame);
  if (term->kind == TERM_SCALAR && !is_single(value)) return false;
  return bind(s, term->name, value, &frame);
}

static bool match(state_t* s, int index, hone_value_t* value, const frame_t* frame,
                  const goal_t* next) {
  const term_t* term = &s->pattern->terms[index];
  if (++s->steps > MAX_STEPS || !hone_type_is_known(&value->type)) return false;
  frame_t inner = *frame;
  switch (term->kind) {
    case TERM_NODE:
      return match_node(s, index, value, inner, next);
    case TERM_REDUCE: {
      const hone_node_t* node = find_reduce(s, term->combine, value, &inner);
      return node && match(s, term->args[0], node->inputs[0], &inner, next);
    }
    case TERM_MEAN:
      return match_mean(s, term, value, inner, next);
    case TERM_CALL:
      return match_call(s, term, value, inner, next);
    case TERM_MOVED:
      value = look(s, value, true, &inner);
      return match(s, term->args[0], value, &inner, next);
    case TERM_EITHER:
      return match_either(s, term, value, frame, next);
    case TERM_NAMED: {
      goal_t name = {GOAL_NAME, term->name, 0, value, *frame, next};
      return match(s, term->args[0], value, frame, &name);
    }
    default:
      return match_leaf(s, term, value, inner) && go_on(s, next);
  }
}

/* The axes of the root along which a bound value is not the same. */
static uint32_t varying_axes(const bound_t* bound) {
  uint32_t axes = 0;
  if (!bound->value) return 0;
  for (int i = 0; i < bound->frame.rank; i++)
    if (bound->frame.axis[i] >= 0 && !hone_dim_is(bound->value->type.dims[i], 1))
      axes |= 1u << bound->frame.axis[i];
  return axes;
}

static bool is_straight(const bound_t* bound, const hone_value_t* root) {
  if (!bound->value || bound->frame.rank != root->type.rank) return false;
  for (int i = 0; i < bound->frame.rank; i++)
    if (bound->frame.axis[i] != i && !hone_dim_is(bound->value->type.dims[i], 1)) return false;
  return true;
}

bool hone_pattern_match(const hone_pattern_t* pattern, hone_node_t* root,
                        hone_pattern_match_t* out_match) {
  if (!(pattern->root_prims >> root->prim & 1) || root->n_outputs < 1) return false;
  hone_value_t* value = root->outputs[0];
  if (!hone_type_is_known(&value->type)) return false;
  out_match->pattern = pattern;
  out_match->n_nodes = out_match->n_axes = 0;
  state_t s = {.pattern = pattern, .match = out_match, .reduced_rank = -1};
  frame_t frame = identity(value);
  if (!match(&s, pattern->root, value, &frame, NULL)) return false;
  for (int i = 0; i < HONE_PATTERN_NAMES; i++) {
    out_match->values[i] = s.bound[i].value;
    out_match->varies[i] = varying_axes(&s.bound[i]);
    out_match->straight[i] = is_straight(&s.bound[i], value);
  }
  out_match->reduced = s.reduced;
  return true;
}

static int find_name(const hone_pattern_match_t* match, const char* name) {
  for (int i = 0; i < match->pattern->n_names; i++)
    if (strcmp(match->pattern->names[i], name) == 0) return i;
  return -1;
}

hone_value_t* hone_pattern_value(const hone_pattern_match_t* match, const char* name) {
  int i = find_name(match, name);
  return i < 0 ? NULL : match->values[i];
}

bool hone_pattern_only_along_reduced(const hone_pattern_match_t* match, const char* name) {
  int at = find_name(match, name);
  return at < 0 || (match->varies[at] & ~match->reduced) == 0;
}

bool hone_pattern_is_straight(const hone_pattern_match_t* match, const char* name) {
  int at = find_name(match, name);
  return at < 0 || match->straight[at];
}
