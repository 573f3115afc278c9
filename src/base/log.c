#include "base/log.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGE_SIZE = 1024, LEVEL_COUNT = HONE_LOG_DEBUG + 1 };

static const char* const level_names[LEVEL_COUNT] = {"off", "error", "warning", "info", "debug"};

static void stderr_sink(void* context, hone_log_level_t level, const char* message) {
  (void)context;
  fprintf(stderr, "hone: %s: %s\n", hone_log_level_name(level), message);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_int level_in_force;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards the sink */
static hone_log_sink_t sink_in_force = stderr_sink;
static void* sink_context;

static void read_environment(void) {
  const char* name = getenv("HONE_LOG");
  if (name) atomic_store(&level_in_force, hone_log_level_parse(name));
}

const char* hone_log_level_name(hone_log_level_t level) {
  return level_names[(unsigned)level < LEVEL_COUNT ? level : HONE_LOG_OFF];
}

hone_log_level_t hone_log_level_parse(const char* name) {
  for (int i = 0; i < LEVEL_COUNT; i++)
    if (strcmp(name, level_names[i]) == 0) return (hone_log_level_t)i;
  return HONE_LOG_OFF;
}

hone_log_level_t hone_log_level(void) {
  pthread_once(&once, read_environment);
  return (hone_log_level_t)atomic_load_explicit(&level_in_force, memory_order_relaxed);
}

void hone_log_set_level(hone_log_level_t level) {
  pthread_once(&once, read_environment);
  atomic_store(&level_in_force, level);
}

void hone_log_set_sink(hone_log_sink_t sink, void* context) {
  pthread_mutex_lock(&mutex);
  sink_in_force = sink ? sink : stderr_sink;
  sink_context = context;
  pthread_mutex_unlock(&mutex);
}

void hone_log_write(hone_log_level_t level, const char* format, ...) {
  if (level == HONE_LOG_OFF || level > hone_log_level()) return;
  char message[MESSAGE_SIZE];
  va_list args;
  va_start(args, format);
  int length = vsnprintf(message, sizeof message, format, args);
  va_end(args);
  if (length < 0) return;
  pthread_mutex_lock(&mutex);
  sink_in_force(sink_context, level, message);
  pthread_mutex_unlock(&mutex);
}
