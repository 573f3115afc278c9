"""Random graphs agree with ONNX Runtime, node by node.

A graph grows one node at a time. ONNX Runtime runs each node alone, which gives the values that
the next one can be chosen by, and what hone must give for it: hone gets the whole graph, with
some of the inputs' extents as names, and every value in it is an output. Extents may be 0.

Of the nodes that are tried ONNX Runtime must run most: a generator of graphs that nobody takes
tests nothing. HONE_RANDOM_GRAPHS is the number of graphs, other ones each time; by default the
same 150 are made (`make random-graphs` makes 2000 new ones).
"""

import collections
import contextlib
import os
import random

import numpy as np
import onnxruntime
from hypothesis import HealthCheck, Phase, given, note, settings, strategies as st
from onnx import helper, numpy_helper, printer

import graphs
import random_layers

CASES = int(os.environ.get("HONE_RANDOM_GRAPHS", "150"))
MOST_ELEMENTS = 3000
SHARE_THAT_RUNS = 0.8


class NotAdded(Exception):
    """ONNX Runtime does not run the node, or gives too much for it."""


class Value:
    """A tensor of the graph. `exact`: small numbers that no rounding has touched, so that steps
    (floor, comparisons) come out alike whatever the order of a sum was."""

    def __init__(self, name, array, exact, is_constant=False):
        self.name, self.array, self.is_constant = name, array, is_constant
        large = array.size and array.dtype.kind == "f" and not np.max(np.abs(array)) < 3e4
        self.exact = bool(exact and not large)

    def is_a(self, *kinds):
        return self.array.dtype.kind in "".join(kinds)


class Builder:
    def __init__(self, seed):
        self.random, self.graph = random.Random(seed), graphs.Graph(18)
        self.values, self.feeds = [], []
        self.refused = []

    # -- choices --

    def number(self, low, high):
        return self.random.randint(low, high)

    def one_of(self, items):
        return self.random.choice(list(items))

    def value(self, wanted=lambda v: True):
        """A value so far that is as wanted, or None."""
        fitting = [v for v in self.values if wanted(v)]
        return self.one_of(fitting) if fitting else None

    def axis(self, rank):
        return self.number(-rank, rank - 1)

    # -- making values --

    def random_array(self, shape, dtype):
        numbers = np.random.default_rng(self.number(0, 999))
        if dtype == np.bool_:
            return numbers.integers(0, 2, shape).astype(bool)
        array = numbers.integers(-24, 25, shape).astype(dtype)
        return np.asarray(array / np.dtype(dtype).type(8)) if array.dtype.kind == "f" else array

    def shape(self):
        extents = [1, 1, 2, 2, 3, 3, 4, 5, 0]
        return tuple(self.one_of(extents) for _ in range(self.number(0, 4)))

    def add_input(self):
        dtype = self.one_of([np.float32, np.float32, np.float64, np.int64, np.int32, np.bool_])
        array = self.random_array(self.shape(), dtype)
        name = f"x{len(self.feeds)}"
        names = {}
        dims = [names.setdefault(n, f"{name}_{n}") if self.number(0, 1) else n
                for n in array.shape]
        self.graph.input(name, dtype, dims)
        self.feeds.append(array)
        self.values.append(Value(name, array, True))

    def const(self, array, dtype=np.int64):
        array = np.array(array, dtype)
        return Value(self.graph.const(array, array.dtype), array, True, True)

    def op(self, op_type, *inputs, n_outputs=1, exact=True, captures=(), **attrs):
        """Adds the node and gives its values. `captures` are values that its subgraphs use by
        name. Raises NotAdded when ONNX Runtime cannot run it, or when it gives too much."""
        try:
            arrays = run_node(op_type, inputs, n_outputs, captures, attrs)
        except Exception as error:  # not for these types or shapes
            self.refused.append(op_type)
            raise NotAdded from error
        if any(a.size > MOST_ELEMENTS for a in arrays):
            raise NotAdded
        names = self.graph.op(op_type, *[v.name if v else "" for v in inputs],
                              n_outputs=n_outputs, **attrs)
        names = [names] if n_outputs == 1 else names
        exact = exact and all(v is None or v.exact for v in [*inputs, *captures])
        made = [Value(n, a, exact) for n, a in zip(names, arrays)]
        self.values += made
        return made[0] if n_outputs == 1 else made


def run_node(op_type, inputs, n_outputs, captures, attrs):
    names = [f"i{i}" if v else "" for i, v in enumerate(inputs)]
    outputs = [f"o{i}" for i in range(n_outputs)]
    node = helper.make_node(op_type, names, outputs, **attrs)
    given = [(n, v) for n, v in zip(names, inputs) if v] + [(v.name, v) for v in captures]
    known = [numpy_helper.from_array(v.array, n) for n, v in given if v.is_constant]
    fed = {n: v.array for n, v in given if not v.is_constant}
    declared = [helper.make_tensor_value_info(
        n, helper.np_dtype_to_tensor_dtype(a.dtype), list(a.shape)) for n, a in fed.items()]
    graph = helper.make_graph([node], "g", declared,
                              [helper.make_empty_tensor_value_info(o) for o in outputs], known)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(graphs.with_output_types(model).SerializeToString(),
                                           options, providers=["CPUExecutionProvider"])
    return [np.asarray(array) for array in session.run(None, fed)]


# ---- kinds of nodes: each adds one or a few, if it finds inputs for it ----

def unary(b):
    v = b.value(lambda v: v.is_a("f"))
    if v is None:
        return
    smooth = ["Sigmoid", "Tanh", "Erf", "Softplus", "Atan", "Sin", "Sqrt", "Reciprocal"]
    plain = ["Neg", "Abs", "Relu", "Identity", "LeakyRelu", "Sign", "Floor", "Ceil", "Round"]
    name = b.one_of(smooth + plain)
    if name in ("Sign", "Floor", "Ceil", "Round") and not v.exact:
        return
    b.op(name, v, exact=name in plain and name != "LeakyRelu")


def partner(b, v):
    """Something that broadcasts against v: a value, or a constant of part of its shape."""
    other = b.value(lambda o: o.array.dtype == v.array.dtype and fits(o.array, v.array))
    if other is not None and b.number(0, 1):
        return other
    shape = [1 if b.number(0, 2) == 0 else n for n in v.array.shape]
    return b.const(b.random_array(shape[b.number(0, len(shape)):], v.array.dtype),
                   v.array.dtype)


def fits(x, y):
    try:
        return np.broadcast_shapes(x.shape, y.shape) is not None
    except ValueError:
        return False


def binary(b):
    v = b.value(lambda v: v.is_a("f", "i"))
    if v is None:
        return
    pair = [v, partner(b, v)]
    if b.number(0, 1):
        pair.reverse()
    name = b.one_of(["Add", "Sub", "Mul", "Min", "Max", "Div", "Pow2"])
    if name == "Div":
        if v.is_a("f"):
            b.op("Div", *pair, exact=False)
    elif name == "Pow2":
        b.op("Pow", v, b.const(2, v.array.dtype), exact=v.is_a("i"))
    else:
        b.op(name, *pair)


def compare(b):
    v = b.value(lambda v: v.is_a("f", "i") and v.exact)
    if v is None:
        return
    other = partner(b, v)
    if other.exact:
        b.op(b.one_of(["Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"]), v, other)


def logic(b):
    v = b.value(lambda v: v.is_a("b"))
    if v is None:
        return
    if b.number(0, 1):
        b.op("Not", v)
    else:
        b.op(b.one_of(["And", "Or", "Xor"]), v, partner(b, v))


def where(b):
    v = b.value(lambda v: v.is_a("f", "i"))
    c = b.value(lambda c: c.is_a("b") and v is not None and fits(c.array, v.array))
    if c is not None:
        b.op("Where", c, v, partner(b, v))


def cast(b):
    v = b.value(lambda v: v.exact)
    if v is None:
        return
    dtype = b.one_of([np.float32, np.float64, np.int64, np.int32, np.bool_])
    b.op("Cast", v, to=int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype))))


def reduce(b):
    """Of numbers: where a NaN stands decides whether ONNX Runtime's ReduceMin gives it."""
    v = b.value(lambda v: v.is_a("f") and v.array.ndim and v.array.size
                and not np.isnan(v.array).any())
    if v is None:
        return
    name = b.one_of(["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2",
                     "ReduceLogSumExp"])
    rank = v.array.ndim
    axes = sorted({b.axis(rank) % rank for _ in range(b.number(1, rank))})
    axes = [a - rank if b.number(0, 1) else a for a in axes]
    b.op(name, v, b.const(axes), keepdims=b.number(0, 1),
         exact=name in ("ReduceSum", "ReduceMax", "ReduceMin"))


def along_axis(b):
    v = b.value(lambda v: v.is_a("f") and v.array.ndim and v.array.size)
    if v is None:
        return
    axis = b.axis(v.array.ndim)
    name = b.one_of(["Softmax", "LogSoftmax", "ArgMax", "ArgMin", "CumSum"])
    if name == "CumSum":
        b.op(name, v, b.const(axis), reverse=b.number(0, 1), exclusive=b.number(0, 1))
    elif name.startswith("Arg"):
        if v.exact:
            b.op(name, v, axis=axis, keepdims=b.number(0, 1))
    else:
        b.op(name, v, axis=axis, exact=False)


def matmul(b):
    v = b.value(lambda v: v.array.dtype == np.float32 and v.array.ndim and v.array.shape[-1])
    if v is None:
        return
    weight = b.const(b.random_array((v.array.shape[-1], b.number(1, 3)), np.float32), np.float32)
    b.op("MatMul", v, weight)


def transpose(b):
    v = b.value(lambda v: v.array.ndim)
    if v is None:
        return
    b.op("Transpose", v, perm=b.random.sample(range(v.array.ndim), v.array.ndim))


def reshape(b):
    """To a constant shape with 0 or -1 in it, or to one computed from Shape."""
    v = b.value(lambda v: v.array.ndim and v.array.size)
    if v is None:
        return
    if b.number(0, 1):
        shape = list(v.array.shape)
        kept = b.number(0, len(shape))
        b.op("Reshape", v, b.const([0] * kept + [-1]) if kept < len(shape) else b.const(shape))
        return
    shape = b.op("Shape", v)
    first = b.number(0, v.array.ndim - 1)
    front = b.op("Slice", shape, b.const([0]), b.const([first]))
    wanted = b.op("Concat", front, b.const([-1]), axis=0)
    b.op("Reshape", v, wanted)


def add_axes(b):
    v = b.value(lambda v: v.array.ndim < 4)
    if v is None:
        return
    rank = v.array.ndim + 1
    made = b.op("Unsqueeze", v, b.const([b.axis(rank)]))
    if b.number(0, 1):
        ones = [i for i, n in enumerate(made.array.shape) if n == 1]
        b.op("Squeeze", made, b.const([b.one_of(ones)]))


def flatten(b):
    v = b.value()
    b.op("Flatten", v, axis=b.number(-v.array.ndim, v.array.ndim))


def slice_(b):
    """The far end is the largest integer forwards and the smallest backwards: ONNX Runtime takes
    the largest as "to the end" in both directions, the specification does not."""
    v = b.value(lambda v: v.array.ndim)
    if v is None:
        return
    step = b.one_of([1, 2, -1, -2])
    bounds = [*range(-6, 7), *[2**63 - 1 if step > 0 else -(2**63)] * 6]
    b.op("Slice", v, b.const([b.one_of(bounds)]), b.const([b.one_of(bounds)]),
         b.const([b.axis(v.array.ndim)]), b.const([step]))


def slice_by_shape(b):
    """Up to half of an extent, computed in the graph."""
    v = b.value(lambda v: v.array.ndim)
    if v is None:
        return
    axis = b.number(0, v.array.ndim - 1)
    extent = b.op("Gather", b.op("Shape", v), b.const([axis]))
    half = b.op("Div", extent, b.const([2]))
    b.op("Slice", v, b.const([0]), half, b.const([axis]))


def pad(b):
    v = b.value(lambda v: v.array.ndim and not v.is_a("b"))
    if v is None:
        return
    pads = [b.number(0, 2) for _ in range(2 * v.array.ndim)]
    mode = b.one_of(["constant", "edge", "reflect"])
    if mode != "constant" and min(v.array.shape) < 3:
        return
    b.op("Pad", v, b.const(pads), mode=mode)


def concat(b):
    v = b.value(lambda v: v.array.ndim)
    if v is None:
        return
    axis = b.axis(v.array.ndim)
    rest = list(v.array.shape)
    del rest[axis]
    def joins(o):
        other = list(o.array.shape)
        return (o.array.dtype == v.array.dtype and len(other) == v.array.ndim
                and [n for i, n in enumerate(other) if i != axis % len(other)] == rest)
    b.op("Concat", *[b.value(joins) for _ in range(b.number(1, 3))], v, axis=axis)


def split(b):
    v = b.value(lambda v: v.array.ndim and max(v.array.shape) > 1)
    if v is None:
        return
    axis = int(np.argmax(v.array.shape))
    n = v.array.shape[axis]
    at = b.number(0, n)
    b.op("Split", v, b.const([at, n - at]), n_outputs=2, axis=axis - v.array.ndim)


def tile(b):
    v = b.value(lambda v: v.array.ndim)
    if v is not None:
        b.op("Tile", v, b.const([b.number(0, 2) if b.number(0, 3) else 1
                                 for _ in range(v.array.ndim)]))


def expand(b):
    v = b.value(lambda v: v.array.ndim < 4)
    if v is None:
        return
    shape = [n if n != 1 else b.number(0, 3) for n in v.array.shape]
    b.op("Expand", v, b.const([b.number(1, 2)] + shape))


def expand_like(b):
    v = b.value()
    small = b.value(lambda o: fits(o.array, v.array)
                    and np.broadcast_shapes(o.array.shape, v.array.shape) == v.array.shape)
    if small is not None:
        b.op("Expand", small, b.op("Shape", v))


def gather(b):
    v = b.value(lambda v: v.array.ndim and v.array.size)
    if v is None:
        return
    axis = b.axis(v.array.ndim)
    n = v.array.shape[axis]
    shape = b.one_of([(), (2,), (1, 3), (0,)])
    index = np.random.default_rng(b.number(0, 99)).integers(-n, n, shape)
    b.op("Gather", v, b.const(index), axis=axis)


def gather_elements(b):
    v = b.value(lambda v: v.array.ndim and v.array.size)
    if v is None:
        return
    axis = b.axis(v.array.ndim)
    n = v.array.shape[axis]
    index = np.random.default_rng(b.number(0, 99)).integers(-n, n, v.array.shape)
    b.op("GatherElements", v, b.const(index), axis=axis)


def scatter(b):
    v = b.value(lambda v: v.is_a("f") and v.array.ndim and v.array.size)
    if v is None:
        return
    n = v.array.shape[0]
    index = b.const(np.random.default_rng(b.number(0, 99)).integers(-n, n, (2, 1)))
    updates = b.const(b.random_array((2, *v.array.shape[1:]), v.array.dtype), v.array.dtype)
    b.op("ScatterND", v, index, updates, reduction="add")


def filled(b):
    v = b.value()
    b.op("ConstantOfShape", b.op("Shape", v))


def counted(b):
    """0, 1, … up to the number of elements, which is computed in the graph."""
    v = b.value(lambda v: v.array.size < 30)
    if v is not None:
        b.op("Range", b.const(0), b.op("Size", v), b.const(b.number(1, 2)))


def non_zero(b):
    v = b.value(lambda v: v.exact and v.array.ndim and v.is_a("f", "i", "b"))
    if v is not None:
        b.op("NonZero", v)


def triangle(b):
    v = b.value(lambda v: v.array.ndim >= 2 and v.is_a("f", "i"))
    if v is not None:
        b.op("Trilu", v, b.const(b.number(-2, 2)), upper=b.number(0, 1))


def resize(b):
    """Of finite numbers: who multiplies an infinity by a weight of 0 is left open."""
    v = b.value(lambda v: v.array.dtype == np.float32 and v.array.ndim == 4 and v.array.size
                and np.isfinite(v.array).all())
    if v is not None:
        b.op("Resize", v, None, b.const([1, 1, 2, b.one_of([1, 3])], np.float32),
             mode=b.one_of(["nearest", "linear"]), exact=False)


def clip(b):
    v = b.value(lambda v: v.is_a("f"))
    if v is not None:
        b.op("Clip", v, b.const(-1, v.array.dtype), b.const(2, v.array.dtype))


KINDS = [unary, binary, binary, compare, logic, where, cast, reduce, along_axis, matmul, transpose,
         reshape, reshape, add_axes, flatten, slice_, slice_by_shape, pad, concat, split, tile,
         expand, expand_like, gather, gather_elements, scatter, filled, counted, non_zero,
         triangle, resize, clip, *random_layers.KINDS]


def check(value, got):
    want = value.array
    assert got.dtype == want.dtype and got.shape == want.shape, (value.name, got.shape)
    if want.dtype.kind != "f":
        np.testing.assert_array_equal(got, want, value.name)
        return
    largest = np.max(np.abs(want[np.isfinite(want)]), initial=1)
    rounding = 10 * np.finfo(want.dtype).eps
    np.testing.assert_allclose(got, want, rtol=max(1e-4, rounding), err_msg=value.name,
                               atol=max(1e-5, rounding) * largest)


def grow(seed):
    """A graph with its values, and those among them that nodes made."""
    b = Builder(seed)
    for _ in range(b.number(1, 3)):
        b.add_input()
    tries = b.number(6, 16)
    while tries > 0 or not b.graph.nodes:
        tries -= 1
        with contextlib.suppress(NotAdded):
            b.one_of(KINDS)(b)
    return b, [v for v in b.values if not v.name.startswith("x")]


# Hypothesis draws seeds: the graph of one that fails can be made again. Graphs are not shrunk,
# as the first value that differs is named.
@settings(max_examples=CASES, deadline=None, derandomize="HONE_RANDOM_GRAPHS" not in os.environ,
          phases=[Phase.explicit, Phase.generate], database=None,
          suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**48))
def check_graphs(counts, seed):
    b, made = grow(seed)
    counts["graphs"] += 1
    counts["nodes"] += len(b.graph.nodes)
    counts.update(b.refused)
    counts["refused"] += len(b.refused)
    model = b.graph.model(*[v.name for v in made])
    note(printer.to_text(model.graph))
    for value, got in zip(made, graphs.run(model, *b.feeds), strict=True):
        check(value, got)


def test_random_graphs():
    counts = collections.Counter()
    check_graphs(counts)
    graphs_run, nodes, refused = (counts.pop(key) for key in ("graphs", "nodes", "refused"))
    print(f"\n{graphs_run} random graphs of {nodes} nodes agree; ONNX Runtime ran "
          f"{nodes / (nodes + refused):.1%} of the nodes tried, not: {dict(counts)}")
    assert nodes > SHARE_THAT_RUNS * (nodes + refused)
