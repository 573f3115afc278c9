/* The report of `hone bench` for people: of one entry its times and how they are
 * spread, of several a table. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/str.h"
#include "bench.h"
#include "ir/type_text.h"
#include "line.h"

enum { BINS = 10, BAR = 50, NAME_COLUMNS = 30 };

/* "12.3 ms", three digits or more and a unit. */
static void append_ms(hone_str_t* line, double ms) {
  if (ms >= 9999.5)
    hone_str_appendf(line, "%.4g s", ms / 1e3);
  else if (ms >= 0.99995)
    hone_str_appendf(line, "%.4g ms", ms);
  else
    hone_str_appendf(line, "%.4g us", ms * 1e3);
}

void hone_bench_append_ms(hone_str_t* line, double ms) {
  hone_str_t cell;
  hone_str_init(&cell, NULL);
  if (ms > 0)
    append_ms(&cell, ms);
  else
    hone_str_append(&cell, "-");
  hone_str_appendf(line, " %9s", hone_str_text(&cell));
  hone_str_free(&cell);
}

hone_status_t hone_bench_print_machine(const hone_bench_t* bench, hone_str_t* line) {
  const hone_machine_t* m = &bench->machine;
  hone_str_appendf(line, "%s%s%d CPU%s, %.0f GB, %s; hone %s", m->cpu, *m->cpu ? ", " : "", m->cpus,
                   m->cpus == 1 ? "" : "s", (double)m->memory_bytes / 1e9, m->system,
                   hone_version());
  return hone_line_flush(line);
}

/* ---- one ---- */

static hone_status_t print_head(const hone_bench_entry_t* entry, hone_str_t* line) {
  const hone_session_info_t* info = &entry->info;
  hone_str_appendf(line, "%s on %s, %s, %d thread%s", hone_path_basename(entry->run.subject.path),
                   entry->run.subject.device, info->precision, entry->threads,
                   entry->threads == 1 ? "" : "s");
  if (*info->target) hone_str_appendf(line, ", %d kernels for %s", info->n_kernels, info->target);
  HONE_TRY(hone_line_flush(line));
  for (int i = 0; i < entry->run.n_inputs; i++) {
    char type[256];
    hone_tensor_type_print(entry->run.inputs[i], type, sizeof type);
    hone_str_appendf(line, "  %s  %s <- %s", hone_session_input_name(entry->run.session, i), type,
                     entry->run.sources[i]);
    HONE_TRY(hone_line_flush(line));
  }
  return NULL;
}

static hone_status_t print_row(hone_str_t* line, int count, const char* const* names,
                               const double* ms) {
  for (int i = 0; i < count; i++) {
    hone_line_pad(line, 2 + 22 * (size_t)i);
    hone_str_appendf(line, "%-8s", names[i]);
    append_ms(line, ms[i]);
  }
  return hone_line_flush(line);
}

static hone_status_t print_times(const hone_bench_t* bench, hone_str_t* line) {
  static const char* const runs[] = {"median", "mean", "p90", "p99"};
  static const char* const others[] = {"min", "first", "load", "compile"};
  const hone_times_t* t = &bench->entries[0].times;
  const hone_subject_t* subject = &bench->entries[0].run.subject;
  HONE_TRY(print_row(line, 4, runs, (const double[]){t->median, t->mean, t->p90, t->p99}));
  return print_row(line, 4, others,
                   (const double[]){t->min, bench->contestants[0].first_ms, subject->load_ms,
                                    subject->compile_ms});
}

/* Bins of one width from the least time to what nearly all are below; the last one
 * also takes all above. */
static hone_status_t print_histogram(const hone_bench_t* bench, hone_str_t* line) {
  const hone_times_t* t = &bench->entries[0].times;
  const double* ms = bench->contestants[0].milliseconds;
  double width = (t->p90 - t->min) * 1.2 / BINS;
  int64_t counts[BINS] = {0}, most = 1;
  if (t->runs < BINS || width <= 0) return NULL;
  for (int64_t i = 0; i < t->runs; i++) {
    double place = (ms[i] - t->min) / width;
    int64_t* bin = &counts[place < BINS - 1 ? (int)place : BINS - 1];
    if (++*bin > most) most = *bin;
  }
  putchar('\n');
  for (int b = 0; b < BINS; b++) {
    hone_bench_append_ms(line, t->min + b * width);
    hone_str_append(line, b == BINS - 1 ? " + " : "   ");
    for (int64_t k = 0; k < (counts[b] * BAR + most - 1) / most; k++) hone_str_append(line, "▇");
    hone_str_appendf(line, "%s%lld", counts[b] ? " " : "", (long long)counts[b]);
    HONE_TRY(hone_line_flush(line));
  }
  return NULL;
}

static hone_status_t print_one(const hone_bench_t* bench, hone_str_t* line) {
  const hone_bench_entry_t* entry = &bench->entries[0];
  HONE_TRY(print_head(entry, line));
  putchar('\n');
  hone_str_appendf(line, "%lld run%s after %lld to warm up", (long long)entry->times.runs,
                   entry->times.runs == 1 ? "" : "s", (long long)bench->rounds.warmup);
  HONE_TRY(hone_line_flush(line));
  HONE_TRY(print_times(bench, line));
  return print_histogram(bench, line);
}

/* ---- several ---- */

/* The name, cut from the left where it is long: its end tells names apart. */
static void append_name(hone_str_t* line, const char* path) {
  const char* name = hone_path_basename(path);
  size_t length = strlen(name);
  bool cut = length > NAME_COLUMNS;
  if (cut) hone_str_append(line, "…");
  hone_str_append(line, cut ? name + length - NAME_COLUMNS + 1 : name);
  hone_line_pad(line, NAME_COLUMNS + 1);
}

static hone_status_t print_table(const hone_bench_t* bench, hone_str_t* line) {
  printf("%-30s %-9s %-5s %3s %9s %9s %9s %9s %7s\n", "MODEL", "DEVICE", "TYPE", "THR", "MEDIAN",
         "MIN", "P90", "COMPILE", "SPEED");
  double reference = bench->entries[0].times.median;
  for (int i = 0; i < bench->n_entries; i++) {
    const hone_bench_entry_t* entry = &bench->entries[i];
    append_name(line, entry->run.subject.path);
    hone_str_appendf(line, "%-9.9s %-5s %3d", entry->run.subject.device, entry->info.precision,
                     entry->threads);
    hone_bench_append_ms(line, entry->times.median);
    hone_bench_append_ms(line, entry->times.min);
    hone_bench_append_ms(line, entry->times.p90);
    hone_bench_append_ms(line, entry->run.subject.compile_ms);
    hone_str_appendf(line, " %6.3gx", reference / entry->times.median);
    HONE_TRY(hone_line_flush(line));
  }
  printf("SPEED is that of the first line's median. %lld rounds, by turns, after %lld to warm up\n",
         (long long)bench->entries[0].times.runs, (long long)bench->rounds.warmup);
  return NULL;
}

static hone_status_t print_all(const void* what, hone_str_t* line) {
  const hone_bench_t* bench = what;
  HONE_TRY(hone_bench_print_machine(bench, line));
  putchar('\n');
  return bench->n_entries == 1 ? print_one(bench, line) : print_table(bench, line);
}

hone_status_t hone_bench_print(const hone_bench_t* bench) {
  return hone_line_report(print_all, bench);
}
