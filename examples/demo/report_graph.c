/* The graph of a network as a drawing. Layers go from left to right and wrap into
 * bands, as words into lines; a node lies in a layer behind all that feed it. Nodes that only
 * prepare weights are left out. */
#include <limits.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

enum {
  LAYERS_A_BAND = 12,
  STEP_X = 92, /* from layer to layer */
  STEP_Y = 27, /* from lane to lane */
  NODE_WIDTH = 80,
  NODE_HEIGHT = 20,
  BAND_GAP = 16,
  MARGIN = 10,
  MAX_LANES = 64,
};

/* ---- who made a value ---- */

/* Values by name: -1 an input of the model, else the index of the node that makes it. */
typedef struct makers {
  struct hsearch_data table;
} makers_t;

static bool add_maker(makers_t* makers, const char* name, intptr_t index) {
  ENTRY entry = {.key = (char*)(uintptr_t)name, .data = (void*)(index + 2)};
  ENTRY* found;
  return hsearch_r(entry, ENTER, &found, &makers->table) != 0;
}

/* -2 when nothing that moves data makes it. */
static int maker_of(makers_t* makers, const char* name) {
  ENTRY entry = {.key = (char*)(uintptr_t)name};
  ENTRY* found;
  if (!name[0] || !hsearch_r(entry, FIND, &found, &makers->table)) return -2;
  return (int)((intptr_t)found->data - 2);
}

/* ---- layers ---- */

/* The earliest layer: one behind the latest that feeds it. */
static bool place_early(report_graph_t* graph, makers_t* makers, int index) {
  report_node_t* node = &graph->nodes[index];
  for (int i = 0; i < node->node.n_inputs; i++) {
    int maker = maker_of(makers, node->node.inputs[i]);
    if (maker == -2) continue;
    node->moves_data = true;
    if (maker >= 0 && graph->nodes[maker].layer >= node->layer) {
      node->layer = graph->nodes[maker].layer + 1;
    }
  }
  bool ok = true;
  for (int i = 0; ok && node->moves_data && i < node->node.n_outputs; i++) {
    const char* name = node->node.outputs[i];
    ok = !name[0] || add_maker(makers, name, index);
  }
  return ok;
}

/* Then the latest: side branches lie next to where they join. `latest` holds
 * what the nodes behind this one allow. */
static void place_late(report_graph_t* graph, makers_t* makers, int index, int* latest) {
  report_node_t* node = &graph->nodes[index];
  if (!node->moves_data) return;
  node->has_slack = latest[index] > node->layer && latest[index] < INT_MAX;
  if (node->has_slack) node->layer = latest[index];
  for (int i = 0; i < node->node.n_inputs; i++) {
    int maker = maker_of(makers, node->node.inputs[i]);
    if (maker >= 0 && maker < index && node->layer - 1 < latest[maker]) {
      latest[maker] = node->layer - 1;
    }
  }
}

/* The lane of what feeds it, where that is free in its layer. */
static void take_lane(report_graph_t* graph, makers_t* makers, int index, uint64_t* taken) {
  report_node_t* node = &graph->nodes[index];
  int lane = 0;
  for (int i = node->node.n_inputs - 1; i >= 0; i--) {
    int maker = maker_of(makers, node->node.inputs[i]);
    if (maker >= 0) lane = graph->nodes[maker].lane;
  }
  if (taken[node->layer] >> lane & 1) {
    for (lane = 0; lane < MAX_LANES - 1 && taken[node->layer] >> lane & 1;) lane++;
  }
  taken[node->layer] |= (uint64_t)1 << lane;
  node->lane = lane;
}

/* Files list nodes before those that use them, or nearly so: what comes late
 * is drawn without its edge. */
static bool place_nodes(report_graph_t* graph, makers_t* makers) {
  uint64_t* taken = calloc((size_t)graph->count + 1, sizeof *taken);
  int* latest = malloc(((size_t)graph->count + 1) * sizeof *latest);
  bool ok = taken && latest;
  for (int i = 0; ok && i < hone_session_input_count(graph->net->session); i++) {
    ok = add_maker(makers, hone_session_input_name(graph->net->session, i), -1);
  }
  for (int i = 0; ok && i < graph->count; i++) {
    latest[i] = INT_MAX;
    ok = place_early(graph, makers, i);
  }
  for (int i = graph->count - 1; ok && i >= 0; i--) place_late(graph, makers, i, latest);
  for (int slack = 0; ok && slack < 2; slack++) { /* the longest paths come first */
    for (int i = 0; i < graph->count; i++) {
      const report_node_t* node = &graph->nodes[i];
      if (node->moves_data && node->has_slack == slack) take_lane(graph, makers, i, taken);
    }
  }
  free(latest);
  free(taken);
  return ok;
}

/* ---- the nodes ---- */

static bool make_makers(const report_graph_t* graph, makers_t* makers) {
  size_t values = 16;
  for (int i = 0; i < graph->count; i++) values += (size_t)graph->nodes[i].node.n_outputs;
  *makers = (makers_t){0};
  return hcreate_r(values * 2, &makers->table) != 0;
}

static void fill_node(report_graph_t* graph, int index) {
  report_node_t* node = &graph->nodes[index];
  hone_model_node_at(graph->net->model, index, &node->node);
  const char* name = node->node.name;
  if (!name[0] && node->node.n_outputs) name = node->node.outputs[0];
  snprintf(node->label, sizeof node->label, "%s (%s)", name, node->node.op_type);
  node->cost = net_cost(graph->net, node->label);
  if (!node->cost) node->partner = net_partner(graph->net, index);
  if (node->cost && node->cost->ms > graph->slowest_ms) graph->slowest_ms = node->cost->ms;
}

hone_status_t report_graph_make(const net_t* net, report_graph_t* out_graph) {
  *out_graph = (report_graph_t){.net = net, .count = (int)hone_model_node_count(net->model)};
  out_graph->nodes = calloc((size_t)out_graph->count + 1, sizeof *out_graph->nodes);
  if (!out_graph->nodes) return hone_status_make(HONE_OUT_OF_MEMORY, "the report");
  for (int i = 0; i < out_graph->count; i++) fill_node(out_graph, i);
  makers_t makers;
  bool ok = make_makers(out_graph, &makers);
  if (ok) {
    ok = place_nodes(out_graph, &makers);
    hdestroy_r(&makers.table);
  }
  return ok ? NULL : hone_status_make(HONE_OUT_OF_MEMORY, "the report");
}

void report_graph_free(report_graph_t* graph) {
  free(graph->nodes);
  graph->nodes = NULL;
}

/* ---- the drawing ---- */

typedef struct drawing {
  FILE* file;
  const report_graph_t* graph;
  int bands;
  int* band_top; /* by band, and the end of the last */
} drawing_t;

static int node_x(const report_node_t* node) {
  return MARGIN + node->layer % LAYERS_A_BAND * STEP_X;
}
static int node_y(const drawing_t* d, const report_node_t* node) {
  return d->band_top[node->layer / LAYERS_A_BAND] + node->lane * STEP_Y;
}

static void measure_bands(drawing_t* d) {
  for (int i = 0; i < d->graph->count; i++) {
    const report_node_t* node = &d->graph->nodes[i];
    int* lanes = &d->band_top[node->layer / LAYERS_A_BAND + 1];
    if (node->moves_data && node->lane >= *lanes) *lanes = node->lane + 1;
  }
  d->band_top[0] = MARGIN;
  for (int band = 0; band < d->bands; band++) {
    d->band_top[band + 1] = d->band_top[band] + d->band_top[band + 1] * STEP_Y + BAND_GAP;
  }
}

/* Between bands an edge leaves at the right and comes in at the left. */
static void draw_edge(const drawing_t* d, const report_node_t* from, const report_node_t* to) {
  int x0 = node_x(from) + NODE_WIDTH, y0 = node_y(d, from) + NODE_HEIGHT / 2;
  int x1 = node_x(to), y1 = node_y(d, to) + NODE_HEIGHT / 2;
  int bend = (STEP_X - NODE_WIDTH) / 2;
  if (from->layer / LAYERS_A_BAND == to->layer / LAYERS_A_BAND) {
    fprintf(d->file, "<path d=\"M%d %dC%d %d %d %d %d %d\"/>", x0, y0, x0 + bend, y0, x1 - bend, y1,
            x1, y1);
  } else {
    fprintf(d->file, "<path d=\"M%d %dh%dM%d %dh%d\"/>", x0, y0, bend, x1 - bend, y1, bend);
  }
}

static void draw_edges(const drawing_t* d, makers_t* makers, const report_node_t* node) {
  for (int i = 0; i < node->node.n_inputs; i++) {
    int maker = maker_of(makers, node->node.inputs[i]);
    if (maker >= 0) draw_edge(d, &d->graph->nodes[maker], node);
  }
}

static void draw_node(const drawing_t* d, const report_node_t* node) {
  int x = node_x(node), y = node_y(d, node);
  double ms = node->cost ? node->cost->ms : 0;
  double slowest = d->graph->slowest_ms > 0 ? d->graph->slowest_ms : 1;
  fprintf(d->file, "<g><title>");
  hone_look_text(d->file, node->label);
  fprintf(d->file,
          ": %.3f ms</title><rect class=\"node\" style=\"--hue:%d\" x=\"%d\" y=\"%d\" "
          "width=\"%d\" height=\"%d\" rx=\"4\"/>",
          ms, hone_look_hue(node->node.op_type), x, y, NODE_WIDTH, NODE_HEIGHT);
  fprintf(d->file, "<rect class=\"heat\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"3\"/>", x,
          y + NODE_HEIGHT - 3, NODE_WIDTH * ms / slowest);
  fprintf(d->file, "<text x=\"%d\" y=\"%d\">%.13s</text></g>\n", x + 5, y + 13, node->node.op_type);
}

static int count_bands(const report_graph_t* graph) {
  int last = 0;
  for (int i = 0; i < graph->count; i++) {
    if (graph->nodes[i].moves_data && graph->nodes[i].layer > last) last = graph->nodes[i].layer;
  }
  return last / LAYERS_A_BAND + 1;
}

static void draw(const drawing_t* d, makers_t* makers) {
  int width = 2 * MARGIN + LAYERS_A_BAND * STEP_X, height = d->band_top[d->bands];
  fprintf(d->file,
          "<div class=\"card scroll low\"><svg class=\"graph\" viewBox=\"0 0 %d %d\" "
          "width=\"%d\" height=\"%d\" role=\"img\">\n",
          width, height, width, height);
  for (int i = 0; i < d->graph->count; i++) {
    if (d->graph->nodes[i].moves_data) draw_edges(d, makers, &d->graph->nodes[i]);
  }
  for (int i = 0; i < d->graph->count; i++) {
    if (d->graph->nodes[i].moves_data) draw_node(d, &d->graph->nodes[i]);
  }
  fputs("</svg></div>\n", d->file);
}

hone_status_t report_graph_draw(FILE* file, const report_graph_t* graph) {
  drawing_t drawing = {.file = file, .graph = graph, .bands = count_bands(graph)};
  drawing.band_top = calloc((size_t)drawing.bands + 1, sizeof *drawing.band_top);
  makers_t makers;
  bool ok = drawing.band_top && make_makers(graph, &makers);
  for (int i = 0; ok && i < graph->count; i++) {
    const report_node_t* node = &graph->nodes[i];
    for (int o = 0; ok && node->moves_data && o < node->node.n_outputs; o++) {
      ok = !node->node.outputs[o][0] || add_maker(&makers, node->node.outputs[o], i);
    }
  }
  if (ok) {
    measure_bands(&drawing);
    draw(&drawing, &makers);
    hdestroy_r(&makers.table);
  }
  free(drawing.band_top);
  return ok ? NULL : hone_status_make(HONE_OUT_OF_MEMORY, "the report");
}
