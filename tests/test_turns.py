"""Launches that take turns (runtime/turns.h): networks whose layers do, on any number of threads,
give what the reference gives, whether they come from the model or from an engine file."""

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T, helper, numpy_helper

from command import hone


class Net:
    """Convolutions one after another, each with a bias and, if asked for, a ReLU."""

    def __init__(self, seed, channels, height, width):
        self.random = np.random.default_rng(seed)
        self.nodes, self.weights, self.last, self.channels = [], [], "x", channels
        self.input = helper.make_tensor_value_info("x", T.FLOAT, [1, channels, height, width])

    def conv(self, channels, kernel=1, stride=1, group=1, relu=True):
        index, inputs = len(self.nodes), self.channels // group
        weight = self.random.standard_normal((channels, inputs, kernel, kernel)) / (inputs**0.5 * kernel)
        bias = self.random.standard_normal(channels)
        for name, array in (("w", weight), ("b", bias)):
            self.weights.append(numpy_helper.from_array(array.astype(np.float32), f"{name}{index}"))
        self.nodes.append(helper.make_node(
            "Conv", [self.last, f"w{index}", f"b{index}"], [f"c{index}"], strides=[stride] * 2,
            pads=[kernel // 2] * 4, kernel_shape=[kernel] * 2, group=group))
        self.last, self.channels = f"c{index}", channels
        if relu:
            self.nodes.append(helper.make_node("Relu", [self.last], [f"r{index}"]))
            self.last = f"r{index}"

    def block(self, wide, channels, kernel, stride):
        """An inverted residual: wider, each channel by itself, narrower, and what came added."""
        first, before = self.last, self.channels
        self.conv(wide)
        self.conv(wide, kernel, stride, group=wide)
        self.conv(channels, relu=False)
        if stride == 1 and channels == before:
            self.nodes.append(helper.make_node("Add", [self.last, first], [f"a{self.last}"]))
            self.last = f"a{self.last}"

    def save(self, path):
        output = helper.make_tensor_value_info(self.last, T.FLOAT, None)
        graph = helper.make_graph(self.nodes, "g", [self.input], [output], self.weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


def make(seed):
    random = np.random.default_rng(1000 + seed)
    height, width = (int(random.choice([20, 28, 42, 56])) for _ in range(2))
    net = Net(seed, int(random.choice([8, 16, 24])), height, width)
    if random.random() < 0.5:
        net.conv(16, 3, int(random.choice([1, 2])))
    for _ in range(2):
        channels = int(random.choice([net.channels, 16, 24]))
        net.block(int(random.choice([32, 48, 64])), channels, int(random.choice([3, 5])),
                  int(random.choice([1, 1, 2])))
    return net


def turns_of(path, threads):
    steps = json.loads(hone("explain", path, "--threads", threads, "--no-run", "--json", code=0).stdout)["steps"]
    return [step["turns"] for step in steps if step["turns"]]


def outputs(path):
    with np.load(path) as file:
        return [file[name] for name in file.files]


def check_on_any_number_of_threads(net, tmp_path, seed):
    model, engine, x = tmp_path / "net.onnx", tmp_path / "net.hone", tmp_path / "x.npz"
    net.save(model)
    shape = [d.dim_value for d in net.input.type.tensor_type.shape.dim]
    np.savez(x, x=np.random.default_rng(seed).standard_normal(shape).astype(np.float32))
    hone("run", model, "--device", "ref", "--input", x, "--output", tmp_path / "ref.npz", code=0)
    wanted = outputs(tmp_path / "ref.npz")
    for threads in (1, 2, 3):
        hone("compile", model, "--threads", threads, "--out", engine, code=0)
        assert turns_of(engine, threads) == turns_of(model, threads)
        hone("run", engine, "--threads", threads, "--input", x, "--output", tmp_path / "y.npz", code=0)
        for got, want in zip(outputs(tmp_path / "y.npz"), wanted, strict=True):
            assert np.abs(got - want).max() <= 1e-4 * np.abs(want).max()


@pytest.mark.parametrize("seed", range(6))
def test_any_number_of_threads_gives_the_same(tmp_path, seed):
    check_on_any_number_of_threads(make(seed), tmp_path, seed)


@pytest.mark.parametrize("kernel, stride", [(3, 1), (5, 2)])
def test_layers_that_no_cache_holds_give_the_same(tmp_path, kernel, stride):
    """Of 7 MB each, of which threads keep some rows in windows."""
    net = Net(kernel, 16, 136, 132)
    net.block(96, 24, kernel, stride)
    check_on_any_number_of_threads(net, tmp_path, kernel)


@pytest.mark.parametrize("threads", [1, 2])
def test_layers_of_a_block_take_turns(tmp_path, threads):
    net = Net(1, 24, 56, 56)
    net.block(144, 24, 3, 1)
    net.save(tmp_path / "net.onnx")
    assert len(turns_of(tmp_path / "net.onnx", threads)) == 3


@pytest.mark.parametrize("threads", [1, 2])
def test_many_weights_are_not_read_once_for_each_strip(tmp_path, threads):
    net = Net(1, 2048, 28, 28)
    net.conv(2048)
    net.conv(2048)
    net.save(tmp_path / "net.onnx")
    assert turns_of(tmp_path / "net.onnx", threads) == []


def test_what_is_needed_whole_ends_turns(tmp_path):
    """A mean over the image needs all of it, and so does nothing after it take turns with it."""
    net = Net(1, 16, 28, 28)
    net.conv(48)
    net.conv(48, 3, group=48)
    net.nodes.append(helper.make_node("GlobalAveragePool", [net.last], ["mean"]))
    net.last = "mean"
    net.save(tmp_path / "net.onnx")
    steps = json.loads(hone("explain", tmp_path / "net.onnx", "--threads", 2, "--no-run", "--json",
                            code=0).stdout)["steps"]
    pools = [step for step in steps if any("GlobalAveragePool" in node for node in step["nodes"])]
    assert pools and all(step["turns"] is None for step in pools if step["kind"] == "kernel")
