/* Replays a corpus through a fuzz target where libFuzzer is not at hand: the
 * empty input, each file of the folder named as argument, and prefixes of each
 * file. A finding shows as a crash or a sanitizer report. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

enum { PREFIXES = 64 }; /* how many prefixes of a file are tried */

/* Runs a copy that is exactly as long as the input, so that a sanitizer sees
 * a read past its end. */
static void run_exact(const uint8_t* data, size_t size) {
  uint8_t* copy = calloc(1, size ? size : 1);
  if (!copy) return;
  memcpy(copy, data, size);
  LLVMFuzzerTestOneInput(copy, size);
  free(copy);
}

static void run_prefixes(const uint8_t* data, size_t size) {
  size_t step = size / PREFIXES + 1;
  for (size_t length = 0; length < size; length += step) run_exact(data, length);
  run_exact(data, size);
}

static uint8_t* read_file(const char* path, size_t* out_size) {
  FILE* file = fopen(path, "rb");
  if (!file) return NULL;
  fseek(file, 0, SEEK_END);
  long size = ftell(file);
  rewind(file);
  uint8_t* data = size < 0 ? NULL : malloc((size_t)size + 1);
  if (data) *out_size = fread(data, 1, (size_t)size, file);
  fclose(file);
  return data;
}

static int run_file(const char* folder, const char* name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  size_t size = 0;
  uint8_t* data = read_file(path, &size);
  if (!data) {
    fprintf(stderr, "%s: cannot be read\n", path);
    return 1;
  }
  run_prefixes(data, size);
  free(data);
  return 0;
}

int main(int argc, char** argv) {
  int files = 0, failures = 0;
  run_exact((const uint8_t*)"", 0);
  DIR* folder = argc > 1 ? opendir(argv[1]) : NULL;
  for (struct dirent* entry; folder && (entry = readdir(folder));) {
    if (entry->d_name[0] == '.') continue;
    failures += run_file(argv[1], entry->d_name);
    ++files;
  }
  if (folder) closedir(folder);
  printf("%d corpus files replayed, %d unreadable\n", files, failures);
  return failures != 0;
}
