"""Convolutions and pools against ONNX Runtime."""

import numpy as np
import pytest

from one_node import check

rng = np.random.default_rng(5)


def f32(*shape):
    return rng.normal(size=shape).astype(np.float32)


CONVS = [
    ((2, 3, 9), (4, 3, 3), {}),
    ((2, 3, 9), (4, 3, 3), {"strides": [2], "pads": [1, 2], "dilations": [2]}),
    ((1, 4, 7, 8), (6, 2, 3, 2), {"group": 2, "strides": [2, 1], "pads": [1, 0, 2, 1]}),
    ((2, 6, 5, 6), (6, 1, 3, 3), {"group": 6, "auto_pad": "SAME_UPPER", "strides": [2, 2]}),
    ((2, 6, 5, 6), (12, 1, 2, 3), {"group": 6, "auto_pad": "SAME_LOWER"}),
    ((1, 2, 5, 6), (3, 2, 2, 3), {"auto_pad": "VALID", "strides": [3, 2], "kernel_shape": [2, 3]}),
    ((1, 2, 4, 5, 6), (3, 2, 2, 3, 1), {"pads": [1, 1, 0, 0, 1, 2], "strides": [1, 2, 2]}),
    ((0, 2, 5, 6), (3, 2, 2, 3), {}),
    # Elements of windows that only meet padding.
    ((1, 2, 1, 5, 6), (3, 2, 3, 3, 3), {"pads": [1] * 6}),
    ((2, 4, 2, 1, 9), (6, 2, 5, 3, 2), {"pads": [2, 1, 0, 1, 2, 1], "strides": [3, 2, 2], "group": 2}),
    ((1, 3, 2, 3), (4, 3, 5, 7), {"pads": [2, 6, 2, 3], "dilations": [1, 2], "strides": [2, 1]}),
    ((1, 3, 1, 1), (4, 3, 3, 3), {"pads": [1, 2, 1, 0]}),
    ((1, 4, 6, 6), (4, 4, 1, 1), {"strides": [2, 2]}),
]


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("x, w, attrs", CONVS)
def test_conv(x, w, attrs, bias):
    check("Conv", [f32(*x), f32(*w), f32(w[0]) if bias else None], 11, attrs)


TRANSPOSED = [
    ((2, 3, 5), (3, 4, 3), {}),
    ((2, 3, 5), (3, 4, 3), {"strides": [3], "pads": [1, 2], "output_padding": [2]}),
    ((1, 4, 3, 5), (4, 3, 3, 2), {"group": 2, "strides": [2, 3], "pads": [0, 1, 1, 0]}),
    ((1, 4, 3, 5), (4, 1, 2, 2), {"group": 4, "dilations": [2, 3], "strides": [2, 1]}),
    ((1, 2, 3, 3), (2, 2, 3, 3), {"strides": [3, 2], "output_shape": [10, 8]}),
    ((1, 2, 3, 3), (2, 2, 3, 3), {"strides": [2, 2], "output_shape": [5, 6]}),
    ((1, 2, 3, 3), (2, 2, 4, 4), {"strides": [2, 2], "auto_pad": "SAME_UPPER"}),
    ((1, 2, 3, 3), (2, 2, 3, 3), {"strides": [2, 2], "auto_pad": "SAME_LOWER"}),
    ((1, 2, 3, 3), (2, 2, 3, 3), {"strides": [2, 2], "auto_pad": "VALID"}),
    ((1, 2, 3, 3), (2, 2, 2, 2), {"pads": [1, 1, 1, 1]}),
    ((1, 2, 6, 6), (2, 1, 1, 1), {"pads": [2, 1, 1, 2], "strides": [2, 1]}),
    ((1, 2, 2, 3, 4), (2, 3, 2, 1, 3), {"strides": [2, 1, 2]}),
    # Channels enough for a vector: each phase is a convolution of its own.
    ((2, 3, 4, 5), (3, 16, 3, 3), {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]}),
    ((1, 3, 4, 4), (3, 16, 4, 4), {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
    ((1, 3, 4, 4), (3, 16, 3, 4), {"strides": [3, 2], "pads": [0, 0, 0, 2], "dilations": [2, 1]}),
    ((1, 2, 5), (2, 20, 5), {"strides": [3], "pads": [1, 1], "output_padding": [2]}),
    ((1, 3, 4, 5), (3, 16, 3, 3), {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
    ((1, 3, 4, 5), (3, 16, 3, 5), {"strides": [2, 3], "pads": [0, 1, 1, 0]}),
    ((1, 2, 2, 3, 2), (2, 16, 3, 3, 3), {"strides": [2, 2, 2], "pads": [1, 0, 1, 0, 1, 0]}),
    # Of a single place all is weights.
    ((2, 5, 1, 1), (5, 3, 4, 4), {}),
    ((2, 5, 1, 1), (5, 3, 4, 3), {"strides": [2, 1], "pads": [1, 0, 0, 1], "dilations": [1, 2]}),
    ((1, 5, 1), (5, 3, 2), {"strides": [4], "output_padding": [3]}),
]


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("x, w, attrs", TRANSPOSED)
def test_conv_transpose(x, w, attrs, bias):
    outputs = w[1] * attrs.get("group", 1)
    check("ConvTranspose", [f32(*x), f32(*w), f32(outputs) if bias else None], 11, attrs)


def test_conv_transpose_is_the_gradient():
    """Against the sum that defines it, output paddings beyond the last window included."""
    x, w = f32(1, 1, 4), f32(1, 1, 3)
    want = np.zeros(14, np.float32)
    for i in range(4):
        want[3 * i:3 * i + 3] += x[0, 0, i] * w[0, 0]
    check("ConvTranspose", [x, w], 11, {"strides": [3], "output_padding": [2]},
          expected=[want[None, None]])


POOLS = [
    ((2, 3, 9), {"kernel_shape": [3]}),
    ((2, 3, 9), {"kernel_shape": [3], "strides": [2], "pads": [1, 1]}),
    ((2, 3, 7, 8), {"kernel_shape": [3, 2], "strides": [2, 3], "pads": [1, 0, 2, 1]}),
    ((2, 3, 7, 8), {"kernel_shape": [3, 3], "strides": [2, 2], "auto_pad": "SAME_UPPER"}),
    ((2, 3, 7, 8), {"kernel_shape": [2, 4], "strides": [3, 2], "auto_pad": "SAME_LOWER"}),
    ((2, 3, 7, 8), {"kernel_shape": [2, 4], "strides": [3, 2], "auto_pad": "VALID"}),
    ((1, 2, 4, 5, 6), {"kernel_shape": [2, 3, 2], "pads": [1, 1, 0, 0, 1, 1]}),
    # Large enough to go along one axis after the other.
    ((2, 3, 13, 20), {"kernel_shape": [5, 7], "pads": [2, 3, 2, 3]}),
    ((1, 2, 7, 8, 9), {"kernel_shape": [4, 5, 4], "pads": [1, 2, 0, 2, 1, 3], "strides": [1, 1, 2]}),
]
ROUNDED_UP = [
    ((2, 3, 9), {"kernel_shape": [2], "strides": [2], "ceil_mode": 1}),
    ((2, 3, 7, 8), {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1], "ceil_mode": 1}),
    ((2, 3, 7, 8), {"kernel_shape": [2, 3], "strides": [4, 5], "pads": [0, 1, 1, 2], "ceil_mode": 1}),
    ((1, 1, 4, 4), {"kernel_shape": [1, 1], "strides": [2, 3], "ceil_mode": 1}),
]
DILATED = [
    ((2, 3, 9), {"kernel_shape": [3], "dilations": [2]}),
    ((2, 3, 9, 8), {"kernel_shape": [3, 2], "dilations": [2, 3], "pads": [1, 1, 1, 1],
                    "strides": [1, 2]}),
    ((2, 3, 9, 8), {"kernel_shape": [3, 2], "dilations": [2, 3], "strides": [2, 2], "ceil_mode": 1}),
]


@pytest.mark.parametrize("counted", [0, 1])
@pytest.mark.parametrize("x, attrs", POOLS + ROUNDED_UP)
def test_average_pool(x, attrs, counted):
    check("AveragePool", [f32(*x)], 11, {**attrs, "count_include_pad": counted})


@pytest.mark.parametrize("counted", [0, 1])
@pytest.mark.parametrize("x, attrs", DILATED)
def test_average_pool_dilated(x, attrs, counted):
    check("AveragePool", [f32(*x)], 19, {**attrs, "count_include_pad": counted})


@pytest.mark.parametrize("x, attrs", POOLS)
def test_old_average_pool(x, attrs):
    check("AveragePool", [f32(*x)], 7, attrs)
    check("MaxPool", [f32(*x)], 1, attrs)


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("x, attrs", POOLS + ROUNDED_UP + DILATED)
def test_max_pool(x, attrs, order):
    check("MaxPool", [f32(*x)], 12, {**attrs, "storage_order": order}, n_outputs=2)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_max_pool_of_bytes(dtype):
    x = rng.integers(-120, 120, (1, 2, 6, 7)).astype(dtype)
    check("MaxPool", [x], 12, {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]},
          n_outputs=2)


def test_max_pool_takes_the_first_of_equals():
    check("MaxPool", [np.zeros((1, 2, 5, 5), np.float32)], 12,
          {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}, n_outputs=2)


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("x, attrs", POOLS)
def test_lp_pool(x, attrs, p):
    check("LpPool", [f32(*x)], 11, {**attrs, "p": p})


@pytest.mark.parametrize("op", ["GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"])
@pytest.mark.parametrize("x", [(2, 3, 5), (1, 4, 3, 6), (2, 2, 2, 3, 4)])
def test_global_pool(op, x):
    check(op, [f32(*x)], 2 if op == "GlobalLpPool" else 1)


def test_conv_of_half_floats():
    x, w = f32(1, 3, 6, 6), f32(2, 3, 3, 3)
    want = np.zeros((1, 2, 4, 4))
    x, w = x.astype(np.float16), w.astype(np.float16)
    for i in range(4):
        for j in range(4):
            want[0, :, i, j] = np.einsum("chw,mchw->m", x[0, :, i:i + 3, j:j + 3].astype(float),
                                         w.astype(float))
    check("Conv", [x, w], 11, expected=[want.astype(np.float16)], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("groups, offset_groups, masked", [(1, 1, False), (2, 1, True), (1, 2, True)])
def test_deform_conv(groups, offset_groups, masked):
    x, w = f32(2, 4, 6, 7), f32(4, 4 // groups, 3, 2)
    attrs = {"group": groups, "offset_group": offset_groups, "pads": [1, 0, 1, 1],
             "strides": [2, 1], "dilations": [1, 2]}
    size = ((6 + 2 - 3) // 2 + 1, 7 + 1 - 3 + 1)
    offset = f32(2, offset_groups * 6 * 2, *size)
    mask = f32(2, offset_groups * 6, *size) if masked else None
    check("DeformConv", [x, w, offset, f32(4), mask], 19, attrs, rtol=1e-4, atol=1e-5)
