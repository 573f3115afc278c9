/* hone run: a model, or an engine file, on inputs from files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "run.h"

/* ---- running ---- */

void hone_run_record(void* self, const hone_profile_event_t* event) {
  char name[256];
  snprintf(name, sizeof name, "%s%s%s", event->origin, *event->origin ? ": " : "",
           event->primitive);
  hone_trace_complete(self, name, (int64_t)event->start_ns, (int64_t)event->duration_ns);
}

static void release_outputs(hone_run_t* run) {
  for (int i = 0; run->outputs && i < run->n_outputs; i++) {
    hone_tensor_release(run->outputs[i].tensor);
    run->outputs[i].tensor = NULL;
  }
}

/* One run, which replaces the outputs of the one before. */
static hone_status_t run_once(hone_run_t* run, hone_trace_t* trace, hone_tensor_t** results) {
  hone_run_options_t options = {.struct_size = sizeof options,
                                .seed = (uint64_t)hone_cli_int(run->cli, "seed", 0),
                                .profile = trace ? hone_run_record : NULL,
                                .profile_self = trace};
  release_outputs(run);
  int64_t start = hone_clock_ns();
  hone_trace_begin(trace, "run");
  hone_status_t status =
      hone_session_run(run->session, &options, run->n_inputs, run->inputs, run->n_outputs, results);
  hone_trace_end(trace);
  if (status) return status;
  run->milliseconds[run->n_runs++] = (double)(hone_clock_ns() - start) / 1e6;
  for (int i = 0; i < run->n_outputs; i++) run->outputs[i].tensor = results[i];
  return NULL;
}

static hone_status_t run_all(hone_run_t* run, int64_t repeat, hone_trace_t* trace) {
  hone_tensor_t** results =
      hone_arena_array(run->arena, (size_t)run->n_outputs, sizeof(hone_tensor_t*));
  run->milliseconds = hone_arena_array(run->arena, (size_t)repeat, sizeof *run->milliseconds);
  if (!results || !run->milliseconds) return hone_oom();
  for (int64_t i = 0; i < repeat; i++) HONE_TRY(run_once(run, trace, results));
  return NULL;
}

static hone_status_t run_profiled(hone_run_t* run) {
  enum { MAX_REPEAT = 1000000 };
  int64_t repeat = hone_cli_int(run->cli, "repeat", 1);
  if (repeat < 1 || repeat > MAX_REPEAT)
    return hone_status_make(HONE_INVALID_ARGUMENT, "--repeat takes a number from 1 to %d",
                            MAX_REPEAT);
  const char* path = hone_cli_text(run->cli, "profile", NULL);
  hone_trace_t* trace = NULL;
  if (path) HONE_TRY(hone_trace_create(NULL, path, &trace));
  hone_status_t status = run_all(run, repeat, trace);
  hone_status_t closed = hone_trace_close(trace);
  if (!status) return closed;
  hone_status_free(closed);
  return status;
}

static int compare_times(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

void hone_run_times(const hone_run_t* run, double* out_best, double* out_median) {
  qsort(run->milliseconds, (size_t)run->n_runs, sizeof *run->milliseconds, compare_times);
  *out_best = run->milliseconds[0];
  *out_median = run->milliseconds[run->n_runs / 2];
}

/* ---- the whole ---- */

static hone_status_t do_run(hone_run_t* run) {
  hone_cli_t* cli = run->cli;
  HONE_TRY(hone_cli_allocator(cli, &run->allocator));
  HONE_TRY(hone_arena_create(NULL, &run->arena));
  HONE_TRY(hone_subject_open(cli, 0, NULL, &run->subject));
  run->session = run->subject.session;
  run->n_inputs = hone_session_input_count(run->session);
  run->n_outputs = hone_session_output_count(run->session);
  HONE_TRY(hone_run_plan_outputs(run));
  HONE_TRY(hone_run_plan_inputs(run));
  HONE_TRY(hone_run_read_inputs(run));
  HONE_TRY(run_profiled(run));
  HONE_TRY(hone_run_write_outputs(run));
  return hone_cli_has(cli, "json") ? hone_run_print_json(run) : hone_run_print(run);
}

static void close_run(hone_run_t* run) {
  release_outputs(run);
  for (int i = 0; run->inputs && i < run->n_inputs; i++) hone_tensor_release(run->inputs[i]);
  hone_subject_close(&run->subject);
  hone_arena_destroy(run->arena);
}

static int run_run(hone_cli_t* cli) {
  hone_run_t run = {.cli = cli, .n_models = 1, .make_up = hone_cli_has(cli, "random")};
  /* Numbers are looked at first: a wrong one is a usage error, whatever the files. */
  hone_cli_int(cli, "seed", 0);
  hone_cli_int(cli, "repeat", 1);
  hone_cli_bytes(cli, "mem-limit", 0);
  hone_cli_threads(cli);
  if (!hone_cli_ok(cli)) return HONE_EXIT_USAGE;
  hone_status_t status = do_run(&run);
  close_run(&run);
  return status ? hone_cli_fail(cli, status) : HONE_EXIT_OK;
}

static const hone_option_t options[] = {
    HONE_OPTION_INPUT,
    {.name = "random", .help = "make up the inputs that are not given, see --seed"},
    HONE_OPTION_SHAPE,
    {.name = "preprocess",
     .argument = "[NAME:]WORDS",
     .repeats = true,
     .help = "how a picture becomes an input, see WORDS above"},
    {.name = "output",
     .letter = 'o',
     .argument = "NAME=FILE",
     .repeats = true,
     .help = "write an output; NAME may be left out for the only one, and for all in an .npz",
     .complete = HONE_COMPLETE_FILE},
    {.name = "output-dir",
     .argument = "FOLDER",
     .help = "write every output that has no file to FOLDER/NAME.npy",
     .complete = HONE_COMPLETE_FOLDER},
    {.name = "postprocess",
     .argument = "[NAME:]WORDS",
     .repeats = true,
     .help = "the words of --preprocess for an output that is written as a picture: the way back"},
    {.name = "top-k",
     .argument = "[NAME=]COUNT",
     .repeats = true,
     .help = "print the most likely classes of an output (the first one without NAME)"},
    {.name = "labels",
     .argument = "FILE",
     .help = "names of the classes for --top-k, one a line",
     .complete = HONE_COMPLETE_FILE},
    HONE_OPTION_DIM,
    HONE_OPTION_DEVICE,
    HONE_OPTION_THREADS,
    HONE_OPTION_DETERMINISTIC,
    HONE_OPTION_GUARD,
    HONE_OPTION_PRECISION,
    HONE_OPTION_EXACT,
    HONE_OPTION_NO_ENGINE_CACHE,
    HONE_OPTION_MEM_LIMIT,
    {.name = "seed", .argument = "NUMBER", .help = "for --random and for random operators"},
    {.name = "repeat",
     .argument = "COUNT",
     .help = "run several times, and print the best and the median time"},
    {.name = "profile",
     .argument = "FILE",
     .help = "write what ran when as a Chrome trace (for Perfetto)",
     .complete = HONE_COMPLETE_FILE},
    HONE_OPTION_JSON,
};

static const char description[] =
    "Runs a model, or an engine file that `hone compile` wrote, and prints what came out. An\n"
    "engine runs where it was compiled for, and needs neither the model nor a compiler; a model\n"
    "runs on ref unless --device says otherwise.\n"
    "\n"
    "Files are understood by the end of their name:\n"
    ".npy .npz (NumPy), .pb (ONNX), .raw .bin (elements as in memory), .txt (numbers, or strings\n"
    "one a line), .png .jpg .ppm .pgm (pictures). Inputs may also follow the model, in order.\n"
    "\n"
    "WORDS for pictures are separated by commas. Going in, in this order: resize=WIDTHxHEIGHT (or\n"
    "one number for the shorter side), crop=WIDTHxHEIGHT of the middle, channels=rgb, bgr or "
    "gray,\n"
    "then value = (pixel * scale - mean) / std with scale=1/255, mean=0.485/0.456/0.406 and\n"
    "std=0.229/0.224/0.225, then layout=nchw, nhwc, chw, hwc or hw. filter=nearest resizes "
    "without\n"
    "mixing pixels. Without WORDS pixels are 0 to 255, and layout and channels follow the model.\n"
    "\n"
    "--top-k takes values that lie in 0 to 1 and sum to 1 as probabilities, and the softmax of\n"
    "all others. Files are written whole or not at all.";

extern const hone_command_t hone_command_run;
const hone_command_t hone_command_run = {
    .name = "run",
    .summary = "run a model or an engine on inputs from files",
    .arguments = "MODEL|ENGINE [INPUT...]",
    .min_arguments = 1,
    .max_arguments = -1,
    .complete = HONE_COMPLETE_FILE,
    .description = description,
    .examples =
        "  hone run model.onnx x.npy -o y.npy\n"
        "  hone run net.onnx cat.jpg --preprocess resize=256,crop=224,scale=1/255 --top-k 5\n"
        "  hone run model.hone x.npy --threads 2   # an engine file\n"
        "  hone run model.onnx --random --dim batch=4 --repeat 10 --profile trace.json",
    .n_options = sizeof options / sizeof *options,
    .options = options,
    .run = run_run,
};
