"""Quantized models whose weights are small enough to be added up in 16 bits, or are split into such
and a rest: the answers are those of `ref`, bit for bit."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T, helper, numpy_helper

import hone_ctypes
from command import hone

RNG = np.random.default_rng(11)
ROWS = 33


def value(name, dtype, shape):
    return helper.make_tensor_value_info(name, dtype, shape)


def save(path, graph):
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)


def quantized(x="x", dtype=np.uint8):
    zero = 128 if dtype == np.uint8 else 3
    return ([helper.make_node("QuantizeLinear", [x, "scale", "zero"], ["q"])],
            [numpy_helper.from_array(np.array(1 / 128, np.float32), "scale"),
             numpy_helper.from_array(np.array(zero, dtype), "zero")])


def product(path, weights, dtype=np.uint8):
    nodes, constants = quantized(dtype=dtype)
    nodes.append(helper.make_node("MatMulInteger", ["q", "w"], ["y"]))
    save(path, helper.make_graph(nodes, "g", [value("x", T.FLOAT, [ROWS, len(weights)])],
                                 [value("y", T.INT32, [ROWS, weights.shape[1]])],
                                 [*constants, numpy_helper.from_array(weights, "w")]))


def small(*shape):
    return RNG.integers(-32, 33, shape).astype(np.int8)


def normal(*shape):
    return np.clip(np.round(RNG.normal(0, 38, shape)), -128, 127).astype(np.int8)


def extreme(*shape):
    return RNG.choice([-128, 127], shape).astype(np.int8)


def expect_same(path, *feeds):
    reference, compiled = hone_ctypes.Session(path, "ref"), hone_ctypes.Session(path, "cpu")
    for feed in feeds:
        for want, got in zip(reference.run(feed), compiled.run(feed)):
            assert np.array_equal(want, got)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("make", [small, normal, extreme])
@pytest.mark.parametrize("sums,results", [(64, 40), (768, 100), (768, 1), (16, 7)])
def test_answers_are_exact(dtype, make, sums, results, tmp_path):
    path = str(tmp_path / "net.onnx")
    product(path, make(sums, results), dtype)
    data = RNG.uniform(-1, 1, [ROWS, sums]).astype(np.float32)
    expect_same(path, {"x": data}, {"x": np.full_like(data, 9)})


def test_large_weights_are_split(tmp_path):
    path = str(tmp_path / "net.onnx")
    product(path, normal(768, 256))
    dumped = hone("compile", path, "-o", tmp_path / "net.hone", "--target", "x86-64-v3", "--dump",
                  "kernels", code=0).stdout
    assert " as dot8_u8_i8_x8" in dumped and " as sparse_u8_i8" in dumped
    dumped = hone("compile", path, "-o", tmp_path / "old.hone", "--target", "x86-64-v3+vnni",
                  "--dump", "kernels", code=0).stdout
    assert " as dot8_u8_i8_x8" not in dumped and " as sparse_u8_i8" not in dumped


def heads_put_together(path, weights, heads, dtype=np.uint8, columns=None):
    """Of [heads, rows, columns each], as attention gives them, rows of all heads' columns."""
    nodes, constants = quantized(dtype=dtype)
    nodes += [helper.make_node("Transpose", ["q"], ["turned"], perm=[0, 2, 1, 3]),
              helper.make_node("Reshape", ["turned", "wide"], ["rows"]),
              helper.make_node("MatMulInteger", ["rows", "w"], ["y"])]
    constants += [numpy_helper.from_array(weights, "w"),
                  numpy_helper.from_array(np.array([0, 0, -1], np.int64), "wide")]
    shape = [1, heads, ROWS, columns or len(weights) // heads]
    save(path, helper.make_graph(nodes, "g", [value("x", T.FLOAT, shape)],
                                 [value("y", T.INT32, [1, ROWS, weights.shape[1]])], constants))
    return shape


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("heads", [12, 96])
def test_heads_that_are_put_together(heads, dtype, tmp_path):
    """Whose columns stay side by side in eights."""
    path = str(tmp_path / "net.onnx")
    shape = heads_put_together(path, normal(768, 256), heads, dtype)
    expect_same(path, {"x": RNG.uniform(-1, 1, shape).astype(np.float32)})
    dumped = hone("compile", path, "-o", tmp_path / "net.hone", "--target", "x86-64-v3", "--dump",
                  "kernels", code=0).stdout
    assert " as dot8_u8_i8_x8" in dumped and " as sparse_u8_i8" in dumped


def test_heads_without_eights(tmp_path):
    path = str(tmp_path / "net.onnx")
    shape = heads_put_together(path, normal(768, 64), 192)
    expect_same(path, {"x": RNG.uniform(-1, 1, shape).astype(np.float32)})


def test_heads_that_are_cut_within_eights(tmp_path):
    """Groups of eight would then lie in two heads."""
    path = str(tmp_path / "net.onnx")
    shape = heads_put_together(path, normal(768, 256), 13, columns=64)
    model = onnx.load(path)
    ends = [numpy_helper.from_array(np.array([n], np.int64), name)
            for n, name in ((28, "from"), (796, "to"), (2, "axis"))]
    model.graph.initializer.extend(ends)
    cut = helper.make_node("Slice", ["rows", "from", "to", "axis"], ["cut"])
    model.graph.node.insert(len(model.graph.node) - 1, cut)
    model.graph.node[-1].input[0] = "cut"
    onnx.save(model, path)
    expect_same(path, {"x": RNG.uniform(-1, 1, shape).astype(np.float32)})
    dumped = hone("compile", path, "-o", tmp_path / "net.hone", "--target", "x86-64-v3", "--dump",
                  "kernels", code=0).stdout
    assert " as dot8_u8_i8_x8" not in dumped and " as sparse_u8_i8" not in dumped


def test_weights_without_columns(tmp_path):
    path = str(tmp_path / "net.onnx")
    product(path, np.zeros([64, 0], np.int8))
    expect_same(path, {"x": np.zeros([ROWS, 64], np.float32)})


@pytest.mark.parametrize("share", [1, 0.05])
def test_products_in_loops(share, tmp_path):
    """Small kernels of a body become one; weights keep what is known of them."""
    weights = np.where(RNG.random((64, 64)) < share, small(64, 64), 0).astype(np.int8)
    nodes, constants = quantized()
    nodes += [helper.make_node("MatMulInteger", ["q", "w"], ["p"]),
              helper.make_node("Cast", ["p"], ["pf"], to=T.FLOAT),
              helper.make_node("Mul", ["pf", "factor"], ["pm"]),
              helper.make_node("Clip", ["pm", "low", "high"], ["next"]),
              helper.make_node("Identity", ["go"], ["still"])]
    body = helper.make_graph(nodes, "body",
                             [value("i", T.INT64, []), value("go", T.BOOL, []), value("x", T.FLOAT, [32, 64])],
                             [value("still", T.BOOL, []), value("next", T.FLOAT, [32, 64])])
    numbers = {"factor": 1 / 2048, "low": -1, "high": 1}
    constants += [numpy_helper.from_array(np.array(n, np.float32), name) for name, n in numbers.items()]
    constants += [numpy_helper.from_array(weights, "w"),
                  numpy_helper.from_array(np.array(20, np.int64), "rounds"),
                  numpy_helper.from_array(np.array(True), "yes")]
    path = str(tmp_path / "net.onnx")
    save(path, helper.make_graph([helper.make_node("Loop", ["rounds", "yes", "a"], ["y"], body=body)],
                                 "g", [value("a", T.FLOAT, [32, 64])],
                                 [value("y", T.FLOAT, [32, 64])], constants))
    expect_same(path, {"a": RNG.uniform(-1, 1, [32, 64]).astype(np.float32)})
