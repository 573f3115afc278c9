/* Names: one map a scope; enclosing scopes are asked in turn. */
#include "ops/common/scope.h"

#include <string.h>

bool hone_scope_set(hone_scope_t* scope, const char* name, hone_value_t* value) {
  if (!scope->names.arena) hone_map_init_arena(&scope->names, scope->b->graph->arena);
  hone_status_t status = hone_map_put(&scope->names, name, value);
  if (status) hone_fail_status(scope->b, status);
  return !status;
}

hone_value_t* hone_scope_get(const hone_scope_t* scope, const char* name) {
  for (; scope; scope = scope->parent) {
    const hone_map_entry_t* entry = hone_map_find(&scope->names, name);
    if (entry) return entry->value;
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
