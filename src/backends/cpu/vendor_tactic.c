/* Blocks of the output are divisors of it, so that nothing is left over. */
#include "backends/cpu/vendor_tactic.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backends/common/schedule.h"
#include "base/memory.h"

enum { MOST_BLOCKS = 5, MOST_ELEMENTS = 1 << 16 /* of a block, which lies on a thread's stack */ };

typedef struct facts {
  hone_vendor_id_t vendor;
  hone_product_facts_t product;
  hone_cost_facts_t whole;
} facts_t;

static bool find(hone_kernel_t* kernel, hone_product_facts_t* out) {
  hone_kernel_t* copy;
  hone_status_t status =
      hone_contraction_any(kernel) ? hone_kernel_clone(kernel, &copy) : hone_oom();
  bool found = !status && hone_product_find(copy, false, out);
  if (!status) hone_kernel_destroy(copy);
  hone_status_free(status);
  return found;
}

bool hone_vendor_supports(hone_kernel_t* kernel, const hone_device_properties_t* properties,
                          char* why) {
  hone_product_facts_t product;
  if (!properties->deterministic && find(kernel, &product)) return true;
  snprintf(why, HONE_DEVICE_TEXT_SIZE, "%s",
           properties->deterministic ? "its sums would depend on the library"
                                     : "it is no product of two matrices of f32 of known sizes");
  return false;
}

/* ---- the space ---- */

static int64_t divisor_below(int64_t extent, int64_t most) {
  int64_t n = most < extent ? most : extent;
  while (extent % n) n--;
  return n;
}

/* The largest divisors under powers of two, the default first. */
static hone_status_t define_blocks(hone_space_t* space, const char* name, int64_t extent,
                                   int64_t usual) {
  int64_t numbers[MOST_BLOCKS] = {divisor_below(extent, usual)};
  int count = 1;
  for (int64_t most = 4 * usual; most >= usual / 8 && most > 1 && count < MOST_BLOCKS; most /= 2) {
    int64_t n = divisor_below(extent, most);
    bool is_new = n > 1;
    for (int i = 0; i < count; i++) is_new &= numbers[i] != n;
    if (is_new) numbers[count++] = n;
  }
  return hone_space_define_numbers(space, name, count, numbers);
}

static bool fits_stack(const hone_space_t* space, const hone_candidate_t* candidate,
                       void* context) {
  int64_t rows = hone_candidate_number(space, candidate, "rows", 0);
  int64_t columns = hone_candidate_number(space, candidate, "columns", 0);
  return rows > 1 && columns > 1 && rows * columns <= MOST_ELEMENTS;
}

static bool is_there(const hone_space_t* space, const hone_candidate_t* candidate, void* context) {
  const facts_t* facts = context;
  return hone_vendor_sgemm(facts->vendor, NULL) != NULL;
}

hone_status_t hone_vendor_space(hone_kernel_t* kernel, const hone_device_properties_t* properties,
                                hone_arena_t* arena, hone_space_t* space, hone_vendor_id_t vendor,
                                const void** out_facts) {
  enum { USUAL_ROWS = 64, USUAL_COLUMNS = 512 };
  static const int64_t parallel[] = {1, 2, 0};
  static const char* const weights[] = {"keep", "turn"};
  facts_t* facts = hone_arena_alloc(arena, sizeof *facts);
  if (!facts || !find(kernel, &facts->product)) return hone_oom();
  facts->vendor = vendor;
  facts->whole = hone_cost_look(kernel);
  *out_facts = facts;
  HONE_TRY(define_blocks(space, "rows", facts->product.rows, USUAL_ROWS));
  HONE_TRY(define_blocks(space, "columns", facts->product.columns, USUAL_COLUMNS));
  HONE_TRY(hone_space_define_words(space, "weights", facts->product.has_weights ? 2 : 1, weights));
  HONE_TRY(hone_space_define_numbers(space, "parallel", 3, parallel));
  HONE_TRY(hone_space_add_rule(space, fits_stack, NULL));
  return hone_space_add_rule(space, is_there, facts);
}

/* ---- building ---- */

hone_status_t hone_vendor_build(hone_kernel_t* kernel, const hone_device_properties_t* properties,
                                const hone_space_t* space, const hone_candidate_t* candidate,
                                const char* intrinsic) {
  const hone_cpu_shape_t shape = hone_cpu_shape(properties);
  const hone_cpu_choice_t choice = {
      .product = intrinsic,
      .product_rows = (int)hone_candidate_number(space, candidate, "rows", 0),
      .product_columns = (int)hone_candidate_number(space, candidate, "columns", 0),
      .product_turned = strcmp(hone_candidate_word(space, candidate, "weights", 0), "turn") == 0,
      .parallel = hone_cpu_parallel(space, candidate),
  };
  return hone_cpu_schedule(kernel, &shape, &choice);
}

/* Nine tenths of what the units can do, and each operand copied for each block. */
double hone_vendor_cost(const void* facts, const hone_device_properties_t* p,
                        const hone_space_t* space, const hone_candidate_t* candidate) {
  const facts_t* f = facts;
  double rows = (double)hone_candidate_number(space, candidate, "rows", 0);
  double columns = (double)hone_candidate_number(space, candidate, "columns", 0);
  int64_t parallel = hone_candidate_number(space, candidate, "parallel", 0);
  double seconds = f->whole.operations / (3.6 * hone_cost_lanes(p)) / hone_cost_clock(p);
  seconds *= 1 + 4 / rows + 4 / columns;
  seconds += hone_cost_traffic(p, f->whole.bytes, f->whole.bytes);
  double blocks = ceil((double)f->product.rows / rows) * ceil((double)f->product.columns / columns);
  return hone_cost_share(p, seconds, parallel ? blocks : 0);
}
