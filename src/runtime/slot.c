/* Values during a run: on the device, on the host, or both. They are written
 * once, so both copies stay right. */
#include <string.h>

#include "base/float_convert.h"
#include "base/memory.h"
#include "base/tensor_impl.h"
#include "runtime/context.h"

enum {
  MUCH_GARBAGE = 1 << 20, /* bytes */
  LITTLE = 1 << 16,       /* bytes */
  MANY_SPARE = 32,        /* blocks */
  MANY_TRIES = 8,         /* of them are looked at before a new one is made */
};

/* ---- tensors ---- */

static void release_base(void* owner) { hone_tensor_release(owner); }

/* Elements of `base` from a byte on, under another dtype and extents. */
static hone_status_t view_tensor(hone_tensor_t* base, size_t offset, hone_dtype_t dtype, int rank,
                                 const int64_t* dims, hone_tensor_t** out_tensor) {
  hone_tensor_retain(base);
  *out_tensor = base;
  bool same = !offset && base->dtype == dtype && base->rank == rank &&
              (!rank || memcmp(base->dims, dims, (size_t)rank * sizeof *dims) == 0);
  if (same) return NULL;
  hone_status_t status =
      hone_tensor_wrap(base->allocator, dtype, rank, dims, (char*)base->data + offset, release_base,
                       base, out_tensor);
  if (status) hone_tensor_release(base);
  return status;
}

/* ---- blocks ---- */

/* Its header serves the next block that is made. */
static void free_block(hone_context_t* context, hone_block_t* block) {
  const hone_program_t* program = context->program;
  if (block->memory) program->backend->free(program->device, block->memory);
  hone_tensor_release(block->tensor);
  block->next_garbage = context->headers;
  context->headers = block;
}

void hone_context_free_headers(hone_context_t* context) {
  while (context->headers) {
    hone_block_t* block = context->headers;
    context->headers = block->next_garbage;
    hone_free(context->program->allocator, block, sizeof *block);
  }
}

void hone_block_drop(hone_context_t* context, hone_block_t* block) {
  if (!block || block->is_arena || block->is_weight || --block->references > 0) return;
  if (!block->is_own && context->program->properties.is_immediate) {
    free_block(context, block);
    return;
  }
  block->next_garbage = context->garbage;
  context->garbage = block;
  if (block->handed_out) return;
  context->garbage_bytes += block->bytes + sizeof *block;
  if (context->garbage_bytes < MUCH_GARBAGE) return;
  /* What fails in the stream is told again by the next to wait for it. */
  hone_status_free(context->program->backend->synchronize(context->stream));
  hone_context_free_garbage(context, 0);
}

void hone_context_free_garbage(hone_context_t* context, size_t spare) {
  hone_block_t** link = &context->garbage;
  int kept = 0;
  context->garbage_bytes = 0;
  while (*link) {
    hone_block_t* block = *link;
    size_t bytes = block->bytes + sizeof *block;
    if (block->handed_out) {
      link = &block->next_garbage;
      continue;
    }
    if (block->is_own && kept < MANY_SPARE && context->garbage_bytes + bytes <= spare) {
      context->garbage_bytes += bytes;
      link = &block->next_garbage;
      kept++;
      continue;
    }
    *link = block->next_garbage;
    free_block(context, block);
  }
}

static bool has_caller(const hone_block_t* block) {
  return block->tensor && atomic_load(&block->tensor->references) > 1;
}

/* Gives up what was handed out, but for what the caller has and is no older than that. */
static void free_handed_out(hone_context_t* context, int oldest) {
  hone_block_t** link = &context->garbage;
  while (*link) {
    hone_block_t* block = *link;
    bool is_kept = !block->handed_out || (block->handed_out <= oldest && has_caller(block));
    if (is_kept) {
      link = &block->next_garbage;
      continue;
    }
    *link = block->next_garbage;
    free_block(context, block);
  }
}

void hone_context_free_handed_out(hone_context_t* context) { free_handed_out(context, 0); }

/* What nobody took in this run was of other sizes; what is two runs old is the caller's alone. */
void hone_context_hand_out(hone_context_t* context, int count, hone_slot_t* outputs) {
  free_handed_out(context, 1);
  for (hone_block_t* block = context->garbage; block; block = block->next_garbage)
    block->handed_out *= 2;
  for (int i = 0; i < count; i++) {
    hone_block_t* block = outputs[i].block;
    bool is_large = block && block->is_own && block->bytes > LITTLE;
    if (is_large && block->references == 1 && has_caller(block)) block->handed_out = 1;
  }
}

/* One of the garbage's latest blocks, of that size: what comes next in the stream may overwrite
 * it. NULL: there is none. */
static hone_block_t* take_garbage(hone_context_t* context, size_t bytes) {
  hone_block_t** link = &context->garbage;
  for (int i = 0; i < MANY_TRIES && *link; link = &(*link)->next_garbage) {
    hone_block_t* block = *link;
    i += !block->handed_out;
    if (!block->is_own || block->bytes != bytes || has_caller(block)) continue;
    *link = block->next_garbage;
    if (!block->handed_out) context->garbage_bytes -= bytes + sizeof *block;
    block->handed_out = 0;
    block->references = 1;
    return block;
  }
  return NULL;
}

static hone_status_t make_block(hone_context_t* context, hone_block_t** out_block) {
  hone_block_t* block = context->headers;
  if (block)
    context->headers = block->next_garbage;
  else
    block = hone_alloc(context->program->allocator, sizeof *block);
  *out_block = block;
  if (!block) return hone_oom();
  *block = (hone_block_t){.references = 1};
  return NULL;
}

static bool can_wrap(const hone_program_t* program) {
  return program->properties.shares_host_memory && program->backend->wrap;
}

/* The device is to work on the tensor's elements, of which the block, which is empty, gets a
 * reference; it stays empty where the device cannot. */
static hone_status_t wrap_elements(const hone_program_t* program, hone_tensor_t* tensor,
                                   hone_block_t* block) {
  hone_status_t status = program->backend->wrap(program->device, hone_tensor_data(tensor),
                                                tensor->bytes, &block->memory);
  if (!status) {
    hone_tensor_retain(tensor);
    block->tensor = tensor;
    return NULL;
  }
  if (hone_status_code(status) != HONE_UNSUPPORTED) return status;
  hone_status_free(status);
  return NULL;
}

/* The same in a block of its own; *out_block NULL: it cannot. */
static hone_status_t wrap_tensor(hone_context_t* context, hone_tensor_t* tensor,
                                 hone_block_t** out_block) {
  const hone_program_t* program = context->program;
  hone_block_t* block;
  *out_block = NULL;
  if (!can_wrap(program) || !tensor->bytes) return NULL;
  HONE_TRY(make_block(context, &block));
  hone_status_t status = wrap_elements(program, tensor, block);
  if (!block->memory) {
    free_block(context, block);
    return status;
  }
  block->bytes = tensor->bytes;
  *out_block = block;
  return NULL;
}

hone_status_t hone_slot_make_block(hone_context_t* context, size_t bytes,
                                   hone_block_t** out_block) {
  const hone_program_t* program = context->program;
  HONE_TRY(make_block(context, out_block));
  hone_status_t status = program->backend->alloc(program->device, HONE_MEMORY_DEVICE,
                                                 bytes ? bytes : 1, &(*out_block)->memory);
  (*out_block)->bytes = bytes;
  if (!status) return NULL;
  free_block(context, *out_block);
  *out_block = NULL;
  return status;
}

/* ---- planned memory ---- */

void hone_frame_release(const hone_context_t* context, hone_frame_t* frame) {
  const hone_program_t* program = context->program;
  if (frame->arena.memory) program->backend->free(program->device, frame->arena.memory);
  hone_tensor_release(frame->arena.tensor);
  frame->arena.memory = NULL;
  frame->arena.tensor = NULL;
}

/* In memory of the host, where a device with a queue works in it: what interpreted steps read
 * there need not be mapped, which is a command of its own. */
static hone_status_t reserve_on_host(const hone_program_t* program, size_t bytes,
                                     hone_block_t* arena) {
  const int64_t count = (int64_t)bytes;
  if (program->properties.is_immediate || !can_wrap(program)) return NULL;
  hone_tensor_t* tensor;
  HONE_TRY(hone_tensor_create_raw(program->allocator, HONE_U8, 1, &count, &tensor));
  hone_status_t status = wrap_elements(program, tensor, arena);
  hone_tensor_release(tensor);
  return status;
}

hone_status_t hone_frame_reserve(hone_context_t* context, hone_frame_t* frame) {
  const hone_program_t* program = context->program;
  size_t bytes = frame->instance->arena_bytes;
  if (frame->arena.memory && bytes <= frame->arena_room) return NULL;
  if (frame->arena.memory) /* the last run's may go on */
    HONE_TRY(program->backend->synchronize(context->stream));
  hone_frame_release(context, frame);
  hone_context_free_handed_out(context); /* which are in no plan */
  if (!bytes) bytes = 1;                 /* values without elements have an address too */
  HONE_TRY(reserve_on_host(program, bytes, &frame->arena));
  if (!frame->arena.memory)
    HONE_TRY(
        program->backend->alloc(program->device, HONE_MEMORY_DEVICE, bytes, &frame->arena.memory));
  frame->arena_room = bytes;
  return NULL;
}

/* ---- slots ---- */

void hone_slot_drop_held(hone_context_t* context, hone_slot_t* slot) {
  hone_block_drop(context, slot->block);
  hone_tensor_release(slot->tensor);
  slot->block = NULL;
  slot->tensor = NULL;
}

void hone_slot_share(const hone_slot_t* from, hone_slot_t* to) {
  hone_slot_copy(from, to);
  hone_block_retain(to->block);
  if (to->tensor) hone_tensor_retain(to->tensor);
}

void hone_slot_set(hone_slot_t* slot, hone_tensor_t* owned) {
  hone_slot_begin(slot, owned->dtype, owned->rank, owned->dims, owned->bytes);
  slot->tensor = owned;
}

/* The block's tensor, which nobody else has, becomes that of the slot. */
static void retype(const hone_slot_t* slot, hone_tensor_t* tensor) {
  tensor->dtype = slot->dtype;
  tensor->rank = slot->rank;
  memcpy(tensor->dims, slot->dims, (size_t)slot->rank * sizeof *tensor->dims);
  tensor->count = (int64_t)(slot->bytes / hone_dtype_size(slot->dtype));
}

static hone_status_t allocate(hone_context_t* context, hone_slot_t* slot) {
  const hone_program_t* program = context->program;
  if (can_wrap(program) && slot->bytes) {
    hone_tensor_t* tensor;
    HONE_TRY(
        hone_tensor_create_raw(program->allocator, slot->dtype, slot->rank, slot->dims, &tensor));
    hone_status_t status = wrap_tensor(context, tensor, &slot->block);
    hone_tensor_release(tensor);
    if (status || slot->block) return status;
  }
  return hone_slot_make_block(context, slot->bytes, &slot->block);
}

hone_status_t hone_slot_allocate(hone_context_t* context, hone_slot_t* slot) {
  if (context->program->properties.guard) return hone_fence_allocate(context, slot);
  slot->block = take_garbage(context, slot->bytes);
  if (!slot->block) {
    /* A run takes no more than planned: what waits for another value makes room. */
    if (slot->bytes > LITTLE) free_handed_out(context, 2);
    hone_status_t status = allocate(context, slot);
    if (hone_status_code(status) == HONE_OUT_OF_MEMORY) {
      hone_status_free(status);
      hone_context_free_handed_out(context);
      status = allocate(context, slot);
    }
    HONE_TRY(status);
    slot->block->is_own = true;
  } else if (slot->block->tensor) {
    retype(slot, slot->block->tensor);
  }
  return NULL;
}

static hone_status_t copy_to_device(hone_context_t* context, hone_slot_t* slot, bool is_guarded) {
  if (is_guarded)
    HONE_TRY(hone_fence_allocate(context, slot));
  else
    HONE_TRY(hone_slot_make_block(context, slot->bytes, &slot->block));
  return context->program->backend->copy_in(context->stream, slot->block->memory, slot->offset,
                                            slot->tensor->data, slot->bytes);
}

hone_status_t hone_slot_to_device(hone_context_t* context, hone_slot_t* slot,
                                  hone_argument_t* out_argument) {
  if (!slot->block) {
    bool is_guarded = context->program->properties.guard;
    slot->offset = 0;
    if (!is_guarded) HONE_TRY(wrap_tensor(context, slot->tensor, &slot->block));
    if (!slot->block) HONE_TRY(copy_to_device(context, slot, is_guarded));
  }
  *out_argument = (hone_argument_t){slot->block->memory, slot->offset};
  return NULL;
}

/* The host may look where the device wrote: nothing else will be written there, and little is
 * held on to beside it. */
static bool is_in_sight(const hone_slot_t* slot) {
  const hone_block_t* block = slot->block;
  return block && block->tensor && !block->is_arena &&
         slot->offset + slot->bytes <= block->tensor->bytes &&
         (block->bytes <= LITTLE || slot->bytes >= block->bytes / 2);
}

/* Nobody but the slot has what hone_slot_allocate made for it. */
static bool is_alone(const hone_slot_t* slot) {
  const hone_block_t* block = slot->block;
  return block->is_own && block->references == 1 && !slot->offset &&
         slot->bytes == block->tensor->bytes && atomic_load(&block->tensor->references) == 1;
}

hone_status_t hone_slot_send_to_host(const hone_context_t* context, hone_slot_t* slot) {
  if (slot->tensor) return NULL;
  if (!slot->block) return hone_status_make(HONE_INTERNAL, "a value is read that was not given");
  bool is_seen = is_in_sight(slot);
  if (is_seen && is_alone(slot)) retype(slot, slot->block->tensor); /* which then needs no view */
  if (is_seen)
    return view_tensor(slot->block->tensor, slot->offset, slot->dtype, slot->rank, slot->dims,
                       &slot->tensor);
  const hone_program_t* program = context->program;
  HONE_TRY(hone_tensor_create_raw(program->allocator, slot->dtype, slot->rank, slot->dims,
                                  &slot->tensor));
  if (!slot->bytes) return NULL;
  return program->backend->copy_out(context->stream, slot->tensor->data, slot->block->memory,
                                    slot->offset, slot->bytes);
}

hone_status_t hone_slot_to_host(hone_context_t* context, hone_slot_t* slot,
                                hone_tensor_t** out_tensor) {
  if (!slot->tensor) {
    HONE_TRY(hone_slot_send_to_host(context, slot));
    HONE_TRY(hone_context_synchronize(context));
  }
  *out_tensor = slot->tensor;
  return NULL;
}

/* What an immediate device has in sight needs no tensor of its own. */
hone_status_t hone_slot_read(hone_context_t* context, hone_slot_t* slot, int64_t index,
                             int64_t* out_number) {
  const size_t at = (size_t)index * hone_dtype_size(slot->dtype);
  *out_number = 0;
  if (!slot->tensor && context->program->properties.is_immediate && is_in_sight(slot)) {
    if (context->has_checked) HONE_TRY(hone_context_synchronize(context));
    const char* elements = (const char*)slot->block->tensor->data + slot->offset;
    if (at < slot->bytes) hone_load_i64(slot->dtype, elements + at, 0, 1, out_number);
    return NULL;
  }
  hone_tensor_t* tensor;
  HONE_TRY(hone_slot_to_host(context, slot, &tensor));
  if (tensor->kind == HONE_KIND_TENSOR && index < tensor->count)
    hone_load_i64(tensor->dtype, (const char*)tensor->data + at, 0, 1, out_number);
  return NULL;
}

hone_status_t hone_slot_keep(hone_context_t* context, hone_slot_t* slot) {
  if (!slot->block || !slot->block->is_arena) return NULL;
  hone_slot_t kept = *slot;
  kept.block = NULL;
  kept.offset = 0;
  HONE_TRY(hone_slot_allocate(context, &kept));
  hone_status_t status = NULL;
  if (slot->bytes)
    status = context->program->backend->copy(context->stream, kept.block->memory, kept.offset,
                                             slot->block->memory, slot->offset, slot->bytes);
  *slot = kept; /* the tensor goes over; a reference to the arena is none */
  return status;
}

/* Where the device works in the host's memory, a view of what the device has takes less than one
 * of what the host has, and kernels need that anyway. */
static hone_status_t see_block(hone_context_t* context, hone_slot_t* slot, bool* out_seen) {
  hone_argument_t unused;
  bool is_plain = slot->tensor && !slot->block && slot->bytes && slot->dtype != HONE_STRING &&
                  slot->tensor->kind == HONE_KIND_TENSOR;
  if (is_plain) HONE_TRY(hone_slot_to_device(context, slot, &unused));
  *out_seen = slot->block && slot->block->tensor;
  return NULL;
}

hone_status_t hone_slot_view(hone_context_t* context, hone_slot_t* from, hone_slot_t* to) {
  const hone_device_properties_t* device = &context->program->properties;
  bool is_seen = false;
  if (device->is_immediate && !device->guard) HONE_TRY(see_block(context, from, &is_seen));
  to->block = from->block;
  to->offset = from->offset;
  hone_block_retain(to->block);
  if (!from->tensor || is_seen) return NULL; /* the host's is made where somebody asks for it */
  return view_tensor(from->tensor, 0, to->dtype, to->rank, to->dims, &to->tensor);
}

hone_status_t hone_slot_set_number(hone_context_t* context, hone_dtype_t dtype, int64_t number,
                                   hone_slot_t* slot) {
  hone_tensor_t* tensor = slot->tensor;
  if (!tensor || atomic_load(&tensor->references) > 1) {
    hone_slot_drop(context, slot);
    HONE_TRY(hone_tensor_create(context->program->allocator, dtype, 0, NULL, &tensor));
    hone_slot_set(slot, tensor);
  }
  hone_store_i64(dtype, &number, 1, tensor->data);
  return NULL;
}

/* ---- stacks ---- */

hone_status_t hone_slot_shape(const hone_context_t* context, const hone_program_value_t* value,
                              hone_slot_t* out) {
  hone_slot_begin(out, value->dtype, value->rank, NULL, 0);
  for (int i = 0; i < value->rank; i++)
    out->dims[i] = hone_dim_eval(value->dims[i], context->symbols);
  return hone_program_value_bytes(value, context->symbols, &out->bytes);
}

hone_status_t hone_slot_shape_stack(const hone_slot_t* part, int64_t count, hone_slot_t* out) {
  if (part->rank >= HONE_MAX_RANK)
    return hone_status_make(HONE_UNSUPPORTED, "loop: a stacked output has too many axes");
  hone_slot_begin(out, part->dtype, part->rank + 1, NULL, 0);
  out->dims[0] = count;
  for (int i = 0; i < part->rank; i++) out->dims[i + 1] = part->dims[i];
  return hone_size_mul(part->bytes, (size_t)count, &out->bytes) ? NULL : hone_oom();
}

hone_status_t hone_slot_put(hone_context_t* context, hone_slot_t* part, const hone_slot_t* stack,
                            int64_t index) {
  hone_argument_t from;
  HONE_TRY(hone_slot_to_device(context, part, &from));
  return context->program->backend->copy(context->stream, stack->block->memory,
                                         stack->offset + (size_t)index * part->bytes, from.memory,
                                         from.offset, part->bytes);
}
