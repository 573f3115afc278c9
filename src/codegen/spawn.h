/* Spawning: a program of its own group, with signals as they are at first. */
#ifndef HONE_CODEGEN_SPAWN_H
#define HONE_CODEGEN_SPAWN_H

#include <sys/types.h>

/* `input` becomes its standard input, `output` its output and errors; -1: nothing.
 * Gives 0, or the number of the error. */
int hone_spawn(const char* const* argv, char* const* environment, int input, int output,
               pid_t* out_pid);

#endif
