/* Status: how every fallible call of hone reports what happened.
 *
 * NULL is success, so the check is one compare. Any other value is an owned
 * object with a code, and a message that says what was wrong, where (file,
 * node, tensor, byte) and what to do. Whoever receives a status must return
 * it, or free it with hone_status_free.
 *
 * Thread-safety: a status belongs to one thread at a time. */
#ifndef HONE_STATUS_H
#define HONE_STATUS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HONE_MUST_USE __attribute__((warn_unused_result))
#define HONE_PRINTF(fmt_index, args_index) __attribute__((format(printf, fmt_index, args_index)))
#else
#define HONE_MUST_USE
#define HONE_PRINTF(fmt_index, args_index)
#endif

#if defined(__GNUC__)
#define HONE_API __attribute__((visibility("default")))
#else
#define HONE_API
#endif

/* One row per code: name, text, what a user can do about it. The same table
 * makes hone_code_name, hone_code_text and the generated list in the docs. */
#define HONE_CODES(X)                                                                             \
  X(OK, "success", "nothing to do")                                                               \
  X(INVALID_ARGUMENT, "invalid argument", "correct the argument named in the message")            \
  X(INVALID_MODEL, "invalid model", "the file is damaged or not what it claims; export it again") \
  X(UNSUPPORTED, "not supported",                                                                 \
    "change what the message names; `hone check` lists the gaps of a model")                      \
  X(NOT_FOUND, "not found", "check the name or the path")                                         \
  X(OUT_OF_MEMORY, "out of memory", "free memory or raise the limit")                             \
  X(MEMORY_LIMIT, "memory limit reached", "raise --mem-limit or use smaller shapes")              \
  X(OUT_OF_RANGE, "out of range", "a value lies outside what the operation allows")               \
  X(IO, "input or output failed", "check the path, its permissions and the free space")           \
  X(UNAVAILABLE, "device or library unavailable", "`hone devices` says what is there")            \
  X(CANCELLED, "cancelled", "the work was stopped on request")                                    \
  X(INTERNAL, "internal error", "a bug in hone: please report it with the message")               \
  X(INVALID_DATA, "invalid data", "the file is damaged or not what it claims; make it again")

typedef enum hone_code {
#define HONE_CODE_ENUM(name, text, advice) HONE_##name,
  HONE_CODES(HONE_CODE_ENUM)
#undef HONE_CODE_ENUM
      HONE_CODE_COUNT
} hone_code_t;

typedef struct hone_status* hone_status_t;

/* Makes a status. Never fails: without memory it gives the shared
 * OUT_OF_MEMORY status. `code` must not be HONE_OK. */
HONE_API HONE_MUST_USE hone_status_t hone_status_make(hone_code_t code, const char* format, ...)
    HONE_PRINTF(2, 3);
HONE_API HONE_MUST_USE hone_status_t hone_status_make_va(hone_code_t code, const char* format,
                                                         va_list args);

/* Puts "<context>: " before the message of `status` and returns it; NULL
 * stays NULL. Consumes `status`. */
HONE_API HONE_MUST_USE hone_status_t hone_status_annotate(hone_status_t status, const char* format,
                                                          ...) HONE_PRINTF(2, 3);

/* HONE_OK for NULL. */
HONE_API hone_code_t hone_status_code(hone_status_t status);
/* The message; "" for NULL. Valid until the status is freed. */
HONE_API const char* hone_status_message(hone_status_t status);
/* Frees; NULL is allowed. */
HONE_API void hone_status_free(hone_status_t status);

/* "INVALID_MODEL" and so on; static storage. */
HONE_API const char* hone_code_name(hone_code_t code);
HONE_API const char* hone_code_text(hone_code_t code);
HONE_API const char* hone_code_advice(hone_code_t code);

/* Returns from the calling function when `expr` is not success. */
#define HONE_TRY(expr)                             \
  do {                                             \
    hone_status_t hone_try_status_ = (expr);       \
    if (hone_try_status_) return hone_try_status_; \
  } while (0)

#ifdef __cplusplus
}
#endif
#endif
