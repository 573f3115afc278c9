"""OpenVINO, its CPU plugin, one stream, for latency."""

import numpy as np
import openvino as ov
import peer

PACKAGES = ["openvino"]
TYPES = {"fp32": ov.Type.f32, "bf16": ov.Type.bf16, "int8": ov.Type.f32}  # of what is not quantized


class Runner:
    def __init__(self, compiled, inputs):
        self.request = compiled.create_infer_request()
        for port in compiled.inputs:
            value = next(inputs[name] for name in port.get_names() if name in inputs)
            self.request.set_tensor(port, ov.Tensor(value))

    def run(self):
        self.request.start_async()  # infer() would copy every output
        self.request.wait()

    def outputs(self):
        return [np.array(tensor.data) for tensor in self.request.output_tensors]


def load(task):
    core = ov.Core()
    model = core.read_model(task.model)
    shapes = {name: list(value.shape) for name, value in task.inputs.items()}
    model.reshape(shapes)
    compiled = core.compile_model(model, "CPU", {
        "INFERENCE_PRECISION_HINT": TYPES[task.precision], "INFERENCE_NUM_THREADS": task.threads,
        "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"})
    got = compiled.get_property("INFERENCE_PRECISION_HINT")
    if got != TYPES[task.precision]:
        raise peer.Cannot(f"computes in {got.to_string()} on this CPU when asked for {task.precision}")
    return Runner(compiled, task.inputs)
