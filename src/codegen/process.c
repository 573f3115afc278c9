#include "codegen/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "codegen/keeper.h"
#include "codegen/spawn.h"

enum {
  MAX_PARALLEL = 64,
  WAKE_MS = 50, /* a program may end while one it left behind holds its output open */
};

static const char* const settings[] = {"LC_ALL=C", "CCACHE_DISABLE=1"};
static const char temporary_name[] = "TMPDIR=";
enum { SETTINGS = sizeof settings / sizeof *settings };

typedef struct running {
  hone_process_t* process; /* NULL: the slot is free */
  pid_t pid;
  int output; /* read end of its output; -1 once closed */
  int64_t deadline_ms;
} running_t;

typedef struct runner {
  const hone_allocator_t* allocator;
  char** environment;
  size_t environment_size;  /* bytes */
  char temporary[PATH_MAX]; /* "TMPDIR=…"; "": as it is */
  int64_t limit_ms;
  int slots, busy;
  running_t running[MAX_PARALLEL];
  hone_keeper_t keeper;
} runner_t;

static int64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- the environment ---- */

static bool is_overridden(const runner_t* runner, const char* variable) {
  if (runner->temporary[0] && strncmp(variable, temporary_name, sizeof temporary_name - 1) == 0)
    return true;
  for (int i = 0; i < SETTINGS; i++) {
    size_t name = (size_t)(strchr(settings[i], '=') - settings[i]) + 1;
    if (strncmp(variable, settings[i], name) == 0) return true;
  }
  return false;
}

static hone_status_t make_environment(runner_t* runner) {
  size_t count = 0, used = 0;
  while (environ && environ[count]) count++;
  runner->environment_size = (count + SETTINGS + 2) * sizeof *runner->environment;
  runner->environment = hone_alloc(runner->allocator, runner->environment_size);
  if (!runner->environment) return hone_oom();
  for (size_t i = 0; i < count && environ[i]; i++)
    if (!is_overridden(runner, environ[i])) runner->environment[used++] = environ[i];
  for (int i = 0; i < SETTINGS; i++) runner->environment[used++] = (char*)settings[i];
  if (runner->temporary[0]) runner->environment[used++] = runner->temporary;
  return NULL;
}

/* ---- one program ---- */

/* All that run are in the keeper's care, but for `leaving`. */
static void tell_keeper(const runner_t* runner, const running_t* leaving) {
  pid_t groups[MAX_PARALLEL];
  int count = 0;
  for (int i = 0; i < runner->slots; i++) {
    const running_t* slot = &runner->running[i];
    if (slot->process && slot != leaving) groups[count++] = slot->pid;
  }
  hone_keeper_tell(&runner->keeper, count, groups);
}

static hone_status_t start(runner_t* runner, running_t* slot, hone_process_t* process) {
  int ends[2];
  process->exit_code = -1;
  process->signal = 0;
  process->timed_out = false;
  process->output_size = 0;
  process->output[0] = 0;
  if (pipe2(ends, O_CLOEXEC))
    return hone_status_make(HONE_IO, "cannot start %s: %s", process->argv[0], strerror(errno));
  slot->process = process;
  int error = hone_spawn(process->argv, runner->environment, -1, ends[1], &slot->pid);
  close(ends[1]);
  if (error) {
    close(ends[0]);
    slot->process = NULL;
    if (error == EAGAIN || error == ENOMEM)
      return hone_status_make(HONE_IO, "cannot start %s: %s", process->argv[0], strerror(error));
    process->exit_code = 127;
    process->output_size =
        (size_t)snprintf(process->output, sizeof process->output, "%s", strerror(error));
    return NULL;
  }
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  slot->output = ends[0];
  slot->deadline_ms = now_ms() + runner->limit_ms;
  runner->busy++;
  tell_keeper(runner, NULL);
  return NULL;
}

/* Keeps what fits and drops the rest, so that the program never blocks. */
static void read_output(running_t* slot) {
  hone_process_t* process = slot->process;
  char chunk[1024];
  ssize_t got = 0;
  while (slot->output >= 0 && (got = read(slot->output, chunk, sizeof chunk)) > 0) {
    size_t room = sizeof process->output - 1 - process->output_size;
    size_t take = (size_t)got < room ? (size_t)got : room;
    memcpy(process->output + process->output_size, chunk, take);
    process->output_size += take;
    process->output[process->output_size] = 0;
  }
  if (slot->output >= 0 && (got == 0 || (errno != EAGAIN && errno != EINTR))) {
    close(slot->output);
    slot->output = -1;
  }
}

static void finish(runner_t* runner, running_t* slot, int state) {
  read_output(slot);
  if (slot->output >= 0) close(slot->output);
  if (WIFEXITED(state)) slot->process->exit_code = WEXITSTATUS(state);
  if (WIFSIGNALED(state)) slot->process->signal = WTERMSIG(state);
  slot->process = NULL;
  runner->busy--;
}

static void kill_all_of(running_t* slot) {
  kill(-slot->pid, SIGKILL);
  kill(slot->pid, SIGKILL); /* in case its group is not made yet */
}

/* Whether it has ended; it is not reaped yet, so its group's number is its own. */
static bool has_ended(const running_t* slot, bool wait) {
  siginfo_t info = {.si_pid = 0};
  int flags = WEXITED | WNOWAIT | (wait ? 0 : WNOHANG);
  return waitid(P_PID, (id_t)slot->pid, &info, flags) ? errno != EINTR : info.si_pid == slot->pid;
}

/* Reaps the program when it has ended, with what it left running; kills it when
 * its time is over. */
static void look_after(runner_t* runner, running_t* slot, int64_t now) {
  int state = 0x7f00; /* somebody else reaped it: its result is lost */
  read_output(slot);
  bool late = now >= slot->deadline_ms;
  if (late) kill_all_of(slot);
  if (!has_ended(slot, late)) return;
  kill_all_of(slot);
  tell_keeper(runner, slot);
  while (waitpid(slot->pid, &state, 0) < 0 && errno == EINTR) continue;
  slot->process->timed_out = late && WIFSIGNALED(state);
  finish(runner, slot, state);
}

/* Waits until something happens, at most WAKE_MS. */
static void wait_for_any(const runner_t* runner, int64_t now) {
  struct pollfd polled[MAX_PARALLEL];
  nfds_t count = 0;
  int64_t wait = WAKE_MS;
  bool ending = false; /* output closed, so the end is near */
  for (int i = 0; i < runner->slots; i++) {
    const running_t* slot = &runner->running[i];
    if (!slot->process) continue;
    if (slot->deadline_ms - now < wait) wait = slot->deadline_ms - now;
    if (slot->output >= 0)
      polled[count++] = (struct pollfd){.fd = slot->output, .events = POLLIN};
    else
      ending = true;
  }
  if (ending) wait = 1;
  if (wait > 0) poll(polled, count, (int)wait);
}

static void look_after_all(runner_t* runner) {
  wait_for_any(runner, now_ms());
  int64_t now = now_ms();
  for (int i = 0; i < runner->slots; i++)
    if (runner->running[i].process) look_after(runner, &runner->running[i], now);
}

static void end_all(runner_t* runner) {
  for (int i = 0; i < runner->slots; i++)
    if (runner->running[i].process) kill_all_of(&runner->running[i]);
  while (runner->busy) look_after_all(runner);
}

static running_t* free_slot(runner_t* runner) {
  for (int i = 0; i < runner->slots; i++)
    if (!runner->running[i].process) return &runner->running[i];
  return NULL;
}

hone_status_t hone_process_run(const hone_allocator_t* allocator, int count,
                               hone_process_t* processes, int parallel, int64_t limit_ms) {
  runner_t runner = {.allocator = allocator, .limit_ms = limit_ms, .slots = parallel};
  if (runner.slots < 1) runner.slots = 1;
  if (runner.slots > MAX_PARALLEL) runner.slots = MAX_PARALLEL;
  if (count > 0 && processes[0].temporary)
    snprintf(runner.temporary, sizeof runner.temporary, "%s%s", temporary_name,
             processes[0].temporary);
  HONE_TRY(make_environment(&runner));
  hone_keeper_start(&runner.keeper);
  hone_status_t status = NULL;
  int next = 0;
  while (!status && (next < count || runner.busy)) {
    running_t* slot = next < count ? free_slot(&runner) : NULL;
    if (slot)
      status = start(&runner, slot, &processes[next++]);
    else
      look_after_all(&runner);
  }
  end_all(&runner);
  hone_keeper_stop(&runner.keeper);
  hone_free(allocator, runner.environment, runner.environment_size);
  return status;
}

bool hone_process_ok(const hone_process_t* process) { return process->exit_code == 0; }

const char* hone_process_outcome(const hone_process_t* process, char* buffer, size_t size) {
  if (process->timed_out) return "was stopped at its time limit";
  if (process->exit_code == 127 && process->output_size) return "could not be run";
  if (process->signal)
    snprintf(buffer, size, "was ended by signal %d (%s)", process->signal,
             strsignal(process->signal));
  else
    snprintf(buffer, size, "ended with exit code %d", process->exit_code);
  return buffer;
}
