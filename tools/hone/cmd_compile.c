/* hone compile: a model becomes an engine file. */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/trace.h"
#include "command.h"
#include "compile_mixed.h"
#include "json.h"

enum { MOST_PASSES = 64 };

/* What is to be told of compiling beside the report. */
typedef struct wishes {
  const char* kinds; /* of --dump, separated by commas; "" */
  bool explains, is_json;
  hone_str_t passes;          /* what they did, as JSON */
  hone_mixed_report_t* mixed; /* what was chosen; NULL: nothing was */
} wishes_t;

static bool lists(const char* kinds, const char* kind) {
  size_t length = strlen(kind);
  for (const char* at = kinds; *at; at += strcspn(at, ","), at += *at == ',')
    if (strcspn(at, ",") == length && strncmp(at, kind, length) == 0) return true;
  return false;
}

/* Texts go to stdout, and make room there for the document of --json. What passes did
 * goes to stderr, as `hone dump` has it, or into the document. */
static void take_text(void* self, const char* kind, const char* name, const char* text) {
  wishes_t* wishes = self;
  if (lists(wishes->kinds, kind))
    fprintf(wishes->is_json ? stderr : stdout, "== %s %s\n%s\n", kind, name, text);
  if (!wishes->explains) return;
  if (wishes->is_json && strcmp(kind, "passes.json") == 0) hone_str_append(&wishes->passes, text);
  if (!wishes->is_json && strcmp(kind, "passes") == 0) fputs(text, stderr);
}

/* False, and a usage error, for a kind that there is not. */
static bool check_kinds(hone_cli_t* cli) {
  static const char known[] = "ir,kernels,source,asm,plan,passes";
  const char* kinds = hone_cli_text(cli, "dump", "ir");
  for (const char* at = kinds; at; at = strchr(at, ',')) {
    char kind[16];
    at += *at == ',';
    snprintf(kind, sizeof kind, "%.*s", (int)strcspn(at, ","), at);
    if (*kind && lists(known, kind)) continue;
    hone_cli_usage(cli, "--dump takes words of %s, not '%s'", known, kind);
    return false;
  }
  return true;
}

static hone_status_t set_options(hone_cli_t* cli, const char** passes, wishes_t* wishes,
                                 hone_engine_options_t* options) {
  *options = (hone_engine_options_t){.struct_size = sizeof *options,
                                     .device = hone_cli_text(cli, "device", NULL),
                                     .target = hone_cli_text(cli, "target", NULL),
                                     .threads = hone_cli_threads(cli),
                                     .deterministic = hone_cli_has(cli, "deterministic"),
                                     .no_tuned = hone_cli_has(cli, "no-tuned"),
                                     .tuned_database = hone_cli_text(cli, "db", NULL),
                                     .passes_off = passes,
                                     .guard = hone_cli_has(cli, "guard"),
                                     .dump_asm = lists(wishes->kinds, "asm"),
                                     .precision = hone_cli_text(cli, "precision", NULL),
                                     .exact = hone_cli_has(cli, "exact"),
                                     .no_engine_cache = hone_cli_has(cli, "no-engine-cache")};
  for (int i = 0; i < hone_cli_count(cli, "no-pass") && i < MOST_PASSES; i++)
    passes[options->n_passes_off++] = hone_cli_text_at(cli, "no-pass", i);
  if (*wishes->kinds || wishes->explains) {
    options->dump = take_text;
    options->dump_self = wishes;
  }
  HONE_TRY(hone_cli_allocator(cli, &options->allocator));
  return hone_cli_dims(cli, &options->n_dims, &options->dims);
}

static hone_status_t print_json(const hone_engine_info_t* info, double seconds,
                                const wishes_t* wishes) {
  json_t* root = json_object();
  json_object_set_new(root, "device", hone_json_string(info->device));
  json_object_set_new(root, "target", hone_json_string(info->target));
  json_object_set_new(root, "precision", hone_json_string(info->precision));
  json_object_set_new(root, "kernels", json_integer(info->n_kernels));
  json_object_set_new(root, "interpreted", json_integer(info->n_interpreted));
  json_object_set_new(root, "weight_bytes", json_integer((json_int_t)info->weight_bytes));
  json_object_set_new(root, "kernel_bytes", json_integer((json_int_t)info->kernel_bytes));
  json_object_set_new(root, "compile_ms", json_real(seconds * 1e3));
  json_object_set_new(root, "runs_here", json_boolean(info->runs_here));
  json_object_set_new(root, "guard", json_boolean(info->guard));
  json_object_set_new(root, "from_cache", json_boolean(info->from_cache));
  if (wishes->mixed) json_object_set_new(root, "mixed", hone_mixed_json(wishes->mixed));
  bool failed =
      wishes->explains &&
      json_object_set_new(root, "passes", json_loads(hone_str_text(&wishes->passes), 0, NULL));
  if (!failed) return hone_json_print(root);
  json_decref(root);
  return hone_json_print(NULL);
}

static hone_status_t print_report(const hone_engine_info_t* info, double seconds,
                                  const wishes_t* wishes) {
  if (wishes->is_json) return print_json(info, seconds, wishes);
  printf("%d kernel%s for %s on %s in %.2f s, %.2f MB of code, %.2f MB of weights\n",
         info->n_kernels, info->n_kernels == 1 ? "" : "s", info->target, info->device, seconds,
         (double)info->kernel_bytes / 1e6, (double)info->weight_bytes / 1e6);
  if (wishes->mixed) hone_mixed_print(wishes->mixed, stdout);
  if (wishes->mixed && wishes->explains) hone_mixed_explain(wishes->mixed, stderr);
  if (info->n_interpreted)
    printf("%d of its steps: interpreted, since no kernel expresses them\n", info->n_interpreted);
  if (info->from_cache) printf("it was compiled before, and is from the engine cache\n");
  if (!info->runs_here) printf("it does not run on this machine\n");
  if (info->guard) printf("its kernels are watched wherever it runs, which is slow\n");
  return NULL;
}

static hone_status_t finish(hone_engine_t* engine, const char* path, double seconds,
                            const wishes_t* wishes) {
  if (path) HONE_TRY(hone_engine_save(engine, path));
  hone_engine_info_t info;
  hone_engine_describe(engine, &info);
  return print_report(&info, seconds, wishes);
}

static hone_status_t compile(hone_cli_t* cli, const hone_model_t* model, wishes_t* wishes) {
  const char* passes[MOST_PASSES];
  hone_engine_options_t options;
  HONE_TRY(set_options(cli, passes, wishes, &options));
  hone_engine_t* engine;
  int64_t start = hone_clock_ns();
  HONE_TRY(hone_mixed_is_asked(cli)
               ? hone_mixed_compile(cli, model, &options, &engine, &wishes->mixed)
               : hone_engine_compile(model, &options, &engine));
  double seconds = (double)(hone_clock_ns() - start) * 1e-9;
  hone_status_t status = finish(engine, hone_cli_text(cli, "out", NULL), seconds, wishes);
  hone_engine_destroy(engine);
  return status;
}

static int run_compile(hone_cli_t* cli) {
  hone_model_t* model = NULL;
  wishes_t wishes = {.kinds = hone_cli_text(cli, "dump", ""),
                     .explains = hone_cli_has(cli, "explain-passes"),
                     .is_json = hone_cli_has(cli, "json")};
  hone_cli_threads(cli);
  hone_cli_int(cli, "seed", 0);
  hone_mixed_bound(cli);
  static const char* const of_mixed[] = {"error-bound", "data", "seed"};
  for (int i = 0; i < 3 && !hone_mixed_is_asked(cli); i++)
    if (hone_cli_has(cli, of_mixed[i]))
      hone_cli_usage(cli, "--%s goes with --precision mixed", of_mixed[i]);
  if (!check_kinds(cli) || !hone_cli_ok(cli)) return HONE_EXIT_USAGE;
  hone_str_init(&wishes.passes, NULL);
  hone_status_t status = hone_cli_load(cli, 0, &model);
  if (!status) status = compile(cli, model, &wishes);
  hone_model_destroy(model);
  hone_mixed_report_destroy(wishes.mixed);
  hone_str_free(&wishes.passes);
  return status ? hone_cli_fail(cli, status) : HONE_EXIT_OK;
}

static const hone_option_t options[] = {
    {.name = "out",
     .letter = 'o',
     .argument = "FILE",
     .help = "write the engine to this file (.hone)",
     .complete = HONE_COMPLETE_FILE},
    {.name = "device",
     .letter = 'd',
     .argument = "DEVICE",
     .help = "what to compile for, cpu without it; see `hone devices`",
     .complete = HONE_COMPLETE_DEVICE},
    {.name = "target",
     .argument = "NAME",
     .help = "another kind of machine than this one, for example x86-64-v3 or aarch64"},
    HONE_OPTION_THREADS,
    HONE_OPTION_DETERMINISTIC,
    {.name = "precision",
     .argument = "KIND",
     .help = HONE_PRECISION_HELP "; mixed: narrow where it gains time, as far as --error-bound "
                                 "goes",
     .complete = HONE_COMPLETE_CHOICE,
     .choices = HONE_PRECISIONS " mixed"},
    {.name = "error-bound",
     .argument = "NUMBER",
     .help = "of --precision mixed: the largest difference to fp32 in the outputs, relative to "
             "the largest number there; 1e-2 without it"},
    {.name = "data",
     .argument = "FILE",
     .help = "of --precision mixed: what to measure on, an .npz with all inputs; random numbers "
             "without it",
     .complete = HONE_COMPLETE_FILE},
    {.name = "seed", .argument = "NUMBER", .help = "other random numbers"},
    HONE_OPTION_EXACT,
    HONE_OPTION_NO_ENGINE_CACHE,
    {.name = "guard",
     .help = "an engine that finds kernels that access memory outside of their buffers, and "
             "names them, wherever it runs; slow"},
    {.name = "no-tuned", .help = "build kernels without asking what `hone tune` found"},
    {.name = "db",
     .argument = "FILE",
     .help = "the database of `hone tune`; without it the usual one, if there is one",
     .complete = HONE_COMPLETE_FILE},
    {.name = "no-pass",
     .argument = "NAME",
     .repeats = true,
     .help = "run all passes but this one; may be given several times"},
    {.name = "explain-passes",
     .help = "say on stderr what each pass did, node by node; with --json in the document"},
    {.name = "dump",
     .argument = "KINDS",
     .help = "print what is made on the way: ir, kernels, source, asm (machine code, for which "
             "the compiler runs once more), plan, passes, separated by commas"},
    HONE_OPTION_DIM,
    HONE_OPTION_MEM_LIMIT,
    HONE_OPTION_JSON,
};

extern const hone_command_t hone_command_compile;
const hone_command_t hone_command_compile = {
    .name = "compile",
    .summary = "compile a model for a device, as an engine file",
    .arguments = "MODEL",
    .min_arguments = 1,
    .max_arguments = 1,
    .complete = HONE_COMPLETE_FILE,
    .description =
        "Compiles a model for a device and says what became of it. The engine file that --out "
        "asks for runs without the model and without a compiler.",
    .examples =
        "  hone compile net.onnx -o net.hone\n"
        "  hone compile net.onnx --dim batch=1..64 --dump kernels | less",
    .n_options = sizeof options / sizeof *options,
    .options = options,
    .run = run_compile,
};
