"""`hone run` on engine files: everything that it offers for models, without the model, a compiler
or ONNX; and --precision, --threads and --deterministic of models and engines."""

import json
import shutil

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

from command import hone


def run(*args, **settings):
    done = hone("run", *args, **settings)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refuse(*args, code=1, **settings):
    done = hone(*args, **settings)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr and done.stderr.startswith(f"hone {args[0]}: ")
    return done.stderr


def save(path, nodes, inputs, outputs, weights=()):
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info(*i) for i in inputs],
        [helper.make_tensor_value_info(*o) for o in outputs],
        [numpy_helper.from_array(value, name) for name, value in weights])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9),
              path)
    return path


def compiled(model, *args):
    engine = model.with_suffix(".hone")
    done = hone("compile", model, "-o", engine, *args)
    assert done.returncode == 0, done.stderr
    return engine


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """A model of two inputs, and its engine."""
    folder = tmp_path_factory.mktemp("pair")
    model = save(folder / "pair.onnx",
                 [helper.make_node("Mul", ["x", "y"], ["m"]), helper.make_node("Add", ["m", "x"], ["z"])],
                 [("x", TensorProto.FLOAT, ["n", 3]), ("y", TensorProto.FLOAT, ["n", 3])],
                 [("z", TensorProto.FLOAT, ["n", 3]), ("m", TensorProto.FLOAT, ["n", 3])])
    return model, compiled(model)


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    """A small convolutional network on pictures, and attention on what it sees."""
    random = np.random.default_rng(1)

    def weight(*shape):
        return (random.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)

    model = save(
        tmp_path_factory.mktemp("network") / "network.onnx",
        [helper.make_node("Conv", ["image", "w1"], ["c1"], pads=[1, 1, 1, 1], strides=[2, 2]),
         helper.make_node("Relu", ["c1"], ["r1"]),
         helper.make_node("Conv", ["r1", "w2"], ["c2"], pads=[1, 1, 1, 1]),
         helper.make_node("Add", ["c2", "r1"], ["a"]),
         helper.make_node("Reshape", ["a", "rows"], ["t"]),
         helper.make_node("Transpose", ["t"], ["q"], perm=[0, 2, 1]),
         helper.make_node("MatMul", ["q", "t"], ["scores"]),
         helper.make_node("Softmax", ["scores"], ["p"], axis=-1),
         helper.make_node("MatMul", ["p", "q"], ["mixed"]),
         helper.make_node("ReduceMean", ["mixed", "axes"], ["mean"], keepdims=0),
         helper.make_node("MatMul", ["mean", "w3"], ["classes"])],
        [("image", TensorProto.FLOAT, [1, 3, 16, 16])], [("classes", TensorProto.FLOAT, [1, 10])],
        [("w1", weight(16, 3, 3, 3)), ("w2", weight(16, 16, 3, 3)), ("w3", weight(16, 10)),
         ("rows", np.array([1, 16, 64])), ("axes", np.array([1]))])
    return model, compiled(model)


X = np.arange(6, dtype=np.float32).reshape(2, 3)
Y = X + 10


# ---- inputs and outputs ----

def write(path, array):
    if path.suffix == ".npy":
        np.save(path, array)
    elif path.suffix == ".pb":
        path.write_bytes(numpy_helper.from_array(array).SerializeToString())
    elif path.suffix == ".raw":
        array.tofile(path)
    else:
        path.write_text("\n".join(map(str, array.ravel())))
    return path


@pytest.mark.parametrize("kind", ["npy", "pb", "raw", "txt"])
def test_inputs_of_every_kind(pair, tmp_path, kind):
    x, y = write(tmp_path / f"x.{kind}", X), write(tmp_path / f"y.{kind}", Y)
    shape = ["--shape", "x=2,3", "--shape", "y=2,3"] if kind in ("raw", "txt") else []
    run(pair[1], x, y, *shape, "-o", f"z={tmp_path / 'z.npy'}", "-o", f"m={tmp_path / 'm.pb'}")
    np.testing.assert_allclose(np.load(tmp_path / "z.npy"), X * Y + X)
    m = numpy_helper.to_array(onnx.load_tensor(tmp_path / "m.pb"))
    np.testing.assert_allclose(m, X * Y)


def test_archives_in_and_out(pair, tmp_path):
    np.savez(tmp_path / "in.npz", y=Y, x=X)
    run(pair[1], tmp_path / "in.npz", "-o", tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz") as out:
        assert sorted(out.files) == ["m", "z"]
        np.testing.assert_allclose(out["z"], X * Y + X)


def test_pictures_classes_and_json(network, tmp_path):
    model, engine = network
    pixels = np.random.default_rng(2).integers(0, 255, (16, 16, 3), np.uint8)
    Image.fromarray(pixels).save(tmp_path / "p.png")
    words = [tmp_path / "p.png", "--preprocess", "scale=1/255", "--top-k", "3", "--json"]
    of_engine, of_model = (json.loads(run(what, *words)) for what in (engine, model))
    assert of_engine["device"] == "cpu" and of_model["device"] == "ref"
    tops = [[entry["class"] for entry in r["outputs"][0]["top"][0]] for r in (of_engine, of_model)]
    assert tops[0] == tops[1] and len(tops[0]) == 3
    assert of_engine["outputs"][0]["values"] == pytest.approx(of_model["outputs"][0]["values"], abs=1e-4)
    assert "cpu" in run(engine, tmp_path / "p.png")


# ---- devices, threads, compilers ----

def test_the_device_must_be_the_engines(pair):
    assert json.loads(run(pair[1], "--random", "--shape", "x=2,3", "--shape", "y=2,3", "--device",
                          "cpu:0", "--json"))["device"] == "cpu:0"
    for other in ("ref", "opencl:0"):
        assert "compiled for 'cpu'" in refuse("run", pair[1], "--random", "--device", other)


@pytest.mark.parametrize("option", [["--dim", "n=2"], ["--precision", "bf16"]])
def test_what_compiling_settles_is_refused(pair, option):
    assert "is an engine" in refuse("run", pair[1], "--random", *option)


@pytest.mark.parametrize("threads", ["-1", "5000", "two"])
def test_threads_that_are_no_number(pair, threads):
    for what in pair:
        refuse("run", what, "--random", f"--threads={threads}", code=2)


def test_equal_bits_whatever_the_threads(network):
    model, engine = network
    for what in (engine, model):
        found = [json.loads(run(what, "--device", "cpu", "--random", "--json", "--deterministic",
                                "--threads", threads))["outputs"] for threads in (1, 2)]
        assert found[0] == found[1]


def test_an_engine_needs_no_compiler(network, tmp_path):
    model, engine = network
    alone = tmp_path / "elsewhere.hone"
    shutil.copy(engine, alone)
    nothing = {"PATH": str(tmp_path), "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert "classes" in run(alone, "--random", env=nothing, cwd=tmp_path)
    message = refuse("run", model, "--random", "--device", "cpu", env=nothing, cwd=tmp_path)
    assert "compiler" in message


def test_damaged_engines(pair, tmp_path):
    data = pair[1].read_bytes()
    (tmp_path / "cut.hone").write_bytes(data[:len(data) // 2])
    flipped = bytearray(data)
    flipped[len(data) // 2] ^= 0x10
    (tmp_path / "flipped.hone").write_bytes(flipped)
    (tmp_path / "head.hone").write_bytes(data[:20])
    for name in ("cut", "flipped", "head"):
        assert f"{name}.hone" in refuse("run", tmp_path / f"{name}.hone", "--random")
    refuse("run", tmp_path / "none.hone", "--random")


# ---- precision ----

def values(*args):
    return np.array(json.loads(run(*args, "--random", "--json"))["outputs"][0]["values"])


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
def test_precisions_agree_with_fp32(network, precision):
    model, _ = network
    right = values(model)
    engine = compiled(model, "--precision", precision)
    report = json.loads(hone("compile", model, "--precision", precision, "--json").stdout)
    for got in (values(engine), values(model, "--device", "cpu", "--precision", precision),
                values(model, "--precision", precision)):
        error = np.abs(got - right).max() / np.abs(right).max()
        assert error < 2e-2 if precision != "fp32" else error < 1e-5
        assert precision == "fp32" or error > 0
    assert report["precision"] == precision
    compiled(model)


@pytest.fixture(scope="module")
def product(tmp_path_factory):
    """A vector by a matrix, which takes the time that it takes to read the matrix."""
    return save(tmp_path_factory.mktemp("product") / "product.onnx",
                [helper.make_node("MatMul", ["x", "w"], ["y"])],
                [("x", TensorProto.FLOAT, [1, 64])], [("y", TensorProto.FLOAT, [1, 48])],
                [("w", np.random.default_rng(2).standard_normal((64, 48)).astype(np.float32))])


def weight_bytes(model, *args):
    return json.loads(hone("compile", model, "--json", *args).stdout)["weight_bytes"]


def test_weights_are_stored_narrow(product):
    sizes = {p: weight_bytes(product, "--precision", p) for p in ("fp32", "bf16", "fp16")}
    assert sizes["bf16"] == sizes["fp16"] < 0.6 * sizes["fp32"]


def test_a_pass_that_can_be_left_out(product):
    assert weight_bytes(product, "--precision", "bf16") < \
        weight_bytes(product, "--precision", "bf16", "--no-pass", "precision")


def test_int8_takes_a_quantized_model(network, tmp_path):
    for command in (["run", network[0], "--random"], ["compile", network[0]]):
        assert "calibration" in refuse(*command, "--precision", "int8")
    quantized = save(
        tmp_path / "q.onnx",
        [helper.make_node("QuantizeLinear", ["x", "s", "zero"], ["q"]),
         helper.make_node("DequantizeLinear", ["q", "s", "zero"], ["d"]),
         helper.make_node("DequantizeLinear", ["w", "s", "zero"], ["dw"]),
         helper.make_node("MatMul", ["d", "dw"], ["y"])],
        [("x", TensorProto.FLOAT, [4, 8])], [("y", TensorProto.FLOAT, [4, 4])],
        [("s", np.float32(0.02)), ("zero", np.int8(0)),
         ("w", np.arange(32, dtype=np.int8).reshape(8, 4))])
    np.testing.assert_allclose(values(quantized, "--device", "cpu", "--precision", "int8"),
                               values(quantized), rtol=1e-5)


def test_other_words_are_refused(network):
    assert "precision" in refuse("run", network[0], "--random", "--precision", "fp12", code=2)


def test_engine_of_a_model_that_gives_maps(tmp_path):
    """The types of sequences and maps are constants of the library."""
    model = tmp_path / "maps.onnx"
    node = helper.make_node("ZipMap", ["x"], ["z"], domain="ai.onnx.ml", classlabels_int64s=[3, 5])
    element = helper.make_map_type_proto(TensorProto.INT64,
                                         helper.make_tensor_type_proto(TensorProto.FLOAT, None))
    maps = helper.make_value_info("z", helper.make_sequence_type_proto(element))
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info(
        "x", TensorProto.FLOAT, ["n", 2])], [maps])
    onnx.save(helper.make_model(graph, opset_imports=[
        helper.make_opsetid("", 20), helper.make_opsetid("ai.onnx.ml", 3)], ir_version=9), model)
    np.save(tmp_path / "x.npy", np.array([[1, 2], [3, 4]], np.float32))
    data = f"x={tmp_path / 'x.npy'}"
    answers = [run(each, "--input", data).splitlines()[1:] for each in (compiled(model), model)]
    assert answers[0] == answers[1]
