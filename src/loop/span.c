/* Offsets as factor * round + rest, with bounds of the rest. */
#include "loop/span.h"

#include <string.h>

#include "base/memory.h"
#include "loop/access.h"

/* Of one access, in elements: offset of round r is between step * r + least and … + most. */
typedef struct steps {
  bool is_known, is_any; /* is_any: there was an access */
  int64_t step, least, most;
} steps_t;

enum { MOST = 1 << 28 }; /* so that products of two do not overflow */

static bool is_small(int64_t k) { return k > -MOST && k < MOST; }

hone_stmt_t* hone_kernel_parallel_loop(const hone_kernel_t* kernel) {
  hone_stmt_t* found = NULL;
  for (int i = 0; i < kernel->root->n_body; i++) {
    hone_stmt_t* stmt = kernel->root->body[i];
    if (!hone_stmt_is_parallel(stmt)) continue;
    if (found) return NULL;
    found = stmt;
  }
  return found;
}

/* Of few rounds, parts would often be none. */
static bool has_many_rounds(const hone_stmt_t* loop) {
  enum { MANY = 8 };
  return hone_stmt_is_parallel(loop) && hone_dim_is_int(loop->extent) && loop->extent.k >= MANY &&
         loop->extent.k <= INT32_MAX;
}

int64_t hone_kernel_common_rounds(const hone_kernel_t* kernel) {
  int64_t most = 0, least = INT64_MAX;
  for (int i = 0; i < kernel->root->n_body; i++) {
    const hone_stmt_t* stmt = kernel->root->body[i];
    if (!has_many_rounds(stmt)) continue;
    if (stmt->extent.k > most) most = stmt->extent.k;
    if (stmt->extent.k < least) least = stmt->extent.k;
  }
  return most / 2 >= least ? most : 0;
}

bool hone_loop_goes_along(const hone_kernel_t* kernel, const hone_stmt_t* loop) {
  return has_many_rounds(loop) && hone_kernel_common_rounds(kernel) > 0;
}

hone_dim_t hone_kernel_rounds(const hone_kernel_t* kernel) {
  hone_dim_t rounds = hone_dim_int(hone_kernel_common_rounds(kernel));
  bool has_single = false;
  for (int i = 0; i < kernel->root->n_body; i++) {
    const hone_stmt_t* stmt = kernel->root->body[i];
    if (hone_stmt_is_parallel(stmt) && !hone_loop_goes_along(kernel, stmt))
      rounds = hone_dim_add(kernel->dims, rounds, stmt->extent);
    has_single |= !hone_stmt_is_parallel(stmt) && stmt->kind != HONE_STMT_LET;
  }
  return has_single ? hone_dim_max(kernel->dims, rounds, hone_dim_int(1)) : rounds;
}

bool hone_fill_goes_along(const hone_kernel_t* kernel, const hone_stmt_t* loop) {
  hone_dim_t rounds = hone_kernel_rounds(kernel);
  return hone_dim_is_int(rounds) && rounds.k && rounds.k <= INT32_MAX &&
         loop->kind == HONE_STMT_LOOP && loop->loop == HONE_LOOP_SERIAL &&
         hone_dim_is_int(loop->extent) && loop->extent.k <= INT32_MAX && hone_stmt_is_fill(loop);
}

bool hone_span_is_sound(const hone_span_t* span) {
  enum { MOST_BYTES = 32 }; /* of an element */
  return span->step > -MOST_BYTES * (int64_t)MOST && span->step < MOST_BYTES * (int64_t)MOST &&
         span->least > -MOST_BYTES * (int64_t)MOST && span->most < MOST_BYTES * (int64_t)MOST &&
         span->least <= span->most;
}

static void widen(steps_t* steps, int64_t step, int64_t least, int64_t most) {
  if (!steps->is_any) {
    *steps = (steps_t){true, true, step, least, most};
    return;
  }
  steps->is_known = steps->is_known && steps->step == step;
  if (least < steps->least) steps->least = least;
  if (most > steps->most) steps->most = most;
}

/* Takes in an access inside of a loop over `var`. */
static void add_access(hone_kernel_t* kernel, const hone_buffer_t* buffer, const hone_dim_t* index,
                       hone_dim_t var, steps_t* steps) {
  int64_t step;
  hone_dim_t offset = hone_buffer_offset(kernel, buffer, index);
  if (hone_dim_is_bad(offset) || !hone_dim_factor(offset, var, &step)) {
    widen(steps, 0, 0, 0);
    steps->is_known = false;
    return;
  }
  hone_dim_t rest =
      hone_dim_sub(kernel->dims, offset, hone_dim_mul(kernel->dims, var, hone_dim_int(step)));
  int64_t least = hone_dim_min_value(rest), most = hone_dim_max_value(rest);
  widen(steps, step, least, most);
  if (hone_dim_is_bad(rest) || !is_small(step) || !is_small(least) || !is_small(most))
    steps->is_known = false;
}

/* Of all accesses inside the loop, by buffer; `only` NULL: of all buffers. */
static hone_status_t find_steps(hone_kernel_t* kernel, hone_stmt_t* loop, const hone_buffer_t* only,
                                steps_t* out) {
  hone_access_list_t list;
  hone_status_t status = hone_access_collect(kernel, loop, &list);
  for (int i = 0; i < list.count && !status; i++) {
    const hone_access_t* a = &list.items[i];
    if (a->buffer->role == HONE_ROLE_SCRATCH || (only && a->buffer != only)) continue;
    add_access(kernel, a->buffer, a->index, loop->var, only ? out : &out[a->buffer->id]);
  }
  hone_access_free(&list);
  return status;
}

/* ---- fills ---- */

/* Whether the store lies before, else behind, what all rounds of the loop touch, each of which has
 * a part of the buffer of its own. */
static hone_fill_place_t place(hone_kernel_t* kernel, const hone_stmt_t* store, const steps_t* main,
                               int64_t rounds) {
  hone_dim_t offset = hone_buffer_offset(kernel, store->buffer, store->index);
  if (!main->is_known || main->most - main->least >= main->step || hone_dim_is_bad(offset))
    return HONE_FILL_ALONG;
  if (hone_dim_max_value(offset) < main->least) return HONE_FILL_FIRST;
  if (hone_dim_min_value(offset) > main->step * (rounds - 1) + main->most) return HONE_FILL_LAST;
  return HONE_FILL_ALONG;
}

static bool has_known_rounds(const hone_stmt_t* loop) {
  return loop && hone_dim_is_int(loop->extent) && is_small(loop->extent.k) && loop->extent.k > 0;
}

hone_status_t hone_fill_place(hone_kernel_t* kernel, const hone_stmt_t* store,
                              hone_fill_place_t* out) {
  hone_stmt_t* loop = hone_kernel_parallel_loop(kernel);
  steps_t main = {.is_known = true};
  *out = HONE_FILL_ALONG;
  if (!has_known_rounds(loop)) return NULL;
  HONE_TRY(find_steps(kernel, loop, store->buffer, &main));
  *out = place(kernel, store, &main, loop->extent.k);
  return NULL;
}

typedef struct fills {
  hone_kernel_t* kernel;
  const hone_stmt_t* nest;
  int64_t rounds;
  const steps_t* main; /* by buffer */
  steps_t* all;
} fills_t;

/* A store of a nest of which each round does an equal part. */
static bool add_fill(void* self, hone_stmt_t* stmt) {
  const fills_t* f = self;
  if (stmt->kind != HONE_STMT_STORE ||
      place(f->kernel, stmt, &f->main[stmt->buffer->id], f->rounds) != HONE_FILL_ALONG)
    return true;
  steps_t one = {.is_known = true}, *all = &f->all[stmt->buffer->id];
  add_access(f->kernel, stmt->buffer, stmt->index, f->nest->var, &one);
  int64_t part = f->nest->extent.k / f->rounds;
  bool is_even = one.is_known && f->nest->extent.k % f->rounds == 0 && one.step >= 0 &&
                 is_small(one.step * part);
  if (is_even)
    widen(all, one.step * part, one.least, one.most + one.step * (part - 1));
  else
    all->is_known = false;
  return true;
}

/* False where something else than fills stands beside the loop. */
static bool add_fills(hone_kernel_t* kernel, const hone_stmt_t* loop, const steps_t* main,
                      steps_t* all) {
  for (int i = 0; i < kernel->root->n_body; i++) {
    hone_stmt_t* nest = kernel->root->body[i];
    if (nest == loop) continue;
    if (!hone_fill_goes_along(kernel, nest)) return false;
    fills_t fills = {kernel, nest, loop->extent.k, main, all};
    hone_stmt_walk(nest, add_fill, &fills);
  }
  return true;
}

/* ---- the whole ---- */

hone_status_t hone_kernel_spans(hone_kernel_t* kernel, hone_span_t* out) {
  hone_stmt_t* loop = hone_kernel_parallel_loop(kernel);
  size_t count = (size_t)kernel->n_buffers, bytes = 2 * count * sizeof(steps_t);
  for (size_t i = 0; i < count; i++) out[i] = (hone_span_t){0};
  if (!has_known_rounds(loop)) return NULL;
  steps_t* main = hone_alloc(kernel->allocator, bytes);
  if (!main) return hone_oom();
  steps_t* all = main + count;
  for (size_t i = 0; i < count; i++) main[i] = (steps_t){.is_known = true};
  hone_status_t status = find_steps(kernel, loop, NULL, main);
  memcpy(all, main, count * sizeof *all);
  bool is_alone = !status && add_fills(kernel, loop, main, all);
  for (size_t i = 0; i < count && is_alone; i++) {
    int64_t size = (int64_t)hone_dtype_size(kernel->buffers[i]->dtype);
    if (all[i].is_known && all[i].is_any)
      out[i] =
          (hone_span_t){true, all[i].step * size, all[i].least * size, (all[i].most + 1) * size};
  }
  hone_free(kernel->allocator, main, bytes);
  return status;
}

/* ---- needs ---- */

static int64_t ceil_div(int64_t a, int64_t b) { return -hone_i64_floordiv(-a, b); }

static int64_t clamp(int64_t k, int64_t most) { return k < 0 ? 0 : k > most ? most : k; }

int64_t hone_need_begin(const hone_need_t* need, int64_t writers, int64_t begin) {
  return clamp(hone_i64_floordiv(need->reader_step * begin + need->least, need->writer_step),
               writers - 1);
}

int64_t hone_need_end(const hone_need_t* need, int64_t writers, int64_t end) {
  int64_t last = hone_i64_floordiv(need->reader_step * (end - 1) + need->most, need->writer_step);
  return clamp(last, writers - 1) + 1;
}

int64_t hone_need_first_without(const hone_need_t* need, int64_t writers, int64_t writer) {
  if (writer <= 0) return 0;
  if (writer >= writers) return INT64_MAX;
  return clamp(ceil_div(need->writer_step * writer - need->least, need->reader_step), INT64_MAX);
}

int64_t hone_need_count_before(const hone_need_t* need, int64_t writer) {
  if (writer <= 0) return 0;
  return clamp(ceil_div(need->writer_step * writer - need->most, need->reader_step), INT64_MAX);
}
