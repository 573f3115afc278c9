/* A bounded text that counts what it could not hold, as snprintf does: for the
 * printers of this folder. */
#ifndef HONE_IR_TEXT_WRITER_H
#define HONE_IR_TEXT_WRITER_H

#include <stddef.h>

typedef struct hone_text_writer {
  char* buffer;
  size_t size;   /* of the buffer; may be 0 */
  size_t length; /* of the whole text */
} hone_text_writer_t;

static inline void hone_text_put(hone_text_writer_t* w, const char* text) {
  for (; *text; text++) {
    if (w->length + 1 < w->size) w->buffer[w->length] = *text;
    w->length++;
  }
}

/* Ends the text with a 0 and gives its full length. */
static inline size_t hone_text_finish(const hone_text_writer_t* w) {
  if (w->size) w->buffer[w->length < w->size ? w->length : w->size - 1] = 0;
  return w->length;
}

#endif
