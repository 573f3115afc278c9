"""Arithmetic on shapes stays symbolic: a model whose sizes are names has, before it runs,
output types that are expressions in those names. A node kept back until it runs would show as
an unknown type or as an extent without a name ("_3").
"""

import re

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import graphs

SHAPE = ["batch", "seq", 12]
SIZES = {"batch": 3, "seq": 5}


def start(opset=21):
    g = graphs.Graph(opset)
    return g, g.input("x", np.float32, SHAPE)


def array(**sizes):
    sizes = {**SIZES, **sizes}
    shape = [sizes.get(d, d) for d in SHAPE]
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def size_of(g, x, axis):
    return g.op("Gather", g.op("Shape", x), g.const(axis))


def as_list(g, scalar):
    return g.op("Unsqueeze", scalar, g.const([0]))


def shape_of(g, *entries):
    """A shape from numbers and names of scalars."""
    parts = [g.const([e]) if isinstance(e, int) else as_list(g, e) for e in entries]
    return g.op("Concat", *parts, axis=0)


def reshape_prefix(g, x):
    front = g.op("Slice", g.op("Shape", x), g.const([0]), g.const([2]))
    return g.op("Reshape", x, g.op("Concat", front, g.const([-1]), axis=0))


def heads(g, x):
    b, s = size_of(g, x, 0), size_of(g, x, 1)
    y = g.op("Reshape", x, shape_of(g, b, s, 3, 4))
    return g.op("Transpose", y, perm=[0, 2, 1, 3])


def heads_and_back(g, x):
    b, s = size_of(g, x, 0), size_of(g, x, 1)
    y = g.op("Transpose", heads(g, x), perm=[0, 2, 1, 3])
    return g.op("Reshape", y, shape_of(g, b, s, g.op("Mul", g.const(3), g.const(4))))


def merged(g, x):
    return g.op("Reshape", x, g.const([-1, 12]))


def merged_and_split(g, x):
    y = merged(g, x)
    return g.op("Reshape", y, shape_of(g, size_of(g, x, 0), -1, 12))


def copied_axes(g, x):
    return g.op("Reshape", x, g.const([0, 0, 3, 4]))


def expanded(g, x):
    row = g.const(np.ones((1, 12)), np.float32)
    b, s = size_of(g, x, 0), size_of(g, x, 1)
    return g.op("Expand", row, shape_of(g, b, s, 12))


def expanded_like_torch(g, x):
    """-1 stands for "keep": replaced by 1 with ConstantOfShape, Mul, Equal and Where."""
    wanted = shape_of(g, size_of(g, x, 0), size_of(g, x, 1), -1)
    ones = g.op("ConstantOfShape", g.op("Shape", wanted), value=one())
    keep = g.op("Equal", wanted, g.op("Mul", ones, g.const(-1)))
    return g.op("Expand", g.const(np.ones((1, 1, 12)), np.float32),
                g.op("Where", keep, ones, wanted))


def one():
    from onnx import helper
    return helper.make_tensor("one", 7, [1], [1])


def filled(g, x):
    return g.op("ConstantOfShape", g.op("Shape", x))


def positions(g, x):
    return g.op("Range", g.const(0), size_of(g, x, 1), g.const(1))


def every_second(g, x):
    return g.op("Range", g.const(0), size_of(g, x, 1), g.const(2))


def causal_mask(g, x):
    s = size_of(g, x, 1)
    ones = g.op("ConstantOfShape", shape_of(g, s, s))
    return g.op("Trilu", ones, upper=1)


def all_but_last(g, x):
    end = g.op("Sub", size_of(g, x, 1), g.const(1))
    return g.op("Slice", x, g.const([0]), as_list(g, end), g.const([1]))


def reversed_axis(g, x):
    return g.op("Slice", x, g.const([-1]), g.const([-(2**63)]), g.const([1]), g.const([-1]))


def halves(g, x):
    y = g.op("Tile", x, g.const([1, 2, 1]))
    return g.op("Split", y, n_outputs=2, axis=1, num_outputs=2)[1]


def tiled(g, x):
    return g.op("Tile", x, g.const([2, 3, 1]))


def padded(g, x):
    left = as_list(g, size_of(g, x, 0))
    pads = g.op("Concat", g.const([0]), left, g.const([0, 0, 2, 0]), axis=0)
    return g.op("Pad", x, pads)


def reflected(g, x):
    return g.op("Pad", x, g.const([0, 2, 0, 0, 2, 0]), mode="reflect")


def upscaled(g, x):
    return g.op("Resize", x, "", g.const([1, 2, 1], np.float32), mode="linear")


def resized(g, x):
    twice = g.op("Mul", size_of(g, x, 1), g.const(2))
    return g.op("Resize", x, "", "", shape_of(g, size_of(g, x, 0), twice, 6), mode="linear")


def concatenated(g, x):
    return g.op("Concat", x, g.op("Tile", x, g.const([1, 2, 1])), axis=1)


def gathered(g, x):
    return g.op("Gather", x, positions(g, x), axis=1)


def one_hot(g, x):
    values = g.const([0, 1], np.float32)
    return g.op("OneHot", positions(g, x), size_of(g, x, 0), values)


def cropped(g, x):
    return g.op("CenterCropPad", x, shape_of(g, 2, size_of(g, x, 0)), axes=[0, 1])


def flattened(g, x):
    return g.op("Flatten", x, axis=2)


def squeezed(g, x):
    y = g.op("Unsqueeze", x, g.const([0, 3]))
    return g.op("Squeeze", y, g.const([0, -2]))


def element_count(g, x):
    return g.op("ConstantOfShape", as_list(g, g.op("Size", x)))


def scattered(g, x):
    index = g.op("Unsqueeze", g.op("Unsqueeze", positions(g, x), g.const([1])), g.const([0]))
    full = g.op("Expand", index, shape_of(g, size_of(g, x, 0), size_of(g, x, 1), 12))
    return g.op("ScatterElements", x, full, x, axis=1, reduction="add")


def floats_and_back(g, x):
    """Exporters halve a size through floats: int(float(seq) * 2)."""
    number = g.op("Cast", size_of(g, x, 1), to=1)
    twice = g.op("Cast", g.op("Floor", g.op("Mul", number, g.const(2, np.float32))), to=7)
    return g.op("ConstantOfShape", as_list(g, twice))


CASES = [
    (reshape_prefix, "f32[batch, seq, 12]"),
    (heads, "f32[batch, 3, seq, 4]"),
    (heads_and_back, "f32[batch, seq, 12]"),
    (merged, "f32[batch*seq, 12]"),
    (merged_and_split, "f32[batch, seq, 12]"),
    (copied_axes, "f32[batch, seq, 3, 4]"),
    (expanded, "f32[batch, seq, 12]"),
    (expanded_like_torch, "f32[batch, seq, 12]"),
    (filled, "f32[batch, seq, 12]"),
    (positions, "i64[seq]"),
    (every_second, None),
    (causal_mask, "f32[seq, seq]"),
    (all_but_last, None),
    (reversed_axis, "f32[batch, seq, 12]"),
    (halves, None),
    (tiled, "f32[2*batch, 3*seq, 12]"),
    (padded, None),
    (reflected, None),
    (upscaled, "f32[batch, 2*seq, 12]"),
    (resized, "f32[batch, 2*seq, 6]"),
    (concatenated, "f32[batch, 3*seq, 12]"),
    (gathered, "f32[batch, seq, 12]"),
    (one_hot, "f32[seq, batch]"),
    (cropped, None),
    (flattened, "f32[batch*seq, 12]"),
    (squeezed, "f32[batch, seq, 12]"),
    (element_count, None),
    (scattered, "f32[batch, seq, 12]"),
]


def is_symbolic(text):
    """Only names of the model's dimensions: nothing left for the run to find out."""
    return re.search(r"[a-z0-9]+\[.*\]$", text) and "_" not in text


@pytest.mark.parametrize("build,expected", CASES, ids=[c[0].__name__ for c in CASES])
def test_types_are_expressions(build, expected):
    g, x = start()
    (text,) = graphs.output_types(g.model(build(g, x)))
    assert is_symbolic(text), text
    if expected:
        assert re.sub("[ ()]", "", text) == re.sub("[ ()]", "", expected)


@pytest.mark.parametrize("build", [c[0] for c in CASES] + [floats_and_back],
                         ids=lambda build: build.__name__)
@pytest.mark.parametrize("sizes", [{}, {"seq": 1}, {"batch": 1, "seq": 7}])
def test_results_are_right(build, sizes):
    if build is reflected and sizes.get("seq") == 1:
        pytest.skip("nothing to reflect")
    g, x = start()
    graphs.same_as_ort(g.model(build(g, x)), array(**sizes), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("build", [reshape_prefix, heads_and_back, merged, expanded, filled,
                                   positions, all_but_last, reversed_axis, tiled, concatenated,
                                   flattened])
def test_no_elements(build):
    g, x = start()
    (got,) = graphs.run(g.model(build(g, x)), array(seq=0))
    assert 0 in got.shape or got.size == 0


# ---- any arithmetic ----

def numbers():
    """Expressions over batch and seq: (function of a graph, function of the numbers)."""
    leaf = st.one_of(
        st.sampled_from(["batch", "seq"]).map(lambda name: ("size", name)),
        st.integers(1, 6).map(lambda k: ("number", k)))
    return st.recursive(leaf, lambda inner: st.tuples(
        st.sampled_from(["Add", "Mul", "Max", "Min", "Div", "Sub"]), inner, inner), max_leaves=6)


def emit(g, x, e):
    if e[0] == "size":
        return size_of(g, x, ["batch", "seq"].index(e[1]))
    if e[0] == "number":
        return g.const(e[1])
    return g.op(e[0], emit(g, x, e[1]), emit(g, x, e[2]))


class Undefined(Exception):
    """Division by zero, or a size larger than a test should have."""


def value(e, sizes):
    if e[0] == "size":
        return sizes[e[1]]
    if e[0] == "number":
        return e[1]
    a, b = value(e[1], sizes), value(e[2], sizes)
    if e[0] == "Div":
        if b == 0:
            raise Undefined
        return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    out = {"Add": a + b, "Mul": a * b, "Max": max(a, b), "Min": min(a, b), "Sub": a - b}[e[0]]
    if abs(out) > 10000:
        raise Undefined
    return out


@settings(max_examples=60, deadline=None)
@given(numbers(), st.integers(1, 4), st.integers(1, 4))
def test_sizes_computed_from_sizes(e, batch, seq):
    """ConstantOfShape([max(e, 0)]) has that many elements, and nothing was kept back."""
    try:
        wanted = max(value(e, {"batch": batch, "seq": seq}), 0)
    except Undefined:
        return
    g, x = start()
    size = g.op("Max", emit(g, x, e), g.const(0))
    model = g.model(g.op("ConstantOfShape", as_list(g, size)))
    (got,) = graphs.run(model, array(batch=batch, seq=seq))
    assert got.shape == (wanted,)
    if "Div" not in str(e):  # a quotient of unknown sign is found out when it runs
        (text,) = graphs.output_types(model)
        assert is_symbolic(text), text


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(-8, 8), st.integers(-8, 8),
                          st.integers(-3, 3).filter(bool)), min_size=1, max_size=2),
       st.integers(0, 6), st.integers(0, 6))
def test_slices_are_nearly_pythons(ranges, batch, seq):
    """Slices of symbolic axes, with bounds that lie anywhere. Where Python walks backwards from
    in front of the axis it finds nothing; ONNX begins with the first element."""
    g, x = start()
    columns = list(zip(*ranges))
    lists = [g.const(list(c)) for c in columns]
    model = g.model(g.op("Slice", x, lists[0], lists[1], g.const(list(range(len(ranges)))),
                         lists[2]))
    data = array(batch=batch, seq=seq)
    (text,) = graphs.output_types(model)
    assert is_symbolic(text), text
    wanted = data[tuple(slice(max(start, -n) if step < 0 else start, end, step)
                        for (start, end, step), n in zip(ranges, (batch, seq)))]
    (got,) = graphs.run(model, data)
    np.testing.assert_array_equal(got, wanted)


@settings(max_examples=60, deadline=None)
@given(st.permutations([0, 1, 2]), st.integers(0, 3), st.integers(1, 4), st.integers(1, 4))
def test_reshapes_from_run_time_lists(order, special, batch, seq):
    """The target shape is an input: 0, -1 and plain sizes are told apart when it runs."""
    data = array(batch=batch, seq=seq)
    shape = [data.shape[i] for i in order]
    if special < 3:
        shape[special] = -1
    g, x = start()
    target = g.input("target", np.int64, [3])
    model = g.model(g.op("Reshape", x, target))
    (got,) = graphs.run(model, data, np.array(shape, np.int64))
    np.testing.assert_array_equal(got, data.reshape(shape))
    (got,) = graphs.run(model, data, np.array([0, -1, 12], np.int64))
    np.testing.assert_array_equal(got, data)


def test_data_dependent_extents_do_not_keep_nodes_back():
    g, x = start()
    found = g.op("NonZero", g.op("Greater", x, g.const(3, np.float32)))
    picked = g.op("GatherND", x, g.op("Transpose", found))
    (text,) = graphs.output_types(g.model(picked))
    assert re.fullmatch(r"f32\[[^,\]]+\]", text), text
    data = array()
    np.testing.assert_array_equal(graphs.run(g.model(picked), data)[0], data[data > 3])


@pytest.mark.parametrize("parts", [16, 17, 90, 300])
def test_many_extents_that_only_a_run_knows_are_joined(parts):
    """As those of what a detector finds of each class: their sum is a long expression."""
    g = graphs.Graph(13)
    x = g.input("x", np.float32, [parts, 7])
    found = [g.op("NonZero", g.op("Greater", g.op("Gather", x, g.const(i, np.int64)),
                                  g.const(0, np.float32))) for i in range(parts)]
    model = g.model(g.op("Concat", *found, axis=1))
    random = np.random.default_rng(parts)
    graphs.same_as_ort(model, random.normal(size=(parts, 7)).astype(np.float32))
    graphs.same_as_ort(model, -np.ones((parts, 7), np.float32))
