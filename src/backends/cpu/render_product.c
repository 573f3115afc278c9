/* Products of matrices that a library computes: a call in front of the loops, which run
 * where there is none, or where it refuses. The library is reached through a variable of
 * its name, which whoever loads the kernels sets (vendor.h). */
#include <inttypes.h>

#include "backends/cpu/render_impl.h"
#include "loop/product.h"

bool hone_render_is_product(const hone_stmt_t* loop) {
  return loop->intrinsic && hone_intrinsic_is_product(hone_intrinsic_find(loop->intrinsic));
}

static void put_variable(hone_renderer_t* r, const char* how, const hone_stmt_t* loop) {
  hone_str_appendf(r->out,
                   "%s int (*%s)(long, long, long, const float*, long, int, const float*, long, "
                   "int, float*, long);\n",
                   how, loop->intrinsic);
}

static bool declare(void* self, hone_stmt_t* stmt) {
  if (stmt->kind == HONE_STMT_LOOP && hone_render_is_product(stmt))
    put_variable(self, "  extern", stmt);
  return true;
}

/* Weak: other kernels of the library may define it too. */
static bool define(void* self, hone_stmt_t* stmt) {
  if (stmt->kind == HONE_STMT_LOOP && hone_render_is_product(stmt))
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
  if (!hone_product_look(r->kernel, loop, &p)) {
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
