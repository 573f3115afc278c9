/* NonMaxSuppression: for each batch and class, boxes by falling score, without
 * those that overlap an earlier one too much. How many remain depends on the
 * data at every step, so this runs on the host. */
#include <string.h>

#include "base/memory.h"
#include "base/sort_words.h"
#include "ops/op.h"

enum { BLOCK = 8, SOME = 256 /* candidates that are sorted at a time, at first */ };

typedef struct box {
  float left, right, low, high;
} box_t;

/* Boxes that are kept, in whole blocks, the last of which is filled with empty ones. */
typedef struct kept {
  float *left, *right, *low, *high, *area; /* of one list */
  int64_t count;
} kept_t;

typedef struct search {
  const float *boxes, *scores;
  int64_t n_batches, n_classes, n_boxes;
  int64_t limit; /* boxes kept for each class */
  float overlap; /* intersection over union above which a box goes */
  bool has_threshold, centered;
  float threshold;
  uint64_t* candidates; /* n_boxes, score and box, and as many to sort them */
  kept_t kept;          /* of the class at hand */
  int64_t* rows;        /* result: batch, class, box */
  int64_t n_rows, room;
} search_t;

static box_t read_box(const search_t* s, const float* v) {
  if (s->centered)
    return (box_t){v[0] - v[2] / 2, v[0] + v[2] / 2, v[1] - v[3] / 2, v[1] + v[3] / 2};
  box_t box = {v[1], v[3], v[0], v[2]};
  if (v[1] > v[3]) box.left = v[3], box.right = v[1];
  if (v[0] > v[2]) box.low = v[2], box.high = v[0];
  return box;
}

/* ---- boxes that are kept ---- */

static int64_t in_blocks(int64_t count) { return (count + BLOCK - 1) / BLOCK * BLOCK; }

static size_t bytes_of_lists(int64_t boxes) {
  return 5 * (size_t)in_blocks(boxes + 1) * sizeof(float);
}

/* Of one allocation, that of `left`; NULL there: out of memory. */
static kept_t make_lists(const hone_allocator_t* allocator, int64_t boxes) {
  int64_t room = in_blocks(boxes + 1);
  float* left = hone_alloc(allocator, bytes_of_lists(boxes));
  if (!left) return (kept_t){0};
  return (kept_t){left, left + room, left + 2 * room, left + 3 * room, left + 4 * room, 0};
}

static float area(const box_t* box) { return (box->right - box->left) * (box->high - box->low); }

static void keep(kept_t* kept, const box_t* box) {
  int64_t at = kept->count++;
  float* const lists[] = {kept->left, kept->right, kept->low, kept->high, kept->area};
  for (int i = 0; i < 5 && at % BLOCK == 0; i++) memset(lists[i] + at, 0, BLOCK * sizeof(float));
  kept->left[at] = box->left;
  kept->right[at] = box->right;
  kept->low[at] = box->low;
  kept->high[at] = box->high;
  kept->area[at] = area(box);
}

static inline float larger(float a, float b) { return a > b ? a : b; }
static inline float smaller(float a, float b) { return a < b ? a : b; }

/* Whether one of a block of those covers the box, or is covered by it, too much. */
static bool overlaps_some(const kept_t* k, int64_t at, const box_t* box, float own, float most) {
  int32_t found = 0;
  for (int64_t i = at; i < at + BLOCK; i++) {
    float width = smaller(box->right, k->right[i]) - larger(box->left, k->left[i]);
    float height = smaller(box->high, k->high[i]) - larger(box->low, k->low[i]);
    float shared = width * height, all = own + k->area[i] - shared;
    int32_t meets = (width > 0 ? -1 : 0) & (height > 0 ? -1 : 0) & (k->area[i] > 0 ? -1 : 0);
    found |= meets & (all > 0 ? -1 : 0) & (shared / all > most ? -1 : 0);
  }
  return found != 0;
}

static bool overlaps(const search_t* s, const box_t* box) {
  float own = area(box);
  if (!(own > 0)) return false;
  for (int64_t i = 0; i < s->kept.count; i += BLOCK)
    if (overlaps_some(&s->kept, i, box, own, s->overlap)) return true;
  return false;
}

/* ---- by falling score ---- */

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

/* Words that are smaller the larger the score is. */
static int64_t collect(search_t* s, const float* scores) {
  int64_t n = 0;
  for (int64_t i = 0; i < s->n_boxes; i++)
    if (!s->has_threshold || scores[i] > s->threshold)
      s->candidates[n++] = hone_word_of(~hone_key_of_float(scores[i]), (uint32_t)i);
  return n;
}

/* Sorts the next candidates, more each time: how many it takes, only they can tell. */
static int64_t sort_some(search_t* s, int64_t from, int64_t n) {
  int64_t some = from < SOME ? SOME : from;
  if (some > n - from) some = n - from;
  uint64_t *words = s->candidates + from, *spare = s->candidates + s->n_boxes;
  hone_select_words(words, spare, (size_t)(n - from), (size_t)some);
  hone_sort_words(words, spare, (size_t)some);
  return from + some;
}

static bool select_class(hone_host_call_t* call, search_t* s, int64_t batch, int64_t class_index) {
  const float* boxes = s->boxes + batch * s->n_boxes * 4;
  int64_t n = collect(s, s->scores + (batch * s->n_classes + class_index) * s->n_boxes);
  int64_t sorted = 0;
  s->kept.count = 0;
  for (int64_t i = 0; i < n && s->kept.count < s->limit; i++) {
    if (i == sorted) sorted = sort_some(s, sorted, n);
    int64_t index = hone_place_of_word(s->candidates[i]);
    box_t box = read_box(s, boxes + 4 * index);
    if (overlaps(s, &box)) continue;
    keep(&s->kept, &box);
    if (!add_row(call, s, batch, class_index, index)) return false;
  }
  return true;
}

/* ---- the call ---- */

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
  if (b[1] > UINT32_MAX)
    return hone_status_make(HONE_UNSUPPORTED, "NonMaxSuppression of more than 2^32 boxes");
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

static size_t bytes_of_candidates(int64_t boxes) {
  return (2 * (size_t)boxes + 1) * sizeof(uint64_t);
}

static hone_status_t run_non_max_suppression(hone_host_call_t* call) {
  search_t s = {0};
  HONE_TRY(read_inputs(call, &s));
  s.candidates = hone_alloc(call->allocator, bytes_of_candidates(s.n_boxes));
  s.kept = make_lists(call->allocator, s.n_boxes);
  bool ok = s.candidates && s.kept.left;
  for (int64_t i = 0; ok && i < s.n_batches; i++)
    for (int64_t k = 0; ok && k < s.n_classes; k++) ok = select_class(call, &s, i, k);
  hone_status_t status = ok ? make_result(call, &s) : hone_oom();
  hone_free(call->allocator, s.candidates, bytes_of_candidates(s.n_boxes));
  hone_free(call->allocator, s.kept.left, bytes_of_lists(s.n_boxes));
  hone_free(call->allocator, s.rows, (size_t)s.room * 3 * sizeof *s.rows);
  return status;
}

/* Without the list of boxes that are chosen: that is about the result. */
static uint64_t working_bytes(const hone_onnx_node_t* node, int n_inputs,
                              const hone_extents_t* inputs) {
  (void)node;
  int64_t boxes = n_inputs > 0 && inputs[0].rank == 3 ? inputs[0].dims[1] : 0;
  return (uint64_t)bytes_of_candidates(boxes) + bytes_of_lists(boxes);
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
