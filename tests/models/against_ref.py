#!/usr/bin/env python3
"""Runs the models of models.tsv on a device and compares every output with what `ref` gives.

Floats must agree within 1e-3 of the tensor's largest value, all else exactly. Where they do not,
the difference may be no more than twice what moving weights and inputs by one unit in the last
place changes (compare.py has the reasons): "to its rounding". A model that ONNX Runtime cannot load
must be refused here too. What `ref` gave is kept in
build/models/.ref, so that the next device has it. The results go to
tests/conformance/models_DEVICE.json, for docs/support.md, or to the folder that HONE_CONFORMANCE
names; a run of some of the models changes only theirs; --missing runs those that have none, so that
a run that was ended goes on.

usage: against_ref.py [ci] [more] --device cpu [--only REGEX] [--missing]
"""

import argparse
import collections
import json
import os
import pickle
import re
import subprocess
import sys
import time

import numpy as np

import compare
import fetch
import hone_ctypes
import inputs

LIMIT = 1e-3
RESULTS = os.environ.get("HONE_CONFORMANCE", os.path.join(os.path.dirname(fetch.HERE), "conformance"))
COMMAND = os.environ.get("HONE_COMMAND", os.path.join(fetch.ROOT, "build", "release", "hone"))
# Nodes of a compiled graph that are no interpreted step.
RUN_OTHERWISE = {"input", "constant", "call", "reshape", "bitcast", "if", "loop", "dims"}


def of_ref(row, feeds):
    """What `ref` gives, from the last time if the model is the same."""
    if os.path.exists(row.ref):
        with open(row.ref, "rb") as file:
            return pickle.load(file)
    session = hone_ctypes.Session(row.file, "ref")
    want = dict(zip(session.outputs, session.run(feeds)))
    os.makedirs(os.path.dirname(row.ref), exist_ok=True)
    with open(row.ref + ".part", "wb") as file:
        pickle.dump(want, file)
    os.replace(row.ref + ".part", row.ref)
    return want


def interpreted(row, device):
    """{primitive, or operator of the host: how many steps} of the compiled graph."""
    done = subprocess.run([COMMAND, "compile", "--device", device, "--dump", "ir", row.file],
                          capture_output=True, text=True)
    fused = done.stdout.split("== ir fused", 1)[-1].split("\n==", 1)[0]
    counts, inside = collections.Counter(), None
    for line in fused.splitlines():
        indent = len(line) - len(line.lstrip())
        if inside is not None and indent > inside:
            continue
        inside = None
        match = re.match(r"\s*%.* = (\w+)(?: |$)", line)
        if not match:
            continue
        if match.group(1) == "call":
            inside = indent
        elif match.group(1) == "host":
            name = re.search(r' op="(\w+)"', line)
            counts[name.group(1) if name else "host"] += 1
        elif match.group(1) not in RUN_OTHERWISE:
            counts[match.group(1)] += 1
    return dict(sorted(counts.items()))


def judge(row, feeds, want, got, peer):
    """(state, text) with state ok, rounding or failed."""
    errors = {n: compare.relative_error(want[n], got[n]) for n in want}
    worst = max(errors.values(), default=0)
    if worst <= LIMIT:
        return "ok", f"{worst:.0e}"
    names = [info.name for info in peer.get_outputs()]
    allowed = dict(zip(names, compare.rounding(row, feeds, peer.run(None, feeds))))
    bad = [f"{n}: {e:.1e}, rounding alone {allowed[n]:.1e}" for n, e in errors.items()
           if e > max(LIMIT, 2 * allowed[n])]
    if bad:
        return "failed", "; ".join(bad)
    return "rounding", f"{worst:.0e}; rounding alone {max(allowed.values()):.0e}"


def refused(row, device):
    """The entry of a model that ONNX Runtime does not load: hone must say why it does not either."""
    try:
        hone_ctypes.Session(row.file, device)
    except hone_ctypes.HoneError as error:
        return {"set": row.set, "state": "refused", "error": " ".join(str(error).split())[:300]}
    return {"set": row.set, "state": "failed", "error": "ONNX Runtime does not load it; hone does"}


def run(row, device):
    """The model's entry of the results."""
    try:
        peer = compare.reference_session(row.file)
    except Exception:  # noqa: BLE001 - whatever it says, it does not load
        return refused(row, device), 0
    feeds = inputs.make(row, peer)
    want = of_ref(row, feeds)
    start = time.perf_counter()
    session = hone_ctypes.Session(row.file, device)
    got = dict(zip(session.outputs, session.run(feeds)))
    seconds = time.perf_counter() - start
    state, text = judge(row, feeds, want, got, peer)
    info = session.describe()
    return {"set": row.set, "state": state, "error": text, "kernels": info.n_kernels,
            "interpreted": info.n_interpreted,
            "steps": interpreted(row, device) if info.n_interpreted else {}}, seconds


def entry_of(row, device):
    try:
        return run(row, device)
    except Exception as error:  # noqa: BLE001 - reported per model
        text = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        return {"set": row.set, "state": "failed", "error": text}, 0


def path_of(device, kind):
    return os.path.join(RESULTS, f"{kind}_{device.replace(':', '-')}.json")


def load(device, kind="models"):
    """The results that are kept of a device."""
    path = path_of(device, kind)
    if not os.path.exists(path):
        return {"device": device, "models": {}}
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def save(results, kind="models"):
    results["models"] = dict(sorted(results["models"].items()))
    path = path_of(results["device"], kind)
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1)
        file.write("\n")
    os.replace(path + ".part", path)


def arguments(description):
    """What this program and its twins over the same models are told."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("sets", nargs="*", default=["ci", "more"])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", default="")
    parser.add_argument("--missing", action="store_true")
    return parser.parse_args()


def main():
    args = arguments(__doc__)
    rows, errors = fetch.fetch(args.sets)
    errors += fetch.fetch(["pictures"])[1]
    counts = collections.Counter(failed=len(errors))
    for text in errors:
        print(f"failed   cannot fetch {text}")
    results = load(args.device)
    for row in sorted(rows, key=lambda row: row.bytes):
        kept = args.missing and row.name in results["models"]
        if kept or not re.search(args.only, row.name):
            continue
        entry, seconds = entry_of(row, args.device)
        results["models"][row.name] = entry
        counts[entry["state"]] += 1
        print(f"{entry['state']:8} {row.name}: {entry['error']} ({entry.get('kernels', 0)} kernels, "
              f"{entry.get('interpreted', 0)} interpreted {entry.get('steps') or ''}, "
              f"{seconds:.0f} s)", flush=True)
        save(results)
    print(f"{counts['ok']} agree with ref, {counts['rounding']} to their rounding, "
          f"{counts['refused']} refused by both, {counts['failed']} failed")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
