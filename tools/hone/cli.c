/* Parses a command line by the table of options of its command. */
#include "cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "json.h"

const hone_command_t* hone_command_find(const char* name) {
  for (int i = 0; i < hone_command_count; i++)
    if (strcmp(hone_commands[i]->name, name) == 0) return hone_commands[i];
  return NULL;
}

/* ---- errors ---- */

int hone_cli_usage(hone_cli_t* cli, const char* format, ...) {
  va_list args;
  va_start(args, format);
  fprintf(stderr, "hone %s: ", cli->command->name);
  vfprintf(stderr, format, args);
  fprintf(stderr, "; see `hone %s --help`\n", cli->command->name);
  va_end(args);
  cli->failed = true;
  return HONE_EXIT_USAGE;
}

/* Memory that --mem-limit refused is a limit that was reached, and says how far it went. */
static hone_status_t name_the_limit(const hone_cli_t* cli, hone_status_t status) {
  if (hone_status_code(status) != HONE_OUT_OF_MEMORY || !cli->limit) return status;
  hone_status_free(status);
  return hone_status_make(
      HONE_MEMORY_LIMIT, "--mem-limit %s: %zu bytes were taken when more was asked for",
      hone_cli_text(cli, "mem-limit", ""), hone_limit_allocator_peak(cli->limit));
}

/* {"error": {"code": …, "message": …, "advice": …}} to standard output. */
static void print_error_document(hone_status_t status) {
  hone_code_t code = hone_status_code(status);
  json_t* error = json_object();
  json_object_set_new(error, "code", hone_json_string(hone_code_name(code)));
  json_object_set_new(error, "message", hone_json_string(hone_status_message(status)));
  json_object_set_new(error, "advice", hone_json_string(hone_code_advice(code)));
  json_t* root = json_object();
  json_object_set_new(root, "error", error);
  /* The exit code tells of the failure even when there is nothing to read. */
  hone_status_free(hone_json_print(root));
}

int hone_cli_fail(hone_cli_t* cli, hone_status_t status) {
  status = name_the_limit(cli, status);
  hone_code_t code = hone_status_code(status);
  if (hone_cli_has(cli, "json")) print_error_document(status);
  fprintf(stderr, "hone %s: %s: %s\n", cli->command->name, hone_code_text(code),
          hone_status_message(status));
  fprintf(stderr, "  what to do: %s\n", hone_code_advice(code));
  hone_status_free(status);
  return HONE_EXIT_FAILED;
}

bool hone_cli_ok(const hone_cli_t* cli) { return !cli->failed; }

bool hone_cli_is_terminal(const hone_cli_t* cli) {
  (void)cli;
  const char* term = getenv("TERM");
  return isatty(STDOUT_FILENO) && !getenv("NO_COLOR") && (!term || strcmp(term, "dumb") != 0);
}

/* ---- parsing ---- */

static const hone_option_t* find_option(const hone_command_t* command, const char* name,
                                        size_t length) {
  for (int i = 0; i < command->n_options; i++) {
    const hone_option_t* option = &command->options[i];
    if (strlen(option->name) == length && strncmp(option->name, name, length) == 0) return option;
  }
  return NULL;
}

static const hone_option_t* find_letter(const hone_command_t* command, char letter) {
  for (int i = 0; i < command->n_options; i++)
    if (command->options[i].letter == letter) return &command->options[i];
  return NULL;
}

static bool is_choice(const char* choices, const char* text) {
  size_t length = strlen(text);
  for (const char* at = choices; *at;) {
    size_t word = strcspn(at, " ");
    if (word == length && strncmp(at, text, length) == 0) return true;
    at += word + strspn(at + word, " ");
  }
  return false;
}

static void give(hone_cli_t* cli, const hone_option_t* option, const char* text) {
  if (option->choices && !is_choice(option->choices, text)) {
    hone_cli_usage(cli, "--%s takes one of: %s", option->name, option->choices);
    return;
  }
  if (!option->repeats && hone_cli_has(cli, option->name)) {
    hone_cli_usage(cli, "--%s is given twice", option->name);
    return;
  }
  cli->given[cli->n_given++] = (cli_given_t){option, text};
}

/* One option at argv[*at]; moves *at over its argument. */
static void parse_option(hone_cli_t* cli, int argc, char** argv, int* at) {
  const char* word = argv[*at];
  bool is_long = word[1] == '-';
  const char* name = word + (is_long ? 2 : 1);
  const char* equals = is_long ? strchr(name, '=') : NULL;
  size_t length = equals ? (size_t)(equals - name) : strlen(name);
  if ((is_long && length == 4 && strncmp(name, "help", 4) == 0) || strcmp(word, "-h") == 0) {
    cli->wants_help = true;
    return;
  }
  const hone_option_t* option =
      is_long ? find_option(cli->command, name, length) : find_letter(cli->command, *name);
  const char* attached = equals ? equals + 1 : !is_long && name[1] ? name + 1 : NULL;
  if (!option)
    hone_cli_usage(cli, "unknown option %s", word);
  else if (!option->argument && attached)
    hone_cli_usage(cli, "--%s takes no argument", option->name);
  else if (!option->argument)
    give(cli, option, "");
  else if (attached)
    give(cli, option, attached);
  else if (*at + 1 >= argc)
    hone_cli_usage(cli, "--%s needs %s", option->name, option->argument);
  else
    give(cli, option, argv[++*at]);
}

static void check_arguments(hone_cli_t* cli) {
  const hone_command_t* command = cli->command;
  if (cli->failed || cli->wants_help) return;
  if (cli->n_arguments < command->min_arguments)
    hone_cli_usage(cli, "%s missing",
                   command->arguments[0] ? command->arguments : "an argument is");
  else if (command->max_arguments >= 0 && cli->n_arguments > command->max_arguments)
    hone_cli_usage(cli, "too many arguments, from '%s' on", cli->arguments[command->max_arguments]);
}

bool hone_cli_parse(hone_cli_t* cli, const hone_command_t* command, int argc, char** argv) {
  *cli = (hone_cli_t){.command = command};
  cli->arguments = calloc((size_t)argc + 1, sizeof *cli->arguments);
  cli->given = calloc((size_t)argc + 1, sizeof *cli->given);
  if (!cli->arguments || !cli->given) {
    hone_cli_usage(cli, "out of memory");
    return false;
  }
  bool options_over = false;
  for (int i = 2; i < argc && !cli->failed; i++) {
    bool is_option = !options_over && argv[i][0] == '-' && argv[i][1];
    if (is_option && strcmp(argv[i], "--") == 0)
      options_over = true;
    else if (is_option)
      parse_option(cli, argc, argv, &i);
    else
      cli->arguments[cli->n_arguments++] = argv[i];
  }
  check_arguments(cli);
  return !cli->failed;
}

void hone_cli_close(hone_cli_t* cli) {
  hone_limit_allocator_destroy(cli->limit);
  for (int i = 0; i < cli->n_dims; i++) free(cli->dim_names[i]);
  free(cli->dim_names);
  free(cli->dims);
  free(cli->arguments);
  free(cli->given);
}

/* ---- reading ---- */

int hone_cli_argument_count(const hone_cli_t* cli) { return cli->n_arguments; }

const char* hone_cli_argument(const hone_cli_t* cli, int index) {
  return index >= 0 && index < cli->n_arguments ? cli->arguments[index] : NULL;
}

const char* hone_cli_text_at(const hone_cli_t* cli, const char* option, int index) {
  for (int i = 0; i < cli->n_given; i++)
    if (strcmp(cli->given[i].option->name, option) == 0 && index-- == 0) return cli->given[i].text;
  return NULL;
}

int hone_cli_count(const hone_cli_t* cli, const char* option) {
  int count = 0;
  while (hone_cli_text_at(cli, option, count)) count++;
  return count;
}

bool hone_cli_has(const hone_cli_t* cli, const char* option) {
  return hone_cli_text_at(cli, option, 0) != NULL;
}

const char* hone_cli_text(const hone_cli_t* cli, const char* option, const char* fallback) {
  int count = hone_cli_count(cli, option);
  return count ? hone_cli_text_at(cli, option, count - 1) : fallback;
}

int64_t hone_cli_int(hone_cli_t* cli, const char* option, int64_t fallback) {
  const char* text = hone_cli_text(cli, option, NULL);
  if (!text) return fallback;
  char* end;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  if (end == text || *end || errno) {
    hone_cli_usage(cli, "--%s: '%s' is not a whole number", option, text);
    return fallback;
  }
  return value;
}

size_t hone_cli_bytes(hone_cli_t* cli, const char* option, size_t fallback) {
  const char* text = hone_cli_text(cli, option, NULL);
  if (!text) return fallback;
  static const char units[] = "KMGT";
  char* end;
  double value = strtod(text, &end);
  const char* unit = *end ? strchr(units, *end) : NULL;
  for (const char* u = units; unit && u <= unit; u++) value *= 1024;
  if (unit) end++;
  if (end == text || *end || !(value >= 1) || value > 0x1p60) {
    hone_cli_usage(cli, "--%s: '%s' is no size; examples: 512M, 2G", option, text);
    return fallback;
  }
  return (size_t)value;
}
