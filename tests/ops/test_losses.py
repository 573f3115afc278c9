"""Losses of labels: weights, ignored labels, reductions, ranks."""

import numpy as np
import pytest
from one_node import check

RNG = np.random.default_rng(4)


@pytest.mark.parametrize("ignored", [None, 1, -1, 255])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("shape", [(5, 3), (5, 3, 2), (2, 3, 4, 5)])
def test_losses(shape, reduction, weighted, ignored):
    scores = RNG.standard_normal(shape).astype(np.float32)
    labels = RNG.integers(0, 3, shape[:1] + shape[2:])
    attrs = {"reduction": reduction}
    if ignored is not None:
        attrs["ignore_index"] = labels.flat[0] = ignored
    weights = [np.abs(RNG.standard_normal(3)).astype(np.float32)] if weighted else []
    for opset, dtype in ((12, np.int32), (13, np.int64)):
        inputs = [scores, labels.astype(dtype), *weights]
        check("NegativeLogLikelihoodLoss", inputs, opset, attrs, rtol=1e-4, atol=1e-5)
        check("SoftmaxCrossEntropyLoss", inputs, opset, attrs, n_outputs=2, rtol=1e-4, atol=1e-5)
