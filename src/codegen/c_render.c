/* The tree of a kernel as source text: loops, stores, buffers. */
#include "codegen/c_render.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

/* Statements that unrolling may write; what is larger stays a loop. */
enum { MOST_UNROLLED = 4096, MOST_LANES = 16 };

/* ---- lines ---- */

void hone_c_fail(hone_c_render_t* render, hone_status_t status) {
  if (render->status)
    hone_status_free(status);
  else
    render->status = status;
}

static void put_line(hone_c_render_t* render, const char* format, va_list args) {
  char text[512];
  vsnprintf(text, sizeof text, format, args);
  hone_str_appendf(&render->text, "%*s%s", 2 * render->depth, "", text);
}

void hone_c_line(hone_c_render_t* render, const char* format, ...) {
  va_list args;
  va_start(args, format);
  put_line(render, format, args);
  va_end(args);
  hone_str_append(&render->text, "\n");
}

void hone_c_open(hone_c_render_t* render, const char* format, ...) {
  va_list args;
  va_start(args, format);
  put_line(render, format, args);
  va_end(args);
  hone_str_append(&render->text, "{\n");
  render->depth++;
}

void hone_c_close(hone_c_render_t* render) {
  render->depth--;
  hone_c_line(render, "}");
}

/* ---- statements ---- */

static void put_stmt(hone_c_render_t* render, const hone_stmt_t* stmt);

static void put_var(hone_c_render_t* render, hone_dim_t var) {
  hone_c_symbol(&render->text, hone_dim_as_symbol(var));
}

static void declare_in(hone_c_render_t* render, const hone_stmt_t* scope);

static void put_body(hone_c_render_t* render, const hone_stmt_t* stmt) {
  declare_in(render, stmt);
  for (int i = 0; i < stmt->n_body; i++) put_stmt(render, stmt->body[i]);
}

/* Starts a block for the lines of a value. */
static void begin_value(hone_c_render_t* render, const hone_term_t* value) {
  hone_c_open(render, "%s", "");
  render->statement++;
  hone_c_compute(render, value);
  hone_c_indent(&render->text, render->depth);
}

static void end_value(hone_c_render_t* render) {
  hone_str_append(&render->text, ";\n");
  hone_c_close(render);
}

/* Floats added to with a product of floats: one multiply-add. */
static bool is_product_sum(const hone_stmt_t* stmt) {
  const hone_term_t* value = stmt->value;
  return stmt->combine == HONE_COMBINE_ADD && value->kind == HONE_TERM_PRIM &&
         value->prim == HONE_PRIM_MUL && (value->dtype == HONE_F32 || value->dtype == HONE_F64);
}

static void put_old(hone_c_render_t* render, const hone_stmt_t* stmt, bool wide) {
  hone_c_put_access(render, "load", stmt->buffer, stmt->index, wide);
  hone_str_append(&render->text, "(");
  hone_c_put_address(render, stmt->buffer, stmt->index);
  hone_str_append(&render->text, ")");
}

/* The value, or that of all lanes together where they go to one element. */
static void put_lanes(hone_c_render_t* render, const hone_stmt_t* stmt, bool wide) {
  bool folds = !wide && hone_c_is_wide(render, stmt->value);
  if (folds) {
    hone_str_appendf(&render->text, "hone_reduce_%s_%sv(", hone_combine_name(stmt->combine),
                     hone_dtype_name(hone_c_computing(stmt->value->dtype)));
    hone_c_put_operand(render, stmt->value, true);
    hone_str_append(&render->text, ")");
    return;
  }
  hone_c_put_operand(render, stmt->value, wide);
}

static void put_combined(hone_c_render_t* render, const hone_stmt_t* stmt, bool wide) {
  hone_dtype_t dtype = hone_c_computing(stmt->buffer->dtype);
  bool folds = !wide && hone_c_is_wide(render, stmt->value);
  if (stmt->combine == HONE_COMBINE_SET) {
    put_lanes(render, stmt, wide);
  } else if (is_product_sum(stmt) && !folds) {
    hone_c_put_name(render, "fma", dtype, wide);
    hone_str_append(&render->text, "(");
    hone_c_put_operand(render, stmt->value->args[0], wide);
    hone_str_append(&render->text, ", ");
    hone_c_put_operand(render, stmt->value->args[1], wide);
    hone_str_append(&render->text, ", ");
    put_old(render, stmt, wide);
    hone_str_append(&render->text, ")");
  } else {
    hone_c_put_name(render, hone_combine_name(stmt->combine), dtype, wide);
    hone_str_append(&render->text, "(");
    put_old(render, stmt, wide);
    hone_str_append(&render->text, ", ");
    put_lanes(render, stmt, wide);
    hone_str_append(&render->text, ")");
  }
}

/* Each lane to an element of its own. */
static bool stores_lanes(const hone_c_render_t* render, const hone_stmt_t* stmt) {
  int64_t step = 0;
  return hone_c_access_step(render, stmt->buffer, stmt->index, &step) && step != 0;
}

/* A product that is added is not needed by itself. */
static void begin_store(hone_c_render_t* render, const hone_stmt_t* stmt) {
  bool folds = hone_c_is_wide(render, stmt->value) && !stores_lanes(render, stmt);
  if (!is_product_sum(stmt) || folds) {
    begin_value(render, stmt->value);
    return;
  }
  hone_c_open(render, "%s", "");
  render->statement++;
  for (int i = 0; i < 2; i++) hone_c_compute(render, stmt->value->args[i]);
  hone_c_indent(&render->text, render->depth);
}

static void put_store(hone_c_render_t* render, const hone_stmt_t* stmt) {
  bool wide = stores_lanes(render, stmt);
  begin_store(render, stmt);
  hone_c_put_access(render, "store", stmt->buffer, stmt->index, wide);
  hone_str_append(&render->text, "(");
  hone_c_put_address(render, stmt->buffer, stmt->index);
  hone_str_append(&render->text, ", ");
  put_combined(render, stmt, wide);
  hone_str_append(&render->text, ")");
  end_value(render);
}

static void put_let(hone_c_render_t* render, const hone_stmt_t* stmt) {
  hone_str_appendf(&render->text, "%*shone_i64 ", 2 * render->depth, "");
  put_var(render, stmt->var);
  hone_str_append(&render->text, ";\n");
  begin_value(render, stmt->value);
  put_var(render, stmt->var);
  hone_str_append(&render->text, " = ");
  hone_c_put_operand(render, stmt->value, false);
  end_value(render);
}

/* A condition outlives the block of its value in a variable. */
static int put_condition(hone_c_render_t* render, const hone_stmt_t* stmt) {
  int number = render->statement + 1;
  hone_c_line(render, "hone_bool c%d;", number);
  begin_value(render, stmt->value);
  hone_str_appendf(&render->text, "c%d = ", number);
  hone_c_put_operand(render, stmt->value, false);
  end_value(render);
  return number;
}

static void put_if(hone_c_render_t* render, const hone_stmt_t* stmt) {
  hone_c_open(render, "if (c%d) ", put_condition(render, stmt));
  put_body(render, stmt);
  hone_c_close(render);
}

static bool is_barrier(void* self, hone_stmt_t* stmt) {
  (void)self;
  return stmt->kind != HONE_STMT_BARRIER;
}

static void put_check(hone_c_render_t* render, const hone_stmt_t* stmt) {
  const hone_buffer_t* error = hone_kernel_find_buffer(render->kernel, HONE_ROLE_ERROR, 0);
  if (!error) {
    hone_c_fail(render, hone_status_make(HONE_INTERNAL, "a check without an error buffer"));
    return;
  }
  hone_c_open(render, "if (!c%d) ", put_condition(render, stmt));
  hone_str_appendf(&render->text, "%*shone_store_i64(", 2 * render->depth, "");
  hone_c_buffer(&render->text, error);
  hone_str_appendf(&render->text, ", %d);\n", stmt->check + 1);
  if (hone_stmt_walk(render->kernel->root, is_barrier, NULL)) hone_c_line(render, "return;");
  hone_c_close(render);
}

/* ---- loops ---- */

static void put_plain_loop(hone_c_render_t* render, const hone_stmt_t* loop) {
  hone_str_appendf(&render->text, "%*sfor (hone_i64 ", 2 * render->depth, "");
  put_var(render, loop->var);
  hone_str_append(&render->text, " = 0; ");
  put_var(render, loop->var);
  hone_str_append(&render->text, " < ");
  hone_c_put_dim(render, loop->extent);
  hone_str_append(&render->text, "; ");
  put_var(render, loop->var);
  hone_str_append(&render->text, "++) {\n");
  render->depth++;
  put_body(render, loop);
  hone_c_close(render);
}

static bool is_regular(const hone_c_render_t* render, const hone_term_t* term) {
  int64_t step;
  const hone_dialect_t* dialect = render->dialect;
  if (term->kind == HONE_TERM_PRIM && dialect->has_vector &&
      !dialect->has_vector(term->prim, hone_c_computing(term->args[0]->dtype)))
    return false;
  if (term->kind == HONE_TERM_INDEX) return hone_c_step(render, term->dim, &step);
  if (term->kind == HONE_TERM_LOAD)
    return hone_c_access_step(render, term->buffer, term->index, &step);
  for (int i = 0; i < term->n_args; i++)
    if (!is_regular(render, term->args[i])) return false;
  return true;
}

/* Whether it can be done for all lanes at once: stores to neighbours, or of
 * all lanes into one element. */
static bool is_vector_store(const hone_c_render_t* render, const hone_stmt_t* stmt) {
  int64_t step;
  bool (*has_fold)(hone_dtype_t) = render->dialect->has_fold;
  if (stmt->kind != HONE_STMT_STORE || !is_regular(render, stmt->value) ||
      !hone_c_access_step(render, stmt->buffer, stmt->index, &step))
    return false;
  return step == 1 ||
         (step == 0 && stmt->combine != HONE_COMBINE_SET && hone_c_is_wide(render, stmt->value) &&
          (!has_fold || has_fold(hone_c_computing(stmt->buffer->dtype))));
}

static bool is_vector_loop(const hone_c_render_t* render, const hone_stmt_t* loop) {
  for (int i = 0; i < loop->n_body; i++)
    if (!is_vector_store(render, loop->body[i])) return false;
  return true;
}

/* `lanes` rounds at a time. */
static void put_vectors(hone_c_render_t* render, const hone_stmt_t* loop) {
  int id = hone_dim_as_symbol(loop->var)->id;
  render->is_mapped[id] = true;
  for (int64_t i = 0; i < loop->extent.k; i += render->lanes) {
    render->to[id] = hone_dim_int(i);
    put_body(render, loop);
  }
  render->is_mapped[id] = false;
}

static void put_vector_loop(hone_c_render_t* render, const hone_stmt_t* loop) {
  render->vector = loop;
  bool is_vector = render->lanes > 1 && hone_dim_is_int(loop->extent) &&
                   loop->extent.k % render->lanes == 0 && is_vector_loop(render, loop);
  if (is_vector) put_vectors(render, loop);
  render->vector = NULL;
  if (!is_vector) put_plain_loop(render, loop);
}

static void put_bound_loop(hone_c_render_t* render, const hone_stmt_t* loop) {
  if (!render->dialect->bind) {
    put_plain_loop(render, loop);
    return;
  }
  int depth = render->depth;
  hone_c_open(render, "%s", "");
  render->dialect->bind(render, loop);
  put_body(render, loop);
  while (render->depth > depth) hone_c_close(render);
}

static void put_loop(hone_c_render_t* render, const hone_stmt_t* loop) {
  switch (loop->loop) {
    case HONE_LOOP_VECTOR:
      put_vector_loop(render, loop);
      break;
    case HONE_LOOP_PARALLEL:
    case HONE_LOOP_GROUP:
    case HONE_LOOP_ITEM:
      put_bound_loop(render, loop);
      break;
    case HONE_LOOP_UNROLL: /* too large for it, or of unknown extent */
    case HONE_LOOP_SERIAL:
    case HONE_LOOP_KIND_COUNT:
      put_plain_loop(render, loop);
      break;
  }
}

static void put_stmt(hone_c_render_t* render, const hone_stmt_t* stmt) {
  switch (stmt->kind) {
    case HONE_STMT_LOOP:
      put_loop(render, stmt);
      break;
    case HONE_STMT_STORE:
      put_store(render, stmt);
      break;
    case HONE_STMT_IF:
      put_if(render, stmt);
      break;
    case HONE_STMT_LET:
      put_let(render, stmt);
      break;
    case HONE_STMT_CHECK:
      put_check(render, stmt);
      break;
    case HONE_STMT_BARRIER:
      if (render->dialect->barrier)
        hone_c_line(render, "%s", render->dialect->barrier);
      else
        hone_c_fail(render, hone_status_make(HONE_UNSUPPORTED, "barriers"));
      break;
    case HONE_STMT_PREFETCH:
    case HONE_STMT_KIND_COUNT:
      break;
  }
}

/* ---- kernels ---- */

/* Most elements it can have. */
static int64_t room_of(hone_c_render_t* render, const hone_buffer_t* buffer) {
  int64_t count = 1;
  for (int i = 0; i < buffer->rank; i++)
    if (!hone_i64_mul(count, hone_dim_max_value(buffer->dims[i]), &count))
      hone_c_fail(render,
                  hone_status_make(HONE_UNSUPPORTED, "buffer '%s' has no bound", buffer->name));
  return count > 0 ? count : 1;
}

static void declare(hone_c_render_t* render, const hone_buffer_t* buffer) {
  hone_c_indent(&render->text, render->depth);
  hone_str_appendf(&render->text, "%shone_%s ", render->dialect->spaces[buffer->space],
                   hone_dtype_name(hone_c_stored(buffer->dtype)));
  hone_c_buffer(&render->text, buffer);
  bool is_local = buffer->space == HONE_SPACE_LOCAL;
  hone_str_appendf(&render->text, "[%lld]%s;\n", (long long)room_of(render, buffer),
                   is_local ? " __attribute__((aligned(64)))" : "");
}

/* Languages want what a group shares at the top of the function. */
static void declare_in(hone_c_render_t* render, const hone_stmt_t* scope) {
  const hone_kernel_t* kernel = render->kernel;
  for (int i = 0; i < kernel->n_buffers; i++) {
    const hone_buffer_t* buffer = kernel->buffers[i];
    if (buffer->space == HONE_SPACE_GLOBAL) continue;
    bool at_top = buffer->space == HONE_SPACE_SHARED;
    const hone_stmt_t* place = at_top ? kernel->root : hone_buffer_scope(kernel, buffer);
    if (place == scope) declare(render, buffer);
  }
}

/* The shortest vector loop of a power of two: those that are no multiples of it are no vectors. */
static bool shorten_lanes(void* self, hone_stmt_t* stmt) {
  hone_c_render_t* render = self;
  if (stmt->kind != HONE_STMT_LOOP || stmt->loop != HONE_LOOP_VECTOR) return true;
  int64_t extent = hone_dim_is_int(stmt->extent) ? stmt->extent.k : 1;
  if (extent & (extent - 1)) return true; /* stays a loop */
  if (extent > 0 && (render->lanes == 0 || extent < render->lanes)) render->lanes = (int)extent;
  return true;
}

static void choose_lanes(hone_c_render_t* render) {
  int most = render->dialect->max_lanes;
  hone_stmt_walk(render->kernel->root, shorten_lanes, render);
  if (most > MOST_LANES) most = MOST_LANES;
  if (render->lanes > most) render->lanes = most;
  if (render->lanes & (render->lanes - 1)) render->lanes = 1;
  if (render->lanes == 0) render->lanes = 1;
}

static void check_buffers(hone_c_render_t* render) {
  for (int i = 0; i < render->kernel->n_buffers; i++) {
    hone_dtype_t dtype = render->kernel->buffers[i]->dtype;
    if (!render->dialect->has_dtype(render->dialect->self, dtype))
      hone_c_fail(render, hone_status_make(HONE_UNSUPPORTED, "elements of type %s",
                                           hone_dtype_name(dtype)));
    const hone_packing_t* packing = render->kernel->buffers[i]->packing;
    if (packing && packing->is_sparse)
      hone_c_fail(render, hone_status_make(HONE_UNSUPPORTED, "a sparse packing"));
    if (packing && packing->in_nibbles)
      hone_c_fail(render, hone_status_make(HONE_UNSUPPORTED, "words of nibbles"));
  }
}

/* What stands beside a parallel loop is done once, not by every thread. */
static void put_top(hone_c_render_t* render) {
  const hone_stmt_t* root = render->kernel->root;
  bool has_parallel = false;
  for (int i = 0; i < root->n_body; i++) has_parallel |= hone_stmt_is_parallel(root->body[i]);
  declare_in(render, root);
  for (int i = 0; i < root->n_body; i++) {
    const hone_stmt_t* stmt = root->body[i];
    bool is_single = has_parallel && !hone_stmt_is_parallel(stmt) && stmt->kind != HONE_STMT_LET;
    int depth = render->depth;
    if (is_single && render->dialect->bind) render->dialect->bind(render, stmt);
    put_stmt(render, stmt);
    while (render->depth > depth) hone_c_close(render);
  }
}

static void put_kernel(hone_c_render_t* render, const char* name) {
  choose_lanes(render);
  check_buffers(render);
  if (render->status) return;
  if (render->dialect->bind) hone_c_check_grid(render);
  render->dialect->begin(render, name);
  put_top(render);
  hone_c_close(render);
}

static hone_status_t finish(hone_c_render_t* render, hone_blob_t* out_source) {
  char* text;
  size_t size;
  if (render->status) {
    hone_str_free(&render->text);
    return render->status;
  }
  HONE_TRY(hone_str_take(&render->text, &text, &size));
  *out_source = (hone_blob_t){text, size + 1};
  return NULL;
}

/* ---- before: a copy whose loops are unrolled where they are not too large ---- */

/* Statements there are when all unrolled loops are. */
static int64_t unrolled_size(const hone_stmt_t* stmt) {
  int64_t size = 1;
  for (int i = 0; i < stmt->n_body && size <= MOST_UNROLLED; i++)
    size += unrolled_size(stmt->body[i]);
  bool is_unrolled = stmt->kind == HONE_STMT_LOOP && stmt->loop == HONE_LOOP_UNROLL;
  if (!is_unrolled || !hone_dim_is_int(stmt->extent)) return size;
  return stmt->extent.k <= MOST_UNROLLED ? size * stmt->extent.k : MOST_UNROLLED + 1;
}

static bool keep_large(void* self, hone_stmt_t* stmt) {
  (void)self;
  if (stmt->kind == HONE_STMT_LOOP && stmt->loop == HONE_LOOP_UNROLL &&
      unrolled_size(stmt) > MOST_UNROLLED)
    stmt->loop = HONE_LOOP_SERIAL;
  return true;
}

static hone_status_t prepare(hone_c_render_t* render) {
  hone_kernel_t* kernel = render->kernel;
  hone_stmt_walk(kernel->root, keep_large, NULL);
  HONE_TRY(hone_kernel_expand_unrolled(kernel));
  HONE_TRY(hone_kernel_name_sizes(kernel));
  render->n_symbols = hone_dims_symbol_count(kernel->dims);
  size_t n = (size_t)render->n_symbols + 1;
  render->to = hone_arena_array(kernel->arena, n, sizeof *render->to);
  render->is_mapped = hone_arena_array(kernel->arena, n, sizeof *render->is_mapped);
  n = (size_t)kernel->n_terms + 1;
  render->computed = hone_arena_array(kernel->arena, n, sizeof *render->computed);
  return render->to && render->is_mapped && render->computed ? NULL : hone_oom();
}

hone_status_t hone_c_render(const hone_kernel_t* kernel, const char* name,
                            const hone_dialect_t* dialect, hone_blob_t* out_source) {
  hone_c_render_t render = {.dialect = dialect};
  HONE_TRY(hone_kernel_clone(kernel, &render.kernel));
  hone_str_init(&render.text, kernel->allocator);
  hone_status_t status = prepare(&render);
  if (!status) {
    put_kernel(&render, name);
    if (render.kernel->out_of_memory) hone_c_fail(&render, hone_oom());
    status = finish(&render, out_source);
  }
  hone_kernel_destroy(render.kernel);
  return status;
}
