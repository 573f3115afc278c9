/* Cast, CastLike and BitCast. */
#include <string.h>

#include "ops/common/formulas.h"

/* How the cast primitive shall treat what does not fit: `saturate` is for the
 * float8 types (and always on before there were any), `round_mode` for
 * float8e8m0. */
static int64_t cast_flags(hone_lower_t* l) {
  int64_t flags = hone_attr_int(l->node, "saturate", 1) ? HONE_FLAG_SATURATE : 0;
  const char* mode = hone_attr_string(l->node, "round_mode", "up");
  if (strcmp(mode, "up") == 0) return flags | HONE_FLAG_ROUND_UP;
  if (strcmp(mode, "down") == 0) return flags | HONE_FLAG_ROUND_DOWN;
  if (strcmp(mode, "nearest") != 0)
    hone_op_fail(l, "attribute round_mode is '%s'; use up, down or nearest", mode);
  return flags;
}

/* The first opset names the type: "FLOAT". */
static hone_dtype_t target_dtype(hone_lower_t* l) {
  const char* name = hone_attr_string(l->node, "to", NULL);
  hone_dtype_t named = name ? hone_dtype_parse(name) : HONE_UNKNOWN;
  return named != HONE_UNKNOWN ? named : hone_op_dtype_attr(l, "to", HONE_UNKNOWN);
}

static void lower_cast(hone_lower_t* l) {
  hone_op_out(l, 0, hone_cast_flags(l->b, hone_op_in(l, 0), target_dtype(l), cast_flags(l)));
}

static void lower_cast_like(hone_lower_t* l) {
  hone_dtype_t dtype = hone_dtype_of(hone_op_in(l, 1));
  hone_op_out(l, 0, hone_cast_flags(l->b, hone_op_in(l, 0), dtype, cast_flags(l)));
}

static void lower_bit_cast(hone_lower_t* l) {
  hone_op_out(l, 0, hone_bitcast(l->b, hone_op_in(l, 0), target_dtype(l)));
}

static const hone_op_t ops[] = {
    {.name = "Cast",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "to saturate round_mode",
     .lower = lower_cast},
    {.name = "CastLike",
     .min_opset = 15,
     .min_inputs = 2,
     .max_inputs = 2,
     .attrs = "saturate round_mode",
     .lower = lower_cast_like},
    {.name = "BitCast",
     .min_opset = 26,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "to",
     .lower = lower_bit_cast},
};
HONE_OP_FAMILY(cast, ops)
