/* Help, man pages and completions, all from the tables of the commands. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

enum { HELP_COLUMN = 26, WIDTH = 98 };

/* Prints `text` broken at blanks, continued at `indent`. */
static void print_wrapped(const char* text, int indent) {
  int column = indent;
  while (*text) {
    int word = (int)strcspn(text, " \n");
    if (column > indent && column + 1 + word > WIDTH) {
      printf("\n%*s", indent, "");
      column = indent;
    } else if (column > indent) {
      putchar(' ');
      column++;
    }
    printf("%.*s", word, text);
    column += word;
    text += word;
    if (*text == '\n') {
      printf("\n%*s", indent, "");
      column = indent;
    }
    if (*text) text++;
  }
  putchar('\n');
}

static void option_label(const hone_option_t* option, char* buffer, size_t size) {
  char letter[8] = "    ";
  if (option->letter) snprintf(letter, sizeof letter, "-%c, ", option->letter);
  snprintf(buffer, size, "  %s--%s%s%s", letter, option->name, option->argument ? " " : "",
           option->argument ? option->argument : "");
}

static void print_option(const hone_option_t* option) {
  char label[80];
  option_label(option, label, sizeof label);
  printf("%-*s", HELP_COLUMN, label);
  if (strlen(label) >= HELP_COLUMN) printf("\n%*s", HELP_COLUMN, "");
  print_wrapped(option->help, HELP_COLUMN);
  if (option->choices) {
    printf("%*sone of: ", HELP_COLUMN, "");
    print_wrapped(option->choices, HELP_COLUMN + 8);
  }
}

static const hone_option_t help_option = {.name = "help", .letter = 'h', .help = "show this help"};

void hone_help_overview(void) {
  printf(
      "hone takes a model and makes it run as fast as the hardware allows.\n\n"
      "usage: hone COMMAND [OPTION]... [ARGUMENT]...\n\ncommands:\n");
  for (int i = 0; i < hone_command_count; i++) {
    printf("  %-12s", hone_commands[i]->name);
    print_wrapped(hone_commands[i]->summary, 14);
  }
  printf("\n`hone COMMAND --help` tells more about each.\n");
}

void hone_help_command(const hone_command_t* command) {
  printf("usage: hone %s%s%s%s\n\n", command->name, command->n_options ? " [OPTION]..." : "",
         command->arguments[0] ? " " : "", command->arguments);
  print_wrapped(command->description ? command->description : command->summary, 0);
  printf("\noptions:\n");
  for (int i = 0; i < command->n_options; i++) print_option(&command->options[i]);
  print_option(&help_option);
  if (command->examples) printf("\nexamples:\n%s\n", command->examples);
}

/* ---- man pages ---- */

/* Escapes what roff would take for a request or a hyphen. */
static void man_text(const char* text) {
  bool line_start = true;
  for (; *text; text++) {
    if (line_start && (*text == '.' || *text == '\'')) fputs("\\&", stdout);
    if (*text == '-')
      fputs("\\-", stdout);
    else if (*text == '\\')
      fputs("\\e", stdout);
    else
      putchar(*text);
    line_start = *text == '\n';
  }
}

static void man_option(const hone_option_t* option) {
  printf(".TP\n");
  if (option->letter) printf("\\fB\\-%c\\fR, ", option->letter);
  printf("\\fB\\-\\-");
  man_text(option->name);
  printf("\\fR");
  if (option->argument) {
    printf(" \\fI");
    man_text(option->argument);
    printf("\\fR");
  }
  printf("\n");
  man_text(option->help);
  printf(".\n");
  if (option->choices) {
    printf("One of: ");
    man_text(option->choices);
    printf(".\n");
  }
}

static void man_header(const char* title, const char* name, const char* summary) {
  char upper[64];
  size_t i = 0;
  for (; title[i] && i < sizeof upper - 1; i++) upper[i] = (char)toupper((unsigned char)title[i]);
  upper[i] = 0;
  printf(".TH %s 1 \"\" \"hone %s\" \"hone manual\"\n.SH NAME\n", upper, hone_version());
  man_text(name);
  printf(" \\- ");
  man_text(summary);
  printf("\n.SH SYNOPSIS\n");
}

static void man_overview(void) {
  man_header("hone", "hone", "runs models as fast as the hardware allows");
  printf(".B hone\n.I COMMAND\n[\\fIOPTION\\fR]... [\\fIARGUMENT\\fR]...\n.SH COMMANDS\n");
  for (int i = 0; i < hone_command_count; i++) {
    printf(".TP\n.BR hone\\-%s (1)\n", hone_commands[i]->name);
    man_text(hone_commands[i]->summary);
    printf("\n");
  }
}

void hone_help_man(const hone_command_t* command) {
  if (!command) {
    man_overview();
    return;
  }
  char title[64];
  snprintf(title, sizeof title, "hone-%s", command->name);
  man_header(title, title, command->summary);
  printf(".B hone %s\n[\\fIOPTION\\fR]... \\fI", command->name);
  man_text(command->arguments);
  printf("\\fR\n.SH DESCRIPTION\n");
  man_text(command->description ? command->description : command->summary);
  printf("\n.SH OPTIONS\n");
  for (int i = 0; i < command->n_options; i++) man_option(&command->options[i]);
  man_option(&help_option);
  if (command->examples) {
    printf(".SH EXAMPLES\n.nf\n");
    man_text(command->examples);
    printf("\n.fi\n");
  }
  printf(
      ".SH EXIT STATUS\n0: done. 1: failed, or a difference was found. 2: wrong command line. "
      "3: the model cannot run there.\n");
}

/* ---- completions ---- */

static const char* bash_completer(hone_complete_t complete) {
  switch (complete) {
    case HONE_COMPLETE_FILE:
      return "compopt -o default";
    case HONE_COMPLETE_FOLDER:
      return "compopt -o dirnames";
    case HONE_COMPLETE_DEVICE:
      return "COMPREPLY=($(compgen -W \"$(hone devices --names 2>/dev/null)\" -- \"$cur\"))";
    default:
      return ":";
  }
}

static void bash_option(const hone_option_t* option) {
  if (!option->argument) return;
  printf("    --%s", option->name);
  if (option->letter) printf("|-%c", option->letter);
  if (option->choices)
    printf(") COMPREPLY=($(compgen -W \"%s\" -- \"$cur\")); return ;;\n", option->choices);
  else
    printf(") %s; return ;;\n", bash_completer(option->complete));
}

static void bash_command(const hone_command_t* command) {
  printf("  %s)\n    case \"$prev\" in\n", command->name);
  for (int i = 0; i < command->n_options; i++) bash_option(&command->options[i]);
  printf("    esac\n    if [[ $cur == -* ]]; then\n      COMPREPLY=($(compgen -W \"--help");
  for (int i = 0; i < command->n_options; i++) printf(" --%s", command->options[i].name);
  printf("\" -- \"$cur\"))\n    else\n      %s\n    fi ;;\n", bash_completer(command->complete));
}

static void completion_bash(void) {
  printf(
      "_hone() {\n  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  if ((COMP_CWORD == 1)); then\n    COMPREPLY=($(compgen -W \"");
  for (int i = 0; i < hone_command_count; i++) printf("%s ", hone_commands[i]->name);
  printf("\" -- \"$cur\"))\n    return\n  fi\n  case \"${COMP_WORDS[1]}\" in\n");
  for (int i = 0; i < hone_command_count; i++) bash_command(hone_commands[i]);
  printf("  esac\n}\ncomplete -F _hone hone\n");
}

/* In single quotes for fish; backslashes and quotes escaped. */
static void fish_quoted(const char* text) {
  putchar('\'');
  for (; *text; text++) {
    if (*text == '\'' || *text == '\\') putchar('\\');
    putchar(*text);
  }
  putchar('\'');
}

static void fish_option(const char* command, const hone_option_t* option) {
  printf("complete -c hone -n '__fish_seen_subcommand_from %s' -l %s", command, option->name);
  if (option->letter) printf(" -s %c", option->letter);
  if (option->argument) printf(option->complete == HONE_COMPLETE_FILE ? " -r" : " -x");
  if (option->choices) printf(" -a '%s'", option->choices);
  printf(" -d ");
  fish_quoted(option->help);
  printf("\n");
}

static void completion_fish(void) {
  for (int i = 0; i < hone_command_count; i++) {
    const hone_command_t* command = hone_commands[i];
    printf("complete -c hone -n __fish_use_subcommand -x -a %s -d ", command->name);
    fish_quoted(command->summary);
    printf("\n");
    for (int k = 0; k < command->n_options; k++) fish_option(command->name, &command->options[k]);
  }
}

/* zsh reads bash completions through its own compatibility layer. */
static void completion_zsh(void) {
  printf("#compdef hone\nautoload -U +X bashcompinit && bashcompinit\n");
  completion_bash();
}

bool hone_help_completion(const char* shell) {
  static const struct {
    const char* name;
    void (*print)(void);
  } shells[] = {{"bash", completion_bash}, {"zsh", completion_zsh}, {"fish", completion_fish}};
  for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
    if (strcmp(shells[i].name, shell) != 0) continue;
    shells[i].print();
    return true;
  }
  return false;
}
