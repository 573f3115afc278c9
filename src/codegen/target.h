/* Target: a kind of CPU that kernels are compiled for.
 *
 * A target is what may be assumed of the machine that runs the code: the same name gives
 * code that runs on all of them. How it is best written may differ with the machine at hand
 * (fill_pace in target.c). "native" is the best of the named ones that this machine has, with
 * the extras that were found. */
#ifndef HONE_CODEGEN_TARGET_H
#define HONE_CODEGEN_TARGET_H

#include "base/str.h"

typedef enum hone_arch { HONE_ARCH_X86_64, HONE_ARCH_AARCH64, HONE_ARCH_OTHER } hone_arch_t;

enum { HONE_TARGET_FLAGS = 8, HONE_TARGET_NAME_SIZE = 64 };

typedef struct hone_target {
  char name[HONE_TARGET_NAME_SIZE]; /* "x86-64-v3"; extras follow: "x86-64-v4+vnni" */
  hone_arch_t arch;
  int vector_bytes;       /* of one register */
  int vector_registers;   /* 0: no vector unit is assumed */
  bool has_fma;           /* fused multiply-add on vectors */
  bool has_f16;           /* conversions of f16 in hardware */
  bool has_vnni;          /* dot products of four bytes (x86 VNNI, Arm dotprod) */
  bool has_bf16;          /* dot products of bf16 */
  bool has_i8mm;          /* Arm's matrix instructions for bytes */
  bool has_vbmi;          /* bytes of a vector, or two, in any order (x86) */
  bool has_amx;           /* tiles of x86 */
  double flops_per_cycle; /* f32, of one core at best; an estimate */
  int n_flags;
  const char* flags[HONE_TARGET_FLAGS]; /* for the C compiler; static storage */
  const char* cross_compiler;           /* its name where this machine is of another kind */
  bool runs_here;
  /* Caches in bytes, of this machine when the target runs here, else a guess. */
  int64_t l1_bytes, l2_bytes, l3_bytes; /* l3 0: none */
  int line_bytes;
} hone_target_t;

/* By name: x86-64, x86-64-v2, x86-64-v3 (avx2), x86-64-v4 (avx512), aarch64
 * (neon), aarch64-dotprod, generic (any machine of this one's architecture), native.
 * NULL is native. "+vnni", "+vbmi", "+bf16", "+i8mm" and "+amx" may follow. Errors:
 * INVALID_ARGUMENT. */
HONE_MUST_USE hone_status_t hone_target_parse(const char* name, hone_target_t* out_target);
/* Whether it has the instructions of that name, as intrinsics ask for them: dot4 (products of
 * bytes added up in fours or in pairs), dot2_i16 (of 16 bits in pairs), dot_apart (VNNI
 * of AVX-512), dot8 (of eight bytes, in 16
 * bits), sparse_u8_i8 (AVX2), avx512bf16, bf16 and i8mm (of aarch64), amx. */
bool hone_target_has(const hone_target_t* target, const char* feature);
/* One line for people. */
void hone_target_describe(const hone_target_t* target, hone_str_t* out);
/* The names hone_target_parse takes, by `index` from 0; NULL past the last. */
const char* hone_target_name_at(int index);

#endif
