#include "codegen/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>

static int set_signals(posix_spawnattr_t* attributes) {
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(attributes, &none);
  posix_spawnattr_setsigdefault(attributes, &all);
  posix_spawnattr_setpgroup(attributes, 0); /* signals of the terminal are not for it */
  return posix_spawnattr_setflags(
      attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

static int attach(posix_spawn_file_actions_t* actions, int from, int to) {
  if (from >= 0) return posix_spawn_file_actions_adddup2(actions, from, to);
  return posix_spawn_file_actions_addopen(actions, to, "/dev/null", to ? O_WRONLY : O_RDONLY, 0);
}

int hone_spawn(const char* const* argv, char* const* environment, int input, int output,
               pid_t* out_pid) {
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t actions;
  if (posix_spawnattr_init(&attributes)) return ENOMEM;
  if (posix_spawn_file_actions_init(&actions)) {
    posix_spawnattr_destroy(&attributes);
    return ENOMEM;
  }
  int error = set_signals(&attributes);
  for (int to = 0; to <= 2 && !error; to++) error = attach(&actions, to ? output : input, to);
  if (!error)
    error = posix_spawn(out_pid, argv[0], &actions, &attributes, (char* const*)argv, environment);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return error;
}
