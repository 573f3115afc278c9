#include "tune/database.h"

#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/str.h"
#include "base/testing/fault.h"
#include "base/testing/folder.h"

static test_folder_t folder;

static int set_up(void** state) {
  test_folder_make(&folder);
  return 0;
}

static int tear_down(void** state) {
  test_folder_remove(&folder);
  return 0;
}

static const char* at(const char* name) { return test_folder_file(&folder, name); }

static hone_tune_record_t record(const char* kernel, const char* parameters, double seconds) {
  return (hone_tune_record_t){
      .key = {kernel, "tiles", "some cpu", "linux", "gcc 12", "0.1.0"},
      .label = "matmul 64x64",
      .parameters = parameters,
      .seconds = seconds,
      .spread = seconds / 100,
      .when = 1000,
  };
}

static hone_tune_record_t failure(const char* kernel, const char* parameters,
                                  hone_outcome_t outcome, const char* message) {
  hone_tune_record_t made = record(kernel, parameters, 0);
  made.outcome = outcome;
  made.message = message;
  return made;
}

static hone_tune_db_t* open_db(const char* path) {
  hone_tune_db_t* db;
  assert_ok(hone_tune_db_open(NULL, path, HONE_TUNE_DB_WRITE, &db));
  return db;
}

static hone_tune_put_t put(hone_tune_db_t* db, hone_tune_record_t made) {
  hone_tune_put_t what;
  assert_ok(hone_tune_db_put(db, &made, &what));
  return what;
}

static hone_status_t count_one(void* context, const hone_tune_record_t* found) {
  ++*(int*)context;
  return NULL;
}

static int count(hone_tune_db_t* db) {
  int n = 0;
  assert_ok(hone_tune_db_each(db, NULL, false, count_one, &n));
  return n;
}

/* ---- records ---- */

static void the_best_comes_back(void** state) {
  hone_tune_db_t* db = open_db(at("a.db"));
  put(db, record("k1", "vec=4", 0.002));
  put(db, record("k1", "vec=8", 0.001));
  put(db, record("k2", "vec=8", 0.0001));
  put(db, failure("k1", "vec=16", HONE_OUTCOME_BUILD_FAILED, "no such register"));
  hone_tune_db_close(db);
  assert_ok(hone_tune_db_open(NULL, at("a.db"), HONE_TUNE_DB_READ, &db));
  assert_string_equal(hone_tune_db_path(db), at("a.db"));
  hone_arena_t* arena;
  assert_ok(hone_arena_create(NULL, &arena));
  hone_tune_record_t best;
  bool found;
  hone_tune_key_t key = {.kernel = "k1"};
  assert_ok(hone_tune_db_best(db, &key, arena, &found, &best));
  assert_true(found);
  assert_string_equal(best.parameters, "vec=8");
  assert_string_equal(best.label, "matmul 64x64");
  assert_string_equal(best.key.device, "some cpu");
  assert_true(best.seconds == 0.001 && best.spread == 0.00001 && best.when == 1000);
  key.device = "another cpu";
  assert_ok(hone_tune_db_best(db, &key, arena, &found, &best));
  assert_false(found);
  assert_null(best.parameters);
  hone_arena_destroy(arena);
  assert_ok(hone_tune_db_check(db));
  hone_tune_db_close(db);
}

static hone_status_t append_parameters(void* context, const hone_tune_record_t* found) {
  hone_str_appendf(context, "%s:%s %s; ", found->key.kernel, found->parameters, found->message);
  return NULL;
}

static void records_are_visited_in_order(void** state) {
  hone_tune_db_t* db = open_db(NULL);
  assert_string_equal(hone_tune_db_path(db), "memory");
  put(db, record("k2", "a", 3));
  put(db, failure("k1", "b", HONE_OUTCOME_TIMEOUT, "slow"));
  put(db, record("k1", "c", 2));
  put(db, record("k1", "d", 1));
  put(db, failure("k3", "e", HONE_OUTCOME_RUN_FAILED, "fell"));
  hone_str_t text;
  hone_str_init(&text, NULL);
  assert_ok(hone_tune_db_each(db, NULL, false, append_parameters, &text));
  assert_string_equal(hone_str_text(&text), "k1:d ; k1:c ; k1:b slow; k2:a ; k3:e fell; ");
  hone_str_free(&text);
  assert_ok(hone_tune_db_each(db, NULL, true, append_parameters, &text));
  assert_string_equal(hone_str_text(&text), "k1:d ; k2:a ; ");
  hone_str_free(&text);
  hone_tune_key_t key = {.kernel = "k2", .tactic = "tiles"};
  assert_ok(hone_tune_db_each(db, &key, false, append_parameters, &text));
  assert_string_equal(hone_str_text(&text), "k2:a ; ");
  hone_str_free(&text);
  hone_tune_db_close(db);
}

static void of_two_records_the_better_stays(void** state) {
  static const hone_outcome_t ok = HONE_OUTCOME_OK, run = HONE_OUTCOME_RUN_FAILED,
                              wrong = HONE_OUTCOME_WRONG_RESULT;
  const struct {
    hone_outcome_t old;
    double old_seconds;
    int64_t old_when;
    hone_outcome_t fresh;
    double fresh_seconds;
    int64_t fresh_when;
    hone_tune_put_t expected;
  } cases[] = {
      {ok, 2, 1, ok, 1, 0, HONE_TUNE_PUT_REPLACED},
      {ok, 1, 1, ok, 2, 9, HONE_TUNE_PUT_KEPT},
      {ok, 1, 1, ok, 1, 1, HONE_TUNE_PUT_SAME},
      {ok, 1, 1, run, 0, 9, HONE_TUNE_PUT_KEPT},
      {run, 0, 9, ok, 1, 1, HONE_TUNE_PUT_REPLACED},
      {ok, 1, 9, wrong, 0, 1, HONE_TUNE_PUT_REPLACED},
      {wrong, 0, 1, ok, 1, 9, HONE_TUNE_PUT_KEPT},
      {run, 0, 1, run, 0, 2, HONE_TUNE_PUT_REPLACED},
      {run, 0, 2, run, 0, 1, HONE_TUNE_PUT_KEPT},
      {run, 0, 1, wrong, 0, 1, HONE_TUNE_PUT_REPLACED},
      {wrong, 0, 1, run, 0, 9, HONE_TUNE_PUT_KEPT},
      {wrong, 0, 1, wrong, 0, 1, HONE_TUNE_PUT_SAME},
  };
  for (size_t i = 0; i < TEST_COUNT(cases); i++) {
    hone_tune_db_t* db = open_db(NULL);
    hone_tune_record_t old = record("k", "p", cases[i].old_seconds);
    hone_tune_record_t fresh = record("k", "p", cases[i].fresh_seconds);
    old.outcome = cases[i].old;
    old.when = cases[i].old_when;
    fresh.outcome = cases[i].fresh;
    fresh.when = cases[i].fresh_when;
    assert_int_equal(put(db, old), HONE_TUNE_PUT_ADDED);
    assert_int_equal(put(db, fresh), cases[i].expected);
    assert_int_equal(count(db), 1);
    hone_tune_db_close(db);
  }
}

static void run_sql(const char* path, const char* sql) {
  sqlite3* handle;
  assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
  assert_int_equal(sqlite3_exec(handle, sql, NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(handle);
}

/* ---- verdicts ---- */

static hone_tune_record_t ruled(const char* parameters, double seconds, hone_verdict_t verdict) {
  hone_tune_record_t made = record("k", parameters, seconds);
  made.verdict = verdict;
  return made;
}

/* "a:confirmed b: " in the order of a walk. */
static hone_status_t append_verdict(void* context, const hone_tune_record_t* found) {
  hone_str_appendf(context, "%s:%s ", found->parameters, hone_verdict_name(found->verdict));
  return NULL;
}

static void assert_verdicts(hone_tune_db_t* db, bool only_best, const char* expected) {
  hone_str_t text;
  hone_str_init(&text, NULL);
  assert_ok(hone_tune_db_each(db, NULL, only_best, append_verdict, &text));
  assert_string_equal(hone_str_text(&text), expected);
  hone_str_free(&text);
}

static void verdicts_say_what_is_best(void** state) {
  hone_tune_db_t* db = open_db(at("a.db"));
  put(db, record("k", "a", 1));
  put(db, record("k", "b", 2));
  put(db, record("k", "c", 3));
  const hone_tune_key_t key = record("k", "a", 1).key;
  assert_ok(hone_tune_db_rule(db, &key, "a", HONE_VERDICT_REFUSED));
  assert_verdicts(db, true, "b: ");
  assert_ok(hone_tune_db_rule(db, &key, "c", HONE_VERDICT_CONFIRMED));
  assert_ok(hone_tune_db_rule(db, &key, "none such", HONE_VERDICT_CONFIRMED));
  assert_verdicts(db, true, "c:confirmed ");
  assert_verdicts(db, false, "a:refused b: c:confirmed ");
  assert_ok(hone_tune_db_rule(db, &key, "a", HONE_VERDICT_CONFIRMED));
  hone_tune_db_close(db);
  assert_ok(hone_tune_db_open(NULL, at("a.db"), HONE_TUNE_DB_READ, &db));
  assert_verdicts(db, true, "a:confirmed ");
  hone_tune_db_close(db);
}

static void verdicts_stay_when_records_meet(void** state) {
  static const hone_verdict_t none = HONE_VERDICT_NONE, good = HONE_VERDICT_CONFIRMED,
                              bad = HONE_VERDICT_REFUSED;
  hone_tune_db_t* db = open_db(NULL);
  put(db, ruled("faster", 2, good));
  assert_int_equal(put(db, ruled("faster", 1, none)), HONE_TUNE_PUT_REPLACED);
  put(db, ruled("ruled", 3, good));
  assert_int_equal(put(db, ruled("ruled", 3, bad)), HONE_TUNE_PUT_REPLACED);
  put(db, ruled("stays", 4, bad));
  assert_int_equal(put(db, ruled("stays", 4, good)), HONE_TUNE_PUT_SAME);
  assert_int_equal(put(db, ruled("stays", 5, good)), HONE_TUNE_PUT_KEPT);
  assert_verdicts(db, false, "faster:confirmed ruled:refused stays:refused ");
  int64_t exported;
  hone_tune_merge_t merge;
  assert_ok(hone_tune_db_export(db, NULL, false, at("all.jsonl"), &exported));
  hone_tune_db_close(db);
  db = open_db(NULL);
  assert_ok(hone_tune_db_import(db, at("all.jsonl"), &merge));
  assert_verdicts(db, false, "faster:confirmed ruled:refused stays:refused ");
  hone_tune_db_close(db);
}

/* As version 1 made it, which knew no verdicts. */
static void make_old_file(const char* path) {
  hone_tune_db_t* db = open_db(path);
  put(db, record("k", "a", 1));
  hone_tune_db_close(db);
  run_sql(path,
          "DROP VIEW best; ALTER TABLE measurement DROP COLUMN verdict; PRAGMA user_version = 1");
}

static void older_files_have_no_verdicts_until_they_are_written(void** state) {
  hone_tune_db_t* db;
  make_old_file(at("old.db"));
  assert_ok(hone_tune_db_open(NULL, at("old.db"), HONE_TUNE_DB_READ, &db));
  assert_verdicts(db, true, "a: ");
  hone_tune_db_close(db);
  db = open_db(at("old.db"));
  const hone_tune_key_t key = record("k", "a", 1).key;
  assert_ok(hone_tune_db_rule(db, &key, "a", HONE_VERDICT_CONFIRMED));
  assert_verdicts(db, true, "a:confirmed ");
  assert_ok(hone_tune_db_check(db));
  hone_tune_db_close(db);
  run_sql(at("old.db"), "SELECT * FROM best");
}

static void senseless_records_are_refused(void** state) {
  hone_tune_db_t* db = open_db(NULL);
  char* large = calloc(1, (1 << 16) + 2);
  memset(large, 'a', (1 << 16) + 1);
  hone_tune_record_t cases[] = {
      record("", "p", 1),    record(NULL, "p", 1),   record("k", "p", 0),
      record("k", "p", -1),  record("k", "p", NAN),  record("k", "p", INFINITY),
      record("k", large, 1), record("k", "\xff", 1), record("\xc3", "p", 1),
      record("k", "p", 1),   record("k", "p", 1),
  };
  cases[TEST_COUNT(cases) - 1].outcome = HONE_OUTCOME_COUNT;
  cases[TEST_COUNT(cases) - 2].spread = -1;
  for (size_t i = 0; i < TEST_COUNT(cases); i++)
    assert_code(hone_tune_db_put(db, &cases[i], NULL), HONE_INVALID_ARGUMENT);
  assert_int_equal(count(db), 0);
  /* A message may be anything: it comes from compilers. */
  hone_tune_record_t odd = failure("k", "p", HONE_OUTCOME_BUILD_FAILED, large);
  assert_int_equal(put(db, odd), HONE_TUNE_PUT_ADDED);
  odd = failure("k", "q", HONE_OUTCOME_BUILD_FAILED, "\xff\xfe");
  assert_int_equal(put(db, odd), HONE_TUNE_PUT_ADDED);
  hone_tune_db_close(db);
  free(large);
}

static void a_rollback_undoes(void** state) {
  hone_tune_db_t* db = open_db(at("a.db"));
  assert_ok(hone_tune_db_begin(db));
  put(db, record("k", "p", 1));
  hone_tune_db_rollback(db);
  assert_int_equal(count(db), 0);
  assert_ok(hone_tune_db_begin(db));
  put(db, record("k", "p", 1));
  hone_tune_db_close(db); /* without a commit */
  db = open_db(at("a.db"));
  assert_int_equal(count(db), 0);
  hone_tune_db_close(db);
}

/* ---- files ---- */

static void folders_are_made(void** state) {
  hone_tune_db_t* db = open_db(at("new/folders/a.db"));
  put(db, record("k", "p", 1));
  hone_tune_db_close(db);
  db = open_db(at("new/folders/a.db"));
  assert_int_equal(count(db), 1);
  hone_tune_db_close(db);
}

static void the_default_path_is_in_the_cache(void** state) {
  hone_arena_t* arena;
  char* path;
  assert_ok(hone_arena_create(NULL, &arena));
  setenv("XDG_CACHE_HOME", "/some/cache", 1);
  assert_ok(hone_tune_db_default_path(arena, &path));
  assert_string_equal(path, "/some/cache/hone/tune.db");
  setenv("XDG_CACHE_HOME", "relative", 1); /* to be ignored */
  setenv("HOME", "/some/home", 1);
  assert_ok(hone_tune_db_default_path(arena, &path));
  assert_string_equal(path, "/some/home/.cache/hone/tune.db");
  unsetenv("HOME");
  assert_code(hone_tune_db_default_path(arena, &path), HONE_NOT_FOUND);
  hone_arena_destroy(arena);
}

static void what_is_no_database_is_refused_and_left_alone(void** state) {
  hone_tune_db_t* db;
  test_folder_write(&folder, "text.db", "this is a text, and a long one at that, of no database");
  test_folder_write(&folder, "empty.db", "");
  assert_code(hone_tune_db_open(NULL, at("text.db"), HONE_TUNE_DB_WRITE, &db), HONE_INVALID_DATA);
  assert_null(db);
  assert_code(hone_tune_db_open(NULL, at("text.db"), HONE_TUNE_DB_READ, &db), HONE_INVALID_DATA);
  assert_code(hone_tune_db_open(NULL, at("empty.db"), HONE_TUNE_DB_READ, &db), HONE_INVALID_DATA);
  assert_code(hone_tune_db_open(NULL, at("absent.db"), HONE_TUNE_DB_READ, &db), HONE_NOT_FOUND);
  assert_code(hone_tune_db_open(NULL, folder.path, HONE_TUNE_DB_WRITE, &db), HONE_IO);
  assert_code(hone_tune_db_open(NULL, at("text.db/a.db"), HONE_TUNE_DB_WRITE, &db), HONE_IO);
  char* data;
  size_t size;
  assert_ok(hone_file_read(NULL, at("text.db"), 0, &data, &size));
  assert_memory_equal(data, "this is a text", 14);
  hone_free(NULL, data, size + 1);
}

/* Runs SQL on a file, past hone. */
static void other_databases_and_versions_are_refused(void** state) {
  hone_tune_db_t* db;
  run_sql(at("other.db"), "CREATE TABLE mine(a)");
  assert_code(hone_tune_db_open(NULL, at("other.db"), HONE_TUNE_DB_WRITE, &db), HONE_INVALID_DATA);
  hone_tune_db_close(open_db(at("newer.db")));
  run_sql(at("newer.db"), "PRAGMA user_version = 3");
  assert_code(hone_tune_db_open(NULL, at("newer.db"), HONE_TUNE_DB_WRITE, &db), HONE_UNSUPPORTED);
  hone_tune_db_close(open_db(at("gutted.db")));
  run_sql(at("gutted.db"), "DROP VIEW best; DROP TABLE measurement");
  db = open_db(at("gutted.db"));
  int n = 0;
  assert_code(hone_tune_db_each(db, NULL, false, count_one, &n), HONE_INVALID_DATA);
  hone_tune_record_t made = record("k", "p", 1);
  assert_code(hone_tune_db_put(db, &made, NULL), HONE_INVALID_DATA);
  hone_tune_db_close(db);
}

static void foreign_rows_are_passed_over(void** state) {
  hone_tune_db_t* db = open_db(at("a.db"));
  put(db, record("k", "p", 2));
  hone_tune_db_close(db);
  run_sql(
      at("a.db"),
      "INSERT INTO measurement(task, parameters, outcome, seconds, spread, message, at) VALUES(1, "
      "'x1', 'magic', 1, 1, '', 1), (1, 'x2', 'ok', -1, 1, "
      "'', 1), (1, 'x3', 'ok', NULL, 1, '', 1), (1, 'x4', 'ok', 'text', 1, '', 1), (7, 'x5', "
      "'ok', 1, 1, '', 1), (1, 'x6', 'ok', 9e999, 1, '', 1), (1, x'00ff', 'ok', 3, 'a', '', 1)");
  db = open_db(at("a.db"));
  assert_int_equal(count(db), 2);
  hone_arena_t* arena;
  assert_ok(hone_arena_create(NULL, &arena));
  hone_tune_record_t best;
  bool found;
  assert_ok(hone_tune_db_best(db, &(hone_tune_key_t){.kernel = "k"}, arena, &found, &best));
  assert_true(found && best.seconds == 2);
  hone_arena_destroy(arena);
  hone_tune_db_close(db);
}

static void damaged_files_are_told_and_set_aside(void** state) {
  hone_tune_db_t* db = open_db(at("a.db"));
  assert_ok(hone_tune_db_begin(db));
  for (int i = 0; i < 500; i++) {
    char parameters[32];
    snprintf(parameters, sizeof parameters, "tile=%d", i);
    put(db, record("k", parameters, 1 + i));
  }
  assert_ok(hone_tune_db_commit(db));
  hone_tune_db_close(db);
  FILE* file = fopen(at("a.db"), "r+b");
  fseek(file, 3 * 4096, SEEK_SET);
  for (int i = 0; i < 4096; i++) fputc(0xa5, file);
  fclose(file);
  int n = 0;
  db = open_db(at("a.db"));
  assert_code(hone_tune_db_check(db), HONE_INVALID_DATA);
  assert_code(hone_tune_db_each(db, NULL, false, count_one, &n), HONE_INVALID_DATA);
  hone_tune_db_close(db);
  hone_arena_t* arena;
  char* path;
  assert_ok(hone_arena_create(NULL, &arena));
  assert_ok(hone_tune_db_set_aside(arena, at("a.db"), &path));
  assert_string_equal(path, at("a.db.corrupt"));
  assert_code(hone_tune_db_set_aside(arena, at("a.db"), &path), HONE_NOT_FOUND);
  hone_tune_db_close(open_db(at("a.db")));
  assert_ok(hone_tune_db_set_aside(arena, at("a.db"), &path));
  assert_string_equal(path, at("a.db.corrupt.2"));
  hone_arena_destroy(arena);
}

/* Whatever bytes of the file change, opening and reading give an answer or an error. */
static void flipped_bytes_do_no_harm(void** state) {
  hone_tune_db_t* db = open_db(at("a.db"));
  for (int i = 0; i < 3; i++) {
    char parameters[32];
    snprintf(parameters, sizeof parameters, "tile=%d", i);
    put(db, record("k", parameters, 1 + i));
  }
  hone_tune_db_close(db);
  char* data;
  size_t size;
  int good = 0, bad = 0;
  assert_ok(hone_file_read(NULL, at("a.db"), 0, &data, &size));
  for (size_t place = 0; place < size; place += 1 + size / 400) {
    data[place] ^= 0x41;
    assert_ok(hone_file_write(at("b.db"), data, size));
    data[place] ^= 0x41;
    hone_status_t status = hone_tune_db_open(NULL, at("b.db"), HONE_TUNE_DB_READ, &db);
    int n = 0;
    if (!status) status = hone_tune_db_each(db, NULL, false, count_one, &n);
    good += !status;
    bad += !!status;
    hone_status_free(status);
    hone_tune_db_close(db);
  }
  assert_true(good > 0 && bad > 0);
  hone_free(NULL, data, size + 1);
}

/* ---- processes ---- */

/* Runs `body` in a child, whose exit code it gives; that must be 0. */
static void in_child(int (*body)(void)) {
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) _exit(body());
  int result;
  assert_int_equal(waitpid(child, &result, 0), child);
  assert_true(WIFEXITED(result));
  assert_int_equal(WEXITSTATUS(result), 0);
}

/* Puts records of kernel `name` and writes a byte to `pipe` after each, forever or `most` times. */
static void write_records(const char* name, int most, int pipe) {
  hone_tune_db_t* db;
  if (hone_tune_db_open(NULL, at("a.db"), HONE_TUNE_DB_WRITE, &db)) _exit(1);
  for (int i = 0; i < most; i++) {
    char parameters[32];
    snprintf(parameters, sizeof parameters, "tile=%d", i);
    hone_tune_record_t made = record(name, parameters, 1 + i);
    if (hone_tune_db_put(db, &made, NULL) || write(pipe, "", 1) != 1) _exit(1);
  }
  _exit(0);
}

static pid_t start_writer(const char* name, int most, int* out_pipe) {
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    close(ends[0]);
    write_records(name, most, ends[1]);
  }
  close(ends[1]);
  *out_pipe = ends[0];
  return child;
}

static void a_killed_writer_leaves_it_usable(void** state) {
  int written = 0;
  for (int round = 0; round < 8; round++) {
    int pipe, wanted = 1 + round * 3;
    char name[16], byte;
    snprintf(name, sizeof name, "k%d", round);
    pid_t child = start_writer(name, 1 << 20, &pipe);
    for (int i = 0; i < wanted; i++) assert_int_equal(read(pipe, &byte, 1), 1);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    while (read(pipe, &byte, 1) == 1) wanted++;
    close(pipe);
    written += wanted;
    hone_tune_db_t* db = open_db(at("a.db"));
    assert_ok(hone_tune_db_check(db));
    int n = 0;
    assert_ok(hone_tune_db_each(db, &(hone_tune_key_t){.kernel = name}, false, count_one, &n));
    assert_true(n == wanted || n == wanted + 1); /* the last may be written and not yet told */
    hone_tune_db_close(db);
  }
  assert_true(written > 0);
}

static void several_processes_write_at_once(void** state) {
  enum { WRITERS = 3, RECORDS = 12 };
  int pipes[WRITERS], result;
  pid_t children[WRITERS];
  for (int i = 0; i < WRITERS; i++) {
    char name[16];
    snprintf(name, sizeof name, "k%d", i);
    children[i] = start_writer(name, RECORDS, &pipes[i]);
  }
  for (int i = 0; i < WRITERS; i++) {
    assert_int_equal(waitpid(children[i], &result, 0), children[i]);
    assert_true(WIFEXITED(result) && WEXITSTATUS(result) == 0);
    close(pipes[i]);
  }
  hone_tune_db_t* db = open_db(at("a.db"));
  assert_int_equal(count(db), WRITERS * RECORDS);
  hone_tune_db_close(db);
}

/* With a limit on the size of files, as on a full disk. */
static int fill_disk(void) {
  struct rlimit limit = {40000, 40000};
  hone_tune_db_t* db;
  signal(SIGXFSZ, SIG_IGN);
  if (hone_tune_db_open(NULL, at("a.db"), HONE_TUNE_DB_WRITE, &db)) return 1;
  setrlimit(RLIMIT_FSIZE, &limit);
  for (int i = 0; i < 2000; i++) {
    char parameters[600];
    snprintf(parameters, sizeof parameters, "tile=%d %0500d", i, i);
    hone_tune_record_t made = record("k", parameters, 1 + i);
    hone_status_t status = hone_tune_db_put(db, &made, NULL);
    if (!status) continue;
    hone_code_t code = hone_status_code(status);
    bool names_file = strstr(hone_status_message(status), "a.db") != NULL;
    hone_status_free(status);
    hone_tune_db_close(db);
    return code == HONE_IO && names_file && i > 10 ? 0 : 2;
  }
  return 3;
}

static void a_full_disk_is_an_error(void** state) {
  in_child(fill_disk);
  hone_tune_db_t* db = open_db(at("a.db"));
  assert_ok(hone_tune_db_check(db));
  assert_true(count(db) > 10);
  hone_tune_db_close(db);
}

/* As somebody who may not write. */
static int use_read_only(void) {
  hone_tune_db_t* db;
  if (geteuid() == 0 && setuid(65534) != 0) return 1;
  hone_status_t status = hone_tune_db_open(NULL, at("a.db"), HONE_TUNE_DB_WRITE, &db);
  bool is_right = hone_status_code(status) == HONE_IO &&
                  strstr(hone_status_message(status), "read-only") != NULL;
  hone_status_free(status);
  if (!is_right) return 2;
  status = hone_tune_db_open(NULL, at("sub/b.db"), HONE_TUNE_DB_WRITE, &db);
  is_right = hone_status_code(status) == HONE_IO;
  hone_status_free(status);
  if (!is_right) return 3;
  if (hone_tune_db_open(NULL, at("a.db"), HONE_TUNE_DB_READ, &db)) return 4;
  int n = 0;
  if (hone_tune_db_each(db, NULL, false, count_one, &n) || n != 1) return 5;
  hone_tune_db_close(db);
  return 0;
}

static void a_read_only_file_can_be_read(void** state) {
  hone_tune_db_t* db = open_db(at("a.db"));
  put(db, record("k", "p", 1));
  hone_tune_db_close(db);
  chmod(at("a.db"), 0444);
  chmod(folder.path, 0555);
  in_child(use_read_only);
  chmod(folder.path, 0755);
}

/* ---- exchange ---- */

static void an_export_imports(void** state) {
  hone_tune_db_t* db = open_db(NULL);
  put(db, record("k1", "tile=4 word=a", 0.1));
  put(db, record("k1", "tile=8 word=b", 1.0 / 3));
  put(db, failure("k\"2\\", "p", HONE_OUTCOME_WRONG_RESULT, "line\nline \xc3\xa9"));
  int64_t exported;
  hone_tune_merge_t merge;
  assert_ok(hone_tune_db_export(db, NULL, false, at("all.jsonl"), &exported));
  assert_int_equal(exported, 3);
  assert_ok(hone_tune_db_export(db, NULL, true, at("best.jsonl"), &exported));
  assert_int_equal(exported, 1);
  hone_tune_db_t* other = open_db(NULL);
  assert_ok(hone_tune_db_import(other, at("best.jsonl"), &merge));
  assert_int_equal(merge.count[HONE_TUNE_PUT_ADDED], 1);
  assert_ok(hone_tune_db_import(other, at("all.jsonl"), &merge));
  assert_int_equal(merge.count[HONE_TUNE_PUT_ADDED], 2);
  assert_int_equal(merge.count[HONE_TUNE_PUT_SAME], 1);
  assert_ok(hone_tune_db_export(other, NULL, false, at("again.jsonl"), &exported));
  char *first, *second;
  size_t first_size, second_size;
  assert_ok(hone_file_read(NULL, at("all.jsonl"), 0, &first, &first_size));
  assert_ok(hone_file_read(NULL, at("again.jsonl"), 0, &second, &second_size));
  assert_string_equal(first, second);
  hone_free(NULL, first, first_size + 1);
  hone_free(NULL, second, second_size + 1);
  hone_tune_db_close(db);
  hone_tune_db_close(other);
}

static void databases_merge(void** state) {
  hone_tune_db_t *db = open_db(NULL), *other = open_db(at("other.db"));
  put(db, record("k", "same", 1));
  put(other, record("k", "same", 1));
  put(db, record("k", "here faster", 1));
  put(other, record("k", "here faster", 2));
  put(db, record("k", "there faster", 2));
  put(other, record("k", "there faster", 1));
  put(other, record("k", "new", 0.5));
  hone_tune_db_close(other);
  hone_tune_merge_t merge;
  assert_ok(hone_tune_db_import(db, at("other.db"), &merge));
  for (int i = 0; i <= HONE_TUNE_PUT_KEPT; i++) assert_int_equal(merge.count[i], 1);
  hone_str_t text;
  hone_str_init(&text, NULL);
  assert_ok(hone_tune_db_each(db, NULL, false, append_parameters, &text));
  assert_string_equal(hone_str_text(&text), "k:new ; k:here faster ; k:same ; k:there faster ; ");
  hone_str_free(&text);
  hone_tune_db_close(db);
}

#define HEAD "{\"format\": \"hone-tune\", \"version\": 2}\n"
#define KEY                                                                                \
  "\"kernel\":\"k\",\"tactic\":\"t\",\"device\":\"d\",\"driver\":\"\",\"compiler\":\"c\"," \
  "\"hone\":\"1\""
#define GOOD \
  "{" KEY ",\"parameters\":\"p\",\"outcome\":\"ok\",\"seconds\":1e-3,\"spread\":0,\"when\":5}\n"

static void bad_lines_import_nothing(void** state) {
  static const struct {
    const char* text;
    hone_code_t code;
    const char* message;
  } cases[] = {
      {"", HONE_INVALID_DATA, "there is nothing in it"},
      {GOOD, HONE_INVALID_DATA, "line 1: this is no export"},
      {"{\"format\": \"hone-tune\", \"version\": 3}\n", HONE_UNSUPPORTED, "newer hone"},
      {HEAD GOOD "\n{", HONE_INVALID_DATA, "line 4: no JSON"},
      {HEAD GOOD "[]", HONE_INVALID_DATA, "line 3: not an object"},
      {HEAD GOOD "{\"kernel\": \"k\"}", HONE_INVALID_DATA, "line 3: \"tactic\" is missing"},
      {HEAD GOOD "{" KEY ",\"parameters\":1}", HONE_INVALID_DATA, "\"parameters\" is not a text"},
      {HEAD GOOD "{" KEY ",\"parameters\":\"p\",\"outcome\":\"fine\"}", HONE_INVALID_DATA,
       "there is no outcome \"fine\""},
      {HEAD GOOD "{" KEY ",\"parameters\":\"p\",\"outcome\":\"ok\",\"seconds\":\"1\"}",
       HONE_INVALID_DATA, "\"seconds\" is not a number"},
      {HEAD GOOD "{" KEY ",\"parameters\":\"p\",\"outcome\":\"ok\",\"seconds\":-1,\"spread\":0,"
                 "\"when\":1}",
       HONE_INVALID_DATA, "took -1 seconds"},
      {HEAD GOOD "{" KEY ",\"parameters\":\"p\",\"outcome\":\"timeout\",\"when\":1.5}",
       HONE_INVALID_DATA, "\"when\" is not a whole number"},
      {HEAD GOOD "{\"kernel\":\"a\",\"kernel\":\"b\"}", HONE_INVALID_DATA, "line 3: no JSON"},
  };
  for (size_t i = 0; i < TEST_COUNT(cases); i++) {
    hone_tune_db_t* db = open_db(NULL);
    hone_tune_merge_t merge;
    hone_status_t status =
        hone_tune_db_import_lines(db, cases[i].text, strlen(cases[i].text), &merge);
    assert_int_equal(hone_status_code(status), cases[i].code);
    if (!strstr(hone_status_message(status), cases[i].message))
      fail_msg("case %zu: %s", i, hone_status_message(status));
    hone_status_free(status);
    assert_int_equal(count(db), 0);
    assert_int_equal(merge.count[HONE_TUNE_PUT_ADDED], 0);
    hone_tune_db_close(db);
  }
}

static void joined_exports_import(void** state) {
  hone_tune_db_t* db = open_db(NULL);
  hone_tune_merge_t merge;
  const char* text = HEAD GOOD "\r\n" HEAD GOOD;
  assert_ok(hone_tune_db_import_lines(db, text, strlen(text), &merge));
  assert_int_equal(merge.count[HONE_TUNE_PUT_ADDED], 1);
  assert_int_equal(merge.count[HONE_TUNE_PUT_SAME], 1);
  hone_tune_db_close(db);
}

static void what_cannot_be_written_is_an_error(void** state) {
  hone_tune_db_t* db = open_db(NULL);
  int64_t exported;
  put(db, record("k", "p", 1));
  assert_code(hone_tune_db_export(db, NULL, false, at("no/such/folder"), &exported),
              HONE_NOT_FOUND);
  assert_code(hone_tune_db_export(db, NULL, false, "/dev/full", &exported), HONE_IO);
  hone_tune_merge_t merge;
  assert_code(hone_tune_db_import(db, at("absent"), &merge), HONE_NOT_FOUND);
  hone_tune_db_close(db);
}

/* ---- memory ---- */

static hone_status_t exchange(hone_tune_db_t* db, hone_arena_t* arena) {
  hone_tune_record_t made = record("k", "p", 1), best;
  hone_tune_merge_t merge;
  bool found;
  int64_t exported;
  int n = 0;
  HONE_TRY(hone_tune_db_put(db, &made, NULL));
  HONE_TRY(hone_tune_db_best(db, &made.key, arena, &found, &best));
  HONE_TRY(hone_tune_db_each(db, NULL, true, count_one, &n));
  HONE_TRY(hone_tune_db_export(db, NULL, false, at("faults.jsonl"), &exported));
  return hone_tune_db_import(db, at("faults.jsonl"), &merge);
}

static hone_status_t use_database(const hone_allocator_t* allocator, void* context) {
  hone_tune_db_t* db;
  hone_arena_t* arena;
  HONE_TRY(hone_arena_create(allocator, &arena));
  hone_status_t status = hone_tune_db_open(allocator, NULL, HONE_TUNE_DB_WRITE, &db);
  if (!status) status = exchange(db, arena);
  hone_tune_db_close(db);
  hone_arena_destroy(arena);
  return status;
}

static void memory_may_run_out(void** state) {
  assert_true(assert_survives_faults(use_database, NULL) > 5);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_FOLDER(the_best_comes_back),
      cmocka_unit_test(records_are_visited_in_order),
      cmocka_unit_test(of_two_records_the_better_stays),
      cmocka_unit_test(senseless_records_are_refused),
      IN_FOLDER(a_rollback_undoes),
      IN_FOLDER(folders_are_made),
      cmocka_unit_test(the_default_path_is_in_the_cache),
      IN_FOLDER(what_is_no_database_is_refused_and_left_alone),
      IN_FOLDER(verdicts_say_what_is_best),
      IN_FOLDER(verdicts_stay_when_records_meet),
      IN_FOLDER(older_files_have_no_verdicts_until_they_are_written),
      IN_FOLDER(other_databases_and_versions_are_refused),
      IN_FOLDER(foreign_rows_are_passed_over),
      IN_FOLDER(damaged_files_are_told_and_set_aside),
      IN_FOLDER(flipped_bytes_do_no_harm),
      IN_FOLDER(a_killed_writer_leaves_it_usable),
      IN_FOLDER(several_processes_write_at_once),
      IN_FOLDER(a_full_disk_is_an_error),
      IN_FOLDER(a_read_only_file_can_be_read),
      IN_FOLDER(an_export_imports),
      IN_FOLDER(databases_merge),
      cmocka_unit_test(bad_lines_import_nothing),
      cmocka_unit_test(joined_exports_import),
      IN_FOLDER(what_cannot_be_written_is_an_error),
      IN_FOLDER(memory_may_run_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
