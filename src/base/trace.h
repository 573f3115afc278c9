/* Trace: what ran when, as a file in Chrome's trace event format (open it in
 * Perfetto or chrome://tracing). A trace that is NULL is off and costs a branch.
 *
 * Thread-safe, but for create and close. The first error sticks and
 * hone_trace_close returns it. Times are nanoseconds of hone_clock_ns. */
#ifndef HONE_BASE_TRACE_H
#define HONE_BASE_TRACE_H

#include "hone/allocator.h"

typedef struct hone_trace hone_trace_t;

/* Monotonic time in nanoseconds since some fixed moment. */
int64_t hone_clock_ns(void);

/* The file appears under `path` when the trace is closed. */
HONE_MUST_USE hone_status_t hone_trace_create(const hone_allocator_t* allocator, const char* path,
                                              hone_trace_t** out_trace);
/* Writes the end, and frees in any case. NULL is allowed. */
HONE_MUST_USE hone_status_t hone_trace_close(hone_trace_t* trace);

void hone_trace_write_begin(hone_trace_t* trace, const char* name);
void hone_trace_write_end(hone_trace_t* trace);
void hone_trace_write_complete(hone_trace_t* trace, const char* name, int64_t start_ns,
                               int64_t duration_ns);
void hone_trace_write_counter(hone_trace_t* trace, const char* name, double value);

/* A span of this thread, from begin to the end that matches it. */
static inline void hone_trace_begin(hone_trace_t* trace, const char* name) {
  if (trace) hone_trace_write_begin(trace, name);
}
static inline void hone_trace_end(hone_trace_t* trace) {
  if (trace) hone_trace_write_end(trace);
}
/* A span of this thread whose times are known. */
static inline void hone_trace_complete(hone_trace_t* trace, const char* name, int64_t start_ns,
                                       int64_t duration_ns) {
  if (trace) hone_trace_write_complete(trace, name, start_ns, duration_ns);
}
/* A value over time, such as bytes in use. Not finite ones are left out. */
static inline void hone_trace_counter(hone_trace_t* trace, const char* name, double value) {
  if (trace) hone_trace_write_counter(trace, name, value);
}

#endif
