"""TVM, untuned: its own pipeline for this CPU through LLVM."""

import onnx
import peer
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

PACKAGES = ["apache-tvm"]


class Runner:
    def __init__(self, built, task):
        device = tvm.cpu()
        self.machine = relax.VirtualMachine(built, device)
        self.feeds = [tvm.runtime.tensor(value, device) for value in task.ordered()]
        self.values = None

    def run(self):
        self.values = self.machine["main"](*self.feeds)

    def outputs(self):
        single = hasattr(self.values, "numpy")
        return [value.numpy() for value in ([self.values] if single else self.values)]


def load(task):
    task.need("fp32")
    with task.preparing():
        onnx.checker.check_model(task.fixed_path())
        module = from_onnx(task.fixed(), keep_params_in_input=False)
        target = tvm.target.Target({"kind": "llvm", "mcpu": tvm.target.codegen.llvm_get_system_cpu(),
                                    "num-cores": task.threads})
        with target:
            module = relax.get_pipeline("zero")(module)
            built = tvm.compile(module, target)
    return Runner(built, task)
