/* Fences: bytes around the memory of values that no kernel may change. Each value
 * has a block of its own; after every launch the fences around its buffers are looked
 * at, so that what a kernel wrote outside is found at once, with the kernel's name. */
#include <string.h>

#include "base/memory.h"
#include "runtime/context.h"

enum {
  FRONT = 256, /* a multiple of what devices align to */
  BACK = 256,  /* where the end of a block is not watched by the device itself */
  ALIGNMENT = 64,
  MARK = 0xa7,
};

/* A device that watches the ends of blocks can do so only where nothing lies between
 * the value and its end but what alignment asks for. */
static size_t back_of(const hone_program_t* program, size_t bytes) {
  if (!program->properties.watches_ends) return BACK;
  size_t rest = bytes % ALIGNMENT;
  return bytes == 0 ? ALIGNMENT : rest ? ALIGNMENT - rest : 0;
}

static hone_status_t mark(const hone_context_t* context, const hone_slot_t* slot) {
  unsigned char marks[FRONT];
  memset(marks, MARK, sizeof marks);
  const hone_backend_t* backend = context->program->backend;
  HONE_TRY(backend->copy_in(context->stream, slot->block->memory, 0, marks, FRONT));
  size_t back = slot->block->fence;
  if (back)
    HONE_TRY(backend->copy_in(context->stream, slot->block->memory, slot->block->bytes - back,
                              marks, back));
  return backend->synchronize(context->stream);
}

hone_status_t hone_fence_allocate(hone_context_t* context, hone_slot_t* slot) {
  size_t back = back_of(context->program, slot->bytes);
  HONE_TRY(hone_slot_make_block(context, FRONT + slot->bytes + back, &slot->block));
  slot->block->is_fenced = true;
  slot->block->fence = back;
  slot->offset = FRONT;
  return mark(context, slot);
}

/* How many bytes of a fence were changed; *out_first: how far the first is from `from`. */
static size_t count_changed(const unsigned char* bytes, size_t size, size_t* out_first) {
  size_t count = 0;
  for (size_t i = 0; i < size; i++)
    if (bytes[i] != MARK && count++ == 0) *out_first = i;
  return count;
}

static hone_status_t tell(const hone_program_t* program, const hone_frame_t* frame,
                          const hone_step_t* step, int value, size_t count, size_t distance,
                          const char* where) {
  const char* role = "input";
  for (int i = 0; i < step->n_outputs; i++)
    if (step->outputs[i] == value) role = "output";
  const char* name = frame->routine->values[value].name;
  return hone_status_make(HONE_INTERNAL, "kernel %s (%s) wrote %zu bytes %zu bytes %s its %s '%s'",
                          step->name, program->kernels[step->kernel].name, count, distance, where,
                          role, name);
}

static hone_status_t check_value(hone_context_t* context, const hone_frame_t* frame,
                                 const hone_step_t* step, int value) {
  const hone_program_t* program = context->program;
  const hone_slot_t* slot = &frame->slots[value];
  if (!slot->block || !slot->block->is_fenced) return NULL;
  unsigned char front[FRONT], back[BACK];
  const hone_block_t* block = slot->block; /* of a view: that of all its bytes */
  size_t first = 0;
  HONE_TRY(program->backend->copy_out(context->stream, front, block->memory, 0, FRONT));
  if (block->fence)
    HONE_TRY(program->backend->copy_out(context->stream, back, block->memory,
                                        block->bytes - block->fence, block->fence));
  HONE_TRY(program->backend->synchronize(context->stream));
  size_t count = count_changed(front, FRONT, &first);
  if (count) return tell(program, frame, step, value, count, FRONT - first, "before the start of");
  count = count_changed(back, block->fence, &first);
  return count ? tell(program, frame, step, value, count, first, "behind the end of") : NULL;
}

hone_status_t hone_fence_check(hone_context_t* context, const hone_frame_t* frame,
                               const hone_step_t* step) {
  for (int i = 0; i < step->n_buffers; i++)
    if (step->buffers[i] != HONE_BUFFER_ERROR)
      HONE_TRY(check_value(context, frame, step, step->buffers[i]));
  return NULL;
}
