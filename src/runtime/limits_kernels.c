/* Which products a device may do fastest, and their loops. */
#include "runtime/limits_kernels.h"

#include <stdio.h>

#include "loop/intrinsic.h"

/* What a compiler keeps in registers is its own affair: several tiles are tried. */
static const int tile_rows[] = {12, 6, 4};

enum { TILES = sizeof tile_rows / sizeof *tile_rows, MANY_REGISTERS = 32, VECTORS = 2 };

int hone_limit_lanes(const hone_device_properties_t* properties) {
  int lanes = properties->vector_bytes / (int)sizeof(float);
  return lanes < 4 ? 4 : lanes > 16 ? 16 : lanes;
}

/* ---- which ---- */

/* An intrinsic of the device, by the name it has without lanes. */
typedef struct candidate {
  bool is_there;
  const char* name;
  hone_limit_product_t product;
} candidate_t;

/* The lanes are in the name of the intrinsic, which is for the device's vectors where there is one:
 * of bf16 there is none for eight. */
static const hone_intrinsic_t* find_of_lanes(const char* name, int lanes) {
  char full[64];
  snprintf(full, sizeof full, "%s_x%d", name, lanes);
  return hone_intrinsic_find(full);
}

static bool choose(const candidate_t* candidate, const hone_device_properties_t* properties,
                   hone_limit_product_t* out) {
  int lanes = hone_limit_lanes(properties);
  const hone_intrinsic_t* intrinsic = find_of_lanes(candidate->name, lanes);
  if (!candidate->is_there || !intrinsic) return false;
  const hone_intrinsic_block_t* block = &intrinsic->block;
  *out = candidate->product;
  out->intrinsic = intrinsic->name;
  out->lanes = lanes;
  out->vectors = block->of ? block->vectors : VECTORS;
  out->rows = block->of                                        ? block->rows
              : properties->vector_registers >= MANY_REGISTERS ? tile_rows[0]
                                                               : tile_rows[TILES - 1];
  out->block_depth = block->depth;
  return true;
}

int hone_limit_products(const hone_device_properties_t* properties,
                        hone_limit_product_t out[HONE_LIMIT_PRODUCTS]) {
  static const hone_limit_product_t floats = {HONE_PEAK_F32, "f32",       "f32",
                                              "f32",         .halves = 1, .group = 1};
  static const hone_limit_product_t bf16 = {HONE_PEAK_BF16, "bf16",      "bf16",
                                            "f32",          .halves = 1, .group = 2};
  static const hone_limit_product_t bytes = {HONE_PEAK_INT8, "u8",        "i8",
                                             "i32",          .halves = 1, .group = 4};
  static const hone_limit_product_t eights = {HONE_PEAK_INT8, "u8",        "i8",
                                              "i32",          .halves = 2, .group = 4};
  const hone_device_properties_t* p = properties;
  const candidate_t candidates[] = {
      {p->has_block_bf16, "block2_bf16_bf16", bf16},
      {p->has_dot2_bf16 && !p->has_block_bf16, "dot2_bf16_bf16", bf16},
      {p->has_block_int8, "block4_u8_i8", bytes},
      {p->has_dot4 && !p->has_block_int8, "dot4_u8_i8", bytes},
      {p->has_dot8, "dot8_u8_i8", eights},
  };
  int n = 0;
  for (int i = 0; i < TILES; i++) {
    out[n] = floats;
    out[n].rows = tile_rows[i];
    out[n].vectors = VECTORS;
    out[n++].lanes = hone_limit_lanes(p);
  }
  for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++)
    n += choose(&candidates[i], p, &out[n]);
  return n;
}

/* ---- their loops ---- */

/* Weights of which each eight may be added up in 16 bits (loop/slight.h), which are zeros. */
static void put_slight(const hone_limit_product_t* x, hone_str_t* out) {
  int eight = x->halves * x->group;
  hone_str_appendf(out, " constant slight 1 from [%d, %d] by 1*%d 0*%d 1*%d 0*1 1*1",
                   x->vectors * x->lanes, eight * HONE_LIMIT_DEPTH, eight, x->lanes, x->group);
}

static void put_parameters(const hone_limit_product_t* x, hone_str_t* out) {
  hone_str_append(out, "kernel products {\n  size groups 1..65536\n  size rounds 1..16777216\n");
  hone_str_appendf(out, "  input a: %s[%d, %d, %d, %d] = 0\n", x->data, x->rows, HONE_LIMIT_DEPTH,
                   x->halves, x->group);
  hone_str_appendf(out, "  input b: %s[%d, %d, %d, %d, %d] = 1", x->weights, HONE_LIMIT_DEPTH,
                   x->vectors, x->halves, x->lanes, x->group);
  if (x->halves > 1) put_slight(x, out);
  hone_str_append_char(out, '\n');
  hone_str_appendf(out, "  output out: %s[groups, %d, %d, %d] = 0\n", x->sums, x->rows, x->vectors,
                   x->lanes);
  hone_str_appendf(out, "  local acc: %s[%d, %d, %d]\n", x->sums, x->rows, x->vectors, x->lanes);
}

/* A statement on all of the tile; `n` tells its loops from others'. */
static void put_tile(const hone_limit_product_t* x, int n, const char* statement, hone_str_t* out) {
  hone_str_appendf(out,
                   "    for r%d in %d unroll { for v%d in %d unroll { for l%d in %d vector {\n", n,
                   x->rows, n, x->vectors, n, x->lanes);
  hone_str_appendf(out, "      %s\n    } } }\n", statement);
}

/* What a sum takes of step `k`: a product, or the groups of the intrinsic's. */
static void put_products(const hone_limit_product_t* x, const char* k, hone_str_t* out) {
  if (!x->intrinsic) {
    hone_str_appendf(out, "      acc[r, v, l] += mul(a[r, %s, 0, 0], b[%s, v, 0, l, 0])\n", k, k);
    return;
  }
  bool has_halves = x->halves > 1;
  const char* h = has_halves ? "h" : "0";
  if (has_halves) hone_str_appendf(out, "      for h in %d reduction {\n", x->halves);
  hone_str_appendf(out, "      for j in %d reduction {\n", x->group);
  hone_str_appendf(out, "        acc[r, v, l] += mul(cast.%s(a[r, %s, %s, j]), ", x->sums, k, h);
  hone_str_appendf(out, "cast.%s(b[%s, v, %s, l, j]))\n      }\n", x->sums, k, h);
  if (has_halves) hone_str_append(out, "      }\n");
}

static void put_steps(const hone_limit_product_t* x, hone_str_t* out) {
  hone_str_appendf(out, "    for k in %d reduction { for r in %d unroll { for v in %d unroll {\n",
                   HONE_LIMIT_DEPTH, x->rows, x->vectors);
  hone_str_appendf(out, "      for l in %d %s%s {\n", x->lanes, x->intrinsic ? "as " : "vector",
                   x->intrinsic ? x->intrinsic : "");
  put_products(x, "k", out);
  hone_str_append(out, "      }\n    } } }\n");
}

/* An instruction takes several steps of the whole block. */
static void put_blocks(const hone_limit_product_t* x, hone_str_t* out) {
  char k[32];
  snprintf(k, sizeof k, "%d * o + s", x->block_depth);
  hone_str_appendf(out, "    for o in %d reduction { for s in %d reduction as %s {\n",
                   HONE_LIMIT_DEPTH / x->block_depth, x->block_depth, x->intrinsic);
  hone_str_appendf(out, "      for r in %d { for v in %d { for l in %d {\n", x->rows, x->vectors,
                   x->lanes);
  put_products(x, k, out);
  hone_str_append(out, "      } } }\n    } }\n");
}

void hone_limit_put_product(const hone_limit_product_t* x, hone_str_t* out) {
  char zeros[48];
  snprintf(zeros, sizeof zeros, "acc[r1, v1, l1] = %s(0)", x->sums);
  put_parameters(x, out);
  hone_str_append(out, "  for g in groups parallel {\n");
  put_tile(x, 1, zeros, out);
  hone_str_append(out, "    for t in rounds reduction {\n");
  if (x->block_depth)
    put_blocks(x, out);
  else
    put_steps(x, out);
  hone_str_append(out, "    }\n");
  put_tile(x, 2, "out[g, r2, v2, l2] = acc[r2, v2, l2]", out);
  hone_str_append(out, "  }\n}\n");
}

void hone_limit_put_read(int lanes, hone_str_t* out) {
  const hone_limit_product_t tile = {.rows = HONE_LIMIT_UNITS, .vectors = 1, .lanes = lanes};
  hone_str_append(out,
                  "kernel read {\n  size groups 1..65536\n  size rounds 1..16777216\n"
                  "  size chunk 1..16777216\n");
  hone_str_appendf(out, "  input x: f32[groups, chunk, %d, %d] = 0\n", tile.rows, lanes);
  hone_str_appendf(out, "  output out: f32[groups, %d, %d] = 0\n", tile.rows, lanes);
  hone_str_appendf(out, "  local acc: f32[%d, %d]\n", tile.rows, lanes);
  hone_str_append(out, "  for g in groups parallel {\n");
  put_tile(&tile, 1, "acc[r1, l1] = f32(0)", out);
  hone_str_append(out, "    for t in rounds reduction { for k in chunk reduction {\n");
  put_tile(&tile, 2, "acc[r2, l2] += x[g, k, r2, l2]", out);
  hone_str_append(out, "    } }\n");
  put_tile(&tile, 3, "out[g, r3, l3] = acc[r3, l3]", out);
  hone_str_append(out, "  }\n}\n");
}
