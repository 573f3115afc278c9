#!/usr/bin/env python3
"""Runs the onnx package's backend tests on a device, several at once, and keeps the results
as tests/conformance/onnx_DEVICE.json, which docs/support.md is made from.

Each process takes cases from the list until it is empty. One that dies, or that sits on a case for
longer than LIMIT seconds, costs that case alone.

usage: conformance_run.py DEVICE [--jobs N] [--only REGEX] [--failed] [--out FILE]
"""

import argparse
import json
import multiprocessing
import os
import re
import sys
import time
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "conformance")
LIMIT = 600
SPELLED = {  # operators of which the tests' models have another node in front or behind
    "training_dropout": "Dropout", "dropout_default": "Dropout", "sequence_map": "SequenceMap",
}


def operator_of(category, name, model):
    """What a case is a test of: an operator; for whole nets, where they come from."""
    if category != "Node":
        return {"PyTorchConverted": "(nets from PyTorch)", "PyTorchOperator": "(PyTorch operators)",
                "Simple": "(simple graphs)"}.get(category, f"({category})")
    for prefix, operator in SPELLED.items():
        if name.startswith("test_" + prefix):
            return operator
    if hasattr(model, "op_type"):
        return model.op_type
    return model.graph.node[0].op_type


def base_name(name):
    """The name of the case that an expanded one was made from."""
    return re.sub(r"_expanded(_ver\d+)?(?=_cpu$)", "", name)


def _work(device, todo, done):
    """A process: runs the cases named in `todo`."""
    os.environ["HONE_TEST_DEVICE"] = device
    import numpy as np
    import onnx_backend_run
    items = {}
    for category, group in onnx_backend_run.Runner(onnx_backend_run.HoneBackend,
                                                   __name__)._test_items.items():
        short = re.sub(r"^OnnxBackend|ModelTest$", "", category)
        items.update({name: (short, item) for name, item in group.items()})
    warnings.simplefilter("ignore")
    for name in iter(todo.get, None):
        done.put((os.getpid(), name, None, None, 0))
        category, item = items[name]
        start, why = time.monotonic(), ""
        try:
            with np.errstate(all="ignore"):
                item.func(None)
        except Exception as error:  # noqa: BLE001 - each kind of failure counts
            why = f"{type(error).__name__}: {' '.join(str(error).split())[:400]}"
        model = item.proto[0]
        operator = operator_of(category, name, model) if model is not None else ""
        done.put((os.getpid(), name, operator, why, time.monotonic() - start))


class Pool:
    """Processes that work through a list, and are replaced when they die."""

    def __init__(self, device, names, jobs):
        self.context = multiprocessing.get_context("spawn")
        self.device, self.names, self.jobs = device, names, jobs
        self.todo, self.done = self.context.Queue(), self.context.Queue()
        self.busy = {}  # process number: (case, since)
        self.processes = {}
        for name in names + [None] * jobs:
            self.todo.put(name)

    def _start(self):
        process = self.context.Process(target=_work, args=(self.device, self.todo, self.done))
        process.start()
        self.processes[process.pid] = process

    def _lost(self):
        """Cases whose process has died or was ended for taking too long."""
        for pid, process in list(self.processes.items()):
            name, since = self.busy.get(pid, (None, 0))
            late = name and time.monotonic() - since > LIMIT
            if late:
                process.kill()
                process.join()
            if process.is_alive():
                continue
            del self.processes[pid]
            if name:
                del self.busy[pid]
                self._start()
                yield name, f"no result in {LIMIT} s" if late else f"died: {process.exitcode}"

    def results(self):
        """(name, operator, why it failed or "", seconds) of each case."""
        for _ in range(self.jobs):
            self._start()
        left = set(self.names)
        while left:
            try:
                pid, name, operator, why, seconds = self.done.get(timeout=2)
            except Exception:  # noqa: BLE001 - queue.Empty: a look at who lives
                for name, why in self._lost():
                    left.discard(name)
                    yield name, "", why, 0
                continue
            if operator is None:
                self.busy[pid] = (name, time.monotonic())
                continue
            self.busy.pop(pid, None)
            left.discard(name)
            yield name, operator, why, seconds
        for process in self.processes.values():
            process.join()


def case_names(pattern):
    import onnx_backend_run
    return [name for name, _ in onnx_backend_run.cases(onnx_backend_run.HoneBackend, pattern)]


def run(device, names, jobs, show=print):
    """{"device", "onnx", "operators": {operator: {"total", "failed": {case: why}}}} and seconds by
    case."""
    import onnx
    operator_of_case, failed, seconds = {}, {}, {}
    for number, (name, operator, why, took) in enumerate(Pool(device, names, jobs).results(), 1):
        operator_of_case[name], seconds[name] = operator, took
        if why:
            failed[name] = why
            show(f"{number}/{len(names)} FAIL {name}: {why}")
        elif number % 100 == 0:
            show(f"{number}/{len(names)}, {len(failed)} failed")
    operators = {}
    for name in sorted(operator_of_case):
        operator = operator_of_case.get(base_name(name)) or operator_of_case[name]
        entry = operators.setdefault(operator, {"total": 0, "failed": {}})
        entry["total"] += 1
        if name in failed:
            entry["failed"][name] = failed[name]
    return {"device": device, "onnx": onnx.__version__,
            "operators": dict(sorted(operators.items()))}, seconds


def failures(results):
    return {name: why for entry in results["operators"].values()
            for name, why in entry["failed"].items()}


def load(device):
    with open(os.path.join(FOLDER, f"onnx_{device}.json"), encoding="utf-8") as file:
        return json.load(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("device")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="", help="cases whose name matches")
    parser.add_argument("--failed", action="store_true", help="those that failed last time")
    parser.add_argument("--out", help="the results' file; by default, kept if all cases were run")
    parser.add_argument("--seconds", help="a file for the time that each case took")
    args = parser.parse_args()
    names = case_names(args.only)
    if args.failed:
        known = failures(load(args.device))
        names = [name for name in names if name in known]
    results, seconds = run(args.device, names, args.jobs, lambda text: print(text, flush=True))
    out = args.out
    if not out and not args.only and not args.failed:
        out = os.path.join(FOLDER, f"onnx_{args.device}.json")
    if out:
        with open(out, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
            file.write("\n")
    if args.seconds:
        with open(args.seconds, "w", encoding="utf-8") as file:
            json.dump(seconds, file, indent=1)
    bad = len(failures(results))
    print(f"{len(names) - bad} passed, {bad} failed on {args.device}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
