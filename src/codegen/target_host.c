#include "codegen/target_host.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

static int x86_level(void) {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("popcnt")) return 1;
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
      !__builtin_cpu_supports("bmi2"))
    return 2;
  bool v4 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
            __builtin_cpu_supports("avx512vl");
  return v4 ? 4 : 3;
}

/* Bit `bit` of EAX of leaf 7, subleaf 1. */
static bool leaf7_1_eax(int bit) {
  unsigned a, b, c, d;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> bit & 1);
}

/* Linux has processes ask before they use tiles, whose state threads then have room for. */
static bool may_use_tiles(void) {
  enum { REQUEST = 0x1023 /* ARCH_REQ_XCOMP_PERM */, TILE_DATA = 18 };
#ifdef SYS_arch_prctl
  return syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0;
#else
  return false;
#endif
}

static bool has_amx(void) {
  enum { BF16 = 22, TILE = 24, INT8 = 25 };
  const unsigned all = 1u << BF16 | 1u << TILE | 1u << INT8;
  unsigned a, b, c, d;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & all) == all && may_use_tiles();
}

/* AMD's family of Zen 3 and 4, of which Zen 4 has such vectors. */
static bool are_halved(void) {
  enum { ZEN_4 = 0x19, EXTENDED = 0xf };
  unsigned a, b, c, d;
  if (!__builtin_cpu_is("amd") || !__get_cpuid(1, &a, &b, &c, &d)) return false;
  return (a >> 8 & 0xf) == EXTENDED && (a >> 20 & 0xff) + EXTENDED == ZEN_4;
}

/* Intel's cores since Golden Cove (Sapphire Rapids) begin a vdpbf16ps in every second cycle,
 * whatever its length, and two fused multiplications of f32 in each: measured 90 and 180 GFLOP/s.
 * Tiles have taken its place there. Cooper Lake, the one before, has it at full speed. */
static bool is_bf16_slow(void) {
  enum { COOPER_LAKE = 0x55 };
  unsigned a, b, c, d;
  if (!__builtin_cpu_is("intel") || !__get_cpuid(1, &a, &b, &c, &d)) return false;
  unsigned model = (a >> 4 & 0xf) | (a >> 12 & 0xf0);
  return model != COOPER_LAKE;
}

hone_host_cpu_t hone_host_cpu(void) {
  enum { AVX_VNNI = 4, AVX512_BF16 = 5 };
  hone_host_cpu_t host = {.x86_level = x86_level()};
  host.avx_vnni = host.x86_level >= 3 && leaf7_1_eax(AVX_VNNI);
  host.vnni = host.x86_level >= 4 ? __builtin_cpu_supports("avx512vnni") != 0 : host.avx_vnni;
  host.vbmi = host.x86_level >= 4 && __builtin_cpu_supports("avx512vbmi") != 0;
  host.bf16 = host.x86_level >= 4 && leaf7_1_eax(AVX512_BF16);
  host.halves_512 = host.x86_level >= 4 && are_halved();
  host.slow_bf16 = host.bf16 && is_bf16_slow();
  host.amx = host.vnni && host.bf16 && has_amx();
  return host;
}
#elif defined(__aarch64__)
hone_host_cpu_t hone_host_cpu(void) {
  enum { DOTPROD = 20, MATRIX_INT8 = 13, BFLOAT = 14 };
  return (hone_host_cpu_t){.aarch64 = true,
                           .vnni = getauxval(AT_HWCAP) >> DOTPROD & 1,
                           .bf16 = getauxval(AT_HWCAP2) >> BFLOAT & 1,
                           .i8mm = getauxval(AT_HWCAP2) >> MATRIX_INT8 & 1};
}
#else
hone_host_cpu_t hone_host_cpu(void) { return (hone_host_cpu_t){.aarch64 = false}; }
#endif

/* ---- caches ---- */

/* The text of a small file of cache number `index`; "" when there is none. */
static void read_cache_file(const char* root, int index, const char* name, char* text, int size) {
  char path[PATH_MAX];
  text[0] = 0;
  snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu0/cache/index%d/%s", root, index, name);
  FILE* file = fopen(path, "re");
  if (!file) return;
  if (!fgets(text, size, file)) text[0] = 0;
  fclose(file);
}

/* "32K", "1M". */
static int64_t parse_size(const char* text) {
  char* end;
  int64_t value = strtoll(text, &end, 10);
  if (value < 0 || value > INT64_MAX >> 30) return 0;
  if (*end == 'K') return value << 10;
  if (*end == 'M') return value << 20;
  return *end == 'G' ? value << 30 : value;
}

hone_host_caches_t hone_host_caches(const char* root) {
  enum { MOST_CACHES = 16 };
  hone_host_caches_t caches = {.line = 0};
  char text[64];
  for (int i = 0; i < MOST_CACHES; i++) {
    read_cache_file(root, i, "level", text, sizeof text);
    long level = strtol(text, NULL, 10);
    if (!text[0]) break;
    read_cache_file(root, i, "type", text, sizeof text);
    if (level < 1 || level > 3 || strncmp(text, "Instruction", 11) == 0) continue;
    read_cache_file(root, i, "size", text, sizeof text);
    caches.level[level - 1] = parse_size(text);
    read_cache_file(root, i, "coherency_line_size", text, sizeof text);
    int64_t line = parse_size(text);
    if (line > 0 && line <= 4096) caches.line = (int)line;
  }
  return caches;
}
