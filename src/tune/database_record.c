/* Records of the tuning database: putting them, and asking for them. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hone/version.h"
#include "import/utf8.h"
#include "tune/database_impl.h"

enum { MOST_TEXT = 1 << 16, MOST_MESSAGE = 1000 };

const char* const hone_tune_key_names[HONE_TUNE_KEY_PARTS] = {"kernel", "tactic",   "device",
                                                              "driver", "compiler", "hone"};

const char* hone_tune_key_part(const hone_tune_key_t* key, int index) {
  const char* const parts[] = {key->kernel, key->tactic,   key->device,
                               key->driver, key->compiler, key->hone};
  return parts[index];
}

void hone_tune_key_set(hone_tune_key_t* key, int index, const char* text) {
  const char** const parts[] = {&key->kernel, &key->tactic,   &key->device,
                                &key->driver, &key->compiler, &key->hone};
  *parts[index] = text;
}

static const char* or_empty(const char* text) { return text ? text : ""; }

hone_tune_key_t hone_tune_key_complete(const hone_tune_key_t* key) {
  hone_tune_key_t complete = *key;
  if (!complete.hone) complete.hone = hone_version();
  for (int i = 0; i < HONE_TUNE_KEY_PARTS; i++)
    hone_tune_key_set(&complete, i, or_empty(hone_tune_key_part(&complete, i)));
  return complete;
}

/* ---- checking what is put ---- */

static hone_status_t check_text(hone_tune_db_t* db, const char* what, const char* text) {
  size_t size = strlen(text);
  if (size > MOST_TEXT)
    return hone_status_make(HONE_INVALID_ARGUMENT, "a tuning record's %s is longer than %d bytes",
                            what, MOST_TEXT);
  char* copy = hone_alloc(db->allocator, size + 1);
  if (!copy) return hone_oom();
  memcpy(copy, text, size);
  hone_utf8_repair(copy, size, false);
  bool is_good = memcmp(copy, text, size) == 0;
  hone_free(db->allocator, copy, size + 1);
  if (is_good) return NULL;
  return hone_status_make(HONE_INVALID_ARGUMENT, "a tuning record's %s is not UTF-8", what);
}

static hone_status_t check_record(hone_tune_db_t* db, const hone_tune_record_t* record) {
  if (!or_empty(record->key.kernel)[0])
    return hone_status_make(HONE_INVALID_ARGUMENT, "a tuning record names no kernel");
  for (int i = 0; i < HONE_TUNE_KEY_PARTS; i++)
    HONE_TRY(check_text(db, hone_tune_key_names[i], or_empty(hone_tune_key_part(&record->key, i))));
  HONE_TRY(check_text(db, "label", or_empty(record->label)));
  HONE_TRY(check_text(db, "parameters", or_empty(record->parameters)));
  if ((unsigned)record->outcome >= HONE_OUTCOME_COUNT)
    return hone_status_make(HONE_INVALID_ARGUMENT, "a tuning record has no outcome");
  bool timed = record->outcome == HONE_OUTCOME_OK;
  if (timed && !(record->seconds > 0 && isfinite(record->seconds)))
    return hone_status_make(HONE_INVALID_ARGUMENT, "a tuning record that is ok took %g seconds",
                            record->seconds);
  if (timed && !(record->spread >= 0 && isfinite(record->spread)))
    return hone_status_make(HONE_INVALID_ARGUMENT, "a tuning record has a spread of %g seconds",
                            record->spread);
  return NULL;
}

/* ---- putting ---- */

/* A statement with what it is given; the first thing to go wrong sticks. */
typedef struct query {
  hone_tune_db_t* db;
  sqlite3_stmt* statement;
  bool is_kept; /* by the database, for the next time */
  int code;     /* of SQLite */
} query_t;

static hone_status_t open_query(hone_tune_db_t* db, const char* sql, query_t* out_query) {
  *out_query = (query_t){.db = db};
  return hone_tune_db_prepare(db, sql, &out_query->statement);
}

/* A statement of those that are kept. Each is used by one query at a time. */
static hone_status_t open_kept(hone_tune_db_t* db, int index, query_t* out_query) {
  static const char* const sql[HONE_TUNE_KEPT_SQL] = {
      [HONE_TUNE_PUT_TASK_SQL] =
          "INSERT INTO task(kernel, tactic, device, driver, compiler, hone, label)"
          " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING",
      [HONE_TUNE_FIND_SQL] =
          "SELECT outcome, seconds, at, verdict FROM measurement JOIN task ON task.id = task"
          " WHERE kernel = ?1 AND tactic = ?2 AND device = ?3 AND driver = ?4 AND compiler = ?5"
          " AND hone = ?6 AND parameters = ?7",
      [HONE_TUNE_WRITE_SQL] =
          "INSERT OR REPLACE INTO"
          " measurement(task, parameters, outcome, seconds, spread, message, at, verdict)"
          " SELECT id, ?7, ?8, ?9, ?10, ?11, ?12, ?13 FROM task WHERE kernel = ?1 AND tactic = ?2"
          " AND device = ?3 AND driver = ?4 AND compiler = ?5 AND hone = ?6",
      [HONE_TUNE_RULE_SQL] =
          "UPDATE measurement SET verdict = ?8 WHERE parameters = ?7 AND task ="
          " (SELECT id FROM task WHERE kernel = ?1 AND tactic = ?2 AND device = ?3"
          " AND driver = ?4 AND compiler = ?5 AND hone = ?6)",
  };
  *out_query = (query_t){.db = db, .is_kept = true};
  if (!db->kept[index]) HONE_TRY(hone_tune_db_prepare(db, sql[index], &db->kept[index]));
  out_query->statement = db->kept[index];
  return NULL;
}

static void give_text(query_t* query, int at, const char* text) {
  if (query->code == SQLITE_OK)
    query->code = sqlite3_bind_text(query->statement, at, or_empty(text), -1, SQLITE_TRANSIENT);
}

/* Gives the parts of the key to parameters 1 to 6. */
static void give_key(query_t* query, const hone_tune_key_t* key) {
  for (int i = 0; i < HONE_TUNE_KEY_PARTS; i++) give_text(query, i + 1, hone_tune_key_part(key, i));
}

static int step(query_t* query) {
  if (query->code == SQLITE_OK || query->code == SQLITE_ROW)
    query->code = sqlite3_step(query->statement);
  return query->code;
}

/* Finalizes; the status of the last step, as an attempt to `action`. */
static hone_status_t close_query(query_t* query, const char* action) {
  bool is_fine = query->code == SQLITE_ROW || query->code == SQLITE_DONE;
  hone_status_t status = is_fine ? NULL : hone_tune_db_error(query->db, query->code, action);
  if (!query->is_kept) {
    sqlite3_finalize(query->statement);
  } else {
    sqlite3_reset(query->statement);
    sqlite3_clear_bindings(query->statement);
  }
  return status;
}

static hone_status_t put_task(hone_tune_db_t* db, const hone_tune_record_t* record) {
  query_t query;
  HONE_TRY(open_kept(db, HONE_TUNE_PUT_TASK_SQL, &query));
  give_key(&query, &record->key);
  give_text(&query, 7, record->label);
  step(&query);
  return close_query(&query, "write to");
}

static const char* column(sqlite3_stmt* statement, int at) {
  return or_empty((const char*)sqlite3_column_text(statement, at));
}

/* What cannot be understood is none. */
static hone_verdict_t read_verdict(sqlite3_stmt* statement, int at) {
  hone_verdict_t verdict = HONE_VERDICT_NONE;
  hone_verdict_parse(column(statement, at), &verdict);
  return verdict;
}

/* What there is of the same key and parameters: outcome, seconds, when, verdict. */
static hone_status_t find_record(hone_tune_db_t* db, const hone_tune_record_t* record,
                                 bool* out_found, hone_tune_record_t* out_old) {
  query_t query;
  *out_old = (hone_tune_record_t){0};
  *out_found = false;
  HONE_TRY(open_kept(db, HONE_TUNE_FIND_SQL, &query));
  give_key(&query, &record->key);
  give_text(&query, 7, record->parameters);
  if (step(&query) == SQLITE_ROW) {
    const char* outcome = (const char*)sqlite3_column_text(query.statement, 0);
    *out_found = outcome && hone_outcome_parse(outcome, &out_old->outcome);
    out_old->seconds = sqlite3_column_double(query.statement, 1);
    out_old->when = sqlite3_column_int64(query.statement, 2);
    out_old->verdict = read_verdict(query.statement, 3);
  }
  return close_query(&query, "read");
}

static void give_result(query_t* query, const hone_tune_record_t* record, hone_verdict_t verdict) {
  give_text(query, 7, record->parameters);
  give_text(query, 8, hone_outcome_name(record->outcome));
  if (record->outcome == HONE_OUTCOME_OK) {
    sqlite3_bind_double(query->statement, 9, record->seconds);
    sqlite3_bind_double(query->statement, 10, record->spread);
  }
  char message[MOST_MESSAGE + 1] = "";
  strncat(message, or_empty(record->message), MOST_MESSAGE);
  hone_utf8_repair(message, strlen(message), false);
  give_text(query, 11, message);
  sqlite3_bind_int64(query->statement, 12, record->when);
  give_text(query, 13, hone_verdict_name(verdict));
}

static hone_status_t write_record(hone_tune_db_t* db, const hone_tune_record_t* record,
                                  hone_verdict_t verdict) {
  query_t query;
  HONE_TRY(open_kept(db, HONE_TUNE_WRITE_SQL, &query));
  give_key(&query, &record->key);
  give_result(&query, record, verdict);
  step(&query);
  return close_query(&query, "write to");
}

hone_status_t hone_tune_db_rule(hone_tune_db_t* db, const hone_tune_key_t* key,
                                const char* parameters, hone_verdict_t verdict) {
  query_t query;
  HONE_TRY(open_kept(db, HONE_TUNE_RULE_SQL, &query));
  give_key(&query, key);
  give_text(&query, 7, parameters);
  give_text(&query, 8, hone_verdict_name(verdict));
  step(&query);
  return close_query(&query, "write to");
}

/* Which of two records of the same candidate stays; see the head of database.h. */
static hone_tune_put_t judge(const hone_tune_record_t* old, const hone_tune_record_t* fresh) {
  bool was_ok = old->outcome == HONE_OUTCOME_OK, is_ok = fresh->outcome == HONE_OUTCOME_OK;
  bool wins = fresh->when > old->when;
  if (old->outcome == fresh->outcome && old->when == fresh->when &&
      (!is_ok || old->seconds == fresh->seconds))
    return HONE_TUNE_PUT_SAME;
  if (old->outcome != fresh->outcome && old->outcome == HONE_OUTCOME_WRONG_RESULT)
    wins = false;
  else if (old->outcome != fresh->outcome && fresh->outcome == HONE_OUTCOME_WRONG_RESULT)
    wins = true;
  else if (was_ok != is_ok)
    wins = is_ok;
  else if (is_ok)
    wins = fresh->seconds < old->seconds;
  return wins ? HONE_TUNE_PUT_REPLACED : HONE_TUNE_PUT_KEPT;
}

static hone_status_t put_in_transaction(hone_tune_db_t* db, const hone_tune_record_t* record,
                                        hone_tune_put_t* out_put) {
  bool found;
  hone_tune_record_t old;
  HONE_TRY(find_record(db, record, &found, &old));
  *out_put = found ? judge(&old, record) : HONE_TUNE_PUT_ADDED;
  hone_verdict_t verdict = old.verdict > record->verdict ? old.verdict : record->verdict;
  if (*out_put == HONE_TUNE_PUT_SAME || *out_put == HONE_TUNE_PUT_KEPT) {
    if (verdict == old.verdict) return NULL;
    *out_put = HONE_TUNE_PUT_REPLACED;
    return hone_tune_db_rule(db, &record->key, record->parameters, verdict);
  }
  HONE_TRY(put_task(db, record));
  return write_record(db, record, verdict);
}

hone_status_t hone_tune_db_put(hone_tune_db_t* db, const hone_tune_record_t* record,
                               hone_tune_put_t* out_put) {
  hone_tune_put_t put;
  if (!out_put) out_put = &put;
  *out_put = HONE_TUNE_PUT_KEPT;
  HONE_TRY(check_record(db, record));
  if (db->in_transaction) return put_in_transaction(db, record, out_put);
  HONE_TRY(hone_tune_db_begin(db));
  hone_status_t status = put_in_transaction(db, record, out_put);
  if (!status) return hone_tune_db_commit(db);
  hone_tune_db_rollback(db);
  return status;
}

/* ---- asking ---- */

/* Each part of the key is either not asked for (NULL) or equal. A kernel that
 * is asked for is found by the index, whatever the size of the database. */
#define COLUMNS                                                                        \
  "SELECT kernel, tactic, device, driver, compiler, hone, label, parameters, outcome," \
  "  seconds, spread, message, at, verdict FROM measurement JOIN task ON task.id = task WHERE "
#define OTHER_PARTS                                                    \
  " AND (?2 IS NULL OR tactic = ?2) AND (?3 IS NULL OR device = ?3)"   \
  " AND (?4 IS NULL OR driver = ?4) AND (?5 IS NULL OR compiler = ?5)" \
  " AND (?6 IS NULL OR hone = ?6)"
#define USABLE " AND outcome = 'ok' AND verdict != 'refused'"
#define ORDER_BY_KEY " ORDER BY kernel, tactic, device, driver, compiler, hone, "
#define BY_SECONDS "outcome != 'ok', seconds, parameters"
#define BEST_FIRST "verdict != 'confirmed', seconds, parameters"

/* The same question for all kernels and for one. */
typedef struct question {
  const char *all, *one;
} question_t;

static const question_t each_question = {COLUMNS "?1 IS NULL" OTHER_PARTS ORDER_BY_KEY BY_SECONDS,
                                         COLUMNS "kernel = ?1" OTHER_PARTS ORDER_BY_KEY BY_SECONDS};
static const question_t usable_question = {
    COLUMNS "?1 IS NULL" OTHER_PARTS USABLE ORDER_BY_KEY BEST_FIRST,
    COLUMNS "kernel = ?1" OTHER_PARTS USABLE ORDER_BY_KEY BEST_FIRST};
static const question_t best_question = {
    COLUMNS "?1 IS NULL" OTHER_PARTS USABLE " ORDER BY " BEST_FIRST,
    COLUMNS "kernel = ?1" OTHER_PARTS USABLE " ORDER BY " BEST_FIRST};

static hone_status_t open_records(hone_tune_db_t* db, const question_t* question,
                                  const hone_tune_key_t* key, query_t* out_query) {
  HONE_TRY(open_query(db, key && key->kernel ? question->one : question->all, out_query));
  for (int i = 0; key && i < HONE_TUNE_KEY_PARTS; i++) {
    const char* part = hone_tune_key_part(key, i);
    if (part) give_text(out_query, i + 1, part);
  }
  return NULL;
}

/* False when the row makes no sense. Its text lives until the next step. */
static bool read_row(sqlite3_stmt* statement, hone_tune_record_t* out_record) {
  hone_tune_record_t record = {0};
  for (int i = 0; i < HONE_TUNE_KEY_PARTS; i++)
    hone_tune_key_set(&record.key, i, column(statement, i));
  record.label = column(statement, 6);
  record.parameters = column(statement, 7);
  record.seconds = sqlite3_column_double(statement, 9);
  record.spread = sqlite3_column_double(statement, 10);
  record.message = column(statement, 11);
  record.when = sqlite3_column_int64(statement, 12);
  record.verdict = read_verdict(statement, 13);
  *out_record = record;
  if (!hone_outcome_parse(column(statement, 8), &out_record->outcome)) return false;
  if (out_record->outcome != HONE_OUTCOME_OK)
    out_record->seconds = out_record->spread = 0;
  else if (!(record.seconds > 0 && isfinite(record.seconds)))
    return false;
  if (!(record.spread >= 0 && isfinite(record.spread))) out_record->spread = 0;
  return record.key.kernel[0] != 0;
}

/* Copies what a record points to into the arena. */
static hone_status_t keep_record(hone_arena_t* arena, hone_tune_record_t* record) {
  bool kept = true;
  for (int i = 0; i < HONE_TUNE_KEY_PARTS; i++) {
    const char* copy = hone_arena_strdup(arena, hone_tune_key_part(&record->key, i));
    hone_tune_key_set(&record->key, i, copy);
    kept = kept && copy;
  }
  record->label = hone_arena_strdup(arena, record->label);
  record->parameters = hone_arena_strdup(arena, record->parameters);
  record->message = hone_arena_strdup(arena, record->message);
  return kept && record->label && record->parameters && record->message ? NULL : hone_oom();
}

hone_status_t hone_tune_db_best(hone_tune_db_t* db, const hone_tune_key_t* key, hone_arena_t* arena,
                                bool* out_found, hone_tune_record_t* out_record) {
  query_t query;
  hone_tune_record_t record;
  bool found = false;
  hone_status_t kept = NULL;
  *out_found = false;
  *out_record = (hone_tune_record_t){0};
  HONE_TRY(open_records(db, &best_question, key, &query));
  while (!found && step(&query) == SQLITE_ROW) found = read_row(query.statement, &record);
  if (found) kept = keep_record(arena, &record);
  hone_status_t status = close_query(&query, "read");
  if (status || kept || !found) {
    if (status) hone_status_free(kept);
    return status ? status : kept;
  }
  *out_found = true;
  *out_record = record;
  return NULL;
}

/* Whether a record is of the key of the one visited before. */
static bool is_same_key(const hone_tune_key_t* a, const hone_tune_key_t* b) {
  for (int i = 0; i < HONE_TUNE_KEY_PARTS; i++)
    if (strcmp(hone_tune_key_part(a, i), hone_tune_key_part(b, i)) != 0) return false;
  return true;
}

typedef struct walk {
  bool only_best;
  hone_tune_visit_t visit;
  void* context;
  hone_arena_t* arena;     /* of the last record */
  hone_tune_record_t last; /* the best of its key; kernel NULL: none */
} walk_t;

static hone_status_t visit_row(walk_t* walk, const hone_tune_record_t* record) {
  if (!walk->only_best) return walk->visit(walk->context, record);
  if (walk->last.key.kernel && is_same_key(&walk->last.key, &record->key)) return NULL;
  walk->last = *record;
  HONE_TRY(keep_record(walk->arena, &walk->last));
  return walk->visit(walk->context, record);
}

static hone_status_t walk_rows(hone_tune_db_t* db, const hone_tune_key_t* key, walk_t* walk) {
  query_t query;
  hone_status_t visited = NULL;
  HONE_TRY(open_records(db, walk->only_best ? &usable_question : &each_question, key, &query));
  while (!visited && step(&query) == SQLITE_ROW) {
    hone_tune_record_t record;
    if (read_row(query.statement, &record)) visited = visit_row(walk, &record);
  }
  hone_status_t status = close_query(&query, "read");
  return visited ? visited : status;
}

hone_status_t hone_tune_db_each(hone_tune_db_t* db, const hone_tune_key_t* key, bool only_best,
                                hone_tune_visit_t visit, void* context) {
  walk_t walk = {.only_best = only_best, .visit = visit, .context = context};
  if (only_best) HONE_TRY(hone_arena_create(db->allocator, &walk.arena));
  hone_status_t status = walk_rows(db, key, &walk);
  hone_arena_destroy(walk.arena);
  return status;
}
