"""Engines, devices that run kernels, precision, and benchmarks, from Python."""

import gc
import threading

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import hone


def model_of(nodes, inputs, outputs, weights=()):
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info(*i) for i in inputs],
        [helper.make_tensor_value_info(*o) for o in outputs],
        [numpy_helper.from_array(value, name) for name, value in weights])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


@pytest.fixture(scope="module")
def network():
    """A convolution, an activation, and a product: n pictures to 5 numbers each."""
    random = np.random.default_rng(0)
    return model_of(
        [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
         helper.make_node("Relu", ["c"], ["r"]),
         helper.make_node("ReduceMean", ["r", "axes"], ["m"], keepdims=0),
         helper.make_node("MatMul", ["m", "v"], ["y"])],
        [("x", TensorProto.FLOAT, ["n", 4, 8, 8])], [("y", TensorProto.FLOAT, ["n", 5])],
        [("w", random.standard_normal((16, 4, 3, 3)).astype(np.float32)),
         ("v", random.standard_normal((16, 5)).astype(np.float32)), ("axes", np.array([2, 3]))])


@pytest.fixture(scope="module")
def x():
    return np.random.default_rng(1).standard_normal((3, 4, 8, 8)).astype(np.float32)


@pytest.fixture(scope="module")
def right(network, x):
    return hone.run(network, [x])["y"]


@pytest.fixture(scope="module")
def engine(network):
    return hone.compile(network)


def error(got, right):
    return np.abs(got - right).max() / np.abs(right).max()


def test_sessions_on_cpu(network, x, right):
    session = hone.Session(network, device="cpu", threads=1, deterministic=True)
    assert session.info.device == "cpu" and session.info.kernels >= 1 and session.info.target
    assert session.info.precision == "fp32" and session.compile_ms > 0 and session.load_ms > 0
    assert error(session.run([x])["y"], right) < 1e-5
    assert hone.Session(network).info.kernels == 0


def test_an_engine_is_run_and_saved_and_loaded(engine, x, right, tmp_path):
    assert error(engine.run({"x": x})["y"], right) < 1e-5
    assert error(engine(x), right) < 1e-5
    assert [i.name for i in engine.inputs] == ["x"] and engine.outputs[0].type == "f32[n, 5]"
    path = tmp_path / "network.hone"
    engine.save(path)
    loaded = hone.Engine.load(path, threads=2)
    assert loaded.info == engine.info and loaded.info.runs_here
    assert loaded.info.weight_bytes > 0 and loaded.info.kernel_bytes > 0
    assert loaded.load_ms > 0 and loaded.compile_ms == 0
    np.testing.assert_array_equal(loaded.run_list([x])[0], engine.run_list([x])[0])


def test_convolutions_by_tiles_and_exact_ones():
    random = np.random.default_rng(2)
    w = random.standard_normal((64, 64, 3, 3)).astype(np.float32)
    model = model_of([helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])],
                     [("x", TensorProto.FLOAT, ["n", 64, 38, 40])],
                     [("y", TensorProto.FLOAT, ["n", 64, 38, 40])], [("w", w)])
    x = random.standard_normal((2, 64, 38, 40)).astype(np.float32)
    right = hone.run(model, [x])["y"]
    tiles = hone.compile(model, explain=True)
    exact = hone.compile(model, explain=True, exact=True)
    rewrites = [{p["pass"]: p["rewrites"] for p in engine.passes}.get("winograd", 0)
                for engine in (tiles, exact)]
    assert rewrites == [1, 0]
    assert error(tiles(x), right) < 1e-5 and error(exact(x), right) < 1e-5
    assert error(hone.Session(model, device="cpu", exact=True).run([x])["y"], right) < 1e-5
    guarded = hone.compile(model, guard=True)
    assert error(guarded(x), right) < 1e-5


def test_sessions_outlive_names(network, x, right):
    session = hone.compile(network).session()
    gc.collect()
    assert error(session.run([x])["y"], right) < 1e-5


def test_sessions_of_one_engine_at_once(engine, x, right):
    found = []

    def work():
        session = engine.session()
        for _ in range(20):
            found.append(error(session.run([x])["y"], right))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 80 and max(found) < 1e-5


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_precision(network, x, right, precision):
    narrow = hone.compile(network, precision=precision)
    assert narrow.info.precision == precision
    got = narrow(x)
    assert got.dtype == np.float32 and error(got, right) < 2e-2
    for device in ("cpu", "ref"):
        session = hone.Session(network, device=device, precision=precision)
        assert error(session.run([x])["y"], right) < 2e-2


def test_products_of_f32_by_three_of_bf16():
    """Where there are matrix instructions; as in f32 where there are none."""
    rng = np.random.default_rng(3)
    w, v = (rng.standard_normal((128, 128)).astype(np.float32) for _ in range(2))
    product = model_of([helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Relu", ["h"], ["r"]),
                        helper.make_node("MatMul", ["r", "v"], ["y"])],
                       [("x", TensorProto.FLOAT, [64, 128])], [("y", TensorProto.FLOAT, [64, 128])],
                       [("w", w), ("v", v)])
    x = rng.standard_normal((64, 128)).astype(np.float32)
    want = np.maximum(x.astype(np.float64) @ w, 0) @ v
    thrice = hone.compile(product, precision="bf16x3")
    assert thrice.info.precision == "bf16x3" and error(thrice(x), want) < 3e-5
    session = hone.Session(product, device="ref", precision="bf16x3")
    assert error(session.run([x])["y"], want) < 1e-6


def test_narrow_weights_where_reading_them_takes_the_time():
    product = model_of([helper.make_node("MatMul", ["x", "w"], ["y"])],
                       [("x", TensorProto.FLOAT, [1, 64])], [("y", TensorProto.FLOAT, [1, 48])],
                       [("w", np.ones((64, 48), np.float32))])
    sizes = {p: hone.compile(product, precision=p).info.weight_bytes for p in ("fp32", "bf16", "fp16")}
    assert sizes["bf16"] == sizes["fp16"] < 0.6 * sizes["fp32"]


def test_optimize(network, x, right):
    for level in range(4):
        assert error(hone.hardware.optimize(network, optimization_level=level)(x), right) < 1e-4
    apart = hone.hardware.optimize(network, "cpu", fuse_operations=False)
    assert error(apart(x), right) < 1e-4
    assert apart.info.kernels > hone.hardware.optimize(network).info.kernels
    mixed = hone.hardware.optimize(network, precision="mixed", data=[x])
    assert mixed.info.precision == "mixed" and error(mixed(x), right) < 1e-2
    with pytest.raises(ValueError, match="optimization_level"):
        hone.hardware.optimize(network, optimization_level=4)


@pytest.fixture(scope="module")
def layers():
    """Six products by weights that are used once: narrow ones gain time on every device."""
    random = np.random.default_rng(4)
    nodes, weights = [], []
    for i in range(6):
        nodes += [helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"p{i}"], name=f"m{i}"),
                  helper.make_node("Relu", [f"p{i}"], [f"x{i + 1}"])]
        weights.append((f"w{i}", random.standard_normal((64, 64)).astype(np.float32) / 6))
    return model_of(nodes, [("x0", TensorProto.FLOAT, [1, 64])],
                    [("x6", TensorProto.FLOAT, [1, 64])], weights)


def test_mixed_precision_keeps_its_bound(layers):
    data = np.random.default_rng(5).standard_normal((1, 64)).astype(np.float32)
    right = hone.compile(layers)(data)
    whole = hone.compile(layers, precision="mixed", error_bound=1.0, data=[data]).mixed.error
    chosen, bounds = {}, [1.0, 0.7 * whole, 0.5 * whole, 1e-9]
    for bound in bounds:
        engine = hone.compile(layers, precision="mixed", error_bound=bound, data=[data])
        report, chosen[bound] = engine.mixed, [layer.dtype != "f32" for layer in engine.mixed.layers]
        assert engine.info.precision == "mixed" and report.error_bound == bound
        assert [layer.node for layer in report.layers] == [f"m{i} (MatMul)" for i in range(6)]
        assert all(layer.gain_us > 0 for layer in report.layers)
        assert report.error == pytest.approx(error(engine(data), right)) and report.error <= bound
        assert report.narrow == sum(chosen[bound])
    counts = [sum(chosen[bound]) for bound in bounds]
    assert counts == sorted(counts, reverse=True) and counts[0] == 6 and counts[-1] == 0
    assert 0 < counts[1] < 6
    again = hone.compile(layers, precision="mixed", error_bound=bounds[1], data={"x0": data})
    assert [layer.dtype != "f32" for layer in again.mixed.layers] == chosen[bounds[1]]


def test_mixed_precision_on_random_numbers(layers, network, tmp_path):
    def compiled(seed, bound):
        return hone.compile(layers, precision="mixed", error_bound=bound, seed=seed).mixed

    bound = 0.7 * compiled(7, 1.0).error
    first, second = compiled(7, bound), compiled(7, bound)
    assert first == second and 0 < first.error <= bound
    assert compiled(8, bound) != first
    hone.compile(network, precision="mixed").save(tmp_path / "n.hone")
    assert hone.Engine.load(tmp_path / "n.hone").info.precision == "mixed"
    assert hone.compile(network).mixed is None


def test_mixed_precision_refuses(layers):
    with pytest.raises(hone.HoneError, match="chosen by measuring"):
        hone.Session(layers, device="cpu", precision="mixed")
    with pytest.raises(hone.HoneError, match="error bound"):
        hone.compile(layers, precision="mixed", error_bound=-1.0)
    with pytest.raises(hone.HoneError, match="does not run here"):
        hone.compile(layers, precision="mixed", target="aarch64")
    with pytest.raises(hone.HoneError, match="x0"):
        hone.compile(layers, precision="mixed", data=[np.zeros((2, 64), np.float32)])
    whole = model_of([helper.make_node("Abs", ["x"], ["y"])], [("x", TensorProto.INT64, [3])],
                     [("y", TensorProto.INT64, [3])])
    with pytest.raises(hone.HoneError, match="none of floats"):
        hone.compile(whole, precision="mixed")


def test_what_is_made_on_the_way(network):
    explained = hone.compile(network, explain=True, passes_off=["cse"])
    names = {p["pass"] for p in explained.passes}
    assert "fuse" in names and "cse" not in names
    assert {kind for kind, _, _ in explained.texts} >= {"ir", "kernels", "source", "plan"}
    assert hone.compile(network).passes == []


def test_dims_and_targets(network, x):
    fixed = hone.compile(network, dims={"n": 3})
    assert fixed.inputs[0].shape == (3, 4, 8, 8)
    with pytest.raises(hone.HoneError):
        fixed.run([x[:2]])
    ranged = hone.compile(network, dims={"n": (1, 4)})
    assert ranged(x[:2]).shape == (2, 5)


def test_errors(network, engine, tmp_path):
    cases = [(lambda: hone.compile(network, device="ref"), "UNSUPPORTED", "whole graphs"),
             (lambda: hone.compile(network, precision="int8"), "UNSUPPORTED", "calibration"),
             (lambda: hone.compile(network, precision="fp12"), "INVALID_ARGUMENT", "fp12"),
             (lambda: hone.compile(network, target="abacus"), "INVALID_ARGUMENT", "abacus"),
             (lambda: hone.compile(network, passes_off=["nothing"]), "NOT_FOUND", "nothing"),
             (lambda: hone.Session(network, precision="int8"), "UNSUPPORTED", "calibration"),
             (lambda: hone.Engine.load(tmp_path / "none.hone"), "NOT_FOUND", "none.hone"),
             (lambda: engine.save(tmp_path / "no" / "folder.hone"), "NOT_FOUND", "folder")]
    for call, code, words in cases:
        with pytest.raises(hone.HoneError, match=words) as caught:
            call()
        assert caught.value.code == code
    engine.save(tmp_path / "e.hone")
    data = (tmp_path / "e.hone").read_bytes()
    (tmp_path / "cut.hone").write_bytes(data[:-64])
    with pytest.raises(hone.HoneError, match="cut.hone"):
        hone.Engine.load(tmp_path / "cut.hone")
    with pytest.raises(hone.HoneError, match="compiled for 'cpu'"):
        hone.Engine.load(tmp_path / "e.hone", device="opencl:0")


def test_bench_numbers(network, engine, x):
    calls = []
    times = hone.bench({"engine": engine, "session": hone.Session(network), "function": calls.append},
                       [x], runs=7, warmup=2)
    assert list(times) == ["engine", "session", "function"]
    for t in times.values():
        assert t.runs == 7 and 0 < t.min_ms <= t.median_ms <= t.p90_ms <= t.p99_ms <= t.max_ms
        assert t.min_ms <= t.mean_ms <= t.max_ms and t.first_ms > 0
    assert times["engine"].compile_ms > 0 and times["function"].compile_ms == 0
    assert len(calls) == 9 and calls[0][0] is x
    assert hone.bench(engine, [x], seconds=0.02).runs >= 1
    assert [t.runs for t in hone.bench([engine, engine], [x], runs=1)] == [1, 1]
    assert hone.bench([], [x]) == []
    for wrong in ({"runs": 0}, {"seconds": 0}, {"warmup": 0}):
        with pytest.raises(ValueError):
            hone.bench(engine, [x], **wrong)
