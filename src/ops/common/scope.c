/* Names: an open-addressing table a scope, in the graph's arena. */
#include "ops/common/scope.h"

#include <string.h>

#include "base/memory.h"

static uint64_t hash_name(const char* name) { /* FNV-1a */
  uint64_t h = 1469598103934665603u;
  for (; *name; name++) h = (h ^ (unsigned char)*name) * 1099511628211u;
  return h;
}

/* The entry of `name`, or the free one where it belongs. */
static hone_scope_entry_t* find_entry(const hone_scope_t* scope, const char* name) {
  size_t i = hash_name(name) & (scope->room - 1);
  while (scope->entries[i].name && strcmp(scope->entries[i].name, name) != 0)
    i = (i + 1) & (scope->room - 1);
  return &scope->entries[i];
}

/* Keeps the table at most half full. */
static bool grow(hone_scope_t* scope) {
  hone_scope_t bigger = *scope;
  bigger.room = scope->room ? scope->room * 2 : 16;
  bigger.entries = hone_arena_array(scope->b->graph->arena, bigger.room, sizeof *bigger.entries);
  if (!bigger.entries) return false;
  for (size_t i = 0; i < scope->room; i++)
    if (scope->entries[i].name) *find_entry(&bigger, scope->entries[i].name) = scope->entries[i];
  *scope = bigger;
  return true;
}

bool hone_scope_set(hone_scope_t* scope, const char* name, hone_value_t* value) {
  if (scope->count * 2 >= scope->room && !grow(scope)) {
    hone_fail_status(scope->b, hone_oom());
    return false;
  }
  hone_scope_entry_t* entry = find_entry(scope, name);
  if (!entry->name) scope->count++;
  *entry = (hone_scope_entry_t){name, value};
  return true;
}

hone_value_t* hone_scope_get(const hone_scope_t* scope, const char* name) {
  for (; scope; scope = scope->parent) {
    if (!scope->room) continue;
    const hone_scope_entry_t* entry = find_entry(scope, name);
    if (entry->name) return entry->value;
  }
  return NULL;
}

int64_t hone_scope_opset(const hone_scope_t* scope, const char* domain) {
  for (int i = 0; i < scope->n_opsets; i++)
    if (strcmp(scope->opsets[i].domain, domain) == 0) return scope->opsets[i].version;
  return 0;
}

hone_value_t* hone_scope_output(hone_scope_t* scope, const char* name) {
  hone_value_t* value = hone_scope_get(scope, name);
  if (!value && hone_builder_ok(scope->b))
    hone_fail(scope->b, HONE_INVALID_MODEL, "output '%s' is produced by no node", name);
  return value;
}
