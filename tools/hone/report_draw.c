#include "report_draw.h"

#include <math.h>
#include <string.h>

#include "look.h"
#include "reporting.h"
#include "runtime/limits.h"

const char hone_draw_style[] =
    ".plot text{fill:var(--soft);font:11px system-ui,sans-serif}\n"
    ".plot .grid{stroke:var(--line);stroke-width:1}.plot .roof{stroke:var(--ink);stroke-width:2;"
    "fill:none}.plot .roof.low{stroke-dasharray:5 4;stroke-width:1.4}\n"
    ".plot text.roofname{fill:var(--ink);font-weight:600}\n"
    ".plot circle{fill:hsl(var(--hue) 60% var(--deep));fill-opacity:.55;"
    "stroke:hsl(var(--hue) 60% var(--deep));stroke-width:1.2}\n"
    ".plot rect.value{fill:hsl(var(--hue) 50% var(--tint));stroke:var(--card);stroke-width:.6}\n"
    ".plot .area{fill:hsl(215 60% var(--deep));fill-opacity:.35;stroke:hsl(215 60% var(--deep));"
    "stroke-width:1.4}\n"
    ".plot .mark{stroke:var(--mark);stroke-width:1.6;stroke-dasharray:6 4;fill:none}\n"
    ".cards{display:grid;gap:1rem;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));"
    "margin:1.2rem 0}.cards b{display:block;font-size:1.45rem;line-height:1.3}\n"
    "td.n{white-space:nowrap}.cards .card{padding:.7rem 1rem}ul.advice{margin:0;padding:.2rem "
    ".4rem .2rem 1.4rem}"
    "ul.advice li{margin:.35rem 0}\n";

enum { WIDTH = 900, HEIGHT = 400, LEFT = 64, RIGHT = 18, TOP = 16, BOTTOM = 44 };

/* A range on an axis, in powers of ten where `is_log`. */
typedef struct axis {
  double from, to;
  double start, end; /* on the page */
  bool is_log;
} axis_t;

static double place(const axis_t* axis, double value) {
  double at = axis->is_log ? log10(value) : value;
  double share = axis->to > axis->from ? (at - axis->from) / (axis->to - axis->from) : 0;
  return axis->start + share * (axis->end - axis->start);
}

static axis_t across(double from, double to, bool is_log) {
  return (axis_t){from, to, LEFT, WIDTH - RIGHT, is_log};
}

static axis_t upward(double from, double to, bool is_log) {
  return (axis_t){from, to, HEIGHT - BOTTOM, TOP, is_log};
}

static void open_plot(FILE* file, const char* title) {
  fprintf(file, "<figure><svg class=\"plot\" viewBox=\"0 0 %d %d\" role=\"img\"><title>", WIDTH,
          HEIGHT);
  hone_look_text(file, title);
  fputs("</title>\n", file);
}

static void close_plot(FILE* file, const char* caption) {
  fputs("</svg><figcaption>", file);
  hone_look_text(file, caption);
  fputs("</figcaption></figure>\n", file);
}

static void put_line(FILE* file, const char* kind, double x1, double y1, double x2, double y2) {
  fprintf(file, "<path class=\"%s\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", kind, x1, y1, x2, y2);
}

static void put_label(FILE* file, double x, double y, const char* anchor, const char* kind,
                      const char* text) {
  fprintf(file, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", kind, x, y, anchor);
  hone_look_text(file, text);
  fputs("</text>\n", file);
}

static void put_axis_names(FILE* file, const char* x, const char* y) {
  put_label(file, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 8, "middle", "", x);
  fprintf(file,
          "<text transform=\"translate(14 %d) rotate(-90)\" text-anchor=\"middle\">%s</text>\n",
          (TOP + HEIGHT - BOTTOM) / 2, y);
}

/* ---- roofline ---- */

static double operations(const hone_report_step_t* step) {
  return step->arithmetic + HONE_TRANSCENDENTAL_COST * step->transcendental;
}

static bool has_point(const hone_report_step_t* step) {
  return hone_step_is(step, "kernel") && step->seconds > 0 && operations(step) > 0 &&
         step->read + step->written > 0;
}

static double intensity(const hone_report_step_t* step) {
  return operations(step) / (step->read + step->written);
}

static double speed(const hone_report_step_t* step) {
  return operations(step) * step->runs / step->seconds * 1e-9;
}

typedef struct bounds {
  double x[2], y[2];
} bounds_t;

static void widen(double range[2], double value) {
  if (value < range[0]) range[0] = value;
  if (value > range[1]) range[1] = value;
}

static bounds_t find_bounds(const hone_report_t* report) {
  const hone_report_device_t* device = hone_report_device(report);
  bounds_t b = {{0.1, 100}, {device->gflops / 100, device->gflops * 1.6}};
  for (int i = 0; i < hone_report_step_count(report); i++) {
    const hone_report_step_t* step = hone_report_step(report, i);
    if (!has_point(step)) continue;
    widen(b.x, intensity(step) * 0.7);
    widen(b.x, intensity(step) * 1.5);
    widen(b.y, speed(step) * 0.7);
    widen(b.y, speed(step) * 1.5);
  }
  widen(b.y, device->gflops_bf16 * 1.6);
  widen(b.y, device->gflops_int8 * 1.6);
  return b;
}

static void put_grid(FILE* file, const axis_t* x, const axis_t* y) {
  char text[32];
  for (int p = (int)ceil(x->from); p <= (int)floor(x->to); p++) {
    double at = place(x, pow(10, p));
    put_line(file, "grid", at, y->start, at, y->end);
    snprintf(text, sizeof text, "%g", pow(10, p));
    put_label(file, at, y->start + 16, "middle", "", text);
  }
  for (int p = (int)ceil(y->from); p <= (int)floor(y->to); p++) {
    double at = place(y, pow(10, p));
    put_line(file, "grid", x->start, at, x->end, at);
    snprintf(text, sizeof text, "%g", pow(10, p));
    put_label(file, x->start - 6, at + 4, "end", "", text);
  }
}

static double highest_roof(const hone_report_device_t* device) {
  return fmax(device->gflops, fmax(device->gflops_bf16, device->gflops_int8));
}

/* The slope of one level of memory, from the left edge (or the bottom) to the highest roof. */
static void put_slope(FILE* file, const hone_report_device_t* device, int level, const axis_t* x,
                      const axis_t* y) {
  double gbytes = device->level_gbytes[level], floor_y = pow(10, y->from);
  double left = pow(10, x->from);
  if (left * gbytes < floor_y) left = floor_y / gbytes;
  double right = highest_roof(device) / gbytes;
  if (right <= left) return;
  double limit = pow(10, x->to);
  if (right > limit) right = limit;
  bool is_last = level == device->n_levels - 1;
  if (!is_last && gbytes < 1.3 * device->level_gbytes[level + 1]) return; /* as good as that */
  put_line(file, is_last ? "roof" : "roof low", place(x, left), place(y, left * gbytes),
           place(x, right), place(y, right * gbytes));
  char text[80];
  snprintf(text, sizeof text, "%s %.3g GB/s",
           is_last ? "memory"
           : level ? "cache"
                   : "near cache",
           gbytes);
  double at = pow(10, log10(left) * 0.35 + log10(right) * 0.65);
  put_label(file, place(x, at) + (is_last ? 8 : -8), place(y, at * gbytes) + (is_last ? 12 : -6),
            is_last ? "start" : "end", "roofname", text);
}

/* What arithmetic of a type can do, from where the fastest memory keeps up with it. */
static void put_roof(FILE* file, const hone_report_device_t* device, double gflops,
                     const char* type, const axis_t* x, const axis_t* y) {
  char text[80];
  double slowest = device->level_gbytes[device->n_levels - 1];
  double fastest = device->level_gbytes[0];
  double from = gflops / (fastest > slowest ? fastest : slowest), left = pow(10, x->from);
  double at = place(y, gflops);
  put_line(file, "roof", place(x, from > left ? from : left), at, x->end, at);
  snprintf(text, sizeof text, "%.4g GFLOP/s of %s", gflops, type);
  put_label(file, x->end - 4, at - 7, "end", "roofname", text);
}

static void put_roofs(FILE* file, const hone_report_device_t* device, const axis_t* x,
                      const axis_t* y) {
  put_roof(file, device, device->gflops, "f32", x, y);
  if (device->gflops_bf16 > device->gflops)
    put_roof(file, device, device->gflops_bf16, "bf16", x, y);
  if (device->gflops_int8 > device->gflops)
    put_roof(file, device, device->gflops_int8, "int8", x, y);
  for (int i = 0; i < device->n_levels; i++) put_slope(file, device, i, x, y);
}

static void put_point(FILE* file, const hone_report_step_t* step, double whole, const axis_t* x,
                      const axis_t* y) {
  char type[64], amount[HONE_AMOUNT_SIZE];
  double share = whole > 0 ? step->seconds / whole : 0;
  hone_step_type(step, type);
  hone_print_seconds(step->seconds, amount);
  fprintf(file, "<circle style=\"--hue:%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"><title>",
          hone_look_hue(type), place(x, intensity(step)), place(y, speed(step)),
          2.5 + 46 * sqrt(share));
  hone_look_text(file, step->origin[0] ? step->origin : step->name);
  fprintf(file, "\n%s, %.1f %% of the run\n%.3g GFLOP/s at %.3g operations a byte", amount,
          100 * share, speed(step), intensity(step));
  if (hone_step_share(step) > 0)
    fprintf(file, "\n%.0f %% of its %s limit", 100 * hone_step_share(step), step->bound);
  fputs("</title></circle>\n", file);
}

void hone_draw_roofline(FILE* file, const hone_report_t* report) {
  const hone_report_device_t* device = hone_report_device(report);
  if (!(device->gflops > 0) || !device->n_levels) return;
  bounds_t b = find_bounds(report);
  axis_t x = across(log10(b.x[0]), log10(b.x[1]), true);
  axis_t y = upward(log10(b.y[0]), log10(b.y[1]), true);
  open_plot(file, "roofline");
  put_grid(file, &x, &y);
  put_roofs(file, device, &x, &y);
  for (int i = 0; i < hone_report_step_count(report); i++)
    if (has_point(hone_report_step(report, i)))
      put_point(file, hone_report_step(report, i), hone_report_times(report)->profiled, &x, &y);
  put_axis_names(file, "operations for each byte that has to be moved", "GFLOP/s");
  close_plot(file,
             "Each circle is a kernel, its area the time that it takes. On a line it does all that "
             "the device can; left of where the lines meet memory is the limit, right of it "
             "arithmetic. Kernels that only move data are not shown.");
}

/* ---- memory ---- */

static void put_scales(FILE* file, const axis_t* x, const axis_t* y, int steps, double bytes) {
  for (int i = 0; i <= 4; i++) {
    char text[HONE_AMOUNT_SIZE];
    double at = place(y, bytes * i / 4);
    put_line(file, "grid", x->start, at, x->end, at);
    hone_print_bytes(bytes * i / 4, text);
    put_label(file, x->start - 6, at + 4, "end", "", text);
  }
  for (int i = 0; i <= 8; i++) {
    char text[32];
    int step = steps * i / 8;
    snprintf(text, sizeof text, "%d", step);
    put_label(file, place(x, step), y->start + 16, "middle", "", text);
  }
  put_label(file, (x->start + x->end) / 2, HEIGHT - 8, "middle", "", "step");
}

static void put_value(FILE* file, const hone_report_value_t* value, double offset, const axis_t* x,
                      const axis_t* y) {
  char amount[HONE_AMOUNT_SIZE];
  double left = place(x, value->begin), right = place(x, value->end + 1);
  double top = place(y, offset + (double)value->bytes), bottom = place(y, offset);
  int hue = (value->begin * 47) % 360;
  hone_print_bytes((double)value->bytes, amount);
  fprintf(file,
          "<rect class=\"value\" style=\"--hue:%d\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
          "height=\"%.2f\"><title>",
          hue, left, top, right - left, bottom - top);
  hone_look_text(file, value->name);
  fprintf(file, "\n%s, steps %d to %d", amount, value->begin, value->end);
  if (value->in_place) fputs(", in place", file);
  fputs("</title></rect>\n", file);
}

void hone_draw_block(FILE* file, const hone_report_t* report) {
  double bytes = (double)hone_report_memory(report)->planned;
  int steps = hone_report_step_count(report);
  if (!(bytes > 0)) return;
  axis_t x = across(0, steps, false), y = upward(0, bytes, false);
  open_plot(file, "the planned block");
  put_scales(file, &x, &y, steps, bytes);
  for (int i = 0; i < hone_report_value_count(report); i++) {
    const hone_report_value_t* value = hone_report_value(report, i);
    for (int b = 0; b < value->blocks && value->is_planned; b++) {
      uint64_t offset = value->block + (uint64_t)b * value->block_bytes + value->offset;
      put_value(file, value, (double)offset, &x, &y);
    }
  }
  close_plot(file,
             "The planned block from bottom to top, steps from left to right. Each box is a value "
             "from the step that makes it to the last that reads it; no two share a place at the "
             "same time, but where one is written in place of another. Steps of a loop follow it "
             "once; threads that share its rounds have a block each.");
}

void hone_draw_memory(FILE* file, const hone_report_t* report) {
  const hone_report_memory_t* memory = hone_report_memory(report);
  double bytes = (double)memory->planned, unshared = (double)memory->unshared;
  int steps = hone_report_step_count(report);
  if (!(bytes > 0)) return;
  axis_t x = across(0, steps, false), y = upward(0, bytes * 1.05, false);
  char caption[256], planned[HONE_AMOUNT_SIZE], without[HONE_AMOUNT_SIZE];
  open_plot(file, "memory over time");
  put_scales(file, &x, &y, steps, bytes);
  fprintf(file, "<path class=\"area\" d=\"M%.1f %.1f", x.start, y.start);
  for (int i = 0; i < steps; i++) {
    double at = place(&y, hone_report_alive(report, i));
    fprintf(file, "L%.2f %.2fL%.2f %.2f", place(&x, i), at, place(&x, i + 1), at);
  }
  fprintf(file, "L%.1f %.1fZ\"/>\n", x.end, y.start);
  put_line(file, "mark", x.start, place(&y, bytes), x.end, place(&y, bytes));
  hone_print_bytes(bytes, planned);
  hone_print_bytes(unshared, without);
  snprintf(caption, sizeof caption,
           "Bytes of values that are alive at each step, and the planned block of %s that holds "
           "them (dashed). Without reuse it would be %s.",
           planned, without);
  close_plot(file, caption);
}
