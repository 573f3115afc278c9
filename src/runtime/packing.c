/* A packing moves elements by constant strides, so that packing is a copy with
 * strides; what lies beyond an extent of the old array is zero.
 *
 * The new array is written in tiles: rows that follow one another, by as many
 * rounds of the axis along which the old array is densest, by the last axis.
 * So lines of memory that a tile touches are used whole, in both arrays. */
#include <string.h>

#include "base/memory.h"
#include "base/tensor_impl.h"
#include "base/thread_pool.h"
#include "loop/nibbles.h"
#include "runtime/packing_impl.h"

enum { TILE_ROWS = 64, TILE_DENSE = 16, GRAIN = 4 /* tiles */ };

typedef struct packer {
  const hone_packing_t* packing;
  int rank; /* of the new array; 2 at least */
  hone_packing_axis_t axes[HONE_MAX_BUFFER_RANK];
  int64_t dims[HONE_MAX_BUFFER_RANK];
  int64_t steps[HONE_MAX_BUFFER_RANK];  /* in elements of the old array, by the new one's axes */
  int64_t places[HONE_MAX_BUFFER_RANK]; /* of the new array, likewise */
  int64_t tile[HONE_MAX_BUFFER_RANK];   /* extents of a tile; of the last axis all */
  int rows, dense;                      /* axes of a tile; the same: there is only one */
  const char* from;
  char* to;
  size_t size; /* of an element */
} packer_t;

/* A tile, or what of one is within the new array. */
typedef struct tile {
  int64_t at[HONE_MAX_BUFFER_RANK]; /* where it begins */
  int64_t rows, dense;
} tile_t;

/* n elements, which lie `step` apart, to where they lie `place` apart. */
static void copy_strided(size_t size, const char* from, int64_t step, int64_t n, char* to,
                         int64_t place) {
  if (size == 4) {
    for (int64_t i = 0; i < n; i++) memcpy(to + 4 * i * place, from + 4 * i * step, 4);
  } else if (size == 2) {
    for (int64_t i = 0; i < n; i++) memcpy(to + 2 * i * place, from + 2 * i * step, 2);
  } else {
    int64_t bytes = (int64_t)size;
    for (int64_t i = 0; i < n; i++) memcpy(to + bytes * i * place, from + bytes * i * step, size);
  }
}

/* Blocks of lanes are vectors mostly. */
static void copy_dense(char* to, const char* from, size_t bytes) {
  if (bytes == 64)
    memcpy(to, from, 64);
  else if (bytes == 32)
    memcpy(to, from, 32);
  else
    memcpy(to, from, bytes);
}

/* How many elements of the row at that place of the new array the old one has. */
static int64_t count_valid(const packer_t* p, const int64_t* place) {
  int64_t at[HONE_MAX_BUFFER_RANK] = {0}, last = p->rank - 1, valid = p->dims[last];
  for (int a = 0; a < last; a++) at[p->axes[a].source] += place[a] * p->axes[a].stride;
  int source = p->axes[last].source;
  int64_t stride = p->axes[last].stride;
  for (int d = 0; d < p->packing->rank; d++) {
    int64_t room = p->packing->dims[d] - at[d];
    int64_t fits = room <= 0 ? 0 : (d == source ? (room + stride - 1) / stride : valid);
    if (fits < valid) valid = fits;
  }
  return valid;
}

static int64_t offset_of(const packer_t* p, const int64_t* place, const int64_t* strides) {
  int64_t offset = 0;
  for (int a = 0; a < p->rank - 1; a++) offset += place[a] * strides[a];
  return offset * (int64_t)p->size;
}

static void pack_row(const packer_t* p, const int64_t* place) {
  int64_t last = p->rank - 1, n = p->dims[last], valid = count_valid(p, place);
  char* to = p->to + offset_of(p, place, p->places);
  if (valid)
    copy_strided(p->size, p->from + offset_of(p, place, p->steps), p->steps[last], valid, to, 1);
  memset(to + (size_t)valid * p->size, 0, (size_t)(n - valid) * p->size);
}

/* A tile some of which lies beyond the old array. */
static void pack_edge(const packer_t* p, const tile_t* tile) {
  int64_t place[HONE_MAX_BUFFER_RANK];
  memcpy(place, tile->at, sizeof place);
  for (int64_t r = 0; r < tile->rows; r++)
    for (int64_t d = 0; d < tile->dense; d++) {
      place[p->dense] = tile->at[p->dense] + d;
      place[p->rows] = tile->at[p->rows] + r;
      pack_row(p, place);
    }
}

/* A tile that is within both arrays. */
static void pack_whole(const packer_t* p, const tile_t* tile) {
  int64_t last = p->rank - 1, n = p->dims[last], size = (int64_t)p->size;
  const char* from = p->from + offset_of(p, tile->at, p->steps);
  char* to = p->to + offset_of(p, tile->at, p->places);
  int64_t row = p->steps[p->rows] * size, row_to = p->places[p->rows] * size;
  int64_t dense = p->steps[p->dense] * size, dense_to = p->places[p->dense] * size;
  if (p->steps[last] == 1) {
    for (int64_t r = 0; r < tile->rows; r++)
      for (int64_t d = 0; d < tile->dense; d++)
        copy_dense(to + r * row_to + d * dense_to, from + r * row + d * dense, (size_t)(n * size));
    return;
  }
  for (int64_t i = 0; i < n; i++)
    for (int64_t d = 0; d < tile->dense; d++)
      copy_strided(p->size, from + i * p->steps[last] * size + d * dense, p->steps[p->rows],
                   tile->rows, to + i * size + d * dense_to, p->places[p->rows]);
}

/* Along each axis the last element of a whole tile is the last in the old array too. */
static bool is_whole(const packer_t* p, const tile_t* tile) {
  int64_t end[HONE_MAX_BUFFER_RANK];
  memcpy(end, tile->at, sizeof end);
  if (p->dense != p->rows) end[p->dense] += tile->dense - 1;
  end[p->rows] += tile->rows - 1;
  return count_valid(p, end) == p->dims[p->rank - 1];
}

static int64_t tiles_along(const packer_t* p, int axis) {
  return (p->dims[axis] + p->tile[axis] - 1) / p->tile[axis];
}

static int64_t part(const packer_t* p, const tile_t* tile, int axis) {
  int64_t left = p->dims[axis] - tile->at[axis];
  return left < p->tile[axis] ? left : p->tile[axis];
}

static void pack_tiles(void* context, int64_t begin, int64_t end) {
  const packer_t* p = context;
  for (int64_t i = begin; i < end; i++) {
    tile_t tile = {{0}, 1, 1};
    int64_t rest = i;
    for (int a = p->rank - 2; a >= 0; a--) {
      tile.at[a] = rest % tiles_along(p, a) * p->tile[a];
      rest /= tiles_along(p, a);
    }
    tile.rows = part(p, &tile, p->rows);
    if (p->dense != p->rows) tile.dense = part(p, &tile, p->dense);
    (is_whole(p, &tile) ? pack_whole : pack_edge)(p, &tile);
  }
}

/* The rows are those along the last axis but one; the densest axis is the other one along which
 * elements of the old array lie nearest, unless the last axis or the rows' is that. */
static void set_tiles(packer_t* p) {
  int last = p->rank - 1;
  p->rows = p->dense = last - 1;
  for (int a = last; a >= 0; a--) {
    p->places[a] = a == last ? 1 : p->places[a + 1] * p->dims[a + 1];
    p->tile[a] = 1;
  }
  for (int a = 0; a < last - 1; a++)
    if (p->dims[a] > 1 && p->steps[a] < p->steps[p->dense]) p->dense = a;
  p->tile[p->dense] = TILE_DENSE;
  p->tile[p->rows] = TILE_ROWS;
}

/* Axes of the new array; one in front where there is only one. */
static bool set_axes(packer_t* p, const hone_buffer_t* buffer, const int64_t* strides) {
  const hone_packing_t* packing = buffer->packing;
  p->rank = buffer->rank;
  if (p->rank == 1) {
    p->dims[0] = 1;
    p->rank = 2;
  }
  for (int i = 0; i < buffer->rank; i++) {
    int a = i + p->rank - buffer->rank;
    if (!hone_dim_is_int(buffer->dims[i]) || packing->axes[i].source >= packing->rank) return false;
    p->axes[a] = packing->axes[i];
    p->dims[a] = buffer->dims[i].k;
    p->steps[a] = packing->axes[i].stride * strides[packing->axes[i].source];
  }
  return true;
}

static bool prepare(packer_t* p, const hone_buffer_t* buffer, const hone_tensor_t* weight) {
  const hone_packing_t* packing = buffer->packing;
  int64_t strides[HONE_MAX_BUFFER_RANK], count = 1;
  bool fits = buffer->rank > 0 && packing->rank == weight->rank && buffer->dtype == weight->dtype;
  for (int d = packing->rank - 1; fits && d >= 0; d--) {
    strides[d] = count;
    fits = packing->dims[d] == weight->dims[d] && hone_i64_mul(count, weight->dims[d], &count);
  }
  p->packing = packing;
  p->from = hone_tensor_data(weight);
  p->size = hone_dtype_size(weight->dtype);
  return fits && set_axes(p, buffer, strides);
}

hone_status_t hone_packing_lay_out(const hone_buffer_t* buffer, const hone_tensor_t* from,
                                   const hone_allocator_t* allocator, hone_tensor_t** out_tensor) {
  packer_t p = {0};
  int64_t count, tiles = 1;
  *out_tensor = NULL;
  if (!prepare(&p, buffer, from) || !hone_dims_count(p.rank, p.dims, &count))
    return hone_status_make(HONE_INTERNAL, "the packing of '%s' does not fit its weight",
                            buffer->name);
  /* The rank may be larger than a tensor's: what counts is the bytes. */
  HONE_TRY(hone_tensor_create_raw(allocator ? allocator : hone_allocator_system(), from->dtype, 1,
                                  &count, out_tensor));
  p.to = (*out_tensor)->data;
  if (!count) return NULL;
  set_tiles(&p);
  hone_parallel_touch(hone_thread_pool_shared(), p.to, (size_t)count * p.size);
  for (int a = 0; a < p.rank - 1; a++) tiles *= tiles_along(&p, a);
  hone_parallel_for(hone_thread_pool_shared(), tiles, GRAIN, pack_tiles, &p);
  return NULL;
}

/* Numbers that fit nibbles as words of eight. */
static hone_status_t make_words(const hone_tensor_t* numbers, const hone_allocator_t* allocator,
                                hone_tensor_t** out_tensor) {
  int64_t words = hone_tensor_count(numbers) / HONE_NIBBLES,
          bytes = words * (int64_t)sizeof(uint32_t);
  HONE_TRY(hone_tensor_create_raw(allocator, HONE_U8, 1, &bytes, out_tensor));
  const uint8_t* from = hone_tensor_data(numbers);
  char* to = hone_tensor_data(*out_tensor);
  for (int64_t i = 0; i < words; i++) {
    uint32_t word = hone_nibbles_word(from + i * HONE_NIBBLES);
    memcpy(to + i * (int64_t)sizeof word, &word, sizeof word);
  }
  return NULL;
}

hone_status_t hone_packing_apply(const hone_buffer_t* buffer, const hone_tensor_t* from,
                                 const hone_allocator_t* allocator, hone_tensor_t** out_tensor) {
  hone_tensor_t* numbers;
  if (buffer->packing->is_sparse)
    return hone_packing_apply_sparse(buffer, from, allocator, out_tensor);
  if (!buffer->packing->in_nibbles)
    return hone_packing_lay_out(buffer, from, allocator, out_tensor);
  *out_tensor = NULL;
  HONE_TRY(hone_packing_lay_out(buffer, from, hone_allocator_system(), &numbers));
  hone_status_t status =
      make_words(numbers, allocator ? allocator : hone_allocator_system(), out_tensor);
  hone_tensor_release(numbers);
  return status;
}
