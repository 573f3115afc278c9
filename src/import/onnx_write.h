/* The writer: structs to bytes, by the tables of onnx_schema.h.
 *
 * A nested message is preceded by its size, so everything is gone through
 * twice: first only sizes are added up, and kept in the order in which
 * messages open; then the same walk writes. */
#ifndef HONE_IMPORT_ONNX_WRITE_H
#define HONE_IMPORT_ONNX_WRITE_H

#include "import/onnx_schema.h"

/* Takes `size` bytes. */
typedef hone_status_t (*hone_onnx_sink_t)(void* self, const void* data, size_t size);

struct hone_onnx_writer {
  const hone_allocator_t* allocator;
  hone_arena_t* arena;   /* what `prepare` makes */
  hone_onnx_sink_t sink; /* NULL in the first pass */
  void* sink_self;
  uint64_t total;  /* bytes so far */
  uint64_t* sizes; /* of nested messages, in the order in which they open */
  size_t sizes_room;
  size_t n_sizes;
  size_t next_size; /* second pass */
};

/* Writes the struct `model` as `message`: first `measure`, which sets
 * `*out_size`, then `emit` with a sink. `end` frees, after a failure
 * as well. */
HONE_MUST_USE hone_status_t hone_onnx_writer_measure(hone_onnx_writer_t* writer,
                                                     const hone_allocator_t* allocator,
                                                     const hone_proto_message_t* message,
                                                     const void* model, size_t* out_size);
HONE_MUST_USE hone_status_t hone_onnx_writer_emit(hone_onnx_writer_t* writer,
                                                  const hone_proto_message_t* message,
                                                  const void* model, hone_onnx_sink_t sink,
                                                  void* sink_self);
void hone_onnx_writer_end(hone_onnx_writer_t* writer);

/* The three in one, to memory that the caller frees with hone_free. */
HONE_MUST_USE hone_status_t hone_onnx_write_memory(const hone_allocator_t* allocator,
                                                   const hone_proto_message_t* message,
                                                   const void* model, void** out_data,
                                                   size_t* out_size);

#endif
