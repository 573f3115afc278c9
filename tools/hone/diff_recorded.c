/* Recorded values: from archives, and from folders as ONNX's test cases have them. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"
#include "diff.h"
#include "import/npy.h"

typedef struct reader {
  hone_diff_t* diff;
  hone_map_t values; /* every value of the main graph, to its declaration */
  hone_map_t files;  /* the name of the file that a value would have, to its name */
} reader_t;

/* ---- names ---- */

static hone_status_t add_value(reader_t* reader, const char* name,
                               const hone_onnx_value_info_t* info) {
  static const hone_onnx_value_info_t undeclared = {
      .type = {.kind = HONE_ONNX_TYPE_TENSOR, .rank = -1}};
  if (!*name || hone_map_find(&reader->values, name)) return NULL;
  const char* file = hone_run_file_name(reader->diff->run.arena, name);
  if (!file) return hone_oom();
  HONE_TRY(hone_map_put(&reader->values, name, (void*)(uintptr_t)(info ? info : &undeclared)));
  if (hone_map_find(&reader->files, file)) return NULL;
  return hone_map_put(&reader->files, file, (void*)(uintptr_t)name);
}

static hone_status_t add_infos(reader_t* reader, const hone_onnx_value_info_t* infos,
                               int64_t count) {
  for (int64_t i = 0; i < count; i++) HONE_TRY(add_value(reader, infos[i].name, &infos[i]));
  return NULL;
}

static hone_status_t index_model(reader_t* reader) {
  const hone_onnx_graph_t* graph = reader->diff->subject->graph;
  hone_map_init_arena(&reader->values, reader->diff->run.arena);
  hone_map_init_arena(&reader->files, reader->diff->run.arena);
  HONE_TRY(add_infos(reader, graph->inputs, graph->n_inputs));
  HONE_TRY(add_infos(reader, graph->outputs, graph->n_outputs));
  HONE_TRY(add_infos(reader, graph->value_infos, graph->n_value_infos));
  for (int64_t n = 0; n < graph->n_nodes; n++)
    for (int i = 0; i < graph->nodes[n].n_outputs; i++)
      HONE_TRY(add_value(reader, graph->nodes[n].outputs[i], NULL));
  return NULL;
}

/* "input_3" is the fourth input. NULL: the name is not of this form. */
static const char* numbered_value(const reader_t* reader, const char* stem) {
  hone_session_t* session = reader->diff->run.session;
  static const char* const starts[] = {"input_", "output_"};
  for (int i = 0; i < 2; i++) {
    size_t length = strlen(starts[i]);
    if (strncmp(stem, starts[i], length) != 0) continue;
    char* end;
    long number = strtol(stem + length, &end, 10);
    if (end == stem + length || *end || number < 0 || number > 100000) continue;
    return i ? hone_session_output_name(session, (int)number)
             : hone_session_input_name(session, (int)number);
  }
  return NULL;
}

/* ---- reading ---- */

static int input_index(const hone_run_t* run, const char* name) {
  for (int i = 0; i < run->n_inputs; i++)
    if (strcmp(hone_session_input_name(run->session, i), name) == 0) return i;
  return -1;
}

static hone_status_t read_value(reader_t* reader, const char* path, const char* name) {
  hone_run_t* run = &reader->diff->run;
  const hone_onnx_value_info_t* info = hone_map_get(&reader->values, name);
  hone_value_want_t want = {.kind = info->type.kind, .dtype = info->type.dtype, .rank = -1};
  int input = input_index(run, name);
  hone_tensor_t* tensor;
  HONE_TRY(
      hone_status_annotate(hone_value_read(run->allocator, path, name,
                                           input < 0 ? &want : &run->wants[input], NULL, &tensor),
                           "recorded value '%s'", name));
  if (input < 0) return hone_diff_put(&reader->diff->expected, name, tensor);
  hone_tensor_release(run->inputs[input]);
  run->inputs[input] = tensor;
  run->sources[input] = path;
  return NULL;
}

static hone_status_t read_archive(reader_t* reader, const char* path) {
  hone_npz_t* npz;
  hone_status_t status = NULL;
  HONE_TRY(hone_npz_open_file(NULL, path, &npz));
  for (int i = 0; i < hone_npz_count(npz) && !status; i++) {
    const hone_map_entry_t* value = hone_map_find(&reader->values, hone_npz_name(npz, i));
    if (value)
      status = read_value(reader, path, value->text);
    else
      reader->diff->n_unknown++;
  }
  hone_npz_close(npz);
  return status;
}

/* The value that a file holds, by its name; NULL when it is none of the model. */
static const char* value_of_file(const reader_t* reader, const char* path) {
  char stem[512];
  const char* base = hone_path_basename(path);
  const char* dot = strrchr(base, '.');
  size_t length = dot ? (size_t)(dot - base) : strlen(base);
  if (length >= sizeof stem) return NULL;
  memcpy(stem, base, length);
  stem[length] = 0;
  const hone_map_entry_t* value = hone_map_find(&reader->values, stem);
  if (value) return value->text;
  const char* name = hone_map_get(&reader->files, stem);
  return name ? name : numbered_value(reader, stem);
}

static int has_value(const struct dirent* entry) {
  return hone_value_is_writable(entry->d_name) && !hone_value_has_ending(entry->d_name, ".npz");
}

static hone_status_t read_entry(reader_t* reader, const char* folder, const char* file) {
  char* path = hone_path_join(reader->diff->run.arena, folder, file);
  if (!path) return hone_oom();
  const char* name = value_of_file(reader, path);
  if (name) return read_value(reader, path, name);
  reader->diff->n_unknown++;
  return NULL;
}

static hone_status_t read_folder(reader_t* reader, const char* folder) {
  struct dirent** entries;
  int count = scandir(folder, &entries, has_value, alphasort);
  if (count < 0) return hone_file_error(errno, folder, "list folder");
  hone_status_t status = NULL;
  for (int i = 0; i < count; i++) {
    if (!status) status = read_entry(reader, folder, entries[i]->d_name);
    free(entries[i]);
  }
  free(entries);
  return status;
}

/* A file alone: what its name says, or the model's only output. */
static hone_status_t read_alone(reader_t* reader, const char* path) {
  const hone_onnx_graph_t* graph = reader->diff->subject->graph;
  const char* name = value_of_file(reader, path);
  if (!name && graph->n_outputs == 1) name = graph->outputs[0].name;
  if (name) return read_value(reader, path, name);
  return hone_status_make(HONE_INVALID_ARGUMENT,
                          "--against '%s': which value of the model is it? Give NAME=FILE", path);
}

/* "NAME=FILE" with a value of the model before the '='. */
static const char* split_name(const reader_t* reader, const char* text, const char** out_path) {
  for (const char* at = strchr(text, '='); at; at = strchr(at + 1, '=')) {
    const hone_map_entry_t* value = hone_map_find_n(&reader->values, text, (size_t)(at - text));
    *out_path = at + 1;
    if (value) return value->text;
  }
  return NULL;
}

static hone_status_t read_recorded(reader_t* reader, const char* text) {
  const char* path;
  struct stat info;
  const char* name = split_name(reader, text, &path);
  if (name) return read_value(reader, path, name);
  if (stat(text, &info)) return hone_file_error(errno, text, "open");
  if (S_ISDIR(info.st_mode)) return read_folder(reader, text);
  if (hone_value_has_ending(text, ".npz")) return read_archive(reader, text);
  return read_alone(reader, text);
}

hone_status_t hone_diff_read_recorded(hone_diff_t* diff) {
  reader_t reader = {.diff = diff};
  hone_cli_t* cli = diff->run.cli;
  HONE_TRY(index_model(&reader));
  for (int i = 0; i < hone_cli_count(cli, "against"); i++)
    HONE_TRY(read_recorded(&reader, hone_cli_text_at(cli, "against", i)));
  return NULL;
}
