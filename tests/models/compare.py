#!/usr/bin/env python3
"""Runs the models of models.tsv on hone and on ONNX Runtime and compares every output.

ONNX Runtime's graph optimizations are off: one of its fusions is wrong. Its products of
uint8 with int8 saturate on CPUs without VNNI; int8 weights are therefore moved to uint8,
zero point and all, which gives the same true product. Floats must agree within 1e-4 of the tensor's
largest value, integers and strings exactly.

Some nets magnify the rounding of every runtime (a value that is rounded to int8 lands on
the other side of one half, and the layers behind it see a step): where the limit is missed,
the same net is run on ONNX Runtime with weights and inputs moved by at most one unit in the
last place. A difference within TWICE what that alone changes is said to agree "to its
rounding", and told apart in the summary, if also each of its nodes, given the very inputs that
ONNX Runtime had there, gives what ONNX Runtime gave (nodewise.py).

usage: compare.py [ci] [more] [--device ref] [--only REGEX]
"""

import argparse
import os
import re
import sys
import time

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)),
                os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
import fetch  # noqa: E402
import hone_ctypes  # noqa: E402
import inputs  # noqa: E402
import nodewise  # noqa: E402
from exact_products import exact_products  # noqa: E402

LIMIT = 1e-4
ROUNDING_TRIALS = 24


def reference_session(path):
    options = onnxruntime.SessionOptions()

    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    if isinstance(path, str):
        path = exact_products(path)
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def relative_error(want, got):
    """Of floats: the largest difference over the largest value; infinite where shapes, dtypes or
    places of infinities differ. Of others: 0 when equal."""
    if isinstance(want, (list, dict)):
        if type(want) is not type(got) or len(want) != len(got):
            return np.inf
        if isinstance(want, dict):
            if list(want) != list(got):
                return np.inf
            want, got = list(want.values()), list(got.values())
        return max((relative_error(a, b) for a, b in zip(want, got)), default=0)
    if isinstance(want, float):  # ONNX Runtime hands out the floats of maps as Python's
        want, got = np.float64(want), np.float64(got)
    want, got = np.asarray(want), np.asarray(got)
    if want.shape != got.shape:
        return np.inf
    if want.dtype.kind != "f":
        return 0 if np.array_equal(want.astype(object), got.astype(object)) else np.inf
    if want.dtype != got.dtype or want.size == 0:
        return 0 if want.dtype == got.dtype else np.inf
    want, got = want.astype(float), got.astype(float)
    finite = np.isfinite(want)
    if not np.array_equal(finite, np.isfinite(got)):
        return np.inf
    largest = np.max(np.abs(want[finite]), initial=0)
    return np.max(np.abs(want[finite] - got[finite]), initial=0) / max(largest, 1e-30)


def nudge(array, rng):
    """Each float moved by one unit in its last place, up, down or not at all."""
    array = np.asarray(array)
    if array.dtype.kind != "f":
        return array
    towards = np.choose(rng.integers(0, 3, array.shape), [-np.inf, 0, np.inf])
    moved = np.nextafter(array, towards.astype(array.dtype))
    return np.where(towards == 0, array, moved)


def load_exact(row):
    exact = exact_products(row.file)
    return onnx.load(exact) if isinstance(exact, str) else onnx.load_from_string(exact)


def rounding(row, feeds, want):
    """For each output, how far nudged weights and inputs move ONNX Runtime's own result."""
    worst = [0.0] * len(want)
    for trial in range(ROUNDING_TRIALS):
        rng = np.random.default_rng(trial)
        model = load_exact(row)
        sizes = {name for node in model.graph.node if node.op_type in ("Resize", "Upsample")
                 for name in node.input[1:]}
        for tensor in model.graph.initializer:
            if tensor.name in sizes:  # a factor that is a hair smaller makes a picture smaller
                continue
            tensor.CopyFrom(numpy_helper.from_array(nudge(numpy_helper.to_array(tensor), rng),
                                                    tensor.name))
        moved = {name: nudge(value, rng) for name, value in feeds.items()}
        got = reference_session(model.SerializeToString()).run(None, moved)
        worst = [max(w, relative_error(a, b)) for w, a, b in zip(worst, want, got)]
    return worst


def node_by_node(row, feeds, device):
    """(what to say of it, whether all nodes agree)"""
    def run(model, values):
        session = hone_ctypes.Session(model, device)
        return dict(zip(session.outputs, session.run({n: values[n] for n in session.inputs})))

    compared, left_out, worst, where = nodewise.compare(load_exact(row), feeds, reference_session,
                                                        run, relative_error)
    text = f"{compared} nodes one by one: the worst at {worst:.2f} of its limit"
    if worst > 1:
        text += f" ({where})"
    return text + (f", {left_out} left out (no tensors)" if left_out else ""), worst <= 1


def compare(row, device):
    """(state, text) with state ok, rounding, refused (by both) or failed."""
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
    by_name = dict(zip(session.outputs, session.run(feeds)))
    seconds = time.perf_counter() - start
    names = [info.name for info in peer.get_outputs()]
    errors = [relative_error(w, by_name[n]) for n, w in zip(names, want)]
    if max(errors) <= LIMIT:
        return "ok", f"{len(want)} outputs, error {max(errors):.0e} ({seconds:.1f} s)"
    allowed = rounding(row, feeds, want)
    bad = [f"{n}: error {e:.1e}, rounding alone {a:.1e}"
           for n, e, a in zip(names, errors, allowed) if e > max(LIMIT, 2 * a)]
    if bad:
        return "failed", "; ".join(bad)
    text, agree = node_by_node(row, feeds, device)
    text = f"error {max(errors):.1e}; rounding alone gives {max(allowed):.1e}; {text}"
    return "rounding" if agree else "failed", text


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=["ci"])
    parser.add_argument("--device", default="ref")
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    rows, errors = fetch.fetch(args.sets)
    errors += fetch.fetch(["pictures"])[1]
    counts = {"ok": 0, "rounding": 0, "refused": 0, "failed": len(errors)}
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
    print(f"{counts['ok']} agree, {counts['rounding']} to their rounding, {counts['refused']} refused "
          f"by both, {counts['failed']} failed")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
