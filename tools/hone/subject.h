/* Subject: what `run` and `bench` work on, a model (or a graph in text, as `dump`
 * and `verify` write it) made ready on a device, or an engine file, which is ready.
 * What a file is, its first bytes say. */
#ifndef HONE_TOOLS_SUBJECT_H
#define HONE_TOOLS_SUBJECT_H

#include "command.h"
#include "ir/graph.h"

typedef struct hone_subject {
  const char* path;
  const char* device;    /* as it was asked for, else "ref" or what the engine is for */
  hone_model_t* model;   /* NULL for an engine or a graph */
  hone_engine_t* engine; /* NULL for a model or a graph */
  hone_session_t* session;
  double load_ms, compile_ms; /* reading the file; making it ready: 0 for an engine */
} hone_subject_t;

/* Whether the file begins as engines do; one that cannot be read is left to who loads it. */
bool hone_subject_is_engine(const char* path);
/* Opens argument `index` on `device`; NULL: --device, else "ref" or what the engine is
 * for. Options that only compiling heeds are refused for an engine. */
HONE_MUST_USE hone_status_t hone_subject_open(hone_cli_t* cli, int index, const char* device,
                                              hone_subject_t* out_subject);
/* Whether a file is a graph in text. */
bool hone_subject_is_graph(const char* path);
HONE_MUST_USE hone_status_t hone_subject_read_graph(const char* path, hone_graph_t** out_graph);
void hone_subject_close(hone_subject_t* subject);

#endif
