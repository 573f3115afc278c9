/* Patterns to trees, by recursive descent with bounded depth. */
#include <string.h>

#include "base/memory.h"
#include "ops/common/regex_impl.h"

enum { MAX_DEPTH = 250, MAX_REPEAT = 1000, LAST_CHAR = 0x10ffff, END = -2 };

typedef struct parser {
  hone_arena_t* arena;
  const char* pattern;
  size_t size, at;
  int depth;
  bool quoting;                       /* between \Q and \E */
  bool any_case, dot_all, multi_line; /* flags in force here */
  hone_status_t status;
} parser_t;

static hone_regex_node_t* parse_choice(parser_t* p);

/* ---- errors, characters, nodes ---- */

static void* fail(parser_t* p, hone_code_t code, const char* what) {
  if (!p->status)
    p->status = hone_status_make(code, "regular expression '%.*s': %s at byte %zu", (int)p->size,
                                 p->pattern, what, p->at);
  return NULL;
}

static void* wrong(parser_t* p, const char* what) { return fail(p, HONE_INVALID_ARGUMENT, what); }

static void* no_memory(parser_t* p) {
  if (!p->status) p->status = hone_oom();
  return NULL;
}

/* The character `ahead` bytes on; only for comparing with ASCII. */
static int peek(const parser_t* p, size_t ahead) {
  return p->at + ahead < p->size ? (unsigned char)p->pattern[p->at + ahead] : END;
}

/* Skips `text` if it comes next. */
static bool take(parser_t* p, const char* text) {
  size_t length = strlen(text);
  if (p->size - p->at < length || memcmp(p->pattern + p->at, text, length) != 0) return false;
  p->at += length;
  return true;
}

static int32_t next_char(parser_t* p) {
  if (p->at >= p->size) {
    wrong(p, "it ends too early");
    return END;
  }
  int32_t c = hone_text_next(p->pattern, p->size, &p->at);
  if (c == HONE_NO_CHAR) wrong(p, "bytes that are not UTF-8");
  return c;
}

static hone_regex_node_t* make_node(parser_t* p, hone_regex_kind_t kind) {
  if (p->status) return NULL;
  hone_regex_node_t* node = hone_arena_alloc(p->arena, sizeof *node);
  if (!node) return no_memory(p);
  node->kind = kind;
  return node;
}

static hone_regex_node_t* make_assert(parser_t* p, hone_regex_assert_t assertion) {
  hone_regex_node_t* node = make_node(p, HONE_REGEX_ASSERT);
  if (node) node->assertion = assertion;
  return node;
}

/* ---- sets of characters ---- */

bool hone_regex_class_add(hone_arena_t* arena, hone_regex_class_t* set, int32_t low, int32_t high) {
  if (set->count == set->room) {
    int room = set->room ? set->room * 2 : 4;
    hone_regex_range_t* ranges = hone_arena_array(arena, (size_t)room, sizeof *ranges);
    if (!ranges) return false;
    if (set->count) memcpy(ranges, set->ranges, (size_t)set->count * sizeof *ranges);
    set->ranges = ranges;
    set->room = room;
  }
  set->ranges[set->count++] = (hone_regex_range_t){low, high};
  return true;
}

static void add(parser_t* p, hone_regex_class_t* set, int32_t low, int32_t high) {
  if (low <= high && !hone_regex_class_add(p->arena, set, low, high)) no_memory(p);
}

static hone_regex_node_t* class_node(parser_t* p, const hone_regex_class_t* set) {
  hone_regex_node_t* node = make_node(p, HONE_REGEX_CLASS);
  hone_regex_class_t* copy = hone_arena_memdup(p->arena, set, sizeof *set);
  if (!node || !copy) return no_memory(p);
  copy->any_case = p->any_case;
  node->set = copy;
  return node;
}

static hone_regex_node_t* char_node(parser_t* p, int32_t c) {
  hone_regex_class_t set = {0};
  add(p, &set, c, c);
  return class_node(p, &set);
}

/* Named sets as pairs of characters, in ascending order. */
typedef struct named_set {
  const char* name;
  const char* pairs;
} named_set_t;

static const named_set_t posix_sets[] = {
    {"alnum", "09AZaz"},
    {"alpha", "AZaz"},
    {"ascii", "\x01\x7f"},
    {"blank", "\t\t  "},
    {"cntrl", "\x01\x1f\x7f\x7f"},
    {"digit", "09"},
    {"graph", "!~"},
    {"lower", "az"},
    {"print", " ~"},
    {"punct", "!/:@[`{~"},
    {"space", "\t\r  "},
    {"upper", "AZ"},
    {"word", "09AZ__az"},
    {"xdigit", "09AFaf"},
};

/* \d, \s and \w; RE2's \s has no vertical tab. */
static const named_set_t perl_sets[] = {{"d", "09"}, {"s", "\t\n\f\r  "}, {"w", "09AZ__az"}};

/* Adds the pairs, or everything but them. The names that hold character 0
 * begin with 1 in the table. */
static void add_pairs(parser_t* p, hone_regex_class_t* set, const named_set_t* named,
                      bool negated) {
  const char* pairs = named->pairs;
  bool from_zero = pairs[0] == 1;
  if (!negated) {
    for (; *pairs; pairs += 2) add(p, set, pairs[0] == 1 ? 0 : pairs[0], pairs[1]);
    return;
  }
  int32_t from = 0;
  for (; *pairs; pairs += 2) {
    if (!(from_zero && from == 0)) add(p, set, from, pairs[0] - 1);
    from = pairs[1] + 1;
  }
  add(p, set, from, LAST_CHAR);
}

/* \d \D \s \S \w \W: adds it and gives true. */
static bool take_perl_set(parser_t* p, hone_regex_class_t* set) {
  if (peek(p, 0) != '\\') return false;
  for (size_t i = 0; i < sizeof perl_sets / sizeof *perl_sets; i++) {
    int lower = (unsigned char)perl_sets[i].name[0], c = peek(p, 1);
    if (c != lower && c != lower - 'a' + 'A') continue;
    p->at += 2;
    add_pairs(p, set, &perl_sets[i], c != lower);
    return true;
  }
  return false;
}

/* [:alpha:] and [:^alpha:] inside brackets. */
static bool take_posix_set(parser_t* p, hone_regex_class_t* set) {
  size_t before = p->at;
  if (!take(p, "[:")) return false;
  bool negated = take(p, "^");
  for (size_t i = 0; i < sizeof posix_sets / sizeof *posix_sets; i++) {
    size_t start = p->at;
    if (take(p, posix_sets[i].name) && take(p, ":]")) {
      add_pairs(p, set, &posix_sets[i], negated);
      return true;
    }
    p->at = start;
  }
  for (size_t i = 0; peek(p, i) != END && peek(p, i) != ']'; i++)
    if (peek(p, i) == ':' && peek(p, i + 1) == ']') wrong(p, "unknown name of a character class");
  p->at = before;
  return false;
}

/* ---- escapes ---- */

static int digit_value(int c, int base) {
  int value = c >= '0' && c <= '9'   ? c - '0'
              : c >= 'a' && c <= 'f' ? c - 'a' + 10
              : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                     : 99;
  return value < base ? value : -1;
}

/* Behind \x: two digits, or any number of them in braces. */
static int32_t hex_escape(parser_t* p) {
  int32_t value = 0;
  int digits = 0;
  bool braces = take(p, "{");
  for (; braces ? peek(p, 0) != '}' : digits < 2; digits++) {
    int digit = digit_value(peek(p, 0), 16);
    if (digit < 0 || value > LAST_CHAR >> 4) {
      wrong(p, "a bad \\x escape");
      return END;
    }
    value = value * 16 + digit;
    p->at++;
  }
  if (braces && (digits == 0 || !take(p, "}"))) wrong(p, "a bad \\x escape");
  return value;
}

/* An octal number of up to three digits whose first is `c`. */
static int32_t octal_escape(parser_t* p, int32_t c) {
  if (c != '0' && digit_value(peek(p, 0), 8) < 0) {
    wrong(p, "a back reference; those cannot be matched in linear time");
    return END;
  }
  int32_t value = c - '0';
  for (int i = 1; i < 3 && digit_value(peek(p, 0), 8) >= 0; i++)
    value = value * 8 + digit_value(p->pattern[p->at++], 8);
  return value;
}

/* What follows a backslash, where that stands for one character. */
static int32_t escaped_char(parser_t* p) {
  static const char letters[] = "afnrtv", values[] = "\a\f\n\r\t\v";
  int32_t c = next_char(p);
  const char* letter = c > 0 && c < 0x80 ? strchr(letters, c) : NULL;
  if (letter) return values[letter - letters];
  if (c >= '0' && c <= '7') return octal_escape(p, c);
  if (c == 'x') return hex_escape(p);
  bool alphanumeric = digit_value(c, 10) >= 0 || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  if (c >= 0 && c < 0x80 && !alphanumeric) return c;
  if (c == 'p' || c == 'P' || c == 'C')
    fail(p, HONE_UNSUPPORTED, "\\p, \\P and \\C are not supported: write the characters out");
  wrong(p, "an unknown escape");
  return END;
}

static int32_t class_char(parser_t* p) {
  int32_t c = next_char(p);
  return c == '\\' ? escaped_char(p) : c;
}

/* [...], the bracket being taken already. */
static hone_regex_node_t* parse_class(parser_t* p) {
  hone_regex_class_t set = {.negated = take(p, "^")};
  for (bool first = true; !p->status && (first || peek(p, 0) != ']'); first = false) {
    if (peek(p, 0) == END) return wrong(p, "a missing ']'");
    if (take_perl_set(p, &set) || take_posix_set(p, &set)) continue;
    int32_t low = class_char(p), high = low;
    if (peek(p, 0) == '-' && peek(p, 1) != ']' && peek(p, 1) != END) {
      p->at++;
      high = class_char(p);
      if (high < low) wrong(p, "a range that runs backwards");
    }
    add(p, &set, low, high);
  }
  if (p->status) return NULL;
  p->at++;
  return class_node(p, &set);
}

static hone_regex_node_t* parse_dot(parser_t* p) {
  hone_regex_class_t set = {0};
  if (p->dot_all) {
    add(p, &set, 0, LAST_CHAR);
  } else {
    add(p, &set, 0, '\n' - 1);
    add(p, &set, '\n' + 1, LAST_CHAR);
  }
  return class_node(p, &set);
}

/* Behind a backslash, outside of brackets. */
static hone_regex_node_t* parse_escape(parser_t* p) {
  static const char letters[] = "AzbB";
  static const hone_regex_assert_t asserts[] = {HONE_REGEX_TEXT_BEGIN, HONE_REGEX_TEXT_END,
                                                HONE_REGEX_WORD_EDGE, HONE_REGEX_NO_WORD_EDGE};
  hone_regex_class_t set = {0};
  if (take_perl_set(p, &set)) return class_node(p, &set);
  int c = peek(p, 1);
  const char* letter = c > 0 ? strchr(letters, c) : NULL;
  if (letter) {
    p->at += 2;
    return make_assert(p, asserts[letter - letters]);
  }
  p->at++;
  int32_t escaped = escaped_char(p);
  return p->status ? NULL : char_node(p, escaped);
}

/* ---- groups ---- */

/* (?i-s) and the like, up to the ')' or ':' that ends them. */
static void parse_flags(parser_t* p) {
  bool value = true, any = false;
  for (; peek(p, 0) != ')' && peek(p, 0) != ':'; p->at++) {
    switch (peek(p, 0)) {
      case 'i':
        p->any_case = value;
        break;
      case 's':
        p->dot_all = value;
        break;
      case 'm':
        p->multi_line = value;
        break;
      case 'U':
        break; /* which of several matches is found: all are the same here */
      case '-':
        if (!value) wrong(p, "two '-' among flags");
        value = false;
        any = false;
        continue;
      default:
        wrong(p, "an unknown (? group");
        return;
    }
    any = true;
  }
  if (!any && (!value || peek(p, 0) == ')')) wrong(p, "a missing flag");
}

static void parse_group_name(parser_t* p) {
  size_t start = p->at;
  for (; peek(p, 0) != '>'; p->at++) {
    int c = peek(p, 0);
    bool word =
        c == '_' || digit_value(c, 10) >= 0 || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!word) {
      wrong(p, "a bad group name");
      return;
    }
  }
  if (p->at++ == start) wrong(p, "a group without a name between < and >");
}

/* A group, the '(' being taken already. Flags set inside end with it; flags
 * alone, (?i), hold for the rest of the group around them. */
static hone_regex_node_t* parse_group(parser_t* p) {
  parser_t before = *p;
  if (take(p, "?P<") || take(p, "?<")) {
    parse_group_name(p);
  } else if (take(p, "?")) {
    parse_flags(p);
    if (take(p, ")")) return make_node(p, HONE_REGEX_EMPTY);
    if (!p->status) p->at++;
  }
  if (p->status) return NULL;
  hone_regex_node_t* node = parse_choice(p);
  if (p->status) return NULL;
  if (!take(p, ")")) return wrong(p, "a missing ')'");
  p->any_case = before.any_case;
  p->dot_all = before.dot_all;
  p->multi_line = before.multi_line;
  return node;
}

/* ---- the rest of the grammar ---- */

static hone_regex_node_t* parse_atom(parser_t* p) {
  bool lines = p->multi_line;
  int c = peek(p, 0);
  if (c == '\\') return parse_escape(p);
  if (take(p, "(")) return parse_group(p);
  if (take(p, "[")) return parse_class(p);
  if (take(p, ".")) return parse_dot(p);
  if (take(p, "^")) return make_assert(p, lines ? HONE_REGEX_LINE_BEGIN : HONE_REGEX_TEXT_BEGIN);
  if (take(p, "$")) return make_assert(p, lines ? HONE_REGEX_LINE_END : HONE_REGEX_TEXT_END);
  if (c == '*' || c == '+' || c == '?') return wrong(p, "a repetition of nothing");
  int32_t literal = next_char(p);
  return p->status ? NULL : char_node(p, literal);
}

static bool take_number(parser_t* p, int* out) {
  size_t start = p->at;
  for (*out = 0; digit_value(peek(p, 0), 10) >= 0; p->at++)
    if (*out <= MAX_REPEAT) *out = *out * 10 + digit_value(peek(p, 0), 10);
  return p->at > start;
}

/* {2}, {2,} or {2,5}; anything else in braces stands for itself. */
static bool take_braces(parser_t* p, int* min, int* max) {
  size_t before = p->at;
  bool good = take(p, "{") && take_number(p, min);
  *max = *min;
  if (good && take(p, ",") && !take_number(p, max)) *max = -1;
  if (good && take(p, "}")) {
    if (*min > MAX_REPEAT || *max > MAX_REPEAT || (*max >= 0 && *max < *min))
      wrong(p, "a repetition out of order, or of more than 1000");
    return true;
  }
  p->at = before;
  return false;
}

static bool take_repeat(parser_t* p, int* min, int* max) {
  *min = peek(p, 0) == '+';
  *max = peek(p, 0) == '?' ? 1 : -1;
  bool found = take(p, "*") || take(p, "+") || take(p, "?") || take_braces(p, min, max);
  if (found) take(p, "?"); /* lazy: the same when the whole text must match */
  return found;
}

/* An atom with what repeats it. Between \\Q and \\E each character is one. */
static hone_regex_node_t* parse_repeat(parser_t* p) {
  int32_t quoted = p->quoting ? next_char(p) : 0;
  if (p->status) return NULL;
  hone_regex_node_t* atom = p->quoting ? char_node(p, quoted) : parse_atom(p);
  if (p->quoting && take(p, "\\E")) p->quoting = false;
  int min, max;
  if (p->status || p->quoting || !take_repeat(p, &min, &max)) return atom;
  hone_regex_node_t* node = make_node(p, HONE_REGEX_REPEAT);
  if (!node) return NULL;
  node->child = atom;
  node->min = min;
  node->max = max;
  if (take_repeat(p, &min, &max)) return wrong(p, "a repetition of a repetition");
  return node;
}

static bool ends_sequence(const parser_t* p) {
  return p->at >= p->size || (!p->quoting && (peek(p, 0) == '|' || peek(p, 0) == ')'));
}

static hone_regex_node_t* parse_sequence(parser_t* p) {
  hone_regex_node_t* list = make_node(p, HONE_REGEX_SEQUENCE);
  hone_regex_node_t** end = list ? &list->child : NULL;
  while (!p->status && !ends_sequence(p)) {
    if (take(p, p->quoting ? "\\E" : "\\Q")) {
      p->quoting = !p->quoting;
      continue;
    }
    *end = parse_repeat(p);
    if (*end) end = &(*end)->next;
  }
  return list;
}

static hone_regex_node_t* parse_choice(parser_t* p) {
  if (++p->depth > MAX_DEPTH) return wrong(p, "groups nested more than 250 deep");
  hone_regex_node_t* list = make_node(p, HONE_REGEX_CHOICE);
  if (!list) return NULL;
  list->child = parse_sequence(p);
  for (hone_regex_node_t* last = list->child; last && take(p, "|"); last = last->next)
    last->next = parse_sequence(p);
  p->depth--;
  return list;
}

hone_status_t hone_regex_parse(hone_arena_t* arena, const char* pattern, size_t size,
                               const hone_regex_node_t** out_tree) {
  parser_t p = {.arena = arena, .pattern = pattern, .size = size};
  hone_regex_node_t* tree = parse_choice(&p);
  *out_tree = tree;
  if (!p.status && p.at < size) wrong(&p, "a ')' without '('");
  return p.status;
}
