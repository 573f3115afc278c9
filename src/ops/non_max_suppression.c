/* NonMaxSuppression: for each batch and class, boxes by falling score, without
 * those that overlap an earlier one too much. How many remain depends on the
 * data at every step, so this runs on the host. */
#include <string.h>

#include "base/memory.h"
#include "base/merge_sort.h"
#include "ops/op.h"

typedef struct box {
  float left, right, low, high;
} box_t;

typedef struct candidate {
  float score;
  int64_t index;
} candidate_t;

typedef struct search {
  const float *boxes, *scores;
  int64_t n_batches, n_classes, n_boxes;
  int64_t limit; /* boxes kept for each class */
  float overlap; /* intersection over union above which a box goes */
  bool has_threshold, centered;
  float threshold;
  candidate_t* candidates; /* n_boxes, and as many to sort them */
  int64_t* kept;           /* n_boxes: of the class at hand */
  int64_t* rows;           /* result: batch, class, box */
  int64_t n_rows, room;
} search_t;

static int by_score(const void* a, const void* b) {
  const candidate_t *x = a, *y = b;
  if (x->score != y->score) return x->score > y->score ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

static box_t read_box(const search_t* s, const float* v) {
  if (s->centered)
    return (box_t){v[0] - v[2] / 2, v[0] + v[2] / 2, v[1] - v[3] / 2, v[1] + v[3] / 2};
  box_t box = {v[1], v[3], v[0], v[2]};
  if (v[1] > v[3]) box.left = v[3], box.right = v[1];
  if (v[0] > v[2]) box.low = v[2], box.high = v[0];
  return box;
}

static float area(const box_t* box) { return (box->right - box->left) * (box->high - box->low); }

static bool overlaps(const search_t* s, const float* boxes, int64_t i, int64_t k) {
  box_t a = read_box(s, boxes + 4 * i), b = read_box(s, boxes + 4 * k);
  box_t common = {a.left > b.left ? a.left : b.left, a.right < b.right ? a.right : b.right,
                  a.low > b.low ? a.low : b.low, a.high < b.high ? a.high : b.high};
  if (common.right <= common.left || common.high <= common.low) return false;
  float shared = area(&common), all = area(&a) + area(&b) - shared;
  if (area(&a) <= 0 || area(&b) <= 0 || all <= 0) return false;
  return shared / all > s->overlap;
}

static bool add_row(hone_host_call_t* call, search_t* s, int64_t batch, int64_t class_index,
                    int64_t box) {
  if (s->n_rows == s->room) {
    int64_t room = s->room ? s->room * 2 : 64;
    size_t row = 3 * sizeof *s->rows;
    int64_t* rows =
        hone_realloc(call->allocator, s->rows, (size_t)s->room * row, (size_t)room * row);
    if (!rows) return false;
    s->rows = rows;
    s->room = room;
  }
  int64_t* at = s->rows + 3 * s->n_rows++;
  at[0] = batch;
  at[1] = class_index;
  at[2] = box;
  return true;
}

static int64_t collect(search_t* s, const float* scores) {
  int64_t n = 0;
  for (int64_t i = 0; i < s->n_boxes; i++)
    if (!s->has_threshold || scores[i] > s->threshold)
      s->candidates[n++] = (candidate_t){scores[i], i};
  hone_merge_sort(s->candidates, s->candidates + s->n_boxes, (size_t)n, sizeof *s->candidates,
                  by_score);
  return n;
}

static bool select_class(hone_host_call_t* call, search_t* s, int64_t batch, int64_t class_index) {
  const float* boxes = s->boxes + batch * s->n_boxes * 4;
  int64_t n = collect(s, s->scores + (batch * s->n_classes + class_index) * s->n_boxes);
  int64_t kept = 0;
  for (int64_t i = 0; i < n && kept < s->limit; i++) {
    int64_t box = s->candidates[i].index, k = 0;
    while (k < kept && !overlaps(s, boxes, box, s->kept[k])) k++;
    if (k < kept) continue;
    s->kept[kept++] = box;
    if (!add_row(call, s, batch, class_index, box)) return false;
  }
  return true;
}

static const hone_tensor_t* optional(const hone_host_call_t* call, int index) {
  const hone_tensor_t* tensor = index < call->n_inputs ? call->inputs[index] : NULL;
  return tensor && hone_tensor_count(tensor) > 0 ? tensor : NULL;
}

static hone_status_t read_inputs(const hone_host_call_t* call, search_t* s) {
  const hone_tensor_t *boxes = call->inputs[0], *scores = call->inputs[1];
  const int64_t *b = hone_tensor_dims(boxes), *c = hone_tensor_dims(scores);
  if (hone_tensor_dtype(boxes) != HONE_F32 || hone_tensor_dtype(scores) != HONE_F32 ||
      hone_tensor_rank(boxes) != 3 || hone_tensor_rank(scores) != 3 || b[2] != 4 || b[0] != c[0] ||
      b[1] != c[2])
    return hone_status_make(HONE_INVALID_MODEL,
                            "NonMaxSuppression needs f32 boxes [N, B, 4] and scores [N, C, B]");
  const hone_tensor_t *limit = optional(call, 2), *overlap = optional(call, 3);
  const hone_tensor_t* threshold = optional(call, 4);
  s->boxes = hone_tensor_data(boxes);
  s->scores = hone_tensor_data(scores);
  s->n_batches = c[0];
  s->n_classes = c[1];
  s->n_boxes = c[2];
  s->limit = limit ? hone_tensor_i64(limit, 0) : 0;
  s->overlap = overlap ? (float)hone_tensor_f64(overlap, 0) : 0;
  s->has_threshold = threshold != NULL;
  s->threshold = threshold ? (float)hone_tensor_f64(threshold, 0) : 0;
  s->centered = hone_attr_int(call->node, "center_point_box", 0) != 0;
  return NULL;
}

static hone_status_t make_result(hone_host_call_t* call, const search_t* s) {
  int64_t dims[2] = {s->n_rows, 3};
  HONE_TRY(hone_tensor_create(call->allocator, HONE_I64, 2, dims, &call->outputs[0]));
  if (s->n_rows)
    memcpy(hone_tensor_data(call->outputs[0]), s->rows, (size_t)s->n_rows * 3 * sizeof *s->rows);
  return NULL;
}

static hone_status_t run_non_max_suppression(hone_host_call_t* call) {
  search_t s = {0};
  HONE_TRY(read_inputs(call, &s));
  size_t room = (size_t)s.n_boxes;
  s.candidates = hone_alloc(call->allocator, (2 * room + 1) * sizeof *s.candidates);
  s.kept = hone_alloc(call->allocator, (room + 1) * sizeof *s.kept);
  bool ok = s.candidates && s.kept;
  for (int64_t i = 0; ok && i < s.n_batches; i++)
    for (int64_t k = 0; ok && k < s.n_classes; k++) ok = select_class(call, &s, i, k);
  hone_status_t status = ok ? make_result(call, &s) : hone_oom();
  hone_free(call->allocator, s.candidates, (2 * room + 1) * sizeof *s.candidates);
  hone_free(call->allocator, s.kept, (room + 1) * sizeof *s.kept);
  hone_free(call->allocator, s.rows, (size_t)s.room * 3 * sizeof *s.rows);
  return status;
}

/* Without the list of boxes that are chosen: that is about the result. */
static uint64_t working_bytes(const hone_onnx_node_t* node, int n_inputs,
                              const hone_extents_t* inputs) {
  (void)node;
  uint64_t room = n_inputs > 0 && inputs[0].rank == 3 ? (uint64_t)inputs[0].dims[1] : 0;
  return (2 * room + 1) * sizeof(candidate_t) + (room + 1) * sizeof(int64_t);
}

static void lower_non_max_suppression(hone_lower_t* l) {
  hone_dim_t shape[2] = {hone_d(-1), hone_d(3)};
  hone_type_t type = hone_type_tensor(HONE_I64, 2, shape);
  hone_op_host(l, &type);
}

static const hone_op_t ops[] = {
    {.name = "NonMaxSuppression",
     .min_opset = 10,
     .min_inputs = 2,
     .max_inputs = 5,
     .attrs = "center_point_box",
     .lower = lower_non_max_suppression,
     .host = run_non_max_suppression,
     .host_bytes = working_bytes},
};
HONE_OP_FAMILY(non_max_suppression, ops)
