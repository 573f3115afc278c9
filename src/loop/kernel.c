/* Kernels: making them, their buffers, sizes and names. */
#include "loop/kernel.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/str.h"

hone_status_t hone_kernel_create(const hone_allocator_t* allocator, const char* name,
                                 hone_kernel_t** out_kernel) {
  *out_kernel = NULL;
  hone_arena_t* arena;
  HONE_TRY(hone_arena_create(allocator, &arena));
  hone_kernel_t* kernel = hone_arena_alloc(arena, sizeof *kernel);
  hone_str_t* schedule = hone_arena_alloc(arena, sizeof *schedule);
  hone_stmt_t* root = hone_arena_alloc(arena, sizeof *root);
  hone_dims_t* dims = NULL;
  hone_status_t status = kernel && schedule && root ? hone_dims_create(arena, &dims) : hone_oom();
  if (!status) {
    *kernel = (hone_kernel_t){.allocator = allocator, .arena = arena, .dims = dims, .root = root};
    root->kind = HONE_STMT_IF;
    hone_str_init(schedule, allocator);
    kernel->schedule = schedule;
    kernel->name = hone_arena_strdup(arena, name);
    kernel->origin = kernel->tactic = kernel->why = "";
    kernel->n_term_buckets = 64;
    kernel->term_buckets =
        hone_arena_array(arena, kernel->n_term_buckets, sizeof *kernel->term_buckets);
    if (!kernel->name || !kernel->term_buckets) status = hone_oom();
  }
  if (status)
    hone_arena_destroy(arena);
  else
    *out_kernel = kernel;
  return status;
}

void hone_kernel_destroy(hone_kernel_t* kernel) {
  if (!kernel) return;
  hone_str_free(kernel->schedule);
  hone_arena_destroy(kernel->arena);
}

/* ---- names ---- */

static bool is_taken(const hone_kernel_t* kernel, const char* name) {
  for (int i = 0; i < kernel->n_buffers; i++)
    if (strcmp(kernel->buffers[i]->name, name) == 0) return true;
  return hone_dims_has_name(kernel->dims, name);
}

/* Without the number of an earlier collision: "acc" of "acc3", but "i.0" is whole. */
static int stem_length(const char* name) {
  int length = (int)strnlen(name, 80), stem = length;
  while (stem > 1 && name[stem - 1] >= '0' && name[stem - 1] <= '9') stem--;
  return name[stem - 1] == '.' ? length : stem;
}

const char* hone_kernel_fresh_name(hone_kernel_t* kernel, const char* base) {
  char text[96];
  int stem = stem_length(base);
  snprintf(text, sizeof text, "%.80s", base);
  while (is_taken(kernel, text))
    snprintf(text, sizeof text, "%.*s%d", stem, base, ++kernel->n_names);
  char* name = hone_arena_strdup(kernel->arena, text);
  if (!name) kernel->out_of_memory = true;
  return name;
}

/* ---- lists that grow in the arena ---- */

static bool reserve(hone_kernel_t* kernel, void** list, int used, int* room, size_t size) {
  if (used < *room) return true;
  int more = *room ? *room * 2 : 8;
  void* fresh = hone_arena_array(kernel->arena, (size_t)more, size);
  if (!fresh) {
    kernel->out_of_memory = true;
    return false;
  }
  if (used) memcpy(fresh, *list, (size_t)used * size);
  *list = fresh;
  *room = more;
  return true;
}

/* Parameters come first, whenever they are made. */
static void add_buffer(hone_kernel_t* kernel, hone_buffer_t* buffer) {
  int at = kernel->n_buffers++;
  for (; at > 0 && buffer->role != HONE_ROLE_SCRATCH; at--) {
    hone_buffer_t* before = kernel->buffers[at - 1];
    if (before->role != HONE_ROLE_SCRATCH) break;
    before->id = at;
    kernel->buffers[at] = before;
  }
  buffer->id = at;
  kernel->buffers[at] = buffer;
}

hone_buffer_t* hone_kernel_buffer(hone_kernel_t* kernel, const char* name, hone_dtype_t dtype,
                                  int rank, const hone_dim_t* dims, hone_buffer_space_t space,
                                  hone_role_t role) {
  if (!reserve(kernel, (void**)&kernel->buffers, kernel->n_buffers, &kernel->buffers_room,
               sizeof(hone_buffer_t*)))
    return NULL;
  hone_buffer_t* buffer = hone_arena_alloc(kernel->arena, sizeof *buffer);
  const char* unique = hone_kernel_fresh_name(kernel, name ? name : "t");
  hone_dim_t* copy = hone_arena_memdup(kernel->arena, dims, (size_t)rank * sizeof *dims);
  if (!buffer || !unique || !copy) {
    kernel->out_of_memory = true;
    return NULL;
  }
  *buffer = (hone_buffer_t){
      .name = unique, .dtype = dtype, .rank = rank, .dims = copy, .space = space, .role = role};
  add_buffer(kernel, buffer);
  return buffer;
}

void hone_buffer_know(hone_buffer_t* buffer, const hone_buffer_t* like) {
  buffer->is_constant = like->is_constant;
  buffer->is_proven = like->is_proven;
  buffer->is_bounded = like->is_bounded;
  buffer->slight = like->slight;
  buffer->is_sparse = like->is_sparse;
  buffer->fits_nibbles = like->fits_nibbles;
  buffer->is_stored_once = like->is_stored_once;
}

int64_t hone_buffer_count_constant(const hone_buffer_t* buffer, hone_dtype_t dtype) {
  int64_t count = 1;
  if (buffer->role != HONE_ROLE_INPUT || !buffer->is_constant || buffer->dtype != dtype) return 0;
  for (int i = 0; i < buffer->rank; i++)
    if (!hone_dim_is_int(buffer->dims[i]) || !hone_i64_mul(count, buffer->dims[i].k, &count))
      return 0;
  return count;
}

hone_packing_t* hone_packing_create(hone_kernel_t* kernel, int rank, int axes) {
  hone_packing_t* packing = hone_arena_alloc(kernel->arena, sizeof *packing);
  int64_t* dims = hone_arena_array(kernel->arena, (size_t)rank, sizeof *dims);
  hone_packing_axis_t* list = hone_arena_array(kernel->arena, (size_t)axes, sizeof *list);
  if (!packing || !dims || !list) {
    kernel->out_of_memory = true;
    return NULL;
  }
  *packing = (hone_packing_t){.rank = rank, .dims = dims, .axes = list};
  return packing;
}

hone_buffer_t* hone_kernel_find_buffer(const hone_kernel_t* kernel, hone_role_t role, int value) {
  for (int i = 0; i < kernel->n_buffers; i++)
    if (kernel->buffers[i]->role == role && kernel->buffers[i]->value == value)
      return kernel->buffers[i];
  return NULL;
}

hone_dim_t hone_kernel_size(hone_kernel_t* kernel, const char* name, int64_t min, int64_t max) {
  if (!reserve(kernel, (void**)&kernel->sizes, kernel->n_sizes, &kernel->sizes_room,
               sizeof(hone_dim_t)))
    return hone_dim_bad();
  hone_dim_t size = hone_dim_symbol(kernel->dims, name, HONE_SYMBOL_INPUT, min, max);
  if (!hone_dim_is_bad(size)) kernel->sizes[kernel->n_sizes++] = size;
  return size;
}

hone_dim_t hone_buffer_offset(hone_kernel_t* kernel, const hone_buffer_t* buffer,
                              const hone_dim_t* index) {
  hone_dim_t offset = hone_dim_int(0);
  for (int i = 0; i < buffer->rank; i++)
    offset =
        hone_dim_add(kernel->dims, hone_dim_mul(kernel->dims, offset, buffer->dims[i]), index[i]);
  return offset;
}
