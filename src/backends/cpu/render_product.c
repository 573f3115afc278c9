/* Products of matrices that a library computes: a call in front of the loops, which run
 * where there is none, or where it refuses. The library is reached through a variable of
 * its name, which whoever loads the kernels sets (vendor.h). Sparse ones are a call of the
 * prelude's function, and there are no loops. */
#include <inttypes.h>
#include <stdio.h>

#include "backends/cpu/render_impl.h"
#include "loop/product.h"

static const hone_intrinsic_t* find_product(const hone_stmt_t* stmt, bool is_sparse) {
  const hone_intrinsic_t* intrinsic =
      stmt->kind == HONE_STMT_LOOP && stmt->intrinsic ? hone_intrinsic_find(stmt->intrinsic) : NULL;
  return intrinsic && hone_intrinsic_is_product(intrinsic) && intrinsic->is_sparse == is_sparse
             ? intrinsic
             : NULL;
}

bool hone_render_is_product(const hone_stmt_t* loop) { return find_product(loop, false) != NULL; }

bool hone_render_is_sparse(const hone_stmt_t* loop) { return find_product(loop, true) != NULL; }

static void put_variable(hone_renderer_t* r, const char* how, const hone_stmt_t* loop) {
  hone_str_appendf(r->out,
                   "%s int (*%s)(long, long, long, const float*, long, int, const float*, long, "
                   "int, float*, long);\n",
                   how, loop->intrinsic);
}

static bool declare(void* self, hone_stmt_t* stmt) {
  if (hone_render_is_product(stmt)) put_variable(self, "  extern", stmt);
  return true;
}

/* Weak: other kernels of the library may define it too. */
static bool define(void* self, hone_stmt_t* stmt) {
  if (hone_render_is_product(stmt))
    put_variable(self, "__attribute__((weak, visibility(\"default\")))", stmt);
  return true;
}

void hone_render_declare_libraries(hone_renderer_t* r) {
  hone_stmt_walk(r->kernel->root, declare, r);
}

void hone_render_define_libraries(hone_renderer_t* r) {
  hone_stmt_walk(r->kernel->root, define, r);
}

static void put_matrix(hone_renderer_t* r, const hone_matrix_t* m) {
  hone_str_append(r->out, ", ");
  hone_render_address(r, m->at.buffer, NULL, m->at.offset);
  hone_str_appendf(r->out, ", %" PRId64, m->stride);
}

void hone_render_open_product(hone_renderer_t* r, const hone_stmt_t* loop) {
  hone_product_t p;
  if (!hone_product_look(r->kernel, loop, false, &p)) {
    hone_render_refuse(r, "has a loop that is not its intrinsic");
    return;
  }
  hone_c_indent(r->out, r->depth);
  hone_str_appendf(r->out, "if (!%s || %s(%" PRId64 ", %" PRId64 ", %" PRId64, loop->intrinsic,
                   loop->intrinsic, p.rows, p.columns, p.sums);
  put_matrix(r, &p.a);
  hone_str_appendf(r->out, ", %d", p.a.is_turned);
  put_matrix(r, &p.b);
  hone_str_appendf(r->out, ", %d", p.b.is_turned);
  put_matrix(r, &p.c);
  hone_str_append(r->out, "))\n");
}

/* ---- sparse products ---- */

static bool reads_table(const hone_product_t* p) {
  const hone_packing_t* packing = p->b.at.buffer->packing;
  return packing && packing->is_sparse && packing->sums == p->sum_axis &&
         packing->columns == p->column_axis;
}

/* Rows that were turned stay so for all columns, and inputs what they are: the function has one
 * array for it, and notes whose rows are there. */
static void declare_turned(hone_renderer_t* r, const hone_product_t* p, const char* var) {
  hone_str_appendf(r->head, "  hone_u8 hone_turned_%s[%" PRId64 "] __attribute__((aligned(64)));\n",
                   var, HONE_SPARSE_ROWS * p->sums);
  hone_str_appendf(r->head, "  const hone_u8* hone_turned_of_%s = 0;\n", var);
}

void hone_render_sparse(hone_renderer_t* r, const hone_stmt_t* loop) {
  hone_product_t p;
  char var[32];
  if (!hone_target_has(r->target, loop->intrinsic)) {
    hone_render_refuse(r, "has a sparse product, which needs AVX2");
    return;
  }
  if (!hone_product_look(r->kernel, loop, true, &p) || !reads_table(&p)) {
    hone_render_refuse(r, "has a loop that is not its intrinsic");
    return;
  }
  snprintf(var, sizeof var, "%d", hone_dim_as_symbol(loop->var)->id);
  declare_turned(r, &p, var);
  hone_c_indent(r->out, r->depth);
  hone_str_appendf(r->out, "hone_sparse_u8_i8(%" PRId64 ", %" PRId64 ", %" PRId64, p.rows,
                   p.columns, p.sums);
  put_matrix(r, &p.a);
  hone_str_appendf(r->out, ", hone_turned_%s, &hone_turned_of_%s, ", var, var);
  hone_c_buffer(r->out, p.b.at.buffer);
  hone_str_append(r->out, ", ");
  hone_c_dim(r->out, p.first);
  put_matrix(r, &p.c);
  hone_str_append(r->out, ");\n");
}
