/* Programs run from the library: compilers, linkers. Several at once, each
 * with a time limit that holds for all it starts, its output captured.
 *
 * Nothing is inherited but the environment: standard input is empty, and
 * messages come in English (LC_ALL=C). Signals of the terminal do not reach
 * the programs. What a program leaves running when it ends is ended too, and
 * so are all of them when this process is killed (keeper.h).
 * Thread-safe. */
#ifndef HONE_CODEGEN_PROCESS_H
#define HONE_CODEGEN_PROCESS_H

#include "hone/allocator.h"

enum { HONE_PROCESS_OUTPUT_SIZE = 4096 };

typedef struct hone_process {
  const char* const* argv; /* argv[0] is the path of the program; ends in NULL */
  /* Folder for files of its own, so that they go with the folder when it is killed; the
   * first of the programs says it for all. NULL: the usual one. */
  const char* temporary;
  /* Results */
  int exit_code; /* -1 when it did not end by itself; 127 when it could not be started */
  int signal;    /* that ended it; 0: none */
  bool timed_out;
  size_t output_size;
  char output[HONE_PROCESS_OUTPUT_SIZE]; /* the first of stdout and stderr, ends in 0 */
} hone_process_t;

/* Runs all of them, at most `parallel` at once, each for at most `limit_ms`;
 * then it and all programs it started are killed. How each went is in its
 * entry. Errors: OUT_OF_MEMORY, IO (no more file descriptors or processes). */
HONE_MUST_USE hone_status_t hone_process_run(const hone_allocator_t* allocator, int count,
                                             hone_process_t* processes, int parallel,
                                             int64_t limit_ms);
bool hone_process_ok(const hone_process_t* process);
/* A sentence about how it failed: "ended with exit code 1". Static or in `buffer`. */
const char* hone_process_outcome(const hone_process_t* process, char* buffer, size_t size);

#endif
