"""XLA by way of JAX, for the operators below; there is no importer of ONNX that works with this JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import peer
from jax import lax
from onnx import numpy_helper

PACKAGES = ["jax", "jaxlib"]


def pairs(pads, rank):
    pads = pads or [0] * 2 * rank
    return list(zip(pads[:rank], pads[rank:]))


def conv(x, w, bias=None, *, strides=None, pads=None, dilations=None, group=1, auto_pad=b"NOTSET", **_):
    if auto_pad != b"NOTSET":
        raise peer.Cannot("knows Conv with explicit pads only")
    rank = w.ndim - 2
    y = lax.conv_general_dilated(x, w, strides or [1] * rank, pairs(pads, rank),
                                 rhs_dilation=dilations, feature_group_count=group)
    return y if bias is None else y + bias.reshape(-1, *[1] * rank)


def max_pool(x, *, kernel_shape, strides=None, pads=None, ceil_mode=0, dilations=None, **_):
    rank = len(kernel_shape)
    if ceil_mode or any(d != 1 for d in dilations or []):
        raise peer.Cannot("knows MaxPool without ceil_mode and dilations only")
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, *kernel_shape),
                             (1, 1, *(strides or [1] * rank)), [(0, 0), (0, 0), *pairs(pads, rank)])


def batch_norm(x, scale, bias, mean, variance, *, epsilon=1e-5, **_):
    shape = (-1, *[1] * (x.ndim - 2))
    factor = scale / jnp.sqrt(variance + epsilon)
    return x * factor.reshape(shape) + (bias - mean * factor).reshape(shape)


def layer_norm(x, scale, bias=None, *, axis=-1, epsilon=1e-5, **_):
    axes = tuple(range(axis % x.ndim, x.ndim))
    centred = x - x.mean(axes, keepdims=True)
    y = centred * lax.rsqrt((centred * centred).mean(axes, keepdims=True) + epsilon) * scale
    return y if bias is None else y + bias


def gemm(a, b, c=None, *, alpha=1.0, beta=1.0, transA=0, transB=0):
    y = alpha * ((a.T if transA else a) @ (b.T if transB else b))
    return y if c is None else y + beta * c


def flatten(x, *, axis=1):
    return x.reshape(int(np.prod(x.shape[:axis])), -1)


def reshape(x, shape, *, allowzero=0):
    return x.reshape([x.shape[i] if n == 0 and not allowzero else int(n) for i, n in enumerate(shape)])


OPERATORS = {
    "Conv": conv, "MaxPool": max_pool, "BatchNormalization": batch_norm, "Gemm": gemm,
    "LayerNormalization": layer_norm, "Flatten": flatten, "Reshape": reshape,
    "GlobalAveragePool": lambda x: x.mean(tuple(range(2, x.ndim)), keepdims=True),
    "Relu": lambda x: jnp.maximum(x, 0), "Clip": lambda x, low=None, high=None: jnp.clip(x, low, high),
    "Add": jnp.add, "Sub": jnp.subtract, "Mul": jnp.multiply, "Div": jnp.divide, "MatMul": jnp.matmul,
    "Erf": jax.scipy.special.erf, "Tanh": jnp.tanh, "Sigmoid": jax.nn.sigmoid,
    "Softmax": lambda x, axis=-1: jax.nn.softmax(x, axis),
    "Transpose": lambda x, perm=None: jnp.transpose(x, perm),
    "Gather": lambda x, indices, axis=0: jnp.take(x, indices, axis),
    "Unsqueeze": lambda x, axes: jnp.expand_dims(x, tuple(int(axis) for axis in axes)),
    "Cast": lambda x, to: x.astype(onnx.helper.tensor_dtype_to_np_dtype(to)),
}


def program(graph, weights):
    """A function of the inputs, which XLA traces; weights are constants of it."""

    def run(*inputs):
        values = {**weights, **dict(zip([v.name for v in graph.input if v.name not in weights], inputs))}
        for node in graph.node:
            attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
            arguments = [values[name] if name else None for name in node.input]
            values[node.output[0]] = OPERATORS[node.op_type](*arguments, **attributes)
        return [values[value.name] for value in graph.output]

    return run


class Runner:
    def __init__(self, compiled, feeds):
        self.compiled, self.feeds, self.values = compiled, feeds, None

    def run(self):
        self.values = self.compiled(*self.feeds)
        for value in self.values:
            value.block_until_ready()

    def outputs(self):
        return [np.asarray(value) for value in self.values]


def load(task):
    task.need("fp32")
    task.pin()  # it has a thread for each CPU that it may use
    jax.config.update("jax_enable_x64", True)
    graph = task.fixed().graph
    unknown = sorted({node.op_type for node in graph.node} - set(OPERATORS))
    if unknown:
        raise peer.Cannot(f"peers/xla.py has no {', '.join(unknown)}")
    weights = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    feeds = [jax.device_put(value) for value in task.ordered()]
    with task.preparing():
        compiled = jax.jit(program(graph, weights)).lower(*feeds).compile()
    return Runner(compiled, feeds)
