/* The inside of regular expressions, for regex_*.c only. */
#ifndef HONE_OPS_COMMON_REGEX_IMPL_H
#define HONE_OPS_COMMON_REGEX_IMPL_H

#include "ops/common/regex.h"
#include "ops/common/text.h"

typedef struct hone_regex_range {
  int32_t low, high; /* inclusive */
} hone_regex_range_t;

/* A set of characters. */
typedef struct hone_regex_class {
  int count, room;
  hone_regex_range_t* ranges;
  bool negated;
  bool any_case; /* holds a character if it holds its lower or upper case form */
} hone_regex_class_t;

typedef enum hone_regex_kind {
  HONE_REGEX_EMPTY,
  HONE_REGEX_CLASS,
  HONE_REGEX_ASSERT,
  HONE_REGEX_SEQUENCE, /* its children one after another */
  HONE_REGEX_CHOICE,   /* one of its children */
  HONE_REGEX_REPEAT,   /* its child, min to max times; max -1: any number */
} hone_regex_kind_t;

typedef enum hone_regex_assert {
  HONE_REGEX_TEXT_BEGIN,
  HONE_REGEX_TEXT_END,
  HONE_REGEX_LINE_BEGIN,
  HONE_REGEX_LINE_END,
  HONE_REGEX_WORD_EDGE,
  HONE_REGEX_NO_WORD_EDGE,
} hone_regex_assert_t;

typedef struct hone_regex_node {
  hone_regex_kind_t kind;
  struct hone_regex_node* child; /* the first one */
  struct hone_regex_node* next;  /* of the same parent */
  int min, max;
  hone_regex_assert_t assertion;
  const hone_regex_class_t* set;
} hone_regex_node_t;

/* Gives the tree, in the arena. */
HONE_MUST_USE hone_status_t hone_regex_parse(hone_arena_t* arena, const char* pattern, size_t size,
                                             const hone_regex_node_t** out_tree);
/* Adds a range; false when memory is out. */
bool hone_regex_class_add(hone_arena_t* arena, hone_regex_class_t* set, int32_t low, int32_t high);

#endif
