"""One operator at a time: hone's outputs against a reference's.

`check` builds a model of one node, runs it on hone with fixed and with symbolic extents, and
compares with `expected` or else with ONNX Runtime or (where it has no kernel for the node) the
onnx package's reference evaluator.
"""

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import hone_ctypes

ort.set_default_logger_severity(4)


def element_type(array):
    array = np.asarray(array)
    if array.dtype.kind in "OSU":
        return TensorProto.STRING
    return hone_ctypes.NUMBERS[array.dtype]


def node_model(op, inputs, opset, attrs=None, n_outputs=1, domain="", constants=(), symbolic=False):
    """A model of one node. `inputs`: arrays, None for one left out; those whose index is in
    `constants` become initializers. Outputs have no declared type."""
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    outputs = [f"y{i}" for i in range(n_outputs)]
    node = helper.make_node(op, names, outputs, domain=domain, **(attrs or {}))
    graph_inputs, initializers = [], []
    for i, x in enumerate(inputs):
        if x is None:
            continue
        if i in constants:
            initializers.append(onnx.numpy_helper.from_array(np.asarray(x), names[i]))
            continue
        shape = [f"d{i}_{k}" if symbolic else n for k, n in enumerate(np.shape(x))]
        graph_inputs.append(helper.make_tensor_value_info(names[i], element_type(x), shape))
    graph = helper.make_graph(
        [node], "one", graph_inputs, [onnx.ValueInfoProto(name=n) for n in outputs], initializers)
    imports = [helper.make_opsetid(domain, opset)]
    if domain:
        imports.append(helper.make_opsetid("", 21))
    model = helper.make_model(graph, opset_imports=imports)
    model.ir_version = 10
    return model


def feeds_of(inputs, constants=()):
    return {f"x{i}": np.asarray(x) for i, x in enumerate(inputs)
            if x is not None and i not in constants}


def reference(model, feeds):
    try:
        providers = ["CPUExecutionProvider"]
        return ort.InferenceSession(model.SerializeToString(), providers=providers).run(None, feeds)
    except Exception:  # noqa: BLE001 - no kernel, or a type that it does not take
        return ReferenceEvaluator(model).run(None, feeds)


def close(actual, expected, rtol, atol):
    expected = np.asarray(expected)
    assert actual.shape == expected.shape, f"shape {actual.shape}, expected {expected.shape}"
    if expected.dtype.kind in "OSU":
        assert actual.tolist() == expected.tolist()
        return
    assert actual.dtype == expected.dtype, f"dtype {actual.dtype}, expected {expected.dtype}"
    if expected.dtype.kind in "biu":
        np.testing.assert_array_equal(actual, expected)
        return
    if expected.dtype.kind == "V" or expected.dtype.itemsize < 4:
        actual, expected = actual.astype(np.float32), expected.astype(np.float32)
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=atol)


def check(op, inputs, opset, attrs=None, n_outputs=1, domain="", constants=(), expected=None,
          rtol=1e-5, atol=1e-6):
    """Fails unless hone gives the reference's outputs, with fixed and symbolic extents alike."""
    feeds = feeds_of(inputs, constants)
    model = node_model(op, inputs, opset, attrs, n_outputs, domain, constants)
    if expected is None:
        expected = reference(model, feeds)
    for symbolic in (False, True):
        if symbolic:
            model = node_model(op, inputs, opset, attrs, n_outputs, domain, constants, True)
        actual = hone_ctypes.run(model, feeds)
        for a, e in zip(actual, expected):
            close(a, e, rtol, atol)
