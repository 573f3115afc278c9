/* The outputs of `hone run`: where each goes is decided before the model runs. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "import/npy.h"
#include "run.h"

static hone_status_t no_such_output(const hone_run_t* run, const char* option, const char* text) {
  return hone_status_make(HONE_INVALID_ARGUMENT, "--%s '%s': the model has no such output; %s",
                          option, text, hone_run_list(run, true));
}

/* ---- files ---- */

static hone_status_t plan_file(hone_run_t* run, const char* text) {
  const char* path;
  int index = hone_run_match_name(run, true, text, '=', &path);
  if (index < 0 && hone_value_has_ending(text, ".npz") && !strchr(text, '=')) {
    for (int i = 0; i < run->n_outputs; i++) run->outputs[i].archive = text;
    return NULL;
  }
  if (index < 0 && run->n_outputs == 1 && !strchr(text, '=')) {
    index = 0;
    path = text;
  }
  if (index < 0) return no_such_output(run, "output", text);
  if (!hone_value_is_writable(path))
    return hone_status_make(HONE_INVALID_ARGUMENT,
                            "--output '%s': the file's name should end in .npy, .npz, .pb, .raw, "
                            ".txt, .png, .jpg, .ppm or .pgm",
                            text);
  if (run->outputs[index].path)
    return hone_status_make(HONE_INVALID_ARGUMENT, "--output '%s': the output has a file already",
                            text);
  run->outputs[index].path = path;
  return NULL;
}

char* hone_run_file_name(hone_arena_t* arena, const char* name) {
  char* safe = hone_arena_strdup(arena, name);
  for (char* at = safe; at && *at; at++)
    if (strchr("/\\:*?\"<>|", *at) || (unsigned char)*at < ' ' || (*at == '.' && at == safe))
      *at = '_';
  return safe;
}

static bool is_taken(const hone_run_t* run, int before, const char* path) {
  for (int i = 0; i < before; i++)
    if (run->outputs[i].path && strcmp(run->outputs[i].path, path) == 0) return true;
  return false;
}

static hone_status_t plan_folder(hone_run_t* run, const char* folder) {
  if (mkdir(folder, 0777) && errno != EEXIST) return hone_file_error(errno, folder, "make folder");
  for (int i = 0; i < run->n_outputs; i++) {
    hone_run_output_t* output = &run->outputs[i];
    if (output->path) continue;
    for (int numbered = 0; numbered < 2; numbered++) {
      char type[32];
      hone_session_output_type(run->session, i, type, sizeof type);
      bool container = strncmp(type, "sequence", 8) == 0 || strncmp(type, "map", 3) == 0 ||
                       strncmp(type, "optional", 8) == 0 || strncmp(type, "any", 3) == 0;
      char* name = hone_run_file_name(run->arena, output->name);
      if (name && numbered) name = hone_arena_format(run->arena, "%s_%d", name, i);
      output->path =
          name ? hone_arena_format(run->arena, "%s/%s%s", folder, name, container ? ".pb" : ".npy")
               : NULL;
      if (!output->path) return hone_oom();
      if (!is_taken(run, i, output->path)) break;
    }
  }
  return NULL;
}

/* ---- pictures and classes ---- */

static hone_status_t plan_steps(hone_run_t* run, const char* text) {
  const char* rest = text;
  int index = hone_run_match_name(run, true, text, ':', &rest);
  if (index < 0 && strchr(text, ':')) return no_such_output(run, "postprocess", text);
  hone_preprocess_t* steps = hone_arena_alloc(run->arena, sizeof *steps);
  if (!steps) return hone_oom();
  HONE_TRY(hone_status_annotate(hone_preprocess_parse(rest, steps), "--postprocess"));
  for (int i = 0; i < run->n_outputs; i++)
    if (i == index || (index < 0 && !run->outputs[i].steps)) run->outputs[i].steps = steps;
  return NULL;
}

static hone_status_t plan_top(hone_run_t* run, const char* text) {
  const char* rest = text;
  int index = hone_run_match_name(run, true, text, '=', &rest);
  if (index < 0 && strchr(text, '=')) return no_such_output(run, "top-k", text);
  char* end;
  long long count = strtoll(rest, &end, 10);
  if (end == rest || *end || count < 1)
    return hone_status_make(HONE_INVALID_ARGUMENT, "--top-k '%s': expected a count from 1 on",
                            text);
  if (run->n_outputs) run->outputs[index < 0 ? 0 : index].top_k = count;
  return NULL;
}

hone_status_t hone_run_plan_outputs(hone_run_t* run) {
  hone_cli_t* cli = run->cli;
  run->outputs = hone_arena_array(run->arena, (size_t)run->n_outputs, sizeof *run->outputs);
  if (!run->outputs) return hone_oom();
  for (int i = 0; i < run->n_outputs; i++)
    run->outputs[i].name = hone_session_output_name(run->session, i);
  for (int i = 0; i < hone_cli_count(cli, "output"); i++)
    HONE_TRY(plan_file(run, hone_cli_text_at(cli, "output", i)));
  for (int i = 0; i < hone_cli_count(cli, "postprocess"); i++)
    HONE_TRY(plan_steps(run, hone_cli_text_at(cli, "postprocess", i)));
  for (int i = 0; i < hone_cli_count(cli, "top-k"); i++)
    HONE_TRY(plan_top(run, hone_cli_text_at(cli, "top-k", i)));
  const char* labels = hone_cli_text(cli, "labels", NULL);
  if (labels) HONE_TRY(hone_labels_read(run->arena, labels, &run->labels));
  const char* folder = hone_cli_text(cli, "output-dir", NULL);
  return folder ? plan_folder(run, folder) : NULL;
}

/* ---- writing ---- */

/* The archive that all outputs go to, if there is one. */
static hone_status_t write_archive(hone_run_t* run) {
  const char* path = run->n_outputs ? run->outputs[0].archive : NULL;
  if (!path) return NULL;
  size_t count = (size_t)run->n_outputs;
  const char** names = hone_arena_array(run->arena, count, sizeof *names);
  hone_tensor_t** tensors = hone_arena_array(run->arena, count, sizeof(hone_tensor_t*));
  if (!names || !tensors) return hone_oom();
  for (size_t i = 0; i < count; i++) {
    names[i] = run->outputs[i].name;
    tensors[i] = run->outputs[i].tensor;
  }
  return hone_npz_save_file(run->allocator, run->n_outputs, names, tensors, path);
}

hone_status_t hone_run_write_outputs(hone_run_t* run) {
  for (int i = 0; i < run->n_outputs; i++) {
    hone_run_output_t* output = &run->outputs[i];
    hone_status_t status = NULL;
    if (output->path)
      status = hone_value_write(run->allocator, output->path, output->name, output->tensor,
                                output->steps);
    if (!status && output->top_k)
      status = hone_top_find(run->arena, output->tensor, output->top_k, &run->labels, &output->top);
    HONE_TRY(hone_status_annotate(status, "output '%s'", output->name));
  }
  return write_archive(run);
}
