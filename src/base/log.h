/* Log: what hone does, for those who ask. Off by default; the variable
 * HONE_LOG (error, warning, info, debug) turns it on, and messages then go to
 * stderr unless a sink is set. What a caller must know is a status, never a
 * log line. Thread-safe. */
#ifndef HONE_BASE_LOG_H
#define HONE_BASE_LOG_H

#include "hone/status.h"

typedef enum hone_log_level {
  HONE_LOG_OFF,
  HONE_LOG_ERROR,
  HONE_LOG_WARNING,
  HONE_LOG_INFO,
  HONE_LOG_DEBUG,
} hone_log_level_t;

/* Takes one message without a line end. Called under a lock: it must not log. */
typedef void (*hone_log_sink_t)(void* context, hone_log_level_t level, const char* message);

/* The level in force; HONE_LOG is read at the first call of any function here. */
hone_log_level_t hone_log_level(void);
void hone_log_set_level(hone_log_level_t level);
/* NULL: stderr. When it returns, the sink before is no longer being called. */
void hone_log_set_sink(hone_log_sink_t sink, void* context);
/* Writes a message, cut at 1023 bytes, when `level` is in force. */
void hone_log_write(hone_log_level_t level, const char* format, ...) HONE_PRINTF(2, 3);

/* "error" and so on; HONE_LOG_OFF ("off") for a name that is none. */
const char* hone_log_level_name(hone_log_level_t level);
hone_log_level_t hone_log_level_parse(const char* name);

#endif
