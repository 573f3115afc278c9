/* The engine file:
 *
 *   header    64 bytes: magic, version, size of the file, number of sections,
 *             checksum of the header and the table (with this field as zero)
 *   table     32 bytes a section: kind, offset, size, checksum
 *   sections  each aligned to 64 bytes
 *
 * Numbers are little end first, checksums are xxHash64. The version rises when
 * old readers would go wrong; a newer file is refused. */
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/memory.h"
#include "base/tensor_impl.h"
#include "hone/version.h"
#include "runtime/engine_impl.h"
#include "runtime/engine_program.h"

enum {
  VERSION = 9,
  HEADER_SIZE = 64,
  ENTRY_SIZE = 32,
  ALIGNMENT = 64,
  CHECKSUM_AT = 32, /* in the header */
};

typedef enum section {
  SECTION_ABOUT,
  SECTION_PROGRAM,
  SECTION_BINARY,
  SECTION_WEIGHTS,
  SECTION_COUNT
} section_t;

static const char magic[8] = {'\x89', 'H', 'O', 'N', 'E', '\r', '\n', '\x1a'};

static void put_u64(uint8_t* at, uint64_t value) {
  for (int i = 0; i < 8; i++) at[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t get_u64(const uint8_t* at) {
  uint64_t value = 0;
  for (int i = 0; i < 8; i++) value |= (uint64_t)at[i] << (8 * i);
  return value;
}

static uint64_t round_up(uint64_t at) { return (at + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1); }

/* What the engine is for. */
static void io_about(hone_io_t* io, hone_engine_parts_t* about) {
  hone_io_text(io, &about->backend);
  hone_io_text(io, &about->target);
  hone_io_text(io, &about->driver);
  hone_io_text(io, &about->version);
  hone_io_u64(io, &about->model_digest);
  hone_io_text(io, &about->precision);
  hone_io_bool(io, &about->guard);
}

/* ---- writing ---- */

typedef struct layout {
  uint64_t offset[SECTION_COUNT], size[SECTION_COUNT], checksum[SECTION_COUNT];
  uint64_t file_size;
} layout_t;

/* Calls put for each weight's bytes and the zeros between them. */
static void each_weight(const hone_program_t* program,
                        void (*put)(void* self, const void* data, size_t size), void* self) {
  static const char zeros[HONE_WEIGHT_ALIGNMENT] = {0};
  for (int i = 0; i < program->n_weights; i++) {
    const hone_tensor_t* tensor = program->weights[i].tensor;
    if (tensor->dtype == HONE_STRING) continue;
    put(self, hone_tensor_data(tensor), tensor->bytes);
    put(self, zeros, (size_t)(round_up(tensor->bytes) - tensor->bytes));
  }
}

static void hash_part(void* self, const void* data, size_t size) {
  if (size) XXH64_update(self, data, size);
}

static void write_part(void* self, const void* data, size_t size) {
  hone_file_writer_write(self, data, size);
}

static hone_status_t hash_weights(const hone_program_t* program, uint64_t* out_checksum) {
  XXH64_state_t* state = XXH64_createState();
  if (!state) return hone_oom();
  XXH64_reset(state, 0);
  each_weight(program, hash_part, state);
  *out_checksum = XXH64_digest(state);
  XXH64_freeState(state);
  return NULL;
}

static hone_status_t lay_out(const hone_engine_t* engine, const hone_str_t texts[2],
                             layout_t* out) {
  const hone_program_t* program = engine->program;
  for (int s = 0; s < 2; s++) {
    out->size[s] = texts[s].size;
    out->checksum[s] = XXH64(hone_str_text(&texts[s]), texts[s].size, 0);
  }
  out->size[SECTION_BINARY] = engine->binary.size;
  if (engine->binary.size)
    out->checksum[SECTION_BINARY] = XXH64(engine->binary.data, engine->binary.size, 0);
  else
    out->checksum[SECTION_BINARY] = XXH64("", 0, 0);
  out->size[SECTION_WEIGHTS] = hone_weight_offset(program, program->n_weights);
  HONE_TRY(hash_weights(program, &out->checksum[SECTION_WEIGHTS]));
  uint64_t at = round_up(HEADER_SIZE + SECTION_COUNT * ENTRY_SIZE);
  for (int s = 0; s < SECTION_COUNT; s++) {
    out->offset[s] = at;
    at = round_up(at + out->size[s]);
  }
  out->file_size = at;
  return NULL;
}

enum { HEAD_SIZE = HEADER_SIZE + SECTION_COUNT * ENTRY_SIZE };

static void fill_head(const layout_t* layout, uint8_t head[HEAD_SIZE]) {
  memset(head, 0, HEAD_SIZE);
  memcpy(head, magic, sizeof magic);
  put_u64(head + 8, VERSION);
  put_u64(head + 16, layout->file_size);
  put_u64(head + 24, SECTION_COUNT);
  for (int s = 0; s < SECTION_COUNT; s++) {
    uint8_t* entry = head + HEADER_SIZE + s * ENTRY_SIZE;
    put_u64(entry, (uint64_t)s);
    put_u64(entry + 8, layout->offset[s]);
    put_u64(entry + 16, layout->size[s]);
    put_u64(entry + 24, layout->checksum[s]);
  }
  put_u64(head + CHECKSUM_AT, XXH64(head, HEAD_SIZE, 0));
}

static void pad(hone_file_writer_t* writer) {
  static const char zeros[ALIGNMENT] = {0};
  uint64_t at = hone_file_writer_offset(writer);
  hone_file_writer_write(writer, zeros, (size_t)(round_up(at) - at));
}

static hone_status_t write_file(const hone_engine_t* engine, const hone_str_t texts[2],
                                const char* path) {
  layout_t layout = {0};
  HONE_TRY(lay_out(engine, texts, &layout));
  uint8_t head[HEAD_SIZE];
  fill_head(&layout, head);
  hone_file_writer_t* writer;
  HONE_TRY(hone_file_writer_create(engine->allocator, path, &writer));
  hone_file_writer_write(writer, head, sizeof head);
  pad(writer);
  for (int s = 0; s < 2; s++) {
    hone_file_writer_write(writer, hone_str_text(&texts[s]), texts[s].size);
    pad(writer);
  }
  hone_file_writer_write(writer, engine->binary.data, engine->binary.size);
  pad(writer);
  each_weight(engine->program, write_part, writer);
  return hone_file_writer_commit(writer);
}

hone_status_t hone_engine_write(hone_engine_t* engine, const char* path) {
  hone_str_t texts[2];
  for (int s = 0; s < 2; s++) hone_str_init(&texts[s], engine->allocator);
  hone_engine_parts_t about = {.backend = engine->backend->name,
                               .target = engine->program->properties.target,
                               .driver = engine->program->properties.driver,
                               .version = engine->version,
                               .precision = engine->precision,
                               .guard = engine->program->properties.guard,
                               .model_digest = engine->model_digest};
  hone_io_t io = {.out = &texts[SECTION_ABOUT]};
  io_about(&io, &about);
  hone_status_t status = hone_io_status(&io);
  if (!status) status = hone_program_write(engine->program, engine->graph, &texts[SECTION_PROGRAM]);
  if (!status) status = write_file(engine, texts, path);
  for (int s = 0; s < 2; s++) hone_str_free(&texts[s]);
  return status;
}

/* ---- reading ---- */

static hone_status_t check_head(const uint8_t* data, size_t size, bool checked) {
  if (size < HEAD_SIZE || memcmp(data, magic, sizeof magic) != 0)
    return hone_status_make(HONE_INVALID_DATA, "this is not an engine file");
  uint64_t version = get_u64(data + 8);
  uint8_t head[HEAD_SIZE];
  memcpy(head, data, HEAD_SIZE);
  memset(head + CHECKSUM_AT, 0, 8);
  bool whole = !checked || XXH64(head, HEAD_SIZE, 0) == get_u64(data + CHECKSUM_AT);
  if (version > VERSION && version < 1000) /* later ones may have another head */
    return hone_status_make(HONE_UNSUPPORTED,
                            "the engine file is of version %d; this hone reads up to %d: compile "
                            "the model again, or use a newer hone",
                            (int)version, VERSION);
  if (whole && version && version < VERSION)
    return hone_status_make(HONE_UNSUPPORTED,
                            "the engine file is of version %d, which this hone does not read any "
                            "more: compile the model again",
                            (int)version);
  if (!whole || version != VERSION || get_u64(data + 24) != SECTION_COUNT)
    return hone_status_make(HONE_INVALID_DATA, "the engine file's head is damaged");
  if (get_u64(data + 16) != size)
    return hone_status_make(HONE_INVALID_DATA,
                            "the engine file has %zu bytes, but was written with %llu", size,
                            (unsigned long long)get_u64(data + 16));
  return NULL;
}

static hone_status_t take_section(const uint8_t* data, size_t size, int s, bool checked,
                                  const void** out_data, size_t* out_size) {
  static const char* const names[SECTION_COUNT] = {"description", "program", "kernels", "weights"};
  const uint8_t* entry = data + HEADER_SIZE + s * ENTRY_SIZE;
  uint64_t offset = get_u64(entry + 8), length = get_u64(entry + 16);
  bool inside = offset <= size && length <= size - offset && offset % ALIGNMENT == 0 &&
                get_u64(entry) == (uint64_t)s;
  if (inside && checked) inside = XXH64(data + offset, length, 0) == get_u64(entry + 24);
  if (!inside)
    return hone_status_make(HONE_INVALID_DATA, "the engine file's %s are damaged", names[s]);
  *out_data = data + offset;
  *out_size = (size_t)length;
  return NULL;
}

hone_status_t hone_engine_take_apart(const void* data, size_t size, bool checked,
                                     hone_arena_t* arena, hone_engine_parts_t* out_parts) {
  const void* about = NULL;
  size_t about_size = 0;
  HONE_TRY(check_head(data, size, checked));
  HONE_TRY(take_section(data, size, SECTION_ABOUT, checked, &about, &about_size));
  hone_io_t io = {.data = about, .size = about_size, .arena = arena};
  io_about(&io, out_parts);
  HONE_TRY(hone_io_status(&io));
  HONE_TRY(take_section(data, size, SECTION_PROGRAM, checked, &out_parts->program,
                        &out_parts->program_size));
  HONE_TRY(take_section(data, size, SECTION_BINARY, checked, &out_parts->binary,
                        &out_parts->binary_size));
  return take_section(data, size, SECTION_WEIGHTS, checked, &out_parts->weights,
                      &out_parts->weights_size);
}
