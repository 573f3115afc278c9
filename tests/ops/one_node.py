"""One operator at a time: models of one node, run on hone and on a reference."""

import numpy as np
import onnx
from onnx import TensorProto, helper

import hone_ctypes
from compare import check_model, reference

# Beside the opset of the node's own domain.
OTHER_OPSETS = {"": 21}


def element_type(array):
    array = np.asarray(array)
    return TensorProto.STRING if array.dtype.kind in "OSU" else hone_ctypes.NUMBERS[array.dtype]


def map_type(value):
    key, item = next(iter(value.items()))
    types = {str: TensorProto.STRING, int: TensorProto.INT64, float: TensorProto.FLOAT}
    tensor = helper.make_tensor_type_proto(types[type(item)], None)
    return helper.make_map_type_proto(types[type(key)], tensor)


def input_info(name, value, symbolic):
    if isinstance(value, dict):
        return helper.make_value_info(name, map_type(value))
    shape = [f"{name}_{axis}" if symbolic else n for axis, n in enumerate(np.shape(value))]
    return helper.make_tensor_value_info(name, element_type(value), shape)


def node_model(op, inputs, opset, attrs=None, n_outputs=1, domain="", constants=(), symbolic=False,
               wanted=None, float_outputs=()):
    """A model of one node. `inputs`: arrays, maps, None for one left out; those whose index is in
    `constants` become initializers. `wanted` lists the outputs that are asked for. Outputs have
    no declared type but those in `float_outputs`, which are f32."""
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    outputs = [f"y{i}" if wanted is None or i in wanted else "" for i in range(n_outputs)]
    node = helper.make_node(op, names, outputs, "it", domain=domain, **(attrs or {}))
    graph = helper.make_graph(
        [node], "one",
        [input_info(names[i], x, symbolic) for i, x in enumerate(inputs)
         if x is not None and i not in constants],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) if i in float_outputs else
         onnx.ValueInfoProto(name=name) for i, name in enumerate(outputs) if name],
        [onnx.numpy_helper.from_array(np.asarray(x), names[i]) for i, x in enumerate(inputs)
         if x is not None and i in constants])
    opsets = OTHER_OPSETS | {domain: opset}
    return helper.make_model(graph, ir_version=10,
                             opset_imports=[helper.make_opsetid(*item) for item in opsets.items()])


def feeds_of(inputs, constants=()):
    return {f"x{i}": x if isinstance(x, dict) else np.asarray(x) for i, x in enumerate(inputs)
            if x is not None and i not in constants}


def check(op, inputs, opset, attrs=None, n_outputs=1, domain="", constants=(), expected=None,
          rtol=1e-5, atol=1e-6, wanted=None, float_outputs=(), **more_attrs):
    """Fails unless hone gives `expected`, or else the reference's outputs, with fixed and symbolic
    extents alike. Attributes: a dict, keywords, or both. Gives hone's outputs."""
    feeds = feeds_of(inputs, constants)
    fixed, symbolic = (
        node_model(op, inputs, opset, (attrs or {}) | more_attrs, n_outputs, domain, constants,
                   is_symbolic, wanted, float_outputs) for is_symbolic in (False, True))
    if expected is None:
        expected = reference(fixed, feeds)
    check_model(symbolic, feeds, expected, rtol, atol)
    return check_model(fixed, feeds, expected, rtol, atol)


def run_node(op, inputs, opset, n_outputs=1, domain="", **attrs):
    """hone's outputs."""
    return hone_ctypes.run(node_model(op, inputs, opset, attrs, n_outputs, domain),
                           feeds_of(inputs))


def fails(op, inputs, opset, n_outputs=1, domain="", **attrs):
    """The message with which hone refuses the node."""
    try:
        run_node(op, inputs, opset, n_outputs, domain, **attrs)
    except hone_ctypes.HoneError as error:
        return str(error)
    raise AssertionError("the model was taken")
