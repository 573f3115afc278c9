/* Writing .npz: a zip archive of uncompressed members. Sizes of 64 bits are
 * written throughout, so that there is one form of each record. */
#include <string.h>
#include <zlib.h>

#include "base/map.h"
#include "base/memory.h"
#include "import/npy.h"
#include "import/zip_format.h"

enum { LOCAL_EXTRA = 20, CENTRAL_EXTRA = 28, MAX_NAME = 0xffff - 4 };

/* What the list at the end says of a member. */
typedef struct entry {
  const char* name;
  uint32_t checksum;
  uint64_t size, local;
} entry_t;

typedef struct archive {
  const hone_allocator_t* allocator;
  hone_file_writer_t* writer;
  int count;
  entry_t* entries;
} archive_t;

/* The fields that local and central headers share, from the version on. */
static void put_common(unsigned char* at, const entry_t* entry, size_t extra) {
  zip_put(at, 2, ZIP_VERSION);
  zip_put(at + 2, 2, ZIP_UTF8);
  zip_put(at + 4, 2, ZIP_STORED);
  zip_put(at + 6, 2, 0);
  zip_put(at + 8, 2, ZIP_DATE);
  zip_put(at + 10, 4, entry->checksum);
  zip_put(at + 14, 4, UINT32_MAX);
  zip_put(at + 18, 4, UINT32_MAX);
  zip_put(at + 22, 2, strlen(entry->name) + 4);
  zip_put(at + 24, 2, extra);
}

/* Name and the extra field with both sizes. */
static void write_name_and_sizes(const archive_t* archive, const entry_t* entry, size_t extra) {
  unsigned char sizes[CENTRAL_EXTRA];
  zip_put(sizes, 2, ZIP_EXTRA64);
  zip_put(sizes + 2, 2, extra - 4);
  zip_put(sizes + 4, 8, entry->size);
  zip_put(sizes + 12, 8, entry->size);
  zip_put(sizes + 20, 8, entry->local);
  hone_file_writer_write(archive->writer, entry->name, strlen(entry->name));
  hone_file_writer_write(archive->writer, ".npy", 4);
  hone_file_writer_write(archive->writer, sizes, extra);
}

static void write_local(const archive_t* archive, const entry_t* entry) {
  unsigned char record[ZIP_LOCAL_SIZE] = {0};
  zip_put(record, 4, ZIP_LOCAL);
  put_common(record + 4, entry, LOCAL_EXTRA);
  hone_file_writer_write(archive->writer, record, sizeof record);
  write_name_and_sizes(archive, entry, LOCAL_EXTRA);
}

static void write_central(const archive_t* archive, const entry_t* entry) {
  unsigned char record[ZIP_CENTRAL_SIZE] = {0};
  zip_put(record, 4, ZIP_CENTRAL);
  zip_put(record + 4, 2, ZIP_VERSION);
  put_common(record + 6, entry, CENTRAL_EXTRA);
  zip_put(record + 42, 4, UINT32_MAX);
  hone_file_writer_write(archive->writer, record, sizeof record);
  write_name_and_sizes(archive, entry, CENTRAL_EXTRA);
}

/* The three records that end an archive, and lead to its list at `start`. */
static void write_end(const archive_t* archive, uint64_t start) {
  unsigned char record[ZIP_END64_SIZE + ZIP_LOCATOR_SIZE + ZIP_END_SIZE] = {0};
  unsigned char *locator = record + ZIP_END64_SIZE, *end = locator + ZIP_LOCATOR_SIZE;
  uint64_t here = hone_file_writer_offset(archive->writer), count = (uint64_t)archive->count;
  zip_put(record, 4, ZIP_END64);
  zip_put(record + 4, 8, ZIP_END64_SIZE - 12);
  zip_put(record + 12, 2, ZIP_VERSION);
  zip_put(record + 14, 2, ZIP_VERSION);
  zip_put(record + 24, 8, count);
  zip_put(record + 32, 8, count);
  zip_put(record + 40, 8, here - start);
  zip_put(record + 48, 8, start);
  zip_put(locator, 4, ZIP_LOCATOR);
  zip_put(locator + 8, 8, here);
  zip_put(locator + 16, 4, 1);
  zip_put(end, 4, ZIP_END);
  zip_put(end + 8, 4, UINT32_MAX);
  zip_put(end + 12, 4, UINT32_MAX);
  zip_put(end + 16, 4, UINT32_MAX);
  hone_file_writer_write(archive->writer, record, sizeof record);
}

static hone_status_t write_member(archive_t* archive, const char* name,
                                  const hone_tensor_t* tensor) {
  hone_npy_image_t image;
  HONE_TRY(hone_status_annotate(hone_npy_image_make(archive->allocator, tensor, &image),
                                "array '%s'", name));
  uLong checksum = crc32_z(0, NULL, 0);
  checksum = crc32_z(checksum, (const unsigned char*)image.header, image.header_size);
  if (image.body_size) checksum = crc32_z(checksum, image.body, image.body_size);
  entry_t* entry = &archive->entries[archive->count++];
  *entry = (entry_t){.name = name,
                     .checksum = (uint32_t)checksum,
                     .size = image.header_size + image.body_size,
                     .local = hone_file_writer_offset(archive->writer)};
  write_local(archive, entry);
  hone_file_writer_write(archive->writer, image.header, image.header_size);
  hone_file_writer_write(archive->writer, image.body, image.body_size);
  hone_npy_image_free(&image);
  return NULL;
}

static hone_status_t check_names(const hone_allocator_t* allocator, int count,
                                 const char* const* names) {
  hone_map_t seen;
  hone_map_init(&seen, allocator);
  hone_status_t status = NULL;
  for (int i = 0; i < count && !status; i++) {
    if (strlen(names[i]) > MAX_NAME)
      status = hone_status_make(HONE_INVALID_ARGUMENT, "the name of array %d is too long", i);
    else if (hone_map_get(&seen, names[i]))
      status = hone_status_make(HONE_INVALID_ARGUMENT, "two arrays are called '%s'", names[i]);
    else
      status = hone_map_put(&seen, names[i], &seen);
  }
  hone_map_free(&seen);
  return status;
}

static hone_status_t write_all(archive_t* archive, int count, const char* const* names,
                               hone_tensor_t* const* tensors) {
  for (int i = 0; i < count; i++) HONE_TRY(write_member(archive, names[i], tensors[i]));
  uint64_t start = hone_file_writer_offset(archive->writer);
  for (int i = 0; i < count; i++) write_central(archive, &archive->entries[i]);
  write_end(archive, start);
  return NULL;
}

static hone_status_t save(archive_t* archive, int count, const char* const* names,
                          hone_tensor_t* const* tensors, const char* path) {
  HONE_TRY(hone_file_writer_create(archive->allocator, path, &archive->writer));
  hone_status_t status = write_all(archive, count, names, tensors);
  if (!status) return hone_file_writer_commit(archive->writer);
  hone_file_writer_abort(archive->writer);
  return hone_status_annotate(status, "%s", path);
}

hone_status_t hone_npz_save_file(const hone_allocator_t* allocator, int count,
                                 const char* const* names, hone_tensor_t* const* tensors,
                                 const char* path) {
  HONE_TRY(hone_status_annotate(check_names(allocator, count, names), "%s", path));
  size_t bytes = (size_t)count * sizeof(entry_t);
  archive_t archive = {.allocator = allocator, .entries = hone_alloc(allocator, bytes)};
  if (!archive.entries) return hone_oom();
  hone_status_t status = save(&archive, count, names, tensors, path);
  hone_free(allocator, archive.entries, bytes);
  return status;
}
