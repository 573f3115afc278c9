/* StringNormalizer: drops stop words and changes letter case. The case is
 * Unicode's, whatever the attribute locale and the process's locale say. */
#include <string.h>

#include "base/map.h"
#include "ops/common/host.h"
#include "ops/common/text.h"

typedef enum text_change { CHANGE_NONE, CHANGE_LOWER, CHANGE_UPPER, CHANGE_BAD } text_change_t;

typedef struct normalizer {
  hone_host_call_t* call;
  hone_arena_t* arena;
  hone_text_case_t* text_case;
  text_change_t output; /* what becomes of the strings that stay */
  text_change_t compare;
  hone_map_t stop_words; /* in the form for comparing */
} normalizer_t;

static text_change_t read_change(const hone_onnx_node_t* node) {
  static const char* const names[] = {"NONE", "LOWER", "UPPER"};
  const char* text = hone_attr_string(node, "case_change_action", "NONE");
  for (int i = 0; i < CHANGE_BAD; i++)
    if (strcmp(text, names[i]) == 0) return (text_change_t)i;
  return CHANGE_BAD;
}

/* `text` with its letters changed, in the arena; bytes that are not UTF-8 stay. */
static hone_status_t change(const normalizer_t* n, hone_string_t text, text_change_t how,
                            hone_string_t* out) {
  *out = text;
  if (how == CHANGE_NONE) return NULL;
  hone_str_t changed;
  hone_str_init(&changed, n->call->allocator);
  for (size_t at = 0; at < text.size;) {
    size_t start = at;
    int32_t c = hone_text_next(text.data, text.size, &at);
    if (c == HONE_NO_CHAR)
      hone_str_append_char(&changed, text.data[start]);
    else
      hone_text_append(&changed, how == CHANGE_LOWER ? hone_text_lower(n->text_case, c)
                                                     : hone_text_upper(n->text_case, c));
  }
  out->size = changed.size;
  out->data = hone_arena_strndup(n->arena, hone_str_text(&changed), changed.size);
  bool failed = changed.failed || !out->data;
  hone_str_free(&changed);
  return failed ? hone_status_make(HONE_OUT_OF_MEMORY, "StringNormalizer: out of memory") : NULL;
}

static hone_status_t read_stop_words(normalizer_t* n) {
  int count;
  const hone_string_t* words = hone_attr_strings(n->call->node, "stopwords", &count);
  for (int i = 0; i < count; i++) {
    hone_string_t word;
    HONE_TRY(change(n, words[i], n->compare, &word));
    HONE_TRY(hone_map_put_n(&n->stop_words, word.data ? word.data : "", word.size, n));
  }
  return NULL;
}

/* The strings that stay, changed, in `kept` (room for all). */
static hone_status_t select_words(normalizer_t* n, const hone_tensor_t* x, hone_string_t* kept,
                                  int64_t* out_count) {
  *out_count = 0;
  for (int64_t i = 0; i < hone_tensor_count(x); i++) {
    hone_string_t text = hone_host_string(x, i), key;
    HONE_TRY(change(n, text, n->compare, &key));
    if (hone_map_get_n(&n->stop_words, key.data ? key.data : "", key.size)) continue;
    HONE_TRY(change(n, text, n->output, &kept[(*out_count)++]));
  }
  return NULL;
}

static hone_status_t write_words(hone_host_call_t* call, int rank, const hone_string_t* words,
                                 int64_t count) {
  int64_t dims[2] = {1, 1};
  dims[rank - 1] = count ? count : 1; /* of nothing one empty string is left */
  HONE_TRY(hone_tensor_create(call->allocator, HONE_STRING, rank, dims, &call->outputs[0]));
  for (int64_t i = 0; i < count; i++)
    HONE_TRY(hone_tensor_set_string(call->outputs[0], i, words[i].data, words[i].size));
  return NULL;
}

static hone_status_t normalize(normalizer_t* n, const hone_tensor_t* x) {
  HONE_TRY(hone_text_case_create(n->call->allocator, &n->text_case));
  HONE_TRY(read_stop_words(n));
  int64_t count;
  hone_string_t* kept = hone_arena_array(n->arena, (size_t)hone_tensor_count(x), sizeof *kept);
  if (!kept) return hone_status_make(HONE_OUT_OF_MEMORY, "StringNormalizer: out of memory");
  HONE_TRY(select_words(n, x, kept, &count));
  return write_words(n->call, hone_tensor_rank(x), kept, count);
}

static hone_status_t run_normalizer(hone_host_call_t* call) {
  const hone_tensor_t* x;
  HONE_TRY(hone_host_strings(call, 0, &x));
  int rank = hone_tensor_rank(x);
  if (rank < 1 || rank > 2 || (rank == 2 && hone_tensor_dims(x)[0] != 1))
    return hone_status_make(HONE_INVALID_ARGUMENT,
                            "StringNormalizer: the input must have the shape [C] or [1, C]");
  normalizer_t n = {.call = call, .output = read_change(call->node)};
  if (hone_attr_int(call->node, "is_case_sensitive", 0) == 0)
    n.compare = n.output == CHANGE_UPPER ? CHANGE_UPPER : CHANGE_LOWER;
  HONE_TRY(hone_arena_create(call->allocator, &n.arena));
  hone_map_init(&n.stop_words, call->allocator);
  hone_status_t status = normalize(&n, x);
  hone_map_free(&n.stop_words);
  hone_text_case_destroy(n.text_case);
  hone_arena_destroy(n.arena);
  return status;
}

static void lower_normalizer(hone_lower_t* l) {
  const hone_type_t* x = &l->inputs[0]->type;
  if (read_change(l->node) == CHANGE_BAD) {
    hone_op_fail(l, "attribute case_change_action is '%s'; it may be NONE, LOWER or UPPER",
                 hone_attr_string(l->node, "case_change_action", ""));
    return;
  }
  if (x->rank < 1 || x->rank > 2) {
    hone_op_fail(l, "the input must have the shape [C] or [1, C]; its rank is %d", x->rank);
    return;
  }
  hone_dim_t dims[2] = {hone_d(1), hone_d(-1)};
  hone_type_t type = hone_type_tensor(HONE_STRING, x->rank, x->rank == 2 ? dims : dims + 1);
  hone_op_host(l, &type);
}

static const hone_op_t ops[] = {
    {.name = "StringNormalizer",
     .min_opset = 10,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "case_change_action is_case_sensitive locale stopwords",
     .lower = lower_normalizer,
     .host = run_normalizer},
};
HONE_OP_FAMILY(string_normalizer, ops)
