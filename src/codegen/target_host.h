/* What this machine has. */
#ifndef HONE_CODEGEN_TARGET_HOST_H
#define HONE_CODEGEN_TARGET_HOST_H

#include <stdbool.h>
#include <stdint.h>

typedef struct hone_host_cpu {
  int x86_level; /* of x86-64-vN; 0 elsewhere */
  bool aarch64;
  bool vnni, bf16; /* usable with the widest vectors of its level */
  bool halves_512; /* vectors of 64 bytes go through units of 32 */
  bool slow_bf16;  /* products of bf16 take longer than twice as many of f32 */
  bool vbmi;       /* AVX-512's */
  bool avx_vnni;   /* the form without AVX-512 */
  bool amx;        /* tiles of bytes and bf16, which the kernel lets this process use */
  bool i8mm;       /* Arm's matrix instructions for bytes */
} hone_host_cpu_t;

typedef struct hone_host_caches {
  int64_t level[3]; /* data or unified cache of level 1 to 3; 0: none or not known */
  int line;
} hone_host_caches_t;

hone_host_cpu_t hone_host_cpu(void);
/* From `root` + "/sys/devices/system/cpu/cpu0/cache"; `root` "" is this machine. */
hone_host_caches_t hone_host_caches(const char* root);

#endif
