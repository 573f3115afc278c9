/* Inputs are those of `hone run`: files, or random by --seed. */
#include "compile_mixed.h"

#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "run.h"

bool hone_mixed_is_asked(const hone_cli_t* cli) {
  return strcmp(hone_cli_text(cli, "precision", ""), "mixed") == 0;
}

double hone_mixed_bound(hone_cli_t* cli) {
  const char* text = hone_cli_text(cli, "error-bound", NULL);
  if (!text) return 0;
  char* end;
  double bound = strtod(text, &end);
  if (end == text || *end || !(bound > 0 && bound < 1e9))
    hone_cli_usage(cli, "--error-bound '%s': expected a number above 0, as in 1e-2", text);
  return bound;
}

/* ---- compiling ---- */

static hone_status_t read_inputs(hone_run_t* run, const hone_engine_options_t* options) {
  const hone_session_options_t on_ref = {.struct_size = sizeof on_ref,
                                         .allocator = options->allocator,
                                         .n_dims = options->n_dims,
                                         .dims = options->dims};
  HONE_TRY(hone_session_create(run->model, &on_ref, &run->session));
  run->n_inputs = hone_session_input_count(run->session);
  HONE_TRY(hone_run_plan_inputs(run));
  return hone_run_read_inputs(run);
}

static hone_status_t compile(hone_run_t* run, const hone_engine_options_t* options,
                             hone_engine_t** out_engine, hone_mixed_report_t** out_report) {
  HONE_TRY(hone_arena_create(NULL, &run->arena));
  HONE_TRY(read_inputs(run, options));
  const hone_mixed_options_t mixed = {.struct_size = sizeof mixed,
                                      .error_bound = hone_mixed_bound(run->cli),
                                      .n_inputs = run->n_inputs,
                                      .inputs = run->inputs};
  return hone_engine_compile_mixed(run->model, options, &mixed, out_engine, out_report);
}

hone_status_t hone_mixed_compile(hone_cli_t* cli, const hone_model_t* model,
                                 const hone_engine_options_t* options, hone_engine_t** out_engine,
                                 hone_mixed_report_t** out_report) {
  hone_run_t run = {.cli = cli,
                    .allocator = options->allocator,
                    .model = (hone_model_t*)(uintptr_t)model, /* which is only read */
                    .n_models = 1,
                    .make_up = true,
                    .random_low = -1};
  hone_status_t status = compile(&run, options, out_engine, out_report);
  for (int i = 0; run.inputs && i < run.n_inputs; i++) hone_tensor_release(run.inputs[i]);
  hone_session_destroy(run.session);
  hone_arena_destroy(run.arena);
  return status;
}

/* ---- telling ---- */

void hone_mixed_print(const hone_mixed_report_t* report, FILE* to) {
  fprintf(to,
          "%d of %d contractions that gain by it in %s: error %.2g of at most %.2g, %d engines "
          "measured\n",
          report->n_narrow, report->n_layers, report->dtype, report->error, report->error_bound,
          report->n_measured);
}

void hone_mixed_explain(const hone_mixed_report_t* report, FILE* to) {
  for (int i = 0; i < report->n_layers; i++) {
    const hone_mixed_layer_t* layer = &report->layers[i];
    fprintf(to, "mixed: %s: %s, %.3g us gained", layer->node,
            layer->is_narrow ? report->dtype : "f32", layer->gain_seconds * 1e6);
    if (layer->error >= 0) fprintf(to, ", error %.2g alone", layer->error);
    fputc('\n', to);
  }
}

static json_t* layer_json(const hone_mixed_report_t* report, const hone_mixed_layer_t* layer) {
  json_t* object = json_object();
  json_object_set_new(object, "node", hone_json_string(layer->node));
  json_object_set_new(object, "dtype", hone_json_string(layer->is_narrow ? report->dtype : "f32"));
  json_object_set_new(object, "gain_us", json_real(layer->gain_seconds * 1e6));
  json_object_set_new(object, "error", layer->error >= 0 ? json_real(layer->error) : json_null());
  return object;
}

json_t* hone_mixed_json(const hone_mixed_report_t* report) {
  json_t *object = json_object(), *layers = json_array();
  for (int i = 0; i < report->n_layers; i++)
    json_array_append_new(layers, layer_json(report, &report->layers[i]));
  json_object_set_new(object, "dtype", hone_json_string(report->dtype));
  json_object_set_new(object, "error", json_real(report->error));
  json_object_set_new(object, "error_bound", json_real(report->error_bound));
  json_object_set_new(object, "narrow", json_integer(report->n_narrow));
  json_object_set_new(object, "measured", json_integer(report->n_measured));
  json_object_set_new(object, "layers", layers);
  return object;
}
