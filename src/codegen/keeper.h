/* Keeper: ends programs whose owner was killed.
 *
 * A process that is killed with SIGKILL cannot end what it started, and a compiler that hangs
 * would stay for ever. The keeper is a shell that knows the groups of processes in its owner's
 * care, and ends them when the owner is gone. Where there is no shell, there is no keeper. */
#ifndef HONE_CODEGEN_KEEPER_H
#define HONE_CODEGEN_KEEPER_H

#include <sys/types.h>

typedef struct hone_keeper {
  pid_t pid; /* 0: there is none */
  int line;  /* closes with the owner */
} hone_keeper_t;

void hone_keeper_start(hone_keeper_t* keeper);
/* From now on these groups are in its care, and no others. One leaves before its
 * first process is reaped: later its number may be another's. */
void hone_keeper_tell(const hone_keeper_t* keeper, int count, const pid_t* groups);
/* Ends it, and no group. */
void hone_keeper_stop(hone_keeper_t* keeper);

#endif
