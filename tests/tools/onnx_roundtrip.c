/* For tests/test_onnx_import.py: reads and writes ONNX files as told by lines
 * on stdin, whose parts are parted by tabs. Each line is answered by "ok" or
 * "CODE: message", one line, after what it asks for.
 *
 *   copy IN OUT        a model, through the model form
 *   value KIND IN OUT  a value; KIND is a number of hone_onnx_type_kind_t
 *   list IN            what a model holds, one thing a line */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "import/onnx.h"

static hone_status_t copy_model(const char* in, const char* out) {
  hone_model_t* model;
  HONE_TRY(hone_onnx_load_file(NULL, in, NULL, &model));
  hone_status_t status = hone_onnx_save_file(model, out);
  hone_model_destroy(model);
  return status;
}

static hone_status_t copy_value(const char* kind_text, const char* in, const char* out) {
  hone_onnx_type_kind_t kind = (hone_onnx_type_kind_t)(*kind_text - '0');
  hone_tensor_t* tensor;
  void* data;
  size_t size;
  HONE_TRY(hone_onnx_load_tensor_file(NULL, in, kind, &tensor));
  hone_status_t status = hone_onnx_save_tensor(NULL, tensor, kind, &data, &size);
  hone_tensor_release(tensor);
  if (status) return status;
  status = hone_file_write(out, data, size);
  hone_free(NULL, data, size);
  return status;
}

static void print_tensor(const hone_onnx_tensor_t* tensor) {
  printf("tensor\t%s\t%d\t", tensor->name, (int)tensor->dtype);
  for (int i = 0; i < tensor->rank; i++) printf("%s%" PRId64, i ? "," : "", tensor->dims[i]);
  const uint8_t* bytes = tensor->data;
  uint64_t digest = 0; /* each byte counts with its place */
  for (size_t i = 0; tensor->dtype != HONE_STRING && i < tensor->bytes; i++) {
    digest += (i + 1) * bytes[i];
  }
  printf("\t%" PRIu64 "\n", digest);
}

static void print_nodes(const hone_onnx_node_t* nodes, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    const hone_onnx_node_t* node = &nodes[i];
    printf("node\t%s\t%s\t%d\t%d\t%d\n", node->op_type, node->name, node->n_inputs, node->n_outputs,
           node->n_attrs);
  }
}

static hone_status_t list_model(const char* in) {
  hone_model_t* model;
  HONE_TRY(hone_onnx_load_file(NULL, in, NULL, &model));
  print_nodes(model->graph->nodes, model->graph->n_nodes);
  for (int64_t i = 0; i < model->graph->n_initializers; i++) {
    print_tensor(&model->graph->initializers[i]);
  }
  hone_model_destroy(model);
  return NULL;
}

static hone_status_t run_line(char** parts, int count) {
  if (count == 3 && !strcmp(parts[0], "copy")) return copy_model(parts[1], parts[2]);
  if (count == 4 && !strcmp(parts[0], "value")) return copy_value(parts[1], parts[2], parts[3]);
  if (count == 2 && !strcmp(parts[0], "list")) return list_model(parts[1]);
  return hone_status_make(HONE_INVALID_ARGUMENT, "no such line: %s", parts[0]);
}

int main(void) {
  static char line[1 << 16];
  while (fgets(line, sizeof line, stdin)) {
    char* parts[4];
    int count = 0;
    line[strcspn(line, "\n")] = 0;
    for (char* part = strtok(line, "\t"); part && count < 4; part = strtok(NULL, "\t")) {
      parts[count++] = part;
    }
    hone_status_t status = count ? run_line(parts, count) : NULL;
    if (status)
      printf("%s: %s\n", hone_code_name(hone_status_code(status)), hone_status_message(status));
    else
      puts("ok");
    fflush(stdout);
    hone_status_free(status);
  }
  return 0;
}
