#include "base/testing/folder.h"

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void test_folder_make(test_folder_t* folder) {
  const char* base = getenv("TMPDIR");
  snprintf(folder->path, sizeof folder->path, "%s/hone-test-XXXXXX", base ? base : "/tmp");
  assert_non_null(mkdtemp(folder->path));
}

static int remove_entry(const char* path, const struct stat* info, int type, struct FTW* walk) {
  (void)info, (void)type, (void)walk;
  return remove(path);
}

void test_folder_remove(test_folder_t* folder) {
  assert_int_equal(nftw(folder->path, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
}

const char* test_folder_file(const test_folder_t* folder, const char* name) {
  static char buffers[8][2 * PATH_MAX];
  static unsigned turn;
  char* buffer = buffers[turn++ % 8];
  snprintf(buffer, sizeof buffers[0], "%s/%s", folder->path, name);
  return buffer;
}

void test_folder_write(const test_folder_t* folder, const char* name, const char* text) {
  char path[2 * PATH_MAX];
  snprintf(path, sizeof path, "%s/%s", folder->path, name);
  for (char* slash = path + strlen(folder->path) + 1; (slash = strchr(slash, '/')); slash++) {
    *slash = 0;
    mkdir(path, 0777);
    *slash = '/';
  }
  FILE* file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
  assert_int_equal(fclose(file), 0);
}

int test_folder_entries(const test_folder_t* folder) {
  int count = 0;
  DIR* list = opendir(folder->path);
  assert_non_null(list);
  while (readdir(list)) count++;
  closedir(list);
  return count - 2; /* "." and ".." */
}
