"""Fourier transforms and windows against NumPy and ONNX Runtime."""

import numpy as np
import pytest
from onnx import TensorProto

from one_node import check

rng = np.random.default_rng(8)


def parts(z, dtype=np.float32):
    return np.stack((z.real, z.imag), -1).astype(dtype)


def signal(*shape, dtype=np.float32):
    return rng.normal(size=shape).astype(dtype)


def dft(x, want, axis, length=None, **attrs):
    n = None if length is None else np.int64(length)
    how = {"rtol": 1e-4, "atol": 1e-5}
    check("DFT", [x, n, np.int64(axis)], 20, attrs, constants=(1, 2), expected=[want], **how)
    inputs = [x] if n is None else [x, n]
    check("DFT", inputs, 17, {**attrs, "axis": axis}, constants=(1,), expected=[want], **how)


@pytest.mark.parametrize("axis", [0, 1, 2, -2])
@pytest.mark.parametrize("length", [None, 4, 9])
def test_of_complex(axis, length):
    x = signal(5, 6, 7, 2)
    z = x[..., 0] + 1j * x[..., 1].astype(np.complex128)
    at = 2 if axis == -2 else axis
    dft(x, parts(np.fft.fft(z, length, at)), axis, length)
    dft(x, parts(np.fft.ifft(z, length, at)), axis, length, inverse=1)


@pytest.mark.parametrize("length", [None, 5, 6, 12])
def test_of_real(length):
    x = signal(3, 10, 1)
    dft(x, parts(np.fft.fft(x[..., 0], length, 1)), 1, length)
    dft(x, parts(np.fft.rfft(x[..., 0], length, 1)), 1, length, onesided=1)


@pytest.mark.parametrize("length", [None, 8, 9, 14])
def test_inverse_to_real(length):
    x = signal(3, 6, 2)
    z = x[..., 0] + 1j * x[..., 1].astype(np.complex128)
    want = np.fft.irfft(z, length, 1)[..., None].astype(np.float32)
    dft(x, want, 1, length, inverse=1, onesided=1)


def test_length_known_only_when_run():
    x = signal(2, 8, 1)
    want = parts(np.fft.rfft(x[..., 0], 6, 1))
    check("DFT", [x, np.int64(6)], 17, {"onesided": 1}, expected=[want], rtol=1e-4, atol=1e-5)


def test_long_transforms_stay_exact():
    x = signal(1, 4096, 1)
    want = parts(np.fft.rfft(x[..., 0].astype(np.float64), axis=1))
    check("DFT", [x], 17, {"onesided": 1}, expected=[want], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("length", [2048, 1155, 1031, 2 * 521])
def test_long_transforms_of_all_kinds(length):
    x = signal(2, length, 3, 2)
    z = x[..., 0] + 1j * x[..., 1].astype(np.complex128)
    how = {"rtol": 1e-3, "atol": 1e-3}
    check("DFT", [x], 17, {}, expected=[parts(np.fft.fft(z, axis=1))], **how)
    check("DFT", [x], 17, {"inverse": 1}, expected=[parts(np.fft.ifft(z, axis=1))], **how)
    real = np.fft.rfft(x[..., 0].astype(np.float64), axis=1)
    check("DFT", [x[..., :1]], 17, {"onesided": 1}, expected=[parts(real)], **how)
    want = np.fft.irfft(z, length, 1)[..., None].astype(np.float32)
    check("DFT", [x[:, :length // 2 + 1], np.int64(length)], 17, {"onesided": 1, "inverse": 1},
          constants=(1,), expected=[want], **how)


@pytest.mark.parametrize("onesided", [0, 1])
@pytest.mark.parametrize("length, step", [(16, 4), (10, 7), (9, 9)])
def test_stft(onesided, length, step):
    x, window = signal(2, 50, 1), rng.random(length).astype(np.float32)
    frames = np.stack([x[:, i:i + length, 0] * window for i in range(0, 50 - length + 1, step)], 1)
    want = parts((np.fft.rfft if onesided else np.fft.fft)(frames.astype(np.float64)))
    for constants in ((), (1, 3)):
        check("STFT", [x, np.int64(step), window, np.int64(length)], 17, {"onesided": onesided},
              constants=constants, expected=[want], rtol=1e-4, atol=1e-5)


def test_stft_without_window():
    x = signal(1, 20, 2)
    z = x[..., 0] + 1j * x[..., 1].astype(np.complex128)
    want = parts(np.fft.fft(np.stack([z[:, i:i + 8] for i in range(0, 13, 4)], 1)))
    check("STFT", [x, np.int64(4), None, np.int64(8)], 17, {"onesided": 0}, expected=[want],
          rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("op", ["HannWindow", "HammingWindow", "BlackmanWindow"])
@pytest.mark.parametrize("periodic", [0, 1])
@pytest.mark.parametrize("constants", [(), (0,)])
def test_window(op, periodic, constants):
    check(op, [np.int64(13)], 17, {"periodic": periodic}, constants=constants)
    check(op, [np.int32(8)], 17, {"periodic": periodic, "output_datatype": TensorProto.DOUBLE},
          constants=constants, rtol=1e-6)


@pytest.mark.parametrize("bins, length, rate, low, high", [
    (8, 16, 8192, 0, 4096), (20, 400, 16000, 20, 8000), (5, 64, 8000, 100, 3000)])
def test_mel_weights(bins, length, rate, low, high):
    inputs = [np.int64(bins), np.int64(length), np.int64(rate), np.float32(low), np.float32(high)]
    check("MelWeightMatrix", inputs, 17, constants=(0, 1, 2, 3, 4))
    check("MelWeightMatrix", inputs, 17)
