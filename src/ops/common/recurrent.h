/* Recurrent layers: what RNN, GRU and LSTM share. Inputs meet their weights
 * for all steps at once, before a loop whose body is one step of a cell. */
#ifndef HONE_OPS_COMMON_RECURRENT_H
#define HONE_OPS_COMMON_RECURRENT_H

#include "ops/op.h"

enum { HONE_RECURRENT_MAX_FUNCTIONS = 6 }; /* three for each direction */

/* One activation function with its numbers. */
typedef struct hone_activation {
  hone_value_t* (*apply)(hone_builder_t* b, hone_value_t* x, double alpha, double beta);
  double alpha, beta;
} hone_activation_t;

typedef struct hone_recurrent_kind hone_recurrent_kind_t;

/* One step of one direction. B: batch, H: hidden size, g: number of gates. */
typedef struct hone_recurrent_step {
  hone_builder_t* b; /* of the loop's body */
  hone_lower_t* l;
  const hone_recurrent_kind_t* kind;
  int direction;
  const hone_activation_t* functions; /* of this direction */
  double clip;                        /* 0: none */
  hone_dim_t hidden;
  hone_value_t* x;         /* [B, g * H]: inputs times weights, input bias added */
  hone_value_t* h;         /* [B, H] */
  hone_value_t* c;         /* [B, H]; NULL where the layer has no cells */
  hone_value_t* weights;   /* [g * H, H], recurrent */
  hone_value_t* bias;      /* [g * H], recurrent; NULL: none */
  hone_value_t* peepholes; /* [3 * H]; NULL: none */
} hone_recurrent_step_t;

/* Gives the next h and c. */
typedef void (*hone_recurrent_cell_fn)(const hone_recurrent_step_t* s, hone_value_t** out_h,
                                       hone_value_t** out_c);

struct hone_recurrent_kind {
  int gates, functions;    /* for each direction */
  const char* defaults[3]; /* names of activation functions */
  bool has_cells;          /* LSTM: initial_c, P and Y_c are there */
  hone_recurrent_cell_fn cell;
  /* Both NULL where weights are real numbers. Otherwise weights are
   * [directions, inputs, g * H], and these take the place of the products:
   * `prepare` brings those of input `input` (1 or 2) and a direction into the
   * form that `multiply` takes. */
  hone_value_t* (*prepare)(hone_lower_t* l, int input, int direction);
  hone_value_t* (*multiply)(hone_lower_t* l, hone_builder_t* b, hone_value_t* x,
                            hone_value_t* weights, int input, int direction);
};

/* The cell of an LSTM, in lstm.c: four gates, three functions. */
void hone_lstm_cell(const hone_recurrent_step_t* s, hone_value_t** out_h, hone_value_t** out_c);

/* Lowers the whole operator. */
void hone_recurrent_lower(hone_lower_t* l, const hone_recurrent_kind_t* kind);

/* Part `index` of the last axis, `hidden` wide. */
hone_value_t* hone_recurrent_part(const hone_recurrent_step_t* s, hone_value_t* x, int index);
/* Parts `from` up to but without `to` of axis 0. */
hone_value_t* hone_recurrent_rows(const hone_recurrent_step_t* s, hone_value_t* x, int from,
                                  int to);
/* h [B, H] times the transpose of `weights` [n * H, H], plus `bias` if any. */
hone_value_t* hone_recurrent_product(const hone_recurrent_step_t* s, hone_value_t* h,
                                     hone_value_t* weights, hone_value_t* bias);
/* Function `index` of the direction on x, clipped before. */
hone_value_t* hone_recurrent_activate(const hone_recurrent_step_t* s, int index, hone_value_t* x);

#endif
