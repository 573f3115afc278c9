/* hasten: where a round asks for a line ahead, it asks for as many as it takes.
 *
 *   for j.o { for i in n { for k { prefetch b[j.o + 1, …]; … } } }
 *
 * asks for n * k lines of what may have more; how many, only a run knows. "hasten b j.o 8" puts
 * a loop around the prefetch whose rounds are the share of one, 8 at most; with "none" behind,
 * nobody asks where a share is more. Where all ask in front of a matrix instruction, a share is
 * no piece of the block but a line from each of as many. */
#include <string.h>

#include "base/memory.h"
#include "loop/block.h"
#include "sched/common/asks.h"
#include "sched/common/edit.h"

enum { MOST_ASKS = 64 };

typedef struct haste {
  hone_kernel_t* kernel;
  hone_stmt_t* loop;
  hone_buffer_t* buffer;
  int axis;      /* that the loop goes along */
  int64_t most;  /* lines of a share */
  bool gives_up; /* where it is more */
  int n;
  hone_stmt_t* asks[MOST_ASKS];
} haste_t;

static bool add_ask(void* self, hone_stmt_t* stmt) {
  haste_t* h = self;
  if (stmt->kind != HONE_STMT_PREFETCH || stmt->is_claim || stmt->buffer != h->buffer) return true;
  int axis = hone_asks_axis(h->kernel, h->buffer, stmt->index, h->loop);
  bool fits = axis >= 0 && h->n < MOST_ASKS && (!h->n || axis == h->axis);
  h->axis = axis;
  if (fits)
    h->asks[h->n++] = stmt;
  else
    h->n = 0;
  return fits;
}

/* Lines for each of the rounds that ask, of which there may be none. */
static hone_dim_t share(const haste_t* h) {
  hone_dims_t* dims = h->kernel->dims;
  hone_dim_t asked = hone_dim_int(0), one = hone_dim_int(1), most = hone_dim_int(h->most);
  for (int i = 0; i < h->loop->n_body; i++)
    asked = hone_dim_add(dims, asked, hone_asks_in(h->kernel, h->loop->body[i], h->buffer));
  hone_dim_t lines = hone_dim_int(hone_asks_lines(h->kernel, h->buffer, h->axis));
  hone_dim_t each = hone_dim_ceildiv(dims, lines, hone_dim_max(dims, asked, one));
  return h->gives_up ? hone_dim_select_lt(dims, most, each, hone_dim_int(0), each)
                     : hone_dim_min(dims, each, most);
}

/* Puts a loop around the statement. */
static bool repeat(const haste_t* h, hone_stmt_t* ask, hone_dim_t times) {
  hone_stmt_t* parent = ask->parent;
  int position = hone_stmt_position(ask);
  hone_stmt_t* loop = hone_stmt_loop(h->kernel, parent, "ask", times, HONE_LOOP_SERIAL);
  if (!loop) return false;
  hone_stmt_remove(loop);
  hone_stmt_remove(ask);
  return hone_stmt_insert(h->kernel, loop, 0, ask) &&
         hone_stmt_insert(h->kernel, parent, position, loop);
}

static bool is_by_instructions(const haste_t* h) {
  for (int i = 0; i < h->n; i++)
    if (!hone_block_is_in(h->asks[i]->parent)) return false;
  return true;
}

/* A share is what comes one after the other. */
static bool ask_on(const haste_t* h, hone_dim_t times) {
  for (int i = 0; i < h->n; i++)
    if (!repeat(h, h->asks[i], times)) return false;
  for (int i = 0; i < h->n; i++)
    if (!hone_asks_number(h->kernel, h->asks[i], h->loop, h->axis, false)) return false;
  return true;
}

/* A share is a line from each of as many streams, along which all rounds go: memory gives several
 * at once more than one. In front of a matrix instruction, whose round has many lines, to stop at
 * the last of them would take longer than asking. */
static bool ask_in_streams(const haste_t* h, hone_dim_t times) {
  hone_dims_t* dims = h->kernel->dims;
  hone_dim_t lines = hone_dim_int(hone_asks_lines(h->kernel, h->buffer, h->axis));
  hone_dim_t stream = hone_dim_ceildiv(dims, lines, hone_dim_max(dims, times, hone_dim_int(1)));
  for (int i = 0; i < h->n; i++)
    if (!hone_asks_number(h->kernel, h->asks[i], h->loop, h->axis, true)) return false;
  for (int i = 0; i < h->n; i++)
    if (!repeat(h, h->asks[i], times) ||
        !hone_asks_add(h->kernel, h->asks[i], hone_dim_mul(dims, h->asks[i]->parent->var, stream)))
      return false;
  return true;
}

static bool hasten(const haste_t* h) {
  hone_dim_t times = share(h);
  return is_by_instructions(h) ? ask_in_streams(h, times) : ask_on(h, times);
}

hone_status_t hone_sched_hasten(hone_kernel_t* kernel, const char* buffer, const char* loop,
                                int64_t most, bool gives_up) {
  size_t begin = hone_sched_begin(kernel);
  haste_t h = {.kernel = kernel, .most = most, .gives_up = gives_up};
  HONE_TRY(hone_sched_find_buffer(kernel, buffer, &h.buffer));
  HONE_TRY(hone_sched_find(kernel, loop, &h.loop));
  hone_stmt_walk(h.loop, add_ask, &h);
  if (!h.n)
    return hone_sched_refuse("hasten %s: rounds of %s ask for none of it, or not for the next's",
                             h.buffer->name, h.loop->name);
  if (most < 1) return hone_sched_refuse("hasten %s: %lld lines", buffer, (long long)most);
  if (!hasten(&h)) return hone_oom();
  return hone_sched_end(kernel, begin, "hasten %s %s %lld%s", h.buffer->name, h.loop->name,
                        (long long)most, gives_up ? " none" : "");
}

static hone_status_t apply(hone_kernel_t* kernel, int n, const char* const* args) {
  int64_t most;
  HONE_TRY(hone_sched_parse_int(args[2], &most));
  if (n > 3 && strcmp(args[3], "none") != 0)
    return hone_sched_refuse("hasten %s: '%s' is not none", args[0], args[3]);
  return hone_sched_hasten(kernel, args[0], args[1], most, n > 3);
}

const hone_primitive_t hone_primitive_hasten = {
    .name = "hasten",
    .usage = "hasten BUFFER LOOP MOST [none]",
    .min_args = 3,
    .max_args = 4,
    .apply = apply,
};
