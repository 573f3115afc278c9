/* Loading a model, running it under a profile, and keeping its numbers. */
#include "net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_PATH = 4096 };

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

hone_status_t net_open(net_t* net) {
  double start = now_ms();
  HONE_TRY(hone_limit_allocator_create(NULL, 0, &net->memory));
  const hone_allocator_t* allocator = hone_limit_allocator_get(net->memory);
  hone_model_options_t model_options = {.struct_size = sizeof model_options,
                                        .allocator = allocator};
  HONE_TRY(hone_model_load(net->path, &model_options, &net->model));
  net->load_ms = now_ms() - start;
  start = now_ms();
  hone_session_options_t options = {
      .struct_size = sizeof options, .allocator = allocator, .device = net->device};
  HONE_TRY(hone_session_create(net->model, &options, &net->session));
  net->compile_ms = now_ms() - start;
  return hone_report_create(net->session, NULL, &net->report);
}

void net_close(net_t* net) {
  hone_report_destroy(net->report);
  hone_session_destroy(net->session);
  hone_model_destroy(net->model);
  hone_limit_allocator_destroy(net->memory);
  for (int i = 0; i < net->n_costs; i++) free(net->costs[i].label);
  free(net->costs);
  net->report = NULL;
  net->session = NULL;
  net->model = NULL;
  net->memory = NULL;
  net->costs = NULL;
  net->n_costs = net->costs_room = 0;
}

double net_peak_mib(const net_t* net) {
  return (double)hone_limit_allocator_peak(net->memory) / (1 << 20);
}

/* ---- costs ---- */

/* Searched from the end: the events of one node follow each other. */
static node_cost_t* find_cost(const net_t* net, const char* label) {
  for (int i = net->n_costs - 1; i >= 0; i--) {
    if (strcmp(net->costs[i].label, label) == 0) return &net->costs[i];
  }
  return NULL;
}

const node_cost_t* net_cost(const net_t* net, const char* label) { return find_cost(net, label); }

const char* net_partner(const net_t* net, int index) {
  if (!hone_report_is_compiled(net->report)) return NULL;
  const hone_report_node_t* node = hone_report_node(net->report, index);
  const hone_report_step_t* step =
      node && node->step >= 0 ? hone_report_step(net->report, node->step) : NULL;
  return step && step->origin[0] && strcmp(step->origin, node->name) != 0 ? step->origin : NULL;
}

static node_cost_t* add_cost(net_t* net, const char* label) {
  if (net->n_costs == net->costs_room) {
    int room = net->costs_room ? net->costs_room * 2 : 256;
    node_cost_t* grown = realloc(net->costs, (size_t)room * sizeof *grown);
    if (!grown) return NULL;
    net->costs = grown;
    net->costs_room = room;
  }
  char* copy = strdup(label);
  if (!copy) return NULL;
  node_cost_t* cost = &net->costs[net->n_costs++];
  *cost = (node_cost_t){.label = copy};
  return cost;
}

static void note_event(void* self, const hone_profile_event_t* event) {
  net_t* net = self;
  node_cost_t* cost = find_cost(net, event->origin);
  if (!cost) cost = add_cost(net, event->origin);
  if (!cost) {
    net->out_of_memory = true;
    return;
  }
  cost->ms += (double)event->duration_ns / 1e6;
  cost->run_bytes += event->output_bytes;
  cost->primitives++;
}

static void close_run(net_t* net) {
  for (int i = 0; i < net->n_costs; i++) {
    node_cost_t* cost = &net->costs[i];
    if (cost->run_bytes > cost->bytes) cost->bytes = cost->run_bytes;
    cost->run_bytes = 0;
  }
  net->runs++;
}

/* ---- runs ---- */

static hone_status_t dump(const net_t* net, int n_inputs, hone_tensor_t* const* inputs,
                          const hone_tensor_t* output) {
  char path[MAX_PATH];
  for (int i = 0; i < n_inputs; i++) {
    snprintf(path, sizeof path, "%s/%s-%d.in.%s.npy", net->dump_dir, net->name, net->runs,
             hone_session_input_name(net->session, i));
    HONE_TRY(npy_write(path, inputs[i]));
  }
  snprintf(path, sizeof path, "%s/%s-%d.out.npy", net->dump_dir, net->name, net->runs);
  return npy_write(path, output);
}

hone_status_t net_run(net_t* net, int n_inputs, hone_tensor_t* const* inputs,
                      hone_tensor_t** out_output) {
  *out_output = NULL;
  if (hone_session_output_count(net->session) != 1) {
    return hone_status_make(HONE_INVALID_MODEL, "%s: one output is expected, it has %d", net->path,
                            hone_session_output_count(net->session));
  }
  hone_run_options_t options = {
      .struct_size = sizeof options, .profile = note_event, .profile_self = net};
  double start = now_ms();
  HONE_TRY(hone_session_run(net->session, &options, n_inputs, inputs, 1, out_output));
  net->run_ms += now_ms() - start;
  hone_status_t status = NULL;
  if (net->out_of_memory) status = hone_status_make(HONE_OUT_OF_MEMORY, "the profile");
  if (!status && net->dump_dir) status = dump(net, n_inputs, inputs, *out_output);
  close_run(net);
  if (status) {
    hone_tensor_release(*out_output);
    *out_output = NULL;
  }
  return status;
}
