/* A folder for the files of one test. */
#ifndef HONE_BASE_TESTING_FOLDER_H
#define HONE_BASE_TESTING_FOLDER_H

#include <limits.h>

#include "base/testing/test.h"

typedef struct test_folder {
  char path[PATH_MAX];
} test_folder_t;

/* Makes a new empty folder; removes it with all that is in it. Both fail the running test. */
void test_folder_make(test_folder_t* folder);
void test_folder_remove(test_folder_t* folder);
/* "<folder>/<name>" in a buffer of the callee's, one of eight that take turns. */
const char* test_folder_file(const test_folder_t* folder, const char* name);
/* Writes a file, making the folders on its way. */
void test_folder_write(const test_folder_t* folder, const char* name, const char* text);
/* How many entries it has, in itself. */
int test_folder_entries(const test_folder_t* folder);

#endif
