/* Values that must share bytes (views, and outputs that work in place) are
 * first merged into groups; then groups are placed one after another, each at
 * the lowest or tightest gap among those already placed that live at the same
 * time. */
#include "runtime/plan.h"

#include <string.h>

#include "base/memory.h"

enum {
  DEFAULT_ALIGNMENT = 64,
  MANY_GROUPS = 3000,   /* beyond, fewer ways are tried */
  FEW_BYTES = 64 * 1024 /* sizes below share: their lines are not worth keeping apart */
};

/* Values that share bytes. */
typedef struct group {
  size_t bytes; /* rounded up */
  int first, last;
  int taken_at;    /* step in which an output last took this place; -1: none */
  int holder;      /* the value, not a view, that has the place last */
  bool took_place; /* the value of this index lies where its input did */
  size_t offset;
  double rank; /* larger ones are placed first */
} group_t;

typedef struct planner {
  hone_plan_t* plan;
  group_t* groups; /* one a value; only those of representatives count */
  int* parent;     /* union-find over values */
  size_t* place;   /* of a value in its parent's bytes */
  int* by_first;   /* all values */
  int* order;      /* representatives with bytes */
  int* by_offset;  /* those placed */
  size_t* live;    /* n_steps + 1 entries: bytes alive in each step */
  int n_groups, n_steps;
  bool any_fit;     /* in place also where the input is larger than the output */
  bool keeps_apart; /* sizes do not share bytes */
} planner_t;

/* ---- groups ---- */

/* The representative of a value; *out_place is where the value lies in it. */
static int find(const planner_t* p, int value, size_t* out_place) {
  size_t place = 0;
  for (; p->parent[value] != value; value = p->parent[value]) place += p->place[value];
  *out_place = place;
  return value;
}

static void absorb(planner_t* p, int into, int value, size_t place) {
  group_t* group = &p->groups[into];
  const group_t* gone = &p->groups[value];
  p->parent[value] = into;
  p->place[value] = place;
  if (gone->first < group->first) group->first = gone->first;
  if (gone->last > group->last) group->last = gone->last;
}

static hone_status_t bad_value(const planner_t* p, int value, const char* what) {
  const char* name = p->plan->values[value].name;
  return hone_status_make(HONE_INVALID_ARGUMENT, "memory plan: value %d '%s' %s", value,
                          name ? name : "", what);
}

static hone_status_t merge_view(planner_t* p, int v) {
  const hone_plan_value_t* value = &p->plan->values[v];
  if (value->view_of >= p->plan->n_values || value->view_of == v)
    return bad_value(p, v, "is a view of nothing");
  size_t base_bytes = p->plan->values[value->view_of].bytes;
  if (value->view_offset > base_bytes || value->bytes > base_bytes - value->view_offset)
    return bad_value(p, v, "reaches beyond what it is a view of");
  size_t place, own_place;
  int into = find(p, value->view_of, &place);
  int own = find(p, v, &own_place);
  if (into == own) return bad_value(p, v, "is a view of itself");
  absorb(p, into, v, place + value->view_offset);
  return NULL;
}

static int base_of(const planner_t* p, int value) {
  while (p->plan->values[value].view_of >= 0) value = p->plan->values[value].view_of;
  return value;
}

static bool merge_in_place(planner_t* p, int v) {
  const hone_plan_value_t* value = &p->plan->values[v];
  int input = value->in_place_of;
  if (input < 0 || input >= p->plan->n_values || p->parent[v] != v || !value->bytes) return false;
  size_t place;
  int into = find(p, input, &place);
  group_t* group = &p->groups[into];
  const group_t* own = &p->groups[v];
  if (into == v || group->holder != base_of(p, input)) return false;
  if (group->last != value->first || group->taken_at == value->first) return false;
  if (own->first != value->first || place > group->bytes) return false;
  if (place & (p->plan->alignment - 1)) return false;
  size_t room = group->bytes - place;
  if (p->any_fit ? own->bytes > room : place || own->bytes != room) return false;
  absorb(p, into, v, place);
  group->taken_at = value->first;
  group->holder = v;
  return true;
}

static void start_groups(planner_t* p) {
  const hone_plan_t* plan = p->plan;
  for (int v = 0; v < plan->n_values; v++) {
    const hone_plan_value_t* value = &plan->values[v];
    size_t bytes = (value->bytes + plan->alignment - 1) & ~(plan->alignment - 1);
    p->groups[v] = (group_t){
        .bytes = bytes, .first = value->first, .last = value->last, .taken_at = -1, .holder = v};
    p->parent[v] = v;
    p->place[v] = 0;
  }
}

static hone_status_t merge(planner_t* p) {
  hone_plan_t* plan = p->plan;
  start_groups(p);
  for (int v = 0; v < plan->n_values; v++)
    if (plan->values[v].view_of >= 0) HONE_TRY(merge_view(p, v));
  for (int i = 0; i < plan->n_values; i++)
    p->groups[p->by_first[i]].took_place = merge_in_place(p, p->by_first[i]);
  p->n_groups = 0;
  for (int v = 0; v < plan->n_values; v++)
    if (p->parent[v] == v && p->groups[v].bytes) p->order[p->n_groups++] = v;
  return NULL;
}

/* ---- bounds ---- */

/* Bytes alive in each step, from what begins and ends there. */
static size_t find_live(planner_t* p) {
  memset(p->live, 0, (size_t)(p->n_steps + 1) * sizeof *p->live);
  for (int i = 0; i < p->n_groups; i++) {
    const group_t* group = &p->groups[p->order[i]];
    p->live[group->first] += group->bytes;
    p->live[group->last + 1] -= group->bytes; /* wraps, and back when summed */
  }
  size_t most = 0;
  for (int s = 1; s <= p->n_steps; s++) p->live[s] += p->live[s - 1];
  for (int s = 0; s < p->n_steps; s++) most = p->live[s] > most ? p->live[s] : most;
  return most;
}

/* ---- placing ---- */

static double rank_by_size(const planner_t* p, const group_t* g) {
  (void)p;
  return (double)g->bytes;
}

static double rank_by_area(const planner_t* p, const group_t* g) {
  (void)p;
  return (double)g->bytes * ((double)g->last - g->first + 1);
}

static double rank_by_length(const planner_t* p, const group_t* g) {
  (void)p;
  return (double)g->last - g->first + 1;
}

static double rank_by_time(const planner_t* p, const group_t* g) {
  (void)p;
  return -(double)g->first;
}

/* The fullest step that the group lives through. */
static double rank_by_breadth(const planner_t* p, const group_t* g) {
  size_t most = 0;
  for (int s = g->first; s <= g->last; s++) most = p->live[s] > most ? p->live[s] : most;
  return (double)most;
}

typedef struct method {
  const char* name;
  double (*rank)(const planner_t* p, const group_t* group);
  bool tightest; /* the smallest gap that fits, else the lowest */
} method_t;

static const method_t methods[] = {
    {"by size, lowest gap", rank_by_size, false},
    {"by size, tightest gap", rank_by_size, true},
    {"by fullest step, lowest gap", rank_by_breadth, false},
    {"by area, lowest gap", rank_by_area, false},
    {"by time, lowest gap", rank_by_time, false},
    {"by fullest step, tightest gap", rank_by_breadth, true},
    {"by area, tightest gap", rank_by_area, true},
    {"by lifetime, lowest gap", rank_by_length, false},
    {"by time, tightest gap", rank_by_time, true},
};

enum { METHODS = sizeof methods / sizeof *methods, METHODS_FOR_MANY = 2 };

static bool goes_before(const planner_t* p, int a, int b) {
  const group_t *x = &p->groups[a], *y = &p->groups[b];
  if (x->rank != y->rank) return x->rank > y->rank;
  if (x->bytes != y->bytes) return x->bytes > y->bytes;
  return a < b;
}

/* Heap sort: the comparison needs the planner, which qsort cannot pass. */
static void sift(const planner_t* p, int root, int count) {
  for (int child; (child = 2 * root + 1) < count; root = child) {
    if (child + 1 < count && goes_before(p, p->order[child], p->order[child + 1])) child++;
    if (!goes_before(p, p->order[root], p->order[child])) return;
    int kept = p->order[root];
    p->order[root] = p->order[child];
    p->order[child] = kept;
  }
}

static void sort_groups(const planner_t* p) {
  for (int i = p->n_groups / 2 - 1; i >= 0; i--) sift(p, i, p->n_groups);
  for (int end = p->n_groups - 1; end > 0; end--) {
    int last = p->order[0];
    p->order[0] = p->order[end];
    p->order[end] = last;
    sift(p, 0, end);
  }
}

static bool may_share(const planner_t* p, const group_t* a, const group_t* b) {
  if (a->last >= b->first && a->first <= b->last) return false;
  return !p->keeps_apart || a->bytes == b->bytes || (a->bytes < FEW_BYTES && b->bytes < FEW_BYTES);
}

/* Where the group goes, given those placed. */
static size_t find_gap(const planner_t* p, const group_t* group, int n_placed, bool tightest) {
  size_t end = 0, best = 0, best_gap = SIZE_MAX;
  for (int i = 0; i < n_placed; i++) {
    const group_t* other = &p->groups[p->by_offset[i]];
    if (may_share(p, group, other)) continue;
    size_t gap = other->offset > end ? other->offset - end : 0;
    if (gap >= group->bytes && gap < best_gap) {
      best = end;
      best_gap = gap;
      if (!tightest) return best;
    }
    if (other->offset + other->bytes > end) end = other->offset + other->bytes;
  }
  return best_gap < SIZE_MAX ? best : end;
}

static void insert_placed(const planner_t* p, int representative, int n_placed) {
  int at = n_placed;
  for (; at > 0 && p->groups[p->by_offset[at - 1]].offset > p->groups[representative].offset; at--)
    p->by_offset[at] = p->by_offset[at - 1];
  p->by_offset[at] = representative;
}

/* Gives the bytes that it takes; stops when they reach `limit`. */
static size_t place_all(planner_t* p, const method_t* method, size_t limit) {
  for (int i = 0; i < p->n_groups; i++) {
    group_t* group = &p->groups[p->order[i]];
    group->rank = method->rank(p, group);
  }
  sort_groups(p);
  size_t peak = 0;
  for (int i = 0; i < p->n_groups && peak < limit; i++) {
    group_t* group = &p->groups[p->order[i]];
    group->offset = find_gap(p, group, i, method->tightest);
    insert_placed(p, p->order[i], i);
    if (group->offset + group->bytes > peak) peak = group->offset + group->bytes;
  }
  return peak;
}

static void take_result(const planner_t* p, size_t bytes, const method_t* method) {
  hone_plan_t* plan = p->plan;
  plan->bytes = bytes;
  plan->method = method->name;
  plan->keeps_apart = p->keeps_apart;
  plan->n_in_place = 0;
  for (int v = 0; v < plan->n_values; v++) {
    size_t place;
    int representative = find(p, v, &place);
    plan->values[v].offset = p->groups[representative].offset + place;
    plan->values[v].took_place = p->groups[v].took_place;
    plan->n_in_place += p->groups[v].took_place;
  }
}

static void try_methods(planner_t* p, size_t enough) {
  int count = p->n_groups > MANY_GROUPS ? METHODS_FOR_MANY : METHODS;
  for (int m = 0; m < count && p->plan->bytes > enough; m++) {
    size_t peak = place_all(p, &methods[m], p->plan->bytes);
    if (peak < p->plan->bytes) take_result(p, peak, &methods[m]);
  }
}

/* ---- the whole ---- */

static hone_status_t check_values(planner_t* p) {
  hone_plan_t* plan = p->plan;
  size_t total = 0;
  for (int v = 0; v < plan->n_values; v++) {
    const hone_plan_value_t* value = &plan->values[v];
    if (value->first < 0 || value->last < value->first || value->last == INT32_MAX)
      return bad_value(p, v, "dies before it is made");
    size_t padded;
    if (!hone_size_add(value->bytes, plan->alignment - 1, &padded) ||
        !hone_size_add(total, padded, &total) || total > SIZE_MAX / 2)
      return hone_status_make(HONE_OUT_OF_RANGE, "memory plan: the values are too large together");
    if (value->last >= p->n_steps) p->n_steps = value->last + 1;
    if (value->view_of < 0) plan->unshared_bytes += padded & ~(plan->alignment - 1);
  }
  return NULL;
}

static void order_by_first(planner_t* p) {
  const hone_plan_t* plan = p->plan;
  memset(p->live, 0, (size_t)(p->n_steps + 1) * sizeof *p->live);
  for (int v = 0; v < plan->n_values; v++) p->live[plan->values[v].first + 1]++;
  for (int s = 1; s <= p->n_steps; s++) p->live[s] += p->live[s - 1];
  for (int v = 0; v < plan->n_values; v++) p->by_first[p->live[plan->values[v].first]++] = v;
}

/* First with outputs in place wherever they fit; then only where that takes
 * nothing that others could use. */
static hone_status_t plan_both_ways(planner_t* p) {
  hone_plan_t* plan = p->plan;
  for (int way = 0; way < 2; way++) {
    p->any_fit = way == 0;
    HONE_TRY(merge(p));
    size_t bound = find_live(p);
    if (bound < plan->lower_bound) plan->lower_bound = bound;
    try_methods(p, bound);
  }
  return NULL;
}

/* What was found stays where the spare bytes do not do. */
static hone_status_t plan_apart(planner_t* p) {
  hone_plan_t* plan = p->plan;
  const size_t least = plan->bytes;
  size_t most;
  if (!plan->spare || !hone_size_add(least, plan->spare, &most)) return NULL;
  p->keeps_apart = true;
  plan->bytes = most + 1;
  HONE_TRY(plan_both_ways(p));
  if (!plan->keeps_apart) plan->bytes = least;
  return NULL;
}

static size_t scratch_bytes(const hone_plan_t* plan, int n_steps) {
  size_t values = (size_t)plan->n_values;
  return values * (sizeof(group_t) + sizeof(size_t) + 4 * sizeof(int)) +
         ((size_t)n_steps + 1) * sizeof(size_t);
}

static void lay_out_scratch(planner_t* p, void* block) {
  size_t values = (size_t)p->plan->n_values;
  p->groups = block;
  p->place = (size_t*)(void*)(p->groups + values);
  p->live = p->place + values;
  p->parent = (int*)(void*)(p->live + p->n_steps + 1);
  p->by_first = p->parent + values;
  p->order = p->by_first + values;
  p->by_offset = p->order + values;
}

hone_status_t hone_plan_make(hone_plan_t* plan, const hone_allocator_t* allocator) {
  if (!plan->alignment) plan->alignment = DEFAULT_ALIGNMENT;
  plan->bytes = plan->lower_bound = plan->unshared_bytes = 0;
  plan->n_in_place = 0;
  plan->keeps_apart = false;
  plan->method = "nothing to place";
  planner_t p = {.plan = plan};
  HONE_TRY(check_values(&p));
  size_t bytes = scratch_bytes(plan, p.n_steps);
  void* block = hone_alloc(allocator, bytes);
  if (!block) return hone_oom();
  lay_out_scratch(&p, block);
  order_by_first(&p);
  plan->bytes = plan->lower_bound = SIZE_MAX;
  hone_status_t status = plan_both_ways(&p);
  if (!status) status = plan_apart(&p);
  hone_free(allocator, block, bytes);
  return status;
}

double hone_plan_savings(const hone_plan_t* plan) {
  if (!plan->unshared_bytes) return 0;
  return 1 - (double)plan->bytes / (double)plan->unshared_bytes;
}
