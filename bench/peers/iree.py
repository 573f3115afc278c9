"""IREE, compiled for this CPU."""

import os
import subprocess
import sys

import numpy as np
import peer
from iree import runtime

PACKAGES = ["iree-base-compiler", "iree-base-runtime"]
PROGRAMS = os.path.dirname(sys.executable)


class Runner:
    def __init__(self, path, task):
        instance = runtime.VmInstance()
        device = runtime.get_driver("local-task").create_default_device()
        config = runtime.Config(device=device)
        module = runtime.VmModule.mmap(config.vm_instance, path)
        self.module = runtime.load_vm_module(module, config)
        self.function = self.module[next(n for n in module.function_names if not n.startswith("__")
                                         and not n.endswith("$async"))]
        self.feeds = [runtime.asdevicearray(device, value) for value in task.ordered()]
        self.values = instance

    def run(self):
        values = self.function(*self.feeds)
        self.values = list(values) if isinstance(values, (list, tuple)) else [values]

    def outputs(self):
        return [np.array(value.to_host()) for value in self.values]


def convert(task, *words):
    done = subprocess.run([os.path.join(PROGRAMS, words[0]), *words[1:]], capture_output=True,
                          text=True, check=False, cwd=task.folder)
    if done.returncode:
        text = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr[-200:])
        raise peer.Cannot(f"{words[0]}: {text[-200:]}")


def load(task):
    task.need("fp32", "int8")
    task.pin()  # the runtime makes a worker for each CPU that it may use
    path = task.fixed_path()
    with task.preparing():
        convert(task, "iree-import-onnx", path, "-o", "model.mlir", "--opset-version=17")
        convert(task, "iree-compile", "model.mlir", "-o", "model.vmfb",
                "--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu",
                "--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O3",
                "--iree-llvmcpu-stack-allocation-limit=1048576")
    return Runner(str(task.folder / "model.vmfb"), task)
