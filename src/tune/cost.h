/* Cost: how long a kernel will take, from what it computes and from what is
 * known of the device, without running anything.
 *
 * The model is a roofline with caches: a kernel takes the longer of what its
 * arithmetic and its accesses take in the cores, and of what its bytes take from
 * the level of memory that holds them; work that threads cannot share evenly
 * waits for the last of them, and a launch has a price of its own. It knows
 * neither the clock nor latencies, so it ranks ways to build one kernel better
 * than it says how long one takes. After S. Williams et al., "Roofline: An
 * Insightful Visual Performance Model for Multicore Architectures" (CACM 2009). */
#ifndef HONE_TUNE_COST_H
#define HONE_TUNE_COST_H

#include "loop/work.h"

/* What a kernel does in a run, as it is lowered. Sizes that only a run knows
 * count as HONE_COST_EXTENT, or the nearest that they can be. */
enum { HONE_COST_EXTENT = 64 };

typedef struct hone_cost_facts {
  double operations;  /* on elements; a division or an exponential counts as several */
  double accesses;    /* loads and stores of elements that are not in registers */
  double bytes;       /* of the buffers, each once */
  double rounds;      /* of the outermost loops, together */
  double inner;       /* of the two outermost loops, together */
  double lanes_share; /* of the operations: in innermost loops that can be vectors */
  int element_bytes;  /* of the widest element that is stored */
} hone_cost_facts_t;

/* Reads them off the kernel, making expressions in it. */
hone_cost_facts_t hone_cost_look(hone_kernel_t* kernel);
/* The extent, or what counts for it. */
double hone_cost_extent(hone_dim_t extent);
/* Of all elements of the buffer. */
double hone_cost_bytes(const hone_buffer_t* buffer);

/* Cycles a second of one core, and lanes of f32 in a vector. */
double hone_cost_clock(const hone_device_properties_t* properties);
int hone_cost_lanes(const hone_device_properties_t* properties);
/* Seconds that `bytes` take one core where all that is used at a time, `held`
 * bytes, stays in the nearest memory that has room for it. */
double hone_cost_traffic(const hone_device_properties_t* properties, double bytes, double held);
/* What becomes of the seconds of one core when `rounds` equal rounds are shared
 * out among all of them (0: they are not), with the price of the launch. */
double hone_cost_share(const hone_device_properties_t* properties, double seconds, double rounds);
/* What one core takes at least, but for the launch; 0: the work is not known. */
double hone_cost_least_seconds(const hone_device_properties_t* properties,
                               const hone_work_amount_t* work);
/* Groups that take a thread about as long as waking it: no thread should get fewer. All of them
 * where the launch is not worth sharing out. */
int64_t hone_cost_grain(const hone_device_properties_t* properties, const hone_work_amount_t* work,
                        const int64_t groups[3]);

#endif
