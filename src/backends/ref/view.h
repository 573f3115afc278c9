/* Views: how `ref` sees a value while it runs. A tensor is memory plus strides,
 * so that movement (permute, expand, slice, flip, window) costs nothing and
 * copies nothing. Sequences, maps and optionals are held whole.
 *
 * A view holds one reference to the tensor it looks into. */
#ifndef HONE_BACKENDS_REF_VIEW_H
#define HONE_BACKENDS_REF_VIEW_H

#include "hone/tensor.h"

typedef struct ref_view {
  hone_tensor_t* base; /* owned reference; NULL: no value */
  hone_kind_t kind;
  hone_dtype_t dtype;
  int rank;
  int64_t dims[HONE_MAX_RANK];
  int64_t strides[HONE_MAX_RANK]; /* bytes, may be 0 or negative */
  char* data;                     /* of element (0, 0, …); maybe not aligned */
} ref_view_t;

/* Looks at a whole tensor; takes over the caller's reference. */
ref_view_t hone_ref_view(hone_tensor_t* owned);
/* The same with a reference of its own. */
ref_view_t hone_ref_share(const ref_view_t* view);
void hone_ref_drop(ref_view_t* view);
int64_t hone_ref_count(const ref_view_t* view);
bool hone_ref_is_dense(const ref_view_t* view);

/* A fresh dense tensor seen as a view. */
HONE_MUST_USE hone_status_t hone_ref_make(const hone_allocator_t* allocator, hone_dtype_t dtype,
                                          int rank, const int64_t* dims, ref_view_t* out_view);
/* A dense tensor with the view's contents: its base, retained, where that is
 * just what the view shows, else a copy. */
HONE_MUST_USE hone_status_t hone_ref_tensor(const hone_allocator_t* allocator,
                                            const ref_view_t* view, hone_tensor_t** out_tensor);
/* Copies `from` over the elements of `to` (same shape and dtype). `to` looks
 * into a tensor that nobody else sees yet. */
HONE_MUST_USE hone_status_t hone_ref_copy(const ref_view_t* from, const ref_view_t* to);

/* Rows: the elements of several views of one shape, visited in row-major order
 * along the longest run of axes that can be walked with one stride. */
enum { HONE_REF_MAX_VIEWS = 4, HONE_REF_ROW = 512 };

typedef struct ref_rows {
  int n_views;
  int rank; /* of the outer axes */
  int64_t dims[HONE_MAX_RANK];
  int64_t strides[HONE_REF_MAX_VIEWS][HONE_MAX_RANK];
  int64_t index[HONE_MAX_RANK];
  char* data[HONE_REF_MAX_VIEWS];         /* of the current row */
  int64_t row_stride[HONE_REF_MAX_VIEWS]; /* bytes between its elements */
  int64_t row_length;                     /* elements of a whole row */
  int64_t row_done;                       /* of the current row, visited */
  bool ended;
} ref_rows_t;

void hone_ref_rows_start(ref_rows_t* rows, int n_views, const ref_view_t* const* views);
/* The next piece of a row: at most HONE_REF_ROW elements; gives how many and
 * where each view's first is. 0 at the end. */
int64_t hone_ref_rows_next(ref_rows_t* rows, char* out_data[HONE_REF_MAX_VIEWS]);

#endif
