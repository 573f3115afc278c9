#include "loop/quantized_sum.h"

#include <math.h>

#include "base/float_convert.h"
#include "base/memory.h"

/* ---- recognising ---- */

static bool is_prim(const hone_term_t* term, hone_prim_t prim, hone_dtype_t dtype) {
  return term->kind == HONE_TERM_PRIM && term->prim == prim && term->dtype == dtype;
}

static bool is_byte(const hone_term_t* term) {
  return term->dtype == HONE_U8 || term->dtype == HONE_I8;
}

static bool take_zero(const hone_term_t* term, int* out) {
  if (term->kind != HONE_TERM_CONST || term->dtype != HONE_I32) return false;
  double zero = hone_to_double(term->dtype, term->bits);
  *out = (int)zero;
  return fabs(zero) <= UINT8_MAX;
}

/* cast.f32(byte), or cast.f32(sub(cast.i32(byte), zero)) */
static bool match_number(const hone_term_t* term, hone_scaled_byte_t* out) {
  const hone_term_t* less;
  if (!is_prim(term, HONE_PRIM_CAST, HONE_F32)) return false;
  *out = (hone_scaled_byte_t){.number = term, .byte = hone_quantized_byte(term->args[0], &less)};
  return is_byte(out->byte) && (!less || take_zero(less, &out->zero));
}

static bool match_scaled(const hone_term_t* term, hone_scaled_byte_t* out) {
  if (!is_prim(term, HONE_PRIM_MUL, HONE_F32)) return false;
  for (int i = 0; i < 2; i++) {
    const hone_term_t* scale = term->args[1 - i];
    if (scale->kind != HONE_TERM_CONST || !match_number(term->args[i], out)) continue;
    out->scale = (float)hone_to_double(scale->dtype, scale->bits);
    return true;
  }
  return false;
}

bool hone_quantized_sum_match(const hone_term_t* term, hone_scaled_byte_t out[2]) {
  return is_prim(term, HONE_PRIM_ADD, HONE_F32) && match_scaled(term->args[0], &out[0]) &&
         match_scaled(term->args[1], &out[1]);
}

/* ---- trying ---- */

enum { BYTES = 256 };

/* Sums up to MOST err by less than NEAR in all that is computed here, the moved shift included. */
static const double MOST = 0x1p10, NEAR = 0x1p-10;

typedef struct trial {
  const hone_addend_t* addends;
  double factors[2], shift, most; /* as they are; the largest sum */
  float scale;
  double low, high;
  int n_near; /* pairs of which it is not clear how they are rounded */
  struct pair {
    uint8_t first, second;
  } near[BYTES * BYTES];
} trial_t;

static void find_near(trial_t* t) {
  for (int i = 0; i < BYTES; i++) {
    double first = (t->addends[0].least + i) * t->factors[0] + t->shift;
    for (int j = 0; j < BYTES; j++) {
      double sum = first + (t->addends[1].least + j) * t->factors[1];
      if (sum < t->low - 1 || sum > t->high + 1) continue;
      if (fabs(sum - floor(sum) - 0.5) < NEAR)
        t->near[t->n_near++] = (struct pair){(uint8_t)i, (uint8_t)j};
    }
  }
}

static float scaled(const hone_addend_t* addend, int number) {
  return (float)(number - addend->zero) * addend->scale;
}

static double hold(const trial_t* t, float x) { return fmin(fmax(rintf(x), t->low), t->high); }

static bool agrees(const trial_t* t, const hone_quantized_sum_t* sum) {
  for (int i = 0; i < t->n_near; i++) {
    int x = t->addends[0].least + t->near[i].first, y = t->addends[1].least + t->near[i].second;
    float added = scaled(&t->addends[0], x) + scaled(&t->addends[1], y);
    float fused = fmaf((float)x, sum->factors[0], fmaf((float)y, sum->factors[1], sum->shift));
    if (hold(t, added / t->scale) != hold(t, fused)) return false;
  }
  return true;
}

/* The number nearest to x, or beside that. */
static float beside(double x, int which) {
  float nearest = (float)x;
  return which ? nextafterf(nearest, which < 0 ? -INFINITY : INFINITY) : nearest;
}

/* The shift goes in steps of less than the last place of sums. */
static bool search(const trial_t* t, hone_quantized_sum_t* out) {
  enum { STEPS = 32 };
  double step = t->most * 0x1p-25;
  for (int i = 0; i <= STEPS; i++) {
    int steps = (i % 2 ? -1 : 1) * ((i + 1) / 2);
    double moved = t->shift + steps * step;
    for (int j = 0; j < 9; j++) {
      *out = (hone_quantized_sum_t){.factors = {beside(t->factors[0], (j + 1) % 3 - 1),
                                                beside(t->factors[1], (j / 3 + 1) % 3 - 1)},
                                    .shift = (float)moved};
      if (agrees(t, out)) return true;
    }
  }
  return false;
}

static double most_of(const hone_addend_t* addend) {
  double least = addend->least, greatest = addend->least + BYTES - 1, zero = addend->zero;
  double apart = fmax(fabs(least - zero), fabs(greatest - zero));
  return fabs(addend->scale) * fmax(apart, fmax(fabs(least), fabs(greatest)));
}

bool hone_quantized_sum_make(const hone_addend_t addends[2], float scale, double low, double high,
                             hone_quantized_sum_t* out) {
  static const float smallest = 0x1p-60f, largest = 0x1p60f; /* nothing under- or overflows */
  for (int i = 0; i < 2; i++) {
    float of = addends[i].scale;
    if (!(of >= smallest && of <= largest)) return false;
  }
  if (!(scale >= smallest && scale <= largest)) return false;
  double most = (most_of(&addends[0]) + most_of(&addends[1])) / scale;
  if (!(most <= MOST)) return false;
  trial_t* t = hone_alloc(NULL, sizeof *t);
  if (!t) return false;
  t->addends = addends;
  t->scale = scale;
  t->most = most;
  t->low = low;
  t->high = high;
  for (int i = 0; i < 2; i++) {
    t->factors[i] = (double)addends[i].scale / scale;
    t->shift -= addends[i].zero * t->factors[i];
  }
  find_near(t);
  bool found = search(t, out);
  hone_free(NULL, t, sizeof *t);
  return found;
}
