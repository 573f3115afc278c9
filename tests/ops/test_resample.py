"""Resize and the other resampling operators against ONNX Runtime."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

import graphs

TRANSFORMS = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"]


def noise(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def one_node(op_type, opset, arrays, constants=(), **attrs):
    """A model of one node: inputs `arrays` (None: left out), then constants."""
    g = graphs.Graph(opset)
    names = []
    for i, a in enumerate(arrays):
        names.append("" if a is None else g.input(f"x{i}", a.dtype, list(a.shape)))
    for c in constants:
        names.append("" if c is None else g.const(c, np.asarray(c).dtype))
    return g.model(g.op(op_type, *names, **attrs))


def sizes_are(*sizes):
    return [None, None, np.array(sizes, np.int64)]


def scales_are(*scales):
    return [None, np.array(scales, np.float32)]


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("sizes", [(1, 2, 9, 11), (1, 2, 3, 4), (1, 2, 1, 1), (1, 2, 5, 14)])
def test_resize_to_sizes(transform, mode, sizes):
    x = noise(1, 2, 5, 7)
    model = one_node("Resize", 19, [x], sizes_are(*sizes), mode=mode,
                     coordinate_transformation_mode=transform)
    graphs.same_as_ort(model, x, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("rounding", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
@pytest.mark.parametrize("transform", TRANSFORMS)
@settings(max_examples=25, deadline=None)
@given(size=st.integers(1, 12), scale=st.sampled_from([0.25, 0.5, 0.75, 1.5, 2, 2.5, 3]))
def test_resize_nearest_by_scale(rounding, transform, size, scale):
    assume(1 <= int(scale * size) != size)  # ONNX Runtime copies where no extent changes
    # The specification leaves open whether align_corners counts with the exact length.
    assume(transform != "align_corners" or float(scale * size).is_integer())
    x = noise(1, 1, size, 3)
    model = one_node("Resize", 13, [x], scales_are(1, 1, scale, 1), mode="nearest",
                     nearest_mode=rounding, coordinate_transformation_mode=transform)
    graphs.same_as_ort(model, x)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("scales", [(0.6, 0.6), (2.3, 1.7), (0.5, 2)])
@pytest.mark.parametrize("exclude", [0, 1])
def test_resize_by_scales(mode, scales, exclude):
    if mode == "linear" and exclude:
        pytest.skip("ONNX Runtime has it for cubic only")
    x = noise(2, 3, 8, 9)
    model = one_node("Resize", 11, [x, np.zeros(0, np.float32)],
                     [np.array([1, 1, *scales], np.float32)], mode=mode, exclude_outside=exclude,
                     cubic_coeff_a=-0.5)
    graphs.same_as_ort(model, x, np.zeros(0, np.float32), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["linear", "nearest"])
@pytest.mark.parametrize("extrapolation", [0.0, 10.0])
def test_resize_crops(mode, extrapolation):
    x = noise(1, 1, 6, 7)
    roi = np.array([0, 0, 0.2, -0.3, 1, 1, 0.9, 1.2], np.float32)
    model = one_node("Resize", 13, [x], [roi, None, np.array([1, 1, 4, 5], np.int64)], mode=mode,
                     coordinate_transformation_mode="tf_crop_and_resize",
                     extrapolation_value=extrapolation)
    graphs.same_as_ort(model, x, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("policy", ["stretch", "not_larger", "not_smaller"])
@pytest.mark.parametrize("symbolic", [False, True])
def test_resize_keeps_the_aspect_ratio(policy, symbolic):
    x = noise(1, 1, 6, 10)
    g = graphs.Graph(18)
    name = g.input("x", np.float32, [1, 1, "h", "w"] if symbolic else list(x.shape))
    y = g.op("Resize", name, "", "", g.const([9, 12]), axes=[2, 3], mode="nearest",
             keep_aspect_ratio_policy=policy)
    (got,) = graphs.run(g.model(y), x)
    scale = {"not_larger": min(9 / 6, 12 / 10), "not_smaller": max(9 / 6, 12 / 10)}.get(policy)
    wanted = (9, 12) if scale is None else (int(scale * 6 + 0.5), int(scale * 10 + 0.5))
    assert got.shape == (1, 1, *wanted)


@pytest.mark.parametrize("scale", [2.0, 1.5, 0.4, 1 / 3])
def test_resize_scales_given_at_run_time(scale):
    x, scales = noise(1, 2, 6, 9), np.array([1, 1, scale, 1.25], np.float32)
    fixed = one_node("Resize", 13, [x], [None, scales], mode="linear")
    open_ = one_node("Resize", 13, [x, None, scales], mode="linear")
    np.testing.assert_allclose(graphs.run(open_, x, scales)[0], graphs.run(fixed, x)[0],
                               rtol=1e-6)


def test_resize_of_strings_and_integers():
    words = np.array([["a", "b"], ["c", "d"]], object)
    g = graphs.Graph(13)
    from onnx import TensorProto, helper
    g.inputs.append(helper.make_tensor_value_info("x", TensorProto.STRING, [2, 2]))
    model = g.model(g.op("Resize", "x", "", g.const([1, 2], np.float32), mode="nearest"))
    assert graphs.run(model, words)[0].tolist() == [["a", "a", "b", "b"], ["c", "c", "d", "d"]]
    x = np.array([[0, 255, 10]], np.uint8)
    model = one_node("Resize", 13, [x], scales_are(1, 2), mode="linear")
    assert graphs.run(model, x)[0].tolist() == [[0, 64, 191, 194, 71, 10]]


@pytest.mark.parametrize("opset,op_type", [(10, "Resize"), (9, "Upsample"), (7, "Upsample")])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("scales", [(2.0, 3.0), (1.5, 2.0), (0.6, 0.6)])
def test_before_resize_had_transforms(opset, op_type, mode, scales):
    if op_type == "Upsample" and min(scales) < 1:
        pytest.skip("Upsample does not shrink")
    x = noise(1, 2, 4, 5)
    all_scales = np.array([1, 1, *scales], np.float32)
    if opset == 7:
        model = one_node(op_type, opset, [x], mode=mode, scales=all_scales.tolist())
    else:
        model = one_node(op_type, opset, [x], [all_scales], mode=mode)
    graphs.same_as_ort(model, x, rtol=1e-4, atol=1e-5)


def test_upsample_1():
    x = noise(1, 1, 2, 3)
    model = one_node("Upsample", 1, [x], mode="nearest", height_scale=2.0, width_scale=3.0)
    np.testing.assert_array_equal(graphs.run(model, x)[0], x.repeat(2, 2).repeat(3, 3))


@pytest.mark.parametrize("mode,padding,align", list(itertools.product(
    ["linear", "nearest", "cubic"], ["zeros", "border", "reflection"], [0, 1])))
def test_grid_sample(mode, padding, align):
    x, grid = noise(2, 3, 5, 6), noise(2, 4, 7, 2, seed=1) * 1.5
    old = {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode)
    for opset, name in [(16, old), (20, mode)]:
        model = one_node("GridSample", opset, [x, grid], mode=name, padding_mode=padding,
                         align_corners=align)
        graphs.same_as_ort(model, x, grid, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("mode,padding,align", list(itertools.product(
    ["linear", "nearest"], ["zeros", "border", "reflection"], [0, 1])))
def test_grid_sample_of_volumes(mode, padding, align):
    x, grid = noise(1, 2, 3, 4, 5), noise(1, 2, 3, 4, 3, seed=1) * 1.5
    model = one_node("GridSample", 20, [x, grid], mode=mode, padding_mode=padding,
                     align_corners=align)
    graphs.same_as_ort(model, x, grid, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("align", [0, 1])
@pytest.mark.parametrize("size", [(2, 3, 4, 5), (2, 3, 2, 4, 5)])
def test_affine_grid(align, size):
    n = len(size) - 2
    theta = noise(2, n, n + 1)
    model = one_node("AffineGrid", 20, [theta], [np.array(size, np.int64)], align_corners=align)
    graphs.same_as_ort(model, theta)


@pytest.mark.parametrize("opset,transform", [(10, None), (16, "half_pixel"),
                                             (16, "output_half_pixel")])
@pytest.mark.parametrize("sampling", [0, 2])
@pytest.mark.parametrize("mode", ["avg", "max"])
def test_roi_align(opset, transform, sampling, mode):
    x = noise(2, 3, 10, 12)
    rois = np.array([[0, 0, 9, 9], [1, 2, 30, 25], [-4, -4, 3, 5], [5, 5, 5, 5]], np.float32)
    batch = np.array([0, 1, 0, 1], np.int64)
    attrs = {"coordinate_transformation_mode": transform} if transform else {}
    model = one_node("RoiAlign", opset, [x, rois, batch], mode=mode, output_height=3,
                     output_width=4, sampling_ratio=sampling, spatial_scale=0.5, **attrs)
    graphs.same_as_ort(model, x, rois, batch, rtol=1e-4, atol=1e-5)


def test_max_roi_pool():
    x = noise(2, 3, 10, 12)
    rois = np.array([[0, 0, 0, 9, 9], [1, 2, 4, 20, 18], [0, 30, 30, 40, 40], [1, 3, 3, 3, 3]],
                    np.float32)
    model = one_node("MaxRoiPool", 1, [x, rois], pooled_shape=[3, 2], spatial_scale=0.6)
    graphs.same_as_ort(model, x, rois)


@pytest.mark.parametrize("pads,strides,dilations", [((0, 0, 0, 0), (1, 1), (1, 1)),
                                                    ((1, 0, 2, 1), (2, 1), (1, 2))])
def test_col2im(pads, strides, dilations):
    image, block = (7, 8), (2, 3)
    blocks = [(image[i] + pads[i] + pads[i + 2] - dilations[i] * (block[i] - 1) - 1) // strides[i]
              + 1 for i in range(2)]
    x = noise(2, 3 * 6, blocks[0] * blocks[1])
    model = one_node("Col2Im", 18, [x], [np.array(image, np.int64), np.array(block, np.int64)],
                     pads=pads, strides=strides, dilations=dilations)
    graphs.same_as_ort(model, x)


def test_max_unpool_undoes_max_pool():
    x = noise(2, 3, 6, 8)
    g = graphs.Graph(11)
    name = g.input("x", np.float32, list(x.shape))
    y, index = g.op("MaxPool", name, n_outputs=2, kernel_shape=[2, 2], strides=[2, 2])
    graphs.same_as_ort(g.model(g.op("MaxUnpool", y, index, kernel_shape=[2, 2], strides=[2, 2])),
                       x)


@pytest.mark.parametrize("limit", [3, 200, 900])
@pytest.mark.parametrize("threshold", [None, 0.5])
def test_non_max_suppression_of_many(limit, threshold):
    """More than are sorted at a time, and more kept ones than are looked at together."""
    random = np.random.default_rng(limit)
    b = np.concatenate([random.random((1, 900, 2)), random.random((1, 900, 2)) / 20], 2)
    s = random.integers(0, 300, (1, 2, 900)).astype(np.float32) / 300
    extra = [np.array([limit], np.int64), np.array([0.4], np.float32)]
    if threshold:
        extra.append(np.array([threshold], np.float32))
    b = b.astype(np.float32)
    model = one_node("NonMaxSuppression", 11, [b, s], extra, center_point_box=1)
    graphs.same_as_ort(model, b, s)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 12), st.integers(1, 3), st.integers(0, 6), st.sampled_from([0, 1]),
       st.booleans(), st.integers(0, 2**32 - 1))
def test_non_max_suppression(boxes, classes, limit, centered, threshold, seed):
    random = np.random.default_rng(seed)
    b = random.random((2, boxes, 4)).astype(np.float32)
    s = random.integers(0, 8, (2, classes, boxes)).astype(np.float32) / 8
    extra = [np.array([limit], np.int64), np.array([0.3], np.float32)]
    if threshold:
        extra.append(np.array([0.4], np.float32))
    model = one_node("NonMaxSuppression", 11, [b, s], extra, center_point_box=centered)
    graphs.same_as_ort(model, b, s)
