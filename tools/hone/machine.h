/* The machine that something was measured on, for reports. */
#ifndef HONE_TOOLS_MACHINE_H
#define HONE_TOOLS_MACHINE_H

#include <stdint.h>

typedef struct hone_machine {
  char cpu[128];         /* "" when the system does not say */
  char system[128];      /* "Linux 6.1.0 x86_64" */
  int cpus;              /* that this process may use */
  uint64_t memory_bytes; /* 0: not known */
} hone_machine_t;

hone_machine_t hone_machine_find(void);
/* The name of its CPU in the text of /proc/cpuinfo; "" when it is not there. */
void hone_machine_cpu(const char* cpuinfo, char* out_name, int size);

#endif
