/* WordConvEmbedding (com.microsoft): words, given as rows of character numbers
 * with 0 behind them, become the largest responses of a convolution over their
 * characters. A word without characters becomes zeros. */
#include "ops/common/ms.h"

/* [words, L - F + 1, filters]: tanh of each window's response. */
static hone_value_t* responses(hone_lower_t* l, hone_dim_t width) {
  hone_builder_t* b = l->b;
  static const int64_t axis[1] = {1}, pairs[2][2] = {{2, 2}, {3, 1}};
  hone_dim_t one = hone_d(1);
  hone_value_t* characters = hone_gather(b, hone_op_in(l, 3), hone_op_in(l, 0));
  hone_value_t* windows = hone_window(b, characters, 1, axis, &width, &one, &one);
  hone_value_t* weights = hone_pick(b, hone_op_in(l, 1), 1, hone_d(0));
  hone_value_t* y = hone_contract(b, windows, weights, 2, pairs, 0, HONE_UNKNOWN);
  return hone_tanh(b, hone_add(b, y, hone_op_in(l, 2)));
}

/* i64 [words]: characters of each word; a word begins with one. */
static hone_value_t* word_lengths(hone_builder_t* b, hone_value_t* words) {
  hone_value_t* there = hone_gt_number(b, words, 0);
  hone_value_t* count =
      hone_reduce_last(b, HONE_COMBINE_ADD, hone_cast(b, there, HONE_I64), 1, false);
  return hone_mul(b, count, hone_cast(b, hone_pick(b, there, 1, hone_d(0)), HONE_I64));
}

static void lower_word_conv_embedding(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t *words = hone_op_in(l, 0), *weights = hone_op_in(l, 1);
  if (hone_rank(words) != 2 || hone_rank(weights) != 4) {
    hone_op_fail(l, "words have rank %d (2 is needed), weights %d (4)", hone_rank(words),
                 hone_rank(weights));
    return;
  }
  hone_dim_t width = hone_dim(weights, 2);
  hone_value_t* y = responses(l, width);
  hone_value_t* length = word_lengths(b, words);
  if (!y || !length) return;
  hone_dim_t windows = hone_dim(y, 1);
  hone_value_t* last = hone_sub(b, length, hone_dim_scalar(b, HONE_I64, width));
  last = hone_unsqueeze(b, hone_max_number(b, last, 0), 1);
  hone_value_t* counts = hone_le(b, hone_iota(b, HONE_I64, 1, &windows, 0), last);
  hone_value_t* none = hone_scalar(b, hone_dtype_of(y), -1e12);
  y = hone_select(b, hone_unsqueeze(b, counts, 2), y, none);
  y = hone_reduce(b, HONE_COMBINE_MAX, y, 1, &(int64_t){1}, false);
  hone_value_t* empty = hone_unsqueeze(b, hone_eq_number(b, length, 0), 1);
  hone_op_out(l, 0, hone_select(b, empty, hone_scalar(b, HONE_F32, 0), y));
}

static const hone_op_t ops[] = {
    {.domain = HONE_MS_DOMAIN,
     .name = "WordConvEmbedding",
     .min_opset = 1,
     .min_inputs = 4,
     .max_inputs = 4,
     .attrs = "char_embedding_size conv_window_size embedding_size",
     .lower = lower_word_conv_embedding},
};
HONE_OP_FAMILY(ms_word_conv_embedding, ops)
