/* Reads kernels from text; text.h gives the form. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/float_convert.h"
#include "base/memory.h"
#include "base/str.h"
#include "base/text_reader.h"
#include "loop/intrinsic.h"
#include "loop/text.h"
#include "loop/verify.h"

enum { MAX_DEPTH = 200, MAX_NAME = 256, MAX_PARTS = 1 << 20 };

typedef struct parser {
  hone_text_reader_t in;
  hone_kernel_t* kernel;
  int depth;
  /* Terms %1, %2, … that wait for their statement. */
  int n_parts, parts_room;
  const hone_term_t** parts;
} parser_t;

/* ---- errors and words ---- */

static void fail(parser_t* p, const char* what) {
  bool out_of_memory = p->kernel->out_of_memory || hone_dims_out_of_memory(p->kernel->dims);
  if (out_of_memory && !p->in.status) p->in.status = hone_oom(); /* that is why */
  hone_text_fail(&p->in, what);
}

/* "MIN..MAX" */
static void read_range(parser_t* p, int64_t* min, int64_t* max) {
  *min = hone_text_read_int(&p->in);
  hone_text_expect(&p->in, '.');
  hone_text_expect(&p->in, '.');
  *max = hone_text_read_int(&p->in);
  if (!p->in.status && *min > *max) fail(p, "the range is empty");
}

/* Text in quotes, in the arena; "" on failure. */
static const char* read_quoted(parser_t* p) {
  hone_text_expect(&p->in, '"');
  if (p->in.status) return "";
  const char* end = p->in.at;
  while (*end && *end != '"') end += *end == '\\' && end[1] ? 2 : 1;
  char* text = hone_arena_alloc(p->kernel->arena, (size_t)(end - p->in.at) + 1);
  if (!text) {
    p->in.status = hone_oom();
    return "";
  }
  size_t length = 0;
  for (; p->in.at < end; p->in.at++) {
    if (*p->in.at == '\\' && p->in.at[1]) p->in.at++;
    text[length++] = *p->in.at;
  }
  hone_text_expect(&p->in, '"');
  return text;
}

/* A word, or a name in quotes. */
static void read_name(parser_t* p, char name[MAX_NAME]) {
  hone_text_skip_blanks(&p->in);
  name[0] = 0;
  const char* start = p->in.at;
  size_t length = 0;
  if (*start == '"') {
    start = read_quoted(p);
    length = strlen(start);
  } else {
    while (hone_text_is_word(start[length])) length++;
    if (!p->in.status) p->in.at += length;
  }
  if (length == 0 || length >= MAX_NAME) fail(p, "expected a name");
  if (p->in.status) return;
  memcpy(name, start, length);
  name[length] = 0;
}

/* ---- dimensions ---- */

/* All its symbols must be known. */
static hone_dim_t read_dim(parser_t* p) {
  hone_text_skip_blanks(&p->in);
  if (p->in.status) return hone_dim_int(0);
  int known = hone_dims_symbol_count(p->kernel->dims);
  const char* end = p->in.at;
  hone_dim_t dim = hone_dim_parse(p->kernel->dims, &end);
  if (hone_dim_is_bad(dim)) {
    fail(p, "expected a dimension expression");
  } else if (hone_dims_symbol_count(p->kernel->dims) != known) {
    fail(p, "the expression has a name that is not known");
  } else {
    p->in.at = end;
    return dim;
  }
  return hone_dim_int(0);
}

/* "[4, n]"; gives the rank. */
static int read_dims(parser_t* p, hone_dim_t dims[HONE_MAX_BUFFER_RANK]) {
  int rank = 0;
  hone_text_expect(&p->in, '[');
  while (!p->in.status && !hone_text_take(&p->in, ']')) {
    if (rank) hone_text_expect(&p->in, ',');
    if (rank == HONE_MAX_BUFFER_RANK) {
      fail(p, "too many axes");
      break;
    }
    dims[rank++] = read_dim(p);
  }
  return p->in.status ? 0 : rank;
}

/* ---- constants ---- */

static void read_hex(parser_t* p, size_t size, unsigned char* bytes) {
  p->in.at++; /* the x */
  hone_text_expect(&p->in, '"');
  for (size_t i = 0; i < size && !p->in.status; i++) {
    int high = hone_text_hex_digit(p->in.at[0]),
        low = high < 0 ? -1 : hone_text_hex_digit(p->in.at[1]);
    if (low < 0) {
      fail(p, "expected two hexadecimal digits a byte of the type");
      return;
    }
    bytes[i] = (unsigned char)(high * 16 + low);
    p->in.at += 2;
  }
  hone_text_expect(&p->in, '"');
}

static void read_number(parser_t* p, hone_dtype_t dtype, void* bits) {
  char* end = (char*)(uintptr_t)p->in.at;
  errno = 0;
  if (hone_dtype_is_float(dtype)) {
    hone_from_double(dtype, strtod(p->in.at, &end), true, bits);
    errno = 0; /* tiny and huge numbers are rounded */
  } else if (dtype == HONE_U64) {
    uint64_t value = strtoull(p->in.at, &end, 10);
    memcpy(bits, &value, sizeof value);
  } else if (hone_dtype_is_int(dtype) || dtype == HONE_BOOL) {
    int64_t value = strtoll(p->in.at, &end, 10);
    hone_store_i64(dtype, &value, 1, bits);
  }
  if (end == p->in.at || errno)
    fail(p, "expected a number of the type, or its bytes");
  else
    p->in.at = end;
}

static const hone_term_t* read_const(parser_t* p, hone_dtype_t dtype) {
  uint64_t bits[2] = {0};
  hone_text_expect(&p->in, '(');
  if (dtype == HONE_STRING) fail(p, "kernels have no strings");
  if (hone_text_peek(&p->in, 'x'))
    read_hex(p, hone_dtype_size(dtype), (unsigned char*)bits);
  else if (!p->in.status)
    read_number(p, dtype, bits);
  hone_text_expect(&p->in, ')');
  return p->in.status ? NULL : hone_term_const(p->kernel, dtype, bits);
}

/* ---- terms ---- */

static const hone_term_t* read_term(parser_t* p);

static const hone_buffer_t* find_buffer(const parser_t* p, const char* name) {
  for (int i = 0; i < p->kernel->n_buffers; i++)
    if (strcmp(p->kernel->buffers[i]->name, name) == 0) return p->kernel->buffers[i];
  return NULL;
}

/* The buffer of that name and an index of its rank; NULL on failure. */
static const hone_buffer_t* read_access(parser_t* p, const char* name,
                                        hone_dim_t index[HONE_MAX_BUFFER_RANK]) {
  const hone_buffer_t* buffer = find_buffer(p, name);
  if (!buffer) fail(p, "there is no such buffer");
  int rank = read_dims(p, index);
  if (!p->in.status && rank != buffer->rank) fail(p, "the index has not the buffer's rank");
  return p->in.status ? NULL : buffer;
}

static const struct {
  int64_t flag;
  const char* name;
} flag_names[] = {{HONE_FLAG_SATURATE, "saturate"},
                  {HONE_FLAG_ROUND_UP, "up"},
                  {HONE_FLAG_ROUND_DOWN, "down"},
                  {HONE_FLAG_FLUSHES, "flushes"}};

/* ".f16.saturate" behind the name of a cast: cuts `name` to its first part. */
static void read_suffixes(parser_t* p, char* name, hone_dtype_t* dtype, int64_t* flags) {
  char* part = strchr(name, '.');
  while (part) {
    *part++ = 0;
    char* next = strchr(part, '.');
    if (next) *next = 0;
    int64_t flag = 0;
    for (size_t i = 0; i < sizeof flag_names / sizeof *flag_names; i++)
      if (strcmp(part, flag_names[i].name) == 0) flag = flag_names[i].flag;
    *flags |= flag;
    if (!flag && *dtype == HONE_UNKNOWN) *dtype = hone_dtype_parse(part);
    if (!flag && *dtype == HONE_UNKNOWN) fail(p, "expected a type or a flag behind the point");
    if (next) *next = '.';
    part = next;
  }
}

static const hone_term_t* read_prim(parser_t* p, char* name) {
  hone_dtype_t dtype = HONE_UNKNOWN;
  int64_t flags = 0;
  const hone_term_t* args[3] = {0};
  int n_args = 0;
  read_suffixes(p, name, &dtype, &flags);
  hone_prim_t prim = hone_prim_parse(name);
  const hone_prim_info_t* info = prim < HONE_PRIM_COUNT ? hone_prim_info(prim) : NULL;
  if (!info || info->family < HONE_FAMILY_UNARY || info->family > HONE_FAMILY_CAST) {
    fail(p, "there is no such elementwise primitive");
    return NULL;
  }
  if ((info->family == HONE_FAMILY_CAST) != (dtype != HONE_UNKNOWN) || dtype == HONE_STRING)
    fail(p, "casts have a type behind a point, and only they");
  while (!p->in.status && n_args < info->min_inputs) {
    hone_text_expect(&p->in, n_args ? ',' : '(');
    args[n_args++] = read_term(p);
  }
  hone_text_expect(&p->in, ')');
  return p->in.status ? NULL : hone_term_prim(p->kernel, prim, dtype, flags, n_args, args);
}

static const hone_term_t* read_part(parser_t* p) {
  int number = hone_text_read_small(&p->in, (int64_t)p->n_parts + 1);
  if (!p->in.status && number == 0) fail(p, "there is no such part");
  return p->in.status ? NULL : p->parts[number - 1];
}

static const hone_term_t* read_index(parser_t* p) {
  hone_text_expect(&p->in, '(');
  hone_dim_t dim = read_dim(p);
  hone_text_expect(&p->in, ')');
  return p->in.status ? NULL : hone_term_index(p->kernel, dim);
}

static const hone_term_t* read_load(parser_t* p, const char* name) {
  hone_dim_t index[HONE_MAX_BUFFER_RANK];
  const hone_buffer_t* buffer = read_access(p, name, index);
  return buffer ? hone_term_load(p->kernel, buffer, index) : NULL;
}

static const hone_term_t* read_term_kind(parser_t* p) {
  char name[MAX_NAME];
  if (hone_text_take(&p->in, '%')) return read_part(p);
  read_name(p, name);
  if (p->in.status) return NULL;
  if (hone_text_peek(&p->in, '[')) return read_load(p, name);
  if (strcmp(name, "index") == 0) return read_index(p);
  hone_dtype_t dtype = hone_dtype_parse(name);
  return dtype != HONE_UNKNOWN ? read_const(p, dtype) : read_prim(p, name);
}

static const hone_term_t* read_term(parser_t* p) {
  if (p->depth >= MAX_DEPTH) fail(p, "too deep");
  if (p->in.status) return NULL;
  p->depth++;
  const hone_term_t* term = read_term_kind(p);
  p->depth--;
  if (!term) fail(p, "the term cannot be made");
  return term;
}

/* "%3 = term": its number is the next. */
static void read_part_line(parser_t* p) {
  int number = hone_text_read_small(&p->in, MAX_PARTS);
  if (!p->in.status && number != p->n_parts + 1) fail(p, "parts are numbered from 1 on");
  hone_text_expect(&p->in, '=');
  const hone_term_t* term = read_term(p);
  if (p->in.status) return;
  if (p->n_parts == p->parts_room) {
    int room = p->parts_room ? p->parts_room * 2 : 16;
    const hone_term_t** fresh = hone_arena_array(p->kernel->arena, (size_t)room, sizeof *fresh);
    if (!fresh) {
      p->in.status = hone_oom();
      return;
    }
    if (p->n_parts) memcpy(fresh, p->parts, (size_t)p->n_parts * sizeof *fresh);
    p->parts = fresh;
    p->parts_room = room;
  }
  p->parts[p->n_parts++] = term;
}

/* ---- statements ---- */

static void read_body(parser_t* p, hone_stmt_t* parent);

/* `made` is NULL, or has another name than was asked for, when it could not be had. */
static void check_made(parser_t* p, const hone_stmt_t* made, const char* name) {
  if (!made)
    fail(p, "the statement cannot be made");
  else if (strcmp(made->name, name) != 0)
    fail(p, "the name is taken, or has more than 80 bytes");
}

static const hone_intrinsic_t* read_intrinsic(parser_t* p) {
  char name[MAX_NAME];
  read_name(p, name);
  const hone_intrinsic_t* intrinsic = hone_intrinsic_find(name);
  if (!intrinsic) fail(p, "there is no such intrinsic");
  return intrinsic;
}

static void read_for(parser_t* p, hone_stmt_t* parent) {
  char name[MAX_NAME];
  hone_loop_kind_t kind = HONE_LOOP_SERIAL;
  read_name(p, name);
  if (!hone_text_take_word(&p->in, "in")) fail(p, "expected 'in'");
  hone_dim_t extent = read_dim(p);
  for (int i = 1; i < HONE_LOOP_KIND_COUNT; i++)
    if (hone_text_take_word(&p->in, hone_loop_kind_name((hone_loop_kind_t)i)))
      kind = (hone_loop_kind_t)i;
  bool is_reduction = hone_text_take_word(&p->in, "reduction");
  const hone_intrinsic_t* intrinsic = hone_text_take_word(&p->in, "as") ? read_intrinsic(p) : NULL;
  hone_text_expect(&p->in, '{');
  if (p->in.status) return;
  hone_stmt_t* loop = hone_stmt_loop(p->kernel, parent, name, extent, kind);
  check_made(p, loop, name);
  if (p->in.status) return;
  loop->is_reduction = is_reduction;
  if (intrinsic) loop->intrinsic = intrinsic->name;
  read_body(p, loop);
}

static void read_if(parser_t* p, hone_stmt_t* parent) {
  const hone_term_t* condition = read_term(p);
  hone_text_expect(&p->in, '{');
  hone_stmt_t* stmt = p->in.status ? NULL : hone_stmt_if(p->kernel, parent, condition);
  if (!stmt) fail(p, "the statement cannot be made");
  p->n_parts = 0;
  if (!p->in.status) read_body(p, stmt);
}

static void read_let(parser_t* p, hone_stmt_t* parent) {
  char name[MAX_NAME];
  int64_t min = 0, max = 0;
  read_name(p, name);
  if (!hone_text_take_word(&p->in, "in")) fail(p, "expected 'in'");
  read_range(p, &min, &max);
  hone_text_expect(&p->in, '=');
  const hone_term_t* value = read_term(p);
  if (!p->in.status) check_made(p, hone_stmt_let(p->kernel, parent, name, min, max, value), name);
}

static void read_check(parser_t* p, hone_stmt_t* parent) {
  int number = hone_text_read_small(&p->in, INT32_MAX), total = p->kernel->n_checks;
  if (!p->in.status && number >= total) fail(p, "there are not so many checks");
  hone_text_skip_blanks(&p->in);
  const char* message = read_quoted(p);
  const hone_term_t* condition = read_term(p);
  hone_stmt_t* stmt = p->in.status ? NULL : hone_stmt_check(p->kernel, parent, condition, message);
  p->kernel->n_checks = total;
  if (stmt)
    stmt->check = number;
  else
    fail(p, "the statement cannot be made");
}

static bool take_sign(parser_t* p, const char* sign) {
  hone_text_skip_blanks(&p->in);
  size_t length = strlen(sign);
  if (p->in.status || strncmp(p->in.at, sign, length) != 0) return false;
  p->in.at += length;
  return true;
}

static void read_store(parser_t* p, hone_stmt_t* parent) {
  static const char* const signs[] = {"=", "+=", "*=", "min=", "max="};
  char name[MAX_NAME];
  hone_dim_t index[HONE_MAX_BUFFER_RANK];
  int combine = 0;
  read_name(p, name);
  const hone_buffer_t* buffer = p->in.status ? NULL : read_access(p, name, index);
  while (combine < HONE_COMBINE_COUNT && !take_sign(p, signs[combine])) combine++;
  if (combine == HONE_COMBINE_COUNT) fail(p, "expected =, +=, *=, min= or max=");
  const hone_term_t* value = read_term(p);
  if (!p->in.status &&
      !hone_stmt_store(p->kernel, parent, buffer, index, (hone_combine_t)combine, value))
    fail(p, "the statement cannot be made");
}

static void read_prefetch(parser_t* p, hone_stmt_t* parent, bool is_claim) {
  char name[MAX_NAME];
  hone_dim_t index[HONE_MAX_BUFFER_RANK];
  read_name(p, name);
  const hone_buffer_t* buffer = p->in.status ? NULL : read_access(p, name, index);
  hone_stmt_t* stmt = p->in.status ? NULL : hone_stmt_prefetch(p->kernel, parent, buffer, index);
  if (stmt && is_claim)
    stmt->is_claim = true;
  else if (stmt)
    stmt->is_near = hone_text_take_word(&p->in, "near");
  else if (!p->in.status)
    fail(p, "the statement cannot be made");
}

static void read_stmt(parser_t* p, hone_stmt_t* parent) {
  if (hone_text_take(&p->in, '%')) {
    read_part_line(p);
    return;
  }
  if (hone_text_take_word(&p->in, "for"))
    read_for(p, parent);
  else if (hone_text_take_word(&p->in, "if"))
    read_if(p, parent);
  else if (hone_text_take_word(&p->in, "let"))
    read_let(p, parent);
  else if (hone_text_take_word(&p->in, "check"))
    read_check(p, parent);
  else if (hone_text_take_word(&p->in, "prefetch"))
    read_prefetch(p, parent, false);
  else if (hone_text_take_word(&p->in, "claim"))
    read_prefetch(p, parent, true);
  else if (!hone_text_take_word(&p->in, "barrier"))
    read_store(p, parent);
  else if (!hone_stmt_barrier(p->kernel, parent))
    fail(p, "the statement cannot be made");
  p->n_parts = 0;
}

static void read_body(parser_t* p, hone_stmt_t* parent) {
  if (p->depth >= MAX_DEPTH) fail(p, "too deep");
  p->depth++;
  while (!p->in.status && !hone_text_take(&p->in, '}')) read_stmt(p, parent);
  p->depth--;
}

/* ---- heads ---- */

static void read_size(parser_t* p) {
  char name[MAX_NAME];
  int64_t min, max;
  int known = hone_dims_symbol_count(p->kernel->dims);
  read_name(p, name);
  read_range(p, &min, &max);
  if (p->in.status) return;
  hone_dim_t size = hone_kernel_size(p->kernel, name, min, max);
  if (hone_dim_is_bad(size) || hone_dims_symbol_count(p->kernel->dims) == known)
    fail(p, "the size cannot be made: is its name taken?");
}

/* " from [768, 8] by 0*24 1*1 0*1", " from [768, 64] by 0*1 1*1 sparse 0 1" */
static void read_packing(parser_t* p, hone_buffer_t* buffer) {
  hone_dim_t dims[HONE_MAX_BUFFER_RANK];
  int rank = read_dims(p, dims);
  hone_packing_t* packing = hone_packing_create(p->kernel, rank, buffer->rank);
  if (!packing) fail(p, "out of memory");
  if (!hone_text_take_word(&p->in, "by")) fail(p, "expected 'by'");
  for (int i = 0; i < rank && !p->in.status; i++) {
    if (!hone_dim_is_int(dims[i])) fail(p, "what is packed has known extents");
    if (!p->in.status) packing->dims[i] = dims[i].k;
  }
  for (int i = 0; i < buffer->rank && !p->in.status; i++) {
    packing->axes[i].source = hone_text_read_small(&p->in, rank);
    hone_text_expect(&p->in, '*');
    packing->axes[i].stride = hone_text_read_int(&p->in);
  }
  if (!p->in.status && hone_text_take_word(&p->in, "sparse")) {
    packing->is_sparse = true;
    packing->sums = hone_text_read_small(&p->in, rank);
    packing->columns = hone_text_read_small(&p->in, rank);
  }
  packing->in_nibbles = !p->in.status && hone_text_take_word(&p->in, "nibbles");
  if (!p->in.status) buffer->packing = packing;
}

static void read_buffer(parser_t* p, hone_buffer_space_t space, hone_role_t role) {
  char name[MAX_NAME], type[MAX_NAME];
  hone_dim_t dims[HONE_MAX_BUFFER_RANK];
  read_name(p, name);
  hone_text_expect(&p->in, ':');
  read_name(p, type);
  hone_dtype_t dtype = hone_dtype_parse(type);
  if (dtype == HONE_UNKNOWN) fail(p, "expected a type");
  int rank = read_dims(p, dims);
  if (p->in.status) return;
  hone_buffer_t* buffer = hone_kernel_buffer(p->kernel, name, dtype, rank, dims, space, role);
  if (!buffer || strcmp(buffer->name, name) != 0)
    fail(p, "the name is taken, or has more than 80 bytes");
  if (p->in.status) return;
  if (role == HONE_ROLE_INPUT || role == HONE_ROLE_OUTPUT) {
    hone_text_expect(&p->in, '=');
    buffer->value = hone_text_read_small(&p->in, INT32_MAX);
  }
  buffer->is_constant = hone_text_take_word(&p->in, "constant");
  buffer->is_proven = buffer->is_constant && hone_text_take_word(&p->in, "proven");
  buffer->is_bounded = buffer->is_constant && hone_text_take_word(&p->in, "bounded");
  if (buffer->is_constant && hone_text_take_word(&p->in, "slight"))
    buffer->slight = 1 + hone_text_read_small(&p->in, HONE_MAX_BUFFER_RANK);
  buffer->is_sparse = buffer->is_constant && hone_text_take_word(&p->in, "sparse");
  buffer->fits_nibbles = buffer->is_constant && hone_text_take_word(&p->in, "nibbles");
  if (hone_text_take_word(&p->in, "from")) read_packing(p, buffer);
}

static void read_schedule(parser_t* p) {
  hone_text_skip_blanks(&p->in);
  const char* line = read_quoted(p);
  hone_str_appendf(p->kernel->schedule, "%s\n", line);
  if (p->kernel->schedule->failed && !p->in.status) p->in.status = hone_oom();
}

static const struct {
  const char* word;
  hone_buffer_space_t space;
  hone_role_t role;
} buffer_words[] = {{"input", HONE_SPACE_GLOBAL, HONE_ROLE_INPUT},
                    {"output", HONE_SPACE_GLOBAL, HONE_ROLE_OUTPUT},
                    {"error", HONE_SPACE_GLOBAL, HONE_ROLE_ERROR},
                    {"shared", HONE_SPACE_SHARED, HONE_ROLE_SCRATCH},
                    {"local", HONE_SPACE_LOCAL, HONE_ROLE_SCRATCH}};

static bool read_head_line(parser_t* p) {
  for (size_t i = 0; i < sizeof buffer_words / sizeof *buffer_words; i++)
    if (hone_text_take_word(&p->in, buffer_words[i].word)) {
      read_buffer(p, buffer_words[i].space, buffer_words[i].role);
      return true;
    }
  if (hone_text_take_word(&p->in, "size"))
    read_size(p);
  else if (hone_text_take_word(&p->in, "checks"))
    p->kernel->n_checks = hone_text_read_small(&p->in, INT32_MAX);
  else if (hone_text_take_word(&p->in, "by_parts"))
    p->kernel->by_parts = true;
  else if (hone_text_take_word(&p->in, "schedule"))
    read_schedule(p);
  else if (hone_text_take_word(&p->in, "origin"))
    p->kernel->origin = read_quoted(p);
  else
    return false;
  return true;
}

static void read_kernel(parser_t* p) {
  char name[MAX_NAME];
  if (!hone_text_take_word(&p->in, "kernel")) fail(p, "expected 'kernel'");
  read_name(p, name);
  if (p->in.status) return;
  p->kernel->name = hone_arena_strdup(p->kernel->arena, name);
  if (!p->kernel->name) p->in.status = hone_oom();
  hone_text_expect(&p->in, '{');
  while (!p->in.status && !hone_text_take(&p->in, '}'))
    if (!read_head_line(p)) read_stmt(p, NULL);
  hone_text_expect_end(&p->in);
}

hone_status_t hone_kernel_parse(const hone_allocator_t* allocator, const char* text, size_t size,
                                hone_kernel_t** out_kernel) {
  *out_kernel = NULL;
  hone_kernel_t* kernel;
  HONE_TRY(hone_kernel_create(allocator, "", &kernel));
  parser_t p = {.kernel = kernel, .in = {.subject = "kernel text", .code = HONE_INVALID_DATA}};
  p.in.text = p.in.at = hone_arena_strndup(kernel->arena, text, size);
  if (p.in.text)
    read_kernel(&p);
  else
    p.in.status = hone_oom();
  hone_status_t status = p.in.status ? p.in.status : hone_kernel_verify(kernel);
  if (status)
    hone_kernel_destroy(kernel);
  else
    *out_kernel = kernel;
  return status;
}
