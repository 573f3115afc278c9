/* Einsum: sums of products by an equation such as "bij,bjk->bik".
 *
 * Each operand's axes get labels: the equation's letters, and numbers above
 * ELLIPSIS for the axes of "...", counted from the right. Operands are made to
 * have each label once (diagonals), then multiplied from left to right; a
 * label is summed over as soon as nothing further needs it. */
#include <string.h>

#include "base/memory.h"
#include "ops/common/formulas.h"

enum { ELLIPSIS = 128, MAX_LABELS = ELLIPSIS + HONE_MAX_RANK };

/* An operand (or partial product) and the labels of its axes. */
typedef struct term {
  hone_value_t* value;
  int n;
  int labels[HONE_MAX_RANK];
} term_t;

typedef struct einsum {
  hone_lower_t* l;
  int n_terms;
  term_t* terms;
  int n_ellipsis; /* axes of the longest "..." */
  term_t output;  /* labels only */
} einsum_t;

/* ---- the equation ---- */

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

static bool bad_equation(einsum_t* e, const char* why) {
  hone_op_fail(e->l, "equation '%s': %s", hone_attr_string(e->l->node, "equation", ""), why);
  return false;
}

/* Labels of the term that starts at *text and ends before ',', "->" or the
 * end; "..." stands for `n_ellipsis` axes. */
static bool parse_labels(einsum_t* e, const char** text, int n_ellipsis, term_t* out) {
  const char* at = *text;
  bool had_ellipsis = false;
  out->n = 0;
  for (; *at && *at != ',' && *at != '-'; at++) {
    if (*at == ' ') continue;
    bool dots = strncmp(at, "...", 3) == 0 && !had_ellipsis;
    if (!dots && !is_letter(*at)) return bad_equation(e, "expected a letter or '...'");
    int count = dots ? n_ellipsis : 1;
    if (out->n + count > HONE_MAX_RANK) return bad_equation(e, "more than 16 labels in a term");
    for (int i = 0; i < count; i++)
      out->labels[out->n++] = dots ? ELLIPSIS + count - 1 - i : (unsigned char)*at;
    if (dots) at += 2;
    had_ellipsis = had_ellipsis || dots;
  }
  *text = at;
  return true;
}

/* How many axes "..." has in the term at `text` of a tensor of `rank`: what the
 * letters leave. -1 when they do not fit. */
static int ellipsis_length(const char* text, int rank) {
  bool dots = false;
  for (; *text && *text != ',' && *text != '-'; text++) {
    if (*text == '.') dots = true;
    if (is_letter(*text)) rank--;
  }
  return dots || rank == 0 ? rank : -1;
}

static bool parse_terms(einsum_t* e, const char** text) {
  for (int i = 0; i < e->n_terms; i++) {
    hone_value_t* x = hone_op_in(e->l, i);
    int length = ellipsis_length(*text, hone_rank(x));
    if (length < 0) return bad_equation(e, "a term does not fit its operand's rank");
    if (!parse_labels(e, text, length, &e->terms[i])) return false;
    if (length > e->n_ellipsis) e->n_ellipsis = length;
    bool last = i == e->n_terms - 1;
    if (!last && **text != ',') return bad_equation(e, "fewer terms than operands");
    if (!last) ++*text;
    e->terms[i].value = x;
  }
  return **text != ',' || bad_equation(e, "more terms than operands");
}

/* Without "->": the axes of "...", then letters that occur once, in order. */
static void implicit_output(einsum_t* e) {
  int count[ELLIPSIS] = {0};
  term_t* out = &e->output;
  for (int t = 0; t < e->n_terms; t++)
    for (int i = 0; i < e->terms[t].n; i++)
      if (e->terms[t].labels[i] < ELLIPSIS) count[e->terms[t].labels[i]]++;
  for (int i = 0; i < e->n_ellipsis; i++) out->labels[out->n++] = ELLIPSIS + e->n_ellipsis - 1 - i;
  for (int c = 0; c < ELLIPSIS && out->n < HONE_MAX_RANK; c++)
    if (count[c] == 1) out->labels[out->n++] = c;
}

static bool parse(einsum_t* e) {
  const char* text = hone_attr_string(e->l->node, "equation", "");
  if (!parse_terms(e, &text)) return false;
  if (!*text) {
    implicit_output(e);
    return true;
  }
  if (strncmp(text, "->", 2) != 0) return bad_equation(e, "expected '->'");
  text += 2;
  if (!parse_labels(e, &text, e->n_ellipsis, &e->output)) return false;
  return !*text || bad_equation(e, "text behind the output's labels");
}

/* ---- looking at terms ---- */

static int find_label(const term_t* term, int label) {
  for (int i = 0; i < term->n; i++)
    if (term->labels[i] == label) return i;
  return -1;
}

/* True when the output or a term from `first` on has the label. */
static bool is_needed(const einsum_t* e, int label, int first) {
  for (int t = first; t < e->n_terms; t++)
    if (find_label(&e->terms[t], label) >= 0) return true;
  return find_label(&e->output, label) >= 0;
}

static void drop_axis(term_t* term, int axis) {
  for (int i = axis; i + 1 < term->n; i++) term->labels[i] = term->labels[i + 1];
  term->n--;
}

/* ---- each operand by itself ---- */

/* The elements whose indices along axes i < j are equal; axis j vanishes. */
static hone_value_t* diagonal(hone_builder_t* b, hone_value_t* x, int i, int j) {
  if (!x) return NULL;
  hone_dim_t n = hone_dim(x, i), shape[HONE_MAX_RANK];
  if (hone_dim_is_int(n) && hone_dim_is_int(hone_dim(x, j)) && hone_dim(x, j).k != n.k)
    return hone_fail(b, HONE_INVALID_MODEL, "a label stands for extents %lld and %lld",
                     (long long)n.k, (long long)hone_dim(x, j).k);
  hone_value_t* front = hone_move_axis(b, hone_move_axis(b, x, i, 0), j, 1);
  if (!front) return NULL;
  int rank = hone_rank(front) - 1;
  shape[0] = hone_d_mul(b, n, n);
  for (int k = 1; k < rank; k++) shape[k] = hone_dim(front, k + 1);
  hone_value_t* index = hone_iota(b, HONE_I64, 1, &n, 0);
  index = hone_mul(b, index, hone_dim_scalar(b, HONE_I64, hone_d_add(b, n, hone_d(1))));
  return hone_move_axis(b, hone_gather(b, hone_reshape(b, front, rank, shape), index), 0, i);
}

static void take_diagonals(einsum_t* e, term_t* term) {
  for (int i = 0; i < term->n; i++)
    for (int j = i + 1; j < term->n;) {
      if (term->labels[i] != term->labels[j]) {
        j++;
        continue;
      }
      term->value = diagonal(e->l->b, term->value, i, j);
      drop_axis(term, j);
    }
}

/* True when another term has the label with an extent that is not 1. */
static bool is_wider_elsewhere(const einsum_t* e, const term_t* term, int label) {
  for (int t = 0; t < e->n_terms; t++) {
    int at = find_label(&e->terms[t], label);
    if (&e->terms[t] != term && at >= 0 && e->terms[t].value &&
        !hone_dim_is(hone_dim(e->terms[t].value, at), 1))
      return true;
  }
  return false;
}

/* Axes of extent 1 that broadcast against others' need not be there at all. */
static void drop_broadcast_axes(einsum_t* e, term_t* term) {
  for (int i = 0; i < term->n && term->value;) {
    if (hone_dim_is(hone_dim(term->value, i), 1) && is_wider_elsewhere(e, term, term->labels[i])) {
      term->value = hone_squeeze(e->l->b, term->value, i);
      drop_axis(term, i);
    } else {
      i++;
    }
  }
}

/* The common extent of all axes with the label. *out_differ tells whether they
 * are not known to be equal. */
static hone_dim_t joined_extent(einsum_t* e, hone_value_t** marks, int label, bool* out_differ) {
  hone_builder_t* b = e->l->b;
  hone_dim_t first = hone_d(1);
  int n = 0;
  *out_differ = false;
  for (int t = 0; t < e->n_terms; t++) {
    int at = e->terms[t].value ? find_label(&e->terms[t], label) : -1;
    if (at < 0) continue;
    hone_dim_t extent = hone_dim(e->terms[t].value, at);
    if (n == 0) first = extent;
    *out_differ = *out_differ || !hone_dim_same(first, extent);
    marks[n++] = hone_full(b, HONE_BOOL, 0, 1, &extent);
  }
  if (!*out_differ) return first;
  hone_broadcast(b, n, marks);
  return marks[0] ? hone_dim(marks[0], 0) : first;
}

static void expand_label(einsum_t* e, int label, hone_dim_t extent) {
  for (int t = 0; t < e->n_terms; t++) {
    term_t* term = &e->terms[t];
    int at = find_label(term, label);
    if (at < 0 || !term->value) continue;
    hone_dim_t shape[HONE_MAX_RANK];
    for (int k = 0; k < term->n; k++) shape[k] = k == at ? extent : hone_dim(term->value, k);
    term->value = hone_expand(e->l->b, term->value, term->n, shape);
  }
}

/* Extents that are not numbers may turn out to be 1 in some of the terms. */
static void expand_terms(einsum_t* e) {
  hone_builder_t* b = e->l->b;
  hone_value_t** marks = hone_arena_array(b->graph->arena, (size_t)e->n_terms, sizeof *marks);
  if (!marks) hone_fail_status(b, hone_oom());
  for (int label = 0; marks && label < MAX_LABELS; label++) {
    bool differ;
    hone_dim_t extent = joined_extent(e, marks, label, &differ);
    if (differ) expand_label(e, label, extent);
  }
}

/* Sums over labels that nothing else has. */
static void sum_alone(einsum_t* e, int t) {
  term_t* term = &e->terms[t];
  int64_t axes[HONE_MAX_RANK];
  int n_axes = 0;
  term_t left = {.n = 0};
  for (int i = 0; i < term->n; i++) {
    bool needed = is_needed(e, term->labels[i], t + 1);
    for (int s = 0; s < t; s++) needed = needed || find_label(&e->terms[s], term->labels[i]) >= 0;
    if (needed)
      left.labels[left.n++] = term->labels[i];
    else
      axes[n_axes++] = i;
  }
  left.value = hone_reduce(e->l->b, HONE_COMBINE_ADD, term->value, n_axes, axes, false);
  *term = left;
}

/* ---- products ---- */

/* total * terms[t]; shared labels that nothing after t needs are summed over. */
static void multiply(einsum_t* e, term_t* total, int t) {
  const term_t* term = &e->terms[t];
  int64_t pairs[HONE_MAX_RANK][2];
  int n_pairs = 0, n_batch = 0;
  term_t product = {.n = 0};
  for (int round = 0; round < 2; round++) {
    bool batch = round == 0;
    for (int i = 0; i < total->n; i++) {
      int at = find_label(term, total->labels[i]);
      if (at < 0 || is_needed(e, total->labels[i], t + 1) != batch) continue;
      pairs[n_pairs][0] = i;
      pairs[n_pairs++][1] = at;
      if (batch) product.labels[product.n++] = total->labels[i];
    }
    if (batch) n_batch = n_pairs;
  }
  for (int i = 0; i < total->n; i++)
    if (find_label(term, total->labels[i]) < 0 && product.n < HONE_MAX_RANK)
      product.labels[product.n++] = total->labels[i];
  for (int i = 0; i < term->n; i++)
    if (find_label(total, term->labels[i]) < 0 && product.n < HONE_MAX_RANK)
      product.labels[product.n++] = term->labels[i];
  product.value = hone_contract(e->l->b, total->value, term->value, n_pairs,
                                (const int64_t(*)[2])pairs, n_batch, HONE_UNKNOWN);
  *total = product;
}

static hone_value_t* to_output(einsum_t* e, const term_t* total) {
  int64_t axes[HONE_MAX_RANK];
  for (int i = 0; i < e->output.n; i++) {
    axes[i] = find_label(total, e->output.labels[i]);
    if (axes[i] >= 0) continue;
    bad_equation(e, "a label of the output is in no term");
    return NULL;
  }
  if (total->value && e->output.n != hone_rank(total->value)) {
    bad_equation(e, "a label is in the output twice");
    return NULL;
  }
  return hone_permute(e->l->b, total->value, axes);
}

static void lower_einsum(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_dtype_t dtype = hone_dtype_of(hone_op_in(l, 0));
  einsum_t e = {.l = l, .n_terms = l->n_inputs};
  e.terms = hone_arena_array(b->graph->arena, (size_t)l->n_inputs, sizeof *e.terms);
  if (!e.terms) {
    hone_fail_status(b, hone_oom());
    return;
  }
  for (int i = 0; i < l->n_inputs; i++)
    if (!hone_op_in(l, i)) hone_op_fail(l, "operand %d is missing", i);
  if (!hone_builder_ok(b) || !parse(&e)) return;
  for (int t = 0; t < e.n_terms; t++) {
    if (hone_dtype_is_float(dtype)) e.terms[t].value = hone_widen(b, e.terms[t].value);
    take_diagonals(&e, &e.terms[t]);
  }
  for (int t = 0; t < e.n_terms; t++) drop_broadcast_axes(&e, &e.terms[t]);
  expand_terms(&e);
  for (int t = 0; t < e.n_terms; t++) sum_alone(&e, t);
  term_t total = e.terms[0];
  for (int t = 1; t < e.n_terms; t++) multiply(&e, &total, t);
  hone_op_out(l, 0, hone_cast(b, to_output(&e, &total), dtype));
}

static const hone_op_t ops[] = {
    {.name = "Einsum",
     .min_opset = 12,
     .min_inputs = 1,
     .max_inputs = -1,
     .attrs = "equation",
     .lower = lower_einsum},
};
HONE_OP_FAMILY(einsum, ops)
