/* The table of formats of onnx_foreign.h. */
#include "import/onnx_foreign.h"

#include <ctype.h>
#include <string.h>

typedef struct format {
  size_t offset;    /* of the mark, bytes */
  const char* mark; /* letters match either case */
  const char* what;
  const char* advice;
} format_t;

static const format_t formats[] = {
    {0, "version https://git-lfs", "a Git LFS pointer, not the file it stands for",
     "run: git lfs pull"},
    {0, "<!doctype", "a web page", "the download went wrong: fetch the file itself"},
    {0, "<html", "a web page", "the download went wrong: fetch the file itself"},
    {0, "<?xml", "an XML file", "an OpenVINO model must be exported to ONNX"},
    {0, "<", "text", "the text form of ONNX must be converted with onnx.parser first"},
    {0, "{", "JSON text", "give the .onnx file"},
    {0, "PK\003\004", "a zip archive (PyTorch's .pt files are such)",
     "unpack it, or export the model with torch.onnx.export"},
    {0, "\x80\002", "a Python pickle", "export the model with torch.onnx.export"},
    {0, "\x1f\x8b", "compressed with gzip", "run: gunzip"},
    {0, "\x28\xb5\x2f\xfd", "compressed with zstd", "run: unzstd"},
    {0, "\x89HDF\r\n", "an HDF5 file (Keras writes such)", "convert it with tf2onnx"},
    {0, "\x93NUMPY", "a NumPy array", "give it as an input, not as the model"},
    {0, "\x89HONE\r\n", "an engine, whose kernels are built and which holds no graph",
     "give the model that it was compiled from, and compile that again"},
    {0, "GGUF", "a GGUF model", "export the model to ONNX"},
    {4, "ORTM", "a model in ONNX Runtime's ORT format", "give the .onnx file it was made from"},
    {4, "TFL3", "a TensorFlow Lite model", "convert it with tf2onnx --tflite"},
    {8, "{\"", "a safetensors file", "it holds weights only; export the model to ONNX"},
};

static bool starts_like(const unsigned char* data, size_t size, const format_t* format) {
  size_t length = strlen(format->mark);
  if (size < format->offset || size - format->offset < length) return false;
  for (size_t i = 0; i < length; i++) {
    if (tolower(data[format->offset + i]) != tolower((unsigned char)format->mark[i])) return false;
  }
  return true;
}

hone_status_t hone_onnx_foreign(const void* data, size_t size) {
  if (size == 0) return hone_status_make(HONE_INVALID_MODEL, "the file is empty; fetch it again");
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    if (!starts_like(data, size, &formats[i])) continue;
    return hone_status_make(HONE_INVALID_MODEL, "this is %s, not an ONNX model; %s",
                            formats[i].what, formats[i].advice);
  }
  return NULL;
}
