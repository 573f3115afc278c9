/* What the parts of the report share. */
#ifndef DEMO_REPORT_H
#define DEMO_REPORT_H

#include <stdio.h>

#include "demo.h"
#include "look.h"

/* An address that holds the bytes themselves, as base64. */
void html_data(FILE* file, const char* media_type, const unsigned char* bytes, size_t size);
/* The address of `image`. */
HONE_MUST_USE hone_status_t html_image(FILE* file, const image_t* image);

/* What report_graph and report_nodes know of a node of the model. */
typedef struct report_node {
  hone_model_node_t node;
  char label[512];         /* as in profiles */
  const node_cost_t* cost; /* NULL: no step of its own was left to do at run time */
  const char* partner;     /* without a cost: whose kernel it became a part of; NULL: of none */
  bool moves_data;         /* depends on an input of the model */
  bool has_slack;          /* could lie in an earlier layer: on no longest path */
  int layer, lane;         /* place in the drawing, for those that move data */
} report_node_t;

typedef struct report_graph {
  const net_t* net;
  int count;
  report_node_t* nodes;
  double slowest_ms;
} report_graph_t;

HONE_MUST_USE hone_status_t report_graph_make(const net_t* net, report_graph_t* out_graph);
void report_graph_free(report_graph_t* graph);
/* The nodes that move data, in layers, each with its share of the time. */
HONE_MUST_USE hone_status_t report_graph_draw(FILE* file, const report_graph_t* graph);
/* Time by type of node, as bars. */
HONE_MUST_USE hone_status_t report_kinds(FILE* file, const report_graph_t* graph);
/* A table of all nodes. */
void report_nodes(FILE* file, const report_graph_t* graph);

#endif
