/* Tensors, sequences and maps: one counted header each, see tensor_impl.h. */
#include "hone/tensor.h"

#include <string.h>

#include "base/memory.h"
#include "base/tensor_impl.h"
#include "base/thread_pool.h"

enum { ALIGNMENT = 64 };

/* Where elements start behind the header. */
static size_t header_size(void) {
  return (sizeof(hone_tensor_t) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Zeroed from its beginning to that many bytes of the payload. */
static hone_status_t tensor_allocate(const hone_allocator_t* allocator, hone_kind_t kind,
                                     size_t payload, size_t zeroed, hone_tensor_t** out_tensor) {
  size_t total;
  if (!hone_size_add(header_size(), payload, &total)) return hone_oom();
  hone_tensor_t* tensor = hone_realloc(allocator, NULL, 0, total);
  if (!tensor) return hone_oom();
  memset(tensor, 0, header_size() + zeroed);
  tensor->allocator = allocator ? allocator : hone_allocator_system();
  atomic_init(&tensor->references, 1);
  tensor->allocated = total;
  tensor->kind = kind;
  *out_tensor = tensor;
  return NULL;
}

static void* tensor_payload(hone_tensor_t* tensor) {
  return (unsigned char*)tensor + header_size();
}

/* Checks type and shape and gives the number of elements and bytes. */
static hone_status_t check_shape(hone_dtype_t dtype, int rank, const int64_t* dims,
                                 int64_t* out_count, size_t* out_bytes) {
  if (!hone_dtype_is_valid((int)dtype))
    return hone_status_make(HONE_INVALID_ARGUMENT, "%d is no element type", (int)dtype);
  if (rank < 0 || rank > HONE_MAX_RANK)
    return hone_status_make(HONE_INVALID_ARGUMENT, "rank %d is not in 0 to %d", rank,
                            HONE_MAX_RANK);
  if (rank && !dims) return hone_status_make(HONE_INVALID_ARGUMENT, "the dimensions are NULL");
  for (int i = 0; i < rank; i++)
    if (dims[i] < 0)
      return hone_status_make(HONE_INVALID_ARGUMENT, "dimension %d is negative: %lld", i,
                              (long long)dims[i]);
  size_t bytes;
  if (!hone_dims_count(rank, dims, out_count) ||
      !hone_size_mul((size_t)*out_count, hone_dtype_size(dtype), &bytes) || bytes > PTRDIFF_MAX)
    return hone_status_make(HONE_INVALID_ARGUMENT,
                            "a shape of rank %d has more bytes than can be addressed", rank);
  *out_bytes = bytes;
  return NULL;
}

typedef enum elements { ZEROED, UNSET, WRAPPED } elements_t;

static hone_status_t tensor_make(const hone_allocator_t* allocator, hone_dtype_t dtype, int rank,
                                 const int64_t* dims, elements_t elements,
                                 hone_tensor_t** out_tensor) {
  *out_tensor = NULL;
  int64_t count = 0;
  size_t bytes = 0;
  HONE_TRY(check_shape(dtype, rank, dims, &count, &bytes));
  HONE_TRY(tensor_allocate(allocator, HONE_KIND_TENSOR, elements == WRAPPED ? 0 : bytes,
                           elements == ZEROED ? bytes : 0, out_tensor));
  hone_tensor_t* tensor = *out_tensor;
  tensor->dtype = dtype;
  tensor->rank = rank;
  if (rank) memcpy(tensor->dims, dims, (size_t)rank * sizeof *dims);
  tensor->count = count;
  tensor->bytes = bytes;
  tensor->wrapped = elements == WRAPPED;
  if (!tensor->wrapped) tensor->data = tensor_payload(tensor);
  return NULL;
}

hone_status_t hone_tensor_create(const hone_allocator_t* allocator, hone_dtype_t dtype, int rank,
                                 const int64_t* dims, hone_tensor_t** out_tensor) {
  return tensor_make(allocator, dtype, rank, dims, ZEROED, out_tensor);
}

hone_status_t hone_tensor_create_raw(const hone_allocator_t* allocator, hone_dtype_t dtype,
                                     int rank, const int64_t* dims, hone_tensor_t** out_tensor) {
  int64_t count;
  size_t bytes;
  *out_tensor = NULL;
  if (!hone_dims_count(rank, dims, &count) ||
      !hone_size_mul((size_t)count, hone_dtype_size(dtype), &bytes) || bytes > PTRDIFF_MAX)
    return hone_status_make(HONE_OUT_OF_RANGE, "a tensor is too large");
  return tensor_make(allocator, dtype, rank, dims, dtype == HONE_STRING ? ZEROED : UNSET,
                     out_tensor);
}

typedef struct hone_late {
  void (*fill)(void* context, void* data);
  hone_tensor_t* from;
  size_t size; /* of all of this */
  void* context;
} late_t;

static void drop_late(hone_tensor_t* tensor) {
  late_t* late = tensor->late;
  tensor->late = NULL;
  if (!late) return;
  hone_tensor_release(late->from);
  hone_free(tensor->allocator, late, late->size);
}

/* The elements lie by themselves, so that nothing of them is touched until they are filled. */
static hone_status_t set_late(hone_tensor_t* tensor, void (*fill)(void* context, void* data),
                              const void* context, size_t context_size, const hone_tensor_t* from) {
  tensor->late_data = hone_realloc(tensor->allocator, NULL, 0, tensor->bytes);
  size_t size = sizeof *tensor->late + context_size;
  if (tensor->late_data) tensor->late = hone_alloc(tensor->allocator, size);
  if (!tensor->late) return hone_oom();
  *tensor->late = (late_t){fill, (hone_tensor_t*)(uintptr_t)from, size, tensor->late + 1};
  memcpy(tensor->late->context, context, context_size);
  hone_tensor_retain(tensor->late->from);
  atomic_init(&tensor->lateness, HONE_LATE);
  return NULL;
}

hone_status_t hone_tensor_create_late(const hone_allocator_t* allocator, hone_dtype_t dtype,
                                      int rank, const int64_t* dims,
                                      void (*fill)(void* context, void* data), const void* context,
                                      size_t context_size, const hone_tensor_t* from,
                                      hone_tensor_t** out_tensor) {
  HONE_TRY(tensor_make(allocator, dtype, rank, dims, WRAPPED, out_tensor));
  hone_status_t status = set_late(*out_tensor, fill, context, context_size, from);
  if (!status) return NULL;
  hone_tensor_release(*out_tensor);
  *out_tensor = NULL;
  return status;
}

bool hone_tensor_is_late(const hone_tensor_t* tensor) {
  return atomic_load_explicit(&tensor->lateness, memory_order_acquire) != HONE_THERE;
}

void hone_tensor_fill(const hone_tensor_t* tensor, void* data) {
  tensor->late->fill(tensor->late->context, data);
}

static void fill_late(hone_tensor_t* tensor) {
  int state = HONE_LATE, looks = 0;
  if (!atomic_compare_exchange_strong(&tensor->lateness, &state, HONE_BEING_FILLED)) {
    while (atomic_load(&tensor->lateness) != HONE_THERE) hone_thread_relax(&looks);
    return;
  }
  hone_parallel_touch(hone_thread_pool_shared(), tensor->late_data, tensor->bytes);
  hone_tensor_fill(tensor, tensor->late_data);
  drop_late(tensor);
  tensor->data = tensor->late_data;
  atomic_store(&tensor->lateness, HONE_THERE);
}

hone_status_t hone_tensor_wrap(const hone_allocator_t* allocator, hone_dtype_t dtype, int rank,
                               const int64_t* dims, void* data, void (*free_data)(void* owner),
                               void* owner, hone_tensor_t** out_tensor) {
  HONE_TRY(tensor_make(allocator, dtype, rank, dims, WRAPPED, out_tensor));
  hone_tensor_t* tensor = *out_tensor;
  if (!data && tensor->bytes) {
    hone_tensor_release(tensor);
    *out_tensor = NULL;
    return hone_status_make(HONE_INVALID_ARGUMENT, "the data to wrap is NULL");
  }
  tensor->data = data;
  tensor->free_data = free_data;
  tensor->owner = owner;
  return NULL;
}

static hone_status_t check_items(hone_kind_t kind, int64_t count, hone_tensor_t* const* items) {
  if (kind != HONE_KIND_SEQUENCE && kind != HONE_KIND_MAP)
    return hone_status_make(HONE_INVALID_ARGUMENT, "kind %d has no items", (int)kind);
  if (count < 0 || (count && !items) || (kind == HONE_KIND_MAP && count != 2))
    return hone_status_make(HONE_INVALID_ARGUMENT,
                            "%lld items do not make a sequence or a map (2: keys, values)",
                            (long long)count);
  for (int64_t i = 0; i < count; i++)
    if (!items[i])
      return hone_status_make(HONE_INVALID_ARGUMENT, "item %lld is NULL", (long long)i);
  return NULL;
}

hone_status_t hone_sequence_create(const hone_allocator_t* allocator, hone_kind_t kind,
                                   int64_t count, hone_tensor_t* const* items,
                                   hone_tensor_t** out_sequence) {
  *out_sequence = NULL;
  HONE_TRY(check_items(kind, count, items));
  size_t payload;
  if (!hone_size_mul((size_t)count, sizeof *items, &payload)) return hone_oom();
  HONE_TRY(tensor_allocate(allocator, kind, payload, payload, out_sequence));
  hone_tensor_t* sequence = *out_sequence;
  sequence->count = count;
  sequence->items = tensor_payload(sequence);
  for (int64_t i = 0; i < count; i++) {
    hone_tensor_retain(items[i]);
    sequence->items[i] = items[i];
  }
  if (count) sequence->dtype = items[kind == HONE_KIND_MAP ? 1 : 0]->dtype;
  return NULL;
}

hone_status_t hone_none_create(const hone_allocator_t* allocator, hone_tensor_t** out_none) {
  *out_none = NULL;
  return tensor_allocate(allocator, HONE_KIND_NONE, 0, 0, out_none);
}

void hone_tensor_retain(hone_tensor_t* tensor) {
  atomic_fetch_add_explicit(&tensor->references, 1, memory_order_relaxed);
}

/* Drops one reference; the last one puts the tensor on the list of the dead. */
static void tensor_drop(hone_tensor_t* tensor, hone_tensor_t** dead) {
  if (atomic_fetch_sub_explicit(&tensor->references, 1, memory_order_acq_rel) != 1) return;
  tensor->next_dead = *dead;
  *dead = tensor;
}

static void string_clear(const hone_tensor_t* tensor, hone_string_t* string) {
  hone_free(tensor->allocator, (void*)(uintptr_t)string->data, string->size);
  *string = (hone_string_t){NULL, 0};
}

static void tensor_free_data(hone_tensor_t* tensor) {
  if (tensor->wrapped) {
    if (tensor->free_data) tensor->free_data(tensor->owner);
    drop_late(tensor);
    hone_free(tensor->allocator, tensor->late_data, tensor->bytes);
  } else if (tensor->dtype == HONE_STRING && tensor->kind == HONE_KIND_TENSOR) {
    hone_string_t* strings = tensor->data;
    for (int64_t i = 0; i < tensor->count; i++) string_clear(tensor, &strings[i]);
  }
}

/* A loop over a list and no recursion: a model can nest sequences as deep as
 * it likes without touching the stack. */
void hone_tensor_release(hone_tensor_t* tensor) {
  hone_tensor_t* dead = NULL;
  if (tensor) tensor_drop(tensor, &dead);
  while (dead) {
    hone_tensor_t* gone = dead;
    dead = gone->next_dead;
    for (int64_t i = 0; gone->items && i < gone->count; i++) tensor_drop(gone->items[i], &dead);
    tensor_free_data(gone);
    hone_free(gone->allocator, gone, gone->allocated);
  }
}

hone_kind_t hone_tensor_kind(const hone_tensor_t* tensor) { return tensor->kind; }
hone_dtype_t hone_tensor_dtype(const hone_tensor_t* tensor) { return tensor->dtype; }
int hone_tensor_rank(const hone_tensor_t* tensor) { return tensor->rank; }
const int64_t* hone_tensor_dims(const hone_tensor_t* tensor) { return tensor->dims; }
int64_t hone_tensor_count(const hone_tensor_t* tensor) { return tensor->count; }
size_t hone_tensor_bytes(const hone_tensor_t* tensor) { return tensor->bytes; }

void* hone_tensor_data(const hone_tensor_t* tensor) {
  if (hone_tensor_is_late(tensor)) fill_late((hone_tensor_t*)(uintptr_t)tensor);
  return tensor->data;
}

hone_tensor_t* hone_sequence_item(const hone_tensor_t* sequence, int64_t index) {
  bool inside = sequence->items && index >= 0 && index < sequence->count;
  return inside ? sequence->items[index] : NULL;
}

hone_status_t hone_tensor_set_string(hone_tensor_t* tensor, int64_t index, const char* data,
                                     size_t size) {
  if (tensor->kind != HONE_KIND_TENSOR || tensor->dtype != HONE_STRING || tensor->wrapped)
    return hone_status_make(HONE_INVALID_ARGUMENT,
                            "only a string tensor made by hone_tensor_create takes strings");
  if (index < 0 || index >= tensor->count)
    return hone_status_make(HONE_OUT_OF_RANGE, "string %lld of a tensor with %lld",
                            (long long)index, (long long)tensor->count);
  char* copy = NULL;
  if (size) {
    copy = hone_realloc(tensor->allocator, NULL, 0, size);
    if (!copy) return hone_oom();
    memcpy(copy, data, size);
  }
  hone_string_t* string = (hone_string_t*)tensor->data + index;
  string_clear(tensor, string);
  *string = (hone_string_t){.data = copy, .size = size};
  return NULL;
}
