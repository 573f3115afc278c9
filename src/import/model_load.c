/* The public way to load a model, whatever its format; so far ONNX. */
#include "hone/model.h"
#include "import/onnx.h"

static const hone_allocator_t* allocator_of(const hone_model_options_t* options) {
  return options && options->allocator ? options->allocator : hone_allocator_system();
}

hone_status_t hone_model_load(const char* path, const hone_model_options_t* options,
                              hone_model_t** out_model) {
  *out_model = NULL;
  if (!path || !path[0]) return hone_status_make(HONE_INVALID_ARGUMENT, "no model file given");
  return hone_onnx_load_file(allocator_of(options), path, NULL, out_model);
}

hone_status_t hone_model_load_memory(const void* data, size_t size,
                                     const hone_model_options_t* options,
                                     hone_model_t** out_model) {
  *out_model = NULL;
  hone_onnx_options_t onnx = {.copy = true};
  return hone_onnx_load_memory(allocator_of(options), data, size, options ? options->folder : NULL,
                               &onnx, out_model);
}
