/* Functions: a kernel from building it to calling it with tensors. */
#include "hone/function.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "loop/interpret.h"
#include "loop/verify.h"
#include "runtime/device.h"
#include "runtime/packing.h"
#include "runtime/routine.h"

/* One parameter of the kernel in a run. */
typedef struct parameter {
  const hone_buffer_t* buffer;
  hone_tensor_t* packed; /* what the device gets instead of the tensor; NULL: none */
  void* data;            /* of the host */
  size_t bytes;
  hone_memory_t* memory;
  bool is_copy; /* the memory is not the host's */
} parameter_t;

struct hone_function {
  const hone_allocator_t* allocator;
  hone_kernel_t* kernel;
  const hone_backend_t* backend; /* NULL: interpreted */
  hone_device_t* device;
  hone_stream_t* stream;
  hone_module_t* module;
  hone_dim_t groups[3], locals[3];
  int n_parameters, n_symbols;
  parameter_t* parameters;
  hone_argument_t* arguments;
  int64_t* symbols; /* values by id */
  int64_t failure;  /* the error word */
};

/* ---- building ---- */

static hone_status_t find_backend(const char* device, const hone_backend_t** out, int* out_index) {
  *out_index = hone_device_index(device);
  HONE_TRY(hone_device_backend(device, out));
  if (strcmp((*out)->name, "ref") == 0) *out = NULL;
  if (*out && !hone_backend_runs_kernels(*out))
    return hone_status_make(HONE_UNSUPPORTED, "device '%s' takes whole models, no kernels", device);
  return NULL;
}

static void free_blob(const hone_function_t* f, hone_blob_t* blob) {
  hone_free(f->allocator, blob->data, blob->size);
  *blob = (hone_blob_t){0};
}

static hone_status_t build_module(hone_function_t* f) {
  static const char* const names[1] = {"hone_function"};
  hone_blob_t source = {0}, binary = {0};
  char why[HONE_DEVICE_TEXT_SIZE] = "";
  if (!f->backend->supports(f->device, f->kernel, why))
    return hone_status_make(HONE_UNSUPPORTED, "kernel %s: %s", f->kernel->name, why);
  hone_status_t status = f->backend->render(f->device, f->kernel, names[0], &source);
  const char* const sources[1] = {source.data};
  if (!status) status = f->backend->build(f->device, 1, names, sources, &binary);
  if (!status) status = f->backend->load(f->device, &binary, 1, names, &f->module);
  free_blob(f, &source);
  free_blob(f, &binary);
  return status;
}

static hone_status_t open_device(hone_function_t* f, int index) {
  hone_open_options_t options = {.struct_size = sizeof options, .allocator = f->allocator};
  HONE_TRY(f->backend->open(index, &options, &f->device));
  HONE_TRY(f->backend->stream_create(f->device, &f->stream));
  return build_module(f);
}

static hone_status_t make_parameters(hone_function_t* f) {
  const hone_kernel_t* kernel = f->kernel;
  while (f->n_parameters < kernel->n_buffers &&
         kernel->buffers[f->n_parameters]->role != HONE_ROLE_SCRATCH)
    f->n_parameters++;
  f->n_symbols = hone_dims_symbol_count(kernel->dims);
  size_t n = (size_t)f->n_parameters;
  f->parameters = hone_arena_array(kernel->arena, n, sizeof *f->parameters);
  f->arguments = hone_arena_array(kernel->arena, n, sizeof *f->arguments);
  f->symbols = hone_arena_array(kernel->arena, (size_t)f->n_symbols, sizeof *f->symbols);
  if (!f->parameters || !f->arguments || !f->symbols) return hone_oom();
  for (int i = 0; i < f->n_parameters; i++) f->parameters[i].buffer = kernel->buffers[i];
  hone_kernel_grid(kernel, f->groups, f->locals);
  return NULL;
}

hone_status_t hone_function_build(const hone_allocator_t* allocator, const hone_kernel_t* kernel,
                                  const char* device, hone_function_t** out_function) {
  *out_function = NULL;
  const hone_backend_t* backend;
  int index;
  HONE_TRY(hone_kernel_verify(kernel));
  HONE_TRY(find_backend(device, &backend, &index));
  hone_function_t* f = hone_alloc(allocator, sizeof *f);
  if (!f) return hone_oom();
  f->allocator = allocator ? allocator : hone_allocator_system();
  f->backend = backend;
  hone_status_t status = hone_kernel_clone(kernel, &f->kernel);
  if (!status) status = make_parameters(f);
  if (!status && backend) status = open_device(f, index);
  if (status)
    hone_function_destroy(f);
  else
    *out_function = f;
  return status;
}

void hone_function_destroy(hone_function_t* f) {
  if (!f) return;
  for (int i = 0; i < f->n_parameters && f->parameters; i++)
    hone_tensor_release(f->parameters[i].packed);
  if (f->module) f->backend->unload(f->device, f->module);
  if (f->stream) f->backend->stream_destroy(f->stream);
  if (f->device) f->backend->close(f->device);
  hone_kernel_destroy(f->kernel);
  hone_free(f->allocator, f, sizeof *f);
}

/* ---- arguments ---- */

static hone_status_t set_sizes(hone_function_t* f, int n, const int64_t* sizes) {
  if (n != f->kernel->n_sizes)
    return hone_status_make(HONE_INVALID_ARGUMENT, "kernel %s has %d run-time sizes, not %d",
                            f->kernel->name, f->kernel->n_sizes, n);
  for (int i = 0; i < n; i++) {
    const hone_symbol_t* symbol = hone_dim_as_symbol(f->kernel->sizes[i]);
    if (sizes[i] < symbol->min || sizes[i] > symbol->max)
      return hone_status_make(HONE_OUT_OF_RANGE, "kernel %s: size %s is %lld, outside its range",
                              f->kernel->name, symbol->name, (long long)sizes[i]);
    f->symbols[symbol->id] = sizes[i];
  }
  return NULL;
}

/* The shape that a parameter's tensor must have: that from before packing. */
static bool has_shape(const hone_function_t* f, const hone_buffer_t* buffer,
                      const hone_tensor_t* tensor) {
  const hone_packing_t* packing = buffer->packing;
  if (hone_tensor_kind(tensor) != HONE_KIND_TENSOR || hone_tensor_dtype(tensor) != buffer->dtype ||
      hone_tensor_rank(tensor) != (packing ? packing->rank : buffer->rank))
    return false;
  for (int i = 0; i < hone_tensor_rank(tensor); i++) {
    int64_t extent = packing ? packing->dims[i] : hone_dim_eval(buffer->dims[i], f->symbols);
    if (hone_tensor_dims(tensor)[i] != extent) return false;
  }
  return true;
}

static hone_status_t set_parameter(hone_function_t* f, parameter_t* p, hone_tensor_t* tensor) {
  bool is_as_before = !f->backend && p->buffer->packing && p->buffer->packing->is_sparse;
  if (p->buffer->packing && !p->packed && !is_as_before)
    HONE_TRY((f->backend ? hone_packing_apply : hone_packing_lay_out)(p->buffer, tensor,
                                                                      f->allocator, &p->packed));
  if (p->packed) tensor = p->packed;
  p->data = hone_tensor_data(tensor);
  p->bytes = hone_tensor_bytes(tensor);
  return NULL;
}

static hone_status_t set_parameters(hone_function_t* f, int n, hone_tensor_t* const* tensors) {
  int used = 0;
  for (int i = 0; i < f->n_parameters; i++) {
    parameter_t* p = &f->parameters[i];
    if (p->buffer->role == HONE_ROLE_ERROR) {
      f->failure = 0;
      p->data = &f->failure;
      p->bytes = sizeof f->failure;
      continue;
    }
    if (used == n || !has_shape(f, p->buffer, tensors[used]))
      return hone_status_make(
          HONE_INVALID_ARGUMENT, "kernel %s: parameter %d (%s) wants a tensor of %s and its shape",
          f->kernel->name, used, p->buffer->name, hone_dtype_name(p->buffer->dtype));
    HONE_TRY(set_parameter(f, p, tensors[used++]));
  }
  if (used == n) return NULL;
  return hone_status_make(HONE_INVALID_ARGUMENT, "kernel %s takes %d tensors, not %d",
                          f->kernel->name, used, n);
}

/* ---- a run ---- */

/* The host's memory in place where the device can use it, else a copy. */
static hone_status_t bring(hone_function_t* f, parameter_t* p, hone_argument_t* argument) {
  p->memory = NULL;
  p->is_copy = false;
  if (f->backend->wrap) {
    hone_status_t status = f->backend->wrap(f->device, p->data, p->bytes, &p->memory);
    if (status && hone_status_code(status) != HONE_UNSUPPORTED) return status;
    hone_status_free(status);
  }
  if (!p->memory) {
    HONE_TRY(f->backend->alloc(f->device, HONE_MEMORY_DEVICE, p->bytes, &p->memory));
    p->is_copy = true;
    HONE_TRY(f->backend->copy_in(f->stream, p->memory, 0, p->data, p->bytes));
  }
  *argument = (hone_argument_t){p->memory, 0};
  return NULL;
}

static hone_status_t take_back(hone_function_t* f, const parameter_t* p) {
  if (!p->is_copy || p->buffer->role == HONE_ROLE_INPUT) return NULL;
  return f->backend->copy_out(f->stream, p->data, p->memory, 0, p->bytes);
}

static hone_status_t launch(hone_function_t* f, int n_sizes, const int64_t* sizes) {
  hone_launch_t launch = {.struct_size = sizeof launch,
                          .module = f->module,
                          .n_buffers = f->n_parameters,
                          .buffers = f->arguments,
                          .n_sizes = n_sizes,
                          .sizes = sizes};
  for (int i = 0; i < 3; i++) {
    launch.groups[i] = hone_dim_eval(f->groups[i], f->symbols);
    launch.locals[i] = hone_dim_eval(f->locals[i], f->symbols);
  }
  return f->backend->launch(f->stream, &launch);
}

static hone_status_t run_on_device(hone_function_t* f, int n_sizes, const int64_t* sizes) {
  hone_status_t status = NULL;
  for (int i = 0; i < f->n_parameters; i++) f->parameters[i].memory = NULL;
  for (int i = 0; i < f->n_parameters && !status; i++)
    status = bring(f, &f->parameters[i], &f->arguments[i]);
  if (!status) status = launch(f, n_sizes, sizes);
  for (int i = 0; i < f->n_parameters && !status; i++) status = take_back(f, &f->parameters[i]);
  hone_status_t waited = f->backend->synchronize(f->stream);
  for (int i = 0; i < f->n_parameters; i++)
    if (f->parameters[i].memory) f->backend->free(f->device, f->parameters[i].memory);
  if (!status) return waited;
  hone_status_free(waited);
  return status;
}

static hone_status_t interpret(hone_function_t* f, const int64_t* sizes) {
  size_t bytes = ((size_t)f->n_parameters + 1) * sizeof(void*);
  void** data = hone_alloc(f->allocator, bytes);
  if (!data) return hone_oom();
  for (int i = 0; i < f->n_parameters; i++) data[i] = f->parameters[i].data;
  hone_status_t status = hone_kernel_interpret(f->kernel, sizes, data);
  hone_free(f->allocator, data, bytes);
  return status;
}

typedef struct check_search {
  int64_t number;
  const char* message;
} check_search_t;

static bool find_check(void* self, hone_stmt_t* stmt) {
  check_search_t* search = self;
  if (stmt->kind == HONE_STMT_CHECK && stmt->check == search->number)
    search->message = stmt->message;
  return !search->message;
}

hone_status_t hone_function_run(hone_function_t* f, int n_sizes, const int64_t* sizes,
                                int n_tensors, hone_tensor_t* const* tensors) {
  HONE_TRY(set_sizes(f, n_sizes, sizes));
  HONE_TRY(set_parameters(f, n_tensors, tensors));
  HONE_TRY(f->backend ? run_on_device(f, n_sizes, sizes) : interpret(f, sizes));
  if (!f->failure) return NULL;
  check_search_t search = {.number = f->failure - 1};
  hone_stmt_walk(f->kernel->root, find_check, &search);
  return hone_status_make(HONE_OUT_OF_RANGE, "kernel %s: %s", f->kernel->name,
                          search.message ? search.message : "a check failed");
}
