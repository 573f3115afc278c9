/* hone-demo: repaints a photograph, reads a page of text, and writes a report
 * of what ran where, how long and with how much memory. It shows the C API on
 * real work: everything here uses include/hone only. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demo.h"
#include "style.h"

enum { PHOTO_WIDTH = 384, PHOTO_HEIGHT = 256 };

static const char usage[] =
    "usage: hone-demo --style MODEL --detect MODEL --read MODEL --photo FILE --page FILE\n"
    "                 --report FILE [--styles 19,5,15] [--device cpu] [--dump-dir FOLDER]\n"
    "\n"
    "  --style MODEL      the style-transfer network, 26 styles\n"
    "  --detect MODEL     the network that finds lines of text\n"
    "  --read MODEL       the network that reads one line\n"
    "  --photo FILE       PNG or JPEG to repaint\n"
    "  --page FILE        PNG or JPEG to read\n"
    "  --report FILE      the HTML file to write\n"
    "  --styles LIST      up to six numbers of styles, 0 to 25\n"
    "  --device DEVICE    where to run; ref needs no compiler, and takes its time\n"
    "  --dump-dir FOLDER  keep the inputs and outputs of each run there, as .npy\n";

/* ---- the command line ---- */

static const struct option long_options[] = {
    {"style", required_argument, NULL, 's'},
    {"detect", required_argument, NULL, 'd'},
    {"read", required_argument, NULL, 'r'},
    {"photo", required_argument, NULL, 'p'},
    {"page", required_argument, NULL, 'g'},
    {"report", required_argument, NULL, 'o'},
    {"styles", required_argument, NULL, 'n'},
    {"device", required_argument, NULL, 'v'},
    {"dump-dir", required_argument, NULL, 'u'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static bool parse_styles(const char* text, demo_t* demo) {
  demo->n_styles = 0;
  while (demo->n_styles < DEMO_MAX_STYLES) {
    char* end;
    long style = strtol(text, &end, 10);
    if (end == text || style < 0 || style >= STYLE_COUNT) return false;
    demo->styles[demo->n_styles++] = (int)style;
    if (!*end) return true;
    if (*end != ',') return false;
    text = end + 1;
  }
  return false;
}

static bool take_option(int letter, const char* value, demo_t* demo) {
  const struct {
    int letter;
    const char** place;
  } texts[] = {{'s', &demo->nets[0].path}, {'d', &demo->nets[1].path}, {'r', &demo->nets[2].path},
               {'p', &demo->photo_path},   {'g', &demo->page_path},    {'o', &demo->report_path},
               {'v', &demo->device}};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    if (texts[i].letter == letter) {
      *texts[i].place = value;
      return true;
    }
  }
  if (letter == 'n') return parse_styles(value, demo);
  if (letter != 'u') return false;
  for (int i = 0; i < DEMO_NETS; i++) demo->nets[i].dump_dir = value;
  return true;
}

static bool parse(int argc, char** argv, demo_t* demo) {
  int letter;
  while ((letter = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
    if (letter == 'h') {
      fputs(usage, stdout);
      exit(0);
    }
    if (!take_option(letter, optarg, demo)) return false;
  }
  for (int i = 0; i < DEMO_NETS; i++) {
    if (!demo->nets[i].path) return false;
    demo->nets[i].device = demo->device;
  }
  return optind == argc && demo->photo_path && demo->page_path && demo->report_path;
}

/* ---- the work ---- */

static hone_status_t paint(demo_t* demo) {
  image_t whole;
  HONE_TRY(image_load(demo->photo_path, &whole));
  hone_status_t status = image_resize(&whole, PHOTO_WIDTH, PHOTO_HEIGHT, &demo->photo);
  image_free(&whole);
  for (int i = 0; !status && i < demo->n_styles; i++) {
    status = style_apply(&demo->nets[0], &demo->photo, demo->styles[i], &demo->painted[i]);
  }
  return status;
}

static hone_status_t read_page(demo_t* demo) {
  text_lines_t* lines = &demo->lines;
  HONE_TRY(image_load(demo->page_path, &demo->page));
  HONE_TRY(ocr_detect(&demo->nets[1], &demo->page, lines));
  int kept = 0;
  for (int i = 0; i < lines->count; i++) {
    HONE_TRY(ocr_read(&demo->nets[2], &demo->page, &lines->lines[i]));
    if (lines->lines[i].read >= demo_sure_enough) lines->lines[kept++] = lines->lines[i];
  }
  lines->count = kept;
  return NULL;
}

static void print_results(const demo_t* demo) {
  printf("\n%s, read in %d lines\n\n  sure  text\n", demo->page_path, demo->lines.count);
  for (int i = 0; i < demo->lines.count; i++) {
    printf("  %4.2f  %s\n", (double)demo->lines.lines[i].read, demo->lines.lines[i].text);
  }
  printf("\n%-18s %-7s %5s %9s %9s %9s %9s\n", "network", "device", "runs", "load ms", "ready ms",
         "ms a run", "peak MiB");
  for (int i = 0; i < DEMO_NETS; i++) {
    const net_t* net = &demo->nets[i];
    printf("%-18s %-7s %5d %9.0f %9.0f %9.1f %9.1f\n", net->title, net->device, net->runs,
           net->load_ms, net->compile_ms, net->runs ? net->run_ms / net->runs : 0,
           net_peak_mib(net));
  }
}

static hone_status_t run(demo_t* demo) {
  for (int i = 0; i < DEMO_NETS; i++) HONE_TRY(net_open(&demo->nets[i]));
  HONE_TRY(paint(demo));
  HONE_TRY(read_page(demo));
  print_results(demo);
  return report_write(demo->report_path, demo);
}

static void clean_up(demo_t* demo) {
  for (int i = 0; i < DEMO_NETS; i++) net_close(&demo->nets[i]);
  for (int i = 0; i < DEMO_MAX_STYLES; i++) image_free(&demo->painted[i]);
  image_free(&demo->photo);
  image_free(&demo->page);
  text_lines_free(&demo->lines);
}

int main(int argc, char** argv) {
  demo_t demo = {.device = "cpu",
                 .n_styles = 3,
                 .styles = {19, 5, 15},
                 .nets = {{.name = "style", .title = "Style transfer"},
                          {.name = "detect", .title = "Text detection"},
                          {.name = "read", .title = "Text recognition"}}};
  if (!parse(argc, argv, &demo)) {
    fputs(usage, stderr);
    return 2;
  }
  hone_status_t status = run(&demo);
  if (status) {
    hone_code_t reason = hone_status_code(status);
    fprintf(stderr, "hone-demo: %s: %s\n  what to do: %s\n", hone_code_text(reason),
            hone_status_message(status), hone_code_advice(reason));
    if (reason == HONE_UNAVAILABLE && strcmp(demo.device, "ref") != 0)
      fputs("  without a compiler: --device ref interprets the networks, slowly\n", stderr);
  }
  int code = status ? 1 : 0;
  hone_status_free(status);
  clean_up(&demo);
  return code;
}
