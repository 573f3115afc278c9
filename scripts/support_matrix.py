#!/usr/bin/env python3
"""Writes docs/support.md from the results that are kept in tests/conformance.

The results come from tests/conformance_run.py (the onnx package's backend tests) and
tests/models/against_ref.py (real models); `make conformance` runs both on all devices first.

usage: support_matrix.py [--check]     --check: fail if the page is not what the results say
"""

import json
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DATA = os.path.join(ROOT, "tests", "conformance")
PAGE = os.path.join(ROOT, "docs", "support.md")
DEVICES = ["ref", "cpu", "opencl"]
GOALS = {"cpu": 99, "opencl": 97}  # percent of what passes on ref
SHARE = 0.95  # of a run's time, that named kernels should account for


def read(kind, device):
    """The results' file, None when it was never run."""
    path = os.path.join(DATA, f"{kind}_{device}.json")
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def table(head, rows, right=()):
    """Lines of a table; columns in `right` are aligned there."""
    lines = ["| " + " | ".join(head) + " |",
             "|" + "|".join("---:" if i in right else "---" for i in range(len(head))) + "|"]
    return lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]


def plain(text, limit=160):
    """Text as the cell of a table."""
    text = " ".join(str(text).split()).replace("|", "\\|").replace("<", "&lt;")
    return text if len(text) <= limit else text[:limit - 1] + "…"


# ---- the onnx package's tests ----


def summary(onnx, cases):
    total = sum(len(names) for names in cases.values())
    of_ref = total - len(onnx["ref"]["failed"])
    rows = []
    for device, results in onnx.items():
        passed = total - len(results["failed"])
        extra = set(results["failed"]) - set(onnx["ref"]["failed"])
        goal = f"{GOALS[device]} %" if device in GOALS else ""
        rows.append([f"`{device}`", passed, total, f"{100 * passed / of_ref:.2f} %", goal,
                     len(extra)])
    return table(["backend", "passed", "cases", "of ref's", "goal", "pass on ref only"], rows,
                 range(1, 6))


def differences(onnx):
    """Each case that passes on ref and not on the device."""
    known, lines = onnx["ref"]["failed"], []
    for device, results in onnx.items():
        if device == "ref":
            continue
        rows = [[f"`{name}`", plain(why)] for name, why in sorted(results["failed"].items())
                if name not in known]
        lines += ["", f"On `{device}`:" + ("" if rows else " none.")]
        lines += ["", *table(["case", "reason"], rows)] if rows else []
    return lines


def operators(onnx, cases):
    rows = []
    for operator in sorted(cases, key=lambda name: (name.startswith("("), name.lower())):
        total, row = len(cases[operator]), [plain(operator)]
        for results in onnx.values():
            passed = total - sum(name in results["failed"] for name in cases[operator])
            row.append(f"{passed}/{total}" if passed == total else f"**{passed}**/{total}")
        rows.append(row)
    return table(["operator"] + [f"`{d}`" for d in onnx], rows, range(1, 1 + len(onnx)))


# ---- models ----

STATES = {"ok": "agrees", "rounding": "to its rounding", "refused": "refused, as by ONNX Runtime",
          "failed": "**no**"}


def model_summary(models):
    rows = []
    for device, results in models.items():
        states = [entry["state"] for entry in results["models"].values()]
        rows.append([f"`{device}`", states.count("ok"), states.count("rounding"),
                     states.count("refused"), states.count("failed"), len(states),
                     sum(e.get("kernels", 0) for e in results["models"].values()),
                     sum(e.get("interpreted", 0) for e in results["models"].values())])
    return table(["backend", "agree", "to their rounding", "refused", "do not", "models", "kernels",
                  "interpreted steps"], rows, range(1, 8))


def model_rows(models):
    names = sorted(set().union(*(results["models"] for results in models.values())))
    rows = []
    for name in names:
        row = [plain(name)]
        for results in models.values():
            entry = results["models"].get(name)
            row.append(f"{STATES[entry['state']]}: {plain(entry['error'], 100)}" if entry else "not run")
        steps = next((e["models"][name] for e in models.values() if name in e["models"]), {})
        row += [steps.get("kernels", ""),
                plain(", ".join(f"{n} {k}" for k, n in steps.get("steps", {}).items()))]
        rows.append(row)
    return table(["model"] + [f"`{d}`" for d in models] + ["kernels", "interpreted"], rows,
                 [1 + len(models)])


def explained_summary(explained):
    rows = []
    for device, results in explained.items():
        entries = [e for e in results["models"].values() if "error" not in e]
        rows.append([f"`{device}`", sum(e["kernels"] >= SHARE for e in entries),
                     sum(e["kernels"] + e.get("host", 0) >= SHARE for e in entries),
                     sum(1 - e["between"] >= SHARE for e in entries), len(entries)])
    return table(["backend", "in named kernels", "with host steps", "in named steps of any kind",
                  "models"], rows, range(1, 5))


def explained_rows(explained):
    rows = []
    for name in sorted(set().union(*(results["models"] for results in explained.values()))):
        row = [plain(name)]
        for results in explained.values():
            e = results["models"].get(name, {"error": "not run"})
            if "error" in e:
                row += ["", "", plain(e["error"], 60)]
            else:
                host = f" + {100 * e['host']:.1f} %" if e.get("host") else ""
                row += [f"{100 * e['kernels']:.1f} %{host}", f"{100 * (1 - e['between']):.1f} %",
                        f"{e['run_us']:.0f}"]
        rows.append(row)
    head = [f"`{d}`: {what}" for d in explained for what in ("kernels", "steps", "us")]
    return table(["model"] + head, rows, range(1, 1 + len(head)))


# ---- the page ----

HEAD = """# What works where

Generated by `make support-matrix` from the results in `tests/conformance`; `make conformance`
makes them anew. [conformance.md](conformance.md) says why a case does not pass on `ref`."""

ONNX = """## The onnx package's backend tests

Version {version}: node, simple, pytorch-operator and pytorch-converted, with the light models.
Expanded cases count with the operator that they spell out."""

MODELS = """## Real models

The sets `ci` and `more` of `tests/models/models.tsv` against `ref`: floats within 1e-3 of the
tensor's largest value, all else exactly. *To its rounding*: further off than that, but no further
than twice what moving weights and inputs by one unit in the last place changes. Interpreted
steps are what no kernel expresses: `ref` runs them."""


EXPLAINED = """## What `hone explain` accounts for

Of the same models: how many have 95 % of a run's time in named kernels, in these and in steps on
strings, sequences or maps, which have no arithmetic to make kernels of (host steps), and in steps
that have a name (interpreted steps, loops with what they take themselves). Below, the shares of
each, and the microseconds of a run; the rest lies between steps. `make explain-share` measures
them."""


def page():
    onnx = {d: r for d in DEVICES if (r := read("onnx", d))}
    cases = read("onnx", "cases")
    models = {d: r for d in DEVICES if (r := read("models", d))}
    lines = [HEAD, "", ONNX.format(version=onnx["ref"]["onnx"]), ""]
    lines += summary(onnx, cases)
    lines += ["", "### What passes on `ref` and not elsewhere"] + differences(onnx)
    if models:
        lines += ["", MODELS, ""] + model_summary(models) + [""] + model_rows(models)
    explained = {d: r for d in DEVICES if (r := read("explain", d))}
    if explained:
        lines += ["", EXPLAINED, ""] + explained_summary(explained)
        lines += [""] + explained_rows(explained)
    lines += ["", "## Operators", "",
              "Cases that pass, of those there are; bold where some do not.", ""] + operators(onnx, cases)
    return "\n".join(lines) + "\n"


def main():
    text = page()
    if "--check" in sys.argv[1:]:
        with open(PAGE, encoding="utf-8") as file:
            same = file.read() == text
        print("docs/support.md is " + ("up to date" if same else "not what the results say: "
                                       "run make support-matrix"))
        return 0 if same else 1
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(text)
    print(f"wrote {os.path.relpath(PAGE, os.getcwd())}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
