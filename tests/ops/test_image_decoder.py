"""ImageDecoder against Pillow: every format, many modes, damaged files."""

import io

import numpy as np
import pytest
from PIL import Image

import hone_ctypes
import one_node

rng = np.random.default_rng(7)


def picture(mode, width=37, height=23):
    rgb = rng.integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(rgb).convert(mode)


def encode(image, kind, **options):
    with io.BytesIO() as file:
        image.save(file, format=kind, **options)
        return np.frombuffer(file.getvalue(), np.uint8)


def decode(data, pixel_format="RGB"):
    try:
        return one_node.run_node("ImageDecoder", [data], 20, pixel_format=pixel_format)[0]
    except hone_ctypes.HoneError as error:
        if "install the package" in str(error):
            pytest.skip(str(error))
        raise


@pytest.mark.parametrize("kind", ["BMP", "PNG", "TIFF", "PPM", "WEBP", "JPEG", "JPEG2000"])
@pytest.mark.parametrize("mode", ["RGB", "L", "1", "P", "RGBA", "CMYK"])
def test_modes(kind, mode):
    try:
        data = encode(picture(mode), kind)
    except (OSError, ValueError):
        pytest.skip(f"Pillow writes no {kind} of mode {mode}")
    want = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
    if kind == "TIFF" and mode in ("RGBA", "CMYK"):  # libtiff multiplies by alpha, and has inks
        assert decode(data).shape == want.shape
        return
    np.testing.assert_allclose(decode(data).astype(int), want, atol=1 if mode == "CMYK" else 0)


@pytest.mark.parametrize("kind,options", [
    ("JPEG", {"progressive": True}), ("JPEG", {"subsampling": 0}), ("JPEG", {"quality": 30}),
    ("TIFF", {"compression": "tiff_lzw"}), ("TIFF", {"compression": "packbits"}),
    ("WEBP", {"lossless": True}), ("JPEG2000", {"irreversible": True})])
def test_options(kind, options):
    data = encode(picture("RGB"), kind, **options)
    np.testing.assert_array_equal(decode(data), np.asarray(Image.open(io.BytesIO(data))))


def test_pixel_formats():
    image = picture("RGB")
    data = encode(image, "PNG")
    np.testing.assert_array_equal(decode(data, "BGR"), np.asarray(image)[:, :, ::-1])
    np.testing.assert_array_equal(decode(data, "Grayscale")[:, :, 0], np.asarray(image.convert("L")))


@pytest.mark.parametrize("data,want", [
    (b"P1\n# bits\n3 2\n1 0 1\n010", [[0, 255, 0], [255, 0, 255]]),
    (b"P2 2 1 15 0 15", [[0, 255]]),
    (b"P4\n9 1\n\x80\x80", [[0] + [255] * 7 + [0]]),
    (b"P5\n2 1\n65535\n\x00\x00\xff\xff", [[0, 255]]),
])
def test_anymaps(data, want):
    got = decode(np.frombuffer(data, np.uint8))
    np.testing.assert_array_equal(got[:, :, 0], want)
    np.testing.assert_array_equal(got[:, :, 2], want)


def test_anymap_colors():
    got = decode(np.frombuffer(b"P3 1 2 255 1 2 3\n4 5 6", np.uint8))
    np.testing.assert_array_equal(got, [[[1, 2, 3]], [[4, 5, 6]]])


def bmp(bits, compression, pixels, width=2, height=2, palette=b"", masks=b""):
    at = 14 + 40 + len(masks) + len(palette)
    info = np.array([40, width, height], "<i4").tobytes() + np.array([1, bits], "<u2").tobytes()
    info += np.array([compression, len(pixels), 0, 0, len(palette) // 4, 0], "<u4").tobytes()
    head = b"BM" + np.array([at + len(pixels), 0, at], "<u4").tobytes()
    return np.frombuffer(head + info + masks + palette + pixels, np.uint8)


GRAYS = b"\x00\x00\x00\x00\x40\x40\x40\x00\xff\xff\xff\x00"


def test_bmp_runs():
    data = bmp(8, 1, b"\x02\x01\x00\x00\x00\x02\x01\x00\x01\x02\x00\x01", palette=GRAYS)
    np.testing.assert_array_equal(decode(data)[:, :, 0], [[0, 255], [64, 64]])
    data = bmp(4, 2, b"\x02\x12\x00\x00\x02\x20\x00\x01", palette=GRAYS)
    np.testing.assert_array_equal(decode(data)[:, :, 0], [[255, 0], [64, 255]])
    data = bmp(8, 1, b"\x00\x03\x01\x02\x01\x00\x00\x01", 3, 1, palette=GRAYS)
    np.testing.assert_array_equal(decode(data)[:, :, 0], [[64, 255, 64]])


def test_bmp_16_bits_and_top_down():
    data = bmp(16, 0, b"\x00\x7c\xe0\x03\x1f\x00\xff\x7f", 2, -2)
    np.testing.assert_array_equal(
        decode(data), [[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [255, 255, 255]]])
    masks = np.array([0xf800, 0x07e0, 0x001f], "<u4").tobytes()
    data = bmp(16, 3, b"\x00\xf8\xe0\x07", 2, 1, masks=masks)
    np.testing.assert_array_equal(decode(data), [[[255, 0, 0], [0, 255, 0]]])


@pytest.mark.parametrize("kind", ["BMP", "PNG", "PPM", "WEBP", "TIFF", "JPEG2000"])
def test_damaged(kind):
    """What cannot be decoded gives an empty picture, and nothing worse."""
    data = encode(picture("RGB"), kind)
    for size in [0, 1, 2, 10, 30, len(data) // 2]:
        got = decode(data[:size])
        assert got.shape[2] == 3
        if size <= 2:
            assert got.shape == (0, 0, 3)
    assert decode(np.frombuffer(b"no picture at all", np.uint8)).shape == (0, 0, 3)


def test_absurd_sizes():
    assert decode(bmp(24, 0, b"", 1 << 30, 1 << 30)).size == 0
    assert decode(np.frombuffer(b"P6 999999999 999999999 255\n", np.uint8)).size == 0
