/* parallel: the rounds of an outermost loop are shared out among threads. */
#include <string.h>

#include "base/memory.h"
#include "base/str.h"
#include "sched/common/depend.h"
#include "sched/common/edit.h"

/* Whether the last primitive made another loop at the top parallel: what stands there was found
 * to be apart then, and nothing has changed since. */
static bool was_checked(const hone_kernel_t* kernel) {
  static const char word[] = "parallel ";
  const char *notes = hone_str_text(kernel->schedule), *line = notes + kernel->schedule->size;
  while (line > notes && (line[-1] != '\n' || line == notes + kernel->schedule->size)) line--;
  if (strncmp(line, word, sizeof word - 1) != 0) return false;
  const char* name = line + sizeof word - 1;
  size_t size = strcspn(name, "\n");
  for (int i = 0; i < kernel->root->n_body; i++) {
    const hone_stmt_t* loop = kernel->root->body[i];
    if (hone_stmt_is_parallel(loop) && strlen(loop->name) == size &&
        memcmp(loop->name, name, size) == 0)
      return true;
  }
  return false;
}

/* All that stands at the top beside a parallel loop runs at the same time. */
static hone_status_t check_beside(hone_kernel_t* kernel, const hone_stmt_t* loop) {
  const hone_stmt_t* top = kernel->root;
  const hone_buffer_t* buffer = NULL;
  if (was_checked(kernel)) return NULL;
  for (int i = 0; i < top->n_body; i++)
    for (int k = i + 1; k < top->n_body && !buffer; k++)
      HONE_TRY(hone_depend_apart(kernel, top->body[i], top->body[k], &buffer));
  if (!buffer) return NULL;
  return hone_sched_refuse(
      "parallel %s: what stands beside one another at the top may use the "
      "same elements of %s",
      loop->name, buffer->name);
}

static hone_status_t check(hone_kernel_t* kernel, hone_stmt_t* loop) {
  for (const hone_stmt_t* s = loop->parent; s != kernel->root; s = s->parent)
    if (!hone_stmt_is_parallel(s) || s->n_body != 1)
      return hone_sched_refuse("parallel %s: the loop is not outermost", loop->name);
  HONE_TRY(hone_sched_want_own_scratch(kernel, loop, false));
  const hone_buffer_t* buffer;
  HONE_TRY(hone_depend_rounds(kernel, loop, false, &buffer));
  HONE_TRY(hone_sched_conflict(buffer, "parallel", loop->name));
  return loop->parent == kernel->root ? check_beside(kernel, loop) : NULL;
}

hone_status_t hone_sched_parallel(hone_kernel_t* kernel, const char* name) {
  size_t begin = hone_sched_begin(kernel);
  hone_stmt_t* loop;
  HONE_TRY(hone_sched_find(kernel, name, &loop));
  HONE_TRY(hone_sched_want_serial(loop));
  HONE_TRY(check(kernel, loop));
  loop->loop = HONE_LOOP_PARALLEL;
  return hone_sched_end(kernel, begin, "parallel %s", loop->name);
}

static hone_status_t apply(hone_kernel_t* kernel, int n, const char* const* args) {
  return hone_sched_parallel(kernel, args[0]);
}

const hone_primitive_t hone_primitive_parallel = {
    .name = "parallel",
    .usage = "parallel LOOP",
    .min_args = 1,
    .max_args = 1,
    .apply = apply,
};
