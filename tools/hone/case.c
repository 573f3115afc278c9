/* A failing case in files: the graph, what goes in, what should come out. */
#include "case.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"
#include "import/graph_text.h"
#include "import/npy.h"

/* With the folders above it. */
static hone_status_t make_folder(const char* path) {
  char part[PATH_MAX];
  size_t length = strlen(path);
  if (length >= sizeof part) return hone_file_error(ENAMETOOLONG, path, "make folder");
  for (size_t i = 1; i <= length; i++) {
    if (path[i] && path[i] != '/') continue;
    memcpy(part, path, i);
    part[i] = 0;
    if (mkdir(part, 0777) && errno != EEXIST) return hone_file_error(errno, part, "make folder");
  }
  return NULL;
}

static hone_status_t write_graph(const hone_graph_t* graph, const char* path) {
  hone_str_t text;
  hone_str_init(&text, NULL);
  hone_status_t status = hone_graph_print(graph, 0, &text);
  if (!status) status = hone_file_write(path, hone_str_text(&text), text.size);
  hone_str_free(&text);
  return status;
}

static hone_status_t write_all(hone_arena_t* arena, const char* folder, const hone_graph_t* graph,
                               int n_inputs, hone_tensor_t* const* inputs, int n_outputs,
                               hone_tensor_t* const* expected) {
  char* paths[3];
  static const char* const files[3] = {"graph.hg", "inputs.npz", "expected.npz"};
  for (int i = 0; i < 3; i++)
    if (!(paths[i] = hone_path_join(arena, folder, files[i]))) return hone_oom();
  int most = n_inputs > n_outputs ? n_inputs : n_outputs;
  const char** names = hone_arena_array(arena, (size_t)most, sizeof *names);
  if (!names) return hone_oom();
  HONE_TRY(write_graph(graph, paths[0]));
  for (int i = 0; i < n_inputs; i++) names[i] = graph->inputs[i]->name;
  HONE_TRY(hone_npz_save_file(NULL, n_inputs, names, inputs, paths[1]));
  for (int i = 0; i < n_outputs; i++) {
    names[i] = hone_arena_format(arena, "out%d", i);
    if (!names[i]) return hone_oom();
  }
  return hone_npz_save_file(NULL, n_outputs, names, expected, paths[2]);
}

hone_status_t hone_case_write(const char* folder, const hone_graph_t* graph, int n_inputs,
                              hone_tensor_t* const* inputs, int n_outputs,
                              hone_tensor_t* const* expected) {
  hone_arena_t* arena;
  HONE_TRY(make_folder(folder));
  HONE_TRY(hone_arena_create(NULL, &arena));
  hone_status_t status = write_all(arena, folder, graph, n_inputs, inputs, n_outputs, expected);
  hone_arena_destroy(arena);
  return status;
}
