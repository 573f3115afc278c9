#include "look.h"

#include <string.h>

const char hone_look_style[] =
    ":root{color-scheme:light dark;--paper:#f6f5f2;--card:#fff;--ink:#1c1f24;--soft:#667;"
    "--line:#dddbd5;--mark:#c2410c;--tint:62%;--deep:44%}\n"
    "@media (prefers-color-scheme:dark){:root{--paper:#14161a;--card:#1d2026;--ink:#e7e6e2;"
    "--soft:#9aa;--line:#343942;--mark:#fb923c;--tint:30%;--deep:62%}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0 auto;padding:2rem 1.5rem 4rem;max-width:1180px;background:var(--paper);"
    "color:var(--ink);font:15px/1.5 system-ui,sans-serif}\n"
    "h1{font-size:1.9rem;margin:0}h2{font-size:1.25rem;margin:2.4rem 0 .6rem}"
    "h3{font-size:1rem;margin:1.4rem 0 .4rem}\n"
    "p{margin:.3rem 0 .8rem}.soft{color:var(--soft)}\n"
    ".row{display:grid;gap:1rem;grid-template-columns:repeat(auto-fit,minmax(250px,1fr))}\n"
    ".two{display:grid;gap:1rem;grid-template-columns:minmax(0,9fr) minmax(0,11fr);"
    "align-items:start}@media (max-width:800px){.two{grid-template-columns:1fr}}\n"
    ".card,figure{background:var(--card);border:1px solid var(--line);border-radius:10px;"
    "padding:.8rem;margin:0;overflow:auto}\n"
    "figure img,figure svg{display:block;width:100%;height:auto;border-radius:5px}\n"
    "figcaption{margin-top:.5rem;font-size:.87rem;color:var(--soft)}\n"
    "table{border-collapse:collapse;width:100%;font-size:.87rem;"
    "font-variant-numeric:tabular-nums}\n"
    "th,td{text-align:left;padding:.28rem .6rem;border-bottom:1px solid var(--line)}\n"
    "th{position:sticky;top:0;background:var(--card);cursor:pointer;white-space:nowrap}\n"
    "td.n,th.n{text-align:right}td.name{word-break:break-all;min-width:17rem}\n"
    ".scroll{max-height:430px;overflow:auto;padding:0}.low{max-height:330px}\n"
    ".bar{display:block;height:.6rem;min-width:1px;border-radius:3px;"
    "background:hsl(var(--hue) 60% var(--deep))}\n"
    "td.wide{width:38%}.gain{display:grid;align-items:center;"
    "grid-template-columns:6.5rem 4.5rem 1fr;gap:.6rem}.gain .ms{text-align:right}\n"
    ".box{fill:none;stroke:var(--mark);stroke-width:1.4}"
    ".boxnumber{fill:var(--mark);font:700 9px system-ui}\n"
    ".graph{display:block;font:10px system-ui}.graph rect.node{"
    "fill:hsl(var(--hue) 50% var(--tint));stroke:var(--line)}\n"
    ".graph text{fill:var(--ink)}.graph rect.heat{fill:var(--mark)}\n"
    ".graph path{fill:none;stroke:var(--soft);stroke-opacity:.55}\n"
    "details>summary{cursor:pointer;font-weight:600;margin:1rem 0 .4rem}\n";

const char hone_look_script[] =
    "for (const head of document.querySelectorAll('table.sort th')) {\n"
    "  head.addEventListener('click', () => {\n"
    "    const table = head.closest('table'), body = table.tBodies[0];\n"
    "    const column = [...head.parentNode.children].indexOf(head);\n"
    "    const down = head.dataset.down !== 'yes';\n"
    "    head.dataset.down = down ? 'yes' : 'no';\n"
    "    const value = row => row.cells[column].dataset.value ?? row.cells[column].textContent;\n"
    "    const order = (a, b) => {\n"
    "      const x = value(a), y = value(b);\n"
    "      return (x - y || x.localeCompare(y)) * (down ? -1 : 1);\n"
    "    };\n"
    "    body.append(...[...body.rows].sort(order));\n"
    "  });\n"
    "}\n";

/* ---- text ---- */

static const char* entity(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return NULL;
  }
}

void hone_look_text(FILE* file, const char* text) {
  for (; *text; text++) {
    const char* name = entity(*text);
    if (name)
      fputs(name, file);
    else
      fputc(*text, file);
  }
}

/* ---- colours ---- */

/* One hue for a family: products, activations, arithmetic, reductions, movement. */
static const struct {
  int hue;
  const char* op_types; /* with a blank around each */
} families[] = {
    {215, " Conv ConvTranspose MatMul Gemm "},
    {20, " Relu HardSigmoid Sigmoid Erf Softmax Clip Tanh Gelu "},
    {145, " Add Sub Mul Div Pow Sqrt "},
    {285, " ReduceMean ReduceSum MaxPool AveragePool GlobalAveragePool BatchNormalization "},
    {50, " Reshape Transpose Pad Concat Slice Resize Squeeze Unsqueeze Identity Cast "},
};

int hone_look_hue(const char* op_type) {
  char word[64];
  snprintf(word, sizeof word, " %.60s ", op_type);
  for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
    if (strstr(families[i].op_types, word)) return families[i].hue;
  }
  return 0;
}
