/* Opening the tuning database: one connection, settings that a hostile file
 * cannot turn against us, and the schema. */
#include "tune/database.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "tune/database_impl.h"

enum {
  APPLICATION = 0x686f6e65, /* "hone": says whose SQLite file it is */
  BUSY_MS = 10000,
  MOST_TEXT = 1 << 20, /* bytes of a row */
};

/* `best` is for people who look into the file. */
#define BEST_VIEW                                                                      \
  "CREATE VIEW best AS"                                                                \
  "  SELECT label, kernel, tactic, device, min(seconds) AS seconds, parameters"        \
  "  FROM measurement JOIN task ON task.id = task WHERE outcome = 'ok' AND verdict !=" \
  "  'refused' GROUP BY task;"

static const char schema[] =
    "CREATE TABLE task("
    "  id INTEGER PRIMARY KEY, kernel TEXT NOT NULL, tactic TEXT NOT NULL, device TEXT NOT NULL,"
    "  driver TEXT NOT NULL, compiler TEXT NOT NULL, hone TEXT NOT NULL, label TEXT NOT NULL,"
    "  UNIQUE(kernel, tactic, device, driver, compiler, hone));"
    "CREATE TABLE measurement("
    "  task INTEGER NOT NULL REFERENCES task(id), parameters TEXT NOT NULL,"
    "  outcome TEXT NOT NULL, seconds REAL, spread REAL, message TEXT NOT NULL,"
    "  at INTEGER NOT NULL, verdict TEXT NOT NULL DEFAULT '',"
    "  PRIMARY KEY(task, parameters)) WITHOUT ROWID;" BEST_VIEW;

/* Version 1 had no verdicts: files that are written get the column, those that are only read
 * look as if they had it. */
static const char add_verdicts[] =
    "ALTER TABLE measurement ADD COLUMN verdict TEXT NOT NULL DEFAULT '';"
    "DROP VIEW IF EXISTS best;" BEST_VIEW;
static const char pretend_verdicts[] =
    "CREATE TEMP VIEW measurement AS SELECT *, '' AS verdict FROM main.measurement";

/* ---- statuses ---- */

typedef struct error_row {
  int code; /* of SQLite */
  hone_code_t status;
  const char* text; /* NULL: as SQLite says it */
} error_row_t;

static const error_row_t error_rows[] = {
    {SQLITE_CORRUPT, HONE_INVALID_DATA, "the file is damaged; `hone tune set-aside` renames it"},
    {SQLITE_NOTADB, HONE_INVALID_DATA,
     "the file is damaged or no database; `hone tune set-aside` renames it"},
    {SQLITE_ERROR, HONE_INVALID_DATA, NULL},
    {SQLITE_TOOBIG, HONE_INVALID_DATA, NULL},
    {SQLITE_BUSY, HONE_IO, "another process keeps it locked"},
    {SQLITE_LOCKED, HONE_IO, "it is locked"},
    {SQLITE_READONLY, HONE_IO, "it is read-only"},
    {SQLITE_FULL, HONE_IO, "there is no space left"},
    {SQLITE_IOERR, HONE_IO, NULL},
    {SQLITE_CANTOPEN, HONE_IO, NULL},
    {SQLITE_PERM, HONE_IO, NULL},
    {SQLITE_AUTH, HONE_IO, NULL},
    {SQLITE_PROTOCOL, HONE_IO, NULL},
};

hone_status_t hone_tune_db_error(const hone_tune_db_t* db, int code, const char* action) {
  if ((code & 0xff) == SQLITE_NOMEM) return hone_oom();
  error_row_t row = {code, HONE_INTERNAL, NULL};
  for (size_t i = 0; i < sizeof error_rows / sizeof *error_rows; i++)
    if (error_rows[i].code == (code & 0xff)) row = error_rows[i];
  const char* text = row.text ? row.text : db->handle ? sqlite3_errmsg(db->handle) : "";
  int error = db->handle ? sqlite3_system_errno(db->handle) : 0;
  bool tell = error && !row.text;
  return hone_status_make(row.status, "%s: cannot %s the tuning database: %s%s%s", db->path, action,
                          text, tell ? ": " : "", tell ? strerror(error) : "");
}

hone_status_t hone_tune_db_run(hone_tune_db_t* db, const char* sql, const char* action) {
  int code = sqlite3_exec(db->handle, sql, NULL, NULL, NULL);
  return code == SQLITE_OK ? NULL : hone_tune_db_error(db, code, action);
}

hone_status_t hone_tune_db_prepare(hone_tune_db_t* db, const char* sql,
                                   sqlite3_stmt** out_statement) {
  int code = sqlite3_prepare_v2(db->handle, sql, -1, out_statement, NULL);
  return code == SQLITE_OK ? NULL : hone_tune_db_error(db, code, "read");
}

/* ---- the schema ---- */

/* The number that a PRAGMA or another query gives. */
static hone_status_t ask_number(hone_tune_db_t* db, const char* sql, int64_t* out) {
  sqlite3_stmt* statement;
  HONE_TRY(hone_tune_db_prepare(db, sql, &statement));
  int code = sqlite3_step(statement);
  *out = code == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
  hone_status_t status =
      code == SQLITE_ROW || code == SQLITE_DONE ? NULL : hone_tune_db_error(db, code, "read");
  sqlite3_finalize(statement);
  return status;
}

/* The version of what the file holds, 0: nothing yet; errors when it holds something else. */
static hone_status_t check_schema(hone_tune_db_t* db, int64_t* out_version) {
  int64_t application, version, tables;
  HONE_TRY(ask_number(db, "PRAGMA application_id", &application));
  HONE_TRY(ask_number(db, "PRAGMA user_version", &version));
  HONE_TRY(ask_number(db, "SELECT count(*) FROM sqlite_master", &tables));
  *out_version = version;
  if (application == 0 && version == 0 && tables == 0) return NULL;
  if (application != APPLICATION || version < 1)
    return hone_status_make(HONE_INVALID_DATA,
                            "%s: an SQLite database, but not one of tuning; name another with --db",
                            db->path);
  if (version > HONE_TUNE_DB_VERSION)
    return hone_status_make(HONE_UNSUPPORTED,
                            "%s: a tuning database of a newer hone (version %" PRId64
                            ", this one knows %d); update hone or name another with --db",
                            db->path, version, HONE_TUNE_DB_VERSION);
  return NULL;
}

/* The same in one transaction: what is asked one after the other belongs
 * together, while another process may be making the schema. */
static hone_status_t look_at_schema(hone_tune_db_t* db, int64_t* out_version) {
  HONE_TRY(hone_tune_db_run(db, "BEGIN", "read"));
  hone_status_t status = check_schema(db, out_version);
  return hone_tune_db_end(db, status);
}

static hone_status_t write_schema(hone_tune_db_t* db, int64_t version) {
  char pragmas[80];
  snprintf(pragmas, sizeof pragmas, "PRAGMA application_id=%d;PRAGMA user_version=%d", APPLICATION,
           HONE_TUNE_DB_VERSION);
  HONE_TRY(hone_tune_db_run(db, version ? add_verdicts : schema, "write"));
  return hone_tune_db_run(db, pragmas, "write");
}

/* Makes the schema of an empty or older file, unless another process is quicker. */
static hone_status_t make_schema(hone_tune_db_t* db) {
  int64_t version;
  HONE_TRY(hone_tune_db_begin(db));
  hone_status_t status = check_schema(db, &version);
  if (!status && version < HONE_TUNE_DB_VERSION) status = write_schema(db, version);
  return hone_tune_db_end(db, status);
}

/* ---- opening ---- */

/* A file may come from anywhere: nothing in it is to be run. */
static hone_status_t set_up(hone_tune_db_t* db) {
  static const int options[][2] = {
      {SQLITE_DBCONFIG_DEFENSIVE, 1},
      {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
      {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
  };
  sqlite3_busy_timeout(db->handle, BUSY_MS);
  sqlite3_extended_result_codes(db->handle, 1);
  sqlite3_limit(db->handle, SQLITE_LIMIT_LENGTH, MOST_TEXT);
  for (size_t i = 0; i < sizeof options / sizeof *options; i++)
    sqlite3_db_config(db->handle, options[i][0], options[i][1], NULL);
  return hone_tune_db_run(db, "PRAGMA cell_size_check=ON; PRAGMA synchronous=NORMAL", "open");
}

/* Makes the folder of `path` and those above it. What fails shows when the file is opened. */
static void make_folders(char* path) {
  for (char* slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    mkdir(path, 0777);
    *slash = '/';
  }
}

static hone_status_t open_file(hone_tune_db_t* db, bool in_memory, hone_tune_db_mode_t mode) {
  int flags = mode == HONE_TUNE_DB_WRITE || in_memory ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                                                      : SQLITE_OPEN_READONLY;
  if (!in_memory && mode == HONE_TUNE_DB_WRITE) make_folders(db->path);
  if (!in_memory && mode == HONE_TUNE_DB_READ && access(db->path, F_OK) != 0)
    return hone_file_error(errno, db->path, "open");
  int code = sqlite3_open_v2(in_memory ? ":memory:" : db->path, &db->handle, flags, NULL);
  if (code != SQLITE_OK) return hone_tune_db_error(db, code, "open");
  HONE_TRY(set_up(db));
  int64_t version;
  HONE_TRY(look_at_schema(db, &version));
  if ((flags & SQLITE_OPEN_READWRITE) && sqlite3_db_readonly(db->handle, "main") == 1)
    return hone_status_make(HONE_IO, "%s: the tuning database is read-only", db->path);
  if (version == HONE_TUNE_DB_VERSION) return NULL;
  if (flags & SQLITE_OPEN_READWRITE) return make_schema(db);
  if (version) return hone_tune_db_run(db, pretend_verdicts, "read");
  return hone_status_make(HONE_INVALID_DATA, "%s: an empty file is no tuning database", db->path);
}

static size_t db_size(const char* path) { return sizeof(hone_tune_db_t) + strlen(path) + 1; }

hone_status_t hone_tune_db_open(const hone_allocator_t* allocator, const char* path,
                                hone_tune_db_mode_t mode, hone_tune_db_t** out_db) {
  *out_db = NULL;
  const char* name = path ? path : "memory";
  hone_tune_db_t* db = hone_alloc(allocator, db_size(name));
  if (!db) return hone_oom();
  db->allocator = allocator;
  memcpy(db->path, name, strlen(name) + 1);
  hone_status_t status = open_file(db, !path, mode);
  if (status)
    hone_tune_db_close(db);
  else
    *out_db = db;
  return status;
}

void hone_tune_db_close(hone_tune_db_t* db) {
  if (!db) return;
  for (int i = 0; i < HONE_TUNE_KEPT_SQL; i++) sqlite3_finalize(db->kept[i]);
  sqlite3_close(db->handle);
  hone_free(db->allocator, db, db_size(db->path));
}

const char* hone_tune_db_path(const hone_tune_db_t* db) { return db->path; }

/* ---- transactions ---- */

hone_status_t hone_tune_db_begin(hone_tune_db_t* db) {
  HONE_TRY(hone_tune_db_run(db, "BEGIN IMMEDIATE", "write to"));
  db->in_transaction = true;
  return NULL;
}

hone_status_t hone_tune_db_commit(hone_tune_db_t* db) {
  hone_status_t status = hone_tune_db_run(db, "COMMIT", "write to");
  if (status) hone_tune_db_rollback(db);
  db->in_transaction = false;
  return status;
}

void hone_tune_db_rollback(hone_tune_db_t* db) {
  /* After some errors SQLite has already rolled back; there is then nothing to do. */
  if (!sqlite3_get_autocommit(db->handle)) sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
  db->in_transaction = false;
}

hone_status_t hone_tune_db_end(hone_tune_db_t* db, hone_status_t done) {
  if (!done) return hone_tune_db_commit(db);
  hone_tune_db_rollback(db);
  return done;
}

/* ---- care ---- */

hone_status_t hone_tune_db_check(hone_tune_db_t* db) {
  sqlite3_stmt* statement;
  HONE_TRY(hone_tune_db_prepare(db, "PRAGMA integrity_check(1)", &statement));
  int code = sqlite3_step(statement);
  hone_status_t status = NULL;
  const char* found = code == SQLITE_ROW ? (const char*)sqlite3_column_text(statement, 0) : NULL;
  if (code != SQLITE_ROW)
    status = hone_tune_db_error(db, code, "check");
  else if (!found || strcmp(found, "ok") != 0)
    status = hone_status_make(HONE_INVALID_DATA,
                              "%s: the tuning database is damaged: %s; `hone tune set-aside` "
                              "renames it",
                              db->path, found ? found : "it cannot be read");
  sqlite3_finalize(statement);
  return status;
}

hone_status_t hone_tune_db_default_path(hone_arena_t* arena, char** out_path) {
  const char* cache = getenv("XDG_CACHE_HOME");
  const char* home = getenv("HOME");
  *out_path = NULL;
  if (cache && cache[0] == '/')
    *out_path = hone_arena_format(arena, "%s/hone/tune.db", cache);
  else if (home && home[0] == '/')
    *out_path = hone_arena_format(arena, "%s/.cache/hone/tune.db", home);
  else
    return hone_status_make(HONE_NOT_FOUND,
                            "there is no folder for the tuning database: neither XDG_CACHE_HOME "
                            "nor HOME is set to an absolute path; name a file with --db");
  return *out_path ? NULL : hone_oom();
}

hone_status_t hone_tune_db_set_aside(hone_arena_t* arena, const char* path, char** out_path) {
  enum { MOST = 1000 };
  *out_path = NULL;
  for (int i = 0; i < MOST; i++) {
    char* fresh = i ? hone_arena_format(arena, "%s.corrupt.%d", path, i + 1)
                    : hone_arena_format(arena, "%s.corrupt", path);
    char* journal = hone_arena_format(arena, "%s-journal", path);
    char* fresh_journal = fresh ? hone_arena_format(arena, "%s-journal", fresh) : NULL;
    if (!fresh || !journal || !fresh_journal) return hone_oom();
    if (access(fresh, F_OK) == 0) continue;
    if (rename(path, fresh) != 0) return hone_file_error(errno, path, "rename");
    if (rename(journal, fresh_journal) != 0 && errno != ENOENT)
      return hone_file_error(errno, journal, "rename");
    *out_path = fresh;
    return NULL;
  }
  return hone_status_make(HONE_IO, "%s: %d damaged files lie beside it; remove some", path, MOST);
}
