"""Engines for a range of rows: products by weights go by parts where there are enough rows, and as
they are where there are few (pass `strassen`). All sizes give what NumPy computes.
"""

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from command import hone

SIZE, MOST = 576, 400
SIZES = [1, 2, 31, 63, 64, 65, 127, 128, 129, 255, 256, 257, 399, 400]


def numbers(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32) / 24


WEIGHTS = {"w": numbers(0, SIZE, SIZE), "bias": numbers(1, SIZE), "v": numbers(2, SIZE, SIZE)}


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    """relu(x w + bias) v + x."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Add", ["a", "bias"], ["b"]),
             helper.make_node("Relu", ["b"], ["c"]), helper.make_node("MatMul", ["c", "v"], ["d"]),
             helper.make_node("Add", ["d", "x"], ["y"])]
    x, y = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, "n", SIZE]) for name in "xy")
    constants = [numpy_helper.from_array(value, name) for name, value in WEIGHTS.items()]
    model = helper.make_model(helper.make_graph(nodes, "open", [x], [y], constants),
                              opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    folder = tmp_path_factory.mktemp("open_rows")
    onnx.save(model, folder / "model.onnx")
    done = hone("compile", folder / "model.onnx", "-o", folder / "model.hone", "--device", "cpu", "--dim",
                f"n=1..{MOST}", "--threads", "2", "--explain-passes")
    assert done.returncode == 0, done.stderr
    assert "2 products by fewer of parts" in done.stdout + done.stderr
    return folder / "model.hone"


@pytest.mark.parametrize("rows", SIZES)
def test_rows_go_one_of_two_ways(engine, tmp_path, rows):
    x = numbers(rows, 1, rows, SIZE)
    np.save(tmp_path / "x.npy", x)
    done = hone("run", engine, "--device", "cpu", "--input", tmp_path / "x.npy", "--output",
                f"y={tmp_path / 'y.npy'}")
    assert done.returncode == 0, done.stderr
    want = np.maximum(x @ WEIGHTS["w"] + WEIGHTS["bias"], 0) @ WEIGHTS["v"] + x
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), want, rtol=0, atol=1e-4 * abs(want).max())
