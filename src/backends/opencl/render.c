/* Kernels as OpenCL C: what codegen/c_render.h leaves to the language.
 *
 * Groups and the work-items of one are counted along dimension 0, as module.c
 * launches them. PARALLEL loops take their turn by the group's number, one after the other or
 * together (loop/span.h). A GROUP axis is a digit of that number and an ITEM
 * axis one of the work-item's, the innermost axis the last digit. */
#include <stdio.h>

#include "backends/opencl/opencl.h"
#include "base/memory.h"
#include "codegen/c_render.h"
#include "loop/span.h"

static bool has_dtype(const void* self, hone_dtype_t dtype) {
  const hone_device_t* device = self;
  switch (dtype) {
    case HONE_F64:
      return device->has_f64;
    case HONE_F32:
    case HONE_F16:
    case HONE_BF16:
    case HONE_BOOL:
      return true;
    default:
      return hone_dtype_is_int(dtype) && hone_dtype_bits(dtype) >= 8;
  }
}

/* ---- the grid ---- */

static void declare_index(hone_c_render_t* render, const hone_stmt_t* loop, const char* from) {
  hone_c_indent(&render->text, render->depth);
  hone_str_append(&render->text, "const hone_i64 ");
  hone_c_symbol(&render->text, hone_dim_as_symbol(loop->var));
  hone_str_appendf(&render->text, " = %s", from);
}

/* " = NUMBER / (extents inside) % extent;" */
static void put_digit(hone_c_render_t* render, const hone_stmt_t* loop, const char* number) {
  declare_index(render, loop, number);
  const hone_stmt_t* inner = hone_c_inner_axis(loop, loop->loop);
  for (; inner; inner = hone_c_inner_axis(inner, loop->loop)) {
    hone_str_append(&render->text, " / ");
    hone_c_put_dim(render, inner->extent);
  }
  hone_str_append(&render->text, " % ");
  hone_c_put_dim(render, loop->extent);
  hone_str_append(&render->text, ";\n");
}

/* The group's number among the rounds of a loop at the top (hone_kernel_rounds): those before it
 * that go by themselves take the groups before, and all of them do if it goes along with others. */
static void put_turn(hone_c_render_t* render, const hone_stmt_t* loop) {
  const hone_stmt_t* root = render->kernel->root;
  bool goes_along = hone_loop_goes_along(render->kernel, loop);
  hone_str_append(&render->text, "(hone_i64)get_group_id(0)");
  for (int i = 0; i < root->n_body && (goes_along || root->body[i] != loop); i++) {
    const hone_stmt_t* before = root->body[i];
    if (!hone_stmt_is_parallel(before) || hone_loop_goes_along(render->kernel, before)) continue;
    hone_str_append(&render->text, " - ");
    hone_c_put_dim(render, before->extent);
  }
  hone_str_append(&render->text, ";\n");
}

/* With each group as large a part of the rounds as it is of those of the longest loop. */
static void bind_part(hone_c_render_t* render, const hone_stmt_t* loop, int64_t rounds) {
  long long own = loop->extent.k, all = rounds;
  hone_c_indent(&render->text, render->depth);
  hone_str_append(&render->text, "const hone_i64 turn = ");
  put_turn(render, loop);
  hone_c_open(render, "if (turn >= 0) ");
  hone_c_indent(&render->text, render->depth++);
  hone_str_append(&render->text, "for (hone_i64 ");
  hone_c_symbol(&render->text, hone_dim_as_symbol(loop->var));
  hone_str_appendf(&render->text, " = turn * %lld / %lld; ", own, all);
  hone_c_symbol(&render->text, hone_dim_as_symbol(loop->var));
  hone_str_appendf(&render->text, " < (turn + 1) * %lld / %lld; ", own, all);
  hone_c_symbol(&render->text, hone_dim_as_symbol(loop->var));
  hone_str_append(&render->text, "++) {\n");
}

static void bind_parallel(hone_c_render_t* render, const hone_stmt_t* loop) {
  int64_t rounds = hone_kernel_common_rounds(render->kernel);
  if (hone_loop_goes_along(render->kernel, loop) && loop->extent.k != rounds) {
    bind_part(render, loop, rounds);
    return;
  }
  declare_index(render, loop, "");
  put_turn(render, loop);
  hone_c_indent(&render->text, render->depth++);
  hone_str_append(&render->text, "if ((hone_u64)");
  hone_c_symbol(&render->text, hone_dim_as_symbol(loop->var));
  hone_str_append(&render->text, " < (hone_u64)");
  hone_c_put_dim(render, loop->extent);
  hone_str_append(&render->text, ") {\n");
}

static void bind_single(hone_c_render_t* render) {
  hone_c_indent(&render->text, render->depth++);
  hone_str_append(&render->text, "if (get_group_id(0) == 0) {\n");
}

/* A chain of as many rounds as the group has work-items takes one each; of any
 * other number, they share them. */
static void bind_item(hone_c_render_t* render, const hone_stmt_t* loop) {
  int64_t rounds = loop->extent.k;
  bool is_known = hone_dim_is_int(loop->extent);
  if (loop->parent->loop == HONE_LOOP_ITEM && loop->parent->kind == HONE_STMT_LOOP) {
    put_digit(render, loop, "item");
    return;
  }
  const hone_stmt_t* inner = hone_c_inner_axis(loop, HONE_LOOP_ITEM);
  for (; inner && is_known; inner = hone_c_inner_axis(inner, HONE_LOOP_ITEM))
    is_known = hone_dim_is_int(inner->extent) && hone_i64_mul(rounds, inner->extent.k, &rounds);
  if (!is_known) {
    hone_c_fail(render, hone_status_make(HONE_UNSUPPORTED, "work-items without a known number"));
    return;
  }
  if (rounds == hone_c_count_items(render->kernel))
    hone_c_line(render, "const hone_i64 item = get_local_id(0);");
  else
    hone_c_open(render,
                "for (hone_i64 item = get_local_id(0); item < %lld; item += get_local_size(0)) ",
                (long long)rounds);
  put_digit(render, loop, "item");
}

static void bind(hone_c_render_t* render, const hone_stmt_t* loop) {
  bool is_grid = loop->kind == HONE_STMT_LOOP &&
                 (loop->loop == HONE_LOOP_PARALLEL || loop->loop == HONE_LOOP_GROUP ||
                  loop->loop == HONE_LOOP_ITEM);
  if (!is_grid)
    bind_single(render);
  else if (loop->loop == HONE_LOOP_PARALLEL)
    bind_parallel(render, loop);
  else if (loop->loop == HONE_LOOP_GROUP)
    put_digit(render, loop, "(hone_i64)get_group_id(0)");
  else
    bind_item(render, loop);
}

/* ---- the function's head ---- */

/* "__global const hone_f32* x_b0 = (__global const hone_f32*)(m0 + o0);" */
static void put_pointer(hone_c_render_t* render, const hone_buffer_t* buffer) {
  const char* dtype = hone_dtype_name(hone_c_stored(buffer->dtype));
  const char* access = buffer->role == HONE_ROLE_INPUT ? "const " : "";
  hone_str_appendf(&render->text, "  __global %shone_%s* ", access, dtype);
  hone_c_buffer(&render->text, buffer);
  hone_str_appendf(&render->text, " = (__global %shone_%s*)(m%d + o%d);\n", access, dtype,
                   buffer->id, buffer->id);
}

static void begin(hone_c_render_t* render, const char* name) {
  const hone_kernel_t* kernel = render->kernel;
  const char* separator = "";
  int64_t items = hone_c_count_items(kernel);
  hone_str_appendf(&render->text, "#undef HONE_LANES\n#define HONE_LANES %d\n__kernel ",
                   render->lanes);
  if (items)
    hone_str_appendf(&render->text, "__attribute__((reqd_work_group_size(%lld, 1, 1)))\n",
                     (long long)items);
  hone_str_appendf(&render->text, "void %s(", name);
  for (int i = 0; i < kernel->n_buffers; i++, separator = ", ") {
    if (kernel->buffers[i]->space != HONE_SPACE_GLOBAL) continue;
    hone_str_appendf(&render->text, "%s__global uchar* m%d, ulong o%d", separator, i, i);
  }
  for (int i = 0; i < kernel->n_sizes; i++, separator = ", ") {
    hone_str_appendf(&render->text, "%shone_i64 ", separator);
    hone_c_symbol(&render->text, hone_dim_as_symbol(kernel->sizes[i]));
  }
  hone_str_append(&render->text, ") {\n");
  render->depth++;
  for (int i = 0; i < kernel->n_buffers; i++)
    if (kernel->buffers[i]->space == HONE_SPACE_GLOBAL) put_pointer(render, kernel->buffers[i]);
}

hone_status_t hone_opencl_render(const hone_device_t* device, const hone_kernel_t* kernel,
                                 const char* name, hone_blob_t* out_source) {
  const hone_dialect_t dialect = {
      .spaces = {[HONE_SPACE_GLOBAL] = "__global ",
                 [HONE_SPACE_SHARED] = "__local ",
                 [HONE_SPACE_LOCAL] = ""},
      .barrier = "barrier(CLK_LOCAL_MEM_FENCE);",
      .max_lanes = 16,
      .has_dtype = has_dtype,
      .has_vector = hone_opencl_has_vector,
      .has_fold = hone_opencl_has_fold,
      .begin = begin,
      .bind = bind,
      .self = device,
  };
  return hone_c_render(kernel, name, &dialect, out_source);
}

bool hone_opencl_supports(const hone_device_t* device, const hone_kernel_t* kernel, char* why) {
  hone_blob_t source;
  hone_status_t status = hone_opencl_render(device, kernel, "kernel", &source);
  snprintf(why, HONE_DEVICE_TEXT_SIZE, "%s", hone_status_message(status));
  if (!status) hone_free(kernel->allocator, source.data, source.size);
  hone_status_free(status);
  return !status;
}
