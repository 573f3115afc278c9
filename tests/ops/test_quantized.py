"""Quantization, and convolutions and products of quantized numbers, against ONNX Runtime."""

import ml_dtypes
import numpy as np
import pytest

import hone_ctypes
from one_node import check

rng = np.random.default_rng(6)
BYTES = [np.uint8, np.int8]


def some(dtype, *shape):
    if dtype in (ml_dtypes.int4, ml_dtypes.uint4):
        return rng.integers(-8 if dtype == ml_dtypes.int4 else 0, 8, shape).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max + 1, shape).astype(dtype)


def weights(dtype, *shape):
    """Of 7 bits where signed: with more, ONNX Runtime's sums of u8 times i8 saturate at 16 bits on
    CPUs without VNNI."""
    return some(dtype, *shape) // 2 if dtype == np.int8 else some(dtype, *shape)


def f32(*shape):
    return rng.normal(size=shape).astype(np.float32)


def scale(*shape):
    return (rng.random(shape) + 0.01).astype(np.float32)


@pytest.mark.parametrize("dtype", BYTES)
@pytest.mark.parametrize("constants", [(), (1, 2)])
def test_quantize_whole(dtype, constants):
    x = np.concatenate([f32(50) * 100, [0.5, 1.5, 2.5, -0.5, 1e9, -1e9]]).astype(np.float32)
    check("QuantizeLinear", [x, np.float32(1), some(dtype)], 10, constants=constants)
    check("QuantizeLinear", [x, np.float32(0.3), some(dtype)], 13, constants=constants)
    check("QuantizeLinear", [x, np.float32(0.3)], 13)


@pytest.mark.parametrize("dtype", BYTES)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_quantize_along_an_axis(dtype, axis):
    shape = (3, 4, 5)
    n = shape[axis]
    check("QuantizeLinear", [f32(*shape) * 50, scale(n), some(dtype, n)], 13, {"axis": axis})
    check("DequantizeLinear", [some(dtype, *shape), scale(n), some(dtype, n)], 13, {"axis": axis})


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int32])
def test_dequantize_whole(dtype):
    zero = None if dtype == np.int32 else some(dtype)
    check("DequantizeLinear", [some(dtype, 4, 6), np.float32(0.7), zero], 10)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint16, ml_dtypes.int4, ml_dtypes.uint4])
@pytest.mark.parametrize("axis, block, parts", [(0, 2, 3), (1, 3, 2), (-1, 2, 4)])
def test_blocks(dtype, axis, block, parts):
    x = f32(5, 6, 8) * 10
    shape = list(x.shape)
    shape[axis] = parts
    attrs = {"axis": axis, "block_size": block}
    s, z = scale(*shape), some(dtype, *shape)
    check("QuantizeLinear", [x, s, z], 21, attrs)
    check("DequantizeLinear", [some(dtype, *x.shape), s, z], 21, attrs)


@pytest.mark.parametrize("saturate", [0, 1])
@pytest.mark.parametrize("dtype", [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
def test_quantize_to_f8(dtype, saturate):
    x = np.array([0, -0.0, 1, -3.3, 447, 449, 1e6, -1e6, np.inf, np.nan, 57344, 61441], np.float32)
    check("QuantizeLinear", [x, np.float32(1), dtype(0)], 19, {"saturate": saturate})


@pytest.mark.parametrize("dtype", [ml_dtypes.float6_e2m3fn, ml_dtypes.float6_e3m2fn,
                                   ml_dtypes.float4_e2m1fn])
def test_quantize_to_floats_without_infinity(dtype):
    x, s, zero = f32(4, 6) * 4, scale(6), np.arange(-3, 3).astype(dtype)
    want = (x / s + zero.astype(np.float32)).astype(dtype)
    check("QuantizeLinear", [x, s, zero], 28, expected=[want])
    check("QuantizeLinear", [x, s], 28, {"output_dtype": hone_ctypes.NUMBERS[want.dtype]},
          expected=[(x / s).astype(dtype)])
    wide = (want.astype(np.float32) - zero.astype(np.float32)) * s
    check("DequantizeLinear", [want, s, zero], 28, expected=[wide])


def test_dynamic():
    for x in (f32(4, 5), np.abs(f32(6)), -np.abs(f32(6)), np.zeros(3, np.float32)):
        check("DynamicQuantizeLinear", [x], 11, n_outputs=3)


PRODUCTS = [((4, 5), (5, 3)), ((2, 4, 5), (5, 3)), ((2, 4, 5), (2, 5, 3)), ((2, 1, 4, 5), (3, 5, 2))]


@pytest.mark.parametrize("a, b", PRODUCTS)
@pytest.mark.parametrize("b_type", BYTES)
def test_matmul_integer(a, b, b_type):
    x, y = some(np.uint8, *a), weights(b_type, *b)
    check("MatMulInteger", [x, y], 10)
    check("MatMulInteger", [x, y, some(np.uint8), some(b_type)], 10)


def test_matmul_integer_with_lists_of_zero_points():
    x, y = some(np.uint8, 4, 5), some(np.int8, 5, 3)
    row, column = some(np.uint8, 4), some(np.int8, 3)
    want = (x.astype(np.int32) - row[:, None]) @ (y.astype(np.int32) - column)
    check("MatMulInteger", [x, y, row, column], 10, expected=[want.astype(np.int32)])


@pytest.mark.parametrize("a, b", PRODUCTS)
@pytest.mark.parametrize("dtype", BYTES)
def test_qlinear_matmul(a, b, dtype):
    check("QLinearMatMul",
          [some(dtype, *a), np.float32(0.02), some(dtype), some(dtype, *b), np.float32(0.03),
           some(dtype), np.float32(0.25), some(dtype)], 10)


CONVS = [
    ((1, 2, 6, 6), (3, 2, 3, 3), {"pads": [1, 1, 1, 1]}),
    ((2, 4, 5, 6), (4, 2, 2, 3), {"group": 2, "strides": [2, 1]}),
    ((2, 4, 5, 6), (4, 1, 3, 3), {"group": 4, "auto_pad": "SAME_UPPER"}),
]


@pytest.mark.parametrize("x, w, attrs", CONVS)
def test_conv_integer(x, w, attrs):
    check("ConvInteger", [some(np.uint8, *x), some(np.uint8, *w), some(np.uint8), some(np.uint8)],
          10, attrs)


@pytest.mark.parametrize("x, w, attrs", CONVS)
@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("w_type", BYTES)
def test_qlinear_conv(x, w, attrs, each, w_type):
    w_scale = scale(w[0]) * 0.1 if each else np.float32(0.04)
    w_zero = np.zeros(w[0] if each else (), w_type)
    bias = rng.integers(-500, 500, w[0]).astype(np.int32)
    check("QLinearConv",
          [some(np.uint8, *x), np.float32(0.03), some(np.uint8), weights(w_type, *w), w_scale, w_zero,
           np.float32(0.5), some(np.uint8), bias], 10, attrs)
