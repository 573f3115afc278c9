/* The tree of a kernel as one C function. */
#include "backends/cpu/render.h"

#include <stdio.h>
#include <string.h>

#include "backends/cpu/render_impl.h"
#include "base/memory.h"

void hone_render_refuse(hone_renderer_t* r, const char* what) {
  if (!r->status)
    r->status = hone_status_make(HONE_UNSUPPORTED, "kernel '%s' %s", r->kernel->name, what);
}

static void render_body(hone_renderer_t* r, const hone_stmt_t* stmt);

/* ---- statements ---- */

/* One look-up in each round, which leaves the processor half idle when it also counts each. */
static bool looks_up(const hone_stmt_t* loop) {
  return loop->n_body == 2 && loop->body[0]->kind == HONE_STMT_LET && hone_stmt_is_lookup(loop);
}

enum { FEW_STEPS = 16 /* of a sum: the compiler may write them all out */ };

/* NOLINTNEXTLINE(misc-no-recursion): as deep as loops are nested */
static int count_vectors(const hone_stmt_t* stmt) {
  int count = stmt->kind == HONE_STMT_LOOP && stmt->loop == HONE_LOOP_VECTOR;
  for (int i = 0; i < stmt->n_body; i++) count += count_vectors(stmt->body[i]);
  return count;
}

static bool has_other_loops(const hone_stmt_t* loop) {
  for (int i = 0; i < loop->n_body; i++)
    if (loop->body[i]->kind == HONE_STMT_LOOP && loop->body[i]->loop != HONE_LOOP_VECTOR)
      return true;
  return false;
}

/* Whether the loop is a sum in registers of more rounds than a window is wide. */
static bool is_long(const hone_stmt_t* loop, int rounds) {
  return !has_other_loops(loop) &&
         (!hone_dim_is_int(loop->extent) ||
          (loop->extent.k > rounds && loop->extent.k % rounds == 0) || loop->extent.k > FEW_STEPS);
}

/* How many rounds the compiler is to write out; 0: what it likes.
 * A short sum over a whole tile it would write out altogether: what steps have in common it would
 * keep in registers, and put sums of the tile on the stack. Of long ones some steps at once save
 * what counts them, where vectors of 16 floats do not make each step long enough: a core that
 * two threads share takes in three instructions of each a cycle, of which two may be products. */
static int count_rounds(const hone_renderer_t* r, const hone_stmt_t* loop) {
  enum { WIDE_LANES = 16, SOME_SUMS = 6, MANY_SUMS = 8, ROUNDS = 4, LOOK_UPS = 8 };
  if (looks_up(loop)) return LOOK_UPS;
  int sums = loop->is_reduction ? count_vectors(loop) : 0;
  if (sums >= SOME_SUMS && r->lanes < WIDE_LANES && is_long(loop, ROUNDS)) return ROUNDS;
  return sums >= MANY_SUMS && hone_dim_is_int(loop->extent) && loop->extent.k <= FEW_STEPS;
}

static void put_loop_head(hone_renderer_t* r, const hone_stmt_t* loop, const char* begin,
                          const char* end) {
  const hone_symbol_t* var = hone_dim_as_symbol(loop->var);
  int rounds = count_rounds(r, loop);
  if (rounds) hone_str_appendf(r->out, "#pragma GCC unroll %d\n", rounds);
  hone_c_indent(r->out, r->depth);
  hone_str_append(r->out, "for (long ");
  hone_c_symbol(r->out, var);
  hone_str_appendf(r->out, " = %s; ", begin);
  hone_c_symbol(r->out, var);
  hone_str_append(r->out, " < ");
  if (end)
    hone_str_append(r->out, end);
  else
    hone_c_dim(r->out, loop->extent);
  hone_str_append(r->out, "; ");
  hone_c_symbol(r->out, var);
  hone_str_append(r->out, "++) {\n");
}

static void render_inside(hone_renderer_t* r, const hone_stmt_t* stmt) {
  r->depth++;
  hone_render_declarations(r, stmt);
  render_body(r, stmt);
  r->depth--;
}

static void close_block(hone_renderer_t* r) {
  hone_c_indent(r->out, r->depth);
  hone_str_append(r->out, "}\n");
}

static void render_vector(hone_renderer_t* r, const hone_stmt_t* loop) {
  hone_c_indent(r->out, r->depth);
  hone_str_append(r->out, "{\n");
  r->vector = loop;
  render_inside(r, loop);
  r->vector = NULL;
  close_block(r);
}

/* The loop's rounds from `begin` to `end`; NULL: all. */
static void render_from(hone_renderer_t* r, const hone_stmt_t* loop, const char* begin,
                        const char* end) {
  if (looks_up(loop) && hone_render_lookup(r, loop, begin, end)) return;
  put_loop_head(r, loop, begin, end);
  render_inside(r, loop);
  close_block(r);
}

static void render_loop(hone_renderer_t* r, const hone_stmt_t* loop) {
  if (loop->loop == HONE_LOOP_VECTOR) {
    render_vector(r, loop);
    return;
  }
  if (hone_render_intrinsic_text(loop)) {
    hone_render_intrinsic(r, loop);
    return;
  }
  if (hone_render_is_sparse(loop)) {
    hone_render_sparse(r, loop);
    return;
  }
  if (hone_render_is_product(loop)) hone_render_open_product(r, loop);
  hone_block_t block;
  bool has_sums = hone_render_open_sums(r, loop, &block);
  if (hone_render_is_block(loop))
    hone_render_block(r, loop);
  else
    render_from(r, loop, "0", NULL);
  if (has_sums) hone_render_close_sums(r, &block);
}

static void render_condition(hone_renderer_t* r, const hone_stmt_t* stmt, const char* head,
                             const char* tail, hone_map_t* done) {
  hone_operand_t condition = hone_render_term(r, stmt->value, done);
  if (condition.is_vector) hone_render_refuse(r, "has a condition that differs between lanes");
  hone_c_indent(r->out, r->depth);
  hone_str_appendf(r->out, "if (%st%d) %s\n", head, condition.temporary, tail);
}

static void render_let(hone_renderer_t* r, const hone_stmt_t* stmt, hone_map_t* done) {
  hone_operand_t value = hone_render_term(r, stmt->value, done);
  if (value.is_vector) hone_render_refuse(r, "binds an integer that differs between lanes");
  hone_c_indent(r->out, r->depth);
  hone_str_append(r->out, "const long ");
  hone_c_symbol(r->out, hone_dim_as_symbol(stmt->var));
  hone_str_appendf(r->out, " = t%d;\n", value.temporary);
}

static void render_check(hone_renderer_t* r, const hone_stmt_t* stmt, hone_map_t* done) {
  char report[64];
  snprintf(report, sizeof report, "*hone_error = %d;", stmt->check + 1);
  render_condition(r, stmt, "!", report, done);
}

static void render_if(hone_renderer_t* r, const hone_stmt_t* stmt, hone_map_t* done) {
  render_condition(r, stmt, "", "{", done);
  render_inside(r, stmt);
  close_block(r);
}

/* Into the second cache, or the first one, which mostly is full of what is used now. What is to be
 * near comes past the caches behind the first: weights that are read once in a run
 * would drive out of them what the next kernels read. */
static void render_prefetch(hone_renderer_t* r, const hone_stmt_t* stmt) {
  hone_c_indent(r->out, r->depth);
  hone_str_append(r->out, stmt->is_claim ? "hone_claim(" : "__builtin_prefetch(");
  hone_render_address(r, stmt->buffer, stmt->index,
                      hone_buffer_offset(r->kernel, stmt->buffer, stmt->index));
  hone_str_append(r->out, stmt->is_claim ? ");\n" : stmt->is_near ? ", 0, 0);\n" : ", 0, 2);\n");
}

/* The temporaries of a statement are seen by it alone, but a let's variable
 * by those that follow. */
static void render_stmt(hone_renderer_t* r, const hone_stmt_t* stmt) {
  hone_map_t done;
  hone_map_init(&done, r->kernel->allocator);
  switch (stmt->kind) {
    case HONE_STMT_LOOP:
      render_loop(r, stmt);
      break;
    case HONE_STMT_STORE:
      hone_render_store(r, stmt, &done);
      break;
    case HONE_STMT_IF:
      render_if(r, stmt, &done);
      break;
    case HONE_STMT_LET:
      render_let(r, stmt, &done);
      break;
    case HONE_STMT_CHECK:
      render_check(r, stmt, &done);
      break;
    case HONE_STMT_PREFETCH:
      render_prefetch(r, stmt);
      break;
    default:
      hone_render_refuse(r, "has a barrier, and there are no groups");
      break;
  }
  hone_map_free(&done);
}

/* Writes the first of some stores that stand together, with those that go with it; gives how
 * many. */
static int render_some(hone_renderer_t* r, const hone_stmt_t* const* stores, int n,
                       hone_map_t* done) {
  if (hone_render_store_four(r, stores, n, done)) return HONE_RENDER_FOUR;
  int turned = hone_render_store_turned(r, stores, n, done);
  if (turned) return turned;
  if (n > 1 && hone_render_may_pair(stores[0], stores[1]) &&
      hone_render_store_pair(r, stores[0], stores[1], done))
    return 2;
  if (n > 1 && hone_render_store_woven(r, stores[0], stores[1], done)) return 2;
  hone_render_store(r, stores[0], done);
  return 1;
}

/* Stores that stand together; gives how many. */
static int render_stores(hone_renderer_t* r, const hone_stmt_t* stmt, int first) {
  const hone_stmt_t* const* stores = (const hone_stmt_t* const*)stmt->body + first;
  hone_map_t done;
  int n = 0;
  while (first + n < stmt->n_body && hone_render_may_follow(r->kernel, stores, n, stores[n])) n++;
  hone_map_init(&done, r->kernel->allocator);
  for (int i = 0; i < n;) i += render_some(r, stores + i, n - i, &done);
  hone_map_free(&done);
  return n;
}

static void render_body(hone_renderer_t* r, const hone_stmt_t* stmt) {
  for (int i = 0; i < stmt->n_body;) {
    int together = render_stores(r, stmt, i);
    int rounds = together == 0 && i + 1 < stmt->n_body
                     ? hone_render_begin_alike(r, stmt->body[i], stmt->body[i + 1])
                     : -1;
    if (rounds == 1)
      render_from(r, stmt->body[i], "0", "1");
    else if (rounds < 0 && together == 0)
      render_stmt(r, stmt->body[i]);
    i += together ? together : 1;
  }
}

/* ---- the function ---- */

/* The rounds of a loop that goes along with others: those of the longest are the launch's from
 * `hone_base` on. */
static void render_along(hone_renderer_t* r, const hone_stmt_t* loop) {
  char first[96], end[96];
  long long rounds = (long long)hone_kernel_common_rounds(r->kernel), own = loop->extent.k;
  if (own == rounds) {
    snprintf(first, sizeof first, "hone_imax(begin - hone_base, 0)");
    snprintf(end, sizeof end, "end - hone_base");
  } else {
    snprintf(first, sizeof first, "hone_imax(begin - hone_base, 0) * %lld / %lld", own, rounds);
    snprintf(end, sizeof end, "(end - hone_base) * %lld / %lld", own, rounds);
  }
  render_from(r, loop, first, end);
}

/* Rounds of one top loop that fall into begin … end; `hone_base` counts those
 * of the loops before it. */
static void render_parallel(hone_renderer_t* r, const hone_stmt_t* loop) {
  hone_c_indent(r->out, r->depth);
  hone_str_append(r->out, "{\n");
  r->depth++;
  hone_c_indent(r->out, r->depth);
  hone_str_append(r->out, "const long hone_extent = ");
  hone_c_dim(r->out, loop->extent);
  hone_str_append(r->out, ";\n");
  render_from(r, loop, "hone_imax(begin - hone_base, 0)",
              "hone_imin(end - hone_base, hone_extent)");
  hone_c_indent(r->out, r->depth);
  hone_str_append(r->out, "hone_base += hone_extent;\n");
  r->depth--;
  close_block(r);
}

/* A statement at the top beside parallel loops goes with their first round. */
static void render_single(hone_renderer_t* r, const hone_stmt_t* stmt) {
  hone_c_indent(r->out, r->depth);
  hone_str_append(r->out, "if (begin == 0) {\n");
  r->depth++;
  render_stmt(r, stmt);
  r->depth--;
  close_block(r);
}

/* A loop beside parallel ones that fills a border: with each part of their rounds goes as large a
 * part of its own, or all of it with the first or the last of them. */
static bool render_fill(hone_renderer_t* r, const hone_stmt_t* loop) {
  char first[64], end[64];
  if (!hone_fill_goes_along(r->kernel, loop)) return false;
  long long rounds = (long long)hone_kernel_rounds(r->kernel).k;
  hone_fill_place_t place = hone_render_fill_place(r, loop);
  if (place == HONE_FILL_FIRST) return false;
  if (place == HONE_FILL_LAST) {
    snprintf(first, sizeof first, "end == %lld ? 0 : 1", rounds);
    put_loop_head(r, loop, first, NULL);
  } else {
    snprintf(first, sizeof first, "begin * %lld / %lld", (long long)loop->extent.k, rounds);
    snprintf(end, sizeof end, "end * %lld / %lld", (long long)loop->extent.k, rounds);
    put_loop_head(r, loop, first, end);
  }
  render_inside(r, loop);
  close_block(r);
  return true;
}

static void render_parameters(hone_renderer_t* r) {
  int n = 0;
  for (int i = 0; i < r->kernel->n_buffers; i++) {
    const hone_buffer_t* buffer = r->kernel->buffers[i];
    if (buffer->space != HONE_SPACE_GLOBAL) continue;
    if (buffer->role == HONE_ROLE_ERROR) {
      hone_str_appendf(r->out, "  hone_i64* const hone_error = buffers[%d];\n", n++);
      continue;
    }
    const char* type = hone_cpu_storage_type(buffer->dtype);
    const char* access = buffer->role == HONE_ROLE_INPUT ? "const " : "";
    hone_str_appendf(r->out, "  %s%s* restrict const ", access, type);
    hone_c_buffer(r->out, buffer);
    hone_str_appendf(r->out, " = buffers[%d];\n", n++);
  }
  for (int i = 0; i < r->kernel->n_sizes; i++) {
    hone_str_append(r->out, "  const long ");
    hone_c_symbol(r->out, hone_dim_as_symbol(r->kernel->sizes[i]));
    hone_str_appendf(r->out, " = sizes[%d];\n", i);
  }
}

static void render_root(hone_renderer_t* r) {
  hone_render_declarations(r, r->kernel->root);
  const hone_stmt_t* root = r->kernel->root;
  bool grid = false;
  for (int i = 0; i < root->n_body; i++) grid |= hone_stmt_is_parallel(root->body[i]);
  if (grid) hone_str_append(r->out, "  long hone_base = 0;\n");
  for (int i = 0; i < root->n_body; i++) {
    const hone_stmt_t* stmt = root->body[i];
    if (hone_loop_goes_along(r->kernel, stmt)) continue;
    if (hone_stmt_is_parallel(stmt))
      render_parallel(r, stmt);
    else if (!grid || stmt->kind == HONE_STMT_LET)
      render_stmt(r, stmt);
    else if (!render_fill(r, stmt))
      render_single(r, stmt);
  }
  for (int i = 0; i < root->n_body; i++)
    if (hone_loop_goes_along(r->kernel, root->body[i])) render_along(r, root->body[i]);
  hone_render_end_sums(r);
}

/* The head is known when all else is written. */
static void render_inner(hone_renderer_t* r) {
  hone_str_t head, rest, *out = r->out;
  hone_map_t once, quantizations;
  hone_str_init(&head, r->kernel->allocator);
  hone_str_init(&rest, r->kernel->allocator);
  hone_map_init(&once, r->kernel->allocator);
  hone_map_init(&quantizations, r->kernel->allocator);
  r->head = &head;
  r->once = &once;
  r->quantizations = &quantizations;
  r->out = &rest;
  render_root(r);
  r->out = out;
  if (head.failed || rest.failed) r->kernel->out_of_memory = true;
  hone_str_append(out, hone_str_text(&head));
  hone_str_append(out, hone_str_text(&rest));
  hone_map_free(&quantizations);
  hone_map_free(&once);
  hone_str_free(&rest);
  hone_str_free(&head);
}

static void render_function(hone_renderer_t* r, const char* name) {
  hone_str_appendf(
      r->out, "void %s(void* const* buffers, const long* sizes, long begin, long end) {\n", name);
  render_parameters(r);
  hone_render_declare_libraries(r);
  r->depth = 1;
  render_inner(r);
  hone_str_append(r->out, "}\n");
  hone_render_define_libraries(r);
}

static bool term_has_dtypes(const hone_term_t* term) {
  if (!hone_cpu_has_dtype(term->dtype)) return false;
  for (int i = 0; i < term->n_args; i++)
    if (!term_has_dtypes(term->args[i])) return false;
  return true;
}

static bool check_dtypes(void* self, hone_stmt_t* stmt) {
  if (stmt->value && !term_has_dtypes(stmt->value))
    hone_render_refuse(self, "has elements of a type that C has no arithmetic for");
  return true;
}

hone_status_t hone_cpu_render(const hone_kernel_t* kernel, const char* name, int lanes,
                              const hone_target_t* target, hone_str_t* out) {
  hone_renderer_t r = {.out = out, .lanes = lanes, .target = target};
  HONE_TRY(hone_kernel_clone(kernel, &r.kernel));
  hone_status_t status = hone_render_part_fills(&r);
  if (!status) status = hone_render_fit_vectors(r.kernel, lanes);
  if (!status) status = hone_kernel_expand_unrolled(r.kernel);
  if (!status) status = hone_render_join_vectors(r.kernel);
  if (!status) status = hone_kernel_name_sizes(r.kernel);
  size_t n = (size_t)r.kernel->n_buffers;
  r.storage = hone_arena_array(r.kernel->arena, n, sizeof *r.storage);
  r.scopes = hone_arena_array(r.kernel->arena, n, sizeof *r.scopes);
  r.ends = hone_arena_array(r.kernel->arena, n, sizeof *r.ends);
  r.sums = hone_arena_array(r.kernel->arena, n, sizeof *r.sums);
  if (!status && (!r.storage || !r.scopes || !r.ends || !r.sums)) status = hone_oom();
  if (!status) {
    hone_stmt_walk(r.kernel->root, check_dtypes, &r);
    hone_render_storage(&r);
    render_function(&r, name);
    status = r.status;
    if (!status && (r.kernel->out_of_memory || out->failed)) status = hone_oom();
  }
  hone_kernel_destroy(r.kernel);
  return status;
}
