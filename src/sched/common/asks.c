#include "sched/common/asks.h"

#include <string.h>

enum { LINE_BYTES = 64 };

static int64_t line_of(const hone_buffer_t* buffer) {
  return LINE_BYTES / (int64_t)hone_dtype_size(buffer->dtype);
}

int64_t hone_asks_lines(const hone_kernel_t* kernel, const hone_buffer_t* buffer, int axis) {
  int behind = axis + 1;
  hone_dim_t count = hone_dim_product(kernel->dims, buffer->rank - behind, buffer->dims + behind);
  return hone_dim_is_int(count) ? count.k / line_of(buffer) : 0;
}

int hone_asks_axis(const hone_kernel_t* kernel, const hone_buffer_t* buffer,
                   const hone_dim_t* index, const hone_stmt_t* loop) {
  for (int i = 0; i < buffer->rank - 1; i++)
    if (hone_dim_uses(index[i], loop->var) &&
        !hone_dim_uses(hone_dim_sub(kernel->dims, index[i], loop->var), loop->var))
      return i;
  return -1;
}

hone_dim_t hone_asks_in(const hone_kernel_t* kernel, const hone_stmt_t* stmt,
                        const hone_buffer_t* buffer) {
  hone_dims_t* dims = kernel->dims;
  hone_dim_t count = hone_dim_int(0);
  if (stmt->kind == HONE_STMT_PREFETCH) return hone_dim_int(stmt->buffer == buffer);
  for (int i = 0; i < stmt->n_body; i++)
    count = hone_dim_add(dims, count, hone_asks_in(kernel, stmt->body[i], buffer));
  return stmt->kind == HONE_STMT_LOOP ? hone_dim_mul(dims, count, stmt->extent) : count;
}

/* How many lines were asked for before, in this round of the loop: by earlier rounds of those
 * inside, and by what stands in front. */
static hone_dim_t count_before(const hone_kernel_t* kernel, const hone_stmt_t* stmt,
                               const hone_stmt_t* loop) {
  hone_dims_t* dims = kernel->dims;
  hone_dim_t number = hone_dim_int(0), each = hone_dim_int(1);
  for (const hone_stmt_t* s = stmt; s != loop; s = s->parent) {
    if (s->kind == HONE_STMT_LOOP) {
      number = hone_dim_add(dims, number, hone_dim_mul(dims, s->var, each));
      each = hone_dim_mul(dims, each, s->extent);
    }
    for (int i = 0; s->parent->body[i] != s; i++)
      number = hone_dim_add(dims, number, hone_asks_in(kernel, s->parent->body[i], stmt->buffer));
  }
  return number;
}

bool hone_asks_add(hone_kernel_t* kernel, hone_stmt_t* stmt, hone_dim_t lines) {
  hone_dims_t* dims = kernel->dims;
  int last = stmt->buffer->rank - 1;
  hone_dim_t index[HONE_MAX_BUFFER_RANK];
  memcpy(index, stmt->index, (size_t)(last + 1) * sizeof *index);
  hone_dim_t more = hone_dim_mul(dims, lines, hone_dim_int(line_of(stmt->buffer)));
  index[last] = hone_dim_add(dims, index[last], more);
  if (hone_dim_is_bad(index[last])) return true;
  stmt->index = hone_index_copy(kernel, last + 1, index);
  return stmt->index != NULL;
}

bool hone_asks_number(hone_kernel_t* kernel, hone_stmt_t* stmt, const hone_stmt_t* loop, int axis,
                      bool runs_on) {
  hone_dims_t* dims = kernel->dims;
  const hone_buffer_t* buffer = stmt->buffer;
  hone_dim_t last = hone_dim_int(hone_asks_lines(kernel, buffer, axis) - 1);
  hone_dim_t line = count_before(kernel, stmt, loop);
  if (!runs_on) line = hone_dim_min(dims, line, last);
  hone_dim_t index[HONE_MAX_BUFFER_RANK];
  memcpy(index, stmt->index, (size_t)buffer->rank * sizeof *index);
  index[buffer->rank - 1] = hone_dim_mul(dims, line, hone_dim_int(line_of(buffer)));
  stmt->index = hone_index_copy(kernel, buffer->rank, index);
  return stmt->index != NULL;
}
