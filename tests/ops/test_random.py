"""Random operators: shapes, types, moments, seeds; and Dropout's two modes."""

import hone_ctypes
import numpy as np
import onnx
import pytest
from one_node import check, feeds_of, node_model

F32 = np.float32
ONE = np.ones((100, 1000), F32)


def run(op, inputs, opset, attrs=None, n_outputs=1, constants=()):
    model = node_model(op, inputs, opset, attrs, n_outputs, constants=constants)
    return hone_ctypes.run(model, feeds_of(inputs, constants))


@pytest.mark.parametrize("seed", [{}, {"seed": 1.0}, {"seed": 2.5}])
def test_uniform(seed):
    (y,) = run("RandomUniform", [], 1, seed | {"shape": [300, 300], "low": -2.0, "high": 4.0})
    assert y.dtype == F32 and y.shape == (300, 300) and y.min() >= -2 and y.max() <= 4
    assert abs(y.mean() - 1) < 0.03 and abs(y.std() - 6 / 12**0.5) < 0.03
    (y,) = run("RandomUniformLike", [ONE.astype(np.int32)], 1, seed | {"dtype": 11})
    assert y.dtype == np.float64 and y.shape == ONE.shape and abs(y.mean() - 0.5) < 0.01


@pytest.mark.parametrize("seed", [{}, {"seed": 1.0}, {"seed": 2.5}])
def test_normal(seed):
    (y,) = run("RandomNormal", [], 22, seed | {"shape": [300, 300], "mean": 3.0, "scale": 2.0})
    assert y.dtype == F32 and abs(y.mean() - 3) < 0.04 and abs(y.std() - 2) < 0.04
    assert abs(((y - 3) ** 3).mean()) < 0.3 and abs(((y - 3) ** 4).mean() / 16 - 3) < 0.2
    (y,) = run("RandomNormalLike", [ONE.astype(np.float16)], 1, seed)
    assert y.dtype == np.float16 and abs(y.astype(F32).std() - 1) < 0.02


def test_bernoulli_and_multinomial():
    (y,) = run("Bernoulli", [ONE * F32(0.2)], 15, {"dtype": 6, "seed": 1.0})
    assert y.dtype == np.int32 and set(np.unique(y)) == {0, 1} and abs(y.mean() - 0.2) < 0.01
    odds = np.array([[0.1, 0.2, 0.7], [0.5, 0.5, 0]], F32)
    with np.errstate(divide="ignore"):
        (y,) = run("Multinomial", [np.log(odds * 3)], 7, {"sample_size": 20000, "dtype": 7})
    assert y.dtype == np.int64 and y.shape == (2, 20000)
    for row, expected in zip(y, odds):
        np.testing.assert_allclose(np.bincount(row, minlength=3) / 20000, expected, atol=0.02)


def test_a_seed_repeats_its_numbers():
    draws = [run("RandomNormal", [], 1, {"shape": [50], "seed": s})[0] for s in (5.0, 5.0, 6.0)]
    assert (draws[0] == draws[1]).all() and (draws[0] != draws[2]).any()


def test_without_a_seed_each_run_draws_others():
    session = hone_ctypes.Session(node_model("RandomUniform", [], 1, {"shape": [50]}))
    assert (session.run([])[0] != session.run([])[0]).any()


@pytest.mark.parametrize("seed", [{}, {"seed": 1.0}])
def test_each_round_of_a_loop_draws_others(seed):
    helper, value = onnx.helper, onnx.helper.make_tensor_value_info
    body = helper.make_graph(
        [helper.make_node("RandomUniform", [], ["draw"], shape=[20], **seed),
         helper.make_node("Identity", ["go"], ["again"])], "body",
        [value("round", 7, []), value("go", 9, [])], [value("again", 9, []), value("draw", 1, [20])])
    graph = helper.make_graph([helper.make_node("Loop", ["n", ""], ["y"], body=body)], "loop",
                              [value("n", 7, [])], [value("y", 1, [None, 20])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    (y,) = hone_ctypes.run(model, [np.array(5)])
    assert y.shape == (5, 20) and len({row.tobytes() for row in y}) == 5


@pytest.mark.parametrize("constants", [(), (1, 2)])
def test_dropout_trains(constants):
    inputs = [ONE, F32(0.3), np.array(True)]
    y, mask = run("Dropout", inputs, 13, n_outputs=2, constants=constants)
    assert mask.dtype == bool and abs(mask.mean() - 0.7) < 0.01
    np.testing.assert_allclose(y, np.where(mask, 1 / 0.7, 0), rtol=1e-6)
    y, mask = run("Dropout", [ONE], 6, {"ratio": 0.25}, n_outputs=2)
    assert mask.dtype == F32 and abs(mask.mean() - 0.75) < 0.01
    np.testing.assert_allclose(y, mask / 0.75, rtol=1e-6)


def test_dropout_is_the_identity_otherwise():
    x, all_on = np.arange(12, dtype=F32).reshape(3, 4), np.ones((3, 4), bool)
    for opset in (1, 6):
        check("Dropout", [x], opset, {"is_test": 1}, expected=[x])
    for opset in (7, 10):
        check("Dropout", [x], opset, {"ratio": 0.3}, expected=[x])
    for opset in (12, 13, 22):
        for more in ([], [F32(0.3)], [F32(0.3), np.array(False)], [F32(0), np.array(True)]):
            check("Dropout", [x, *more], opset, n_outputs=2, expected=[x, all_on])
