/* Exponents of softmax that are multiplied as bf16: a kernel keeps them in scratch, from where they
 * are rounded and summed up, and nothing else. They may be off by a small part of what that
 * rounding takes anyway, in the sums as well as in what these divide. */
#include "backends/cpu/render_impl.h"

typedef struct look {
  hone_renderer_t* r;
  hone_map_t seen;           /* terms by id */
  const hone_buffer_t* kept; /* the scratch; NULL: none so far */
  bool is_other, is_rounded; /* there are exponents elsewhere; some of these are */
} look_t;

static bool is_exponent(const hone_term_t* term) {
  return term->kind == HONE_TERM_PRIM && term->prim == HONE_PRIM_EXP && term->dtype == HONE_F32;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the term */
static void find_others(look_t* look, const hone_term_t* term) {
  if (look->r->status || look->is_other || hone_map_get_u64(&look->seen, (uint64_t)term->id))
    return;
  look->r->status = hone_map_put_u64(&look->seen, (uint64_t)term->id, look);
  look->is_other |= is_exponent(term);
  for (int i = 0; i < term->n_args; i++) find_others(look, term->args[i]);
}

static bool find_kept(void* self, hone_stmt_t* stmt) {
  look_t* look = self;
  const hone_term_t* value = stmt->value;
  if (!value) return true;
  bool keeps = is_exponent(value) && stmt->kind == HONE_STMT_STORE &&
               stmt->combine == HONE_COMBINE_SET && stmt->buffer->space != HONE_SPACE_GLOBAL;
  if (!keeps) {
    find_others(look, value);
    return true;
  }
  look->is_other |= look->kept && look->kept != stmt->buffer;
  look->kept = stmt->buffer;
  find_others(look, value->args[0]);
  return true;
}

static bool is_kept(const look_t* look, const hone_term_t* term) {
  return term->kind == HONE_TERM_LOAD && term->buffer == look->kept;
}

/* Whether they are summed up in other scratch. */
static bool sums_up(const look_t* look, const hone_stmt_t* stmt) {
  return stmt->kind == HONE_STMT_STORE && stmt->combine == HONE_COMBINE_ADD &&
         stmt->buffer->space != HONE_SPACE_GLOBAL && is_kept(look, stmt->value);
}

static bool look_at_reader(void* self, hone_stmt_t* stmt) {
  look_t* look = self;
  const hone_term_t* value = stmt->value;
  if (!value || !hone_term_reads(value, look->kept)) return true;
  bool rounds = hone_term_flushes(value) && is_kept(look, value->args[0]);
  look->is_rounded |= rounds;
  look->is_other |= !rounds && !sums_up(look, stmt);
  return true;
}

static bool are_rounded(hone_renderer_t* r) {
  look_t look = {.r = r};
  hone_map_init(&look.seen, r->kernel->allocator);
  hone_stmt_walk(r->kernel->root, find_kept, &look);
  if (look.kept && !look.is_other) hone_stmt_walk(r->kernel->root, look_at_reader, &look);
  hone_map_free(&look.seen);
  return look.is_rounded && !look.is_other;
}

bool hone_render_is_rough_exponent(hone_renderer_t* r, const hone_term_t* term) {
  if (!r->vector || !is_exponent(term)) return false;
  if (r->exponents == HONE_ROUNDING_UNKNOWN)
    r->exponents = are_rounded(r) ? HONE_ROUNDING_ALL : HONE_ROUNDING_SOME;
  return r->exponents == HONE_ROUNDING_ALL;
}
