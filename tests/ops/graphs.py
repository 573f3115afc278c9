"""Small models for the tests here, and what hone makes of them."""

import ctypes

import numpy as np
import onnx
from onnx import helper, numpy_helper

import compare
import hone_ctypes


class Graph:
    """Collects nodes; each call gives the name of its first output."""

    def __init__(self, opset=21):
        self.nodes, self.initializers, self.inputs = [], [], []
        self.opset, self.count = opset, 0

    def fresh(self):
        self.count += 1
        return f"v{self.count}"

    def input(self, name, dtype, shape):
        number = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self.inputs.append(helper.make_tensor_value_info(name, number, shape))
        return name

    def const(self, value, dtype=np.int64):
        name = self.fresh()
        self.initializers.append(numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def op(self, op_type, *inputs, n_outputs=1, **attrs):
        names = [self.fresh() for _ in range(n_outputs)]
        self.nodes.append(helper.make_node(op_type, list(inputs), names, **attrs))
        return names[0] if n_outputs == 1 else names

    def model(self, *outputs):
        values = [onnx.ValueInfoProto(name=name) for name in outputs]
        graph = helper.make_graph(self.nodes, "g", self.inputs, values, self.initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)],
                                 ir_version=10)


def output_types(model):
    """What hone knows of each output before it runs: "f32[batch, 12]"."""
    session = hone_ctypes.Session(model)
    types = []
    for i in range(len(session.outputs)):
        buffer = ctypes.create_string_buffer(4096)
        hone_ctypes.lib.hone_session_output_type(session.session, i, buffer,
                                                 ctypes.c_size_t(len(buffer)))
        types.append(buffer.value.decode())
    return types


def run(model, *arrays):
    return hone_ctypes.Session(model).run(list(arrays))


def with_output_types(model):
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
    copy = onnx.ModelProto()
    copy.CopyFrom(inferred)
    return copy


def same_as_ort(model, *arrays, rtol=1e-5, atol=1e-6):
    """ONNX Runtime wants the element types of outputs, which the onnx package infers."""
    expected = compare.run_ort(with_output_types(model), compare.by_name(model, arrays))
    compare.check_model(model, arrays, expected, rtol, atol)
