/* Reading what was written, and reading what is damaged. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/testing/fault.h"
#include "base/testing/folder.h"
#include "import/onnx.h"
#include "import/testing/sample.h"

/* Bytes of a saved model; free_saved frees. */
typedef struct saved {
  uint8_t* data;
  size_t size;
} saved_t;

static saved_t save(const hone_model_t* model) {
  void* data;
  saved_t saved;
  assert_ok(hone_onnx_save_memory(model, &data, &saved.size));
  saved.data = data;
  return saved;
}

static saved_t save_rich(void) {
  hone_model_t* model;
  assert_ok(hone_sample_rich_model(NULL, &model));
  saved_t saved = save(model);
  hone_model_destroy(model);
  return saved;
}

static void free_saved(saved_t saved) { hone_free(NULL, saved.data, saved.size); }

static hone_status_t load(const void* data, size_t size, hone_model_t** out_model) {
  return hone_onnx_load_memory(NULL, data, size, NULL, NULL, out_model);
}

/* Demands a failure whose message says each of the words (up to a NULL). */
static void assert_says(hone_status_t status, hone_code_t code, const char* const* words) {
  assert_int_equal(hone_status_code(status), code);
  for (; *words; words++) {
    if (!strstr(hone_status_message(status), *words)) {
      print_error("'%s' is not in: %s\n", *words, hone_status_message(status));
    }
    assert_non_null(strstr(hone_status_message(status), *words));
  }
  hone_status_free(status);
}

#define WORDS(...) ((const char* const[]){__VA_ARGS__, NULL})

static void what_was_written_is_read(void** state) {
  saved_t first = save_rich();
  hone_model_t* model;
  assert_ok(load(first.data, first.size, &model));
  assert_int_equal(model->graph->n_nodes, 2);
  assert_int_equal(model->graph->nodes[1].n_attrs, 14);
  assert_string_equal(model->graph->nodes[1].inputs[1], "");
  const hone_onnx_attr_t* strings = hone_onnx_node_attr(&model->graph->nodes[1], "a8");
  assert_int_equal(strings->count, 3);
  assert_int_equal(strings->strings[2].size, 3);
  assert_int_equal(model->graph->initializers[1].dtype, HONE_I4);
  assert_memory_equal(model->graph->initializers[1].data, ((int8_t[]){-8, 7, 3}), 3);
  assert_string_equal(model->graph->inputs[0].type.dims[0].symbol, "batch");
  assert_int_equal(model->graph->inputs[0].type.dims[1].value, 0);
  assert_int_equal(model->graph->inputs[0].type.dims[2].value, -1);
  assert_string_equal(model->functions[0].nodes[0].attrs[0].ref, "alpha");
  saved_t second = save(model);
  assert_int_equal(first.size, second.size);
  assert_memory_equal(first.data, second.data, first.size);
  hone_model_destroy(model);
  free_saved(first);
  free_saved(second);
}

static void weights_are_not_copied(void** state) {
  saved_t saved = save_rich();
  hone_model_t* model;
  assert_ok(load(saved.data, saved.size, &model));
  const hone_onnx_tensor_t* weight = &model->graph->initializers[0];
  assert_true(weight->mapped);
  assert_in_range((uintptr_t)weight->data, (uintptr_t)saved.data,
                  (uintptr_t)saved.data + saved.size);
  hone_model_destroy(model);
  hone_onnx_options_t options = {.copy = true};
  assert_ok(hone_onnx_load_memory(NULL, saved.data, saved.size, NULL, &options, &model));
  free_saved(saved);
  assert_memory_equal(model->graph->initializers[0].data, ((float[]){1.5f, -2.0f, 0.0f, 4.25f}),
                      16);
  hone_model_destroy(model);
}

/* A prefix may be a model of its own, between two fields; but no prefix may
 * crash, and one that ends inside a field fails. */
static void truncation_at_every_byte(void** state) {
  saved_t saved = save_rich();
  int failures = 0;
  for (size_t size = 0; size < saved.size; size++) {
    uint8_t* prefix = malloc(size + 1); /* exactly as long, for the sanitizer */
    assert_non_null(prefix);
    memcpy(prefix, saved.data, size);
    hone_model_t* model;
    hone_status_t status = load(prefix, size, &model);
    failures += status != NULL;
    hone_status_free(status);
    hone_model_destroy(model);
    free(prefix);
  }
  assert_true(failures > (int)saved.size - 20);
  free_saved(saved);
}

static void random_damage(void** state) {
  saved_t saved = save_rich();
  uint64_t random = 7;
  uint8_t* damaged = malloc(saved.size);
  assert_non_null(damaged);
  for (int i = 0; i < 5000; i++) {
    memcpy(damaged, saved.data, saved.size);
    for (int j = 0; j <= i % 5; j++) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      damaged[(random >> 33) % saved.size] = (uint8_t)(random >> 25);
    }
    hone_model_t* model;
    hone_status_t status = load(damaged, saved.size, &model);
    if (!status) free_saved(save(model)); /* what was read can be written */
    hone_status_free(status);
    hone_model_destroy(model);
  }
  free(damaged);
  free_saved(saved);
}

static hone_status_t load_and_save(const hone_allocator_t* allocator, void* context) {
  const saved_t* saved = context;
  hone_model_t* model;
  void* data;
  size_t size;
  hone_onnx_options_t options = {.copy = true};
  HONE_TRY(hone_onnx_load_memory(allocator, saved->data, saved->size, "/tmp", &options, &model));
  hone_status_t status = hone_onnx_save_memory(model, &data, &size);
  if (!status) hone_free(allocator, data, size);
  hone_model_destroy(model);
  return status;
}

static void survives_faults(void** state) {
  saved_t saved = save_rich();
  assert_survives_faults(load_and_save, &saved);
  free_saved(saved);
}

static void memory_is_limited(void** state) {
  saved_t saved = save_rich();
  hone_limit_allocator_t* limit;
  hone_model_t* model;
  assert_ok(hone_limit_allocator_create(NULL, 2000, &limit));
  assert_code(hone_onnx_load_memory(hone_limit_allocator_get(limit), saved.data, saved.size, NULL,
                                    NULL, &model),
              HONE_OUT_OF_MEMORY);
  assert_int_equal(hone_limit_allocator_in_use(limit), 0);
  hone_limit_allocator_destroy(limit);
  free_saved(saved);
}

static void other_formats_are_recognised(void** state) {
  static const struct {
    const char* bytes;
    const char* word;
  } files[] = {
      {"\x89HONE\r\n\x1a and more", "give the model that it was compiled from"},
      {"version https://git-lfs.github.com/spec/v1\noid", "git lfs pull"},
      {"<!DOCTYPE html><html>", "web page"},
      {"<HTML><head>", "web page"},
      {"PK\003\004....", "zip"},
      {"....ORTM....", "ORT format"},
      {"....TFL3....", "TensorFlow Lite"},
      {"\x80\002}q", "pickle"},
      {"{\"nodes\": []}", "JSON"},
      {"", "empty"},
  };
  for (size_t i = 0; i < TEST_COUNT(files); i++) {
    hone_model_t* model;
    assert_says(load(files[i].bytes, strlen(files[i].bytes), &model), HONE_INVALID_MODEL,
                WORDS(files[i].word));
    assert_null(model);
  }
}

/* Writes a model whose one initializer is `tensor`, and demands that reading
 * it fails with these words. */
static void assert_tensor_fails(hone_onnx_tensor_t tensor, hone_code_t code,
                                const char* const* words) {
  static const char* const nodes[] = {"n Relu x > y", NULL};
  hone_model_t *model, *again;
  assert_ok(hone_sample_model(NULL, "x", "y", nodes, &model));
  model->graph->initializers = &tensor;
  model->graph->n_initializers = 1;
  saved_t saved = save(model);
  assert_says(load(saved.data, saved.size, &again), code, words);
  free_saved(saved);
  hone_model_destroy(model);
}

static void bad_tensors_are_named(void** state) {
  static const float data[4];
  int64_t dims[17] = {2, 2};
  hone_onnx_tensor_t good = {.name = "w",
                             .dtype = HONE_F32,
                             .rank = 2,
                             .dims = dims,
                             .count = 4,
                             .data = data,
                             .bytes = 16};
  hone_onnx_tensor_t bad = good;
  bad.bytes = 15;
  assert_tensor_fails(bad, HONE_INVALID_MODEL, WORDS("tensor 'w'", "15", "16", "f32"));
  bad = good;
  bad.bytes = 0;
  assert_tensor_fails(bad, HONE_INVALID_MODEL, WORDS("tensor 'w'", "no data"));
  bad = good;
  bad.rank = 17;
  assert_tensor_fails(bad, HONE_UNSUPPORTED, WORDS("tensor 'w'", "17 dimensions"));
  bad = good;
  bad.dtype = HONE_UNKNOWN;
  assert_tensor_fails(bad, HONE_INVALID_MODEL, WORDS("tensor 'w'", "element type"));
  bad.dtype = (hone_dtype_t)99;
  assert_tensor_fails(bad, HONE_INVALID_MODEL, WORDS("tensor 'w'", "99"));
  dims[1] = -2;
  assert_tensor_fails(good, HONE_INVALID_MODEL, WORDS("tensor 'w'", "negative (-2)"));
  dims[0] = dims[1] = INT64_C(1) << 32;
  assert_tensor_fails(good, HONE_INVALID_MODEL, WORDS("tensor 'w'", "address"));
  dims[0] = 2;
  assert_tensor_fails(good, HONE_INVALID_MODEL, WORDS("tensor 'w'", "16"));
}

static void zero_bytes_in_names_are_refused(void** state) {
  saved_t saved = save_rich();
  uint8_t* name = memmem(saved.data, saved.size, "first", 5);
  assert_non_null(name);
  name[2] = 0;
  hone_model_t* model;
  assert_says(load(saved.data, saved.size, &model), HONE_INVALID_MODEL,
              WORDS("graph 'main'", "node 'fi?st' (Relu)", "zero byte"));
  name[2] = 0xff; /* no UTF-8 */
  assert_ok(load(saved.data, saved.size, &model));
  assert_string_equal(model->graph->nodes[0].name, "fi?st");
  hone_model_destroy(model);
  free_saved(saved);
}

/* A sequence of sequences of … */
static void depth_is_limited(void** state) {
  static const char* const nodes[] = {"n Relu x > y", NULL};
  enum { DEEP = 60 };
  hone_model_t *model, *again;
  assert_ok(hone_sample_model(NULL, "x", "y", nodes, &model));
  static hone_onnx_type_t types[DEEP];
  for (int i = 0; i < DEEP; i++) {
    types[i] = (hone_onnx_type_t){.kind = HONE_ONNX_TYPE_SEQUENCE,
                                  .rank = -1,
                                  .element = i + 1 < DEEP ? &types[i + 1] : NULL};
  }
  model->graph->inputs[0].type = types[0];
  saved_t saved = save(model);
  assert_says(load(saved.data, saved.size, &again), HONE_INVALID_MODEL,
              WORDS("value 'x'", "deeper than 100"));
  hone_onnx_options_t options = {.max_depth = 200};
  assert_ok(hone_onnx_load_memory(NULL, saved.data, saved.size, NULL, &options, &again));
  hone_model_destroy(again);
  free_saved(saved);
  hone_model_destroy(model);
}

static void declared_types_are_checked(void** state) {
  static const char* const nodes[] = {"- Relu x > y", NULL};
  static hone_onnx_dim_t dims[HONE_MAX_RANK + 1];
  hone_model_t *model, *again;
  assert_ok(hone_sample_model(NULL, "x", "y", nodes, &model));
  hone_onnx_type_t* type = &model->graph->inputs[0].type;
  *type = (hone_onnx_type_t){
      .kind = HONE_ONNX_TYPE_TENSOR, .dtype = HONE_F32, .rank = HONE_MAX_RANK + 1, .dims = dims};
  saved_t saved = save(model);
  assert_says(load(saved.data, saved.size, &again), HONE_UNSUPPORTED,
              WORDS("graph 'main'", "value 'x'", "17 dimensions"));
  free_saved(saved);
  type->rank = HONE_MAX_RANK;
  saved = save(model);
  assert_ok(load(saved.data, saved.size, &again));
  hone_model_destroy(again);
  free_saved(saved);
  type->dtype = (hone_dtype_t)99;
  saved = save(model);
  assert_says(load(saved.data, saved.size, &again), HONE_INVALID_MODEL, WORDS("'x'", "99"));
  free_saved(saved);
  hone_model_destroy(model);
}

/* Without a name, a node is known by what it makes. */
static void nameless_nodes_are_found(void** state) {
  static const char* const nodes[] = {"- Relu x > there", NULL};
  hone_model_t *model, *again;
  hone_onnx_tensor_t tensor = {.name = "t", .dtype = HONE_F32, .bytes = 3, .data = "abc"};
  hone_onnx_attr_t attr = {.name = "value", .kind = HONE_ATTR_TENSOR, .count = 1};
  assert_ok(hone_sample_model(NULL, "x", "there", nodes, &model));
  attr.tensors = &tensor;
  model->graph->nodes[0].attrs = &attr;
  model->graph->nodes[0].n_attrs = 1;
  saved_t saved = save(model);
  assert_says(
      load(saved.data, saved.size, &again), HONE_INVALID_MODEL,
      WORDS("node that makes 'there' (Relu): attribute 'value': tensor 't': raw_data has 3"));
  free_saved(saved);
  hone_model_destroy(model);
}

static void files_are_named(void** state) {
  test_folder_t folder;
  test_folder_make(&folder);
  const char* path = test_folder_file(&folder, "model.onnx");
  hone_model_t *model, *again;
  assert_says(hone_onnx_load_file(NULL, path, NULL, &again), HONE_NOT_FOUND, WORDS(path));
  assert_ok(hone_sample_rich_model(NULL, &model));
  assert_ok(hone_onnx_save_file(model, path));
  assert_ok(hone_onnx_load_file(NULL, path, NULL, &again));
  assert_string_equal(again->path, path);
  hone_model_destroy(again);
  model->graph->n_nodes = 1;
  assert_ok(hone_onnx_save_file(model, path));
  assert_says(hone_onnx_load_file(NULL, path, NULL, &again), HONE_INVALID_MODEL,
              WORDS(path, "graph 'main'", "1 more"));
  model->graph->nodes[0].n_attrs = 1;
  model->graph->nodes[0].attrs = &(hone_onnx_attr_t){.name = "none", .doc = ""};
  hone_status_free(hone_onnx_save_file(model, path)); /* fails, and leaves the file */
  assert_says(hone_onnx_load_file(NULL, path, NULL, &again), HONE_INVALID_MODEL, WORDS("1 more"));
  assert_int_equal(test_folder_entries(&folder), 1);
  hone_model_destroy(model);
  test_folder_remove(&folder);
}

/* One Relu of initializer 'w', f32[2], which lies in w.bin from byte 4. */
static const char with_external[] =
    "\x08\x0a:N\x0a\x0c\x0a\x01w\x12\x01y\x22\x04Relu\x12\x01g*6\x08\x02\x10\x01"
    "B\x01wj\x11\x0a\x08location\x12\x05w.binj\x0b\x0a\x06offset\x12\x01"
    "4j\x0b\x0a\x06length\x12\x01"
    "8p\x01"
    "b\x03\x0a\x01yB\x04\x0a\x00\x10\x14";

static hone_status_t load_file(const hone_allocator_t* allocator, void* context) {
  hone_model_t* model;
  HONE_TRY(hone_onnx_load_file(allocator, context, NULL, &model));
  const hone_onnx_tensor_t* weight = &model->graph->initializers[0];
  assert_memory_equal(weight->data, "abcdefgh", 8);
  assert_string_equal(weight->external_file, "w.bin");
  assert_int_equal(weight->external_offset, 4);
  hone_model_destroy(model);
  return NULL;
}

static void external_data_survives_faults(void** state) {
  test_folder_t folder;
  hone_model_t* model;
  size_t size = sizeof with_external - 1;
  test_folder_make(&folder);
  test_folder_write(&folder, "w.bin", "0123abcdefgh");
  const char* path = test_folder_file(&folder, "model.onnx");
  assert_ok(hone_file_write(path, with_external, size));
  assert_survives_faults(load_file, (void*)path);
  assert_says(load(with_external, size, &model), HONE_INVALID_ARGUMENT,
              WORDS("tensor 'w'", "folder"));
  assert_ok(hone_onnx_load_memory(NULL, with_external, size, folder.path, NULL, &model));
  hone_model_destroy(model);
  test_folder_write(&folder, "w.bin", "0123abcdefg");
  assert_says(hone_onnx_load_file(NULL, path, NULL, &model), HONE_INVALID_MODEL,
              WORDS(path, "tensor 'w'", "w.bin", "shorter", "8 bytes from byte 4", "11"));
  test_folder_remove(&folder);
}

static void old_models_have_opset_1(void** state) {
  static const char* const nodes[] = {"n Relu x > y", NULL};
  hone_model_t *model, *again;
  assert_ok(hone_sample_model(NULL, "x", "y", nodes, &model));
  model->ir_version = 2;
  model->n_opsets = 0;
  saved_t saved = save(model);
  assert_ok(load(saved.data, saved.size, &again));
  assert_int_equal(hone_model_opset(again, ""), 1);
  hone_model_destroy(again);
  hone_model_destroy(model);
  free_saved(saved);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_was_written_is_read),
      cmocka_unit_test(weights_are_not_copied),
      cmocka_unit_test(truncation_at_every_byte),
      cmocka_unit_test(random_damage),
      cmocka_unit_test(survives_faults),
      cmocka_unit_test(memory_is_limited),
      cmocka_unit_test(other_formats_are_recognised),
      cmocka_unit_test(bad_tensors_are_named),
      cmocka_unit_test(zero_bytes_in_names_are_refused),
      cmocka_unit_test(depth_is_limited),
      cmocka_unit_test(declared_types_are_checked),
      cmocka_unit_test(nameless_nodes_are_found),
      cmocka_unit_test(files_are_named),
      cmocka_unit_test(external_data_survives_faults),
      cmocka_unit_test(old_models_have_opset_1),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
