/* Text reader: the tokens that hone's text forms are made of. Blanks and
 * comments (from # to the end of the line) may stand between any two.
 *
 * The first error is kept, with line and column, and from then on nothing is
 * taken; a parser may go on and look at `status` when that is convenient.
 * Not thread-safe. */
#ifndef HONE_BASE_TEXT_READER_H
#define HONE_BASE_TEXT_READER_H

#include "hone/status.h"

typedef struct hone_text_reader {
  const char* subject; /* "graph text": what errors call it */
  hone_code_t code;    /* of errors in the text */
  const char* text;    /* ends in 0 */
  const char* at;
  hone_status_t status; /* the first error; the caller's to give on or to free */
} hone_text_reader_t;

/* A letter, a digit, '_' or '.' */
bool hone_text_is_word(char c);
/* The value of a hexadecimal digit; -1 for anything else. */
int hone_text_hex_digit(char c);

/* An error here, unless there was one before. */
void hone_text_fail(hone_text_reader_t* reader, const char* what);
void hone_text_skip_blanks(hone_text_reader_t* reader);
/* Whether `c` is next. */
bool hone_text_peek(hone_text_reader_t* reader, char c);
/* Takes `c` if it is next. */
bool hone_text_take(hone_text_reader_t* reader, char c);
/* Takes `c`; an error if it is not next. */
void hone_text_expect(hone_text_reader_t* reader, char c);
/* Takes `word` if it stands here whole. */
bool hone_text_take_word(hone_text_reader_t* reader, const char* word);
int64_t hone_text_read_int(hone_text_reader_t* reader);
/* A whole number in [0, limit); 0 after an error. */
int hone_text_read_small(hone_text_reader_t* reader, int64_t limit);
/* An error unless all was read. */
void hone_text_expect_end(hone_text_reader_t* reader);

#endif
