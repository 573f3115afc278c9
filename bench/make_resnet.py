"""Writes a convolution network with random weights as PATH.

usage: make_resnet.py [--model resnet50|mobilenet_v2] PATH

ResNet-50 v1.5 (the stride of a block is in its 3 x 3 convolution), or MobileNetV2; batch
normalization stands as nodes of its own, and "batch" is a symbol.
"""

import argparse

import numpy as np
import onnx
from onnx import TensorProto, helper

import onnx_builder

CLASSES = 1000


class Builder(onnx_builder.Builder):
    """The layers of a convolution network."""

    def constant(self, name, values):
        return super().constant(name, np.asarray(values, np.float32))

    def normal(self, name, scale, *shape):
        return self.constant(name, self.random.standard_normal(shape, np.float32) * scale)

    def conv(self, name, value, inputs, outputs, size, stride=1, groups=1, gain=2.0):
        """Convolution and normalization; numbers keep their size from layer to layer."""
        fan_in = inputs // groups * size * size
        weight = self.normal(name + ".weight", np.float32(np.sqrt(gain / fan_in)), outputs,
                             inputs // groups, size, size)
        value = self.node("Conv", value, weight, kernel_shape=[size, size], strides=[stride] * 2,
                          pads=[size // 2] * 4, group=groups)
        near_one = 1 + 0.1 * self.random.standard_normal((2, outputs)).clip(-3, 3)
        near_zero = 0.1 * self.random.standard_normal((2, outputs))
        parts = [self.constant(f"{name}.{part}", values) for part, values in
                 zip(("scale", "bias", "mean", "var"), (near_one[0], *near_zero, near_one[1]))]
        return self.node("BatchNormalization", value, *parts)

    def model(self, name, value, width):
        value = self.node("Flatten", self.node("GlobalAveragePool", value))
        value = self.node("Gemm", value, self.normal("classes.weight", np.float32(0.02), CLASSES, width),
                          self.constant("classes.bias", np.zeros(CLASSES)), transB=1)
        tensor = helper.make_tensor_value_info
        graph = helper.make_graph(
            self.nodes, name, [tensor("image", TensorProto.FLOAT, ["batch", 3, 224, 224])],
            [tensor(value, TensorProto.FLOAT, ["batch", CLASSES])], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def resnet50():
    b = Builder()
    value = b.node("Relu", b.conv("stem", "image", 3, 64, 7, 2))
    value = b.node("MaxPool", value, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    inputs = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width = 64 << stage
        for block in range(blocks):
            name, stride = f"stage{stage}.{block}", 2 if stage and not block else 1
            inner = b.node("Relu", b.conv(name + ".reduce", value, inputs, width, 1))
            inner = b.node("Relu", b.conv(name + ".middle", inner, width, width, 3, stride))
            inner = b.conv(name + ".expand", inner, width, 4 * width, 1, gain=0.5)
            if not block:
                value = b.conv(name + ".shortcut", value, inputs, 4 * width, 1, stride, gain=1.0)
            value = b.node("Relu", b.node("Add", inner, value))
            inputs = 4 * width
    return b.model("resnet50", value, inputs)


def mobilenet_v2():
    b = Builder()
    b.constant("zero", np.float32(0))
    b.constant("six", np.float32(6))

    def bounded(value):
        return b.node("Clip", value, "zero", "six")

    value, inputs = bounded(b.conv("stem", "image", 3, 32, 3, 2)), 32
    stages = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
              (6, 160, 3, 2), (6, 320, 1, 1))
    for stage, (factor, outputs, blocks, first_stride) in enumerate(stages):
        for block in range(blocks):
            name, stride, width = f"stage{stage}.{block}", 1 if block else first_stride, inputs * factor
            inner = value
            if factor > 1:
                inner = bounded(b.conv(name + ".expand", inner, inputs, width, 1))
            inner = bounded(b.conv(name + ".depth", inner, width, width, 3, stride, width))
            inner = b.conv(name + ".project", inner, width, outputs, 1, gain=1.0)
            value = b.node("Add", value, inner) if block else inner
            inputs = outputs
    return b.model("mobilenet_v2", bounded(b.conv("head", value, inputs, 1280, 1)), 1280)


MODELS = {"resnet50": resnet50, "mobilenet_v2": mobilenet_v2}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=MODELS, default="resnet50")
    parser.add_argument("path")
    arguments = parser.parse_args()
    onnx.save(MODELS[arguments.model](), arguments.path)
