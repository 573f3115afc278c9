/* The journal: a line for each unit that is done, so that a run that was ended goes on
 * where it was. A last line that is cut short does not count. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/map.h"
#include "base/memory.h"
#include "hone/version.h"
#include "json.h"
#include "verify/verify.h"

struct hone_verify_journal {
  int fd;
  char path[4096];
};

/* ---- lines ---- */

/* What results depend on. */
static json_t* head(const hone_verify_report_t* report) {
  return json_pack("{s:s, s:s, s:s, s:s, s:I}", "format", "hone-verify", "version", hone_version(),
                   "device", report->device->name, "description", report->device->description,
                   "seed", (json_int_t)report->seed);
}

static json_t* cells_of(const hone_verify_result_t* result) {
  json_t* cells = json_object();
  for (int f = 0; f < HONE_VERIFY_FORM_COUNT; f++) {
    const hone_verify_cell_t* cell = &result->cells[f];
    if (cell->verdict == HONE_VERIFY_ABSENT) continue;
    json_t* pair = json_array();
    json_array_append_new(pair, json_integer(cell->verdict));
    json_array_append_new(pair, hone_json_string(cell->text));
    json_object_set_new(cells, hone_verify_form_name((hone_verify_form_t)f), pair);
  }
  return cells;
}

static hone_status_t write_line(hone_verify_journal_t* journal, json_t* line) {
  char* text = line ? json_dumps(line, JSON_COMPACT) : NULL;
  json_decref(line);
  if (!text) return hone_oom();
  size_t size = strlen(text);
  text[size] = '\n'; /* in place of the 0: one write, so that a line is whole or cut */
  bool ok = write(journal->fd, text, size + 1) == (ssize_t)(size + 1);
  free(text);
  return ok ? NULL : hone_file_error(errno, journal->path, "write");
}

hone_status_t hone_verify_journal_add(hone_verify_journal_t* journal,
                                      const hone_verify_result_t* result) {
  json_t* line = json_pack("{s:s, s:o}", "unit", result->unit->name, "cells", cells_of(result));
  return write_line(journal, line);
}

/* ---- reading ---- */

static void take_cells(const json_t* cells, hone_verify_result_t* result) {
  for (int f = 0; f < HONE_VERIFY_FORM_COUNT; f++) {
    const json_t* pair = json_object_get(cells, hone_verify_form_name((hone_verify_form_t)f));
    int64_t verdict = json_integer_value(json_array_get(pair, 0));
    const char* text = json_string_value(json_array_get(pair, 1));
    if (verdict <= HONE_VERIFY_ABSENT || verdict >= HONE_VERIFY_VERDICT_COUNT) continue;
    result->cells[f].verdict = (hone_verify_verdict_t)verdict;
    snprintf(result->cells[f].text, sizeof result->cells[f].text, "%s", text ? text : "");
  }
  result->done = true;
}

static void take_line(const char* line, size_t size, const hone_map_t* by_name) {
  json_t* root = json_loadb(line, size, 0, NULL);
  const char* name = json_string_value(json_object_get(root, "unit"));
  hone_verify_result_t* result = name ? hone_map_get(by_name, name) : NULL;
  if (result) take_cells(json_object_get(root, "cells"), result);
  json_decref(root);
}

static hone_status_t index_results(const hone_verify_report_t* report,
                                   hone_verify_result_t* results, hone_map_t* out) {
  for (int i = 0; i < report->count; i++)
    HONE_TRY(hone_map_put(out, results[i].unit->name, &results[i]));
  return NULL;
}

static hone_status_t check_head(const char* path, const char* line, size_t size,
                                const hone_verify_report_t* report) {
  json_t *root = json_loadb(line, size, 0, NULL), *want = head(report);
  bool same = root && want && json_equal(root, want);
  json_decref(root);
  json_decref(want);
  if (same) return NULL;
  return hone_status_make(HONE_INVALID_DATA,
                          "%s: no journal of this version, device and --seed; name another file",
                          path);
}

/* Gives where the last whole line ends. */
static hone_status_t read_lines(const char* path, const char* data, size_t size,
                                const hone_verify_report_t* report, const hone_map_t* by_name,
                                size_t* out_end) {
  *out_end = 0;
  for (const char *at = data, *end; (end = memchr(at, '\n', size - *out_end)); at = end + 1) {
    if (at == data)
      HONE_TRY(check_head(path, at, (size_t)(end - at), report));
    else
      take_line(at, (size_t)(end - at), by_name);
    *out_end = (size_t)(end + 1 - data);
  }
  return NULL;
}

static hone_status_t resume(const hone_verify_journal_t* journal,
                            const hone_verify_report_t* report, hone_verify_result_t* results,
                            size_t* out_end) {
  char* data;
  size_t size;
  hone_map_t by_name;
  HONE_TRY(hone_file_read(hone_allocator_system(), journal->path, 0, &data, &size));
  hone_map_init(&by_name, NULL);
  hone_status_t status = index_results(report, results, &by_name);
  if (!status) status = read_lines(journal->path, data, size, report, &by_name, out_end);
  hone_map_free(&by_name);
  hone_free(hone_allocator_system(), data, size + 1);
  if (!status && ftruncate(journal->fd, (off_t)*out_end))
    return hone_file_error(errno, journal->path, "shorten");
  return status;
}

static hone_status_t start(hone_verify_journal_t* journal, const char* path,
                           const hone_verify_report_t* report, hone_verify_result_t* results) {
  size_t end;
  int length = snprintf(journal->path, sizeof journal->path, "%s", path);
  if (length < 0 || (size_t)length >= sizeof journal->path)
    return hone_file_error(ENAMETOOLONG, path, "open");
  journal->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (journal->fd < 0) return hone_file_error(errno, path, "open");
  HONE_TRY(resume(journal, report, results, &end));
  return end ? NULL : write_line(journal, head(report));
}

hone_status_t hone_verify_journal_open(const char* path, const hone_verify_report_t* report,
                                       hone_verify_result_t* results,
                                       hone_verify_journal_t** out_journal) {
  *out_journal = NULL;
  hone_verify_journal_t* journal = hone_alloc(NULL, sizeof *journal);
  if (!journal) return hone_oom();
  journal->fd = -1;
  hone_status_t status = start(journal, path, report, results);
  if (status)
    hone_verify_journal_close(journal);
  else
    *out_journal = journal;
  return status;
}

void hone_verify_journal_close(hone_verify_journal_t* journal) {
  if (!journal) return;
  if (journal->fd >= 0) close(journal->fd);
  hone_free(NULL, journal, sizeof *journal);
}
