/* StringSplit: strings cut at a delimiter, or at white space. */
#include <string.h>

#include "ops/common/host.h"
#include "ops/common/text.h"

/* The pieces of one string, given out one after another. */
typedef struct cutter {
  hone_string_t rest;
  bool ended;
  hone_string_t delimiter; /* size 0: white space */
  int64_t splits_left;     /* negative: any number */
} cutter_t;

/* White space as Unicode has it. */
static bool is_space(int32_t c) {
  return (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

/* Bytes up to the first character that is space (or is none). */
static size_t span(hone_string_t text, bool space) {
  for (size_t at = 0, start = 0; at < text.size; start = at)
    if (is_space(hone_text_next(text.data, text.size, &at)) != space) return start;
  return text.size;
}

static hone_string_t skip(hone_string_t text, size_t bytes) {
  return (hone_string_t){text.data + bytes, text.size - bytes};
}

/* Without the white space behind the last word. */
static size_t trimmed_size(hone_string_t text) {
  size_t end = 0;
  for (size_t at = 0; at < text.size;)
    if (!is_space(hone_text_next(text.data, text.size, &at))) end = at;
  return end;
}

static bool next_word(cutter_t* cutter, hone_string_t* out) {
  if (cutter->rest.size) cutter->rest = skip(cutter->rest, span(cutter->rest, true));
  if (cutter->rest.size == 0) return false;
  *out = cutter->rest;
  out->size = cutter->splits_left == 0 ? trimmed_size(*out) : span(*out, false);
  cutter->rest = skip(cutter->rest, out->size);
  if (cutter->splits_left-- == 0) cutter->rest.size = 0;
  return true;
}

static bool next_field(cutter_t* cutter, hone_string_t* out) {
  if (cutter->ended) return false;
  *out = cutter->rest;
  const char* found = NULL;
  if (cutter->splits_left != 0 && cutter->rest.size)
    found = memmem(cutter->rest.data, cutter->rest.size, cutter->delimiter.data,
                   cutter->delimiter.size);
  cutter->ended = !found;
  if (!found) return true;
  out->size = (size_t)(found - cutter->rest.data);
  cutter->rest = skip(cutter->rest, out->size + cutter->delimiter.size);
  cutter->splits_left--;
  return true;
}

static bool next_piece(cutter_t* cutter, hone_string_t* out) {
  return cutter->delimiter.size ? next_field(cutter, out) : next_word(cutter, out);
}

static cutter_t make_cutter(const hone_onnx_node_t* node, hone_string_t text) {
  int count;
  const hone_string_t* delimiter = hone_attr_strings(node, "delimiter", &count);
  cutter_t cutter = {.rest = text, .splits_left = hone_attr_int(node, "maxsplit", -1)};
  if (count) cutter.delimiter = *delimiter;
  cutter.ended = text.size == 0;
  return cutter;
}

static int64_t count_pieces(const hone_onnx_node_t* node, hone_string_t text) {
  cutter_t cutter = make_cutter(node, text);
  hone_string_t piece;
  int64_t count = 0;
  while (next_piece(&cutter, &piece)) count++;
  return count;
}

static hone_status_t fill(hone_host_call_t* call, const hone_tensor_t* x, int64_t width) {
  for (int64_t i = 0; i < hone_tensor_count(x); i++) {
    cutter_t cutter = make_cutter(call->node, hone_host_string(x, i));
    hone_string_t piece;
    for (int64_t k = i * width; next_piece(&cutter, &piece); k++)
      HONE_TRY(hone_tensor_set_string(call->outputs[0], k, piece.data, piece.size));
  }
  return NULL;
}

static hone_status_t run_split(hone_host_call_t* call) {
  const hone_tensor_t* x;
  HONE_TRY(hone_host_strings(call, 0, &x));
  int rank = hone_tensor_rank(x);
  if (rank >= HONE_MAX_RANK)
    return hone_status_make(HONE_UNSUPPORTED, "StringSplit: the result would have %d axes",
                            rank + 1);
  hone_tensor_t* made;
  HONE_TRY(hone_tensor_create(call->allocator, HONE_I64, rank, hone_tensor_dims(x), &made));
  int64_t *numbers = hone_tensor_data(made), dims[HONE_MAX_RANK], width = 0;
  for (int64_t i = 0; i < hone_tensor_count(x); i++) {
    numbers[i] = count_pieces(call->node, hone_host_string(x, i));
    if (numbers[i] > width) width = numbers[i];
  }
  if (call->n_outputs > 1)
    call->outputs[1] = made;
  else
    hone_tensor_release(made);
  for (int i = 0; i < rank; i++) dims[i] = hone_tensor_dims(x)[i];
  dims[rank] = width;
  HONE_TRY(hone_tensor_create(call->allocator, HONE_STRING, rank + 1, dims, &call->outputs[0]));
  return fill(call, x, width);
}

static void lower_split(hone_lower_t* l) {
  const hone_type_t* x = &l->inputs[0]->type;
  if (x->rank >= HONE_MAX_RANK) {
    hone_op_fail(l, "the result would have %d axes", x->rank + 1);
    return;
  }
  hone_dim_t dims[HONE_MAX_RANK];
  for (int i = 0; i < x->rank; i++) dims[i] = x->dims[i];
  dims[x->rank] = hone_d(-1);
  hone_type_t types[2] = {hone_type_tensor(HONE_STRING, x->rank + 1, dims), *x};
  types[1].dtype = HONE_I64;
  hone_op_host(l, types);
}

static const hone_op_t ops[] = {
    {.name = "StringSplit",
     .min_opset = 20,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "delimiter maxsplit",
     .lower = lower_split,
     .host = run_split},
};
HONE_OP_FAMILY(string_split, ops)
