/* The text form of a candidate: "name=choice" separated by blanks. The parts
 * of a split are joined by 'x', those of an order by ','. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "tune/space.h"

static char joint(const hone_parameter_t* parameter) {
  return parameter->kind == HONE_PARAMETER_SPLIT ? 'x' : ',';
}

static void print_choice(const hone_parameter_t* parameter, int choice, hone_str_t* str) {
  const int64_t* value = parameter->values + (int64_t)choice * parameter->parts;
  for (int i = 0; i < parameter->parts; i++) {
    if (i) hone_str_append_char(str, joint(parameter));
    if (parameter->n_words)
      hone_str_append(str, parameter->words[value[i]]);
    else
      hone_str_appendf(str, "%" PRId64, value[i]);
  }
}

void hone_candidate_print(const hone_space_t* space, const hone_candidate_t* candidate,
                          hone_str_t* str) {
  for (int i = 0; i < hone_space_parameter_count(space); i++) {
    const hone_parameter_t* parameter = hone_space_parameter(space, i);
    hone_str_appendf(str, "%s%s=", i ? " " : "", parameter->name);
    print_choice(parameter, candidate->choice[i], str);
  }
}

/* What lies between two borders of the text. */
typedef struct piece {
  const char* data;
  size_t size;
} piece_t;

static bool equals(piece_t piece, const char* word) {
  return strlen(word) == piece.size && memcmp(word, piece.data, piece.size) == 0;
}

/* Takes the piece before the next `border`, and the border, off `rest`; false when it is absent. */
static bool take(piece_t* rest, char border, piece_t* out) {
  const char* end = rest->size ? memchr(rest->data, border, rest->size) : NULL;
  *out = *rest;
  if (!end) return false;
  out->size = (size_t)(end - rest->data);
  rest->data = end + 1;
  rest->size -= out->size + 1;
  return true;
}

static bool parse_number(piece_t piece, int64_t* out) {
  bool negative = piece.size && piece.data[0] == '-';
  int64_t number = 0;
  if (piece.size == (size_t)negative) return false;
  for (size_t i = negative; i < piece.size; i++) {
    int digit = piece.data[i] - '0';
    if (digit < 0 || digit > 9 || !hone_i64_mul(number, 10, &number) ||
        !(negative ? hone_i64_sub(number, digit, &number) : hone_i64_add(number, digit, &number)))
      return false;
  }
  *out = number;
  return true;
}

static bool parse_part(const hone_parameter_t* parameter, piece_t piece, int64_t* out) {
  if (!parameter->n_words) return parse_number(piece, out);
  for (int i = 0; i < parameter->n_words; i++)
    if (equals(piece, parameter->words[i])) {
      *out = i;
      return true;
    }
  return false;
}

/* The choice that `piece` spells; -1: none does. */
static int parse_choice(const hone_parameter_t* parameter, piece_t piece) {
  int64_t value[HONE_SPACE_MOST_PARTS];
  for (int i = 0; i < parameter->parts; i++) {
    piece_t part;
    bool more = take(&piece, joint(parameter), &part);
    if (more != (i < parameter->parts - 1) || !parse_part(parameter, part, &value[i])) return -1;
  }
  size_t size = (size_t)parameter->parts * sizeof *value;
  for (int i = 0; i < parameter->n_choices; i++)
    if (memcmp(value, parameter->values + (int64_t)i * parameter->parts, size) == 0) return i;
  return -1;
}

static int find_parameter(const hone_space_t* space, piece_t name) {
  for (int i = 0; i < hone_space_parameter_count(space); i++)
    if (equals(name, hone_space_parameter(space, i)->name)) return i;
  return -1;
}

/* So much of a piece as a message should show. */
static int shown(piece_t piece) { return piece.size > 40 ? 40 : (int)piece.size; }

static hone_status_t parse_item(const hone_space_t* space, piece_t item, size_t at, bool* is_set,
                                hone_candidate_t* candidate) {
  piece_t name, value = item;
  if (!take(&value, '=', &name))
    return hone_status_make(HONE_INVALID_DATA, "byte %zu: \"%.*s\" is not NAME=CHOICE", at,
                            shown(item), item.data);
  int index = find_parameter(space, name);
  if (index < 0)
    return hone_status_make(HONE_INVALID_DATA, "byte %zu: there is no parameter \"%.*s\"", at,
                            shown(name), name.data);
  const hone_parameter_t* parameter = hone_space_parameter(space, index);
  if (is_set[index])
    return hone_status_make(HONE_INVALID_DATA, "byte %zu: %s is given twice", at, parameter->name);
  int choice = parse_choice(parameter, value);
  if (choice < 0)
    return hone_status_make(HONE_INVALID_DATA, "byte %zu: \"%.*s\" is no choice of %s", at,
                            shown(value), value.data, parameter->name);
  is_set[index] = true;
  candidate->choice[index] = (uint16_t)choice;
  return NULL;
}

hone_status_t hone_candidate_parse(const hone_space_t* space, const char* text, size_t size,
                                   hone_candidate_t* out_candidate) {
  bool is_set[HONE_SPACE_MOST_PARAMETERS] = {false};
  hone_candidate_t candidate = {{0}};
  piece_t rest = {text, size}, item;
  *out_candidate = candidate;
  for (bool more = true; more;) {
    size_t at = (size_t)(rest.data - text);
    more = take(&rest, ' ', &item);
    if (item.size) HONE_TRY(parse_item(space, item, at, is_set, &candidate));
  }
  for (int i = 0; i < hone_space_parameter_count(space); i++)
    if (!is_set[i])
      return hone_status_make(HONE_INVALID_DATA, "%s is not given",
                              hone_space_parameter(space, i)->name);
  *out_candidate = candidate;
  return NULL;
}
