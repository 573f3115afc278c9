#include "base/trace.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/str.h"

struct hone_trace {
  const hone_allocator_t* allocator;
  int64_t origin_ns;     /* time 0 of the file */
  pthread_mutex_t mutex; /* guards what follows */
  hone_file_writer_t* writer;
  hone_str_t line; /* the event being written */
  bool started;    /* an event has been written */
};

int64_t hone_clock_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Small numbers in order of first use, easier to read than the system's. */
static unsigned thread_number(void) {
  static atomic_uint last;
  static _Thread_local unsigned own;
  if (!own) own = atomic_fetch_add(&last, 1) + 1;
  return own;
}

hone_status_t hone_trace_create(const hone_allocator_t* allocator, const char* path,
                                hone_trace_t** out_trace) {
  *out_trace = NULL;
  hone_trace_t* trace = hone_alloc(allocator, sizeof *trace);
  if (!trace) return hone_oom();
  hone_status_t status = hone_file_writer_create(allocator, path, &trace->writer);
  if (status) {
    hone_free(allocator, trace, sizeof *trace);
    return status;
  }
  trace->allocator = allocator;
  trace->origin_ns = hone_clock_ns();
  pthread_mutex_init(&trace->mutex, NULL);
  hone_str_init(&trace->line, allocator);
  hone_file_writer_write(trace->writer, "{\"traceEvents\":[", 16);
  *out_trace = trace;
  return NULL;
}

hone_status_t hone_trace_close(hone_trace_t* trace) {
  if (!trace) return NULL;
  hone_status_t status = NULL;
  hone_file_writer_write(trace->writer, "\n]}\n", 4);
  if (trace->line.failed) {
    hone_file_writer_abort(trace->writer);
    status = hone_oom();
  } else {
    status = hone_file_writer_commit(trace->writer);
  }
  hone_str_free(&trace->line);
  pthread_mutex_destroy(&trace->mutex);
  hone_free(trace->allocator, trace, sizeof *trace);
  return status;
}

/* Microseconds, which is what the format counts in, without a float. */
static void append_time(hone_str_t* line, const char* key, int64_t ns) {
  if (ns < 0) ns = 0;
  hone_str_appendf(line, ",\"%s\":%" PRId64 ".%03d", key, ns / 1000, (int)(ns % 1000));
}

/* Starts an event and takes the lock. */
static hone_str_t* event_open(hone_trace_t* trace, char phase, const char* name, int64_t time_ns) {
  pthread_mutex_lock(&trace->mutex);
  hone_str_t* line = &trace->line;
  line->size = 0;
  hone_str_append(line, trace->started ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
  hone_str_append_char(line, phase);
  hone_str_appendf(line, "\",\"pid\":%ld,\"tid\":%u", (long)getpid(), thread_number());
  append_time(line, "ts", time_ns - trace->origin_ns);
  if (name) {
    hone_str_append(line, ",\"name\":");
    hone_str_append_json(line, name, strlen(name));
  }
  return line;
}

static void event_close(hone_trace_t* trace) {
  hone_str_append_char(&trace->line, '}');
  if (!trace->line.failed)
    hone_file_writer_write(trace->writer, trace->line.data, trace->line.size);
  trace->started = true;
  pthread_mutex_unlock(&trace->mutex);
}

void hone_trace_write_begin(hone_trace_t* trace, const char* name) {
  event_open(trace, 'B', name, hone_clock_ns());
  event_close(trace);
}

void hone_trace_write_end(hone_trace_t* trace) {
  event_open(trace, 'E', NULL, hone_clock_ns());
  event_close(trace);
}

void hone_trace_write_complete(hone_trace_t* trace, const char* name, int64_t start_ns,
                               int64_t duration_ns) {
  hone_str_t* line = event_open(trace, 'X', name, start_ns);
  append_time(line, "dur", duration_ns);
  event_close(trace);
}

void hone_trace_write_counter(hone_trace_t* trace, const char* name, double value) {
  if (!isfinite(value)) return;
  hone_str_t* line = event_open(trace, 'C', name, hone_clock_ns());
  hone_str_append(line, ",\"args\":{\"value\":");
  hone_str_append_double(line, value);
  hone_str_append_char(line, '}');
  event_close(trace);
}
