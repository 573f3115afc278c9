/* Net: a model with its session, and what was measured while it ran. */
#ifndef DEMO_NET_H
#define DEMO_NET_H

#include "hone/hone.h"

/* What one node of the model cost, over all runs. */
typedef struct node_cost {
  char* label; /* as profiles give it: "name (OpType)" */
  double ms;
  uint64_t bytes;     /* fresh memory for its results, in the run that took most */
  uint64_t run_bytes; /* the same, in the current run */
  int primitives;     /* events, over all runs */
} node_cost_t;

typedef struct net {
  const char* name;  /* "style": also what dumped files start with */
  const char* title; /* for people */
  const char* path;
  const char* device;
  const char* dump_dir;           /* NULL: dump nothing */
  hone_limit_allocator_t* memory; /* counts what the model, its session and runs take */
  hone_model_t* model;
  hone_session_t* session;
  hone_report_t* report; /* which step each node became */
  double load_ms;        /* reading the file */
  double compile_ms;     /* from the model to a session */
  double run_ms;         /* all runs */
  int runs;
  int n_costs, costs_room;
  node_cost_t* costs; /* in the order in which nodes first ran */
  bool out_of_memory; /* while noting costs */
} net_t;

/* `net` holds name, title, path, device and dump_dir. */
HONE_MUST_USE hone_status_t net_open(net_t* net);
void net_close(net_t* net);
/* Runs on inputs in the session's order, and gives the first output. With
 * dump_dir it writes NAME-RUN.in.INPUT.npy and NAME-RUN.out.npy there. */
HONE_MUST_USE hone_status_t net_run(net_t* net, int n_inputs, hone_tensor_t* const* inputs,
                                    hone_tensor_t** out_output);
/* The cost of the node with that label; NULL when it took no part in a run. */
const node_cost_t* net_cost(const net_t* net, const char* label);

/* The node whose kernel computes node `index` of the model as well; NULL when there
 * is none, or the node has a cost of its own. */
const char* net_partner(const net_t* net, int index);

/* The most memory that it ever held; weights in the mapped file do not count. */
double net_peak_mib(const net_t* net);

/* A float tensor as a NumPy file. */
HONE_MUST_USE hone_status_t npy_write(const char* path, const hone_tensor_t* tensor);

#endif
