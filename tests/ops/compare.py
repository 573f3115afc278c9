"""hone's outputs against those of a reference, value by value."""

import numpy as np
import onnxruntime
from onnx.reference import ReferenceEvaluator

import hone_ctypes

onnxruntime.set_default_logger_severity(4)


def run_ort(model, feeds):
    """On ONNX Runtime without its optimizations."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def reference(model, feeds):
    """On ONNX Runtime, or the onnx package's evaluator where that has no kernel."""
    try:
        return run_ort(model, feeds)
    except Exception as error:  # noqa: BLE001 - no kernel, or a type that it does not take
        try:
            return ReferenceEvaluator(model).run(None, feeds)
        except Exception:  # noqa: BLE001 - the first refusal says more
            raise error from None


def same(got, want, rtol, atol, where="value"):
    """Fails unless `got` equals `want`: integers and strings exactly, floats within bounds."""
    if isinstance(want, list):
        assert isinstance(got, list) and len(got) == len(want), where
        for i, (g, w) in enumerate(zip(got, want)):
            same(g, w, rtol, atol, f"{where}[{i}]")
        return
    if isinstance(want, dict):
        assert sorted(got) == sorted(want), where
        for key in want:
            same(np.float32(got[key]), np.float32(want[key]), rtol, atol, f"{where}[{key}]")
        return
    want = np.asarray(want)
    assert got.shape == want.shape, f"{where}: shape {got.shape}, wanted {want.shape}"
    if want.dtype.kind in "OSU":
        assert got.astype(str).tolist() == want.astype(str).tolist(), where
        return
    assert got.dtype == want.dtype, f"{where}: {got.dtype}, wanted {want.dtype}"
    if want.dtype.kind in "iub":
        np.testing.assert_array_equal(got, want, err_msg=where)
        return
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    np.testing.assert_allclose(got.astype(wide), want.astype(wide), rtol, atol, err_msg=where)


def by_name(model, values):
    """Values in the order of the model's inputs, as a dict; a dict as it is."""
    if isinstance(values, dict):
        return values
    return {info.name: value for info, value in zip(model.graph.input, values)}


def check_model(model, feeds, expected=None, rtol=1e-5, atol=1e-6):
    """Fails unless hone gives `expected`, or else what the reference gives. `feeds`: a dict by
    name, or a list in order. Gives hone's outputs."""
    feeds = by_name(model, feeds)
    if expected is None:
        expected = reference(model, feeds)
    got = hone_ctypes.run(model, feeds)
    assert len(got) == len(expected)
    for i, (g, w) in enumerate(zip(got, expected)):
        same(g, w, rtol, atol, f"output {i}")
    return got
