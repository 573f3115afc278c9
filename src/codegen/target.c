#include "codegen/target.h"

#include <stdio.h>
#include <string.h>

#include "codegen/target_host.h"

#if defined(__x86_64__)
static const hone_arch_t here = HONE_ARCH_X86_64;
#elif defined(__aarch64__)
static const hone_arch_t here = HONE_ARCH_AARCH64;
#else
static const hone_arch_t here = HONE_ARCH_OTHER;
#endif

typedef struct known_target {
  const char* name;
  const char* alias; /* NULL: none */
  hone_arch_t arch;
  int level; /* of x86-64-vN; 0 elsewhere */
  int vector_bytes, vector_registers;
  bool has_fma, has_f16, has_vnni;
  double flops_per_cycle; /* two units: 2 * lanes, twice that where they fuse */
  const char* flags[2];
} known_target_t;

static const known_target_t known[] = {
    {"x86-64", "sse2", HONE_ARCH_X86_64, 1, 16, 16, false, false, false, 8, {"-march=x86-64"}},
    {"x86-64-v2",
     "sse4",
     HONE_ARCH_X86_64,
     2,
     16,
     16,
     false,
     false,
     false,
     8,
     {"-march=x86-64-v2"}},
    {"x86-64-v3", "avx2", HONE_ARCH_X86_64, 3, 32, 16, true, true, false, 32, {"-march=x86-64-v3"}},
    {"x86-64-v4",
     "avx512",
     HONE_ARCH_X86_64,
     4,
     64,
     32,
     true,
     true,
     false,
     64,
     {"-march=x86-64-v4", "-mprefer-vector-width=512"}},
    {"aarch64", "neon", HONE_ARCH_AARCH64, 0, 16, 32, true, true, false, 16, {"-march=armv8-a"}},
    {"aarch64-dotprod",
     NULL,
     HONE_ARCH_AARCH64,
     0,
     16,
     32,
     true,
     true,
     true,
     16,
     {"-march=armv8.2-a+dotprod"}},
};

/* Any other architecture: what every C compiler makes of 16-byte vectors. */
static const known_target_t other = {"generic", NULL,  HONE_ARCH_OTHER, 0, 16,    0,
                                     false,     false, false,           2, {NULL}};

enum { KNOWN = sizeof known / sizeof *known };

static const known_target_t* find(const char* name, size_t length) {
  for (int i = 0; i < KNOWN; i++) {
    const char* names[] = {known[i].name, known[i].alias};
    for (int k = 0; k < 2; k++)
      if (names[k] && strlen(names[k]) == length && memcmp(names[k], name, length) == 0)
        return &known[i];
  }
  return NULL;
}

static const known_target_t* find_text(const char* name) { return find(name, strlen(name)); }

static const known_target_t* baseline(void) {
  switch (here) {
    case HONE_ARCH_X86_64:
      return find_text("x86-64");
    case HONE_ARCH_AARCH64:
      return find_text("aarch64");
    default:
      return &other;
  }
}

/* The best known target that the host is. */
static const known_target_t* best(const hone_host_cpu_t* host) {
  static const char* const levels[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};
  if (host->x86_level) return find_text(levels[host->x86_level - 1]);
  if (host->aarch64 && host->vnni) return find_text("aarch64-dotprod");
  return baseline();
}

static bool runs_on(const known_target_t* target, const hone_host_cpu_t* host) {
  if (target->arch != here) return false;
  return target->level <= host->x86_level && (!target->has_vnni || host->vnni);
}

static void add_flag(hone_target_t* target, const char* flag) {
  if (flag && target->n_flags < HONE_TARGET_FLAGS) target->flags[target->n_flags++] = flag;
}

static void add_extra(hone_target_t* target, const char* name, const char* flag) {
  size_t length = strlen(target->name);
  snprintf(target->name + length, sizeof target->name - length, "+%s", name);
  add_flag(target, flag);
}

/* Byte dot products beyond what the level has; false when there are none for it. */
static bool add_vnni(hone_target_t* target) {
  if (target->arch != HONE_ARCH_X86_64 || target->vector_bytes < 32) return target->has_vnni;
  add_extra(target, "vnni", target->vector_bytes == 64 ? "-mavx512vnni" : "-mavxvnni");
  return target->has_vnni = true;
}

static bool runs_vnni(const hone_target_t* target, const hone_host_cpu_t* host) {
  return host->vnni && (target->vector_bytes > 32 || host->avx_vnni);
}

/* The last of such flags is the one that counts. */
static const char* arm_flag(const hone_target_t* target) {
  return !target->has_i8mm  ? "-march=armv8.2-a+dotprod+bf16"
         : target->has_bf16 ? "-march=armv8.2-a+dotprod+bf16+i8mm"
                            : "-march=armv8.2-a+dotprod+i8mm";
}

static bool add_bf16(hone_target_t* target) {
  if (target->arch == HONE_ARCH_AARCH64 && target->has_vnni) {
    target->has_bf16 = true;
    add_extra(target, "bf16", arm_flag(target));
    return true;
  }
  if (target->arch != HONE_ARCH_X86_64 || target->vector_bytes < 64) return false;
  add_extra(target, "bf16", "-mavx512bf16");
  return target->has_bf16 = true;
}

static bool runs_bf16(const hone_target_t* target, const hone_host_cpu_t* host) {
  (void)target;
  return host->bf16;
}

static bool add_i8mm(hone_target_t* target) {
  if (target->arch != HONE_ARCH_AARCH64 || !target->has_vnni) return false;
  target->has_i8mm = true;
  add_extra(target, "i8mm", arm_flag(target));
  return true;
}

/* Whether this machine's own kernels use it, beside others that may be built for it by name. Tiles
 * need it. */
static bool gains_bf16(const hone_host_cpu_t* host) { return !host->slow_bf16 || host->amx; }

static bool runs_i8mm(const hone_target_t* target, const hone_host_cpu_t* host) {
  (void)target;
  return host->i8mm;
}

/* Beside the instructions for vectors, which do what tiles would be too large for. The prelude has
 * them as assembly, so that compilers need not know of them. */
static bool add_amx(hone_target_t* target) {
  if (target->arch != HONE_ARCH_X86_64 || !target->has_vnni || !target->has_bf16) return false;
  add_extra(target, "amx", "-DHONE_AMX");
  return target->has_amx = true;
}

static bool runs_amx(const hone_target_t* target, const hone_host_cpu_t* host) {
  (void)target;
  return host->amx;
}

/* Any order of the bytes of a vector in one instruction. */
static bool add_vbmi(hone_target_t* target) {
  if (target->arch != HONE_ARCH_X86_64 || target->vector_bytes < 64) return false;
  add_extra(target, "vbmi", "-mavx512vbmi");
  target->has_vbmi = true;
  return true;
}

static bool runs_vbmi(const hone_target_t* target, const hone_host_cpu_t* host) {
  (void)target;
  return host->vbmi;
}

static const struct {
  const char* name;                   /* behind a '+' */
  bool (*add)(hone_target_t* target); /* false where there is none of it */
  bool (*runs)(const hone_target_t* target, const hone_host_cpu_t* host);
  bool (*gains)(const hone_host_cpu_t* host); /* NULL: wherever it runs */
} extras[] = {{"vnni", add_vnni, runs_vnni, NULL},
              {"vbmi", add_vbmi, runs_vbmi, NULL},
              {"bf16", add_bf16, runs_bf16, gains_bf16},
              {"i8mm", add_i8mm, runs_i8mm, NULL},
              {"amx", add_amx, runs_amx, NULL}};

enum { EXTRAS = sizeof extras / sizeof *extras };

static void fill(const known_target_t* from, const hone_host_cpu_t* host, hone_target_t* out) {
  *out = (hone_target_t){.arch = from->arch,
                         .vector_bytes = from->vector_bytes,
                         .vector_registers = from->vector_registers,
                         .has_fma = from->has_fma,
                         .has_f16 = from->has_f16,
                         .has_vnni = from->has_vnni,
                         .flops_per_cycle = from->flops_per_cycle,
                         .runs_here = runs_on(from, host)};
  snprintf(out->name, sizeof out->name, "%s", from->name);
  add_flag(out, from->flags[0]);
  add_flag(out, from->flags[1]);
  if (from->arch != here)
    out->cross_compiler = from->arch == HONE_ARCH_AARCH64  ? "aarch64-linux-gnu-gcc"
                          : from->arch == HONE_ARCH_X86_64 ? "x86_64-linux-gnu-gcc"
                                                           : NULL;
}

/* What the machine at hand does less of than its instructions would let one think. */
static void fill_pace(const hone_host_cpu_t* host, hone_target_t* out) {
  enum { WIDE = 64 };
  if (!out->runs_here || out->vector_bytes != WIDE || !host->halves_512) return;
  out->flops_per_cycle /= 2;
  add_flag(out, "-DHONE_HALVES_VECTORS");
}

static void fill_caches(hone_target_t* out) {
  hone_host_caches_t caches = {{32 << 10, 512 << 10, 8 << 20}, 64};
  if (out->arch == here) {
    hone_host_caches_t found = hone_host_caches("");
    if (found.level[0] > 0 && found.level[1] > 0) caches = found;
  }
  out->l1_bytes = caches.level[0];
  out->l2_bytes = caches.level[1];
  out->l3_bytes = caches.level[2];
  out->line_bytes = caches.line ? caches.line : 64;
}

static hone_status_t unknown(const char* name) {
  return hone_status_make(HONE_INVALID_ARGUMENT,
                          "target '%s' is not known: native, generic, x86-64, x86-64-v2, "
                          "x86-64-v3 (avx2), x86-64-v4 (avx512), aarch64 (neon), "
                          "aarch64-dotprod, with +vnni, +vbmi, +bf16, +i8mm or +amx where they "
                          "exist",
                          name);
}

/* The number of the extra that a word names; EXTRAS: there is none, or the target has it. */
static int find_extra(const hone_target_t* target, const char* word) {
  char written[16];
  size_t length = strcspn(word, "+");
  snprintf(written, sizeof written, "+%.*s", (int)length, word);
  int i = 0;
  while (i < EXTRAS && strcmp(extras[i].name, written + 1) != 0) i++;
  return strstr(target->name, written) ? EXTRAS : i;
}

/* The words after each '+' of `name`. */
static hone_status_t add_extras(const char* name, const hone_host_cpu_t* host,
                                hone_target_t* target) {
  for (const char* at = strchr(name, '+'); at; at = strchr(at + 1, '+')) {
    int i = find_extra(target, at + 1);
    if (i == EXTRAS || !extras[i].add(target)) return unknown(name);
    target->runs_here = target->runs_here && extras[i].runs(target, host);
  }
  return NULL;
}

hone_status_t hone_target_parse(const char* name, hone_target_t* out_target) {
  hone_host_cpu_t host = hone_host_cpu();
  if (!name) name = "native";
  size_t length = strcspn(name, "+");
  bool native = strcmp(name, "native") == 0;
  const known_target_t* target = native                         ? best(&host)
                                 : strcmp(name, "generic") == 0 ? baseline()
                                                                : find(name, length);
  if (!target) return unknown(name);
  fill(target, &host, out_target);
  fill_caches(out_target);
  fill_pace(&host, out_target);
  if (!native) return add_extras(name, &host, out_target);
  for (int i = 0; i < EXTRAS; i++)
    if (extras[i].runs(out_target, &host) && (!extras[i].gains || extras[i].gains(&host)))
      extras[i].add(out_target);
  return NULL;
}

const char* hone_target_name_at(int index) {
  if (index >= 0 && index < KNOWN) return known[index].name;
  return index == KNOWN ? "generic" : index == KNOWN + 1 ? "native" : NULL;
}

bool hone_target_has(const hone_target_t* target, const char* feature) {
  static const struct {
    const char* name;
    hone_arch_t arch;
    int vector_bytes;                          /* 0: any */
    bool needs_vnni, needs_bf16, needs_matrix; /* i8mm, or AMX */
    bool needs_vbmi;
  } features[] = {
      {"dot4", HONE_ARCH_X86_64, 0, false, false, false},
      {"dot4", HONE_ARCH_AARCH64, 16, true, false, false},
      {"dot2_i16", HONE_ARCH_X86_64, 0, false, false, false},
      {"dot_apart", HONE_ARCH_X86_64, 64, true, false, false},
      {"dot_nibbles", HONE_ARCH_X86_64, 32, false, false, false},
      {"dot_nibbles", HONE_ARCH_X86_64, 64, false, false, false},
      {"dot_nibbles", HONE_ARCH_AARCH64, 16, true, false, false},
      {"dot8", HONE_ARCH_X86_64, 32, false, false, false},
      {"dot8", HONE_ARCH_X86_64, 64, false, false, false},
      {"sparse_u8_i8", HONE_ARCH_X86_64, 32, false, false, false},
      {"sparse_u8_i8", HONE_ARCH_X86_64, 64, false, false, false},
      {"lookup_bytes", HONE_ARCH_X86_64, 64, false, false, false, true},
      {"avx512bf16", HONE_ARCH_X86_64, 64, false, true, false},
      {"bf16", HONE_ARCH_AARCH64, 16, false, true, false},
      {"i8mm", HONE_ARCH_AARCH64, 16, true, false, true},
      {"amx", HONE_ARCH_X86_64, 64, true, true, true},
  };
  for (size_t i = 0; i < sizeof features / sizeof *features; i++)
    if (strcmp(features[i].name, feature) == 0 && target->arch == features[i].arch &&
        (!features[i].vector_bytes || target->vector_bytes == features[i].vector_bytes) &&
        (!features[i].needs_vnni || target->has_vnni) &&
        (!features[i].needs_bf16 || target->has_bf16) &&
        (!features[i].needs_matrix || target->has_i8mm || target->has_amx) &&
        (!features[i].needs_vbmi || target->has_vbmi))
      return true;
  return false;
}

void hone_target_describe(const hone_target_t* target, hone_str_t* out) {
  hone_str_appendf(out, "%s: %d-byte vectors", target->name, target->vector_bytes);
  if (target->vector_registers) hone_str_appendf(out, " in %d registers", target->vector_registers);
  if (target->has_fma) hone_str_append(out, ", fma");
  if (target->has_f16) hone_str_append(out, ", f16");
  if (target->has_vnni) hone_str_append(out, ", byte dot products");
  if (target->has_bf16) hone_str_append(out, ", bf16 dot products");
  if (target->has_vbmi) hone_str_append(out, ", bytes in any order");
  if (target->has_i8mm) hone_str_append(out, ", products of matrices of bytes");
  if (target->has_amx) hone_str_append(out, ", tiles");
  hone_str_appendf(out, "; caches %lld KiB, %lld KiB, %lld KiB",
                   (long long)(target->l1_bytes >> 10), (long long)(target->l2_bytes >> 10),
                   (long long)(target->l3_bytes >> 10));
  if (!target->runs_here) hone_str_append(out, "; does not run here");
}
