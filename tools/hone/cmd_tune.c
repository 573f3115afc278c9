/* hone tune: of models (tune_model.c), and the tuning database: what is in it, taking
 * it elsewhere and back. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/memory.h"
#include "command.h"
#include "json.h"
#include "line.h"
#include "tune/database.h"
#include "tune_model.h"

/* One use of the command, while it runs. */
typedef struct job {
  hone_cli_t* cli;
  hone_arena_t* arena;
  const char* path; /* of the database */
  bool json;
} job_t;

static hone_status_t open_db(const job_t* job, hone_tune_db_mode_t mode, hone_tune_db_t** out_db) {
  return hone_tune_db_open(NULL, job->path, mode, out_db);
}

static int64_t file_count(const job_t* job) { return hone_cli_argument_count(job->cli) - 1; }

static const char* file_at(const job_t* job, int index) {
  return hone_cli_argument(job->cli, index + 1);
}

/* ---- records as JSON, from which the lines for people are made too ---- */

static json_t* record_json(const hone_tune_record_t* record) {
  json_t* object = json_object();
  json_object_set_new(object, "label", hone_json_string(record->label));
  json_object_set_new(object, "kernel", hone_json_string(record->key.kernel));
  json_object_set_new(object, "tactic", hone_json_string(record->key.tactic));
  json_object_set_new(object, "device", hone_json_string(record->key.device));
  json_object_set_new(object, "driver", hone_json_string(record->key.driver));
  json_object_set_new(object, "compiler", hone_json_string(record->key.compiler));
  json_object_set_new(object, "hone", hone_json_string(record->key.hone));
  return object;
}

static const char* text_of(const json_t* object, const char* name) {
  const char* text = json_string_value(json_object_get(object, name));
  return text ? text : "";
}

/* Adds a member that counts, or counts on. */
static void count_on(json_t* object, const char* name, int by) {
  json_int_t count = json_integer_value(json_object_get(object, name));
  json_object_set_new(object, name, json_integer(count + by));
}

static bool is_same_kernel(const json_t* object, const hone_tune_record_t* record) {
  return strcmp(text_of(object, "kernel"), record->key.kernel) == 0 &&
         strcmp(text_of(object, "tactic"), record->key.tactic) == 0 &&
         strcmp(text_of(object, "device"), record->key.device) == 0 &&
         strcmp(text_of(object, "driver"), record->key.driver) == 0 &&
         strcmp(text_of(object, "compiler"), record->key.compiler) == 0 &&
         strcmp(text_of(object, "hone"), record->key.hone) == 0;
}

typedef struct listing {
  json_t* kernels;
  bool only_best; /* then there is nothing to count */
} listing_t;

/* Records come ordered by key, the fastest first: one object for each key. */
static hone_status_t add_record(void* context, const hone_tune_record_t* record) {
  const listing_t* listing = context;
  json_t* kernels = listing->kernels;
  size_t count = json_array_size(kernels);
  json_t* last = count ? json_array_get(kernels, count - 1) : NULL;
  bool is_ok = record->outcome == HONE_OUTCOME_OK;
  if (!last || !is_same_kernel(last, record)) {
    last = record_json(record);
    if (json_array_append_new(kernels, last)) return hone_oom();
    json_object_set_new(last, "parameters",
                        is_ok ? hone_json_string(record->parameters) : json_null());
    json_object_set_new(last, "seconds", is_ok ? json_real(record->seconds) : json_null());
    json_object_set_new(last, "spread", is_ok ? json_real(record->spread) : json_null());
  }
  if (listing->only_best) return NULL;
  count_on(last, "ok", is_ok);
  count_on(last, "failed", !is_ok);
  return NULL;
}

static hone_tune_key_t asked_key(const job_t* job) {
  return (hone_tune_key_t){.kernel = hone_cli_text(job->cli, "kernel", NULL)};
}

/* An array with an object for each kernel. */
static hone_status_t read_kernels(const job_t* job, bool only_best, json_t** out_kernels) {
  hone_tune_db_t* db;
  hone_tune_key_t key = asked_key(job);
  *out_kernels = NULL;
  HONE_TRY(open_db(job, HONE_TUNE_DB_READ, &db));
  listing_t listing = {json_array(), only_best};
  hone_status_t status = hone_tune_db_each(db, &key, only_best, add_record, &listing);
  hone_tune_db_close(db);
  if (status)
    json_decref(listing.kernels);
  else
    *out_kernels = listing.kernels;
  return status;
}

/* ---- list and best ---- */

/* "12.3 us": three digits and a unit. */
static void append_seconds(hone_str_t* line, const json_t* object) {
  static const struct {
    double scale;
    const char* unit;
  } units[] = {{1, "s"}, {1e3, "ms"}, {1e6, "us"}, {1e9, "ns"}};
  const json_t* value = json_object_get(object, "seconds");
  double seconds = json_number_value(value);
  size_t at = 0;
  while (at < 3 && seconds * units[at].scale < 1) at++;
  if (json_is_number(value))
    hone_str_appendf(line, "%.3g %s", seconds * units[at].scale, units[at].unit);
  else
    hone_str_append(line, "-");
}

static hone_status_t print_list(const json_t* kernels) {
  hone_str_t line;
  size_t index;
  json_t* kernel;
  hone_status_t status = NULL;
  hone_str_init(&line, NULL);
  printf("%-32s %-12s %7s %7s  %-10s %s\n", "KERNEL", "TACTIC", "OK", "FAILED", "BEST", "DEVICE");
  json_array_foreach(kernels, index, kernel) {
    if (status) break;
    hone_str_appendf(&line, "%-32s %-12s %7d %7d  ", text_of(kernel, "label"),
                     text_of(kernel, "tactic"),
                     (int)json_integer_value(json_object_get(kernel, "ok")),
                     (int)json_integer_value(json_object_get(kernel, "failed")));
    size_t before = hone_line_width(&line);
    append_seconds(&line, kernel);
    hone_line_pad(&line, before + 11);
    hone_str_append(&line, text_of(kernel, "device"));
    status = hone_line_flush(&line);
  }
  hone_str_free(&line);
  return status;
}

static hone_status_t print_best(const json_t* kernels) {
  hone_str_t line;
  size_t index;
  json_t* kernel;
  hone_status_t status = NULL;
  hone_str_init(&line, NULL);
  json_array_foreach(kernels, index, kernel) {
    hone_str_appendf(&line, "%s  %s  ", text_of(kernel, "label"), text_of(kernel, "tactic"));
    append_seconds(&line, kernel);
    hone_str_appendf(&line, "  %s", text_of(kernel, "device"));
    if (!status) status = hone_line_flush(&line);
    hone_str_appendf(&line, "    %s", text_of(kernel, "parameters"));
    if (!status) status = hone_line_flush(&line);
  }
  if (json_array_size(kernels) == 0) printf("nothing was tuned yet\n");
  hone_str_free(&line);
  return status;
}

static hone_status_t show(job_t* job, bool only_best) {
  json_t* kernels;
  HONE_TRY(read_kernels(job, only_best, &kernels));
  if (job->json) {
    json_t* root = json_object();
    json_object_set_new(root, "database", hone_json_string(job->path));
    json_object_set_new(root, "kernels", kernels);
    return hone_json_print(root);
  }
  hone_status_t status = only_best ? print_best(kernels) : print_list(kernels);
  json_decref(kernels);
  return status;
}

static hone_status_t do_list(job_t* job) { return show(job, false); }
static hone_status_t do_best(job_t* job) { return show(job, true); }

/* ---- export and import ---- */

static hone_status_t do_export(job_t* job) {
  const char* file = file_count(job) ? file_at(job, 0) : "/dev/stdout";
  hone_tune_db_t* db;
  hone_tune_key_t key = asked_key(job);
  int64_t count;
  HONE_TRY(open_db(job, HONE_TUNE_DB_READ, &db));
  hone_status_t status =
      hone_tune_db_export(db, &key, hone_cli_has(job->cli, "best"), file, &count);
  hone_tune_db_close(db);
  if (status || !file_count(job)) return status;
  if (job->json)
    return hone_json_print(json_pack("{s:s, s:s, s:I}", "database", job->path, "file", file,
                                     "records", (json_int_t)count));
  printf("%lld records to %s\n", (long long)count, file);
  return NULL;
}

static hone_status_t print_merge(const job_t* job, const hone_tune_merge_t* merge) {
  const int64_t* count = merge->count;
  long long added = count[HONE_TUNE_PUT_ADDED], same = count[HONE_TUNE_PUT_SAME],
            replaced = count[HONE_TUNE_PUT_REPLACED], kept = count[HONE_TUNE_PUT_KEPT];
  if (job->json)
    return hone_json_print(json_pack("{s:s, s:I, s:I, s:I, s:I}", "database", job->path, "added",
                                     (json_int_t)added, "same", (json_int_t)same, "replaced",
                                     (json_int_t)replaced, "kept", (json_int_t)kept));
  printf("%lld added, %lld there already, %lld in conflict (%lld replaced, %lld kept)\n", added,
         same, replaced + kept, replaced, kept);
  return NULL;
}

static hone_status_t do_import(job_t* job) {
  hone_tune_db_t* db;
  hone_tune_merge_t sum = {{0}};
  hone_status_t status = NULL;
  HONE_TRY(open_db(job, HONE_TUNE_DB_WRITE, &db));
  for (int i = 0; i < file_count(job) && !status; i++) {
    hone_tune_merge_t merge;
    status = hone_tune_db_import(db, file_at(job, i), &merge);
    for (int k = 0; k <= HONE_TUNE_PUT_KEPT; k++) sum.count[k] += merge.count[k];
  }
  hone_tune_db_close(db);
  return status ? status : print_merge(job, &sum);
}

/* ---- care ---- */

static hone_status_t do_check(job_t* job) {
  hone_tune_db_t* db;
  HONE_TRY(open_db(job, HONE_TUNE_DB_READ, &db));
  hone_status_t status = hone_tune_db_check(db);
  hone_tune_db_close(db);
  if (status) return status;
  if (job->json) return hone_json_print(json_pack("{s:s, s:b}", "database", job->path, "sound", 1));
  printf("%s is sound\n", job->path);
  return NULL;
}

static hone_status_t do_set_aside(job_t* job) {
  char* fresh;
  HONE_TRY(hone_tune_db_set_aside(job->arena, job->path, &fresh));
  if (job->json)
    return hone_json_print(json_pack("{s:s, s:s}", "database", job->path, "renamed_to", fresh));
  printf("%s is now %s\n", job->path, fresh);
  return NULL;
}

/* ---- the command ---- */

typedef struct action {
  const char* name;
  int min_files, max_files; /* max -1: any number */
  hone_status_t (*run)(job_t* job);
} action_t;

static const action_t actions[] = {
    {"list", 0, 0, do_list},      {"best", 0, 0, do_best},   {"export", 0, 1, do_export},
    {"import", 1, -1, do_import}, {"check", 0, 0, do_check}, {"set-aside", 0, 0, do_set_aside},
};

static const action_t* find_action(const char* name) {
  for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
    if (strcmp(actions[i].name, name) == 0) return &actions[i];
  return NULL;
}

static hone_status_t perform(job_t* job, const action_t* action) {
  char* path = NULL;
  job->path = hone_cli_text(job->cli, "db", NULL);
  if (!job->path) HONE_TRY(hone_tune_db_default_path(job->arena, &path));
  if (!job->path) job->path = path;
  return action->run(job);
}

/* A name without a dot that is no file is rather an action, misspelt. */
static bool looks_like_a_file(const char* name) {
  return strpbrk(name, "./") || access(name, F_OK) == 0;
}

static int run_tune(hone_cli_t* cli) {
  const char* name = hone_cli_argument(cli, 0);
  const action_t* action = find_action(name);
  job_t job = {.cli = cli, .json = hone_cli_has(cli, "json")};
  if (!action && looks_like_a_file(name)) return hone_cli_tune_models(cli);
  if (!action)
    return hone_cli_usage(cli,
                          "there is no model '%s', nor anything to do of that name: list, best, "
                          "export, import, check, set-aside",
                          name);
  if (file_count(&job) < action->min_files) return hone_cli_usage(cli, "%s needs a file", name);
  if (action->max_files >= 0 && file_count(&job) > action->max_files)
    return hone_cli_usage(cli, "%s takes no '%s'", name, file_at(&job, action->max_files));
  if (hone_cli_has(cli, "best") && action->run != do_export)
    return hone_cli_usage(cli, "--best is for export");
  hone_status_t status = hone_arena_create(NULL, &job.arena);
  if (!status) status = perform(&job, action);
  hone_arena_destroy(job.arena);
  return status ? hone_cli_fail(cli, status) : HONE_EXIT_OK;
}

static const hone_option_t options[] = {
    {.name = "budget",
     .argument = "TIME",
     .help = "tune for so long, compiling included: 60s (without it), 500ms, 2m, 1h; 0 says what "
             "the database has"},
    {.name = "device",
     .letter = 'd',
     .argument = "DEVICE",
     .help = "what to tune for, cpu without it; see `hone devices`",
     .complete = HONE_COMPLETE_DEVICE},
    {.name = "threads", .argument = "COUNT", .help = "that runs will use; 0: all"},
    {.name = "deterministic", .help = "tune for runs that are"},
    HONE_OPTION_PRECISION,
    HONE_OPTION_EXACT,
    {.name = "strategy",
     .argument = "NAME",
     .help = "how to choose what to try next, learned without it",
     .complete = HONE_COMPLETE_CHOICE,
     .choices = "learned evolve grid random"},
    {.name = "trials", .argument = "COUNT", .help = "try at most so many ways for each kernel"},
    {.name = "early-stopping",
     .argument = "COUNT",
     .help = "end with a kernel after so many trials without a gain"},
    {.name = "repeats", .argument = "COUNT", .help = "measure each so often, 3 without it"},
    {.name = "build-timeout",
     .argument = "TIME",
     .help = "give up on what is not built by then, 10s without it"},
    {.name = "run-timeout",
     .argument = "TIME",
     .help = "give up on what runs longer, 4s without it"},
    {.name = "seed", .argument = "NUMBER", .help = "other random choices"},
    {.name = "retry-failures", .help = "try again what the database says failed or was refused"},
    {.name = "log",
     .argument = "FILE",
     .help = "append a line for each trial and verdict, which import reads",
     .complete = HONE_COMPLETE_FILE},
    {.name = "db",
     .argument = "FILE",
     .help = "the database; without it $XDG_CACHE_HOME/hone/tune.db or ~/.cache/hone/tune.db",
     .complete = HONE_COMPLETE_FILE},
    {.name = "kernel", .argument = "DIGEST", .help = "only this kernel, as --json names it"},
    {.name = "best", .help = "export only the best of each kernel"},
    HONE_OPTION_DIM,
    HONE_OPTION_MEM_LIMIT,
    HONE_OPTION_JSON,
};

extern const hone_command_t hone_command_tune;
const hone_command_t hone_command_tune = {
    .name = "tune",
    .summary = "find faster kernels for a model by trying, and look after what was found",
    .arguments = "MODEL|ACTION [FILE]...",
    .min_arguments = 1,
    .max_arguments = -1,
    .complete = HONE_COMPLETE_FILE,
    .description =
        "With models: tries ways to build their kernels on the device until the budget is spent, "
        "and keeps what each took in a database, which compiling asks from then on. It may be "
        "stopped at any time, killed too; another tuning goes on where it was. At the end the "
        "model is run with and without what was found, and only what makes these runs faster "
        "is used.\n\n"
        "Else ACTION is one of: list (each kernel that was tuned, how many of its candidates could "
        "be measured, and the best time), best (the parameters of the fastest that whole runs "
        "confirmed, or else did not refuse), export (all "
        "measurements as JSON lines, to FILE or standard output), import (merges files written by "
        "export or --log, or other databases), check (reads the whole database), set-aside "
        "(renames a damaged database to FILE.corrupt, so that a new one can be begun).\n\n"
        "An import is whole or not at all. Where both sides know a candidate, a wrong result "
        "stays, a success beats any other failure, and the faster success wins; such conflicts are "
        "counted.",
    .examples =
        "  hone tune net.onnx --budget 5m --dim batch=1\n"
        "  hone tune best\n"
        "  hone tune export --best tuned.jsonl   # to ship with a model\n"
        "  hone tune import tuned.jsonl other/tune.db\n"
        "  hone tune list --json | jq '.kernels[] | select(.failed > 0)'",
    .n_options = sizeof options / sizeof *options,
    .options = options,
    .run = run_tune,
};
