/* For tests of schedules: graphs are fused, lowered, scheduled and run by the interpreter of
 * kernels, through the same driver and descriptor as compiled code: only what builds and launches
 * is another. */
#ifndef HONE_BACKENDS_COMMON_TESTING_SCHEDULE_RUN_H
#define HONE_BACKENDS_COMMON_TESTING_SCHEDULE_RUN_H

#include "backends/common/schedule.h"
#include "base/str.h"
#include "ir/graph.h"
#include "passes/pass.h"

extern hone_cpu_shape_t test_schedule_shape;   /* of the machine that schedules are made for */
extern hone_cpu_choice_t test_schedule_choice; /* zeros: as the recipes think best */
/* What graphs are compiled with; zeros: as usual. */
extern hone_pass_options_t test_schedule_passes;

/* Fails the running test unless both, two of one graph, give the same, `plain` by `ref`; destroys
 * them. Gives the text of the longest kernel, for free(). */
char* test_schedule_run(hone_graph_t* graph, hone_graph_t* plain, uint64_t seed);
/* Fails unless the text has each of `count` lines, or parts of lines. */
void test_schedule_expect(const char* text, int count, const char* const* lines);

/* Appends so many whole numbers from -most to most that differ from place to place, parted by
 * commas, as a constant's. */
void test_schedule_numbers(hone_str_t* text, int count, int most);
/* A graph that multiplies rows by weights: [rows, sums] by [sums, columns], of f32; rows 0: as many
 * as a run has, n. */
hone_graph_t* test_schedule_product(int rows, int sums, int columns);

#endif
