/* The report of a memory plan. */
#include "runtime/plan.h"

static double mb(size_t bytes) { return (double)bytes / 1e6; }

static const char* name_of(const hone_plan_t* plan, int value) {
  const char* name = plan->values[value].name;
  return name ? name : "";
}

static void print_value(const hone_plan_t* plan, int v, hone_str_t* out) {
  const hone_plan_value_t* value = &plan->values[v];
  hone_str_appendf(out, "%12zu %6d %6d %12zu  %s", value->bytes, value->first, value->last,
                   value->offset, name_of(plan, v));
  if (value->view_of >= 0)
    hone_str_appendf(out, "  (part of %s)", name_of(plan, value->view_of));
  else if (value->took_place)
    hone_str_appendf(out, "  (in place of %s)", name_of(plan, value->in_place_of));
  hone_str_append_char(out, '\n');
}

void hone_plan_print(const hone_plan_t* plan, hone_str_t* out) {
  hone_str_appendf(out, "without reuse %.2f MB, planned %.2f MB (%.1f %% saved)\n",
                   mb(plan->unshared_bytes), mb(plan->bytes), 100 * hone_plan_savings(plan));
  hone_str_appendf(out, "lower bound %.2f MB; placed %s%s; %d of %d values in place\n",
                   mb(plan->lower_bound), plan->method, plan->keeps_apart ? ", sizes apart" : "",
                   plan->n_in_place, plan->n_values);
  hone_str_appendf(out, "%12s %6s %6s %12s  %s\n", "bytes", "first", "last", "offset", "value");
  for (int v = 0; v < plan->n_values; v++) print_value(plan, v, out);
}
