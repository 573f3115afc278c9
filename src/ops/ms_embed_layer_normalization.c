/* EmbedLayerNormalization and QEmbedLayerNormalization (com.microsoft): the sum
 * of the rows for a word, its position and its segment, normalized; and how
 * many positions of each sequence the mask leaves. In the second, tables, gamma
 * and beta are 8-bit with one scale and zero point each. */
#include "ops/common/formulas.h"
#include "ops/common/ms.h"
#include "ops/common/quantized.h"

typedef struct embedding {
  hone_value_t *ids, *segment_ids, *words, *positions, *segments, *gamma, *beta, *mask,
      *position_ids;
} embedding_t;

/* The position of each token: given, or counted along the sequence. */
static hone_value_t* position_ids(hone_builder_t* b, const embedding_t* e) {
  if (e->position_ids) return e->position_ids;
  return hone_iota(b, HONE_I64, 2, e->ids->type.dims, 1);
}

static void lower_embedding(hone_lower_t* l, const embedding_t* e) {
  hone_builder_t* b = l->b;
  if (!hone_is_known(b, e->words) || !hone_is_known(b, e->positions)) return;
  if (hone_rank(e->ids) != 2) {
    hone_op_fail(l, "input_ids has rank %d; it must be [batch, sequence]", hone_rank(e->ids));
    return;
  }
  hone_value_t* sum = hone_add(b, hone_gather(b, e->words, e->ids),
                               hone_gather(b, e->positions, position_ids(b, e)));
  if (e->segments && e->segment_ids)
    sum = hone_add(b, sum, hone_gather(b, e->segments, e->segment_ids));
  double epsilon = hone_attr_float(l->node, "epsilon", (double)1e-12f);
  hone_op_out(l, 0, hone_ms_normalize(b, sum, e->gamma, e->beta, epsilon, false).y);
  hone_value_t* counts = hone_full(b, HONE_I32, 0, 1, e->ids->type.dims);
  if (e->mask)
    counts = hone_reduce_last(b, HONE_COMBINE_ADD,
                              hone_cast(b, hone_eq_number(b, e->mask, 1), HONE_I32), 1, false);
  hone_op_out(l, 1, counts);
  hone_op_out(l, 2, sum);
}

static void lower_embed(hone_lower_t* l) {
  embedding_t e = {hone_op_in(l, 0), hone_op_in(l, 1), hone_op_in(l, 2),
                   hone_op_in(l, 3), hone_op_in(l, 4), hone_op_in(l, 5),
                   hone_op_in(l, 6), hone_op_in(l, 7), hone_op_in(l, 8)};
  lower_embedding(l, &e);
}

/* Input `index` as f32; its scale and zero point are other inputs. */
static hone_value_t* dequantized(hone_lower_t* l, int index, int scale, int zero) {
  hone_builder_t* b = l->b;
  if (!hone_op_in(l, index) || !hone_op_in(l, scale)) return NULL;
  hone_value_t* centered = hone_quantized_centered(b, hone_op_in(l, index),
                                                   hone_quantized_scalar(b, hone_op_in(l, zero)));
  return hone_mul(b, hone_cast(b, centered, HONE_F32),
                  hone_quantized_scalar(b, hone_op_in(l, scale)));
}

static void lower_q_embed(hone_lower_t* l) {
  embedding_t e = {.ids = hone_op_in(l, 0),
                   .segment_ids = hone_op_in(l, 1),
                   .words = dequantized(l, 2, 8, 13),
                   .positions = dequantized(l, 3, 9, 14),
                   .segments = dequantized(l, 4, 10, 15),
                   .gamma = dequantized(l, 5, 11, 16),
                   .beta = dequantized(l, 6, 12, 17),
                   .mask = hone_op_in(l, 7)};
  lower_embedding(l, &e);
}

static const hone_op_t ops[] = {
    {.domain = HONE_MS_DOMAIN,
     .name = "EmbedLayerNormalization",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 9,
     .attrs = "epsilon mask_index_type",
     .lower = lower_embed},
    {.domain = HONE_MS_DOMAIN,
     .name = "QEmbedLayerNormalization",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 18,
     .attrs = "epsilon",
     .lower = lower_q_embed},
};
HONE_OP_FAMILY(ms_embed_layer_normalization, ops)
