/* Products of two operands that a run brings, neither of whose elements lie side by side along the
 * results, as those of rows by rows: a block of lanes of the second is copied, turned, for all
 * rows, and the tiles are those of weights that were laid out (schedule_contract.c). */
#include <stdio.h>

#include "backends/common/contraction.h"

/* Columns of a block, which become lanes. */
static int64_t block_of(const hone_recipe_t* r, const hone_contraction_t* c) {
  enum { VECTORS = 2 };
  int64_t lanes = r->shape->lanes, extent = hone_known_extent(c->lanes->extent);
  return extent % (VECTORS * lanes) == 0 ? VECTORS * lanes : lanes;
}

/* Rows enough for what copying takes, and tiles. */
bool hone_contraction_is_turnable(const hone_recipe_t* r, const hone_contraction_t* c) {
  enum { LEAST_ROWS = 16, LEAST_STEPS = 8 };
  const hone_buffer_t *a = c->a->buffer, *b = c->b->buffer;
  int64_t step;
  return r->shape->lanes > 1 && c->rows && c->n_sums == 1 && c->group == 1 && !c->apart &&
         !a->is_constant && !b->is_constant && b->role == HONE_ROLE_INPUT && hone_is_turnable(b) &&
         hone_known_extent(c->lanes->extent) >= r->shape->lanes &&
         hone_known_extent(c->rows->extent) >= LEAST_ROWS &&
         hone_known_extent(c->sums[0].extent) >= LEAST_STEPS &&
         hone_contraction_axis(c->b, c->lanes->var) >= 0 &&
         hone_contraction_axis(c->b, c->sums[0].var) >= 0 &&
         !(hone_contraction_factor(r->kernel, b, c->b->index, c->lanes->var, &step) && step == 1);
}

/* others { lanes { rows { … } } } */
static bool move_lanes_around(hone_recipe_t* r, const hone_contraction_t* c) {
  const char* names[HONE_CONTRACTION_LOOPS];
  int n = 0;
  for (int i = 0; i < c->n_outs; i++)
    if (&c->outs[i] != c->lanes && &c->outs[i] != c->rows) names[n++] = c->outs[i].name;
  names[n++] = c->lanes->name;
  names[n++] = c->rows->name;
  return hone_recipe_did(r, hone_sched_reorder(r->kernel, n, names));
}

/* Copies what a block reads of its operand, lanes last. */
static bool copy_turned(hone_recipe_t* r, hone_stmt_t* block, const char* rows) {
  hone_contraction_t c;
  if (!hone_contraction_recognise(r, &c, hone_kernel_find_loop(r->kernel, rows),
                                  HONE_LANES_OF_OUTPUT) ||
      !hone_copy_load(r, block, c.b) ||
      !hone_contraction_recognise(r, &c, hone_kernel_find_loop(r->kernel, rows),
                                  HONE_LANES_OF_OUTPUT))
    return false;
  int axis = hone_contraction_axis(c.b, c.lanes->var);
  if (axis >= 0 && c.b->buffer->role == HONE_ROLE_SCRATCH)
    hone_move_axis_back(r, c.b->buffer, axis, false);
  if (hone_stmt_is_loop(block->body[0])) hone_schedule_transpose(r, block->body[0]);
  return true;
}

bool hone_schedule_turned(hone_recipe_t* r, const hone_contraction_t* c) {
  char outer[HONE_LOOP_NAME], inner[HONE_LOOP_NAME], rest[HONE_LOOP_NAME], rows[HONE_LOOP_NAME];
  int64_t block = block_of(r, c);
  if (!hone_loop_name(outer, c->lanes->name, ".o") ||
      !hone_loop_name(inner, c->lanes->name, ".i") || !hone_loop_name(rest, c->lanes->name, ".t") ||
      !hone_loop_name(rows, c->rows->name, "") || !move_lanes_around(r, c) ||
      !hone_recipe_did(r, hone_sched_split(r->kernel, c->lanes->name, block, HONE_TAIL_PEEL)))
    return false;
  hone_stmt_t* tail = hone_kernel_find_loop(r->kernel, rest);
  if (tail) hone_schedule_rows(r, tail);
  const char* order[] = {rows, inner};
  hone_stmt_t* around = hone_kernel_find_loop(r->kernel, outer);
  if (!around || !hone_recipe_did(r, hone_sched_reorder(r->kernel, 2, order)) ||
      !copy_turned(r, around, rows))
    return true;
  hone_stmt_t* nest = hone_kernel_find_loop(r->kernel, rows);
  if (nest) hone_schedule_contract(r, nest);
  return true;
}
