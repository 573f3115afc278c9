"""hone compile: engines on disk, what it says about them, and what it refuses."""

import json
import os
import re

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from command import hone


@pytest.fixture
def model(tmp_path):
    info = helper.make_tensor_value_info
    graph = helper.make_graph([helper.make_node("Exp", ["x"], ["e"]),
                               helper.make_node("Add", ["e", "x"], ["y"])], "g",
                              [info("x", TensorProto.FLOAT, ["n", 3])],
                              [info("y", TensorProto.FLOAT, ["n", 3])])
    path = tmp_path / "small.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
              path)
    return path


def test_an_engine_is_written(model, tmp_path):
    out = tmp_path / "small.hone"
    done = hone("compile", model, "-o", out, "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["kernels"] == 1 and report["interpreted"] == 0
    assert out.read_bytes()[:5] == b"\x89HONE"
    assert len(os.listdir(tmp_path)) == 2


def test_what_is_made_on_the_way_can_be_seen(model):
    done = hone("compile", model, "--dump", "kernels,source")
    assert done.returncode == 0, done.stderr
    assert "== kernels" in done.stdout and "== source" in done.stdout
    assert "== ir" not in done.stdout


def test_machine_code_is_text_named_as_its_source(model):
    done = hone("compile", model, "--dump", "source,asm")
    assert done.returncode == 0, done.stderr
    names = {kind: re.findall(f"^== {kind} (.+)$", done.stdout, re.MULTILINE)
             for kind in ("source", "asm")}
    assert names["asm"] == names["source"] and len(names["asm"]) == 1
    code = done.stdout.split("== asm ")[1]
    function = re.search(r"\bhone_[0-9a-f]{16}\b", done.stdout)[0]
    assert f"{function}:" in code and re.search(r"^\s+ret", code, re.MULTILINE)
    assert "== asm" not in hone("compile", model, "--dump", "source").stdout


def test_an_engine_of_watched_kernels(model, tmp_path):
    out = tmp_path / "watched.hone"
    assert "watched" in hone("compile", model, "--guard", "-o", out).stdout
    assert json.loads(hone("compile", model, "--guard", "--json").stdout)["guard"] is True
    assert json.loads(hone("compile", model, "--json").stdout)["guard"] is False
    done = hone("run", out, "--random", "--shape", "x=2,3", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["device"] == "cpu", done.stderr


# ---- precision mixed ----

@pytest.fixture
def layers(tmp_path):
    """Four products by weights that are used once, and an input for them."""
    random = np.random.default_rng(1)
    info = helper.make_tensor_value_info
    nodes, weights = [], []
    for i in range(4):
        nodes.append(helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"x{i + 1}"], name=f"m{i}"))
        weights.append(numpy_helper.from_array(
            random.standard_normal((48, 48)).astype(np.float32) / 5, f"w{i}"))
    graph = helper.make_graph(nodes, "g", [info("x0", TensorProto.FLOAT, ["n", 48])],
                              [info("x4", TensorProto.FLOAT, ["n", 48])], weights)
    path = tmp_path / "layers.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
              path)
    np.savez(tmp_path / "x.npz", x0=random.standard_normal((1, 48)).astype(np.float32))
    return path, tmp_path / "x.npz"


def mixed(model, *words):
    done = hone("compile", model, "--dim", "n=1", "--precision", "mixed", "--json", *words, code=0)
    return json.loads(done.stdout)["mixed"]


def outputs(subject, data, folder, *words):
    hone("run", subject, "--input", data, "--output", folder / "y.npz", *words, code=0)
    return np.load(folder / "y.npz")["x4"]


def test_mixed_precision_is_chosen_under_a_bound(layers, tmp_path):
    model, data = layers
    whole = mixed(model, "--data", data)
    assert whole["error_bound"] == 0.01 and whole["narrow"] == 4 and whole["measured"] == 1
    engine, bound = tmp_path / "m.hone", 0.7 * whole["error"]
    words = ["--data", data, "--error-bound", bound, "-o", engine]
    report = mixed(model, *words)
    assert 0 < report["narrow"] < 4 and 0 < report["error"] <= bound
    assert [layer["node"] for layer in report["layers"]] == [f"m{i} (MatMul)" for i in range(4)]
    assert sum(layer["dtype"] != "f32" for layer in report["layers"]) == report["narrow"]
    assert all(layer["error"] > 0 and layer["gain_us"] > 0 for layer in report["layers"])
    assert mixed(model, *words) == report
    want = outputs(model, data, tmp_path, "--device", "cpu", "--dim", "n=1")
    error = np.abs(outputs(engine, data, tmp_path) - want).max() / np.abs(want).max()
    assert error == pytest.approx(report["error"], rel=1e-5)


def test_mixed_precision_is_told(layers):
    model, _ = layers
    done = hone("compile", model, "--dim", "n=1", "--precision", "mixed", "--explain-passes", "--seed", 3,
                code=0)
    assert "4 of 4 contractions that gain by it in" in done.stdout
    assert re.findall(r"^mixed: m(\d) \(MatMul\): \w+, .* us gained", done.stderr, re.MULTILINE) == [
        "0", "1", "2", "3"]
    assert mixed(model, "--seed", 3) == mixed(model, "--seed", 3) != mixed(model, "--seed", 4)


def test_mistakes_with_mixed_precision(layers):
    model, data = layers
    for words, said in [(["--precision", "bf16", "--seed", 1], "--seed goes with --precision mixed"),
                        (["--precision", "mixed", "--error-bound", "much"], "expected a number above 0"),
                        (["--precision", "mixed", "--error-bound", "0"], "expected a number above 0")]:
        assert said in hone("compile", model, *words, code=2).stderr
    done = hone("compile", model, "--precision", "mixed", "--target", "aarch64", "--dim", "n=1", code=1)
    assert "does not run here" in done.stderr
    done = hone("compile", model, "--precision", "mixed", "--data", model, "--dim", "n=1", code=1)
    assert "x0" in done.stderr


def test_devices_that_take_whole_graphs_are_refused(model, tmp_path):
    out = tmp_path / "no.hone"
    done = hone("compile", model, "--device", "ref", "-o", out)
    assert done.returncode == 1
    assert "takes whole graphs" in done.stderr
    assert not out.exists()


def test_what_passes_did_for_people_and_machines(model):
    plain = hone("compile", model, "--explain-passes")
    assert plain.returncode == 0 and "made 1 kernels" in plain.stderr
    assert "1 kernel for" in plain.stdout and "rewrites" not in plain.stdout
    done = hone("compile", model, "--explain-passes", "--json", "--no-pass", "cse")
    report = json.loads(done.stdout)
    names = [p["pass"] for p in report["passes"]]
    assert "fuse" in names and "cse" not in names
    fused = report["passes"][names.index("fuse")]
    assert fused["rewrites"] == 1 and fused["notes"] == ["made 1 kernels"]
    assert len(fused["details"]) == 1 and fused["nodes_before"] >= fused["nodes_after"]
    assert "passes" not in json.loads(hone("compile", model, "--json").stdout)


def test_dumps_leave_the_document_alone(model):
    done = hone("compile", model, "--dump", "plan,passes", "--json")
    assert json.loads(done.stdout)["kernels"] == 1
    assert "== plan" in done.stderr and "== passes" in done.stderr


@pytest.mark.parametrize("kinds", ["sources", "ir,", "", "ir,,plan", "ir plan"])
def test_kinds_of_dumps_that_there_are_not(model, kinds):
    done = hone("compile", model, "--dump", kinds)
    assert done.returncode == 2 and "--dump takes words of" in done.stderr
