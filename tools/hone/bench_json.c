/* The report of `hone bench` for machines: one entry's fields at the top, of
 * several in "results". */
#include "bench.h"
#include "ir/type_text.h"
#include "json.h"

static void put_times(json_t* object, const hone_times_t* times) {
  const struct {
    const char* name;
    double value;
  } rows[] = {{"median_ms", times->median}, {"min_ms", times->min}, {"mean_ms", times->mean},
              {"p90_ms", times->p90},       {"p99_ms", times->p99}, {"max_ms", times->max}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    json_object_set_new(object, rows[i].name, json_real(rows[i].value));
  json_object_set_new(object, "runs", json_integer(times->runs));
}

static void put_entry(json_t* object, const hone_bench_t* bench, int index) {
  const hone_bench_entry_t* entry = &bench->entries[index];
  const hone_subject_t* subject = &entry->run.subject;
  json_object_set_new(object, "model", hone_json_string(subject->path));
  json_object_set_new(object, "device", hone_json_string(subject->device));
  json_object_set_new(object, "target", hone_json_string(entry->info.target));
  json_object_set_new(object, "precision", hone_json_string(entry->info.precision));
  json_object_set_new(object, "threads", json_integer(entry->threads));
  json_object_set_new(object, "kernels", json_integer(entry->info.n_kernels));
  json_object_set_new(object, "interpreted", json_integer(entry->info.n_interpreted));
  json_object_set_new(object, "weight_bytes", json_integer((json_int_t)entry->info.weight_bytes));
  put_times(object, &entry->times);
  json_object_set_new(object, "first_ms", json_real(bench->contestants[index].first_ms));
  json_object_set_new(object, "load_ms", json_real(subject->load_ms));
  json_object_set_new(object, "compile_ms", json_real(subject->compile_ms));
  json_object_set_new(object, "from_cache", json_boolean(entry->info.from_cache));
  json_object_set_new(object, "inputs", hone_json_inputs(&entry->run));
}

static json_t* describe_machine(const hone_machine_t* machine) {
  json_t* object = json_object();
  json_object_set_new(object, "cpu", hone_json_string(machine->cpu));
  json_object_set_new(object, "cpus", json_integer(machine->cpus));
  json_object_set_new(object, "memory_bytes", json_integer((json_int_t)machine->memory_bytes));
  json_object_set_new(object, "system", hone_json_string(machine->system));
  return object;
}

static json_t* describe_results(const hone_bench_t* bench) {
  json_t* results = json_array();
  for (int i = 0; i < bench->n_entries; i++) {
    json_t* object = json_object();
    put_entry(object, bench, i);
    json_array_append_new(results, object);
  }
  return results;
}

hone_status_t hone_bench_print_json(const hone_bench_t* bench, json_t* root) {
  if (bench->n_entries == 1)
    put_entry(root, bench, 0);
  else
    json_object_set_new(root, "results", describe_results(bench));
  json_object_set_new(root, "warmup", json_integer(bench->rounds.warmup));
  json_object_set_new(root, "version", json_string(hone_version()));
  json_object_set_new(root, "machine", describe_machine(&bench->machine));
  return hone_json_print(root);
}
