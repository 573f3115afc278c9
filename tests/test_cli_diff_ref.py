"""hone diff --against ref: the first kernel that departs is found, named, and written as a case.

Kernels are made wrong by a compiler that changes what it is given."""

import json
import stat

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import command


def hone(folder, *words, code=0, env=None):
    done = command.hone(*words, code=code, cwd=folder, env=env)
    return done.stdout if done.stdout else done.stderr


@pytest.fixture
def model(tmp_path):
    """x -> Exp -> MatMul -> Sub -> Softmax -> y: the subtraction is in the second kernel at least."""
    info = helper.make_tensor_value_info
    w = np.random.default_rng(1).standard_normal((6, 6)).astype(np.float32)
    nodes = [helper.make_node("Exp", ["x"], ["a"], "one"),
             helper.make_node("MatMul", ["a", "w"], ["b"], "two"),
             helper.make_node("CumSum", ["b", "axis"], ["c"], "three"),
             helper.make_node("Sub", ["c", "x"], ["d"], "four"),
             helper.make_node("CumSum", ["d", "axis"], ["y"], "five")]
    graph = helper.make_graph(nodes, "g", [info("x", TensorProto.FLOAT, ["n", 6])],
                              [info("y", TensorProto.FLOAT, ["n", 6])],
                              [onnx.numpy_helper.from_array(w, "w"),
                               onnx.numpy_helper.from_array(np.int64(1), "axis")])
    path = tmp_path / "net.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
              path)
    return path


@pytest.fixture
def wrong(tmp_path):
    """A compiler that turns differences into sums."""
    path = tmp_path / "cc"
    path.write_text("""#!/bin/sh
for word; do
  case $word in *.c) [ -f "$word" ] && sed -i -E '/^void hone_/,$ s/hone_sub_f32v?\\((\\w+), (\\w+)\\)/(\\1 + \\2)/g' $word;; esac
done
exec cc "$@"
""")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return {"HONE_CC": str(path), "HONE_CACHE": str(tmp_path / "wrong cache")}


def test_a_right_model_departs_nowhere(tmp_path, model):
    words = ["diff", model, "--against", "ref", "--dim", "n=5"]
    report = json.loads(hone(tmp_path, *words, "--json"))
    assert report["equal"] and report["kernels"] >= 2 and report["first"] is None
    assert "equal" in hone(tmp_path, *words)
    assert not list(tmp_path.glob("hone-diff*"))


def test_the_first_wrong_kernel_is_named_and_its_case_runs(tmp_path, model, wrong):
    words = ["diff", model, "--against", "ref", "--dim", "n=5", "-o", "case"]
    report = json.loads(hone(tmp_path, *words, "--json", code=1, env=wrong))
    first = report["first"]
    assert not report["equal"] and report["wrong"] < report["kernels"]
    text = (tmp_path / "case" / "graph.hg").read_text()
    assert "four (Sub)" in text and first["function"].startswith("hone_")
    assert f"node    {first['node']}" in hone(tmp_path, *words, code=1, env=wrong)
    wanted = np.load(tmp_path / "case" / "expected.npz")
    case = ["case/graph.hg", "case/inputs.npz"]
    for env, same in [({}, True), (wrong, False)]:
        hone(tmp_path, "run", *case, "--device", "cpu", "-o", "y.npz", env=env)
        made = np.load(tmp_path / "y.npz")
        assert same == all(np.allclose(made[name], wanted[name], 1e-4) for name in wanted.files)
        again = ["diff", case[0], "--against", "ref", "-i", case[1], "-o", "again"]
        hone(tmp_path, *again, code=0 if same else 1, env=env)


def test_inputs_are_taken_from_files(tmp_path, model):
    np.save(tmp_path / "x.npy", np.zeros((3, 6), np.float32))
    hone(tmp_path, "diff", model, "--against", "ref", "-i", "x=x.npy")
    np.save(tmp_path / "x.npy", np.zeros((3, 7), np.float32))
    assert "x" in hone(tmp_path, "diff", model, "--against", "ref", "-i", "x=x.npy", code=1)


def test_what_cannot_be_watched_is_told(tmp_path, model):
    words = ["diff", model, "--against", "ref", "--dim", "n=5", "--device"]
    assert "whole graphs" in hone(tmp_path, *words, "ref", code=1)
    assert "no device" in hone(tmp_path, *words, "abacus", code=1)
    hone(tmp_path, "compile", model, "-o", "net.hone")
    assert "an engine" in hone(tmp_path, "diff", "net.hone", "--against", "ref", code=1)
