"""The preview training operators: Gradient against differences, optimizers against their formulas."""

import numpy as np
import pytest
from onnx import TensorProto, helper, parser

import hone_ctypes

DOMAIN = "ai.onnx.preview.training"
rng = np.random.default_rng(3)


def shape_text(array):
    return f"[{','.join(map(str, array.shape))}]" if array.ndim else ""


def with_gradient(body, inputs, xs, more=""):
    """A model in double precision: `body` computes y from `inputs` ({name: array})."""
    def declare(name):
        kind = "double" if inputs[name].dtype == np.float64 else "int64"
        return f"{kind}{shape_text(inputs[name])} {name}"
    zs = [name for name in inputs if name not in xs]
    quoted = ", ".join(f'"{x}"' for x in xs)
    attrs = f'xs = [{quoted}], y = "y"'
    if zs:
        attrs += ", zs = [" + ", ".join(f'"{z}"' for z in zs) + "]"
    outs = [f"d{x}" for x in xs]
    types = ", ".join(f"double{shape_text(inputs[x])} d{x}" for x in xs)
    return parser.parse_model(
        f'<ir_version: 10, opset_import: ["": 18, "{DOMAIN}": 1]>\n'
        f"m ({', '.join(declare(n) for n in inputs)}) => (double y, {types}) {more} {{ {body}\n"
        f"{', '.join(outs)} = {DOMAIN}.Gradient <{attrs}> ({', '.join([*xs, *zs])}) }}")


def check(body, xs=("x",), tolerance=1e-6, more="", **inputs):
    """Compares with central differences of the sum of y."""
    inputs = {name: np.asarray(value) for name, value in inputs.items()}
    proto = with_gradient(body, inputs, list(xs), more)
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    results = hone_ctypes.run(proto, inputs)
    for name, got in zip(xs, results[1:]):
        want = np.zeros_like(inputs[name])
        for place in np.ndindex(want.shape):
            for sign in [1, -1]:
                moved = dict(inputs, **{name: inputs[name].copy()})
                moved[name][place] += sign * 1e-5
                want[place] += sign * hone_ctypes.run(proto, moved)[0].sum() / 2e-5
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance, err_msg=f"d{name}")


def away(*shape):
    """Numbers that keep away from where functions have kinks."""
    x = rng.uniform(0.2, 0.9, shape)
    return np.where(rng.random(shape) < 0.5, -x, x) + rng.integers(-1, 2, shape)


POSITIVE = rng.uniform(0.3, 3, (2, 3))
X, W = away(2, 3), away(2, 3)


@pytest.mark.parametrize("op", [
    "Neg", "Abs", "Exp", "Sin", "Cos", "Atan", "Tanh", "Erf", "Relu", "Sigmoid", "Softplus", "Floor",
    "Identity", "Sinh", "LeakyRelu", "Softsign", "Sign"])
def test_one_operand(op):
    check(f"y = {op} (x)", x=X)


@pytest.mark.parametrize("op", ["Log", "Sqrt", "Reciprocal", "Acosh"])
def test_one_positive_operand(op):
    check(f"y = {op} (x)", x=POSITIVE + (1 if op == "Acosh" else 0))


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div", "Max", "Min"])
@pytest.mark.parametrize("shape", [(2, 3), (3,), (2, 1), ()])
def test_two_operands(op, shape):
    check(f"y = {op} (x, w)", ("x", "w"), x=X, w=away(*shape) * 1.01)
    check(f"y = {op} (w, x)", ("x", "w"), x=X, w=away(*shape) * 1.01)


def test_power():
    check("y = Pow (x, w)", ("x", "w"), x=POSITIVE, w=W)
    check("y = Pow (x, k)", x=X, more="<double k = {3}>")


def test_power_zero_of_zero():
    proto = with_gradient("y = Pow (x, k)", {"x": np.zeros(2)}, ["x"], "<double k = {0}>")
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    np.testing.assert_array_equal(hone_ctypes.run(proto, {"x": np.zeros(2)})[1], [0, 0])


def test_remainder():
    check("y = Mod <fmod = 1> (x, w)", ("x", "w"), x=X * 5, w=away(2, 3) + 2)


def test_relu_at_zero():
    proto = with_gradient("y = Relu (x)", {"x": np.zeros(2)}, ["x"])
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    np.testing.assert_array_equal(hone_ctypes.run(proto, {"x": np.zeros(2)})[1], [0, 0])


def test_used_many_times():
    check("a = Mul (x, x) b = Mul (a, x) c = Add (a, b) y = Mul (c, x)", x=X)


def test_choice():
    check("z = Sub (x, x) c = Greater (x, z) y = Where (c, u, w) ", ("u", "w"), x=X, u=away(2, 3),
          w=W)


def test_cast():
    check("f = Cast <to = 1> (x) g = Mul (f, f) y = Cast <to = 11> (g)", x=X, tolerance=0.05)


@pytest.mark.parametrize("body", [
    "y0 = Transpose <perm = [1, 0]> (x) y = Mul (y0, k)", "s = Shape (k) r = Reshape (x, s) y = Mul (r, k)",
    "y0 = Concat <axis = 0> (x, x) e = Transpose <perm = [1, 0]> (k) y1 = Concat <axis = 0> (e, x) y = Mul (y0, y1)",
    "t = Transpose <perm = [1, 0]> (k) y0 = Mul (x, t) n = CumSum (y0, ax) y = Mul (n, n)",
    "t = Transpose <perm = [1, 0]> (k) y0 = Mul (x, t) n = CumSum <exclusive = 1, reverse = 1> (y0, ax) y = Mul (n, n)",
])
def test_movement(body):
    check(body, x=X, more="<double[3,2] k = {1, 2, 3, 4, 5, 6}, int64 ax = {1}>")


@pytest.mark.parametrize("lo,hi,axis,step", [(0, 2, 1, 1), (1, 3, 1, 1), (0, 3, 1, 2), (2, -9, 1, -1),
                                             (1, 2, 0, 1), (2, -9, 1, -2)])
def test_slice(lo, hi, axis, step):
    check("s = Slice (x, lo, hi, ax, st) y = Mul (s, s)", x=X, more=(
        f"<int64[1] lo = {{{lo}}}, int64[1] hi = {{{hi}}}, int64[1] ax = {{{axis}}}, "
        f"int64[1] st = {{{step}}}>"))


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
def test_pad(mode):
    check(f'p = Pad <mode = "{mode}"> (x, n, v) y = Mul (p, p)', ("x", "v") if mode == "constant"
          else ("x",), x=X, v=np.array(0.7), more="<int64[4] n = {1, 0, 0, 2}>")


@pytest.mark.parametrize("op", ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd",
                                "ReduceL2", "ReduceLogSumExp", "ReduceSumSquare"])
@pytest.mark.parametrize("axes", ["0", "1", "0, 1"])
def test_reduce(op, axes):
    n = len(axes.split(","))
    check(f"r = {op} (x, ax) y = Mul (r, r)", x=X, more=f"<int64[{n}] ax = {{{axes}}}>")


def test_product_with_zeros():
    x = np.array([[0.0, 2, 3], [0, 0, 5]])
    check("r = ReduceProd (x, ax) y = Mul (r, k)", x=x, more="<int64[1] ax = {1}, double k = {3}>")


@pytest.mark.parametrize("a,b", [((2, 3), (3, 4)), ((3,), (3,)), ((3,), (3, 2)), ((2, 2, 3), (2, 3, 2)),
                                 ((2, 3), (2, 3, 2)), ((2, 1, 2, 3), (3, 3, 2))])
def test_matmul(a, b):
    check("m0 = MatMul (x, w) y = Mul (m0, m0)", ("x", "w"), x=away(*a), w=away(*b))


@pytest.mark.parametrize("equation,a,b", [("ij,jk->ki", (2, 3), (3, 2)), ("bij,bkj->bik", (2, 2, 3), (2, 1, 3)),
                                          ("abc,cda->bd", (2, 3, 2), (2, 3, 2))])
def test_einsum(equation, a, b):
    check(f'e = Einsum <equation = "{equation}"> (x, w) y = Mul (e, e)', ("x", "w"), x=away(*a),
          w=away(*b))


@pytest.mark.parametrize("attrs", ["", "<strides = [2, 1]>", "<pads = [1, 0, 1, 1], dilations = [1, 2]>",
                                   "<group = 2>"])
def test_convolution(attrs):
    group = 2 if "group" in attrs else 1
    check(f"c = Conv {attrs} (x, w, b) y = Mul (c, c)", ("x", "w", "b"), x=away(1, 2, 4, 5),
          w=away(2, 2 // group, 2, 2), b=away(2))


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
def test_pooling(op):
    check(f"p = {op} <kernel_shape = [2, 2], strides = [1, 2]> (x) y = Mul (p, p)",
          x=rng.permutation(20).reshape(1, 1, 4, 5) * 0.3)


def test_softmax_loss():
    check("l = LogSoftmax <axis = 1> (x) p = Softmax <axis = 1> (w) q = Mul (l, p) "
          "y = ReduceSum <keepdims = 0> (q)", ("x", "w"), x=X, w=W)


def test_normalization():
    check("n = LayerNormalization (x, g, b) y = Mul (n, w)", ("x", "g", "b"), x=X, w=W, g=away(3),
          b=away(3), tolerance=1e-5)


@pytest.mark.parametrize("axis", [0, 1])
def test_gather(axis):
    check(f"g = Gather <axis = {axis}> (x, i) y = Mul (g, g)", x=X, i=np.array([1, 0, 1, -1]))


def test_gather_elements():
    check("g = GatherElements <axis = 1> (x, i) y = Mul (g, g)", x=X,
          i=np.array([[0, 0, 2], [1, 2, 1]]))


@pytest.mark.parametrize("reduction", ["none", "add"])
def test_scatter(reduction):
    check(f'g = ScatterND <reduction = "{reduction}"> (x, i, u) y = Mul (g, g)', ("x", "u"), x=X,
          i=np.array([[1], [0]]), u=away(2, 3))


def test_scatter_same_place_twice():
    check("g = ScatterND (x, i, u) y = Mul (g, g)", ("x", "u"), x=X, i=np.array([[1], [1]]),
          u=away(2, 3))


def test_sorted():
    check("v, i = TopK <axis = 1> (x, k) y = Mul (v, v)", x=X, more="<int64[1] k = {2}>")


def test_with_respect_to_something_in_between():
    proto = parser.parse_model(
        f'<ir_version: 10, opset_import: ["": 18, "{DOMAIN}": 1]>\n'
        "m (double[2] x) => (double[2] y, double[2] d) {\n"
        "h = Exp (x) y = Mul (h, h)\n"
        f'd = {DOMAIN}.Gradient <xs = ["h"], y = "y"> (h) }}')
    x = np.array([0.5, -1])
    np.testing.assert_allclose(hone_ctypes.run(proto, {"x": x})[1], 2 * np.exp(x))


def test_at_other_values():
    """The inputs say where: not at x but at w."""
    proto = parser.parse_model(
        f'<ir_version: 10, opset_import: ["": 18, "{DOMAIN}": 1]>\n'
        "m (double[2] x, double[2] w) => (double[2] y, double[2] d) {\n"
        "h = Sin (x) y = Mul (h, x)\n"
        f'd = {DOMAIN}.Gradient <xs = ["x"], y = "y"> (w) }}')
    x, w = np.array([0.5, -1]), np.array([1.5, 0.25])
    y, d = hone_ctypes.run(proto, {"x": x, "w": w})
    np.testing.assert_allclose(y, np.sin(x) * x)
    np.testing.assert_allclose(d, np.cos(w) * w + np.sin(w))


def test_not_known_in_time():
    proto = parser.parse_model(
        f'<ir_version: 10, opset_import: ["": 18, "{DOMAIN}": 1]>\n'
        "m (double[] x) => (double[] y, double[] d) { y = Exp (x)\n"
        f'd = {DOMAIN}.Gradient <xs = ["x"], y = "y"> (x) }}')
    with pytest.raises(hone_ctypes.HoneError, match="too late for a gradient"):
        hone_ctypes.run(proto, {"x": np.zeros(2)})


def test_second_order():
    proto = parser.parse_model(
        f'<ir_version: 10, opset_import: ["": 18, "{DOMAIN}": 1]>\n'
        "m (double[2] x) => (double[2] d, double[2] dd) {\n"
        "a = Mul (x, x) y = Mul (a, x)\n"
        f'd = {DOMAIN}.Gradient <xs = ["x"], y = "y"> (x)\n'
        f'dd = {DOMAIN}.Gradient <xs = ["x"], y = "d"> (x) }}')
    x = np.array([0.5, -2])
    d, dd = hone_ctypes.run(proto, {"x": x})
    np.testing.assert_allclose(d, 3 * x * x)
    np.testing.assert_allclose(dd, 6 * x)


def test_not_connected():
    proto = with_gradient("y = Neg (w)", {"x": X, "w": W}, ["x", "w"])
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    _, dx, dw = hone_ctypes.run(proto, {"x": X, "w": W})
    np.testing.assert_array_equal(dx, np.zeros_like(X))
    np.testing.assert_array_equal(dw, -np.ones_like(W))


@pytest.mark.parametrize("body,what", [
    ("y = If (c) <then_branch = t () => (double[2,3] u) { u = Neg (x) }, "
     "else_branch = e () => (double[2,3] v) { v = Abs (x) }>", "if"),
    ("y = ScatterND <reduction = \"mul\"> (x, i, x)", "scatter")])
def test_without_a_rule(body, what):
    inputs = {"x": X}
    more = "<int64[2,1] i = {0, 1}>"
    if what == "if":
        body = "z = ReduceSum <keepdims = 0> (x) n = Sub (z, z) c = Greater (z, n) " + body
    proto = with_gradient(body, inputs, ["x"], more)
    with pytest.raises(hone_ctypes.HoneError) as caught:
        hone_ctypes.run(proto, inputs)
    assert f"primitive {what}" in str(caught.value) and "no gradient" in str(caught.value)


# ---- optimizers ----

def optimizer(op, n_state, tensors, t=2, r=0.1, **attrs):
    """Runs one step on tensors: {group: [array, …]} in the operator's order."""
    groups = list(tensors.values())
    names = [f"{g}{i}" for g in tensors for i in range(len(groups[0]))]
    outs = [f"o{i}" for i in range(len(groups[0]) * (1 + n_state))]
    node = helper.make_node(op, ["R", "T", *names], outs, domain=DOMAIN, **attrs)
    arrays = [a for group in groups for a in group]
    value = helper.make_tensor_value_info
    inputs = [value("R", TensorProto.FLOAT, []), value("T", TensorProto.INT64, [])]
    inputs += [value(n, TensorProto.FLOAT, a.shape) for n, a in zip(names, arrays)]
    proto = helper.make_model(
        helper.make_graph([node], "m", inputs, [value(o, TensorProto.FLOAT, None) for o in outs]),
        opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid(DOMAIN, 1)], ir_version=10)
    feeds = dict(zip(names, arrays), R=np.array(r, np.float32), T=np.array(t, np.int64))
    return hone_ctypes.run(proto, feeds)


def f32(*shape):
    return [rng.normal(size=s).astype(np.float32) for s in shape]


@pytest.mark.parametrize("t", [0, 1, 5])
def test_adagrad(t):
    x, g = f32((2, 3), (4,)), f32((2, 3), (4,))
    h = [np.abs(a) for a in f32((2, 3), (4,))]
    got = optimizer("Adagrad", 1, {"X": x, "G": g, "H": h}, t, norm_coefficient=0.01,
                    decay_factor=0.2, epsilon=1e-3)
    for i in range(2):
        gr = 0.01 * x[i] + g[i]
        hn = h[i] + gr * gr
        np.testing.assert_allclose(got[2 + i], hn, rtol=1e-5)
        want = x[i] - 0.1 / (1 + t * 0.2) * gr / (np.sqrt(hn) + 1e-3)
        np.testing.assert_allclose(got[i], want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("t", [0, 1, 5])
def test_adam(t):
    x, g, v = f32((2, 3), (4,)), f32((2, 3), (4,)), f32((2, 3), (4,))
    h = [np.abs(a) for a in f32((2, 3), (4,))]
    got = optimizer("Adam", 2, {"X": x, "G": g, "V": v, "H": h}, t, norm_coefficient=0.01, alpha=0.8,
                    beta=0.95, epsilon=1e-3, norm_coefficient_post=0.02)
    for i in range(2):
        gr = 0.01 * x[i] + g[i]
        vn, hn = 0.8 * v[i] + 0.2 * gr, 0.95 * h[i] + 0.05 * gr * gr
        rate = 0.1 * np.sqrt(1 - 0.95 ** t) / (1 - 0.8 ** t) if t else 0.1
        want = (1 - 0.02) * (x[i] - rate * vn / (np.sqrt(hn) + 1e-3))
        np.testing.assert_allclose(got[i], want, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(got[2 + i], vn, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(got[4 + i], hn, rtol=1e-5)


@pytest.mark.parametrize("mode", ["standard", "nesterov"])
@pytest.mark.parametrize("t", [0, 3])
def test_momentum(mode, t):
    x, g, v = f32((2, 3), (4,)), f32((2, 3), (4,)), f32((2, 3), (4,))
    got = optimizer("Momentum", 1, {"X": x, "G": g, "V": v}, t, norm_coefficient=0.01, alpha=0.8,
                    beta=0.5, mode=mode)
    for i in range(2):
        gr = 0.01 * x[i] + g[i]
        vn = 0.8 * v[i] + (0.5 if t else 1) * gr
        way = gr + 0.8 * vn if mode == "nesterov" else vn
        np.testing.assert_allclose(got[i], x[i] - 0.1 * way, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(got[2 + i], vn, rtol=1e-5, atol=1e-6)


def test_optimizers_refuse():
    with pytest.raises(hone_ctypes.HoneError, match="mode"):
        optimizer("Momentum", 1, {"X": f32(2), "G": f32(2), "V": f32(2)}, mode="fast",
                  norm_coefficient=0.0, alpha=0.5, beta=0.5)
    with pytest.raises(hone_ctypes.HoneError, match="groups"):
        optimizer("Adam", 1, {"X": f32(2), "G": f32(2), "V": f32(2)})
