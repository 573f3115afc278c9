/* Groups of nodes into calls. First an order of groups and single nodes is
 * found in which each comes after what it needs, values and symbols; a group
 * that stands in the way of such an order is given up. Then the nodes are moved
 * in that order. Everything is indexed by the numbers that nodes and values have
 * at the start; the values are numbered anew at the very end. */
#include "ir/outline.h"

#include <string.h>

#include "base/memory.h"
#include "ir/graph_impl.h"

enum { MAX_CHEAP_CHAIN = 4, MAX_COPIED_CHAIN = 16, NONE = -1 };

/* An item of the order: a node (its index) or a group (n_nodes + its index). */
typedef struct visit {
  int item;
  int node; /* whose needs are being looked at: of a group one after the other */
  int need;
} visit_t;

typedef struct value_note {
  int producer;         /* index of the node */
  bool escapes;         /* is used outside of its group */
  int wanted;           /* the group that the value was last found to be an input of */
  int stamp;            /* the group that `inside` belongs to */
  hone_value_t* inside; /* what stands for the value in that group's region */
} value_note_t;

typedef struct outline {
  hone_graph_t* graph;
  hone_arena_t* scratch;
  int n_nodes, n_groups;
  hone_node_t** nodes; /* the graph's at the start */
  hone_group_t* groups;
  int* group_of;                   /* by node */
  int *first_member, *last_member; /* by group */
  int* next_member;                /* by node */
  value_note_t* values;
  int* needs; /* node n needs the nodes needs[need_start[n]] … */
  int* need_start;
  int n_needs, needs_room;
  int* binder; /* by symbol: the node that binds it */
  char* state; /* by item: 0 not yet, 1 being visited, 2 in the order */
  visit_t* stack;
  int depth;
  int* order;
  int n_order;
  bool failed; /* memory ran out */
} outline_t;

/* ---- what is cheap ---- */

bool hone_value_is_cheap(const hone_value_t* value) {
  for (int i = 0; i < MAX_CHEAP_CHAIN; i++) {
    const hone_node_t* node = value->node;
    if (node->prim == HONE_PRIM_IOTA || node->prim == HONE_PRIM_DIMS) return true;
    if (node->prim == HONE_PRIM_CONSTANT)
      return hone_tensor_kind(node->constant) == HONE_KIND_TENSOR &&
             hone_tensor_count(node->constant) == 1;
    if (node->prim != HONE_PRIM_RESHAPE && node->prim != HONE_PRIM_EXPAND) return false;
    value = node->inputs[0];
  }
  return false;
}

/* ---- what is left over ---- */

static const hone_value_t* cast_of(const hone_value_t* value) {
  return value->node->prim == HONE_PRIM_CAST ? value->node->inputs[0] : NULL;
}

bool hone_value_is_rest(const hone_value_t* value, const hone_value_t* rounded) {
  const hone_value_t *x = cast_of(rounded), *rest = cast_of(value);
  return x && rest && rest->node->prim == HONE_PRIM_SUB && rest->node->inputs[0] == x &&
         cast_of(rest->node->inputs[1]) == rounded;
}

/* ---- needs ---- */

static void add_need(outline_t* o, int node) {
  if (o->n_needs == o->needs_room) {
    int room = o->needs_room ? o->needs_room * 2 : 256;
    int* grown = hone_arena_array(o->scratch, (size_t)room, sizeof *grown);
    if (!grown) {
      o->failed = true;
      return;
    }
    if (o->n_needs) memcpy(grown, o->needs, (size_t)o->n_needs * sizeof *grown);
    o->needs = grown;
    o->needs_room = room;
  }
  o->needs[o->n_needs++] = node;
}

static void need_symbol(void* self, const hone_symbol_t* symbol) {
  outline_t* o = self;
  if (o->binder[symbol->id] != NONE) add_need(o, o->binder[symbol->id]);
}

static void need_dims(outline_t* o, int count, const hone_dim_t* dims) {
  for (int i = 0; dims && i < count; i++) hone_dim_visit_symbols(dims[i], need_symbol, o);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as regions are nested */
static void need_symbols_of(outline_t* o, const hone_node_t* node) {
  need_dims(o, node->n_dims, node->shape);
  need_dims(o, node->n_dims, node->lo);
  need_dims(o, node->n_dims, node->hi);
  need_dims(o, node->n_dims, node->step);
  for (int r = 0; r < node->n_regions; r++)
    for (int n = 0; n < node->regions[r]->n_nodes; n++)
      need_symbols_of(o, node->regions[r]->nodes[n]);
}

/* Symbols that `node`, or a node in its regions, binds are bound by `index`. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as regions are nested */
static void note_binders(outline_t* o, const hone_node_t* node, int index) {
  for (int i = 0; i < node->n_outputs; i++)
    for (const hone_bind_t* bind = node->outputs[i]->binds; bind; bind = bind->next)
      if (o->binder[bind->symbol] == NONE) o->binder[bind->symbol] = index;
  for (int r = 0; r < node->n_regions; r++)
    for (int n = 0; n < node->regions[r]->n_nodes; n++)
      note_binders(o, node->regions[r]->nodes[n], index);
}

static void find_needs(outline_t* o) {
  for (int n = 0; n < o->n_nodes; n++) note_binders(o, o->nodes[n], n);
  for (int n = 0; n < o->n_nodes; n++) {
    const hone_node_t* node = o->nodes[n];
    o->need_start[n] = o->n_needs;
    for (int i = 0; i < node->n_inputs; i++)
      if (node->inputs[i]) add_need(o, o->values[node->inputs[i]->id].producer);
    int before = o->n_needs;
    need_symbols_of(o, node);
    int kept = before;
    for (int i = before; i < o->n_needs; i++) /* what it binds itself is no need */
      if (o->needs[i] < n) o->needs[kept++] = o->needs[i];
    o->n_needs = kept;
  }
  o->need_start[o->n_nodes] = o->n_needs;
}

/* ---- groups ---- */

static bool binds_symbol(const hone_node_t* node) {
  for (int i = 0; i < node->n_outputs; i++)
    if (node->outputs[i]->binds) return true;
  return false;
}

static void give_up(outline_t* o, int group) {
  for (int n = o->first_member[group], next; n != NONE; n = next) {
    next = o->next_member[n];
    o->group_of[n] = NONE;
  }
  o->first_member[group] = o->last_member[group] = NONE;
}

static bool is_member(const outline_t* o, int node) {
  const hone_node_t* at = o->nodes[node];
  if (o->group_of[node] < 0 || o->group_of[node] >= o->n_groups) return false;
  if (at->prim == HONE_PRIM_INPUT) return false;
  return at->n_outputs != 1 || !hone_value_is_cheap(at->outputs[0]);
}

static void chain_members(outline_t* o) {
  for (int g = 0; g < o->n_groups; g++) o->first_member[g] = o->last_member[g] = NONE;
  for (int n = 0; n < o->n_nodes; n++) {
    o->next_member[n] = NONE;
    if (!is_member(o, n)) {
      o->group_of[n] = NONE;
      continue;
    }
    int group = o->group_of[n];
    if (o->last_member[group] == NONE)
      o->first_member[group] = n;
    else
      o->next_member[o->last_member[group]] = n;
    o->last_member[group] = n;
  }
}

static void mark_escapes(outline_t* o) {
  const hone_graph_t* graph = o->graph;
  for (int n = 0; n < o->n_nodes; n++)
    for (int i = 0; i < o->nodes[n]->n_inputs; i++) {
      const hone_value_t* input = o->nodes[n]->inputs[i];
      if (!input) continue;
      value_note_t* note = &o->values[input->id];
      if (o->group_of[note->producer] != o->group_of[n]) note->escapes = true;
    }
  for (int i = 0; i < graph->n_outputs; i++) o->values[graph->outputs[i]->id].escapes = true;
}

static bool any_escapes(const outline_t* o, const hone_node_t* node) {
  for (int i = 0; i < node->n_outputs; i++)
    if (o->values[node->outputs[i]->id].escapes) return true;
  return false;
}

/* Gives up groups that bind symbols or that nobody needs. */
static void drop_bad_groups(outline_t* o) {
  for (int g = 0; g < o->n_groups; g++) {
    bool binds = false, needed = false;
    for (int n = o->first_member[g]; n != NONE; n = o->next_member[n]) {
      binds = binds || binds_symbol(o->nodes[n]);
      needed = needed || any_escapes(o, o->nodes[n]);
    }
    if (binds || !needed) give_up(o, g);
  }
}

/* ---- order ---- */

static int item_of(const outline_t* o, int node) {
  return o->group_of[node] == NONE ? node : o->n_nodes + o->group_of[node];
}

static void push(outline_t* o, int item) {
  int node = item < o->n_nodes ? item : o->first_member[item - o->n_nodes];
  o->stack[o->depth++] = (visit_t){.item = item, .node = node, .need = o->need_start[node]};
  o->state[item] = 1;
}

/* The next item that the topmost visit needs, or NONE. */
static int next_need(const outline_t* o, visit_t* top) {
  for (;;) {
    if (top->need < o->need_start[top->node + 1]) {
      int item = item_of(o, o->needs[top->need++]);
      if (item != top->item) return item;
      continue;
    }
    int next = top->item < o->n_nodes ? NONE : o->next_member[top->node];
    if (next == NONE) return NONE;
    top->node = next;
    top->need = o->need_start[next];
  }
}

/* Gives up a group of the circle that closes at `item`. */
static void break_circle(outline_t* o, int item) {
  int i = o->depth - 1;
  while (i > 0 && o->stack[i].item < o->n_nodes && o->stack[i].item != item) i--;
  if (o->stack[i].item >= o->n_nodes) give_up(o, o->stack[i].item - o->n_nodes);
}

/* Visits an item and what it needs; false when a circle was broken. */
static bool visit(outline_t* o, int item) {
  if (o->state[item]) return true;
  push(o, item);
  while (o->depth) {
    visit_t* top = &o->stack[o->depth - 1];
    int need = next_need(o, top);
    if (need == NONE) {
      o->state[top->item] = 2;
      o->order[o->n_order++] = top->item;
      o->depth--;
    } else if (o->state[need] == 1) {
      break_circle(o, need);
      return false;
    } else if (!o->state[need]) {
      push(o, need);
    }
  }
  return true;
}

/* Parameters first, then the nodes in the order they had as far as possible: a
 * group where its last one stood. */
static bool try_order(outline_t* o) {
  memset(o->state, 0, (size_t)o->n_nodes + (size_t)o->n_groups);
  o->n_order = o->depth = 0;
  for (int n = 0; n < o->n_nodes; n++)
    if (o->nodes[n]->prim == HONE_PRIM_INPUT && !visit(o, n)) return false;
  for (int n = 0; n < o->n_nodes; n++) {
    int group = o->group_of[n];
    if (group != NONE && o->last_member[group] != n) continue;
    if (!visit(o, item_of(o, n))) return false;
  }
  return true;
}

/* ---- moving ---- */

static hone_value_t* note_inside(outline_t* o, const hone_value_t* value, int group,
                                 hone_value_t* inside) {
  value_note_t* note = &o->values[value->id];
  note->stamp = group;
  note->inside = inside;
  if (!inside) o->failed = true;
  return inside;
}

static hone_value_t* append_like(hone_graph_t* region, const hone_node_t* node,
                                 const hone_value_t* value) {
  hone_node_t* made = hone_graph_append(region, node, &value->type);
  if (!made) return NULL;
  made->outputs[0]->name = value->name;
  made->outputs[0]->content = value->content;
  return made->outputs[0];
}

static bool is_inner(const outline_t* o, const hone_value_t* value, int group) {
  return o->group_of[o->values[value->id].producer] == group;
}

/* Whether the region gets a copy of what made `value`: cheap values, expands
 * that belong to nobody, and reshapes right below those. */
static bool is_copied(const outline_t* o, const hone_value_t* value, bool below_expand) {
  if (hone_value_is_cheap(value)) return true;
  if (o->group_of[o->values[value->id].producer] != NONE) return false;
  hone_prim_t prim = value->node->prim;
  return prim == HONE_PRIM_EXPAND || (prim == HONE_PRIM_RESHAPE && below_expand);
}

/* Lists that a call takes its inputs and outputs from. */
typedef struct value_list {
  hone_value_t** items;
  int count;
} value_list_t;

/* Adds what `value`, which comes from outside, needs as an input. */
static void want(outline_t* o, hone_value_t* value, int group, value_list_t* inputs) {
  bool below_expand = false;
  for (int i = 0; i < MAX_COPIED_CHAIN && is_copied(o, value, below_expand); i++) {
    if (!value->node->n_inputs) return;
    below_expand = value->node->prim == HONE_PRIM_EXPAND;
    value = value->node->inputs[0];
  }
  if (o->values[value->id].wanted == group) return;
  o->values[value->id].wanted = group;
  inputs->items[inputs->count++] = value;
}

/* Moves those of the group's first values that are wanted to the front. */
static void put_first(outline_t* o, int group, value_list_t* inputs) {
  const hone_group_t* g = &o->groups[group];
  int front = 0;
  for (int i = 0; i < g->n_first; i++) {
    int at = front;
    while (at < inputs->count && inputs->items[at] != g->first[i]) at++;
    if (at == inputs->count) continue;
    hone_value_t* value = inputs->items[at];
    memmove(&inputs->items[front + 1], &inputs->items[front],
            (size_t)(at - front) * sizeof *inputs->items);
    inputs->items[front++] = value;
  }
}

/* The region's parameters. */
static void make_params(outline_t* o, hone_graph_t* region, int group, value_list_t* inputs) {
  for (int n = o->first_member[group]; n != NONE; n = o->next_member[n])
    for (int i = 0; i < o->nodes[n]->n_inputs; i++) {
      hone_value_t* input = o->nodes[n]->inputs[i];
      if (input && !is_inner(o, input, group)) want(o, input, group, inputs);
    }
  put_first(o, group, inputs);
  for (int i = 0; i < inputs->count && !o->failed; i++) {
    hone_node_t node = {.prim = HONE_PRIM_INPUT, .n_outputs = 1};
    note_inside(o, inputs->items[i], group, append_like(region, &node, inputs->items[i]));
  }
}

/* What stands for a value from outside: a parameter, or a copy made now. */
/* NOLINTNEXTLINE(misc-no-recursion): MAX_COPIED_CHAIN deep */
static hone_value_t* inside(outline_t* o, hone_graph_t* region, const hone_value_t* value,
                            int group) {
  const value_note_t* note = &o->values[value->id];
  if (note->stamp == group) return note->inside;
  hone_node_t node = *value->node;
  hone_value_t* input = NULL;
  if (node.n_inputs) {
    input = inside(o, region, node.inputs[0], group);
    if (!input) return NULL;
    node.inputs = &input;
  }
  return note_inside(o, value, group, append_like(region, &node, value));
}

/* The value that takes the place of `outer` inside, where `outer` goes to the call. */
static hone_value_t* twin(outline_t* o, hone_value_t* outer, hone_node_t* node) {
  hone_value_t* inner = hone_arena_memdup(o->graph->arena, outer, sizeof *outer);
  if (!inner) {
    o->failed = true;
    return outer;
  }
  node->outputs[outer->index] = inner;
  return inner;
}

static hone_value_t* operand(outline_t* o, hone_graph_t* region, hone_value_t* value, int group) {
  if (!is_inner(o, value, group)) return inside(o, region, value, group);
  const value_note_t* note = &o->values[value->id];
  return note->stamp == group ? note->inside : value;
}

/* Moves one node; `outer` and `inner` get the outputs that are used outside. */
static void move_node(outline_t* o, hone_graph_t* region, hone_node_t* node, int group,
                      value_list_t* outer, value_list_t* inner) {
  for (int i = 0; i < node->n_inputs; i++)
    if (node->inputs[i]) node->inputs[i] = operand(o, region, node->inputs[i], group);
  for (int i = 0; i < node->n_outputs; i++) {
    hone_value_t* value = node->outputs[i];
    if (!o->values[value->id].escapes) continue;
    inner->items[inner->count++] = note_inside(o, value, group, twin(o, value, node));
    outer->items[outer->count++] = value;
  }
  if (!hone_graph_place(region, node)) o->failed = true;
}

/* Appends the call, whose outputs are values that exist. */
static void place_call(outline_t* o, int group, hone_graph_t* region, const value_list_t* inputs,
                       const value_list_t* outputs) {
  hone_group_t* g = &o->groups[group];
  const char* origin = g->origin ? g->origin : o->nodes[o->last_member[group]]->origin;
  hone_node_t node = {.prim = HONE_PRIM_CALL,
                      .label = region->name,
                      .origin = origin,
                      .n_inputs = inputs->count,
                      .inputs = inputs->items,
                      .n_outputs = outputs->count,
                      .outputs = outputs->items,
                      .n_regions = 1,
                      .regions = {region}};
  hone_node_t* call = hone_arena_memdup(o->graph->arena, &node, sizeof node);
  if (!call || !hone_graph_place(o->graph, call)) {
    o->failed = true;
    return;
  }
  for (int i = 0; i < outputs->count; i++) {
    outputs->items[i]->node = call;
    outputs->items[i]->index = i;
  }
  g->call = call;
}

/* How many inputs and outputs the members have together. */
static size_t count_operands(const outline_t* o, int group, bool inputs) {
  size_t count = 0;
  for (int n = o->first_member[group]; n != NONE; n = o->next_member[n])
    count += (size_t)(inputs ? o->nodes[n]->n_inputs : o->nodes[n]->n_outputs);
  return count;
}

static void move_group(outline_t* o, int group) {
  hone_arena_t* arena = o->graph->arena;
  hone_graph_t* region;
  hone_status_t status = hone_graph_create_region(o->graph, o->groups[group].label, &region);
  hone_status_free(status);
  size_t n_outputs = count_operands(o, group, false);
  value_list_t inputs = {
      .items = hone_arena_array(arena, count_operands(o, group, true), sizeof(void*))};
  value_list_t outer = {.items = hone_arena_array(arena, n_outputs, sizeof(void*))};
  value_list_t inner = {.items = hone_arena_array(o->scratch, n_outputs, sizeof(void*))};
  if (!region || !inputs.items || !outer.items || !inner.items) {
    o->failed = true;
    return;
  }
  make_params(o, region, group, &inputs);
  for (int n = o->first_member[group]; n != NONE; n = o->next_member[n])
    if (!o->failed) move_node(o, region, o->nodes[n], group, &outer, &inner);
  if (o->failed) return;
  status = hone_graph_set_outputs(region, inner.count, inner.items, NULL);
  o->failed = status != NULL || !hone_graph_number(region);
  hone_status_free(status);
  if (!o->failed) place_call(o, group, region, &inputs, &outer);
}

/* ---- the whole ---- */

static void* scratch(outline_t* o, int64_t count, size_t size) {
  void* block = hone_arena_array(o->scratch, (size_t)count, size);
  if (!block) o->failed = true;
  return block;
}

static void prepare(outline_t* o, const int* group_of) {
  int n_symbols = hone_dims_symbol_count(o->graph->dims);
  int64_t n_items = (int64_t)o->n_nodes + o->n_groups;
  o->nodes = o->graph->nodes;
  o->group_of = hone_arena_memdup(o->scratch, group_of, (size_t)o->n_nodes * sizeof *group_of);
  o->first_member = scratch(o, o->n_groups, sizeof(int));
  o->last_member = scratch(o, o->n_groups, sizeof(int));
  o->next_member = scratch(o, o->n_nodes, sizeof(int));
  o->values = scratch(o, o->graph->n_values, sizeof *o->values);
  o->need_start = scratch(o, (int64_t)o->n_nodes + 1, sizeof(int));
  o->binder = scratch(o, n_symbols, sizeof(int));
  o->state = scratch(o, n_items, 1);
  o->stack = scratch(o, n_items, sizeof *o->stack);
  o->order = scratch(o, n_items, sizeof(int));
  if (!o->group_of) o->failed = true;
  if (o->failed) return;
  for (int i = 0; i < n_symbols; i++) o->binder[i] = NONE;
  for (int n = 0; n < o->n_nodes; n++)
    for (int i = 0; i < o->nodes[n]->n_outputs; i++)
      o->values[o->nodes[n]->outputs[i]->id] =
          (value_note_t){.producer = n, .wanted = NONE, .stamp = NONE};
}

/* Carries the order out. */
static void rebuild(outline_t* o) {
  hone_graph_t* graph = o->graph;
  graph->nodes = NULL;
  graph->n_nodes = graph->nodes_room = 0;
  for (int i = 0; i < o->n_order && !o->failed; i++) {
    int item = o->order[i];
    if (item >= o->n_nodes)
      move_group(o, item - o->n_nodes);
    else if (!hone_graph_place(graph, o->nodes[item]))
      o->failed = true;
  }
  if (!o->failed) o->failed = !hone_graph_number(graph);
}

static void run(outline_t* o, const int* group_of) {
  prepare(o, group_of);
  if (o->failed) return;
  chain_members(o);
  mark_escapes(o);
  drop_bad_groups(o);
  find_needs(o);
  if (o->failed) return;
  while (!try_order(o)) continue; /* each time with one group less */
  rebuild(o);
}

hone_status_t hone_graph_outline(hone_graph_t* graph, int n_groups, hone_group_t* groups,
                                 const int* group_of) {
  for (int g = 0; g < n_groups; g++) groups[g].call = NULL;
  if (!n_groups || !graph->n_nodes) return NULL;
  outline_t o = {.graph = graph, .n_nodes = graph->n_nodes, .n_groups = n_groups, .groups = groups};
  HONE_TRY(hone_arena_create(graph->allocator, &o.scratch));
  run(&o, group_of);
  hone_arena_destroy(o.scratch);
  return o.failed ? hone_oom() : NULL;
}
