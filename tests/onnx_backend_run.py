#!/usr/bin/env python3
"""Runs the onnx package's own backend tests on `ref` and prints what passes.

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


def cases(pattern):
    """(category, name, function) of every test on the CPU that matches."""
    runner = Runner(HoneBackend, __name__)
    for category, items in runner._test_items.items():
        for name, item in sorted(items.items()):
            if name.endswith("_cpu") and category != "Real" and re.search(pattern, name):
                yield category, name, item.func


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("-v", action="store_true", help="show each failure")
    parser.add_argument("--list", metavar="FILE", help="write the names that fail")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    passed, failures, reasons = 0, [], collections.Counter()
    for category, name, function in cases(args.pattern):
        try:
            function(None)
            passed += 1
        except Exception as error:  # noqa: BLE001 - each kind of failure counts
            text = " ".join(str(error).split())
            failures.append(name)
            reasons[re.sub(r"node .*?: |'[^']*'", "", text)[:100]] += 1
            if args.v:
                print(f"FAIL {name}: {type(error).__name__}: {text[:300]}")
    for reason, count in reasons.most_common(40 if not args.v else 0):
        print(f"{count:5} {reason}")
    if args.list:
        with open(args.list, "w") as file:
            file.write("\n".join(failures) + "\n")
    print(f"{passed} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
