"""Reductions, ArgMax, cumulative sums, softmax and TopK, at every opset."""

import numpy as np
import pytest
from one_node import check

F32 = np.float32
RNG = np.random.default_rng(1)
REDUCE = {
    "ReduceL1": lambda x, **k: np.abs(x).sum(**k),
    "ReduceL2": lambda x, **k: np.sqrt((x * x).sum(**k)),
    "ReduceLogSum": lambda x, **k: np.log(x.sum(**k)),
    "ReduceLogSumExp": lambda x, **k: np.log(np.exp(x).sum(**k)),
    "ReduceMax": np.max, "ReduceMean": np.mean, "ReduceMin": np.min, "ReduceProd": np.prod,
    "ReduceSum": np.sum, "ReduceSumSquare": lambda x, **k: (x * x).sum(**k),
}


def normal(*shape, dtype=F32):
    return RNG.standard_normal(shape).astype(dtype)


def axes_opset(op):
    """From here on the axes are an input."""
    return 13 if op == "ReduceSum" else 18


@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("axes", [None, [0], [1, -1], [0, 1, 2], [-3]])
@pytest.mark.parametrize("op", REDUCE)
def test_reduce(op, axes, keepdims):
    x = np.abs(normal(2, 3, 4)) + F32(0.1)
    along = tuple(axes) if axes else None
    expected = [REDUCE[op](x.astype(np.float64), axis=along, keepdims=bool(keepdims)).astype(F32)]
    inputs = [x, np.array(axes, np.int64)] if axes else [x]
    for constants in ((1,), ()):
        check(op, inputs, axes_opset(op), {"keepdims": keepdims}, constants=constants,
              expected=expected)
    attrs = {"keepdims": keepdims} | ({"axes": axes} if axes else {})
    for opset in (1, 11, axes_opset(op) - 1):
        check(op, [x], opset, attrs, expected=expected)


@pytest.mark.parametrize("op", REDUCE)
def test_reduce_over_no_axes(op):
    x, none = np.abs(normal(2, 3)), np.array([], np.int64)
    opset = axes_opset(op)
    check(op, [x, none], opset, {"noop_with_empty_axes": 1}, constants=(1,))
    check(op, [x], opset, {"noop_with_empty_axes": 1})
    check(op, [x, none], opset, {"noop_with_empty_axes": 0}, constants=(1,))
    check(op, [np.array(2.5, F32)], opset, {"keepdims": 0})


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64])
@pytest.mark.parametrize("op", REDUCE)
def test_reduce_integers(op, dtype):
    x = RNG.integers(1, 4, (2, 3)).astype(dtype)
    expected = np.trunc(REDUCE[op](x.astype(np.float64), axis=1, keepdims=True)).astype(dtype)
    check(op, [x, np.array([1])], axes_opset(op), constants=(1,), expected=[expected])


@pytest.mark.parametrize("op,value", [
    ("ReduceSum", 0), ("ReduceProd", 1), ("ReduceMax", -np.inf), ("ReduceMin", np.inf),
    ("ReduceL1", 0), ("ReduceL2", 0), ("ReduceSumSquare", 0), ("ReduceLogSum", -np.inf),
    ("ReduceLogSumExp", -np.inf)])
def test_reduce_of_nothing(op, value):
    x = np.zeros((2, 0, 4), F32)
    check(op, [x, np.array([1])], axes_opset(op), constants=(1,),
          expected=[np.full((2, 1, 4), value, F32)])


@pytest.mark.parametrize("x,expected", [
    ([1000, 1000], 1000 + np.log(2)), ([3.402e38], 3.402e38), ([np.inf, 1], np.inf),
    ([-np.inf, -np.inf], -np.inf)])
def test_log_sum_exp_does_not_overflow(x, expected):
    check("ReduceLogSumExp", [np.array(x, F32)], 18, expected=[np.array([expected], F32)])


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
def test_arg_max_with_ties(op, axis):
    x = RNG.integers(0, 3, (3, 4, 5)).astype(F32)
    for keepdims in (0, 1):
        attrs = {"axis": axis, "keepdims": keepdims}
        for opset in (1, 11):
            check(op, [x], opset, attrs)
        for last in (0, 1):
            check(op, [x], 13, attrs | {"select_last_index": last})


def test_arg_max_of_other_types():
    for dtype in (np.uint8, np.int32):
        check("ArgMax", [RNG.integers(0, 9, (4, 5)).astype(dtype)], 13)
    check("ArgMax", [np.array([1, np.nan, 5], F32)], 13, expected=[np.array([1])])


@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, -1, -3])
def test_cumulative(axis, exclusive, reverse):
    attrs = {"exclusive": exclusive, "reverse": reverse}
    check("CumSum", [normal(2, 3, 4), np.array(axis, np.int32)], 14, attrs, constants=(1,))
    check("CumSum", [RNG.integers(-9, 9, (2, 3, 4)), np.array([axis])], 11, attrs)
    check("CumProd", [normal(2, 3, 4), np.array(axis)], 26, attrs, constants=(1,))


@pytest.mark.parametrize("opset", [1, 11, 13])
@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Hardmax"])
def test_softmax(op, opset):
    for axis in (0, 1, 2, 3) + ((-2,) if opset > 1 else ()):
        check(op, [normal(2, 3, 4, 5)], opset, {"axis": axis})
    check(op, [normal(2, 3, 4, 5)], opset)
    check(op, [normal(3, 4) * 100], opset)
    check(op, [RNG.integers(0, 2, (3, 5)).astype(F32)], opset)
    check(op, [normal(0, 5)], opset)


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax"])
def test_softmax_of_other_types(op):
    check(op, [normal(3, 5).astype(np.float16)], 13, rtol=2e-3)
    check(op, [normal(3, 5).astype(np.float64)], 13, rtol=1e-12)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("k", [1, 3, 4])
def test_top_k_with_ties(k, axis):
    x = RNG.integers(0, 5, (4, 6)).astype(F32)
    count = np.array([k])
    check("TopK", [x], 1, {"axis": axis, "k": k}, n_outputs=2)
    check("TopK", [x, count], 10, {"axis": axis}, n_outputs=2, constants=(1,))
    for largest in (0, 1):
        for constants in ((1,), ()):
            check("TopK", [x, count], 11, {"axis": axis, "largest": largest}, n_outputs=2,
                  constants=constants)


@pytest.mark.parametrize("dtype", [F32, np.int32])
@pytest.mark.parametrize("k", [0, 1, 5, 32, 33, 299, 300])
def test_top_k_of_long_lines(k, dtype):
    """Few are found one after the other, many by sorting all. NaN is larger than everything."""
    x = RNG.integers(0, 200, (300, 3)).astype(dtype)
    if dtype is F32:
        x[[0, 7, 250], 1] = np.nan
        x[[3, 299], 2] = np.inf
        x[[3, 299], 0] = -np.inf
    key = np.where(np.isnan(x), np.inf, x).astype(np.float64) + 1e300 * np.isnan(x)
    for largest in (0, 1):
        order = np.argsort(-key if largest else key, axis=0, kind="stable")[:k]
        check("TopK", [x, np.array([k])], 11, {"axis": 0, "largest": largest}, n_outputs=2,
              constants=(1,), expected=[np.take_along_axis(x, order, 0), order])


@pytest.mark.parametrize("axis", [0, 1])
def test_top_one_of_many_lines(axis):
    """Kernels find it, where there are some. NaN is larger than everything, 0 and -0 are alike."""
    x = RNG.integers(-3, 3, (40, 50)).astype(F32)
    x[3, 5:] = -0.0
    x[[4, 9, 9], [7, 7, 30]] = np.nan
    x[[5, 6], [7, 8]] = np.inf, -np.inf
    x[7] = np.nan
    x[:, 7] = np.nan
    x[8] = -np.inf
    key = np.where(np.isnan(x), np.inf, x).astype(np.float64) + 1e300 * np.isnan(x)
    for largest in (0, 1):
        order = np.argsort(-key if largest else key, axis=axis, kind="stable")
        order = np.take(order, [0], axis)
        check("TopK", [x, np.array([1])], 11, {"axis": axis, "largest": largest}, n_outputs=2,
              constants=(1,), expected=[np.take_along_axis(x, order, axis), order])


@pytest.mark.parametrize("order", ["random", "up", "down", "same"])
@pytest.mark.parametrize("k", [3, 64, 65, 300, 1249, 1251, 5000])
def test_top_k_of_one_line(k, order):
    """Whatever it looks like, most of it is left out early."""
    x = {"random": RNG.normal(size=5000), "up": np.arange(5000), "down": -np.arange(5000),
         "same": np.zeros(5000)}[order].astype(F32)
    x[[17, 4000]] = -0.0
    for largest in (0, 1):
        places = np.argsort(-x if largest else x, kind="stable")[:k]
        check("TopK", [x, np.array([k])], 11, {"largest": largest}, n_outputs=2, constants=(1,),
              expected=[x[places], places])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64,
                                   np.uint64, np.float16, np.float64])
def test_top_k_of_other_types(dtype):
    x = RNG.integers(0, 100, 9).astype(dtype)
    if dtype not in (np.float16, np.float64):
        x[[2, 5]] = np.iinfo(dtype).min, np.iinfo(dtype).max
    for largest in (0, 1):
        key = x.astype(object) * (-1 if largest else 1)
        places = np.argsort(key, kind="stable")[:4]
        check("TopK", [x, np.array([4])], 11, {"largest": largest}, n_outputs=2,
              expected=[x[places], places])
