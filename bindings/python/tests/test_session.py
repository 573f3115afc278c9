"""The Python package: values in and out, errors, lifetimes."""

import gc

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import hone


def model_of(nodes, inputs, outputs, opset=21):
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def tensor(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


@pytest.fixture
def add():
    return model_of([helper.make_node("Add", ["x", "y"], ["z"])],
                    [tensor("x", TensorProto.FLOAT, ["n", 3]), tensor("y", TensorProto.FLOAT, [3])],
                    [tensor("z", TensorProto.FLOAT, ["n", 3])])


def test_run_by_name_and_in_order(add):
    session = hone.Session(add)
    x, y = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones(3, np.float32)
    np.testing.assert_array_equal(session.run({"y": y, "x": x})["z"], x + y)
    np.testing.assert_array_equal(session.run([x, y])["z"], x + y)
    assert [i.name for i in session.inputs] == ["x", "y"]
    assert session.inputs[0].shape == ("n", 3) and session.inputs[0].dtype == np.float32


def test_layouts_and_messages(add):
    session = hone.Session(add)
    wide = np.arange(12, dtype=np.float32).reshape(3, 4)
    x = wide.T[::2]  # neither contiguous nor in order
    swapped = np.ones(3, ">f4")
    np.testing.assert_array_equal(session.run([x, swapped])["z"], x + 1)
    proto = numpy_helper.from_array(np.ones(3, np.float32))
    np.testing.assert_array_equal(session.run([x, proto])["z"], x + 1)


def test_outputs_outlive_everything():
    identity = model_of([helper.make_node("Identity", ["x"], ["y"])],
                        [tensor("x", TensorProto.FLOAT, [1000])],
                        [tensor("y", TensorProto.FLOAT, [1000])])
    out = hone.run(identity, [np.arange(1000, dtype=np.float32)])["y"]
    gc.collect()
    np.testing.assert_array_equal(out, np.arange(1000, dtype=np.float32))


@pytest.mark.parametrize("kind", [np.bool_, np.int8, np.uint16, np.int64, np.uint64, np.float16,
                                  np.float64, np.complex64, ml_dtypes.bfloat16,
                                  ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.int4,
                                  ml_dtypes.uint4, ml_dtypes.float4_e2m1fn,
                                  ml_dtypes.float6_e2m3fn, ml_dtypes.float6_e3m2fn, np.str_])
@pytest.mark.parametrize("shape", [(), (3,), (0, 2), (2, 1, 3)])
def test_every_dtype_survives(kind, shape):
    count = int(np.prod(shape))
    signed = kind not in (np.bool_, np.str_) and np.dtype(kind).kind != "u" and "uint" not in np.dtype(kind).name
    value = (np.arange(count) % 3 - (1 if signed else 0)).astype(kind).reshape(shape)
    number = TensorProto.STRING if kind is np.str_ else helper.np_dtype_to_tensor_dtype(value.dtype)
    identity = model_of([helper.make_node("Identity", ["x"], ["y"])],
                        [tensor("x", number, shape)], [tensor("y", number, shape)], opset=25)
    got = hone.run(identity, [value])["y"]
    assert got.shape == shape
    assert got.astype(object).tolist() == value.astype(object).tolist()
    assert kind is np.str_ or got.dtype == value.dtype


def test_what_a_limited_session_made_outlives_it():
    split = model_of([helper.make_node("SplitToSequence", ["x"], ["y"]),
                      helper.make_node("Neg", ["x"], ["z"])],
                     [tensor("x", TensorProto.FLOAT, [2])],
                     [helper.make_tensor_sequence_value_info("y", TensorProto.FLOAT, None),
                      tensor("z", TensorProto.FLOAT, [2])])
    sequence, array = hone.Session(split, mem_limit="100M").run_list([np.ones(2, np.float32)])
    gc.collect()
    item = sequence[1]
    del sequence
    gc.collect()
    assert item.tolist() == [1] and array.tolist() == [-1, -1]


def test_errors_name_what_is_wrong(add):
    session = hone.Session(add)
    with pytest.raises(hone.HoneError, match="'y'.*f64.*f32") as caught:
        session.run([np.zeros((2, 3), np.float32), np.zeros(3)])
    assert caught.value.code == "INVALID_ARGUMENT"
    with pytest.raises(hone.HoneError, match="missing: \\['y'\\]"):
        session.run({"x": np.zeros((2, 3), np.float32)})
    with pytest.raises(hone.HoneError, match="no such|not found|cannot") as caught:
        hone.load("/nowhere/model.onnx")
    assert caught.value.code in ("NOT_FOUND", "IO")
    with pytest.raises(hone.HoneError, match="device 'cuda:7'"):
        hone.Session(add, device="cuda:7")


def test_dims_and_limits(add):
    fixed = hone.Session(add, dims={"n": 2})
    assert fixed.inputs[0].shape == (2, 3)
    with pytest.raises(hone.HoneError):
        fixed.run([np.zeros((4, 3), np.float32), np.zeros(3, np.float32)])
    small = hone.Session(add, mem_limit="1M")
    with pytest.raises(hone.HoneError) as caught:
        small.run([np.zeros((1 << 20, 3), np.float32), np.zeros(3, np.float32)])
    assert caught.value.code in ("OUT_OF_MEMORY", "MEMORY_LIMIT")


def test_devices():
    names = [d.name for d in hone.devices()]
    assert "ref:0" in names and "null:0" in names
