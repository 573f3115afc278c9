/* Constant folding. What follows from constants alone is computed once, while
 * compiling, by the semantics of `ref`.
 *
 * Not everything that could be is: a constant costs memory and reading it costs
 * time, so what only repeats its input (expand, pad, window), or would grow by
 * more than a factor, stays an expression over smaller constants, which kernels
 * compute on the fly; unless they would compute sines or the like of each element,
 * as of the matrix of a Fourier transform. For each value that the rest of the graph needs the fold
 * goes as far towards it as these limits allow.
 *
 * Until quantized arithmetic has been recognised, quantized weights are left
 * as they are. Integer tensors whose elements the builder already knows as
 * numbers, or as expressions over the model's own dimensions, are taken from
 * there. */
#include <inttypes.h>

#include "base/memory.h"
#include "passes/common/evaluate.h"
#include "passes/common/match.h"
#include "passes/common/rewrite.h"

enum {
  SMALL_BYTES = 64 * 1024, /* never too large */
  MAX_WORK = 1 << 30,      /* multiplications of one contraction */
  MAX_WORK_OF_ALL = 16,    /* so many times that, of all together: about two seconds */
  DEFAULT_GROWTH = 4,
  COSTLY_BYTES = 8 << 20, /* of a constant that functions are computed for */
  COSTLY_OF_ALL = 8,      /* so many times that, of all together */
};

/* What is known of a value of the graph at hand. */
typedef struct known {
  bool constant;        /* follows from constants alone */
  bool is_costly;       /* by functions such as the sine of each element */
  int64_t leaf_bytes;   /* of the constants it follows from */
  bool wanted;          /* becomes a constant */
  hone_tensor_t* value; /* once computed */
} known_t;

typedef struct folder {
  hone_pass_context_t* context;
  hone_graph_t* graph;
  known_t* known; /* by value id, as ids were before the sweep */
  double growth;
  int64_t work_left;   /* multiplications that contractions may still take */
  int64_t costly_left; /* bytes that costly constants may still take */
  int64_t bytes;       /* of all constants made */
  int64_t folded;
} folder_t;

/* ---- what could be a constant ---- */

static bool static_dims(int count, const hone_dim_t* dims) {
  for (int i = 0; dims && i < count; i++)
    if (!hone_dim_is_int(dims[i])) return false;
  return true;
}

static bool is_pure(const hone_node_t* node) {
  hone_prim_family_t family = hone_prim_info(node->prim)->family;
  if (family == HONE_FAMILY_CONTROL || node->n_regions || node->host) return false;
  if (node->prim == HONE_PRIM_CAST && node->flags & HONE_FLAG_STAYS) return false;
  return node->prim != HONE_PRIM_INPUT && node->prim != HONE_PRIM_RANDOM;
}

/* Numbers stored in a byte or less: quantized weights. */
static bool is_narrow(hone_dtype_t dtype) {
  return dtype != HONE_BOOL && hone_dtype_size(dtype) == 1;
}

static bool dequantizes(const hone_node_t* node) {
  if (node->prim != HONE_PRIM_CAST || hone_match_count(&node->inputs[0]->type) == 1) return false;
  return is_narrow(node->inputs[0]->type.dtype) && !is_narrow(node->dtype);
}

static bool too_much_work(folder_t* f, const hone_node_t* node) {
  if (node->prim != HONE_PRIM_CONTRACT) return false;
  int64_t work = hone_match_count(&node->outputs[0]->type);
  for (int i = node->n_batch; work >= 0 && 2 * i < node->n_axes; i++)
    if (!hone_i64_mul(work, node->inputs[0]->type.dims[node->axes[2 * i]].k, &work)) return true;
  if (work < 0 || work > MAX_WORK || work > f->work_left) return true;
  f->work_left -= work;
  return false;
}

static bool could_fold(folder_t* f, const hone_node_t* node) {
  if (!is_pure(node)) return false;
  if (!static_dims(node->n_dims, node->shape) || !static_dims(node->n_dims, node->lo) ||
      !static_dims(node->n_dims, node->hi) || !static_dims(node->n_dims, node->step))
    return false;
  for (int i = 0; i < node->n_inputs; i++)
    if (!f->known[node->inputs[i]->id].constant) return false;
  for (int i = 0; i < node->n_outputs; i++)
    if (hone_match_bytes(&node->outputs[i]->type) < 0) return false;
  if (f->context->phase < HONE_PHASE_RECOGNISE && dequantizes(node)) return false;
  return !too_much_work(f, node);
}

static void note_known(folder_t* f, const hone_node_t* node) {
  if (!could_fold(f, node)) return;
  int64_t leaves = node->constant ? (int64_t)hone_tensor_bytes(node->constant) : 0;
  bool is_costly = hone_prim_is_transcendental(node->prim);
  for (int i = 0; i < node->n_inputs; i++) {
    is_costly = is_costly || f->known[node->inputs[i]->id].is_costly;
    int64_t more = f->known[node->inputs[i]->id].leaf_bytes;
    if (!hone_i64_add(leaves, more, &leaves)) leaves = INT64_MAX;
  }
  for (int i = 0; i < node->n_outputs; i++)
    f->known[node->outputs[i]->id] =
        (known_t){.constant = true, .is_costly = is_costly, .leaf_bytes = leaves};
}

/* ---- what should be ---- */

static bool only_repeats(const hone_node_t* node) {
  switch (node->prim) {
    case HONE_PRIM_EXPAND:
    case HONE_PRIM_IOTA:
    case HONE_PRIM_WINDOW:
    case HONE_PRIM_PAD:
      return true;
    default:
      return false;
  }
}

static bool should_fold(folder_t* f, const hone_value_t* value) {
  if (only_repeats(value->node)) return false;
  const known_t* known = &f->known[value->id];
  int64_t bytes = hone_match_bytes(&value->type);
  if (bytes <= SMALL_BYTES || (double)bytes <= f->growth * (double)known->leaf_bytes) return true;
  if (!known->is_costly || bytes > COSTLY_BYTES || bytes > f->costly_left) return false;
  f->costly_left -= bytes;
  return true;
}

/* The rest of the graph needs `value`: it is folded where that is worth it. */
static void want(folder_t* f, const hone_value_t* value) {
  known_t* known = &f->known[value->id];
  const hone_node_t* node = value->node;
  if (!known->constant || known->wanted || node->prim == HONE_PRIM_CONSTANT) return;
  known->wanted = should_fold(f, value);
}

/* Backwards, so that whoever needs a value has said so before it is asked. */
static void find_wanted(folder_t* f, bool* needed) {
  const hone_graph_t* graph = f->graph;
  for (int i = 0; i < graph->n_outputs; i++) {
    needed[graph->outputs[i]->id] = true;
    want(f, graph->outputs[i]);
  }
  for (int n = graph->n_nodes - 1; n >= 0; n--) {
    const hone_node_t* node = graph->nodes[n];
    for (int i = 0; i < node->n_outputs; i++) { /* a size is needed without being an operand */
      if (!node->outputs[i]->binds) continue;
      needed[node->outputs[i]->id] = true;
      want(f, node->outputs[i]);
    }
    bool stays = !f->known[node->n_outputs ? node->outputs[0]->id : 0].constant;
    for (int i = 0; i < node->n_outputs; i++) {
      const known_t* known = &f->known[node->outputs[i]->id];
      stays = stays || (needed[node->outputs[i]->id] && !known->wanted);
    }
    for (int i = 0; stays && i < node->n_inputs; i++) {
      if (!node->inputs[i]) continue;
      needed[node->inputs[i]->id] = true;
      want(f, node->inputs[i]);
    }
  }
}

/* ---- integers that the builder knows ---- */

static void check_symbol(void* self, const hone_symbol_t* symbol) {
  if (symbol->origin != HONE_SYMBOL_INPUT) *(bool*)self = false;
}

/* Every element a number, or (i64 lists) over dimensions of the model. */
static bool known_content(const hone_value_t* value) {
  if (!value->content || value->binds) return false;
  bool list = value->type.rank == 1 && value->type.dtype == HONE_I64;
  int64_t count = hone_match_count(&value->type);
  for (int64_t i = 0; i < count; i++) {
    bool ok = hone_dim_is_int(value->content[i]) || list;
    hone_dim_visit_symbols(value->content[i], check_symbol, &ok);
    if (!ok) return false;
  }
  return count >= 0;
}

static bool is_source(const hone_node_t* node) {
  return hone_prim_info(node->prim)->family == HONE_FAMILY_SOURCE;
}

/* A quantized weight cast to a wider type, perhaps less its zero point. */
static bool is_widened(const hone_node_t* node) {
  return dequantizes(node) || (node->n_inputs && dequantizes(node->inputs[0]->node));
}

static hone_value_t* fold_content(hone_rewriter_t* r, hone_node_t* node) {
  if (node->n_outputs != 1 || is_source(node) || only_repeats(node) || !is_pure(node)) return NULL;
  if (r->context->phase < HONE_PHASE_RECOGNISE && is_widened(node)) return NULL;
  hone_value_t* value = node->outputs[0];
  if (!known_content(value)) return NULL;
  hone_tensor_t* tensor = (hone_tensor_t*)(uintptr_t)hone_known_tensor(r->b, value);
  if (tensor) {
    hone_tensor_retain(tensor);
    return hone_constant(r->b, tensor);
  }
  if (value->type.rank != 1 || value->type.dtype != HONE_I64) return NULL;
  return hone_dims_value(r->b, (int)hone_match_count(&value->type), value->content);
}

/* ---- folding ---- */

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  folder_t* f = r->self;
  hone_value_t* first = NULL;
  for (int i = 0; i < node->n_outputs; i++) {
    known_t* known = &f->known[node->outputs[i]->id];
    if (!known->value) continue;
    int64_t bytes = (int64_t)hone_tensor_bytes(known->value);
    hone_tensor_retain(known->value);
    hone_value_t* constant = hone_constant(r->b, known->value);
    if (!constant) return NULL;
    f->bytes += bytes;
    f->folded++;
    hone_pass_did(r->context, node, "%s folded to a constant of %" PRId64 " bytes",
                  hone_prim_info(node->prim)->name, bytes);
    if (i == 0) first = constant;
    if (i > 0) hone_rewrite_replace(r, node->outputs[i], constant);
  }
  if (first) return first;
  hone_value_t* content = fold_content(r, node);
  if (!content) return NULL;
  f->folded++;
  hone_pass_did(r->context, node, "%s of known integers folded", hone_prim_info(node->prim)->name);
  return content;
}

static void release_owner(void* owner) { hone_tensor_release(owner); }

/* A constant in another shape shares the elements, which may be most of a model. */
static hone_status_t reshaped(const hone_value_t* value, hone_tensor_t** out_tensor) {
  hone_tensor_t* tensor = (hone_tensor_t*)(uintptr_t)hone_match_constant(value->node->inputs[0]);
  int64_t dims[HONE_MAX_RANK];
  for (int i = 0; i < value->type.rank; i++) dims[i] = value->type.dims[i].k;
  hone_tensor_retain(tensor);
  hone_status_t status =
      hone_tensor_wrap(value->node->graph->allocator, value->type.dtype, value->type.rank, dims,
                       hone_tensor_data(tensor), release_owner, tensor, out_tensor);
  if (status) hone_tensor_release(tensor);
  return status;
}

static bool shares_elements(const hone_value_t* value) {
  const hone_tensor_t* tensor =
      value->node->prim == HONE_PRIM_RESHAPE ? hone_match_constant(value->node->inputs[0]) : NULL;
  return tensor && value->type.dtype != HONE_STRING &&
         hone_tensor_count(tensor) == hone_match_count(&value->type);
}

/* Numbers that cannot be computed stay expressions: the run will say why. */
static hone_status_t unless_computed(hone_status_t status) {
  if (hone_status_code(status) == HONE_OUT_OF_MEMORY) return status;
  hone_status_free(status);
  return NULL;
}

/* All at once, and one by one where that fails for one of them. */
static hone_status_t evaluate(folder_t* f, int count, const hone_value_t** values,
                              hone_tensor_t** tensors) {
  hone_status_t status = hone_evaluate_all(f->context, count, values, tensors);
  if (!status || hone_status_code(status) == HONE_OUT_OF_MEMORY) return status;
  hone_status_free(status);
  for (int i = 0; i < count; i++)
    HONE_TRY(unless_computed(hone_evaluate(f->context, values[i], &tensors[i])));
  return NULL;
}

static hone_status_t compute(folder_t* f) {
  size_t room = (size_t)f->graph->n_values + 1;
  size_t bytes = room * (sizeof(hone_value_t*) + sizeof(hone_tensor_t*));
  const hone_value_t** values = hone_alloc(f->graph->allocator, bytes);
  if (!values) return hone_oom();
  hone_tensor_t** tensors = (hone_tensor_t**)(void*)(values + room);
  hone_status_t status = NULL;
  int count = 0;
  for (int i = 0; i < f->graph->n_values && !status; i++) {
    const hone_value_t* value = f->graph->values[i];
    if (!f->known[i].wanted) continue;
    if (shares_elements(value))
      status = unless_computed(reshaped(value, &f->known[i].value));
    else
      values[count++] = value;
  }
  if (!status) status = evaluate(f, count, values, tensors);
  for (int i = 0; i < count; i++) f->known[values[i]->id].value = tensors[i];
  hone_free(f->graph->allocator, values, bytes);
  return status;
}

static hone_status_t fold_one(folder_t* f) {
  hone_graph_t* graph = f->graph;
  size_t count = (size_t)graph->n_values, bytes = (count + 1) * sizeof *f->known;
  f->known = hone_alloc(graph->allocator, bytes);
  bool* needed = hone_alloc(graph->allocator, count + 1);
  hone_status_t status = f->known && needed ? NULL : hone_oom();
  if (!status) {
    for (int n = 0; n < graph->n_nodes; n++) note_known(f, graph->nodes[n]);
    find_wanted(f, needed);
    status = compute(f);
  }
  hone_rewriter_t rewriter = {.context = f->context, .self = f, .rule = rule, .skip_regions = true};
  if (!status) status = hone_rewrite_sweep(&rewriter, graph);
  for (size_t i = 0; f->known && i < count; i++) hone_tensor_release(f->known[i].value);
  hone_free(graph->allocator, f->known, bytes);
  hone_free(graph->allocator, needed, count + 1);
  return status;
}

static hone_status_t fold_graph(folder_t* f, hone_graph_t* graph) {
  for (int n = 0; n < graph->n_nodes; n++) {
    const hone_node_t* node = graph->nodes[n];
    bool enter = node->prim != HONE_PRIM_CALL;
    for (int k = 0; enter && k < node->n_regions; k++) HONE_TRY(fold_graph(f, node->regions[k]));
  }
  f->graph = graph;
  return fold_one(f);
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  double growth = context->options->fold_growth;
  folder_t folder = {.context = context,
                     .growth = growth > 0 ? growth : DEFAULT_GROWTH,
                     .work_left = (int64_t)MAX_WORK * MAX_WORK_OF_ALL,
                     .costly_left = (int64_t)COSTLY_BYTES * COSTLY_OF_ALL};
  HONE_TRY(fold_graph(&folder, graph));
  if (folder.folded)
    hone_pass_note(context, "folded %" PRId64 " values (%.1f kB)", folder.folded,
                   (double)folder.bytes / 1e3);
  return NULL;
}

extern const hone_pass_t hone_pass_fold;
const hone_pass_t hone_pass_fold = {
    .name = "fold",
    .summary = "what follows from constants alone is computed while compiling",
    .phases = {HONE_PHASE_CLEAN + 10, HONE_PHASE_CLEAN + 50, HONE_PHASE_WEIGHTS + 5,
               HONE_PHASE_WEIGHTS + 15, HONE_PHASE_TIDY + 50},
    .run = run,
};
