/* The reader: bytes to structs, by the tables of onnx_schema.h.
 *
 * A message is gone through twice: first its lists are counted and allocated,
 * then everything is filled. Length-delimited fields are stepped over in the
 * first pass without looking inside, so weights are not touched. */
#ifndef HONE_IMPORT_ONNX_READ_H
#define HONE_IMPORT_ONNX_READ_H

#include "import/onnx_external.h"
#include "import/onnx_schema.h"

struct hone_onnx_reader {
  hone_arena_t* arena;  /* what is read lies here, and in the input */
  const uint8_t* start; /* of the input */
  int depth;            /* of messages that are open */
  int max_depth;
  hone_onnx_external_t* external; /* NULL: external data is an error */
};

/* Fills the struct at `out` (message->model_size bytes, zeroed) from `body`. */
HONE_MUST_USE hone_status_t hone_onnx_read_message(hone_onnx_reader_t* reader,
                                                   const hone_proto_message_t* message,
                                                   hone_string_t body, void* out);

#endif
