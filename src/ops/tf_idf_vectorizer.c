/* TfIdfVectorizer: how often each n-gram of a pool occurs in a row of tokens,
 * with up to max_skip_count tokens left out between its members. */
#include <string.h>

#include "base/map.h"
#include "base/str.h"
#include "ops/common/host.h"

typedef struct vectorizer {
  const hone_onnx_node_t* node;
  int64_t min_length, max_length, max_skip;
  const int64_t* indexes; /* of each n-gram, the place in the result */
  int n_indexes;
  int64_t width; /* of the result */
  const float* weights;
  int n_weights;
  hone_arena_t* arena;
  hone_map_t grams; /* bytes of an n-gram to its entry in `indexes` */
  hone_str_t key;
} vectorizer_t;

static bool is_mode(const hone_onnx_node_t* node, const char* mode) {
  return strcmp(hone_attr_string(node, "mode", ""), mode) == 0;
}

static hone_status_t wrong(const char* what) {
  return hone_status_make(HONE_INVALID_MODEL, "TfIdfVectorizer: %s", what);
}

/* ---- the attributes ---- */

static hone_status_t read_attributes(vectorizer_t* v, const hone_onnx_node_t* node) {
  *v = (vectorizer_t){.node = node,
                      .min_length = hone_attr_int(node, "min_gram_length", 0),
                      .max_length = hone_attr_int(node, "max_gram_length", 0),
                      .max_skip = hone_attr_int(node, "max_skip_count", 0)};
  v->indexes = hone_attr_ints(node, "ngram_indexes", &v->n_indexes);
  v->weights = hone_attr_floats(node, "weights", &v->n_weights);
  if (!is_mode(node, "TF") && !is_mode(node, "IDF") && !is_mode(node, "TFIDF"))
    return wrong("attribute mode must be TF, IDF or TFIDF");
  if (v->min_length < 1 || v->max_length < v->min_length || v->max_skip < 0)
    return wrong("min_gram_length, max_gram_length or max_skip_count is out of order");
  if (v->n_indexes < 1) return wrong("attribute ngram_indexes is missing");
  for (int i = 0; i < v->n_indexes; i++) {
    if (v->indexes[i] < 0 || v->indexes[i] >= INT32_MAX)
      return wrong("an entry of ngram_indexes is out of range");
    if (v->indexes[i] >= v->width) v->width = v->indexes[i] + 1;
  }
  if (v->n_weights && v->n_weights < v->width)
    return wrong("there are fewer weights than places in the result");
  return NULL;
}

/* ---- the pool ---- */

/* A token as bytes that begin with their number, so that no two lists of
 * tokens look alike. */
static void append_token(hone_str_t* key, const void* data, size_t size) {
  hone_str_append_n(key, (const char*)&size, sizeof size);
  hone_str_append_n(key, data, size);
}

/* The pool's tokens are ints or strings. */
typedef struct pool {
  const int64_t* ints;
  const hone_string_t* strings;
  int count;
} pool_t;

static void append_pool_token(hone_str_t* key, const pool_t* pool, int64_t at) {
  if (pool->ints)
    append_token(key, &pool->ints[at], sizeof *pool->ints);
  else
    append_token(key, pool->strings[at].data, pool->strings[at].size);
}

/* Puts the n-grams of `length` tokens between two places of the pool into the map. */
static hone_status_t read_grams(vectorizer_t* v, const pool_t* pool, int64_t from, int64_t to,
                                int64_t length, int64_t* gram) {
  for (; from + length <= to; from += length, ++*gram) {
    if (length < v->min_length || length > v->max_length) continue;
    if (*gram >= v->n_indexes) return wrong("there are more n-grams than ngram_indexes");
    v->key.size = 0;
    for (int64_t i = 0; i < length; i++) append_pool_token(&v->key, pool, from + i);
    char* key =
        v->key.failed ? NULL : hone_arena_memdup(v->arena, hone_str_text(&v->key), v->key.size);
    if (!key) return hone_status_make(HONE_OUT_OF_MEMORY, "TfIdfVectorizer: out of memory");
    HONE_TRY(hone_map_put_n(&v->grams, key, v->key.size, (void*)(uintptr_t)&v->indexes[*gram]));
  }
  return NULL;
}

static hone_status_t read_pool(vectorizer_t* v, bool strings) {
  pool_t pool = {0};
  int n_starts;
  const int64_t* starts = hone_attr_ints(v->node, "ngram_counts", &n_starts);
  if (strings)
    pool.strings = hone_attr_strings(v->node, "pool_strings", &pool.count);
  else
    pool.ints = hone_attr_ints(v->node, "pool_int64s", &pool.count);
  if (!pool.count)
    return wrong(strings ? "the input holds strings, so pool_strings is needed"
                         : "the input holds integers, so pool_int64s is needed");
  int64_t gram = 0;
  for (int i = 0; i < n_starts; i++) {
    int64_t to = i + 1 < n_starts ? starts[i + 1] : pool.count;
    if (starts[i] < 0 || to < starts[i] || to > pool.count)
      return wrong("ngram_counts does not divide the pool");
    HONE_TRY(read_grams(v, &pool, starts[i], to, i + 1, &gram));
  }
  return NULL;
}

/* ---- counting ---- */

static void append_input_token(hone_str_t* key, const hone_tensor_t* x, int64_t at) {
  if (hone_tensor_dtype(x) == HONE_STRING) {
    hone_string_t text = hone_host_string(x, at);
    append_token(key, text.data, text.size);
  } else {
    int64_t number = hone_tensor_i64(x, at);
    append_token(key, &number, sizeof number);
  }
}

/* All n-grams that begin at `start` and take every distance-th token before `end`. */
static void count_from(vectorizer_t* v, const hone_tensor_t* x, int64_t start, int64_t end,
                       int64_t distance, int64_t least, float* counts) {
  v->key.size = 0;
  int64_t at = start;
  for (int64_t length = 1; length <= v->max_length && at < end; length++, at += distance) {
    append_input_token(&v->key, x, at);
    if (length < least) continue;
    const int64_t* index = hone_map_get_n(&v->grams, hone_str_text(&v->key), v->key.size);
    if (index) counts[*index] += 1;
  }
}

/* Single tokens do not depend on the distance, so they count only once. */
static void count_row(vectorizer_t* v, const hone_tensor_t* x, int64_t start, int64_t end,
                      float* counts) {
  int64_t least = v->min_length;
  for (int64_t distance = 1; distance <= v->max_skip + 1 && distance <= end - start; distance++) {
    for (int64_t at = start; at < end; at++) count_from(v, x, at, end, distance, least, counts);
    if (least == 1) least = 2;
    if (least > v->max_length) break;
  }
}

static void weigh_row(const vectorizer_t* v, float* counts) {
  if (is_mode(v->node, "TF")) return;
  bool idf = is_mode(v->node, "IDF");
  for (int64_t i = 0; i < v->width; i++) {
    float weight = v->n_weights ? v->weights[i] : 1.0f;
    if (idf)
      counts[i] = counts[i] > 0 ? weight : 0;
    else
      counts[i] *= weight;
  }
}

static hone_status_t vectorize(vectorizer_t* v, hone_host_call_t* call, const hone_tensor_t* x) {
  HONE_TRY(read_pool(v, hone_tensor_dtype(x) == HONE_STRING));
  int rank = hone_tensor_rank(x);
  int64_t rows = rank == 2 ? hone_tensor_dims(x)[0] : 1;
  int64_t tokens = rank == 0 ? 1 : hone_tensor_dims(x)[rank - 1];
  int64_t dims[] = {rows, v->width};
  HONE_TRY(hone_tensor_create(call->allocator, HONE_F32, rank == 2 ? 2 : 1,
                              rank == 2 ? dims : dims + 1, &call->outputs[0]));
  float* counts = hone_tensor_data(call->outputs[0]);
  for (int64_t r = 0; r < rows; r++) {
    count_row(v, x, r * tokens, (r + 1) * tokens, counts + r * v->width);
    weigh_row(v, counts + r * v->width);
  }
  return v->key.failed ? hone_status_make(HONE_OUT_OF_MEMORY, "TfIdfVectorizer: out of memory")
                       : NULL;
}

static hone_status_t run_vectorizer(hone_host_call_t* call) {
  const hone_tensor_t* x;
  vectorizer_t v;
  HONE_TRY(hone_host_tensor(call, 0, &x));
  HONE_TRY(read_attributes(&v, call->node));
  if (hone_tensor_rank(x) > 2) return wrong("the input must have the shape [C] or [N, C]");
  HONE_TRY(hone_arena_create(call->allocator, &v.arena));
  hone_map_init(&v.grams, call->allocator);
  hone_str_init(&v.key, call->allocator);
  hone_status_t status = vectorize(&v, call, x);
  hone_str_free(&v.key);
  hone_map_free(&v.grams);
  hone_arena_destroy(v.arena);
  return status;
}

static void lower_vectorizer(hone_lower_t* l) {
  const hone_type_t* x = &l->inputs[0]->type;
  vectorizer_t v;
  hone_status_t status = read_attributes(&v, l->node);
  if (status) {
    hone_fail_status(l->b, status);
    return;
  }
  if (x->rank > 2) {
    hone_op_fail(l, "the input must have the shape [C] or [N, C]; its rank is %d", x->rank);
    return;
  }
  hone_dim_t dims[2] = {x->rank == 2 ? x->dims[0] : hone_d(1), hone_d(v.width)};
  hone_type_t type =
      x->rank == 2 ? hone_type_tensor(HONE_F32, 2, dims) : hone_type_tensor(HONE_F32, 1, dims + 1);
  hone_op_host(l, &type);
}

static const hone_op_t ops[] = {
    {.name = "TfIdfVectorizer",
     .min_opset = 9,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "max_gram_length max_skip_count min_gram_length mode ngram_counts ngram_indexes "
              "pool_int64s pool_strings weights",
     .lower = lower_vectorizer,
     .host = run_vectorizer},
};
HONE_OP_FAMILY(tf_idf_vectorizer, ops)
