/* Schedules for CPUs: what is done to a kernel that nobody has tuned. */
#ifndef HONE_BACKENDS_COMMON_SCHEDULE_H
#define HONE_BACKENDS_COMMON_SCHEDULE_H

#include "loop/intrinsic.h"
#include "tune/space.h"

/* The machine, as far as schedules care. */
typedef struct hone_cpu_shape {
  int lanes;           /* f32 in a vector */
  int registers;       /* vectors that fit in registers */
  int threads;         /* that run a kernel; 0: not known */
  bool halves_vectors; /* of 64 bytes: each takes two turns of the machine's units */
  int64_t first_cache; /* bytes of a core's first and second caches; 0: not known */
  int64_t second_cache;
  bool has_dot4;        /* the intrinsics dot4_… for vectors of its lanes */
  bool fast_int8;       /* each of which is one instruction */
  bool mixed_int8;      /* but those of two with a sign, or two without */
  bool has_dot2_bf16;   /* dot2_bf16_bf16_… */
  bool has_dot2_i16;    /* dot2_i16_i16_… */
  bool has_dot_apart;   /* dotN_apart_u8_i8_… */
  bool has_dot_nibbles; /* dot16_i8_u4_…, dot32_i8_u4_… */
  bool has_dot8;        /* dot8_u8_i8_…, for weights that are slight (ir/slight.h) */
  bool has_block_int8, has_block_bf16; /* block4_…, block2_…, by matrix instructions */
} hone_cpu_shape_t;

/* Where the blocks of a contraction's lanes stand among the loops of the output. */
typedef enum hone_lanes_order {
  HONE_LANES_ORDER_AUTO,  /* by which operand is larger */
  HONE_LANES_ORDER_FIRST, /* outermost: the second operand is read once */
  HONE_LANES_ORDER_LAST,  /* around the rows */
} hone_lanes_order_t;

/* What may be chosen; zeros: as the recipes think best. */
typedef struct hone_cpu_choice {
  /* Contractions. */
  int rows, vectors;     /* the tile in registers: elements of one axis by vectors of the other */
  int lines;             /* of an image, each with so many rows; 0: one */
  bool lanes_of_weights; /* where only weights change, even if the output allows a tile */
  hone_lanes_order_t order;
  int innermost;  /* 1 + which of the sums goes innermost */
  int sum_unroll; /* rounds of the innermost sum that are written out; 0, 1: none */
  int block;      /* rows that are done before the next block of lanes; 0: all */
  bool no_pack;   /* weights stay as they lie */
  bool no_tile;   /* as anything else */
  /* Chains of contractions. */
  int chain_rows;  /* done at a time, which are lanes; 0: each as it comes */
  bool chain_near; /* operands that all rows read are copied, so that their rows lie near */
  /* Products of matrices by a library or a function. */
  const char* product;               /* the intrinsic; NULL: by loops */
  int product_rows, product_columns; /* of the output, in a call: divisors; 0: all */
  bool product_turned;               /* weights are laid out the other way round */
  /* Everything else. */
  int unroll; /* vectors that are written out; 0, 1: one after the other */
  bool no_columns, no_lanes;
  /* All. */
  int parallel; /* loops whose rounds are shared out among threads; 0: one; -1: none */
} hone_cpu_choice_t;

/* Gives the kernel a schedule by what it is: a contraction, rows, or maps.
 * Whatever a primitive refuses is left as it is. Errors: OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_cpu_schedule(hone_kernel_t* kernel, const hone_cpu_shape_t* shape,
                                              const hone_cpu_choice_t* choice);
/* The candidate's "parallel", as a choice has it: 0 there means none. */
int hone_cpu_parallel(const hone_space_t* space, const hone_candidate_t* candidate);
/* The device, as far as schedules care. */
hone_cpu_shape_t hone_cpu_shape(const hone_device_properties_t* properties);

/* The largest tiles of contractions that are thought of, but for those of matrix instructions. */
enum { HONE_TILE_MOST_ROWS = 16, HONE_TILE_MOST_VECTORS = 4, HONE_TILE_MOST_LINES = 4 };

/* A contraction, in numbers. */
typedef struct hone_contraction_facts {
  int64_t rows, lanes; /* extents; 0: not known */
  bool has_rows;
  double others, sums; /* rounds of the other loops of the output, and of the sums */
  int n_sums;
  int64_t last_sum; /* extent of the innermost; 0: not known */
  int innermost;    /* which sum goes there untuned */
  bool can_pack, lanes_first;
  bool has_weight_lanes;       /* lanes could go along weights too */
  int tile_rows, tile_vectors; /* untuned; 0: it is no tile */
  int tile_lines,
      most_lines; /* of an image: untuned, and as many as divide it; 1: there are none */
  int group;      /* products that one instruction adds up; 1: one */
  bool apart;     /* each lane has data of its own, and nothing goes in groups */
  bool widens;    /* bytes in groups become numbers of 16 bits before */
  bool wide;      /* tiles are, which read rows that come from far less often */
  const hone_intrinsic_t* matrix; /* the matrix instruction that tiles are for; NULL: none */
  double a_bytes, b_bytes;
  int64_t row_bytes; /* between rows of the first operand; 0: not known */
  int result_bytes;  /* of an element that is stored */
} hone_contraction_facts_t;

/* The most expensive of the kernel's contractions; false: it has none. Fuses
 * loops of the kernel, which is of no other use afterwards. */
bool hone_contraction_look(hone_kernel_t* kernel, const hone_cpu_shape_t* shape,
                           hone_contraction_facts_t* out_facts);
/* Whether it has one, as far as the kernel shows as it is. */
bool hone_contraction_any(hone_kernel_t* kernel);
/* Cycles that a contraction takes one core in a tile, were all data at hand. */
double hone_contraction_cycles(const hone_contraction_facts_t* facts, const hone_cpu_shape_t* shape,
                               int rows, int vectors);
/* Extents of a product of matrices that a library could compute, or the function for weights that
 * are mostly zero, of several the largest.
 * Fuses loops of the kernel, which is of no other use afterwards. */
typedef struct hone_product_facts {
  int64_t rows, columns, sums;
  bool has_weights; /* that can be turned */
} hone_product_facts_t;
bool hone_product_find(hone_kernel_t* kernel, bool is_sparse, hone_product_facts_t* out_facts);
/* Rows of a block of a product by weights that are mostly zero: as many as lanes, or a part of all
 * that is nearly as many, so that blocks do not overlap and threads can share them. Where they do,
 * the last begins earlier, and each block of columns has all of them. */
int64_t hone_product_sparse_rows(int64_t rows, bool* out_overlap);
/* Sums of blocks, scaled and added up (schedule_blocks.c), in numbers. */
typedef struct hone_blocks_facts {
  int64_t rows, columns, block; /* extents: of data and weights, and of a sum of one block */
  int64_t digits;               /* of each number of the data */
  double blocks;
} hone_blocks_facts_t;
/* False: the kernel has none. */
bool hone_blocks_look(hone_kernel_t* kernel, const hone_cpu_shape_t* shape,
                      hone_blocks_facts_t* out_facts);
/* Rows of a chain: sums of products, and sums over rows of those; 0: the kernel is none. */
double hone_chain_rows(hone_kernel_t* kernel);

#endif
