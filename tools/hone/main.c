/* The command `hone`: finds the subcommand, parses its options, runs it. */
#include <stdio.h>
#include <string.h>

#include "cli.h"

static int run_command(const hone_command_t* command, int argc, char** argv) {
  hone_cli_t cli;
  int code = HONE_EXIT_USAGE;
  if (hone_cli_parse(&cli, command, argc, argv)) {
    code = HONE_EXIT_OK;
    if (cli.wants_help)
      hone_help_command(command);
    else
      code = command->run(&cli);
    if (cli.failed) code = HONE_EXIT_USAGE;
  }
  hone_cli_close(&cli);
  if (fflush(stdout) != 0 || ferror(stdout)) {
    fprintf(stderr, "hone: writing to standard output failed\n");
    return code ? code : HONE_EXIT_FAILED;
  }
  return code;
}

int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "--help";
  if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
    hone_help_overview();
    return argc > 1 ? HONE_EXIT_OK : HONE_EXIT_USAGE;
  }
  if (strcmp(name, "--version") == 0) name = "version";
  const hone_command_t* command = hone_command_find(name);
  if (command) return run_command(command, argc, argv);
  fprintf(stderr, "hone: there is no command '%s'; see `hone --help`\n", name);
  return HONE_EXIT_USAGE;
}
