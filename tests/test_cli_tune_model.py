"""`hone tune MODEL`: what it keeps, that compiling uses it, kills, and what it refuses."""

import json
import signal
import sqlite3
import subprocess
import time

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import command
from command import HONE


def hone(*words, code=0):
    done = command.hone(*words, code=code)
    return done.stdout if code == 0 else done.stderr


@pytest.fixture
def model(tmp_path):
    """A convolution, a product and a softmax: three kernels or more."""
    random = np.random.default_rng(1)
    info = helper.make_tensor_value_info
    weights = {"w": (8, 3, 3, 3), "m": (8 * 14 * 14, 20)}
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"]),
             helper.make_node("Relu", ["c"], ["r"]),
             helper.make_node("Flatten", ["r"], ["f"]),
             helper.make_node("MatMul", ["f", "m"], ["p"]),
             helper.make_node("Softmax", ["p"], ["y"])]
    graph = helper.make_graph(
        nodes, "g", [info("x", TensorProto.FLOAT, [1, 3, 16, 16])],
        [info("y", TensorProto.FLOAT, [1, 20])],
        [numpy_helper.from_array(random.standard_normal(shape, np.float32), name)
         for name, shape in weights.items()])
    path = tmp_path / "net.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
              path)
    return path


def tune(model, database, *words, code=0):
    options = {"--budget": "1h", "--trials": 3, "--repeats": 1}
    options.update(zip(words[::2], words[1::2]))
    flat = [word for pair in options.items() for word in pair]
    out = hone("tune", model, "--db", database, "--json", *flat, code=code)
    return json.loads(out)["models"][0] if code == 0 else out


def test_a_model_is_tuned(model, tmp_path):
    report = tune(model, tmp_path / "t.db")
    assert len(report["kernels"]) >= 2 and report["database_error"] == ""
    assert report["stop"] == "all trials are made"
    for kernel in report["kernels"]:
        assert kernel["trials"] == 3 and kernel["count"] == 1 and not kernel["skipped"]
        assert 0 < kernel["best_seconds"] <= kernel["default_seconds"]
        assert kernel["parameters"].startswith(f"tactic={kernel['tactic']} ")
    assert report["best_seconds"] <= report["default_seconds"]
    assert report["trials"] == 3 * len(report["kernels"])
    listed = json.loads(hone("tune", "list", "--db", tmp_path / "t.db", "--json"))["kernels"]
    assert {row["label"] for row in listed} == {kernel["name"] for kernel in report["kernels"]}


def test_the_table_names_kernels_and_fits_the_page(model, tmp_path):
    lines = hone("tune", model, "--db", tmp_path / "t.db", "--budget", "1h", "--trials", 2,
                 "--repeats", 1).splitlines()
    assert lines[0].split() == ["KERNEL", "COUNT", "TACTIC", "DEFAULT", "BEST", "GAIN", "TRIALS"]
    assert any(line.startswith("conv") for line in lines)
    assert any(line.startswith("all that was measured") for line in lines)
    assert max(map(len, lines[:-1])) <= 100


def test_whole_runs_decide(model, tmp_path):
    """What is not confirmed is not in use, and all that was offered has a verdict."""
    report = tune(model, tmp_path / "t.db", "--strategy", "random", "--trials", 8,
                  "--log", tmp_path / "log.jsonl")
    whole = report["whole"]
    assert whole["error"] == "" and whole["untested"] == 0
    logged = [json.loads(line).get("verdict") for line in
              (tmp_path / "log.jsonl").read_text().splitlines()]
    assert logged.count("confirmed") == whole["confirmed"]
    assert logged.count("refused") == whole["refused"]
    gains = [k for k in report["kernels"] if k["best_seconds"] < k["default_seconds"]]
    assert len(gains) <= whole["confirmed"]
    assert (whole["gain"] is None) == (whole["confirmed"] + whole["refused"] == 0)


def test_a_later_tuning_goes_on(model, tmp_path):
    first = tune(model, tmp_path / "t.db")
    again = tune(model, tmp_path / "t.db", "--budget", "0")
    assert again["trials"] == 0
    assert [k["best_seconds"] for k in again["kernels"]] == \
        [k["best_seconds"] for k in first["kernels"]]
    more = tune(model, tmp_path / "t.db", "--strategy", "random", "--seed", 5)
    assert all(kernel["known"] == 3 for kernel in more["kernels"])


def schedules(model, *words):
    out = hone("compile", model, "--dump", "kernels", *words)
    return [line for line in out.splitlines() if line.startswith(("kernel", "  schedule"))]


def test_compiling_uses_the_fastest(model, tmp_path):
    """Records of something else than the default become the fastest there are."""
    tune(model, tmp_path / "t.db", "--strategy", "random", "--trials", 10)
    lines = hone("tune", "export", "--db", tmp_path / "t.db").splitlines()
    records = [json.loads(line) for line in lines[1:]]
    for record in records:
        tactic = record["parameters"].split()[0].removeprefix("tactic=")
        record["verdict"] = "confirmed"
        if f" {tactic}.parallel=0" in record["parameters"]:  # on one thread
            record["seconds"] = 1e-9
    (tmp_path / "forged.jsonl").write_text("\n".join([lines[0], *map(json.dumps, records)]) + "\n")
    hone("tune", "import", tmp_path / "forged.jsonl", "--db", tmp_path / "forged.db")
    assert any(record["seconds"] == 1e-9 for record in records)
    plain = schedules(model, "--no-tuned")
    assert schedules(model, "--db", tmp_path / "forged.db") != plain
    assert schedules(model, "--db", tmp_path / "forged.db", "--no-tuned") == plain


def test_tuned_kernels_give_the_same_results(model, tmp_path):
    tune(model, tmp_path / "t.db", "--trials", 6)
    x = np.random.default_rng(2).standard_normal((1, 3, 16, 16), np.float32)
    np.save(tmp_path / "x.npy", x)
    results = []
    for name, words in (("tuned", ["--db", tmp_path / "t.db"]), ("plain", ["--no-tuned"])):
        hone("compile", model, "-o", tmp_path / f"{name}.hone", *words)
        hone("run", tmp_path / f"{name}.hone", "--input", f"x={tmp_path / 'x.npy'}",
             "--output-dir", tmp_path / name)
        results.append(np.load(tmp_path / name / "y.npy"))
    np.testing.assert_allclose(results[0], results[1], rtol=1e-4, atol=1e-6)


def count_records(path):
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
            return database.execute("select count(*) from measurement").fetchone()[0]
    except sqlite3.Error:
        return 0


def test_a_kill_loses_next_to_nothing(model, tmp_path):
    path = tmp_path / "t.db"
    process = subprocess.Popen([HONE, "tune", model, "--db", path, "--budget", "1h"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while count_records(path) == 0 and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    hone("tune", "check", "--db", path)
    kept = count_records(path)
    assert kept > 0
    report = tune(model, path, "--trials", 1)
    assert sum(kernel["known"] for kernel in report["kernels"]) == kept


def test_a_log_can_be_imported(model, tmp_path):
    report = tune(model, tmp_path / "t.db", "--log", tmp_path / "log.jsonl")
    out = hone("tune", "import", tmp_path / "log.jsonl", "--db", tmp_path / "other.db")
    assert out.startswith(f"{report['trials']} added")


def test_a_damaged_database_is_said_and_done_without(model, tmp_path):
    path = tmp_path / "t.db"
    path.write_bytes(b"no database" * 100)
    report = tune(model, path, "--trials", 1)
    assert "set-aside" in report["database_error"] and report["trials"] > 0
    assert path.read_bytes() == b"no database" * 100
    hone("compile", model, "--db", path)


@pytest.mark.parametrize("words", [("--budget", "soon"), ("--budget", "-1s"), ("--trials", "-2"),
                                   ("--strategy", "hope"), ("--repeats", "x"),
                                   ("--build-timeout", "1 year")])
def test_senseless_options_are_usage_errors(model, tmp_path, words):
    assert "--" in hone("tune", model, "--db", tmp_path / "t.db", *words, code=2)
    assert not (tmp_path / "t.db").exists()


def test_what_cannot_be_tuned_is_refused(model, tmp_path):
    hone("compile", model, "--no-tuned", "-o", tmp_path / "net.hone")
    for command in ("tune", "compile", "info"):
        said = hone(command, tmp_path / "net.hone", code=1)
        assert "an engine" in said and "give the model that it was compiled from" in said
    assert "takes whole graphs" in hone("tune", model, "--device", "ref", code=1)
    assert hone("tune", tmp_path / "absent.onnx", code=1)
    assert "not found" in hone("compile", model, "--db", tmp_path / "absent.db", code=1)


# ---- libraries of others ----

LIBRARIES = {"openblas": "HONE_OPENBLAS_LIBRARY", "onednn": "HONE_ONEDNN_LIBRARY"}


@pytest.fixture
def product(tmp_path):
    """A product of matrices with a bias and a ReLU; the model, its input and its result."""
    random = np.random.default_rng(2)
    x, w = random.standard_normal((64, 48), np.float32), random.standard_normal((48, 96), np.float32)
    info = helper.make_tensor_value_info
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Add", ["p", "b"], ["q"]),
             helper.make_node("Relu", ["q"], ["y"])]
    bias = random.standard_normal(96, np.float32)
    graph = helper.make_graph(
        nodes, "g", [info("x", TensorProto.FLOAT, x.shape)], [info("y", TensorProto.FLOAT, [64, 96])],
        [numpy_helper.from_array(w, "w"), numpy_helper.from_array(bias, "b")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
              tmp_path / "product.onnx")
    np.savez(tmp_path / "x.npz", x=x)
    return tmp_path / "product.onnx", tmp_path / "x.npz", np.maximum(x @ w + bias, 0)


def tuned_for(library, model, folder):
    """An engine whose kernel calls the library, as if that had been measured to be fastest."""
    log = folder / "log.jsonl"
    tune(model, folder / "t.db", "--log", log)
    head, *trials = [json.loads(line) for line in log.read_text().splitlines()]
    trials = [t for t in trials if t["parameters"].startswith(f"tactic={library} ")]
    if not trials:
        pytest.skip(f"{library} is not installed, or is none that hone knows")
    assert trials[0]["outcome"] == "ok", trials[0]
    trials[0]["verdict"] = "confirmed"
    log.write_text("".join(json.dumps(line) + "\n" for line in [head, trials[0]]))
    hone("tune", "import", log, "--db", folder / "only.db")
    hone("compile", model, "--db", folder / "only.db", "--out", folder / "net.hone")
    return folder / "net.hone"


def run_with(engine, inputs, folder, **variables):
    done = command.hone("run", engine, "--input", inputs, "--output", folder / "y.npz", code=0,
                        env={"HONE_LOG": "warning", **variables})
    return np.load(folder / "y.npz")["y"], done.stderr


@pytest.mark.parametrize("library", LIBRARIES)
def test_kernels_may_call_a_library(library, product, tmp_path):
    model, inputs, want = product
    engine = tuned_for(library, model, tmp_path)
    steps = json.loads(hone("explain", engine, "--json"))["steps"]
    assert library in {step["tactic"] for step in steps if step["kind"] == "kernel"}
    got, said = run_with(engine, inputs, tmp_path)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
    assert not said


@pytest.mark.parametrize("library", LIBRARIES)
def test_engines_run_where_the_library_is_missing(library, product, tmp_path):
    model, inputs, want = product
    engine = tuned_for(library, model, tmp_path)
    got, said = run_with(engine, inputs, tmp_path, **{LIBRARIES[library]: "/nowhere/lib.so"})
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
    assert "/nowhere/lib.so cannot be opened: install the package" in said
