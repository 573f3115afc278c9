/* Rules that every kernel keeps.
 *
 *   buffers     parameters first; a name of its own each; extents of run-time
 *               sizes only; a packing that fits
 *   scope       a symbol is used inside its loop, behind its let, or is a size
 *   types       stores, conditions and arguments have the dtypes that they must
 *   stores      not into inputs, nor into the error word
 *   indices     none lies outside its buffer for every value of its symbols
 *   scratch     memory of a thread is not used by loops over threads that it outlives
 *   loops       vectors innermost; vectors and unrolled ones of a known extent;
 *               parallel loops and groups outermost; items in groups */
#include "loop/verify.h"

#include <string.h>

#include "base/memory.h"
#include "base/str.h"
#include "ir/scalar.h"
#include "loop/access.h"
#include "loop/intrinsic.h"
#include "loop/nibbles.h"
#include "loop/text.h"

typedef struct verifier {
  const hone_kernel_t* kernel;
  int n_symbols;
  bool* in_scope; /* by symbol id */
  const hone_stmt_t* stmt;
  int n_ifs;     /* around the statement: what is there may never run */
  size_t n_seen; /* terms that were found right, by id, with the number of… */
  int* seen;     /* … the statement whose scope they were checked in */
  int stamp;
  hone_status_t status; /* the first rule that was broken */
} verifier_t;

/* ---- messages ---- */

static void describe(const hone_stmt_t* stmt, hone_str_t* out) {
  switch (stmt->kind) {
    case HONE_STMT_LOOP:
      hone_str_appendf(out, "loop %s", stmt->name);
      break;
    case HONE_STMT_STORE:
      hone_str_append(out, "store to ");
      hone_access_print(stmt->buffer, stmt->index, out);
      break;
    case HONE_STMT_LET:
      hone_str_appendf(out, "let %s", stmt->name);
      break;
    case HONE_STMT_IF:
      hone_str_append(out, stmt->value ? "if" : "top");
      break;
    case HONE_STMT_CHECK:
      hone_str_appendf(out, "check %d", stmt->check);
      break;
    case HONE_STMT_PREFETCH:
      hone_str_append(out, stmt->is_claim ? "claim " : "prefetch ");
      hone_access_print(stmt->buffer, stmt->index, out);
      break;
    default:
      hone_str_append(out, "barrier");
      break;
  }
}

static void broken(verifier_t* v, const char* rule, const char* what) {
  if (v->status) return;
  hone_str_t where;
  hone_str_init(&where, v->kernel->allocator);
  if (v->stmt) describe(v->stmt, &where);
  v->status = hone_status_make(HONE_INVALID_DATA, "kernel %s%s%s: %s%s%s", v->kernel->name,
                               v->stmt ? ", " : "", hone_str_text(&where), rule, what ? ": " : "",
                               what ? what : "");
  hone_str_free(&where);
}

/* ---- dimensions ---- */

static void check_symbol(void* self, const hone_symbol_t* symbol) {
  verifier_t* v = self;
  if (!v->in_scope[symbol->id]) broken(v, "a symbol is used outside its scope", symbol->name);
}

static void check_dim(verifier_t* v, hone_dim_t dim) {
  if (hone_dim_is_bad(dim))
    broken(v, "a dimension is bad: an extent overflows, or memory ran out", NULL);
  else
    hone_dim_visit_symbols(dim, check_symbol, v);
}

/* Whether something of that index runs at all, as far as loops say. */
static bool is_reachable(const verifier_t* v) {
  if (v->n_ifs) return false;
  for (const hone_stmt_t* s = v->stmt; s; s = s->parent)
    if (s->kind == HONE_STMT_LOOP && hone_dim_min_value(s->extent) < 1) return false;
  return true;
}

static void check_index(verifier_t* v, const hone_buffer_t* buffer, const hone_dim_t* index) {
  for (int i = 0; i < buffer->rank && !v->status; i++) {
    check_dim(v, index[i]);
    if (v->status || !is_reachable(v)) continue;
    hone_dim_t room = hone_dim_max(v->kernel->dims, buffer->dims[i], hone_dim_int(1));
    hone_dim_t beyond = hone_dim_sub(v->kernel->dims, index[i], room);
    if (hone_dim_max_value(index[i]) < 0 ||
        (!hone_dim_is_bad(beyond) && hone_dim_min_value(beyond) >= 0))
      broken(v, "an index always lies outside the buffer", buffer->name);
  }
}

/* ---- terms ---- */

static bool is_complex_prim(hone_prim_t prim) {
  static const hone_prim_t prims[] = {HONE_PRIM_ADD, HONE_PRIM_SUB, HONE_PRIM_MUL, HONE_PRIM_DIV,
                                      HONE_PRIM_NEG, HONE_PRIM_ABS, HONE_PRIM_EXP, HONE_PRIM_EQ};
  for (size_t i = 0; i < sizeof prims / sizeof *prims; i++)
    if (prims[i] == prim) return true;
  return false;
}

static bool is_defined(const hone_term_t* term) {
  hone_scalar_class_t class = hone_scalar_class(term->args[0]->dtype);
  if (class == HONE_SCALAR_COMPLEX) return is_complex_prim(term->prim);
  return term->n_args == 1 ? hone_scalar_unary(term->prim, class) != NULL
                           : hone_scalar_binary(term->prim, class) != NULL;
}

static void check_prim(verifier_t* v, const hone_term_t* term) {
  const hone_prim_info_t* info = hone_prim_info(term->prim);
  hone_dtype_t first = term->args[0]->dtype;
  switch (info->family) {
    case HONE_FAMILY_SELECT:
      if (first != HONE_BOOL || term->args[1]->dtype != term->args[2]->dtype)
        broken(v, "select takes a bool and two of one type", NULL);
      break;
    case HONE_FAMILY_CAST:
      if (term->dtype == HONE_UNKNOWN || term->dtype == HONE_STRING)
        broken(v, "a cast needs a type of numbers", NULL);
      else if (term->prim == HONE_PRIM_BITCAST &&
               hone_dtype_size(first) != hone_dtype_size(term->dtype))
        broken(v, "a bitcast keeps the size", hone_dtype_name(term->dtype));
      break;
    case HONE_FAMILY_BINARY:
      if (term->args[1]->dtype != first) {
        broken(v, "operands of different types", info->name);
        break;
      } /* fall through */
    default:
      if (!is_defined(term)) broken(v, "the primitive is not defined for the type", info->name);
      break;
  }
}

static void check_term(verifier_t* v, const hone_term_t* term) {
  if (v->status || v->seen[term->id] == v->stamp) return;
  v->seen[term->id] = v->stamp;
  for (int i = 0; i < term->n_args; i++) check_term(v, term->args[i]);
  if (term->kind == HONE_TERM_INDEX) check_dim(v, term->dim);
  if (term->kind == HONE_TERM_PRIM) check_prim(v, term);
  if (term->kind != HONE_TERM_LOAD) return;
  if (term->buffer->role == HONE_ROLE_ERROR) broken(v, "the error word is not read", NULL);
  check_index(v, term->buffer, term->index);
}

static void check_value(verifier_t* v, hone_dtype_t dtype) {
  v->stamp++;
  check_term(v, v->stmt->value);
  if (v->stmt->value->dtype != dtype)
    broken(v, "the value must be of another type", hone_dtype_name(dtype));
}

/* ---- statements ---- */

static bool has_inside(const hone_stmt_t* stmt, hone_stmt_kind_t kind) {
  for (int i = 0; i < stmt->n_body; i++)
    if (stmt->body[i]->kind == kind || has_inside(stmt->body[i], kind)) return true;
  return false;
}

/* Whether all loops around are of kind a or b, and there is nothing but loops. */
static bool is_directly_in(const hone_stmt_t* loop, hone_loop_kind_t a, hone_loop_kind_t b) {
  for (const hone_stmt_t* s = loop->parent; s && s->parent; s = s->parent)
    if (s->kind != HONE_STMT_LOOP || (s->loop != a && s->loop != b)) return false;
  return true;
}

static void check_loop_kind(verifier_t* v, const hone_stmt_t* loop) {
  int64_t n = loop->extent.k;
  bool known = hone_dim_is_int(loop->extent);
  switch (loop->loop) {
    case HONE_LOOP_VECTOR:
      if (!known || n < 1) broken(v, "the extent of a vector loop is known", NULL);
      if (has_inside(loop, HONE_STMT_LOOP)) broken(v, "a vector loop is innermost", NULL);
      break;
    case HONE_LOOP_UNROLL:
      if (!known) broken(v, "the extent of an unrolled loop is known", NULL);
      break;
    case HONE_LOOP_PARALLEL:
      if (!is_directly_in(loop, HONE_LOOP_PARALLEL, HONE_LOOP_PARALLEL))
        broken(v, "a parallel loop is outermost", NULL);
      break;
    case HONE_LOOP_GROUP:
      if (!is_directly_in(loop, HONE_LOOP_GROUP, HONE_LOOP_GROUP))
        broken(v, "a loop over groups is outermost", NULL);
      break;
    case HONE_LOOP_ITEM:
      if (!is_directly_in(loop, HONE_LOOP_GROUP, HONE_LOOP_ITEM) || loop->parent == v->kernel->root)
        broken(v, "a loop over items is directly in one over groups", NULL);
      break;
    default:
      break;
  }
}

static void check_intrinsic(verifier_t* v, const hone_stmt_t* loop) {
  const hone_intrinsic_t* intrinsic = hone_intrinsic_find(loop->intrinsic);
  hone_operand_range_t operands[HONE_MAX_OPERANDS];
  bool matches = false;
  if (intrinsic && !v->status)
    v->status = hone_intrinsic_match((hone_kernel_t*)(uintptr_t)v->kernel, loop, intrinsic,
                                     &matches, operands);
  if (!matches) broken(v, "the loop is not what its intrinsic computes", loop->intrinsic);
}

static void check_store(verifier_t* v, const hone_stmt_t* stmt) {
  if (stmt->buffer->role == HONE_ROLE_INPUT || stmt->buffer->role == HONE_ROLE_ERROR)
    broken(v, "nothing is stored there", stmt->buffer->name);
  check_index(v, stmt->buffer, stmt->index);
  check_value(v, stmt->buffer->dtype);
  hone_scalar_class_t class = hone_scalar_class(stmt->buffer->dtype);
  bool ordered = stmt->combine == HONE_COMBINE_MIN || stmt->combine == HONE_COMBINE_MAX;
  if (class > HONE_SCALAR_COMPLEX || (class == HONE_SCALAR_COMPLEX && ordered))
    broken(v, "the type has no such combine", hone_combine_name(stmt->combine));
}

static void check_barrier(verifier_t* v, const hone_stmt_t* stmt) {
  while (stmt && !(stmt->kind == HONE_STMT_LOOP && stmt->loop == HONE_LOOP_ITEM))
    stmt = stmt->parent;
  if (!stmt) broken(v, "a barrier is inside a loop over items", NULL);
}

static void check_body(verifier_t* v, const hone_stmt_t* stmt);

static void set_scope(verifier_t* v, const hone_stmt_t* stmt, bool on) {
  const hone_symbol_t* symbol = hone_dim_as_symbol(stmt->var);
  if (!symbol)
    broken(v, "the variable is no symbol", NULL);
  else if (on && v->in_scope[symbol->id])
    broken(v, "the variable is one that is there already", symbol->name);
  else
    v->in_scope[symbol->id] = on;
}

static void check_stmt(verifier_t* v, const hone_stmt_t* stmt) {
  v->stmt = stmt;
  switch (stmt->kind) {
    case HONE_STMT_LOOP:
      check_dim(v, stmt->extent);
      check_loop_kind(v, stmt);
      if (stmt->intrinsic) check_intrinsic(v, stmt);
      if (!v->status) set_scope(v, stmt, true);
      if (!v->status) check_body(v, stmt);
      if (!v->status) set_scope(v, stmt, false);
      break;
    case HONE_STMT_STORE:
      check_store(v, stmt);
      break;
    case HONE_STMT_IF:
      check_value(v, HONE_BOOL);
      v->n_ifs++;
      check_body(v, stmt);
      v->n_ifs--;
      break;
    case HONE_STMT_LET:
      check_value(v, HONE_I64);
      if (!v->status) set_scope(v, stmt, true);
      break;
    case HONE_STMT_CHECK:
      check_value(v, HONE_BOOL);
      if (stmt->check < 0 || stmt->check >= v->kernel->n_checks)
        broken(v, "checks are numbered from 0 on", NULL);
      break;
    case HONE_STMT_PREFETCH:
      if (stmt->buffer->space != HONE_SPACE_GLOBAL)
        broken(v, "scratch memory is at hand", stmt->buffer->name);
      for (int i = 0; i < stmt->buffer->rank; i++) check_dim(v, stmt->index[i]);
      break;
    default:
      check_barrier(v, stmt);
      break;
  }
}

static void check_body(verifier_t* v, const hone_stmt_t* stmt) {
  for (int i = 0; i < stmt->n_body && !v->status; i++) {
    if (stmt->body[i]->parent != stmt) {
      v->stmt = stmt->body[i];
      broken(v, "the statement has another parent", NULL);
    }
    check_stmt(v, stmt->body[i]);
  }
  for (int i = 0; i < stmt->n_body && !v->status; i++)
    if (stmt->body[i]->kind == HONE_STMT_LET) set_scope(v, stmt->body[i], false);
}

/* ---- buffers ---- */

/* A table stands for a matrix of i8 as it was. */
static void check_sparse(verifier_t* v, const hone_buffer_t* buffer) {
  const hone_packing_t* packing = buffer->packing;
  bool fits = buffer->dtype == HONE_I8 && packing->rank == buffer->rank &&
              packing->sums != packing->columns && packing->sums >= 0 && packing->columns >= 0 &&
              packing->sums < packing->rank && packing->columns < packing->rank;
  for (int i = 0; i < buffer->rank && fits; i++)
    fits = packing->axes[i].source == i && packing->axes[i].stride == 1 &&
           hone_dim_is(buffer->dims[i], packing->dims[i]) &&
           (packing->dims[i] == 1 || i == packing->sums || i == packing->columns);
  if (!fits) broken(v, "a sparse packing is of a matrix of i8", buffer->name);
}

/* Words of eight numbers, along the last axis. */
static void check_nibbles(verifier_t* v, const hone_buffer_t* buffer) {
  if (!buffer->fits_nibbles || buffer->packing->is_sparse || buffer->rank < 1 ||
      !hone_dim_is(buffer->dims[buffer->rank - 1], HONE_NIBBLES))
    broken(v, "words of eight nibbles are of numbers that fit them", buffer->name);
}

/* The packed array has an element for each of the old one. */
static void check_packing(verifier_t* v, const hone_buffer_t* buffer) {
  const hone_packing_t* packing = buffer->packing;
  if (buffer->role != HONE_ROLE_INPUT || !buffer->is_constant)
    broken(v, "only constants are packed", buffer->name);
  for (int i = 0; i < buffer->rank && !v->status; i++)
    if (packing->axes[i].source < 0 || packing->axes[i].source >= packing->rank ||
        packing->axes[i].stride < 1 || !hone_dim_is_int(buffer->dims[i]))
      broken(v, "an axis of the packing makes no sense", buffer->name);
  if (packing->is_sparse && !v->status) check_sparse(v, buffer);
  if (packing->in_nibbles && !v->status) check_nibbles(v, buffer);
}

static void check_slight(verifier_t* v, const hone_buffer_t* buffer) {
  int rank = buffer->packing ? buffer->packing->rank : buffer->rank;
  if (!buffer->is_constant || buffer->dtype != HONE_I8 || buffer->slight > rank)
    broken(v, "only constants of i8 are slight, along an axis that they have", buffer->name);
}

static void check_buffer(verifier_t* v, const hone_buffer_t* buffer, bool* scratch_seen) {
  bool is_scratch = buffer->role == HONE_ROLE_SCRATCH;
  if (buffer->dtype == HONE_UNKNOWN || buffer->dtype == HONE_STRING)
    broken(v, "a buffer holds numbers", buffer->name);
  if (is_scratch == (buffer->space == HONE_SPACE_GLOBAL))
    broken(v, "parameters, and only they, are global", buffer->name);
  if (!is_scratch && *scratch_seen) broken(v, "parameters come first", buffer->name);
  *scratch_seen |= is_scratch;
  for (int i = 0; i < buffer->rank; i++) check_dim(v, buffer->dims[i]);
  for (int i = 0; i < buffer->id; i++)
    if (strcmp(v->kernel->buffers[i]->name, buffer->name) == 0)
      broken(v, "two buffers of one name", buffer->name);
  if (buffer->packing) check_packing(v, buffer);
  if (buffer->slight) check_slight(v, buffer);
  if (buffer->is_sparse && (!buffer->is_constant || buffer->dtype != HONE_I8))
    broken(v, "only constants of i8 are sparse", buffer->name);
  if (buffer->fits_nibbles && (!buffer->is_constant || buffer->dtype != HONE_U8))
    broken(v, "only constants of u8 fit nibbles", buffer->name);
}

/* Scratch memory of a thread is not used by loops over threads that it outlives. */
static void check_owner(verifier_t* v, const hone_access_t* access, const hone_stmt_t* owner) {
  const hone_buffer_t* buffer = access->buffer;
  if (buffer->role != HONE_ROLE_SCRATCH) return;
  for (const hone_stmt_t* s = access->stmt; s != owner && s->parent; s = s->parent) {
    bool is_shared = buffer->space == HONE_SPACE_SHARED && s->loop == HONE_LOOP_ITEM;
    if (s->kind != HONE_STMT_LOOP || is_shared) continue;
    v->stmt = access->stmt;
    if (s->loop == HONE_LOOP_PARALLEL || s->loop == HONE_LOOP_GROUP || s->loop == HONE_LOOP_ITEM)
      broken(v, "memory of one thread is used by several", buffer->name);
  }
}

static void check_owners(verifier_t* v) {
  const hone_kernel_t* kernel = v->kernel;
  size_t bytes = ((size_t)kernel->n_buffers + 1) * sizeof(hone_stmt_t*);
  hone_stmt_t** owners = hone_alloc(kernel->allocator, bytes);
  hone_access_list_t list = {0};
  hone_status_t status = owners ? hone_access_owners(kernel, owners) : hone_oom();
  if (!status) status = hone_access_collect(kernel, kernel->root, &list);
  for (int i = 0; i < list.count && !status; i++)
    check_owner(v, &list.items[i], owners[list.items[i].buffer->id]);
  hone_access_free(&list);
  hone_free(kernel->allocator, owners, bytes);
  if (v->status)
    hone_status_free(status);
  else
    v->status = status;
}

static void check_kernel(verifier_t* v) {
  const hone_kernel_t* kernel = v->kernel;
  bool scratch_seen = false;
  for (int i = 0; i < kernel->n_sizes; i++)
    v->in_scope[hone_dim_as_symbol(kernel->sizes[i])->id] = true;
  for (int i = 0; i < kernel->n_buffers && !v->status; i++)
    check_buffer(v, kernel->buffers[i], &scratch_seen);
  check_body(v, kernel->root);
  if (!v->status) check_owners(v);
}

hone_status_t hone_kernel_verify(const hone_kernel_t* kernel) {
  verifier_t v = {.kernel = kernel, .n_symbols = hone_dims_symbol_count(kernel->dims)};
  if (kernel->out_of_memory || hone_dims_out_of_memory(kernel->dims)) return hone_oom();
  v.n_seen = (size_t)kernel->n_terms + 1;
  v.in_scope = hone_alloc(kernel->allocator, (size_t)v.n_symbols + 1);
  v.seen = hone_alloc(kernel->allocator, v.n_seen * sizeof *v.seen);
  if (v.in_scope && v.seen)
    check_kernel(&v);
  else
    v.status = hone_oom();
  hone_free(kernel->allocator, v.in_scope, (size_t)v.n_symbols + 1);
  hone_free(kernel->allocator, v.seen, v.n_seen * sizeof *v.seen);
  return v.status;
}
