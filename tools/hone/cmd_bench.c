/* hone bench: how long models take. Each model (or engine) on each device is an
 * entry; entries are timed by turns (rounds.h), so that a machine that is slower
 * for a while is so for all of them. Peers (--vs) are compared with as versus.h says. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu_count.h"
#include "base/memory.h"
#include "versus.h"

enum { WARMUP = 3, SECONDS = 3 };

/* ---- entries ---- */

hone_status_t hone_bench_run_entry(void* self) {
  hone_bench_entry_t* entry = self;
  hone_run_t* run = &entry->run;
  hone_run_options_t options = {.struct_size = sizeof options,
                                .seed = (uint64_t)hone_cli_int(run->cli, "seed", 0)};
  return hone_session_run(run->session, &options, run->n_inputs, run->inputs, run->n_outputs,
                          entry->outputs);
}

void hone_bench_drop_outputs(void* self) {
  hone_bench_entry_t* entry = self;
  for (int i = 0; i < entry->run.n_outputs; i++) {
    hone_tensor_release(entry->outputs[i]);
    entry->outputs[i] = NULL;
  }
}

/* Devices that are not made of threads of the host, or do not share work out, have one. */
static int count_threads(hone_cli_t* cli, const hone_session_info_t* info) {
  int asked = hone_cli_threads(cli), usable = hone_cpu_count();
  if (strcmp(info->device, "ref") == 0) return 1;
  return asked && asked < usable ? asked : usable;
}

static hone_status_t open_entry(hone_bench_t* bench, hone_bench_entry_t* entry, int model,
                                const char* device) {
  hone_run_t* run = &entry->run;
  run->cli = bench->cli;
  run->arena = bench->arena;
  run->n_models = hone_cli_argument_count(bench->cli);
  run->make_up = true;
  HONE_TRY(hone_cli_allocator(bench->cli, &run->allocator));
  HONE_TRY(hone_subject_open(bench->cli, model, device, &run->subject));
  run->session = run->subject.session;
  run->n_inputs = hone_session_input_count(run->session);
  run->n_outputs = hone_session_output_count(run->session);
  entry->outputs = hone_arena_array(bench->arena, (size_t)run->n_outputs, sizeof(hone_tensor_t*));
  if (!entry->outputs) return hone_oom();
  hone_session_describe(run->session, &entry->info);
  entry->threads = count_threads(bench->cli, &entry->info);
  HONE_TRY(hone_run_plan_inputs(run));
  return hone_run_read_inputs(run);
}

static void close_entry(hone_bench_entry_t* entry) {
  hone_run_t* run = &entry->run;
  for (int i = 0; run->inputs && i < run->n_inputs; i++) hone_tensor_release(run->inputs[i]);
  hone_subject_close(&run->subject);
}

/* Models without a device of their own are for the CPU here. */
static const char* device_at(hone_cli_t* cli, int model, int index) {
  if (hone_cli_count(cli, "device")) return hone_cli_text_at(cli, "device", index);
  return hone_subject_is_engine(hone_cli_argument(cli, model)) ? NULL : "cpu";
}

static hone_status_t open_all(hone_bench_t* bench) {
  int models = hone_cli_argument_count(bench->cli), devices = hone_cli_count(bench->cli, "device");
  if (!devices) devices = 1;
  size_t count = (size_t)models * (size_t)devices;
  bench->entries = hone_arena_array(bench->arena, count, sizeof *bench->entries);
  bench->contestants = hone_arena_array(bench->arena, count, sizeof *bench->contestants);
  if (!bench->entries || !bench->contestants) return hone_oom();
  for (int i = 0; i < models * devices; i++) {
    hone_bench_entry_t* entry = &bench->entries[bench->n_entries++];
    const char* device = device_at(bench->cli, i / devices, i % devices);
    hone_progress_show(&bench->progress, 0, hone_cli_argument(bench->cli, i / devices));
    HONE_TRY(hone_status_annotate(open_entry(bench, entry, i / devices, device), "%s",
                                  hone_cli_argument(bench->cli, i / devices)));
    bench->contestants[i] = (hone_contestant_t){
        .run = hone_bench_run_entry, .after = hone_bench_drop_outputs, .self = entry};
  }
  return NULL;
}

/* ---- measuring ---- */

static void show_round(void* self, double part, int64_t round) {
  hone_bench_t* bench = self;
  char text[64];
  snprintf(text, sizeof text, "round %lld", (long long)round + 1);
  hone_progress_show(&bench->progress, part, text);
}

static hone_status_t measure(hone_bench_t* bench) {
  bench->rounds.progress = show_round;
  bench->rounds.progress_self = bench;
  HONE_TRY(hone_rounds_run(bench->n_entries, bench->contestants, &bench->rounds));
  for (int i = 0; i < bench->n_entries; i++)
    bench->entries[i].times =
        hone_times_find(bench->contestants[i].n_runs, bench->contestants[i].milliseconds);
  return NULL;
}

static void close_bench(hone_bench_t* bench) {
  hone_progress_clear(&bench->progress);
  if (bench->contestants) hone_rounds_free(bench->n_entries, bench->contestants);
  for (int i = 0; i < bench->n_entries; i++) close_entry(&bench->entries[i]);
  hone_arena_destroy(bench->arena);
}

/* ---- the whole ---- */

static hone_status_t bench_alone(hone_bench_t* bench) {
  HONE_TRY(measure(bench));
  hone_progress_clear(&bench->progress);
  return hone_cli_has(bench->cli, "json") ? hone_bench_print_json(bench, json_object())
                                          : hone_bench_print(bench);
}

static hone_status_t bench_peers(hone_bench_t* bench) {
  hone_versus_t versus;
  hone_status_t status = hone_versus_run(bench, &versus);
  hone_progress_clear(&bench->progress);
  if (!status)
    status = hone_cli_has(bench->cli, "json") ? hone_versus_print_json(&versus)
                                              : hone_versus_print(&versus);
  hone_versus_close(&versus);
  return status;
}

static hone_status_t bench_all(hone_bench_t* bench) {
  HONE_TRY(hone_arena_create(NULL, &bench->arena));
  bench->machine = hone_machine_find();
  HONE_TRY(open_all(bench));
  return hone_cli_has(bench->cli, "vs") ? bench_peers(bench) : bench_alone(bench);
}

double hone_bench_number(hone_cli_t* cli, const char* option, double fallback) {
  const char* text = hone_cli_text(cli, option, NULL);
  char* end;
  if (!text) return fallback;
  double number = strtod(text, &end);
  if (end != text && !*end && number > 0 && isfinite(number)) return number;
  hone_cli_usage(cli, "--%s takes a number above 0", option);
  return fallback;
}

static int64_t read_count(hone_cli_t* cli, const char* option, int64_t fallback) {
  int64_t count = hone_cli_int(cli, option, fallback);
  bool given = hone_cli_has(cli, option);
  if (!given || (count >= 1 && count <= HONE_MOST_ROUNDS)) return count;
  hone_cli_usage(cli, "--%s takes a number from 1 to %d", option, HONE_MOST_ROUNDS);
  return fallback;
}

static int run_bench(hone_cli_t* cli) {
  hone_bench_t bench = {.cli = cli};
  hone_cli_int(cli, "seed", 0);
  hone_cli_threads(cli);
  hone_cli_bytes(cli, "mem-limit", 0);
  bench.rounds.warmup = read_count(cli, "warmup", WARMUP);
  bench.rounds.runs = read_count(cli, "runs", 0);
  bench.rounds.seconds = hone_bench_number(cli, "seconds", hone_cli_has(cli, "runs") ? 0 : SECONDS);
  read_count(cli, "rounds", 1);
  read_count(cli, "most-rounds", 1);
  hone_bench_number(cli, "tolerance", 0);
  hone_bench_number(cli, "peer-limit", 0);
  if (!hone_cli_ok(cli)) return HONE_EXIT_USAGE;
  hone_status_t status = bench_all(&bench);
  close_bench(&bench);
  return status ? hone_cli_fail(cli, status) : HONE_EXIT_OK;
}

static const hone_option_t options[] = {
    HONE_OPTION_INPUT,
    HONE_OPTION_SHAPE,
    {.name = "preprocess",
     .argument = "[NAME:]WORDS",
     .repeats = true,
     .help = "how a picture becomes an input, as for `hone run`"},
    HONE_OPTION_DIM,
    {.name = "device",
     .letter = 'd',
     .argument = "DEVICE",
     .repeats = true,
     .help = "where to run, cpu without it; each of several is measured",
     .complete = HONE_COMPLETE_DEVICE},
    HONE_OPTION_THREADS,
    HONE_OPTION_DETERMINISTIC,
    HONE_OPTION_PRECISION,
    HONE_OPTION_EXACT,
    HONE_OPTION_NO_ENGINE_CACHE,
    {.name = "runs", .argument = "COUNT", .help = "time so many runs of each"},
    {.name = "seconds",
     .argument = "NUMBER",
     .help = "stop after so much time for each; 3 without this and without --runs"},
    {.name = "warmup",
     .argument = "COUNT",
     .help = "runs before those that count, the very first included; 3 without it"},
    {.name = "seed", .argument = "NUMBER", .help = "for inputs that are made up"},
    {.name = "vs",
     .argument = "PEER,PEER…",
     .help = "compare with other programs, such as onnxruntime,openvino; see docs/benchmarking.md"},
    {.name = "rounds", .argument = "COUNT", .help = "turns of each with --vs; 5 without it"},
    {.name = "most-rounds",
     .argument = "COUNT",
     .help = "turns where those disagree; 4 times as many without it"},
    {.name = "tolerance",
     .argument = "NUMBER",
     .help = "how far answers may differ, by the tensor's largest value; with --vs"},
    {.name = "peer-limit",
     .argument = "SECONDS",
     .help = "how long a peer may take to load, or for a turn; 300 without it"},
    {.name = "peers",
     .argument = "FILE",
     .help = "the program that runs peers, build/peers/run without it",
     .complete = HONE_COMPLETE_FILE},
    HONE_OPTION_MEM_LIMIT,
    HONE_OPTION_JSON,
};

extern const hone_command_t hone_command_bench;
const hone_command_t hone_command_bench = {
    .name = "bench",
    .summary = "measure how long models take",
    .arguments = "MODEL|ENGINE...",
    .min_arguments = 1,
    .max_arguments = -1,
    .complete = HONE_COMPLETE_FILE,
    .description =
        "Loads, compiles, runs, and says how long each took. Inputs that no --input gives are "
        "made\n"
        "up from --seed. Several models, engines or devices are timed by turns, one run each a\n"
        "round, so that times can be compared whatever else the machine does meanwhile.",
    .examples =
        "  hone bench net.onnx --dim batch=1 --threads 2\n"
        "  hone bench net.onnx --dim batch=1 --vs onnxruntime,openvino\n"
        "  hone bench net.onnx --device cpu --device ref --seconds 10\n"
        "  hone bench net.hone net_bf16.hone --input x.npy --json",
    .n_options = sizeof options / sizeof *options,
    .options = options,
    .run = run_bench,
};
