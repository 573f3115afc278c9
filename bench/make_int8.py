"""Writes MODEL quantized to int8 as PATH, by ONNX Runtime's quantizer: QDQ, weights per channel.

usage: make_int8.py MODEL PATH

Ranges come from a few made-up inputs (workloads.py); normalizations are first folded into what is
before them, as the quantizer's manual asks.
"""

import pathlib
import sys
import tempfile

import numpy as np
from onnxruntime import quantization
from onnxruntime.quantization import shape_inference

import workloads

SAMPLES = 4


class Samples(quantization.CalibrationDataReader):
    def __init__(self, name):
        feeds = workloads.NETWORKS[name].feeds
        self.left = [feeds(np.random.default_rng(seed), 1) for seed in range(2, 2 + SAMPLES)]

    def get_next(self):
        return self.left.pop() if self.left else None


def quantize(model, path):
    with tempfile.TemporaryDirectory() as folder:
        folded = pathlib.Path(folder) / "folded.onnx"
        shape_inference.quant_pre_process(model, folded, skip_symbolic_shape=True)
        quantization.quantize_static(
            folded, path, Samples(pathlib.Path(model).stem), per_channel=True,
            quant_format=quantization.QuantFormat.QDQ,
            activation_type=quantization.QuantType.QUInt8,
            weight_type=quantization.QuantType.QInt8)


if __name__ == "__main__":
    quantize(*sys.argv[1:])
