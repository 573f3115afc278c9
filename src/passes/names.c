/* Names: the builder gives a long extent a short name, a symbol that the value
 * binds, and a node that binds symbols stays out of kernels. Here a list of what
 * the extents are, in front of the node, binds them instead: it is computed
 * from other sizes before the node runs, which then is like any other. */
#include "base/memory.h"
#include "ir/infer.h"
#include "passes/common/match.h"
#include "passes/common/rewrite.h"

enum { MOST_NAMES = HONE_MAX_RANK };

/* The binds of one value that can be taken from it. */
typedef struct names {
  int count;
  int symbols[MOST_NAMES];
  hone_dim_t extents[MOST_NAMES];
} names_t;

typedef struct look {
  int symbol;    /* that is to be told */
  int n_symbols; /* that there were before it was asked */
  bool fine;
} look_t;

static void see_symbol(void* self, const hone_symbol_t* symbol) {
  look_t* look = self;
  if (symbol->id == look->symbol || symbol->id >= look->n_symbols) look->fine = false;
}

/* Whether the extent follows from other sizes. */
static bool is_told(hone_dim_t extent, int symbol, int n_symbols) {
  look_t look = {.symbol = symbol, .n_symbols = n_symbols, .fine = !hone_dim_is_bad(extent)};
  hone_dim_visit_symbols(extent, see_symbol, &look);
  return look.fine;
}

static bool may_have_names(const hone_node_t* node) {
  hone_prim_family_t family = hone_prim_info(node->prim)->family;
  if (family == HONE_FAMILY_SOURCE) return node->prim == HONE_PRIM_IOTA;
  return family != HONE_FAMILY_CONTROL && node->prim != HONE_PRIM_HOST &&
         node->prim != HONE_PRIM_CALL && node->n_outputs == 1;
}

/* Takes binds from the value and lists them. */
static void take_names(const hone_type_t* type, int n_symbols, hone_value_t* value,
                       names_t* names) {
  for (hone_bind_t **at = &value->binds, *bind; (bind = *at);) {
    bool told = bind->is_dim && bind->index < type->rank && names->count < MOST_NAMES &&
                is_told(type->dims[bind->index], bind->symbol, n_symbols);
    if (!told) {
      at = &bind->next;
      continue;
    }
    names->symbols[names->count] = bind->symbol;
    names->extents[names->count++] = type->dims[bind->index];
    *at = bind->next;
  }
}

static hone_status_t bind_names(hone_rewriter_t* r, const names_t* names) {
  hone_value_t* list = hone_dims_value(r->b, names->count, names->extents);
  for (int i = 0; list && i < names->count; i++)
    HONE_TRY(hone_value_bind(r->graph, list, names->symbols[i], false, i));
  return NULL;
}

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  if (!may_have_names(node) || !node->outputs[0]->binds) return NULL;
  hone_type_t types[HONE_MAX_INFERRED];
  names_t names = {.count = 0};
  int n_symbols = hone_dims_symbol_count(r->graph->dims);
  hone_status_t status = hone_infer(r->graph, node, types);
  if (!status && hone_type_is_known(&types[0])) {
    take_names(&types[0], n_symbols, node->outputs[0], &names);
    if (names.count) status = bind_names(r, &names);
    for (int i = 0; i < names.count; i++)
      hone_pass_did(r->context, node, "%s is computed in front of it",
                    hone_dims_symbol(r->graph->dims, names.symbols[i])->name);
  }
  if (status) hone_fail_status(r->b, status);
  return NULL;
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  HONE_TRY(hone_rewrite_once(context, graph, rule, NULL));
  if (context->count)
    hone_pass_note(context, "%lld extents are computed in front of their nodes",
                   (long long)context->count);
  return NULL;
}

extern const hone_pass_t hone_pass_names;
const hone_pass_t hone_pass_names = {
    .name = "names",
    .summary = "short names of long extents are bound before their nodes run, which may be fused",
    .phases = {HONE_PHASE_CLEAN + 14, HONE_PHASE_TIDY + 95},
    .run = run,
};
