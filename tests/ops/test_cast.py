"""Cast: what fits, what does not, strings, the narrow floats."""

import hone_ctypes
import ml_dtypes
import numpy as np
import pytest
from one_node import check, feeds_of, node_model

F32 = np.float32
NUMBERS = hone_ctypes.NUMBERS
STRING = 8


def cast(x, to, opset=25, **attrs):
    return hone_ctypes.run(node_model("Cast", [x], opset, attrs | {"to": to}), feeds_of([x]))[0]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.int64, bool])
def test_floats_become_integers_as_in_onnx_runtime(dtype):
    x = np.array([0, 1, -1, 0.5, -0.5, 1.9, -1.9, 127, 128, 200, 256, 300, -129, 32768, 65536,
                  2**31, -2.0**31 - 1, 2**32, 1e10, 1e19, -1e19, np.inf, -np.inf, np.nan])
    check("Cast", [x], 13, {"to": NUMBERS[np.dtype(dtype)]})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [
    np.int8, np.uint8, np.int32, np.uint32, np.uint64, F32, np.float16, np.float64, bool])
def test_integers_wrap(dtype):
    x = np.array([0, 1, -1, 127, 200, -200, 2**31, 2**40 + 5, -2**63])
    check("Cast", [x], 13, {"to": NUMBERS[np.dtype(dtype)]}, expected=[x.astype(dtype)])


def test_the_first_opset_names_the_type():
    x = np.array([1.5, -2.5], F32)
    check("Cast", [x], 1, {"to": "INT32"}, expected=[x.astype(np.int32)])
    check("Cast", [x], 1, {"to": "DOUBLE"}, expected=[x.astype(np.float64)])


def test_numbers_from_strings():
    x = np.array(["1", "-1.5", "1e3", "inf", "-INF", "NaN", "+inf", "100.5", "1E-5", "1e400"])
    expected = [1, -1.5, 1000, np.inf, -np.inf, np.nan, np.inf, 100.5, 1e-5, np.inf]
    check("Cast", [x], 13, {"to": 1}, expected=[np.array(expected, F32)])
    x = np.array(["1", "-2", "9223372036854775807", "100.5"])
    check("Cast", [x], 13, {"to": 7}, expected=[np.array([1, -2, 2**63 - 1, 100])])


@pytest.mark.parametrize("text", ["hello", "", "1x", "--1"])
def test_other_strings_are_an_error(text):
    with pytest.raises(hone_ctypes.HoneError, match="is not a number"):
        cast(np.array([text]), 1)


def test_strings_from_numbers():
    x = np.array([1, 1.5, 1e20, 1e-7, 3.14159274, np.inf, -np.inf, np.nan, 0.1, 100000, 1e-4])
    text = ["1.0", "1.5", "1e+20", "1e-07", "3.1415927", "inf", "-inf", "nan", "0.1", "100000.0",
            "0.0001"]
    assert cast(x.astype(F32), STRING).tolist() == text
    assert cast(x, STRING).tolist() == [str(v) for v in x.tolist()]
    assert cast(np.array([-5, 2**62]), STRING).tolist() == ["-5", str(2**62)]
    assert cast(np.array([2**64 - 1], np.uint64), STRING).tolist() == [str(2**64 - 1)]
    assert cast(np.array([True, False]), STRING).tolist() == ["True", "False"]


def same(actual, expected):
    actual, expected = actual.astype(F32), expected.astype(F32)
    np.testing.assert_array_equal(actual, expected)


WIDE = np.concatenate([np.linspace(-500, 500, 777, dtype=F32), np.logspace(-12, 6, 300, dtype=F32),
                       np.array([np.nan, np.inf, -np.inf], F32)])
FLOAT8 = [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2,
          ml_dtypes.float8_e5m2fnuz]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", FLOAT8)
def test_float8(dtype):
    number, expected = NUMBERS[np.dtype(dtype)], WIDE.astype(dtype)
    same(cast(WIDE, number, saturate=0), expected)
    saturated = cast(WIDE, number).astype(F32)
    finite = np.isfinite(expected.astype(F32))
    same(saturated[finite], expected[finite])
    largest = float(ml_dtypes.finfo(dtype).max)
    assert np.isnan(saturated[-3]) and saturated[-2:].tolist() == [largest, -largest]
    assert (np.abs(saturated[:-3][~finite[:-3]]) == largest).all()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("saturate", [0, 1])
@pytest.mark.parametrize("dtype", [ml_dtypes.float6_e2m3fn, ml_dtypes.float6_e3m2fn,
                                   ml_dtypes.float4_e2m1fn])
def test_floats_without_infinity(dtype, saturate):
    fine = np.concatenate([WIDE, np.linspace(-32, 32, 1025, dtype=F32), -WIDE])
    got = cast(fine, NUMBERS[np.dtype(dtype)], opset=28, saturate=saturate)
    np.testing.assert_array_equal(got.view(np.uint8), fine.astype(dtype).view(np.uint8))
    same(cast(got, 1, opset=28), got)
    integers = np.arange(-40, 40)
    same(cast(integers, NUMBERS[np.dtype(dtype)], opset=28), integers.astype(dtype))


def test_float6_from_and_to_strings():
    x = np.array(["1.5", "-0.5", "100", "nan"])
    assert cast(cast(x, 27, 28), STRING, 28).tolist() == ["1.5", "-0.5", "7.5", "-0.0"]
    assert cast(cast(x, 28, 28), STRING, 28).tolist() == ["1.5", "-0.5", "28.0", "-0.0"]


@pytest.mark.parametrize("mode,saturate,expected", [
    ("up", 1, [2.0**-127, 1, 2, 2, 4, 2.0**127, np.nan]),
    ("down", 1, [2.0**-127, 1, 1, 1, 2, 2.0**127, np.nan]),
    ("nearest", 1, [2.0**-127, 1, 1, 2, 4, 2.0**127, np.nan]),
    ("nearest", 0, [np.nan, 1, 1, 2, 4, np.nan, np.nan])])
def test_float8_of_exponents_only(mode, saturate, expected):
    x = np.array([0, 1, 1.4, 1.5, 3, np.inf, np.nan], F32)
    same(cast(x, 24, round_mode=mode, saturate=saturate), np.array(expected))


def test_cast_like_and_bit_cast():
    x = np.array([1.5, -2.5], F32)
    check("CastLike", [x, np.array(["a"])], 19, expected=[np.array(["1.5", "-2.5"])])
    check("CastLike", [x, np.zeros((2, 3), np.int16)], 15, expected=[x.astype(np.int16)])
    check("BitCast", [x], 26, {"to": 6}, expected=[x.view(np.int32)])
