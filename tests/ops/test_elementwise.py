"""Elementwise operators: every opset's meaning, all element types, special values."""

import math

import ml_dtypes
import numpy as np
import pytest
import hone_ctypes
from one_node import check, node_model

F32, F64, F16, BF16 = np.float32, np.float64, np.float16, ml_dtypes.bfloat16
FLOATS = [F32, F64, F16, BF16]
INTS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
TOLERANCE = {F32: 1e-6, F64: 2e-14, F16: 1e-3, BF16: 1e-2}
RNG = np.random.default_rng(0)
SPECIAL = np.array([0, -0.0, 1, -1, 0.5, -0.5, 1e-7, -1e-7, 1e-3, 3, -3, 20, -20, 88, -88, 89, -89,
                    1e10, -1e10, 1e30, -1e30, np.inf, -np.inf, np.nan, 0.9999, -0.9999, 1.0001])
DENSE = np.concatenate([SPECIAL, np.linspace(-100, 100, 401), np.linspace(-1.5, 1.5, 301),
                        np.logspace(-30, 30, 121), -np.logspace(-30, 30, 121)])


def normal(*shape, dtype=F32):
    return RNG.standard_normal(shape).astype(dtype)


def integers(*shape, dtype=np.int32, low=None, high=20):
    low = max(-20, np.iinfo(dtype).min) if low is None else low
    return RNG.integers(low, high, shape).astype(dtype)


UNARY = {  # opset of the first version, the function in double
    "Abs": (1, np.abs), "Acos": (7, np.arccos), "Acosh": (9, np.arccosh), "Asin": (7, np.arcsin),
    "Asinh": (9, np.arcsinh), "Atan": (7, np.arctan), "Atanh": (9, np.arctanh),
    "Ceil": (1, np.ceil), "Cos": (7, np.cos), "Cosh": (9, np.cosh),
    "Erf": (9, np.vectorize(math.erf)),
    "Exp": (1, np.exp), "Floor": (1, np.floor), "Log": (1, np.log),
    "Mish": (18, lambda x: x * np.tanh(np.logaddexp(0, x))), "Neg": (1, np.negative),
    "Reciprocal": (1, lambda x: 1 / x), "Relu": (1, lambda x: np.maximum(x, 0)),
    "Round": (11, np.rint), "Sigmoid": (1, lambda x: 1 / (1 + np.exp(-x))), "Sign": (9, np.sign),
    "Sin": (7, np.sin), "Sinh": (9, np.sinh), "Softplus": (1, lambda x: np.logaddexp(0, x)),
    "Softsign": (1, lambda x: x / (1 + np.abs(x))), "Sqrt": (1, np.sqrt), "Tan": (7, np.tan),
    "Tanh": (1, np.tanh),
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", UNARY)
@pytest.mark.filterwarnings("ignore")
def test_unary_is_accurate_everywhere(op, dtype):
    opset, function = UNARY[op]
    x = DENSE.astype(dtype)
    if op in ("Sin", "Cos", "Tan"):
        x = x[np.abs(x) < 1e3]
    expected = function(x.astype(F64)).astype(dtype)
    check(op, [x], opset if dtype is not BF16 else 22, expected=[expected], rtol=TOLERANCE[dtype],
          atol=1e-37 if dtype in (F32, F64) else 1e-7)


ARITHMETIC = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Pow": np.power,
    "Less": np.less, "Greater": np.greater, "Equal": np.equal, "LessOrEqual": np.less_equal,
    "GreaterOrEqual": np.greater_equal, "Max": np.maximum, "Min": np.minimum,
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", ARITHMETIC)
def test_binary_floats_broadcast(op, dtype):
    a, b = np.abs(normal(2, 3, 4, dtype=dtype)), np.abs(normal(3, 1, dtype=dtype))
    expected = ARITHMETIC[op](a.astype(F64), b.astype(F64))
    expected = expected if expected.dtype == bool else expected.astype(dtype)
    check(op, [a, b], 19, expected=[expected], rtol=TOLERANCE[dtype])
    check(op, [a[:0], b], 19, expected=[expected[:0]])


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("op", [op for op in ARITHMETIC if op != "Pow"] + ["Mod"])
def test_binary_integers(op, dtype):
    a, b = integers(2, 3, 4, dtype=dtype), integers(3, 1, dtype=dtype)
    b = np.where(b == 0, 3, b).astype(dtype)
    check(op, [a, b], 19)
    if op == "Mod":
        check(op, [a, b], 13, {"fmod": 1})


LIMITED = [((3, 4), 1, (3, 4, 1)), ((2,), 0, (2, 1, 1, 1)), ((5,), None, (5,)), ((), None, ()),
           ((4, 5), None, (4, 5)), ((1, 1), None, (1, 1)), ((3,), -3, (3, 1, 1))]


@pytest.mark.parametrize("shape,axis,aligned", LIMITED)
@pytest.mark.parametrize("op,opsets", [
    ("Add", (1, 6)), ("Sub", (1, 6)), ("Mul", (1, 6)), ("Div", (1, 6)), ("Pow", (1,)),
    ("And", (1,)), ("Or", (1,)), ("Xor", (1,)), ("Less", (1,)), ("Greater", (1,)), ("Equal", (1,))])
def test_limited_broadcast_of_the_first_opsets(op, opsets, shape, axis, aligned):
    logical = {"And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor}
    a, b = np.abs(normal(2, 3, 4, 5)), np.asarray(np.abs(normal(*shape)))
    if op in logical:
        a, b = a > 0.5, np.asarray(b > 0.5)
    if op == "Equal":
        a, b = (a * 3).astype(np.int32), np.asarray((b * 3).astype(np.int32))
    attrs = {"broadcast": 1} | ({"axis": axis} if axis is not None else {})
    function = {**ARITHMETIC, **logical}[op]
    for opset in opsets:
        check(op, [a, b], opset, attrs, expected=[function(a, b.reshape(aligned))])


@pytest.mark.parametrize("exponent", [F32, F64, F16, np.int8, np.int32, np.int64, np.uint64])
@pytest.mark.parametrize("base", [F32, F64, F16, np.int32, np.int64])
def test_pow_takes_mixed_types(base, exponent):
    a, b = np.array([1, 2, 3, 4, 5], base), np.array([0, 1, 2, 3, 2], exponent)
    check("Pow", [a, b], 15, expected=[np.power(a.astype(F64), b.astype(F64)).astype(base)])


def test_pow_of_integers_by_fractions_truncates():
    a = np.array([2, 3, -2, 1, -1, 0], np.int32)
    b = np.array([0.5, 2.5, 2, -1, -1, 2], F32)
    check("Pow", [a, b], 15, expected=[np.array([1, 15, 4, 1, -1, 0], np.int32)])


@pytest.mark.filterwarnings("ignore")
def test_mod_of_floats():
    a = np.array([5, -5, 5, -5, 0, -0.0, np.inf, 3, -3, 3, 1, np.nan, 4], F32)
    b = np.array([3, 3, -3, -3, -2, 2, 2, np.inf, np.inf, -np.inf, 0, 1, -2], F32)
    check("Mod", [a, b], 28, expected=[np.mod(a, b)])
    check("Mod", [a, b], 10, {"fmod": 1}, expected=[np.fmod(a, b)])


@pytest.mark.parametrize("dtype", INTS)
def test_bitwise(dtype):
    a, b = integers(2, 3, dtype=dtype), integers(3, dtype=dtype)
    check("BitwiseAnd", [a, b], 18, expected=[a & b])
    check("BitwiseOr", [a, b], 18, expected=[a | b])
    check("BitwiseXor", [a, b], 18, expected=[a ^ b])
    check("BitwiseNot", [a], 18, expected=[~a])
    amount = np.array([1, 2, 0], dtype)
    check("BitShift", [a, amount], 28, {"direction": "LEFT"}, expected=[a << amount])
    check("BitShift", [a, amount], 28, {"direction": "RIGHT"}, expected=[a >> amount])


@pytest.mark.parametrize("op", ["Max", "Min", "Sum", "Mean"])
def test_any_number_of_operands(op):
    for opset in (1, 6):
        check(op, [normal(2, 3), normal(2, 3), normal(2, 3)], opset)
    for opset in (8, 13):
        check(op, [normal(2, 3), normal(3), normal(1, 1), normal(2, 1)], opset)
        check(op, [normal(2, 3)], opset)
    check(op, [normal(0, 3), normal(3)], 13)


@pytest.mark.parametrize("op", ["Max", "Min"])
def test_extremes_pass_nan_on(op):
    check(op, [np.array([np.nan, 1, 2], F32), np.array([1, np.nan, 3], F32)], 13)


def test_clip_by_attributes():
    x = np.concatenate([SPECIAL, normal(10) * 5]).astype(F32)
    check("Clip", [x], 6)
    check("Clip", [x], 6, {"min": -1.0, "max": 2.0})
    check("Clip", [x], 6, {"min": -1.0})
    check("Clip", [x], 1, {"max": 1.0}, expected=[np.minimum(x, F32(1))])


@pytest.mark.parametrize("opset", [11, 12, 13])
def test_clip_by_inputs(opset):
    x = normal(20) * 4
    for limits in ([F32(-1), F32(2)], [None, F32(2)], [F32(-1)], [], [F32(2), F32(-1)]):
        check("Clip", [x, *limits], opset)
        check("Clip", [x, *limits], opset, constants=(1, 2))


@pytest.mark.parametrize("dtype", INTS)
def test_clip_of_integers(dtype):
    x = integers(20, dtype=dtype)
    check("Clip", [x, dtype(3), dtype(9)], 12)
    check("Clip", [x, None, dtype(9)], 12)


@pytest.mark.parametrize("op,opset,attrs", [
    ("Celu", 12, {}), ("Celu", 12, {"alpha": 2.0}), ("Celu", 12, {"alpha": -2.0}), ("Elu", 1, {}),
    ("Elu", 6, {"alpha": 0.3}), ("Elu", 6, {"alpha": -0.3}),
    ("Gelu", 20, {}), ("Gelu", 20, {"approximate": "tanh"}), ("HardSigmoid", 1, {}),
    ("HardSigmoid", 6, {"alpha": 0.5, "beta": 0.1}), ("HardSwish", 14, {}),
    ("LeakyRelu", 6, {"alpha": 0.3}), ("LeakyRelu", 16, {}), ("Selu", 6, {}),
    ("Selu", 6, {"alpha": 2.0, "gamma": 3.0}), ("Shrink", 9, {}),
    ("Shrink", 9, {"bias": 1.0, "lambd": 1.5}), ("Swish", 24, {"alpha": 1.7}),
    ("ThresholdedRelu", 10, {}), ("ThresholdedRelu", 10, {"alpha": 2.0})])
def test_activations(op, opset, attrs):
    check(op, [np.linspace(-9, 9, 181, dtype=F32)], opset, attrs)


@pytest.mark.filterwarnings("ignore")
def test_exponential_units_are_accurate_everywhere():
    wide = DENSE.astype(F32).astype(F64)
    for op, opset, gamma, alpha in (("Elu", 6, 1, 1), ("Celu", 12, 1, 1),
                                    ("Selu", 6, 1.05070102214813232422, 1.67326319217681884766)):
        expected = gamma * np.where(wide < 0, alpha * np.expm1(wide), wide)
        check(op, [DENSE.astype(F32)], opset, expected=[expected.astype(F32)], rtol=1e-6,
              atol=1e-37)


@pytest.mark.parametrize("dtype", [F32, F64])
@pytest.mark.parametrize("op,zero,less", [("Min", 0.0, np.less), ("Min", -0.0, np.less),
                                          ("Max", 0.0, np.greater), ("Max", -0.0, np.greater)])
def test_limits_of_either_zero(op, zero, less, dtype):
    x = np.tile(np.array([0.0, -0.0, 2, -2, np.inf, -np.inf, np.nan, 1e-30], dtype), 5)
    of_zeros = zero if np.signbit(zero) == (op == "Min") else x
    expected = np.where(x == 0, of_zeros, np.where(less(zero, x), zero, x)).astype(dtype)
    model = node_model(op, [x, np.array(zero, dtype)], 13, constants=[1])
    for device in ("ref", "cpu"):
        y = hone_ctypes.Session(model, device).run({"x0": x})[0]
        np.testing.assert_array_equal(y, expected)
        has_sign = ~np.isnan(expected)
        if device == "cpu" and op == "Max" and not np.signbit(zero):
            has_sign &= x != 0  # open there: src/ir/prim.h
        assert (np.signbit(y) == np.signbit(expected))[has_sign].all()


def test_selu_of_the_first_opset_has_short_constants():
    x = np.linspace(-3, 3, 31, dtype=F32)
    expected = np.where(x > 0, 1.0507 * x, 1.0507 * 1.6732 * np.expm1(x)).astype(F32)
    check("Selu", [x], 1, expected=[expected])


def test_swiglu():
    a, b = normal(3, 4), normal(3, 4)
    expected = (a / (1 + np.exp(-F32(1.3) * a)) * b).astype(F32)
    check("SwiGLU", [a, b], 28, {"alpha": 1.3}, expected=[expected])


@pytest.mark.parametrize("dtype", INTS)
def test_shrink_of_integers(dtype):
    check("Shrink", [integers(20, dtype=dtype)], 9, {"lambd": 3.5, "bias": 2.0})


def test_prelu_slopes():
    x, slope = normal(2, 3, 4, 5), normal(3)
    by_channel = np.where(x < 0, x * slope.reshape(3, 1, 1), x)
    for opset in (1, 6):
        check("PRelu", [x, slope], opset, expected=[by_channel])
        check("PRelu", [x, slope[:1]], opset, expected=[np.where(x < 0, x * slope[0], x)])
    for opset in (7, 9, 16):
        check("PRelu", [x, slope.reshape(3, 1, 1)], opset, expected=[by_channel])
        check("PRelu", [x, normal(4, 5)], opset)
    check("PRelu", [integers(3, 4), integers(4)], 9)


def test_where():
    check("Where", [RNG.random((2, 1, 3)) > 0.5, normal(4, 1), normal(1)], 9)
    pick, x, y = np.array([True, False]), np.array(["a", "b"]), np.array(["c"])
    check("Where", [pick, x, y], 9, expected=[np.array(["a", "c"])])


@pytest.mark.parametrize("attrs", [
    {}, {"detect_negative": 0}, {"detect_positive": 0},
    {"detect_negative": 0, "detect_positive": 0}])
def test_is_inf(attrs):
    check("IsInf", [SPECIAL.astype(F32)], 10, attrs)


@pytest.mark.parametrize("dtype", [F32, F16])
def test_is_nan(dtype):
    with np.errstate(over="ignore"):
        check("IsNaN", [SPECIAL.astype(dtype)], 13)


def test_strings_compare():
    a, b = np.array(["a", "b"]), np.array(["a", "c"])
    check("Equal", [a, b], 19, expected=[np.array([True, False])])
