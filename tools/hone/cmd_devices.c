/* hone devices: every device of every backend, usable or not and why. */
#include <stdio.h>

#include "command.h"
#include "json.h"

enum { MAX_DEVICES = 64 };

/* Devices of one backend; at most MAX_DEVICES. */
static hone_status_t list(const hone_backend_t* backend, hone_device_info_t* devices,
                          int* out_count) {
  HONE_TRY(backend->enumerate(MAX_DEVICES, devices, out_count));
  if (*out_count > MAX_DEVICES) *out_count = MAX_DEVICES;
  return NULL;
}

static void print_device(const hone_device_info_t* device) {
  printf("%-12s %-10s %s\n", device->name, device->usable ? "usable" : "unusable",
         device->description);
  if (!device->usable) printf("%-23s %s\n", "", device->reason);
}

static void add_device(json_t* array, const hone_backend_t* backend,
                       const hone_device_info_t* device) {
  json_array_append_new(
      array, json_pack("{s:s, s:s, s:s, s:i, s:I, s:b, s:s}", "name", device->name, "backend",
                       backend->name, "description", device->description, "compute_units",
                       device->compute_units, "memory_bytes", (json_int_t)device->memory_bytes,
                       "usable", device->usable, "reason", device->reason));
}

static int run_devices(hone_cli_t* cli) {
  bool json = hone_cli_has(cli, "json"), names = hone_cli_has(cli, "names");
  json_t* array = json_array();
  hone_device_info_t devices[MAX_DEVICES];
  if (!json && !names) printf("%-12s %-10s %s\n", "DEVICE", "STATE", "WHAT");
  for (int i = 0; i < hone_backend_total(); i++) {
    const hone_backend_t* backend = hone_backend_at(i);
    int count;
    hone_status_t status = list(backend, devices, &count);
    if (status) {
      json_decref(array);
      return hone_cli_fail(cli, hone_status_annotate(status, "backend %s", backend->name));
    }
    for (int k = 0; k < count; k++) {
      if (json)
        add_device(array, backend, &devices[k]);
      else if (names)
        printf("%s\n", devices[k].name);
      else
        print_device(&devices[k]);
    }
  }
  if (!json) json_decref(array);
  hone_status_t status = json ? hone_json_print(array) : NULL;
  return status ? hone_cli_fail(cli, status) : HONE_EXIT_OK;
}

static const hone_option_t options[] = {
    HONE_OPTION_JSON,
    {.name = "names", .help = "print names only, one a line"},
};

extern const hone_command_t hone_command_devices;
const hone_command_t hone_command_devices = {
    .name = "devices",
    .summary = "list the devices and whether they can be used",
    .arguments = "",
    .n_options = sizeof options / sizeof *options,
    .options = options,
    .run = run_devices,
};
