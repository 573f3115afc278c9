/* The table of primitives; prim.h says what each means. */
#include "ir/prim.h"

#include <string.h>

static const hone_prim_info_t prims[] = {
#define PRIM_ROW(name, text, family, least, most, outputs, fields, regions) \
  {text, HONE_FAMILY_##family, least, most, outputs, fields, regions},
    HONE_PRIMS(PRIM_ROW)
#undef PRIM_ROW
};

static const char* const combines[] = {"set", "add", "mul", "min", "max"};

const hone_prim_info_t* hone_prim_info(hone_prim_t prim) { return &prims[prim]; }

hone_prim_t hone_prim_parse(const char* name) {
  int i = 0;
  while (i < HONE_PRIM_COUNT && strcmp(prims[i].name, name) != 0) i++;
  return (hone_prim_t)i;
}

const char* hone_combine_name(hone_combine_t combine) { return combines[combine]; }

hone_combine_t hone_combine_parse(const char* name) {
  int i = 0;
  while (i < HONE_COMBINE_COUNT && strcmp(combines[i], name) != 0) i++;
  return (hone_combine_t)i;
}

bool hone_prim_is_elementwise(hone_prim_t prim) {
  hone_prim_family_t family = hone_prim_info(prim)->family;
  return family == HONE_FAMILY_UNARY || family == HONE_FAMILY_CAST ||
         family == HONE_FAMILY_BINARY || family == HONE_FAMILY_SELECT;
}

bool hone_prim_is_transcendental(hone_prim_t prim) {
  switch (prim) {
    case HONE_PRIM_POW:
    case HONE_PRIM_EXP:
    case HONE_PRIM_LOG:
    case HONE_PRIM_SIN:
    case HONE_PRIM_COS:
    case HONE_PRIM_ATAN:
    case HONE_PRIM_TANH:
    case HONE_PRIM_ERF:
      return true;
    default:
      return false;
  }
}
