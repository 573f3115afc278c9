/* Mixed precision: an engine that takes narrow numbers (bf16 or f16) where that gains
 * time and costs little, contraction by contraction, under a bound for the error of the
 * model's outputs that is measured by running it.
 *
 * The candidates are the contractions that "bf16" or "fp16" would narrow on the device,
 * whichever of the two it has fast products of (else fp16, whose error is less). If the
 * model with all of them narrow keeps the bound, that is the engine. Else each is measured
 * alone; they are put in order by error for the time gained, as the model of cost expects
 * it, and of that order as many are narrowed as keep the bound together. */
#ifndef HONE_MIXED_H
#define HONE_MIXED_H

#include "hone/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All zeros is the default, but for the inputs. */
typedef struct hone_mixed_options {
  size_t struct_size; /* sizeof(hone_mixed_options_t), or 0 */
  /* The largest difference to the same engine in fp32, over all outputs of floats, each
   * relative to the output's largest number; 0: 1e-2. */
  double error_bound;
  int n_inputs;
  hone_tensor_t* const* inputs; /* that are run, in the model's order; borrowed */
} hone_mixed_options_t;

/* A contraction that could be narrow. */
typedef struct hone_mixed_layer {
  const char* node; /* of the model: "Conv_3 (Conv)" */
  bool is_narrow;
  double error;        /* with this one alone narrow; -1: not measured */
  double gain_seconds; /* of a run, as the model of cost expects */
} hone_mixed_layer_t;

/* What was chosen. Texts and arrays live as long as it. */
typedef struct hone_mixed_report {
  const char* dtype; /* of the narrow ones: "bf16" or "f16" */
  double error;      /* of the engine, as error_bound counts it: measured, and at most that */
  double error_bound;
  int n_layers;
  const hone_mixed_layer_t* layers; /* in the order of the graph */
  int n_narrow;
  int n_measured; /* engines that were compiled and run on the way */
} hone_mixed_report_t;

/* As hone_engine_compile, with `options->precision` NULL or "mixed". `out_report` may be NULL.
 * The same model, options and inputs on the same device give the same choice. Compiles
 * once for each candidate and more, at worst. Errors: those of hone_engine_compile and
 * hone_session_run; INVALID_ARGUMENT for inputs that do not fit; UNSUPPORTED for a model
 * without outputs of floats, or a target that does not run here. */
HONE_API HONE_MUST_USE hone_status_t hone_engine_compile_mixed(const hone_model_t* model,
                                                               const hone_engine_options_t* options,
                                                               const hone_mixed_options_t* mixed,
                                                               hone_engine_t** out_engine,
                                                               hone_mixed_report_t** out_report);
HONE_API void hone_mixed_report_destroy(hone_mixed_report_t* report); /* NULL is allowed */

#ifdef __cplusplus
}
#endif
#endif
