/* JSON lines for the tuning database: what imports is there, and exports and
 * imports again. */
#include <stdint.h>
#include <stdlib.h>

#include "tune/database.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

static void must(hone_status_t status) {
  if (status) abort();
}

static hone_status_t count_one(void* context, const hone_tune_record_t* record) {
  ++*(int64_t*)context;
  return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hone_tune_db_t* db;
  hone_tune_merge_t merge;
  int64_t count = 0;
  must(hone_tune_db_open(NULL, NULL, HONE_TUNE_DB_WRITE, &db));
  hone_status_t status = hone_tune_db_import_lines(db, (const char*)data, size, &merge);
  must(hone_tune_db_each(db, NULL, false, count_one, &count));
  if (count != merge.count[HONE_TUNE_PUT_ADDED]) abort();
  if (status && count) abort();
  if (!status) {
    must(hone_tune_db_import_lines(db, (const char*)data, size, &merge));
    if (merge.count[HONE_TUNE_PUT_ADDED]) abort();
  }
  hone_status_free(status);
  hone_tune_db_close(db);
  return 0;
}
