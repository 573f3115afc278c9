#include "child.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/trace.h"

static hone_status_t failed(const char* what, const char* program, int error) {
  return hone_status_make(HONE_IO, "%s: cannot %s: %s", program, what, strerror(error));
}

/* ---- starting and ending ---- */

static int spawn(const char* const* argv, int line, int messages, pid_t* out_pid) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t how;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&how);
  posix_spawn_file_actions_adddup2(&files, line, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, line, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, messages, STDERR_FILENO);
  posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP);
  int error = posix_spawn(out_pid, argv[0], &files, &how, (char* const*)argv, environ);
  posix_spawnattr_destroy(&how);
  posix_spawn_file_actions_destroy(&files);
  return error;
}

/* A file without a name. */
static int open_messages(void) {
  FILE* file = tmpfile();
  int copy = file ? fcntl(fileno(file), F_DUPFD_CLOEXEC, 0) : -1;
  if (file) fclose(file);
  return copy;
}

hone_status_t hone_child_start(const char* const* argv, hone_child_t* out_child) {
  int ends[2], messages = open_messages();
  *out_child = (hone_child_t){0};
  if (messages < 0) return failed("keep messages of it", argv[0], errno);
  int error = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) ? errno : 0;
  if (!error) {
    error = spawn(argv, ends[1], messages, &out_child->pid);
    close(ends[1]);
    if (error) close(ends[0]);
  }
  if (error) {
    close(messages);
    out_child->pid = 0;
    return failed("start it", argv[0], error);
  }
  out_child->line = ends[0];
  out_child->messages = messages;
  hone_str_init(&out_child->text, NULL);
  return NULL;
}

void hone_child_hold(const hone_child_t* child) {
  if (child->pid) kill(-child->pid, SIGSTOP);
}

void hone_child_go_on(const hone_child_t* child) {
  if (child->pid) kill(-child->pid, SIGCONT);
}

void hone_child_bind(const hone_child_t* child, const cpu_set_t* cores) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/task", (int)child->pid);
  DIR* threads = child->pid ? opendir(path) : NULL;
  for (const struct dirent* one; threads && (one = readdir(threads));) {
    long thread = strtol(one->d_name, NULL, 10);
    if (thread > 0) sched_setaffinity((pid_t)thread, sizeof *cores, cores);
  }
  if (threads) closedir(threads);
}

/* The last line on standard error that says anything. */
static void append_last_words(const hone_child_t* child, hone_str_t* why) {
  enum { MOST = 2048 };
  char text[MOST + 1];
  off_t size = lseek(child->messages, 0, SEEK_END);
  ssize_t got = pread(child->messages, text, MOST, size > MOST ? size - MOST : 0);
  if (got <= 0) return;
  while (got > 0 && strchr(" \n\r\t", text[got - 1])) got--;
  text[got] = 0;
  const char* start = strrchr(text, '\n');
  if (got) hone_str_appendf(why, "; %.200s", start ? start + 1 : text);
}

static void append_end(int status, hone_str_t* why) {
  if (WIFSIGNALED(status))
    hone_str_appendf(why, "signal %d, %s", WTERMSIG(status), strsignal(WTERMSIG(status)));
  else
    hone_str_appendf(why, "exit code %d", WEXITSTATUS(status));
}

static bool is_running(pid_t pid) {
  siginfo_t info = {0};
  return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | WNOHANG) == 0 && !info.si_pid;
}

void hone_child_end(hone_child_t* child, hone_str_t* why) {
  int status = 0;
  if (!child->pid) return;
  close(child->line);
  /* One that is about to end by itself is let: how it does is the message. */
  for (int i = 0; why && i < 100 && is_running(child->pid); i++) usleep(10000);
  kill(-child->pid, SIGKILL);
  while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR) continue;
  if (why) append_end(status, why);
  if (why) append_last_words(child, why);
  close(child->messages);
  hone_str_free(&child->text);
  *child = (hone_child_t){0};
}

/* ---- questions ---- */

static bool send_all(int line, const char* text, size_t size) {
  while (size) {
    ssize_t sent = send(line, text, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    text += sent;
    size -= (size_t)sent;
  }
  return true;
}

/* Waits for more of the answer; false at the line's end. */
static bool receive(hone_child_t* child, int64_t deadline, hone_child_answer_t* out) {
  char piece[4096];
  int64_t left = (deadline - hone_clock_ns()) / 1000000;
  struct pollfd wait = {.fd = child->line, .events = POLLIN};
  int ready = left > 0 ? poll(&wait, 1, left < 1000 ? (int)left : 1000) : 0;
  *out = left > 0 ? HONE_CHILD_ANSWERED : HONE_CHILD_LATE;
  if (left <= 0 || ready <= 0) return left > 0;
  ssize_t got = recv(child->line, piece, sizeof piece, 0);
  if (got > 0) hone_str_append_n(&child->text, piece, (size_t)got);
  if (got > 0 || (got < 0 && errno == EINTR)) return true;
  *out = HONE_CHILD_ENDED;
  return false;
}

hone_child_answer_t hone_child_ask(hone_child_t* child, const char* question, double seconds,
                                   const char** out_line) {
  hone_child_answer_t answer = HONE_CHILD_ANSWERED;
  int64_t deadline = hone_clock_ns() + (int64_t)(seconds * 1e9);
  hone_str_free(&child->text);
  hone_str_init(&child->text, NULL);
  if (!send_all(child->line, question, strlen(question)) || !send_all(child->line, "\n", 1))
    return HONE_CHILD_ENDED;
  while (!strchr(hone_str_text(&child->text), '\n'))
    if (!receive(child, deadline, &answer)) return answer;
  *out_line = hone_str_text(&child->text);
  return answer;
}
