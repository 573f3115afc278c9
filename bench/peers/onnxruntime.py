"""ONNX Runtime, its CPU provider."""

import sys

import onnxruntime
import peer

sys.path.append(str(peer.PEERS.parent.parent / "tests" / "models"))
from exact_products import exact_products  # noqa: E402

PACKAGES = ["onnxruntime"]


class Runner:
    """Inputs and outputs are bound once, so that a run is nothing but a run."""

    def __init__(self, session, inputs):
        self.session, self.inputs, self.values = session, inputs, None
        self.names = [item.name for item in session.get_outputs()]
        self.binding = self.bind()

    def bind(self):
        if any(value.dtype.kind in "USO" for value in self.inputs.values()):
            return None
        binding = self.session.io_binding()
        for name, value in self.inputs.items():
            binding.bind_cpu_input(name, value)
        for name in self.names:
            binding.bind_output(name)
        return binding

    def run(self):
        if self.binding:
            self.session.run_with_iobinding(self.binding)
        else:
            self.values = self.session.run(self.names, self.inputs)

    def outputs(self):
        return self.binding.copy_outputs_to_cpu() if self.binding else self.values


def open_session(task, model, change=lambda options: None):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = task.threads, 1
    options.log_severity_level = 4
    change(options)
    return onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])


def load(task):
    task.need("fp32", "int8")

    def fix(options):
        for name, extent in task.dims().items():
            options.add_free_dimension_override_by_name(name, extent)

    try:
        session = open_session(task, task.model, fix)
    except onnxruntime.capi.onnxruntime_pybind11_state.Fail:
        session = open_session(task, task.model)  # some models contradict themselves once sizes are known
    return Runner(session, task.inputs)


def reference(task):
    """Node by node as the model says, in its types: nothing fused, nothing folded."""

    def plain(options):
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL

    return Runner(open_session(task, exact_products(task.model), plain), task.inputs)
