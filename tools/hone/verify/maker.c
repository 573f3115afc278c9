/* Forms: the shapes that rows are tried on, and how their operands lie in memory. */
#include <stdio.h>

#include "verify/verify.h"

static const struct {
  const char* name;
  bool symbolic;
} forms[] = {
#define FORM_ROW(name, text, symbolic) {text, symbolic},
    HONE_VERIFY_FORMS(FORM_ROW)
#undef FORM_ROW
};

const char* hone_verify_form_name(hone_verify_form_t form) { return forms[form].name; }
bool hone_verify_form_is_symbolic(hone_verify_form_t form) { return forms[form].symbolic; }

/* Extents of forms that are numbers. One vector is up to 64 elements (bytes in AVX-512). */
static const struct {
  int rank;
  int64_t dims[8];
} shapes[HONE_VERIFY_FORM_COUNT] = {
    [HONE_VERIFY_SCALAR] = {0, {0}},         [HONE_VERIFY_EMPTY] = {3, {3, 0, 2}},
    [HONE_VERIFY_ONE] = {2, {1, 1}},         [HONE_VERIFY_ODD] = {3, {3, 5, 7}},
    [HONE_VERIFY_WIDTH] = {2, {2, 64}},      [HONE_VERIFY_BESIDE] = {2, {3, 65}},
    [HONE_VERIFY_LARGE] = {3, {17, 65, 67}}, [HONE_VERIFY_RANK8] = {8, {2, 1, 3, 1, 2, 2, 1, 3}},
};

/* ---- inputs ---- */

hone_dim_t hone_verify_symbol(hone_verify_maker_t* m, const char* name) {
  return hone_dim_symbol(m->b->graph->dims, name, HONE_SYMBOL_INPUT, 0, INT32_MAX);
}

static hone_value_t* add_input(hone_verify_maker_t* m, hone_dtype_t dtype, int rank,
                               const hone_dim_t* dims, const hone_verify_input_t* input) {
  if (m->n_inputs == HONE_VERIFY_MOST_INPUTS)
    return hone_fail(m->b, HONE_INTERNAL, "too many inputs in %s", m->b->origin);
  char name[32];
  snprintf(name, sizeof name, "in%d", m->n_inputs);
  hone_type_t type = hone_type_tensor(dtype, rank, dims);
  hone_value_t* x = hone_input(m->b, name, &type);
  for (int i = 0; x && i < rank; i++) {
    const hone_symbol_t* symbol = hone_dim_as_symbol(dims[i]);
    if (symbol) hone_fail_status(m->b, hone_value_bind(m->b->graph, x, symbol->id, true, i));
  }
  hone_verify_input_t* made = &m->inputs[m->n_inputs++];
  *made = *input;
  made->form = m->form;
  bool first = m->n_inputs == 1 || made[-1].form != m->form;
  made->slot = first ? 0 : made[-1].slot + 1;
  return x;
}

hone_value_t* hone_verify_input(hone_verify_maker_t* m, hone_dtype_t dtype, int rank,
                                const hone_dim_t* dims, hone_verify_fill_t fill) {
  return add_input(m, dtype, rank, dims, &(hone_verify_input_t){.fill = fill});
}

hone_value_t* hone_verify_index_input(hone_verify_maker_t* m, hone_dtype_t dtype, int rank,
                                      const hone_dim_t* dims, hone_dim_t limit) {
  return add_input(m, dtype, rank, dims,
                   &(hone_verify_input_t){.fill = HONE_VERIFY_INDEX, .limit = limit});
}

/* ---- operands ---- */

static hone_value_t* plain(hone_verify_maker_t* m, hone_dtype_t dtype, hone_verify_fill_t fill) {
  hone_dim_t dims[8];
  int rank = shapes[m->form].rank;
  for (int i = 0; i < rank; i++) dims[i] = hone_d(shapes[m->form].dims[i]);
  return hone_verify_input(m, dtype, rank, dims, fill);
}

/* [5, 19] from a column, a row, or one element. */
static hone_value_t* broadcast(hone_verify_maker_t* m, int which, hone_dtype_t dtype,
                               hone_verify_fill_t fill) {
  hone_dim_t shape[2] = {hone_d(5), hone_d(19)}, dims[2] = {hone_d(5), hone_d(19)};
  if (which == 2) return hone_expand(m->b, hone_verify_input(m, dtype, 0, NULL, fill), 2, shape);
  dims[which == 0] = hone_d(1);
  return hone_expand(m->b, hone_verify_input(m, dtype, 2, dims, fill), 2, shape);
}

/* [8, 6, 6], every other element of a transposed array. */
static hone_value_t* strided(hone_verify_maker_t* m, hone_dtype_t dtype, hone_verify_fill_t fill) {
  static const int64_t axes[3] = {2, 0, 1};
  const hone_dim_t dims[3] = {hone_d(11), hone_d(6), hone_d(9)};
  const hone_dim_t lo[3] = {hone_d(1), hone_d(0), hone_d(0)};
  const hone_dim_t hi[3] = {hone_d(9), hone_d(11), hone_d(6)};
  const hone_dim_t step[3] = {hone_d(1), hone_d(2), hone_d(1)};
  hone_value_t* x = hone_verify_input(m, dtype, 3, dims, fill);
  return hone_slice(m->b, hone_permute(m->b, x, axes), lo, hi, step);
}

/* [6, 35], read backwards along both axes. */
static hone_value_t* flipped(hone_verify_maker_t* m, hone_dtype_t dtype, hone_verify_fill_t fill) {
  const hone_dim_t dims[2] = {hone_d(6), hone_d(35)};
  return hone_flip(m->b, hone_flip(m->b, hone_verify_input(m, dtype, 2, dims, fill), 0), 1);
}

static hone_value_t* symbolic(hone_verify_maker_t* m, int which, hone_dtype_t dtype,
                              hone_verify_fill_t fill) {
  const hone_dim_t dims[2] = {hone_verify_symbol(m, "n"), hone_verify_symbol(m, "m")};
  const hone_dim_t row[2] = {hone_d(1), dims[1]};
  if (which != 1) return hone_verify_input(m, dtype, 2, dims, fill);
  return hone_expand(m->b, hone_verify_input(m, dtype, 2, row, fill), 2, dims);
}

hone_value_t* hone_verify_operand(hone_verify_maker_t* m, int which, hone_dtype_t dtype,
                                  hone_verify_fill_t fill) {
  hone_dim_t line = hone_d(0);
  switch (m->form) {
    case HONE_VERIFY_BROADCAST:
      return broadcast(m, which, dtype, fill);
    case HONE_VERIFY_STRIDED:
      return strided(m, dtype, fill);
    case HONE_VERIFY_FLIPPED:
      return flipped(m, dtype, fill);
    case HONE_VERIFY_SYMBOLIC:
      return symbolic(m, which, dtype, fill);
    case HONE_VERIFY_LINE:
      line = hone_verify_symbol(m, "line");
      return hone_verify_input(m, dtype, 1, &line, fill);
    default:
      return plain(m, dtype, fill);
  }
}

/* ---- outputs ---- */

static void add_output(hone_verify_maker_t* m, hone_value_t* value, hone_value_t* scale,
                       bool exact) {
  if (m->n_outputs == HONE_VERIFY_MOST_OUTPUTS)
    hone_fail(m->b, HONE_INTERNAL, "too many outputs in %s", m->b->origin);
  else
    m->outputs[m->n_outputs++] = (hone_verify_output_t){m->form, value, scale, exact};
}

void hone_verify_output(hone_verify_maker_t* m, hone_value_t* value) {
  add_output(m, value, NULL, false);
}

void hone_verify_output_exact(hone_verify_maker_t* m, hone_value_t* value) {
  add_output(m, value, NULL, true);
}

void hone_verify_output_scaled(hone_verify_maker_t* m, hone_value_t* value, hone_value_t* sum,
                               hone_dim_t terms) {
  hone_value_t* scale = NULL;
  if (m->for_ref) scale = hone_mul(m->b, sum, hone_dim_scalar(m->b, HONE_F64, terms));
  add_output(m, value, scale, false);
}

hone_value_t* hone_verify_magnitude(hone_verify_maker_t* m, hone_value_t* x) {
  return m->for_ref ? hone_abs(m->b, hone_cast(m->b, x, HONE_F64)) : NULL;
}
