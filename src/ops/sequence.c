/* Sequences: SequenceConstruct, SequenceEmpty, SequenceAt, SequenceInsert,
 * SequenceErase, SequenceLength. */
#include "ops/common/sequence.h"

#include "base/memory.h"
#include "base/tensor_impl.h"
#include "ops/common/host.h"

/* ---- when it runs ---- */

static hone_status_t run_construct(hone_host_call_t* call) {
  return hone_sequence_create(call->allocator, HONE_KIND_SEQUENCE, call->n_inputs, call->inputs,
                              &call->outputs[0]);
}

static hone_status_t run_empty(hone_host_call_t* call) {
  HONE_TRY(hone_sequence_create(call->allocator, HONE_KIND_SEQUENCE, 0, NULL, &call->outputs[0]));
  call->outputs[0]->dtype = (hone_dtype_t)hone_attr_int(call->node, "dtype", HONE_F32);
  return NULL;
}

/* Counts a negative position from the end and checks it against [0, limit). */
static hone_status_t place(const hone_host_call_t* call, const hone_tensor_t* sequence,
                           int64_t position, int64_t limit, int64_t* out_at) {
  int64_t count = hone_tensor_count(sequence);
  *out_at = position < 0 ? position + count : position;
  if (*out_at >= 0 && *out_at < limit) return NULL;
  return hone_status_make(HONE_OUT_OF_RANGE, "%s: position %lld in a sequence of %lld elements",
                          call->op->name, (long long)position, (long long)count);
}

static hone_status_t run_at(hone_host_call_t* call) {
  const hone_tensor_t* sequence;
  int64_t position, at;
  HONE_TRY(hone_host_sequence(call, 0, &sequence));
  HONE_TRY(hone_host_i64(call, 1, 0, &position));
  HONE_TRY(place(call, sequence, position, hone_tensor_count(sequence), &at));
  call->outputs[0] = hone_sequence_item(sequence, at);
  hone_tensor_retain(call->outputs[0]);
  return NULL;
}

/* A copy of `sequence` with the items in [at, at + gone) replaced by `fresh` (or nothing). */
static hone_status_t splice(hone_host_call_t* call, const hone_tensor_t* sequence, int64_t at,
                            int64_t gone, hone_tensor_t* fresh) {
  int64_t count = hone_tensor_count(sequence), n = 0;
  size_t bytes = ((size_t)count + 1) * sizeof(hone_tensor_t*);
  hone_tensor_t** items = hone_alloc(call->allocator, bytes);
  if (!items) return hone_oom();
  for (int64_t i = 0; i <= count; i++) {
    if (i == at && fresh) items[n++] = fresh;
    if (i < count && (i < at || i >= at + gone)) items[n++] = hone_sequence_item(sequence, i);
  }
  hone_status_t status =
      hone_sequence_create(call->allocator, HONE_KIND_SEQUENCE, n, items, &call->outputs[0]);
  hone_free(call->allocator, items, bytes);
  if (!status && n == 0) call->outputs[0]->dtype = hone_tensor_dtype(sequence);
  return status;
}

static hone_status_t run_insert(hone_host_call_t* call) {
  const hone_tensor_t *sequence, *tensor;
  int64_t position, at;
  HONE_TRY(hone_host_sequence(call, 0, &sequence));
  HONE_TRY(hone_host_tensor(call, 1, &tensor));
  int64_t count = hone_tensor_count(sequence);
  HONE_TRY(hone_host_i64(call, 2, count, &position));
  HONE_TRY(place(call, sequence, position, count + 1, &at));
  return splice(call, sequence, at, 0, call->inputs[1]);
}

static hone_status_t run_erase(hone_host_call_t* call) {
  const hone_tensor_t* sequence;
  int64_t position, at;
  HONE_TRY(hone_host_sequence(call, 0, &sequence));
  HONE_TRY(hone_host_i64(call, 1, -1, &position));
  HONE_TRY(place(call, sequence, position, hone_tensor_count(sequence), &at));
  return splice(call, sequence, at, 1, NULL);
}

static hone_status_t run_length(hone_host_call_t* call) {
  const hone_tensor_t* sequence;
  HONE_TRY(hone_host_sequence(call, 0, &sequence));
  HONE_TRY(hone_tensor_create(call->allocator, HONE_I64, 0, NULL, &call->outputs[0]));
  *(int64_t*)hone_tensor_data(call->outputs[0]) = hone_tensor_count(sequence);
  return NULL;
}

/* ---- lowering ---- */

static void lower_construct(hone_lower_t* l) {
  hone_op_out(l, 0, hone_sequence_of(l, l->b, l->n_inputs, l->inputs));
}

static void lower_empty(hone_lower_t* l) {
  int64_t dtype = hone_attr_int(l->node, "dtype", HONE_F32);
  if (dtype < 0 || dtype > INT32_MAX || !hone_dtype_is_valid((int)dtype)) {
    hone_op_fail(l, "attribute dtype: %lld is no element type", (long long)dtype);
    return;
  }
  hone_type_t element = {
      .kind = HONE_TYPE_TENSOR, .dtype = (hone_dtype_t)dtype, .rank = HONE_RANK_NONE};
  hone_type_t type = hone_sequence_type(l->b, &element);
  hone_op_host(l, &type);
}

static void lower_at(hone_lower_t* l) {
  hone_value_t* member = hone_sequence_member(l, l->inputs[0], l->inputs[1]);
  if (member) {
    hone_op_out(l, 0, member);
    return;
  }
  hone_type_t type = hone_sequence_element(&l->inputs[0]->type);
  hone_op_host(l, &type);
}

/* The place that an optional position names among `count` members (of which
 * `limit` are places); -1 when it is not known now, or out of range. */
static int64_t known_place(hone_lower_t* l, int index, int count, int limit, int fallback) {
  hone_value_t* value = hone_op_in(l, index);
  if (!value) return fallback;
  const hone_tensor_t* known = hone_known_tensor(l->b, value);
  if (!known || hone_tensor_count(known) != 1) return -1;
  int64_t at = hone_tensor_i64(known, 0);
  if (at < 0) at += count;
  return at < limit ? at : -1;
}

static void lower_insert(hone_lower_t* l) {
  hone_value_t* const* members;
  int count = hone_sequence_members(l->inputs[0], &members), n = 0;
  int64_t at = count < 0 ? -1 : known_place(l, 2, count, count + 1, count);
  if (at < 0) {
    hone_type_t type = hone_sequence_joined(l->b, &l->inputs[0]->type, &l->inputs[1]->type);
    hone_op_host(l, &type);
    return;
  }
  hone_value_t** more = hone_arena_array(l->b->graph->arena, (size_t)count + 1, sizeof *more);
  if (!more) {
    hone_fail_status(l->b, hone_oom());
    return;
  }
  for (int i = 0; i <= count; i++) {
    if (i == at) more[n++] = l->inputs[1];
    if (i < count) more[n++] = members[i];
  }
  hone_op_out(l, 0, hone_sequence_of(l, l->b, n, more));
}

static void lower_erase(hone_lower_t* l) {
  hone_value_t* const* members;
  int count = hone_sequence_members(l->inputs[0], &members), n = 0;
  int64_t at = count < 1 ? -1 : known_place(l, 1, count, count, count - 1);
  if (at < 0) {
    hone_op_host(l, &l->inputs[0]->type);
    return;
  }
  hone_value_t** rest = hone_arena_array(l->b->graph->arena, (size_t)count, sizeof *rest);
  if (!rest) {
    hone_fail_status(l->b, hone_oom());
    return;
  }
  for (int i = 0; i < count; i++)
    if (i != at) rest[n++] = members[i];
  hone_op_out(l, 0, hone_sequence_of(l, l->b, n, rest));
}

static void lower_length(hone_lower_t* l) {
  hone_value_t* const* members;
  int count = hone_sequence_members(l->inputs[0], &members);
  hone_type_t type = hone_type_tensor(HONE_I64, 0, NULL);
  if (count < 0)
    hone_op_host(l, &type);
  else
    hone_op_out(l, 0, hone_scalar_i64(l->b, HONE_I64, count));
}

#define SEQUENCE_OP(op, least, most, attributes, function)                                     \
  {                                                                                            \
    .name = op, .min_opset = 11, .min_inputs = least, .max_inputs = most, .attrs = attributes, \
    .flags = HONE_OP_ANY_TYPE, .lower = lower_##function, .host = run_##function               \
  }

static const hone_op_t ops[] = {
    SEQUENCE_OP("SequenceConstruct", 1, -1, "", construct),
    SEQUENCE_OP("SequenceEmpty", 0, 0, "dtype", empty),
    SEQUENCE_OP("SequenceAt", 2, 2, "", at),
    SEQUENCE_OP("SequenceInsert", 2, 3, "", insert),
    SEQUENCE_OP("SequenceErase", 1, 2, "", erase),
    SEQUENCE_OP("SequenceLength", 1, 1, "", length),
};
HONE_OP_FAMILY(sequence, ops)
