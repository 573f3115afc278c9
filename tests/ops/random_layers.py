"""More kinds of nodes for test_random_graphs.py: layers of networks, arithmetic on shapes, and
control flow. Each adds one or a few nodes to the graph under construction, if it finds inputs."""

import numpy as np
from onnx import TensorProto, helper

SMALL = 1000  # beyond, the order in which numbers are added shows


def is_tame(v):
    """Finite and not large."""
    return not v.array.size or bool(np.max(np.abs(v.array)) < SMALL)


def numbers(b):
    return np.random.default_rng(b.number(0, 999))


def weights(b, shape, dtype=np.float32):
    return b.const(b.random_array(shape, dtype), dtype)


# ---- layers ----

def image(b):
    """An f32 value with a batch, channels and one or two axes to slide along; only the batch may
    be 0, as ONNX Runtime does not come back from a convolution without channels."""
    v = b.value(lambda v: v.array.dtype == np.float32 and v.array.ndim in (2, 3, 4)
                and is_tame(v) and all(v.array.shape[v.array.ndim > 2:]))
    if v is not None and v.array.ndim == 2:
        return b.op("Unsqueeze", v, b.const([0]))
    return v


def window(b, spatial):
    """Attributes of a window that slides over axes of these extents."""
    kernel = [b.number(1, min(3, n)) for n in spatial]
    attrs = {"kernel_shape": kernel, "strides": [b.number(1, 2) for _ in spatial]}
    if b.number(0, 3) == 0:
        attrs["auto_pad"] = b.one_of(["SAME_UPPER", "SAME_LOWER", "VALID"])
    else:
        attrs["pads"] = [b.number(0, k - 1) for k in kernel * 2]
    return attrs


def conv(b):
    v = image(b)
    if v is None:
        return
    channels = v.array.shape[1]
    group = channels if b.number(0, 2) == 0 else 1
    attrs = window(b, v.array.shape[2:])
    if "pads" in attrs and b.number(0, 2) == 0:
        attrs["dilations"] = [2 if 2 * (k - 1) < n else 1
                              for k, n in zip(attrs["kernel_shape"], v.array.shape[2:])]
    w = weights(b, (group * b.number(1, 2), channels // group, *attrs["kernel_shape"]))
    inputs = [v, w] + [weights(b, w.array.shape[:1])] * b.number(0, 1)
    b.op("Conv", *inputs, group=group, exact=False, **attrs)


def pool(b):
    """Without ceil_mode for averages: how ONNX Runtime counts a window that hangs over the end
    has changed between its versions."""
    v = image(b)
    if v is None:
        return
    name = b.one_of(["MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "LpPool"])
    if name.startswith("Global"):
        b.op(name, v, exact=False)
        return
    attrs = window(b, v.array.shape[2:])
    if name == "AveragePool":
        attrs["count_include_pad"] = b.number(0, 1)
    b.op(name, v, exact=False, **attrs)


def normalize(b):
    v = b.value(lambda v: v.array.dtype == np.float32 and v.array.ndim and v.array.size
                and v.exact and is_tame(v))
    if v is None:
        return
    rank, shape = v.array.ndim, v.array.shape
    name = b.one_of(["LayerNormalization", "InstanceNormalization", "BatchNormalization"])
    if name == "LayerNormalization":
        axis = b.axis(rank)
        b.op(name, v, weights(b, shape[axis:]), weights(b, shape[axis:]), axis=axis, exact=False)
    elif rank >= 2:
        parameters = [weights(b, shape[1:2]) for _ in range(2)]
        if name == "BatchNormalization":
            parameters += [weights(b, shape[1:2]), b.const(np.full(shape[1], 2), np.float32)]
        elif rank < 3:
            return
        b.op(name, v, *parameters, exact=False)


def gemm(b):
    """With something to sum over: ONNX Runtime forgets beta where there is nothing."""
    v = b.value(lambda v: v.array.dtype == np.float32 and v.array.ndim == 2 and is_tame(v)
                and v.array.size)
    if v is None:
        return
    flip_a, flip_b = b.number(0, 1), b.number(0, 1)
    rows, inner = v.array.shape[::-1] if flip_a else v.array.shape
    columns = b.number(0, 3)
    w = weights(b, (columns, inner) if flip_b else (inner, columns))
    c = [weights(b, b.one_of([(), (columns,), (1, columns), (rows, 1)]))] * b.number(0, 1)
    b.op("Gemm", v, w, *c, transA=flip_a, transB=flip_b, alpha=0.5, beta=2.0)


def batched_matmul(b):
    """Batch axes broadcast; a vector on the right. Something to sum over: ONNX Runtime may leave
    its result unset where there is nothing."""
    v = b.value(lambda v: v.array.dtype in (np.float32, np.float64, np.int32) and v.array.ndim
                and v.array.shape[-1] and is_tame(v))
    if v is None:
        return
    inner = v.array.shape[-1]
    batch = [1 if b.number(0, 1) else n for n in v.array.shape[:-2]]
    shape = b.one_of([(inner,), (inner, b.number(0, 3)), (*batch, inner, 2), (2, 1, inner, 1)])
    b.op("MatMul", v, weights(b, shape, v.array.dtype))


def rearrange(b):
    v = b.value(lambda v: v.array.dtype == np.float32 and v.array.ndim == 4)
    if v is None:
        return
    _, channels, height, width = v.array.shape
    if channels % 4 == 0:
        b.op("DepthToSpace", v, blocksize=2, mode=b.one_of(["DCR", "CRD"]))
    if height % 2 == 0 and width % 2 == 0:
        b.op("SpaceToDepth", v, blocksize=2)


# ---- arithmetic ----

def more_unary(b):
    v = b.value(lambda v: v.is_a("f"))
    if v is not None:
        b.op(b.one_of(["Elu", "Selu", "Celu", "HardSigmoid", "HardSwish", "Softsign", "Mish",
                       "ThresholdedRelu", "Cos", "Asinh", "Log", "Exp"]), v, exact=False)


def int_math(b):
    v = b.value(lambda v: v.is_a("i"))
    if v is None:
        return
    divisor = b.const(b.one_of([-3, -1, 2, 7]), v.array.dtype)
    name = b.one_of(["Div", "Mod", "Mod", "Abs", "Neg", "Sign"])
    if name == "Mod":
        b.op(name, v, divisor, fmod=b.number(0, 1))
    else:
        b.op(name, v, *[divisor][:name == "Div"])


def variadic(b):
    v = b.value(lambda v: v.array.dtype == np.float32)
    if v is None:
        return
    shapes = [v.array.shape[b.number(0, v.array.ndim):], (1,) * v.array.ndim]
    b.op(b.one_of(["Sum", "Mean", "Max", "Min"]), *[weights(b, s) for s in shapes], v,
         exact=False)


def reduce_more(b):
    """Whole numbers; all axes at once, also of nothing. Not one axis of nothing: ONNX Runtime then
    gives the axes that are left a wrong extent."""
    v = b.value(lambda v: v.is_a("i", "f") and v.array.dtype != np.float16 and is_tame(v))
    if v is None:
        return
    names = ["ReduceSum", "ReduceL1", "ReduceSumSquare"]
    if v.is_a("f"):  # products of whole numbers overflow
        names.append("ReduceProd")
    if v.array.size:
        names += ["ReduceMax", "ReduceMin"]
    inputs = [v]
    if v.array.ndim and v.array.size and b.number(0, 2):
        inputs.append(b.const([b.axis(v.array.ndim)]))
    b.op(b.one_of(names), *inputs, keepdims=b.number(0, 1), exact=v.is_a("i"))


def softmax_of_little(b):
    v = b.value(lambda v: v.is_a("f") and v.array.ndim and is_tame(v))
    if v is None:
        return
    names = ["Softmax", "LogSoftmax"] + ["Hardmax"] * (v.exact and v.array.dtype == np.float32)
    b.op(b.one_of(names), v, axis=b.axis(v.array.ndim), exact=False)


# ---- choosing and placing ----

def top_k(b):
    v = b.value(lambda v: v.is_a("f", "i") and v.array.ndim and v.exact)
    if v is None:
        return
    axis = b.axis(v.array.ndim)
    count = b.const([b.number(0, v.array.shape[axis])])
    b.op("TopK", v, count, n_outputs=2, axis=axis, largest=b.number(0, 1))


def gather_nd(b):
    v = b.value(lambda v: v.array.ndim and v.array.size)
    if v is None:
        return
    depth = b.number(1, v.array.ndim)
    n = v.array.shape[:depth]
    places = numbers(b).integers([-k for k in n], n, (b.one_of([1, 3]), depth))
    b.op("GatherND", v, b.const(places))


def scatter_elements(b):
    """Each place at most once, as the specification leaves the order open."""
    v = b.value(lambda v: v.is_a("f") and v.array.ndim and v.array.size)
    if v is None:
        return
    axis = b.axis(v.array.ndim)
    places = np.argsort(numbers(b).random(v.array.shape), axis=axis) - v.array.shape[axis]
    b.op("ScatterElements", v, b.const(places), weights(b, v.array.shape, v.array.dtype),
         axis=axis)


def one_hot(b):
    v = b.value(lambda v: v.array.dtype == np.int64 and 0 < v.array.ndim < 4)
    if v is not None:
        b.op("OneHot", v, b.const(b.number(1, 4)), b.const([2, 5], np.float32),
             axis=b.axis(v.array.ndim + 1))


def compress(b):
    v = b.value(lambda v: v.array.ndim)
    if v is None:
        return
    axis = b.axis(v.array.ndim)
    length = b.number(0, v.array.shape[axis])
    b.op("Compress", v, b.const(numbers(b).integers(0, 2, length), np.bool_), axis=axis)


def unique(b):
    v = b.value(lambda v: v.array.dtype in (np.float32, np.int64) and v.exact and v.array.size)
    if v is not None:
        b.op("Unique", v, n_outputs=4, sorted=1)


# ---- arithmetic on shapes ----

def merge_axes(b):
    """Two axes become one: Shape, Gather, Mul, Concat, Reshape."""
    v = b.value(lambda v: v.array.ndim >= 2 and v.array.size)
    if v is None:
        return
    rank = v.array.ndim
    at = b.number(0, rank - 2)
    shape = b.op("Shape", v)
    extents = [b.op("Gather", shape, b.const([i - rank * b.number(0, 1)])) for i in range(rank)]
    extents[at:at + 2] = [b.op("Mul", *extents[at:at + 2])]
    b.op("Reshape", v, b.op("Concat", *extents, axis=0))


def split_axis(b):
    """An even axis in two halves, by the number itself."""
    v = b.value(lambda v: v.array.ndim and v.array.shape[-1] % 2 == 0 and v.array.size)
    if v is None:
        return
    front = b.op("Shape", v, end=-1)
    last = b.op("Shape", v, start=-1)
    half = b.op("Div", last, b.const([2]))
    b.op("Reshape", v, b.op("Concat", front, b.const([2]), half, axis=0))


def pad_to(b):
    """Up to a length, by the difference."""
    v = b.value(lambda v: v.array.ndim == 1 and v.is_a("f", "i"))
    if v is None:
        return
    missing = b.op("Sub", b.const([6]), b.op("Shape", v))
    missing = b.op("Max", missing, b.const([0]))
    b.op("Pad", v, b.op("Concat", b.const([0]), missing, axis=0))


def tile_by_shape(b):
    v = b.value(lambda v: 1 <= v.array.ndim <= 2 and v.array.size < 30)
    if v is None:
        return
    b.op("Tile", v, b.op("Min", b.op("Shape", v), b.const([2])))


# ---- control flow ----

def subgraph(b, inputs, outputs, nodes):
    """A body: `inputs` and `outputs` are a name, a dtype and, if it is known, a shape."""
    def declare(name, dtype, shape=None):
        return helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)
    return helper.make_graph(nodes, b.graph.fresh(), [declare(*i) for i in inputs],
                             [declare(*o) for o in outputs])


def branch(b, v):
    """A graph of one node over a value from outside."""
    out = b.graph.fresh()
    rows = [n for n in ["Neg", "Identity", "Add", "Concat"] if n != "Concat" or v.array.ndim]
    name = b.one_of(rows)
    attrs = {"axis": 0} if name == "Concat" else {}
    inputs = [v.name] * (1 if name in ("Neg", "Identity") else 2)
    return subgraph(b, [], [(out, v.array.dtype)], [helper.make_node(name, inputs, [out], **attrs)])


def if_(b):
    v = b.value(lambda v: v.array.dtype in (np.float32, np.int64))
    if v is None:
        return
    condition = b.op("Greater", b.op("Size", v), b.const(b.number(0, 6)))
    b.op("If", condition, captures=[v], then_branch=branch(b, v), else_branch=branch(b, v))


def loop(b):
    """As many rounds as an axis is long; carries a sum, or something that grows. At least one
    round: without one nothing but its type tells the shape of what a loop collects."""
    v = b.value(lambda v: v.array.dtype in (np.float32, np.int64) and 1 <= v.array.ndim <= 2
                and is_tame(v) and v.array.shape[0] and max(v.array.shape) <= 5)
    if v is None:
        return
    i, going, total, still, made, seen = (b.graph.fresh() for _ in range(6))
    grows = b.number(0, 2) == 0
    nodes = [helper.make_node("Identity", [going], [still]),
             helper.make_node("Concat", [total, v.name], [made], axis=0) if grows
             else helper.make_node("Add", [total, v.name], [made]),
             helper.make_node("ReduceSum", [made], [seen], keepdims=b.number(0, 1))]
    if grows:  # the sum of a list that grows has as many axes as the list when they are kept
        nodes[2] = helper.make_node("ReduceSum", [made], [seen], keepdims=0)
    dtype = v.array.dtype
    body = subgraph(b, [(i, np.int64, ()), (going, np.bool_, ()), (total, dtype)],
                    [(still, np.bool_), (made, dtype), (seen, dtype)], nodes)
    rounds = b.op("Gather", b.op("Shape", v), b.const(0))
    b.op("Loop", rounds, None, v, captures=[v], n_outputs=2, body=body)


def scan(b):
    """Sums along an axis, one step after the other."""
    v = b.value(lambda v: v.array.dtype == np.float32 and v.array.ndim == 2 and is_tame(v)
                and v.array.size)
    if v is None:
        return
    axis = b.axis(2)
    total, step, made, seen = (b.graph.fresh() for _ in range(4))
    body = subgraph(b, [(total, np.float32), (step, np.float32)],
                    [(made, np.float32), (seen, np.float32)],
                    [helper.make_node("Add", [total, step], [made]),
                     helper.make_node("Identity", [made], [seen])])
    start = weights(b, (v.array.shape[1 - axis % 2],))
    b.op("Scan", start, v, n_outputs=2, num_scan_inputs=1, body=body, scan_input_axes=[axis],
         scan_output_axes=[axis], scan_input_directions=[b.number(0, 1)])


def to_half(b):
    """Numbers of 16 bits, moved about and turned back."""
    v = b.value(lambda v: v.array.dtype == np.float32 and v.exact and is_tame(v) and v.array.ndim)
    if v is None:
        return
    half = b.op("Cast", v, to=TensorProto.FLOAT16)
    moved = b.op(b.one_of(["Transpose", "Identity", "Relu", "Neg"]), half)
    b.op("Cast", moved, to=TensorProto.FLOAT)


KINDS = [conv, conv, pool, normalize, gemm, batched_matmul, rearrange, more_unary, int_math,
         variadic, reduce_more, softmax_of_little, top_k, gather_nd, scatter_elements, one_hot,
         compress, unique, merge_axes, split_axis, pad_to, tile_by_shape, if_, loop, scan, to_half]
