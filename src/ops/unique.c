/* Unique: the different elements of a tensor, or slices along an axis, sorted
 * or by first occurrence. Slices are compared element by element; NaN comes
 * last, and one NaN is as good as another. Runs on the host. */
#include <string.h>

#include "base/float_convert.h"
#include "base/memory.h"
#include "base/merge_sort.h"
#include "ops/op.h"

/* The input seen as `count` slices of outer * inner elements each. */
typedef struct slices {
  const hone_tensor_t* x;
  hone_dtype_t dtype;
  const char* data;
  size_t size; /* bytes an element */
  int64_t outer, count, inner;
} slices_t;

/* One slice in the order of sorting. */
typedef struct entry {
  const slices_t* slices;
  int64_t index;
  int64_t group; /* number of the different slice it is equal to */
} entry_t;

static const void* element(const slices_t* s, int64_t slice, int64_t i) {
  int64_t at = ((i / s->inner) * s->count + slice) * s->inner + i % s->inner;
  return s->data + (size_t)at * s->size;
}

static int compare_strings(const hone_string_t* a, const hone_string_t* b) {
  size_t n = a->size < b->size ? a->size : b->size;
  int order = n ? memcmp(a->data, b->data, n) : 0;
  return order ? order : (a->size > b->size) - (a->size < b->size);
}

/* NaN is larger than every number. */
static int compare_doubles(double a, double b) {
  if (a < b) return -1;
  if (a > b) return 1;
  return a == b ? 0 : (a != a) - (b != b);
}

static int compare_ints(const slices_t* s, const void* a, const void* b) {
  int64_t x = 0, y = 0;
  hone_load_i64(s->dtype, a, 0, 1, &x);
  hone_load_i64(s->dtype, b, 0, 1, &y);
  if (s->dtype == HONE_U64) return ((uint64_t)x > (uint64_t)y) - ((uint64_t)x < (uint64_t)y);
  return (x > y) - (x < y);
}

static int compare_complex(const slices_t* s, const void* a, const void* b) {
  double parts[2][2];
  const void* in[2] = {a, b};
  for (int i = 0; i < 2; i++)
    for (int k = 0; k < 2; k++) {
      float narrow;
      if (s->dtype == HONE_C128)
        memcpy(&parts[i][k], (const char*)in[i] + k * 8, 8);
      else
        memcpy(&narrow, (const char*)in[i] + k * 4, 4), parts[i][k] = (double)narrow;
    }
  int order = compare_doubles(parts[0][0], parts[1][0]);
  return order ? order : compare_doubles(parts[0][1], parts[1][1]);
}

static int compare_elements(const slices_t* s, const void* a, const void* b) {
  if (s->dtype == HONE_STRING) return compare_strings(a, b);
  if (hone_dtype_is_float(s->dtype))
    return compare_doubles(hone_to_double(s->dtype, a), hone_to_double(s->dtype, b));
  if (hone_dtype_is_complex(s->dtype)) return compare_complex(s, a, b);
  return compare_ints(s, a, b);
}

static int compare_slices(const slices_t* s, int64_t a, int64_t b) {
  for (int64_t i = 0; i < s->outer * s->inner; i++) {
    int order = compare_elements(s, element(s, a, i), element(s, b, i));
    if (order) return order;
  }
  return 0;
}

/* Equal slices by position, so that the first occurrence comes first. */
static int by_content(const void* a, const void* b) {
  const entry_t *x = a, *y = b;
  int order = compare_slices(x->slices, x->index, y->index);
  return order ? order : (x->index > y->index) - (x->index < y->index);
}

static int by_index(const void* a, const void* b) {
  const entry_t *x = a, *y = b;
  return (x->index > y->index) - (x->index < y->index);
}

/* ---- the four outputs ---- */

typedef struct result {
  int64_t groups;
  int64_t *first, *inverse, *counts;
} result_t;

/* Numbers the groups in the wanted order and fills the lists. */
static void number_groups(entry_t* entries, const slices_t* s, bool sorted, int64_t* rename,
                          result_t* r) {
  for (int64_t i = 0; i < s->count; i++) {
    bool same = i > 0 && compare_slices(s, entries[i - 1].index, entries[i].index) == 0;
    entries[i].group = i == 0 ? 0 : entries[i - 1].group + !same;
    rename[i] = -1;
  }
  int64_t groups = s->count ? entries[s->count - 1].group + 1 : 0;
  hone_merge_sort(entries, entries + s->count, (size_t)s->count, sizeof *entries, by_index);
  r->groups = 0;
  for (int64_t i = 0; i < s->count; i++) {
    int64_t* name = &rename[entries[i].group];
    if (*name < 0) {
      *name = sorted ? entries[i].group : r->groups;
      r->groups++;
      r->first[*name] = i;
    }
    r->inverse[i] = *name;
    r->counts[*name]++;
  }
  r->groups = groups;
}

static hone_status_t make_list(hone_host_call_t* call, int output, int64_t count,
                               const int64_t* list) {
  if (output >= call->n_outputs) return NULL;
  HONE_TRY(hone_tensor_create(call->allocator, HONE_I64, 1, &count, &call->outputs[output]));
  if (count) memcpy(hone_tensor_data(call->outputs[output]), list, (size_t)count * sizeof *list);
  return NULL;
}

static hone_status_t copy_element(hone_tensor_t* out, int64_t at, const slices_t* s,
                                  const void* from) {
  if (s->dtype == HONE_STRING) {
    const hone_string_t* text = from;
    return hone_tensor_set_string(out, at, text->data, text->size);
  }
  memcpy((char*)hone_tensor_data(out) + (size_t)at * s->size, from, s->size);
  return NULL;
}

static hone_status_t make_values(hone_host_call_t* call, const slices_t* s, int axis,
                                 const result_t* r) {
  int64_t dims[HONE_MAX_RANK] = {r->groups};
  int rank = axis < 0 ? 1 : hone_tensor_rank(s->x);
  for (int i = 0; axis >= 0 && i < rank; i++)
    dims[i] = i == axis ? r->groups : hone_tensor_dims(s->x)[i];
  HONE_TRY(hone_tensor_create(call->allocator, s->dtype, rank, dims, &call->outputs[0]));
  for (int64_t g = 0; g < r->groups; g++)
    for (int64_t i = 0; i < s->outer * s->inner; i++) {
      int64_t at = ((i / s->inner) * r->groups + g) * s->inner + i % s->inner;
      HONE_TRY(copy_element(call->outputs[0], at, s, element(s, r->first[g], i)));
    }
  return NULL;
}

static hone_status_t make_outputs(hone_host_call_t* call, const slices_t* s, int axis,
                                  const result_t* r) {
  HONE_TRY(make_values(call, s, axis, r));
  HONE_TRY(make_list(call, 1, r->groups, r->first));
  HONE_TRY(make_list(call, 2, s->count, r->inverse));
  return make_list(call, 3, r->groups, r->counts);
}

static slices_t see_as_slices(const hone_tensor_t* x, int axis) {
  slices_t s = {.x = x,
                .dtype = hone_tensor_dtype(x),
                .data = hone_tensor_data(x),
                .size = hone_dtype_size(hone_tensor_dtype(x)),
                .outer = 1,
                .count = 1,
                .inner = 1};
  if (axis < 0) s.count = hone_tensor_count(x);
  for (int i = 0; axis >= 0 && i < hone_tensor_rank(x); i++) {
    int64_t* part = i < axis ? &s.outer : i == axis ? &s.count : &s.inner;
    *part *= hone_tensor_dims(x)[i];
  }
  return s;
}

static hone_status_t run_unique(hone_host_call_t* call) {
  const hone_tensor_t* x = call->inputs[0];
  int64_t axis = -1;
  if (hone_attr_has(call->node, "axis")) {
    axis = hone_attr_int(call->node, "axis", 0);
    if (axis < 0) axis += hone_tensor_rank(x);
    if (axis < 0 || axis >= hone_tensor_rank(x))
      return hone_status_make(HONE_INVALID_MODEL, "Unique: axis is outside of a tensor of rank %d",
                              hone_tensor_rank(x));
  }
  slices_t s = see_as_slices(x, (int)axis);
  size_t n = (size_t)s.count + 1, entries_size = 2 * n * sizeof(entry_t);
  entry_t* entries = hone_alloc(call->allocator, entries_size);
  int64_t* lists = hone_alloc(call->allocator, 4 * n * sizeof *lists);
  hone_status_t status = entries && lists ? NULL : hone_oom();
  if (!status) {
    result_t r = {.first = lists, .inverse = lists + n, .counts = lists + 2 * n};
    for (int64_t i = 0; i < s.count; i++) entries[i] = (entry_t){.slices = &s, .index = i};
    hone_merge_sort(entries, entries + s.count, (size_t)s.count, sizeof *entries, by_content);
    bool sorted = hone_attr_int(call->node, "sorted", 1) != 0;
    number_groups(entries, &s, sorted, lists + 3 * n, &r);
    status = make_outputs(call, &s, (int)axis, &r);
  }
  hone_free(call->allocator, entries, entries_size);
  hone_free(call->allocator, lists, 4 * n * sizeof *lists);
  return status;
}

static uint64_t working_bytes(const hone_onnx_node_t* node, int n_inputs,
                              const hone_extents_t* inputs) {
  if (n_inputs < 1) return 0;
  uint64_t count = 1;
  int64_t axis = hone_attr_int(node, "axis", 0);
  if (axis < 0) axis += inputs[0].rank;
  for (int i = 0; i < inputs[0].rank; i++)
    if (!hone_attr_has(node, "axis") || i == axis) count *= (uint64_t)inputs[0].dims[i];
  return (count + 1) * (2 * sizeof(entry_t) + 4 * sizeof(int64_t));
}

static void lower_unique(hone_lower_t* l) {
  hone_value_t* x = hone_op_in(l, 0);
  hone_dim_t open = hone_d(-1), shape[HONE_MAX_RANK];
  hone_type_t types[4];
  bool flat = !hone_attr_has(l->node, "axis");
  int rank = hone_rank(x), axis = 0;
  if (!flat) axis = hone_axis(l->b, hone_attr_int(l->node, "axis", 0), rank);
  for (int i = 0; i < rank; i++) shape[i] = i == axis ? open : hone_dim(x, i);
  types[0] = hone_type_tensor(hone_dtype_of(x), flat ? 1 : rank, flat ? &open : shape);
  for (int i = 1; i < 4; i++) types[i] = hone_type_tensor(HONE_I64, 1, &open);
  hone_dim_t count = flat ? hone_elements(l->b, x) : rank ? hone_dim(x, axis) : hone_d(1);
  types[2].dims = &count;
  if (l->n_outputs > 4)
    hone_op_fail(l, "%d outputs; there are 4", l->n_outputs);
  else
    hone_op_host(l, types);
}

static const hone_op_t ops[] = {
    {.name = "Unique",
     .min_opset = 11,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "axis sorted",
     .lower = lower_unique,
     .host = run_unique,
     .host_bytes = working_bytes},
};
HONE_OP_FAMILY(unique, ops)
