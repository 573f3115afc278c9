#!/usr/bin/env python3
"""Runs the models of models.tsv on hone and on ONNX Runtime and compares every output.

ONNX Runtime's graph optimizations are off: one of its fusions is wrong. Floats must
agree within 1e-4 of the tensor's largest value, integers and strings exactly.

usage: compare.py [ci] [more] [--device ref] [--only REGEX]
"""

import argparse
import os
import re
import sys
import time

import numpy as np
import onnxruntime

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)),
                os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
import fetch  # noqa: E402
import hone_ctypes  # noqa: E402
import inputs  # noqa: E402

TOLERANCE = {"float32": 1e-4, "float64": 1e-4, "float16": 2e-3}


def reference_session(path):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def difference(want, got):
    """None when equal enough, else what differs."""
    if isinstance(want, (list, dict)):
        return None if repr(want) == repr(got) else "containers differ"
    want, got = np.asarray(want), np.asarray(got)
    if want.shape != got.shape:
        return f"shape {got.shape}, expected {want.shape}"
    if want.dtype.kind != "f":
        same = np.array_equal(want.astype(object), got.astype(object))
        return None if same else f"{np.sum(want != got)} of {want.size} elements differ"
    if want.dtype != got.dtype:
        return f"{got.dtype}, expected {want.dtype}"
    if want.size == 0:
        return None
    want, got, limit = want.astype(float), got.astype(float), TOLERANCE[want.dtype.name]
    if not np.array_equal(np.isfinite(want), np.isfinite(got)):
        return "infinities or NaN at other places"
    finite = np.isfinite(want)
    largest = np.max(np.abs(want[finite]), initial=0)
    error = np.max(np.abs(want[finite] - got[finite]), initial=0)
    return None if error <= limit * max(largest, 1e-30) else f"error {error / largest:.1e} of largest"


def compare(row, device):
    """(state, text) with state ok, refused (both refuse) or failed."""
    try:
        peer = reference_session(row.file)
    except Exception as error:  # noqa: BLE001 - whatever it says, it does not load
        try:
            hone_ctypes.Session(row.file, device)
        except hone_ctypes.HoneError as ours:
            return "refused", f"ONNX Runtime does not load it; hone says: {ours}"
        return "ok", f"ONNX Runtime does not load it ({str(error)[:60]}); hone does"
    feeds = inputs.make(row, peer)
    want = peer.run(None, feeds)
    start = time.perf_counter()
    session = hone_ctypes.Session(row.file, device)
    got = dict(zip(session.outputs, session.run(feeds)))
    seconds = time.perf_counter() - start
    for info, value in zip(peer.get_outputs(), want):
        text = difference(value, got[info.name])
        if text:
            return "failed", f"output {info.name}: {text}"
    return "ok", f"{len(want)} outputs agree ({seconds:.1f} s)"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=["ci"])
    parser.add_argument("--device", default="ref")
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    rows, errors = fetch.fetch(args.sets)
    counts = {"ok": 0, "refused": 0, "failed": len(errors)}
    for text in errors:
        print(f"failed   cannot fetch {text}")
    for row in rows:
        if not re.search(args.only, row.name):
            continue
        try:
            state, text = compare(row, args.device)
        except Exception as error:  # noqa: BLE001 - reported per model
            state, text = "failed", f"{type(error).__name__}: {' '.join(str(error).split())[:400]}"
        counts[state] += 1
        print(f"{state:8} {row.name}: {text}", flush=True)
    print(f"{counts['ok']} agree, {counts['refused']} refused by both, {counts['failed']} failed")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
