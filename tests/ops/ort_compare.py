"""Runs one-node models on hone and on ONNX Runtime and compares the results."""

import os
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import hone_ctypes  # noqa: E402

onnxruntime.set_default_logger_severity(4)


def _info(name, value):
    """A graph input for a value; extents stay open so that symbols are exercised."""
    if isinstance(value, dict):
        key, item = next(iter(value.items()))
        types = {str: onnx.TensorProto.STRING, int: onnx.TensorProto.INT64,
                 float: onnx.TensorProto.FLOAT}
        tensor = helper.make_tensor_type_proto(types[type(item)], None)
        return helper.make_value_info(name, helper.make_map_type_proto(types[type(key)], tensor))
    dtype = helper.np_dtype_to_tensor_dtype(value.dtype) if value.dtype.kind not in "OSU" else 8
    return helper.make_tensor_value_info(name, dtype, [None] * value.ndim)


def model(op_type, inputs, n_outputs=1, domain="", opsets=None, constants=(), wanted=None,
          float_outputs=(), **attrs):
    """A model of one node. `inputs`: arrays, or None for one left out; those whose index is in
    `constants` become initializers; `wanted` lists the outputs that are asked for, and
    `float_outputs` those that are declared as f32."""
    names = ["" if v is None else f"x{i}" for i, v in enumerate(inputs)]
    outputs = [f"y{i}" if wanted is None or i in wanted else "" for i in range(n_outputs)]
    node = helper.make_node(op_type, names, outputs, domain=domain, name="it", **attrs)
    graph = helper.make_graph(
        [node], "one",
        [_info(names[i], v) for i, v in enumerate(inputs) if v is not None and i not in constants],
        [helper.make_tensor_value_info(n, 1, None) if i in float_outputs else
         helper.make_value_info(n, onnx.TypeProto()) for i, n in enumerate(outputs) if n],
        [onnx.numpy_helper.from_array(inputs[i], names[i]) for i in constants])
    opsets = opsets or {"": 17, "ai.onnx.ml": 3, "com.microsoft": 1}
    return helper.make_model(graph, ir_version=10,
                             opset_imports=[helper.make_opsetid(k, v) for k, v in opsets.items()])


def reference(proto, feeds):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def equal(got, want, rtol, atol, where):
    if isinstance(want, list):
        assert isinstance(got, list) and len(got) == len(want), where
        for i, (g, w) in enumerate(zip(got, want)):
            equal(g, w, rtol, atol, f"{where}[{i}]")
    elif isinstance(want, dict):
        assert sorted(got) == sorted(want), where
        for key in want:
            equal(np.float32(got[key]), np.float32(want[key]), rtol, atol, f"{where}[{key}]")
    else:
        want = np.asarray(want)
        assert got.shape == want.shape, f"{where}: shape {got.shape}, wanted {want.shape}"
        if want.dtype.kind in "OSU":
            assert got.astype(str).tolist() == want.astype(str).tolist(), where
        elif want.dtype.kind in "iub":
            assert got.dtype == want.dtype, f"{where}: {got.dtype}, wanted {want.dtype}"
            np.testing.assert_array_equal(got, want, err_msg=where)
        else:
            assert got.dtype == want.dtype, f"{where}: {got.dtype}, wanted {want.dtype}"
            np.testing.assert_allclose(got.astype(np.float64), want.astype(np.float64), rtol, atol,
                                       err_msg=where)


def compare(op_type, inputs, n_outputs=1, rtol=1e-5, atol=1e-6, want=None, **how):
    """Checks hone against ONNX Runtime (or against `want`, a list of arrays)."""
    proto = model(op_type, inputs, n_outputs, **how)
    constants = how.get("constants", ())
    feeds = {f"x{i}": v for i, v in enumerate(inputs) if v is not None and i not in constants}
    if want is None:
        want = reference(proto, feeds)
    got = hone_ctypes.run(proto, feeds)
    assert len(got) == len(want)
    for i, (g, w) in enumerate(zip(got, want)):
        equal(g, w, rtol, atol, f"output {i}")
    return got


def fails(op_type, inputs, n_outputs=1, **how):
    """The message with which hone refuses the model."""
    proto = model(op_type, inputs, n_outputs, **how)
    feeds = {f"x{i}": v for i, v in enumerate(inputs) if v is not None}
    try:
        hone_ctypes.run(proto, feeds)
    except hone_ctypes.HoneError as error:
        return str(error)
    raise AssertionError("the model was taken")
