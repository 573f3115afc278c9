/* Numbers as inputs of kernels: where kernels are the same but for single numbers that they
 * calculate with, as the scales and zero points of a quantized model's layers, those numbers that
 * differ become elements of a constant, which is an input of the call. The kernels are then equal,
 * and the compiler runs for one of them.
 *
 *   kernel: round(x / 0.0123) + 128        kernel: round(x / s[0]) + s[1]
 *   kernel: round(x / 0.0456) + 131   ->   and [0.0123, 128] and [0.0456, 131] as s
 *
 * What is the same in two types, as zero points are, is read in f32 and cast.
 *
 * Kernels are found by a hash; what hashes alike without being so only has an input more than
 * it needs. Numbers that others know how to treat better as such stay: bounds of min and max,
 * those that all the kernels have in common, and whatever is not added, subtracted, multiplied,
 * divided or padded with. So do all numbers of a few kernels that add two bytes and quantize the
 * sum, which is faster by numbers that are known (loop/quantized_sum.h). */
#include <string.h>

#include "base/float_convert.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/memory.h"
#include "passes/common/match.h"
#include "passes/common/node_hash.h"
#include "passes/common/rewrite.h"

enum { NONE = -1 };

typedef struct number {
  const hone_value_t* value; /* of the constant */
  hone_dtype_t dtype;
  uint32_t bits;
  double number;
  bool stays; /* somebody uses it in another way */
} number_t;

/* A call of a kernel, with the numbers in it in the order of its nodes. */
typedef struct member {
  struct member* next; /* of the same form */
  hone_node_t* call;
  int n;
  number_t* numbers;
} member_t;

/* Where a number is found. */
typedef struct place {
  hone_dtype_t list; /* of which input */
  int index;         /* in there; NONE: the number stays as it is */
} place_t;

/* Kernels that are the same but for numbers. */
typedef struct form {
  member_t* members;
  int n_members;
  bool adds_bytes; /* two, and quantizes the sum */
  int n;           /* numbers of each */
  place_t* places; /* of each number */
  int counts[HONE_DTYPE_COUNT];
} form_t;

typedef struct sharing {
  hone_arena_t* arena; /* of the graph */
  hone_map_t forms;    /* by hash */
  hone_map_t calls;    /* form_t by call, of those that change */
} sharing_t;

/* ---- numbers of a kernel ---- */

static bool is_number(const hone_node_t* node) {
  static const hone_dtype_t dtypes[] = {HONE_F32, HONE_I32, HONE_I16, HONE_U8, HONE_I8};
  if (node->prim != HONE_PRIM_CONSTANT || hone_tensor_kind(node->constant) != HONE_KIND_TENSOR ||
      hone_tensor_count(node->constant) != 1)
    return false;
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
    if (hone_tensor_dtype(node->constant) == dtypes[i]) return true;
  return false;
}

static bool only_moves(hone_prim_t prim) {
  return prim == HONE_PRIM_RESHAPE || prim == HONE_PRIM_EXPAND || prim == HONE_PRIM_PERMUTE;
}

/* Whether the node takes any number as that operand without being another one for it. */
static bool takes_any(const hone_node_t* node, int operand) {
  hone_dtype_t dtype = node->inputs[operand]->type.dtype;
  switch (node->prim) {
    case HONE_PRIM_PAD:
      return operand == 1;
    case HONE_PRIM_ADD:
    case HONE_PRIM_SUB:
    case HONE_PRIM_MUL:
      return dtype == HONE_F32 || dtype == HONE_I32;
    case HONE_PRIM_DIV:
      return dtype == HONE_F32;
    default:
      return false;
  }
}

static void add_number(member_t* m, const hone_node_t* node) {
  number_t* number = &m->numbers[m->n++];
  *number = (number_t){.value = node->outputs[0], .dtype = hone_tensor_dtype(node->constant)};
  memcpy(&number->bits, hone_tensor_data(node->constant), hone_tensor_bytes(node->constant));
  number->number = hone_to_double(number->dtype, hone_tensor_data(node->constant));
}

static void look_at_node(member_t* m, const hone_node_t* node, int* number_of) {
  for (int i = 0; i < node->n_outputs; i++) number_of[node->outputs[i]->id] = NONE;
  if (is_number(node)) {
    number_of[node->outputs[0]->id] = m->n;
    add_number(m, node);
  } else if (only_moves(node->prim)) {
    number_of[node->outputs[0]->id] = number_of[node->inputs[0]->id];
  } else {
    for (int i = 0; i < node->n_inputs; i++) {
      int number = number_of[node->inputs[i]->id];
      if (number != NONE && !takes_any(node, i)) m->numbers[number].stays = true;
    }
  }
}

/* ---- kernels that add two bytes ---- */

static bool is_byte(const hone_value_t* value) {
  return value->type.dtype == HONE_U8 || value->type.dtype == HONE_I8;
}

/* What is beside a number in what the primitive computes; NULL: neither is one, or it is another.
 */
static const hone_value_t* beside_number(const hone_value_t* value, hone_prim_t prim) {
  double number;
  hone_value_t* other;
  const hone_node_t* node = hone_match_prim(value, prim);
  return hone_match_with_number(node, &other, &number) ? other : NULL;
}

/* A byte, less a number or not, times another. */
static bool is_scaled_byte(const hone_value_t* value) {
  const hone_value_t* number = beside_number(value, HONE_PRIM_MUL);
  const hone_node_t* cast = number ? hone_match_prim(number, HONE_PRIM_CAST) : NULL;
  if (!cast) return false;
  const hone_value_t* less = beside_number(cast->inputs[0], HONE_PRIM_SUB);
  const hone_value_t* whole = less ? less : cast->inputs[0];
  cast = hone_match_prim(whole, HONE_PRIM_CAST);
  return is_byte(cast ? cast->inputs[0] : whole);
}

/* Whether it rounds the sum of two by a number. */
static bool quantizes_sum(const hone_node_t* node) {
  if (node->prim != HONE_PRIM_ROUND || node->outputs[0]->type.dtype != HONE_F32) return false;
  const hone_value_t* dividend = beside_number(node->inputs[0], HONE_PRIM_DIV);
  const hone_node_t* sum = dividend ? hone_match_prim(dividend, HONE_PRIM_ADD) : NULL;
  return sum && is_scaled_byte(sum->inputs[0]) && is_scaled_byte(sum->inputs[1]);
}

static bool adds_bytes(const hone_graph_t* region) {
  bool adds = false;
  for (int i = 0; i < region->n_nodes; i++) adds |= quantizes_sum(region->nodes[i]);
  return adds;
}

/* ---- members ---- */

static member_t* make_member(sharing_t* s, hone_node_t* call) {
  const hone_graph_t* region = call->regions[0];
  member_t* m = hone_arena_alloc(s->arena, sizeof *m);
  int* number_of = hone_arena_array(s->arena, (size_t)region->n_values, sizeof *number_of);
  if (!m || !number_of) return NULL;
  m->call = call;
  m->numbers = hone_arena_array(s->arena, (size_t)region->n_nodes, sizeof *m->numbers);
  if (!m->numbers) return NULL;
  for (int i = 0; i < region->n_nodes; i++) look_at_node(m, region->nodes[i], number_of);
  for (int i = 0; i < region->n_outputs; i++) {
    int number = number_of[region->outputs[i]->id];
    if (number != NONE) m->numbers[number].stays = true;
  }
  return m;
}

/* ---- forms ---- */

static uint64_t hash_type(uint64_t hash, const hone_type_t* type) {
  hash = hone_hash_mix(hash, (uint64_t)type->dtype << 32 | (uint64_t)type->rank);
  return hone_hash_dims(hash, type->rank, type->dims);
}

/* Of all but the numbers that may become inputs. */
static uint64_t hash_member(const member_t* m) {
  const hone_graph_t* region = m->call->regions[0];
  uint64_t hash = (uint64_t)m->n;
  int number = 0;
  for (int i = 0; i < region->n_nodes; i++) {
    const hone_node_t* node = region->nodes[i];
    hash = hone_node_hash(hash, node);
    for (int k = 0; k < node->n_inputs; k++)
      hash = hone_hash_mix(hash, (uint64_t)node->inputs[k]->id);
    for (int k = 0; k < node->n_outputs; k++) hash = hash_type(hash, &node->outputs[k]->type);
    bool is_free = is_number(node) && !m->numbers[number++].stays;
    if (node->constant && !is_free) hash = hone_node_hash_constant(hash, node->constant);
  }
  return hash;
}

static hone_status_t add_member(sharing_t* s, hone_node_t* call) {
  member_t* m = make_member(s, call);
  if (!m) return hone_oom();
  uint64_t hash = hash_member(m);
  form_t* form = hone_map_get_u64(&s->forms, hash);
  if (!form) {
    form = hone_arena_alloc(s->arena, sizeof *form);
    if (!form) return hone_oom();
    form->n = m->n;
    form->adds_bytes = adds_bytes(call->regions[0]);
    HONE_TRY(hone_map_put_u64(&s->forms, hash, form));
  }
  if (form->n != m->n) return NULL;
  m->next = form->members;
  form->members = m;
  form->n_members++;
  return NULL;
}

static bool is_kernel(const hone_node_t* node) {
  return node->prim == HONE_PRIM_CALL && node->label && strcmp(node->label, "kernel") == 0;
}

static hone_status_t collect(sharing_t* s, const hone_graph_t* graph) {
  for (int i = 0; i < graph->n_nodes; i++) {
    hone_node_t* node = graph->nodes[i];
    if (is_kernel(node)) HONE_TRY(add_member(s, node));
    if (node->prim == HONE_PRIM_CALL) continue;
    for (int k = 0; k < node->n_regions; k++) HONE_TRY(collect(s, node->regions[k]));
  }
  return NULL;
}

/* ---- which numbers, and where ---- */

static bool differs(const form_t* form, int number) {
  const number_t* first = &form->members->numbers[number];
  for (const member_t* m = form->members; m; m = m->next)
    if (m->numbers[number].bits != first->bits) return !first->stays;
  return false;
}

static bool are_same(const form_t* form, int a, int b) {
  for (const member_t* m = form->members; m; m = m->next) {
    const number_t *x = &m->numbers[a], *y = &m->numbers[b];
    if (x->dtype == y->dtype ? x->bits != y->bits : x->number != y->number) return false;
  }
  return true;
}

/* The place of an equal number, of its own type or in f32. */
static place_t find_equal(const form_t* form, int number) {
  for (int i = 0; i < form->n; i++) {
    const place_t* place = &form->places[i];
    bool fits = place->list == HONE_F32 || place->list == form->members->numbers[number].dtype;
    if (place->index != NONE && fits && are_same(form, i, number)) return *place;
  }
  return (place_t){HONE_UNKNOWN, NONE};
}

/* Of numbers in f32, or of all others. */
static void find_places(form_t* form, bool is_f32) {
  for (int i = 0; i < form->n; i++) {
    hone_dtype_t dtype = form->members->numbers[i].dtype;
    if ((dtype == HONE_F32) != is_f32 || !differs(form, i)) continue;
    form->places[i] = find_equal(form, i);
    if (form->places[i].index == NONE) form->places[i] = (place_t){dtype, form->counts[dtype]++};
  }
}

/* ---- inside of a kernel ---- */

typedef struct inside {
  const form_t* form;
  const member_t* member;
  hone_value_t* inputs[HONE_DTYPE_COUNT];
} inside_t;

static hone_value_t* input_of(hone_rewriter_t* r, hone_dtype_t dtype) {
  inside_t* self = r->self;
  if (!self->inputs[dtype]) {
    const hone_dim_t count = hone_dim_int(self->form->counts[dtype]);
    hone_type_t type = hone_type_tensor(dtype, 1, &count);
    self->inputs[dtype] = hone_input(r->b, NULL, &type);
  }
  return self->inputs[dtype];
}

static hone_value_t* read_instead(hone_rewriter_t* r, hone_node_t* node) {
  const inside_t* self = r->self;
  if (node->prim != HONE_PRIM_CONSTANT) return NULL;
  for (int i = 0; i < self->form->n; i++) {
    const number_t* number = &self->member->numbers[i];
    place_t place = self->form->places[i];
    if (number->value != node->outputs[0] || place.index == NONE) continue;
    node->outputs[0]->content = NULL; /* of what takes its place nothing is known */
    hone_value_t* list = input_of(r, place.list);
    hone_value_t* one = list ? hone_pick(r->b, list, 0, hone_dim_int(place.index)) : NULL;
    one = one ? hone_cast(r->b, one, number->dtype) : NULL;
    return one ? hone_reshape_like(r->b, one, node->outputs[0]) : NULL;
  }
  return NULL;
}

/* ---- around it ---- */

static hone_value_t* list_numbers(hone_rewriter_t* r, const form_t* form, const member_t* m,
                                  hone_dtype_t dtype) {
  size_t size = hone_dtype_size(dtype);
  const int64_t count = form->counts[dtype];
  char* data = hone_arena_array(r->graph->arena, (size_t)count, size);
  if (!data) return hone_fail_status(r->b, hone_oom());
  for (int i = 0; i < form->n; i++) {
    place_t place = form->places[i];
    if (place.index != NONE && place.list == dtype && m->numbers[i].dtype == dtype)
      memcpy(data + (size_t)place.index * size, &m->numbers[i].bits, size);
  }
  return hone_constant_data(r->b, dtype, 1, &count, data);
}

/* The order of a region's new inputs is that in which its numbers come. */
static void add_inputs(hone_rewriter_t* r, const form_t* form, const member_t* m) {
  hone_node_t* call = m->call;
  int before = call->n_inputs;
  size_t room = (size_t)before + HONE_DTYPE_COUNT;
  hone_value_t** inputs = hone_arena_array(r->graph->arena, room, sizeof *inputs);
  bool has[HONE_DTYPE_COUNT] = {false};
  if (!inputs) {
    hone_fail_status(r->b, hone_oom());
    return;
  }
  memcpy(inputs, call->inputs, (size_t)before * sizeof *inputs);
  for (int i = 0; i < form->n; i++) {
    place_t place = form->places[i];
    if (place.index == NONE || has[place.list]) continue;
    has[place.list] = true;
    inputs[call->n_inputs++] = list_numbers(r, form, m, place.list);
  }
  call->inputs = inputs;
}

static hone_value_t* give_numbers(hone_rewriter_t* r, hone_node_t* node) {
  const sharing_t* s = r->self;
  const form_t* form = is_kernel(node) ? hone_map_get_u64(&s->calls, (uintptr_t)node) : NULL;
  if (!form) return NULL;
  const member_t* m = form->members;
  while (m->call != node) m = m->next;
  add_inputs(r, form, m);
  hone_pass_did(r->context, node, "is given its numbers");
  return NULL;
}

/* ---- the whole ---- */

static bool has_lists(const form_t* form) {
  for (int i = 0; i < HONE_DTYPE_COUNT; i++)
    if (form->counts[i]) return true;
  return false;
}

/* Few kernels whose sums are faster by numbers that are known. */
static bool stays_apart(const form_t* form) {
  enum { FEW = 8 };
  return form->adds_bytes && form->n_members <= FEW;
}

static hone_status_t open_form(hone_pass_context_t* context, sharing_t* s, form_t* form) {
  if (!form->members->next || !form->n || stays_apart(form)) return NULL;
  form->places = hone_arena_array(s->arena, (size_t)form->n, sizeof *form->places);
  if (!form->places) return hone_oom();
  for (int i = 0; i < form->n; i++) form->places[i].index = NONE;
  find_places(form, true);
  find_places(form, false);
  if (!has_lists(form)) return NULL;
  for (const member_t* m = form->members; m; m = m->next) {
    inside_t self = {.form = form, .member = m};
    hone_rewriter_t rewriter = {
        .context = context, .rule = read_instead, .self = &self, .skip_regions = true};
    HONE_TRY(hone_rewrite_sweep(&rewriter, m->call->regions[0]));
    HONE_TRY(hone_map_put_u64(&s->calls, (uintptr_t)m->call, form));
  }
  return NULL;
}

static hone_status_t share(hone_pass_context_t* context, hone_graph_t* graph, sharing_t* s) {
  size_t cursor = 0;
  HONE_TRY(collect(s, graph));
  for (hone_map_entry_t* e; (e = hone_map_next(&s->forms, &cursor));)
    HONE_TRY(open_form(context, s, e->value));
  return hone_map_count(&s->calls) ? hone_rewrite_once(context, graph, give_numbers, s) : NULL;
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  sharing_t s = {.arena = graph->arena};
  hone_map_init(&s.forms, graph->allocator);
  hone_map_init(&s.calls, graph->allocator);
  hone_status_t status = share(context, graph, &s);
  hone_map_free(&s.calls);
  hone_map_free(&s.forms);
  if (!status && context->count)
    hone_pass_note(context, "%lld kernels differ from others in numbers only, and are given them",
                   (long long)context->count);
  return status;
}

extern const hone_pass_t hone_pass_numbers;
const hone_pass_t hone_pass_numbers = {
    .name = "numbers",
    .summary = "numbers that kernels alone differ in become their inputs",
    .phases = {HONE_PHASE_FUSE + 10},
    .run = run,
};
