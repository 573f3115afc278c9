"""RNN, GRU and LSTM against ONNX Runtime."""

import numpy as np
import pytest

from one_node import check

rng = np.random.default_rng(7)
T, B, I, H = 5, 3, 4, 6
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
DIRECTIONS = ["forward", "reverse", "bidirectional"]


def f32(*shape):
    return rng.normal(size=shape).astype(np.float32) * 0.5


def run(op, direction="forward", lengths=None, states=True, bias=True, peepholes=False, opset=14,
        dtype=np.float32, **attrs):
    d, g = 2 if direction == "bidirectional" else 1, GATES[op]
    inputs = [f32(T, B, I), f32(d, g * H, I), f32(d, g * H, H),
              f32(d, 2 * g * H) if bias else None,
              np.array(lengths, np.int32) if lengths else None,
              f32(d, B, H) if states else None]
    if op == "LSTM":
        inputs += [f32(d, B, H) if states else None, f32(d, 3 * H) if peepholes else None]
    inputs = [x.astype(dtype) if x is not None and x.dtype == np.float32 else x for x in inputs]
    while inputs[-1] is None:
        inputs.pop()
    attrs.update(direction=direction, hidden_size=H)
    check(op, inputs, opset, attrs, n_outputs=3 if op == "LSTM" else 2, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("lengths", [None, [5, 2, 3]])
@pytest.mark.parametrize("full", [False, True])
def test_layer(op, direction, lengths, full):
    run(op, direction, lengths, states=full, bias=full)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("lengths", [None, [5, 1, 4]])
def test_peepholes(direction, lengths):
    run("LSTM", direction, lengths, peepholes=True)


def test_coupled_input_and_forget_gates():
    run("LSTM", input_forget=1)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_linear_before_reset(direction):
    run("GRU", direction, linear_before_reset=1)


@pytest.mark.parametrize("op", GATES)
def test_clip(op):
    run(op, clip=0.3)


@pytest.mark.parametrize("op", GATES)
def test_opset_7(op):
    run(op, opset=7)


@pytest.mark.parametrize("name", ["Relu", "Tanh", "Sigmoid", "LeakyRelu", "HardSigmoid",
                                  "Elu", "Softsign", "Softplus"])
def test_activation(name):
    run("RNN", activations=[name])


@pytest.mark.parametrize("name, numbers", [
    ("Affine", {"activation_alpha": [0.7], "activation_beta": [0.2]}),
    ("ScaledTanh", {"activation_alpha": [0.7], "activation_beta": [0.4]}),
    ("HardSigmoid", {"activation_alpha": [0.3], "activation_beta": [0.4]}),
    ("LeakyRelu", {"activation_alpha": [0.3]}),
    ("ThresholdedRelu", {"activation_alpha": [0.3]}),  # its default is ONNX's, not ORT's
])
def test_activation_with_numbers(name, numbers):
    run("RNN", activations=[name], **numbers)


def test_numbers_go_to_those_that_take_them():
    run("LSTM", "bidirectional", activations=["HardSigmoid", "Tanh", "LeakyRelu"] * 2,
        activation_alpha=[0.3, 0.1, 0.25, 0.2], activation_beta=[0.4, 0.45])


def test_doubles():
    run("LSTM", dtype=np.float64)


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_batch_first(op, direction):
    """ONNX Runtime has no such layout: against the other one, transposed."""
    import hone_ctypes
    from one_node import feeds_of, node_model
    d, g = 2 if direction == "bidirectional" else 1, GATES[op]
    x, w, r, h = f32(T, B, I), f32(d, g * H, I), f32(d, g * H, H), f32(d, B, H)
    n = 3 if op == "LSTM" else 2

    def outputs(layout, x, h):
        inputs = [x, w, r, None, None, h] + ([h] if op == "LSTM" else [])
        attrs = {"direction": direction, "hidden_size": H, "layout": layout}
        return hone_ctypes.run(node_model(op, inputs, 14, attrs, n), feeds_of(inputs))

    a = outputs(0, x, h)
    b = outputs(1, x.transpose(1, 0, 2), h.transpose(1, 0, 2))
    np.testing.assert_array_equal(b[0], a[0].transpose(2, 0, 1, 3))
    for i in range(1, n):
        np.testing.assert_array_equal(b[i], a[i].transpose(1, 0, 2))
