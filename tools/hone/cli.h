/* The inside of a parsed command line: for cli.c, help.c and main.c only. */
#ifndef HONE_TOOLS_CLI_H
#define HONE_TOOLS_CLI_H

#include "command.h"

typedef struct cli_given {
  const hone_option_t* option;
  const char* text; /* its argument; "" for flags */
} cli_given_t;

struct hone_cli {
  const hone_command_t* command;
  int n_arguments;
  const char** arguments;
  int n_given;
  cli_given_t* given;
  bool wants_help;
  bool failed;  /* a usage error was noted */
  bool reports; /* sessions keep notes, and --dim chooses sizes for engines */
  hone_limit_allocator_t* limit;
  int n_dims;
  hone_dim_option_t* dims;
  char** dim_names;
};

/* Parses argv[2…]; false after a usage error, which has been printed. */
bool hone_cli_parse(hone_cli_t* cli, const hone_command_t* command, int argc, char** argv);
void hone_cli_close(hone_cli_t* cli);

const hone_command_t* hone_command_find(const char* name);
/* The list of commands, or the help of one. */
void hone_help_overview(void);
void hone_help_command(const hone_command_t* command);
/* A man page (roff) of one command, or of `hone` itself (NULL). */
void hone_help_man(const hone_command_t* command);
/* A completion script; false when there is none for the shell. */
bool hone_help_completion(const char* shell);

#endif
