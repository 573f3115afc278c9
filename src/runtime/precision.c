#include "runtime/precision.h"

#include <string.h>

typedef struct word {
  const char* name;
  hone_precision_t precision;
  bool is_quantized, is_measured;
} word_t;

static const word_t words[] = {
    {.name = "fp32"},
    {.name = "bf16x3", .precision = {.bf16x3 = true}},
    {.name = "bf16", .precision = {.dtype = HONE_BF16}},
    {.name = "fp16", .precision = {.dtype = HONE_F16}},
    {.name = "int8", .is_quantized = true},
    {.name = "mixed", .is_measured = true},
};

static const word_t* find(const char* name) {
  if (!name) return &words[0];
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(words[i].name, name) == 0) return &words[i];
  return NULL;
}

static bool ends_with(const char* text, const char* end) {
  size_t length = strlen(text), tail = strlen(end);
  return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* Whether operators of the model compute with integers, or say how to. */
static bool is_quantized(const hone_model_t* model) {
  hone_model_node_t node;
  for (int64_t i = 0; hone_model_node_at(model, i, &node); i++)
    if (strstr(node.op_type, "QuantizeLinear") || strstr(node.op_type, "DequantizeLinear") ||
        strncmp(node.op_type, "QLinear", 7) == 0 || ends_with(node.op_type, "Integer"))
      return true;
  return false;
}

hone_status_t hone_precision_parse(const char* name, const hone_model_t* model,
                                   hone_precision_t* out_precision) {
  const word_t* word = find(name);
  *out_precision = words[0].precision;
  if (!word)
    return hone_status_make(HONE_INVALID_ARGUMENT,
                            "precision '%s': there are fp32, bf16x3, bf16, fp16, int8 and mixed",
                            name);
  if (word->is_measured)
    return hone_status_make(HONE_UNSUPPORTED,
                            "precision mixed is chosen by measuring: compile an engine so (`hone "
                            "compile --precision mixed`, hone_engine_compile_mixed), and run that");
  if (word->is_quantized && model && !is_quantized(model))
    return hone_status_make(HONE_UNSUPPORTED,
                            "precision int8: the model does not say how it is quantized, which "
                            "takes calibration with sample inputs; give a model that is quantized "
                            "(QuantizeLinear, DequantizeLinear), or ask for bf16 or fp16");
  *out_precision = word->precision;
  return NULL;
}

const char* hone_precision_name(const char* name) {
  const word_t* word = find(name);
  return word ? word->name : "";
}
