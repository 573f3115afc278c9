#!/usr/bin/env python3
"""Runs the onnx package's own backend tests on `ref`, from the library as built, and prints what
passes.

usage: onnx_backend_run.py [REGEX] [-v]     names that match; -v shows each failure
"""

import argparse
import collections
import re
import sys
import warnings

import numpy as np
import onnx
from onnx.backend.base import Backend, BackendRep
from onnx.backend.test.runner import Runner

import hone_ctypes


class Rep(BackendRep):
    def __init__(self, session):
        self.session = session

    def run(self, inputs, **kwargs):
        return self.session.run(list(inputs))


class HoneBackend(Backend):
    @classmethod
    def prepare(cls, model, device="CPU", **kwargs):
        return Rep(hone_ctypes.Session(model))

    @classmethod
    def supports_device(cls, device):
        return device == "CPU"


def cases(backend, pattern=""):
    """(name, function) of every test on the CPU that matches."""
    runner = Runner(backend, __name__)
    for category, items in runner._test_items.items():
        for name, item in sorted(items.items()):
            if name.endswith("_cpu") and category != "Real" and re.search(pattern, name):
                yield name, item.func


def run_cases(backend, pattern=""):
    """(number that passed, {name: why} of those that failed)."""
    passed, failed = 0, {}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for name, function in cases(backend, pattern):
            try:
                function(None)
                passed += 1
            except Exception as error:  # noqa: BLE001 - each kind of failure counts
                failed[name] = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
    return passed, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("-v", action="store_true", help="show each failure")
    parser.add_argument("--list", metavar="FILE", help="write the names that fail")
    args = parser.parse_args()
    passed, failed = run_cases(HoneBackend, args.pattern)
    if args.v:
        for name, why in failed.items():
            print(f"FAIL {name}: {why}")
    else:
        kinds = collections.Counter(re.sub(r"node .*?: |'[^']*'", "", why)[:100]
                                    for why in failed.values())
        for why, count in kinds.most_common(40):
            print(f"{count:5} {why}")
    if args.list:
        with open(args.list, "w", encoding="utf-8") as file:
            file.write("\n".join(failed) + "\n")
    print(f"{passed} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
