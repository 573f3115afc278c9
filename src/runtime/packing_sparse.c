/* Tables of the few numbers of a matrix that are not zero, for sums of products of u8 by i8 in 16
 * bits (codegen/prelude/cpu_sparse.inc). Words of 32 bits:
 *
 *   for each group of 16 columns, the last of which may have fewer, where it begins, in words
 *   for each group, for each of its columns: chunks | column in the group << 16; then the chunks
 *   a chunk: four entries
 *   an entry: pair | first << 16 | second << 24
 *
 * An entry has the numbers that rows 2 * pair and 2 * pair + 1 have in the column. Those of a chunk
 * that are positive add up to 128 at most, and those that are negative to -128 at least: 255 times
 * that fits 16 bits, whatever is added first. Entries that are left over are zero. Within a group,
 * columns with as many chunks follow one another, which branches are foreseen by. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/merge_sort.h"
#include "base/tensor_impl.h"
#include "runtime/packing_impl.h"

enum { GROUP = 16, CHUNK = 4, MOST = 128 };

typedef struct entry {
  uint32_t word;
  int above, below; /* the positive numbers, and the negative ones, added up */
} entry_t;

typedef struct chunk {
  uint32_t words[CHUNK];
  int count, above, below;
} chunk_t;

typedef struct column {
  int count; /* of its entries, then of its chunks */
  int index; /* in the group */
} column_t;

typedef struct table {
  const hone_allocator_t* allocator;
  const int8_t* numbers;
  int64_t pairs, columns;
  int64_t sum_step, column_step; /* in the matrix */
  entry_t *entries, *spare;      /* of a column */
  chunk_t* chunks;               /* of a group, `room` for each column */
  size_t room;
  uint32_t* words;
  size_t n_words, words_room;
} table_t;

static void put_word(uint32_t** at, uint32_t word) { *(*at)++ = word; }

static entry_t make_entry(int64_t pair, int8_t first, int8_t second) {
  uint32_t numbers = (uint32_t)(uint8_t)first | (uint32_t)(uint8_t)second << 8;
  return (entry_t){.word = (uint32_t)pair | numbers << 16,
                   .above = (first > 0 ? first : 0) + (second > 0 ? second : 0),
                   .below = (first < 0 ? -first : 0) + (second < 0 ? -second : 0)};
}

/* Two numbers of one sign that are too large together stand in two entries. */
static int list_entries(const table_t* t, int64_t column) {
  const int8_t* at = t->numbers + column * t->column_step;
  int n = 0;
  for (int64_t pair = 0; pair < t->pairs; pair++, at += 2 * t->sum_step) {
    const int8_t first = at[0], second = at[t->sum_step];
    if (!first && !second) continue;
    entry_t both = make_entry(pair, first, second);
    if (both.above <= MOST && both.below <= MOST) {
      t->entries[n++] = both;
      continue;
    }
    t->entries[n++] = make_entry(pair, first, 0);
    t->entries[n++] = make_entry(pair, 0, second);
  }
  return n;
}

static int larger(const entry_t* e) { return e->above > e->below ? e->above : e->below; }

static int compare_entries(const void* a, const void* b) { return larger(b) - larger(a); }

static bool fits(const chunk_t* c, const entry_t* e) {
  return c->count < CHUNK && c->above + e->above <= MOST && c->below + e->below <= MOST;
}

/* Large entries first, each into the first chunk that has room for it. */
static int fill_chunks(const table_t* t, int n, chunk_t* chunks) {
  int count = 0, open = 0;
  hone_merge_sort(t->entries, t->spare, (size_t)n, sizeof *t->entries, compare_entries);
  for (int i = 0; i < n; i++) {
    const entry_t* e = &t->entries[i];
    int at = open;
    while (at < count && !fits(&chunks[at], e)) at++;
    if (at == count) chunks[count++] = (chunk_t){.count = 0};
    chunks[at].words[chunks[at].count++] = e->word;
    chunks[at].above += e->above;
    chunks[at].below += e->below;
    while (open < count && chunks[open].count == CHUNK) open++;
  }
  return count;
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
    words += 1 + (size_t)columns[i].count * CHUNK;
  }
  hone_merge_sort(columns, spare, (size_t)n, sizeof *columns, compare_columns);
  if (!reserve(t, words)) return false;
  t->words[first / GROUP] = (uint32_t)t->n_words;
  uint32_t* to = t->words + t->n_words;
  for (int i = 0; i < n; i++) {
    const chunk_t* chunks = t->chunks + (size_t)columns[i].index * t->room;
    put_word(&to, (uint32_t)columns[i].count | (uint32_t)columns[i].index << 16);
    for (int k = 0; k < columns[i].count * CHUNK; k++)
      put_word(&to, chunks[k / CHUNK].words[k % CHUNK]);
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
  t->room = 2 * (size_t)t->pairs + 1;
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
  if (!is_like || sums % 2 || sums / 2 > UINT16_MAX / 2)
    return hone_status_make(HONE_INTERNAL, "the packing of '%s' does not fit its weight",
                            buffer->name);
  table_t table = {.allocator = allocator ? allocator : hone_allocator_system(),
                   .numbers = from->data,
                   .pairs = sums / 2,
                   .columns = packing->dims[packing->columns],
                   .sum_step = strides[packing->sums],
                   .column_step = strides[packing->columns]};
  return make(&table, out_tensor);
}
