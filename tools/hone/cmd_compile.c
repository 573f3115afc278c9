/* hone compile: a model becomes an engine file. */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/trace.h"
#include "command.h"

enum { MOST_PASSES = 64 };

/* What --dump asked for; its texts go to stdout. */
static void print_text(void* self, const char* kind, const char* name, const char* text) {
  const char* kinds = self;
  size_t length = strlen(kind);
  for (const char* at = kinds; *at; at += strcspn(at, ","), at += *at == ',')
    if (strcspn(at, ",") == length && strncmp(at, kind, length) == 0)
      printf("== %s %s\n%s\n", kind, name, text);
}

static hone_status_t set_options(hone_cli_t* cli, const char** passes,
                                 hone_engine_options_t* options) {
  *options = (hone_engine_options_t){.struct_size = sizeof *options,
                                     .device = hone_cli_text(cli, "device", NULL),
                                     .target = hone_cli_text(cli, "target", NULL),
                                     .threads = hone_cli_threads(cli),
                                     .deterministic = hone_cli_has(cli, "deterministic"),
                                     .passes_off = passes,
                                     .precision = hone_cli_text(cli, "precision", NULL)};
  for (int i = 0; i < hone_cli_count(cli, "no-pass") && i < MOST_PASSES; i++)
    passes[options->n_passes_off++] = hone_cli_text_at(cli, "no-pass", i);
  if (hone_cli_has(cli, "dump")) {
    options->dump = print_text;
    options->dump_self = (void*)(uintptr_t)hone_cli_text(cli, "dump", "");
  }
  HONE_TRY(hone_cli_allocator(cli, &options->allocator));
  return hone_cli_dims(cli, &options->n_dims, &options->dims);
}

static void print_report(hone_cli_t* cli, const hone_engine_info_t* info, double seconds) {
  if (hone_cli_has(cli, "json")) {
    hone_str_t text;
    hone_str_init(&text, NULL);
    hone_str_append(&text, "{\"target\": ");
    hone_str_append_json(&text, info->target, strlen(info->target));
    hone_str_appendf(
        &text,
        ", \"precision\": \"%s\", \"kernels\": %d, \"interpreted\": %d, \"weight_bytes\": %llu, "
        "\"kernel_bytes\": %llu, \"compile_ms\": %.3f}\n",
        info->precision, info->n_kernels, info->n_interpreted,
        (unsigned long long)info->weight_bytes, (unsigned long long)info->kernel_bytes,
        seconds * 1e3);
    fputs(hone_str_text(&text), stdout);
    hone_str_free(&text);
    return;
  }
  printf("%d kernel%s for %s on %s in %.2f s, %.2f MB of code, %.2f MB of weights\n",
         info->n_kernels, info->n_kernels == 1 ? "" : "s", info->target, info->device, seconds,
         (double)info->kernel_bytes / 1e6, (double)info->weight_bytes / 1e6);
  if (info->n_interpreted)
    printf("%d of its steps: interpreted, since no kernel expresses them\n", info->n_interpreted);
  if (!info->runs_here) printf("it does not run on this machine\n");
}

static hone_status_t compile(hone_cli_t* cli, const hone_model_t* model) {
  const char* passes[MOST_PASSES];
  hone_engine_options_t options;
  HONE_TRY(set_options(cli, passes, &options));
  hone_engine_t* engine;
  int64_t start = hone_clock_ns();
  HONE_TRY(hone_engine_compile(model, &options, &engine));
  double seconds = (double)(hone_clock_ns() - start) * 1e-9;
  const char* path = hone_cli_text(cli, "out", NULL);
  hone_status_t status = path ? hone_engine_save(engine, path) : NULL;
  if (!status) {
    hone_engine_info_t info;
    hone_engine_describe(engine, &info);
    print_report(cli, &info, seconds);
  }
  hone_engine_destroy(engine);
  return status;
}

static int run_compile(hone_cli_t* cli) {
  hone_model_t* model = NULL;
  hone_cli_threads(cli);
  if (!hone_cli_ok(cli)) return HONE_EXIT_USAGE;
  hone_status_t status = hone_cli_load(cli, 0, &model);
  if (!status) status = compile(cli, model);
  hone_model_destroy(model);
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
    HONE_OPTION_PRECISION,
    {.name = "no-pass",
     .argument = "NAME",
     .repeats = true,
     .help = "run all passes but this one; may be given several times"},
    {.name = "dump",
     .argument = "KINDS",
     .help = "print what is made on the way: ir, kernels, source, plan, separated by commas"},
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
