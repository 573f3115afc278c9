/* pack: a constant input, or a scratch buffer, lies in another order.
 *
 * The layout names for each new axis the axis of the old array that it comes
 * from, and which part of it: old / stride % extent. Scratch may have more room along that than the
 * part has elements, % extent ~ room. The kernel then uses the new array; the packing on the buffer
 * of an input says how to make it. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/str.h"
#include "sched/common/edit.h"

typedef struct layout {
  int n;
  const hone_buffer_t* from;
  hone_packing_axis_t axes[HONE_MAX_BUFFER_RANK];
  int64_t modulus[HONE_MAX_BUFFER_RANK]; /* 0: the rest of the old axis */
  int64_t room[HONE_MAX_BUFFER_RANK];    /* as many as the modulus, or more */
  hone_dim_t dims[HONE_MAX_BUFFER_RANK];
} layout_t;

/* "1/24%4", "1%4~6" */
static hone_status_t parse_axis(const char* word, layout_t* layout, int i) {
  char* end;
  long long source = strtoll(word, &end, 10), stride = 1, modulus = 0, room = 0;
  bool ok = end != word && source >= 0 && source < layout->from->rank;
  if (ok && *end == '/') stride = strtoll(end + 1, &end, 10);
  if (ok && *end == '%') room = modulus = strtoll(end + 1, &end, 10), ok = modulus > 0;
  if (ok && modulus && *end == '~' && layout->from->role == HONE_ROLE_SCRATCH)
    room = strtoll(end + 1, &end, 10), ok = room >= modulus;
  if (!ok || *end || stride < 1)
    return hone_sched_refuse("pack %s: '%s' is no part of an axis such as 1, 1/24 or 1%%24",
                             layout->from->name, word);
  layout->axes[i] = (hone_packing_axis_t){(int)source, stride};
  layout->modulus[i] = modulus;
  layout->room[i] = room;
  return NULL;
}

/* The only part of the old axis that has the stride; -1: none or several. */
static int find_part(const layout_t* layout, int source, int64_t stride) {
  int found = -1;
  for (int i = 0; i < layout->n; i++) {
    if (layout->axes[i].source != source || layout->axes[i].stride != stride) continue;
    if (found >= 0) return -1;
    found = i;
  }
  return found;
}

/* The parts of an old axis follow one another without a gap: each stride is the
 * product of the extents below it, and the last part has the rest. */
static hone_status_t check_axis(const layout_t* layout, int source) {
  int total = 0, used = 0;
  int64_t stride = 1;
  for (int i = 0; i < layout->n; i++) total += layout->axes[i].source == source;
  while (used++ < total) {
    int i = find_part(layout, source, stride);
    if (i >= 0 && !layout->modulus[i] && used == total) return NULL;
    if (i < 0 || !layout->modulus[i] || !hone_i64_mul(stride, layout->modulus[i], &stride)) break;
  }
  return hone_sched_refuse("pack %s: the parts of axis %d do not make it up", layout->from->name,
                           source);
}

/* Without a %, an axis has as many rounds as the old one needs. */
static hone_status_t set_dims(hone_kernel_t* kernel, layout_t* layout) {
  for (int i = 0; i < layout->n; i++) {
    hone_dim_t old = layout->from->dims[layout->axes[i].source];
    layout->dims[i] = layout->modulus[i] ? hone_dim_int(layout->room[i])
                                         : hone_dim_ceildiv(kernel->dims, old,
                                                            hone_dim_int(layout->axes[i].stride));
    if (!hone_dim_is_int(layout->dims[i]) && layout->from->role != HONE_ROLE_SCRATCH)
      return hone_sched_refuse("pack %s: its extents must be known", layout->from->name);
  }
  return NULL;
}

static hone_status_t check_buffer(const hone_buffer_t* buffer) {
  bool is_constant = buffer->role == HONE_ROLE_INPUT && buffer->is_constant;
  if (!is_constant && buffer->role != HONE_ROLE_SCRATCH)
    return hone_sched_refuse("pack %s: it is neither a constant input nor scratch", buffer->name);
  if (buffer->packing) return hone_sched_refuse("pack %s: it is packed already", buffer->name);
  for (int i = 0; i < buffer->rank && is_constant; i++)
    if (!hone_dim_is_int(buffer->dims[i]))
      return hone_sched_refuse("pack %s: its extents must be known", buffer->name);
  return NULL;
}

static void reindex(void* self, hone_kernel_t* kernel, const hone_dim_t* old, hone_dim_t* out) {
  const layout_t* layout = self;
  for (int i = 0; i < layout->n; i++) {
    hone_dim_t stride = hone_dim_int(layout->axes[i].stride);
    out[i] = hone_dim_floordiv(kernel->dims, old[layout->axes[i].source], stride);
    if (layout->modulus[i])
      out[i] = hone_dim_mod(kernel->dims, out[i], hone_dim_int(layout->modulus[i]));
  }
}

static bool replace_scratch(hone_kernel_t* kernel, const hone_buffer_t* old, layout_t* layout) {
  hone_buffer_t* into =
      hone_kernel_buffer(kernel, hone_sched_name(kernel, old->name, "p"), old->dtype, layout->n,
                         layout->dims, old->space, HONE_ROLE_SCRATCH);
  hone_substitution_t by = {.from = old, .into = into, .reindex = reindex, .self = layout};
  return into && hone_stmt_replace(kernel, kernel->root, &by);
}

/* The packed buffer takes the old one's place among the parameters. */
static bool replace_input(hone_kernel_t* kernel, hone_buffer_t* old, layout_t* layout) {
  hone_packing_t* packing = hone_packing_create(kernel, old->rank, layout->n);
  hone_buffer_t* into = hone_arena_alloc(kernel->arena, sizeof *into);
  hone_dim_t* dims =
      hone_arena_memdup(kernel->arena, layout->dims, (size_t)layout->n * sizeof *dims);
  if (!packing || !into || !dims) return false;
  for (int i = 0; i < old->rank; i++) packing->dims[i] = old->dims[i].k;
  memcpy(packing->axes, layout->axes, (size_t)layout->n * sizeof *layout->axes);
  *into = *old;
  into->rank = layout->n;
  into->dims = dims;
  into->packing = packing;
  hone_substitution_t by = {.from = old, .into = into, .reindex = reindex, .self = layout};
  kernel->buffers[old->id] = into;
  return hone_stmt_replace(kernel, kernel->root, &by);
}

hone_status_t hone_sched_pack(hone_kernel_t* kernel, const char* name, int n,
                              const char* const* words) {
  size_t begin = hone_sched_begin(kernel);
  hone_buffer_t* buffer;
  HONE_TRY(hone_sched_find_buffer(kernel, name, &buffer));
  HONE_TRY(check_buffer(buffer));
  layout_t layout = {.n = n, .from = buffer};
  if (n < 1 || n > HONE_MAX_BUFFER_RANK)
    return hone_sched_refuse("pack %s: from 1 to %d axes", name, HONE_MAX_BUFFER_RANK);
  for (int i = 0; i < n; i++) HONE_TRY(parse_axis(words[i], &layout, i));
  for (int i = 0; i < buffer->rank; i++) HONE_TRY(check_axis(&layout, i));
  HONE_TRY(set_dims(kernel, &layout));
  hone_str_t line;
  hone_str_init(&line, kernel->allocator);
  for (int i = 0; i < n; i++) hone_str_appendf(&line, " %s", words[i]);
  bool is_scratch = buffer->role == HONE_ROLE_SCRATCH;
  bool is_done = is_scratch ? replace_scratch(kernel, buffer, &layout)
                            : replace_input(kernel, buffer, &layout);
  hone_status_t status =
      !line.failed && is_done
          ? hone_sched_end(kernel, begin, "pack %s%s", buffer->name, hone_str_text(&line))
          : hone_oom();
  hone_str_free(&line);
  return status;
}

static hone_status_t apply(hone_kernel_t* kernel, int n, const char* const* args) {
  return hone_sched_pack(kernel, args[0], n - 1, args + 1);
}

const hone_primitive_t hone_primitive_pack = {
    .name = "pack",
    .usage = "pack BUFFER AXIS AXIS …",
    .min_args = 2,
    .max_args = HONE_MAX_BUFFER_RANK + 1,
    .apply = apply,
};
