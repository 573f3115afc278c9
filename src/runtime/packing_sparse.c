/* Tables of the few numbers of a matrix that are not zero, for sums of products of u8 by i8 in 16
 * bits (codegen/prelude/cpu_sparse.inc). Words of 32 bits:
 *
 *   for each group of 16 columns, the last of which may have fewer, where it begins, in words
 *   for each group, for each of its columns: chunks | column in the group << 16; then the chunks
 *   a chunk: three couples
 *   a couple: 4 * row of the first | 4 * row of the second << 16; then both, first | second << 8,
 *   and once more, << 16
 *
 * A couple are any two numbers of the column: where they stand is in eighths of the 32 bytes that
 * the function has for a row. Those of a chunk that are positive add up to 128 at most, and those
 * that are negative to -128 at least: 255 times that fits 16 bits, whatever is added first. Places
 * that are left over have zeros. Within a group, columns with as many chunks follow one another,
 * which branches are foreseen by. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/merge_sort.h"
#include "base/tensor_impl.h"
#include "ir/sparse.h"
#include "runtime/packing_impl.h"

enum {
  GROUP = HONE_SPARSE_COLUMNS,
  COUPLES = 3,
  CHUNK = 2 * COUPLES, /* numbers */
  CHUNK_WORDS = 2 * COUPLES,
  MOST = 128
};

typedef struct entry {
  uint16_t row;
  int16_t number;
} entry_t;

typedef struct chunk {
  entry_t entries[CHUNK];
  int count, above, below; /* the positive numbers, and the negative ones, added up */
} chunk_t;

typedef struct column {
  int count; /* of its entries, then of its chunks */
  int index; /* in the group */
} column_t;

typedef struct table {
  const hone_allocator_t* allocator;
  const int8_t* numbers;
  int64_t sums, columns;
  int64_t sum_step, column_step; /* in the matrix */
  entry_t *entries, *spare;      /* of a column */
  chunk_t* chunks;               /* of a group, `room` for each column */
  size_t room;
  uint32_t* words;
  size_t n_words, words_room;
} table_t;

static void put_word(uint32_t** at, uint32_t word) { *(*at)++ = word; }

static int list_entries(const table_t* t, int64_t column) {
  const int8_t* at = t->numbers + column * t->column_step;
  int n = 0;
  for (int64_t row = 0; row < t->sums; row++, at += t->sum_step)
    if (*at) t->entries[n++] = (entry_t){(uint16_t)row, *at};
  return n;
}

static int compare_entries(const void* a, const void* b) {
  return abs(((const entry_t*)b)->number) - abs(((const entry_t*)a)->number);
}

static bool fits(const chunk_t* c, int number) {
  return c->count < CHUNK && (number > 0 ? c->above + number : c->below - number) <= MOST;
}

/* Large numbers first, each into the first chunk that has room for it. */
static int fill_chunks(const table_t* t, int n, chunk_t* chunks) {
  int count = 0, open = 0;
  hone_merge_sort(t->entries, t->spare, (size_t)n, sizeof *t->entries, compare_entries);
  for (int i = 0; i < n; i++) {
    int number = t->entries[i].number, at = open;
    while (at < count && !fits(&chunks[at], number)) at++;
    if (at == count) chunks[count++] = (chunk_t){.count = 0};
    chunk_t* c = &chunks[at];
    c->entries[c->count++] = t->entries[i];
    *(number > 0 ? &c->above : &c->below) += abs(number);
    while (open < count && chunks[open].count == CHUNK) open++;
  }
  return count;
}

static void put_chunk(uint32_t** to, const chunk_t* chunk) {
  enum { EIGHTHS = 4 /* of a row's 32 bytes */ };
  for (const entry_t* e = chunk->entries; e < chunk->entries + CHUNK; e += 2) {
    uint32_t both = (uint32_t)(uint8_t)e[0].number | (uint32_t)(uint8_t)e[1].number << 8;
    put_word(to, EIGHTHS * ((uint32_t)e[0].row | (uint32_t)e[1].row << 16));
    put_word(to, both | both << 16);
  }
}

static int compare_columns(const void* a, const void* b) {
  return ((const column_t*)a)->count - ((const column_t*)b)->count;
}

/* Room for that many more words. */
static bool reserve(table_t* t, size_t more) {
  if (t->n_words + more <= t->words_room) return true;
  size_t room = 2 * (t->n_words + more);
  uint32_t* words = hone_alloc(t->allocator, room * sizeof *words);
  if (!words) return false;
  if (t->words) memcpy(words, t->words, t->n_words * sizeof *words);
  hone_free(t->allocator, t->words, t->words_room * sizeof *words);
  t->words = words;
  t->words_room = room;
  return true;
}

static bool put_group(table_t* t, int64_t first) {
  column_t columns[GROUP], spare[GROUP];
  int n = t->columns - first < GROUP ? (int)(t->columns - first) : GROUP;
  size_t words = 0;
  for (int i = 0; i < n; i++) {
    int entries = list_entries(t, first + i);
    columns[i] = (column_t){fill_chunks(t, entries, t->chunks + (size_t)i * t->room), i};
    words += 1 + (size_t)columns[i].count * CHUNK_WORDS;
  }
  hone_merge_sort(columns, spare, (size_t)n, sizeof *columns, compare_columns);
  if (!reserve(t, words)) return false;
  t->words[first / GROUP] = (uint32_t)t->n_words;
  uint32_t* to = t->words + t->n_words;
  for (int i = 0; i < n; i++) {
    const chunk_t* chunks = t->chunks + (size_t)columns[i].index * t->room;
    put_word(&to, (uint32_t)columns[i].count | (uint32_t)columns[i].index << 16);
    for (int k = 0; k < columns[i].count; k++) put_chunk(&to, &chunks[k]);
  }
  t->n_words += words;
  return true;
}

static bool fill(table_t* t) {
  size_t groups = (size_t)(t->columns + GROUP - 1) / GROUP;
  if (!t->entries || !t->spare || !t->chunks || !reserve(t, groups)) return false;
  t->n_words = groups;
  for (int64_t column = 0; column < t->columns; column += GROUP)
    if (!put_group(t, column)) return false;
  return true;
}

static hone_status_t make(table_t* t, hone_tensor_t** out_tensor) {
  t->room = (size_t)t->sums + 1;
  t->entries = hone_alloc(t->allocator, t->room * sizeof *t->entries);
  t->spare = hone_alloc(t->allocator, t->room * sizeof *t->spare);
  t->chunks = hone_alloc(t->allocator, GROUP * t->room * sizeof *t->chunks);
  hone_status_t status = fill(t) ? NULL : hone_oom();
  int64_t bytes = (int64_t)(t->n_words * sizeof *t->words);
  if (!status) status = hone_tensor_create_raw(t->allocator, HONE_I8, 1, &bytes, out_tensor);
  if (!status) memcpy((*out_tensor)->data, t->words, (size_t)bytes);
  hone_free(t->allocator, t->words, t->words_room * sizeof *t->words);
  hone_free(t->allocator, t->chunks, GROUP * t->room * sizeof *t->chunks);
  hone_free(t->allocator, t->spare, t->room * sizeof *t->spare);
  hone_free(t->allocator, t->entries, t->room * sizeof *t->entries);
  return status;
}

hone_status_t hone_packing_apply_sparse(const hone_buffer_t* buffer, const hone_tensor_t* from,
                                        const hone_allocator_t* allocator,
                                        hone_tensor_t** out_tensor) {
  const hone_packing_t* packing = buffer->packing;
  int64_t strides[HONE_MAX_RANK], count = 1;
  bool is_like = packing->rank == from->rank && from->dtype == HONE_I8;
  for (int d = packing->rank - 1; is_like && d >= 0; d--) {
    strides[d] = count;
    is_like = packing->dims[d] == from->dims[d];
    count *= from->dims[d];
  }
  int64_t sums = is_like ? packing->dims[packing->sums] : 0;
  if (!is_like || sums > HONE_SPARSE_SUMS)
    return hone_status_make(HONE_INTERNAL, "the packing of '%s' does not fit its weight",
                            buffer->name);
  table_t table = {.allocator = allocator ? allocator : hone_allocator_system(),
                   .numbers = hone_tensor_data(from),
                   .sums = sums,
                   .columns = packing->dims[packing->columns],
                   .sum_step = strides[packing->sums],
                   .column_step = strides[packing->columns]};
  return make(&table, out_tensor);
}
