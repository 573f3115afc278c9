#include "base/log.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/testing/test.h"

typedef struct record {
  int count;
  hone_log_level_t level;
  char message[2048];
} record_t;

static void keep(void* context, hone_log_level_t level, const char* message) {
  record_t* record = context;
  record->count++;
  record->level = level;
  snprintf(record->message, sizeof record->message, "%s", message);
}

/* Runs first: the variable is read once. */
static void the_environment_sets_the_level(void** state) {
  (void)state;
  assert_int_equal(setenv("HONE_LOG", "warning", 1), 0);
  assert_int_equal(hone_log_level(), HONE_LOG_WARNING);
  assert_int_equal(setenv("HONE_LOG", "debug", 1), 0);
  assert_int_equal(hone_log_level(), HONE_LOG_WARNING);
}

static void messages_up_to_the_level_arrive(void** state) {
  (void)state;
  record_t record = {0};
  hone_log_set_sink(keep, &record);
  hone_log_set_level(HONE_LOG_INFO);
  hone_log_write(HONE_LOG_INFO, "%d bytes", 7);
  assert_int_equal(record.count, 1);
  assert_int_equal(record.level, HONE_LOG_INFO);
  assert_string_equal(record.message, "7 bytes");
  hone_log_write(HONE_LOG_DEBUG, "more");
  hone_log_write(HONE_LOG_OFF, "never");
  assert_int_equal(record.count, 1);
  hone_log_set_level(HONE_LOG_OFF);
  hone_log_write(HONE_LOG_ERROR, "silent");
  assert_int_equal(record.count, 1);
  hone_log_set_sink(NULL, NULL);
}

static void long_messages_are_cut(void** state) {
  (void)state;
  record_t record = {0};
  char text[3000];
  memset(text, 'x', sizeof text - 1);
  text[sizeof text - 1] = 0;
  hone_log_set_sink(keep, &record);
  hone_log_set_level(HONE_LOG_ERROR);
  hone_log_write(HONE_LOG_ERROR, "%s", text);
  assert_int_equal(strlen(record.message), 1023);
  hone_log_set_sink(NULL, NULL);
}

static void level_names_parse_back(void** state) {
  (void)state;
  for (int i = HONE_LOG_OFF; i <= HONE_LOG_DEBUG; i++)
    assert_int_equal(hone_log_level_parse(hone_log_level_name((hone_log_level_t)i)), i);
  assert_int_equal(hone_log_level_parse("loud"), HONE_LOG_OFF);
  assert_string_equal(hone_log_level_name((hone_log_level_t)99), "off");
}

static void* write_often(void* unused) {
  (void)unused;
  for (int i = 0; i < 500; i++) hone_log_write(HONE_LOG_ERROR, "message %d", i);
  return NULL;
}

static void threads_take_turns(void** state) {
  (void)state;
  pthread_t threads[4];
  record_t record = {0};
  hone_log_set_sink(keep, &record);
  hone_log_set_level(HONE_LOG_ERROR);
  for (int i = 0; i < 4; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, write_often, NULL), 0);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  assert_int_equal(record.count, 2000);
  hone_log_set_sink(NULL, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_environment_sets_the_level),
      cmocka_unit_test(messages_up_to_the_level_arrive),
      cmocka_unit_test(long_messages_are_cut),
      cmocka_unit_test(level_names_parse_back),
      cmocka_unit_test(threads_take_turns),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
