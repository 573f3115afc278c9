/* Finds the row of an operator. The families come from a table that the build
 * makes by scanning src/ops. */
#include <string.h>

#include "ops/op.h"

static bool covers(const hone_op_t* op, int64_t opset) {
  return opset >= op->min_opset && (op->max_opset == 0 || opset <= op->max_opset);
}

static bool is_named(const hone_op_t* op, const char* domain, const char* name) {
  return strcmp(op->name, name) == 0 && strcmp(op->domain ? op->domain : "", domain) == 0;
}

const hone_op_t* hone_op_find(const char* domain, const char* name, int64_t opset,
                              bool* out_known) {
  if (out_known) *out_known = false;
  for (int f = 0; f < hone_op_family_count; f++) {
    const hone_op_family_t* family = hone_op_families[f];
    for (int i = 0; i < family->count; i++) {
      const hone_op_t* op = &family->ops[i];
      if (!is_named(op, domain, name)) continue;
      if (out_known) *out_known = true;
      if (covers(op, opset)) return op;
    }
  }
  return NULL;
}
