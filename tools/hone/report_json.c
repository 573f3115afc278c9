/* Reports for machines. Seconds and bytes are plain numbers; what is not known is null. */
#include <string.h>

#include "reporting.h"

static void set_text(json_t* object, const char* key, const char* text) {
  json_object_set_new(object, key, hone_json_string(text));
}

static void set_bytes(json_t* object, const char* key, uint64_t bytes) {
  json_object_set_new(object, key, json_integer((json_int_t)bytes));
}

static void set_number(json_t* object, const char* key, double number) {
  json_object_set_new(object, key, json_real(number));
}

/* What is 0 where nobody knows it. */
static void set_known(json_t* object, const char* key, double number) {
  json_object_set_new(object, key, number > 0 ? json_real(number) : json_null());
}

static void set_text_or_null(json_t* object, const char* key, const char* text) {
  set_text(object, key, text && text[0] ? text : NULL);
}

json_t* hone_json_subject(const hone_reporting_t* r) {
  json_t *object = json_object(), *sizes = json_object();
  const hone_report_device_t* device = hone_report_device(r->report);
  set_text(object, "model", r->run.subject.path);
  set_text(object, "device", device->name);
  set_text_or_null(object, "target", device->target);
  const char* name;
  for (int i = 0; (name = hone_report_size_name(r->report, i)); i++) {
    json_t* key = hone_json_string(name);
    if (!key) continue;
    json_object_set_new(sizes, json_string_value(key),
                        json_integer(hone_report_size(r->report, name)));
    json_decref(key);
  }
  json_object_set_new(object, "sizes", sizes);
  return object;
}

json_t* hone_json_memory(const hone_report_t* report) {
  const hone_report_memory_t* m = hone_report_memory(report);
  const hone_usage_t usage = hone_report_usage(report);
  if (!hone_report_is_compiled(report)) return json_null();
  json_t* object = json_object();
  set_bytes(object, "weights", m->weights);
  set_bytes(object, "copied", m->copied);
  set_bytes(object, "planned", m->planned);
  set_bytes(object, "unshared", m->unshared);
  set_bytes(object, "least", m->least);
  set_bytes(object, "heap", m->heap);
  set_bytes(object, "inputs", m->inputs);
  set_bytes(object, "outputs", m->outputs);
  set_bytes(object, "tables", m->tables);
  set_bytes(object, "stacks", m->stacks);
  set_bytes(object, "total", m->total);
  json_object_set_new(object, "has_unknown", json_boolean(m->has_unknown));
  json_object_set_new(object, "values", json_integer(m->n_values));
  json_object_set_new(object, "in_place", json_integer(m->n_in_place));
  uint64_t fixed = m->total - m->planned;
  set_number(object, "original_memory_mb", (double)(fixed + m->unshared) / 1e6);
  set_number(object, "optimized_memory_mb", (double)m->total / 1e6);
  set_number(object, "savings_percentage",
             m->unshared ? 100.0 * (1 - (double)m->planned / (double)m->unshared) : 0);
  set_number(object, "peak_memory_mb", (double)m->total / 1e6);
  set_number(object, "average_memory_mb", ((double)fixed + usage.average_bytes) / 1e6);
  set_number(object, "memory_efficiency", usage.memory_efficiency);
  set_number(object, "memory_fragmentation", usage.fragmentation);
  return object;
}

json_t* hone_json_unknown(const hone_report_t* report) {
  json_t* array = json_array();
  for (int i = 0; i < hone_report_unknown_count(report); i++) {
    const hone_report_unknown_t* unknown = hone_report_unknown(report, i);
    json_t* object = json_object();
    set_text(object, "step", unknown->step);
    set_text(object, "node", unknown->origin);
    set_text_or_null(object, "value", unknown->value);
    set_text_or_null(object, "type", unknown->type);
    json_object_set_new(object, "most",
                        unknown->most < 0 ? json_null() : json_integer(unknown->most));
    json_array_append_new(array, object);
  }
  return array;
}

json_t* hone_json_values(const hone_report_t* report) {
  json_t* array = json_array();
  for (int i = 0; i < hone_report_value_count(report); i++) {
    const hone_report_value_t* value = hone_report_value(report, i);
    json_t* object = json_object();
    set_text(object, "name", value->name);
    set_bytes(object, "bytes", value->bytes);
    json_object_set_new(object, "routine", json_integer(value->routine));
    json_object_set_new(object, "first", json_integer(value->first));
    json_object_set_new(object, "last", json_integer(value->last));
    json_object_set_new(object, "begin", json_integer(value->begin));
    json_object_set_new(object, "end", json_integer(value->end));
    set_bytes(object, "block", value->block);
    set_bytes(object, "block_bytes", value->block_bytes);
    json_object_set_new(object, "blocks", json_integer(value->blocks));
    json_object_set_new(object, "offset",
                        value->is_planned ? json_integer((json_int_t)value->offset) : json_null());
    set_text(object, "in_place_of", value->in_place);
    json_array_append_new(array, object);
  }
  return array;
}

json_t* hone_json_device(const hone_report_t* report) {
  const hone_report_device_t* device = hone_report_device(report);
  json_t *object = json_object(), *levels = json_array();
  json_object_set_new(object, "threads", json_integer(device->threads));
  set_known(object, "gflops", device->gflops);
  set_known(object, "gflops_one_thread", device->gflops_one);
  set_known(object, "gflops_bf16", device->gflops_bf16);
  set_known(object, "gflops_int8", device->gflops_int8);
  for (int i = 0; i < device->n_levels; i++) {
    json_t* level = json_object();
    set_known(level, "up_to_bytes", device->level_bytes[i]);
    set_number(level, "gbytes", device->level_gbytes[i]);
    json_array_append_new(levels, level);
  }
  json_object_set_new(object, "memory", levels);
  set_text_or_null(object, "source", device->source);
  return object;
}

json_t* hone_json_times(const hone_report_t* report) {
  const hone_report_times_t* times = hone_report_times(report);
  if (!times->runs) return json_null();
  const hone_usage_t usage = hone_report_usage(report);
  json_t* object = json_object();
  json_object_set_new(object, "runs", json_integer(times->runs));
  set_number(object, "median_ms", times->whole * 1e3);
  set_number(object, "profiled_ms", times->profiled * 1e3);
  set_number(object, "kernels_ms", times->kernels * 1e3);
  set_known(object, "launch_ms", times->launches * 1e3);
  set_number(object, "interpreted_ms", times->interpreted * 1e3);
  set_number(object, "host_ms", times->host * 1e3);
  set_number(object, "rest_ms", times->rest * 1e3);
  set_number(object, "kernel_coverage", usage.kernel_share);
  return object;
}

static json_t* node_list(const char* nodes) {
  json_t* array = json_array();
  for (const char* end; (end = strchr(nodes, '\n')); nodes = end + 1)
    json_array_append_new(array, hone_json_text(nodes, (size_t)(end - nodes)));
  return array;
}

static json_t* step_object(const hone_report_t* report, int index) {
  const hone_report_step_t* step = hone_report_step(report, index);
  const hone_report_times_t* times = hone_report_times(report);
  json_t* object = json_object();
  char type[64];
  hone_step_type(step, type);
  json_object_set_new(object, "step", json_integer(index));
  set_text(object, "kind", step->kind);
  set_text(object, "name", step->name);
  set_text(object, "type", type);
  json_object_set_new(object, "nodes", node_list(step->nodes));
  json_object_set_new(object, "routine", json_integer(step->routine));
  set_text_or_null(object, "tactic", step->tactic);
  set_text_or_null(object, "why", step->why);
  json_object_set_new(object, "turns", step->turns ? json_integer(step->turns) : json_null());
  set_number(object, "arithmetic", step->arithmetic);
  set_number(object, "transcendental", step->transcendental);
  set_number(object, "read_bytes", step->read);
  set_number(object, "written_bytes", step->written);
  set_known(object, "predicted_ms", step->predicted * 1e3);
  set_known(object, "limit_ms", step->limit * 1e3);
  set_text_or_null(object, "bound", step->bound);
  if (!times->runs) return object;
  set_number(object, "execution_time_ms", step->seconds * 1e3);
  set_known(object, "device_ms", step->device_seconds * 1e3);
  set_known(object, "launch_ms", step->launch_seconds * 1e3);
  set_number(object, "percentage_of_total",
             times->profiled > 0 ? 100 * step->seconds / times->profiled : 0);
  set_number(object, "runs", step->runs);
  set_known(object, "share_of_limit", hone_step_share(step));
  return object;
}

json_t* hone_json_steps(const hone_report_t* report, const char* filter) {
  json_t* array = json_array();
  for (int i = 0; i < hone_report_step_count(report); i++)
    if (hone_step_matches(hone_report_step(report, i), filter))
      json_array_append_new(array, step_object(report, i));
  return array;
}

json_t* hone_json_nodes(const hone_report_t* report, const char* filter) {
  json_t* array = json_array();
  for (int i = 0; i < hone_report_node_count(report); i++) {
    const hone_report_node_t* node = hone_report_node(report, i);
    if (filter && !strstr(node->name, filter)) continue;
    json_t* object = json_object();
    set_text(object, "node", node->name);
    json_object_set_new(object, "step", node->step >= 0 ? json_integer(node->step) : json_null());
    set_text_or_null(object, "pass", node->pass);
    set_text_or_null(object, "what", node->what);
    json_array_append_new(array, object);
  }
  return array;
}
