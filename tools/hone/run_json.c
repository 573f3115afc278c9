/* The report of `hone run` for machines. Numbers that JSON has no form for
 * (NaN, infinities) are null. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/float_convert.h"
#include "ir/type_text.h"
#include "json.h"
#include "run.h"
#include "stats.h"

enum { TYPE_SIZE = 256, MAX_VALUES = 16, MAX_DEPTH = 16 };

static json_t* number(double value) { return isfinite(value) ? json_real(value) : json_null(); }

static json_t* value_at(const hone_tensor_t* tensor, int64_t index) {
  hone_dtype_t dtype = hone_tensor_dtype(tensor);
  const char* element =
      (const char*)hone_tensor_data(tensor) + (size_t)index * hone_dtype_size(dtype);
  int64_t integer = 0;
  if (dtype == HONE_STRING) {
    const hone_string_t* string = (const hone_string_t*)(const void*)element;
    return hone_json_text(string->data, string->size);
  }
  if (hone_dtype_is_complex(dtype)) {
    char shown[HONE_NUMBER_SIZE];
    hone_value_print_number(tensor, index, shown);
    return json_string(shown);
  }
  if (hone_dtype_is_float(dtype)) return number(hone_to_double(dtype, element));
  hone_load_i64(dtype, element, 0, 1, &integer);
  if (dtype == HONE_BOOL) return json_boolean(integer);
  if (dtype == HONE_U64 && integer < 0) return json_real((double)(uint64_t)integer);
  return json_integer(integer);
}

static json_t* first_values(const hone_tensor_t* tensor) {
  json_t* array = json_array();
  for (int64_t i = 0; i < hone_tensor_count(tensor) && i < MAX_VALUES; i++)
    json_array_append_new(array, value_at(tensor, i));
  return array;
}

static json_t* shape(const hone_tensor_t* tensor) {
  json_t* array = json_array();
  for (int i = 0; i < hone_tensor_rank(tensor); i++)
    json_array_append_new(array, json_integer(hone_tensor_dims(tensor)[i]));
  return array;
}

static void put_stats(json_t* object, const hone_tensor_t* tensor) {
  hone_stats_t stats;
  if (!hone_stats_find(tensor, &stats)) return;
  bool any = stats.finite > 0;
  json_object_set_new(object, "min", any ? number(stats.min) : json_null());
  json_object_set_new(object, "mean", any ? number(stats.mean) : json_null());
  json_object_set_new(object, "max", any ? number(stats.max) : json_null());
  json_object_set_new(object, "nan", json_integer(stats.nan));
  json_object_set_new(object, "infinite", json_integer(stats.infinite));
}

static json_t* describe(const hone_tensor_t* tensor, int depth);

/* Sequences: their items; maps: keys and values. */
static void put_items(json_t* object, const hone_tensor_t* tensor, int depth) {
  json_t* items = json_array();
  for (int64_t i = 0; i < hone_tensor_count(tensor) && i < MAX_VALUES && depth < MAX_DEPTH; i++)
    json_array_append_new(items, describe(hone_sequence_item(tensor, i), depth + 1));
  json_object_set_new(object, "items", items);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as MAX_DEPTH */
static json_t* describe(const hone_tensor_t* tensor, int depth) {
  json_t* object = json_object();
  char type[TYPE_SIZE];
  hone_tensor_type_print(tensor, type, sizeof type);
  json_object_set_new(object, "type", hone_json_text(type, strlen(type)));
  json_object_set_new(object, "count", json_integer(hone_tensor_count(tensor)));
  if (hone_tensor_kind(tensor) == HONE_KIND_TENSOR) {
    json_object_set_new(object, "dtype", json_string(hone_dtype_name(hone_tensor_dtype(tensor))));
    json_object_set_new(object, "shape", shape(tensor));
    put_stats(object, tensor);
    json_object_set_new(object, "values", first_values(tensor));
  } else if (hone_tensor_kind(tensor) != HONE_KIND_NONE) {
    put_items(object, tensor, depth);
  }
  return object;
}

static json_t* describe_top(const hone_top_t* top) {
  json_t* rows = json_array();
  for (int64_t r = 0; r < top->rows; r++) {
    json_t* row = json_array();
    for (int64_t i = 0; i < top->size; i++) {
      const hone_top_entry_t* entry = &top->entries[r * top->size + i];
      json_t* item = json_object();
      json_object_set_new(item, "class", json_integer(entry->index));
      json_object_set_new(item, "label", hone_json_string(entry->label));
      json_object_set_new(item, "probability", number(entry->probability));
      json_array_append_new(row, item);
    }
    json_array_append_new(rows, row);
  }
  return rows;
}

json_t* hone_json_inputs(const hone_run_t* run) {
  json_t* array = json_array();
  for (int i = 0; i < run->n_inputs; i++) {
    json_t* object = json_object();
    char type[TYPE_SIZE];
    hone_tensor_type_print(run->inputs[i], type, sizeof type);
    json_object_set_new(object, "name", hone_json_string(hone_session_input_name(run->session, i)));
    json_object_set_new(object, "type", hone_json_string(type));
    json_object_set_new(object, "from", hone_json_string(run->sources[i]));
    json_array_append_new(array, object);
  }
  return array;
}

static json_t* describe_output(const hone_run_output_t* output) {
  json_t* object = describe(output->tensor, 0);
  json_object_set_new(object, "name", hone_json_string(output->name));
  if (output->path || output->archive)
    json_object_set_new(object, "file",
                        hone_json_string(output->path ? output->path : output->archive));
  if (output->top_k) {
    json_object_set_new(object, "top", describe_top(&output->top));
    json_object_set_new(object, "top_by",
                        json_string(output->top.softmax ? "softmax" : "probability"));
  }
  return object;
}

static json_t* describe_run(const hone_run_t* run) {
  json_t* root = json_object();
  double best, median;
  hone_run_times(run, &best, &median);
  json_object_set_new(root, "model", hone_json_string(hone_cli_argument(run->cli, 0)));
  json_object_set_new(root, "device", hone_json_string(run->subject.device));
  json_object_set_new(root, "runs", json_integer(run->n_runs));
  json_object_set_new(root, "best_ms", number(best));
  json_object_set_new(root, "median_ms", number(median));
  json_object_set_new(root, "inputs", hone_json_inputs(run));
  json_t* outputs = json_array();
  for (int i = 0; i < run->n_outputs; i++)
    json_array_append_new(outputs, describe_output(&run->outputs[i]));
  json_object_set_new(root, "outputs", outputs);
  return root;
}

hone_status_t hone_run_print_json(const hone_run_t* run) {
  return hone_json_print(describe_run(run));
}
