"""Normalisations, at every opset, training included."""

import numpy as np
import pytest
from one_node import check

F32 = np.float32
RNG = np.random.default_rng(3)


def normal(*shape, dtype=F32):
    return RNG.standard_normal(shape).astype(dtype)


def positive(*shape):
    return np.abs(normal(*shape)) + F32(0.1)


def batch_norm(x, mean, variance, scale, bias, epsilon=1e-5):
    shape = (1, -1) + (1,) * (x.ndim - 2)
    mean, variance, scale, bias = (v.reshape(shape) for v in (mean, variance, scale, bias))
    return ((x - mean) / np.sqrt(variance + epsilon) * scale + bias).astype(F32)


SHAPES = [(2, 3), (2, 3, 4), (2, 3, 4, 5), (1, 3, 2, 2, 2)]


@pytest.mark.parametrize("shape", SHAPES)
def test_batch_normalization(shape):
    x, scale, bias, mean, variance = normal(*shape), normal(3), normal(3), normal(3), positive(3)
    expected = [batch_norm(x, mean, variance, scale, bias)]
    for opset in (1, 6, 7, 9, 14, 15):
        attrs = {"is_test": 1} if opset < 7 else {}
        check("BatchNormalization", [x, scale, bias, mean, variance], opset, attrs,
              expected=expected)


@pytest.mark.parametrize("shape", SHAPES)
def test_batch_normalization_trains(shape):
    x, scale, bias, mean, variance = normal(*shape), normal(3), normal(3), normal(3), positive(3)
    axes = tuple(i for i in range(len(shape)) if i != 1)
    now_mean, now_variance = x.mean(axes), x.var(axes)
    y = batch_norm(x, now_mean, now_variance, scale, bias, 1e-3)
    running = [mean * F32(0.8) + now_mean * F32(0.2), variance * F32(0.8) + now_variance * F32(0.2)]
    inputs, attrs = [x, scale, bias, mean, variance], {"momentum": 0.8, "epsilon": 1e-3}
    for opset in (14, 15):
        check("BatchNormalization", inputs, opset, attrs | {"training_mode": 1}, n_outputs=3,
              expected=[y, *running], rtol=1e-4, atol=1e-5)
    for opset in (1, 6, 7, 9):
        check("BatchNormalization", inputs, opset, attrs, n_outputs=5,
              expected=[y, *running, now_mean, now_variance], rtol=1e-4, atol=1e-5)


def test_batch_normalization_by_element():
    x, mean, variance, scale, bias = normal(2, 3, 4), normal(3, 4), positive(3, 4), normal(3, 4), \
        normal(3, 4)
    expected = ((x - mean) / np.sqrt(variance + F32(1e-5)) * scale + bias).astype(F32)
    check("BatchNormalization", [x, scale, bias, mean, variance], 7, {"spatial": 0},
          expected=[expected])


def test_batch_normalization_of_one_axis_and_of_halves():
    one = [normal(5), normal(1), normal(1), normal(1), positive(1)]
    check("BatchNormalization", one, 15)
    x, scale, bias, mean, variance = normal(2, 3, 4), normal(3), normal(3), normal(3), positive(3)
    half = x.astype(np.float16)
    expected = batch_norm(half.astype(F32), mean, variance, scale, bias).astype(np.float16)
    check("BatchNormalization", [half, scale, bias, mean, variance], 15, expected=[expected],
          rtol=2e-3)


@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 3, 4, 5)])
def test_instance_normalization(shape):
    for opset in (1, 6, 22):
        check("InstanceNormalization", [normal(*shape), normal(3), normal(3)], opset, atol=1e-5)


@pytest.mark.parametrize("axis", [-1, 0, 1, 2, -2])
def test_layer_and_rms_normalization(axis):
    x = normal(2, 3, 4)
    rest = x.shape[axis % 3:]
    check("LayerNormalization", [x, normal(*rest), normal(*rest)], 17,
          {"axis": axis, "epsilon": 1e-4}, n_outputs=3, atol=1e-5)
    check("LayerNormalization", [x, normal(*rest)], 17, {"axis": axis}, atol=1e-5)
    scale, axes = normal(*rest), tuple(range(axis % 3, 3))
    expected = x / np.sqrt((x * x).mean(axes, keepdims=True) + F32(1e-5)) * scale
    check("RMSNormalization", [x, scale], 23, {"axis": axis}, expected=[expected])


@pytest.mark.parametrize("opset", [18, 21])
def test_group_normalization(opset):
    x = normal(2, 4, 3, 3)
    scale, bias = (normal(2 if opset == 18 else 4) for _ in range(2))
    flat = x.reshape(2, 2, -1)
    flat = (flat - flat.mean(-1, keepdims=True)) / np.sqrt(flat.var(-1, keepdims=True) + F32(1e-5))
    each = [np.repeat(v, 4 // len(v)).reshape(1, 4, 1, 1) for v in (scale, bias)]
    expected = flat.reshape(x.shape) * each[0] + each[1]
    check("GroupNormalization", [x, scale, bias], opset, {"num_groups": 2}, expected=[expected],
          atol=1e-5)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_lp_normalization(axis, p):
    check("LpNormalization", [normal(2, 3, 4)], 1, {"p": p, "axis": axis})
    check("LpNormalization", [np.zeros((2, 3), F32)], 22, {"p": p, "axis": axis % 2},
          expected=[np.zeros((2, 3), F32)])


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 9])
def test_lrn(size):
    x = normal(2, 6, 3, 3)
    padded = np.pad(x * x, ((0, 0), ((size - 1) // 2, size // 2), (0, 0), (0, 0)))
    total = sum(padded[:, i:i + 6] for i in range(size))
    expected = x / (1.5 + 0.3 / size * total) ** 0.6
    check("LRN", [x], 13, {"size": size, "alpha": 0.3, "beta": 0.6, "bias": 1.5},
          expected=[expected.astype(F32)])


@pytest.mark.parametrize("axes", [None, [0, 2, 3], [1], [0, 1, 2, 3], [-1]])
def test_mean_variance_normalization(axes):
    x = normal(2, 6, 3, 3)
    check("MeanVarianceNormalization", [x], 9, {"axes": axes} if axes else {}, rtol=1e-4, atol=1e-5)
