/* Sessions of graphs that come from no model: cases that were written as text. */
#ifndef HONE_RUNTIME_SESSION_GRAPH_H
#define HONE_RUNTIME_SESSION_GRAPH_H

#include "hone/session.h"

/* As hone_session_create; takes the graph over, also when it fails. Of the options
 * the dims are not used. */
HONE_MUST_USE hone_status_t hone_session_create_from_graph(hone_graph_t* graph,
                                                           const hone_session_options_t* options,
                                                           hone_session_t** out_session);

#endif
