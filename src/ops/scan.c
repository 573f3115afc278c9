/* Scan: a loop over slices of its inputs, which stacks up what its subgraph
 * yields for each. Opset 8 has a batch axis in front: a loop around the loop. */
#include "ops/common/loop_body.h"

/* What the attributes say, with the numbers of values that follow from it. */
typedef struct scan {
  hone_lower_t* l;
  const hone_onnx_graph_t* graph;
  int n_states, n_scanned, n_stacked;
  hone_value_t** scanned; /* axis 0 is the one that is walked along */
  hone_value_t* length;   /* of that axis: i64 scalar in the graph around the loop */
  const int64_t* directions;
} scan_t;

/* Entry `index` of an optional list attribute of `wanted` entries. */
static bool read_list(hone_lower_t* l, const char* name, int wanted, const int64_t** out) {
  int count;
  *out = hone_attr_ints(l->node, name, &count);
  if (!*out || count == wanted) return true;
  hone_op_fail(l, "attribute %s has %d entries; %d are needed", name, count, wanted);
  return false;
}

static bool read_graph(hone_lower_t* l, int n_before, scan_t* scan) {
  scan->l = l;
  scan->graph = hone_attr_graph(l->node, "body");
  int64_t n_scanned = hone_attr_int(l->node, "num_scan_inputs", 0);
  int given = l->n_inputs - n_before;
  if (!scan->graph || n_scanned < 1 || n_scanned > given) {
    hone_op_fail(l, "Scan needs a subgraph 'body' and num_scan_inputs between 1 and %d", given);
    return false;
  }
  scan->n_scanned = (int)n_scanned;
  scan->n_states = given - scan->n_scanned;
  scan->n_stacked = (int)scan->graph->n_outputs - scan->n_states;
  if (scan->n_stacked < 0) {
    hone_op_fail(l, "the subgraph gives %lld values; there are %d states",
                 (long long)scan->graph->n_outputs, scan->n_states);
    return false;
  }
  for (int i = n_before; i < l->n_inputs; i++)
    if (!l->inputs[i]) {
      hone_op_fail(l, "input %d is missing", i);
      return false;
    }
  return true;
}

static bool is_reverse(const int64_t* directions, int index) {
  return directions && directions[index] == 1;
}

/* States pass through; scanned inputs give the slice of this round. */
static void make_params(hone_loop_body_t* loop, hone_value_t* round, hone_value_t* condition,
                        hone_value_t* const* carried, hone_value_t** params) {
  (void)condition;
  const scan_t* scan = loop->context;
  hone_builder_t* body = &loop->body;
  for (int i = 0; i < scan->n_states; i++) params[i] = carried[i];
  for (int i = 0; i < scan->n_scanned; i++) {
    hone_value_t* at = round;
    if (is_reverse(scan->directions, i))
      at = hone_sub(body, hone_sub(body, scan->length, hone_scalar_i64(body, HONE_I64, 1)), round);
    params[scan->n_states + i] = hone_gather(body, scan->scanned[i], at);
  }
}

/* The loop itself, in b's graph; `results`: final states, then stacked outputs. */
static void run_scan(scan_t* scan, hone_builder_t* b, hone_value_t* const* states,
                     hone_value_t** results) {
  hone_loop_body_t loop = {.l = scan->l,
                           .b = b,
                           .graph = scan->graph,
                           .n_carried = scan->n_states,
                           .initial = states,
                           .make_params = make_params,
                           .context = scan,
                           .n_params = scan->n_states + scan->n_scanned};
  if (!hone_loop_body_build(&loop)) return;
  hone_loop_close(b, &loop.body, scan->length, NULL, scan->n_states, states, NULL, loop.results,
                  scan->n_stacked, loop.results + scan->n_states, results);
}

/* ---- opset 9 on ---- */

static hone_value_t* place_output(hone_lower_t* l, hone_value_t* stacked, bool reverse,
                                  int64_t axis) {
  if (!reverse && axis == 0) return stacked;
  if (!hone_is_known(l->b, stacked)) return NULL;
  if (reverse) stacked = hone_flip(l->b, stacked, 0);
  if (!stacked) return NULL;
  return hone_move_axis(l->b, stacked, 0, hone_axis(l->b, axis, hone_rank(stacked)));
}

static void lower_scan(hone_lower_t* l) {
  scan_t scan = {0};
  const int64_t *in_axes, *out_axes, *out_directions;
  if (!read_graph(l, 0, &scan) ||
      !read_list(l, "scan_input_directions", scan.n_scanned, &scan.directions) ||
      !read_list(l, "scan_output_directions", scan.n_stacked, &out_directions) ||
      !read_list(l, "scan_input_axes", scan.n_scanned, &in_axes) ||
      !read_list(l, "scan_output_axes", scan.n_stacked, &out_axes))
    return;
  scan.scanned = hone_op_values(l, scan.n_scanned);
  hone_value_t** results = hone_op_values(l, scan.n_states + scan.n_stacked);
  if (!scan.scanned || !results) return;
  for (int i = 0; i < scan.n_scanned; i++) {
    hone_value_t* x = l->inputs[scan.n_states + i];
    int axis = hone_axis(l->b, in_axes ? in_axes[i] : 0, hone_rank(x));
    if (!hone_builder_ok(l->b)) return;
    scan.scanned[i] = axis ? hone_move_axis(l->b, x, axis, 0) : x;
  }
  if (!hone_builder_ok(l->b)) return;
  scan.length = hone_dim_scalar(l->b, HONE_I64, hone_dim(scan.scanned[0], 0));
  run_scan(&scan, l->b, l->inputs, results);
  if (!hone_builder_ok(l->b)) return;
  for (int i = 0; i < scan.n_stacked; i++)
    results[scan.n_states + i] = place_output(
        l, results[scan.n_states + i], is_reverse(out_directions, i), out_axes ? out_axes[i] : 0);
  for (int i = 0; i < l->n_outputs && i < scan.n_states + scan.n_stacked; i++)
    hone_op_out(l, i, results[i]);
}

/* ---- opset 8 ---- */

/* Zeros behind a stacked output, up to the longest sequence of the batch. */
static hone_value_t* pad_to(hone_builder_t* b, hone_value_t* stacked, hone_dim_t length) {
  if (!hone_is_known(b, stacked)) return NULL;
  hone_dim_t lo[HONE_MAX_RANK], hi[HONE_MAX_RANK];
  for (int i = 0; i < hone_rank(stacked); i++) lo[i] = hi[i] = hone_d(0);
  hi[0] = hone_d_sub(b, length, hone_dim(stacked, 0));
  return hone_dim_is(hi[0], 0) ? stacked : hone_pad(b, stacked, lo, hi, NULL);
}

/* One element of the batch: `round` is its index. */
static void scan_element(scan_t* scan, hone_builder_t* body, hone_value_t* round,
                         hone_dim_t longest, hone_value_t** results) {
  hone_lower_t* l = scan->l;
  scan_t own = *scan;
  hone_value_t** states = hone_op_values(l, own.n_states);
  own.scanned = hone_op_values(l, own.n_scanned);
  if (!states || !own.scanned) return;
  for (int i = 0; i < own.n_states; i++) states[i] = hone_gather(body, l->inputs[1 + i], round);
  for (int i = 0; i < own.n_scanned; i++)
    own.scanned[i] = hone_gather(body, l->inputs[1 + own.n_states + i], round);
  hone_value_t* lengths = hone_op_in(l, 0);
  own.length = lengths ? hone_cast(body, hone_gather(body, lengths, round), HONE_I64)
                       : hone_dim_scalar(body, HONE_I64, longest);
  if (!hone_builder_ok(body)) return;
  run_scan(&own, body, states, results);
  for (int i = 0; i < own.n_stacked && hone_builder_ok(body); i++)
    results[own.n_states + i] = pad_to(body, results[own.n_states + i], longest);
}

static void lower_scan_8(hone_lower_t* l) {
  scan_t scan = {0};
  if (!read_graph(l, 1, &scan) || !read_list(l, "directions", scan.n_scanned, &scan.directions))
    return;
  int n_results = scan.n_states + scan.n_stacked;
  hone_value_t* first = l->inputs[1 + scan.n_states];
  if (hone_rank(first) < 2) {
    hone_op_fail(l, "a scanned input needs a batch and a sequence axis; it has rank %d",
                 hone_rank(first));
    return;
  }
  hone_value_t** results = hone_op_values(l, n_results);
  hone_value_t** outputs = hone_op_values(l, n_results);
  if (!results || !outputs) return;
  hone_builder_t body;
  hone_value_t* round;
  hone_loop_open(l->b, "batch", 0, NULL, &body, &round, NULL);
  if (hone_builder_ok(&body)) scan_element(&scan, &body, round, hone_dim(first, 1), results);
  hone_value_t* batch = hone_dim_scalar(l->b, HONE_I64, hone_dim(first, 0));
  hone_loop_close(l->b, &body, batch, NULL, 0, NULL, NULL, NULL, n_results, results, outputs);
  for (int i = 0; i < l->n_outputs && i < n_results; i++) hone_op_out(l, i, outputs[i]);
}

static const hone_op_t ops[] = {
    {.name = "Scan",
     .min_opset = 8,
     .max_opset = 8,
     .min_inputs = 0,
     .max_inputs = -1,
     .attrs = "body num_scan_inputs directions",
     .lower = lower_scan_8},
    {.name = "Scan",
     .min_opset = 9,
     .max_inputs = -1,
     .attrs = "body num_scan_inputs scan_input_axes scan_input_directions scan_output_axes "
              "scan_output_directions",
     .lower = lower_scan},
};
HONE_OP_FAMILY(scan, ops)
