"""Attention, RotaryEmbedding and LinearAttention against ONNX Runtime or the onnx reference."""

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

from one_node import check, feeds_of, node_model

rng = np.random.default_rng(9)
B, S, T, D, E = 2, 4, 6, 8, 10


def f32(*shape):
    return rng.normal(size=shape).astype(np.float32)


def attend(heads, key_heads, mask=None, past=0, filled=None, flat=False, opset=24, outputs=1,
           **attrs):
    q, k, v = f32(B, heads, S, D), f32(B, key_heads, T, D), f32(B, key_heads, T, E)
    if flat:
        q, k, v = (x.transpose(0, 2, 1, 3).reshape(B, x.shape[2], -1) for x in (q, k, v))
        attrs.update(q_num_heads=heads, kv_num_heads=key_heads)
    inputs = [q, k, v, mask]
    inputs += [f32(B, key_heads, past, D), f32(B, key_heads, past, E)] if past else [None, None]
    inputs.append(np.array(filled, np.int64) if filled else None)
    while inputs[-1] is None:
        inputs.pop()
    # With one row in the mask the references let all rows be as causal as the first.
    full = list(inputs)
    if mask is not None:
        full[3] = np.broadcast_to(mask, (*mask.shape[:-2], S, mask.shape[-1]))
    model = node_model("Attention", full, opset, attrs, outputs)
    expected = ReferenceEvaluator(model).run(None, feeds_of(full))
    check("Attention", inputs, opset, attrs, n_outputs=outputs, expected=expected, rtol=1e-4,
          atol=1e-5)


@pytest.mark.parametrize("heads, key_heads", [(3, 3), (6, 2), (4, 1)])
@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("past", [0, 3])
@pytest.mark.parametrize("causal", [0, 1])
def test_heads(heads, key_heads, flat, past, causal):
    attend(heads, key_heads, flat=flat, past=past, is_causal=causal, outputs=3 if past else 1)


@pytest.mark.parametrize("shape", [(S, T), (1, T), (1, 1, S, T), (B, 1, 1, T), (B, 4, S, T)])
@pytest.mark.parametrize("kind", [np.bool_, np.float32])
@pytest.mark.parametrize("causal", [0, 1])
def test_mask(shape, kind, causal):
    mask = rng.random(shape) > 0.4 if kind == np.bool_ else f32(*shape)
    attend(4, 2, mask=mask, is_causal=causal)


def test_rows_that_may_attend_nothing_give_zero():
    mask = np.ones((S, T), bool)
    mask[1] = False
    attend(2, 2, mask=mask)


@pytest.mark.parametrize("mode", [0, 1, 2, 3])
def test_scores(mode):
    attend(2, 2, mask=f32(S, T), outputs=4, softcap=0.0 if mode == 0 else 1.5,
           qk_matmul_output_mode=mode, past=2)


@pytest.mark.parametrize("causal", [0, 1])
def test_padding(causal):
    attend(2, 2, filled=[6, 4], is_causal=causal)


def test_scale():
    attend(2, 2, scale=0.3, opset=23)


@pytest.mark.parametrize("left, right", [(2, 0), (-1, 1), (1, 2), (0, -1)])
def test_local_windows(left, right):
    attend(2, 2, opset=25, left_window_size=left, right_window_size=right, past=2)


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("size", [0, 4])
@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("by_position", [False, True])
def test_rotary(interleaved, size, flat, by_position):
    attrs = {"interleaved": interleaved}
    if size:
        attrs["rotary_embedding_dim"] = size
    if flat:
        attrs["num_heads"] = 3
    half = (size or D) // 2
    x = f32(B, S, 3 * D) if flat else f32(B, 3, S, D)
    positions = rng.integers(0, 12, (B, S)) if by_position else None
    cache = (12, half) if by_position else (B, S, half)
    inputs = [x, f32(*cache), f32(*cache)] + ([positions] if by_position else [])
    check("RotaryEmbedding", inputs, 23, attrs)


@pytest.mark.parametrize("rule", ["linear", "gated", "delta", "gated_delta"])
@pytest.mark.parametrize("heads, key_heads", [(2, 2), (4, 2)])
@pytest.mark.parametrize("past", [False, True])
def test_linear(rule, heads, key_heads, past):
    inputs = [f32(B, S, heads * D), f32(B, S, key_heads * D), f32(B, S, key_heads * E),
              f32(B, key_heads, D, E) if past else None,
              -np.abs(f32(B, S, key_heads)) if "gated" in rule else None,
              rng.random((B, S, 1)).astype(np.float32) if "delta" in rule else None]
    while inputs[-1] is None:
        inputs.pop()
    attrs = {"update_rule": rule, "q_num_heads": heads, "kv_num_heads": key_heads}
    check("LinearAttention", inputs, 27, attrs, n_outputs=2, rtol=1e-4, atol=1e-5)
