/* Rows of a few numbers, as those of softmax over ten classes: in vectors along them lanes would be
 * left over, and what is found across lanes is found slowly. As many rows as a vector has lanes are
 * copied, turned, so that each has a lane; results come back the same way. */
#include <stdio.h>

#include "backends/common/schedule_impl.h"
#include "loop/access.h"

/* Vectors of a row: of more, lanes along it pay; where all that is found across lanes are sums and
 * no lanes are left over, sooner; for one sum and nothing else soonest of all. */
enum { MOST_VECTORS = 4, MOST_FULL = 2, MOST_OF_SUM = 1, MOST_BUFFERS = 8 };

typedef struct short_rows {
  hone_recipe_t* r;
  hone_stmt_t* rows;
  const hone_buffer_t* turned[MOST_BUFFERS]; /* that have the numbers of rows */
  int n_turned;
  bool fits;
} short_rows_t;

/* ---- looking ---- */

static void note_turned(short_rows_t* s, const hone_buffer_t* buffer) {
  for (int i = 0; i < s->n_turned; i++)
    if (s->turned[i] == buffer) return;
  s->fits &= s->n_turned < MOST_BUFFERS && hone_is_turnable(buffer) && !buffer->packing;
  if (s->fits) s->turned[s->n_turned++] = buffer;
}

/* Whether one axis is that of the rows of a block, which the loop along them leaves alone. */
static bool has_axis_of_rows(const short_rows_t* s, const hone_access_t* access, hone_dim_t along) {
  hone_kernel_t* kernel = s->r->kernel;
  int lanes = s->r->shape->lanes, axes = 0;
  for (int i = 0; i < access->buffer->rank; i++) {
    int64_t way = hone_lanes_reach(kernel, s->rows->var, lanes, access->index[i]);
    if (way == 0) continue;
    if (way != lanes - 1 || hone_dim_uses(access->index[i], along)) return false;
    axes++;
  }
  return axes == 1;
}

/* Lanes find what they need side by side, or in rows of which `along` goes through one. */
static void note_access(short_rows_t* s, const hone_access_t* access) {
  hone_dim_t offset = hone_buffer_offset(s->r->kernel, access->buffer, access->index);
  const hone_stmt_t* around = access->stmt->parent;
  int64_t across, along = 0;
  if (access->buffer->space != HONE_SPACE_GLOBAL) return;
  s->fits &= hone_dim_factor(offset, s->rows->var, &across) && across >= 0;
  if (!s->fits || across <= 1) return;
  s->fits = around != s->rows && hone_dim_factor(offset, around->var, &along) && along == 1 &&
            has_axis_of_rows(s, access, around->var);
  if (s->fits) note_turned(s, access->buffer);
}

static bool is_plain_store(const hone_stmt_t* stmt, hone_dim_t rows) {
  return stmt->kind == HONE_STMT_STORE && !hone_has_index_of(stmt->value, rows);
}

static bool is_sum(const hone_stmt_t* part) {
  bool found = part->is_reduction;
  for (int i = 0; i < part->n_body; i++)
    found &= part->body[i]->combine == HONE_COMBINE_ADD &&
             hone_dtype_is_float(part->body[i]->buffer->dtype);
  return found;
}

/* Whether a statement for each row is a store, or a loop along the row, in which only those are. */
static bool is_part(const short_rows_t* s, const hone_stmt_t* part) {
  if (!hone_stmt_is_loop(part)) return is_plain_store(part, s->rows->var);
  if (!hone_dim_is_int(part->extent) || part->loop != HONE_LOOP_SERIAL) return false;
  for (int i = 0; i < part->n_body; i++)
    if (!is_plain_store(part->body[i], s->rows->var)) return false;
  return true;
}

/* Whether rows that are so short are lanes rather than vectors. */
static bool are_short(const short_rows_t* s) {
  int loops = 0, reductions = 0, sums = 0;
  int64_t lanes = s->r->shape->lanes, longest = 0;
  bool is_costly = false;
  for (int i = 0; i < s->rows->n_body; i++) {
    const hone_stmt_t* part = s->rows->body[i];
    if (!is_part(s, part)) return false;
    if (!hone_stmt_is_loop(part)) continue;
    loops++;
    reductions += part->is_reduction;
    sums += is_sum(part);
    is_costly |= hone_has_costly_stores(part);
    if (part->extent.k > longest) longest = part->extent.k;
  }
  if (reductions == 0 || longest < (is_costly ? 2 : lanes / 2)) return false;
  int64_t most = loops == 1 && sums == 1                      ? MOST_OF_SUM
                 : sums == reductions && longest % lanes == 0 ? MOST_FULL
                                                              : MOST_VECTORS;
  return longest <= most * lanes;
}

static bool look(short_rows_t* s) {
  hone_access_list_t list;
  if (s->rows->is_reduction || s->rows->loop != HONE_LOOP_SERIAL || !are_short(s) ||
      hone_dim_min_value(s->rows->extent) < s->r->shape->lanes ||
      !hone_recipe_did(s->r, hone_access_collect(s->r->kernel, s->rows, &list)))
    return false;
  s->fits = true;
  for (int i = 0; i < list.count && s->fits; i++) note_access(s, &list.items[i]);
  hone_access_free(&list);
  return s->fits && s->n_turned > 0;
}

/* ---- doing ---- */

/* Of what is kept for the rows of a part the axis of these lies behind the others. */
static void put_rows_last(hone_recipe_t* r, hone_stmt_t* part) {
  hone_access_list_t list;
  const hone_buffer_t* done[2 * MOST_BUFFERS];
  int n = 0;
  if (!hone_recipe_did(r, hone_access_collect(r->kernel, part, &list))) return;
  for (int i = 0; i < list.count; i++) {
    const hone_buffer_t* buffer = list.items[i].buffer;
    bool is_new = buffer->role == HONE_ROLE_SCRATCH && n < 2 * MOST_BUFFERS;
    for (int k = 0; k < n; k++) is_new &= done[k] != buffer;
    for (int axis = 0; is_new && axis < buffer->rank - 1; axis++)
      if (hone_dim_same(list.items[i].index[axis], part->var)) {
        hone_move_axis_back(r, buffer, axis, false);
        done[n++] = buffer;
        break;
      }
  }
  hone_access_free(&list);
}

/* Copies stand in front of the parts of a block and behind them, and are turned last, when it is
 * known how what they copy lies: from the end on, since what is peeled off stands behind. */
static void schedule_block(hone_recipe_t* r, const hone_stmt_t* block, const char* rows) {
  int first = hone_stmt_position(hone_kernel_find_loop(r->kernel, rows)),
      behind = block->n_body - first - 1;
  if (!hone_recipe_did(r, hone_sched_distribute(r->kernel, rows))) return;
  int end = block->n_body - behind;
  for (int i = first; i < end; i++) {
    put_rows_last(r, block->body[i]);
    hone_make_lanes_inside(r, block->body[i]);
  }
  for (int i = block->n_body - 1; i >= 0; i--)
    if ((i < first || i >= end) && hone_stmt_is_loop(block->body[i]))
      hone_schedule_transpose(r, block->body[i]);
}

bool hone_schedule_short_rows(hone_recipe_t* r, hone_stmt_t* rows) {
  char outer[HONE_LOOP_NAME], inner[HONE_LOOP_NAME], rest[HONE_LOOP_NAME];
  short_rows_t s = {.r = r, .rows = rows};
  if (r->choice->no_columns || r->shape->lanes < 4 || !look(&s) ||
      !hone_loop_name(outer, rows->name, ".o") || !hone_loop_name(inner, rows->name, ".i") ||
      !hone_loop_name(rest, rows->name, ".t") ||
      !hone_recipe_did(r, hone_sched_split(r->kernel, rows->name, r->shape->lanes, HONE_TAIL_PEEL)))
    return false;
  for (int i = 0; i < s.n_turned; i++)
    hone_recipe_did(r, hone_sched_stage(r->kernel, s.turned[i]->name, outer, HONE_STAGE_LOCAL));
  schedule_block(r, hone_kernel_find_loop(r->kernel, outer), inner);
  hone_stmt_t* tail = hone_kernel_find_loop(r->kernel, rest);
  if (tail) hone_schedule_rows(r, tail);
  return true;
}
