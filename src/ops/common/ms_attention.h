/* What the attention operators of com.microsoft share. Heads stand as
 * [batch, heads, sequence, head size]; everything is computed in f32 or wider. */
#ifndef HONE_OPS_COMMON_MS_ATTENTION_H
#define HONE_OPS_COMMON_MS_ATTENTION_H

#include "ops/common/ms.h"

typedef struct hone_ms_attention {
  hone_value_t *q, *k, *v; /* […, S, H], […, T, H], […, T, V]: batches broadcast */
  double scale;            /* 0: 1 / sqrt(H) */
  double softcap;          /* > 0: scores become softcap * tanh(score / softcap) */
  hone_value_t* bias;      /* added to the scores […, S, T]; NULL: none */
  hone_value_t* allowed;   /* bool, where scores count; NULL: everywhere */
  hone_value_t* sink;      /* one more score for each row, of no value; NULL: none */
  hone_value_t* scores;    /* out: before softmax, without bias and mask */
  hone_value_t* masked;    /* out: before softmax */
  hone_value_t* chances;   /* out: after softmax */
} hone_ms_attention_t;

/* […, S, V] in the type of q. */
hone_value_t* hone_ms_attend(hone_builder_t* b, hone_ms_attention_t* a);

/* [batch, sequence, heads * size] as [batch, heads, sequence, size], and back. */
hone_value_t* hone_ms_split_heads(hone_builder_t* b, hone_value_t* x, int64_t heads);
hone_value_t* hone_ms_join_heads(hone_builder_t* b, hone_value_t* x);

/* The attribute num_heads (or another of that kind); 0 after an error. */
int64_t hone_ms_heads_attr(hone_lower_t* l, const char* name);

/* What to add to scores [B, N, S, T] for a padding mask in one of the forms
 * that Attention takes: lengths [B], ends and starts [2 B], [B, T] or [B, S, T]
 * of 0 and 1; NULL for none. `filter` is added where there is padding. */
hone_value_t* hone_ms_padding_bias(hone_lower_t* l, hone_value_t* mask, hone_dim_t batch,
                                   hone_dim_t total, double filter);
/* bool [S, T]: key j may be seen by query i when j <= past + i. */
hone_value_t* hone_ms_causal(hone_builder_t* b, hone_dim_t sequence, hone_dim_t total);

/* Attention over projected heads, with a past and with a mask, as Attention
 * and QAttention have it. Puts out outputs 0 and 1. */
typedef struct hone_ms_self_attention {
  hone_value_t* qkv;    /* [B, S, …]: queries, keys and values side by side */
  hone_dim_t widths[3]; /* of the three */
  hone_value_t* mask;   /* see hone_ms_padding_bias */
  hone_value_t* past;   /* [2, B, N, P, H] */
  hone_value_t* bias;   /* added to scores */
} hone_ms_self_attention_t;
void hone_ms_self_attend(hone_lower_t* l, const hone_ms_self_attention_t* s);

/* Rotates the first 2 * R elements of the heads of x [B, S, N, H] by angles whose
 * cosines and sines are [B or 1, S, R]. */
hone_value_t* hone_ms_rotate(hone_builder_t* b, hone_value_t* x, hone_value_t* cosines,
                             hone_value_t* sines, bool interleaved);

#endif
