"""Compares what the demo's networks gave with ONNX Runtime on the same inputs.

hone-demo --dump-dir leaves NETWORK-RUN.in.INPUT.npy and NETWORK-RUN.out.npy of
each run. Outputs must agree within 1e-4 of their largest value; ONNX Runtime's
graph optimizations are off.

usage: demo_check.py FOLDER
"""

import collections
import glob
import os
import re
import sys

import numpy as np
import onnxruntime

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "models"))
import fetch  # noqa: E402

LIMIT = 1e-4
MODELS = {"style": "multistyle26.onnx", "detect": "PP-OCRv6_det_tiny.onnx",
          "read": "PP-OCRv6_rec_tiny.onnx"}


def model_path(network):
    return next(row.file for row in fetch.rows(["demo"]) if row.file.endswith(MODELS[network]))


def reference(network):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model_path(network), options,
                                        providers=["CPUExecutionProvider"])


def run_error(session, stem):
    """The largest difference in one run, as a part of the output's largest value."""
    feeds = {each.name: np.load(f"{stem}.in.{each.name}.npy") for each in session.get_inputs()}
    want, = session.run(None, feeds)
    got = np.load(f"{stem}.out.npy")
    if want.shape != got.shape or not np.isfinite(got).all():
        return np.inf
    return float(np.max(np.abs(want - got)) / np.max(np.abs(want)))


def errors(folder):
    """{network: [error of each run]}"""
    sessions, found = {}, collections.defaultdict(list)
    for path in sorted(glob.glob(os.path.join(folder, "*.out.npy"))):
        stem = path.removesuffix(".out.npy")
        network = re.match(r"[a-z]+", os.path.basename(stem)).group()
        if network not in sessions:
            sessions[network] = reference(network)
        found[network].append(run_error(sessions[network], stem))
    return dict(found)


def main(folder):
    found = errors(folder)
    for network, worst in found.items():
        print(f"{MODELS[network]:26} {len(worst):2} runs, error {max(worst):.1e} of the largest value")
    missing = set(MODELS) - set(found)
    bad = [network for network, worst in found.items() if max(worst) > LIMIT]
    if missing or bad:
        print(f"demo_check: no runs of {sorted(missing)}, more than {LIMIT:g} in {bad}")
        return 1
    print(f"all within {LIMIT:g}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
