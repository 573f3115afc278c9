#include "codegen/keeper.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "codegen/spawn.h"

/* Each line replaces the list. */
static const char script[] =
    "while read -r line; do groups=$line; done; "
    "for group in $groups; do kill -s KILL -- \"-$group\"; done";

void hone_keeper_start(hone_keeper_t* keeper) {
  const char* const argv[] = {"/bin/sh", "-c", script, NULL};
  char* environment[] = {NULL};
  int ends[2];
  *keeper = (hone_keeper_t){.pid = 0};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) return;
  int error = hone_spawn(argv, environment, ends[1], -1, &keeper->pid);
  close(ends[1]);
  if (error) {
    keeper->pid = 0;
    close(ends[0]);
  } else {
    keeper->line = ends[0];
  }
}

void hone_keeper_tell(const hone_keeper_t* keeper, int count, const pid_t* groups) {
  char text[1024];
  size_t used = 0;
  if (!keeper->pid) return;
  for (int i = 0; i < count && used + 32 < sizeof text; i++)
    used += (size_t)snprintf(text + used, sizeof text - used, "%ld ", (long)groups[i]);
  text[used++] = '\n';
  /* Neither waited for nor minded: should the keeper be gone, all goes on without it. */
  send(keeper->line, text, used, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void hone_keeper_stop(hone_keeper_t* keeper) {
  if (!keeper->pid) return;
  kill(keeper->pid, SIGKILL);
  close(keeper->line);
  while (waitpid(keeper->pid, NULL, 0) < 0 && errno == EINTR) continue;
  keeper->pid = 0;
}
