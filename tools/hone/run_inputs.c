/* The inputs of `hone run`: files are matched with names, then read. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/float_convert.h"
#include "base/memory.h"
#include "base/random.h"
#include "import/npy.h"
#include "index_limit.h"
#include "run.h"

enum { TYPE_SIZE = 512 };

/* ---- names ---- */

static const char* name_at(const hone_run_t* run, bool outputs, int index) {
  return outputs ? hone_session_output_name(run->session, index)
                 : hone_session_input_name(run->session, index);
}

int hone_run_match_name(const hone_run_t* run, bool outputs, const char* text, char split,
                        const char** out_rest) {
  int count = outputs ? run->n_outputs : run->n_inputs;
  for (int i = 0; i < count; i++) {
    const char* name = name_at(run, outputs, i);
    size_t length = strlen(name);
    if (strncmp(text, name, length) != 0 || text[length] != split) continue;
    if (split == ':' && strchr(text + length + 1, ':')) continue;
    *out_rest = text + length + 1;
    return i;
  }
  return -1;
}

/* Of outputs the names alone: their extents can be long formulas. */
const char* hone_run_list(const hone_run_t* run, bool outputs) {
  enum { MOST = 20 };
  int count = outputs ? run->n_outputs : run->n_inputs;
  const char* list = outputs ? "it gives" : "it takes";
  for (int i = 0; i < count && i < MOST && list; i++) {
    char type[TYPE_SIZE] = "";
    if (!outputs) hone_session_input_type(run->session, i, type, sizeof type);
    list = hone_arena_format(run->arena, "%s%s %s%s%s", list, i ? "," : "",
                             name_at(run, outputs, i), outputs ? "" : ": ", type);
  }
  if (list && count > MOST)
    list = hone_arena_format(run->arena, "%s and %d more", list, count - MOST);
  return list ? list : "";
}

/* ---- what the model wants ---- */

static hone_onnx_type_kind_t kind_of(const char* type) {
  static const struct {
    const char* start;
    hone_onnx_type_kind_t kind;
  } rows[] = {{"sequence", HONE_ONNX_TYPE_SEQUENCE},
              {"map", HONE_ONNX_TYPE_MAP},
              {"optional", HONE_ONNX_TYPE_OPTIONAL}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (strncmp(type, rows[i].start, strlen(rows[i].start)) == 0) return rows[i].kind;
  return HONE_ONNX_TYPE_TENSOR;
}

static hone_status_t find_wants(hone_run_t* run) {
  run->wants = hone_arena_array(run->arena, (size_t)run->n_inputs, sizeof *run->wants);
  if (!run->wants) return hone_oom();
  for (int i = 0; i < run->n_inputs; i++) {
    char type[TYPE_SIZE];
    hone_value_want_t* want = &run->wants[i];
    hone_session_input_type(run->session, i, type, sizeof type);
    want->kind = kind_of(type);
    want->dtype = hone_session_input_dtype(run->session, i);
    want->rank = hone_session_input_shape(run->session, i, want->dims);
  }
  return NULL;
}

/* "1,3,224,224", or with x between. */
static bool parse_shape(const char* text, hone_value_want_t* want) {
  want->rank = 0;
  for (;; text++) {
    char* end;
    if (*text < '0' || *text > '9' || want->rank == HONE_MAX_RANK) return false;
    want->dims[want->rank++] = strtoll(text, &end, 10);
    text = end;
    if (!*text) return true;
    if (*text != ',' && *text != 'x') return false;
  }
}

static hone_status_t apply_shapes(hone_run_t* run) {
  for (int i = 0; i < hone_cli_count(run->cli, "shape"); i++) {
    const char *text = hone_cli_text_at(run->cli, "shape", i), *rest;
    int index = hone_run_match_name(run, false, text, '=', &rest);
    if (index < 0)
      return hone_status_make(HONE_INVALID_ARGUMENT,
                              "--shape '%s': the model has no such input; %s", text,
                              hone_run_list(run, false));
    if (!parse_shape(rest, &run->wants[index]))
      return hone_status_make(HONE_INVALID_ARGUMENT,
                              "--shape '%s': expected NAME=SIZE,SIZE… as in x=1,3,224,224", text);
  }
  return NULL;
}

/* The words that --preprocess says for an input; those without a name are for all. */
static hone_status_t find_steps(const hone_run_t* run, int input, hone_preprocess_t* out) {
  const char *found = NULL, *rest;
  for (int i = 0; i < hone_cli_count(run->cli, "preprocess"); i++) {
    const char* text = hone_cli_text_at(run->cli, "preprocess", i);
    int index = hone_run_match_name(run, false, text, ':', &rest);
    if (index < 0 && strchr(text, ':'))
      return hone_status_make(HONE_INVALID_ARGUMENT,
                              "--preprocess '%s': the model has no such input; %s", text,
                              hone_run_list(run, false));
    if (index == input || (index < 0 && !found)) found = index < 0 ? text : rest;
  }
  return hone_status_annotate(hone_preprocess_parse(found, out), "--preprocess");
}

/* Of every input, pictures or not, so that a wrong word always shows. */
static hone_status_t find_all_steps(hone_run_t* run) {
  run->steps = hone_arena_array(run->arena, (size_t)run->n_inputs, sizeof *run->steps);
  if (!run->steps) return hone_oom();
  for (int i = 0; i < run->n_inputs; i++) HONE_TRY(find_steps(run, i, &run->steps[i]));
  return NULL;
}

/* ---- files ---- */

static hone_status_t read_input(hone_run_t* run, int index, const char* path) {
  const char* name = name_at(run, false, index);
  if (run->inputs[index])
    return hone_status_make(HONE_INVALID_ARGUMENT, "input '%s' is given twice: %s and %s", name,
                            run->sources[index], path);
  hone_preprocess_t steps;
  HONE_TRY(find_steps(run, index, &steps));
  hone_status_t status =
      hone_value_read(run->allocator, path, name, &run->wants[index], &steps, &run->inputs[index]);
  run->sources[index] = path;
  return hone_status_annotate(status, "input '%s'", name);
}

/* Every array of the archive is the input of its name. */
static hone_status_t read_archive(hone_run_t* run, const char* path) {
  hone_npz_t* npz;
  hone_status_t status = NULL;
  HONE_TRY(hone_npz_open_file(NULL, path, &npz));
  for (int i = 0; i < hone_npz_count(npz) && !status; i++) {
    int index = 0;
    while (index < run->n_inputs && strcmp(name_at(run, false, index), hone_npz_name(npz, i)) != 0)
      index++;
    if (index < run->n_inputs)
      status = read_input(run, index, path);
    else
      status =
          hone_status_make(HONE_INVALID_ARGUMENT, "%s: array '%s' is no input of the model; %s",
                           path, hone_npz_name(npz, i), hone_run_list(run, false));
  }
  hone_npz_close(npz);
  return status;
}

static hone_status_t read_next(hone_run_t* run, const char* path) {
  int index = 0;
  while (index < run->n_inputs && run->inputs[index]) index++;
  if (index < run->n_inputs) return read_input(run, index, path);
  return hone_status_make(HONE_INVALID_ARGUMENT, "%s: every input of the model has a file; %s",
                          path, hone_run_list(run, false));
}

/* A file without a name before it: an archive, or the next input. */
static hone_status_t read_unnamed(hone_run_t* run, const char* text) {
  if (strchr(text, '=') && access(text, F_OK) != 0)
    return hone_status_make(HONE_INVALID_ARGUMENT, "'%s': the model has no such input; %s", text,
                            hone_run_list(run, false));
  return hone_value_has_ending(text, ".npz") ? read_archive(run, text) : read_next(run, text);
}

/* Argument `index` of the command line that may be an input, from --input, or --data where
 * that is its name, and from the arguments after the models. NULL at the end. */
static const char* given_at(const hone_run_t* run, int index) {
  static const char* const options[] = {"input", "data"};
  for (int i = 0; i < 2; i++) {
    int count = hone_cli_count(run->cli, options[i]);
    if (index < count) return hone_cli_text_at(run->cli, options[i], index);
    index -= count;
  }
  return hone_cli_argument(run->cli, index + run->n_models);
}

/* Named ones first: those without a name take the places left, in order. */
static hone_status_t read_files(hone_run_t* run) {
  const char *text, *path;
  for (int i = 0; (text = given_at(run, i)); i++) {
    int index = hone_run_match_name(run, false, text, '=', &path);
    if (index >= 0) HONE_TRY(read_input(run, index, path));
  }
  for (int i = 0; (text = given_at(run, i)); i++)
    if (hone_run_match_name(run, false, text, '=', &path) < 0) HONE_TRY(read_unnamed(run, text));
  return NULL;
}

/* ---- random ---- */

/* Element `index` of a stream: floats in low … 1, integers from 0 to below `limit`,
 * booleans. */
static void random_element(hone_dtype_t dtype, double low, uint32_t limit, uint64_t seed,
                           int64_t index, void* element) {
  uint32_t word = hone_random_u32(seed, (uint64_t)index);
  if (dtype == HONE_BOOL || (hone_dtype_is_int(dtype) && hone_dtype_bits(dtype) < 8))
    word &= 1;
  else if (hone_dtype_is_int(dtype))
    word %= limit;
  int64_t integer = word;
  if (dtype == HONE_BOOL || hone_dtype_is_int(dtype))
    hone_store_i64(dtype, &integer, 1, element);
  else
    hone_from_double(dtype, low + (1 - low) * (word >> 8) * 0x1p-24, true, element);
}

static hone_status_t random_string(hone_tensor_t* tensor, uint64_t seed, int64_t index) {
  char text[16];
  snprintf(text, sizeof text, "text%u", (unsigned)(hone_random_u32(seed, (uint64_t)index) % 10));
  return hone_tensor_set_string(tensor, index, text, strlen(text));
}

/* Integers are below 10, and rows that there are where they look up rows. */
static hone_status_t find_limit(hone_run_t* run, int index, uint32_t* out_limit) {
  enum { USUAL = 10 };
  const hone_model_t* model = run->model ? run->model : run->subject.model;
  *out_limit = USUAL;
  if (!model || !hone_dtype_is_int(run->wants[index].dtype)) return NULL;
  hone_map_t limits;
  HONE_TRY(hone_index_limits(run->arena, model, &limits));
  const int64_t* rows = hone_map_get(&limits, name_at(run, false, index));
  if (rows && *rows > 0 && *rows < USUAL) *out_limit = (uint32_t)*rows;
  return NULL;
}

static const char made_up[] = "random"; /* the source of an input without a file */

bool hone_run_made_up(const hone_run_t* run, int index) { return run->sources[index] == made_up; }

static hone_status_t random_input(hone_run_t* run, int index) {
  const hone_value_want_t* want = &run->wants[index];
  uint64_t seed = (uint64_t)hone_cli_int(run->cli, "seed", 0) + ((uint64_t)index << 32);
  if (want->kind != HONE_ONNX_TYPE_TENSOR || want->rank < 0)
    return hone_status_make(HONE_INVALID_ARGUMENT, "no random value of its type; give a file");
  uint32_t limit;
  HONE_TRY(find_limit(run, index, &limit));
  HONE_TRY(hone_value_create(run->allocator, want, -1, &run->inputs[index]));
  run->sources[index] = made_up;
  hone_tensor_t* tensor = run->inputs[index];
  char* element = hone_tensor_data(tensor);
  for (int64_t i = 0; i < hone_tensor_count(tensor); i++) {
    if (want->dtype == HONE_STRING)
      HONE_TRY(random_string(tensor, seed, i));
    else
      random_element(want->dtype, run->random_low, limit, seed, i, element);
    element += hone_dtype_size(want->dtype);
  }
  return NULL;
}

static hone_status_t fill_missing(hone_run_t* run) {
  for (int i = 0; i < run->n_inputs; i++) {
    if (run->inputs[i]) continue;
    if (!run->make_up)
      return hone_status_make(HONE_INVALID_ARGUMENT,
                              "the model's input '%s' is not given; %s; give a file for it, or "
                              "--random",
                              name_at(run, false, i), hone_run_list(run, false));
    HONE_TRY(hone_status_annotate(random_input(run, i), "input '%s'", name_at(run, false, i)));
  }
  return NULL;
}

hone_status_t hone_run_plan_inputs(hone_run_t* run) {
  size_t count = (size_t)run->n_inputs;
  run->sources = hone_arena_array(run->arena, count, sizeof *run->sources);
  run->inputs = hone_arena_array(run->arena, count, sizeof *run->inputs);
  if (!run->sources || !run->inputs) return hone_oom();
  HONE_TRY(find_wants(run));
  HONE_TRY(apply_shapes(run));
  return find_all_steps(run);
}

hone_status_t hone_run_read_inputs(hone_run_t* run) {
  HONE_TRY(read_files(run));
  return fill_missing(run);
}
