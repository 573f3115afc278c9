/* overlap: a loop becomes blocks of equal length, the last of which reaches back into the one
 * before instead of being shorter.
 *
 *   for i in n { x[i] = … }      becomes, with blocks of 16 rounds,
 *
 *   for i.w.o in (n < 16 ? 0 : ceil(n / 16)) {
 *     for i.w.i in 16 { x[min(16 * i.w.o, n - 16) + i.w.i] = … } }
 *   for i.t in (n < 16 ? n : 0) { x[i.t] = … }
 *
 * Some rounds are run twice, so they must not read what the loop leaves behind, nor may what they
 * store lie where something that they read did. */
#include "base/memory.h"
#include "sched/common/edit.h"

typedef struct window {
  hone_dim_t length, last; /* rounds in a block; where the last one begins */
} window_t;

/* The round that stands at a place of blocks one after the other. */
static hone_dim_t place(void* self, hone_kernel_t* kernel, hone_dim_t var) {
  const window_t* w = self;
  hone_dim_t within = hone_dim_mod(kernel->dims, var, w->length);
  hone_dim_t start = hone_dim_sub(kernel->dims, var, within);
  return hone_dim_add(kernel->dims, hone_dim_min(kernel->dims, start, w->last), within);
}

/* Too few rounds for a block, in a loop of their own behind this one. */
static bool add_rest(hone_kernel_t* kernel, hone_stmt_t* loop, hone_dim_t length) {
  hone_dim_t few =
      hone_dim_select_lt(kernel->dims, loop->extent, length, loop->extent, hone_dim_int(0));
  hone_stmt_t* rest = hone_sched_copy(kernel, loop);
  return rest &&
         hone_sched_retarget(kernel, rest, hone_sched_name(kernel, loop->name, "t"), few, NULL,
                             NULL) &&
         hone_stmt_insert(kernel, loop->parent, hone_stmt_position(loop) + 1, rest);
}

static bool note_repeats(void* self, hone_stmt_t* stmt) {
  const hone_kernel_t* kernel = self;
  if (stmt->kind == HONE_STMT_STORE) kernel->buffers[stmt->buffer->id]->is_stored_once = false;
  return true;
}

static bool run(hone_kernel_t* kernel, hone_stmt_t* loop, int64_t factor) {
  hone_dims_t* dims = kernel->dims;
  hone_stmt_walk(loop, note_repeats, kernel);
  hone_dim_t length = hone_dim_int(factor), extent = loop->extent;
  window_t window = {length, hone_dim_sub(dims, extent, length)};
  hone_dim_t blocks = hone_dim_select_lt(dims, extent, length, hone_dim_int(0),
                                         hone_dim_ceildiv(dims, extent, length));
  if (hone_dim_min_value(extent) < factor && !add_rest(kernel, loop, length)) return false;
  if (!hone_sched_retarget(kernel, loop, hone_sched_name(kernel, loop->name, "w"),
                           hone_dim_mul(dims, blocks, length), place, &window))
    return false;
  hone_status_t status = hone_sched_split(kernel, loop->name, factor, HONE_TAIL_EXACT);
  hone_status_free(status);
  return !status;
}

/* The buffer that rounds find as others leave it; NULL: there is none. */
static const hone_buffer_t* find_state(const hone_access_list_t* list, hone_stmt_t* const* owners,
                                       const hone_stmt_t* loop) {
  for (int i = 0; i < list->count; i++) {
    const hone_access_t* store = &list->items[i];
    if (!store->is_store || (store->buffer->role == HONE_ROLE_SCRATCH &&
                             hone_stmt_is_inside(owners[store->buffer->id], loop)))
      continue;
    if (store->combine != HONE_COMBINE_SET) return store->buffer;
    for (int k = 0; k < list->count; k++)
      if (!list->items[k].is_store && list->items[k].buffer == store->buffer) return store->buffer;
  }
  return NULL;
}

static hone_status_t check_rounds(hone_kernel_t* kernel, hone_stmt_t* loop) {
  hone_access_list_t list = {0};
  hone_stmt_t** owners =
      hone_arena_array(kernel->arena, (size_t)kernel->n_buffers + 1, sizeof *owners);
  hone_status_t status = owners ? hone_access_owners(kernel, owners) : hone_oom();
  if (!status) status = hone_access_collect(kernel, loop, &list);
  const hone_buffer_t* state = status ? NULL : find_state(&list, owners, loop);
  hone_access_free(&list);
  if (state)
    status = hone_sched_refuse("overlap %s: its rounds cannot run twice, since they change %s",
                               loop->name, state->name);
  return status;
}

static hone_status_t check(hone_kernel_t* kernel, hone_stmt_t* loop, int64_t factor) {
  if (factor < 1 || factor > INT32_MAX)
    return hone_sched_refuse("overlap %s: blocks have from 1 to 2^31 - 1 rounds", loop->name);
  if (hone_dim_max_value(loop->extent) < factor)
    return hone_sched_refuse("overlap %s: %lld is more than the extent", loop->name,
                             (long long)factor);
  HONE_TRY(hone_sched_want_serial(loop));
  HONE_TRY(hone_sched_want_order(kernel, loop));
  return check_rounds(kernel, loop);
}

hone_status_t hone_sched_overlap(hone_kernel_t* kernel, const char* name, int64_t factor) {
  size_t begin = hone_sched_begin(kernel);
  hone_stmt_t* loop;
  HONE_TRY(hone_sched_find(kernel, name, &loop));
  HONE_TRY(check(kernel, loop, factor));
  const char* noted = loop->name;
  if (!run(kernel, loop, factor)) return hone_oom();
  return hone_sched_end(kernel, begin, "overlap %s %lld", noted, (long long)factor);
}

static hone_status_t apply(hone_kernel_t* kernel, int n, const char* const* args) {
  int64_t factor;
  HONE_TRY(hone_sched_parse_int(args[1], &factor));
  return hone_sched_overlap(kernel, args[0], factor);
}

const hone_primitive_t hone_primitive_overlap = {
    .name = "overlap",
    .usage = "overlap LOOP FACTOR",
    .min_args = 2,
    .max_args = 2,
    .apply = apply,
};
