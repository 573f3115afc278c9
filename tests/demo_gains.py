"""How much faster the demo's networks run when they are compiled: on `cpu`, beside `ref` and ONNX
Runtime, in one process, on the same inputs and threads. Results are compared before anything is
timed; `cpu` and ONNX Runtime are then timed by turns. Prints a table, and puts it into the report.

usage: demo_gains.py FOLDER REPORT [--threads N] [--seconds S]
FOLDER is what hone-demo --dump-dir left.
"""

import argparse
import html
import os
import pathlib
import statistics
import sys
import time
from typing import NamedTuple

import numpy as np
import onnxruntime

import demo_check
import hone_ctypes

LIMIT = 1e-4
PLACE = "<!-- gains -->"
PAUSE = 0.03  # seconds before each run: threads of what ran before go on looking for work a while
TITLES = {"style": "Style transfer", "detect": "Text detection", "read": "Text recognition"}


class Gain(NamedTuple):
    network: str
    cpu_ms: float
    peer_ms: float  # ONNX Runtime
    ref_ms: float
    error: float  # of cpu, from ONNX Runtime, as a part of the largest value
    runs: int


def usable_threads():
    return len(os.sched_getaffinity(0))


def difference(got, want):
    if got.shape != want.shape or not np.isfinite(got).all():
        return np.inf
    return float(np.max(np.abs(got - want)) / np.max(np.abs(want)))


def timed(run):
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) * 1e3


def by_turns(runs, seconds):
    """Times of each, one run each a round, by turns the first."""
    times, end, order = [[] for _ in runs], time.perf_counter() + seconds, list(range(len(runs)))
    while not times[0] or time.perf_counter() < end:
        for k in order:
            time.sleep(PAUSE)
            times[k].append(timed(runs[k]))
        order.append(order.pop(0))
    return times


def peer_session(path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def sizes(peer, feeds):
    """What the sizes are that the model leaves open, by name: least and most. A name of sizes that
    differ stays open."""
    found = {}
    for each in peer.get_inputs():
        for name, size in zip(each.shape, feeds[each.name].shape):
            if isinstance(name, str):
                found.setdefault(name, set()).add(size)
    return {name: (*of, *of) for name, of in found.items() if len(of) == 1}


def measure(network, folder, threads, seconds):
    path = demo_check.model_path(network)
    peer = peer_session(path, threads)
    stem = folder / f"{network}-0"
    feeds = {each.name: np.load(f"{stem}.in.{each.name}.npy") for each in peer.get_inputs()}
    cpu = hone_ctypes.Session(path, device="cpu", threads=threads, dims=sizes(peer, feeds))
    ref = hone_ctypes.Session(path, device="ref")
    want = peer.run(None, feeds)[0]
    error = difference(cpu.run(feeds)[0], want)
    for device, far in (("cpu", error), ("ref", difference(ref.run(feeds)[0], want))):
        if far > LIMIT:
            raise SystemExit(f"demo_gains: {network} on {device} differs by {far:.1e} of the largest "
                             f"value from ONNX Runtime, more than {LIMIT:g}: nothing is timed")
    run_cpu, run_ref = cpu.prepare(feeds), ref.prepare(feeds)
    ref_ms = timed(run_ref)
    of_cpu, of_peer = by_turns([run_cpu, lambda: peer.run(None, feeds)], seconds)
    return Gain(network, statistics.median(of_cpu), statistics.median(of_peer), ref_ms, error,
                len(of_cpu))


# ---- reports ----

def print_table(gains, threads):
    print(f"{'network':18} {'hone cpu':>10} {'ONNX Runtime':>13} {'hone ref':>10} {'over ref':>9} "
          f"{'over ORT':>9} {'difference':>10}")
    for g in gains:
        print(f"{TITLES[g.network]:18} {g.cpu_ms:7.2f} ms {g.peer_ms:10.2f} ms {g.ref_ms:7.0f} ms "
              f"{g.ref_ms / g.cpu_ms:8.1f}x {g.peer_ms / g.cpu_ms:8.2f}x {g.error:10.1e}")
    print(f"{threads} threads each, cpu compiled for these sizes; medians of "
          f"{min(g.runs for g in gains)} or more runs by turns, ref of one")


def bar(name, ms, longest, hue):
    return (f'<div class="gain"><span>{name}</span><span class="ms">{ms:.1f} ms</span>'
            f'<span class="bar" style="--hue:{hue};width:{100 * ms / longest:.1f}%"></span></div>')


def row(g):
    longest = max(g.cpu_ms, g.peer_ms)
    return (f'<tr><td>{html.escape(TITLES[g.network])}</td><td class="wide">'
            f'{bar("hone cpu", g.cpu_ms, longest, 145)}{bar("ONNX Runtime", g.peer_ms, longest, 215)}'
            f'</td><td class="n">{g.ref_ms:.0f} ms</td>'
            f'<td class="n"><b>{g.ref_ms / g.cpu_ms:.1f} ×</b></td>'
            f'<td class="n"><b>{g.peer_ms / g.cpu_ms:.2f} ×</b></td>'
            f'<td class="n">{g.error:.0e}</td></tr>\n')


def section(gains, threads):
    return (
        '<h2>What compiling gains</h2>\n<div class="card"><table><thead><tr><th>network</th>'
        '<th>time of a run</th><th class="n">hone ref</th><th class="n">over ref</th>'
        '<th class="n">over ONNX Runtime</th><th class="n">difference</th></tr></thead><tbody>\n'
        + "".join(row(g) for g in gains)
        + '</tbody></table><p class="soft">On the same inputs, in one process, on '
        f'{threads} thread{"s" if threads != 1 else ""} each, '
        'cpu compiled for their sizes, after the results had been compared: '
        '<i>difference</i> is the largest one between hone and ONNX Runtime '
        f'{html.escape(onnxruntime.__version__)}, as a part of the largest value. Medians of runs by '
        'turns; ref, which interprets, ran once. Above 1 × hone on cpu is the faster one.</p></div>\n')


def put_into(report, text):
    """Takes the place of the mark that hone-demo left, or of what was put there before."""
    page = report.read_text()
    parts = page.split(PLACE)
    if len(parts) not in (2, 3):
        raise SystemExit(f"demo_gains: {report} is no report of hone-demo")
    part = report.with_suffix(".part")
    part.write_text(f"{parts[0]}{PLACE}\n{text}{PLACE}{parts[-1]}")
    part.replace(report)


def main(words):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("report", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=usable_threads())
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args(words)
    gains = [measure(network, args.folder, args.threads, args.seconds) for network in TITLES]
    print_table(gains, args.threads)
    put_into(args.report, section(gains, args.threads))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
