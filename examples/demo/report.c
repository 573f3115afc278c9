/* The report as a whole: pictures, the page with its lines, and each network. */
#include "report.h"

#include <errno.h>
#include <string.h>

static void opening(FILE* file, const demo_t* demo) {
  fputs(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\"><title>hone: the demo</title>\n"
      "<style>\n",
      file);
  fputs(hone_look_style, file);
  fputs("</style></head><body>\n<h1>hone: three networks, two pictures</h1>\n", file);
  fprintf(file, "<p class=\"soft\">hone %s on device <b>", hone_version());
  hone_look_text(file, demo->device);
  fputs(
      "</b>. Each node ran where this page says; none fell back to another place.</p>\n"
      "<!-- gains -->\n",
      file);
}

/* ---- the photograph ---- */

static hone_status_t picture(FILE* file, const image_t* image, const char* caption) {
  fputs("<figure><img alt=\"", file);
  hone_look_text(file, caption);
  fprintf(file, "\" width=\"%d\" height=\"%d\" src=\"", image->width, image->height);
  hone_status_t status = html_image(file, image);
  fputs("\"><figcaption>", file);
  hone_look_text(file, caption);
  fputs("</figcaption></figure>\n", file);
  return status;
}

static hone_status_t pictures(FILE* file, const demo_t* demo) {
  fputs("<h2>A photograph, before and after</h2>\n<div class=\"row\">\n", file);
  HONE_TRY(picture(file, &demo->photo, "before"));
  for (int i = 0; i < demo->n_styles; i++) {
    char caption[32];
    snprintf(caption, sizeof caption, "style %d", demo->styles[i]);
    HONE_TRY(picture(file, &demo->painted[i], caption));
  }
  fputs("</div>\n", file);
  return NULL;
}

/* ---- the page ---- */

static void draw_box(FILE* file, const text_line_t* line, int number) {
  const point_t* corner = line->box.corner;
  fputs("<g><title>", file);
  hone_look_text(file, line->text);
  fputs("</title><polygon class=\"box\" points=\"", file);
  for (int i = 0; i < 4; i++) {
    fprintf(file, "%.1f,%.1f ", (double)corner[i].x, (double)corner[i].y);
  }
  fprintf(file,
          "\"/><text class=\"boxnumber\" text-anchor=\"end\" x=\"%.1f\" y=\"%.1f\">%d</text>"
          "</g>\n",
          (double)corner[0].x - 3, (double)(corner[0].y + corner[3].y) / 2 + 3, number);
}

static hone_status_t page_overlay(FILE* file, const demo_t* demo) {
  const image_t* page = &demo->page;
  const int margin = 16;
  fprintf(file,
          "<figure><svg viewBox=\"%d 0 %d %d\" role=\"img\"><image width=\"%d\" "
          "height=\"%d\" href=\"",
          -margin, page->width + margin, page->height, page->width, page->height);
  HONE_TRY(html_image(file, page));
  fputs("\"/>\n", file);
  for (int i = 0; i < demo->lines.count; i++) draw_box(file, &demo->lines.lines[i], i + 1);
  fputs("</svg><figcaption>the page, with the lines that were found</figcaption></figure>\n", file);
  return NULL;
}

static void page_text(FILE* file, const demo_t* demo) {
  fputs(
      "<div class=\"card\"><table><thead><tr><th class=\"n\">line</th><th>text that was read</th>"
      "<th class=\"n\">found</th><th class=\"n\">read</th></tr></thead><tbody>\n",
      file);
  for (int i = 0; i < demo->lines.count; i++) {
    const text_line_t* line = &demo->lines.lines[i];
    fprintf(file, "<tr><td class=\"n\">%d</td><td>", i + 1);
    hone_look_text(file, line->text);
    fprintf(file, "</td><td class=\"n\">%.2f</td><td class=\"n\">%.2f</td></tr>\n",
            (double)line->found, (double)line->read);
  }
  fputs(
      "</tbody></table><p class=\"soft\">Two networks did this: one found the lines, one read "
      "each. The numbers are their certainty, 0 to 1.</p></div>\n",
      file);
}

static hone_status_t page(FILE* file, const demo_t* demo) {
  fputs("<h2>A page, read</h2>\n<div class=\"two\">\n", file);
  HONE_TRY(page_overlay(file, demo));
  page_text(file, demo);
  fputs("</div>\n", file);
  return NULL;
}

/* ---- the networks ---- */

static void net_heading(FILE* file, const report_graph_t* graph) {
  const net_t* net = graph->net;
  int moving = 0, ran = 0, joined = 0;
  hone_session_info_t info;
  hone_session_describe(net->session, &info);
  for (int i = 0; i < graph->count; i++) {
    moving += graph->nodes[i].moves_data;
    ran += graph->nodes[i].cost != NULL;
    joined += graph->nodes[i].partner != NULL;
  }
  fputs("<h2>", file);
  hone_look_text(file, net->title);
  const char* slash = strrchr(net->path, '/');
  fputs("</h2>\n<p><code>", file);
  hone_look_text(file, slash ? slash + 1 : net->path);
  fprintf(file, "</code>: %d nodes, %d of them ran on <b>", graph->count, ran);
  hone_look_text(file, net->device);
  fputs("</b>", file);
  if (info.n_kernels)
    fprintf(file, " and %d with them, in %d kernels for <code>%s</code>", joined, info.n_kernels,
            info.target);
  fprintf(file,
          "; loaded in %.0f ms, made ready in %.0f ms; %d run%s of %.1f ms, each step timed; at "
          "most %.1f MiB of memory.</p>\n",
          net->load_ms, net->compile_ms, net->runs, net->runs == 1 ? "" : "s",
          net->runs ? net->run_ms / net->runs : 0, net_peak_mib(net));
  fprintf(file,
          "<h3>The graph</h3>\n<p class=\"soft\">The %d nodes on the way from input to "
          "output, left to right, band after band. The line at the foot of a node is its time "
          "beside the slowest. The other nodes prepare weights.</p>\n",
          moving);
}

static hone_status_t net_body(FILE* file, const report_graph_t* graph) {
  net_heading(file, graph);
  HONE_TRY(report_graph_draw(file, graph));
  fputs("<h3>Time and memory by type of node</h3>\n", file);
  HONE_TRY(report_kinds(file, graph));
  report_nodes(file, graph);
  return NULL;
}

static hone_status_t network(FILE* file, const net_t* net) {
  report_graph_t graph;
  hone_status_t status = report_graph_make(net, &graph);
  if (!status) status = net_body(file, &graph);
  report_graph_free(&graph);
  return status;
}

static hone_status_t write_all(FILE* file, const demo_t* demo) {
  opening(file, demo);
  HONE_TRY(pictures(file, demo));
  HONE_TRY(page(file, demo));
  for (int i = 0; i < DEMO_NETS; i++) HONE_TRY(network(file, &demo->nets[i]));
  fputs(
      "<p class=\"soft\">Times are sums over all runs; results are the fresh memory that a node's "
      "results took in one run. A click on a table's head sorts it.</p>\n<script>\n",
      file);
  fputs(hone_look_script, file);
  fputs("</script></body></html>\n", file);
  return NULL;
}

hone_status_t report_write(const char* path, const demo_t* demo) {
  char part[4096];
  if (snprintf(part, sizeof part, "%s.part", path) >= (int)sizeof part) {
    return hone_status_make(HONE_INVALID_ARGUMENT, "%s: the path is too long", path);
  }
  FILE* file = fopen(part, "w");
  if (!file) return hone_status_make(HONE_IO, "%s: cannot create: %s", part, strerror(errno));
  hone_status_t status = write_all(file, demo);
  bool written = !ferror(file);
  written = fclose(file) == 0 && written;
  if (!status && (!written || rename(part, path) != 0)) {
    status = hone_status_make(HONE_IO, "%s: cannot write: %s", path, strerror(errno));
  }
  if (status) remove(part);
  return status;
}
