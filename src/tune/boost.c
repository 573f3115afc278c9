/* Growing trees. A tree is an array in which node i has children 2i + 1 and
 * 2i + 2. The rows sorted by each feature are found once; a level is then
 * grown by one pass over each of these orders, which visits the rows of every
 * node in ascending order of that feature. */
#include "tune/boost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "tune/draw.h"

enum { MOST_DEPTH = 12, PAIRS = 16 /* that a row is compared in, per tree */ };

static const double damping = 1.0; /* of leaf values; the lambda of XGBoost */

typedef struct node {
  int feature; /* -1: a leaf */
  double threshold;
  double value; /* what a leaf adds to the prediction */
} node_t;

struct hone_boost {
  const hone_allocator_t* allocator;
  int n_features, trees, nodes; /* nodes per tree */
  double base;                  /* prediction before the first tree */
  node_t* node;                 /* [trees][nodes] */
};

/* First and second derivatives of the loss, summed over rows. */
typedef struct slope {
  double first, second;
  int rows;
} slope_t;

/* The best split found for a node of the level being grown. */
typedef struct split {
  slope_t total, left; /* left: of the rows passed so far in the order at hand */
  double last;         /* the feature's value in the row before */
  double gain, threshold;
  int feature;
} split_t;

typedef struct fit {
  const hone_boost_options_t* options;
  hone_draw_t draw;
  int rows, n_features;
  double* features;      /* [n_features][rows] */
  const double* targets; /* [rows] */
  int* order;            /* [n_features][rows]: rows by ascending feature */
  double* prediction;    /* [rows] */
  slope_t* slope;        /* [rows]; a row that the tree does not see has rows 0 */
  int* place;            /* [rows]: the node each row has come to; -1: a leaf above */
  split_t* splits;       /* [widest level] */
  struct ranked* ranked; /* [rows]: for sorting */
} fit_t;

typedef struct ranked {
  double value;
  int row;
} ranked_t;

/* ---- setting up ---- */

static hone_boost_options_t with_defaults(const hone_boost_options_t* given) {
  hone_boost_options_t options = {0};
  if (given) options = *given;
  if (options.trees <= 0) options.trees = 48;
  if (options.depth <= 0) options.depth = 5;
  if (options.depth > MOST_DEPTH) options.depth = MOST_DEPTH;
  if (options.min_leaf <= 0) options.min_leaf = 2;
  if (!(options.rate > 0)) options.rate = 0.25;
  if (!(options.sample > 0) || options.sample > 1) options.sample = 0.8;
  return options;
}

/* The arrays of a fit, in one block. */
typedef struct layout {
  size_t size;
  char* block; /* NULL while measuring */
} layout_t;

static void* place_array(layout_t* layout, size_t count, size_t size) {
  size_t at = layout->size, bytes;
  if (!hone_size_mul(count, size, &bytes) || bytes > SIZE_MAX / 4 || at > SIZE_MAX / 4) {
    layout->size = SIZE_MAX / 2; /* more than any allocator has */
    return NULL;
  }
  layout->size = at + (bytes + 15) / 16 * 16;
  return layout->block ? layout->block + at : NULL;
}

static void place_arrays(fit_t* fit, layout_t* layout) {
  size_t rows = (size_t)fit->rows, cells = 0;
  if (!hone_size_mul(rows, (size_t)fit->n_features, &cells)) cells = SIZE_MAX;
  layout->size = 0;
  fit->features = place_array(layout, cells, sizeof *fit->features);
  fit->order = place_array(layout, cells, sizeof *fit->order);
  fit->prediction = place_array(layout, rows, sizeof *fit->prediction);
  fit->slope = place_array(layout, rows, sizeof *fit->slope);
  fit->place = place_array(layout, rows, sizeof *fit->place);
  fit->ranked = place_array(layout, rows, sizeof *fit->ranked);
  fit->splits = place_array(layout, (size_t)1 << fit->options->depth, sizeof *fit->splits);
}

/* By value, then by row, so that the order is the same everywhere. */
static int compare_ranked(const void* left, const void* right) {
  const ranked_t *a = left, *b = right;
  if (a->value != b->value) return a->value < b->value ? -1 : 1;
  return a->row < b->row ? -1 : 1;
}

static void sort_rows(fit_t* fit, const double* values, int* out_order) {
  for (int row = 0; row < fit->rows; row++) fit->ranked[row] = (ranked_t){values[row], row};
  qsort(fit->ranked, (size_t)fit->rows, sizeof *fit->ranked, compare_ranked);
  for (int i = 0; i < fit->rows; i++) out_order[i] = fit->ranked[i].row;
}

static void take_features(fit_t* fit, const double* features) {
  for (int f = 0; f < fit->n_features; f++) {
    double* column = fit->features + (size_t)f * (size_t)fit->rows;
    for (int row = 0; row < fit->rows; row++) {
      double value = features[(size_t)row * (size_t)fit->n_features + (size_t)f];
      column[row] = isnan(value) ? INFINITY : value;
    }
    sort_rows(fit, column, fit->order + (size_t)f * (size_t)fit->rows);
  }
}

/* ---- losses ---- */

/* Compares each row with some others: of two, the one with the larger target
 * should have the larger prediction. */
static void rank_slopes(fit_t* fit) {
  for (int row = 0; row < fit->rows; row++) {
    for (int k = 0; k < PAIRS; k++) {
      int other = (int)hone_draw_below(&fit->draw, (uint64_t)fit->rows);
      if (fit->targets[row] == fit->targets[other]) continue;
      int high = fit->targets[row] > fit->targets[other] ? row : other;
      int low = high == row ? other : row;
      double wrong = 1 / (1 + exp(fit->prediction[high] - fit->prediction[low]));
      fit->slope[high].first -= wrong;
      fit->slope[low].first += wrong;
      fit->slope[high].second += wrong * (1 - wrong);
      fit->slope[low].second += wrong * (1 - wrong);
    }
  }
}

static void squared_slopes(fit_t* fit) {
  for (int row = 0; row < fit->rows; row++) {
    fit->slope[row].first = fit->prediction[row] - fit->targets[row];
    fit->slope[row].second = 1;
  }
}

static void find_slopes(fit_t* fit) {
  memset(fit->slope, 0, (size_t)fit->rows * sizeof *fit->slope);
  if (fit->options->loss == HONE_BOOST_RANK)
    rank_slopes(fit);
  else
    squared_slopes(fit);
  for (int row = 0; row < fit->rows; row++) {
    bool seen = hone_draw_unit(&fit->draw) < fit->options->sample;
    if (seen)
      fit->slope[row].rows = 1;
    else
      fit->slope[row] = (slope_t){0};
  }
}

/* ---- growing ---- */

static void add_slope(slope_t* sum, const slope_t* slope) {
  sum->first += slope->first;
  sum->second += slope->second;
  sum->rows += slope->rows;
}

/* How much a leaf with these rows lowers the loss. */
static double worth(const slope_t* slope) {
  return slope->first * slope->first / (slope->second + damping);
}

/* Considers putting the rows passed so far to the left, the others to the right. */
static void consider(const fit_t* fit, split_t* split, int feature, double next) {
  slope_t right = {split->total.first - split->left.first, split->total.second - split->left.second,
                   split->total.rows - split->left.rows};
  if (split->left.rows < fit->options->min_leaf || right.rows < fit->options->min_leaf) return;
  double gain = worth(&split->left) + worth(&right) - worth(&split->total);
  if (!(gain > split->gain)) return;
  double middle = split->last + (next - split->last) / 2;
  split->gain = gain;
  split->feature = feature;
  split->threshold = isfinite(middle) && middle < next ? middle : split->last;
}

static void scan_feature(fit_t* fit, int feature, int first, int width) {
  const double* column = fit->features + (size_t)feature * (size_t)fit->rows;
  const int* order = fit->order + (size_t)feature * (size_t)fit->rows;
  for (int i = 0; i < width; i++) fit->splits[i].left = (slope_t){0};
  for (int i = 0; i < fit->rows; i++) {
    int row = order[i];
    if (fit->place[row] < first || !fit->slope[row].rows) continue;
    split_t* split = &fit->splits[fit->place[row] - first];
    if (split->left.rows && column[row] > split->last) consider(fit, split, feature, column[row]);
    add_slope(&split->left, &fit->slope[row]);
    split->last = column[row];
  }
}

static void move_rows(fit_t* fit, const node_t* tree, int first) {
  for (int row = 0; row < fit->rows; row++) {
    if (fit->place[row] < first) continue;
    const node_t* node = &tree[fit->place[row]];
    if (node->feature < 0) {
      fit->place[row] = -1;
      continue;
    }
    double value = fit->features[(size_t)node->feature * (size_t)fit->rows + (size_t)row];
    fit->place[row] = 2 * fit->place[row] + (value <= node->threshold ? 1 : 2);
  }
}

/* Makes nodes first … first + width - 1 of the tree; false when all are leaves. */
static bool grow_level(fit_t* fit, node_t* tree, int first, int width, bool may_split) {
  for (int i = 0; i < width; i++) fit->splits[i] = (split_t){.gain = 1e-9, .feature = -1};
  for (int row = 0; row < fit->rows; row++)
    if (fit->place[row] >= first)
      add_slope(&fit->splits[fit->place[row] - first].total, &fit->slope[row]);
  for (int f = 0; may_split && f < fit->n_features; f++) scan_feature(fit, f, first, width);
  bool grew = false;
  for (int i = 0; i < width; i++) {
    const split_t* split = &fit->splits[i];
    double value = -split->total.first / (split->total.second + damping);
    tree[first + i] = (node_t){split->feature, split->threshold, fit->options->rate * value};
    grew = grew || split->feature >= 0;
  }
  move_rows(fit, tree, first);
  return grew;
}

static double walk(const node_t* tree, const double* features, size_t stride) {
  int at = 0;
  while (tree[at].feature >= 0) {
    double value = features[(size_t)tree[at].feature * stride];
    at = 2 * at + (value <= tree[at].threshold ? 1 : 2);
  }
  return tree[at].value;
}

static void grow_tree(fit_t* fit, node_t* tree) {
  find_slopes(fit);
  memset(fit->place, 0, (size_t)fit->rows * sizeof *fit->place);
  for (int level = 0, first = 0;; level++) {
    int width = 1 << level;
    if (!grow_level(fit, tree, first, width, level < fit->options->depth)) break;
    first += width;
  }
  for (int row = 0; row < fit->rows; row++)
    fit->prediction[row] += walk(tree, fit->features + row, (size_t)fit->rows);
}

static void grow_forest(fit_t* fit, hone_boost_t* boost) {
  double sum = 0;
  for (int row = 0; row < fit->rows; row++) sum += fit->targets[row];
  boost->base = fit->options->loss == HONE_BOOST_SQUARED ? sum / fit->rows : 0;
  for (int row = 0; row < fit->rows; row++) fit->prediction[row] = boost->base;
  for (int i = 0; i < boost->trees; i++)
    grow_tree(fit, boost->node + (size_t)i * (size_t)boost->nodes);
}

static size_t boost_size(const hone_boost_t* boost) {
  return sizeof *boost + (size_t)boost->trees * (size_t)boost->nodes * sizeof *boost->node;
}

static hone_boost_t* make_boost(const hone_allocator_t* allocator,
                                const hone_boost_options_t* options, int n_features) {
  hone_boost_t shape = {.allocator = allocator,
                        .n_features = n_features,
                        .trees = options->trees,
                        .nodes = (2 << options->depth) - 1};
  hone_boost_t* boost = hone_alloc(allocator, boost_size(&shape));
  if (!boost) return NULL;
  *boost = shape;
  boost->node = (node_t*)(boost + 1);
  return boost;
}

static hone_status_t check_examples(int rows, int n_features, const double* targets) {
  if (rows < 1 || n_features < 1)
    return hone_status_make(HONE_INVALID_ARGUMENT,
                            "boosted trees need examples and features, not %d by %d", rows,
                            n_features);
  for (int row = 0; row < rows; row++)
    if (!isfinite(targets[row]))
      return hone_status_make(HONE_INVALID_ARGUMENT, "target %d of boosted trees is not finite",
                              row);
  return NULL;
}

hone_status_t hone_boost_fit(const hone_allocator_t* allocator, const hone_boost_options_t* options,
                             int rows, int n_features, const double* features,
                             const double* targets, hone_boost_t** out_boost) {
  *out_boost = NULL;
  HONE_TRY(check_examples(rows, n_features, targets));
  hone_boost_options_t full = with_defaults(options);
  fit_t fit = {.options = &full,
               .draw = {.seed = full.seed},
               .rows = rows,
               .n_features = n_features,
               .targets = targets};
  layout_t layout = {0};
  place_arrays(&fit, &layout);
  layout.block = hone_alloc(allocator, layout.size);
  if (!layout.block) return hone_oom();
  size_t size = layout.size;
  place_arrays(&fit, &layout);
  hone_boost_t* boost = make_boost(allocator, &full, n_features);
  if (boost) {
    take_features(&fit, features);
    grow_forest(&fit, boost);
  }
  hone_free(allocator, layout.block, size);
  *out_boost = boost;
  return boost ? NULL : hone_oom();
}

void hone_boost_destroy(hone_boost_t* boost) {
  if (boost) hone_free(boost->allocator, boost, boost_size(boost));
}

double hone_boost_predict(const hone_boost_t* boost, const double* features) {
  double sum = boost->base;
  for (int i = 0; i < boost->trees; i++)
    sum += walk(boost->node + (size_t)i * (size_t)boost->nodes, features, 1);
  return sum;
}
