/* Turned rectangles around points: the convex hull by Andrew's monotone chain,
 * and the fact that the smallest rectangle shares a direction with one of the
 * hull's sides. */
#include <math.h>
#include <stdlib.h>

#include "ocr.h"

static float distance(point_t a, point_t b) { return hypotf(b.x - a.x, b.y - a.y); }

float box_width(const box_t* box) { return distance(box->corner[0], box->corner[1]); }
float box_height(const box_t* box) { return distance(box->corner[0], box->corner[3]); }

static int by_place(const void* a, const void* b) {
  const point_t *p = a, *q = b;
  if (p->x != q->x) return p->x < q->x ? -1 : 1;
  return p->y < q->y ? -1 : p->y > q->y;
}

static bool turns_left(point_t a, point_t b, point_t c) {
  return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x) > 0;
}

/* Appends a point to the chain that begins at `start`, dropping what it covers. */
static int extend(point_t* hull, int n, int start, point_t point) {
  while (n - start >= 2 && !turns_left(hull[n - 2], hull[n - 1], point)) n--;
  hull[n++] = point;
  return n;
}

static int convex_hull(point_t* points, int count, point_t* hull) {
  qsort(points, (size_t)count, sizeof *points, by_place);
  int n = 0;
  for (int i = 0; i < count; i++) n = extend(hull, n, 0, points[i]);
  int start = n - 1;
  for (int i = count - 2; i >= 0; i--) n = extend(hull, n, start, points[i]);
  return n > 1 ? n - 1 : n; /* the last is the first again */
}

/* A rectangle by its extents along the unit vector (c, s) and across it. */
typedef struct frame {
  float c, s, low_u, high_u, low_v, high_v;
} frame_t;

static frame_t frame_along(float c, float s, const point_t* hull, int n) {
  frame_t f = {c, s, INFINITY, -INFINITY, INFINITY, -INFINITY};
  for (int i = 0; i < n; i++) {
    float u = c * hull[i].x + s * hull[i].y, v = c * hull[i].y - s * hull[i].x;
    f.low_u = fminf(f.low_u, u);
    f.high_u = fmaxf(f.high_u, u);
    f.low_v = fminf(f.low_v, v);
    f.high_v = fmaxf(f.high_v, v);
  }
  return f;
}

static point_t at(const frame_t* f, float u, float v) {
  return (point_t){f->c * u - f->s * v, f->s * u + f->c * v};
}

static float area(const frame_t* f) { return (f->high_u - f->low_u) * (f->high_v - f->low_v); }

box_t box_around(point_t* points, int count, point_t* hull) {
  int n = convex_hull(points, count, hull);
  frame_t best = frame_along(1, 0, hull, n);
  for (int i = 0; i < n; i++) {
    point_t a = hull[i], b = hull[(i + 1) % n];
    float side = distance(a, b);
    if (side == 0) continue;
    float c = (b.x - a.x) / side, s = (b.y - a.y) / side;
    /* The same rectangle turned by right angles, so that u runs to the right. */
    if (fabsf(c) < fabsf(s)) {
      float before = c;
      c = s;
      s = -before;
    }
    frame_t f = c < 0 ? frame_along(-c, -s, hull, n) : frame_along(c, s, hull, n);
    if (area(&f) < area(&best)) best = f;
  }
  return (box_t){{at(&best, best.low_u, best.low_v), at(&best, best.high_u, best.low_v),
                  at(&best, best.high_u, best.high_v), at(&best, best.low_u, best.high_v)}};
}

box_t box_grow(const box_t* box, float margin) {
  float w = box_width(box), h = box_height(box);
  float ux = 1, uy = 0;
  if (w > 0) {
    ux = (box->corner[1].x - box->corner[0].x) / w;
    uy = (box->corner[1].y - box->corner[0].y) / w;
  } else if (h > 0) {
    ux = (box->corner[3].y - box->corner[0].y) / h;
    uy = -(box->corner[3].x - box->corner[0].x) / h;
  }
  const float along[4] = {-1, 1, 1, -1}, across[4] = {-1, -1, 1, 1};
  box_t grown = *box;
  for (int i = 0; i < 4; i++) {
    grown.corner[i].x += margin * (along[i] * ux - across[i] * uy);
    grown.corner[i].y += margin * (along[i] * uy + across[i] * ux);
  }
  return grown;
}
