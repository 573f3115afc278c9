/* Paths as text, and the check that one stays inside a folder. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"

char* hone_path_join(hone_arena_t* arena, const char* folder, const char* name) {
  size_t length = strlen(folder);
  if (name[0] == '/' || !length) return hone_arena_strdup(arena, name);
  return hone_arena_format(arena, "%s%s%s", folder, folder[length - 1] == '/' ? "" : "/", name);
}

char* hone_path_dirname(hone_arena_t* arena, const char* path) {
  const char* slash = strrchr(path, '/');
  if (!slash) return hone_arena_strdup(arena, ".");
  while (slash > path && slash[-1] == '/') slash--;
  return slash == path ? hone_arena_strdup(arena, "/")
                       : hone_arena_strndup(arena, path, (size_t)(slash - path));
}

const char* hone_path_basename(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* Whether one of the parts between slashes is "..". */
static bool goes_up(const char* path) {
  for (const char* part = path; part; part = strchr(part, '/')) {
    if (*part == '/') part++;
    if (part[0] == '.' && part[1] == '.' && (part[2] == '/' || !part[2])) return true;
  }
  return false;
}

static bool is_inside(const char* folder, const char* path) {
  size_t length = strlen(folder);
  if (length && folder[length - 1] == '/') length--; /* the root */
  return strncmp(folder, path, length) == 0 && path[length] == '/';
}

hone_status_t hone_path_confine(hone_arena_t* arena, const char* folder, const char* relative,
                                char** out_path) {
  *out_path = NULL;
  if (!relative[0] || relative[0] == '/' || goes_up(relative))
    return hone_status_make(HONE_INVALID_MODEL,
                            "\"%s\" is not a path inside %s; only relative paths without \"..\" "
                            "are followed",
                            relative, folder);
  char* joined = hone_path_join(arena, folder, relative);
  if (!joined) return hone_oom();
  char root[PATH_MAX], resolved[PATH_MAX];
  if (!realpath(folder[0] ? folder : ".", root)) return hone_file_error(errno, folder, "resolve");
  if (!realpath(joined, resolved)) return hone_file_error(errno, joined, "open");
  if (!is_inside(root, resolved))
    return hone_status_make(HONE_INVALID_MODEL,
                            "%s leads outside the folder %s through a symbolic link", joined,
                            folder);
  *out_path = hone_arena_strdup(arena, resolved);
  return *out_path ? NULL : hone_oom();
}
