#include "loop/slight.h"

#include "base/memory.h"

/* ---- kernels ---- */

/* The buffer that a number is read from, widened to i32; NULL: it is something else. */
static const hone_term_t* widened(const hone_term_t* term, hone_dtype_t dtype) {
  if (term->kind != HONE_TERM_PRIM || term->prim != HONE_PRIM_CAST || term->dtype != HONE_I32)
    return NULL;
  const hone_term_t* load = term->args[0];
  return load->kind == HONE_TERM_LOAD && load->dtype == dtype ? load : NULL;
}

/* The weights of a store that adds products of u8 by i8; NULL: it does not. */
static const hone_term_t* find_weights(const hone_stmt_t* store) {
  const hone_term_t* value = store->value;
  if (store->kind != HONE_STMT_STORE || store->combine != HONE_COMBINE_ADD ||
      value->kind != HONE_TERM_PRIM || value->prim != HONE_PRIM_MUL || value->dtype != HONE_I32)
    return NULL;
  for (int i = 0; i < 2; i++) {
    const hone_term_t* weights = widened(value->args[i], HONE_I8);
    if (weights && widened(value->args[1 - i], HONE_U8) && weights->buffer->is_constant)
      return weights;
  }
  return NULL;
}

/* The axis that the only loop of the sum goes along; -1: there is none. */
static int find_axis(const hone_stmt_t* store, const hone_term_t* weights) {
  const hone_stmt_t* sum = store->parent;
  if (sum->kind != HONE_STMT_LOOP || !sum->is_reduction || sum->parent->is_reduction) return -1;
  for (int i = 0; i < weights->buffer->rank; i++)
    if (hone_dim_same(weights->index[i], sum->var)) return i;
  return -1;
}

static int64_t count(const hone_buffer_t* buffer, int from, int to) {
  int64_t n = 1;
  for (int i = from; i < to; i++) n *= buffer->dims[i].k;
  return n;
}

typedef struct marker {
  hone_kernel_t* kernel;
  hone_contents_fn contents;
  void* self;
} marker_t;

static bool mark(void* self, hone_stmt_t* stmt) {
  const marker_t* m = self;
  const hone_term_t* weights = stmt->value ? find_weights(stmt) : NULL;
  int axis = weights && !weights->buffer->packing ? find_axis(stmt, weights) : -1;
  if (axis < 0) return true;
  hone_buffer_t* buffer = m->kernel->buffers[weights->buffer->id];
  for (int i = 0; i < buffer->rank; i++)
    if (!hone_dim_is_int(buffer->dims[i])) return true;
  const int8_t* data = m->contents(m->self, buffer);
  int64_t extent = buffer->dims[axis].k;
  if (data && extent && extent % HONE_SLIGHT_GROUP == 0 &&
      hone_slight_is(data, count(buffer, 0, axis), extent, count(buffer, axis + 1, buffer->rank)))
    buffer->slight = 1 + axis;
  return true;
}

void hone_slight_mark(hone_kernel_t* kernel, hone_contents_fn contents, void* self) {
  marker_t m = {kernel, contents, self};
  hone_stmt_walk(kernel->root, mark, &m);
}

/* ---- packed weights ---- */

static bool is_part(const hone_buffer_t* buffer, int axis, int64_t stride, int64_t extent) {
  const hone_packing_axis_t* part = &buffer->packing->axes[axis];
  return part->source == buffer->slight - 1 && part->stride == stride &&
         hone_dim_is(buffer->dims[axis], extent);
}

bool hone_slight_lies(const hone_buffer_t* buffer, int64_t lanes) {
  enum { FOUR = 4 };
  int last = buffer->rank - 1;
  return buffer->slight && buffer->packing && last >= 2 && is_part(buffer, last, 1, FOUR) &&
         hone_dim_is(buffer->dims[last - 1], lanes) &&
         is_part(buffer, last - 2, FOUR, HONE_SLIGHT_HALVES);
}
