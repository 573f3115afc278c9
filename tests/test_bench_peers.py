"""`hone bench --vs`: peers that work, and peers that crash, hang, answer wrongly or take more threads
than they are given, none of which stops the others. No time is judged, only that all is said."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))
import models  # noqa: E402
import workloads  # noqa: E402

HONE = pathlib.Path(os.environ.get("HONE_BUILD_DIR", ROOT / "build" / "release")) / "hone"

# A peer for each way of failing; it speaks as bench/peer.py does.
FAKE = """#!{python}
import json, os, sys, time
import numpy as np
name = sys.argv[1]

def load(words):
    if name == "absent":
        return {{"cannot": "is not installed: no module of that name"}}
    if name == "hangs":
        time.sleep(1000)
    if name == "crashes":
        print("something broke", file=sys.stderr, flush=True)
        os.abort()
    x, w = np.load(words["inputs"])["x"], np.load({weights!r})
    y = np.maximum(x @ w, 0) * (1.01 if name == "wrong" else 1)
    answers = {{"0": y[0] if name == "shapeless" else y.astype(np.float64 if name == "wide" else "f4")}}
    np.savez(words["answers"], **({{}} if name == "silent" else answers))
    return {{"version": "fake 1." + str(words["threads"]) + words["precision"], "prepare_ms": 1.0,
             "load_ms": 2.0, "first_ms": 3.0}}

def run(words):
    if name == "crashes_later":
        sys.exit(3)
    if name == "hangs_later":
        time.sleep(1000)
    if name == "places":
        with open({places!r}, "a") as file:
            print(json.dumps(sorted(os.sched_getaffinity(0))), file=file)
    if name == "unsteady":
        load.round = getattr(load, "round", 0) + 1
        return {{"ms": [4.0 ** (load.round % 3)] * words["most"], "cpus": 1.0}}
    return {{"ms": [0.5, 0.25, 0.75][:words["most"]] if name != "idle" else [],
             "cpus": 5.0 if name == "greedy" else 1.0}}

for line in sys.stdin:
    words = json.loads(line)
    if words["do"] == "reference":
        answer = load(words) if name == "exact" else {{"cannot": "offers no reference"}}
    else:
        answer = {{"load": load, "run": run}}[words["do"]](words)
    print("no JSON" if name == "garbles" else json.dumps(answer), flush=True)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("peers")
    weights = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Relu", ["m"], ["y"])], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4])],
        [numpy_helper.from_array(weights, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
              path / "model.onnx")
    np.save(path / "w.npy", weights)
    (path / "run").write_text(FAKE.format(python=sys.executable, weights=str(path / "w.npy"),
                                          places=str(path / "places")))
    (path / "run").chmod(0o755)
    (path / "temporary").mkdir()
    return path


def bench(folder, peers, *options, run=None):
    usual = {"--threads": 1, "--runs": 4, "--rounds": 2, "--most-rounds": 2}
    words = [HONE, "bench", folder / "model.onnx", "--dim", "n=2", "--vs", peers,
             "--peers", run or folder / "run", *options,
             *(word for pair in usual.items() if pair[0] not in options for word in pair)]
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "TMPDIR": str(folder / "temporary")})


def report(folder, peers, *options, **more):
    done = bench(folder, peers, "--json", *options, **more)
    assert done.returncode == 0, done.stderr
    assert not list((folder / "temporary").glob("hone_bench_*"))
    got = json.loads(done.stdout)
    return got, {peer["name"]: peer for peer in got["peers"]}


def test_one_that_works(folder):
    got, peers = report(folder, "exact")
    peer, comparison = peers["exact"], got["comparison"]
    assert peer["state"] == "ok" and peer["version"] == "fake 1.1fp32" and peer["error"] < 1e-6
    assert 0 <= peer["hone_error"] < 1e-6
    # Two rounds of two runs each, as the fake one tells them: 0.5 and 0.25.
    assert peer["runs"] == 4 and peer["median_ms"] == 0.375 and peer["min_ms"] == 0.25
    assert (peer["prepare_ms"], peer["load_ms"], peer["first_ms"], peer["cpus"]) == (1, 2, 3, 1)
    assert comparison["reference"] == "exact" and comparison["best"] == "exact"
    assert comparison["tolerance"] == 1e-3 and comparison["rounds"] == 2
    assert 0 < comparison["lowest_ratio"] <= comparison["highest_ratio"]
    # Of two rounds, the middle of their ratios.
    middle = (comparison["lowest_ratio"] + comparison["highest_ratio"]) / 2
    assert comparison["ratio"] == peer["ratio"] == pytest.approx(middle)
    hone = got["hone"][0]
    assert hone["state"] == "ok" and hone["error"] < 1e-6 and hone["runs"] == got["runs"] == 4
    assert hone["median_ms"] == got["median_ms"] > 0 and comparison["limit_ms"] >= 0


def test_rounds_that_disagree_are_followed_by_others(folder):
    got, peers = report(folder, "unsteady", "--rounds", 3, "--most-rounds", 8)
    comparison = got["comparison"]
    assert comparison["rounds"] == 8 and peers["unsteady"]["runs"] == 16
    assert comparison["lowest_ratio"] < comparison["ratio"] < comparison["highest_ratio"]


@pytest.mark.parametrize("threads", [1, 2])
def test_one_thread_each_takes_turns_on_the_same_core(folder, threads):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("this machine has one core")
    (folder / "places").write_text("")
    _, peers = report(folder, "places", "--threads", threads, "--runs", 8, "--rounds", 4,
                      "--most-rounds", 4)
    assert peers["places"]["state"] == "ok"
    places = [json.loads(line) for line in (folder / "places").read_text().splitlines()]
    assert len(places) == 4 and all((len(cores) == 1) == (threads == 1) for cores in places)
    assert (places[0] != places[1]) == (threads == 1)


@pytest.mark.parametrize("name, state, why", [
    ("absent", "cannot", "is not installed"), ("crashes", "crashed", "something broke"),
    ("garbles", "crashed", "no JSON"), ("wrong", "wrong", "'y' differs by 0.01"),
    ("shapeless", "wrong", "another type or shape"), ("wide", "wrong", "another type or shape"),
    ("silent", "wrong", "0 of the model's 1 outputs"), ("crashes_later", "crashed", "exit code 3"),
    ("greedy", "threads", "5.0 CPUs busy when told to use 1 thread"),
    ("idle", "crashed", "no times")])
def test_those_that_fail_do_not_stop_the_others(folder, name, state, why):
    _, peers = report(folder, f"{name},fine")
    assert peers[name]["state"] == state and why in peers[name]["why"]
    assert "median_ms" not in peers[name] and peers["fine"]["state"] == "ok"


@pytest.mark.parametrize("name", ["hangs", "hangs_later"])
def test_hanging_has_a_limit(folder, name):
    _, peers = report(folder, f"{name},fine", "--peer-limit", 3)
    assert peers[name]["state"] == "hung" and "3 s" in peers[name]["why"]
    assert peers["fine"]["state"] == "ok"


def test_nobody_left(folder):
    got, _ = report(folder, "absent")
    assert got["comparison"]["reference"] == "hone" and "ratio" not in got["comparison"]
    assert got["hone"][0]["state"] == "ok" and got["hone"][0]["median_ms"] > 0


def test_tolerance_is_an_option(folder):
    _, peers = report(folder, "wrong", "--tolerance", 0.05)
    assert peers["wrong"]["state"] == "ok" and peers["wrong"]["error"] == pytest.approx(0.01, rel=0.1)
    assert peers["wrong"]["hone_error"] == pytest.approx(0.01, rel=0.1)


def test_sequences_are_left_out(folder, program):
    model = onnx.load(folder / "model.onnx")
    model.graph.node.append(helper.make_node("SequenceConstruct", ["y", "m"], ["s"]))
    model.graph.output.insert(0, helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None))
    onnx.save(model, folder / "sequence.onnx")
    words = [HONE, "bench", folder / "sequence.onnx", "--dim", "n=2", "--runs", 2, "--vs", "onnxruntime",
             "--peers", program, "--threads", 1, "--json"]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=120)
    got = json.loads(done.stdout)
    assert got["comparison"]["reference"] == "onnxruntime", got
    assert got["hone"][0]["state"] == got["peers"][0]["state"] == "ok"


def test_several_devices(folder):
    got, peers = report(folder, "fine", "--device", "cpu", "--device", "ref")
    assert [entry["device"] for entry in got["results"]] == ["cpu", "ref"]
    assert [hone["state"] for hone in got["hone"]] == ["ok", "ok"] and peers["fine"]["state"] == "ok"


def test_the_table(folder):
    done = bench(folder, "exact,crashes,absent,greedy")
    assert done.returncode == 0, done.stderr
    for word in ("MEDIAN", "LIMIT", "exact", "crashed: signal 6", "something broke", "Best peer's"):
        assert word in done.stdout
    assert "\r" not in done.stderr
    for line in done.stdout.splitlines():
        assert len(line) <= 100, line


@pytest.mark.parametrize("options, code, text", [
    (["--rounds", "0"], 2, "--rounds"), (["--tolerance", "x"], 2, "--tolerance"),
    (["--peer-limit", "-1"], 2, "--peer-limit")])
def test_numbers_that_are_none(folder, options, code, text):
    done = bench(folder, "fine", *options)
    assert done.returncode == code and text in done.stderr


@pytest.mark.parametrize("peers, run, text", [
    ("../run", None, "names with commas"), ("", None, "names with commas"),
    ("fine", "/none", "no program to run peers")])
def test_peers_that_are_none(folder, peers, run, text):
    done = bench(folder, peers, run=run)
    assert done.returncode == 1 and text in done.stderr


@pytest.fixture
def program(tmp_path):
    """bench/peer.py with this Python, which has ONNX Runtime."""
    path = tmp_path / "run"
    path.write_text(f'#!/bin/sh\nexec {sys.executable} {ROOT}/bench/peer.py "$@"\n')
    path.chmod(0o755)
    return path


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def test_nothing_stays_behind_a_bench_that_was_killed(folder, program, tmp_path):
    words = [HONE, "bench", folder / "model.onnx", "--dim", "n=2", "--seconds", 300, "--vs",
             "onnxruntime", "--peers", program]
    running = subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL,
                               env={**os.environ, "TMPDIR": str(tmp_path)})
    assert wait_for(lambda: list(tmp_path.glob("hone_bench_*/hone_peer_*")))
    running.kill()
    running.wait()
    assert wait_for(lambda: not list(tmp_path.glob("hone_bench_*")))


def test_the_real_program(folder, program):
    got, peers = report(folder, "onnxruntime,nobody", run=program)
    assert got["comparison"]["reference"] == "onnxruntime"
    assert peers["onnxruntime"]["state"] == "ok" and peers["onnxruntime"]["runs"] == 4
    assert peers["onnxruntime"]["version"].startswith("onnxruntime ")
    assert peers["nobody"]["state"] == "cannot" and "there are" in peers["nobody"]["why"]
    listed = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    assert listed == sorted(path.stem for path in (ROOT / "bench/peers").glob("[!_]*.py"))


def test_a_row_of_results(folder, program, tmp_path, monkeypatch):
    """What bench/models.py keeps of a model: the peers, compiling, and starting from an engine."""
    monkeypatch.setattr(models, "HONE", HONE)
    monkeypatch.setattr(models, "peer_program", lambda folder: str(program))
    feeds = {"x": np.ones((5, 3), np.float32)}
    work = workloads.Workload("m", 5, "fp32", str(folder / "model.onnx"), lambda: feeds)
    args = argparse.Namespace(also="ref", rounds=2, seconds=0.01, vs="onnxruntime", peer_limit=60)
    row = models.measure(work, 1, args, tmp_path, str(tmp_path / "cache"))
    assert (row["model"], row["batch"], row["precision"], row["threads"]) == ("m", 5, "fp32", 1)
    assert row["hone"]["state"] == row["peers"]["onnxruntime"]["state"] == "ok"
    assert row["ratio"] > 0 and row["cold_ms"] > 0 and row["engine"]["first_ms"] > 0
    assert (row["also"]["device"], row["also"]["state"]) == ("ref", "ok")
    start, also = models.notes(row)
    assert "from engine file to first answer" in start and "times as fast as onnxruntime" in also


def test_answers_far_from_the_reference_have_a_note():
    """With how far they are from each peer as it comes, as someone who moves from it sees them."""
    row = {"precision": "fp32", "hone": {"error": 1.2e-4}, "reference": "a",
           "peers": {"a": {"state": "ok", "hone_error": 7e-5}, "b": {"state": "cannot", "why": "no"}}}
    assert models.notes(row)[0].strip() == ("answers 0.00012 from a without rewriting, "
                                            "7e-05 from a as it comes")
    assert len(models.notes({**row, "hone": {"error": 9e-5}})) == 1
    assert len(models.notes({**row, "precision": "bf16"})) == 1


def test_answers_that_rounding_moves_far(monkeypatch, tmp_path):
    """What is wrong at first is measured again, with twice what rounding alone does allowed."""
    calls = []

    def call(*words, cache=None):
        calls.append(words)
        state = "ok" if "--tolerance" in words else "wrong"
        return {"inputs": [], "dimensions": [], "hone": [{"name": "hone", "state": state}], "peers": [],
                "comparison": {"tolerance": 1e-3}, "compile_ms": 1.0}

    monkeypatch.setattr(models, "call", call)
    monkeypatch.setattr(models, "peer_program", lambda folder: "none")
    args = argparse.Namespace(also="", rounds=2, seconds=0.01, vs="x", peer_limit=60)
    for rounding, state in [(0.2, "ok"), (1e-4, "wrong")]:
        work = workloads.Workload("m", 1, "fp32", "m.onnx", dict, lambda feeds, by=rounding: by)
        assert models.measure(work, 1, args, tmp_path, None)["hone"]["state"] == state
    assert [words[words.index("--tolerance") + 1] for words in calls if "--tolerance" in words] == [0.4]


def test_a_model_that_nobody_loads_is_a_row_too(program, tmp_path):
    def feeds():
        raise RuntimeError("not a registered function")

    work = workloads.Workload("m", 1, "fp32", "none.onnx", feeds)
    row = models.measure(work, 1, None, tmp_path, None)
    assert "not a registered function" in row["error"] and "error" in models.line(row)


def test_presence_is_registration():
    """A peer is one file; helpers begin with an underscore."""
    for path in (ROOT / "bench" / "peers").glob("[!_]*.py"):
        text = path.read_text(encoding="utf-8")
        assert "PACKAGES = " in text and "def load(task):" in text, path
