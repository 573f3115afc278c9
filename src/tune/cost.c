/* Counting what a kernel does, and what that takes. */
#include "tune/cost.h"

#include <math.h>

/* ---- what a device does in a cycle, where it does not say so itself ---- */

static const double usual_clock = 2.5e9;
static const double wake_seconds = 4e-6;   /* until the threads of a launch are at work */
static const double launch_seconds = 4e-7; /* of a launch on the caller's thread */

int hone_cost_lanes(const hone_device_properties_t* properties) {
  int lanes = properties->vector_bytes / 4;
  return lanes < 1 ? 1 : lanes;
}

static int units(const hone_device_properties_t* properties) {
  return properties->compute_units > 0 ? properties->compute_units : 1;
}

/* Two vectors of multiply-adds a cycle are taken for granted. */
double hone_cost_clock(const hone_device_properties_t* properties) {
  if (!(properties->peak_gflops > 0)) return usual_clock;
  return properties->peak_gflops * 1e9 / (4.0 * hone_cost_lanes(properties) * units(properties));
}

double hone_cost_traffic(const hone_device_properties_t* properties, double bytes, double held) {
  static const double per_cycle[] = {64, 32, 12}; /* of the first, second and third cache */
  static const double usual_room[] = {32e3, 1e6, 8e6};
  double clock = hone_cost_clock(properties);
  for (int level = 0; level < 3; level++) {
    double room = (double)properties->cache_bytes[level];
    if (level == 2) room /= units(properties); /* which all share */
    if (held <= (room > 0 ? room : usual_room[level])) return bytes / (per_cycle[level] * clock);
  }
  double whole = properties->peak_gbytes * 1e9;
  return bytes / (whole > 0 ? whole / units(properties) : 5 * clock);
}

double hone_cost_share(const hone_device_properties_t* properties, double seconds, double rounds) {
  double threads = units(properties);
  if (rounds < 2 || threads < 2) return seconds + launch_seconds;
  return seconds * ceil(rounds / threads) / rounds + wake_seconds;
}

/* A vector a cycle, be it of results or of bytes: good kernels reach a multiple of that, poor
 * ones less. Of what is done one element at a time eight parts of an expression a cycle, which is
 * the most: less is hardly worth a thread that has to fetch its data from another's cache. */
double hone_cost_least_seconds(const hone_device_properties_t* properties,
                               const hone_work_amount_t* work) {
  enum { SINGLES_A_CYCLE = 8 };
  double in_lanes =
      fmax(hone_work_operations(work), work->read + work->written) / hone_cost_lanes(properties);
  return fmax(in_lanes, work->single / SINGLES_A_CYCLE) / hone_cost_clock(properties);
}

/* Where work is not known (0), it is taken to be a lot. */
int64_t hone_cost_grain(const hone_device_properties_t* properties, const hone_work_amount_t* work,
                        const int64_t groups[3]) {
  double seconds = hone_cost_least_seconds(properties, work);
  double rounds = (double)groups[0] * (double)groups[1] * (double)groups[2];
  if (!(seconds > 0) || !(rounds > 1)) return 1;
  double grain = ceil(rounds * fmin(wake_seconds / seconds, 1));
  return 2 * grain > rounds + 1 ? (int64_t)rounds : (int64_t)grain;
}

/* ---- counting ---- */

double hone_cost_extent(hone_dim_t extent) {
  if (hone_dim_is_int(extent)) return (double)extent.k;
  double least = (double)hone_dim_min_value(extent), most = (double)hone_dim_max_value(extent);
  return fmin(fmax(HONE_COST_EXTENT, least), most);
}

/* Of an elementwise primitive, as additions. */
static double weight(const hone_term_t* term) {
  if (hone_prim_is_transcendental(term->prim)) return 20;
  bool is_slow =
      term->prim == HONE_PRIM_DIV || term->prim == HONE_PRIM_REM || term->prim == HONE_PRIM_SQRT;
  return is_slow ? 6 : 1;
}

typedef struct count {
  hone_cost_facts_t* facts;
  double in_lanes;         /* operations that could be in vectors */
  double rounds;           /* of the loops around */
  const hone_stmt_t* loop; /* the innermost around; NULL: none */
  hone_kernel_t* kernel;
} count_t;

static bool is_consecutive(const count_t* count, const hone_buffer_t* buffer,
                           const hone_dim_t* index) {
  int64_t factor;
  return count->loop &&
         hone_dim_factor(hone_buffer_offset(count->kernel, buffer, index), count->loop->var,
                         &factor) &&
         factor >= 0 && factor <= 1;
}

/* Adds up a term's operations; whether its loads could be of vectors. */
static bool count_term(const count_t* count, const hone_term_t* term, double* operations) {
  bool in_lanes = true;
  if (term->kind == HONE_TERM_PRIM) *operations += weight(term);
  if (term->kind == HONE_TERM_LOAD && term->buffer->space == HONE_SPACE_GLOBAL) {
    count->facts->accesses += count->rounds;
    in_lanes = is_consecutive(count, term->buffer, term->index);
  }
  for (int i = 0; i < term->n_args; i++) in_lanes &= count_term(count, term->args[i], operations);
  return in_lanes;
}

static void count_store(count_t* count, const hone_stmt_t* stmt) {
  double operations = stmt->combine == HONE_COMBINE_SET ? 0 : 1;
  bool in_lanes = count_term(count, stmt->value, &operations);
  int bytes = (int)hone_dtype_size(stmt->buffer->dtype);
  if (bytes > count->facts->element_bytes) count->facts->element_bytes = bytes;
  if (stmt->buffer->space == HONE_SPACE_GLOBAL) {
    count->facts->accesses += count->rounds;
    in_lanes &= is_consecutive(count, stmt->buffer, stmt->index);
  }
  operations = (operations + 0.5) * count->rounds; /* a copy is work too */
  count->facts->operations += operations;
  if (in_lanes) count->in_lanes += operations;
}

static void count_stmt(count_t count, const hone_stmt_t* stmt, double* in_lanes) {
  count.in_lanes = 0;
  if (stmt->kind == HONE_STMT_STORE) count_store(&count, stmt);
  *in_lanes += count.in_lanes;
  if (stmt->kind == HONE_STMT_LOOP) {
    count.rounds *= hone_cost_extent(stmt->extent);
    count.loop = stmt;
  }
  for (int i = 0; i < stmt->n_body; i++) count_stmt(count, stmt->body[i], in_lanes);
}

double hone_cost_bytes(const hone_buffer_t* buffer) {
  double bytes = (double)hone_dtype_size(buffer->dtype);
  for (int i = 0; i < buffer->rank; i++) bytes *= hone_cost_extent(buffer->dims[i]);
  return bytes;
}

static void count_outer(hone_cost_facts_t* facts, const hone_stmt_t* stmt) {
  double rounds = 1;
  if (stmt->kind == HONE_STMT_LOOP && !stmt->is_reduction) rounds = hone_cost_extent(stmt->extent);
  facts->rounds += rounds;
  const hone_stmt_t* inner = stmt->n_body == 1 ? stmt->body[0] : NULL;
  if (inner && inner->kind == HONE_STMT_LOOP && !inner->is_reduction)
    rounds *= hone_cost_extent(inner->extent);
  facts->inner += rounds;
}

hone_cost_facts_t hone_cost_look(hone_kernel_t* kernel) {
  hone_cost_facts_t facts = {.element_bytes = 1};
  double in_lanes = 0;
  const count_t count = {.facts = &facts, .rounds = 1, .kernel = kernel};
  for (int i = 0; i < kernel->n_buffers; i++)
    if (kernel->buffers[i]->space == HONE_SPACE_GLOBAL)
      facts.bytes += hone_cost_bytes(kernel->buffers[i]);
  for (int i = 0; i < kernel->root->n_body; i++) {
    count_stmt(count, kernel->root->body[i], &in_lanes);
    count_outer(&facts, kernel->root->body[i]);
  }
  facts.lanes_share = facts.operations > 0 ? in_lanes / facts.operations : 0;
  return facts;
}
