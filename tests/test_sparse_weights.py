"""Quantized models whose weights are mostly zero: the answers are those of `ref`, bit for bit, and
where the processor has AVX2 the zeros take no time."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T, helper, numpy_helper

import hone_ctypes
from command import hone

ROWS, SUMS, RESULTS = 52, 96, 80
RNG = np.random.default_rng(7)


def pruned(*shape, share=0.06):
    weights = RNG.integers(-128, 128, shape).astype(np.int8)
    return np.where(RNG.random(shape) < share, weights, 0).astype(np.int8)


def save(path, nodes, shape, result, weights, more=()):
    data = helper.make_tensor_value_info("x", T.UINT8, shape)
    out = helper.make_tensor_value_info("y", T.INT32, result)
    graph = helper.make_graph(nodes, "g", [data], [out],
                              [numpy_helper.from_array(weights, "w"), *more])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, path)


def product(path, weights):
    save(path, [helper.make_node("MatMulInteger", ["x", "w"], ["y"])], [ROWS, SUMS],
         [ROWS, RESULTS], weights)


def product_and_more(path, weights):
    """What follows is done on the results of a block while they are near."""
    bias = numpy_helper.from_array(RNG.integers(-999, 999, RESULTS).astype(np.int32), "b")
    save(path, [helper.make_node("MatMulInteger", ["x", "w"], ["s"]),
                helper.make_node("Add", ["s", "b"], ["y"])],
         [4, ROWS, SUMS], [4, ROWS, RESULTS], weights, [bias])



@pytest.mark.parametrize("make", [product, product_and_more])
def test_answers_are_exact(make, tmp_path):
    path = str(tmp_path / "net.onnx")
    make(path, pruned(SUMS, RESULTS))
    reference, compiled = hone_ctypes.Session(path, "ref"), hone_ctypes.Session(path, "cpu")
    shape = [ROWS, SUMS] if make is product else [4, ROWS, SUMS]
    for data in (RNG.integers(0, 256, shape).astype(np.uint8), np.full(shape, 255, np.uint8)):
        want, got = reference.run({"x": data})[0], compiled.run({"x": data})[0]
        assert np.array_equal(want, got)


@pytest.mark.parametrize("share,is_sparse", [(0.06, True), (0.2, False)])
def test_zeros_are_left_out_where_there_are_many(share, is_sparse, tmp_path):
    path = str(tmp_path / "net.onnx")
    product(path, pruned(SUMS, RESULTS, share=share))
    dumped = hone("compile", path, "-o", tmp_path / "net.hone", "--target", "x86-64-v3", "--dump",
                  "kernels", code=0).stdout
    assert (" as sparse_u8_i8" in dumped) == is_sparse
    dumped = hone("compile", path, "-o", tmp_path / "old.hone", "--target", "x86-64-v2", "--dump",
                  "kernels", code=0).stdout
    assert " as sparse_u8_i8" not in dumped


def test_layers_that_differ_in_their_weights_share_code(tmp_path):
    """Each has a table of its own, of another length."""
    path = str(tmp_path / "net.onnx")
    nodes = [helper.make_node("MatMulInteger", ["x", name], [name + "s"]) for name in "wv"]
    nodes.append(helper.make_node("Concat", ["ws", "vs"], ["y"], axis=0))
    more = [numpy_helper.from_array(pruned(SUMS, RESULTS, share=0.02), "v")]
    save(path, nodes, [ROWS, SUMS], [2 * ROWS, RESULTS], pruned(SUMS, RESULTS), more)
    data = RNG.integers(0, 256, [ROWS, SUMS]).astype(np.uint8)
    want = hone_ctypes.Session(path, "ref").run({"x": data})[0]
    assert np.array_equal(want, hone_ctypes.Session(path, "cpu").run({"x": data})[0])
