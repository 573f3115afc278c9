"""A model node by node: each node is given the values that ONNX Runtime computed for its
inputs, so that nothing a node does is magnified by the nodes behind it.

What is said of one node then is about that node alone: integers must be equal, floats within
2e-4 of the tensor's largest value, float16 within two units in the last place.
"""

import numpy as np
import onnx
from onnx import helper

LIMITS = {np.dtype(np.float16): 2 * 2.0**-10}
LIMIT = 2e-4


def _captured(graph):
    """The names that a graph inside of a node uses."""
    names = set()
    for node in graph.node:
        names |= _used(node)
    return names


def _used(node):
    names = {name for name in node.input if name}
    for attribute in node.attribute:
        for graph in [attribute.g] if attribute.HasField("g") else attribute.graphs:
            names |= _captured(graph)
    return names


def _describe(name, value):
    kind = (onnx.TensorProto.STRING if value.dtype == object
            else helper.np_dtype_to_tensor_dtype(value.dtype))
    return helper.make_tensor_value_info(name, kind, None)


def all_values(model, feeds, session_of):
    """Every tensor that a run of the model makes, by name; `session_of` gives a session of bytes."""
    told = onnx.ModelProto()
    told.CopyFrom(model)
    known = {info.name for info in told.graph.output}
    for node in model.graph.node:
        for name in node.output:
            if name and name not in known:
                told.graph.output.add().name = name
    session = session_of(told.SerializeToString())
    names = [info.name for info in session.get_outputs()]
    return {**feeds, **dict(zip(names, session.run(None, feeds)))}


def single(model, node, values):
    """(a model of the node alone, its feeds); None when it deals in more than tensors."""
    weights = {tensor.name: tensor for tensor in model.graph.initializer}
    outputs = [name for name in node.output if name]
    feeds = {name: values[name] for name in sorted(_used(node))
             if name not in weights and name in values}
    if not all(isinstance(v, np.ndarray) for v in [*feeds.values(), *(values[o] for o in outputs)]):
        return None
    one = onnx.ModelProto()
    one.CopyFrom(model)
    one.graph.Clear()
    one.graph.name = "one"
    one.graph.node.add().CopyFrom(node)
    one.graph.initializer.extend(weights[n] for n in sorted(_used(node)) if n in weights)
    one.graph.input.extend(_describe(n, v) for n, v in feeds.items())
    one.graph.output.extend(_describe(n, values[n]) for n in outputs)
    return one, feeds


def compare(model, feeds, session_of, run, relative_error):
    """Runs each node by `run(model, feeds) -> {name: array}`. Gives (nodes compared, those left
    out, the worst error over its limit, what node that was)."""
    values = all_values(model, feeds, session_of)
    compared, left_out, worst, where = 0, 0, 0.0, ""
    for node in model.graph.node:
        case = single(model, node, values)
        if not case:
            left_out += 1
            continue
        got = run(*case)
        compared += 1
        for name in filter(None, node.output):
            want = values[name]
            error = relative_error(want, got[name]) / LIMITS.get(want.dtype, LIMIT)
            if error > worst:
                worst, where = error, f"{node.op_type} {node.name}"
    return compared, left_out, worst, where
