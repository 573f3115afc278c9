/* The report of `hone bench --vs` for people. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "line.h"
#include "versus.h"

static const char* name_of(const hone_versus_t* versus, const hone_racer_t* racer) {
  bool is_first = racer == &versus->racers[0];
  if (!racer->entry || is_first) return racer->name;
  return hone_path_basename(racer->entry->run.subject.path);
}

static hone_status_t print_head(const hone_versus_t* versus, hone_str_t* line) {
  const hone_bench_entry_t* entry = &versus->bench->entries[0];
  HONE_TRY(hone_bench_print_machine(versus->bench, line));
  hone_str_appendf(line, "%s on %s, %s, %d thread%s", hone_path_basename(entry->run.subject.path),
                   entry->run.subject.device, entry->info.precision, entry->threads,
                   entry->threads == 1 ? "" : "s");
  return hone_line_flush(line);
}

static hone_status_t print_row(const hone_versus_t* versus, const hone_racer_t* racer,
                               hone_str_t* line) {
  double hone_ms = versus->racers[0].times.median;
  hone_str_appendf(line, "%-14.14s", name_of(versus, racer));
  hone_bench_append_ms(line, racer->times.median);
  hone_bench_append_ms(line, racer->times.min);
  hone_bench_append_ms(line, racer->prepare_ms);
  hone_bench_append_ms(line, racer->load_ms);
  hone_bench_append_ms(line, racer->first_ms);
  hone_str_appendf(line, " %4.1f %8.1e", racer->cpus, racer->error);
  if (versus->limit_ms > 0)
    hone_str_appendf(line, " %4.0f%%", 100 * versus->limit_ms / racer->times.median);
  else
    hone_str_append(line, "     -");
  if (hone_ms > 0) hone_str_appendf(line, " %6.3gx", hone_ms / racer->times.median);
  return hone_line_flush(line);
}

/* Those that are out: the reason, over as many lines as it needs. */
static hone_status_t print_reason(const hone_versus_t* versus, const hone_racer_t* racer,
                                  hone_str_t* line) {
  enum { INDENT = 15 };
  const char* rest = racer->why;
  hone_str_appendf(line, "%-14.14s %s: ", name_of(versus, racer), racer->state);
  do {
    size_t room = HONE_LINE_COLUMNS - hone_line_width(line), length = strlen(rest);
    if (length > room)
      for (length = room; length > room / 2 && rest[length] != ' ';) length--;
    hone_str_append_n(line, rest, length);
    HONE_TRY(hone_line_flush(line));
    rest += length + strspn(rest + length, " ");
    if (*rest) hone_line_pad(line, INDENT);
  } while (*rest);
  return NULL;
}

static hone_status_t print_verdict(const hone_versus_t* versus, hone_str_t* line) {
  const hone_racer_t* hone = &versus->racers[0];
  if (!hone_racer_is_ok(hone))
    hone_str_append(line, "No ratio: hone's answers are not right.");
  else if (!versus->best)
    hone_str_append(line, "No ratio: no peer ran the model.");
  else
    hone_str_appendf(line, "Best peer's time by hone's: %.3f (%s), in %d rounds %.3f to %.3f",
                     versus->best->ratio, versus->best->name, versus->n_rounds, versus->lowest,
                     versus->highest);
  HONE_TRY(hone_line_flush(line));
  hone_str_appendf(
      line,
      "ERROR: to %s, of a tensor's largest value, %.2g allowed. LIMIT: share of "
      "the hardware's.",
      strcmp(versus->reference, "hone") == 0 ? "hone's own answers" : versus->reference,
      versus->tolerance);
  return hone_line_flush(line);
}

static hone_status_t print_all(const void* what, hone_str_t* line) {
  const hone_versus_t* versus = what;
  HONE_TRY(print_head(versus, line));
  printf("\n%-14s %9s %9s %9s %9s %9s %4s %8s %5s %7s\n", "", "MEDIAN", "MIN", "PREPARE", "LOAD",
         "FIRST", "CPUS", "ERROR", "LIMIT", "SPEED");
  for (int i = 0; i < versus->n_racers; i++)
    if (hone_racer_is_ok(&versus->racers[i])) HONE_TRY(print_row(versus, &versus->racers[i], line));
  for (int i = 0; i < versus->n_racers; i++)
    if (!hone_racer_is_ok(&versus->racers[i]))
      HONE_TRY(print_reason(versus, &versus->racers[i], line));
  putchar('\n');
  return print_verdict(versus, line);
}

hone_status_t hone_versus_print(const hone_versus_t* versus) {
  return hone_line_report(print_all, versus);
}
