"""com.microsoft against ONNX Runtime, or against NumPy where it has no CPU kernel."""

import numpy as np
import pytest

import hone_ctypes
import one_node
from compare import run_ort

MS = "com.microsoft"
rng = np.random.default_rng(5)


def compare(op, inputs, n_outputs=1, **how):
    return one_node.check(op, inputs, 1, n_outputs=n_outputs, domain=MS, **how)


def fails(op, inputs, **attrs):
    return one_node.fails(op, inputs, 1, domain=MS, **attrs)


def f32(*shape):
    return rng.normal(size=shape).astype(np.float32)


def ints(dtype, *shape, low=None, high=None):
    info = np.iinfo(dtype)
    return rng.integers(info.min if low is None else low, (info.max if high is None else high) + 1,
                        size=shape).astype(dtype)


def weights(dtype, *shape):
    """Within 7 bits: beyond, ONNX Runtime's u8 x s8 products saturate on CPUs without VNNI."""
    return ints(dtype, *shape, low=-64 if dtype is np.int8 else 0, high=63)


def s(value, dtype=np.float32):
    return np.array(value, dtype)


# ---- aliases ----

def test_aliases():
    compare("Gelu", [f32(3, 4)])
    compare("Trilu", [f32(2, 4, 5), s(1, np.int64)], upper=0)
    compare("GatherND", [f32(3, 4, 2), s([[0, 1], [2, 3]], np.int64)])
    compare("Range", [s(1.5), s(9), s(2)])
    compare("Range", [s([3], np.int64), s([9], np.int64)])
    compare("ExpandDims", [f32(3, 4), s(-1, np.int32)])
    compare("ExpandDims", [f32(3, 4), s([1], np.int32)])
    compare("Pad", [f32(3, 4), s([1, 0, 0, 2], np.int64), s(2.5)])
    compare("Pad", [f32(3, 4), s([[1, 2, 1, 0]], np.int64)], mode="reflect")
    compare("GridSample", [f32(1, 2, 4, 4), rng.uniform(-1, 1, (1, 3, 3, 2)).astype(np.float32)],
            align_corners=1)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int16])
def test_quantize_dequantize(dtype):
    x = f32(3, 4) * 50
    compare("QuantizeLinear", [x, s(0.37), s(3, dtype)])
    compare("QuantizeLinear", [x, s([0.37, 1, 2, 3]), s([3, 2, 1, 0], dtype)], axis=1)
    q = ints(dtype, 3, 4)
    compare("DequantizeLinear", [q, s(0.37), s(3, dtype)])
    compare("DequantizeLinear", [q, s([0.37, 1, 2]), s([3, 2, 1], dtype)], axis=0)


# ---- Gelu and norms ----

def test_gelus():
    x, bias = f32(2, 3, 8), f32(8)
    compare("BiasGelu", [x, bias])
    compare("FastGelu", [x], atol=1e-5)
    compare("FastGelu", [x, bias], atol=1e-5)
    compare("QuickGelu", [x])
    compare("QuickGelu", [x], alpha=1.0)


def test_bias_split_gelu():
    x, bias, skip = f32(2, 3, 8), f32(8), f32(2, 3, 8)
    y = x + bias
    right = y[..., 4:].astype(np.float64)
    erf = np.vectorize(__import__("math").erf)
    want = y[..., :4] * 0.5 * right * (1 + erf(right / np.sqrt(2)))
    compare("BiasSplitGelu", [x, bias], expected=[want.astype(np.float32)])
    compare("BiasAdd", [x, bias, skip], expected=[x + bias + skip])


@pytest.mark.parametrize("axis", [-1, 1])
@pytest.mark.parametrize("opset", [1, 16, 20])
def test_layer_normalization(axis, opset):
    x = f32(2, 3, 4)
    w = f32(*x.shape[axis:]) if axis > 0 else f32(4)
    how = dict(opset=max(opset, 7), axis=axis)
    one_node.check("SimplifiedLayerNormalization", [x, w], n_outputs=2, atol=1e-5, **how)
    one_node.check("SimplifiedLayerNormalization", [x, w], epsilon=0.1, **how)


@pytest.mark.parametrize("shape", [(2, 3, 8), (1, 3, 8), (3, 8)])
def test_skip_layer_normalization(shape):
    x, skip, gamma, beta, bias = f32(2, 3, 8), f32(*shape), f32(8), f32(8), f32(8)
    wanted = dict(n_outputs=4, wanted=[0, 3], atol=1e-5)
    compare("SkipLayerNormalization", [x, skip, gamma, beta, bias], epsilon=1e-5, **wanted)
    compare("SkipLayerNormalization", [x, skip, gamma, beta])
    compare("SkipLayerNormalization", [x, skip, gamma], epsilon=0.01)
    compare("SkipSimplifiedLayerNormalization", [x, skip, gamma, bias], **wanted)
    compare("SkipSimplifiedLayerNormalization", [x, skip, gamma], epsilon=0.01)


def embedding():
    return (ints(np.int32, 2, 5, low=0, high=8), ints(np.int32, 2, 5, low=0, high=1), f32(9, 6),
            f32(7, 6), f32(2, 6), f32(6), f32(6))


def test_embed_layer_normalization():
    ids, segments, words, positions, types, gamma, beta = embedding()
    mask = ints(np.int32, 2, 5, low=0, high=1)
    order = ints(np.int32, 2, 5, low=0, high=6)
    how = dict(constants=(2, 3, 4, 5, 6))
    compare("EmbedLayerNormalization", [ids, segments, words, positions, types, gamma, beta], 2, **how)
    compare("EmbedLayerNormalization", [ids, segments, words, positions, types, gamma, beta, mask],
            3, epsilon=1e-3, **how)
    compare("EmbedLayerNormalization", [ids, None, words, positions, None, gamma, beta, mask], 2,
            constants=(2, 3, 5, 6))
    compare("EmbedLayerNormalization",
            [ids, segments, words, positions, types, gamma, beta, None, order], 2, **how)


def test_q_embed_layer_normalization():
    ids, segments, *_ = embedding()
    tables = [ints(np.uint8, *shape) for shape in ((9, 6), (7, 6), (2, 6), (6,), (6,))]
    scales = [s(v) for v in (0.02, 0.03, 0.01, 0.05, 0.04)]
    zeros = [s(v, np.uint8) for v in (120, 128, 90, 3, 250)]
    mask = ints(np.int32, 2, 5, low=0, high=1)
    compare("QEmbedLayerNormalization", [ids, segments, *tables, mask, *scales, *zeros], 2,
            constants=(2, 3, 4, 5, 6))


# ---- products ----

@pytest.mark.parametrize("a,b,how", [
    ((3, 4), (4, 5), {}), ((4, 3), (5, 4), dict(transA=1, transB=1, alpha=0.5)),
    ((2, 3, 4), (2, 5, 4), dict(transB=1)), ((2, 4, 3), (4, 5), dict(transA=1)),
    ((3, 2, 4), (2, 4, 5), dict(transBatchA=1)), ((4, 2, 3), (2, 4, 5), dict(transBatchA=1, transA=1)),
    ((2, 3, 4), (5, 2, 4), dict(transBatchB=1, transB=1)), ((4,), (4, 5), {})])
def test_fused_mat_mul(a, b, how):
    compare("FusedMatMul", [f32(*a), f32(*b)], **how)
    if "transBatchA" not in how and "transBatchB" not in how:
        compare("TransposeMatMul", [f32(*a), f32(*b)], **how)


@pytest.mark.parametrize("how", [
    dict(activation="Relu"), dict(activation="LeakyRelu", activation_alpha=0.2),
    dict(activation="Tanh"), dict(activation="Sigmoid"), dict(activation="Relu", transA=1, transB=1, alpha=2.0)])
def test_fused_gemm(how):
    a, b = (f32(4, 3), f32(5, 4)) if "transA" in how else (f32(3, 4), f32(4, 5))
    compare("FusedGemm", [a, b, f32(5)], **how)


@pytest.mark.parametrize("how", [
    dict(activation="Relu"), dict(activation="LeakyRelu", activation_params=[0.2]),
    dict(activation="Clip", activation_params=[-0.5, 0.5]), dict(activation="Tanh"),
    dict(activation="HardSigmoid", activation_params=[0.3, 0.4]), dict(activation="Sigmoid")])
def test_fused_conv(how):
    x, w = f32(1, 4, 6, 6), f32(8, 2, 3, 3)
    common = dict(kernel_shape=[3, 3], group=2, pads=[1, 1, 1, 1], atol=1e-5)
    compare("FusedConv", [x, w, f32(8)], **common, **how)
    if how["activation"] == "Relu":
        compare("FusedConv", [x, w, f32(8), f32(1, 8, 6, 6)], **common, **how)
        got = compare("FusedConv", [x, w, f32(8) * 0], **common, **how)[0]
        compare("NhwcFusedConv", [x.transpose(0, 2, 3, 1), w, f32(8) * 0], **common, **how,
                expected=[got.transpose(0, 2, 3, 1)])


# ---- quantized elementwise ----

PAIRS = [((4, 37), (4, 37)), ((4, 37), (1,)), ((1,), (4, 37)), ((4, 37), (37,)), ((5, 1, 9), (4, 1))]


@pytest.mark.parametrize("op", ["QLinearAdd", "QLinearMul"])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("shapes", PAIRS)
def test_q_linear_binary(op, dtype, shapes):
    zero = 100 if dtype is np.uint8 else -7
    for a, b, c in ((0.02, 0.03, 0.07), (0.5, 0.25, 1.0), (0.1, 0.1, 0.1)):
        if op == "QLinearMul":
            c *= 5
        x, y = ints(dtype, *shapes[0]), ints(dtype, *shapes[1])
        compare(op, [x, s(a), s(zero, dtype), y, s(b), s(zero + 5, dtype), s(c), s(zero - 3, dtype)])


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_q_linear_unary(dtype):
    x = np.arange(256).astype(np.uint8).view(dtype).reshape(16, 16)
    zero = s(110 if dtype is np.uint8 else -5, dtype)
    low = s(0 if dtype is np.uint8 else -128, dtype)
    compare("QLinearSigmoid", [x, s(0.05), zero, s(1 / 256), low])
    compare("QLinearSigmoid", [x, s(0.03), None, s(1 / 200), None])
    compare("QLinearLeakyRelu", [x, s(0.05), zero, s(0.04), zero], alpha=0.2)
    compare("QLinearLeakyRelu", [x, s(0.05), None, s(0.06), None])


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_q_linear_reduce_mean(dtype):
    x = ints(dtype, 3, 4, 5)
    real = (x.astype(np.float32) - 3) * np.float32(0.1)
    want = np.round(real.mean((1, 2), keepdims=True, dtype=np.float64) / np.float32(0.07)) + 2
    want = np.clip(want, np.iinfo(dtype).min, np.iinfo(dtype).max).astype(dtype)
    compare("QLinearReduceMean", [x, s(0.1), s(3, dtype), s(0.07), s(2, dtype)], axes=[1, -1],
            keepdims=1, expected=[want])


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("opset,axis", [(13, -1), (13, 1), (12, 1), (12, 2)])
def test_q_linear_softmax(dtype, opset, axis):
    x = ints(dtype, 3, 5, 7)
    low, attrs = s(0 if dtype is np.uint8 else -128, dtype), dict(opset=opset, axis=axis)
    for scale in (0.01, 0.1):
        compare("QLinearSoftmax", [x, s(scale), low, s(1 / 255), low], attrs=attrs)
        compare("QLinearSoftmax", [x, s(scale), low, s(1 / 128), low], attrs=attrs)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("axis", [0, -1])
def test_q_linear_concat(dtype, axis):
    x, y, z = ints(dtype, 3, 4), ints(dtype, 3, 4), ints(dtype, 3, 4)
    compare("QLinearConcat", [s(0.05), s(3, dtype), x, s(0.04), s(1, dtype), y, s(0.05), s(3, dtype),
                              z, s(0.11), s(9, dtype)], axis=axis)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_q_linear_where(dtype):
    c = rng.random((3, 4)) > 0.5
    compare("QLinearWhere", [c, ints(dtype, 3, 4), s(0.05), s(3, dtype), ints(dtype, 4), s(0.03),
                             s(9, dtype), s(0.04), s(5, dtype)])


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("how", [dict(kernel_shape=[3, 3]), dict(kernel_shape=[2, 2], strides=[2, 2]),
                                 dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
                                 dict(kernel_shape=[3, 3], pads=[1, 0, 1, 1], count_include_pad=1)])
def test_q_linear_average_pool(dtype, last, how):
    x = ints(dtype, 2, 7, 9, 3) if last else ints(dtype, 2, 3, 7, 9)
    compare("QLinearAveragePool", [x, s(0.05), s(3, dtype), s(0.04), s(5, dtype)],
            channels_last=last, **how)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("last", [0, 1])
def test_q_linear_global_average_pool(dtype, last):
    x = ints(dtype, 2, 7, 9, 3) if last else ints(dtype, 2, 3, 7, 9)
    compare("QLinearGlobalAveragePool", [x, s(0.05), s(3, dtype), s(0.01), s(5, dtype)],
            channels_last=last)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_nhwc_max_pool(dtype):
    compare("NhwcMaxPool", [ints(dtype, 1, 6, 6, 3)], kernel_shape=[2, 2], strides=[2, 2],
            pads=[1, 0, 1, 0])


@pytest.mark.parametrize("last", [0, 1])
def test_q_linear_conv(last):
    x = ints(np.uint8, 1, 6, 6, 4) if last else ints(np.uint8, 1, 4, 6, 6)
    compare("QLinearConv", [x, s(0.05), s(120, np.uint8), weights(np.int8, 5, 4, 3, 3), s(0.02),
                            s(0, np.int8), s(0.2), s(100, np.uint8), ints(np.int32, 5, low=-99, high=99)],
            channels_last=last, pads=[1, 1, 1, 1])


# ---- quantized products ----

@pytest.mark.parametrize("a_type,b_type", [(np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8)])
@pytest.mark.parametrize("per_column", [False, True])
def test_q_gemm(a_type, b_type, per_column):
    a, b, c = ints(a_type, 5, 16), weights(b_type, 7, 16), ints(np.int32, 7, low=-999, high=999)
    scale = rng.uniform(0.01, 0.02, 7).astype(np.float32) if per_column else s(0.015)
    zero = ints(b_type, 7, low=0, high=9) if per_column else s(3, b_type)
    left = [a, s(0.02), s(4, a_type)]
    compare("QGemm", [*left, b, scale, zero, c, s(0.3), s(10, a_type)], transB=1)
    compare("QGemm", [*left, b, scale, zero, c], transB=1, alpha=0.5)
    compare("QGemm", [a.T.copy(), *left[1:], b.T.copy(), scale, zero, None, s(0.4), s(10, a_type)],
            transA=1)


@pytest.mark.parametrize("per_column", [False, True])
def test_mat_mul_integer_to_float(per_column):
    a, b = ints(np.uint8, 2, 5, 16), weights(np.int8, 16, 7)
    scale = rng.uniform(0.01, 0.02, 7).astype(np.float32) if per_column else s(0.015)
    compare("MatMulIntegerToFloat", [a, b, s(0.02), scale])
    compare("MatMulIntegerToFloat", [a, b, s(0.02), scale, s(9, np.uint8), s(3, np.int8), f32(7)])


@pytest.mark.parametrize("per_column", [False, True])
def test_dynamic_quantize_mat_mul(per_column):
    a, b = f32(2, 5, 16), weights(np.int8, 16, 7)
    scale = rng.uniform(0.01, 0.02, 7).astype(np.float32) if per_column else s(0.015)
    zero = ints(np.int8, 7, low=0, high=9) if per_column else s(3, np.int8)
    compare("DynamicQuantizeMatMul", [a, b, scale], atol=1e-5)
    compare("DynamicQuantizeMatMul", [a, b, scale, zero, f32(7)], atol=1e-5)


def test_mat_mul_integer_16():
    compare("MatMulInteger16", [ints(np.int16, 3, 4, low=-99, high=99), ints(np.int16, 4, 5)])


# ---- attention ----

MASKS = {"none": None, "lengths": s([3, 5], np.int32), "limits": s([4, 5, 1, 0], np.int32),
         "keys": s([[1, 1, 1, 0, 0], [0, 1, 1, 1, 1]], np.int32),
         "full": rng.integers(0, 2, (2, 5, 5)).astype(np.int32)}
HOWS = [dict(), dict(unidirectional=1), dict(scale=0.3, mask_filter_value=-50.0)]


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("how", HOWS)
def test_attention(mask, how):
    x, w, bias = f32(2, 5, 12), f32(12, 24), f32(24)
    compare("Attention", [x, w, bias, MASKS[mask]], num_heads=2, atol=1e-5, rtol=1e-4, **how)


def test_attention_variants():
    x, bias = f32(2, 5, 12), f32(28)
    compare("Attention", [x, f32(12, 28), bias], num_heads=2, qkv_hidden_sizes=[8, 8, 12], atol=1e-5)
    w, bias = f32(12, 24), f32(24)
    compare("Attention", [x, w, bias, None, None, f32(2, 2, 5, 5)], num_heads=2, atol=1e-5)
    compare("Attention", [x, w, bias, None, None, f32(1, 1, 5, 5)], num_heads=2, atol=1e-5)


@pytest.mark.parametrize("mask", [None, np.array([[1] * 8, [0, 1] * 4], np.int32)])
@pytest.mark.parametrize("unidirectional", [0, 1])
def test_attention_past(mask, unidirectional):
    x, w, bias, past = f32(2, 5, 12), f32(12, 24), f32(24), f32(2, 2, 2, 3, 4)
    compare("Attention", [x, w, bias, mask, past], 2, num_heads=2, unidirectional=unidirectional,
            atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("per_column", [False, True])
@pytest.mark.parametrize("mask", ["none", "lengths"])
def test_q_attention(per_column, mask):
    x, w = ints(np.uint8, 2, 5, 12), weights(np.int8, 12, 24)
    scale = rng.uniform(0.01, 0.02, 24).astype(np.float32) if per_column else s(0.015)
    zero = ints(np.int8, 24, low=0, high=9) if per_column else s(3, np.int8)
    compare("QAttention", [x, w, f32(24), s(0.02), scale, MASKS[mask], s(120, np.uint8), zero],
            num_heads=2, atol=1e-5, rtol=1e-4)
    compare("QAttention", [x, w, f32(24), s(0.02), scale, MASKS[mask], s(120, np.uint8), zero,
                           f32(2, 2, 2, 3, 4)], 2, num_heads=2, unidirectional=1, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("bias", [False, True])
def test_multi_head_attention(how, bias):
    q, k, v = f32(2, 5, 8), f32(2, 7, 8), f32(2, 7, 12)
    b = f32(28) if bias else None
    mask = s([[1] * 7, [1, 1, 1, 1, 0, 0, 0]], np.int32)
    tol = dict(atol=1e-5, rtol=1e-4)
    if "unidirectional" not in how:
        compare("MultiHeadAttention", [q, k, v, b], num_heads=2, **tol, **how)
        compare("MultiHeadAttention", [q, k, v, b, mask], num_heads=2, **tol, **how)
        compare("MultiHeadAttention", [q, k, v, b, None, f32(1, 2, 5, 7)], num_heads=2, **tol, **how)
    same, value = f32(2, 5, 8), f32(2, 5, 8)
    b = f32(24) if bias else None
    compare("MultiHeadAttention", [q, same, value, b, None, None, f32(2, 2, 3, 4), f32(2, 2, 3, 4)], 3,
            num_heads=2, **tol, **how)


def test_multi_head_attention_packed():
    tol = dict(atol=1e-5, rtol=1e-4)
    q, k, v = f32(2, 5, 8), f32(2, 5, 8), f32(2, 5, 8)
    want = compare("MultiHeadAttention", [q, k, v], num_heads=2, **tol)
    parts = [x.reshape(2, 5, 2, 4) for x in (q, k, v)]
    compare("MultiHeadAttention", [np.stack(parts, 3)], num_heads=2, expected=want)
    compare("MultiHeadAttention", [q, np.stack(parts[1:], 3)], num_heads=2, expected=want)
    compare("MultiHeadAttention", [f32(2, 5, 8), f32(2, 2, 7, 4), f32(2, 2, 7, 4)], num_heads=2, **tol)
    mask = s([[1] * 7, [1, 1, 1, 1, 0, 0, 0]], np.int32)
    compare("MultiHeadAttention", [f32(2, 5, 8), f32(2, 7, 8), f32(2, 7, 8), None, mask,
                                   f32(1, 2, 5, 7)], 4, wanted=[0, 3], float_outputs=[3],
            num_heads=2, **tol)


@pytest.mark.parametrize("mask", [None, s([[1, 1, 0, 1, 1, 1], [1] * 6], np.int32)])
def test_decoder_masked_attention(mask):
    q, k, v, past = f32(2, 1, 8), f32(2, 1, 8), f32(2, 1, 8), [f32(2, 2, 9, 4), f32(2, 2, 9, 4)]
    for extra in (None, f32(1, 2, 1, 6)):
        inputs = [q, k, v, mask, extra, *past, s([5], np.int32), s([1], np.int32), None, f32(24)]
        how = dict(num_heads=2, past_present_share_buffer=1)
        got, want = both("DecoderMaskedMultiHeadAttention", inputs, 3, **how)
        for g, w in zip(got, want):
            assert g.shape == w.shape
        np.testing.assert_allclose(got[0], want[0], 1e-4, 1e-5)
        for g, w in zip(got[1:], want[1:]):
            np.testing.assert_allclose(g[:, :, :6], w[:, :, :6], 1e-5, 1e-6)
    compare("DecoderMaskedMultiHeadAttention", [q, f32(2, 2, 7, 4), f32(2, 2, 7, 4)], num_heads=2,
            atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("interleaved", [0, 1])
def test_rotary_embedding(interleaved):
    cos, sin = f32(16, 4), f32(16, 4)
    at = ints(np.int64, 2, 5, low=0, high=15)
    how = dict(interleaved=interleaved)
    compare("RotaryEmbedding", [f32(2, 5, 24), at, cos, sin], **how)
    compare("RotaryEmbedding", [f32(2, 5, 24), s([3], np.int64), cos, sin], **how)
    compare("RotaryEmbedding", [f32(2, 3, 5, 8), at, cos, sin], **how)
    compare("RotaryEmbedding", [f32(2, 5, 36), at, cos, sin], num_heads=3, rotary_embedding_dim=8, **how)


GQA = [dict(), dict(local_window_size=3), dict(softcap=2.0), dict(scale=0.3), dict(smooth_softmax=1)]


def caches():
    return f32(32, 8), f32(32, 8)


@pytest.mark.parametrize("how", GQA)
@pytest.mark.parametrize("rotary", [0, 1])
def test_group_query_attention_prompt(how, rotary):
    q, k, v = f32(2, 6, 64), f32(2, 6, 32), f32(2, 6, 32)
    cos, sin = caches() if rotary else (None, None)
    lengths, total = s([5, 5], np.int32), s(6, np.int32)
    tol = dict(atol=1e-5, rtol=1e-4)
    compare("GroupQueryAttention", [q, k, v, None, None, lengths, total, cos, sin], 3, num_heads=4,
            kv_num_heads=2, do_rotary=rotary, **tol, **how)
    packed = np.concatenate([q, k, v], axis=2)
    compare("GroupQueryAttention", [packed, None, None, None, None, lengths, total, cos, sin], 3,
            num_heads=4, kv_num_heads=2, do_rotary=rotary, rotary_interleaved=rotary, **tol, **how)


@pytest.mark.parametrize("how", GQA)
@pytest.mark.parametrize("room", [7, 12])
def test_group_query_attention_token(how, room):
    q, k, v = f32(2, 1, 64), f32(2, 1, 32), f32(2, 1, 32)
    past = [f32(2, 2, room, 16), f32(2, 2, room, 16)]
    inputs = [q, k, v, *past, s([7, 4], np.int32), s(8, np.int32), *caches()]
    got, want = both("GroupQueryAttention", inputs, 3, num_heads=4, kv_num_heads=2, do_rotary=1, **how)
    np.testing.assert_allclose(got[0], want[0], 1e-4, 1e-5)
    for g, w in zip(got[1:], want[1:]):
        assert g.shape == w.shape
        for row, length in enumerate((8, 5)):
            np.testing.assert_allclose(g[row, :, :length], w[row, :, :length], 1e-5, 1e-6)


def test_group_query_attention_more():
    inputs = [f32(1, 3, 64), f32(1, 3, 32), f32(1, 3, 32), f32(1, 2, 5, 16), f32(1, 2, 5, 16),
              s([7], np.int32), s(8, np.int32), *caches()]
    tol = dict(atol=1e-5, rtol=1e-4)
    compare("GroupQueryAttention", inputs, 3, num_heads=4, kv_num_heads=2, do_rotary=1, **tol)
    compare("GroupQueryAttention", [*inputs, None, f32(1, 4, 3, 8)], 3, num_heads=4, kv_num_heads=2,
            **tol)
    compare("GroupQueryAttention", [*inputs, None, f32(1, 1, 3, 8), f32(4)], 3, num_heads=4,
            kv_num_heads=2, softcap=1.5, **tol)
    compare("GroupQueryAttention", [*inputs, s([[5, 6, 9]], np.int64)], 3, num_heads=4,
            kv_num_heads=2, do_rotary=1, **tol)


def both(op, inputs, n_outputs, **how):
    """What hone and ONNX Runtime give."""
    model = one_node.node_model(op, inputs, 1, how, n_outputs, MS)
    feeds = one_node.feeds_of(inputs)
    return hone_ctypes.run(model, feeds), run_ort(model, feeds)


# ---- weights in few bits ----

def pack(values, bits):
    """Numbers along the last axis, the first in the lowest bits."""
    per = 8 // bits
    pad = -values.shape[-1] % per
    v = np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, pad)]).reshape(*values.shape[:-1], -1, per)
    return (v.astype(np.uint32) << (np.arange(per) * bits)).sum(-1).astype(np.uint8)


@pytest.mark.parametrize("k,block", [(32, 16), (64, 32), (80, 32)])
@pytest.mark.parametrize("bits,zeros", [(4, None), (4, "packed"), (4, "real"), (8, None),
                                        (8, "packed"), (2, None)])
def test_mat_mul_n_bits(k, block, bits, zeros):
    n, blocks = 7, -(-k // block)
    w = rng.integers(0, 2**bits, (n, blocks, block))
    scale = rng.uniform(0.01, 0.1, (n, blocks)).astype(np.float32)
    zero = {None: None, "packed": pack(rng.integers(0, 2**bits, (n, blocks)), bits),
            "real": rng.uniform(0, 2**bits, (n, blocks)).astype(np.float32)}[zeros]
    how = dict(K=k, N=n, bits=bits, block_size=block, atol=1e-4, rtol=1e-4)
    a = f32(2, 3, k)
    compare("MatMulNBits", [a, pack(w, bits), scale, zero], constants=(1, 2, 3) if zeros else (1, 2),
            **how)
    if zeros is None:
        compare("MatMulNBits", [a, pack(w, bits), scale, None, None, f32(n)],
                constants=(1, 2, 5), **how)


def test_mat_mul_n_bits_groups():
    n, k, block = 5, 32, 16
    w, group = rng.integers(0, 16, (n, 2, block)), rng.integers(0, 2, k).astype(np.int32)
    scale, a = rng.uniform(0.01, 0.1, (n, 2)).astype(np.float32), f32(3, k)
    want = a @ ((w.reshape(n, k) - 8) * scale[:, group]).T
    compare("MatMulNBits", [a, pack(w, 4), scale, None, group], K=k, N=n, bits=4, block_size=block,
            expected=[want.astype(np.float32)], atol=1e-4)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("zeros", [False, True])
def test_gather_block_quantized_bytes(bits, zeros):
    w = rng.integers(0, 2**bits, (6, 4, 32))
    scale = rng.uniform(0.01, 0.1, (6, 4, 2)).astype(np.float32)
    zero = pack(rng.integers(0, 2**bits, (6, 4, 2)), bits) if zeros else None
    compare("GatherBlockQuantized", [pack(w, bits), s([[1, 5], [0, 3]], np.int64), scale, zero],
            bits=bits, block_size=16, gather_axis=0, quantize_axis=2,
            constants=(0, 2, 3) if zeros else (0, 2))


@pytest.mark.parametrize("gather,quantize", [(0, 1), (1, 0), (0, 2), (1, 1), (-1, 0)])
def test_gather_block_quantized_int4(gather, quantize):
    import ml_dtypes
    shape = [32, 32, 32]
    data = rng.integers(-8, 8, shape).astype(ml_dtypes.int4)
    shape[quantize] = 2
    scale = rng.uniform(0.01, 0.1, shape).astype(np.float32)
    zero = rng.integers(-8, 8, shape).astype(ml_dtypes.int4)
    compare("GatherBlockQuantized", [data, s([[1, 5], [0, 31]], np.int32), scale, zero],
            block_size=16, gather_axis=gather, quantize_axis=quantize, constants=(0, 2, 3))


# ---- the rest ----

@pytest.mark.parametrize("direction,n", [("forward", 1), ("reverse", 1), ("bidirectional", 2)])
@pytest.mark.parametrize("per_column", [False, True])
@pytest.mark.parametrize("w_type", [np.int8, np.uint8])
def test_dynamic_quantize_lstm(direction, n, per_column, w_type):
    size, hidden, steps, batch = 6, 5, 4, 1
    shape = (n, 4 * hidden) if per_column else (n,)
    zero = (lambda: np.full(shape, 0 if w_type is np.int8 else 30, w_type))
    scale = (lambda: rng.uniform(0.005, 0.01, shape).astype(np.float32))
    inputs = [f32(steps, batch, size), weights(w_type, n, size, 4 * hidden),
              weights(w_type, n, hidden, 4 * hidden), f32(n, 8 * hidden), None, f32(n, batch, hidden),
              f32(n, batch, hidden), f32(n, 3 * hidden), scale(), zero(), scale(), zero()]
    how = dict(hidden_size=hidden, direction=direction, rtol=1e-4, atol=1e-5)
    compare("DynamicQuantizeLSTM", inputs, 3, **how)
    inputs[5] = inputs[6] = inputs[7] = None
    compare("DynamicQuantizeLSTM", inputs, 3, **how)


def test_unique():
    compare("Unique", [s([3, 1, 3, 2, 1, 7])], 3)


def test_integer_math():
    a, b = ints(np.uint8, 3, 4), ints(np.uint8, 4)
    want = (a.astype(np.int32) - 3) * (b.astype(np.int32) - 200)
    compare("MulInteger", [a, s(3, np.uint8), b, s(200, np.uint8)], expected=[want])
    x = ints(np.int8, 3, 4, 5)
    compare("ReduceSumInteger", [x], axes=[1], keepdims=0, expected=[x.astype(np.int32).sum(1, dtype=np.int32)])


@pytest.mark.parametrize("shape", [(3, 3), (2, 5, 5), (2, 2, 4, 4), (1, 1)])
def test_inverse(shape):
    x = f32(*shape) + 3 * np.eye(shape[-1], dtype=np.float32)
    x[..., 0, 0] = 0 if shape[-1] > 1 else 2  # the first pivot is elsewhere
    compare("Inverse", [x], rtol=1e-3, atol=1e-4)
    compare("Inverse", [x.astype(np.float64)], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("metric", ["sqeuclidean", "euclidean"])
def test_c_dist(metric):
    compare("CDist", [f32(4, 6), f32(3, 6)], metric=metric, rtol=1e-4, atol=1e-4)
    compare("CDist", [f32(4, 6).astype(np.float64), f32(3, 6).astype(np.float64)], metric=metric)


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("crop", [(3, 4), (1, 5), (1, 1)])
def test_crop_and_resize(mode, crop):
    rois = s([[0.1, 0.2, 0.9, 0.8], [0.5, 0.5, 1.3, 0.6], [0.9, 1.0, 0.1, -0.1]])
    compare("CropAndResize", [f32(2, 3, 8, 9), rois, s([1, 0, 1], np.int32), s(crop, np.int32)],
            mode=mode, extrapolation_value=-7.0, atol=1e-5)


@pytest.mark.parametrize("shape,how", [
    ((1, 2, 12), dict(kernel_shape=[3], strides=[2])),
    ((1, 2, 7, 8), dict(kernel_shape=[2, 3], strides=[1, 2], pads=[1, 1, 0, 1])),
    ((1, 1, 4, 5, 6), dict(kernel_shape=[2, 2, 3]))])
def test_maxpool_with_mask(shape, how):
    mask = (rng.random((1, 1, *shape[2:])) > 0.3).astype(np.int32)
    compare("MaxpoolWithMask", [f32(*shape), mask], **how)


def test_rfft():
    x = f32(2, 3, 10)
    y = np.fft.rfft(x)
    pairs = np.stack([y.real, y.imag], -1).astype(np.float32)
    compare("Rfft", [x], signal_ndim=1, expected=[pairs], atol=1e-5)
    compare("Irfft", [pairs], signal_ndim=1, expected=[x], atol=1e-5)


@pytest.mark.parametrize("both_ways", [0, 1])
def test_relative_position_bias(both_ways):
    count, heads, queries, keys, longest = 32, 3, 9, 40, 20
    table = f32(count, heads)
    ahead = np.arange(keys)[None] - np.arange(queries)[:, None]
    n = count // 2 if both_ways else count
    base = (ahead > 0) * n if both_ways else 0
    distance = np.abs(ahead) if both_ways else np.maximum(-ahead, 0)
    exact = n // 2
    large = exact + (np.log(np.maximum(distance, 1) / exact) / np.log(longest / exact)
                     * (n - exact)).astype(int)
    bucket = base + np.where(distance < exact, distance, np.minimum(large, n - 1))
    compare("RelativePositionBias", [table, s([queries], np.int64), s([keys], np.int64)],
            max_distance=longest, is_bidirectional=both_ways,
            expected=[table.reshape(heads, count)[:, bucket][None]])


def test_gated_relative_position_bias():
    b, q, n, h, d = 2, 5, 3, 4, 8
    x, bias, rel, w, wb, eco = f32(b, q, n * h), f32(n * h), f32(1, n, q, q), f32(h, d), f32(d), f32(1, n, 1, 1)
    layer = (x + bias).reshape(b, q, n, h).transpose(0, 2, 1, 3)
    gate = 1 / (1 + np.exp(-(layer @ w + wb).reshape(b, n, q, 2, d // 2).sum(-1)))
    u, r = gate[..., :1], gate[..., 1:]
    compare("GatedRelativePositionBias", [x, bias, rel, w, wb, eco], num_heads=n, atol=1e-5,
            expected=[(u * (r * eco - 1) + 2) * rel])


@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("activation", [0, 1])
def test_group_norm(last, activation):
    x, gamma, beta, skip, bias = f32(2, 4, 5, 6), f32(6), f32(6), f32(2, 6), f32(6)

    def norm(v):
        g = v.reshape(2, 20, 3, 2).astype(np.float64)
        g = (g - g.mean((1, 3), keepdims=True)) / np.sqrt(g.var((1, 3), keepdims=True) + 1e-5)
        y = g.reshape(v.shape) * gamma + beta
        return (y / (1 + np.exp(-y)) if activation else y).astype(np.float32)

    def laid(v):
        return v if last else np.ascontiguousarray(v.transpose(0, 3, 1, 2))

    how = dict(groups=3, activation=activation, channels_last=last, atol=1e-5)
    compare("GroupNorm", [laid(x), gamma, beta], expected=[laid(norm(x))], **how)
    if last:
        total = x + skip[:, None, None] + bias
        compare("SkipGroupNorm", [x, gamma, beta, skip, bias], 2, expected=[norm(total), total], **how)


@pytest.mark.parametrize("kind", [0, 1])
def test_mat_mul_bnb4(kind):
    n, k, block = 6, 32, 16
    w, scale = ints(np.uint8, n * k // 2), rng.uniform(0.1, 2, n * k // block).astype(np.float32)
    compare("MatMulBnb4", [f32(3, k), w, scale], K=k, N=n, block_size=block, quant_type=kind,
            constants=(1, 2), atol=1e-4, rtol=1e-4)


def test_word_conv_embedding():
    words = s([[1, 5, 2, 0, 0, 0], [3, 0, 0, 0, 0, 0], [4, 4, 4, 4, 4, 7]], np.int32)
    compare("WordConvEmbedding", [words, f32(7, 1, 3, 4), f32(7), f32(8, 4)], atol=1e-5)
    got = one_node.run_node("WordConvEmbedding",
                            [words * 0, f32(7, 1, 3, 4), f32(7), f32(8, 4)], 1, domain=MS)
    assert not got[0].any()


def test_small_math():
    x, bias = f32(2, 3, 4, 5), f32(2, 1, 1, 5)
    e = np.exp(x + bias)
    compare("BiasSoftmax", [x, bias], axis=3, is_inner_broadcast=1, expected=[e / e.sum(-1, keepdims=True)],
            atol=1e-6)
    compare("BiasDropout", [x, f32(5) * 0, x], 2, expected=[x + x, np.ones(x.shape, bool)])
    compare("UnfoldTensor", [f32(2, 9, 3)], dim=1, size=3, step=2)
    compare("TorchEmbedding", [x, s([1, 0], np.int64)], expected=[x[[1, 0]]])
    a, b = f32(3, 2), f32(3, 2)
    product = (a[:, 0] + 1j * a[:, 1]) * (b[:, 0] + 1j * b[:, 1])
    compare("ComplexMul", [a, b], expected=[np.stack([product.real, product.imag], -1)])
    product = (a[:, 0] + 1j * a[:, 1]) * (b[:, 0] - 1j * b[:, 1])
    compare("ComplexMulConj", [a, b], expected=[np.stack([product.real, product.imag], -1)])


@pytest.mark.parametrize("bad,how,want", [
    (1.0, {}, True), (np.nan, {}, False), (np.inf, {}, False), (np.nan, dict(isinf_only=1), True),
    (-np.inf, dict(isnan_only=1), True)])
def test_is_all_finite(bad, how, want):
    compare("IsAllFinite", [f32(3), s([1, bad])], expected=[np.array(want)], **how)


# ---- empty tensors ----

def test_empty():
    compare("FusedMatMul", [f32(0, 4), f32(4, 3)])
    compare("BiasGelu", [f32(0, 4), f32(4)])
    compare("SkipLayerNormalization", [f32(2, 0, 4), f32(2, 0, 4), f32(4)])
    compare("QLinearAdd", [ints(np.uint8, 0, 4), s(0.1), s(3, np.uint8), ints(np.uint8, 0, 4), s(0.1),
                           s(3, np.uint8), s(0.1), s(3, np.uint8)])
    compare("MatMulIntegerToFloat", [ints(np.uint8, 0, 4), ints(np.uint8, 4, 3), s(0.1), s(0.1)])


# ---- half floats ----

@pytest.mark.parametrize("op,inputs,how", [
    ("BiasGelu", [(2, 8), (8,)], {}), ("FastGelu", [(2, 8)], {}), ("QuickGelu", [(2, 8)], {}),
    ("FusedMatMul", [(3, 4), (4, 5)], {}),
    ("SkipLayerNormalization", [(2, 3, 8), (2, 3, 8), (8,), (8,)], {}),
    ("Attention", [(2, 5, 12), (12, 24), (24,)], dict(num_heads=2)),
    ("MultiHeadAttention", [(2, 5, 8), (2, 5, 8), (2, 5, 8)], dict(num_heads=2))])
def test_half(op, inputs, how):
    """Half floats give what single ones give, rounded."""
    single = [f32(*shape).astype(np.float16).astype(np.float32) for shape in inputs]
    half = [x.astype(np.float16) for x in single]
    want = one_node.run_node(op, single, 1, domain=MS, **how)
    compare(op, half, expected=[w.astype(np.float16) for w in want], rtol=1e-2, atol=1e-2, **how)


# ---- what is refused ----

def test_refused():
    x = f32(2, 5, 12)
    assert "num_heads" in fails("Attention", [x, f32(12, 24), f32(24)])
    assert "do_rotary" in fails("Attention", [x, f32(12, 24), f32(24)],
                                            num_heads=2, do_rotary=1)
    assert "activation" in fails("FusedGemm", [f32(3, 4), f32(4, 5)],
                                             activation="What")
    assert "bits" in fails("MatMulNBits", [f32(3, 32), ints(np.uint8, 5, 2, 8), f32(5, 2)],
                                       N=5, K=32, bits=5, block_size=16)
    assert "threes" in fails("QLinearConcat", [s(1), s(1, np.uint8), ints(np.uint8, 2)],
                                         axis=0)
    assert "crop_size" in fails(
        "CropAndResize", [f32(1, 1, 4, 4), f32(1, 4), s([0], np.int32), s([3, 0], np.int32)])
    assert "metric" in fails("CDist", [f32(2, 3), f32(2, 3)], metric="cosine")
    assert "quantized cache" in fails(
        "GroupQueryAttention", [x, x, x, None, None, s([4, 4], np.int32), s(5, np.int32)],
        num_heads=2, kv_num_heads=2, k_quant_type="PER_TENSOR")
