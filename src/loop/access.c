/* Listing the loads and stores of a kernel. */
#include "loop/access.h"

#include <string.h>

#include "base/memory.h"

typedef struct collector {
  hone_access_list_t* list;
  hone_stmt_t* stmt;
  size_t n_seen;
  int* seen; /* by id of a term: the number of the last statement that it was met in */
  int stamp;
  bool failed;
} collector_t;

static void add(collector_t* c, hone_access_t access) {
  hone_access_list_t* list = c->list;
  if (list->count == list->room) {
    size_t room = list->room ? (size_t)list->room * 2 : 16, size = sizeof *list->items;
    hone_access_t* fresh =
        hone_realloc(list->allocator, list->items, (size_t)list->room * size, room * size);
    if (!fresh) {
      c->failed = true;
      return;
    }
    list->items = fresh;
    list->room = (int)room;
  }
  list->items[list->count++] = access;
}

static void visit_term(collector_t* c, const hone_term_t* term) {
  if (c->seen[term->id] == c->stamp) return;
  c->seen[term->id] = c->stamp;
  for (int i = 0; i < term->n_args; i++) visit_term(c, term->args[i]);
  if (term->kind == HONE_TERM_LOAD)
    add(c, (hone_access_t){.stmt = c->stmt, .buffer = term->buffer, .index = term->index});
}

static bool visit_stmt(void* self, hone_stmt_t* stmt) {
  collector_t* c = self;
  c->stmt = stmt;
  c->stamp++;
  if (stmt->value) visit_term(c, stmt->value);
  if (stmt->kind == HONE_STMT_STORE)
    add(c, (hone_access_t){stmt, stmt->buffer, stmt->index, true, stmt->combine});
  return !c->failed;
}

hone_status_t hone_access_collect(const hone_kernel_t* kernel, hone_stmt_t* within,
                                  hone_access_list_t* out) {
  *out = (hone_access_list_t){.allocator = kernel->allocator};
  collector_t c = {.list = out, .n_seen = (size_t)kernel->n_terms + 1};
  c.seen = hone_alloc(kernel->allocator, c.n_seen * sizeof *c.seen);
  if (!c.seen) return hone_oom();
  hone_stmt_walk(within, visit_stmt, &c);
  hone_free(kernel->allocator, c.seen, c.n_seen * sizeof *c.seen);
  return c.failed ? hone_oom() : NULL;
}

void hone_access_free(hone_access_list_t* list) {
  hone_free(list->allocator, list->items, (size_t)list->room * sizeof *list->items);
  *list = (hone_access_list_t){0};
}

bool hone_stmt_is_inside(const hone_stmt_t* inner, const hone_stmt_t* outer) {
  while (inner && inner != outer) inner = inner->parent;
  return inner != NULL;
}

hone_status_t hone_access_owners(const hone_kernel_t* kernel, hone_stmt_t** out) {
  hone_access_list_t list;
  hone_status_t status = hone_access_collect(kernel, kernel->root, &list);
  for (int i = 0; i < kernel->n_buffers; i++) out[i] = NULL;
  for (int i = 0; i < list.count; i++) {
    hone_stmt_t** owner = &out[list.items[i].buffer->id];
    hone_stmt_t* around = list.items[i].stmt;
    if (!*owner) *owner = around;
    while (!hone_stmt_is_inside(around, *owner)) *owner = (*owner)->parent;
    while (*owner != kernel->root && (*owner)->kind != HONE_STMT_LOOP) *owner = (*owner)->parent;
  }
  hone_access_free(&list);
  return status;
}

static bool same_index(const hone_buffer_t* buffer, const hone_dim_t* a, const hone_dim_t* b) {
  for (int i = 0; i < buffer->rank; i++)
    if (!hone_dim_same(a[i], b[i])) return false;
  return true;
}

int hone_access_load_number(const hone_access_list_t* list, const hone_buffer_t* buffer,
                            const hone_dim_t* index) {
  int number = 0;
  for (int i = 0; i < list->count; i++) {
    const hone_access_t* a = &list->items[i];
    bool is_new = a->buffer == buffer && !a->is_store;
    for (int k = 0; k < i && is_new; k++)
      is_new = list->items[k].buffer != buffer || list->items[k].is_store ||
               !same_index(buffer, list->items[k].index, a->index);
    number += is_new;
    if (is_new && same_index(buffer, a->index, index)) return number;
  }
  return 0;
}
