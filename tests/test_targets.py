"""hone compile --target: engines for other instruction sets give what `ref` gives.

x86-64-v3 and -v4 run here where the machine has them. For aarch64 the command itself is built
too, with cmake/aarch64.cmake, and runs the engines under qemu-aarch64. What keeps a test from
running is printed as the reason of its skip; HONE_NO_CROSS=1 leaves the cross build out.
"""

import json
import os
import pathlib
import shutil
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parent.parent
HONE = os.path.join(os.environ.get("HONE_BUILD_DIR", ROOT / "build" / "release"), "hone")
CROSS = ROOT / "build" / "aarch64"
EMULATOR = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]
CROSS_TOOLS = {"qemu-aarch64": "qemu-user", "aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu",
               "apt-get": "apt", "dpkg-deb": "dpkg", "cmake": "cmake", "ninja": "ninja-build"}
random = np.random.default_rng(4)


def call(*command, **settings):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          timeout=1500, check=False, **settings)


def good(*command):
    done = call(*command)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Builder:
    def __init__(self):
        self.nodes, self.weights = [], []

    def weight(self, *shape):
        values = random.standard_normal(shape, np.float32) / np.float32(np.sqrt(np.prod(shape[1:])))
        return self.constant(values)

    def constant(self, values):
        self.weights.append(numpy_helper.from_array(np.asarray(values), f"w{len(self.weights)}"))
        return self.weights[-1].name

    def node(self, op, *inputs, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [f"v{len(self.nodes)}"], **attributes))
        return self.nodes[-1].output[0]

    def save(self, path, inputs, output, rank):
        declared = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(np.dtype(t)), s)
                    for n, t, s in inputs]
        out = helper.make_tensor_value_info(output, TensorProto.FLOAT, [None] * rank)
        graph = helper.make_graph(self.nodes, "net", declared, [out], self.weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                                    ir_version=8), path)


def conv_net(path):
    """Convolutions (one by groups), normalization, pooling, a dense layer; any batch."""
    b = Builder()
    value = b.node("Conv", "x", b.weight(24, 3, 3, 3), b.weight(24), pads=[1] * 4, strides=[2, 2])
    scale = [b.constant(random.uniform(0.5, 1.5, 24).astype(np.float32)) for _ in range(4)]
    value = b.node("Relu", b.node("BatchNormalization", value, *scale))
    value = b.node("Sigmoid", b.node("Conv", value, b.weight(24, 1, 3, 3), pads=[1] * 4, group=24))
    value = b.node("MaxPool", value, kernel_shape=[2, 2], strides=[2, 2])
    value = b.node("Relu", b.node("Conv", value, b.weight(40, 24, 1, 1), b.weight(40)))
    value = b.node("Flatten", b.node("GlobalAveragePool", value))
    value = b.node("Softmax", b.node("Gemm", value, b.weight(10, 40), b.weight(10), transB=1))
    b.save(path, [("x", np.float32, ["batch", 3, 32, 32])], value, 2)
    return lambda batch, length=None: {"x": random.standard_normal((batch, 3, 32, 32), np.float32)}


def transformer(path, width=48, heads=4):
    """One layer of an encoder over words; any batch and length."""
    b = Builder()

    def dense(value, inner, outer):
        return b.node("Add", b.node("MatMul", value, b.weight(inner, outer)), b.weight(outer))

    def split(value, order):
        shape = b.constant(np.int64([0, 0, heads, width // heads]))
        return b.node("Transpose", b.node("Reshape", value, shape), perm=order)

    def norm(value):
        return b.node("LayerNormalization", value, b.weight(width), b.weight(width), axis=-1)

    value = norm(b.node("Gather", b.weight(100, width), "words"))
    query, key = split(dense(value, width, width), [0, 2, 1, 3]), split(dense(value, width, width), [0, 2, 3, 1])
    scores = b.node("Softmax", b.node("Mul", b.node("MatMul", query, key),
                                      b.constant(np.float32(0.3))), axis=-1)
    mixed = b.node("MatMul", scores, split(dense(value, width, width), [0, 2, 1, 3]))
    mixed = b.node("Reshape", b.node("Transpose", mixed, perm=[0, 2, 1, 3]),
                   b.constant(np.int64([0, 0, width])))
    value = norm(b.node("Add", value, dense(mixed, width, width)))
    inner = dense(value, width, 2 * width)
    erf = b.node("Erf", b.node("Mul", inner, b.constant(np.float32(0.70710678))))
    inner = b.node("Mul", b.node("Mul", inner, b.node("Add", erf, b.constant(np.float32(1)))),
                   b.constant(np.float32(0.5)))
    b.save(path, [("words", np.int64, ["batch", "length"])],
           norm(b.node("Add", value, dense(inner, 2 * width, width))), 3)
    return lambda batch, length: {"words": random.integers(0, 100, (batch, length))}


def quantized(path):
    """A dense layer whose operands are quantized to bytes; any batch, in rows of eight."""
    b = Builder()

    def round_to_bytes(value, scale, zero):
        numbers = b.constant(np.float32(scale)), b.constant(zero)
        rounded = value if value != "x" else b.node("QuantizeLinear", value, *numbers)
        return b.node("DequantizeLinear", rounded, *numbers)

    weights = b.constant(random.integers(-127, 128, (64, 48)).astype(np.int8))
    value = b.node("MatMul", round_to_bytes("x", 0.05, np.uint8(128)),
                   round_to_bytes(weights, 0.01, np.int8(0)))
    b.save(path, [("x", np.float32, ["batch", 8, 64])], b.node("Relu", value), 3)
    return lambda batch, length=None: {"x": random.standard_normal((batch, 8, 64), np.float32)}


NETS = {"conv_net": conv_net, "transformer": transformer, "quantized": quantized}
SIZES = [(1, 1), (2, 7), (3, 33)]


@pytest.fixture(scope="module", params=NETS)
def net(request, tmp_path_factory):
    """A model, inputs of several sizes, and what `ref` makes of them."""
    folder = tmp_path_factory.mktemp(request.param)
    make = NETS[request.param](folder / "net.onnx")
    for i, (batch, length) in enumerate(SIZES):
        np.savez(folder / f"{i}.npz", **make(batch, length))
        good(HONE, "run", folder / "net.onnx", folder / f"{i}.npz", "-o", folder / f"want{i}.npz")
    return folder


def check_runs(net, engine, *runner, rtol=1e-4, atol=1e-5):
    for i in range(len(SIZES)):
        good(*runner, "run", engine, net / f"{i}.npz", "-o", net / f"got{i}.npz")
        with np.load(net / f"want{i}.npz") as want, np.load(net / f"got{i}.npz") as got:
            for name in want.files:
                np.testing.assert_allclose(got[name], want[name], rtol=rtol, atol=atol)


def compile_for(net, target, *options):
    engine = net / f"{target}.hone"
    report = json.loads(good(HONE, "compile", net / "net.onnx", "--target", target, "-o", engine,
                             "--json", *options))
    assert report["target"] == target and report["kernels"] > 0 and not report["interpreted"]
    return engine


def runs_here(target):
    """Whether `hone compile` says that the target does not run on this machine."""
    build = CROSS.parent / "targets_probe"
    build.mkdir(parents=True, exist_ok=True)
    path = build / "probe.onnx"
    b = Builder()
    b.save(path, [("x", np.float32, [4])], b.node("Exp", "x"), 1)
    return "does not run on this machine" not in good(HONE, "compile", path, "--target", target)


@pytest.mark.parametrize("target", ["x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4",
                                    "x86-64-v4+vnni", "x86-64-v4+vnni+vbmi+bf16"])
def test_instruction_sets_of_x86(net, target):
    if os.uname().machine != "x86_64":
        pytest.skip("this machine is no x86-64, and nothing here emulates one")
    if not runs_here(target):
        pytest.skip(f"this machine is no {target}, and qemu-user 7.2 has no AVX-512")
    check_runs(net, compile_for(net, target), HONE)


@pytest.fixture(scope="module")
def cross_hone():
    """The command built for aarch64, behind its emulator."""
    if os.environ.get("HONE_NO_CROSS"):
        pytest.skip("HONE_NO_CROSS is set: nothing is built for aarch64")
    missing = [package for tool, package in CROSS_TOOLS.items() if not shutil.which(tool)]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    done = call(ROOT / "scripts" / "sysroot_aarch64", CROSS / "sysroot")
    if done.returncode:
        pytest.skip(f"Debian's arm64 libraries cannot be fetched: {done.stderr.strip()[-300:]}")
    launcher = ["-DCMAKE_C_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    good("cmake", "-S", ROOT, "-B", CROSS, "-G", "Ninja", *launcher,
         f"-DCMAKE_TOOLCHAIN_FILE={ROOT}/cmake/aarch64.cmake", f"-DHONE_SYSROOT={CROSS}/sysroot")
    good("ninja", "-C", CROSS, "hone_command")
    return [*EMULATOR, CROSS / "hone"]


@pytest.mark.parametrize("target", ["aarch64", "aarch64-dotprod", "aarch64-dotprod+i8mm"])
def test_neon(net, cross_hone, target):
    check_runs(net, compile_for(net, target), *cross_hone)


def test_bf16_of_neon(net, cross_hone):
    """Products by instructions that take pairs of bf16, and two rows of them."""
    engine = compile_for(net, "aarch64-dotprod+bf16", "--precision", "bf16")
    listing = good(HONE, "compile", net / "net.onnx", "--target", "aarch64-dotprod+bf16",
                   "--precision", "bf16", "--dump", "kernels")
    assert "quantized" in str(net) or "as block2_bf16_bf16_x4" in listing
    check_runs(net, engine, *cross_hone, rtol=2e-2, atol=2e-2)


def test_matrix_instructions_of_neon(net):
    """Bytes go to them."""
    listing = good(HONE, "compile", net / "net.onnx", "--target", "aarch64-dotprod+i8mm", "--dump",
                   "kernels")
    assert ("as block4_u8_i8_x4" in listing) == ("quantized" in str(net))


def test_an_engine_for_another_machine_is_refused(net):
    if not shutil.which("aarch64-linux-gnu-gcc") or os.uname().machine != "x86_64":
        pytest.skip("not installed: gcc-aarch64-linux-gnu")
    engine = compile_for(net, "aarch64")
    done = call(HONE, "run", engine, net / "0.npz")
    assert done.returncode == 1
    # Names what it was built for and what this is.
    assert "aarch64" in done.stderr and "x86-64" in done.stderr, done.stderr
