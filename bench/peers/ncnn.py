"""ncnn, converted by pnnx."""

import importlib.util
import os
import subprocess

import ncnn
import numpy as np
import peer

PACKAGES = ["ncnn", "pnnx"]
# The program itself: pnnx's Python module needs torch, which this has no use for.
CONVERTER = os.path.join(*importlib.util.find_spec("pnnx").submodule_search_locations, "pnnx")
KINDS = {"float32": "f32", "float16": "f16", "int64": "i64", "int32": "i32", "int8": "i8", "uint8": "u8"}


class Runner:
    def __init__(self, task, base):
        self.net = ncnn.Net()
        self.net.opt.num_threads = task.threads
        self.net.opt.use_bf16_storage = task.precision == "bf16"
        for name in ("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic"):
            setattr(self.net.opt, name, False)
        if self.net.load_param(base + ".ncnn.param") or self.net.load_model(base + ".ncnn.bin"):
            raise peer.Cannot("does not load what pnnx made of it")
        self.feeds = [self.without_batch(value) for value in task.ordered()]
        self.mats = [ncnn.Mat(value) for value in self.feeds]
        self.shapes, self.values = output_shapes(task), None

    def without_batch(self, value):
        """ncnn's values have no axis for the batch."""
        if value.dtype != np.float32:
            value = value.astype(np.int32)
        return np.ascontiguousarray(value[0] if value.ndim > 1 else value)

    def run(self):
        with self.net.create_extractor() as extractor:
            for name, mat in zip(self.net.input_names(), self.mats):
                extractor.input(name, mat)
            self.values = [extractor.extract(name)[1] for name in self.net.output_names()]

    def outputs(self):
        """With the axes that were left out."""
        return [np.array(value).reshape(shape) if np.array(value).size == np.prod(shape) else value
                for value, shape in zip(self.values, self.shapes)]


def output_shapes(task):
    import onnx
    graph = onnx.shape_inference.infer_shapes(task.fixed(), data_prop=True).graph
    return [[dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in graph.output]


def load(task):
    task.need("fp32", "bf16")
    if any(value.ndim > 1 and value.shape[0] != 1 for value in task.inputs.values()):
        raise peer.Cannot("has no axis for the batch: one sample at a time only")
    path = task.fixed_path()
    shapes = ",".join("[" + ",".join(map(str, value.shape)) + "]" + KINDS.get(value.dtype.name, "")
                      for value in task.ordered())
    base = str(task.folder / "model")
    with task.preparing():
        done = subprocess.run([CONVERTER, path, f"inputshape={shapes}", "fp16=0",
                               f"ncnnparam={base}.ncnn.param", f"ncnnbin={base}.ncnn.bin"],
                              capture_output=True, text=True, check=False, cwd=task.folder)
    if not os.path.exists(base + ".ncnn.param"):
        raise peer.Cannot(f"pnnx cannot convert it: {(done.stdout + done.stderr).strip()[-200:]}")
    return Runner(task, base)
