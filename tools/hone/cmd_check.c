/* hone check: everything that keeps a model from running, all at once. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "command.h"
#include "import/onnx.h"
#include "ir/verify.h"
#include "json.h"
#include "ops/lower.h"
#include "runtime/device.h"

/* What was found out about one model. */
typedef struct findings {
  hone_onnx_problems_t problems; /* of its structure */
  hone_arena_t* arena;
  hone_gap_t* gaps; /* nodes that cannot be lowered, last first */
  hone_graph_t* graph;
  hone_status_t failure; /* of the lowering as a whole, with no node to blame */
} findings_t;

static void close_findings(findings_t* f) {
  hone_onnx_problems_destroy(&f->problems);
  hone_graph_destroy(f->graph);
  hone_arena_destroy(f->arena);
  hone_status_free(f->failure);
}

static hone_gap_t* reverse(hone_gap_t* gap) {
  hone_gap_t* out = NULL;
  while (gap) {
    hone_gap_t* next = gap->next;
    gap->next = out;
    out = gap;
    gap = next;
  }
  return out;
}

static hone_status_t examine(hone_cli_t* cli, hone_model_t* model,
                             const hone_allocator_t* allocator, findings_t* out) {
  hone_lower_options_t options = {.gaps = &out->gaps};
  HONE_TRY(hone_arena_create(allocator, &out->arena));
  HONE_TRY(hone_onnx_sort(model));
  HONE_TRY(hone_onnx_check(model, &out->problems));
  if (out->problems.count) return NULL;
  HONE_TRY(hone_cli_dims(cli, &options.n_dims, &options.dims));
  options.gap_arena = out->arena;
  out->failure = hone_lower_model(model, &options, allocator, &out->graph);
  out->gaps = reverse(out->gaps);
  if (!out->failure && !out->gaps) out->failure = hone_graph_verify(out->graph);
  return NULL;
}

/* ---- deferred nodes: not gaps, but worth knowing ---- */

typedef void (*deferred_fn)(void* self, const hone_node_t* node);

static int visit_deferred(const hone_graph_t* graph, deferred_fn visit, void* self) {
  int count = 0;
  for (int n = 0; graph && n < graph->n_nodes; n++) {
    const hone_node_t* node = graph->nodes[n];
    for (int r = 0; r < node->n_regions; r++)
      count += visit_deferred(node->regions[r], visit, self);
    if (node->prim != HONE_PRIM_HOST || !node->host->deferred) continue;
    count++;
    if (visit) visit(self, node);
  }
  return count;
}

/* ---- text ---- */

static void print_deferred(void* self, const hone_node_t* node) {
  (void)self;
  printf("  %s: %s\n", node->origin ? node->origin : node->host->node->op_type, node->host->reason);
}

static void print_findings(hone_cli_t* cli, const findings_t* f) {
  for (int64_t i = 0; i < f->problems.count; i++)
    printf("%s: %s\n", f->problems.items[i].where, f->problems.items[i].message);
  for (const hone_gap_t* gap = f->gaps; gap; gap = gap->next) printf("%s\n", gap->reason);
  if (f->problems.count || f->gaps) return;
  int deferred = visit_deferred(f->graph, NULL, NULL);
  printf("%s runs on %s: %lld primitives", hone_cli_argument(cli, 0),
         hone_cli_text(cli, "device", "ref"), (long long)hone_graph_node_count(f->graph));
  printf(deferred ? ", %d nodes are lowered only when they run:\n" : "\n", deferred);
  visit_deferred(f->graph, print_deferred, NULL);
}

/* ---- JSON ---- */

static void put(json_t* object, const char* key, const char* text) {
  json_object_set_new(object, key, hone_json_string(text));
}

static void add_deferred(void* self, const hone_node_t* node) {
  json_t* object = json_object();
  put(object, "node", node->origin ? node->origin : "");
  put(object, "op", node->host->node->op_type);
  put(object, "reason", node->host->reason);
  json_array_append_new(self, object);
}

static void add_problem(json_t* array, const hone_onnx_problem_t* problem) {
  json_t* object = json_object();
  put(object, "where", problem->where);
  put(object, "code", hone_code_name(HONE_INVALID_MODEL));
  put(object, "reason", problem->message);
  json_array_append_new(array, object);
}

static void add_gap(json_t* array, const hone_gap_t* gap) {
  json_t* object = json_object();
  put(object, "node", gap->node);
  put(object, "op", gap->op_type);
  put(object, "domain", gap->domain[0] ? gap->domain : "ai.onnx");
  put(object, "code", hone_code_name(gap->code));
  put(object, "reason", gap->reason);
  json_array_append_new(array, object);
}

static hone_status_t dump_findings(hone_cli_t* cli, const findings_t* f) {
  json_t *root = json_object(), *gaps = json_array(), *deferred = json_array();
  for (int64_t i = 0; i < f->problems.count; i++) add_problem(gaps, &f->problems.items[i]);
  for (const hone_gap_t* gap = f->gaps; gap; gap = gap->next) add_gap(gaps, gap);
  visit_deferred(f->graph, add_deferred, deferred);
  put(root, "model", hone_cli_argument(cli, 0));
  put(root, "device", hone_cli_text(cli, "device", "ref"));
  json_object_set_new(root, "runs", json_boolean(!f->problems.count && !f->gaps));
  json_object_set_new(root, "gaps", gaps);
  json_object_set_new(root, "deferred", deferred);
  json_object_set_new(root, "primitives",
                      json_integer(f->graph ? hone_graph_node_count(f->graph) : 0));
  return hone_json_print(root);
}

/* ---- the whole ---- */

/* Loads and examines; a failure that is no gap is the command's. */
static hone_status_t find(hone_cli_t* cli, hone_model_t** out_model, findings_t* out) {
  const hone_allocator_t* allocator;
  hone_onnx_options_t options = {.no_check = true};
  const char* device = hone_cli_text(cli, "device", "ref");
  const hone_backend_t* backend;
  HONE_TRY(hone_device_backend(device, &backend));
  HONE_TRY(hone_cli_allocator(cli, &allocator));
  HONE_TRY(hone_onnx_load_file(allocator, hone_cli_argument(cli, 0), &options, out_model));
  HONE_TRY(examine(cli, *out_model, allocator, out));
  if (out->problems.count || out->gaps) return NULL;
  hone_status_t failure = out->failure;
  out->failure = NULL;
  return failure;
}

static hone_status_t report(hone_cli_t* cli, const findings_t* f) {
  if (hone_cli_has(cli, "json")) return dump_findings(cli, f);
  print_findings(cli, f);
  return NULL;
}

static int run_check(hone_cli_t* cli) {
  hone_model_t* model = NULL;
  findings_t findings = {0};
  hone_status_t status = find(cli, &model, &findings);
  if (!status) status = report(cli, &findings);
  int code = findings.problems.count || findings.gaps ? HONE_EXIT_GAPS : HONE_EXIT_OK;
  if (status) code = hone_cli_fail(cli, status);
  close_findings(&findings);
  hone_model_destroy(model);
  return code;
}

static const hone_option_t options[] = {
    HONE_OPTION_DEVICE,
    HONE_OPTION_DIM,
    HONE_OPTION_JSON,
    HONE_OPTION_MEM_LIMIT,
};

extern const hone_command_t hone_command_check;
const hone_command_t hone_command_check = {
    .name = "check",
    .summary = "list everything that keeps a model from running on a device",
    .arguments = "MODEL",
    .min_arguments = 1,
    .max_arguments = 1,
    .complete = HONE_COMPLETE_FILE,
    .description =
        "Lists everything that keeps a model from running on a device, all at once, each by the "
        "node it concerns with the reason. Also names the nodes that can be lowered only when "
        "they run, because their shapes depend on data. Exits with 3 when there is a gap.",
    .examples =
        "  hone check net.onnx\n"
        "  hone check net.onnx --json | jq .gaps",
    .n_options = sizeof options / sizeof *options,
    .options = options,
    .run = run_check,
};
