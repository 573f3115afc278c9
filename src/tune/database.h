/* Tuning database: what was measured, in an SQLite file that any number of
 * processes may share.
 *
 * A measurement belongs to a key (the content of the kernel, the tactic, and
 * everything about the machine that its time depends on) and to the text of a
 * candidate. There is one record for each: where two meet, a wrong result
 * stays (a kernel once seen to compute something else is not to come back
 * because it is fast), a success beats other failures, the faster success
 * wins, and of two failures the later one. The verdict of whole runs on the
 * candidate stays with it, however often it is measured.
 *
 * Writes are transactions with a rollback journal, one file that can be copied
 * and that network file systems bear: killing a process at any moment leaves
 * the file usable. A file that is damaged, of another kind, or of a newer hone
 * is refused and left alone; a run then goes on without it, saying so, and
 * `hone tune set-aside` renames it on request.
 *
 * A database belongs to one thread at a time. */
#ifndef HONE_TUNE_DATABASE_H
#define HONE_TUNE_DATABASE_H

#include "base/arena.h"
#include "base/str.h"
#include "tune/outcome.h"

enum { HONE_TUNE_DB_VERSION = 2 /* of the schema and of exports */ };

typedef struct hone_tune_db hone_tune_db_t;

/* What a time depends on. Members are UTF-8; NULL is "" when writing, and
 * stands for anything when asking. */
typedef struct hone_tune_key {
  const char* kernel; /* digest of its content; never empty */
  const char* tactic;
  const char* device;   /* what it is, not which: "AMD EPYC 7B13 avx2" */
  const char* driver;   /* name and version */
  const char* compiler; /* name, version and options */
  const char* hone;     /* version of hone */
} hone_tune_key_t;

/* The key without gaps: NULL becomes "", and `hone` this version. */
hone_tune_key_t hone_tune_key_complete(const hone_tune_key_t* key);

typedef struct hone_tune_record {
  hone_tune_key_t key;
  const char* label;      /* of the kernel, for people */
  const char* parameters; /* text of the candidate */
  hone_outcome_t outcome;
  double seconds; /* of one run; positive when the outcome is ok, else 0 */
  double spread;  /* median absolute deviation, seconds */
  hone_verdict_t verdict;
  const char* message; /* why it failed; "" */
  int64_t when;        /* seconds since 1970, UTC */
} hone_tune_record_t;

typedef enum hone_tune_db_mode {
  HONE_TUNE_DB_READ,
  HONE_TUNE_DB_WRITE, /* makes the file, and the folders on its way, when absent */
} hone_tune_db_mode_t;

/* ---- opening ---- */

/* `path` NULL: a database in memory, empty. Errors: NOT_FOUND (reading, no
 * such file), IO (no access, no space, read-only, or in use for 10 s),
 * INVALID_DATA (damaged, or no tuning database), UNSUPPORTED (of a newer
 * hone), OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_tune_db_open(const hone_allocator_t* allocator, const char* path,
                                              hone_tune_db_mode_t mode, hone_tune_db_t** out_db);
void hone_tune_db_close(hone_tune_db_t* db); /* NULL is allowed; undoes an open transaction */
/* The path it was opened with; "memory" without one. */
const char* hone_tune_db_path(const hone_tune_db_t* db);
/* $XDG_CACHE_HOME/hone/tune.db, else ~/.cache/hone/tune.db. Errors: NOT_FOUND (neither is set). */
HONE_MUST_USE hone_status_t hone_tune_db_default_path(hone_arena_t* arena, char** out_path);
/* Reads everything and checks it. Errors: INVALID_DATA with what was found first. */
HONE_MUST_USE hone_status_t hone_tune_db_check(hone_tune_db_t* db);
/* Renames the file, and its journal, to PATH.corrupt or PATH.corrupt.N; the
 * new path into `arena`. Nobody may have it open. */
HONE_MUST_USE hone_status_t hone_tune_db_set_aside(hone_arena_t* arena, const char* path,
                                                   char** out_path);

/* ---- writing ---- */

/* What became of a record that was put. */
typedef enum hone_tune_put {
  HONE_TUNE_PUT_ADDED,    /* there was none */
  HONE_TUNE_PUT_SAME,     /* it was there already */
  HONE_TUNE_PUT_REPLACED, /* another was there, and lost */
  HONE_TUNE_PUT_KEPT,     /* another was there, and won */
} hone_tune_put_t;

/* Puts a record. `out_put` may be NULL. Messages are cut at 1,000 bytes.
 * Errors: INVALID_ARGUMENT (an empty kernel, text that is not UTF-8 or longer
 * than 64 KiB, seconds that are none), IO, INVALID_DATA, OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_tune_db_put(hone_tune_db_t* db, const hone_tune_record_t* record,
                                             hone_tune_put_t* out_put);
/* Several puts at once, all or none. Other processes wait meanwhile. */
HONE_MUST_USE hone_status_t hone_tune_db_begin(hone_tune_db_t* db);
HONE_MUST_USE hone_status_t hone_tune_db_commit(hone_tune_db_t* db);
void hone_tune_db_rollback(hone_tune_db_t* db);
/* Commits, or rolls back where what was `done` is an error, which it gives. */
HONE_MUST_USE hone_status_t hone_tune_db_end(hone_tune_db_t* db, hone_status_t done);
/* Puts down what whole runs said of a candidate, in place of what stood there. One that
 * is not in the database stays so. Errors: IO, INVALID_DATA. */
HONE_MUST_USE hone_status_t hone_tune_db_rule(hone_tune_db_t* db, const hone_tune_key_t* key,
                                              const char* parameters, hone_verdict_t verdict);

/* ---- asking ---- */

/* The best record of the key: the fastest that was confirmed, else the fastest
 * whose outcome is ok and that was not refused; its text goes into `arena`. `out_found` false:
 * there is none, and the record is zeroed. */
HONE_MUST_USE hone_status_t hone_tune_db_best(hone_tune_db_t* db, const hone_tune_key_t* key,
                                              hone_arena_t* arena, bool* out_found,
                                              hone_tune_record_t* out_record);
/* Takes one record, valid for the call only. A status ends the walk, and is its result. */
typedef hone_status_t (*hone_tune_visit_t)(void* context, const hone_tune_record_t* record);
/* Visits the records that match `key` (NULL: all), ordered by key and, of one
 * key, successes first, fastest first. `only_best`: the best of each key, as above. Records that
 * make no sense are passed over. The visit must not write to `db`. */
HONE_MUST_USE hone_status_t hone_tune_db_each(hone_tune_db_t* db, const hone_tune_key_t* key,
                                              bool only_best, hone_tune_visit_t visit,
                                              void* context);

/* ---- exchange ---- */

/* Counts of what an import did. */
typedef struct hone_tune_merge {
  int64_t count[HONE_TUNE_PUT_KEPT + 1]; /* by hone_tune_put_t */
} hone_tune_merge_t;

/* Appends the first line of a file of records, and the line of one. */
void hone_tune_print_head(hone_str_t* str);
void hone_tune_print_record(const hone_tune_record_t* record, hone_str_t* str);
/* Writes matching records as JSON lines, the first of which says what the file
 * is. The path may be /dev/stdout; a file is replaced only when all is written. */
HONE_MUST_USE hone_status_t hone_tune_db_export(hone_tune_db_t* db, const hone_tune_key_t* key,
                                                bool only_best, const char* path,
                                                int64_t* out_count);
/* Merges a file, JSON lines or another database, whole or not at all. Errors:
 * NOT_FOUND, IO, INVALID_DATA (naming the line), UNSUPPORTED (of a newer hone). */
HONE_MUST_USE hone_status_t hone_tune_db_import(hone_tune_db_t* db, const char* path,
                                                hone_tune_merge_t* out_merge);
/* The same of JSON lines in memory. */
HONE_MUST_USE hone_status_t hone_tune_db_import_lines(hone_tune_db_t* db, const char* data,
                                                      size_t size, hone_tune_merge_t* out_merge);

#endif
