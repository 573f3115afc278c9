"""Values at the border: NumPy arrays, lists, dicts and None become tensors of hone and back.

Arrays are not copied in either direction where their layout allows it.
"""

import numpy as np

from . import dtype as dtypes
from ._error import check
from ._native import ffi, lib

# What C still looks at: owner handle -> (array, handle).
_lent = {}


@ffi.def_extern()
def hone_python_release(owner):
    _lent.pop(int(ffi.cast("intptr_t", owner)), None)


def _owned(out):
    return ffi.gc(out[0], lib.hone_tensor_release)


def _string_tensor(array):
    out = ffi.new("hone_tensor_t**")
    dims = ffi.new("int64_t[]", list(array.shape) or [0])
    check(lib.hone_tensor_create(ffi.NULL, dtypes.STRING, array.ndim, dims, out))
    tensor = _owned(out)
    for i, item in enumerate(array.reshape(-1).tolist()):
        data = item if isinstance(item, bytes) else str(item).encode()
        check(lib.hone_tensor_set_string(tensor, i, data, len(data)))
    return tensor


def _sign_extended(number, array):
    """hone keeps i4 and i2 sign-extended; the bits above them are open in NumPy's."""
    shift = {22: 4, 26: 6}.get(number)
    if shift is None:
        return array
    raw = array.view(np.int8)
    return np.asarray(np.left_shift(raw, shift) >> np.int8(shift))  # of a scalar, too


def _array_tensor(array):
    number = dtypes.from_numpy(array.dtype)
    if number == dtypes.STRING:
        return _string_tensor(array)
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    native = _sign_extended(number, np.ascontiguousarray(native).reshape(array.shape))
    out = ffi.new("hone_tensor_t**")
    dims = ffi.new("int64_t[]", list(array.shape) or [0])
    key = id(native)
    while key in _lent:
        key += 1
    _lent[key] = native
    try:
        check(lib.hone_tensor_wrap(ffi.NULL, number, array.ndim, dims,
                                   ffi.cast("void*", native.ctypes.data),
                                   lib.hone_python_release, ffi.cast("void*", key), out))
    except Exception:
        _lent.pop(key, None)
        raise
    return _owned(out)


def _sequence_tensor(kind, items):
    tensors = [to_tensor(item) for item in items]
    out = ffi.new("hone_tensor_t**")
    check(lib.hone_sequence_create(ffi.NULL, kind, len(tensors),
                                   ffi.new("hone_tensor_t*[]", tensors or [ffi.NULL]), out))
    return _owned(out)


def _from_proto(value):
    """Arrays and lists of the onnx package's messages; other values as they are."""
    name = type(value).__name__
    if name not in ("TensorProto", "SequenceProto", "OptionalProto", "MapProto", "SparseTensorProto"):
        return value
    from onnx import numpy_helper  # only whoever has such a message needs it
    reader = {"TensorProto": numpy_helper.to_array, "SequenceProto": numpy_helper.to_list,
              "OptionalProto": numpy_helper.to_optional, "MapProto": numpy_helper.to_dict}[name]
    return reader(value)


def to_tensor(value):
    """A hone_tensor_t that frees itself, from an array, list, dict, None or onnx message."""
    value = _from_proto(value)
    if value is None:
        out = ffi.new("hone_tensor_t**")
        check(lib.hone_none_create(ffi.NULL, out))
        return _owned(out)
    if isinstance(value, dict):
        return _sequence_tensor(lib.HONE_KIND_MAP, [np.array(list(value.keys())),
                                                    np.array(list(value.values()))])
    if isinstance(value, (list, tuple)):
        return _sequence_tensor(lib.HONE_KIND_SEQUENCE, value)
    return _array_tensor(np.asarray(value))


class _Memory:
    """Lets NumPy look into a tensor, which lives as long as the array."""

    def __init__(self, tensor, shape, dtype):
        self.tensor = tensor
        address = int(ffi.cast("intptr_t", lib.hone_tensor_data(tensor)))
        self.__array_interface__ = {"shape": shape, "typestr": f"|V{dtype.itemsize}",
                                    "data": (address, False), "version": 3}


def _strings(tensor, count):
    data = ffi.cast("hone_string_t*", lib.hone_tensor_data(tensor))
    out = np.empty(count, object)
    for i in range(count):
        out[i] = ffi.buffer(data[i].data, data[i].size)[:].decode(errors="surrogateescape")
    return out


def _array(tensor):
    rank, count = lib.hone_tensor_rank(tensor), lib.hone_tensor_count(tensor)
    dims = lib.hone_tensor_dims(tensor)
    shape = tuple(dims[i] for i in range(rank))
    number = lib.hone_tensor_dtype(tensor)
    if number == dtypes.STRING:
        return _strings(tensor, count).reshape(shape)
    dtype = dtypes.to_numpy(number)
    if count == 0:
        return np.empty(shape, dtype)
    return np.asarray(_Memory(tensor, shape, dtype)).view(dtype)


def from_tensor(tensor):
    """An array, list, dict or None; `tensor` frees itself."""
    kind = lib.hone_tensor_kind(tensor)
    if kind == lib.HONE_KIND_NONE:
        return None
    if kind == lib.HONE_KIND_TENSOR:
        return _array(tensor)
    items = []
    for i in range(lib.hone_tensor_count(tensor)):
        item = lib.hone_sequence_item(tensor, i)
        lib.hone_tensor_retain(item)
        items.append(from_tensor(ffi.gc(item, lib.hone_tensor_release)))
    if kind == lib.HONE_KIND_SEQUENCE:
        return items
    values = items[1].tolist() if isinstance(items[1], np.ndarray) else items[1]
    return dict(zip(items[0].tolist(), values))
