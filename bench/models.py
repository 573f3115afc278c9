"""Models on hone beside peers, in one run, on the same inputs: `hone bench --vs`, many times.

usage: models.py [MODEL ...]                  resnet50, mobilenet_v2, bert_base: all without any
       models.py --downloaded [--only REGEX]  instead: the models of tests/models, fp32, batch 1

    --vs PEER,PEER,...      onnxruntime without it; all: every one of bench/peers
    --precision WORD,...    fp32, bf16, int8 (quantized by ONNX Runtime's quantizer)
    --batch N,...  --threads N,...
    --rounds N --seconds S  turns of each, and how long each turn takes
    --also DEVICE           hone on another device too: opencl
    --user-cache            with the tuning and kernels that you have, not from an empty cache
    --json                  a line of JSON for each instead of a table
    --save                  append to the history of this kind of machine in bench/results

RATIO is the best peer's time by hone's, the median of the rounds: above 1 hone is the faster one.
Rounds that disagree are followed by others, up to four times as many. Of several rows the
geometric mean and the least are said. On a busy machine: chrt -f 10 python bench/models.py.
"""

import argparse
import contextlib
import functools
import itertools
import json
import math
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap

import numpy as np

import results
import workloads

ROOT = workloads.ROOT
HONE = pathlib.Path(os.environ.get("HONE_BUILD_DIR", ROOT / "build" / "release")) / "hone"
# A quantized model rounds between layers: a last bit that differs becomes a whole step.
QUANTIZED = 0.1
TELLING_ERROR = 1e-4  # in f32; closer ones need no words
CLEAR_SHARE = 0.4  # of ONNX Runtime's time from file to first answer
CHEAP = ["--runs", "1", "--warmup", "1"]
ONCE = ["--vs", "onnxruntime", "--runs", 1, "--rounds", 1, "--most-rounds", 1]


def peer_program(folder):
    """What runs peers: the environment of `make peers`, else this Python with what it has."""
    made = ROOT / "build" / "peers" / "run"
    if made.exists():
        return str(made)
    path = pathlib.Path(folder) / "run"
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{ROOT}/bench/peer.py" "$@"\n', encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def all_peers():
    return sorted(path.stem for path in (ROOT / "bench" / "peers").glob("[!_]*.py"))


def call(*words, cache=None):
    """The JSON that a command of hone's prints; its error where it failed."""
    environment = {**os.environ, **({"HONE_CACHE": cache} if cache else {})}
    done = subprocess.run([HONE, *map(str, words), "--json"], stdout=subprocess.PIPE, text=True,
                          env=environment, check=False)
    if not done.stdout:
        return {"error": {"message": f"hone {words[0]} ended with {done.returncode}"}}
    return json.loads(done.stdout)


def plain(value):
    """Strings as NumPy's own: objects are not read from archives."""
    return value.astype(str) if value.dtype == object else value


def sizes(about, feeds):
    """--dim for each size that the model leaves open and has a name for. Some models use one name
    for sizes that differ: those stay open."""
    found = {}
    for item in about.get("inputs", []):
        inside = item["type"].partition("[")[2].rstrip("]")
        for word, extent in zip(inside.split(", "), feeds[item["name"]].shape):
            if word in about["dimensions"]:
                found.setdefault(word, set()).add(extent)
    return [word for name, extents in found.items() if len(extents) == 1
            for word in ("--dim", f"{name}={min(extents)}")]


def measure(work, threads, args, folder, cache):
    """One row of the results."""
    row = {"model": work.name, "batch": work.batch, "precision": work.precision, "threads": threads}
    archive = pathlib.Path(folder) / "feeds.npz"
    try:
        feeds = {name: plain(value) for name, value in work.feeds().items()}
    except Exception as error:  # noqa: BLE001 - ONNX Runtime does not load some models
        return {**row, "error": "no inputs: " + " ".join(str(error).split())[:300]}
    np.savez(archive, **feeds)
    about = call("info", work.path)
    inputs, options = ["--input", archive], ["--threads", threads, *sizes(about, feeds)]
    options += ["--precision", work.precision] if work.precision != "fp32" else []
    cold = call("bench", work.path, *inputs, *options, *CHEAP, cache=cache)
    if "error" in cold:
        return {**row, "error": cold["error"]["message"]}
    beside = ["bench", work.path, *inputs, *options, "--device", "cpu", "--peer-limit",
              args.peer_limit, "--peers", peer_program(folder)]
    words = [*beside, *(["--device", args.also] if args.also else []), "--vs", args.vs,
             "--rounds", args.rounds, "--seconds", args.rounds * args.seconds]
    got = call(*words, *(["--tolerance", QUANTIZED] if about.get("quantized") else []), cache=cache)
    if nobody_agrees(got) and (
            (allowed := min(1, 2 * work.rounding(feeds))) > got["comparison"]["tolerance"]):
        got = call(*words, "--tolerance", allowed, cache=cache)
    if "error" in got:
        return {**row, "error": got["error"]["message"]}
    start = functools.partial(engine_times, work.path, inputs, options, folder, cache)
    row = {**row, **digest(got), "cold_ms": cold["compile_ms"], "engine": start()}
    if is_clear(row):
        return row
    return measure_start(row, start, lambda: call(*beside, *ONCE, cache=cache))


def nobody_agrees(got):
    """Whether hone, or every peer that ran, is wrong: then rounding may be why."""
    hone, peers = ([one["state"] for one in got.get(key, [])] for key in ("hone", "peers"))
    return "wrong" in hone or ("wrong" in peers and "ok" not in peers)


def engine_times(model, inputs, options, folder, cache):
    """From an engine file to the first answer; its kernels are in the cache by now."""
    path = str(pathlib.Path(folder) / "model.hone")
    pathlib.Path(path).unlink(missing_ok=True)
    call("compile", model, "-o", path, "--device", "cpu", *options, cache=cache)
    if not os.path.exists(path):
        return {}
    got = call("bench", path, *inputs, *options[:2], *CHEAP, cache=cache)
    return {key: got[key] for key in ("load_ms", "first_ms") if key in got}


def answer_ms(times):
    """From file to first answer; infinite where that was not measured."""
    return times["load_ms"] + times["first_ms"] if "first_ms" in times else math.inf


def is_clear(row):
    """Whether the first answer, which is measured once, comes much sooner than ONNX Runtime's, or
    there is none to compare it with."""
    theirs = answer_ms(row["peers"].get("onnxruntime", {}))
    return math.isinf(theirs) or answer_ms(row["engine"]) < CLEAR_SHARE * theirs


def measure_start(row, start, beside):
    """The row with first answers of hone and ONNX Runtime measured twice more: those in the middle,
    since something may have been in the way of one."""
    ours, theirs = [row["engine"]], [row["peers"]["onnxruntime"]]
    for _ in range(2):
        ours.append(start())
        theirs += beside().get("peers", [])
    middle = sorted(theirs, key=answer_ms)[len(theirs) // 2]
    if not math.isinf(answer_ms(middle)):
        theirs[0].update({key: middle[key] for key in ("load_ms", "first_ms")})
    return {**row, "engine": {**sorted(ours, key=answer_ms)[1], "times": len(ours)}}


def digest(got):
    """What is kept of a report."""
    hone, rest = got["hone"][0], got["hone"][1:]
    kept = {"hone": {key: value for key, value in hone.items() if key != "name"},
            "peers": {peer.pop("name"): peer for peer in got["peers"]}}
    if rest:
        run = got["results"][1]
        kept["also"] = {"device": run["device"], "target": run["target"],
                        **{key: value for key, value in rest[0].items() if key != "name"}}
    return {**kept, **got["comparison"]}


def rows_of(args, folder):
    if args.downloaded:
        todo = [(work, threads) for work in workloads.downloaded(args.only) for threads in args.threads]
    else:
        todo = ((workloads.network(name, batch, precision), threads) for name, precision, batch, threads
                in itertools.product(args.models or workloads.NETWORKS, args.precision, args.batch,
                                     args.threads))
    for work, threads in todo:
        with contextlib.ExitStack() as stack:
            cache = None if args.user_cache else stack.enter_context(tempfile.TemporaryDirectory())
            yield measure(work, threads, args, folder, cache)


# ---- what is printed ----

def cell(value, digits=4):
    return "-" if value is None else f"{value:.{digits}g}"


def head():
    return (f"{'MODEL':32} {'TYPE':4} {'N':>2} {'THR':>3} {'HONE ms':>8} {'BEST ms':>8} "
            f"{'RATIO':>6} {'ROUNDS':>11} {'LIMIT':>5}  BEST")


def line(row):
    name = row["model"] if len(row["model"]) <= 32 else "…" + row["model"][-31:]
    start = f"{name:32} {row['precision']:4} {row['batch']:>2} {row['threads']:>3} "
    if "error" in row:
        return (start + "error: " + row["error"])[:100]
    if row["hone"]["state"] != "ok":
        return (start + f"hone {row['hone']['state']}: {row['hone']['why']}")[:100]
    ms = row["hone"]["median_ms"]
    share = f"{100 * row['limit_ms'] / ms:.0f}%" if row["limit_ms"] else "-"
    if "ratio" not in row:
        return start + f"{cell(ms):>8} {'-':>8} {'-':>6} {'-':>11} {share:>5}  no peer ran it"
    best = row["peers"][row["best"]]["median_ms"]
    rounds = f"{row['lowest_ratio']:.2f}..{row['highest_ratio']:.2f}"
    return (start + f"{cell(ms):>8} {cell(best):>8} {row['ratio']:6.3f} {rounds:>11} {share:>5}  "
            f"{row['best'][:14]}")


def notes(row):
    """What there is beside the ratio: from file to answer, another device, and peers that are out."""
    return start_note(row) + answers_note(row) + device_note(row) + [
        line for name, peer in row.get("peers", {}).items() if peer["state"] != "ok"
        for line in wrapped(f"{name} {peer['state']}: {peer['why']}")]


def wrapped(text):
    return textwrap.wrap(text, 100, initial_indent=" " * 4, subsequent_indent=" " * 8)


def start_note(row):
    """The first answer from an engine file, beside ONNX Runtime's from the model's."""
    engine, peer = row.get("engine", {}), row.get("peers", {}).get("onnxruntime", {})
    if "first_ms" not in engine or "first_ms" not in peer:
        return []
    ours, theirs = (each["load_ms"] + each["first_ms"] for each in (engine, peer))
    return [f"    from engine file to first answer {ours:.4g} ms, ONNX Runtime {theirs:.4g} ms: "
            f"{ours / theirs:.2f}; compiled in {row['cold_ms'] / 1e3:.3g} s"]


def answers_note(row):
    """How far hone's answers in f32 are from the reference's, and from each peer's as it comes."""
    error = row.get("hone", {}).get("error", 0)
    if row["precision"] != "fp32" or error <= TELLING_ERROR:
        return []
    peers = ", ".join(f"{peer['hone_error']:.2g} from {name} as it comes"
                      for name, peer in row["peers"].items() if "hone_error" in peer)
    return wrapped(f"answers {error:.2g} from {row['reference']} without rewriting"
                   + (f", {peers}" if peers else ""))


def device_note(row):
    """Another device of hone's, beside the best peer on the CPU."""
    also = row.get("also")
    if not also:
        return []
    name = f"on {also['device']} ({also['target']})"
    if also["state"] != "ok":
        return wrapped(f"{name} {also['state']}: {also['why']}")
    text = f"{name} {also['median_ms']:.4g} ms"
    if "ratio" in row:
        ratio = row["peers"][row["best"]]["median_ms"] / also["median_ms"]
        text += f": {ratio:.3g} times as fast as {row['best']} on the CPU"
    return wrapped(text)


def summary(rows):
    ratios = {row["model"]: row["ratio"] for row in rows if "ratio" in row}
    if len(ratios) < 2:
        return ""
    values = [row["ratio"] for row in rows if "ratio" in row]
    least = min((row for row in rows if "ratio" in row), key=lambda row: row["ratio"])
    mean = math.exp(sum(map(math.log, values)) / len(values))
    return (f"{len(values)} rows: geometric mean {mean:.3f}, least {least['ratio']:.3f} "
            f"({least['model']}), {sum(value < 0.95 for value in values)} below 0.95")


def numbers(text):
    values = [int(word) for word in text.split(",")]
    if min(values) < 1:
        raise ValueError(text)
    return values


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0],
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog="\n".join(__doc__.splitlines()[2:]))
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--vs", default="onnxruntime")
    parser.add_argument("--precision", type=workloads.precisions, default=["fp32"])
    parser.add_argument("--batch", type=numbers, default=[1])
    parser.add_argument("--threads", type=numbers, default=[2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--peer-limit", type=float, default=300)
    parser.add_argument("--only", default="")
    parser.add_argument("--also", metavar="DEVICE", default="")
    for flag in ("--downloaded", "--user-cache", "--json", "--save"):
        parser.add_argument(flag, action="store_true")
    args = parser.parse_args()
    if unknown := set(args.models) - set(workloads.NETWORKS):
        parser.error(f"no such model: {', '.join(sorted(unknown))}")
    args.vs = ",".join(all_peers()) if args.vs == "all" else args.vs
    return args


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # which ends what is running as well
    args, rows = parse(), []
    if not args.json:
        print(head(), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for row in rows_of(args, folder):
            rows.append(row)
            print("\n".join([json.dumps(row)] if args.json else [line(row), *notes(row)]), flush=True)
            if args.save:
                results.save(rows, args)
    if not args.json and (text := summary(rows)):
        print(text)
    return 1 if any("error" in row or row["hone"]["state"] != "ok" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
