/* Engine files made of whatever bytes: taken apart without looking at checksums,
 * which would keep everything else out. Nothing of it is run. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "runtime/engine_impl.h"
#include "runtime/engine_program.h"

static void drop(hone_status_t status) { hone_status_free(status); }

static void read_program(hone_device_t* device, const hone_backend_t* cpu,
                         const hone_engine_parts_t* parts) {
  hone_program_t* program;
  hone_graph_t* graph = NULL;
  hone_status_t status = hone_program_create(hone_allocator_system(), cpu, device, &program);
  if (!status)
    status = hone_program_read(program, parts->program, parts->program_size, parts->weights,
                               parts->weights_size, NULL, &graph);
  drop(status);
  hone_program_destroy(program);
  hone_graph_destroy(graph);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const hone_backend_t* cpu = hone_backend_find("cpu");
  const hone_open_options_t options = {
      .struct_size = sizeof options, .allocator = hone_allocator_system(), .threads = 1};
  static hone_device_t* device; /* one for all inputs, never closed */
  hone_arena_t* arena;
  if (!device && cpu->open(0, &options, &device)) abort();
  void* copy = hone_alloc(NULL, size + 1); /* aligned as files are */
  hone_status_t status = hone_arena_create(NULL, &arena);
  if (!copy || status) abort();
  memcpy(copy, data, size);
  hone_engine_parts_t parts = {0};
  status = hone_engine_take_apart(copy, size, false, arena, &parts);
  if (!status) read_program(device, cpu, &parts);
  drop(status);
  /* The bytes as a program by itself too. */
  parts = (hone_engine_parts_t){
      .program = copy, .program_size = size, .weights = copy, .weights_size = size};
  read_program(device, cpu, &parts);
  hone_arena_destroy(arena);
  hone_free(NULL, copy, size + 1);
  return 0;
}
