/* Gradient: of a tensor of the graph with respect to others. The inputs give
 * the values at which it is taken; they are mostly the named tensors themselves. */
#include "base/memory.h"
#include "ir/gradient.h"
#include "ops/common/scope.h"

static hone_value_t* find_value(hone_lower_t* l, const char* name) {
  hone_value_t* value = hone_scope_get(l->scope, name);
  if (!value) {
    hone_op_fail(l, "'%s' is produced by no node before this one", name);
    return NULL;
  }
  if (!hone_type_is_known(&value->type))
    return hone_fail(
        l->b, HONE_UNSUPPORTED,
        "the rank or dtype of '%s' is only known when it runs, too late for a gradient", name);
  return hone_resolve(l->b, value);
}

/* Values of the names in an attribute, in list; false when one is missing. */
static bool find_values(hone_lower_t* l, int count, const hone_string_t* names,
                        hone_value_t** list) {
  for (int i = 0; i < count; i++) {
    list[i] = find_value(l, names[i].data);
    if (!list[i]) return false;
  }
  return true;
}

/* `y` as it is at the inputs' values. */
static hone_value_t* at_inputs(hone_lower_t* l, hone_value_t* y, int count, hone_value_t** named,
                               hone_value_t** given) {
  bool same = true;
  for (int i = 0; i < count; i++) {
    given[i] = hone_resolve(l->b, l->inputs[i]);
    if (!given[i]) return NULL;
    same = same && given[i] == named[i];
    if (!hone_type_same(&given[i]->type, &named[i]->type)) {
      hone_op_fail(l, "input %d is not of the type of the tensor that it stands for", i);
      return NULL;
    }
  }
  return same ? y : hone_substitute(l->b, y, count, named, given);
}

static void lower_gradient(hone_lower_t* l) {
  int n_xs, n_zs;
  const hone_string_t* xs = hone_attr_strings(l->node, "xs", &n_xs);
  const hone_string_t* zs = hone_attr_strings(l->node, "zs", &n_zs);
  const char* y_name = hone_attr_string(l->node, "y", NULL);
  int count = n_xs + n_zs;
  if (!y_name || n_xs < 1 || l->n_inputs != count || l->n_outputs > n_xs) {
    hone_op_fail(l, "Gradient needs y, xs, and one input for each name in xs and zs");
    return;
  }
  hone_arena_t* arena = l->b->graph->arena;
  hone_value_t** named = hone_arena_array(arena, (size_t)count, sizeof *named);
  hone_value_t** given = hone_arena_array(arena, (size_t)count, sizeof *given);
  hone_value_t** out = hone_arena_array(arena, (size_t)n_xs, sizeof *out);
  if (!named || !given || !out) {
    hone_fail_status(l->b, hone_oom());
    return;
  }
  hone_value_t* y = find_value(l, y_name);
  if (!y || !find_values(l, n_xs, xs, named) || !find_values(l, n_zs, zs, named + n_xs)) return;
  y = at_inputs(l, y, count, named, given);
  if (!y) return;
  hone_gradient(l->b, y, n_xs, given, out);
  for (int i = 0; i < l->n_outputs; i++) hone_op_out(l, i, out[i]);
}

static const hone_op_t ops[] = {
    {.domain = "ai.onnx.preview.training",
     .name = "Gradient",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = -1,
     .attrs = "xs y zs",
     .flags = HONE_OP_ANY_TYPE,
     .lower = lower_gradient},
};
HONE_OP_FAMILY(training_gradient, ops)
