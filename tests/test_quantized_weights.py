"""Models whose weights alone are quantized, as language models are stored: the answers are those of
`ref`, and the weights stay integers, whatever the number of rows."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T, helper, numpy_helper

import hone_ctypes

SUMS, RESULTS, BLOCK = 512, 384, 32
RNG = np.random.default_rng(5)


def scales(*shape):
    return RNG.uniform(0.001, 0.01, shape).astype(np.float32)


def save(path, nodes, constants, rows="rows", opset=21, results=RESULTS):
    data = helper.make_tensor_value_info("x", T.FLOAT, [rows, SUMS])
    result = helper.make_tensor_value_info("y", T.FLOAT, [rows, results])
    graph = helper.make_graph(nodes, "g", [data], [result], constants)
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)


def columns_of_bytes(path):
    weights = RNG.integers(0, 256, (SUMS, RESULTS)).astype(np.uint8)
    nodes = [helper.make_node("DequantizeLinear", ["w", "s", "z"], ["f"], axis=1),
             helper.make_node("MatMul", ["x", "f"], ["y"])]
    zero = np.full(RESULTS, 128, np.uint8)
    save(path, nodes, [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(zero, "z"),
                       numpy_helper.from_array(scales(RESULTS), "s")])


def blocks_of_nibbles(path, rows="rows"):
    weights = RNG.integers(0, 16, SUMS * RESULTS)
    zero = RNG.integers(0, 16, SUMS // BLOCK * RESULTS)
    nodes = [helper.make_node("DequantizeLinear", ["w", "s", "z"], ["f"], axis=0,
                              block_size=BLOCK),
             helper.make_node("MatMul", ["x", "f"], ["y"])]
    save(path, nodes,
         [helper.make_tensor("w", T.UINT4, [SUMS, RESULTS], weights.tolist()),
          helper.make_tensor("z", T.UINT4, [SUMS // BLOCK, RESULTS], zero.tolist()),
          numpy_helper.from_array(scales(SUMS // BLOCK, RESULTS), "s")], rows)


def packed(path, bits, rows, results):
    weights = RNG.integers(0, 256, (results, SUMS // BLOCK, BLOCK * bits // 8)).astype(np.uint8)
    nodes = [helper.make_node("MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft",
                              K=SUMS, N=results, bits=bits, block_size=BLOCK)]
    save(path, nodes, [numpy_helper.from_array(weights, "w"),
                       numpy_helper.from_array(scales(results * SUMS // BLOCK), "s")], rows,
         results=results)


def packed_nibbles(path, rows="rows"):
    packed(path, 4, rows, RESULTS)


@pytest.mark.parametrize("make", [columns_of_bytes, blocks_of_nibbles, packed_nibbles])
def test_weights_stay_integers(make, tmp_path):
    path = str(tmp_path / "net.onnx")
    make(path)
    compiled = hone_ctypes.Session(path, "cpu")
    as_floats = SUMS * RESULTS * 4
    assert compiled.describe().weight_bytes < as_floats / 3
    reference = hone_ctypes.Session(path, "ref")
    for rows in (1, 3, 17):
        feeds = {"x": RNG.standard_normal((rows, SUMS)).astype(np.float32)}
        want, got = reference.run(feeds)[0], compiled.run(feeds)[0]
        assert np.abs(got - want).max() <= 1e-5 * np.abs(want).max()


def deviation(path, rows):
    """Of data of any size, by the largest result."""
    data = RNG.standard_normal((rows, SUMS)) * np.exp(RNG.standard_normal((rows, SUMS)) * 2)
    data[0, :BLOCK + 3] = 0
    feeds = {"x": data.astype(np.float32)}
    want = hone_ctypes.Session(path, "ref").run(feeds)[0]
    got = hone_ctypes.Session(path, "cpu").run(feeds)[0]
    return np.abs(got - want).max() / np.abs(want).max()


@pytest.mark.parametrize("rows", [1, 3, 4, 5])
@pytest.mark.parametrize("make", [blocks_of_nibbles, packed_nibbles])
def test_few_rows_are_as_precise_as_floats(make, rows, tmp_path):
    path = str(tmp_path / "net.onnx")
    make(path, rows)
    assert deviation(path, rows) <= 4e-6


@pytest.mark.parametrize("rows", [2, 3, 8, 17, 40])
@pytest.mark.parametrize("results", [RESULTS, RESULTS + 33])
def test_many_rows_round_to_16_bits(rows, results, tmp_path):
    path = str(tmp_path / "net.onnx")
    packed(path, 8, rows, results)
    assert deviation(path, rows) <= 1e-4
