/* The inside of lowering, for lower*.c only. */
#ifndef HONE_LOOP_LOWER_IMPL_H
#define HONE_LOOP_LOWER_IMPL_H

#include "loop/lower.h"

/* An axis of a nest before it is a loop. A reshape that splits an axis splits
 * its atoms, so that indices on both sides stay linear. */
typedef struct hone_atom hone_atom_t;
struct hone_atom {
  hone_dim_t extent, var;
  hone_atom_t *outer, *inner; /* what it was split into */
  bool has_rows;              /* rows that are summed up differ along it */
};

/* Axes that make up one extent, outermost first. */
typedef struct hone_axis_parts {
  int n;
  hone_atom_t* atoms[16];
  bool is_known; /* false: the extent is not made of atoms */
} hone_axis_parts_t;

/* An index along one axis: an expression and, where it is known, the loop
 * variables that it is the mixed-radix number of. */
typedef struct hone_place {
  hone_dim_t dim;
  bool has_parts;
  int n_parts;
  struct {
    hone_dim_t var, extent;
  } parts[16];
} hone_place_t;

/* An element that was lowered before, in the same block at the same place. */
typedef struct hone_element_memo {
  struct hone_element_memo* next;
  const hone_stmt_t* block;
  const hone_term_t* term;
  hone_dim_t at[];
} hone_element_memo_t;

/* What lowering keeps about a value of the region. */
typedef struct hone_value_note {
  int n_visits;          /* by the tracing of axes, which gives up on what is shared a lot */
  int n_uses;            /* loops that read it, through elementwise ones; 2 is many */
  bool has_sums;         /* an element of it takes a sum of products */
  bool is_reduced;       /* or something else that loops of its own compute */
  uint64_t rows;         /* bit d: somebody reads it along axis d in a loop of his own */
  hone_buffer_t* buffer; /* of an input */
  hone_atom_t* reduced[HONE_MAX_RANK]; /* of an anchor: atoms of the axes it sums over */
  hone_element_memo_t* memos;          /* of what several read: the last one first */
} hone_value_note_t;

/* An anchor that has been computed, by what it was computed for. */
typedef struct hone_made {
  struct hone_made* next;
  const hone_value_t* value;
  const hone_stmt_t* level; /* the body that it is computed in */
  hone_buffer_t* buffer;
  hone_dim_t index[HONE_MAX_RANK]; /* bad where the buffer has the axis */
} hone_made_t;

/* An index that was checked, and has a name for the statements that follow in its block. */
typedef struct hone_checked {
  const struct hone_checked* next;
  const hone_stmt_t* block;
  const hone_term_t* index;
  hone_dim_t extent, var;
} hone_checked_t;

/* The least and the largest of some elements of a constant, and zero. */
typedef struct hone_table_range {
  const struct hone_table_range* next;
  const hone_buffer_t* buffer;
  int64_t start, step, least, most;
} hone_table_range_t;

typedef struct hone_lowering {
  hone_kernel_t* kernel;
  const hone_graph_t* graph;
  hone_kernel_options_t options;
  hone_value_note_t* notes; /* by value id */
  hone_dim_t* sizes;        /* by symbol of the graph: the kernel's */
  bool* has_size;
  hone_stmt_t* block; /* where statements go now */
  int n_roots;        /* loops of the nest of the output, which is being built */
  hone_dim_t roots[64];
  hone_made_t* made;
  const hone_checked_t* checked;
  const hone_table_range_t* ranges;
  bool rows_changed; /* a bit was added to some note's rows: lower again */
  hone_status_t status;
} hone_lowering_t;

/* Notes a failure at the node (the first one stays) and gives NULL. */
const hone_term_t* hone_lowering_fail(hone_lowering_t* l, const hone_node_t* node,
                                      const char* what);
/* A dimension of the graph as one of the kernel. */
hone_dim_t hone_lowering_dim(hone_lowering_t* l, hone_dim_t d);
hone_place_t hone_place_of(hone_dim_t dim); /* without parts */
hone_place_t hone_place_of_loop(const hone_stmt_t* loop);

/* lower_element.c: the value's element at `at` (its rank's number of places);
 * statements that it needs go before what is being built. */
const hone_term_t* hone_lower_element(hone_lowering_t* l, const hone_value_t* value,
                                      const hone_place_t* at);
/* The same of an elementwise primitive, computed here and now. */
const hone_term_t* hone_lower_map(hone_lowering_t* l, const hone_value_t* value,
                                  const hone_place_t* at);

/* lower_reshape.c: places of a reshape's operand for those of its result. */
void hone_lower_reshape(hone_lowering_t* l, const hone_node_t* node, const hone_place_t* at,
                        hone_place_t* out);

/* lower_anchor.c: the element of a reduction or contraction, or of a value
 * that is kept in a row. */
const hone_term_t* hone_lower_anchor(hone_lowering_t* l, const hone_value_t* value,
                                     const hone_place_t* at);
/* Whether a loop around computes a function of a sum that is the same in all of its rounds; and
 * that, in front of the loop. */
bool hone_lowering_stays_alike(const hone_lowering_t* l, const hone_value_t* value,
                               const hone_place_t* at);
const hone_term_t* hone_lower_alike(hone_lowering_t* l, const hone_value_t* value,
                                    const hone_place_t* at);
/* Whether an elementwise value is worth a row where several loops read it. */
bool hone_lowering_is_costly(const hone_lowering_t* l, const hone_value_t* value);
/* Notes along which axes the value is read in loops that are not the output's. */
void hone_lowering_note_rows(hone_lowering_t* l, const hone_value_t* value, const hone_place_t* at);

/* lower_domain.c: splits the atoms of `parts` (one entry an axis of `value`)
 * as reshapes on the way to the value want it. */
bool hone_domain_trace(hone_lowering_t* l, const hone_value_t* value,
                       const hone_axis_parts_t* parts);
hone_atom_t* hone_atom_create(hone_lowering_t* l, hone_dim_t extent);
/* Leaves of the atoms, in order; false when there are too many. */
bool hone_axis_leaves(const hone_axis_parts_t* parts, hone_axis_parts_t* out);
/* Whether rows that are summed up differ along any part of the axis. */
bool hone_axis_has_rows(const hone_axis_parts_t* parts);
/* Opens a loop for each leaf of the axis inside l->block and gives the place. */
bool hone_lower_axis(hone_lowering_t* l, const hone_axis_parts_t* parts, const char* name,
                     bool is_reduction, hone_place_t* out);

/* lower.c: the loops of a nest over the elements of values of one shape. */
bool hone_lower_nest(hone_lowering_t* l, const hone_value_t* const* values, int n_values,
                     hone_place_t* places);
/* lower_element.c: an index as a variable that is certain to be inside: checked
 * where its range does not tell. Bad when that fails. */
hone_dim_t hone_lower_checked_index(hone_lowering_t* l, const hone_node_t* node,
                                    const hone_term_t* index, hone_dim_t extent);

enum { HONE_LOWER_EXACT = 1 << 24 /* whole numbers up to which a float holds all */ };

/* lower_range.c: whether the index is certain to be inside 0 … extent - 1 because of the constants
 * that it comes from, which are marked then. */
bool hone_lowering_is_inside(hone_lowering_t* l, const hone_term_t* index, hone_dim_t extent);

/* lower_piece.c: stores all outputs. */
bool hone_lower_pieces(hone_lowering_t* l, hone_buffer_t* const* buffers);
/* A nest over the value's elements that stores them at the start of `out`. */
bool hone_lower_copy(hone_lowering_t* l, const hone_value_t* value, const hone_buffer_t* out);

/* lower_start.c: sums start from what is added to them; false: memory ran out. */
bool hone_lower_starts(hone_kernel_t* kernel, const hone_kernel_options_t* options);

/* lower_once.c: marks the outputs no element of which is stored twice. */
void hone_lower_once(hone_kernel_t* kernel);

/* lower_whole.c: outputs that no single element can be asked of. */
bool hone_value_is_whole(const hone_value_t* value);
bool hone_lower_whole(hone_lowering_t* l, const hone_value_t* value, const hone_buffer_t* out);

#endif
