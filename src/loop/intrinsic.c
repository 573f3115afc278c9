/* The table of intrinsics, and recognising their patterns. */
#include "loop/intrinsic.h"

#include <string.h>

#include "loop/block.h"
#include "loop/nibbles.h"
#include "loop/product.h"
#include "loop/slight.h"
#include "loop/text.h"

/* c[lane] += a[0] * b[lane][0] + …: `count` products of `a_type` and `b_type` a lane. */
#define DOT(name, lanes, count, a_type, b_type, c_type)                                       \
  "kernel " name " {\n  input a: " a_type "[" count "] = 0\n  input b: " b_type "[" lanes     \
  ", " count "] = 1\n  output c: " c_type "[" lanes "] = 0\n  for lane in " lanes             \
  " { for k in " count " reduction {\n    c[lane] += mul(cast." c_type "(a[k]), cast." c_type \
  "(b[lane, k]))\n  } }\n}\n"

/* Bytes in fours: cpu_dot.inc of the prelude has them for all vectors of x86, with VNNI or
 * without, and for Arm's dotprod. */
#define DOT4(a_type, b_type, n)                                                                   \
  {                                                                                               \
    .name = "dot4_" a_type "_" b_type "_x" #n, .lanes = (n),                                      \
    .pattern = DOT("dot4_" a_type "_" b_type "_x" #n, #n, "4", a_type, b_type, "i32"), .texts = { \
      {"cpu", "dot4", "hone_dot4_" a_type "_" b_type "v$h($2, $0, $1)"}                           \
    }                                                                                             \
  }
#define DOT4_OF_ALL(lanes) \
  DOT4("u8", "i8", lanes), DOT4("i8", "i8", lanes), DOT4("u8", "u8", lanes), DOT4("i8", "u8", lanes)

/* Bytes in eights, by weights that are slight: each lane has two fours of its own. */
#define DOT8(lanes)                                                                          \
  {                                                                                          \
    .name = "dot8_u8_i8_x" #lanes, .slight_lanes = (lanes),                                  \
    .pattern =                                                                               \
        "kernel dot8_u8_i8_x" #lanes " {\n  input a: u8[2, 4] = 0\n  input b: i8[2, " #lanes \
        ", 4] = 1\n  output c: i32[" #lanes "] = 0\n  for lane in " #lanes                   \
        " { for half in 2 reduction { for k in 4 reduction {\n"                              \
        "    c[lane] += mul(cast.i32(a[half, k]), cast.i32(b[half, lane, k]))\n"             \
        "  } } }\n}\n",                                                                      \
    .texts = {                                                                               \
      {"cpu", "dot8", "hone_dot8_u8_i8v($2, $0, $1)"}                                        \
    }                                                                                        \
  }

/* Bytes with a sign by nibbles, in words of eight: `count` of them. */
#define DOT_NIBBLES(name_, words, lanes_)                                                          \
  {                                                                                                \
    .name = name_ #lanes_, .lanes = (lanes_), .in_nibbles = true,                                  \
    .pattern = "kernel " name_ #lanes_ " {\n  input a: i8[" #words                                 \
               ", 8] = 0\n  input b: u8[" #words ", " #lanes_ ", 8] = 1\n  output c: i32[" #lanes_ \
               "] = 0\n  for lane in " #lanes_ " { for word in " #words                            \
               " reduction { for k in 8 reduction {\n"                                             \
               "    c[lane] += mul(cast.i32(a[word, k]), cast.i32(b[word, lane, k]))\n"            \
               "  } } }\n}\n",                                                                     \
    .texts = {                                                                                     \
      {"cpu", "dot_nibbles", "hone_dot_nibblesv($2, $0, $1, " #words ")"}                          \
    }                                                                                              \
  }
#define DOT_NIBBLES_OF_ALL(lanes) \
  DOT_NIBBLES("dot16_i8_u4_x", 2, lanes), DOT_NIBBLES("dot32_i8_u4_x", 4, lanes)

/* Numbers of 16 bits in twos. */
#define DOT2(n)                                                                   \
  {                                                                               \
    .name = "dot2_i16_i16_x" #n, .lanes = (n),                                    \
    .pattern = DOT("dot2_i16_i16_x" #n, #n, "2", "i16", "i16", "i32"), .texts = { \
      {"cpu", "dot2_i16", "hone_dot2_i16_i16v$h($2, $0, $1)"}                     \
    }                                                                             \
  }
#define DOT2_BF16(n, feature)                                                         \
  {                                                                                   \
    .name = "dot2_bf16_bf16_x" #n, .lanes = (n),                                      \
    .pattern = DOT("dot2_bf16_bf16_x" #n, #n, "2", "bf16", "bf16", "f32"), .texts = { \
      {"cpu", feature, "hone_dot2_bf16v$h($2, $0, $1)"}                               \
    }                                                                                 \
  }

/* Numbers of the lane's own, `count` of them as far apart as they like; weights have room for
 * four. */
#define DOT_APART(n, count, a_type, b_type, c_type, feature)                                       \
  .name = "dot" #count "_apart_" a_type "_" b_type "_x" #n, .lanes = (n), .is_apart = true,        \
  .pattern = "kernel dot" #count "_apart_" a_type "_" b_type "_x" #n " {\n  input a: " a_type      \
             "[" #count ", " #n "] = 0\n  input b: " b_type "[" #n ", 4] = 1\n  output c: " c_type \
             "[" #n "] = 0\n  for lane in " #n " { for k in " #count                               \
             " reduction {\n    c[lane] += mul(cast." c_type "(a[k, lane]), cast." c_type          \
             "(b[lane, k]))\n  } }\n}\n",                                                          \
  .texts = {                                                                                       \
      {"cpu", feature, "hone_dot_apart_" a_type "_" b_type "v($2, $0, $s, " #count ", $n, $1)"}}
#define DOT_APART_BYTES(count) \
  { DOT_APART(16, count, "u8", "i8", "i32", "dot_apart"), .turned = 1 }
/* Two instructions for three and four. */
#define DOT_APART_BF16(count, halves) \
  { DOT_APART(16, count, "bf16", "bf16", "f32", "avx512bf16"), .turned = (halves) }

/* AMX: tiles of 16 rows by 64 bytes, of which four are sums. An instruction of few steps takes as
 * long as one of many: of bytes vectors do as much then, of bf16 only an eighth (docs/cpu.md). */
#define BLOCK_AMX(dot, types, numbers, alone, several) \
  {                                                    \
    .name = "block" dot "_" types "_x16",              \
    .block = {.of = "dot" dot "_" types "_x16",        \
              .group = (numbers),                      \
              .rows = 32,                              \
              .vectors = 2,                            \
              .height = 16,                            \
              .depth = 16,                             \
              .least = (alone),                        \
              .fewest = (several),                     \
              .cycles = 1,                             \
              .load_cycles = 1.6,                      \
              .keeps = "hone_amx"},                    \
    .texts = {                                         \
      {"cpu", "amx", "hone_amx_" types}                \
    }                                                  \
  }
/* Arm's i8mm, and bf16: two rows by two lanes, of two steps; sums of 8 rows by 2 vectors are half
 * of the registers. */
#define BLOCK_MMLA(dot, types, numbers, needs) \
  {                                            \
    .name = "block" dot "_" types "_x4",       \
    .block = {.of = "dot" dot "_" types "_x4", \
              .group = (numbers),              \
              .rows = 8,                       \
              .vectors = 2,                    \
              .height = 2,                     \
              .depth = 2,                      \
              .least = 2,                      \
              .fewest = 2,                     \
              .cycles = 0.5,                   \
              .load_cycles = 0.25},            \
    .texts = {                                 \
      {"cpu", needs, "hone_mmla_" types}       \
    }                                          \
  }

static const hone_intrinsic_t intrinsics[] = {
    DOT4_OF_ALL(4),
    DOT4_OF_ALL(8),
    DOT4_OF_ALL(16),
    DOT8(8),
    DOT8(16),
    DOT2(4),
    DOT2(8),
    DOT2(16),
    DOT_NIBBLES_OF_ALL(4),
    DOT_NIBBLES_OF_ALL(8),
    DOT_NIBBLES_OF_ALL(16),
    DOT_APART_BYTES(2),
    DOT_APART_BYTES(3),
    DOT_APART_BYTES(4),
    DOT_APART_BF16(2, 1),
    DOT_APART_BF16(3, 2),
    DOT_APART_BF16(4, 2),
    DOT2_BF16(16, "avx512bf16"),
    DOT2_BF16(4, "bf16"),
    BLOCK_AMX("4", "u8_i8", 4, 9, 5),
    BLOCK_AMX("4", "i8_u8", 4, 9, 5),
    BLOCK_AMX("4", "i8_i8", 4, 9, 5),
    BLOCK_AMX("4", "u8_u8", 4, 9, 5),
    BLOCK_AMX("2", "bf16_bf16", 2, 4, 4),
    BLOCK_MMLA("4", "u8_i8", 4, "i8mm"),
    BLOCK_MMLA("4", "i8_i8", 4, "i8mm"),
    BLOCK_MMLA("4", "u8_u8", 4, "i8mm"),
    BLOCK_MMLA("2", "bf16_bf16", 2, "bf16"),
    {.name = "dot4_i8",
     .pattern = "kernel dot4_i8 {\n"
                "  input a: i8[4] = 0\n"
                "  input b: i8[4] = 1\n"
                "  output c: i32[] = 0\n"
                "  for k in 4 reduction { c[] += mul(cast.i32(a[k]), cast.i32(b[k])) }\n"
                "}\n"},
    {.name = "sgemm_openblas"},
    {.name = "sgemm_onednn"},
    {.name = "sparse_u8_i8", .is_sparse = true},
};

const hone_intrinsic_t* hone_intrinsic_find(const char* name) {
  for (size_t i = 0; i < sizeof intrinsics / sizeof *intrinsics; i++)
    if (strcmp(intrinsics[i].name, name) == 0) return &intrinsics[i];
  return NULL;
}

const hone_intrinsic_t* hone_intrinsic_at(int index) {
  const int count = sizeof intrinsics / sizeof *intrinsics;
  return index >= 0 && index < count ? &intrinsics[index] : NULL;
}

const hone_intrinsic_text_t* hone_intrinsic_text(const hone_intrinsic_t* intrinsic,
                                                 const char* backend) {
  for (int i = 0; i < HONE_INTRINSIC_TEXTS; i++) {
    const hone_intrinsic_text_t* text = &intrinsic->texts[i];
    if (text->backend && strcmp(text->backend, backend) == 0) return text;
  }
  return NULL;
}

bool hone_intrinsic_is_product(const hone_intrinsic_t* intrinsic) {
  return !intrinsic->pattern && !intrinsic->block.of;
}

const hone_intrinsic_t* hone_intrinsic_block_of(const hone_intrinsic_t* dot) {
  for (size_t i = 0; i < sizeof intrinsics / sizeof *intrinsics; i++)
    if (intrinsics[i].block.of && strcmp(intrinsics[i].block.of, dot->name) == 0)
      return &intrinsics[i];
  return NULL;
}

/* ---- matching ---- */

enum { MAX_LOOPS = 8 };

typedef struct match {
  hone_kernel_t *pattern, *kernel;
  int lanes;     /* as of the intrinsic */
  bool is_apart; /* as well */
  int n_loops;
  hone_dim_t of_pattern[MAX_LOOPS], of_kernel[MAX_LOOPS]; /* variables that stand for one another */
  hone_operand_range_t operands[HONE_MAX_OPERANDS];       /* by the pattern's buffer id */
} match_t;

/* Whether the step of the pattern's loop may be another one in the kernel. */
static bool may_step(const match_t* m, const hone_buffer_t* p, int loop) {
  return m->is_apart && p->id == 0 && loop == 1;
}

/* Both move through memory alike, and the rest is where it was seen before. */
static bool match_access(match_t* m, const hone_buffer_t* p, const hone_dim_t* p_index,
                         const hone_buffer_t* k, const hone_dim_t* k_index) {
  hone_dims_t* dims = m->kernel->dims;
  hone_dim_t in_pattern = hone_buffer_offset(m->pattern, p, p_index);
  hone_dim_t offset = hone_buffer_offset(m->kernel, k, k_index);
  hone_operand_range_t* operand = &m->operands[p->id];
  int64_t step = 0;
  if (p->dtype != k->dtype) return false;
  for (int i = 0; i < m->n_loops; i++) {
    int64_t want, got;
    if (!hone_dim_factor(in_pattern, m->of_pattern[i], &want) ||
        !hone_dim_factor(offset, m->of_kernel[i], &got) || (want != got && !may_step(m, p, i)))
      return false;
    step = got;
    offset = hone_dim_sub(dims, offset, hone_dim_mul(dims, m->of_kernel[i], hone_dim_int(got)));
  }
  if (operand->buffer) return operand->buffer == k && hone_dim_same(operand->offset, offset);
  *operand = (hone_operand_range_t){k, offset, step};
  return !hone_dim_is_bad(offset);
}

static bool is_commutative(hone_prim_t prim) {
  return prim == HONE_PRIM_ADD || prim == HONE_PRIM_MUL || prim == HONE_PRIM_MIN ||
         prim == HONE_PRIM_MAX;
}

static bool match_term(match_t* m, const hone_term_t* p, const hone_term_t* k) {
  if (p->kind != k->kind || p->dtype != k->dtype || p->prim != k->prim || p->flags != k->flags ||
      p->n_args != k->n_args)
    return false;
  if (p->kind == HONE_TERM_CONST) return memcmp(p->bits, k->bits, sizeof p->bits) == 0;
  if (p->kind == HONE_TERM_LOAD) return match_access(m, p->buffer, p->index, k->buffer, k->index);
  if (p->kind != HONE_TERM_PRIM) return false;
  match_t before = *m;
  bool ok = true;
  for (int i = 0; i < p->n_args && ok; i++) ok = match_term(m, p->args[i], k->args[i]);
  if (ok || p->n_args != 2 || !is_commutative(p->prim)) return ok;
  *m = before;
  return match_term(m, p->args[0], k->args[1]) && match_term(m, p->args[1], k->args[0]);
}

/* As many rounds; or fewer, of a part of a vector, than it has lanes. */
static bool match_extent(const match_t* m, hone_dim_t p, hone_dim_t k) {
  bool is_part = m->lanes && m->n_loops == 0 && hone_dim_is_int(k) && k.k > 1 && k.k < m->lanes;
  return is_part || hone_dim_same(p, k);
}

static bool match_stmt(match_t* m, const hone_stmt_t* p, const hone_stmt_t* k) {
  if (p->kind != k->kind || p->n_body != k->n_body) return false;
  if (p->kind == HONE_STMT_STORE)
    return p->combine == k->combine && match_access(m, p->buffer, p->index, k->buffer, k->index) &&
           match_term(m, p->value, k->value);
  if (p->kind != HONE_STMT_LOOP || !match_extent(m, p->extent, k->extent) ||
      m->n_loops == MAX_LOOPS)
    return false;
  m->of_pattern[m->n_loops] = p->var;
  m->of_kernel[m->n_loops++] = k->var;
  for (int i = 0; i < p->n_body; i++)
    if (!match_stmt(m, p->body[i], k->body[i])) return false;
  return true;
}

/* Whether the weights are slight, from whole groups on. */
static bool are_groups_slight(hone_kernel_t* kernel, const hone_operand_range_t* weights,
                              int lanes) {
  hone_dim_t group = hone_dim_int(HONE_SLIGHT_GROUP * (int64_t)lanes);
  return hone_slight_lies(weights->buffer, lanes) &&
         hone_dim_is(hone_dim_mod(kernel->dims, weights->offset, group), 0);
}

/* Whether the weights are such words, or can be made so. */
static bool are_nibbles(const hone_buffer_t* weights) {
  return weights->fits_nibbles && weights->packing && weights->rank >= 1 &&
         hone_dim_is(weights->dims[weights->rank - 1], HONE_NIBBLES);
}

static bool match_product(hone_kernel_t* kernel, const hone_stmt_t* loop,
                          const hone_intrinsic_t* intrinsic,
                          hone_operand_range_t operands[HONE_MAX_OPERANDS]) {
  hone_product_t product;
  if (!hone_product_look(kernel, loop, intrinsic->is_sparse, &product)) return false;
  operands[0] = product.a.at;
  operands[1] = product.b.at;
  operands[2] = product.c.at;
  return true;
}

static hone_status_t match_block(hone_kernel_t* kernel, const hone_stmt_t* loop,
                                 const hone_intrinsic_t* intrinsic, bool* out,
                                 hone_operand_range_t operands[HONE_MAX_OPERANDS]) {
  hone_block_t block;
  HONE_TRY(hone_block_look(kernel, loop, intrinsic, out, &block));
  memcpy(operands, block.operands, sizeof block.operands);
  return NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): a block's own intrinsic is none of a block */
hone_status_t hone_intrinsic_match(hone_kernel_t* kernel, const hone_stmt_t* loop,
                                   const hone_intrinsic_t* intrinsic, bool* out,
                                   hone_operand_range_t operands[HONE_MAX_OPERANDS]) {
  if (intrinsic->block.of) return match_block(kernel, loop, intrinsic, out, operands);
  match_t m = {.kernel = kernel, .lanes = intrinsic->lanes, .is_apart = intrinsic->is_apart};
  *out = hone_intrinsic_is_product(intrinsic) && match_product(kernel, loop, intrinsic, operands);
  if (hone_intrinsic_is_product(intrinsic)) return NULL;
  HONE_TRY(hone_kernel_parse(kernel->allocator, intrinsic->pattern, strlen(intrinsic->pattern),
                             &m.pattern));
  *out = m.pattern->root->n_body == 1 && match_stmt(&m, m.pattern->root->body[0], loop) &&
         (!intrinsic->slight_lanes ||
          are_groups_slight(kernel, &m.operands[1], intrinsic->slight_lanes)) &&
         (!intrinsic->in_nibbles || are_nibbles(m.operands[1].buffer));
  for (int i = 0; i < HONE_MAX_OPERANDS; i++) operands[i] = m.operands[i];
  hone_kernel_destroy(m.pattern);
  return NULL;
}
