/* The axes of a nest: how reshapes between its output and its operands cut
 * them up. */
#include <string.h>

#include "base/memory.h"
#include "loop/lower_impl.h"

enum { MAX_PARTS = 16, MAX_VISITS = 4 };

hone_atom_t* hone_atom_create(hone_lowering_t* l, hone_dim_t extent) {
  hone_atom_t* atom = hone_arena_alloc(l->kernel->arena, sizeof *atom);
  if (!atom) {
    l->kernel->out_of_memory = true;
    return NULL;
  }
  atom->extent = extent;
  return atom;
}

static bool push_leaves(hone_atom_t* atom, hone_axis_parts_t* out) {
  if (atom->outer) return push_leaves(atom->outer, out) && push_leaves(atom->inner, out);
  if (out->n == MAX_PARTS) return false;
  out->atoms[out->n++] = atom;
  return true;
}

bool hone_axis_leaves(const hone_axis_parts_t* parts, hone_axis_parts_t* out) {
  *out = (hone_axis_parts_t){.is_known = parts->is_known};
  for (int i = 0; i < parts->n; i++)
    if (!push_leaves(parts->atoms[i], out)) return false;
  return true;
}

/* a / b when b divides a for sure. */
static bool divide(hone_lowering_t* l, hone_dim_t a, hone_dim_t b, hone_dim_t* out) {
  if (hone_dim_is(b, 0) || hone_dim_is(a, 0)) return false;
  *out = hone_dim_floordiv(l->kernel->dims, a, b);
  return hone_dim_same(hone_dim_mul(l->kernel->dims, *out, b), a);
}

static bool split_atom(hone_lowering_t* l, hone_atom_t* atom, hone_dim_t outer, hone_dim_t inner) {
  atom->outer = hone_atom_create(l, outer);
  atom->inner = hone_atom_create(l, inner);
  return atom->outer && atom->inner;
}

/* Takes atoms that make up `extent` from leaves[*next …], splitting the last. */
static bool take(hone_lowering_t* l, hone_axis_parts_t* leaves, int* next, hone_dim_t extent,
                 hone_axis_parts_t* out) {
  *out = (hone_axis_parts_t){.is_known = true};
  while (!hone_dim_is(extent, 1)) {
    if (*next == leaves->n || out->n == MAX_PARTS) return false;
    hone_atom_t* atom = leaves->atoms[*next];
    hone_dim_t rest;
    if (divide(l, extent, atom->extent, &rest)) {
      out->atoms[out->n++] = atom;
      extent = rest;
      ++*next;
    } else if (divide(l, atom->extent, extent, &rest)) {
      if (!split_atom(l, atom, extent, rest)) return false;
      out->atoms[out->n++] = atom->outer;
      leaves->atoms[*next] = atom->inner;
      extent = hone_dim_int(1);
    } else {
      return false;
    }
  }
  return true;
}

/* All leaves of the axes begin … end - 1; false when one has none. */
static bool gather_leaves(const hone_axis_parts_t* parts, int begin, int end,
                          hone_axis_parts_t* out) {
  *out = (hone_axis_parts_t){.is_known = true};
  for (int i = begin; i < end; i++) {
    if (!parts[i].is_known) return false;
    for (int k = 0; k < parts[i].n; k++)
      if (!push_leaves(parts[i].atoms[k], out)) return false;
  }
  return true;
}

/* Axes of the operand of a reshape, from those of its result: consecutive axes
 * with the same product on both sides form a group. */
static void reshape_parts(hone_lowering_t* l, const hone_type_t* from, const hone_type_t* to,
                          const hone_axis_parts_t* parts, hone_axis_parts_t* out) {
  hone_axis_parts_t leaves;
  for (int i = 0; i < from->rank; i++) out[i] = (hone_axis_parts_t){0};
  if (!gather_leaves(parts, 0, to->rank, &leaves)) return;
  for (int i = 0, next = 0; i < from->rank; i++)
    if (!take(l, &leaves, &next, hone_lowering_dim(l, from->dims[i]), &out[i])) {
      out[i] = (hone_axis_parts_t){0};
      return;
    }
}

/* Whether the innermost axis is summed up, so that what is read in a row is. */
static bool sums_rows(const hone_node_t* node) {
  const hone_type_t* type = &node->inputs[0]->type;
  for (int i = 0; i < node->n_axes; i++)
    if (node->axes[i] == type->rank - 1) return !hone_dim_is(type->dims[type->rank - 1], 1);
  return false;
}

static void note_rows(const hone_axis_parts_t* parts) {
  for (int i = 0; i < parts->n; i++) parts->atoms[i]->has_rows = true;
}

static bool trace_reduction(hone_lowering_t* l, const hone_value_t* value,
                            const hone_axis_parts_t* parts) {
  const hone_node_t* node = value->node;
  const hone_type_t* type = &node->inputs[0]->type;
  hone_axis_parts_t operand[HONE_MAX_RANK];
  hone_value_note_t* note = &l->notes[value->id];
  int next = 0;
  for (int i = 0; i < type->rank; i++) {
    int axis = 0;
    while (axis < node->n_axes && node->axes[axis] != i) axis++;
    if (axis == node->n_axes) {
      if (sums_rows(node)) note_rows(&parts[next]);
      operand[i] = parts[next++];
      continue;
    }
    if (!note->reduced[axis])
      note->reduced[axis] = hone_atom_create(l, hone_lowering_dim(l, type->dims[i]));
    if (!note->reduced[axis]) return false;
    operand[i] = (hone_axis_parts_t){.n = 1, .atoms = {note->reduced[axis]}, .is_known = true};
  }
  return hone_domain_trace(l, node->inputs[0], operand);
}

/* The result's axes are the batch axes, those free in a, those free in b. */
static bool trace_contract(hone_lowering_t* l, const hone_value_t* value,
                           const hone_axis_parts_t* parts) {
  const hone_node_t* node = value->node;
  hone_value_note_t* note = &l->notes[value->id];
  int n_pairs = node->n_axes / 2, next = node->n_batch;
  for (int side = 0; side < 2; side++) {
    const hone_type_t* type = &node->inputs[side]->type;
    hone_axis_parts_t operand[HONE_MAX_RANK];
    for (int i = 0; i < type->rank; i++) {
      int pair = 0;
      while (pair < n_pairs && node->axes[2 * pair + side] != i) pair++;
      if (pair < node->n_batch) {
        operand[i] = parts[pair];
        continue;
      }
      if (pair == n_pairs) {
        operand[i] = parts[next++];
        continue;
      }
      int axis = pair - node->n_batch;
      if (!note->reduced[axis])
        note->reduced[axis] = hone_atom_create(l, hone_lowering_dim(l, type->dims[i]));
      if (!note->reduced[axis]) return false;
      operand[i] = (hone_axis_parts_t){.n = 1, .atoms = {note->reduced[axis]}, .is_known = true};
    }
    if (!hone_domain_trace(l, node->inputs[side], operand)) return false;
  }
  return true;
}

static bool trace_movement(hone_lowering_t* l, const hone_node_t* node,
                           const hone_axis_parts_t* parts) {
  const hone_type_t *from = &node->inputs[0]->type, *to = &node->outputs[0]->type;
  hone_axis_parts_t operand[HONE_MAX_RANK];
  memset(operand, 0, sizeof operand);
  if (node->prim == HONE_PRIM_PERMUTE)
    for (int i = 0; i < to->rank; i++) operand[node->axes[i]] = parts[i];
  else if (node->prim == HONE_PRIM_RESHAPE)
    reshape_parts(l, from, to, parts, operand);
  else if (node->prim == HONE_PRIM_EXPAND)
    for (int i = 0; i < to->rank; i++)
      operand[i] =
          hone_lower_repeats(from->dims[i]) ? (hone_axis_parts_t){.is_known = true} : parts[i];
  else
    return true;
  return hone_domain_trace(l, node->inputs[0], operand);
}

bool hone_domain_trace(hone_lowering_t* l, const hone_value_t* value,
                       const hone_axis_parts_t* parts) {
  if (l->notes[value->id].n_visits++ >= MAX_VISITS) return true;
  const hone_node_t* node = value->node;
  hone_prim_family_t family = hone_prim_info(node->prim)->family;
  if (family == HONE_FAMILY_MOVEMENT) return trace_movement(l, node, parts);
  if (node->prim == HONE_PRIM_REDUCE) return trace_reduction(l, value, parts);
  if (node->prim == HONE_PRIM_CONTRACT) return trace_contract(l, value, parts);
  if (family != HONE_FAMILY_UNARY && family != HONE_FAMILY_BINARY && family != HONE_FAMILY_SELECT &&
      family != HONE_FAMILY_CAST)
    return true;
  for (int i = 0; i < node->n_inputs; i++)
    if (!hone_domain_trace(l, node->inputs[i], parts)) return false;
  return true;
}

/* ---- loops ---- */

/* NOLINTNEXTLINE(misc-no-recursion): as deep as it was split */
static bool atom_has_rows(const hone_atom_t* atom) {
  return atom->has_rows ||
         (atom->outer && (atom_has_rows(atom->outer) || atom_has_rows(atom->inner)));
}

bool hone_axis_has_rows(const hone_axis_parts_t* parts) {
  for (int i = 0; i < parts->n; i++)
    if (atom_has_rows(parts->atoms[i])) return true;
  return false;
}

bool hone_lower_axis(hone_lowering_t* l, const hone_axis_parts_t* parts, const char* name,
                     bool is_reduction, hone_place_t* out) {
  hone_axis_parts_t leaves;
  if (!hone_axis_leaves(parts, &leaves)) return false;
  *out = (hone_place_t){.has_parts = true};
  for (int i = 0; i < leaves.n; i++) {
    hone_atom_t* atom = leaves.atoms[i];
    out->dim = hone_dim_mul(l->kernel->dims, out->dim, atom->extent);
    if (hone_dim_is(atom->extent, 1)) continue;
    hone_stmt_t* loop = hone_stmt_loop(l->kernel, l->block, name, atom->extent, HONE_LOOP_SERIAL);
    if (!loop) return false;
    loop->is_reduction = is_reduction;
    l->block = loop;
    atom->var = loop->var;
    out->dim = hone_dim_add(l->kernel->dims, out->dim, loop->var);
    out->parts[out->n_parts].var = loop->var;
    out->parts[out->n_parts++].extent = atom->extent;
  }
  return true;
}
