/* Rigs: data, candidates built ahead and one by one, runs. */
#include "runtime/trial_rig.h"

#include <math.h>
#include <string.h>

#include "base/float_convert.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/tensor_impl.h"
#include "runtime/packing.h"
#include "runtime/routine.h"
#include "tune/cost.h"

enum { MOST_AHEAD = 64 };

/* A parameter of the kernel, as it was lowered. */
typedef struct parameter {
  const hone_buffer_t* buffer;
  int rank;
  int64_t dims[HONE_MAX_RANK];
  size_t bytes;
  hone_tensor_t* host;   /* inputs: the elements; outputs: what is right */
  hone_memory_t* memory; /* on the device */
} parameter_t;

/* Kernels that were built together. */
typedef struct shelf {
  int references;
  hone_module_t* module;
} shelf_t;

/* A candidate that is ready to run. */
typedef struct ready {
  hone_kernel_t* kernel; /* scheduled */
  shelf_t* shelf;
  int entry;
  uint64_t index; /* of the candidate; of one built ahead */
  int64_t groups[3], locals[3], grain;
  hone_argument_t* arguments; /* in the kernel's arena */
  hone_memory_t** packed;     /* of parameters that it wants in another layout; NULL: none */
} ready_t;

struct hone_rig {
  hone_rig_shared_t* shared;
  hone_rig_t* next;
  hone_kernel_t* lowered;
  const hone_tactic_set_t* set;
  int64_t* sizes; /* of a launch */
  int n_parameters;
  parameter_t* parameters;
  bool has_data;
  size_t bytes;      /* of the data */
  bool failed_check; /* the default's kernel reports an error for this data, as others may */
  int n_ahead;
  ready_t* ahead[MOST_AHEAD];
};

/* ---- modules ---- */

static void drop_shelf(const hone_rig_t* b, shelf_t* shelf) {
  if (!shelf || --shelf->references > 0) return;
  b->shared->backend->unload(b->shared->device, shelf->module);
  hone_free(b->shared->allocator, shelf, sizeof *shelf);
}

static void drop_ready(const hone_rig_t* b, ready_t* ready) {
  if (!ready) return;
  for (int i = 0; ready->packed && i < b->n_parameters; i++)
    if (ready->packed[i]) b->shared->backend->free(b->shared->device, ready->packed[i]);
  drop_shelf(b, ready->shelf);
  hone_kernel_destroy(ready->kernel);
  hone_free(b->shared->allocator, ready, sizeof *ready);
}

static void drop_ahead(hone_rig_t* b) {
  for (int i = 0; i < b->n_ahead; i++) drop_ready(b, b->ahead[i]);
  b->n_ahead = 0;
}

/* The kernel with a candidate's schedule, and what it is launched with. */
static hone_status_t schedule(const hone_rig_t* b, const hone_candidate_t* candidate,
                              ready_t* ready) {
  hone_dim_t groups[3], locals[3];
  hone_work_t work;
  HONE_TRY(hone_kernel_clone(b->lowered, &ready->kernel));
  hone_kernel_t* kernel = ready->kernel;
  HONE_TRY(hone_kernel_work(kernel, &work));
  HONE_TRY(hone_tactic_set_build(b->set, kernel, candidate));
  HONE_TRY(hone_kernel_count_singles(kernel, &work));
  hone_kernel_grid(kernel, groups, locals);
  int count = hone_dims_symbol_count(kernel->dims);
  int64_t* symbols = hone_arena_array(kernel->arena, (size_t)count, sizeof *symbols);
  size_t n = (size_t)b->n_parameters;
  ready->arguments = hone_arena_array(kernel->arena, n, sizeof *ready->arguments);
  ready->packed = hone_arena_array(kernel->arena, n, sizeof(hone_memory_t*));
  if (!symbols || !ready->arguments || !ready->packed || kernel->out_of_memory) return hone_oom();
  for (int i = 0; i < kernel->n_sizes; i++)
    symbols[hone_dim_as_symbol(kernel->sizes[i])->id] = b->sizes[i];
  for (int i = 0; i < 3; i++) {
    ready->groups[i] = hone_dim_eval(groups[i], symbols);
    ready->locals[i] = hone_dim_eval(locals[i], symbols);
  }
  const hone_work_amount_t amount = hone_work_eval(&work, symbols);
  ready->grain = hone_cost_grain(&b->set->properties, &amount, ready->groups);
  return NULL;
}

static hone_status_t make_ready(const hone_rig_t* b, const hone_candidate_t* candidate,
                                ready_t** out_ready) {
  *out_ready = NULL;
  ready_t* ready = hone_alloc(b->shared->allocator, sizeof *ready);
  if (!ready) return hone_oom();
  ready->index = hone_space_index(b->set->space, candidate);
  hone_status_t status = schedule(b, candidate, ready);
  if (status)
    drop_ready(b, ready);
  else
    *out_ready = ready;
  return status;
}

/* Names and texts of what is to be built, each text once. */
typedef struct batch {
  int count;
  const char* names[MOST_AHEAD];
  const char* texts[MOST_AHEAD];
} batch_t;

static hone_status_t add_to_batch(const hone_rig_t* b, hone_arena_t* arena, ready_t* ready,
                                  batch_t* batch) {
  const char* text;
  char name[HONE_SOURCE_NAME_SIZE];
  HONE_TRY(
      hone_kernel_render(b->shared->backend, b->shared->device, ready->kernel, arena, &text, name));
  for (ready->entry = 0; ready->entry < batch->count; ready->entry++)
    if (strcmp(batch->names[ready->entry], name) == 0) return NULL;
  batch->names[batch->count] = hone_arena_strdup(arena, name);
  batch->texts[batch->count] = hone_kernel_rename(arena, text, name);
  if (!batch->names[batch->count] || !batch->texts[batch->count]) return hone_oom();
  batch->count++;
  return NULL;
}

static hone_status_t build_batch(const hone_rig_t* b, const batch_t* batch, double limit,
                                 shelf_t** out_shelf) {
  const hone_backend_t* backend = b->shared->backend;
  hone_blob_t binary = {0};
  shelf_t* shelf = hone_alloc(b->shared->allocator, sizeof *shelf);
  *out_shelf = shelf;
  if (!shelf) return hone_oom();
  /* Compiling and linking may each take as long as the backend is told. */
  if (backend->limit_build) backend->limit_build(b->shared->device, fmax(0.6 * limit, 1e-3));
  hone_status_t status =
      backend->build(b->shared->device, batch->count, batch->names, batch->texts, &binary);
  if (backend->limit_build) backend->limit_build(b->shared->device, 0);
  if (!status)
    status = backend->load(b->shared->device, &binary, batch->count, batch->names, &shelf->module);
  hone_free(b->shared->allocator, binary.data, binary.size);
  if (status) {
    hone_free(b->shared->allocator, shelf, sizeof *shelf);
    *out_shelf = NULL;
  }
  return status;
}

/* Builds candidates that are ready but for their code. */
static hone_status_t build_all(const hone_rig_t* b, int count, ready_t** list, double limit) {
  hone_arena_t* arena;
  batch_t batch = {0};
  shelf_t* shelf = NULL;
  HONE_TRY(hone_arena_create(b->shared->allocator, &arena));
  hone_status_t status = NULL;
  for (int i = 0; i < count && !status; i++) status = add_to_batch(b, arena, list[i], &batch);
  if (!status) status = build_batch(b, &batch, limit, &shelf);
  hone_arena_destroy(arena);
  for (int i = 0; i < count && !status; i++) {
    list[i]->shelf = shelf;
    shelf->references++;
  }
  return status;
}

/* ---- data ---- */

static void drop_data(hone_rig_t* b) {
  for (int i = 0; i < b->n_parameters; i++) {
    parameter_t* p = &b->parameters[i];
    hone_tensor_release(p->host);
    if (p->memory) b->shared->backend->free(b->shared->device, p->memory);
    p->host = NULL;
    p->memory = NULL;
  }
  drop_ahead(b); /* their packed weights are data too */
  if (b->has_data) b->shared->held -= b->bytes;
  b->has_data = false;
}

/* Small numbers: products and sums of them stay small, and most are indices of
 * something. Weights of quantized models are small too. */
static void fill(hone_tensor_t* tensor, uint64_t seed) {
  bool is_float = hone_dtype_is_float(tensor->dtype);
  int64_t range = tensor->dtype == HONE_BOOL ? 2 : 4;
  size_t size = hone_dtype_size(tensor->dtype);
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (int64_t i = 0; i < tensor->count; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    uint32_t word = (uint32_t)(state >> 33);
    char* element = (char*)tensor->data + (size_t)i * size;
    if (tensor->dtype == HONE_F32)
      *(float*)(void*)element = (float)word / 1073741824.0f - 1;
    else
      hone_from_double(tensor->dtype, is_float ? word / 1073741824.0 - 1 : (double)(word % range),
                       true, element);
  }
}

/* What quantizations divide by, and is f32, is no zero, and positive; indices that nothing checks
 * are zeros. */
static void make_proven(hone_tensor_t* tensor) {
  if (tensor->dtype != HONE_F32) {
    memset(tensor->data, 0, tensor->bytes);
    return;
  }
  float* numbers = (float*)(void*)tensor->data;
  for (int64_t i = 0; i < tensor->count; i++) numbers[i] = fabsf(numbers[i]) + 0x1p-8f;
}

/* Weights that are small enough whatever stands beside them. */
static void make_slight(hone_tensor_t* tensor) {
  enum { SMALL = 32 };
  int8_t* numbers = tensor->data;
  for (int64_t i = 0; i < tensor->count; i++) numbers[i] %= SMALL;
}

/* One number in 20 is left, of either sign. */
static void make_sparse(hone_tensor_t* tensor, uint64_t seed) {
  int8_t* numbers = tensor->data;
  for (int64_t i = 0; i < tensor->count; i++) {
    uint32_t random = hone_random_u32(seed, (uint64_t)i);
    numbers[i] = random % 20 ? 0 : (int8_t)((int)(random / 20 % 64) - 32);
  }
}

/* Numbers of four bits. */
static void make_nibbles(hone_tensor_t* tensor) {
  uint8_t* numbers = tensor->data;
  for (int64_t i = 0; i < tensor->count; i++) numbers[i] &= 15;
}

static hone_status_t make_parameter(const hone_rig_t* b, int index) {
  const hone_rig_shared_t* s = b->shared;
  parameter_t* p = &b->parameters[index];
  HONE_TRY(s->backend->alloc(s->device, HONE_MEMORY_DEVICE, p->bytes + 64, &p->memory));
  if (p->buffer->role == HONE_ROLE_ERROR) return NULL;
  HONE_TRY(hone_tensor_create(s->allocator, p->buffer->dtype, p->rank, p->dims, &p->host));
  if (p->buffer->role != HONE_ROLE_INPUT) return NULL;
  fill(p->host, (uint64_t)index + 1);
  if (p->buffer->is_proven) make_proven(p->host);
  if (p->buffer->is_sparse) make_sparse(p->host, (uint64_t)index + 1);
  if (p->buffer->slight) make_slight(p->host);
  if (p->buffer->fits_nibbles) make_nibbles(p->host);
  return s->backend->copy_in(s->stream, p->memory, 0, p->host->data, p->bytes);
}

static const parameter_t* error_word(const hone_rig_t* b) {
  for (int i = 0; i < b->n_parameters; i++)
    if (b->parameters[i].buffer->role == HONE_ROLE_ERROR) return &b->parameters[i];
  return NULL;
}

/* ---- runs ---- */

/* Packs what the candidate wants packed, and lists its buffers. */
static hone_status_t bind(const hone_rig_t* b, ready_t* ready) {
  const hone_rig_shared_t* s = b->shared;
  for (int i = 0; i < b->n_parameters; i++) {
    const parameter_t* p = &b->parameters[i];
    const hone_buffer_t* buffer = ready->kernel->buffers[i];
    if (buffer->packing && !ready->packed[i]) {
      hone_tensor_t* packed;
      HONE_TRY(hone_packing_apply(buffer, p->host, s->allocator, &packed));
      hone_status_t status =
          s->backend->alloc(s->device, HONE_MEMORY_DEVICE, packed->bytes + 64, &ready->packed[i]);
      if (!status)
        status = s->backend->copy_in(s->stream, ready->packed[i], 0, packed->data, packed->bytes);
      if (!status) status = s->backend->synchronize(s->stream);
      hone_tensor_release(packed);
      HONE_TRY(status);
    }
    ready->arguments[i] = (hone_argument_t){ready->packed[i] ? ready->packed[i] : p->memory, 0};
  }
  return NULL;
}

static hone_status_t launch(const hone_rig_t* b, const ready_t* ready) {
  hone_launch_t call = {.struct_size = sizeof call,
                        .module = ready->shelf->module,
                        .entry = ready->entry,
                        .n_buffers = b->n_parameters,
                        .buffers = ready->arguments,
                        .n_sizes = ready->kernel->n_sizes,
                        .sizes = b->sizes,
                        .grain = ready->grain};
  for (int i = 0; i < 3; i++) {
    call.groups[i] = ready->groups[i];
    call.locals[i] = ready->locals[i];
    if (call.groups[i] <= 0 || call.locals[i] <= 0) return NULL;
  }
  return b->shared->backend->launch(b->shared->stream, &call);
}

/* Outputs full of what cannot be right, so that what is not written shows. */
static hone_status_t poison(const hone_rig_t* b) {
  const hone_rig_shared_t* s = b->shared;
  static const int64_t no_error = 0;
  for (int i = 0; i < b->n_parameters; i++) {
    const parameter_t* p = &b->parameters[i];
    if (p->buffer->role == HONE_ROLE_ERROR)
      HONE_TRY(s->backend->copy_in(s->stream, p->memory, 0, &no_error, sizeof no_error));
    if (p->buffer->role != HONE_ROLE_OUTPUT) continue;
    char* junk = hone_alloc(s->allocator, p->bytes);
    if (!junk) return hone_oom();
    memset(junk, 0xff, p->bytes);
    hone_status_t status = s->backend->copy_in(s->stream, p->memory, 0, junk, p->bytes);
    if (!status) status = s->backend->synchronize(s->stream);
    hone_free(s->allocator, junk, p->bytes);
    HONE_TRY(status);
  }
  return NULL;
}

/* One run from clean outputs; whether a check of the kernel failed in it. */
static hone_status_t run_once(const hone_rig_t* b, ready_t* ready, bool* out_failed_check) {
  const hone_rig_shared_t* s = b->shared;
  const parameter_t* error = error_word(b);
  int64_t word = 0;
  HONE_TRY(bind(b, ready));
  HONE_TRY(poison(b));
  hone_status_t status = launch(b, ready);
  if (!status && error)
    status = s->backend->copy_out(s->stream, &word, error->memory, 0, sizeof word);
  hone_status_t waited = s->backend->synchronize(s->stream);
  *out_failed_check = word != 0;
  if (!status) return waited;
  hone_status_free(waited);
  return status;
}

static hone_status_t read_output(const hone_rig_t* b, const parameter_t* p, void* out) {
  HONE_TRY(b->shared->backend->copy_out(b->shared->stream, out, p->memory, 0, p->bytes));
  return b->shared->backend->synchronize(b->shared->stream);
}

/* Runs the default's kernel, whose results are taken for right, and keeps it: it
 * is mostly what is tried first. */
static hone_status_t run_default(hone_rig_t* b, double limit) {
  ready_t* ready;
  hone_candidate_t first = hone_space_default(b->set->space);
  HONE_TRY(make_ready(b, &first, &ready));
  hone_status_t status = build_all(b, 1, &ready, limit);
  if (!status) status = run_once(b, ready, &b->failed_check);
  if (status || b->n_ahead == MOST_AHEAD)
    drop_ready(b, ready);
  else
    b->ahead[b->n_ahead++] = ready;
  return status;
}

static hone_status_t make_data(hone_rig_t* b, double limit) {
  for (int i = 0; i < b->n_parameters; i++) HONE_TRY(make_parameter(b, i));
  HONE_TRY(b->shared->backend->synchronize(b->shared->stream));
  hone_status_t status = run_default(b, limit);
  for (int i = 0; i < b->n_parameters && !status; i++)
    if (b->parameters[i].buffer->role == HONE_ROLE_OUTPUT)
      status = read_output(b, &b->parameters[i], b->parameters[i].host->data);
  return status;
}

/* Makes the data where it is not there, in place of that of other rigs where
 * all would be too much. */
static hone_status_t need_data(hone_rig_t* b, double limit) {
  hone_rig_shared_t* s = b->shared;
  if (b->has_data) return NULL;
  for (hone_rig_t* other = s->all; other && s->held + b->bytes > s->room; other = other->next)
    if (other->has_data) drop_data(other);
  b->has_data = true;
  s->held += b->bytes;
  hone_status_t status = make_data(b, limit);
  if (status) drop_data(b);
  return status;
}

/* ---- comparing ---- */

/* Sums of many parts are added up in another order. */
static double tolerance(hone_dtype_t dtype) {
  switch (dtype) {
    case HONE_F64:
    case HONE_F32:
      return 1e-3;
    default:
      return hone_dtype_is_float(dtype) ? 5e-2 : 0;
  }
}

static double magnitude(const hone_tensor_t* tensor) {
  double most = 0;
  size_t size = hone_dtype_size(tensor->dtype);
  for (int64_t i = 0; i < tensor->count; i++) {
    double value = fabs(hone_to_double(tensor->dtype, (char*)tensor->data + (size_t)i * size));
    if (isfinite(value) && value > most) most = value;
  }
  return most;
}

static bool is_close(double got, double want, double slack) {
  if (got == want || (isnan(got) && isnan(want))) return true;
  return fabs(got - want) <= slack;
}

/* Elements that are wrong by more than the largest one allows for. */
static hone_status_t compare(const hone_tensor_t* want, const char* got, const char* name) {
  if (memcmp(got, want->data, want->bytes) == 0) return NULL;
  size_t size = hone_dtype_size(want->dtype);
  double slack = tolerance(want->dtype) * fmax(1e-3, magnitude(want));
  for (int64_t i = 0; i < want->count; i++) {
    double x = hone_to_double(want->dtype, got + (size_t)i * size);
    double y = hone_to_double(want->dtype, (char*)want->data + (size_t)i * size);
    if (is_close(x, y, slack)) continue;
    return hone_status_make(HONE_INTERNAL, "element %lld of %s is %g, but the default has %g",
                            (long long)i, name, x, y);
  }
  return NULL;
}

static hone_status_t compare_output(const hone_rig_t* b, const parameter_t* p) {
  char* got = hone_alloc(b->shared->allocator, p->bytes);
  if (!got) return hone_oom();
  hone_status_t status = read_output(b, p, got);
  if (!status) status = compare(p->host, got, p->buffer->name);
  hone_free(b->shared->allocator, got, p->bytes);
  return status;
}

/* ---- the measurer ---- */

static hone_outcome_t end(hone_status_t status, hone_outcome_t outcome, bool* fatal,
                          hone_status_t* out_why) {
  if (!status) return HONE_OUTCOME_OK;
  *fatal = hone_status_code(status) == HONE_OUT_OF_MEMORY;
  *out_why = status;
  return outcome;
}

static ready_t* take_ahead(hone_rig_t* b, const hone_candidate_t* candidate) {
  uint64_t index = hone_space_index(b->set->space, candidate);
  for (int i = 0; i < b->n_ahead; i++) {
    ready_t* ready = b->ahead[i];
    if (ready->index != index) continue;
    b->ahead[i] = b->ahead[--b->n_ahead];
    return ready;
  }
  return NULL;
}

static hone_outcome_t build(void* context, const hone_space_t* space,
                            const hone_candidate_t* candidate, double limit, void** out_built,
                            bool* fatal, hone_status_t* out_why) {
  hone_rig_t* b = context;
  double start = hone_clock_now(NULL);
  hone_status_t status = need_data(b, limit);
  ready_t* ready = status ? NULL : take_ahead(b, candidate);
  if (!status && !ready) {
    status = make_ready(b, candidate, &ready);
    if (!status) status = build_all(b, 1, &ready, limit);
  }
  if (!status) status = bind(b, ready);
  if (status) {
    drop_ready(b, ready);
    ready = NULL;
  }
  *out_built = ready;
  bool late =
      hone_status_code(status) == HONE_UNAVAILABLE && hone_clock_now(NULL) - start >= 0.5 * limit;
  return end(status, late ? HONE_OUTCOME_TIMEOUT : HONE_OUTCOME_BUILD_FAILED, fatal, out_why);
}

static hone_outcome_t check(void* context, void* built, double limit, bool* fatal,
                            hone_status_t* out_why) {
  hone_rig_t* b = context;
  bool failed = false;
  hone_status_t status = run_once(b, built, &failed);
  if (status) return end(status, HONE_OUTCOME_RUN_FAILED, fatal, out_why);
  if (failed != b->failed_check)
    status = hone_status_make(HONE_INTERNAL, "a check of the kernel gives another answer");
  for (int i = 0; i < b->n_parameters && !status; i++)
    if (b->parameters[i].buffer->role == HONE_ROLE_OUTPUT)
      status = compare_output(b, &b->parameters[i]);
  return end(status, HONE_OUTCOME_WRONG_RESULT, fatal, out_why);
}

/* A launch cannot be interrupted: the clock is looked at after each. */
static hone_outcome_t run(void* context, void* built, int runs, double limit, double* out_seconds,
                          bool* fatal, hone_status_t* out_why) {
  const hone_rig_t* b = context;
  double start = hone_clock_now(NULL);
  hone_status_t status = NULL;
  bool late = false;
  for (int i = 0; i < runs && !status && !late; i++) {
    status = launch(b, built);
    late = i + 1 < runs && hone_clock_now(NULL) - start > limit;
  }
  hone_status_t waited = b->shared->backend->synchronize(b->shared->stream);
  if (status)
    hone_status_free(waited);
  else
    status = waited;
  *out_seconds = hone_clock_now(NULL) - start;
  if (status) return end(status, HONE_OUTCOME_RUN_FAILED, fatal, out_why);
  return late ? HONE_OUTCOME_TIMEOUT : HONE_OUTCOME_OK;
}

/* Builds a few of the candidates at once, one for each core. */
static hone_status_t build_some(hone_rig_t* b, int count, const hone_candidate_t* candidates,
                                double limit) {
  int first = b->n_ahead;
  hone_status_t status = NULL;
  for (int i = 0; i < count && !status; i++) {
    status = make_ready(b, &candidates[i], &b->ahead[b->n_ahead]);
    if (!status) b->n_ahead++;
  }
  if (!status) status = build_all(b, b->n_ahead - first, b->ahead + first, limit);
  while (status && b->n_ahead > first) drop_ready(b, b->ahead[--b->n_ahead]);
  return status;
}

/* Builds ahead, as long as there is time; what fails is built again by itself, to
 * learn why. */
static void prepare(void* context, const hone_space_t* space, int count,
                    const hone_candidate_t* candidates, double limit) {
  hone_rig_t* b = context;
  int units = b->set->properties.compute_units > 2 ? b->set->properties.compute_units : 2;
  double start = hone_clock_now(NULL), took = 0;
  drop_ahead(b);
  hone_status_t status = need_data(b, limit);
  for (int i = 0, n; i < count && !status; i += n) {
    double before = hone_clock_now(NULL), left = limit - (before - start);
    n = count - i < units ? count - i : units;
    if (b->n_ahead + n > MOST_AHEAD || 2 * took > left) break;
    status = build_some(b, n, candidates + i, left);
    took = hone_clock_now(NULL) - before;
  }
  hone_status_free(status);
}

static void release(void* context, void* built) { drop_ready(context, built); }

hone_measurer_t hone_rig_measurer(hone_rig_t* rig) {
  return (hone_measurer_t){.context = rig,
                           .build = build,
                           .run = run,
                           .check = check,
                           .prepare = prepare,
                           .release = release};
}

/* ---- making ---- */

static hone_status_t size_parameter(hone_rig_t* b, int index, const int64_t* symbols) {
  parameter_t* p = &b->parameters[index];
  const hone_buffer_t* buffer = p->buffer = b->lowered->buffers[index];
  size_t bytes = hone_dtype_size(buffer->dtype);
  p->rank = buffer->rank;
  if (buffer->rank > HONE_MAX_RANK)
    return hone_status_make(HONE_UNSUPPORTED, "%s has more axes than a tensor", buffer->name);
  for (int i = 0; i < buffer->rank; i++) {
    p->dims[i] = hone_dim_eval(buffer->dims[i], symbols);
    if (p->dims[i] < 0) p->dims[i] = 0;
    if (!hone_size_mul(bytes, (size_t)p->dims[i], &bytes)) bytes = SIZE_MAX / 64;
  }
  p->bytes = bytes;
  b->bytes += 2 * bytes;
  if (bytes <= b->shared->room && b->bytes <= b->shared->room) return NULL;
  return hone_status_make(HONE_UNSUPPORTED, "its data takes more than %zu MB",
                          b->shared->room >> 20);
}

static hone_status_t size_parameters(hone_rig_t* b) {
  hone_kernel_t* kernel = b->lowered;
  while (b->n_parameters < kernel->n_buffers &&
         kernel->buffers[b->n_parameters]->role != HONE_ROLE_SCRATCH)
    b->n_parameters++;
  b->parameters = hone_arena_array(kernel->arena, (size_t)b->n_parameters, sizeof *b->parameters);
  b->sizes = hone_arena_array(kernel->arena, (size_t)kernel->n_sizes, sizeof *b->sizes);
  return b->parameters && b->sizes ? NULL : hone_oom();
}

static hone_status_t fill_rig(hone_rig_t* b, const int64_t* sizes) {
  HONE_TRY(size_parameters(b));
  hone_kernel_t* kernel = b->lowered;
  size_t count = (size_t)hone_dims_symbol_count(kernel->dims);
  int64_t* symbols = hone_arena_array(kernel->arena, count, sizeof *symbols);
  if (!symbols) return hone_oom();
  for (int i = 0; i < kernel->n_sizes; i++) {
    b->sizes[i] = sizes[i];
    symbols[hone_dim_as_symbol(kernel->sizes[i])->id] = sizes[i];
  }
  for (int i = 0; i < b->n_parameters; i++) HONE_TRY(size_parameter(b, i, symbols));
  return NULL;
}

hone_status_t hone_rig_create(hone_rig_shared_t* shared, const hone_kernel_t* kernel,
                              const int64_t* sizes, const hone_tactic_set_t* set,
                              hone_rig_t** out_bench) {
  *out_bench = NULL;
  hone_rig_t* b = hone_alloc(shared->allocator, sizeof *b);
  if (!b) return hone_oom();
  b->shared = shared;
  b->set = set;
  hone_status_t status = hone_kernel_clone(kernel, &b->lowered);
  if (!status) status = fill_rig(b, sizes);
  if (status) {
    hone_kernel_destroy(b->lowered);
    hone_free(shared->allocator, b, sizeof *b);
    return status;
  }
  b->next = shared->all;
  shared->all = b;
  *out_bench = b;
  return NULL;
}

void hone_rig_destroy(hone_rig_t* b) {
  if (!b) return;
  drop_data(b);
  for (hone_rig_t** at = &b->shared->all; *at; at = &(*at)->next)
    if (*at == b) {
      *at = b->next;
      break;
    }
  hone_kernel_destroy(b->lowered);
  hone_free(b->shared->allocator, b, sizeof *b);
}
