"""`hone bench`: its report for people and machines, several entries, inputs, and what it refuses.
How long things take is nobody's business here: only that the numbers fit each other."""

import json
import os
import pty
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from command import HONE, hone


def bench(*args):
    done = hone("bench", *args)
    assert done.returncode == 0, done.stderr
    return done


def report(*args):
    return json.loads(bench(*args, "--json").stdout)


def refuse(*args, code=1):
    done = hone("bench", *args)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    assert done.stderr.startswith("hone bench: ")
    return done.stderr


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "y"], ["m"]), helper.make_node("Relu", ["m"], ["z"])], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3]),
         helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, 4])],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, ["n", 4])])
    path = tmp_path_factory.mktemp("bench") / "a_model_whose_name_is_longer_than_a_column.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9),
              path)
    return path


@pytest.fixture(scope="module")
def engine(model):
    path = model.with_name("engine.hone")
    assert hone("compile", model, "-o", path).returncode == 0
    return path


def check_times(entry, runs):
    assert entry["runs"] == runs
    for name in ("median_ms", "min_ms", "mean_ms", "p90_ms", "p99_ms", "max_ms", "first_ms",
                 "load_ms"):
        assert entry[name] > 0, name
    assert entry["min_ms"] <= entry["median_ms"] <= entry["p90_ms"] <= entry["p99_ms"] <= entry["max_ms"]
    assert entry["min_ms"] <= entry["mean_ms"] <= entry["max_ms"]


def test_one_model(model):
    got = report(model, "--dim", "n=2", "--runs", 20, "--threads", 1, "--precision", "bf16")
    check_times(got, 20)
    assert got["compile_ms"] > 0 and got["kernels"] >= 1
    assert got["model"] == str(model) and got["device"] == "cpu"
    assert got["threads"] == 1 and got["precision"] == "bf16" and got["warmup"] == 3
    assert [i["type"] for i in got["inputs"]] == ["f32[2, 3]", "f32[3, 4]"]
    assert got["machine"]["cpus"] >= 1 and got["machine"]["memory_bytes"] > 0 and got["version"]


def test_an_engine_compiles_nothing(engine):
    got = report(engine, "--shape", "x=5,3", "--runs", 3, "--warmup", 1)
    check_times(got, 3)
    assert got["compile_ms"] == 0 and got["device"] == "cpu" and got["inputs"][0]["type"] == "f32[5, 3]"


def test_several_are_timed_by_turns(model, engine):
    got = report(model, engine, "--device", "cpu", "--shape", "x=2,3", "--runs", 5)
    assert [r["model"] for r in got["results"]] == [str(model), str(engine)]
    got = report(model, "--device", "cpu", "--device", "ref", "--dim", "n=2", "--runs", 5)
    assert [r["device"] for r in got["results"]] == ["cpu", "ref"]
    for entry in got["results"]:
        check_times(entry, 5)
    assert got["results"][1]["kernels"] == 0


def test_time_is_a_limit(model):
    got = report(model, "--dim", "n=1", "--seconds", "0.05")
    assert got["runs"] >= 1
    assert report(model, "--dim", "n=1", "--seconds", "1e-9", "--runs", 50)["runs"] == 1


def test_given_inputs(model, tmp_path):
    x = np.ones((7, 3), np.float32)
    np.save(tmp_path / "x.npy", x)
    got = report(model, "--input", f"x={tmp_path / 'x.npy'}", "--runs", 2)
    assert [i["from"] for i in got["inputs"]] == [str(tmp_path / "x.npy"), "random"]
    assert got["inputs"][0]["type"] == "f32[7, 3]"


def test_reports_for_people(model, engine):
    one = bench(model, "--dim", "n=2", "--runs", 30).stdout
    for word in ("median", "p99", "first", "compile", "30 runs after 3", "▇"):
        assert word in one
    table = bench(model, engine, "--shape", "x=2,3", "--runs", 3).stdout
    assert "MEDIAN" in table and "1x" in table and "engine.hone" in table
    for line in (one + table).splitlines():
        assert len(line) <= 100, line


def test_progress_is_for_terminals(model):
    words = [HONE, "bench", model, "--dim", "n=20000", "--seconds", "0.3"]
    assert "\r" not in bench(*words[2:]).stderr
    ours, theirs = pty.openpty()
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=theirs, timeout=120,
                          env={**os.environ, "TERM": "xterm"})
    os.close(theirs)
    shown = os.read(ours, 1 << 20).decode()
    os.close(ours)
    assert done.returncode == 0 and "round" in shown and shown.endswith("\r\033[K")
    assert b"\r" not in done.stdout


@pytest.mark.parametrize("option", [
    ["--runs", "0"], ["--runs", "-3"], ["--runs", "many"], ["--runs", "1000000"], ["--seconds", "0"],
    ["--seconds", "nan"], ["--seconds", "1x"], ["--warmup", "0"], ["--threads=-1"],
    ["--precision", "fp64"], ["--nothing"]])
def test_numbers_that_are_none(model, option):
    refuse(model, "--dim", "n=2", *option, code=2)


def test_bad_input(model, engine, tmp_path):
    assert "open" in refuse(model, "--runs", 1)
    assert "no device" in refuse(model, "--device", "gpu:9")
    assert "compiled for 'cpu'" in refuse(engine, "--device", "ref")
    assert "is an engine" in refuse(engine, "--dim", "n=2")
    assert "calibration" in refuse(model, "--precision", "int8")
    assert "none.onnx" in refuse(tmp_path / "none.onnx")
    (tmp_path / "cut.hone").write_bytes(engine.read_bytes()[:300])
    assert "cut.hone" in refuse(tmp_path / "cut.hone")
    assert "no such input" in refuse(model, "--shape", "w=1")
    refuse(code=2)


def test_failures_are_documents_too(tmp_path):
    done = hone("bench", tmp_path / "none.onnx", "--json")
    assert done.returncode == 1 and json.loads(done.stdout)["error"]["code"]
