/* How outputs are stored: in pieces that do not overlap, each by loops of its
 * own. A concat falls into its parts. A pad falls into its operand, which is
 * stored at an offset by loops that know nothing of the pad, and the border. */
#include "base/memory.h"
#include "ir/outline.h"
#include "loop/lower_impl.h"

enum { MAX_TOGETHER = 64 };

/* What is stored in an output from `offset` on. */
typedef struct piece {
  struct piece* next;
  const hone_value_t* value;
  const hone_buffer_t* out;
  hone_dim_t offset[HONE_MAX_RANK];
  bool is_part;   /* of a concat */
  bool is_border; /* `value` is a pad, and this all of it but its operand */
  bool is_done;
} piece_t;

typedef struct pieces {
  hone_lowering_t* l;
  piece_t *first, *last;
} pieces_t;

/* ---- taking apart ---- */

static bool append(pieces_t* list, const piece_t* like) {
  piece_t* piece = hone_arena_alloc(list->l->kernel->arena, sizeof *piece);
  if (!piece) return false;
  *piece = *like;
  if (list->last)
    list->last->next = piece;
  else
    list->first = piece;
  list->last = piece;
  return true;
}

static bool take_apart(pieces_t* list, const piece_t* whole);

static bool add_pad(pieces_t* list, const piece_t* whole) {
  const hone_node_t* node = whole->value->node;
  piece_t inside = *whole, border = *whole;
  inside.value = node->inputs[0];
  border.is_border = true;
  for (int i = 0; i < node->n_dims; i++)
    inside.offset[i] = hone_dim_add(list->l->kernel->dims, whole->offset[i],
                                    hone_lowering_dim(list->l, node->lo[i]));
  return take_apart(list, &inside) && append(list, &border);
}

static bool add_concat(pieces_t* list, const piece_t* whole) {
  const hone_node_t* node = whole->value->node;
  int64_t axis = node->axes[0];
  piece_t part = *whole;
  part.is_part = true;
  for (int i = 0; i < node->n_inputs; i++) {
    part.value = node->inputs[i];
    if (!take_apart(list, &part)) return false;
    part.offset[axis] = hone_dim_add(list->l->kernel->dims, part.offset[axis],
                                     hone_lowering_dim(list->l, part.value->type.dims[axis]));
  }
  return true;
}

/* A pad that might be negative is left to conditions, element by element. */
static bool is_pad_apart(const hone_node_t* node) {
  if (node->prim != HONE_PRIM_PAD || hone_value_is_whole(node->inputs[0])) return false;
  for (int i = 0; i < node->n_dims; i++)
    if (hone_dim_min_value(node->lo[i]) < 0 || hone_dim_min_value(node->hi[i]) < 0) return false;
  return true;
}

static bool take_apart(pieces_t* list, const piece_t* whole) {
  const hone_node_t* node = whole->value->node;
  if (node->prim == HONE_PRIM_CONCAT) return add_concat(list, whole);
  return (is_pad_apart(node) ? add_pad : append)(list, whole);
}

/* ---- storing ---- */

static bool same_shape(const hone_value_t* a, const hone_value_t* b) {
  bool same = a->type.rank == b->type.rank;
  for (int i = 0; i < a->type.rank && same; i++)
    same = hone_dim_same(a->type.dims[i], b->type.dims[i]);
  return same;
}

/* For each axis of b the one of a that goes along the same elements, -1 for extents of 1; false:
 * the shapes differ in more than those. */
static bool match_axes(const hone_type_t* a, const hone_type_t* b, int out[HONE_MAX_RANK]) {
  int at = 0;
  for (int i = 0; i < b->rank; i++) {
    out[i] = -1;
    if (hone_dim_is(b->dims[i], 1)) continue;
    while (at < a->rank && hone_dim_is(a->dims[at], 1)) at++;
    if (at == a->rank || !hone_dim_same(a->dims[at], b->dims[i])) return false;
    out[i] = at++;
  }
  while (at < a->rank && hone_dim_is(a->dims[at], 1)) at++;
  return at == a->rank;
}

static bool shares_loops(const piece_t* a, const piece_t* b) {
  int axes[HONE_MAX_RANK];
  if (a->value == b->value) return true;
  return a->is_part || b->is_part
             ? same_shape(a->value, b->value) && hone_value_is_rest(b->value, a->value)
             : match_axes(&a->value->type, &b->value->type, axes);
}

static bool store(hone_lowering_t* l, const piece_t* piece, const hone_place_t* places) {
  hone_dim_t index[HONE_MAX_RANK];
  for (int i = 0; i < piece->out->rank; i++)
    index[i] = hone_dim_add(l->kernel->dims, places[i].dim, piece->offset[i]);
  const hone_term_t* term = hone_lower_element(l, piece->value, places);
  return term && hone_stmt_store(l->kernel, l->block, piece->out, index, HONE_COMBINE_SET, term);
}

/* The same, with the places of a value whose shape differs in extents of 1. */
static bool store_alike(hone_lowering_t* l, const piece_t* piece, const hone_value_t* like,
                        const hone_place_t* places) {
  int axes[HONE_MAX_RANK];
  hone_place_t own[HONE_MAX_RANK];
  if (!match_axes(&like->type, &piece->value->type, axes)) return false;
  for (int i = 0; i < piece->value->type.rank; i++)
    own[i] = axes[i] < 0 ? hone_place_of(hone_dim_int(0)) : places[axes[i]];
  return store(l, piece, own);
}

/* This piece and those behind it that have the same loops. */
static bool lower_together(hone_lowering_t* l, piece_t* first) {
  const hone_value_t* values[MAX_TOGETHER] = {NULL};
  piece_t* pieces[MAX_TOGETHER];
  hone_place_t places[HONE_MAX_RANK];
  int n = 0, n_same = 0;
  for (piece_t* p = first; p && n < MAX_TOGETHER; p = p->next) {
    if (p->is_done || p->is_border || (p != first && !shares_loops(first, p))) continue;
    p->is_done = true;
    pieces[n++] = p;
    if (same_shape(first->value, p->value)) values[n_same++] = p->value;
  }
  bool ok = hone_lower_nest(l, values, n_same, places);
  for (int i = 0; i < n && ok; i++)
    ok = same_shape(first->value, pieces[i]->value)
             ? store(l, pieces[i], places)
             : store_alike(l, pieces[i], first->value, places);
  return ok;
}

static bool lower_piece(hone_lowering_t* l, piece_t* piece) {
  if (piece->is_done) return true;
  l->block = l->kernel->root;
  if (piece->is_part || !hone_value_is_whole(piece->value)) return lower_together(l, piece);
  piece->is_done = true;
  return hone_lower_whole(l, piece->value, piece->out);
}

bool hone_lower_copy(hone_lowering_t* l, const hone_value_t* value, const hone_buffer_t* out) {
  piece_t piece = {.value = value, .out = out};
  return lower_together(l, &piece);
}

/* ---- borders ---- */

static hone_dim_t open_loop(hone_lowering_t* l, hone_dim_t extent, hone_dim_t begin) {
  if (hone_dim_is(extent, 1)) return begin;
  hone_stmt_t* loop = hone_stmt_loop(l->kernel, l->block, "i", extent, HONE_LOOP_SERIAL);
  if (!loop) return hone_dim_bad();
  l->block = loop;
  return hone_dim_add(l->kernel->dims, loop->var, begin);
}

/* Along `axis` the `extent` elements from each of `begins` on, by the same loops:
 * as far as the operand goes along the axes before, and all along those behind. */
static bool lower_sides(hone_lowering_t* l, const piece_t* border, int axis, hone_dim_t extent,
                        int n, const hone_dim_t* begins) {
  const hone_node_t* node = border->value->node;
  hone_dims_t* dims = l->kernel->dims;
  hone_dim_t index[HONE_MAX_RANK];
  l->block = l->kernel->root;
  for (int i = 0; i < node->n_dims; i++) {
    const hone_type_t* type = i < axis ? &node->inputs[0]->type : &border->value->type;
    hone_dim_t begin = border->offset[i], whole = hone_lowering_dim(l, type->dims[i]);
    if (i < axis) begin = hone_dim_add(dims, begin, hone_lowering_dim(l, node->lo[i]));
    index[i] = open_loop(l, i == axis ? extent : whole, begin);
  }
  if (l->kernel->out_of_memory) return false;
  const hone_term_t* padding = hone_lower_element(l, node->inputs[1], NULL);
  hone_dim_t along = index[axis];
  for (int i = 0; i < n && padding; i++) {
    index[axis] = hone_dim_add(dims, along, begins[i]);
    if (!hone_stmt_store(l->kernel, l->block, border->out, index, HONE_COMBINE_SET, padding))
      return false;
  }
  return padding;
}

/* What is before and behind the operand along an axis: often as much. */
static bool lower_border(hone_lowering_t* l, const piece_t* border) {
  const hone_node_t* node = border->value->node;
  for (int i = 0; i < node->n_dims; i++) {
    hone_dim_t lo = hone_lowering_dim(l, node->lo[i]), hi = hone_lowering_dim(l, node->hi[i]);
    hone_dim_t extent = hone_lowering_dim(l, node->inputs[0]->type.dims[i]);
    const hone_dim_t begins[2] = {hone_dim_int(0), hone_dim_add(l->kernel->dims, lo, extent)};
    bool same = hone_dim_same(lo, hi);
    if (!hone_dim_is(lo, 0) && !lower_sides(l, border, i, lo, same ? 2 : 1, begins)) return false;
    if (!same && !hone_dim_is(hi, 0) && !lower_sides(l, border, i, hi, 1, begins + 1)) return false;
  }
  return true;
}

/* ---- all ---- */

bool hone_lower_pieces(hone_lowering_t* l, hone_buffer_t* const* buffers) {
  pieces_t list = {.l = l};
  for (int i = 0; i < l->graph->n_outputs; i++) {
    const piece_t whole = {.value = l->graph->outputs[i], .out = buffers[i]};
    if (!take_apart(&list, &whole)) return false;
  }
  for (piece_t* p = list.first; p; p = p->next)
    if (!p->is_border && !lower_piece(l, p)) return false;
  for (piece_t* p = list.first; p; p = p->next)
    if (p->is_border && !lower_border(l, p)) return false;
  return true;
}
