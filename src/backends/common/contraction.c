/* Which loops of a nest are a contraction, and where its lanes can go. */
#include "backends/common/contraction.h"

#include <stdio.h>

#include "loop/block.h"
#include "loop/slight.h"
#include "tune/cost.h"

static bool find_outs(hone_contraction_t* c, const hone_stmt_t* nest) {
  for (const hone_stmt_t* loop = nest; loop; loop = hone_only_loop(loop)) {
    if (c->n_outs == HONE_CONTRACTION_LOOPS || loop->is_reduction) return false;
    c->outs[c->n_outs++] = (hone_axis_t){loop->name, loop->var, loop->extent};
    c->body = loop;
  }
  return c->n_outs > 0;
}

/* The loops of the sum among the statements of the innermost output loop. */
static bool find_sums(hone_contraction_t* c) {
  const hone_stmt_t* sum = NULL;
  for (int i = 0; i < c->body->n_body; i++) {
    const hone_stmt_t* stmt = c->body->body[i];
    if (stmt->kind == HONE_STMT_STORE) continue;
    if (!hone_stmt_is_loop(stmt) || !stmt->is_reduction || sum) return false;
    sum = stmt;
  }
  for (; sum; sum = hone_only_loop(sum)) {
    if (c->n_sums == HONE_CONTRACTION_LOOPS) return false;
    c->sums[c->n_sums++] = (hone_axis_t){sum->name, sum->var, sum->extent};
    c->update = sum->body[0];
  }
  return c->n_sums > 0;
}

/* The load of an operand: of numbers, or of weights with a scale for each block, which is
 * multiplied with them where they are read. */
static const hone_term_t* find_operand(const hone_term_t* term) {
  const hone_term_t* load = hone_bare_load(term);
  if (load || term->kind != HONE_TERM_PRIM || term->prim != HONE_PRIM_MUL) return load;
  const hone_term_t *numbers = hone_bare_load(term->args[0]),
                    *scale = hone_bare_load(term->args[1]);
  return numbers && scale && numbers->buffer->is_constant && scale->buffer->is_constant &&
                 hone_dtype_is_int(numbers->buffer->dtype)
             ? numbers
             : NULL;
}

static bool find_update(hone_contraction_t* c) {
  if (c->update->parent->n_body != 1 || c->update->kind != HONE_STMT_STORE) return false;
  const hone_term_t* value = c->update->value;
  if (c->update->combine != HONE_COMBINE_ADD || value->kind != HONE_TERM_PRIM ||
      value->prim != HONE_PRIM_MUL)
    return false;
  c->a = find_operand(value->args[0]);
  c->b = find_operand(value->args[1]);
  return c->a && c->b;
}

bool hone_contraction_factor(hone_kernel_t* k, const hone_buffer_t* buffer, const hone_dim_t* index,
                             hone_dim_t var, int64_t* out) {
  return hone_dim_factor(hone_buffer_offset(k, buffer, index), var, out);
}

/* Makes b the operand that moves with the lanes, and weights, where both do. */
static bool put_lanes_in_b(hone_contraction_t* c) {
  bool in_a = hone_term_uses(c->a, c->lanes->var), in_b = hone_term_uses(c->b, c->lanes->var);
  if (in_a && (!in_b || c->a->buffer->is_constant)) {
    const hone_term_t* swap = c->a;
    c->a = c->b;
    c->b = swap;
  }
  return in_a || in_b;
}

/* The output loop along which the results are consecutive. */
static bool find_lanes(hone_kernel_t* kernel, hone_contraction_t* c) {
  const hone_stmt_t* store = c->body->body[c->body->n_body - 1];
  if (store->kind != HONE_STMT_STORE) return false;
  for (int i = c->n_outs - 1; i >= 0; i--) {
    int64_t factor;
    if (hone_contraction_factor(kernel, store->buffer, store->index, c->outs[i].var, &factor) &&
        factor == 1)
      c->lanes = &c->outs[i];
  }
  return c->lanes && put_lanes_in_b(c);
}

/* The innermost other output loop that the second operand does not see. */
static void find_rows(hone_kernel_t* kernel, hone_contraction_t* c) {
  int64_t stride;
  for (int i = 0; i < c->n_outs; i++)
    if (&c->outs[i] != c->lanes && !hone_term_uses(c->b, c->outs[i].var)) c->rows = &c->outs[i];
  if (c->rows &&
      hone_contraction_factor(kernel, c->a->buffer, c->a->index, c->rows->var, &stride) &&
      stride > 0 && stride < (1 << 24))
    c->row_bytes = stride * (int64_t)hone_dtype_size(c->a->buffer->dtype);
}

/* Axis of b that is exactly the variable; -1: none. */
int hone_contraction_axis(const hone_term_t* b, hone_dim_t var) {
  for (int i = 0; i < b->buffer->rank; i++)
    if (hone_dim_same(b->index[i], var)) return i;
  return -1;
}

/* Axis of b that the lanes go along, or one of equal parts of which others choose, as heads are of
 * all columns; -1: none. */
static int find_lanes_axis(hone_dims_t* dims, const hone_contraction_t* c) {
  for (int i = 0; i < c->b->buffer->rank; i++) {
    hone_dim_t rest = hone_dim_sub(dims, c->b->index[i], c->lanes->var);
    if (!hone_dim_uses(c->b->index[i], c->lanes->var) || hone_dim_uses(rest, c->lanes->var))
      continue;
    if (hone_dim_is(rest, 0) || hone_dim_is(hone_dim_mod(dims, rest, c->lanes->extent), 0))
      return i;
  }
  return -1;
}

/* The longest output loop that only goes along weights, of several the innermost: they can
 * be laid out as lanes want them, and results are put down one by one. */
static bool find_weight_lanes(hone_contraction_t* c) {
  const hone_term_t *a = c->a, *b = c->b;
  for (int i = c->n_outs - 1; i >= 0; i--) {
    bool in_a = hone_term_uses(a, c->outs[i].var), in_b = hone_term_uses(b, c->outs[i].var);
    const hone_term_t *weights = in_a ? a : b, *other = in_a ? b : a;
    if (in_a == in_b || !weights->buffer->is_constant || other->buffer->is_constant ||
        !hone_dim_is_int(c->outs[i].extent) || hone_contraction_axis(weights, c->outs[i].var) < 0 ||
        (c->lanes && c->lanes->extent.k >= c->outs[i].extent.k))
      continue;
    c->lanes = &c->outs[i];
    c->a = other;
    c->b = weights;
  }
  return c->lanes;
}

/* The longest output loop along which the elements of the operand that is no weight are
 * consecutive. */
static bool find_data_lanes(hone_kernel_t* kernel, hone_contraction_t* c) {
  const hone_term_t* data = c->a->buffer->is_constant ? c->b : c->a;
  int64_t factor, most = 1;
  if (data->buffer->is_constant) return false;
  for (int i = 0; i < c->n_outs; i++) {
    int64_t extent = hone_cost_extent(c->outs[i].extent);
    if (extent <= most ||
        !hone_contraction_factor(kernel, data->buffer, data->index, c->outs[i].var, &factor) ||
        factor != 1)
      continue;
    c->lanes = &c->outs[i];
    most = extent;
  }
  return c->lanes && put_lanes_in_b(c);
}

static bool place_lanes(const hone_recipe_t* r, hone_contraction_t* c, hone_lanes_at_t at) {
  switch (at) {
    case HONE_LANES_OF_OUTPUT:
      return find_lanes(r->kernel, c);
    case HONE_LANES_OF_WEIGHTS:
      return find_weight_lanes(c);
    case HONE_LANES_OF_DATA:
      return find_data_lanes(r->kernel, c);
    default: /* they were chosen before, and moved outside of all other loops */
      c->lanes = &c->outs[0];
      return put_lanes_in_b(c);
  }
}

/* The sum whose steps are consecutive in a, else the last. */
int hone_contraction_innermost(hone_kernel_t* kernel, const hone_contraction_t* c) {
  int best = c->n_sums - 1;
  if (c->apart_sum >= 0) return c->apart_sum;
  for (int i = 0; i < c->n_sums - 1; i++) {
    int64_t factor;
    if (hone_contraction_factor(kernel, c->a->buffer, c->a->index, c->sums[i].var, &factor) &&
        factor == 1)
      best = i;
  }
  return best;
}

/* ---- what could be laid out ---- */

/* Whether an axis of b goes along the lanes or a sum alone, or neither of them. */
static bool uses_alone(const hone_contraction_t* c, int axis) {
  hone_dim_t index = c->b->index[axis];
  bool is_inside = hone_dim_uses(index, c->lanes->var);
  if (axis == c->lanes_axis || axis == c->twice_axis) return true;
  for (int i = 0; i < c->n_sums; i++) {
    if (hone_dim_same(index, c->sums[i].var)) return true;
    is_inside |= hone_dim_uses(index, c->sums[i].var);
  }
  return !is_inside;
}

/* Weights, or narrow numbers that the kernel itself puts down, which go in pairs. */
static bool is_ours(const hone_buffer_t* buffer) {
  bool is_narrow = buffer->role == HONE_ROLE_SCRATCH && buffer->dtype == HONE_BF16;
  return is_narrow || (buffer->is_constant && !buffer->packing);
}

/* Axis of b of which each step serves two of a sum's, as where a weight is multiplied by two parts
 * of a number; -1: there is none. */
static int find_twice_axis(hone_dims_t* dims, const hone_contraction_t* c) {
  for (int i = 0; i < c->b->buffer->rank; i++)
    for (int k = 0; k < c->n_sums; k++)
      if (hone_dim_uses(c->b->index[i], c->sums[k].var) &&
          !hone_dim_same(c->b->index[i], c->sums[k].var) &&
          hone_dim_same(c->b->index[i], hone_dim_floordiv(dims, c->sums[k].var, hone_dim_int(2))))
        return i;
  return -1;
}

/* Whether b's elements along the lanes are, or can be laid out, side by side. */
bool hone_contraction_could_pack(const hone_contraction_t* c) {
  if (!is_ours(c->b->buffer) || !hone_dim_is_int(c->lanes->extent) || c->lanes_axis < 0 ||
      c->b->buffer->rank + 1 > HONE_MAX_RANK)
    return false;
  for (int i = 0; i < c->b->buffer->rank; i++)
    if (!uses_alone(c, i)) return false;
  return true;
}

/* ---- products in groups ---- */

/* Whether it adds up products of bytes without a sign by weights that are slight along the sum. */
static bool is_slight(const hone_contraction_t* c) {
  const hone_buffer_t *a = c->a->buffer, *b = c->b->buffer;
  if (a->dtype != HONE_U8 || !b->slight || c->update->value->dtype != HONE_I32) return false;
  return b->packing
             ? hone_slight_lies(b, hone_known_extent(b->dims[b->rank - 2]))
             : c->n_sums == 1 && hone_contraction_axis(c->b, c->sums[0].var) == b->slight - 1;
}

/* Whether instructions add up such products of numbers that each lane has of its own. Those of bf16
 * take four times as long as products of f32 where there are tiles, which do all others. */
static bool adds_apart(const hone_cpu_shape_t* shape, const hone_contraction_t* c) {
  enum { LANES = 16 /* of the vectors that have such instructions for bf16 */ };
  hone_dtype_t a = c->a->buffer->dtype, b = c->b->buffer->dtype, sum = c->update->value->dtype;
  return (shape->has_dot_apart && a == HONE_U8 && b == HONE_I8 && sum == HONE_I32) ||
         (shape->has_dot2_bf16 && !shape->has_block_bf16 && shape->lanes == LANES &&
          a == HONE_BF16 && b == HONE_BF16 && sum == HONE_F32);
}

/* The sum of two to four steps that instructions add up where each lane has data of its own: of
 * several the one whose steps are furthest apart, as rows of an image are. What they turn for it
 * serves neighbours, which see it in another step of the other sum. */
static int find_apart_sum(const hone_recipe_t* r, const hone_contraction_t* c) {
  enum { LEAST = 2, MOST = 4 };
  int64_t lane, step, most = 0;
  int best = -1;
  if (!c->apart || c->n_sums < 2 || !adds_apart(r->shape, c) ||
      !hone_contraction_factor(r->kernel, c->a->buffer, c->a->index, c->lanes->var, &lane) ||
      lane != 1)
    return -1;
  for (int i = 0; i < c->n_sums; i++) {
    int64_t steps = hone_known_extent(c->sums[i].extent);
    if (steps < LEAST || steps > MOST ||
        !hone_contraction_factor(r->kernel, c->a->buffer, c->a->index, c->sums[i].var, &step) ||
        step <= most)
      continue;
    best = i;
    most = step;
  }
  return best;
}

int hone_contraction_group(const hone_cpu_shape_t* shape, const hone_contraction_t* c) {
  hone_dtype_t a = c->a->buffer->dtype, b = c->b->buffer->dtype, sum = c->update->value->dtype;
  if (c->apart) return c->apart_sum < 0 ? 1 : (int)c->sums[c->apart_sum].extent.k;
  if (shape->has_dot8 && is_slight(c)) return HONE_SLIGHT_GROUP;
  if (shape->has_dot4 && sum == HONE_I32 && hone_dtype_size(a) == 1 && hone_dtype_size(b) == 1)
    return 4;
  if (shape->has_dot2_bf16 && sum == HONE_F32 && a == HONE_BF16 && b == HONE_BF16) return 2;
  if (shape->has_dot2_i16 && sum == HONE_I32 && a == HONE_I16 && b == HONE_I16) return 2;
  return 1;
}

/* Whether bytes of these types become numbers of 16 bits for their products. */
static bool widens(const hone_cpu_shape_t* shape, const hone_contraction_t* c) {
  bool is_alike = c->a->buffer->dtype == c->b->buffer->dtype;
  return !shape->fast_int8 || (shape->mixed_int8 && is_alike);
}

const hone_intrinsic_t* hone_contraction_dot(const hone_cpu_shape_t* shape,
                                             const hone_contraction_t* c) {
  char name[64];
  int group = hone_contraction_group(shape, c);
  int64_t lanes = hone_known_extent(c->lanes->extent);
  if (group == 1) return NULL;
  snprintf(name, sizeof name, "dot%d_%s%s_%s_x%d", group, c->apart ? "apart_" : "",
           hone_dtype_name(c->a->buffer->dtype), hone_dtype_name(c->b->buffer->dtype),
           shape->lanes);
  const hone_intrinsic_t* dot = hone_intrinsic_find(name);
  bool is_part = dot && lanes && lanes < shape->lanes;
  return is_part && !(dot->lanes && lanes > 1) ? NULL : dot;
}

/* Whether the numbers of each group along the sum lie side by side in a. */
static bool has_groups_in_a(const hone_recipe_t* r, const hone_contraction_t* c,
                            const hone_axis_t* sum) {
  hone_dims_t* dims = r->kernel->dims;
  int64_t factor, last = hone_contraction_group(r->shape, c) - 1;
  if (hone_contraction_factor(r->kernel, c->a->buffer, c->a->index, sum->var, &factor))
    return factor == 1;
  hone_dim_t offset = hone_buffer_offset(r->kernel, c->a->buffer, c->a->index);
  hone_dim_t first = hone_dim_mul(dims, sum->var, hone_dim_int(last + 1));
  hone_dim_t way =
      hone_dim_sub(dims,
                   hone_dim_replace_symbol(dims, offset, sum->var,
                                           hone_dim_add(dims, first, hone_dim_int(last))),
                   hone_dim_replace_symbol(dims, offset, sum->var, first));
  return hone_dim_is(way, last);
}

/* Whether sums can be taken in groups: weights that can be laid out so, and whole groups that
 * lie side by side in the other operand. */
bool hone_contraction_is_grouped(const hone_recipe_t* r, const hone_contraction_t* c,
                                 int innermost) {
  const hone_axis_t* sum = &c->sums[innermost];
  if (c->apart && innermost != c->apart_sum) return false;
  return hone_contraction_dot(r->shape, c) && !r->choice->no_pack &&
         hone_contraction_could_pack(c) && c->b->buffer->rank + 2 <= HONE_MAX_RANK &&
         hone_contraction_axis(c->b, sum->var) >= 0 && hone_dim_is_int(sum->extent) &&
         sum->extent.k % hone_contraction_group(r->shape, c) == 0 &&
         (c->apart || has_groups_in_a(r, c, sum));
}

/* Whether rows of a lie apart evenly, as matrix instructions read them. */
static bool has_even_rows(const hone_recipe_t* r, const hone_contraction_t* c) {
  int64_t row;
  return c->rows &&
         hone_contraction_factor(r->kernel, c->a->buffer, c->a->index, c->rows->var, &row) &&
         row > 0;
}

/* The sum that goes around the innermost one, where its steps go on in a with what that one's end
 * leaves off at, as windows over few channels do; NULL: none does. */
static const hone_axis_t* find_run(const hone_recipe_t* r, const hone_contraction_t* c,
                                   int innermost) {
  int64_t step;
  int around = innermost == c->n_sums - 1 ? innermost - 1 : c->n_sums - 1;
  if (around < 0) return NULL;
  const hone_axis_t* sum = &c->sums[around];
  return hone_dim_is_int(sum->extent) && hone_contraction_axis(c->b, sum->var) >= 0 &&
                 hone_contraction_factor(r->kernel, c->a->buffer, c->a->index, sum->var, &step) &&
                 step == hone_known_extent(c->sums[innermost].extent)
             ? sum
             : NULL;
}

/* Lines of an image whose rows, pixels, are so few that an instruction has room for all of them:
 * of two, each adds up those of one, by the same weights. Threads share the lanes, or lines that
 * are even then. */
static void find_lines_of_block(const hone_recipe_t* r, hone_contraction_t* c) {
  enum { PAIR = 2, FOUR = 4 };
  int64_t rows = c->rows ? hone_known_extent(c->rows->extent) : 0, line, row;
  if (rows < 2 || rows > c->matrix->block.height || !c->matrix->block.keeps ||
      !hone_contraction_factor(r->kernel, c->a->buffer, c->a->index, c->rows->var, &row))
    return;
  bool shares_lanes = hone_contraction_lanes_first(r, c);
  for (int i = 0; i < c->n_outs; i++) {
    const hone_axis_t* axis = &c->outs[i];
    int64_t extent = hone_known_extent(axis->extent);
    if (axis != c->lanes && axis != c->rows && extent > PAIR && !hone_term_uses(c->b, axis->var) &&
        (shares_lanes || extent % PAIR == 0) &&
        hone_contraction_factor(r->kernel, c->a->buffer, c->a->index, axis->var, &line) &&
        line > 0) {
      c->lines = axis;
      c->line_rows = line % row == 0 && (shares_lanes || extent % FOUR == 0) ? line / row : 0;
    }
  }
}

/* Whether there are whole vectors of lanes, and at least half of one behind them, or none; where
 * instructions do parts of a vector, at least half of one. */
static bool has_lanes(const hone_recipe_t* r, const hone_contraction_t* c,
                      const hone_intrinsic_t* block) {
  int64_t lanes = c->lanes->extent.k, each = r->shape->lanes, part = lanes % each;
  return part == 0 || (block->block.keeps && 2 * part >= each);
}

/* Whether instructions of so many steps are worth their time, in a sum of `all` steps. */
static bool is_worth(const hone_intrinsic_t* block, int64_t depth, double all) {
  enum { SEVERAL = 4 };
  return depth > 0 && (depth >= block->block.least || all >= (double)(SEVERAL * depth));
}

void hone_contraction_find_block(const hone_recipe_t* r, hone_contraction_t* c) {
  int64_t step;
  int innermost = hone_contraction_chosen_innermost(r, c),
      group = hone_contraction_group(r->shape, c);
  const hone_axis_t* sum = &c->sums[innermost];
  bool is_there = group == 4 ? r->shape->has_block_int8 : r->shape->has_block_bf16;
  if (group == 1 || c->apart || !is_there || !hone_dim_is_int(c->lanes->extent) ||
      !has_even_rows(r, c) || !hone_contraction_is_grouped(r, c, innermost) ||
      !hone_contraction_factor(r->kernel, c->a->buffer, c->a->index, sum->var, &step) || step != 1)
    return;
  const hone_intrinsic_t* block = hone_intrinsic_block_of(hone_contraction_dot(r->shape, c));
  const hone_axis_t* around = find_run(r, c, innermost);
  int64_t steps = sum->extent.k / group * (around ? around->extent.k : 1);
  c->joins = around != NULL;
  bool fits = block && has_lanes(r, c, block) &&
              is_worth(block, hone_block_depth(block, steps), c->sum_count / (double)group);
  c->matrix = fits ? block : NULL;
  if (c->matrix) find_lines_of_block(r, c);
}

int hone_contraction_chosen_innermost(const hone_recipe_t* r, const hone_contraction_t* c) {
  int chosen = r->choice->innermost;
  return chosen >= 1 && chosen <= c->n_sums ? chosen - 1 : hone_contraction_innermost(r->kernel, c);
}

/* As windows of an image with channels first do that are less than their width apart. Of numbers in
 * groups the step is from one group to the next; rows may be as far apart, or a part of that. */
static bool find_overlap(hone_kernel_t* kernel, const hone_contraction_t* c) {
  int64_t row, step;
  const hone_axis_t* sum = &c->sums[hone_contraction_innermost(kernel, c)];
  int64_t steps = hone_known_extent(sum->extent) / c->group;
  if (!c->rows || c->n_sums < 2 || c->apart || steps > HONE_FEW_STEPS ||
      !hone_contraction_factor(kernel, c->a->buffer, c->a->index, c->rows->var, &row) ||
      !hone_contraction_factor(kernel, c->a->buffer, c->a->index, sum->var, &step) || step <= 0)
    return false;
  step *= c->group;
  if (c->group > 1 && row > 0 && row <= step) return step % row == 0 && steps > 1;
  return row > step && row % step == 0 && row / step < steps;
}

/* The lines of an image that a window goes along step by step, beside its rows, which are pixels.
 */
static void find_lines(hone_kernel_t* kernel, hone_contraction_t* c) {
  int64_t line, step;
  if (!c->apart || !c->rows || !c->row_bytes) return;
  for (int i = 0; i < c->n_outs; i++) {
    const hone_axis_t* axis = &c->outs[i];
    if (axis == c->lanes || axis == c->rows || !hone_dim_is_int(axis->extent) ||
        hone_term_uses(c->b, axis->var) ||
        !hone_contraction_factor(kernel, c->a->buffer, c->a->index, axis->var, &line) || line <= 0)
      continue;
    for (int k = 0; k < c->n_sums; k++) {
      if (!hone_contraction_factor(kernel, c->a->buffer, c->a->index, c->sums[k].var, &step) ||
          step != line || !hone_dim_is_int(c->sums[k].extent))
        continue;
      c->lines = axis;
      c->line_steps = c->sums[k].extent.k;
    }
  }
}

/* Of an element that the nest stores, or of a sum where something else stands behind it. */
static int result_bytes(const hone_contraction_t* c) {
  const hone_stmt_t* last = c->body->body[c->body->n_body - 1];
  return (int)hone_dtype_size((last->kind == HONE_STMT_STORE ? last : c->update)->buffer->dtype);
}

bool hone_contraction_recognise(const hone_recipe_t* r, hone_contraction_t* c, hone_stmt_t* nest,
                                hone_lanes_at_t at) {
  *c = (hone_contraction_t){.group = 1, .apart_sum = -1};
  if (!hone_stmt_is_loop(nest) || !find_outs(c, nest) || !find_sums(c) || !find_update(c) ||
      !place_lanes(r, c, at))
    return false;
  c->lanes_axis = find_lanes_axis(r->kernel->dims, c);
  c->twice_axis = find_twice_axis(r->kernel->dims, c);
  find_rows(r->kernel, c);
  c->apart = hone_term_uses(c->a, c->lanes->var);
  c->apart_sum = find_apart_sum(r, c);
  c->widens = widens(r->shape, c);
  if (hone_contraction_is_grouped(r, c, hone_contraction_chosen_innermost(r, c)))
    c->group = hone_contraction_group(r->shape, c);
  c->overlaps = find_overlap(r->kernel, c);
  c->result_bytes = result_bytes(c);
  if (c->group == 1) find_lines(r->kernel, c);
  c->sum_count = 1;
  for (int i = 0; i < c->n_sums; i++) c->sum_count *= hone_cost_extent(c->sums[i].extent);
  return true;
}

bool hone_contraction_recognise_any(const hone_recipe_t* r, hone_contraction_t* c,
                                    hone_stmt_t* nest) {
  return hone_contraction_recognise(r, c, nest, HONE_LANES_OF_OUTPUT) ||
         hone_contraction_recognise(r, c, nest, HONE_LANES_OF_WEIGHTS);
}

/* Whether there are tiles: of lanes that lie side by side in b, or can be laid out so. */
bool hone_contraction_is_tileable(const hone_recipe_t* r, const hone_contraction_t* c) {
  int64_t stride;
  return (!r->choice->no_pack && hone_contraction_could_pack(c)) ||
         (hone_contraction_factor(r->kernel, c->b->buffer, c->b->index, c->lanes->var, &stride) &&
          stride == 1);
}
