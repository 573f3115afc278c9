"""Whole networks with random weights: hone beside ONNX Runtime, in one run on the same inputs.

usage: models.py [--threads N] [--rounds N] [--opencl] [--save] [MODEL ...]

MODEL is resnet50, mobilenet_v2 or bert_base; all three without any. Models are made on demand in
build/bench. Prints seconds of the first compilation (empty cache), of the second, and of a run:
peers take turns in rounds, and each one's figure is the best of its rounds' medians. --opencl
measures hone's own OpenCL device too. --save keeps the figures in bench/results/models.json, with
the machine they are of. On a busy machine: chrt -f 10 python bench/models.py.
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnxruntime

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
os.environ.setdefault("HONE_LIBRARY", str(ROOT / "build" / "release" / "libhone.so"))
import hone_ctypes  # noqa: E402

RESULT = ROOT / "bench" / "results" / "models.json"
LENGTH, PAUSE, TOLERANCE = 128, 0.2, 1e-3
FEATURES = ("avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16",
            "avx512_fp16", "avx_vnni", "amx_tile", "amx_int8", "amx_bf16", "asimd", "asimddp", "bf16")


def image(random):
    return {"image": random.standard_normal((1, 3, 224, 224), np.float32)}


def sentence(random):
    return {"input_ids": random.integers(0, 30522, (1, LENGTH)),
            "attention_mask": np.ones((1, LENGTH), np.int64),
            "token_type_ids": np.zeros((1, LENGTH), np.int64),
            "position_ids": np.arange(LENGTH)[None]}


MODELS = {
    "resnet50": (["make_resnet.py", "--model", "resnet50"], image),
    "mobilenet_v2": (["make_resnet.py", "--model", "mobilenet_v2"], image),
    "bert_base": (["make_bert.py"], sentence),
}


def path_of(name):
    path = ROOT / "build" / "bench" / f"{name}.onnx"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        script, *arguments = MODELS[name][0]
        subprocess.run([sys.executable, ROOT / "bench" / script, *arguments, path], check=True)
    return str(path)


class Hone:
    def __init__(self, path, device, threads):
        times = []
        with tempfile.TemporaryDirectory() as cache:
            os.environ["HONE_CACHE"] = cache
            for _ in range(2):
                start = time.perf_counter()
                self.session = hone_ctypes.Session(path, device, threads)
                times.append(time.perf_counter() - start)
        self.cold_seconds, self.warm_seconds = times

    def run(self, feeds):
        return self.session.run(feeds)


class OnnxRuntime:
    def __init__(self, path, threads):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])

    def run(self, feeds):
        return self.session.run(None, feeds)


def round_of(runner, feeds, seconds):
    """Median time of runs that take so many seconds together."""
    time.sleep(PAUSE)  # until the other's threads have gone to sleep
    runner.run(feeds)
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 3:
        start = time.perf_counter()
        runner.run(feeds)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def compare(name, args):
    path, feeds = path_of(name), MODELS[name][1](np.random.default_rng(1))
    runners = {"onnxruntime": OnnxRuntime(path, args.threads), "cpu": Hone(path, "cpu", args.threads)}
    if args.opencl:
        runners["opencl"] = Hone(path, "opencl", args.threads)
    want = runners["onnxruntime"].run(feeds)
    row = {"model": name, "threads": args.threads}
    for device, runner in runners.items():
        got = runner.run(feeds)
        error = max(float(np.abs(a - b).max() / (np.abs(a).max() + 1e-6)) for a, b in zip(want, got))
        if not error <= TOLERANCE:
            sys.exit(f"{name} on {device}: results differ by {error:.2g} of the largest one")
    best = dict.fromkeys(runners, float("inf"))
    for _ in range(args.rounds):
        for device, runner in runners.items():
            best[device] = min(best[device], round_of(runner, feeds, args.seconds))
    for device, runner in runners.items():
        row[f"{device}_ms"] = round(best[device] * 1e3, 3)
        if isinstance(runner, Hone):
            row[f"{device}_cold_s"] = round(runner.cold_seconds, 3)
            row[f"{device}_warm_s"] = round(runner.warm_seconds, 3)
    row["ratio"] = round(best["cpu"] / best["onnxruntime"], 3)
    if args.opencl:
        row["opencl_to_cpu"] = round(best["opencl"] / best["cpu"], 3)
    return row


def machine():
    info = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    fields = dict(line.split(":", 1) for line in info.replace("\t", "").splitlines() if ":" in line)
    flags = fields.get("flags", fields.get("Features", "")).split()
    return {"cpu": fields.get("model name", platform.machine()).strip(),
            "features": [name for name in FEATURES if name in flags],
            "cores": len(os.sched_getaffinity(0)), "architecture": platform.machine(),
            "load_average": round(os.getloadavg()[0], 1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="MODEL", help=", ".join(MODELS))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each round")
    parser.add_argument("--opencl", action="store_true")
    parser.add_argument("--save", action="store_true")
    args = parser.parse_args()
    if unknown := set(args.models) - set(MODELS):
        parser.error(f"no such model: {', '.join(sorted(unknown))}")
    rows = []
    for name in args.models or MODELS:
        rows.append(compare(name, args))
        print(json.dumps(rows[-1]), flush=True)
    if args.save:
        result = {"benchmark": "models", "onnxruntime": onnxruntime.__version__,
                  "version": (ROOT / "VERSION").read_text(encoding="utf-8").strip(),
                  "date": time.strftime("%Y-%m-%d", time.gmtime()), "machine": machine(), "rows": rows}
        RESULT.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
