#include "subject.h"

#include <stdio.h>
#include <string.h>

#include "base/trace.h"

bool hone_subject_is_engine(const char* path) {
  static const char magic[] = {'\x89', 'H', 'O', 'N', 'E'};
  char start[sizeof magic];
  FILE* file = fopen(path, "rbe");
  if (!file) return false;
  bool same = fread(start, 1, sizeof start, file) == sizeof start &&
              memcmp(start, magic, sizeof magic) == 0;
  fclose(file);
  return same;
}

static double ms_since(int64_t start) { return (double)(hone_clock_ns() - start) / 1e6; }

/* ---- engines ---- */

static hone_status_t refuse_compiling(const hone_cli_t* cli, const char* path) {
  static const char* const names[] = {"dim", "precision"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (hone_cli_has(cli, names[i]))
      return hone_status_make(HONE_INVALID_ARGUMENT,
                              "--%s: %s is an engine, for which that was settled when it was "
                              "compiled; give it to `hone compile`",
                              names[i], path);
  return NULL;
}

static hone_status_t open_engine(hone_cli_t* cli, const char* device, hone_subject_t* out) {
  HONE_TRY(refuse_compiling(cli, out->path));
  hone_engine_options_t options = {.struct_size = sizeof options,
                                   .device = device,
                                   .threads = hone_cli_threads(cli),
                                   .deterministic = hone_cli_has(cli, "deterministic")};
  HONE_TRY(hone_cli_allocator(cli, &options.allocator));
  int64_t start = hone_clock_ns();
  HONE_TRY(hone_engine_load(out->path, &options, &out->engine));
  HONE_TRY(hone_session_create_from_engine(out->engine, &out->session));
  out->load_ms = ms_since(start);
  hone_engine_info_t info;
  hone_engine_describe(out->engine, &info);
  out->device = device ? device : info.device;
  return NULL;
}

/* ---- models ---- */

static hone_status_t open_model(hone_cli_t* cli, int index, const char* device,
                                hone_subject_t* out) {
  out->device = device ? device : "ref";
  int64_t start = hone_clock_ns();
  HONE_TRY(hone_cli_load(cli, index, &out->model));
  out->load_ms = ms_since(start);
  start = hone_clock_ns();
  HONE_TRY(hone_cli_session(cli, out->model, out->device, &out->session));
  out->compile_ms = ms_since(start);
  return NULL;
}

hone_status_t hone_subject_open(hone_cli_t* cli, int index, const char* device,
                                hone_subject_t* out_subject) {
  *out_subject = (hone_subject_t){.path = hone_cli_argument(cli, index)};
  if (!device) device = hone_cli_text(cli, "device", NULL);
  hone_status_t status = hone_subject_is_engine(out_subject->path)
                             ? open_engine(cli, device, out_subject)
                             : open_model(cli, index, device, out_subject);
  if (status) hone_subject_close(out_subject);
  return status;
}

void hone_subject_close(hone_subject_t* subject) {
  hone_session_destroy(subject->session);
  hone_engine_destroy(subject->engine);
  hone_model_destroy(subject->model);
  *subject = (hone_subject_t){.path = subject->path};
}
