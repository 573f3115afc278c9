/* Runs a command with its output thrown away and prints the most memory that it
 * held, in bytes. Small itself, since a new process counts what its parent had. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  pid_t child = fork();
  if (child < 0) return 3;
  if (child == 0) {
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0) dup2(nowhere, STDOUT_FILENO);
    execv(argv[1], argv + 1);
    _exit(127);
  }
  int state;
  struct rusage used;
  if (wait4(child, &state, 0, &used) != child) return 3;
  if (!WIFEXITED(state) || WEXITSTATUS(state) != 0) return 1;
  printf("%lld\n", (long long)used.ru_maxrss * 1024);
  return 0;
}
