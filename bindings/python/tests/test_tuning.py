"""Tuning, from Python."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import hone


@pytest.fixture(scope="module")
def network():
    weight = np.random.default_rng(0).standard_normal((64, 48)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Relu", ["p"], ["y"])], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 48])],
        [numpy_helper.from_array(weight, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def test_tuned_kernels_are_used(network, tmp_path):
    told = []
    tuning = hone.tune(network, budget=600, trials=4, repeats=1, dims={"n": 32},
                       database=tmp_path / "t.db", progress=told.append)
    trials = [trial for trial in told if trial.kernel != "whole runs"]
    assert tuning.trials == len(trials) == 4 * len(tuning.kernels) and tuning.database_error == ""
    assert all(trial.outcome == "ok" and trial.seconds > 0 for trial in trials)
    assert all(trial.outcome in ("confirmed", "refused") for trial in told if trial not in trials)
    assert tuning.whole_error == "" and tuning.untested == 0
    assert (tuning.whole_gain > 0) == (tuning.confirmed + tuning.refused > 0)
    assert all(0 < k.best_seconds <= k.default_seconds for k in tuning.kernels)
    x = np.random.default_rng(1).standard_normal((32, 64)).astype(np.float32)
    with_it = hone.compile(network, dims={"n": 32}, tuned=tmp_path / "t.db")
    without = hone.compile(network, dims={"n": 32}, tuned=False)
    np.testing.assert_allclose(with_it(x), without(x), rtol=1e-4, atol=1e-4)


def test_progress_may_stop(network, tmp_path):
    tuning = hone.tune(network, budget=600, database=tmp_path / "t.db", progress=lambda trial: False)
    assert tuning.trials == 1 and tuning.stop == "stopped on request"


def test_senseless_options_are_errors(network, tmp_path):
    with pytest.raises(hone.HoneError):
        hone.tune(network, budget=-1, database=tmp_path / "t.db")
    with pytest.raises(hone.HoneError):
        hone.compile(network, tuned=tmp_path / "absent.db")
