#!/usr/bin/env python3
"""What `hone plan` says that a run takes, beside what it takes, for each model.

Each model of models.tsv, and each network of the bench that has been made (with batch 8 too), is
compiled into an engine, planned for the inputs of inputs.py, and run once in a process of its own,
whose memory tests_tools_peak_memory looks at. A model whose inputs do not fit the names of its
sizes is compiled for their sizes alone. What the command itself takes, of a model of one node, does
not count. A run may take 2 % more or less than planned, or FLOOR where that is more: memory comes in
pages. Models of which only a run can tell some sizes are told apart: there the plan must not say
more.

usage: plan_memory.py [ci] [more] [--only REGEX] [--threads 1,2] [--markdown]
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

import compare
import fetch
import inputs

BUILD = os.environ.get("HONE_BUILD_DIR", os.path.join(fetch.ROOT, "build", "release"))
HONE = os.path.join(BUILD, "hone")
PEAK = os.path.join(BUILD, "tests", "tests_tools_peak_memory")
SHARE, FLOOR = 0.02, 64 << 10
NETWORKS = ["resnet50", "mobilenet_v2", "bert_base"]
TOKENS = ["input_ids", "attention_mask", "token_type_ids", "position_ids"]
LENGTH = 128


def hone(*words):
    done = subprocess.run([HONE, *words], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(" ".join(done.stderr.split())[:200])
    return done.stdout


def plan(engine, words):
    """(bytes, whether that is all)."""
    memory = json.loads(hone("plan", engine, *words, "--json"))["memory"]
    return memory["total"], not memory["has_unknown"]


def peak(engine, words):
    done = subprocess.run([PEAK, HONE, "run", engine, *words], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"the run failed: {' '.join(done.stderr.split())[:200]}")
    return int(done.stdout)


def beside(folder):
    """What the command takes whatever the model."""
    import onnx
    from onnx import TensorProto, helper
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [4]) for n in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", ends[:1], ends[1:])
    model, engine = os.path.join(folder, "tiny.onnx"), os.path.join(folder, "tiny.hone")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
              model)
    hone("compile", model, "-o", engine)
    return peak(engine, ["--random"]) - plan(engine, [])[0]


class Case:
    """A model's name and file, and a function that makes its inputs."""

    def __init__(self, name, file, feeds):
        self.name, self.file, self.feeds = name, file, feeds

    def give(self, folder):
        """The words that give its inputs."""
        words = []
        for i, (name, value) in enumerate(self.feeds().items()):
            path = os.path.join(folder, f"{i}.npy")
            np.save(path, value.astype(str) if value.dtype == object else value)
            words += ["--input", f"{name}={path}"]
        return words


def of_models(sets):
    rows, _ = fetch.fetch(sets)
    fetch.fetch(["pictures"])
    return [Case(row.name, row.file,
                 lambda row=row: inputs.make(row, compare.reference_session(row.file)))
            for row in sorted(rows, key=lambda row: row.bytes)]


def network_feeds(name, batch):
    if name == "bert_base":
        return {end: np.zeros((batch, LENGTH), np.int64) for end in TOKENS}
    return {"image": np.zeros((batch, 3, 224, 224), np.float32)}


def of_networks():
    cases = []
    for name in NETWORKS:
        file = os.path.join(fetch.ROOT, "build", "bench", f"{name}.onnx")
        for batch in (1, 8) if os.path.exists(file) else ():
            cases.append(Case(f"{name}, batch {batch}", file,
                              lambda name=name, batch=batch: network_feeds(name, batch)))
    return cases


def judge(took, planned, is_whole):
    """What becomes of it: ok, less, or what is wrong."""
    allowed = max(SHARE * planned, FLOOR)
    if took > planned + allowed:
        return "more" if is_whole else "unknown"
    return "less" if took < planned - allowed else "ok"


def fixed(file, feeds, folder):
    """The model for inputs of these sizes alone: one may give a name to sizes that differ."""
    import onnx
    model = onnx.load(file)
    for end in model.graph.input:
        for dim, extent in zip(end.type.tensor_type.shape.dim, feeds[end.name].shape):
            dim.dim_value = extent
    path = os.path.join(folder, "fixed.onnx")
    onnx.save(model, path)
    return path


def compile_for(case, engine, words, folder):
    hone("compile", case.file, "-o", engine)
    try:
        plan(engine, words)
    except RuntimeError as error:
        if "was compiled for equal sizes" not in str(error):
            raise
        hone("compile", fixed(case.file, case.feeds(), folder), "-o", engine)


def measure(case, threads, own, folder):
    """Rows (threads, planned, took, verdict)."""
    engine = os.path.join(folder, "model.hone")
    words = case.give(folder)
    compile_for(case, engine, words, folder)
    for count in threads:
        planned, is_whole = plan(engine, [*words, "--threads", count])
        took = peak(engine, [*words, "--threads", count]) - own
        yield count, planned, took, judge(took, planned, is_whole)


def show(name, row, markdown):
    count, planned, took, verdict = row
    share = 100 * (took - planned) / planned
    if markdown:
        print(f"| {name} | {count} | {planned / 1e6:.2f} | {took / 1e6:.2f} | {share:+.1f} | "
              f"{verdict} |", flush=True)
    else:
        print(f"{verdict:8} {name}, {count} threads: planned {planned / 1e6:.2f} MB, took "
              f"{took / 1e6:.2f} MB, {share:+.1f} %", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=["ci", "more"])
    parser.add_argument("--only", default="")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--markdown", action="store_true")
    args = parser.parse_args()
    counts = {}
    with tempfile.TemporaryDirectory() as folder:
        own = beside(folder)
        for case in of_models(args.sets) + of_networks():
            if not re.search(args.only, case.name):
                continue
            try:
                for row in measure(case, args.threads.split(","), own, folder):
                    counts[row[-1]] = counts.get(row[-1], 0) + 1
                    show(case.name, row, args.markdown)
            except Exception as error:  # noqa: BLE001 - a model that nothing loads takes nothing
                print(f"none     {case.name}: {error}", flush=True)
    print(", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())))
    return 1 if counts.get("more") or counts.get("less") else 0


if __name__ == "__main__":
    sys.exit(main())
