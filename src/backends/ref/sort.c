/* Sort: lines along an axis, or the first numbers of each in order.
 *
 * Numbers of up to 32 bits become words of 64 bits: the number, so that words are ordered as it is,
 * in the upper half, its place in the lower one. A few of many are found by going over the line
 * with the last of those found so far at hand: most numbers are behind it. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "backends/ref/kernels.h"
#include "base/memory.h"
#include "base/merge_sort.h"
#include "base/sort_words.h"

typedef struct sort_item {
  hone_scalar_t key;
  int64_t index;
} sort_item_t;

typedef int (*compare_fn)(const void*, const void*);

/* NaN is larger than everything. Equal keys keep their order. */
static int order_f64(const sort_item_t* x, const sort_item_t* y) {
  double a = x->key.f, b = y->key.f;
  if (isnan(a) || isnan(b)) return isnan(a) - isnan(b);
  return (a > b) - (a < b);
}

#define COMPARE(name, order)                                       \
  static int name##_up(const void* p, const void* q) {             \
    const sort_item_t *x = p, *y = q;                              \
    int o = order;                                                 \
    return o ? o : (x->index > y->index) - (x->index < y->index);  \
  }                                                                \
  static int name##_down(const void* p, const void* q) {           \
    const sort_item_t *x = p, *y = q;                              \
    int o = order;                                                 \
    return o ? -o : (x->index > y->index) - (x->index < y->index); \
  }
COMPARE(f64, order_f64(x, y))
COMPARE(i64, (x->key.i > y->key.i) - (x->key.i < y->key.i))
COMPARE(u64, (x->key.u > y->key.u) - (x->key.u < y->key.u))
#undef COMPARE

static const compare_fn compares[3][2] = {[HONE_SCALAR_F64] = {f64_up, f64_down},
                                          [HONE_SCALAR_I64] = {i64_up, i64_down},
                                          [HONE_SCALAR_U64] = {u64_up, u64_down}};

/* A line that is sorted, or the first `count` of it. */
typedef struct sort {
  hone_dtype_t dtype;
  bool is_float, down;
  compare_fn compare;
  void* room; /* hone_ref_sort_bytes */
  int64_t n, count;
} sort_t;

/* ---- numbers of up to 32 bits ---- */

enum { SOME = HONE_REF_ROW, BLOCK = 16 };

static bool is_narrow(const sort_t* s) {
  return hone_dtype_size(s->dtype) <= sizeof(int32_t) && s->n <= UINT32_MAX;
}

/* Floats as they are, or in place of other numbers keys: the smallest are wanted first. */
typedef struct line {
  const float* floats;
  const int32_t* keys;
  int64_t n;
  bool down; /* floats from the largest on */
} line_t;

static int32_t key_at(const line_t* line, int64_t at) {
  if (!line->floats) return line->keys[at];
  int32_t key = hone_key_of_float(line->floats[at]);
  return line->down ? ~key : key;
}

static uint64_t word_at(const line_t* line, int64_t at) {
  return hone_word_of(key_at(line, at), (uint32_t)at);
}

static void load_floats(hone_dtype_t dtype, const char* from, int64_t stride, int64_t n,
                        float* out) {
  hone_scalar_t row[SOME];
  if (dtype == HONE_F32) {
    for (int64_t i = 0; i < n; i++) memcpy(&out[i], from + i * stride, sizeof *out);
    return;
  }
  hone_scalar_load(dtype, from, stride, n, row);
  for (int64_t i = 0; i < n; i++) out[i] = (float)row[i].f;
}

static void load_keys(const sort_t* s, const char* from, int64_t stride, int64_t n, int32_t* out) {
  hone_scalar_t row[SOME];
  uint32_t flip = s->dtype == HONE_U32 ? 1u << 31 : 0;
  hone_scalar_load(s->dtype, from, stride, n, row);
  if (s->down) flip = ~flip;
  for (int64_t i = 0; i < n; i++) out[i] = (int32_t)((uint32_t)row[i].i ^ flip);
}

/* Into `room` for numbers of 32 bits; floats that lie side by side stay where they are. */
static line_t load_line(const sort_t* s, const char* from, int64_t stride, void* room) {
  line_t line = {.n = s->n, .down = s->down, .floats = s->is_float ? room : NULL, .keys = room};
  if (s->dtype == HONE_F32 && stride == sizeof(float)) {
    line.floats = (const float*)from;
    return line;
  }
  for (int64_t i = 0; i < s->n; i += SOME) {
    int64_t some = s->n - i < SOME ? s->n - i : SOME;
    if (s->is_float)
      load_floats(s->dtype, from + i * stride, stride, some, (float*)room + i);
    else
      load_keys(s, from + i * stride, stride, some, (int32_t*)room + i);
  }
  return line;
}

/* Whole blocks of which no number may be in front of `last`. Where one of two is NaN, it may. */
static int64_t skip_floats(const line_t* line, int64_t at, float last) {
  const float* x = line->floats;
  for (; at + BLOCK <= line->n; at += BLOCK) {
    int32_t found = 0;
    if (line->down)
      for (int k = 0; k < BLOCK; k++) found |= x[at + k] <= last ? 0 : -1;
    else
      for (int k = 0; k < BLOCK; k++) found |= x[at + k] >= last ? 0 : -1;
    if (found) break;
  }
  return at;
}

static int64_t skip_keys(const line_t* line, int64_t at, int32_t last) {
  for (; at + BLOCK <= line->n; at += BLOCK) {
    int32_t found = 0;
    for (int k = 0; k < BLOCK; k++) found |= line->keys[at + k] < last ? -1 : 0;
    if (found) break;
  }
  return at;
}

/* As one number of such a block. */
static inline bool is_behind(const line_t* line, int64_t at, float last) {
  return line->down ? line->floats[at] <= last : line->floats[at] >= last;
}

static int64_t find_float_before(const line_t* line, int64_t at, uint64_t word) {
  int32_t key = hone_key_of_word(word);
  float last = line->floats[hone_place_of_word(word)];
  while (at < line->n) {
    at = skip_floats(line, at, last);
    int64_t end = at + BLOCK < line->n ? at + BLOCK : line->n;
    for (; at < end; at++)
      if (!is_behind(line, at, last) && key_at(line, at) < key) return at;
  }
  return line->n;
}

/* The first place from `at` on whose number is in front of that of the word; n: there is none. */
static int64_t find_before(const line_t* line, int64_t at, uint64_t word) {
  if (line->floats) return find_float_before(line, at, word);
  at = skip_keys(line, at, hone_key_of_word(word));
  while (at < line->n && line->keys[at] >= hone_key_of_word(word)) at++;
  return at;
}

/* Keeps the first few in order, one number after the other. */
static void keep_few(const line_t* line, int64_t count, uint64_t* words) {
  int64_t kept = 0;
  for (int64_t i = 0; i < line->n; i++) {
    if (kept == count) i = find_before(line, i, words[kept - 1]);
    if (i == line->n) return;
    if (kept == count) kept--;
    hone_insert_word(words, (size_t)kept++, word_at(line, i));
  }
}

/* Words that are collected at a time: some more than are wanted, if there are. */
static int64_t room_for(const sort_t* s) {
  enum { TIMES = 4, LEAST = 64 };
  int64_t room = s->count > s->n / TIMES ? s->n : TIMES * s->count;
  return room < LEAST ? (s->n < LEAST ? s->n : LEAST) : room;
}

/* Puts the first in front, and gives the last of them. */
static uint64_t part_first(uint64_t* words, uint64_t* spare, int64_t n, int64_t count) {
  uint64_t last = 0;
  hone_select_words(words, spare, (size_t)n, (size_t)count);
  for (int64_t i = 0; i < count; i++) last = words[i] > last ? words[i] : last;
  return last;
}

/* Collects what may be among the first; whenever there is no room for more, what is behind those is
 * left out. */
static void keep_many(const line_t* line, int64_t count, uint64_t* words, int64_t room) {
  uint64_t *spare = words + room, last = 0;
  int64_t kept = room;
  for (int64_t i = 0; i < room; i++) words[i] = word_at(line, i);
  for (int64_t i = room;; i++) {
    if (kept == room) {
      last = part_first(words, spare, kept, count);
      kept = count;
    }
    i = find_before(line, i, last);
    if (i == line->n) break;
    words[kept++] = word_at(line, i);
  }
  hone_select_words(words, spare, (size_t)kept, (size_t)count);
  hone_sort_words(words, spare, (size_t)count);
}

static void sort_narrow(const sort_t* s, const char* from, int64_t stride, int64_t* places) {
  enum { FEW = 64 }; /* that are found one after the other */
  int64_t room = room_for(s);
  uint64_t* words = (uint64_t*)(places + s->count);
  line_t line = load_line(s, from, stride, words + 2 * room);
  if (s->count <= FEW && s->count < s->n)
    keep_few(&line, s->count, words);
  else
    keep_many(&line, s->count, words, room);
  for (int64_t i = 0; i < s->count; i++) places[i] = hone_place_of_word(words[i]);
}

/* ---- others ---- */

static void load_items(const sort_t* s, const char* from, int64_t stride, sort_item_t* items) {
  hone_scalar_t keys[SOME];
  for (int64_t i = 0; i < s->n; i += SOME) {
    int64_t some = s->n - i < SOME ? s->n - i : SOME;
    hone_scalar_load(s->dtype, from + i * stride, stride, some, keys);
    for (int64_t k = 0; k < some; k++) items[i + k] = (sort_item_t){keys[k], i + k};
  }
}

static void sort_wide(const sort_t* s, const char* from, int64_t stride, int64_t* places) {
  sort_item_t* items = (sort_item_t*)(places + s->count);
  load_items(s, from, stride, items);
  hone_merge_sort(items, items + s->n, (size_t)s->n, sizeof *items, s->compare);
  for (int64_t i = 0; i < s->count; i++) places[i] = items[i].index;
}

/* ---- all ---- */

/* `values` and `indices` are `to_stride` elements apart from one to the next. */
static void sort_line(const sort_t* s, const char* from, int64_t stride, char* values,
                      char* indices, int64_t to_stride) {
  int64_t size = (int64_t)hone_dtype_size(s->dtype), *places = s->room;
  if (s->count == 0) return;
  if (is_narrow(s))
    sort_narrow(s, from, stride, places);
  else
    sort_wide(s, from, stride, places);
  for (int64_t i = 0; i < s->count; i++) {
    memcpy(values + i * to_stride * size, from + places[i] * stride, (size_t)size);
    memcpy(indices + i * to_stride * 8, &places[i], 8);
  }
}

/* Lines of `n` numbers, of which `count` are wanted in the order of the node. */
static sort_t describe(const hone_node_t* node, hone_dtype_t dtype, int64_t n, int64_t count) {
  hone_scalar_class_t class = hone_scalar_class(dtype);
  bool down = node->flags & HONE_FLAG_DESCENDING;
  return (sort_t){.dtype = dtype,
                  .is_float = class == HONE_SCALAR_F64,
                  .down = down,
                  .compare = compares[class][down],
                  .n = n,
                  .count = count};
}

uint64_t hone_ref_sort_bytes(const hone_node_t* node, int64_t extent) {
  hone_dim_t count = node->shape[0];
  const sort_t s = {.dtype = node->inputs[0]->type.dtype,
                    .n = extent,
                    .count = hone_dim_is_int(count) ? count.k : extent};
  uint64_t n = (uint64_t)s.n, places = (uint64_t)s.count * sizeof(int64_t);
  if (!is_narrow(&s)) return places + n * 2 * sizeof(sort_item_t);
  return places + (uint64_t)room_for(&s) * 2 * sizeof(uint64_t) + n * sizeof(int32_t);
}

/* The values and their places, of as many as are wanted along the axis. */
static hone_status_t make_sorted(ref_call_t* call, int64_t axis, int64_t wanted) {
  const ref_view_t* x = call->in[0];
  int64_t dims[HONE_MAX_RANK];
  if (wanted < 0 || wanted > x->dims[axis])
    return hone_status_make(HONE_INVALID_ARGUMENT,
                            "sort: %" PRId64 " elements are wanted along axis %" PRId64
                            ", which has %" PRId64,
                            wanted, axis, x->dims[axis]);
  memcpy(dims, x->dims, sizeof *dims * (size_t)x->rank);
  dims[axis] = wanted;
  HONE_TRY(hone_ref_make(call->allocator, x->dtype, x->rank, dims, &call->out[0]));
  return hone_ref_make(call->allocator, HONE_I64, x->rank, dims, &call->out[1]);
}

hone_status_t hone_ref_sort(ref_call_t* call) {
  const ref_view_t* x = call->in[0];
  if (hone_scalar_class(x->dtype) > HONE_SCALAR_U64)
    return hone_status_make(HONE_UNSUPPORTED, "sort of %s is not defined",
                            hone_dtype_name(x->dtype));
  int64_t axis = call->node->axes[0], n = x->dims[axis], wanted = call->shape[0];
  HONE_TRY(make_sorted(call, axis, wanted));
  ref_view_t from = *x, values = call->out[0], indices = call->out[1];
  int64_t to_stride = values.strides[axis] / (int64_t)hone_dtype_size(x->dtype);
  from.dims[axis] = values.dims[axis] = indices.dims[axis] = wanted ? 1 : 0;
  sort_t sort = describe(call->node, x->dtype, n, wanted);
  enum { MOST_OF_ONE = 2 * sizeof(sort_item_t) + sizeof(int64_t) };
  if ((uint64_t)n > SIZE_MAX / MOST_OF_ONE) return hone_oom();
  size_t bytes = (size_t)hone_ref_sort_bytes(call->node, n);
  sort.room = hone_alloc(call->allocator, bytes);
  if (!sort.room) return hone_oom();
  const ref_view_t* views[3] = {&from, &values, &indices};
  ref_rows_t rows;
  char* at[HONE_REF_MAX_VIEWS];
  hone_ref_rows_start(&rows, 3, views);
  for (int64_t count; (count = hone_ref_rows_next(&rows, at)) > 0;)
    for (int64_t i = 0; i < count; i++)
      sort_line(&sort, at[0] + i * rows.row_stride[0], x->strides[axis],
                at[1] + i * rows.row_stride[1], at[2] + i * rows.row_stride[2], to_stride);
  hone_free(call->allocator, sort.room, bytes);
  return NULL;
}
