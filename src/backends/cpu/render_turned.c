/* Vectors whose lanes lie apart, as columns of a matrix do, several of them side by side: instead
 * of element by element they go to memory, or come from there, as rows, and are turned in
 * registers (prelude/cpu_turn.inc). */
#include <inttypes.h>
#include <stdio.h>

#include "backends/cpu/render_impl.h"

/* Stores that stand together, one vector each, and rows of elements that they share. */
typedef struct group {
  hone_renderer_t* r;
  const hone_stmt_t* const* stores;
  int n;
} group_t;

/* Fewer vectors, or lanes, do not pay, unless they are the numbers of a point that lie by turns. */
static int least(const hone_renderer_t* r) { return r->lanes / 2; }
static bool is_by_turns(const hone_renderer_t* r, int n, int64_t stride) {
  return n >= 2 && n <= 4 && stride == n && !hone_render_is_part(r);
}

static int count_rows(const hone_renderer_t* r) {
  return hone_render_is_part(r) ? (int)r->vector->extent.k : r->lanes;
}

/* Whether it can be turned: as it is, or as the f32 that it is computed in. */
static bool is_turnable(hone_dtype_t dtype) {
  switch (hone_cpu_computing(dtype)) {
    case HONE_F32:
      return true;
    case HONE_I8:
    case HONE_U8:
    case HONE_I16:
    case HONE_U16:
    case HONE_I32:
    case HONE_U32:
      return hone_cpu_computing(dtype) == dtype;
    default:
      return false;
  }
}

/* ---- looking ---- */

typedef struct place {
  hone_dim_t first; /* offset of the first lane */
  int64_t stride;   /* between lanes */
} place_t;

static bool find_place(hone_renderer_t* r, const hone_buffer_t* buffer, const hone_dim_t* index,
                       place_t* out) {
  hone_dim_t offset = hone_buffer_offset(r->kernel, buffer, index);
  if (hone_render_pattern(r, offset, &out->stride) != HONE_LANES_STRIDED || out->stride < 0 ||
      (buffer->packing && buffer->packing->is_sparse) || !is_turnable(buffer->dtype) ||
      !hone_render_is_array(r, buffer))
    return false;
  out->first = hone_render_first_lane(r, offset);
  return true;
}

/* Whether the `k`-th vector is right of the first one. */
static bool is_beside(hone_renderer_t* r, const hone_buffer_t* buffer, const hone_dim_t* index,
                      const place_t* first, int k) {
  place_t place;
  return find_place(r, buffer, index, &place) && place.stride == first->stride &&
         hone_dim_is(hone_dim_sub(r->kernel->dims, place.first, first->first), k);
}

/* How many of the stores put their vectors side by side, in rows that do not overlap. */
static int count_stored(hone_renderer_t* r, const hone_stmt_t* const* stores, int n) {
  place_t first;
  int count = 1;
  if (!find_place(r, stores[0]->buffer, stores[0]->index, &first)) return 0;
  while (count < n && count < r->lanes && count < first.stride &&
         stores[count]->buffer == stores[0]->buffer &&
         is_beside(r, stores[count]->buffer, stores[count]->index, &first, count))
    count++;
  return count;
}

/* In how many stores the loads that stand where this one does get what lies side by side, where
 * that pays; 0: it does not. */
static int count_side_by_side(hone_renderer_t* r, const hone_term_t* const* terms, int n) {
  place_t first;
  int count = 1;
  if (!find_place(r, terms[0]->buffer, terms[0]->index, &first)) return 0;
  while (count < n && terms[count]->kind == HONE_TERM_LOAD &&
         terms[count]->buffer == terms[0]->buffer &&
         is_beside(r, terms[count]->buffer, terms[count]->index, &first, count))
    count++;
  bool is_block = count >= least(r) && count_rows(r) >= least(r);
  return is_block || is_by_turns(r, count, first.stride) ? count : 0;
}

enum { MOST_LANES = 16 };

/* The terms of `n` stores that stand at the same place as the i-th argument of these. */
static bool go_down(const hone_term_t* const* terms, int n, int i, const hone_term_t** out) {
  for (int k = 0; k < n; k++) {
    if (terms[k]->kind != terms[0]->kind || terms[k]->n_args != terms[0]->n_args) return false;
    out[k] = terms[k]->args[i];
  }
  return true;
}

/* The most stores in which some load gets what lies side by side. */
static int count_loaded(hone_renderer_t* r, const hone_term_t* const* terms, int n) {
  const hone_term_t* next[MOST_LANES];
  if (terms[0]->kind == HONE_TERM_LOAD) return count_side_by_side(r, terms, n);
  int most = 0;
  for (int i = 0; i < terms[0]->n_args; i++) {
    if (!go_down(terms, n, i, next)) return 0;
    int count = count_loaded(r, next, n);
    if (count > most) most = count;
  }
  return most;
}

/* ---- writing ---- */

/* "const hone_f32* const t7 = x_0 + (i * 4)" */
static int put_base(hone_renderer_t* r, const hone_buffer_t* buffer, const hone_dim_t* index,
                    hone_dim_t offset, const char* access) {
  int number = r->n_temporaries++;
  hone_c_indent(r->out, r->depth);
  hone_str_appendf(r->out, "%s%s* const t%d = ", access, hone_cpu_storage_type(buffer->dtype),
                   number);
  hone_render_address(r, buffer, index, offset);
  hone_str_append(r->out, ";\n");
  return number;
}

/* "hone_f32v t8[8] = {", whose vectors are to follow. */
static int open_vectors(hone_renderer_t* r, const char* type) {
  int number = r->n_temporaries++;
  hone_c_indent(r->out, r->depth);
  hone_str_appendf(r->out, "hone_%sv t%d[%d] = {", type, number, r->lanes);
  return number;
}

/* Ends their list, and has the function `how` bring them into order, "turn" or "apart3". */
static void close_vectors(hone_renderer_t* r, const char* how, const char* type, int vectors) {
  hone_str_append(r->out, "};\n");
  hone_c_indent(r->out, r->depth);
  hone_str_appendf(r->out, "hone_%s_%sv(t%d);\n", how, type, vectors);
}

/* The rows that the loads of so many stores share, turned; gives the number of the vectors. */
static int load_rows(const group_t* g, const hone_term_t* load, const char* dtype,
                     const char* type) {
  place_t place;
  hone_renderer_t* r = g->r;
  if (!find_place(r, load->buffer, load->index, &place)) return 0;
  bool by_turns = is_by_turns(r, g->n, place.stride), is_short = !by_turns && g->n < r->lanes;
  int base = put_base(r, load->buffer, load->index, place.first, "const ");
  int vectors = open_vectors(r, type), rows = by_turns ? g->n : count_rows(r);
  for (int row = 0; row < rows; row++) {
    hone_str_appendf(r->out, "%shone_load_%sv%s(t%d + %" PRId64, row ? ", " : "", dtype,
                     is_short ? "_n" : "", base, row * (by_turns ? r->lanes : place.stride));
    if (is_short) hone_str_appendf(r->out, ", %d", g->n);
    hone_str_append(r->out, ")");
  }
  static const char* const apart[] = {[2] = "apart2", [3] = "apart3", [4] = "apart4"};
  close_vectors(r, by_turns ? apart[g->n] : "turn", type, vectors);
  return vectors;
}

/* Loads that stand where the stores' terms do, before anything else asks for them. */
static void load_turned(const group_t* g, const hone_term_t* const* terms, hone_map_t* done) {
  const hone_term_t* next[MOST_LANES];
  hone_renderer_t* r = g->r;
  if (terms[0]->kind != HONE_TERM_LOAD) {
    for (int i = 0; i < terms[0]->n_args && go_down(terms, g->n, i, next); i++)
      load_turned(g, next, done);
    return;
  }
  if (count_side_by_side(r, terms, g->n) < g->n) return;
  hone_dtype_t dtype = terms[0]->buffer->dtype;
  int vectors =
      load_rows(g, terms[0], hone_dtype_name(dtype), hone_dtype_name(hone_cpu_computing(dtype)));
  for (int k = 0; k < g->n; k++) {
    hone_operand_t to = hone_render_fresh(r, dtype, true);
    hone_str_appendf(r->out, " = t%d[%d];\n", vectors, k);
    hone_render_note(r, done, terms[k], to);
  }
}

/* Vectors that become rows of the place where the first store puts its own. */
static void store_rows(const group_t* g, const char* dtype, int vectors) {
  place_t place;
  hone_renderer_t* r = g->r;
  const hone_stmt_t* store = g->stores[0];
  if (!find_place(r, store->buffer, store->index, &place)) return;
  int base = put_base(r, store->buffer, store->index, place.first, "");
  for (int row = 0; row < count_rows(r); row++) {
    hone_c_indent(r->out, r->depth);
    hone_str_appendf(r->out, "hone_store_%sv%s(t%d + %" PRId64 ", t%d[%d]", dtype,
                     g->n < r->lanes ? "_n" : "", base, row * place.stride, vectors, row);
    if (g->n < r->lanes) hone_str_appendf(r->out, ", %d", g->n);
    hone_str_append(r->out, ");\n");
  }
}

static void fill_terms(const group_t* g, const hone_term_t** terms) {
  for (int k = 0; k < g->n; k++) terms[k] = hone_render_stored_term(g->r, g->stores[k]);
}

static void store_turned(const group_t* g, hone_map_t* done) {
  char name[32];
  hone_operand_t values[MOST_LANES];
  hone_renderer_t* r = g->r;
  hone_dtype_t dtype = g->stores[0]->buffer->dtype;
  const char* type = hone_dtype_name(hone_cpu_computing(dtype));
  const hone_term_t* terms[MOST_LANES];
  bool flushes = true;
  fill_terms(g, terms);
  load_turned(g, terms, done);
  for (int k = 0; k < g->n; k++) {
    values[k] = hone_render_term(r, terms[k], done);
    flushes &= hone_render_is_flushed(g->stores[k]);
  }
  int vectors = open_vectors(r, type);
  for (int k = 0; k < g->n; k++) {
    if (k) hone_str_append(r->out, ", ");
    hone_render_operand(r, values[k], dtype, true);
  }
  close_vectors(r, "turn", type, vectors);
  snprintf(name, sizeof name, "%s%s", hone_dtype_name(dtype), flushes ? "_flushed" : "");
  store_rows(g, name, vectors);
}

/* ---- copies of 16 bits ---- */

/* Whether the stores copy floats of 16 bits, which keep their bits. */
static bool copies_bits(const group_t* g) {
  for (int k = 0; k < g->n; k++) {
    const hone_term_t* from = g->stores[k]->value;
    if (from->kind != HONE_TERM_LOAD || from->buffer->dtype != g->stores[k]->buffer->dtype ||
        !hone_render_is_half(from->buffer->dtype) || from->buffer->packing ||
        !hone_render_is_array(g->r, from->buffer))
      return false;
  }
  return true;
}

/* The vectors in a row at some offset, of as many lanes as the loop has. */
static void put_bits(hone_renderer_t* r, const hone_buffer_t* buffer, const hone_dim_t* index) {
  hone_dim_t offset = hone_buffer_offset(r->kernel, buffer, index);
  hone_str_appendf(r->out, "_u16v%s(", hone_render_is_part(r) ? "_n" : "");
  hone_render_address(r, buffer, index, hone_render_first_lane(r, offset));
}

static void put_lanes(hone_renderer_t* r) {
  if (hone_render_is_part(r)) hone_str_appendf(r->out, ", %d", count_rows(r));
  hone_str_append(r->out, ")");
}

static bool are_next(const group_t* g, bool loads) {
  int64_t stride;
  for (int k = 0; k < g->n; k++) {
    const hone_stmt_t* store = g->stores[k];
    const hone_buffer_t* buffer = loads ? store->value->buffer : store->buffer;
    const hone_dim_t* index = loads ? store->value->index : store->index;
    hone_dim_t offset = hone_buffer_offset(g->r->kernel, buffer, index);
    if (hone_render_pattern(g->r, offset, &stride) != HONE_LANES_NEXT) return false;
  }
  return true;
}

/* The vectors that the stores copy, brought into order by the function `how`; gives their number.
 */
static int load_bits(const group_t* g, const char* how) {
  hone_renderer_t* r = g->r;
  int vectors = open_vectors(r, "u16");
  for (int k = 0; k < g->n; k++) {
    hone_str_append(r->out, k ? ", hone_load" : "hone_load");
    put_bits(r, g->stores[k]->value->buffer, g->stores[k]->value->index);
    put_lanes(r);
  }
  close_vectors(r, how, "u16", vectors);
  return vectors;
}

static void copy_to_rows(const group_t* g) { store_rows(g, "u16", load_bits(g, "turn")); }

static void copy_from_rows(const group_t* g) {
  hone_renderer_t* r = g->r;
  int vectors = load_rows(g, g->stores[0]->value, "u16", "u16");
  for (int k = 0; k < g->n; k++) {
    hone_c_indent(r->out, r->depth);
    hone_str_append(r->out, "hone_store");
    put_bits(r, g->stores[k]->buffer, g->stores[k]->index);
    hone_str_appendf(r->out, ", t%d[%d]", vectors, k);
    put_lanes(r);
    hone_str_append(r->out, ";\n");
  }
}

/* ---- copies of pairs of 16 bits ---- */

/* How far apart the pairs lie that the lanes of a store make, in memory that rows share:
 *
 *   out[lane / 2 * apart + lane % 2] = row[lane]
 *
 * 0: it makes none. */
static int64_t find_pairs_apart(hone_renderer_t* r, hone_dim_t offset, hone_dim_t first) {
  hone_dims_t* dims = r->kernel->dims;
  int64_t apart = 0;
  for (int lane = 1; lane < r->lanes; lane++) {
    hone_dim_t at = hone_dim_replace_symbol(dims, offset, r->vector->var, hone_dim_int(lane));
    hone_dim_t way = hone_dim_sub(dims, at, first);
    if (!hone_dim_is_int(way)) return 0;
    if (lane == 2) apart = way.k;
    if (way.k != lane / 2 * apart + lane % 2) return 0;
  }
  return apart;
}

/* The same of all stores, which copy rows whose pairs become columns, side by side; 0: they do
 * not. */
static int64_t find_columns_apart(const group_t* g) {
  hone_renderer_t* r = g->r;
  hone_dim_t origin = hone_dim_int(0);
  int64_t all = 0;
  if (g->n != r->lanes || hone_render_is_part(r) || !copies_bits(g) || !are_next(g, true)) return 0;
  for (int k = 0; k < g->n; k++) {
    const hone_stmt_t* store = g->stores[k];
    if (store->buffer != g->stores[0]->buffer || !hone_render_is_array(r, store->buffer)) return 0;
    hone_dim_t offset = hone_buffer_offset(r->kernel, store->buffer, store->index),
               first = hone_render_first_lane(r, offset);
    int64_t apart = find_pairs_apart(r, offset, first);
    if (k == 0) {
      origin = first;
      all = apart;
    }
    bool is_beside = hone_dim_is(hone_dim_sub(r->kernel->dims, first, origin), 2 * k);
    if (apart < 2 * r->lanes || apart != all || !is_beside) return 0;
  }
  return all;
}

/* Two vectors for each column: pairs of the first half of the rows, and of the second. */
static void copy_pairs(const group_t* g, int64_t apart) {
  hone_renderer_t* r = g->r;
  const hone_stmt_t* store = g->stores[0];
  hone_dim_t offset = hone_buffer_offset(r->kernel, store->buffer, store->index);
  int vectors = load_bits(g, "turn_pairs");
  int base = put_base(r, store->buffer, store->index, hone_render_first_lane(r, offset), "");
  for (int k = 0; k < g->n; k++) {
    hone_c_indent(r->out, r->depth);
    hone_str_appendf(r->out, "hone_store_u16v(t%d + %" PRId64 ", t%d[%d]);\n", base,
                     k / 2 * apart + k % 2 * r->lanes, vectors, k);
  }
}

/* ---- all ---- */

static bool store_to_rows(const group_t* g, hone_map_t* done) {
  if (!copies_bits(g))
    store_turned(g, done);
  else if (are_next(g, true))
    copy_to_rows(g);
  else
    return false;
  return true;
}

static bool load_from_rows(const group_t* g, hone_map_t* done) {
  const hone_term_t* terms[MOST_LANES];
  if (copies_bits(g)) {
    if (!are_next(g, false)) return false;
    copy_from_rows(g);
    return true;
  }
  fill_terms(g, terms);
  load_turned(g, terms, done);
  for (int k = 0; k < g->n; k++) hone_render_store(g->r, g->stores[k], done);
  return true;
}

int hone_render_store_turned(hone_renderer_t* r, const hone_stmt_t* const* stores, int n,
                             hone_map_t* done) {
  const hone_term_t* terms[MOST_LANES];
  group_t g = {r, stores, n < r->lanes ? n : r->lanes};
  if (!r->vector || r->lanes > MOST_LANES || r->lanes < 4 || g.n < 2) return 0;
  int64_t apart = find_columns_apart(&g);
  if (apart) {
    copy_pairs(&g, apart);
    return g.n;
  }
  int stored = count_stored(r, stores, g.n);
  if (stored >= least(r) && count_rows(r) >= least(r)) {
    g.n = stored;
    return store_to_rows(&g, done) ? stored : 0;
  }
  fill_terms(&g, terms);
  g.n = count_loaded(r, terms, g.n);
  return g.n > 0 && load_from_rows(&g, done) ? g.n : 0;
}
