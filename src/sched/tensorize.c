/* tensorize: a loop with all that is in it is what a device does in one instruction, a library, or
 * a function. */
#include "base/memory.h"
#include "loop/product.h"
#include "sched/common/edit.h"

/* What reads a buffer, and does not stand inside of `loop`. */
typedef struct readers {
  const hone_stmt_t* loop;
  const hone_buffer_t* buffer;
  bool found;
} readers_t;

static bool find_reader(void* self, hone_stmt_t* stmt) {
  readers_t* r = self;
  const hone_stmt_t* around = stmt;
  while (around && around != r->loop) around = around->parent;
  r->found |= !around && ((stmt->value && hone_term_reads(stmt->value, r->buffer)) ||
                          stmt->buffer == r->buffer);
  return !r->found;
}

/* The weights of a sparse product become a table, which nothing else could read. */
static hone_status_t make_table(hone_kernel_t* kernel, const hone_stmt_t* loop) {
  hone_product_t product;
  if (!hone_product_look(kernel, loop, true, &product)) return NULL;
  hone_buffer_t* weights = kernel->buffers[product.b.at.buffer->id];
  readers_t readers = {loop, weights, false};
  hone_stmt_walk(kernel->root, find_reader, &readers);
  if (weights->packing || readers.found)
    return hone_sched_refuse("tensorize %s: %s is packed already, or read elsewhere", loop->name,
                             weights->name);
  hone_packing_t* packing = hone_packing_create(kernel, weights->rank, weights->rank);
  if (!packing) return hone_oom();
  for (int i = 0; i < weights->rank; i++) {
    packing->dims[i] = weights->dims[i].k;
    packing->axes[i] = (hone_packing_axis_t){i, 1};
  }
  packing->is_sparse = true;
  packing->sums = product.sum_axis;
  packing->columns = product.column_axis;
  weights->packing = packing;
  return NULL;
}

/* Packed weights become words of nibbles, which nothing else could read. */
static hone_status_t make_words(hone_kernel_t* kernel, const hone_stmt_t* loop,
                                const hone_buffer_t* weights) {
  readers_t readers = {loop, weights, false};
  hone_stmt_walk(kernel->root, find_reader, &readers);
  if (readers.found)
    return hone_sched_refuse("tensorize %s: %s is read elsewhere", loop->name, weights->name);
  hone_packing_t* packing =
      hone_packing_clone(kernel, kernel->buffers[weights->id], weights->packing);
  if (!packing) return hone_oom();
  packing->in_nibbles = true;
  return NULL;
}

static hone_status_t check(hone_kernel_t* kernel, hone_stmt_t* loop,
                           const hone_intrinsic_t* intrinsic,
                           hone_operand_range_t operands[HONE_MAX_OPERANDS]) {
  bool matches;
  HONE_TRY(hone_intrinsic_match(kernel, loop, intrinsic, &matches, operands));
  if (matches) return NULL;
  return hone_sched_refuse(
      "tensorize %s: it is not what %s computes, or its elements do not lie "
      "side by side, or its weights are not slight, or fit no nibbles",
      loop->name, intrinsic->name);
}

hone_status_t hone_sched_tensorize(hone_kernel_t* kernel, const char* name,
                                   const char* intrinsic_name) {
  size_t begin = hone_sched_begin(kernel);
  hone_stmt_t* loop;
  HONE_TRY(hone_sched_find(kernel, name, &loop));
  HONE_TRY(hone_sched_want_serial(loop));
  const hone_intrinsic_t* intrinsic = hone_intrinsic_find(intrinsic_name);
  if (!intrinsic)
    return hone_status_make(HONE_NOT_FOUND, "there is no intrinsic '%s'", intrinsic_name);
  hone_operand_range_t operands[HONE_MAX_OPERANDS];
  HONE_TRY(check(kernel, loop, intrinsic, operands));
  if (intrinsic->is_sparse) HONE_TRY(make_table(kernel, loop));
  if (intrinsic->in_nibbles) HONE_TRY(make_words(kernel, loop, operands[1].buffer));
  loop->intrinsic = intrinsic->name;
  return hone_sched_end(kernel, begin, "tensorize %s %s", loop->name, intrinsic->name);
}

static hone_status_t apply(hone_kernel_t* kernel, int n, const char* const* args) {
  return hone_sched_tensorize(kernel, args[0], args[1]);
}

const hone_primitive_t hone_primitive_tensorize = {
    .name = "tensorize",
    .usage = "tensorize LOOP INTRINSIC",
    .min_args = 2,
    .max_args = 2,
    .apply = apply,
};
