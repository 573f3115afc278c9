#include "ir/slight.h"

enum { LANES = HONE_SLIGHT_LANES };

/* Adds what is above zero and what is below. */
static inline void add_signs(const int8_t* from, int64_t step, int64_t n, int16_t* above,
                             int16_t* below) {
  for (int64_t i = 0; i < n; i++) {
    int16_t w = (int16_t)from[i * step];
    above[i] = (int16_t)(above[i] + (w > 0 ? w : 0));
    below[i] = (int16_t)(below[i] - (w < 0 ? w : 0));
  }
}

static bool are_small(const int16_t* a, const int16_t* b, const int16_t* c, const int16_t* d) {
  int16_t most = 0;
  for (int64_t i = 0; i < LANES; i++) {
    int16_t ab = a[i] > b[i] ? a[i] : b[i], cd = c[i] > d[i] ? c[i] : d[i];
    int16_t all = ab > cd ? ab : cd;
    most = all > most ? all : most;
  }
  return most <= HONE_SLIGHT_MOST;
}

int hone_slight_look(const int8_t* group, int64_t row, int64_t step, int64_t n, bool* out_wrong) {
  int16_t above[HONE_SLIGHT_HALVES][LANES] = {{0}}, below[HONE_SLIGHT_HALVES][LANES] = {{0}};
  for (int64_t k = 0; k < HONE_SLIGHT_GROUP; k++) {
    int half = hone_slight_half(k);
    /* What compilers know the length of they do in vectors. */
    if (step == 1 && n == LANES)
      add_signs(group + k * row, 1, LANES, above[half], below[half]);
    else
      add_signs(group + k * row, step, n, above[half], below[half]);
  }
  if (are_small(above[0], above[1], below[0], below[1])) return 0;
  int wrong = 0;
  for (int64_t i = 0; i < n; i++) {
    out_wrong[i] = above[0][i] > HONE_SLIGHT_MOST || above[1][i] > HONE_SLIGHT_MOST ||
                   below[0][i] > HONE_SLIGHT_MOST || below[1][i] > HONE_SLIGHT_MOST;
    wrong += out_wrong[i];
  }
  return wrong;
}

/* Columns that follow one another, or, where there is one only, those of the rows that do. */
bool hone_slight_is(const int8_t* data, int64_t outer, int64_t extent, int64_t inner) {
  bool is_last = inner == 1, wrong[LANES];
  int64_t lanes = is_last ? outer : inner, blocks = is_last ? 1 : outer;
  int64_t row = is_last ? 1 : inner, step = is_last ? extent : 1;
  for (int64_t block = 0; block < blocks; block++)
    for (int64_t lane = 0; lane < lanes; lane += LANES)
      for (int64_t k = 0; k < extent; k += HONE_SLIGHT_GROUP) {
        int64_t n = lanes - lane < LANES ? lanes - lane : LANES;
        const int8_t* group = data + block * extent * inner + k * row + lane * step;
        if (hone_slight_look(group, row, step, n, wrong)) return false;
      }
  return true;
}
