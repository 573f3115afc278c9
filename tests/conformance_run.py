#!/usr/bin/env python3
"""Runs the onnx package's backend tests on a device, several at once, and keeps what failed and
why in tests/conformance/onnx_DEVICE.json, which docs/support.md is made from; a run on `ref` also
writes onnx_cases.json, the cases of each operator. HONE_CONFORMANCE names another folder.

Each process takes cases from the list until it is empty. One that dies, or that sits on a case for
longer than LIMIT seconds, costs that case alone.

usage: conformance_run.py DEVICE [--jobs N] [--only REGEX] [--failed]
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
FOLDER = os.environ.get("HONE_CONFORMANCE", os.path.join(HERE, "conformance"))
LIMIT = 600
SPELLED = {  # operators of which the tests' models have another node in front or behind
    "training_dropout": "Dropout", "dropout_default": "Dropout", "sequence_map": "SequenceMap",
}


def operator_of(category, name, model):
    """What a case is a test of: an operator; for whole nets, where they come from."""
    if category != "Node":
        return {"PyTorchConverted": "(nets from PyTorch)", "PyTorchOperator": "(PyTorch operators)",
                "Simple": "(simple graphs)", "Real": "(light nets)"}.get(category, f"({category})")
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
        short = re.sub(r"^OnnxBackend|Model(Test)?$", "", category)
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
            why = f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
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
    """({case: why} of those that failed, {operator: [case]}, {case: seconds})"""
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
        operators.setdefault(operator, []).append(name)
    return failed, dict(sorted(operators.items())), seconds


def path_of(name):
    return os.path.join(FOLDER, f"onnx_{name.replace(':', '-')}.json")


def load(name):
    """What is kept of a device, or "cases": {operator: [case]}; empty if there is nothing."""
    if not os.path.exists(path_of(name)):
        return {"failed": {}}
    with open(path_of(name), encoding="utf-8") as file:
        return json.load(file)


def save(name, content):
    with open(path_of(name) + ".part", "w", encoding="utf-8") as file:
        json.dump(content, file, indent=1)
        file.write("\n")
    os.replace(path_of(name) + ".part", path_of(name))


def main():
    import onnx
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("device")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="", help="cases whose name matches")
    parser.add_argument("--failed", action="store_true", help="those that failed last time")
    parser.add_argument("--seconds", metavar="FILE", help="write the time that each case took")
    args = parser.parse_args()
    names, kept = case_names(args.only), load(args.device)["failed"]
    if args.failed:
        names = [name for name in names if name in kept]
    failed, operators, seconds = run(args.device, names, args.jobs,
                                     lambda text: print(text, flush=True))
    kept = {name: why for name, why in kept.items() if name not in seconds}
    save(args.device, {"device": args.device, "onnx": onnx.__version__,
                       "failed": dict(sorted({**kept, **failed}.items()))})
    if args.device == "ref" and not args.only and not args.failed:
        save("cases", operators)
    if args.seconds:
        with open(args.seconds, "w", encoding="utf-8") as file:
            json.dump(seconds, file, indent=1)
    print(f"{len(names) - len(failed)} passed, {len(failed)} failed on {args.device}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
