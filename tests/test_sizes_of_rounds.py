"""Values of which only their size is used, or that are sizes, in runs one after the other."""

import ctypes as C

import numpy as np
import onnx
from onnx import TensorProto as T, helper, numpy_helper

import hone_ctypes
from hone_ctypes import PTR, lib


def value(name, dtype, shape):
    return helper.make_tensor_value_info(name, dtype, shape)


def save(path, graph):
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


def number(name, n):
    return numpy_helper.from_array(np.array(n, np.int64), name)


def test_a_round_that_is_only_a_size(tmp_path):
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["still"]),
         helper.make_node("Range", ["zero", "i", "one"], ["numbers"]),
         helper.make_node("Shape", ["numbers"], ["size"])], "body",
        [value("i", T.INT64, []), value("go", T.BOOL, [])],
        [value("still", T.BOOL, []), value("size", T.INT64, [1])],
        [number("zero", 0), number("one", 1)])
    path = str(tmp_path / "net.onnx")
    save(path, helper.make_graph([helper.make_node("Loop", ["n", ""], ["y"], body=body)], "g",
                                 [value("n", T.INT64, [])], [value("y", T.INT64, [None, 1])]))
    for device in ("ref", "cpu"):
        session = hone_ctypes.Session(path, device)
        for rounds in (5, 3, 0, 6):
            got = session.run({"n": np.array(rounds, np.int64)})[0]
            assert np.array_equal(got.ravel(), np.arange(rounds))


def peak_of(path, *shapes):
    """The most memory of a session that runs on inputs of these shapes, outputs released."""
    limit = PTR()
    lib.hone_limit_allocator_get.restype = PTR
    lib.hone_limit_allocator_peak.restype = C.c_size_t
    hone_ctypes.check(lib.hone_limit_allocator_create(None, C.c_size_t(1 << 40), C.byref(limit)))
    session = hone_ctypes.Session(path, "cpu", allocator=lib.hone_limit_allocator_get(limit))
    for shape in shapes:
        session.run({"x": np.zeros(shape, np.float32)})
    return lib.hone_limit_allocator_peak(limit)


def test_released_outputs_make_room_for_other_sizes(tmp_path):
    path = str(tmp_path / "net.onnx")
    nodes = [helper.make_node("CumSum", ["x", "one"], ["c"]),
             helper.make_node("CumSum", ["c", "one"], ["d"]),
             helper.make_node("ReduceSum", ["d", "ones"], ["y"], keepdims=0)]
    save(path, helper.make_graph(nodes, "g", [value("x", T.FLOAT, ["n", "m"])],
                                 [value("y", T.FLOAT, ["n"])],
                                 [number("one", 1), number("ones", [1])]))
    tall, wide = (400_000, 1), (1, 600_000)
    alone = max(peak_of(path, tall), peak_of(path, wide))
    assert peak_of(path, tall, wide) <= alone + 100_000


def test_sizes_are_the_callers_own(tmp_path):
    """Outputs of one run stay as they are when the next one has the same sizes."""
    path = str(tmp_path / "net.onnx")
    save(path, helper.make_graph([helper.make_node("Shape", ["x"], ["s"]),
                                  helper.make_node("Reshape", ["s", "column"], ["y"])], "g",
                                 [value("x", T.FLOAT, ["n", "m"])], [value("y", T.INT64, [2, 1])],
                                 [number("column", [2, 1])]))
    session = hone_ctypes.Session(path, "cpu")
    data = np.zeros((3, 4), np.float32)
    x = hone_ctypes.to_tensor(data)
    outputs = [(PTR * 1)() for _ in range(2)]
    for out in outputs:
        hone_ctypes.check(lib.hone_session_run(session.session, None, 1, (PTR * 1)(x), 1, out))
    first, second = (C.cast(lib.hone_tensor_data(PTR(out[0])), C.POINTER(C.c_int64))
                     for out in outputs)
    first[0] = 99
    assert second[0:2] == [3, 4]
    assert np.array_equal(session.run({"x": data})[0].ravel(), [3, 4])
    for tensor in (x, *(PTR(out[0]) for out in outputs)):
        lib.hone_tensor_release(tensor)
