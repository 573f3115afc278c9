/* The conformance program: what its parts share.
 *
 * A *row* is a primitive, or one way to use it, with the element types it is
 * tried on and the error it may make. A row and a dtype are a *unit*: one graph
 * that holds the row in many *forms* (shapes, ways to lie in memory), built
 * twice from the same calls, once for the device and once for `ref`. All
 * outputs are compared. Rows are in one file a family; plan.c lists them. */
#ifndef HONE_TOOLS_VERIFY_VERIFY_H
#define HONE_TOOLS_VERIFY_VERIFY_H

#include "base/str.h"
#include "hone/backend.h"
#include "ir/builder.h"
#include "runtime/program.h"

/* name, text, whether extents are symbols */
#define HONE_VERIFY_FORMS(X)       \
  X(SCALAR, "scalar", false)       \
  X(EMPTY, "empty", false)         \
  X(ONE, "one", false)             \
  X(ODD, "odd", false)             \
  X(WIDTH, "width", false)         \
  X(BESIDE, "beside", false)       \
  X(LARGE, "large", false)         \
  X(BROADCAST, "broadcast", false) \
  X(STRIDED, "strided", false)     \
  X(FLIPPED, "flipped", false)     \
  X(RANK8, "rank8", false)         \
  X(LINE, "line", true)            \
  X(SYMBOLIC, "symbolic", true)

typedef enum hone_verify_form {
#define HONE_VERIFY_FORM_ENUM(name, text, symbolic) HONE_VERIFY_##name,
  HONE_VERIFY_FORMS(HONE_VERIFY_FORM_ENUM)
#undef HONE_VERIFY_FORM_ENUM
      HONE_VERIFY_FORM_COUNT
} hone_verify_form_t;

#define HONE_VERIFY_BIT(x) ((uint64_t)1 << (x))
const char* hone_verify_form_name(hone_verify_form_t form);
bool hone_verify_form_is_symbolic(hone_verify_form_t form);

/* What an input is filled with. */
typedef enum hone_verify_fill {
  HONE_VERIFY_ANY,      /* any bits, and special values: NaN, infinities, -0, the ends */
  HONE_VERIFY_TAME,     /* floats from -4 to 4, now and then a special value */
  HONE_VERIFY_MODERATE, /* the same without special values */
  HONE_VERIFY_DYADIC,   /* quarters from -2 to 2: sums of a few are exact in any order */
  HONE_VERIFY_POWERS,   /* -1, 1, 2, 0.5: so are products */
  HONE_VERIFY_NEAR_ONE, /* products of many stay in range */
  HONE_VERIFY_INDEX,    /* integers from 0 to limit - 1 */
} hone_verify_fill_t;

/* How far a result may be from that of `ref`: ulps units in the last place of
 * the result's dtype, and where the row gives a scale for each element (what
 * the terms of a sum add up to, times their number), that many relative steps
 * of it. All zeros: the bits are the same, but for those of a NaN; any_zero: and
 * but for the sign of a zero. */
typedef struct hone_verify_bound {
  double ulps;
  bool scaled;
  bool any_zero;
} hone_verify_bound_t;

typedef struct hone_verify_maker hone_verify_maker_t;

typedef struct hone_verify_row {
  hone_prim_t prim;
  const char* variant; /* "add" of a reduction; NULL: none */
  int parameter;       /* the row's own */
  uint64_t dtypes;     /* bits by dtype */
  uint64_t forms;      /* bits by form */
  hone_verify_bound_t bound;
  const char* why; /* of the bound */
  /* Adds one form to the graph: operands through hone_verify_operand or
   * hone_verify_input, results through hone_verify_output. */
  void (*build)(hone_verify_maker_t* m);
} hone_verify_row_t;

typedef struct hone_verify_family {
  const char* name;
  int count;
  const hone_verify_row_t* rows;
} hone_verify_family_t;

extern const hone_verify_family_t hone_verify_cast, hone_verify_contract, hone_verify_control,
    hone_verify_elementwise, hone_verify_index, hone_verify_movement, hone_verify_reduce,
    hone_verify_source;

/* ---- dtypes ---- */

#define HONE_VERIFY_FLOATS                                                             \
  (HONE_VERIFY_BIT(HONE_F32) | HONE_VERIFY_BIT(HONE_F64) | HONE_VERIFY_BIT(HONE_F16) | \
   HONE_VERIFY_BIT(HONE_BF16))
#define HONE_VERIFY_INTS                                                              \
  (HONE_VERIFY_BIT(HONE_I8) | HONE_VERIFY_BIT(HONE_I16) | HONE_VERIFY_BIT(HONE_I32) | \
   HONE_VERIFY_BIT(HONE_I64) | HONE_VERIFY_BIT(HONE_U8) | HONE_VERIFY_BIT(HONE_U16) | \
   HONE_VERIFY_BIT(HONE_U32) | HONE_VERIFY_BIT(HONE_U64))
#define HONE_VERIFY_BOOL HONE_VERIFY_BIT(HONE_BOOL)
/* Formats of a byte or less. */
#define HONE_VERIFY_SHORT_FLOATS                                                                \
  (HONE_VERIFY_BIT(HONE_F8E4M3FN) | HONE_VERIFY_BIT(HONE_F8E4M3FNUZ) |                          \
   HONE_VERIFY_BIT(HONE_F8E5M2) | HONE_VERIFY_BIT(HONE_F8E5M2FNUZ) |                            \
   HONE_VERIFY_BIT(HONE_F8E8M0) | HONE_VERIFY_BIT(HONE_F6E2M3) | HONE_VERIFY_BIT(HONE_F6E3M2) | \
   HONE_VERIFY_BIT(HONE_F4E2M1))
#define HONE_VERIFY_SHORT_INTS                                                      \
  (HONE_VERIFY_BIT(HONE_I4) | HONE_VERIFY_BIT(HONE_U4) | HONE_VERIFY_BIT(HONE_I2) | \
   HONE_VERIFY_BIT(HONE_U2))
#define HONE_VERIFY_COMPLEX (HONE_VERIFY_BIT(HONE_C64) | HONE_VERIFY_BIT(HONE_C128))
#define HONE_VERIFY_ALL_FLOATS (HONE_VERIFY_FLOATS | HONE_VERIFY_SHORT_FLOATS)
#define HONE_VERIFY_ALL_INTS (HONE_VERIFY_INTS | HONE_VERIFY_SHORT_INTS)
#define HONE_VERIFY_NUMBERS (HONE_VERIFY_ALL_FLOATS | HONE_VERIFY_ALL_INTS)
#define HONE_VERIFY_MAIN (HONE_VERIFY_FLOATS | HONE_VERIFY_INTS | HONE_VERIFY_BOOL)
#define HONE_VERIFY_ALL_FORMS (HONE_VERIFY_BIT(HONE_VERIFY_FORM_COUNT) - 1)

/* ---- making a graph ---- */

enum { HONE_VERIFY_MOST_INPUTS = 96, HONE_VERIFY_MOST_OUTPUTS = 96 };

typedef struct hone_verify_input {
  hone_verify_fill_t fill;
  hone_dim_t limit; /* of INDEX */
  hone_verify_form_t form;
  int slot; /* among the inputs of its form */
} hone_verify_input_t;

typedef struct hone_verify_output {
  hone_verify_form_t form;
  hone_value_t* value;
  hone_value_t* scale; /* f64; of the graph for `ref` only */
  bool exact;          /* whatever the row's bound is */
} hone_verify_output_t;

struct hone_verify_maker {
  hone_builder_t* b;
  const hone_verify_row_t* row;
  hone_dtype_t dtype;
  hone_verify_form_t form;
  bool for_ref;
  int n_inputs, n_outputs;
  hone_verify_input_t inputs[HONE_VERIFY_MOST_INPUTS];
  hone_verify_output_t outputs[HONE_VERIFY_MOST_OUTPUTS];
};

/* An operand of the form's shape, which lies in memory as the form says; number
 * `which` of the node's. */
hone_value_t* hone_verify_operand(hone_verify_maker_t* m, int which, hone_dtype_t dtype,
                                  hone_verify_fill_t fill);
/* An input of any shape. */
hone_value_t* hone_verify_input(hone_verify_maker_t* m, hone_dtype_t dtype, int rank,
                                const hone_dim_t* dims, hone_verify_fill_t fill);
/* The same with elements from 0 to limit - 1. */
hone_value_t* hone_verify_index_input(hone_verify_maker_t* m, hone_dtype_t dtype, int rank,
                                      const hone_dim_t* dims, hone_dim_t limit);
/* A symbol of the graph's inputs: "n" and "m" in SYMBOLIC, "line" in LINE. */
hone_dim_t hone_verify_symbol(hone_verify_maker_t* m, const char* name);
void hone_verify_output(hone_verify_maker_t* m, hone_value_t* value);
void hone_verify_output_exact(hone_verify_maker_t* m, hone_value_t* value);
/* With what a bound that is scaled needs: `sum` (f64, of the value's shape) is the
 * sum of the magnitudes of `terms` terms. Both only count in the graph for `ref`. */
void hone_verify_output_scaled(hone_verify_maker_t* m, hone_value_t* value, hone_value_t* sum,
                               hone_dim_t terms);
/* |x| in f64. */
hone_value_t* hone_verify_magnitude(hone_verify_maker_t* m, hone_value_t* x);

/* ---- values ---- */

/* A tensor filled from the stream of `seed`. */
HONE_MUST_USE hone_status_t hone_verify_fill_tensor(const hone_verify_input_t* input, int64_t limit,
                                                    hone_dtype_t dtype, int rank,
                                                    const int64_t* dims, uint64_t seed,
                                                    hone_tensor_t** out_tensor);

typedef struct hone_verify_mismatch {
  int64_t wrong, count; /* elements */
  int64_t first;        /* index of the first that is wrong */
  char text[160];       /* got and expected */
} hone_verify_mismatch_t;

/* `scale` may be NULL. */
void hone_verify_compare(const hone_tensor_t* expected, const hone_tensor_t* actual,
                         const hone_tensor_t* scale, hone_verify_bound_t bound,
                         hone_verify_mismatch_t* out_mismatch);

/* ---- the device ---- */

typedef struct hone_verify_device {
  const char* name;
  const hone_backend_t* backend;
  hone_device_t* device; /* NULL: it takes whole graphs */
  char description[HONE_DEVICE_TEXT_SIZE];
} hone_verify_device_t;

HONE_MUST_USE hone_status_t hone_verify_device_open(const char* name, int threads, bool guard,
                                                    hone_verify_device_t* out_device);
void hone_verify_device_close(hone_verify_device_t* device);
/* Rewrites the graph, which must outlive the program. */
HONE_MUST_USE hone_status_t hone_verify_compile(const hone_verify_device_t* device,
                                                hone_graph_t* graph, hone_program_t** out_program);
HONE_MUST_USE hone_status_t hone_verify_run(const hone_verify_device_t* device,
                                            hone_program_t* program, int n_inputs,
                                            hone_tensor_t* const* inputs, int n_outputs,
                                            hone_tensor_t** out_outputs);
void hone_verify_drop_program(const hone_verify_device_t* device, hone_program_t* program);
void hone_verify_release(int count, hone_tensor_t** tensors);

/* ---- units and what became of them ---- */

/* name, text, style class */
typedef enum hone_verify_verdict {
  HONE_VERIFY_ABSENT, /* the row has no such form */
  HONE_VERIFY_SAME,
  HONE_VERIFY_INTERPRETED, /* the device refuses it, `ref` runs it in its place */
  HONE_VERIFY_DIFFERS,
  HONE_VERIFY_FAILED, /* it cannot be compiled or run */
  HONE_VERIFY_VERDICT_COUNT
} hone_verify_verdict_t;
const char* hone_verify_verdict_name(hone_verify_verdict_t verdict);

enum { HONE_VERIFY_NAME_SIZE = 64, HONE_VERIFY_TEXT_SIZE = 256 };

typedef struct hone_verify_cell {
  hone_verify_verdict_t verdict;
  char text[HONE_VERIFY_TEXT_SIZE]; /* the reason, or the difference; "" when it is the same */
} hone_verify_cell_t;

typedef struct hone_verify_unit {
  char name[HONE_VERIFY_NAME_SIZE]; /* "reduce.add.f32", "random.17" */
  const hone_verify_row_t* row;     /* NULL: a random graph */
  hone_dtype_t dtype;
  uint64_t seed;
} hone_verify_unit_t;

typedef struct hone_verify_result {
  const hone_verify_unit_t* unit;
  bool done;
  hone_verify_cell_t cells[HONE_VERIFY_FORM_COUNT]; /* of a random graph: the first only */
} hone_verify_result_t;

typedef struct hone_verify_options {
  uint64_t seed;
  const char* cases; /* folder for failing cases; NULL: none are written */
} hone_verify_options_t;

/* All units in order: rows by family, then random graphs. In the arena. */
HONE_MUST_USE hone_status_t hone_verify_plan(hone_arena_t* arena, int n_random, uint64_t seed,
                                             int* out_count, hone_verify_unit_t** out_units);
/* Errors: OUT_OF_MEMORY, and what writing a case meets; what the device does wrong
 * is a result. */
HONE_MUST_USE hone_status_t hone_verify_unit_run(const hone_verify_device_t* device,
                                                 const hone_verify_options_t* options,
                                                 const hone_verify_unit_t* unit,
                                                 hone_verify_result_t* out_result);
HONE_MUST_USE hone_status_t hone_verify_random_run(const hone_verify_device_t* device,
                                                   const hone_verify_options_t* options,
                                                   const hone_verify_unit_t* unit,
                                                   hone_verify_result_t* out_result);
/* ---- journal and report ---- */

typedef struct hone_verify_report {
  const hone_verify_device_t* device;
  uint64_t seed;
  int count;
  const hone_verify_result_t* results;
  double seconds;
  int64_t totals[HONE_VERIFY_VERDICT_COUNT]; /* cells */
} hone_verify_report_t;

void hone_verify_count(hone_verify_report_t* report);

typedef struct hone_verify_journal hone_verify_journal_t;
/* Opens or makes the file and fills in results that it has. Errors: INVALID_DATA
 * (of another device, seed or version), IO, OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_verify_journal_open(const char* path,
                                                     const hone_verify_report_t* report,
                                                     hone_verify_result_t* results,
                                                     hone_verify_journal_t** out_journal);
HONE_MUST_USE hone_status_t hone_verify_journal_add(hone_verify_journal_t* journal,
                                                    const hone_verify_result_t* result);
void hone_verify_journal_close(hone_verify_journal_t* journal); /* NULL is allowed */

HONE_MUST_USE hone_status_t hone_verify_print(const hone_verify_report_t* report);
HONE_MUST_USE hone_status_t hone_verify_json(const hone_verify_report_t* report, hone_str_t* out);
HONE_MUST_USE hone_status_t hone_verify_html(const hone_verify_report_t* report, hone_str_t* out);

#endif
