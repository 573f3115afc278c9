"""One compilation serves every batch in 1..64 and every length in 1..512: 50 sizes, drawn and at
the borders, of a small transformer and a small convolution network, against `ref`."""

import numpy as np
import pytest
from test_targets import NETS

import hone_ctypes

COUNT, MOST_BATCH, MOST_LENGTH = 50, 64, 512


def sizes(generator):
    """Both borders of both; then drawn with small ones as likely as large ones, and no more words
    than keeps `ref` quick."""
    yield from [(1, 1), (1, MOST_LENGTH), (MOST_BATCH, 1), (2, 255), (3, 257)]
    for _ in range(COUNT - 5):
        batch = int(np.exp(generator.uniform(0, np.log(MOST_BATCH + 1))))
        most = min(MOST_LENGTH, 2048 // batch)
        yield batch, int(np.exp(generator.uniform(0, np.log(most + 1))))


@pytest.mark.slow
@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("device", ["cpu"])
def test_fifty_sizes_of_one_compilation(name, device, tmp_path):
    path = str(tmp_path / "net.onnx")
    make = NETS[name](path)
    dims = {"batch": (1, MOST_BATCH), "length": (1, MOST_LENGTH)}
    if name == "conv_net":
        del dims["length"]
    compiled = hone_ctypes.Session(path, device, dims=dims)
    reference = hone_ctypes.Session(path, "ref", dims=dims)
    seen = 0
    for batch, length in sizes(np.random.default_rng(7)):
        feeds = make(batch, length)
        for want, got in zip(reference.run(feeds), compiled.run(feeds)):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5,
                                       err_msg=f"batch {batch}, length {length}")
        seen += 1
    assert seen == COUNT
