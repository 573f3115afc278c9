/* hone help: help of a command, man pages and completions. */
#include <stdio.h>
#include <string.h>

#include "cli.h"

static int run_help(hone_cli_t* cli) {
  const char* shell = hone_cli_text(cli, "completion", NULL);
  if (shell) return hone_help_completion(shell) ? HONE_EXIT_OK : HONE_EXIT_USAGE;
  const char* name = hone_cli_argument(cli, 0);
  const hone_command_t* command = name ? hone_command_find(name) : NULL;
  if (name && !command) return hone_cli_usage(cli, "there is no command '%s'", name);
  if (hone_cli_has(cli, "man"))
    hone_help_man(command);
  else if (command)
    hone_help_command(command);
  else
    hone_help_overview();
  return HONE_EXIT_OK;
}

static const hone_option_t options[] = {
    {.name = "man", .help = "print the man page, in roff"},
    {.name = "completion",
     .argument = "SHELL",
     .help = "print a completion script",
     .complete = HONE_COMPLETE_CHOICE,
     .choices = "bash zsh fish"},
};

extern const hone_command_t hone_command_help;
const hone_command_t hone_command_help = {
    .name = "help",
    .summary = "show help, a man page, or a shell's completions",
    .arguments = "[COMMAND]",
    .max_arguments = 1,
    .n_options = sizeof options / sizeof *options,
    .options = options,
    .examples =
        "  hone help run\n"
        "  hone help run --man | man -l -\n"
        "  source <(hone help --completion bash)",
    .run = run_help,
};
