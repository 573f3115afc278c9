/* Spaces: parameters in an arena, candidates as numbers in mixed radix. */
#include "tune/space.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/arena.h"
#include "base/memory.h"

enum { MOST_RULES = 8 };

static const uint64_t most_candidates = UINT64_C(1) << 62;

typedef struct rule {
  hone_space_rule_t holds;
  void* context;
} rule_t;

struct hone_space {
  const hone_allocator_t* allocator;
  hone_arena_t* arena;
  int n_parameters, n_rules;
  uint64_t size; /* product of n_choices */
  hone_parameter_t parameters[HONE_SPACE_MOST_PARAMETERS];
  rule_t rules[MOST_RULES];
  hone_space_settle_t settle; /* NULL: every choice counts */
  void* settle_context;
  hone_candidate_t first;
  int n_starts;
  hone_candidate_t starts[HONE_SPACE_MOST_STARTS];
};

hone_status_t hone_space_create(const hone_allocator_t* allocator, hone_space_t** out_space) {
  *out_space = NULL;
  hone_space_t* space = hone_alloc(allocator, sizeof *space);
  if (!space) return hone_oom();
  space->allocator = allocator;
  space->size = 1;
  hone_status_t status = hone_arena_create(allocator, &space->arena);
  if (status) {
    hone_free(allocator, space, sizeof *space);
    return status;
  }
  *out_space = space;
  return NULL;
}

void hone_space_destroy(hone_space_t* space) {
  if (!space) return;
  hone_arena_destroy(space->arena);
  hone_free(space->allocator, space, sizeof *space);
}

/* ---- defining ---- */

static hone_status_t check_word(const char* what, const char* word) {
  bool good = word[0] != 0;
  for (const char* at = word; *at; at++)
    good =
        good && ((unsigned char)*at < 128) && (isalnum((unsigned char)*at) || strchr("_.-", *at));
  if (good) return NULL;
  return hone_status_make(HONE_INVALID_ARGUMENT,
                          "%s \"%s\" of a search space must consist of letters, digits, '_', '.' "
                          "and '-'",
                          what, word);
}

/* Whether a parameter of that name and number of choices can be added. */
static hone_status_t check_room(const hone_space_t* space, const char* name, int64_t n_choices) {
  HONE_TRY(check_word("parameter", name));
  if (hone_space_find(space, name) >= 0)
    return hone_status_make(HONE_INVALID_ARGUMENT, "parameter %s is defined twice", name);
  if (space->n_parameters == HONE_SPACE_MOST_PARAMETERS)
    return hone_status_make(HONE_OUT_OF_RANGE, "parameter %s: a search space has at most %d", name,
                            HONE_SPACE_MOST_PARAMETERS);
  if (n_choices < 1)
    return hone_status_make(HONE_INVALID_ARGUMENT, "parameter %s has no choice", name);
  if (n_choices > HONE_SPACE_MOST_CHOICES)
    return hone_status_make(HONE_OUT_OF_RANGE,
                            "parameter %s has %" PRId64 " choices, more than %d; limit it", name,
                            n_choices, HONE_SPACE_MOST_CHOICES);
  if (space->size > most_candidates / (uint64_t)n_choices)
    return hone_status_make(HONE_OUT_OF_RANGE,
                            "parameter %s makes the search space larger than 2^62", name);
  return NULL;
}

/* Appends a parameter whose room was checked. `values` and `words` lie in the arena. */
static hone_status_t append(hone_space_t* space, hone_parameter_t parameter) {
  parameter.name = hone_arena_strdup(space->arena, parameter.name);
  if (!parameter.name) return hone_oom();
  space->parameters[space->n_parameters++] = parameter;
  space->size *= (uint64_t)parameter.n_choices;
  return NULL;
}

hone_status_t hone_space_define_numbers(hone_space_t* space, const char* name, int count,
                                        const int64_t* numbers) {
  HONE_TRY(check_room(space, name, count));
  for (int i = 0; i < count; i++)
    for (int j = 0; j < i; j++)
      if (numbers[i] == numbers[j])
        return hone_status_make(HONE_INVALID_ARGUMENT,
                                "parameter %s has the choice %" PRId64 " twice", name, numbers[i]);
  int64_t* values = hone_arena_memdup(space->arena, numbers, (size_t)count * sizeof *values);
  if (!values) return hone_oom();
  return append(space, (hone_parameter_t){.name = name,
                                          .kind = HONE_PARAMETER_NUMBER,
                                          .parts = 1,
                                          .n_choices = count,
                                          .values = values});
}

static bool is_power(int64_t number) { return number > 0 && (number & (number - 1)) == 0; }

hone_status_t hone_space_define_powers(hone_space_t* space, const char* name, int64_t first,
                                       int64_t last) {
  if (!is_power(first) || !is_power(last) || first > last)
    return hone_status_make(HONE_INVALID_ARGUMENT,
                            "parameter %s: %" PRId64 " to %" PRId64 " are not powers of two", name,
                            first, last);
  int64_t numbers[63];
  int count = 0;
  for (int64_t number = first; number <= last; number *= 2) {
    numbers[count++] = number;
    if (number > INT64_MAX / 2) break;
  }
  return hone_space_define_numbers(space, name, count, numbers);
}

static hone_status_t copy_words(hone_space_t* space, const char* name, int count,
                                const char* const* words, const char* const** out_words) {
  for (int i = 0; i < count; i++) {
    HONE_TRY(check_word("word", words[i]));
    for (int j = 0; j < i; j++)
      if (strcmp(words[i], words[j]) == 0)
        return hone_status_make(HONE_INVALID_ARGUMENT, "parameter %s has the word %s twice", name,
                                words[i]);
  }
  const char** copies = hone_arena_array(space->arena, (size_t)count, sizeof *copies);
  if (!copies) return hone_oom();
  for (int i = 0; i < count; i++)
    if (!(copies[i] = hone_arena_strdup(space->arena, words[i]))) return hone_oom();
  *out_words = copies;
  return NULL;
}

hone_status_t hone_space_define_words(hone_space_t* space, const char* name, int count,
                                      const char* const* words) {
  HONE_TRY(check_room(space, name, count));
  const char* const* copies;
  HONE_TRY(copy_words(space, name, count, words, &copies));
  int64_t* values = hone_arena_array(space->arena, (size_t)count, sizeof *values);
  if (!values) return hone_oom();
  for (int i = 0; i < count; i++) values[i] = i;
  return append(space, (hone_parameter_t){.name = name,
                                          .kind = HONE_PARAMETER_WORD,
                                          .parts = 1,
                                          .n_choices = count,
                                          .values = values,
                                          .n_words = count,
                                          .words = copies});
}

/* Walks the factorings of an extent, smallest outer factor first. */
typedef struct factoring {
  int parts;
  int64_t most_inner; /* INT64_MAX: no limit */
  int n_divisors;
  int64_t divisors[8192]; /* more than any 53-bit number has */
  int64_t factors[HONE_SPACE_MOST_PARTS];
  int64_t count, tries;
  int64_t* out; /* NULL: only count */
} factoring_t;

enum { MOST_TRIES = 4000000 }; /* a limit on the inner factor may leave few of very many */

/* Chooses factors `part` and on, whose product is `rest`. */
static void factor(factoring_t* f, int part, int64_t rest) {
  if (f->count > HONE_SPACE_MOST_CHOICES) return;
  if (part == f->parts - 1) {
    if (++f->tries > MOST_TRIES) f->count = HONE_SPACE_MOST_CHOICES + 1;
    if (rest > f->most_inner) return;
    f->factors[part] = rest;
    if (f->out) memcpy(f->out + f->count * f->parts, f->factors, (size_t)f->parts * sizeof *f->out);
    f->count++;
    return;
  }
  for (int i = 0; i < f->n_divisors && f->divisors[i] <= rest; i++) {
    if (rest % f->divisors[i]) continue;
    f->factors[part] = f->divisors[i];
    factor(f, part + 1, rest / f->divisors[i]);
  }
}

/* The divisors of `extent` in order: those up to its root, then their partners. */
static void find_divisors(factoring_t* f, int64_t extent) {
  for (int64_t d = 1; d <= extent / d; d++)
    if (extent % d == 0) f->divisors[f->n_divisors++] = d;
  for (int i = f->n_divisors - 1; i >= 0; i--)
    if (f->divisors[i] != extent / f->divisors[i])
      f->divisors[f->n_divisors++] = extent / f->divisors[i];
}

static hone_status_t check_split(const char* name, int64_t extent, int parts) {
  static const int64_t most = INT64_C(1) << 40; /* whose divisors are found in no time */
  if (extent < 1 || extent > most)
    return hone_status_make(HONE_OUT_OF_RANGE, "parameter %s: cannot split an extent of %" PRId64,
                            name, extent);
  if (parts < 1 || parts > HONE_SPACE_MOST_PARTS)
    return hone_status_make(HONE_OUT_OF_RANGE, "parameter %s: a split has 1 to %d factors, not %d",
                            name, HONE_SPACE_MOST_PARTS, parts);
  return NULL;
}

static hone_status_t define_factorings(hone_space_t* space, const char* name, int64_t extent,
                                       factoring_t* f) {
  find_divisors(f, extent);
  factor(f, 0, extent);
  HONE_TRY(check_room(space, name, f->count));
  int64_t* values = hone_arena_array(space->arena, (size_t)(f->count * f->parts), sizeof *values);
  if (!values) return hone_oom();
  f->out = values;
  f->count = f->tries = 0;
  factor(f, 0, extent);
  return append(space, (hone_parameter_t){.name = name,
                                          .kind = HONE_PARAMETER_SPLIT,
                                          .parts = f->parts,
                                          .n_choices = (int)f->count,
                                          .values = values});
}

hone_status_t hone_space_define_split(hone_space_t* space, const char* name, int64_t extent,
                                      int parts, int64_t most_inner) {
  HONE_TRY(check_split(name, extent, parts));
  factoring_t* f = hone_alloc(space->allocator, sizeof *f);
  if (!f) return hone_oom();
  f->parts = parts;
  f->most_inner = most_inner > 0 ? most_inner : INT64_MAX;
  hone_status_t status = define_factorings(space, name, extent, f);
  hone_free(space->allocator, f, sizeof *f);
  return status;
}

/* Permutation `number` of `count` axes in lexicographic order. */
static void permutation(int count, int64_t number, int64_t* out) {
  bool used[HONE_SPACE_MOST_PARTS] = {false};
  int64_t below = 1; /* orders of the axes that are left after this place */
  for (int i = 2; i < count; i++) below *= i;
  for (int place = 0; place < count; place++) {
    int64_t skip = number / below;
    number %= below;
    int axis = 0;
    while (used[axis] || skip-- > 0) axis++;
    used[axis] = true;
    out[place] = axis;
    if (place < count - 1) below /= count - 1 - place;
  }
}

hone_status_t hone_space_define_order(hone_space_t* space, const char* name, int count,
                                      const char* const* axes) {
  if (count < 1 || count > HONE_SPACE_MOST_PARTS)
    return hone_status_make(HONE_OUT_OF_RANGE, "parameter %s: an order has 1 to %d axes, not %d",
                            name, HONE_SPACE_MOST_PARTS, count);
  int64_t n_choices = 1;
  for (int i = 2; i <= count; i++) n_choices *= i;
  HONE_TRY(check_room(space, name, n_choices));
  const char* const* words;
  HONE_TRY(copy_words(space, name, count, axes, &words));
  int64_t* values = hone_arena_array(space->arena, (size_t)(n_choices * count), sizeof *values);
  if (!values) return hone_oom();
  for (int64_t i = 0; i < n_choices; i++) permutation(count, i, values + i * count);
  return append(space, (hone_parameter_t){.name = name,
                                          .kind = HONE_PARAMETER_ORDER,
                                          .parts = count,
                                          .n_choices = (int)n_choices,
                                          .values = values,
                                          .n_words = count,
                                          .words = words});
}

hone_status_t hone_space_define_like(hone_space_t* space, const char* name,
                                     const hone_parameter_t* parameter) {
  hone_parameter_t copy = *parameter;
  HONE_TRY(check_room(space, name, parameter->n_choices));
  if (parameter->n_words)
    HONE_TRY(copy_words(space, name, parameter->n_words, parameter->words, &copy.words));
  size_t count = (size_t)parameter->n_choices * (size_t)parameter->parts;
  copy.values =
      hone_arena_memdup(space->arena, parameter->values, count * sizeof *parameter->values);
  if (!copy.values) return hone_oom();
  copy.name = name;
  return append(space, copy);
}

void hone_space_set_settle(hone_space_t* space, hone_space_settle_t settle, void* context) {
  space->settle = settle;
  space->settle_context = context;
}

hone_status_t hone_space_add_rule(hone_space_t* space, hone_space_rule_t rule, void* context) {
  if (space->n_rules == MOST_RULES)
    return hone_status_make(HONE_OUT_OF_RANGE, "a search space has at most %d rules", MOST_RULES);
  space->rules[space->n_rules++] = (rule_t){rule, context};
  return NULL;
}

void hone_space_set_default(hone_space_t* space, const hone_candidate_t* candidate) {
  space->first = *candidate;
}

void hone_space_add_start(hone_space_t* space, const hone_candidate_t* candidate) {
  if (space->n_starts < HONE_SPACE_MOST_STARTS) space->starts[space->n_starts++] = *candidate;
}

/* ---- asking ---- */

int hone_space_parameter_count(const hone_space_t* space) { return space->n_parameters; }

const hone_parameter_t* hone_space_parameter(const hone_space_t* space, int index) {
  return index >= 0 && index < space->n_parameters ? &space->parameters[index] : NULL;
}

int hone_space_find(const hone_space_t* space, const char* name) {
  for (int i = 0; i < space->n_parameters; i++)
    if (strcmp(space->parameters[i].name, name) == 0) return i;
  return -1;
}

uint64_t hone_space_size(const hone_space_t* space) { return space->size; }

hone_candidate_t hone_space_at(const hone_space_t* space, uint64_t index) {
  hone_candidate_t candidate = {{0}};
  for (int i = space->n_parameters - 1; i >= 0; i--) {
    uint64_t radix = (uint64_t)space->parameters[i].n_choices;
    candidate.choice[i] = (uint16_t)(index % radix);
    index /= radix;
  }
  return candidate;
}

uint64_t hone_space_index(const hone_space_t* space, const hone_candidate_t* candidate) {
  uint64_t index = 0;
  for (int i = 0; i < space->n_parameters; i++)
    index = index * (uint64_t)space->parameters[i].n_choices + candidate->choice[i];
  return index;
}

void hone_space_settle(const hone_space_t* space, hone_candidate_t* candidate) {
  if (space->settle) space->settle(space, space->settle_context, candidate);
}

static bool is_settled(const hone_space_t* space, const hone_candidate_t* candidate) {
  hone_candidate_t settled = *candidate;
  hone_space_settle(space, &settled);
  for (int i = 0; i < space->n_parameters; i++)
    if (settled.choice[i] != candidate->choice[i]) return false;
  return true;
}

bool hone_space_is_valid(const hone_space_t* space, const hone_candidate_t* candidate) {
  for (int i = 0; i < space->n_parameters; i++)
    if (candidate->choice[i] >= space->parameters[i].n_choices) return false;
  if (!is_settled(space, candidate)) return false;
  for (int i = 0; i < space->n_rules; i++)
    if (!space->rules[i].holds(space, candidate, space->rules[i].context)) return false;
  return true;
}

hone_candidate_t hone_space_default(const hone_space_t* space) { return space->first; }

const hone_candidate_t* hone_space_start(const hone_space_t* space, int index) {
  return index >= 0 && index < space->n_starts ? &space->starts[index] : NULL;
}

/* ---- reading a candidate ---- */

/* Where part `part` of the choice of `name` is; NULL when there is no such thing. */
static const int64_t* find_value(const hone_space_t* space, const hone_candidate_t* candidate,
                                 const char* name, int part, const hone_parameter_t** out) {
  int index = hone_space_find(space, name);
  if (index < 0) return NULL;
  const hone_parameter_t* parameter = *out = &space->parameters[index];
  int choice = candidate->choice[index];
  if (part < 0 || part >= parameter->parts || choice >= parameter->n_choices) return NULL;
  return &parameter->values[choice * parameter->parts + part];
}

int64_t hone_candidate_number(const hone_space_t* space, const hone_candidate_t* candidate,
                              const char* name, int part) {
  const hone_parameter_t* parameter;
  const int64_t* value = find_value(space, candidate, name, part, &parameter);
  return value ? *value : 0;
}

const char* hone_candidate_word(const hone_space_t* space, const hone_candidate_t* candidate,
                                const char* name, int part) {
  const hone_parameter_t* parameter;
  const int64_t* value = find_value(space, candidate, name, part, &parameter);
  return value && parameter->n_words ? parameter->words[*value] : NULL;
}

/* ---- features ---- */

int hone_space_feature_count(const hone_space_t* space) {
  int count = 0;
  for (int i = 0; i < space->n_parameters; i++) {
    const hone_parameter_t* parameter = &space->parameters[i];
    count += parameter->kind == HONE_PARAMETER_WORD ? parameter->n_words : parameter->parts;
  }
  return count;
}

void hone_space_features(const hone_space_t* space, const hone_candidate_t* candidate,
                         double* out_features) {
  for (int i = 0; i < space->n_parameters; i++) {
    const hone_parameter_t* parameter = &space->parameters[i];
    const int64_t* value = parameter->values + candidate->choice[i] * parameter->parts;
    if (parameter->kind == HONE_PARAMETER_WORD)
      for (int k = 0; k < parameter->n_words; k++) *out_features++ = k == *value;
    else if (parameter->kind == HONE_PARAMETER_ORDER) {
      for (int k = 0; k < parameter->parts; k++) out_features[value[k]] = k;
      out_features += parameter->parts;
    } else
      for (int k = 0; k < parameter->parts; k++) *out_features++ = (double)value[k];
  }
}
