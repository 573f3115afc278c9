"""Element types: hone's numbers (those of ONNX) and NumPy's types."""

import numpy as np

try:
    import ml_dtypes
except ImportError:  # the small float types need it; everything else does not
    ml_dtypes = None

STRING = 8

_NUMPY = {
    1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64,
    9: np.bool_, 10: np.float16, 11: np.float64, 12: np.uint32, 13: np.uint64, 14: np.complex64,
    15: np.complex128,
}
_SMALL = {
    16: "bfloat16", 17: "float8_e4m3fn", 18: "float8_e4m3fnuz", 19: "float8_e5m2",
    20: "float8_e5m2fnuz", 21: "uint4", 22: "int4", 23: "float4_e2m1fn", 24: "float8_e8m0fnu",
    25: "uint2", 26: "int2", 27: "float6_e2m3fn", 28: "float6_e3m2fn",
}
# How elements of the small types lie in memory, for those without ml_dtypes.
_BITS = {16: np.uint16, 22: np.int8, 26: np.int8}

_TO_NUMPY = {number: np.dtype(kind) for number, kind in _NUMPY.items()}
for _number, _name in _SMALL.items():
    _kind = getattr(ml_dtypes, _name, None) if ml_dtypes else None
    _TO_NUMPY[_number] = np.dtype(_kind or _BITS.get(_number, np.uint8))
_FROM_NUMPY = {dtype: number for number, dtype in reversed(_TO_NUMPY.items())}


def to_numpy(number):
    """The NumPy dtype for hone's number of a type."""
    return _TO_NUMPY[number]


def from_numpy(dtype):
    """hone's number for a NumPy dtype; TypeError when there is none."""
    if dtype.kind in "OSUT":
        return STRING
    number = _FROM_NUMPY.get(dtype.newbyteorder("="))
    if number is None:
        raise TypeError(f"hone has no element type for NumPy's {dtype}")
    return number
