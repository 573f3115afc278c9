"""The engine cache: models that were compiled before are mapped, right, and nobody else's."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from command import HONE, hone

WIDTH = 600  # 600 x 600 of f32: 1.4 MB


def random(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32) / 8


def save(path, seed=1, external=False, width=WIDTH, bias_is_output=False):
    """y = relu(x W) W + b, of which the first size is open."""
    weights = {"w": random(seed, width, width), "b": random(seed + 1, width)}
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Relu", ["h"], ["r"]),
             helper.make_node("MatMul", ["r", "w"], ["s"]), helper.make_node("Add", ["s", "b"], ["y"])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", width])]
    if bias_is_output:
        nodes.append(helper.make_node("Identity", ["b"], ["bias"]))
        outputs.append(helper.make_tensor_value_info("bias", TensorProto.FLOAT, [width]))
    graph = helper.make_graph(
        nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", width])], outputs,
        [numpy_helper.from_array(value, name) for name, value in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path, save_as_external_data=external, location="weights.bin")
    return path


class Place:
    """A folder for the cache, and models that are run with it."""

    def __init__(self, folder):
        self.folder, self.cache, self.n = folder, folder / "engines", 0
        self.env = {"HONE_ENGINE_CACHE": str(self.cache), "HONE_LOG": "info"}
        np.save(folder / "x.npy", random(9, 3, WIDTH))

    def bench(self, model, *words, code=0, **env):
        done = hone("bench", model, "--runs", 1, "--warmup", 1, "--input", f"x={self.folder / 'x.npy'}",
                    "--json", *words, env={**self.env, **env}, code=code)
        return json.loads(done.stdout), done.stderr

    def is_cached(self, model, *words, **env):
        return self.bench(model, *words, **env)[0]["from_cache"]

    def run(self, model, *words, **env):
        """The outputs, and what was said."""
        self.n += 1
        out = self.folder / f"out{self.n}.npz"
        done = hone("run", model, "--device", "cpu", "--input", f"x={self.folder / 'x.npy'}", "--output", out,
                    *words, env={**self.env, **env}, code=0)
        return dict(np.load(out)), done.stderr

    def entries(self):
        return sorted(self.cache.glob("*.entry")) if self.cache.exists() else []


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


@pytest.fixture
def model(place):
    return save(place.folder / "net.onnx")


def test_the_second_time_it_is_there(place, model):
    assert not place.is_cached(model) and place.is_cached(model)
    assert len(place.entries()) == 1
    cached, _ = place.run(model)
    compiled, _ = place.run(model, "--no-engine-cache")
    assert cached["y"].tobytes() == compiled["y"].tobytes()
    x, w, b = random(9, 3, WIDTH), random(1, WIDTH, WIDTH), random(2, WIDTH)
    np.testing.assert_allclose(cached["y"], np.maximum(x @ w, 0) @ w + b, atol=1e-3)


def test_what_it_is_made_from_tells_it_apart(place, model):
    asked = [[], ["--dim", "n=3"], ["--dim", "n=1..8"], ["--threads", 1], ["--deterministic"],
             ["--precision", "bf16"], ["--exact"]]
    for words in asked:
        assert not place.is_cached(model, *words), words
    for words in asked:
        assert place.is_cached(model, *words), words
    assert len(place.entries()) == len(asked)


def test_any_weight_counts(place, model):
    first, _ = place.run(model)
    save(model, seed=2)
    second, _ = place.run(model)
    assert np.abs(first["y"] - second["y"]).max() > 0.1
    save(model, seed=1)
    assert place.is_cached(model)
    assert place.run(model)[0]["y"].tobytes() == first["y"].tobytes()


def test_the_name_of_the_file_does_not_count(place, model):
    place.bench(model)
    assert place.is_cached(model.rename(place.folder / "other name.onnx"))


def test_data_beside_the_file_count(place):
    (place.folder / "a").mkdir()
    path = save(place.folder / "a" / "net.onnx", external=True)
    assert not place.is_cached(path) and place.is_cached(path)
    data = path.parent / "weights.bin"
    changed = bytearray(data.read_bytes())
    changed[-5] ^= 0x40  # of the last weight
    data.write_bytes(changed)
    assert not place.is_cached(path) and place.is_cached(path)


def test_what_was_tuned_counts(place, model):
    place.bench(model)
    database = place.folder / "cache" / "hone" / "tune.db"
    hone("tune", "list", "--db", database, env=place.env)
    cache = {"XDG_CACHE_HOME": str(place.folder / "cache")}
    assert place.is_cached(model, **cache)  # nothing was tuned there either
    hone("tune", model, "--dim", "n=3", "--db", database, "--budget", "5s", "--threads", 1, env=place.env, code=0)
    assert not place.is_cached(model, **cache) and place.is_cached(model, **cache)
    assert place.is_cached(model)
    hone("compile", model, "--db", place.folder / "none.db", env=place.env, code=1)  # as without a cache


@pytest.mark.parametrize("share", [0.00003, 0.01, 0.5, 0.9999])
def test_damage_is_noticed_and_repaired(place, model, share):
    right, _ = place.run(model)
    entry, = place.entries()
    whole = entry.read_bytes()
    damaged = bytearray(whole)
    damaged[int(share * len(whole))] ^= 1
    entry.write_bytes(damaged)
    got, said = place.run(model)
    assert got["y"].tobytes() == right["y"].tobytes() and "is damaged: removed" in said
    assert place.entries() == [entry] and entry.read_bytes() == whole
    assert place.is_cached(model)


@pytest.mark.parametrize("size", [0, 1, 100, 4096, 1000000])
def test_a_part_is_none(place, model, size):
    right, _ = place.run(model)
    entry, = place.entries()
    os.truncate(entry, size)
    assert place.run(model)[0]["y"].tobytes() == right["y"].tobytes()
    assert place.is_cached(model)


def test_what_is_no_file_is_left_alone(place, model):
    place.bench(model)
    entry, = place.entries()
    entry.unlink()
    entry.mkdir()
    assert not place.is_cached(model) and not place.is_cached(model)
    assert entry.is_dir()


def test_it_can_be_off(place, model):
    assert not place.is_cached(model, "--no-engine-cache") and not place.entries()
    assert not place.is_cached(model, HONE_ENGINE_CACHE="off")
    assert not place.is_cached(model) and place.is_cached(model)
    assert not place.is_cached(model, "--no-engine-cache")
    assert not place.is_cached(model, HONE_ENGINE_CACHE="off")


def test_small_models_and_counted_memory_are_compiled(place, model):
    small = save(place.folder / "small.onnx", width=64)
    np.save(place.folder / "x.npy", random(9, 3, 64))
    assert not place.is_cached(small) and not place.is_cached(small)
    np.save(place.folder / "x.npy", random(9, 3, WIDTH))
    assert not place.is_cached(model, "--mem-limit", "1G") and not place.entries()


def test_engines_are_taken_from_it_too(place, model):
    def compile(path):
        told = json.loads(hone("compile", model, "-o", path, "--json", env=place.env, code=0).stdout)
        return told["from_cache"], path.read_bytes()

    first, second = compile(place.folder / "1.hone"), compile(place.folder / "2.hone")
    assert not first[0] and second[0] and first[1] == second[1]
    assert place.is_cached(model)  # sessions look there as well
    assert "from the engine cache" in hone("compile", model, env=place.env, code=0).stdout
    dumped = hone("compile", model, "--dump", "source", env=place.env, code=0).stdout
    assert "from the engine cache" not in dumped and "== source" in dumped


def test_outputs_that_are_weights_outlive_the_session(place):
    path = save(place.folder / "net.onnx", bias_is_output=True)
    code = ("import sys, hone, numpy as np\n"
            "session = hone.Session(sys.argv[1], device='cpu')\n"
            "assert session.info.from_cache == (sys.argv[2] == 'yes')\n"
            f"outputs = session.run({{'x': np.zeros((2, {WIDTH}), np.float32)}})\n"
            "del session\n"
            "bias = outputs['bias'] if isinstance(outputs, dict) else outputs[1]\n"
            "print(float(np.abs(bias).sum()))\n")
    for cached in ("no", "yes"):
        done = subprocess.run([sys.executable, "-c", code, path, cached], env={**os.environ, **place.env},
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert float(done.stdout) == pytest.approx(np.abs(random(2, WIDTH)).sum(), rel=1e-5)


@pytest.mark.parametrize("which", ["branch", "loop", "sequence", "view"])
def test_weights_reach_outputs_by_many_ways(place, which):
    """Read when the session and its model are gone, compiled and from the cache."""
    n, b = helper.make_tensor_value_info, [numpy_helper.from_array(random(2, WIDTH), "b")]
    weights = [numpy_helper.from_array(random(1, WIDTH, WIDTH), "w"), *b]
    types = {"y": n("y", TensorProto.FLOAT, ["n", WIDTH]), "out": n("out", TensorProto.FLOAT, None)}
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    if which == "branch":
        sides = [helper.make_graph([helper.make_node(op, ["b"], [f"o{op}"])], op, [],
                                   [n(f"o{op}", TensorProto.FLOAT, [WIDTH])]) for op in ("Identity", "Neg")]
        nodes += [helper.make_node("ReduceMax", ["x"], ["most"], keepdims=0),
                  helper.make_node("Less", ["most", "limit"], ["is"]),
                  helper.make_node("If", ["is"], ["out"], then_branch=sides[0], else_branch=sides[1])]
        weights.append(numpy_helper.from_array(np.float32(1e9), "limit"))
    elif which == "loop":
        body = helper.make_graph(
            [helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Neg", ["v"], ["next"])], "body",
            [n("i", TensorProto.INT64, []), n("go", TensorProto.BOOL, []), n("v", TensorProto.FLOAT, [WIDTH])],
            [n("on", TensorProto.BOOL, []), n("next", TensorProto.FLOAT, [WIDTH])])
        nodes += [helper.make_node("Shape", ["x"], ["shape"], start=0, end=1),
                  helper.make_node("Squeeze", ["shape"], ["size"]),
                  helper.make_node("Sub", ["size", "size"], ["rounds"]),
                  helper.make_node("Loop", ["rounds", "", "b"], ["out"], body=body)]
    elif which == "sequence":
        nodes.append(helper.make_node("SequenceConstruct", ["b", "b"], ["out"]))
        types["out"] = helper.make_tensor_sequence_value_info("out", TensorProto.FLOAT, None)
    else:
        nodes.append(helper.make_node("Reshape", ["b", "to"], ["out"]))
        weights.append(numpy_helper.from_array(np.array([2, WIDTH // 2]), "to"))
    graph = helper.make_graph(nodes, "net", [n("x", TensorProto.FLOAT, ["n", WIDTH])], list(types.values()), weights)
    path = place.folder / "net.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    code = ("import sys, hone, numpy as np, gc\n"
            "session = hone.Session(sys.argv[1], device='cpu')\n"
            f"out = session.run({{'x': np.zeros((2, {WIDTH}), np.float32)}})['out']\n"
            "del session; gc.collect()\n"
            "print(float(np.abs(np.asarray(out)).sum()))\n")
    want = np.abs(random(2, WIDTH)).sum() * (2 if which == "sequence" else 1)
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", code, path], env={**os.environ, **place.env},
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert float(done.stdout) == pytest.approx(want, rel=1e-5)


def test_the_command_of_the_compiler_counts(place, model):
    assert not place.is_cached(model) and place.is_cached(model)
    assert not place.is_cached(model, HONE_CC="gcc -DNOTHING=1")
    assert not place.is_cached(model, HONE_CC="gcc -DNOTHING=2")
    assert place.is_cached(model)


def test_many_processes_at_once(place, model):
    words = [HONE, "run", model, "--device", "cpu", "--input", f"x={place.folder / 'x.npy'}", "--output"]
    env = {**os.environ, **place.env}
    running = [subprocess.Popen([*words, place.folder / f"many{i}.npz"], env=env, stdout=subprocess.DEVNULL)
               for i in range(8)]
    assert [process.wait(timeout=300) for process in running] == [0] * 8
    outputs = {np.load(place.folder / f"many{i}.npz")["y"].tobytes() for i in range(8)}
    assert len(outputs) == 1 and len(place.entries()) == 1
    assert [path for path in place.cache.iterdir()] == place.entries()


def test_kill_leaves_no_half_entry(place, model):
    right, _ = place.run(model, "--no-engine-cache")  # and its kernels are built
    words = [HONE, "run", model, "--device", "cpu", "--input", f"x={place.folder / 'x.npy'}"]
    for i in range(20):
        process = subprocess.Popen(words, env={**os.environ, **place.env}, stdout=subprocess.DEVNULL)
        time.sleep(0.002 * i)
        process.send_signal(signal.SIGKILL)
        process.wait()
        for entry in place.entries():
            assert entry.stat().st_size > 1 << 20
            entry.unlink()
    assert place.run(model)[0]["y"].tobytes() == right["y"].tobytes()


def test_a_full_disk_costs_time_only(place, model):
    folder = place.folder / "disk"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "none", folder],
                          capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"no small file system can be mounted here: {done.stderr.decode().strip()}")
    try:
        assert not place.is_cached(model, HONE_ENGINE_CACHE=str(folder))
        assert not place.is_cached(model, HONE_ENGINE_CACHE=str(folder))
        assert not list(folder.iterdir())
    finally:
        subprocess.run(["umount", folder], check=True)


def test_a_folder_that_others_may_write_to_is_not_used(place, model):
    place.bench(model)
    place.cache.chmod(0o777)
    got, said = place.bench(model)
    assert not got["from_cache"] and "others may write to it" in said


def test_a_folder_that_cannot_be(place, model):
    (place.folder / "file").write_text("no folder")
    got, said = place.bench(model, HONE_ENGINE_CACHE=str(place.folder / "file" / "below"))
    assert not got["from_cache"] and "going on without it" in said


def test_hone_cache_shows_and_clears_it(place, model):
    place.bench(model)
    env = {**place.env, "HONE_CACHE": str(place.folder / "kernels")}

    def cache(*words):
        return json.loads(hone("cache", *words, "--json", env=env, code=0).stdout)

    told = cache()
    assert told["engines"]["entries"] == 1 and told["engines"]["bytes"] == place.entries()[0].stat().st_size
    assert told["kernels"]["entries"] == 0 and told["engines"]["folder"] == str(place.cache)
    assert "engines" in hone("cache", env=env, code=0).stdout
    assert cache("clear")["engines"]["removed"] == 1 and not place.entries()
    below = json.loads(hone("cache", "--folder", place.folder, "--json", code=0).stdout)
    assert below["engines"]["folder"] == str(place.cache)
