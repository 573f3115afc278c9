/* Reads graphs from text; graph_text.h gives the form. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/float_convert.h"
#include "base/memory.h"
#include "base/text_reader.h"
#include "import/graph_text.h"
#include "import/onnx.h"
#include "ir/verify.h"
#include "ops/lower.h"

enum { MAX_DEPTH = 64, MAX_OPERANDS = 1 << 20 };

typedef struct parser {
  hone_text_reader_t in;
  const hone_allocator_t* allocator;
  hone_graph_t* root;
  hone_arena_t* arena; /* of the root */
  int depth;
} parser_t;

/* A growing list in the arena. */
typedef struct list {
  int count, room;
  size_t size; /* of an entry */
  char* items;
} list_t;

/* ---- errors and words ---- */

static void fail(parser_t* p, const char* what) {
  bool no_memory = hone_dims_out_of_memory(p->root->dims);
  if (no_memory && !p->in.status) p->in.status = hone_oom(); /* that is why */
  hone_text_fail(&p->in, what);
}

static void out_of_memory(parser_t* p) {
  if (!p->in.status) p->in.status = hone_oom();
}

/* Any word, into a small buffer; "" with an error when there is none. */
static void read_word(parser_t* p, char* buffer, size_t size) {
  hone_text_skip_blanks(&p->in);
  size_t length = 0;
  while (hone_text_is_word(p->in.at[length])) length++;
  buffer[0] = 0;
  if (length == 0 || length >= size) {
    fail(p, "expected a word");
    return;
  }
  memcpy(buffer, p->in.at, length);
  buffer[length] = 0;
  p->in.at += length;
}

/* The character that a JSON escape after the backslash stands for; -1 when bad. */
static int read_escape(parser_t* p) {
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  const char* known = *p->in.at ? strchr(from, *p->in.at) : NULL;
  if (known) {
    p->in.at++;
    return (unsigned char)to[known - from];
  }
  if (*p->in.at != 'u') return -1;
  int value = 0;
  for (int i = 1; i <= 4; i++) {
    int digit = hone_text_hex_digit(p->in.at[i]);
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  p->in.at += 5;
  return value < 0x80 ? value : -1; /* printing escapes control characters only */
}

/* A string in quotes, in the arena; *out_size may be NULL. */
static const char* read_quoted(parser_t* p, size_t* out_size) {
  hone_text_expect(&p->in, '"');
  if (p->in.status) return "";
  size_t room = strcspn(p->in.at, "\n") + 1, length = 0;
  char* out = hone_arena_alloc(p->arena, room);
  if (!out) {
    out_of_memory(p);
    return "";
  }
  while (*p->in.at != '"') {
    int c = *p->in.at ? (unsigned char)*p->in.at++ : -1; /* the text's end is not passed */
    if (c == '\\') c = read_escape(p);
    if (c < 0 || length + 1 >= room) {
      fail(p, "a string does not end, or has a bad escape");
      return "";
    }
    out[length++] = (char)c;
  }
  p->in.at++;
  if (out_size) *out_size = length;
  return out;
}

/* x"00ff…": bytes, in the arena. */
static void* read_bytes(parser_t* p, size_t* out_size) {
  hone_text_skip_blanks(&p->in);
  *out_size = 0;
  if (strncmp(p->in.at, "x\"", 2) != 0) {
    fail(p, *p->in.at == '.' ? "contents were left out when this was written"
                             : "expected bytes, x\"...\"");
    return NULL;
  }
  p->in.at += 2;
  size_t length = strspn(p->in.at, "0123456789abcdefABCDEF");
  unsigned char* out = hone_arena_alloc(p->arena, length / 2);
  if (!out || length % 2 || p->in.at[length] != '"') {
    if (out)
      fail(p, "bytes do not end, or have an odd digit");
    else
      out_of_memory(p);
    return NULL;
  }
  for (size_t i = 0; i < length / 2; i++)
    out[i] = (unsigned char)(hone_text_hex_digit(p->in.at[2 * i]) * 16 +
                             hone_text_hex_digit(p->in.at[2 * i + 1]));
  p->in.at += length + 1;
  *out_size = length / 2;
  return out;
}

static void* list_add(parser_t* p, list_t* list) {
  if (list->count == list->room) {
    int room = list->room ? list->room * 2 : 8;
    char* items = hone_arena_array(p->arena, (size_t)room, list->size);
    if (!items || room > MAX_OPERANDS) {
      out_of_memory(p);
      return NULL;
    }
    if (list->count) memcpy(items, list->items, (size_t)list->count * list->size);
    list->items = items;
    list->room = room;
  }
  return list->items + (size_t)list->count++ * list->size;
}

/* ---- dimensions and types ---- */

static hone_dim_t read_dim(parser_t* p) {
  hone_text_skip_blanks(&p->in);
  hone_dim_t dim = hone_dim_parse(p->root->dims, &p->in.at);
  if (hone_dim_is_bad(dim)) fail(p, "expected a size");
  return dim;
}

/* "[a, b]" */
static const hone_dim_t* read_dims(parser_t* p, int* out_count) {
  list_t list = {.size = sizeof(hone_dim_t)};
  hone_text_expect(&p->in, '[');
  while (!p->in.status && !hone_text_peek(&p->in, ']')) {
    if (list.count) hone_text_expect(&p->in, ',');
    hone_dim_t dim = read_dim(p);
    hone_dim_t* to = list_add(p, &list);
    if (to) *to = dim;
  }
  hone_text_expect(&p->in, ']');
  *out_count = list.count;
  /* An empty list still is one. */
  return list.items ? (const hone_dim_t*)(const void*)list.items
                    : hone_arena_alloc(p->arena, sizeof(hone_dim_t));
}

static hone_type_t read_type(parser_t* p);

static hone_type_t read_container(parser_t* p, hone_type_kind_t kind) {
  hone_type_t type = hone_type_any();
  type.kind = kind;
  hone_text_expect(&p->in, '(');
  if (++p->depth > MAX_DEPTH) fail(p, "types nest too deep");
  hone_type_t element = p->in.status ? type : read_type(p);
  p->depth--;
  hone_text_expect(&p->in, ')');
  if (element.kind != HONE_TYPE_ANY) {
    type.element = hone_arena_memdup(p->arena, &element, sizeof element);
    if (!type.element) out_of_memory(p);
  }
  return type;
}

static hone_type_t read_type(parser_t* p) {
  if (hone_text_take_word(&p->in, "any")) return hone_type_any();
  if (hone_text_take_word(&p->in, "sequence")) return read_container(p, HONE_TYPE_SEQUENCE);
  if (hone_text_take_word(&p->in, "optional")) return read_container(p, HONE_TYPE_OPTIONAL);
  hone_type_t type = hone_type_any();
  type.kind = HONE_TYPE_MAP;
  if (hone_text_take_word(&p->in, "map")) return type;
  char word[32];
  read_word(p, word, sizeof word);
  type = hone_type_tensor(hone_dtype_parse(word), -1, NULL);
  if (type.dtype == HONE_UNKNOWN && strcmp(word, "unknown") != 0) fail(p, "unknown type");
  hone_text_skip_blanks(&p->in);
  if (strncmp(p->in.at, "[...]", 5) == 0) {
    p->in.at += 5;
    return type;
  }
  type.dims = read_dims(p, &type.rank);
  if (type.rank > HONE_MAX_RANK) fail(p, "more than 16 axes");
  return type;
}

/* ---- constants ---- */

static void read_number(parser_t* p, hone_dtype_t dtype, char* to) {
  char* end;
  hone_text_skip_blanks(&p->in);
  if (hone_dtype_is_float(dtype)) {
    hone_from_double(dtype, strtod(p->in.at, &end), false, to);
  } else {
    int64_t value = dtype == HONE_U64 ? (int64_t)strtoull(p->in.at, &end, 10)
                                      : (int64_t)strtoll(p->in.at, &end, 10);
    hone_store_i64(dtype, &value, 1, to);
  }
  if (end == p->in.at) fail(p, "expected a number");
  p->in.at = end;
}

static void read_elements(parser_t* p, hone_tensor_t* tensor) {
  hone_dtype_t dtype = hone_tensor_dtype(tensor);
  char* data = hone_tensor_data(tensor);
  hone_text_expect(&p->in, '{');
  for (int64_t i = 0; i < hone_tensor_count(tensor) && !p->in.status; i++) {
    if (i) hone_text_expect(&p->in, ',');
    if (dtype == HONE_STRING) {
      size_t size;
      const char* text = read_quoted(p, &size);
      hone_status_t status = hone_tensor_set_string(tensor, i, text, size);
      if (status && p->in.status)
        hone_status_free(status);
      else if (status)
        p->in.status = status;
    } else if (!p->in.status) {
      read_number(p, dtype, data + (size_t)i * hone_dtype_size(dtype));
    }
  }
  hone_text_expect(&p->in, '}');
}

static void read_raw(parser_t* p, hone_tensor_t* tensor) {
  size_t size;
  const void* bytes = read_bytes(p, &size);
  if (p->in.status) return;
  if (size != hone_tensor_bytes(tensor) || hone_tensor_dtype(tensor) == HONE_STRING)
    fail(p, "the bytes do not fit the type");
  else if (size)
    memcpy(hone_tensor_data(tensor), bytes, size);
}

/* The contents stand before the type, so they are read when that is known. */
static hone_tensor_t* read_constant(parser_t* p, const char* contents, const hone_type_t* type) {
  int64_t dims[HONE_MAX_RANK];
  if (!hone_type_is_static(type)) {
    fail(p, "a constant needs a tensor type with numbers for extents");
    return NULL;
  }
  for (int i = 0; i < type->rank; i++) dims[i] = type->dims[i].k;
  int64_t count;
  /* A listed element takes at least one byte of text, a raw one two. */
  if (!hone_dims_count(type->rank, dims, &count) || (uint64_t)count > strlen(contents)) {
    fail(p, "the type does not fit the contents");
    return NULL;
  }
  hone_tensor_t* tensor;
  p->in.status = hone_tensor_create(p->allocator, type->dtype, type->rank, dims, &tensor);
  if (p->in.status) return NULL;
  const char* behind = p->in.at;
  p->in.at = contents;
  if (hone_text_peek(&p->in, '{'))
    read_elements(p, tensor);
  else
    read_raw(p, tensor);
  if (!p->in.status) p->in.at = behind;
  if (p->in.status) {
    hone_tensor_release(tensor);
    return NULL;
  }
  if (hone_graph_keep_constant(p->root, tensor)) return tensor;
  out_of_memory(p);
  return NULL;
}

/* Moves over the contents of a constant. */
static void skip_contents(parser_t* p) {
  bool listed = hone_text_peek(&p->in, '{');
  for (bool quoted = false; *p->in.at && (quoted || *p->in.at != '\n'); p->in.at++) {
    if (*p->in.at == '\\' && quoted && p->in.at[1])
      p->in.at++;
    else if (*p->in.at == '"') {
      quoted = !quoted;
      if (!quoted && !listed) break;
    } else if (*p->in.at == '}' && !quoted && listed)
      break;
    else if (*p->in.at == ':' && !quoted)
      return;
  }
  if (*p->in.at && *p->in.at != '\n') p->in.at++;
}

/* ---- host nodes ---- */

static void destroy_model(void* model) { hone_model_destroy(model); }

static hone_model_t* load_host_model(parser_t* p) {
  size_t size;
  const void* bytes = read_bytes(p, &size);
  if (p->in.status) return NULL;
  hone_onnx_options_t options = {.copy = true, .no_check = true};
  hone_model_t* model;
  p->in.status = hone_onnx_load_memory(p->allocator, bytes, size, NULL, &options, &model);
  if (p->in.status) return NULL;
  p->in.status = hone_graph_on_destroy(p->root, destroy_model, model);
  if (p->in.status) {
    hone_model_destroy(model);
    return NULL;
  }
  if (model->graph && model->graph->n_nodes == 1) return model;
  fail(p, "a host node needs a model of one node");
  return NULL;
}

static void read_captures(parser_t* p, hone_host_t* host) {
  list_t list = {.size = sizeof(const char*)};
  if (!hone_text_take_word(&p->in, "captures")) fail(p, "expected captures=[...]");
  hone_text_expect(&p->in, '=');
  hone_text_expect(&p->in, '[');
  while (!p->in.status && !hone_text_peek(&p->in, ']')) {
    if (list.count) hone_text_expect(&p->in, ',');
    const char* name = read_quoted(p, NULL);
    const char** to = list_add(p, &list);
    if (to) *to = name;
  }
  hone_text_expect(&p->in, ']');
  host->n_captures = list.count;
  host->capture_names = (const char**)(void*)list.items;
}

/* op="domain::Name" opset=17 [deferred="why"] captures=[…] node=x"…" */
static void read_host(parser_t* p, hone_node_t* node) {
  hone_host_t* host = hone_arena_alloc(p->arena, sizeof *host);
  if (!host) {
    out_of_memory(p);
    return;
  }
  if (!hone_text_take_word(&p->in, "op") || !hone_text_take(&p->in, '=')) fail(p, "expected op=");
  read_quoted(p, NULL); /* for people; the node says it again */
  if (!hone_text_take_word(&p->in, "opset") || !hone_text_take(&p->in, '='))
    fail(p, "expected opset=");
  host->opset = hone_text_read_int(&p->in);
  host->deferred = hone_text_take_word(&p->in, "deferred");
  if (host->deferred) {
    hone_text_expect(&p->in, '=');
    host->reason = read_quoted(p, NULL);
  }
  read_captures(p, host);
  if (!hone_text_take_word(&p->in, "node") || !hone_text_take(&p->in, '='))
    fail(p, "expected node=");
  host->model = load_host_model(p);
  if (p->in.status) return;
  host->node = host->model->graph->nodes;
  host->opsets = host->model->opsets;
  host->n_opsets = host->model->n_opsets;
  host->op = hone_op_find(host->node->domain, host->node->op_type, host->opset, NULL);
  if (!host->op || (!host->deferred && !host->op->host)) fail(p, "unknown host operator");
  node->host = host;
}

/* ---- nodes ---- */

typedef struct result {
  const char* name;
  hone_bind_t* binds;
} result_t;

static const struct {
  const char* name;
  int64_t flag;
} flag_names[] = {
    {"saturate", HONE_FLAG_SATURATE},     {"round_up", HONE_FLAG_ROUND_UP},
    {"round_down", HONE_FLAG_ROUND_DOWN}, {"exclusive", HONE_FLAG_EXCLUSIVE},
    {"descending", HONE_FLAG_DESCENDING}, {"unseeded", HONE_FLAG_UNSEEDED},
    {"stays", HONE_FLAG_STAYS},           {"flushes", HONE_FLAG_FLUSHES},
    {"by_parts", HONE_FLAG_BY_PARTS},
};

static void expect_field(parser_t* p, const char* name) {
  if (!hone_text_take_word(&p->in, name)) fail(p, name);
  hone_text_expect(&p->in, '=');
}

static void read_axes(parser_t* p, hone_node_t* node) {
  list_t list = {.size = sizeof(int64_t)};
  hone_text_expect(&p->in, '[');
  while (!p->in.status && !hone_text_peek(&p->in, ']')) {
    if (list.count) hone_text_expect(&p->in, ',');
    int64_t axis = hone_text_read_int(&p->in);
    int64_t* to = list_add(p, &list);
    if (to) *to = axis;
  }
  hone_text_expect(&p->in, ']');
  node->n_axes = list.count;
  node->axes = list.items ? (const int64_t*)(const void*)list.items
                          : hone_arena_alloc(p->arena, sizeof(int64_t));
}

static void read_dims_field(parser_t* p, hone_node_t* node, const char* name,
                            const hone_dim_t** field, bool* first) {
  int count;
  expect_field(p, name);
  *field = read_dims(p, &count);
  if (!*first && count != node->n_dims) fail(p, "lists of different length");
  node->n_dims = count;
  *first = false;
}

static void read_all_dims(parser_t* p, int fields, hone_node_t* node) {
  bool first = true;
  if (fields & HONE_USES_SHAPE) read_dims_field(p, node, "shape", &node->shape, &first);
  if (fields & HONE_USES_LO) read_dims_field(p, node, "lo", &node->lo, &first);
  if (fields & HONE_USES_HI) read_dims_field(p, node, "hi", &node->hi, &first);
  if (fields & HONE_USES_STEP) read_dims_field(p, node, "step", &node->step, &first);
}

static void read_flags(parser_t* p, hone_node_t* node) {
  for (size_t i = 0; i < sizeof flag_names / sizeof *flag_names; i++)
    if (hone_text_take_word(&p->in, flag_names[i].name)) node->flags |= flag_names[i].flag;
}

static void read_dtype(parser_t* p, hone_node_t* node) {
  char word[32];
  expect_field(p, "dtype");
  read_word(p, word, sizeof word);
  node->dtype = hone_dtype_parse(word);
  if (node->dtype == HONE_UNKNOWN) fail(p, "unknown dtype");
}

static void read_combine(parser_t* p, hone_node_t* node) {
  char word[32];
  expect_field(p, "combine");
  read_word(p, word, sizeof word);
  node->combine = hone_combine_parse(word);
  if (node->combine == HONE_COMBINE_COUNT) fail(p, "unknown way to combine");
}

static void read_label(parser_t* p, hone_node_t* node) {
  char word[64];
  expect_field(p, "label");
  read_word(p, word, sizeof word);
  node->label = hone_arena_strdup(p->arena, word);
  if (!node->label) out_of_memory(p);
}

static void read_attributes(parser_t* p, hone_node_t* node) {
  int fields = hone_prim_info(node->prim)->fields;
  if (fields & HONE_USES_COMBINE) read_combine(p, node);
  if (fields & HONE_USES_DTYPE) read_dtype(p, node);
  if (fields & HONE_USES_AXES) {
    expect_field(p, "axes");
    read_axes(p, node);
  }
  if (fields & HONE_USES_BATCH) {
    expect_field(p, "batch");
    node->n_batch = hone_text_read_small(&p->in, HONE_MAX_RANK + 1);
  }
  if (fields & HONE_USES_CARRIED) {
    expect_field(p, "carried");
    node->n_carried = hone_text_read_small(&p->in, MAX_OPERANDS);
  }
  if (fields & HONE_USES_LABEL) read_label(p, node);
  if (fields & HONE_USES_SEED) {
    expect_field(p, "seed");
    node->seed = hone_text_read_int(&p->in);
  }
  read_all_dims(p, fields, node);
  if (fields & HONE_USES_FLAGS) read_flags(p, node);
  if (fields & HONE_USES_HOST) read_host(p, node);
}

/* "<0 dim 1, 3 element 0>" */
static hone_bind_t* read_binds(parser_t* p) {
  hone_bind_t *first = NULL, **last = &first;
  if (!hone_text_take(&p->in, '<')) return NULL;
  do {
    hone_bind_t* bind = hone_arena_alloc(p->arena, sizeof *bind);
    if (!bind) {
      out_of_memory(p);
      return NULL;
    }
    bind->symbol = hone_text_read_small(&p->in, hone_dims_symbol_count(p->root->dims));
    bind->is_dim = hone_text_take_word(&p->in, "dim");
    if (!bind->is_dim && !hone_text_take_word(&p->in, "element"))
      fail(p, "expected dim or element");
    bind->index = hone_text_read_small(&p->in, bind->is_dim ? HONE_MAX_RANK : INT32_MAX);
    *last = bind;
    last = &bind->next;
  } while (hone_text_take(&p->in, ','));
  hone_text_expect(&p->in, '>');
  return first;
}

static void read_results(parser_t* p, const hone_graph_t* graph, list_t* results) {
  while (hone_text_take(&p->in, '%')) {
    int64_t id = hone_text_read_int(&p->in);
    if (id != graph->n_values + results->count) fail(p, "values must be numbered in order");
    result_t* result = list_add(p, results);
    if (!result) return;
    *result = (result_t){0};
    if (hone_text_peek(&p->in, '"')) result->name = read_quoted(p, NULL);
    result->binds = read_binds(p);
  }
}

static void read_operands(parser_t* p, const hone_graph_t* graph, hone_node_t* node) {
  list_t list = {.size = sizeof(hone_value_t*)};
  while (!p->in.status && (hone_text_peek(&p->in, '%') || hone_text_peek(&p->in, '_'))) {
    hone_value_t* value = NULL;
    if (hone_text_take(&p->in, '%')) {
      int id = hone_text_read_small(&p->in, graph->n_values);
      value = p->in.status ? NULL : graph->values[id];
    } else {
      p->in.at++;
    }
    hone_value_t** to = list_add(p, &list);
    if (to) *to = value;
  }
  node->n_inputs = list.count;
  node->inputs = (hone_value_t**)(void*)list.items;
}

static void read_types(parser_t* p, int count, hone_type_t** out_types) {
  *out_types = hone_arena_array(p->arena, (size_t)count, sizeof **out_types);
  if (!*out_types) {
    out_of_memory(p);
    return;
  }
  hone_text_expect(&p->in, ':');
  for (int i = 0; i < count && !p->in.status; i++) {
    if (i) hone_text_expect(&p->in, ',');
    (*out_types)[i] = read_type(p);
  }
}

static void read_graph(parser_t* p, hone_graph_t* graph);

static void read_region(parser_t* p, hone_graph_t* graph, hone_graph_t** out_region) {
  if (!hone_text_take_word(&p->in, "region")) fail(p, "expected a region");
  const char* name = read_quoted(p, NULL);
  if (p->in.status) return;
  p->in.status = hone_graph_create_region(graph, name, out_region);
  if (++p->depth > MAX_DEPTH) fail(p, "regions nest too deep");
  if (!p->in.status) read_graph(p, *out_region);
  p->depth--;
}

static void attach_results(hone_node_t* node, const list_t* results) {
  const result_t* result = (const result_t*)(const void*)results->items;
  for (int i = 0; i < results->count; i++) {
    node->outputs[i]->name = result[i].name;
    node->outputs[i]->binds = result[i].binds;
  }
}

static void read_node(parser_t* p, hone_graph_t* graph) {
  list_t results = {.size = sizeof(result_t)};
  hone_node_t node = {0};
  hone_type_t* types = NULL;
  char word[32];
  read_results(p, graph, &results);
  hone_text_expect(&p->in, '=');
  read_word(p, word, sizeof word);
  node.prim = hone_prim_parse(word);
  if (!p->in.status && node.prim == HONE_PRIM_COUNT) fail(p, "unknown primitive");
  int n_outputs = p->in.status ? -1 : hone_prim_info(node.prim)->outputs;
  if (n_outputs >= 0 && results.count != n_outputs) fail(p, "a wrong number of results");
  if (p->in.status) return;
  node.n_outputs = results.count;
  read_operands(p, graph, &node);
  if (!p->in.status) read_attributes(p, &node);
  const char* contents = p->in.at;
  if (node.prim == HONE_PRIM_CONSTANT) skip_contents(p);
  read_types(p, results.count, &types);
  if (hone_text_take(&p->in, '@')) node.origin = read_quoted(p, NULL);
  if (node.prim == HONE_PRIM_CONSTANT && !p->in.status)
    node.constant = read_constant(p, contents, types);
  node.n_regions = hone_prim_info(node.prim)->regions;
  for (int i = 0; i < node.n_regions && !p->in.status; i++) read_region(p, graph, &node.regions[i]);
  if (p->in.status) return;
  hone_node_t* made = hone_graph_append(graph, &node, types);
  if (made)
    attach_results(made, &results);
  else
    out_of_memory(p);
}

static void read_return(parser_t* p, hone_graph_t* graph) {
  list_t values = {.size = sizeof(hone_value_t*)}, names = {.size = sizeof(const char*)};
  bool named = false;
  while (hone_text_take(&p->in, '%')) {
    int id = hone_text_read_small(&p->in, graph->n_values);
    hone_value_t** value = list_add(p, &values);
    const char** name = list_add(p, &names);
    if (!value || !name || p->in.status) return;
    *value = graph->values[id];
    *name = "";
    if (hone_text_peek(&p->in, '"')) {
      named = true;
      *name = read_quoted(p, NULL);
    }
  }
  if (p->in.status) return;
  p->in.status = hone_graph_set_outputs(graph, values.count, (hone_value_t**)(void*)values.items,
                                        named ? (const char**)(void*)names.items : NULL);
}

/* The body, after the graph's name. */
static void read_graph(parser_t* p, hone_graph_t* graph) {
  hone_text_expect(&p->in, '{');
  while (hone_text_peek(&p->in, '%') || hone_text_peek(&p->in, '=')) read_node(p, graph);
  if (!hone_text_take_word(&p->in, "return")) fail(p, "expected a node or return");
  read_return(p, graph);
  hone_text_expect(&p->in, '}');
}

static void read_symbols(parser_t* p) {
  static const char* const origins[] = {"input", "result", "element"};
  while (hone_text_take_word(&p->in, "symbol")) {
    const char* name = read_quoted(p, NULL);
    int origin = 0;
    while (origin < 3 && !hone_text_take_word(&p->in, origins[origin])) origin++;
    if (origin == 3) fail(p, "expected input, result or element");
    int64_t min = hone_text_read_int(&p->in), max = hone_text_read_int(&p->in);
    if (p->in.status) return;
    int before = hone_dims_symbol_count(p->root->dims);
    hone_dim_t made = hone_dim_symbol(p->root->dims, name, (hone_symbol_origin_t)origin, min, max);
    if (hone_dim_is_bad(made))
      out_of_memory(p);
    else if (hone_dims_symbol_count(p->root->dims) == before)
      fail(p, "a symbol is there twice");
    else if (min > max)
      fail(p, "the range of a symbol is empty");
  }
}

static void read_root(parser_t* p) {
  if (!hone_text_take_word(&p->in, "hone") || !hone_text_take(&p->in, '-') ||
      !hone_text_take_word(&p->in, "graph") || hone_text_read_int(&p->in) != 1)
    fail(p, "not a graph of hone: the text must start with 'hone-graph 1'");
  read_symbols(p);
  int symbols = hone_dims_symbol_count(p->root->dims);
  if (!hone_text_take_word(&p->in, "graph")) fail(p, "expected graph");
  const char* name = read_quoted(p, NULL);
  if (p->in.status) return;
  p->root->name = name;
  read_graph(p, p->root);
  if (!p->in.status && hone_dims_symbol_count(p->root->dims) != symbols)
    fail(p, "a symbol is used that no line declares");
  hone_text_expect_end(&p->in);
}

hone_status_t hone_graph_parse(const hone_allocator_t* allocator, const char* text, size_t size,
                               hone_graph_t** out_graph) {
  *out_graph = NULL;
  if (!allocator) allocator = hone_allocator_system();
  parser_t p = {.allocator = allocator,
                .in = {.subject = "graph text", .code = HONE_INVALID_MODEL}};
  HONE_TRY(hone_graph_create(allocator, "", &p.root));
  p.arena = p.root->arena;
  char* copy = hone_arena_strndup(p.arena, text, size);
  if (copy) {
    p.in.text = p.in.at = copy;
    read_root(&p);
    if (!p.in.status) p.in.status = hone_graph_verify(p.root);
  } else {
    out_of_memory(&p);
  }
  if (p.in.status)
    hone_graph_destroy(p.root);
  else
    *out_graph = p.root;
  return p.in.status;
}
