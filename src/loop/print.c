/* Writes kernels as text; text.h gives the form. */
#include <inttypes.h>
#include <string.h>

#include "base/float_convert.h"
#include "base/memory.h"
#include "loop/access.h"
#include "loop/text.h"

/* A term deeper than this inside another gets a line of its own. */
enum { MAX_NESTING = 8 };

static const char* const loop_kinds[] = {"serial", "parallel", "vector", "unroll", "group", "item"};

const char* hone_loop_kind_name(hone_loop_kind_t kind) { return loop_kinds[kind]; }

typedef struct printer {
  hone_str_t* out;
  const hone_allocator_t* allocator;
  int indent;
  /* Of one statement's value, by id of a term: how often it is used; later its
   * number, where it has one. */
  hone_map_t uses, numbers;
  int n_numbers;
  bool failed;
} printer_t;

/* ---- words ---- */

/* Words that begin a line. */
static bool is_reserved(const char* name) {
  static const char* const words[] = {"for",   "if",     "let",      "check",  "barrier",
                                      "size",  "input",  "output",   "error",  "shared",
                                      "local", "checks", "schedule", "origin", "by_parts"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(words[i], name) == 0) return true;
  return false;
}

static bool is_plain(const char* name) {
  if (is_reserved(name)) return false;
  if (!name[0] || (name[0] >= '0' && name[0] <= '9') || name[0] == '.') return false;
  for (const char* c = name; *c; c++)
    if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
          *c == '_' || *c == '.'))
      return false;
  return true;
}

static void put_quoted_n(hone_str_t* out, const char* text, size_t length) {
  hone_str_append_char(out, '"');
  for (size_t i = 0; i < length; i++) {
    if (text[i] == '"' || text[i] == '\\') hone_str_append_char(out, '\\');
    hone_str_append_char(out, text[i]);
  }
  hone_str_append_char(out, '"');
}

static void put_quoted(hone_str_t* out, const char* text) { put_quoted_n(out, text, strlen(text)); }

static void put_name(hone_str_t* out, const char* name) {
  if (is_plain(name))
    hone_str_append(out, name);
  else
    put_quoted(out, name);
}

void hone_dim_append(hone_dim_t dim, hone_str_t* out) {
  char text[256];
  size_t length = hone_dim_print(dim, text, sizeof text);
  if (length < sizeof text) {
    hone_str_append(out, text);
    return;
  }
  char* longer = hone_alloc(out->allocator, length + 1);
  if (!longer) {
    out->failed = true;
    return;
  }
  hone_dim_print(dim, longer, length + 1);
  hone_str_append(out, longer);
  hone_free(out->allocator, longer, length + 1);
}

static void put_dims(hone_str_t* out, int rank, const hone_dim_t* dims) {
  hone_str_append_char(out, '[');
  for (int i = 0; i < rank; i++) {
    if (i) hone_str_append(out, ", ");
    hone_dim_append(dims[i], out);
  }
  hone_str_append_char(out, ']');
}

void hone_access_print(const hone_buffer_t* buffer, const hone_dim_t* index, hone_str_t* out) {
  put_name(out, buffer->name);
  put_dims(out, buffer->rank, index);
}

/* ---- constants ---- */

static void put_hex(hone_str_t* out, const hone_term_t* term) {
  hone_str_append(out, "x\"");
  const unsigned char* bytes = (const unsigned char*)term->bits;
  for (size_t i = 0; i < hone_dtype_size(term->dtype); i++) hone_str_appendf(out, "%02x", bytes[i]);
  hone_str_append(out, "\"");
}

/* As a number where that reads back as the same bits. */
static void put_const(hone_str_t* out, const hone_term_t* term) {
  hone_dtype_t dtype = term->dtype;
  uint64_t again[2] = {0};
  hone_str_appendf(out, "%s(", hone_dtype_name(dtype));
  if (hone_dtype_is_float(dtype)) {
    double value = hone_to_double(dtype, term->bits);
    hone_from_double(dtype, value, true, again);
    if (value == value && memcmp(again, term->bits, sizeof again) == 0)
      hone_str_append_double(out, value);
    else
      put_hex(out, term);
  } else if (hone_dtype_is_int(dtype) || dtype == HONE_BOOL) {
    int64_t value;
    hone_load_i64(dtype, term->bits, 0, 1, &value);
    hone_store_i64(dtype, &value, 1, again);
    if (memcmp(again, term->bits, sizeof again) != 0)
      put_hex(out, term);
    else if (dtype == HONE_U64)
      hone_str_appendf(out, "%" PRIu64, (uint64_t)value);
    else
      hone_str_appendf(out, "%" PRId64, value);
  } else {
    put_hex(out, term);
  }
  hone_str_append_char(out, ')');
}

/* ---- terms ---- */

static const struct {
  int64_t flag;
  const char* name;
} flag_names[] = {{HONE_FLAG_SATURATE, ".saturate"},
                  {HONE_FLAG_ROUND_UP, ".up"},
                  {HONE_FLAG_ROUND_DOWN, ".down"},
                  {HONE_FLAG_FLUSHES, ".flushes"}};

static void put_prim_name(hone_str_t* out, const hone_term_t* term) {
  hone_str_append(out, hone_prim_info(term->prim)->name);
  if (hone_prim_info(term->prim)->family == HONE_FAMILY_CAST)
    hone_str_appendf(out, ".%s", hone_dtype_name(term->dtype));
  for (size_t i = 0; i < sizeof flag_names / sizeof *flag_names; i++)
    if (term->flags & flag_names[i].flag) hone_str_append(out, flag_names[i].name);
}

/* `p` NULL: no names for parts. */
static void put_term(const printer_t* p, hone_str_t* out, const hone_term_t* term, bool by_name) {
  uintptr_t number =
      p && by_name ? (uintptr_t)hone_map_get_u64(&p->numbers, (uint64_t)term->id) : 0;
  if (number) {
    hone_str_appendf(out, "%%%d", (int)number);
    return;
  }
  switch (term->kind) {
    case HONE_TERM_CONST:
      put_const(out, term);
      break;
    case HONE_TERM_INDEX:
      hone_str_append(out, "index(");
      hone_dim_append(term->dim, out);
      hone_str_append_char(out, ')');
      break;
    case HONE_TERM_LOAD:
      hone_access_print(term->buffer, term->index, out);
      break;
    case HONE_TERM_PRIM:
      put_prim_name(out, term);
      for (int i = 0; i < term->n_args; i++) {
        hone_str_append(out, i ? ", " : "(");
        put_term(p, out, term->args[i], true);
      }
      hone_str_append_char(out, ')');
      break;
  }
}

/* ---- parts with lines of their own ---- */

static void put_entry(printer_t* p, hone_map_t* map, const hone_term_t* term, uintptr_t value) {
  hone_status_t status = hone_map_put_u64(map, (uint64_t)term->id, (void*)value);
  if (status) p->failed = true;
  hone_status_free(status);
}

/* The depth of the text that the term would be, and counts of uses; names
 * those parts that are too deep. */
static int count_uses(printer_t* p, const hone_term_t* term) {
  uintptr_t seen = (uintptr_t)hone_map_get_u64(&p->uses, (uint64_t)term->id);
  put_entry(p, &p->uses, term, seen + 1);
  if (term->kind != HONE_TERM_PRIM || p->failed) return 0;
  if (seen) {
    put_entry(p, &p->numbers, term, 1);
    return 0;
  }
  int depth = 0;
  for (int i = 0; i < term->n_args; i++) {
    int below = count_uses(p, term->args[i]) + 1;
    if (below > depth) depth = below;
  }
  if (depth < MAX_NESTING) return depth;
  put_entry(p, &p->numbers, term, 1);
  return 0;
}

static void put_indent(const printer_t* p) {
  for (int i = 0; i < p->indent; i++) hone_str_append(p->out, "  ");
}

/* Arguments before what uses them; numbers in that order. */
static void put_parts(printer_t* p, const hone_term_t* term, const hone_term_t* whole) {
  uintptr_t seen = (uintptr_t)hone_map_get_u64(&p->uses, (uint64_t)term->id);
  if (!seen) return;
  put_entry(p, &p->uses, term, 0);
  for (int i = 0; i < term->n_args; i++) put_parts(p, term->args[i], whole);
  if (term == whole || !hone_map_get_u64(&p->numbers, (uint64_t)term->id)) return;
  put_indent(p);
  hone_str_appendf(p->out, "%%%d = ", ++p->n_numbers);
  put_term(p, p->out, term, false);
  hone_str_append_char(p->out, '\n');
  put_entry(p, &p->numbers, term, (uintptr_t)p->n_numbers);
}

/* The lines of the parts of a statement's value. */
static void start_value(printer_t* p, const hone_term_t* value) {
  p->n_numbers = 0;
  hone_map_free(&p->uses);
  hone_map_free(&p->numbers);
  hone_map_init(&p->uses, p->allocator);
  hone_map_init(&p->numbers, p->allocator);
  if (!value) return;
  count_uses(p, value);
  put_parts(p, value, value);
}

/* ---- statements ---- */

static const char* const store_signs[] = {"=", "+=", "*=", "min=", "max="};

static void put_line(printer_t* p, const hone_stmt_t* stmt) {
  hone_str_t* out = p->out;
  switch (stmt->kind) {
    case HONE_STMT_LOOP:
      hone_str_append(out, "for ");
      put_name(out, stmt->name);
      hone_str_append(out, " in ");
      hone_dim_append(stmt->extent, out);
      if (stmt->loop != HONE_LOOP_SERIAL) hone_str_appendf(out, " %s", loop_kinds[stmt->loop]);
      if (stmt->is_reduction) hone_str_append(out, " reduction");
      if (stmt->intrinsic) hone_str_appendf(out, " as %s", stmt->intrinsic);
      return;
    case HONE_STMT_STORE:
      hone_access_print(stmt->buffer, stmt->index, out);
      hone_str_appendf(out, " %s ", store_signs[stmt->combine]);
      break;
    case HONE_STMT_IF:
      hone_str_append(out, "if ");
      break;
    case HONE_STMT_LET:
      hone_str_append(out, "let ");
      put_name(out, stmt->name);
      hone_str_appendf(out, " in %" PRId64 "..%" PRId64 " = ", hone_dim_min_value(stmt->var),
                       hone_dim_max_value(stmt->var));
      break;
    case HONE_STMT_CHECK:
      hone_str_appendf(out, "check %d ", stmt->check);
      put_quoted(out, stmt->message);
      hone_str_append_char(out, ' ');
      break;
    case HONE_STMT_PREFETCH:
      hone_str_append(out, stmt->is_claim ? "claim " : "prefetch ");
      hone_access_print(stmt->buffer, stmt->index, out);
      if (stmt->is_near) hone_str_append(out, " near");
      return;
    default:
      hone_str_append(out, "barrier");
      return;
  }
  put_term(p, out, stmt->value, false);
}

static void put_body(printer_t* p, const hone_stmt_t* stmt);

static void put_stmt(printer_t* p, const hone_stmt_t* stmt) {
  start_value(p, stmt->value);
  put_indent(p);
  put_line(p, stmt);
  if (stmt->kind != HONE_STMT_LOOP && stmt->kind != HONE_STMT_IF) {
    hone_str_append_char(p->out, '\n');
    return;
  }
  hone_str_append(p->out, " {\n");
  put_body(p, stmt);
  put_indent(p);
  hone_str_append(p->out, "}\n");
}

static void put_body(printer_t* p, const hone_stmt_t* stmt) {
  p->indent++;
  for (int i = 0; i < stmt->n_body; i++) put_stmt(p, stmt->body[i]);
  p->indent--;
}

/* ---- heads ---- */

static const char* buffer_word(const hone_buffer_t* buffer) {
  static const char* const roles[] = {NULL, "input", "output", "error"};
  if (buffer->role != HONE_ROLE_SCRATCH) return roles[buffer->role];
  return buffer->space == HONE_SPACE_SHARED ? "shared" : "local";
}

static void put_packing(hone_str_t* out, const hone_packing_t* packing, int rank) {
  hone_str_append(out, " from [");
  for (int i = 0; i < packing->rank; i++)
    hone_str_appendf(out, "%s%" PRId64, i ? ", " : "", packing->dims[i]);
  hone_str_append(out, "] by");
  for (int i = 0; i < rank; i++)
    hone_str_appendf(out, " %d*%" PRId64, packing->axes[i].source, packing->axes[i].stride);
  if (packing->is_sparse) hone_str_appendf(out, " sparse %d %d", packing->sums, packing->columns);
  if (packing->in_nibbles) hone_str_append(out, " nibbles");
}

static void put_buffer(hone_str_t* out, const hone_buffer_t* buffer) {
  hone_str_appendf(out, "  %s ", buffer_word(buffer));
  put_name(out, buffer->name);
  hone_str_appendf(out, ": %s", hone_dtype_name(buffer->dtype));
  put_dims(out, buffer->rank, buffer->dims);
  if (buffer->role == HONE_ROLE_INPUT || buffer->role == HONE_ROLE_OUTPUT)
    hone_str_appendf(out, " = %d", buffer->value);
  if (buffer->is_constant) hone_str_append(out, " constant");
  if (buffer->is_constant && buffer->is_proven) hone_str_append(out, " proven");
  if (buffer->is_constant && buffer->is_bounded) hone_str_append(out, " bounded");
  if (buffer->is_constant && buffer->slight)
    hone_str_appendf(out, " slight %d", buffer->slight - 1);
  if (buffer->is_constant && buffer->is_sparse) hone_str_append(out, " sparse");
  if (buffer->is_constant && buffer->fits_nibbles) hone_str_append(out, " nibbles");
  if (buffer->packing) put_packing(out, buffer->packing, buffer->rank);
  hone_str_append_char(out, '\n');
}

/* Scratch buffers that nothing uses any more are left out. */
static void put_head(hone_str_t* out, const hone_kernel_t* kernel, hone_stmt_t* const* owners) {
  hone_str_append(out, "kernel ");
  put_name(out, kernel->name);
  hone_str_append(out, " {\n");
  if (kernel->origin[0]) {
    hone_str_append(out, "  origin ");
    put_quoted(out, kernel->origin);
    hone_str_append_char(out, '\n');
  }
  for (int i = 0; i < kernel->n_sizes; i++) {
    const hone_symbol_t* size = hone_dim_as_symbol(kernel->sizes[i]);
    hone_str_append(out, "  size ");
    put_name(out, size->name);
    hone_str_appendf(out, " %" PRId64 "..%" PRId64 "\n", size->min, size->max);
  }
  for (int i = 0; i < kernel->n_buffers; i++)
    if (owners[i] || kernel->buffers[i]->role != HONE_ROLE_SCRATCH)
      put_buffer(out, kernel->buffers[i]);
  if (kernel->by_parts) hone_str_append(out, "  by_parts\n");
  if (kernel->n_checks) hone_str_appendf(out, "  checks %d\n", kernel->n_checks);
}

static void put_schedule(hone_str_t* out, const char* lines) {
  while (*lines) {
    size_t length = strcspn(lines, "\n");
    hone_str_append(out, "  schedule ");
    put_quoted_n(out, lines, length);
    hone_str_append_char(out, '\n');
    lines += length + (lines[length] == '\n');
  }
}

hone_status_t hone_kernel_print(const hone_kernel_t* kernel, hone_str_t* out) {
  printer_t p = {.out = out, .allocator = kernel->allocator};
  size_t bytes = ((size_t)kernel->n_buffers + 1) * sizeof(hone_stmt_t*);
  hone_stmt_t** owners = hone_alloc(kernel->allocator, bytes);
  hone_status_t status = owners ? hone_access_owners(kernel, owners) : hone_oom();
  if (!status) put_head(out, kernel, owners);
  hone_free(kernel->allocator, owners, bytes);
  if (status) return status;
  hone_map_init(&p.uses, p.allocator);
  hone_map_init(&p.numbers, p.allocator);
  put_body(&p, kernel->root);
  put_schedule(out, hone_str_text(kernel->schedule));
  hone_str_append(out, "}\n");
  hone_map_free(&p.uses);
  hone_map_free(&p.numbers);
  return p.failed || out->failed ? hone_oom() : NULL;
}
