/* The inside of schedules for CPUs, for schedule*.c only. */
#ifndef HONE_BACKENDS_COMMON_SCHEDULE_IMPL_H
#define HONE_BACKENDS_COMMON_SCHEDULE_IMPL_H

#include "backends/common/schedule.h"
#include "hone/schedule.h"
#include "loop/intrinsic.h"

typedef struct hone_recipe {
  hone_kernel_t* kernel;
  const hone_cpu_shape_t* shape;
  const hone_cpu_choice_t* choice;
  /* Of the contraction that is being scheduled: what adds up the innermost sum; NULL: a loop. */
  const hone_intrinsic_t* dot;
  const hone_intrinsic_t* matrix; /* and what does so for a whole tile; NULL: a loop */
  bool joins;                     /* along the two innermost sums */
  int64_t line, line_apart; /* rows of a line in its tile, and from one to the next; 0: one line */
  bool is_short;            /* and that has few steps, to be written out */
  bool is_window;           /* so has the other sum, whose steps share what they read */
  hone_status_t status;     /* out of memory: nothing more is done */
} hone_recipe_t;

/* Takes the status of a primitive: true when it was applied. A refusal is
 * forgotten, other failures are kept. */
bool hone_recipe_did(hone_recipe_t* r, hone_status_t status);

/* The loop that is all there is in the body; NULL otherwise. */
hone_stmt_t* hone_only_loop(const hone_stmt_t* stmt);
bool hone_stmt_is_loop(const hone_stmt_t* stmt);
/* The load whose element the term is, but for casts; NULL: it is more than that. */
const hone_term_t* hone_bare_load(const hone_term_t* term);
/* Packs the buffer: `words` are the axes of its layout, as hone_sched_pack takes them, of which
 * there are at most HONE_MAX_BUFFER_RANK. */
typedef char hone_layout_word_t[24];
bool hone_pack_words(hone_recipe_t* r, const hone_buffer_t* buffer, int n,
                     hone_layout_word_t* words);
/* Whether a loop is less than a vector, and part of one, since it is at least half of it. */
bool hone_is_part_of_vector(const hone_recipe_t* r, const hone_stmt_t* loop);
/* The name of a part of a loop, "i" ".o"; false where it does not fit. */
enum { HONE_LOOP_NAME = 128 };
bool hone_loop_name(char out[HONE_LOOP_NAME], const char* name, const char* suffix);
/* Calls visit for the offset of each load of a term; of each load and store inside. */
void hone_visit_loads(hone_kernel_t* kernel, const hone_term_t* term,
                      void (*visit)(void* self, hone_dim_t offset), void* self);
void hone_visit_offsets(hone_kernel_t* kernel, hone_stmt_t* stmt,
                        void (*visit)(void* self, hone_dim_t offset), void* self);
/* Whether the term has that variable as a number, beside those that loads are at. */
bool hone_has_index_of(const hone_term_t* term, hone_dim_t var);
/* Whether a loop's rounds could be lanes: each access is to one element or to
 * consecutive ones in each whole vector, and nothing inside is conditional or indirect. */
bool hone_can_be_lanes(const hone_recipe_t* r, const hone_stmt_t* loop);
/* The same for a loop around `inside`, in which the stores stand; or elements lie equally far apart
 * and there is enough to compute of them. */
bool hone_gets_lanes(const hone_recipe_t* r, const hone_stmt_t* inside, hone_dim_t var);
/* How far the last of `count` lanes along a loop is behind the first in each whole vector; -1: not
 * alike in all of them. */
int64_t hone_lanes_reach(hone_kernel_t* kernel, hone_dim_t var, int count, hone_dim_t offset);
/* Of the accesses inside those whose elements do not lie side by side in the lanes. */
int hone_count_apart(const hone_recipe_t* r, const hone_stmt_t* inside, hone_dim_t var);
/* Fuses perfectly nested loops, inside out, as long as every access stays a
 * linear one. `outer` is the outermost; gives the one that stands there then. */
hone_stmt_t* hone_fuse_contiguous(hone_recipe_t* r, hone_stmt_t* outer);
/* The same for the loops of sums in the innermost loop of a nest. */
void hone_fuse_contiguous_sums(hone_recipe_t* r, hone_stmt_t* nest);
/* schedule_phases.c: cuts loops of the output along which weights repeat, so that rows can be
 * those with equal weights. */
void hone_split_phases(hone_recipe_t* r, hone_stmt_t* nest, const hone_term_t* weights);
/* Cuts the last loop of a split, NAME.i of `vectors` vectors, into vectors that are
 * written out; of one vector it becomes that. */
void hone_make_vectors(hone_recipe_t* r, const char* name, int64_t vectors);
/* Splits an innermost loop into vectors and a rest, where it can be lanes. */
void hone_make_lanes(hone_recipe_t* r, hone_stmt_t* loop);

/* schedule_contract.c: false when the nest is no contraction it knows. */
bool hone_schedule_contract(hone_recipe_t* r, hone_stmt_t* nest);
/* One of the loop nests that a tile falls into, rows { lanes { sums { … } } }, without rows unless
 * it has them: sums go around, but for what r->dot does; lanes become vectors. */
void hone_schedule_tile_part(hone_recipe_t* r, hone_stmt_t* part, bool has_rows);
/* Takes apart rows { lanes { init; sums; store } }, without rows where they are NULL, and has each
 * nest that it falls into scheduled. */
typedef void (*hone_tile_part_fn)(hone_recipe_t* r, hone_stmt_t* part, bool has_rows);
void hone_schedule_tile_parts(hone_recipe_t* r, hone_stmt_t* rows, hone_stmt_t* lanes,
                              hone_tile_part_fn schedule_part);
/* schedule_parts.c: the sum, whose innermost loop is of that name, is added up part by part. */
void hone_schedule_parts(hone_recipe_t* r, const char* sum);
/* schedule_blocks.c: false when the nest does not add up sums of blocks. */
bool hone_schedule_blocks(hone_recipe_t* r, hone_stmt_t* nest);
/* schedule_attention.c: false when the nest is no chain of contractions. */
bool hone_schedule_attention(hone_recipe_t* r, hone_stmt_t* nest);
/* Tiles ask for the lines that they will write (schedule_claims.c). */
void hone_schedule_claims(hone_recipe_t* r);
/* Copies what a round of the loop `around` reads by this load of its body. */
bool hone_copy_load(hone_recipe_t* r, hone_stmt_t* around, const hone_term_t* load);
/* Puts the axis of a scratch buffer behind the others, and pairs along the last of those, where
 * that is asked for, behind it. */
void hone_move_axis_back(hone_recipe_t* r, const hone_buffer_t* buffer, int axis, bool in_pairs);
/* schedule_product.c: false when the nest is no product of matrices that a library takes. */
bool hone_schedule_product(hone_recipe_t* r, hone_stmt_t* nest);
/* schedule.c: has threads share the loops of known extents, or one of an open extent, around
 * `loop`, whose rounds only a run knows, where something else stands at the top, as borders of pads
 * do: now, while it can be seen that the loop stays apart from that. Of what it is cut into nobody
 * could tell. */
void hone_share_around(hone_recipe_t* r, const hone_stmt_t* loop);
/* schedule_choices.c: conditions that short loops decide; false: there are none. */
bool hone_schedule_choices(hone_recipe_t* r, hone_stmt_t* nest);
/* schedule_rows.c: reductions and maps inside the loops of the output. */
void hone_schedule_rows(hone_recipe_t* r, hone_stmt_t* nest);
/* schedule_short_rows.c: rows of a few numbers each; false: the loop goes over none. */
bool hone_schedule_short_rows(hone_recipe_t* r, hone_stmt_t* rows);
/* The last loop of a nest in which each has one loop only. */
const hone_stmt_t* hone_innermost_loop(const hone_stmt_t* nest);
/* Puts the loop `lanes` of a nest inside of the others. */
bool hone_sink_lanes(hone_recipe_t* r, const char* lanes, hone_stmt_t* nest);
/* The loop `lanes` around the others of a nest, whose extent is a whole number of vectors, goes
 * inside of them and becomes these. */
void hone_make_lanes_inside(hone_recipe_t* r, hone_stmt_t* lanes);
bool hone_is_costly(const hone_term_t* term);
/* Whether a store that is directly inside computes what is. */
bool hone_has_costly_stores(const hone_stmt_t* loop);
/* The sum that is directly inside, beside stores; NULL: there is none, or something else. */
hone_stmt_t* hone_only_reduction(const hone_stmt_t* loop);
/* Whether all offsets that hone_check_stride was called for move by one element or none with the
 * variable; true to begin with. */
typedef struct hone_strides {
  hone_dim_t var;
  bool consecutive;
} hone_strides_t;
void hone_check_stride(void* self, hone_dim_t offset);
/* schedule_transpose.c: maps whose results lie another way than what they read; false: the nest is
 * none. */
bool hone_schedule_transpose(hone_recipe_t* r, hone_stmt_t* nest);
/* Whether a renderer can turn blocks of its numbers in registers. */
bool hone_is_turnable(const hone_buffer_t* buffer);

#endif
