/* Exchange of tuning records: JSON lines, which people and other programs can
 * read, and merging of another database.
 *
 *     {"format": "hone-tune", "version": 2}
 *     {"kernel": "…", "tactic": "…", …, "parameters": "…", "outcome": "ok", "seconds": 1e-3, …}
 *
 * The first line may come again, so that files can be joined. Lines are read
 * strictly: a record that cannot be understood is no ground to guess. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/str.h"
#include "tune/database_impl.h"

static const char format_name[] = "hone-tune";

/* ---- export ---- */

typedef struct exporter {
  const hone_allocator_t* allocator;
  hone_file_writer_t* writer;
  int64_t count;
} exporter_t;

static void print_text(hone_str_t* str, const char* name, const char* text) {
  hone_str_appendf(str, "\"%s\": ", name);
  hone_str_append_json(str, text, strlen(text));
  hone_str_append(str, ", ");
}

void hone_tune_print_head(hone_str_t* str) {
  hone_str_appendf(str, "{\"format\": \"%s\", \"version\": %d}\n", format_name,
                   HONE_TUNE_DB_VERSION);
}

void hone_tune_print_record(const hone_tune_record_t* record, hone_str_t* str) {
  hone_str_append(str, "{");
  for (int i = 0; i < HONE_TUNE_KEY_PARTS; i++)
    print_text(str, hone_tune_key_names[i], hone_tune_key_part(&record->key, i));
  print_text(str, "label", record->label);
  print_text(str, "parameters", record->parameters);
  print_text(str, "outcome", hone_outcome_name(record->outcome));
  if (record->outcome == HONE_OUTCOME_OK) {
    hone_str_append(str, "\"seconds\": ");
    hone_str_append_double(str, record->seconds);
    hone_str_append(str, ", \"spread\": ");
    hone_str_append_double(str, record->spread);
    hone_str_append(str, ", ");
  }
  if (record->message[0]) print_text(str, "message", record->message);
  if (record->verdict) print_text(str, "verdict", hone_verdict_name(record->verdict));
  hone_str_appendf(str, "\"when\": %" PRId64 "}\n", record->when);
}

static hone_status_t export_record(void* context, const hone_tune_record_t* record) {
  exporter_t* exporter = context;
  hone_str_t line;
  char* text;
  size_t size;
  hone_str_init(&line, exporter->allocator);
  hone_tune_print_record(record, &line);
  HONE_TRY(hone_str_take(&line, &text, &size));
  hone_file_writer_write(exporter->writer, text, size);
  hone_free(exporter->allocator, text, size + 1);
  exporter->count++;
  return NULL;
}

hone_status_t hone_tune_db_export(hone_tune_db_t* db, const hone_tune_key_t* key, bool only_best,
                                  const char* path, int64_t* out_count) {
  exporter_t exporter = {.allocator = db->allocator};
  char head[64];
  int length = snprintf(head, sizeof head, "{\"format\": \"%s\", \"version\": %d}\n", format_name,
                        HONE_TUNE_DB_VERSION);
  *out_count = 0;
  HONE_TRY(hone_file_writer_create(db->allocator, path, &exporter.writer));
  hone_file_writer_write(exporter.writer, head, (size_t)length);
  hone_status_t status = hone_tune_db_each(db, key, only_best, export_record, &exporter);
  if (status) {
    hone_file_writer_abort(exporter.writer);
    return status;
  }
  HONE_TRY(hone_file_writer_commit(exporter.writer));
  *out_count = exporter.count;
  return NULL;
}

/* ---- import ---- */

/* A member that must be text; "" when it may be absent and is. */
static hone_status_t read_text(const json_t* line, const char* name, bool needed,
                               const char** out) {
  const json_t* value = json_object_get(line, name);
  *out = "";
  if (!value && !needed) return NULL;
  if (!json_is_string(value))
    return hone_status_make(HONE_INVALID_DATA, "\"%s\" is %s", name,
                            value ? "not a text" : "missing");
  *out = json_string_value(value);
  return NULL;
}

static hone_status_t read_number(const json_t* line, const char* name, double* out) {
  const json_t* value = json_object_get(line, name);
  if (!json_is_number(value))
    return hone_status_make(HONE_INVALID_DATA, "\"%s\" is %s", name,
                            value ? "not a number" : "missing");
  *out = json_number_value(value);
  return NULL;
}

static hone_status_t read_record(const json_t* line, hone_tune_record_t* out_record) {
  hone_tune_record_t record = {0};
  const char *outcome, *verdict;
  for (int i = 0; i < HONE_TUNE_KEY_PARTS; i++) {
    const char* text;
    HONE_TRY(read_text(line, hone_tune_key_names[i], true, &text));
    hone_tune_key_set(&record.key, i, text);
  }
  HONE_TRY(read_text(line, "label", false, &record.label));
  HONE_TRY(read_text(line, "parameters", true, &record.parameters));
  HONE_TRY(read_text(line, "outcome", true, &outcome));
  HONE_TRY(read_text(line, "message", false, &record.message));
  HONE_TRY(read_text(line, "verdict", false, &verdict));
  if (!hone_outcome_parse(outcome, &record.outcome))
    return hone_status_make(HONE_INVALID_DATA, "there is no outcome \"%.40s\"", outcome);
  if (!hone_verdict_parse(verdict, &record.verdict))
    return hone_status_make(HONE_INVALID_DATA, "there is no verdict \"%.40s\"", verdict);
  if (record.outcome == HONE_OUTCOME_OK) {
    HONE_TRY(read_number(line, "seconds", &record.seconds));
    HONE_TRY(read_number(line, "spread", &record.spread));
  }
  const json_t* when = json_object_get(line, "when");
  if (!json_is_integer(when))
    return hone_status_make(HONE_INVALID_DATA, "\"when\" is %s",
                            when ? "not a whole number" : "missing");
  record.when = json_integer_value(when);
  *out_record = record;
  return NULL;
}

static hone_status_t check_head(const json_t* line) {
  const json_t* format = json_object_get(line, "format");
  const json_t* version = json_object_get(line, "version");
  if (!json_is_string(format) || strcmp(json_string_value(format), format_name) != 0 ||
      !json_is_integer(version) || json_integer_value(version) < 1)
    return hone_status_make(HONE_INVALID_DATA,
                            "this is no export of `hone tune`: its first line is not {\"format\": "
                            "\"%s\", …}",
                            format_name);
  if (json_integer_value(version) > HONE_TUNE_DB_VERSION)
    return hone_status_make(HONE_UNSUPPORTED,
                            "an export of a newer hone (version %lld, this one knows %d)",
                            (long long)json_integer_value(version), HONE_TUNE_DB_VERSION);
  return NULL;
}

/* What is wrong with a record that comes from a file is wrong with the file. */
static hone_status_t as_data(hone_status_t status) {
  if (hone_status_code(status) != HONE_INVALID_ARGUMENT) return status;
  hone_status_t data = hone_status_make(HONE_INVALID_DATA, "%s", hone_status_message(status));
  hone_status_free(status);
  return data;
}

static hone_status_t put_counted(hone_tune_db_t* db, const hone_tune_record_t* record,
                                 hone_tune_merge_t* merge) {
  hone_tune_put_t put;
  HONE_TRY(as_data(hone_tune_db_put(db, record, &put)));
  merge->count[put]++;
  return NULL;
}

static hone_status_t import_object(hone_tune_db_t* db, const json_t* line, bool is_first,
                                   hone_tune_merge_t* merge) {
  if (is_first || json_object_get(line, "format")) return check_head(line);
  hone_tune_record_t record;
  HONE_TRY(read_record(line, &record));
  return put_counted(db, &record, merge);
}

static hone_status_t import_line(hone_tune_db_t* db, const char* data, size_t size, bool is_first,
                                 hone_tune_merge_t* merge) {
  json_error_t error;
  json_t* line = json_loadb(data, size, JSON_REJECT_DUPLICATES, &error);
  if (!line && json_error_code(&error) == json_error_out_of_memory) return hone_oom();
  if (!line) return hone_status_make(HONE_INVALID_DATA, "no JSON: %s", error.text);
  hone_status_t status = json_is_object(line)
                             ? import_object(db, line, is_first, merge)
                             : hone_status_make(HONE_INVALID_DATA, "not an object");
  json_decref(line);
  return status;
}

static hone_status_t import_all_lines(hone_tune_db_t* db, const char* data, size_t size,
                                      hone_tune_merge_t* merge) {
  size_t number = 1;
  bool is_first = true;
  for (size_t at = 0; at < size; number++) {
    const char* end = memchr(data + at, '\n', size - at);
    size_t length = end ? (size_t)(end - data) - at : size - at;
    if (length && !(length == 1 && data[at] == '\r')) {
      HONE_TRY(hone_status_annotate(import_line(db, data + at, length, is_first, merge), "line %zu",
                                    number));
      is_first = false;
    }
    at += length + 1;
  }
  return is_first ? hone_status_make(HONE_INVALID_DATA, "there is nothing in it") : NULL;
}

typedef struct copier {
  hone_tune_db_t* db;
  hone_tune_merge_t* merge;
} copier_t;

static hone_status_t copy_record(void* context, const hone_tune_record_t* record) {
  copier_t* copier = context;
  return put_counted(copier->db, record, copier->merge);
}

/* What an import reads: lines in memory, or another database. */
typedef struct source {
  const char* data;
  size_t size;
  hone_tune_db_t* other; /* NULL: the lines */
} source_t;

static hone_status_t import_source(hone_tune_db_t* db, const source_t* source,
                                   hone_tune_merge_t* out_merge) {
  hone_tune_merge_t merge = {{0}};
  copier_t copier = {db, &merge};
  *out_merge = merge;
  HONE_TRY(hone_tune_db_begin(db));
  hone_status_t status = source->other
                             ? hone_tune_db_each(source->other, NULL, false, copy_record, &copier)
                             : import_all_lines(db, source->data, source->size, &merge);
  HONE_TRY(hone_tune_db_end(db, status));
  *out_merge = merge;
  return NULL;
}

hone_status_t hone_tune_db_import_lines(hone_tune_db_t* db, const char* data, size_t size,
                                        hone_tune_merge_t* out_merge) {
  return import_source(db, &(source_t){.data = data, .size = size}, out_merge);
}

static bool is_database(const char* data, size_t size) {
  static const char magic[] = "SQLite format 3"; /* with the 0 at its end */
  return size >= sizeof magic && memcmp(data, magic, sizeof magic) == 0;
}

hone_status_t hone_tune_db_import(hone_tune_db_t* db, const char* path,
                                  hone_tune_merge_t* out_merge) {
  source_t source = {0};
  char* data;
  *out_merge = (hone_tune_merge_t){{0}};
  HONE_TRY(hone_file_read(db->allocator, path, 0, &data, &source.size));
  source.data = data;
  hone_status_t status = NULL;
  if (is_database(data, source.size))
    status = hone_tune_db_open(db->allocator, path, HONE_TUNE_DB_READ, &source.other);
  bool opened = !status;
  if (!status) status = import_source(db, &source, out_merge);
  hone_tune_db_close(source.other);
  hone_free(db->allocator, data, source.size + 1);
  return opened ? hone_status_annotate(status, "%s", path) : status;
}
