#!/usr/bin/env python3
"""Draws the history in bench/results as one HTML page that needs nothing else.

usage: page.py [-o FILE] [RESULTS.json ...]     build/bench.html, of all of bench/results, without any

For each kind of machine: the ratio of the best peer's time to hone's over time, the same for each
model the last time it was measured, and the figures of all peers.
"""

import argparse
import html
import json
import math
import pathlib
import sys

import results

WIDTH, LEFT, RIGHT, TOP, ROW = 880, 300, 60, 26, 22
COLOURS = ("#2563b0", "#c2410c", "#15803d", "#7c3aed", "#b45309", "#0e7490", "#be185d", "#4d7c0f")
DASHES = {"fp32": "", "bf16": "6 3", "int8": "2 3"}
STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #5b6470; --line: #d5dae0; --paper: #fff;
  --good: #15803d; --bad: #b42318; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --soft: #9aa4b0; --line: #333b45;
  --paper: #14181d; --good: #4ade80; --bad: #f87171; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 920px; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.5em; } h2 { font-size: 1.2em; margin-top: 2.2em; } h3 { font-size: 1em; }
p, .soft { color: var(--soft); } svg { max-width: 100%; height: auto; display: block; }
svg text { font: 12px system-ui, sans-serif; fill: var(--ink); } svg .soft { fill: var(--soft); }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: 13px; }
td, th { padding: 2px 8px; text-align: right; border-bottom: 1px solid var(--line);
  white-space: nowrap; font-variant-numeric: tabular-nums; }
td:first-child, th:first-child { text-align: left; } .good { color: var(--good); }
.bad { color: var(--bad); } .best { font-weight: 600; }
"""


def title_of(key):
    model, precision, batch, threads = key
    return f"{model}, {precision}, batch {batch}, {threads} thread{'s' if threads > 1 else ''}"


def ratios(history):
    """{key: [(run's number, row)]} of the rows that have a ratio."""
    found = {}
    for number, run in enumerate(history["runs"]):
        for row in run["rows"]:
            if "ratio" in row:
                found.setdefault(results.key_of(row), []).append((number, row))
    return found


def latest(history):
    """{key: the last row}, and the run that it is of."""
    return {results.key_of(row): (run, row) for run in history["runs"] for row in run["rows"]}


# ---- scales ----

class Scale:
    """A logarithmic axis of ratios, from pixel `start` to pixel `end`, that has 1 on it."""

    def __init__(self, values, start, end):
        low, high = min([0.8, *values]), max([1.25, *values])
        self.low, self.high = math.log(low / 1.05), math.log(high * 1.05)
        self.start, self.end = start, end

    def at(self, value):
        part = (math.log(value) - self.low) / (self.high - self.low)
        return round(self.start + part * (self.end - self.start), 1)

    def ticks(self):
        wanted = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 20, 50, 100)
        found = [value for value in wanted if self.low <= math.log(value) <= self.high]
        return found if len(found) < 9 else [value for value in found if value in (0.1, 0.5, 1, 2, 10)]


def text(x, y, words, anchor="start", kind=""):
    return (f'<text x="{x}" y="{y}" text-anchor="{anchor}" class="{kind}">'
            f'{html.escape(str(words))}</text>')


def rule(x1, y1, x2, y2, strong=False):
    colour = "var(--soft)" if strong else "var(--line)"
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{colour}"/>'


def picture(height, parts, label):
    return (f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{html.escape(label)}">'
            + "".join(parts) + "</svg>")


# ---- ratios over time ----

def dot(x, y, colour, note):
    return (f'<circle cx="{x}" cy="{y}" r="3.5" fill="{colour}"><title>{html.escape(note)}</title>'
            "</circle>")


def curve(points, scale, place, colour, key, runs):
    path = " ".join(f"{place(number)},{scale.at(row['ratio'])}" for number, row in points)
    dash = DASHES.get(key[1], "")
    parts = [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.8" '
             f'stroke-dasharray="{dash}"/>']
    for number, row in points:
        note = f"{title_of(key)}: {row['ratio']:.3f} ({row['best']}), {runs[number]['date']}"
        parts.append(dot(place(number), scale.at(row["ratio"]), colour, note))
    return parts


def spread_labels(labels, gap=14):
    """Labels of the curves' ends, moved apart where they would lie on each other."""
    at = -gap
    for wanted, words, colour in sorted(labels):
        at = max(wanted, at + gap)
        yield at, words, colour


def over_time(history, keys, found):
    """One picture: a curve for each model and precision."""
    runs, left, right, height = history["runs"], 44, 250, 300
    scale = Scale([row["ratio"] for key in keys for _, row in found[key]], height - 30, 14)
    numbers = sorted({number for key in keys for number, _ in found[key]})
    step = (WIDTH - left - right) / max(len(numbers) - 1, 1)
    places = {number: round(left + i * step, 1) for i, number in enumerate(numbers)}
    parts = []
    for value in scale.ticks():
        parts += [rule(left, scale.at(value), WIDTH - right, scale.at(value), value == 1),
                  text(left - 6, scale.at(value) + 4, f"{value:g}", "end", "soft")]
    every = max(1, len(numbers) // 6)
    parts += [text(places[number], height - 8, runs[number]["date"], "middle", "soft")
              for number in numbers[::every]]
    models, labels = sorted({key[0] for key in keys}), []
    for key in keys:
        colour = COLOURS[models.index(key[0]) % len(COLOURS)]
        parts += curve(found[key], scale, places.get, colour, key, runs)
        number, row = found[key][-1]
        labels.append((scale.at(row["ratio"]) + 4, f"{key[0]} {key[1]}  {row['ratio']:.2f}", colour))
    for y, words, colour in spread_labels(labels):
        parts.append(f'<text x="{WIDTH - right + 12}" y="{y}" style="fill:{colour}">'
                     f"{html.escape(words)}</text>")
    return picture(height, parts, "ratio to the best peer over time")


def over_time_all(history, networks):
    found = {key: points for key, points in ratios(history).items() if key[0] in networks}
    groups = sorted({(key[2], key[3]) for key in found})
    for batch, threads in groups:
        keys = sorted(key for key in found if key[2:] == (batch, threads))
        yield (f"<h3>Batch {batch}, {threads} thread{'s' if threads > 1 else ''}</h3>"
               + over_time(history, keys, found))


# ---- each model, the last time ----

def per_model(rows):
    """A line for each: the least and the largest ratio of a round, and a dot for all of them."""
    rows = sorted(rows, key=lambda row: -row["ratio"])
    scale = Scale([row[name] for row in rows for name in ("lowest_ratio", "highest_ratio", "ratio")],
                  LEFT, WIDTH - RIGHT)
    height = TOP + ROW * len(rows) + 6
    parts = []
    for value in scale.ticks():
        parts += [rule(scale.at(value), TOP - 6, scale.at(value), height - 6, value == 1),
                  text(scale.at(value), 13, f"{value:g}", "middle", "soft")]
    for i, row in enumerate(rows):
        y = TOP + ROW * i + ROW // 2
        colour = "var(--good)" if row["ratio"] >= 1 else "var(--bad)"
        name = row["model"] if len(row["model"]) <= 42 else "…" + row["model"][-41:]
        parts += [text(LEFT - 10, y + 4, name, "end"),
                  f'<line x1="{scale.at(row["lowest_ratio"])}" y1="{y}" x2="'
                  f'{scale.at(row["highest_ratio"])}" y2="{y}" stroke="{colour}" stroke-width="2" '
                  'opacity="0.45"/>',
                  dot(scale.at(row["ratio"]), y, colour, f"{row['model']}: {row['ratio']:.3f}"),
                  text(WIDTH - 2, y + 4, f"{row['ratio']:.2f}", "end")]
    return picture(height, parts, "ratio to the best peer by model")


def mean_of(rows):
    return math.exp(sum(math.log(row["ratio"]) for row in rows) / len(rows))


def downloaded(rows):
    for threads in sorted({row["threads"] for row in rows}):
        some = [row for row in rows if row["threads"] == threads]
        least = min(some, key=lambda row: row["ratio"])
        yield (f"<h3>{len(some)} models of tests/models, fp32, {threads} thread"
               f"{'s' if threads > 1 else ''}: geometric mean {mean_of(some):.3f}, least "
               f"{least['ratio']:.3f}</h3>" + per_model(some))


# ---- figures ----

def figure(peer, is_best):
    if peer is None:
        return "<td></td>"
    if peer["state"] != "ok":
        return f'<td class="soft" title="{html.escape(peer.get("why", ""))}">{peer["state"]}</td>'
    return f'<td class="{"best" if is_best else ""}">{peer["median_ms"]:.4g}</td>'


def table_row(key, row, names):
    if "error" in row:
        return (f"<tr><td>{html.escape(title_of(key))}</td><td colspan={len(names) + 3}>"
                f"{html.escape(row['error'][:120])}</td></tr>")
    ratio, hone = row.get("ratio"), row["hone"]
    share = f"{100 * row['limit_ms'] / hone['median_ms']:.0f} %" if (
        row.get("limit_ms") and hone["state"] == "ok") else ""
    kind = "" if ratio is None else "good" if ratio >= 1 else "bad"
    return ("<tr><td>" + html.escape(title_of(key)) + "</td>" + figure(hone, False)
            + f'<td class="{kind}">{"" if ratio is None else f"{ratio:.3f}"}</td><td>{share}</td>'
            + "".join(figure(row.get("peers", {}).get(name), name == row.get("best"))
                      for name in names) + "</tr>")


def table(rows):
    names = sorted({name for _, row in rows.values() for name in row.get("peers", {})})
    head = "".join(f"<th>{html.escape(name)}</th>" for name in ("ms", "hone", "ratio", "limit", *names))
    body = "".join(table_row(key, row, names) for key, (_, row) in sorted(rows.items()))
    return f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>'


# ---- the page ----

def describe(history):
    about, last = history["machine"], history["runs"][-1]
    return (f"<p>{html.escape(about['cpu'])}, {about['cores']} cores, {about['architecture']}: "
            f"{html.escape(', '.join(about['features']))}. Last measured {last['date']}, hone "
            f"{html.escape(last['version'])} at {html.escape(last['commit'])}. "
            f"{html.escape(', '.join(sorted(last['peers'].values())))}.</p>")


def section(kind, history, networks):
    rows = latest(history)
    others = [row for key, (_, row) in rows.items() if key[0] not in networks and "ratio" in row]
    return "".join([f"<h2>{html.escape(kind)}</h2>", describe(history),
                    *over_time_all(history, networks), *downloaded(others), "<h3>Figures</h3>",
                    "<p>Median milliseconds the last time that each was measured. Who is out says why "
                    "when pointed at.</p>", table(rows)])


def page(histories, networks=("resnet50", "mobilenet_v2", "bert_base")):
    body = "".join(section(kind, history, networks) for kind, history in histories
                   if history["runs"]) or "<p>No figures yet: make bench.</p>"
    return (f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" '
            f'content="width=device-width"><title>hone beside its peers</title><style>{STYLE}</style>'
            "<h1>hone beside its peers</h1><p>Ratio: the best peer's median time by hone's, in the same "
            "run, on the same inputs, threads and precision. Above 1 hone is faster. Lines: solid fp32, "
            f"dashed bf16, dotted int8.</p>{body}</html>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", default=str(results.ROOT / "build" / "bench.html"))
    parser.add_argument("results", nargs="*", type=pathlib.Path)
    args = parser.parse_args()
    histories = [(path.stem, json.loads(path.read_text(encoding="utf-8"))) for path in args.results]
    output = pathlib.Path(args.output)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(page(histories if args.results else results.load()), encoding="utf-8")
    print(output)


if __name__ == "__main__":
    sys.exit(main())
