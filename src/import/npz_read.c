/* Reading .npz: the list at the end of the zip archive is read and checked
 * when it is opened, a member when it is asked for. */
#include <stdalign.h>
#include <string.h>
#include <zlib.h>

#include "base/map.h"
#include "base/memory.h"
#include "import/npy.h"
#include "import/zip_format.h"

/* deflate makes at most 1032 bytes of one. */
enum { DEFLATE_RATIO = 1032, MAX_COMMENT = 0xffff };

typedef struct member {
  const char* name;
  unsigned method;
  uint32_t checksum;
  uint64_t packed, size; /* bytes in the file, and unpacked */
  uint64_t local;        /* offset of its local header */
} member_t;

struct hone_npz {
  const hone_allocator_t* allocator;
  hone_arena_t* arena;
  hone_file_map_t map;
  char* path; /* NULL: from memory */
  const unsigned char* data;
  size_t size;
  int count;
  member_t* members;
  hone_map_t names; /* to index + 1 */
};

static hone_status_t damaged(const char* what) {
  return hone_status_make(HONE_INVALID_DATA, "damaged .npz archive: %s", what);
}

/* `count` bytes at `offset`; NULL when they are not all there. */
static const unsigned char* bytes_at(const hone_npz_t* npz, uint64_t offset, uint64_t count) {
  return offset <= npz->size && count <= npz->size - offset ? npz->data + offset : NULL;
}

/* ---- the list ---- */

typedef struct listing {
  uint64_t count, offset, size;
} listing_t;

/* The end record is the last thing but for a comment. */
static const unsigned char* find_end(const hone_npz_t* npz) {
  for (size_t back = ZIP_END_SIZE; back <= npz->size && back <= ZIP_END_SIZE + MAX_COMMENT;
       back++) {
    const unsigned char* at = npz->data + npz->size - back;
    if (zip_get(at, 4) == ZIP_END && zip_get(at + 20, 2) == back - ZIP_END_SIZE) return at;
  }
  return NULL;
}

/* Puts the 64-bit numbers in place when the archive has them. */
static hone_status_t read_end64(const hone_npz_t* npz, const unsigned char* end,
                                listing_t* listing) {
  uint64_t at = (uint64_t)(end - npz->data);
  if (at < ZIP_LOCATOR_SIZE || zip_get(end - ZIP_LOCATOR_SIZE, 4) != ZIP_LOCATOR) return NULL;
  uint64_t offset = zip_get(end - ZIP_LOCATOR_SIZE + 8, 8);
  const unsigned char* record = bytes_at(npz, offset, ZIP_END64_SIZE);
  if (!record || zip_get(record, 4) != ZIP_END64)
    return damaged("its 64-bit end record is missing");
  *listing = (listing_t){zip_get(record + 32, 8), zip_get(record + 48, 8), zip_get(record + 40, 8)};
  return NULL;
}

static hone_status_t find_listing(const hone_npz_t* npz, listing_t* out) {
  const unsigned char* end = find_end(npz);
  if (!end)
    return hone_status_make(HONE_INVALID_DATA,
                            "not an .npz archive, or cut off: its end record is missing");
  if (zip_get(end + 4, 2) != zip_get(end + 6, 2))
    return hone_status_make(HONE_UNSUPPORTED, "a zip archive on several disks");
  *out = (listing_t){zip_get(end + 10, 2), zip_get(end + 16, 4), zip_get(end + 12, 4)};
  HONE_TRY(read_end64(npz, end, out));
  if (!bytes_at(npz, out->offset, out->size)) return damaged("its list lies outside the file");
  return out->count <= out->size / ZIP_CENTRAL_SIZE ? NULL : damaged("its list is too short");
}

/* Sizes of 32 bits that are all ones stand in the extra field, in this order. */
static hone_status_t read_extra64(const unsigned char* extra, size_t size, member_t* member) {
  uint64_t* wide[] = {&member->size, &member->packed, &member->local};
  while (size >= 4) {
    size_t length = (size_t)zip_get(extra + 2, 2);
    if (length > size - 4) return damaged("an extra field is cut off");
    const unsigned char* at = extra + 4;
    for (int i = 0; i < 3 && zip_get(extra, 2) == ZIP_EXTRA64; i++) {
      if (*wide[i] != UINT32_MAX) continue;
      if ((size_t)(extra + 4 + length - at) < 8) return damaged("a 64-bit size is missing");
      *wide[i] = zip_get(at, 8);
      at += 8;
    }
    extra += 4 + length;
    size -= 4 + length;
  }
  return NULL;
}

static hone_status_t check_member(const member_t* member, unsigned flags) {
  if (flags & ZIP_ENCRYPTED)
    return hone_status_make(HONE_UNSUPPORTED, "'%s' is encrypted", member->name);
  if (member->method != ZIP_STORED && member->method != ZIP_DEFLATED)
    return hone_status_make(HONE_UNSUPPORTED, "'%s' is compressed by method %u; use numpy.savez",
                            member->name, member->method);
  bool possible = member->method == ZIP_STORED ? member->size == member->packed
                                               : member->size / DEFLATE_RATIO <= member->packed;
  return possible ? NULL
                  : hone_status_make(HONE_INVALID_DATA, "'%s' claims a size that it cannot have",
                                     member->name);
}

/* The name without ".npy". */
static hone_status_t add_name(hone_npz_t* npz, const char* name, size_t length, member_t* member) {
  if (memchr(name, 0, length)) return damaged("a name holds a zero");
  if (length >= 4 && memcmp(name + length - 4, ".npy", 4) == 0) length -= 4;
  member->name = hone_arena_strndup(npz->arena, name, length);
  if (!member->name) return hone_oom();
  if (hone_map_get(&npz->names, member->name))
    return hone_status_make(HONE_INVALID_DATA, "two arrays are called '%s'", member->name);
  return hone_map_put(&npz->names, member->name, (void*)(uintptr_t)(npz->count + 1));
}

/* One record of the list at *offset, which moves behind it. */
static hone_status_t read_member(hone_npz_t* npz, uint64_t* offset) {
  const unsigned char* at = bytes_at(npz, *offset, ZIP_CENTRAL_SIZE);
  if (!at || zip_get(at, 4) != ZIP_CENTRAL) return damaged("its list is cut off");
  size_t name = (size_t)zip_get(at + 28, 2), extra = (size_t)zip_get(at + 30, 2);
  size_t whole = ZIP_CENTRAL_SIZE + name + extra + (size_t)zip_get(at + 32, 2);
  if (!bytes_at(npz, *offset, whole)) return damaged("its list is cut off");
  member_t* member = &npz->members[npz->count];
  *member = (member_t){.method = (unsigned)zip_get(at + 10, 2),
                       .checksum = (uint32_t)zip_get(at + 16, 4),
                       .packed = zip_get(at + 20, 4),
                       .size = zip_get(at + 24, 4),
                       .local = zip_get(at + 42, 4)};
  HONE_TRY(add_name(npz, (const char*)at + ZIP_CENTRAL_SIZE, name, member));
  HONE_TRY(read_extra64(at + ZIP_CENTRAL_SIZE + name, extra, member));
  HONE_TRY(check_member(member, (unsigned)zip_get(at + 8, 2)));
  npz->count++;
  *offset += whole;
  return NULL;
}

static hone_status_t read_listing(hone_npz_t* npz) {
  listing_t listing = {0};
  HONE_TRY(find_listing(npz, &listing));
  npz->members = hone_arena_array(npz->arena, (size_t)listing.count, sizeof *npz->members);
  if (!npz->members) return hone_oom();
  uint64_t offset = listing.offset;
  for (uint64_t i = 0; i < listing.count; i++) HONE_TRY(read_member(npz, &offset));
  return NULL;
}

/* ---- opening ---- */

static hone_status_t npz_create(const hone_allocator_t* allocator, hone_npz_t** out_npz) {
  hone_arena_t* arena;
  HONE_TRY(hone_arena_create(allocator, &arena));
  hone_npz_t* npz = hone_arena_alloc(arena, sizeof *npz);
  if (!npz) {
    hone_arena_destroy(arena);
    return hone_oom();
  }
  npz->allocator = allocator;
  npz->arena = arena;
  hone_map_init_arena(&npz->names, arena);
  *out_npz = npz;
  return NULL;
}

hone_status_t hone_npz_open_memory(const hone_allocator_t* allocator, const void* data, size_t size,
                                   hone_npz_t** out_npz) {
  *out_npz = NULL;
  hone_npz_t* npz = NULL;
  HONE_TRY(npz_create(allocator, &npz));
  npz->data = data;
  npz->size = size;
  hone_status_t status = read_listing(npz);
  if (status)
    hone_npz_close(npz);
  else
    *out_npz = npz;
  return status;
}

hone_status_t hone_npz_open_file(const hone_allocator_t* allocator, const char* path,
                                 hone_npz_t** out_npz) {
  *out_npz = NULL;
  hone_file_map_t map;
  HONE_TRY(hone_file_map_open(path, &map));
  hone_status_t status = hone_npz_open_memory(allocator, map.data, map.size, out_npz);
  if (status) {
    hone_file_map_close(&map);
    return hone_status_annotate(status, "%s", path);
  }
  (*out_npz)->map = map;
  (*out_npz)->path = hone_arena_strdup((*out_npz)->arena, path);
  if ((*out_npz)->path) return NULL;
  hone_npz_close(*out_npz);
  *out_npz = NULL;
  return hone_oom();
}

void hone_npz_close(hone_npz_t* npz) {
  if (!npz) return;
  hone_file_map_close(&npz->map);
  hone_arena_destroy(npz->arena);
}

int hone_npz_count(const hone_npz_t* npz) { return npz->count; }

const char* hone_npz_name(const hone_npz_t* npz, int index) {
  return index >= 0 && index < npz->count ? npz->members[index].name : NULL;
}

int hone_npz_find(const hone_npz_t* npz, const char* name) {
  return (int)(intptr_t)hone_map_get(&npz->names, name) - 1;
}

/* ---- members ---- */

static hone_status_t locate(const hone_npz_t* npz, const member_t* member,
                            const unsigned char** out) {
  const unsigned char* at = bytes_at(npz, member->local, ZIP_LOCAL_SIZE);
  if (!at || zip_get(at, 4) != ZIP_LOCAL) return damaged("a member is not where its list says");
  uint64_t start = member->local + ZIP_LOCAL_SIZE + zip_get(at + 26, 2) + zip_get(at + 28, 2);
  *out = bytes_at(npz, start, member->packed);
  return *out ? NULL : damaged("a member is cut off");
}

/* zlib frees without a size, so each block carries its own before it. */
enum { BLOCK_HEADER = alignof(max_align_t) };

static void* zlib_alloc(void* self, unsigned items, unsigned size) {
  size_t bytes;
  if (!hone_size_mul(items, size, &bytes) || !hone_size_add(bytes, BLOCK_HEADER, &bytes))
    return NULL;
  unsigned char* block = hone_alloc(self, bytes);
  if (!block) return NULL;
  memcpy(block, &bytes, sizeof bytes);
  return block + BLOCK_HEADER;
}

static void zlib_free(void* self, void* address) {
  unsigned char* block = (unsigned char*)address - BLOCK_HEADER;
  size_t bytes;
  memcpy(&bytes, block, sizeof bytes);
  hone_free(self, block, bytes);
}

static unsigned at_most(uint64_t size) { return size < UINT32_MAX ? (unsigned)size : UINT32_MAX; }

/* Unpacks all of a member into `out`, piece by piece, for zlib counts in 32 bits. */
static int inflate_all(z_stream* stream, const unsigned char* packed, const member_t* member,
                       unsigned char* out) {
  const unsigned char* packed_end = packed + member->packed;
  unsigned char* out_end = out + member->size;
  int result = Z_OK;
  stream->next_in = (unsigned char*)(uintptr_t)packed;
  stream->next_out = out;
  while (result == Z_OK) {
    stream->avail_in = at_most((uint64_t)(packed_end - stream->next_in));
    stream->avail_out = at_most((uint64_t)(out_end - stream->next_out));
    result = inflate(stream, Z_NO_FLUSH);
  }
  bool whole = result == Z_STREAM_END && stream->next_out == out_end;
  return whole || result == Z_MEM_ERROR ? result : Z_DATA_ERROR;
}

static hone_status_t unpack(const hone_npz_t* npz, const member_t* member,
                            const unsigned char* packed, unsigned char* out) {
  z_stream stream = {
      .zalloc = zlib_alloc,
      .zfree = zlib_free,
      .opaque = (void*)(uintptr_t)(npz->allocator ? npz->allocator : hone_allocator_system())};
  int result = inflateInit2(&stream, -MAX_WBITS);
  if (result == Z_OK) result = inflate_all(&stream, packed, member, out);
  inflateEnd(&stream);
  if (result == Z_MEM_ERROR) return hone_oom();
  return result == Z_STREAM_END ? NULL : damaged("the compressed bytes are wrong");
}

static uint32_t checksum(const unsigned char* data, uint64_t size) {
  return (uint32_t)crc32_z(crc32_z(0, NULL, 0), data, (size_t)size);
}

static hone_status_t read_array(const hone_npz_t* npz, const member_t* member,
                                const unsigned char* data, hone_dtype_t void_as,
                                hone_tensor_t** out_tensor) {
  if (checksum(data, member->size) != member->checksum)
    return damaged("the checksum does not hold");
  return hone_npy_load_memory(npz->allocator, data, (size_t)member->size, void_as, out_tensor);
}

static hone_status_t read_packed(const hone_npz_t* npz, const member_t* member,
                                 const unsigned char* packed, hone_dtype_t void_as,
                                 hone_tensor_t** out_tensor) {
  if (member->method == ZIP_STORED) return read_array(npz, member, packed, void_as, out_tensor);
  if (member->size > SIZE_MAX / 2) return hone_oom();
  unsigned char* data = hone_alloc(npz->allocator, (size_t)member->size);
  if (!data) return hone_oom();
  hone_status_t status = unpack(npz, member, packed, data);
  if (!status) status = read_array(npz, member, data, void_as, out_tensor);
  hone_free(npz->allocator, data, (size_t)member->size);
  return status;
}

hone_status_t hone_npz_read(const hone_npz_t* npz, int index, hone_dtype_t void_as,
                            hone_tensor_t** out_tensor) {
  *out_tensor = NULL;
  if (index < 0 || index >= npz->count)
    return hone_status_make(HONE_INVALID_ARGUMENT, "array %d of an archive of %d", index,
                            npz->count);
  const member_t* member = &npz->members[index];
  const unsigned char* packed;
  hone_status_t status = locate(npz, member, &packed);
  if (!status) status = read_packed(npz, member, packed, void_as, out_tensor);
  status = hone_status_annotate(status, "array '%s'", member->name);
  return npz->path ? hone_status_annotate(status, "%s", npz->path) : status;
}
