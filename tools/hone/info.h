/* What `hone info` finds out about a model; info_print.c and info_json.c say it. */
#ifndef HONE_TOOLS_INFO_H
#define HONE_TOOLS_INFO_H

#include "base/str.h"
#include "command.h"
#include "ir/model.h"

/* An operator and how often it stands in the model. */
typedef struct hone_info_op {
  const char* domain; /* "" is ai.onnx */
  const char* name;
  int64_t count; /* of the main graph, and the graphs and functions within */
} hone_info_op_t;

/* Weights of one element type: initializers and the values of Constant nodes. */
typedef struct hone_info_weights {
  int64_t tensors;
  int64_t elements;
  uint64_t file_bytes;   /* as stored, small integers packed */
  uint64_t memory_bytes; /* as hone holds them */
} hone_info_weights_t;

/* A file of weights beside the model. */
typedef struct hone_info_file {
  const char* name; /* as the model names it */
  int64_t tensors;
  uint64_t bytes;
} hone_info_file_t;

/* Multiply-adds of products and convolutions. */
typedef struct hone_info_work {
  const char* text;      /* a number, or a formula over named dimensions; NULL: too large for one */
  int64_t count;         /* -1: it is a formula */
  bool has_bodies;       /* some are in branches or loops */
  const char* body_text; /* how many: of all branches, and of one round of loops */
  int64_t unknown;       /* nodes whose shapes are known only when they run */
  const char* failure;   /* why nothing is known; NULL: it is */
} hone_info_work_t;

typedef struct hone_info {
  const hone_model_t* model;
  hone_arena_t* arena;
  int64_t n_nodes;        /* of the main graph */
  int64_t n_inner_nodes;  /* of graphs inside nodes */
  int64_t n_inner_graphs; /* how many of these there are */
  int64_t n_ops;
  hone_info_op_t* ops; /* most frequent first */
  hone_info_weights_t weights[HONE_DTYPE_COUNT];
  hone_info_weights_t total;
  uint64_t mapped_bytes; /* of memory_bytes, those used where they lie in the file */
  int64_t n_files;
  hone_info_file_t* files;
  int64_t n_dims;
  const char** dims; /* named dimensions of inputs, in order */
  int64_t n_inputs;  /* without those that are initializers too */
  const hone_onnx_value_info_t** inputs;
  int64_t n_qdq;     /* QuantizeLinear and DequantizeLinear */
  int64_t n_integer; /* operators that compute on quantized values */
  hone_info_work_t work;
} hone_info_t;

/* Fills `info`, whose model and arena are set. */
HONE_MUST_USE hone_status_t hone_info_find(hone_info_t* info);
/* Lowers the model with --dim to count what it has to compute. */
HONE_MUST_USE hone_status_t hone_info_find_work(hone_cli_t* cli, hone_info_t* info);
/* "none", "QuantizeLinear and DequantizeLinear", … */
const char* hone_info_quantization(const hone_info_t* info);
/* "f32[batch, 3, ?]" of a declared type. */
void hone_info_print_type(const hone_onnx_type_t* type, hone_str_t* text);

HONE_MUST_USE hone_status_t hone_info_print(const hone_info_t* info);
HONE_MUST_USE hone_status_t hone_info_print_json(const hone_info_t* info);

#endif
