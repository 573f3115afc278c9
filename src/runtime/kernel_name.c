/* What its nodes were recognised as, then their operators, which are read off
 * origins: they look like "name (OpType)". */
#include "runtime/kernel_name.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { MOST_OPERATORS = 3, OPERATOR_SIZE = 24 };

typedef struct operators {
  int count;
  char names[MOST_OPERATORS][OPERATOR_SIZE];
} operators_t;

/* The last word in parentheses, in lower case. */
static void read_operator(const char* origin, char out[OPERATOR_SIZE]) {
  size_t n = 0;
  const char* open = origin ? strrchr(origin, '(') : NULL;
  for (const char* c = open ? open + 1 : ""; isalnum((unsigned char)*c) && n + 1 < OPERATOR_SIZE;
       c++)
    out[n++] = (char)tolower((unsigned char)*c);
  out[n] = 0;
}

static void add_name(operators_t* list, const char* name) {
  if (!name[0] || list->count == MOST_OPERATORS) return;
  for (int i = 0; i < list->count; i++)
    if (strcmp(list->names[i], name) == 0) return;
  snprintf(list->names[list->count++], OPERATOR_SIZE, "%s", name);
}

static void add_operator(operators_t* list, const char* origin) {
  char name[OPERATOR_SIZE];
  read_operator(origin, name);
  add_name(list, name);
}

const char* hone_kernel_name(hone_arena_t* arena, const hone_node_t* call, int number) {
  operators_t list = {0};
  const hone_graph_t* region = call->regions[0];
  for (int i = 0; i < region->n_nodes; i++)
    if (region->nodes[i]->label) add_name(&list, region->nodes[i]->label);
  for (int i = 0; i < region->n_nodes; i++) add_operator(&list, region->nodes[i]->origin);
  if (!list.count) add_operator(&list, call->origin);
  char text[MOST_OPERATORS * OPERATOR_SIZE] = "";
  size_t length = 0;
  for (int i = 0; i < list.count; i++)
    length += (size_t)snprintf(text + length, sizeof text - length, "%s_", list.names[i]);
  if (!length) snprintf(text, sizeof text, "%s_", call->label ? call->label : "kernel");
  return hone_arena_format(arena, "%s%d", text, number);
}

const char* hone_kernel_loop_name(hone_arena_t* arena, const hone_node_t* loop, int number) {
  char name[OPERATOR_SIZE];
  read_operator(loop->origin, name);
  return hone_arena_format(arena, "%s_rounds_%d", name[0] ? name : "loop", number);
}
