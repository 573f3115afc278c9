/* Collecting origins. What passes make of two nodes has both: "a (Mul) + b (Conv)". */
#include "runtime/origins.h"

#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "base/str.h"

typedef struct origins {
  hone_map_t seen;
  hone_str_t text;
} origins_t;

static hone_status_t add_label(origins_t* o, const char* label, size_t length) {
  if (!length || hone_map_find_n(&o->seen, label, length)) return NULL;
  HONE_TRY(hone_map_put_n(&o->seen, label, length, o));
  hone_str_append_n(&o->text, label, length);
  hone_str_append_char(&o->text, '\n');
  return NULL;
}

static hone_status_t add_origin(origins_t* o, const char* origin) {
  static const char between[] = ") + "; /* names may hold anything, but few hold this */
  for (const char* next; origin && (next = strstr(origin, between)); origin = next + 4)
    HONE_TRY(add_label(o, origin, (size_t)(next + 1 - origin)));
  return origin ? add_label(o, origin, strlen(origin)) : NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as regions are */
static hone_status_t add_node(origins_t* o, const hone_node_t* node) {
  HONE_TRY(add_origin(o, node->origin));
  for (int r = 0; r < node->n_regions; r++)
    for (int i = 0; i < node->regions[r]->n_nodes; i++)
      HONE_TRY(add_node(o, node->regions[r]->nodes[i]));
  return NULL;
}

hone_status_t hone_node_origins(const hone_node_t* node, hone_arena_t* arena,
                                const char** out_text) {
  origins_t o;
  hone_map_init(&o.seen, NULL);
  hone_str_init(&o.text, NULL);
  hone_status_t status = add_node(&o, node);
  *out_text = status || o.text.failed ? NULL : hone_arena_strdup(arena, hone_str_text(&o.text));
  hone_map_free(&o.seen);
  hone_str_free(&o.text);
  return status || *out_text ? status : hone_oom();
}
