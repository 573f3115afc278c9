/* The report of `hone bench --vs` for machines: that of `hone bench`, of the entries,
 * and "peers" and "comparison". */
#include <math.h>

#include "versus.h"

static void put_ms(json_t* object, const char* name, double ms) {
  json_object_set_new(object, name, json_real(ms));
}

/* None where shapes differ: JSON has no infinity. */
static void put_error(json_t* object, const char* name, double error) {
  if (error >= 0 && isfinite(error)) json_object_set_new(object, name, json_real(error));
}

static json_t* describe_peer(const hone_racer_t* racer) {
  json_t* object = json_object();
  json_object_set_new(object, "name", hone_json_string(racer->name));
  json_object_set_new(object, "version", hone_json_string(racer->version));
  json_object_set_new(object, "state", json_string(racer->state));
  put_error(object, "error", racer->error);
  put_error(object, "hone_error", racer->hone_error);
  if (!hone_racer_is_ok(racer)) {
    json_object_set_new(object, "why", hone_json_string(racer->why));
    return object;
  }
  put_ms(object, "median_ms", racer->times.median);
  put_ms(object, "min_ms", racer->times.min);
  put_ms(object, "p90_ms", racer->times.p90);
  put_ms(object, "prepare_ms", racer->prepare_ms);
  put_ms(object, "load_ms", racer->load_ms);
  put_ms(object, "first_ms", racer->first_ms);
  if (racer->ratio > 0) json_object_set_new(object, "ratio", json_real(racer->ratio));
  json_object_set_new(object, "cpus", json_real(racer->cpus));
  json_object_set_new(object, "runs", json_integer(racer->n_runs));
  return object;
}

static json_t* describe_comparison(const hone_versus_t* versus) {
  json_t* object = json_object();
  const hone_racer_t* hone = &versus->racers[0];
  json_object_set_new(object, "reference", json_string(versus->reference));
  json_object_set_new(object, "tolerance", json_real(versus->tolerance));
  json_object_set_new(object, "rounds", json_integer(versus->n_rounds));
  json_object_set_new(object, "limit_ms", json_real(versus->limit_ms));
  if (!versus->best || !hone_racer_is_ok(hone)) return object;
  json_object_set_new(object, "best", hone_json_string(versus->best->name));
  json_object_set_new(object, "ratio", json_real(versus->best->ratio));
  json_object_set_new(object, "lowest_ratio", json_real(versus->lowest));
  json_object_set_new(object, "highest_ratio", json_real(versus->highest));
  return object;
}

hone_status_t hone_versus_print_json(const hone_versus_t* versus) {
  json_t *root = json_object(), *hone = json_array(), *peers = json_array();
  for (int i = 0; i < versus->n_racers; i++) {
    const hone_racer_t* racer = &versus->racers[i];
    json_array_append_new(racer->entry ? hone : peers, describe_peer(racer));
  }
  json_object_set_new(root, "hone", hone);
  json_object_set_new(root, "peers", peers);
  json_object_set_new(root, "comparison", describe_comparison(versus));
  return hone_bench_print_json(versus->bench, root);
}
