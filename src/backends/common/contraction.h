/* Contractions as schedules see them, for schedule_contract.c: recognised by contraction.c,
 * with a tile chosen by contraction_tile.c. */
#ifndef HONE_BACKENDS_COMMON_CONTRACTION_H
#define HONE_BACKENDS_COMMON_CONTRACTION_H

#include "backends/common/schedule_impl.h"

enum {
  HONE_CONTRACTION_LOOPS = 24,
  HONE_MANY_ROUNDS = 240 /* taken for rows or vectors whose number only a run knows */
};

/* A loop as it was found. Schedule primitives move what a loop is from one
 * statement to another, but its name and variable stay until it is split. */
typedef struct hone_axis {
  const char* name;
  hone_dim_t var, extent;
} hone_axis_t;

/* for outs… { acc = 0; for sums… { acc += a * b }; …; out = f(acc) } */
typedef struct hone_contraction {
  int n_outs, n_sums;
  hone_axis_t outs[HONE_CONTRACTION_LOOPS];
  hone_axis_t sums[HONE_CONTRACTION_LOOPS];
  const hone_stmt_t *body, *update; /* of the innermost output loop, and the sum's store */
  const hone_term_t *a, *b;         /* loads; b moves with the lanes */
  const hone_axis_t *lanes, *rows;  /* among outs; rows may be NULL */
  int twice_axis;                   /* of b, each step of which serves two of a sum; -1: none */
  int lanes_axis;    /* of b, along which lanes go, maybe as one of several equal parts; -1: none */
  int64_t row_bytes; /* from one row to the next in a; 0: not known */
  int64_t block;     /* rows that are done at a time; 0: not chosen yet */
  double sum_count;  /* products in each sum */
  int group;         /* of them that one instruction adds up; 1: one */
  bool widens;       /* bytes in groups become numbers of 16 bits before */
  bool apart;        /* each lane has data of its own, as channels of a depthwise convolution do */
  int apart_sum;     /* that goes in groups where each lane has data of its own; -1: none does */
  /* Of the output: lines of an image, that see in one step of a sum of `line_steps` what their
   * neighbours see in the next, where each lane has data of its own; or those whose rows matrix
   * instructions do at once; NULL: there are none. */
  const hone_axis_t* lines;
  int64_t line_steps;
  int64_t line_rows; /* of those: rows from one to the next in a; 0: no number of them */
  bool wide;         /* products in batches of many rows (hone_contraction_is_wide) */
  int result_bytes;  /* of an element that is stored */
  bool overlaps;     /* rows see in one of few steps what their neighbours see some steps later */
  const hone_intrinsic_t* matrix; /* what adds to the sums of a tile at once; NULL: nothing does */
  bool joins;                     /* it goes along the two innermost sums, which are one run */
} hone_contraction_t;

enum { HONE_FEW_STEPS = 9 }; /* of a sum around others: they are written out */
/* Of tiles, each of which is code of its own. Where only a run knows the rows, tiles share them
 * evenly, and are no higher: what higher ones left over would be a tile that reads all weights
 * for a row or two. Matrix instructions take as long for one row as for all that they can have. */
enum { HONE_FEW_HEIGHTS = 8, HONE_MOST_HEIGHTS = 16 /* of matrix instructions */ };

/* ---- contraction.c ---- */

/* Where the lanes go. */
typedef enum hone_lanes_at {
  HONE_LANES_OF_OUTPUT,
  HONE_LANES_OF_WEIGHTS,
  HONE_LANES_OF_DATA,
  HONE_LANES_OUTERMOST
} hone_lanes_at_t;

/* Whether the nest is one; `out` is good until the kernel is changed. */
bool hone_contraction_recognise(const hone_recipe_t* r, hone_contraction_t* out, hone_stmt_t* nest,
                                hone_lanes_at_t at);
/* The same with lanes along the output, else, where no results lie side by side, along weights. */
bool hone_contraction_recognise_any(const hone_recipe_t* r, hone_contraction_t* out,
                                    hone_stmt_t* nest);
/* Whether there are tiles: of lanes that lie side by side in b, or can be laid out so. */
bool hone_contraction_is_tileable(const hone_recipe_t* r, const hone_contraction_t* c);
/* schedule_turned.c: whether tiles are worth a copy of b in which lanes lie side by side; the
 * nest with that copy, false where it cannot be. */
bool hone_contraction_is_turnable(const hone_recipe_t* r, const hone_contraction_t* c);
bool hone_schedule_turned(hone_recipe_t* r, const hone_contraction_t* c);
/* Whether b's elements along the lanes can be laid out side by side. */
bool hone_contraction_could_pack(const hone_contraction_t* c);
/* Axis of b that is exactly the variable; -1: none. */
int hone_contraction_axis(const hone_term_t* b, hone_dim_t var);
/* Elements between places of the buffer that the variable's rounds reach; false: no constant. */
bool hone_contraction_factor(hone_kernel_t* k, const hone_buffer_t* buffer, const hone_dim_t* index,
                             hone_dim_t var, int64_t* out);
/* The sum whose steps are consecutive in a, else the last; and that, or the one chosen. */
int hone_contraction_innermost(hone_kernel_t* kernel, const hone_contraction_t* c);
int hone_contraction_chosen_innermost(const hone_recipe_t* r, const hone_contraction_t* c);
/* The latter goes innermost. */
void hone_contraction_order_sums(hone_recipe_t* r, hone_contraction_t* c);
/* How many products of the operands' types one instruction adds up; 1: there is none that adds
 * up several. */
int hone_contraction_group(const hone_cpu_shape_t* shape, const hone_contraction_t* c);
/* The intrinsic for such groups, of all lanes or of fewer than a vector has; NULL: there is
 * none. */
const hone_intrinsic_t* hone_contraction_dot(const hone_cpu_shape_t* shape,
                                             const hone_contraction_t* c);
/* Finds the matrix instruction that could add to tiles of it, with the chosen sum innermost. */
void hone_contraction_find_block(const hone_recipe_t* r, hone_contraction_t* c);
/* Whether sums can be taken in groups, with that sum innermost. */
bool hone_contraction_is_grouped(const hone_recipe_t* r, const hone_contraction_t* c,
                                 int innermost);

/* The extent; 0 where only a run knows it. */
static inline int64_t hone_known_extent(hone_dim_t extent) {
  return hone_dim_is_int(extent) ? extent.k : 0;
}

/* ---- contraction_rows.c ---- */

enum { HONE_ENOUGH_BLOCKS = 8 /* of rows, for threads to share */ };

/* More weights than elements of the other operand, at a small size where only a run knows it. */
bool hone_contraction_has_many_weights(hone_kernel_t* kernel, const hone_contraction_t* c);
/* Whether an output's loop goes along both operands: each round is a product of its own, whose
 * operands are all that is used at a time. */
bool hone_contraction_is_batch(const hone_contraction_t* c, const hone_axis_t* axis);
/* Whether batches have enough rounds for threads to share, together with blocks of lanes. */
bool hone_contraction_has_batches(const hone_contraction_t* c);
/* Whether it is a batch of products, as Winograd's and Strassen's, whose rows are to be read by
 * few wide blocks of lanes, one block after the other. */
bool hone_contraction_is_wide(const hone_recipe_t* r, const hone_contraction_t* c);
/* Whether blocks of lanes go around rows: as chosen, else beside many weights, or wide ones. */
bool hone_contraction_lanes_first(const hone_recipe_t* r, const hone_contraction_t* c);
/* Rounds of the loops of the output around lanes and rows that are known. */
int64_t hone_contraction_count_others(const hone_contraction_t* c);
/* Bytes of the second cache, or what it usually has. */
int64_t hone_contraction_second_cache(const hone_recipe_t* r);
/* Rows in a block, with tiles of so many; 0: all. */
int64_t hone_contraction_rows_block(const hone_recipe_t* r, const hone_contraction_t* c,
                                    int64_t tile_rows);
/* Rows of a tile, no more than so many, where tiles have shapes that it takes time to change. */
int64_t hone_contraction_fit_tile(const hone_contraction_t* c, int64_t tile_rows);
/* Whether few threads share the rows, beside weights that their caches hold. */
bool hone_contraction_shares_rows(const hone_recipe_t* r, const hone_contraction_t* c,
                                  int64_t tile_rows);
/* Whether threads share blocks of lanes, and each of them goes through all rows. */
bool hone_contraction_shares_lanes(const hone_recipe_t* r, const hone_contraction_t* c,
                                   int64_t tile_rows);

/* ---- schedule_asks.c ---- */

/* Has the tiles of each block of lanes ask for the weights of the next one. The loops around blocks
 * of lanes and of rows by name; "": there is none. */
void hone_schedule_asks(hone_recipe_t* r, const hone_contraction_t* c, const char* lanes_outer,
                        const char* rows_outer);

/* ---- contraction_tile.c ---- */

/* Of the output, in registers: rows of `lines` lines, by vectors. */
typedef struct hone_tile {
  int rows, vectors;
  int lines; /* 0: one */
} hone_tile_t;

/* Whether tiles may have so many lines. */
bool hone_contraction_has_lines(const hone_cpu_shape_t* shape, const hone_contraction_t* c,
                                int lines);
/* Whether all steps of its windows, over data of the lanes' own, are written out. */
bool hone_contraction_is_window(const hone_contraction_t* c);

/* Whether tiles of so many rows are to be of nearly the same height: where only a run knows the
 * extent, or one or two rows would be left over. */
bool hone_contraction_cuts_evenly(hone_dim_t extent, int64_t rows);

hone_tile_t hone_contraction_tile(const hone_recipe_t* r, const hone_contraction_t* c);
/* Cycles for one step of the sums of all tiles. */
double hone_contraction_cost(const hone_recipe_t* r, const hone_contraction_t* c, hone_tile_t t);
/* Vectors along all lanes. */
int64_t hone_contraction_vectors(const hone_recipe_t* r, const hone_contraction_t* c);
/* The extent when all sizes are as small as they can be, one at least. HONE_MANY_ROUNDS
 * when that is one. */
int64_t hone_likely_extent(hone_kernel_t* kernel, hone_dim_t extent);

/* ---- schedule_dots.c ---- */

/* Whether a sum has enough consecutive steps in the data to give it the lanes. */
bool hone_contraction_has_long_sum(const hone_recipe_t* r, const hone_contraction_t* c);
/* Where one, or a run of two, has: makes it innermost, with weights laid out as it goes, so that
 * rows give it lanes. Results that lie side by side are then computed in blocks of a vector. */
void hone_prepare_dots(hone_recipe_t* r, hone_contraction_t* c);

#endif
