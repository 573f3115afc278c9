"""Operators that move, index and make tensors: older opsets and odd cases."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import graphs
from test_resample import noise, one_node


def lists(*values):
    return [np.array(v, np.int64) for v in values]


def only(model, *arrays):
    (result,) = graphs.run(model, *arrays)
    return result


# ---- what older opsets had as attributes ----

def test_reshape_1():
    x = noise(2, 3, 4)
    np.testing.assert_array_equal(only(one_node("Reshape", 1, [x], shape=[0, -1]), x),
                                  x.reshape(2, 12))


def test_slice_1():
    x = noise(4, 5, 6)
    model = one_node("Slice", 1, [x], starts=[1, -3], ends=[1000, -1], axes=[0, 2])
    np.testing.assert_array_equal(only(model, x), x[1:, :, -3:-1])


def test_slice_1_without_axes():
    x = noise(4, 5)
    np.testing.assert_array_equal(only(one_node("Slice", 1, [x], starts=[1], ends=[3]), x), x[1:3])


@pytest.mark.parametrize("opset", [1, 11])
def test_squeeze_and_unsqueeze_with_attributes(opset):
    x = noise(1, 3, 1, 2)
    assert only(one_node("Squeeze", opset, [x], axes=[0, 2]), x).shape == (3, 2)
    assert only(one_node("Squeeze", opset, [x]), x).shape == (3, 2)
    assert only(one_node("Unsqueeze", opset, [x], axes=[0, 5]), x).shape == (1, 1, 3, 1, 2, 1)


def test_squeeze_of_an_unknown_extent_waits_for_the_run():
    g = graphs.Graph(13)
    x = g.input("x", np.float32, ["n", 3])
    model = g.model(g.op("Squeeze", x))
    assert only(model, noise(1, 3)).shape == (3,)
    assert only(model, noise(2, 3)).shape == (2, 3)


def test_concat_1_joins_axis_1():
    x, y = noise(2, 3), noise(2, 1)
    assert only(one_node("Concat", 1, [x, y]), x, y).shape == (2, 4)


def test_tile_1():
    x = noise(2, 3)
    model = one_node("Tile", 1, [x], [np.float32(2), np.float32(1)])
    np.testing.assert_array_equal(only(model, x), np.tile(x, (1, 2)))


@pytest.mark.parametrize("opset,name", [(1, "paddings"), (2, "pads")])
@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
def test_pad_with_attributes(opset, name, mode):
    x = noise(3, 4)
    attrs = {name: [1, 2, 0, 1], "mode": mode, "value": 1.5}
    extra = {"constant_values": 1.5} if mode == "constant" else {}
    np.testing.assert_array_equal(only(one_node("Pad", opset, [x], **attrs), x),
                                  np.pad(x, [(1, 0), (2, 1)], mode, **extra))


def split(opset, x, extra=(), n_outputs=3, **attrs):
    g = graphs.Graph(opset)
    names = [g.input("x", x.dtype, list(x.shape))]
    names += [g.const(e, np.asarray(e).dtype) for e in extra]
    return graphs.run(g.model(*g.op("Split", *names, n_outputs=n_outputs, **attrs)), x)


@pytest.mark.parametrize("opset", [1, 2, 11])
def test_split_with_attributes(opset):
    x = noise(6, 4)
    for part, want in zip(split(opset, x, split=[1, 2, 3]), np.split(x, [1, 3])):
        np.testing.assert_array_equal(part, want)
    for part, want in zip(split(opset, x), np.split(x, 3)):
        np.testing.assert_array_equal(part, want)


def test_split_1_with_an_input():
    x = noise(6, 4)
    for sizes in np.array([1, 2, 3]), np.array([1, 2, 3], np.float32):
        for part, want in zip(split(1, x, [sizes]), np.split(x, [1, 3])):
            np.testing.assert_array_equal(part, want)


@pytest.mark.parametrize("length,parts,sizes", [(7, 4, [2, 2, 2, 1]), (5, 4, [2, 2, 1, 0]),
                                                (6, 3, [2, 2, 2])])
def test_split_18_ends_with_a_smaller_part(length, parts, sizes):
    out = split(18, noise(length), n_outputs=parts, num_outputs=parts)
    assert [len(p) for p in out] == sizes


def test_split_that_does_not_fit_is_an_error():
    with pytest.raises(Exception, match="equal parts"):
        split(13, noise(7))
    with pytest.raises(Exception, match="add up to"):
        split(13, noise(7), lists([1, 2, 3]))


def test_scatter_is_scatter_elements():
    x, index, updates = noise(3, 3), np.array([[1, 0, 2], [0, 2, 1]]), noise(2, 3, seed=1)
    want = x.copy()
    np.put_along_axis(want, index, updates, 0)
    for op_type, opset in [("Scatter", 9), ("ScatterElements", 11)]:
        model = one_node(op_type, opset, [x, index, updates], axis=0)
        np.testing.assert_array_equal(only(model, x, index, updates), want)


# ---- all of Pad ----

MODES = ["constant", "edge", "reflect", "wrap"]


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(MODES), st.lists(st.integers(-2, 9), min_size=4, max_size=4),
       st.integers(3, 5), st.integers(3, 5), st.booleans())
def test_pad(mode, pads, rows, columns, symbolic):
    x = np.arange(rows * columns, dtype=np.int32).reshape(rows, columns)
    cut = x[tuple(slice(max(-pads[i], 0), x.shape[i] - max(-pads[i + 2], 0)) for i in range(2))]
    if cut.size == 0:
        return
    if mode == "reflect" and 1 in cut.shape:
        return  # NumPy repeats the one element, as hone does; nothing to compare in ONNX
    want = np.pad(cut, [(max(pads[i], 0), max(pads[i + 2], 0)) for i in range(2)], mode)
    g = graphs.Graph(19)
    name = g.input("x", np.int32, ["r", "c"] if symbolic else [rows, columns])
    np.testing.assert_array_equal(only(g.model(g.op("Pad", name, g.const(pads), mode=mode)), x),
                                  want)


@pytest.mark.parametrize("dtype", [np.float16, np.uint8, np.bool_, np.complex64, np.int64])
def test_pad_of_other_types(dtype):
    x = np.ones((2, 2), dtype)
    g = graphs.Graph(21)
    name = g.input("x", dtype, [2, 2])
    model = g.model(g.op("Pad", name, g.const([1, 0]), "", g.const([-1])))
    np.testing.assert_array_equal(only(model, x), np.pad(x, [(0, 0), (1, 0)]))


# ---- indexing ----

@pytest.mark.parametrize("opset,reduction", [(16, "add"), (16, "mul"), (18, "min"), (18, "max"),
                                             (18, "none")])
def test_scatters_combine(opset, reduction):
    x, updates = noise(4, 3), noise(3, 3, seed=2)
    index = np.array([[1], [-1], [1]]) if reduction != "none" else np.array([[1], [-1], [0]])
    model = one_node("ScatterND", opset, [x, index, updates], reduction=reduction)
    graphs.same_as_ort(model, x, index, updates)
    full = np.repeat(index, 3, axis=1)
    model = one_node("ScatterElements", opset, [x, full, updates], reduction=reduction)
    graphs.same_as_ort(model, x, full, updates)


@pytest.mark.parametrize("batch", [0, 1, 2])
@pytest.mark.parametrize("length", [1, 2])
def test_gather_nd(batch, length):
    x = noise(2, 3, 4, 5)
    random = np.random.default_rng(batch)
    shape = (2, 3, 6)[:batch] + (4, length)
    limits = x.shape[batch:batch + length]
    index = np.stack([random.integers(-n, n, shape[:-1]) for n in limits], -1)
    model = one_node("GatherND", 12, [x, index], batch_dims=batch)
    graphs.same_as_ort(model, x, index)


def test_gather_of_strings():
    from onnx import TensorProto, helper
    g = graphs.Graph(13)
    g.inputs.append(helper.make_tensor_value_info("x", TensorProto.STRING, [3]))
    model = g.model(g.op("Gather", "x", g.const([[2, -3]])))
    assert only(model, np.array(["a", "b", "c"], object)).tolist() == [["c", "a"]]


def test_an_index_outside_is_an_error():
    g = graphs.Graph(13)
    model = g.model(g.op("Gather", g.input("x", np.float32, [3]), g.input("i", np.int64, [1])))
    with pytest.raises(Exception, match="index|indices"):
        graphs.run(model, noise(3), np.array([3]))


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_compress(axis):
    x, flags = noise(3, 4), np.array([False, True, True])
    attrs = {} if axis is None else {"axis": axis}
    model = one_node("Compress", 11, [x, flags], **attrs)
    graphs.same_as_ort(model, x, flags)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=0, max_size=3), st.integers(0, 99))
def test_non_zero(shape, seed):
    x = np.random.default_rng(seed).integers(0, 2, shape).astype(np.float32)
    want = np.stack(np.nonzero(np.atleast_1d(x)))
    np.testing.assert_array_equal(only(one_node("NonZero", 13, [x]), x), want)


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("is_sorted", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint64])
def test_unique(axis, is_sorted, dtype):
    x = np.random.default_rng(5).integers(0, 3, (4, 3)).astype(dtype)
    g = graphs.Graph(11)
    attrs = {} if axis is None else {"axis": axis}
    outputs = g.op("Unique", g.input("x", dtype, [4, 3]), n_outputs=4, sorted=is_sorted, **attrs)
    got = graphs.run(g.model(*outputs), x)
    values, first, inverse, counts = np.unique(x, True, True, True, axis=axis)
    order = np.arange(len(first)) if is_sorted else np.argsort(first)
    rename = np.argsort(order)
    want = [np.take(values, order, axis or 0), first[order], rename[inverse.reshape(-1)],
            counts[order]]
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("time_axis", [0, 1])
def test_reverse_sequence(time_axis):
    x = noise(4, 4, 2)
    lengths = np.array([1, 4, 2, 3])
    model = one_node("ReverseSequence", 10, [x, lengths], time_axis=time_axis,
                     batch_axis=1 - time_axis)
    graphs.same_as_ort(model, x, lengths)


# ---- making tensors ----

@pytest.mark.parametrize("start,limit,delta", [(0, 10, 3), (10, 0, -3), (5, 5, 1), (3, 0, 1),
                                               (-4, 9, 4)])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64, np.int16])
@pytest.mark.parametrize("known", [True, False])
def test_range(start, limit, delta, dtype, known):
    values = [np.array(v, dtype) for v in (start, limit, delta)]
    model = one_node("Range", 11, [], values) if known else one_node("Range", 11, values)
    got = only(model, *([] if known else values))
    want = np.arange(start, limit, delta).astype(dtype)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("axis", [-1, 0, 1])
@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.uint8])
def test_one_hot(axis, dtype):
    index = np.array([[0, 2], [1, 7]]).astype(dtype)
    depth, values = np.array([3], np.int64), np.array([-1, 5], np.int32)
    model = one_node("OneHot", 11, [index], [depth, values], axis=axis)
    want = np.where(np.arange(3) == index[..., None], 5, -1)
    np.testing.assert_array_equal(only(model, index), np.moveaxis(want, -1, axis))


@pytest.mark.parametrize("opset,want", [(9, [[0, 0, 1], [0, 0, 0]]), (11, [[0, 0, 1], [0, 0, 1]])])
def test_one_hot_of_negative_indices(opset, want):
    index = np.array([2, -1])
    model = one_node("OneHot", opset, [index], [np.array(3), np.array([0, 1])])
    assert only(model, index).tolist() == want


@pytest.mark.parametrize("k", [-9, -1, 0, 2, 9])
@pytest.mark.parametrize("upper", [0, 1])
def test_trilu(k, upper):
    x = noise(2, 3, 5)
    model = one_node("Trilu", 14, [x], [np.array(k, np.int64)], upper=upper)
    np.testing.assert_array_equal(only(model, x), (np.triu if upper else np.tril)(x, k))


@pytest.mark.parametrize("attr,value,dtype", [
    ("value_float", 1.5, np.float32), ("value_floats", [1.5, 2], np.float32),
    ("value_int", 3, np.int64), ("value_ints", [3, 4], np.int64)])
def test_constants(attr, value, dtype):
    g = graphs.Graph(13)
    got = only(g.model(g.op("Constant", **{attr: value})))
    assert got.dtype == dtype and got.tolist() == value


def test_constants_of_strings():
    g = graphs.Graph(13)
    names = g.op("Constant", value_strings=["a", "bc"]), g.op("Constant", value_string="d")
    got = graphs.run(g.model(*names))
    assert got[0].tolist() == ["a", "bc"] and got[1].shape == () and got[1].item() == "d"


def test_sparse_constants():
    from onnx import helper, numpy_helper
    values = numpy_helper.from_array(np.array([1, 2], np.float32), "v")
    index = numpy_helper.from_array(np.array([[0, 1], [2, 0]]), "i")
    g = graphs.Graph(13)
    got = only(g.model(g.op("Constant", sparse_value=helper.make_sparse_tensor(values, index,
                                                                                [3, 2]))))
    assert got.tolist() == [[0, 1], [0, 0], [2, 0]]


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_space_to_depth_undoes_depth_to_space(mode):
    x = noise(2, 12, 3, 4)
    g = graphs.Graph(13)
    y = g.op("DepthToSpace", g.input("x", np.float32, list(x.shape)), blocksize=2, mode=mode)
    if mode == "DCR":
        np.testing.assert_array_equal(
            only(g.model(g.op("SpaceToDepth", y, blocksize=2)), x), x)
    else:
        graphs.same_as_ort(g.model(y), x)


def test_unknown_attributes_and_modes_are_named():
    x = noise(2, 2)
    with pytest.raises(Exception, match="unknown attribute 'axs'"):
        only(one_node("Concat", 13, [x], axs=1), x)
    with pytest.raises(Exception, match="mode 'mirror' is unknown"):
        only(one_node("Pad", 13, [x], lists([1, 1, 1, 1]), mode="mirror"), x)
