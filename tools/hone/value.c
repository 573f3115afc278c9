/* One row per ending of a file's name: how it is read and written. */
#include "value.h"

#include <string.h>

#include "base/file.h"
#include "base/float_convert.h"
#include "base/memory.h"
#include "import/npy.h"
#include "import/onnx.h"
#include "preprocess.h"

/* All that reading or writing a file takes. */
typedef struct job {
  const hone_allocator_t* allocator;
  const char* path;
  const char* name;
  const hone_value_want_t* want;
  hone_preprocess_t steps;
} job_t;

/* ---- reading ---- */

static hone_status_t read_npy(const job_t* job, hone_tensor_t** out) {
  return hone_npy_load_file(job->allocator, job->path, job->want->dtype, out);
}

static hone_status_t read_npz(const job_t* job, hone_tensor_t** out) {
  hone_npz_t* npz;
  HONE_TRY(hone_npz_open_file(job->allocator, job->path, &npz));
  int index = hone_npz_find(npz, job->name);
  if (index < 0 && hone_npz_count(npz) == 1) index = 0;
  hone_status_t status =
      index >= 0 ? hone_npz_read(npz, index, job->want->dtype, out)
                 : hone_status_make(HONE_NOT_FOUND, "%s: no array is called '%s' among its %d",
                                    job->path, job->name, hone_npz_count(npz));
  hone_npz_close(npz);
  return status;
}

static hone_status_t read_pb(const job_t* job, hone_tensor_t** out) {
  return hone_onnx_load_tensor_file(job->allocator, job->path, job->want->kind, out);
}

typedef hone_status_t (*from_bytes_fn)(const job_t* job, const char* data, size_t size,
                                       hone_tensor_t** out);

static hone_status_t read_bytes(const job_t* job, from_bytes_fn convert, hone_tensor_t** out) {
  char* data;
  size_t size;
  HONE_TRY(hone_file_read(job->allocator, job->path, 0, &data, &size));
  hone_status_t status = convert(job, data, size, out);
  hone_free(job->allocator, data, size + 1);
  return hone_status_annotate(status, "%s", job->path);
}

static hone_status_t from_text(const job_t* job, const char* data, size_t size,
                               hone_tensor_t** out) {
  return hone_value_parse_text(job->allocator, data, size, job->want, out);
}

static hone_status_t from_raw(const job_t* job, const char* data, size_t size,
                              hone_tensor_t** out) {
  size_t width = hone_dtype_size(job->want->dtype);
  if (job->want->dtype == HONE_STRING)
    return hone_status_make(HONE_INVALID_ARGUMENT, "strings have no raw form; give a .txt file");
  if (width && size % width)
    return hone_status_make(HONE_INVALID_DATA, "%zu bytes are no whole number of %s elements", size,
                            hone_dtype_name(job->want->dtype));
  HONE_TRY(hone_value_create(job->allocator, job->want, (int64_t)(width ? size / width : 0), out));
  if (size) memcpy(hone_tensor_data(*out), data, size);
  hone_normalise_elements(hone_tensor_dtype(*out), hone_tensor_data(*out), hone_tensor_count(*out));
  return NULL;
}

static hone_status_t read_text(const job_t* job, hone_tensor_t** out) {
  return read_bytes(job, from_text, out);
}

static hone_status_t read_raw(const job_t* job, hone_tensor_t** out) {
  return read_bytes(job, from_raw, out);
}

static hone_status_t read_picture(const job_t* job, hone_tensor_t** out) {
  hone_picture_t picture;
  HONE_TRY(hone_picture_read(job->allocator, job->path, &picture));
  hone_status_t status = hone_preprocess_apply(&job->steps, &picture, job->want, out);
  hone_picture_free(&picture);
  return hone_status_annotate(status, "%s", job->path);
}

/* ---- writing ---- */

static hone_status_t write_npy(const job_t* job, const hone_tensor_t* tensor) {
  return hone_npy_save_file(job->allocator, tensor, job->path);
}

static hone_status_t write_npz(const job_t* job, const hone_tensor_t* tensor) {
  hone_tensor_t* borrowed = (hone_tensor_t*)(uintptr_t)tensor;
  return hone_npz_save_file(job->allocator, 1, &job->name, &borrowed, job->path);
}

static hone_status_t write_pb(const job_t* job, const hone_tensor_t* tensor) {
  void* data;
  size_t size;
  hone_status_t status =
      hone_onnx_save_tensor(job->allocator, tensor, HONE_ONNX_TYPE_NONE, &data, &size);
  if (status) return hone_status_annotate(status, "%s", job->path);
  status = hone_file_write(job->path, data, size);
  hone_free(job->allocator, data, size);
  return status;
}

static hone_status_t must_be_dense(const job_t* job, const hone_tensor_t* tensor, bool strings) {
  bool ok = hone_tensor_kind(tensor) == HONE_KIND_TENSOR &&
            (strings || hone_tensor_dtype(tensor) != HONE_STRING);
  if (ok) return NULL;
  return hone_status_make(
      HONE_UNSUPPORTED, "%s: this format does not hold %s; write a .pb file", job->path,
      hone_tensor_kind(tensor) == HONE_KIND_TENSOR ? "strings" : "a sequence, map or optional");
}

static hone_status_t write_text(const job_t* job, const hone_tensor_t* tensor) {
  char* text;
  size_t size;
  HONE_TRY(must_be_dense(job, tensor, true));
  hone_status_t status = hone_value_print_text(job->allocator, tensor, &text, &size);
  if (status) return hone_status_annotate(status, "%s", job->path);
  status = hone_file_write(job->path, text, size);
  hone_free(job->allocator, text, size + 1);
  return status;
}

static hone_status_t write_raw(const job_t* job, const hone_tensor_t* tensor) {
  HONE_TRY(must_be_dense(job, tensor, false));
  return hone_file_write(job->path, hone_tensor_data(tensor), hone_tensor_bytes(tensor));
}

static hone_status_t write_picture(const job_t* job, const hone_tensor_t* tensor) {
  hone_picture_t picture;
  HONE_TRY(must_be_dense(job, tensor, false));
  HONE_TRY(hone_status_annotate(hone_preprocess_undo(job->allocator, &job->steps, tensor, &picture),
                                "%s", job->path));
  hone_status_t status = hone_picture_write(&picture, job->path);
  hone_picture_free(&picture);
  return status;
}

/* ---- the table ---- */

typedef struct format {
  const char* ending;
  hone_status_t (*read)(const job_t* job, hone_tensor_t** out);
  hone_status_t (*write)(const job_t* job, const hone_tensor_t* tensor);
} format_t;

static const format_t formats[] = {
    {".npy", read_npy, write_npy},
    {".npz", read_npz, write_npz},
    {".pb", read_pb, write_pb},
    {".raw", read_raw, write_raw},
    {".bin", read_raw, write_raw},
    {".txt", read_text, write_text},
    {".png", read_picture, write_picture},
    {".jpg", read_picture, write_picture},
    {".ppm", read_picture, write_picture},
    {".jpeg", read_picture, write_picture},
    {".bmp", read_picture, NULL},
    {".webp", read_picture, NULL},
    {".tif", read_picture, NULL},
    {".tiff", read_picture, NULL},
    {".jp2", read_picture, NULL},
    {".pgm", read_picture, write_picture},
    {".pnm", read_picture, write_picture},
};

bool hone_value_has_ending(const char* path, const char* ending) {
  const char* dot = strrchr(path, '.');
  return dot && strcasecmp(dot, ending) == 0;
}

static const format_t* find_format(const char* path) {
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
    if (hone_value_has_ending(path, formats[i].ending)) return &formats[i];
  return NULL;
}

bool hone_value_is_writable(const char* path) {
  const format_t* format = find_format(path);
  return format && format->write;
}

static hone_status_t unknown_format(const char* path) {
  return hone_status_make(HONE_INVALID_ARGUMENT,
                          "%s: the name should end in .npy, .npz, .pb, .raw, .bin, .txt, .png, "
                          ".jpg, .ppm or .pgm, which says what the file holds",
                          path);
}

hone_status_t hone_value_read(const hone_allocator_t* allocator, const char* path, const char* name,
                              const hone_value_want_t* want, const hone_preprocess_t* steps,
                              hone_tensor_t** out_tensor) {
  *out_tensor = NULL;
  const format_t* format = find_format(path);
  if (!format) return unknown_format(path);
  job_t job = {allocator, path, name, want, steps ? *steps : hone_preprocess_default()};
  return format->read(&job, out_tensor);
}

hone_status_t hone_value_write(const hone_allocator_t* allocator, const char* path,
                               const char* name, const hone_tensor_t* tensor,
                               const hone_preprocess_t* steps) {
  const format_t* format = find_format(path);
  if (!format || !format->write) return unknown_format(path);
  job_t job = {allocator, path, name, NULL, steps ? *steps : hone_preprocess_default()};
  return format->write(&job, tensor);
}
