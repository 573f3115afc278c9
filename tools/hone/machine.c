#include "machine.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cpu_count.h"

void hone_machine_cpu(const char* cpuinfo, char* out_name, int size) {
  static const char* const keys[] = {"model name", "Model", "uarch", "cpu model"};
  out_name[0] = 0;
  for (size_t i = 0; i < sizeof keys / sizeof *keys && !out_name[0]; i++) {
    size_t length = strlen(keys[i]);
    for (const char* line = cpuinfo; line; line = strchr(line, '\n')) {
      line += *line == '\n';
      const char* colon = strchr(line, ':');
      if (strncmp(line, keys[i], length) != 0 || !colon) continue;
      colon += 1 + strspn(colon + 1, " \t");
      snprintf(out_name, (size_t)size, "%.*s", (int)strcspn(colon, "\n"), colon);
      break;
    }
  }
}

static void read_cpu(hone_machine_t* machine) {
  enum { SIZE = 16384 };
  char text[SIZE];
  FILE* file = fopen("/proc/cpuinfo", "re");
  if (!file) return;
  text[fread(text, 1, SIZE - 1, file)] = 0;
  fclose(file);
  hone_machine_cpu(text, machine->cpu, sizeof machine->cpu);
}

hone_machine_t hone_machine_find(void) {
  hone_machine_t machine = {.cpus = hone_cpu_count()};
  struct utsname name;
  read_cpu(&machine);
  if (uname(&name) == 0)
    snprintf(machine.system, sizeof machine.system, "%.30s %.50s %.30s", name.sysname, name.release,
             name.machine);
  long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0) machine.memory_bytes = (uint64_t)pages * (uint64_t)page;
  return machine;
}
