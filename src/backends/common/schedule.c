/* Which recipe a kernel gets. */
#include "backends/common/schedule.h"

#include <string.h>

#include "backends/common/schedule_impl.h"

enum { ENOUGH_ROUNDS = 8 }; /* to share out among threads */

bool hone_recipe_did(hone_recipe_t* r, hone_status_t status) {
  if (!status) return true;
  if (hone_status_code(status) == HONE_OUT_OF_MEMORY && !r->status)
    r->status = status;
  else
    hone_status_free(status);
  return false;
}

/* ---- looking ---- */

bool hone_stmt_is_loop(const hone_stmt_t* stmt) { return stmt->kind == HONE_STMT_LOOP; }

hone_stmt_t* hone_only_loop(const hone_stmt_t* stmt) {
  return stmt->n_body == 1 && hone_stmt_is_loop(stmt->body[0]) ? stmt->body[0] : NULL;
}

static void visit_term(hone_kernel_t* kernel, const hone_term_t* term,
                       void (*visit)(void* self, hone_dim_t offset), void* self) {
  if (term->kind == HONE_TERM_LOAD)
    visit(self, hone_buffer_offset(kernel, term->buffer, term->index));
  for (int i = 0; i < term->n_args; i++) visit_term(kernel, term->args[i], visit, self);
}

void hone_visit_offsets(hone_kernel_t* kernel, hone_stmt_t* stmt,
                        void (*visit)(void* self, hone_dim_t offset), void* self) {
  if (stmt->value) visit_term(kernel, stmt->value, visit, self);
  if (stmt->buffer) visit(self, hone_buffer_offset(kernel, stmt->buffer, stmt->index));
  for (int i = 0; i < stmt->n_body; i++) hone_visit_offsets(kernel, stmt->body[i], visit, self);
}

/* ---- lanes ---- */

typedef struct lanes {
  hone_dim_t var;
  int strided;
} lanes_t;

static void note_stride(void* self, hone_dim_t offset) {
  lanes_t* lanes = self;
  int64_t factor;
  if (!hone_dim_factor(offset, lanes->var, &factor) || factor < 0 || factor > 1) lanes->strided++;
}

static bool has_index_of(const hone_term_t* term, hone_dim_t var) {
  if (term->kind == HONE_TERM_INDEX) return hone_dim_uses(term->dim, var);
  for (int i = 0; i < term->n_args; i++)
    if (has_index_of(term->args[i], var)) return true;
  return false;
}

static bool only_stores(const hone_stmt_t* loop) {
  for (int i = 0; i < loop->n_body; i++) {
    const hone_stmt_t* stmt = loop->body[i];
    if (stmt->kind != HONE_STMT_STORE || has_index_of(stmt->value, loop->var)) return false;
  }
  return loop->n_body > 0;
}

bool hone_can_be_lanes(hone_kernel_t* kernel, hone_stmt_t* loop) {
  lanes_t lanes = {.var = loop->var};
  if (!only_stores(loop)) return false;
  hone_visit_offsets(kernel, loop, note_stride, &lanes);
  return lanes.strided == 0;
}

bool hone_make_lanes(hone_recipe_t* r, hone_stmt_t* loop) {
  char name[128];
  int lanes = r->shape->lanes;
  if (!hone_can_be_lanes(r->kernel, loop)) return false;
  if (hone_dim_is_int(loop->extent) && loop->extent.k < lanes) return false;
  const char* base = loop->name;
  if (!hone_recipe_did(r, hone_sched_split(r->kernel, base, lanes, HONE_TAIL_PEEL))) return false;
  size_t length = strlen(base);
  if (length + 3 > sizeof name) return false;
  memcpy(name, base, length);
  memcpy(name + length, ".i", 3);
  return hone_recipe_did(r, hone_sched_vectorize(r->kernel, name));
}

/* ---- fusing ---- */

typedef struct pair {
  hone_dim_t outer, inner, extent;
  bool fits;
} pair_t;

static void check_pair(void* self, hone_dim_t offset) {
  pair_t* pair = self;
  int64_t outer, inner;
  pair->fits &= hone_dim_factor(offset, pair->outer, &outer) &&
                hone_dim_factor(offset, pair->inner, &inner) && hone_dim_is_int(pair->extent) &&
                outer == inner * pair->extent.k;
}

static bool uses_as_number(const hone_stmt_t* stmt, hone_dim_t var) {
  if (stmt->value && has_index_of(stmt->value, var)) return true;
  for (int i = 0; i < stmt->n_body; i++)
    if (uses_as_number(stmt->body[i], var)) return true;
  return false;
}

static bool are_contiguous(hone_kernel_t* kernel, hone_stmt_t* outer, hone_stmt_t* inner) {
  pair_t pair = {outer->var, inner->var, inner->extent, true};
  if (uses_as_number(inner, outer->var) || uses_as_number(inner, inner->var)) return false;
  hone_visit_offsets(kernel, inner, check_pair, &pair);
  return pair.fits;
}

hone_stmt_t* hone_fuse_contiguous(hone_recipe_t* r, hone_stmt_t* outer) {
  hone_stmt_t* parent = outer->parent;
  int position = hone_stmt_position(outer);
  hone_stmt_t* inner = hone_only_loop(outer);
  if (!inner || inner->is_reduction) return outer;
  inner = hone_fuse_contiguous(r, inner);
  if (are_contiguous(r->kernel, outer, inner))
    hone_recipe_did(r, hone_sched_fuse(r->kernel, outer->name, inner->name));
  return parent->body[position];
}

/* ---- all ---- */

/* Whether a nest reads what another one of the kernel writes. */
static bool term_reads_output(const hone_term_t* term) {
  if (term->buffer && term->buffer->role == HONE_ROLE_OUTPUT) return true;
  for (int i = 0; i < term->n_args; i++)
    if (term_reads_output(term->args[i])) return true;
  return false;
}

static bool reads_output(void* self, hone_stmt_t* stmt) {
  bool* found = self;
  bool combines = stmt->kind == HONE_STMT_STORE && stmt->combine != HONE_COMBINE_SET &&
                  stmt->buffer->space == HONE_SPACE_GLOBAL;
  *found |= combines || (stmt->value && term_reads_output(stmt->value));
  return !*found;
}

/* The nests of the top may run side by side, and the rounds of each. */
static bool is_independent(hone_kernel_t* kernel) {
  bool found = false;
  hone_stmt_walk(kernel->root, reads_output, &found);
  for (int i = 0; i < kernel->root->n_body; i++)
    found |= !hone_stmt_is_loop(kernel->root->body[i]) || kernel->root->body[i]->is_reduction;
  return !found;
}

/* A kernel with one contraction is called after it. */
static void set_tactic(hone_kernel_t* kernel, const char* tactic, const char* why) {
  if (strcmp(kernel->tactic, "contract") == 0) return;
  kernel->tactic = tactic;
  kernel->why = why;
}

static void schedule_nest(hone_recipe_t* r, int position) {
  hone_stmt_t* nest = hone_fuse_contiguous(r, r->kernel->root->body[position]);
  if (hone_schedule_contract(r, nest)) {
    set_tactic(r->kernel, "contract", "sums of products: a tile of them stays in registers");
    return;
  }
  hone_schedule_rows(r, r->kernel->root->body[position]);
  set_tactic(r->kernel, "rows", "no sums of products: vectors along what lies side by side");
}

/* A loop of unknown extent around one with enough rounds for all threads goes
 * inside: it may well have one round only. */
static void choose_parallel(hone_recipe_t* r, const hone_stmt_t* loop) {
  const hone_stmt_t* inner = hone_only_loop(loop);
  if (hone_dim_is_int(loop->extent) || !inner || inner->is_reduction ||
      inner->loop != HONE_LOOP_SERIAL || hone_dim_min_value(inner->extent) < ENOUGH_ROUNDS)
    return;
  const char* const order[] = {inner->name, loop->name};
  hone_recipe_did(r, hone_sched_reorder(r->kernel, 2, order));
}

static void share_out(hone_recipe_t* r, int position) {
  hone_stmt_t** body = r->kernel->root->body;
  if (!hone_stmt_is_loop(body[position])) return;
  choose_parallel(r, body[position]);
  hone_recipe_did(r, hone_sched_parallel(r->kernel, body[position]->name));
}

hone_status_t hone_cpu_schedule(hone_kernel_t* kernel, const hone_cpu_shape_t* shape) {
  hone_recipe_t r = {.kernel = kernel, .shape = shape};
  if (!is_independent(kernel)) {
    set_tactic(kernel, "serial", "one part reads what another writes: one thread, as lowered");
    return NULL;
  }
  /* Peeling adds nests behind; those are done already. */
  for (int i = kernel->root->n_body - 1; i >= 0 && !r.status; i--) schedule_nest(&r, i);
  for (int i = 0; i < kernel->root->n_body && !r.status; i++) share_out(&r, i);
  return r.status;
}
