/* OpenBLAS and oneDNN: what is opened, what is wanted of it, and how it is called. */
#include "backends/cpu/vendor.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "hone/backend.h"

/* ---- opening ---- */

static void* open_first(const char* const* names, const char* package, const char* variable,
                        char* why, size_t size) {
  for (int i = 0; names[i]; i++) {
    void* handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle) return handle;
  }
  snprintf(why, size, "%s cannot be opened: install the package %s, or set %s to the library",
           names[0], package, variable);
  return NULL;
}

/* Functions are no objects in ISO C. */
static bool find(void* handle, const char* name, void* out_function) {
  void* symbol = dlsym(handle, name);
  memcpy(out_function, &symbol, sizeof symbol);
  return symbol;
}

/* Of the OpenMP that a library brings with it: what a call has to set and to set back. */
typedef struct openmp {
  int (*most)(void);
  void (*set)(int threads);
} openmp_t;

static bool find_openmp(void* handle, openmp_t* out) {
  return find(handle, "omp_get_max_threads", &out->most) &&
         find(handle, "omp_set_num_threads", &out->set);
}

static int enter(const openmp_t* openmp) {
  int before = openmp->most ? openmp->most() : 1;
  if (before != 1) openmp->set(1);
  return before;
}

static void leave(const openmp_t* openmp, int before) {
  if (before != 1) openmp->set(before);
}

/* ---- OpenBLAS ---- */

enum { CBLAS_ROWS = 101, CBLAS_AS_IT_IS = 111, CBLAS_TURNED = 112, OPENBLAS_OPENMP = 2 };

static struct {
  void (*sgemm)(int order, int turn_a, int turn_b, int m, int n, int k, float alpha, const float* a,
                int lda, const float* b, int ldb, float beta, float* c, int ldc);
  openmp_t openmp;
} openblas;

static int call_openblas(long rows, long columns, long sums, const float* a, long a_stride,
                         int a_turned, const float* b, long b_stride, int b_turned, float* c,
                         long c_stride) {
  int before = enter(&openblas.openmp);
  openblas.sgemm(CBLAS_ROWS, a_turned ? CBLAS_TURNED : CBLAS_AS_IT_IS,
                 b_turned ? CBLAS_TURNED : CBLAS_AS_IT_IS, (int)rows, (int)columns, (int)sums, 1, a,
                 (int)a_stride, b, (int)b_stride, 1, c, (int)c_stride);
  leave(&openblas.openmp, before);
  return 0;
}

/* Of other libraries for BLAS there is no saying how many threads they start. */
static hone_sgemm_fn open_openblas(void* handle, char* why, size_t size) {
  const char* (*config)(void);
  void (*set_threads)(int);
  int (*kind)(void);
  if (!find(handle, "cblas_sgemm", &openblas.sgemm) ||
      !find(handle, "openblas_get_config", &config) ||
      !find(handle, "openblas_get_parallel", &kind) ||
      !find(handle, "openblas_set_num_threads", &set_threads)) {
    snprintf(why, size, "the library is not OpenBLAS 0.2.9 or later");
    return NULL;
  }
  if (strstr(config(), "USE64BITINT")) {
    snprintf(why, size, "this OpenBLAS takes integers of 64 bits: the usual build is needed");
    return NULL;
  }
  openblas.openmp = (openmp_t){NULL, NULL};
  if (kind() == OPENBLAS_OPENMP && !find_openmp(handle, &openblas.openmp)) {
    snprintf(why, size, "this OpenBLAS uses an OpenMP that cannot be told how many threads to use");
    return NULL;
  }
  set_threads(1);
  return call_openblas;
}

/* ---- oneDNN ---- */

enum { ONEDNN_FIRST = 1, ONEDNN_LAST = 3, ONEDNN_SEQUENTIAL = 1, ONEDNN_OPENMP = 2 };

/* dnnl_version_t, as far as all versions have it. */
typedef struct onednn_version {
  int major, minor, patch;
  const char* hash;
  unsigned cpu_runtime;
} onednn_version_t;

static struct {
  int (*sgemm)(char turn_a, char turn_b, int64_t m, int64_t n, int64_t k, float alpha,
               const float* a, int64_t lda, const float* b, int64_t ldb, float beta, float* c,
               int64_t ldc);
  openmp_t openmp;
} onednn;

static int call_onednn(long rows, long columns, long sums, const float* a, long a_stride,
                       int a_turned, const float* b, long b_stride, int b_turned, float* c,
                       long c_stride) {
  int before = enter(&onednn.openmp);
  int status = onednn.sgemm(a_turned ? 'T' : 'N', b_turned ? 'T' : 'N', rows, columns, sums, 1, a,
                            a_stride, b, b_stride, 1, c, c_stride);
  leave(&onednn.openmp, before);
  return status;
}

static hone_sgemm_fn open_onednn(void* handle, char* why, size_t size) {
  const onednn_version_t* (*version)(void);
  if (!find(handle, "dnnl_version", &version) || !find(handle, "dnnl_sgemm", &onednn.sgemm)) {
    snprintf(why, size, "the library is not oneDNN");
    return NULL;
  }
  const onednn_version_t* v = version();
  if (v->major < ONEDNN_FIRST || v->major > ONEDNN_LAST) {
    snprintf(why, size, "it is oneDNN %d.%d.%d, and hone knows versions %d to %d", v->major,
             v->minor, v->patch, ONEDNN_FIRST, ONEDNN_LAST);
    return NULL;
  }
  onednn.openmp = (openmp_t){NULL, NULL};
  bool is_openmp = v->cpu_runtime == ONEDNN_OPENMP && find_openmp(handle, &onednn.openmp);
  if (is_openmp || v->cpu_runtime == ONEDNN_SEQUENTIAL) return call_onednn;
  snprintf(why, size,
           "this oneDNN cannot be told how many threads to use: a build with OpenMP is needed");
  return NULL;
}

/* ---- which there are ---- */

typedef struct vendor {
  const char *name, *symbol; /* of the variable in kernels that call it */
  const char* files[5];
  const char *package, *variable;
  hone_sgemm_fn (*open)(void* handle, char* why, size_t size);
} vendor_t;

static const vendor_t vendors[HONE_VENDOR_COUNT] = {
    [HONE_VENDOR_OPENBLAS] = {"OpenBLAS",
                              "sgemm_openblas",
                              {"libopenblas.so.0", "libopenblas.so", "libblas.so.3"},
                              "libopenblas0-pthread",
                              "HONE_OPENBLAS_LIBRARY",
                              open_openblas},
    [HONE_VENDOR_ONEDNN] = {"oneDNN",
                            "sgemm_onednn",
                            {"libdnnl.so.3", "libdnnl.so.2", "libdnnl.so.1", "libdnnl.so"},
                            "libdnnl2 (or libdnnl3)",
                            "HONE_ONEDNN_LIBRARY",
                            open_onednn},
};

hone_sgemm_fn hone_vendor_open(hone_vendor_id_t id, const char* file, char* why, size_t size) {
  const vendor_t* vendor = &vendors[id];
  const char* only[] = {file, NULL};
  void* handle =
      open_first(file ? only : vendor->files, vendor->package, vendor->variable, why, size);
  hone_sgemm_fn sgemm = handle ? vendor->open(handle, why, size) : NULL;
  if (handle) dlclose(handle);
  return sgemm;
}

static struct {
  pthread_mutex_t mutex;
  bool is_known;
  hone_sgemm_fn sgemm;
  char why[2 * HONE_DEVICE_TEXT_SIZE];
} opened[HONE_VENDOR_COUNT] = {{.mutex = PTHREAD_MUTEX_INITIALIZER},
                               {.mutex = PTHREAD_MUTEX_INITIALIZER}};

hone_sgemm_fn hone_vendor_sgemm(hone_vendor_id_t id, const char** out_why) {
  pthread_mutex_lock(&opened[id].mutex);
  if (!opened[id].is_known) {
    const char* file = getenv(vendors[id].variable);
    opened[id].sgemm =
        hone_vendor_open(id, file && *file ? file : NULL, opened[id].why, sizeof opened[id].why);
    opened[id].is_known = true;
  }
  pthread_mutex_unlock(&opened[id].mutex);
  if (out_why) *out_why = opened[id].why;
  return opened[id].sgemm;
}

/* ---- kernels ---- */

static void warn(hone_vendor_id_t id, const char* why) {
  static atomic_bool said[HONE_VENDOR_COUNT];
  if (atomic_exchange(&said[id], true)) return;
  hone_log_write(HONE_LOG_WARNING,
                 "kernels that were tuned with %s run by plain loops of their own, slowly: %s; or "
                 "compile the model again",
                 vendors[id].name, why);
}

hone_status_t hone_vendor_bind(const hone_library_t* library) {
  for (int i = 0; i < HONE_VENDOR_COUNT; i++) {
    void* variable;
    const char* why;
    hone_status_t status = hone_library_symbol(library, vendors[i].symbol, &variable);
    bool asks = !status;
    if (hone_status_code(status) == HONE_OUT_OF_MEMORY) return status;
    hone_status_free(status);
    if (!asks) continue;
    hone_sgemm_fn sgemm = hone_vendor_sgemm((hone_vendor_id_t)i, &why);
    if (!sgemm) warn((hone_vendor_id_t)i, why);
    memcpy(variable, &sgemm, sizeof sgemm);
  }
  return NULL;
}
