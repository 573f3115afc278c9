/* Fuzzes the reader of graphs in text. What is accepted must print, and read
 * back again. */
#include <stdlib.h>

#include "import/graph_text.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

static void check_round_trip(const hone_graph_t* graph) {
  hone_str_t text;
  hone_graph_t* again = NULL;
  hone_str_init(&text, NULL);
  hone_status_t status = hone_graph_print(graph, 0, &text);
  if (!status) status = hone_graph_parse(NULL, hone_str_text(&text), text.size, &again);
  if (status) abort();
  hone_graph_destroy(again);
  hone_str_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hone_graph_t* graph;
  hone_status_t status = hone_graph_parse(NULL, (const char*)data, size, &graph);
  if (!status) check_round_trip(graph);
  hone_status_free(status);
  hone_graph_destroy(graph);
  return 0;
}
