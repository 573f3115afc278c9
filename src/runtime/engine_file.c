/* The engine file:
 *
 *   header    64 bytes: magic, version, size of the file, number of sections,
 *             checksum of the header and the table (with this field as zero)
 *   table     32 bytes a section: kind, offset, size, checksum
 *   sections  each aligned to 64 bytes
 *
 * Numbers are little end first. The header's checksum is an xxHash64, a section's the lower half of
 * hone_pieces_digest. The version rises when old readers would go wrong; a newer file is refused.
 */
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/memory.h"
#include "base/tensor_impl.h"
#include "hone/version.h"
#include "runtime/engine_impl.h"
#include "runtime/engine_program.h"

enum {
  VERSION = 11,
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

enum { HEAD_SIZE = HEADER_SIZE + SECTION_COUNT * ENTRY_SIZE };

/* A file that is being put together: its pieces lie in `arena` and in the program. */
typedef struct image {
  hone_arena_t* arena;
  uint64_t offset[SECTION_COUNT], size[SECTION_COUNT], checksum[SECTION_COUNT];
  uint64_t file_size;
  int n_pieces;
  hone_piece_t* pieces;
} image_t;

static void add_piece(image_t* image, const void* data, size_t size) {
  image->pieces[image->n_pieces++] = (hone_piece_t){data, size};
  image->file_size += size;
}

/* Zeros up to the next place where a section or a weight may start. */
static void pad(image_t* image) {
  static const char zeros[ALIGNMENT] = {0};
  add_piece(image, zeros, (size_t)(round_up(image->file_size) - image->file_size));
}

static void add_weights(image_t* image, const hone_program_t* program) {
  for (int i = 0; i < program->n_weights; i++) {
    const hone_tensor_t* tensor = program->weights[i].tensor;
    if (tensor->dtype == HONE_STRING) continue;
    add_piece(image, hone_tensor_data(tensor), tensor->bytes);
    pad(image);
  }
}

/* The pieces from `first` on are a section; zeros follow that bring the next one into line. */
static hone_status_t end_section(image_t* image, section_t section, int first) {
  hone_digest_t digest;
  image->offset[section] = image->file_size;
  for (int i = first; i < image->n_pieces; i++) image->offset[section] -= image->pieces[i].size;
  image->size[section] = image->file_size - image->offset[section];
  HONE_TRY(hone_pieces_digest(hone_thread_pool_shared(), image->n_pieces - first,
                              image->pieces + first, &digest));
  image->checksum[section] = digest.low;
  pad(image);
  return NULL;
}

static hone_status_t add_text(image_t* image, section_t section, const hone_str_t* text) {
  int first = image->n_pieces;
  char* copy = hone_arena_strndup(image->arena, hone_str_text(text), text->size);
  if (!copy) return hone_oom();
  add_piece(image, copy, text->size);
  return end_section(image, section, first);
}

static hone_status_t add_about(image_t* image, const hone_engine_parts_t* parts) {
  hone_str_t text;
  hone_engine_parts_t about = *parts;
  hone_str_init(&text, hone_allocator_system());
  hone_io_t io = {.out = &text};
  io_about(&io, &about);
  hone_status_t status = hone_io_status(&io);
  if (!status) status = add_text(image, SECTION_ABOUT, &text);
  hone_str_free(&text);
  return status;
}

static hone_status_t add_program(image_t* image, hone_program_t* program,
                                 const hone_graph_t* graph) {
  hone_str_t text;
  hone_str_init(&text, program->allocator);
  hone_status_t status = hone_program_write(program, graph, &text);
  if (!status) status = add_text(image, SECTION_PROGRAM, &text);
  hone_str_free(&text);
  return status;
}

static void fill_head(const image_t* image, uint8_t head[HEAD_SIZE]) {
  memset(head, 0, HEAD_SIZE);
  memcpy(head, magic, sizeof magic);
  put_u64(head + 8, VERSION);
  put_u64(head + 16, image->file_size);
  put_u64(head + 24, SECTION_COUNT);
  for (int s = 0; s < SECTION_COUNT; s++) {
    uint8_t* entry = head + HEADER_SIZE + s * ENTRY_SIZE;
    put_u64(entry, (uint64_t)s);
    put_u64(entry + 8, image->offset[s]);
    put_u64(entry + 16, image->size[s]);
    put_u64(entry + 24, image->checksum[s]);
  }
  put_u64(head + CHECKSUM_AT, XXH64(head, HEAD_SIZE, 0));
}

static hone_status_t fill(image_t* image, hone_program_t* program, const hone_graph_t* graph,
                          const hone_engine_parts_t* about) {
  size_t most = 2 * ((size_t)program->n_weights + SECTION_COUNT + 1);
  uint8_t* head = hone_arena_alloc(image->arena, HEAD_SIZE);
  image->pieces = hone_arena_array(image->arena, most, sizeof *image->pieces);
  if (!head || !image->pieces) return hone_oom();
  add_piece(image, head, HEAD_SIZE);
  pad(image);
  HONE_TRY(add_about(image, about));
  HONE_TRY(add_program(image, program, graph));
  int first = image->n_pieces;
  if (about->binary_size) add_piece(image, about->binary, about->binary_size);
  HONE_TRY(end_section(image, SECTION_BINARY, first));
  first = image->n_pieces;
  add_weights(image, program);
  HONE_TRY(end_section(image, SECTION_WEIGHTS, first));
  fill_head(image, head);
  return NULL;
}

hone_status_t hone_engine_put_together(hone_program_t* program, const hone_graph_t* graph,
                                       const hone_engine_parts_t* about, hone_arena_t* arena,
                                       int* out_count, hone_piece_t** out_pieces) {
  hone_engine_parts_t full = *about;
  full.backend = program->backend->name;
  full.target = program->properties.target;
  full.driver = program->properties.driver;
  full.guard = program->properties.guard;
  image_t image = {.arena = arena};
  HONE_TRY(fill(&image, program, graph, &full));
  *out_count = image.n_pieces;
  *out_pieces = image.pieces;
  return NULL;
}

static hone_status_t write_file(hone_engine_t* engine, const char* path, hone_arena_t* arena) {
  const hone_engine_parts_t about = {.version = engine->version,
                                     .precision = engine->precision,
                                     .model_digest = engine->model_digest,
                                     .binary = engine->binary.data,
                                     .binary_size = engine->binary.size};
  int count;
  hone_piece_t* pieces;
  HONE_TRY(
      hone_engine_put_together(engine->program, engine->graph, &about, arena, &count, &pieces));
  hone_file_writer_t* writer;
  HONE_TRY(hone_file_writer_create(engine->allocator, path, &writer));
  hone_file_writer_write_pieces(writer, count, pieces);
  return hone_file_writer_commit(writer);
}

hone_status_t hone_engine_write(hone_engine_t* engine, const char* path) {
  hone_arena_t* arena;
  HONE_TRY(hone_arena_create(engine->allocator, &arena));
  hone_status_t status = write_file(engine, path, arena);
  hone_arena_destroy(arena);
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
  hone_digest_t digest = {.low = get_u64(entry + 24)};
  if (inside && checked) {
    const hone_piece_t whole = {data + offset, (size_t)length};
    HONE_TRY(hone_pieces_digest(hone_thread_pool_shared(), 1, &whole, &digest));
  }
  if (!inside || digest.low != get_u64(entry + 24))
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
  HONE_TRY(take_section(data, size, SECTION_WEIGHTS, checked, &out_parts->weights,
                        &out_parts->weights_size));
  out_parts->other_size = size - out_parts->weights_size;
  return NULL;
}
