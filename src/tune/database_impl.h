/* What the files of the database share. */
#ifndef HONE_TUNE_DATABASE_IMPL_H
#define HONE_TUNE_DATABASE_IMPL_H

#include <sqlite3.h>

#include "tune/database.h"

/* Statements that are prepared once and kept, for puts in bulk. */
enum {
  HONE_TUNE_PUT_TASK_SQL,
  HONE_TUNE_FIND_SQL,
  HONE_TUNE_WRITE_SQL,
  HONE_TUNE_RULE_SQL,
  HONE_TUNE_KEPT_SQL, /* how many */
};

struct hone_tune_db {
  const hone_allocator_t* allocator;
  sqlite3* handle;
  sqlite3_stmt* kept[HONE_TUNE_KEPT_SQL]; /* NULL until first used */
  bool in_transaction;                    /* one that the caller began */
  char path[];                            /* for messages; ends in 0 */
};

/* The status for result `code` of an SQLite call that was to `action`, as in "cannot read". */
HONE_MUST_USE hone_status_t hone_tune_db_error(const hone_tune_db_t* db, int code,
                                               const char* action);
/* Runs statements that give no rows. */
HONE_MUST_USE hone_status_t hone_tune_db_run(hone_tune_db_t* db, const char* sql,
                                             const char* action);
HONE_MUST_USE hone_status_t hone_tune_db_prepare(hone_tune_db_t* db, const char* sql,
                                                 sqlite3_stmt** out_statement);

enum { HONE_TUNE_KEY_PARTS = 6 };
/* Member `index` of a key, in the order of the struct, and its name. */
const char* hone_tune_key_part(const hone_tune_key_t* key, int index);
void hone_tune_key_set(hone_tune_key_t* key, int index, const char* text);
extern const char* const hone_tune_key_names[HONE_TUNE_KEY_PARTS];

#endif
