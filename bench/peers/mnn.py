"""MNN, by its own converter, on its CPU backend."""

import os
import subprocess
import sys

import MNN
import numpy as np
import peer

PACKAGES = ["mnn"]
PRECISIONS = {"fp32": "high", "int8": "high", "bf16": "low_bf16"}
# What the program mnnconvert calls; the program itself also installs a package and reports its use.
CONVERTER = [sys.executable, "-c", "import sys, MNN, _tools; _tools.mnnconvert(sys.argv)"]


class Runner:
    def __init__(self, task, path):
        import MNN.expr as expr
        import MNN.nn as nn
        self.expr = expr
        manager = nn.create_runtime_manager(({
            "backend": "CPU", "numThread": task.threads, "precision": PRECISIONS[task.precision]},))
        self.net = nn.load_module_from_file(path, task.input_names(), task.output_names(),
                                            runtime_manager=manager, shape_mutable=False)
        self.feeds = [self.variable(value) for value in task.ordered()]
        self.values = None

    def variable(self, value):
        types = {"float32": self.expr.float, "int32": self.expr.int, "uint8": self.expr.uint8,
                 "int8": self.expr.int8}
        if value.dtype.name == "int64":  # which MNN does not have: its converter makes them int32
            value = value.astype(np.int32)
        if value.dtype.name not in types:
            raise peer.Cannot(f"takes no input of {value.dtype.name}")
        made = self.expr.placeholder(list(value.shape), self.expr.NCHW, types[value.dtype.name])
        made.write(value)
        return made

    def run(self):
        self.values = self.net.forward(self.feeds)
        for value in self.values:
            value.read()  # it is computed when it is asked for

    def outputs(self):
        return [np.array(value.read()) for value in self.values]


def load(task):
    path = str(task.folder / "model.mnn")
    with task.preparing():
        done = subprocess.run([*CONVERTER, "-f", "ONNX", "--modelFile", task.model, "--MNNModel", path,
                               "--bizCode", "none", "--keepInputFormat=1"],
                              capture_output=True, text=True, check=False)
    if not os.path.exists(path):
        raise peer.Cannot(f"cannot convert it: {(done.stdout + done.stderr).strip()[-200:]}")
    return Runner(task, path)
