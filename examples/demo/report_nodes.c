/* The nodes of a network in numbers: time by type as bars, and a table of all. */
#include <stdlib.h>
#include <string.h>

#include "report.h"

typedef struct kind {
  const char* op_type;
  int count;
  double ms;
  uint64_t bytes;
} kind_t;

static int slowest_first(const void* a, const void* b) {
  double x = ((const kind_t*)a)->ms, y = ((const kind_t*)b)->ms;
  return x > y ? -1 : x < y;
}

/* Sums up by type into `kinds`, which has room for one a node; gives their number. */
static int sum_kinds(const report_graph_t* graph, kind_t* kinds) {
  int n = 0;
  for (int i = 0; i < graph->count; i++) {
    const report_node_t* node = &graph->nodes[i];
    int k = 0;
    while (k < n && strcmp(kinds[k].op_type, node->node.op_type) != 0) k++;
    if (k == n) kinds[n++] = (kind_t){.op_type = node->node.op_type};
    kinds[k].count++;
    if (!node->cost) continue;
    kinds[k].ms += node->cost->ms;
    kinds[k].bytes += node->cost->bytes;
  }
  qsort(kinds, (size_t)n, sizeof *kinds, slowest_first);
  return n;
}

static void bar_cell(FILE* file, const char* op_type, double share) {
  fprintf(file,
          "<td class=\"wide\" data-value=\"%.6f\"><span class=\"bar\" style=\"--hue:%d;"
          "width:%.2f%%\"></span></td>",
          share, hone_look_hue(op_type), share * 100);
}

static void memory_cell(FILE* file, uint64_t bytes) {
  fprintf(file, "<td class=\"n\" data-value=\"%llu\">", (unsigned long long)bytes);
  if (bytes >= 1 << 20)
    fprintf(file, "%.1f MiB</td>", (double)bytes / (1 << 20));
  else
    fprintf(file, "%.1f KiB</td>", (double)bytes / (1 << 10));
}

hone_status_t report_kinds(FILE* file, const report_graph_t* graph) {
  kind_t* kinds = malloc((size_t)(graph->count + 1) * sizeof *kinds);
  if (!kinds) return hone_status_make(HONE_OUT_OF_MEMORY, "the report");
  int n = sum_kinds(graph, kinds);
  double total = graph->net->run_ms > 0 ? graph->net->run_ms : 1;
  fputs(
      "<div class=\"card scroll\"><table class=\"sort\"><thead><tr><th>type</th>"
      "<th class=\"n\">nodes</th><th class=\"n\">ms</th><th class=\"n\">share</th><th></th>"
      "<th class=\"n\">results</th></tr></thead><tbody>\n",
      file);
  for (int i = 0; i < n && kinds[i].ms > 0; i++) {
    const kind_t* kind = &kinds[i];
    fputs("<tr><td>", file);
    hone_look_text(file, kind->op_type);
    fprintf(file,
            "</td><td class=\"n\">%d</td><td class=\"n\">%.2f</td><td class=\"n\" "
            "data-value=\"%.6f\">%.1f %%</td>",
            kind->count, kind->ms, kind->ms / total, 100 * kind->ms / total);
    bar_cell(file, kind->op_type, kinds[0].ms > 0 ? kind->ms / kinds[0].ms : 0);
    memory_cell(file, kind->bytes);
    fputs("</tr>\n", file);
  }
  fputs("</tbody></table></div>\n", file);
  free(kinds);
  return NULL;
}

static void node_row(FILE* file, const report_graph_t* graph, int index) {
  const report_node_t* node = &graph->nodes[index];
  const node_cost_t* cost = node->cost;
  double ms = cost ? cost->ms : 0;
  fprintf(file, "<tr><td class=\"n\">%d</td><td class=\"name\">", index + 1);
  hone_look_text(file, node->node.name[0]     ? node->node.name
                       : node->node.n_outputs ? node->node.outputs[0]
                                              : "");
  fputs("</td><td>", file);
  hone_look_text(file, node->node.op_type);
  fputs("</td><td>", file);
  if (node->partner) fputs("with ", file);
  hone_look_text(file, cost            ? graph->net->device
                       : node->partner ? node->partner
                                       : "nothing to run");
  fprintf(file, "</td><td class=\"n\">%d</td><td class=\"n\">%.3f</td>",
          cost && graph->net->runs ? cost->primitives / graph->net->runs : 0, ms);
  bar_cell(file, node->node.op_type, graph->slowest_ms > 0 ? ms / graph->slowest_ms : 0);
  memory_cell(file, cost ? cost->bytes : 0);
  fputs("</tr>\n", file);
}

void report_nodes(FILE* file, const report_graph_t* graph) {
  fprintf(file,
          "<details><summary>All %d nodes of the model: where each ran, time, memory</summary>\n"
          "<div class=\"card scroll\"><table class=\"sort\"><thead><tr><th class=\"n\">#</th>"
          "<th>node</th><th>type</th><th>where</th><th class=\"n\">steps</th>"
          "<th class=\"n\">ms</th><th></th><th class=\"n\">results</th></tr></thead><tbody>\n",
          graph->count);
  for (int i = 0; i < graph->count; i++) node_row(file, graph, i);
  fputs("</tbody></table></div></details>\n", file);
}
