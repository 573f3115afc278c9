#!/usr/bin/env python3
"""How much of a run's time `hone explain` accounts for, by model and device.

Each model of models.tsv is explained with the inputs of inputs.py. What is kept of it: the time
of a run in microseconds, and the shares of it in named kernels, in steps on strings, sequences or
maps, which run on the host since there is no arithmetic in them to make kernels of, and in other
steps that `ref` runs; all are named, and what is left lies between steps. Kernels and host steps
count as accounted for. The results go to tests/conformance/explain_DEVICE.json, for
docs/support.md, after each model; --missing leaves out those that are there, so that a run that
was ended goes on.

usage: explain_share.py [ci] [more] --device cpu [--only REGEX] [--missing]
"""

import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

import against_ref
import compare
import fetch
import inputs

GOAL = 0.95
FEW, MANY = 4, 60  # runs; many where they are short
SHORT_MS = 10


def explain(command, runs):
    """What `hone explain --json` says."""
    done = subprocess.run([*command, "--runs", str(runs)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    return json.loads(done.stdout)


def explain_model(row, peer, device):
    feeds = inputs.make(row, peer)
    command = [against_ref.COMMAND, "explain", row.file, "--device", device, "--json"]
    with tempfile.TemporaryDirectory() as folder:
        for i, (name, value) in enumerate(feeds.items()):
            path = os.path.join(folder, f"{i}.npy")
            np.save(path, value.astype(str) if value.dtype == object else value)
            command += ["--input", f"{name}={path}"]
        report = explain(command, FEW)
        return explain(command, MANY) if report["times"]["median_ms"] < SHORT_MS else report


def entry_of(row, device):
    """The model's entry of the results."""
    try:
        peer = compare.reference_session(row.file)
    except Exception:  # noqa: BLE001 - whatever it says, it does not load
        why = against_ref.refused(row, device)["error"]
        return {"set": row.set, "error": f"refused, as by ONNX Runtime: {why}"}
    try:
        report = explain_model(row, peer, device)
    except Exception as error:  # noqa: BLE001 - reported per model
        return {"set": row.set, "error": " ".join(str(error).split())[:300]}
    times = report["times"]
    return {"set": row.set, "run_us": round(times["median_ms"] * 1e3, 1),
            "kernels": round(times["kernels_ms"] / times["profiled_ms"], 4),
            "interpreted": round(times["interpreted_ms"] / times["profiled_ms"], 4),
            "host": round(times["host_ms"] / times["profiled_ms"], 4),
            "between": round(times["rest_ms"] / times["profiled_ms"], 4),
            "launches": round(sum(s["runs"] for s in report["steps"] if s["kind"] == "kernel"))}


def shares(entry):
    """(in named kernels and on the host, in all named steps), of 1."""
    return entry["kernels"] + entry.get("host", 0), 1 - entry["between"]


def main():
    args = against_ref.arguments(__doc__)
    rows, _ = fetch.fetch(args.sets)
    fetch.fetch(["pictures"])
    results = against_ref.load(args.device, "explain")
    reached = measured = 0
    for row in sorted(rows, key=lambda row: row.bytes):
        entry = results["models"].get(row.name)
        if not re.search(args.only, row.name):
            continue
        if not (args.missing and entry and "error" not in entry):
            entry = results["models"][row.name] = entry_of(row, args.device)
            against_ref.save(results, "explain")
        if "error" in entry:
            print(f"  none   {row.name}: {entry['error']}", flush=True)
            continue
        accounted, named = shares(entry)
        measured += 1
        reached += accounted >= GOAL
        print(f"{100 * accounted:6.1f} % {row.name}: {100 * named:.1f} % in named steps, "
              f"{entry['run_us']:.0f} us, {entry['launches']:.0f} launches", flush=True)
    print(f"{reached} of {measured} have {100 * GOAL:.0f} % of their time in named kernels, and in "
          "steps on strings, sequences or maps")
    return 0


if __name__ == "__main__":
    sys.exit(main())
