"""hone through ctypes, without the Python package: for tests of the library alone.

The library is build/*/libhone.so, newest first, or what HONE_LIBRARY names.
"""

import ctypes as C
import glob
import os
import weakref

import ml_dtypes
import numpy as np
import onnx

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def _library_path():
    if os.environ.get("HONE_LIBRARY"):
        return os.environ["HONE_LIBRARY"]
    found = glob.glob(os.path.join(ROOT, "build", "*", "libhone.so"))
    if not found:
        raise RuntimeError("no build/*/libhone.so: build first (make)")
    return max(found, key=os.path.getmtime)


lib = C.CDLL(_library_path())
PTR = C.c_void_p
for _name, _result in {
    "hone_status_message": C.c_char_p,
    "hone_tensor_data": PTR,
    "hone_tensor_dims": C.POINTER(C.c_int64),
    "hone_tensor_count": C.c_int64,
    "hone_tensor_bytes": C.c_size_t,
    "hone_sequence_item": PTR,
    "hone_session_input_name": C.c_char_p,
    "hone_session_output_name": C.c_char_p,
}.items():
    getattr(lib, _name).restype = _result
for _name in ("hone_model_load_memory", "hone_session_create", "hone_session_run",
              "hone_tensor_create", "hone_sequence_create", "hone_none_create",
              "hone_tensor_set_string", "hone_model_load"):
    getattr(lib, _name).restype = PTR
lib.hone_tensor_set_string.argtypes = [PTR, C.c_int64, C.c_char_p, C.c_size_t]
lib.hone_sequence_create.argtypes = [PTR, C.c_int, C.c_int64, PTR, PTR]

# hone's numbers are those of TensorProto.DataType.
DTYPES = {
    1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64,
    9: np.bool_, 10: np.float16, 11: np.float64, 12: np.uint32, 13: np.uint64, 14: np.complex64,
    15: np.complex128, 16: ml_dtypes.bfloat16, 17: ml_dtypes.float8_e4m3fn,
    18: ml_dtypes.float8_e4m3fnuz, 19: ml_dtypes.float8_e5m2, 20: ml_dtypes.float8_e5m2fnuz,
    21: ml_dtypes.uint4, 22: ml_dtypes.int4, 23: ml_dtypes.float4_e2m1fn,
    24: ml_dtypes.float8_e8m0fnu, 25: ml_dtypes.uint2, 26: ml_dtypes.int2,
    27: ml_dtypes.float6_e2m3fn, 28: ml_dtypes.float6_e3m2fn,
}
NUMBERS = {np.dtype(v): k for k, v in DTYPES.items()}


class HoneError(Exception):
    pass

# NumPy leaves the high bits of these open; hone extends the sign into them.
SIGN_EXTENDED = [np.dtype(ml_dtypes.int4), np.dtype(ml_dtypes.int2)]


def check(status):
    if status:
        status = PTR(status)
        message = lib.hone_status_message(status).decode()
        lib.hone_status_free(status)
        raise HoneError(message)


def to_tensor(value):
    """A hone_tensor_t (owned) from an array, list, dict or None."""
    out = PTR()
    if value is None:
        check(lib.hone_none_create(None, C.byref(out)))
        return out
    if isinstance(value, dict):
        keys, values = list(value.keys()), list(value.values())
        value, kind = [np.array(keys), np.array(values)], 2
    elif isinstance(value, (list, tuple)):
        kind = 1
    else:
        return _array_to_tensor(value)
    items = [to_tensor(v) for v in value]
    array = (PTR * max(len(items), 1))(*items)
    check(lib.hone_sequence_create(None, kind, len(items), array, C.byref(out)))
    for item in items:
        lib.hone_tensor_release(item)
    return out


def _array_to_tensor(value):
    out = PTR()
    if isinstance(value, onnx.TensorProto):
        value = onnx.numpy_helper.to_array(value)
    value = np.asarray(value)
    dims = (C.c_int64 * max(value.ndim, 1))(*value.shape)
    if value.dtype.kind in "OSU":
        check(lib.hone_tensor_create(None, 8, value.ndim, dims, C.byref(out)))
        for i, s in enumerate(value.reshape(-1)):
            s = s if isinstance(s, bytes) else str(s).encode()
            check(lib.hone_tensor_set_string(out, i, s, len(s)))
        return out
    check(lib.hone_tensor_create(None, NUMBERS[value.dtype], value.ndim, dims, C.byref(out)))
    value = np.ascontiguousarray(value)
    if value.dtype in SIGN_EXTENDED:
        value = value.astype(np.int8)
    if value.nbytes:
        C.memmove(lib.hone_tensor_data(out), value.ctypes.data, value.nbytes)
    return out


class _String(C.Structure):
    _fields_ = [("data", PTR), ("size", C.c_size_t)]


def from_tensor(tensor):
    """An array, list, dict or None from a borrowed hone_tensor_t."""
    kind = lib.hone_tensor_kind(tensor)
    if kind == 3:
        return None
    if kind in (1, 2):
        n = lib.hone_tensor_count(tensor)
        items = [from_tensor(PTR(lib.hone_sequence_item(tensor, C.c_int64(i)))) for i in range(n)]
        return items if kind == 1 else dict(zip(np.asarray(items[0]).tolist(), items[1]))
    rank, count = lib.hone_tensor_rank(tensor), lib.hone_tensor_count(tensor)
    shape = tuple(lib.hone_tensor_dims(tensor)[i] for i in range(rank))
    data = lib.hone_tensor_data(tensor)
    number = lib.hone_tensor_dtype(tensor)
    if number == 8:
        strings = C.cast(data, C.POINTER(_String))
        flat = [C.string_at(strings[i].data, strings[i].size).decode() for i in range(count)]
        out = np.empty(count, dtype=object)
        out[:] = flat
        return out.reshape(shape)
    size = lib.hone_tensor_bytes(tensor)
    return np.frombuffer(C.string_at(data, size), dtype=DTYPES[number]).reshape(shape).copy()


class _DimOption(C.Structure):
    _fields_ = [("name", C.c_char_p), ("min", C.c_int64), ("max", C.c_int64)]


class _SessionOptions(C.Structure):
    _fields_ = [("struct_size", C.c_size_t), ("allocator", PTR), ("device", C.c_char_p),
                ("n_dims", C.c_int), ("dims", C.POINTER(_DimOption)), ("threads", C.c_int),
                ("deterministic", C.c_bool), ("precision", C.c_char_p)]


class Info(C.Structure):
    """hone_session_info_t"""

    _fields_ = [("device", C.c_char_p), ("target", C.c_char_p), ("precision", C.c_char_p),
                ("n_kernels", C.c_int), ("n_interpreted", C.c_int), ("weight_bytes", C.c_uint64),
                ("from_cache", C.c_bool)]


class Session:
    """A model on a device. `model`: ModelProto, bytes, or a path. HONE_TEST_DEVICE
    names the device where nobody else does. `dims`: least and most by name. `allocator`: of the
    session; NULL is the system's."""

    def __init__(self, model, device=None, threads=0, deterministic=False, dims=None,
                 allocator=None):
        self.model, self.session = PTR(), PTR()
        device = device or os.environ.get("HONE_TEST_DEVICE", "ref")
        ranges = [_DimOption(name.encode(), *range_) for name, range_ in (dims or {}).items()]
        options = _SessionOptions(C.sizeof(_SessionOptions), allocator, device.encode(), len(ranges),
                                  (_DimOption * max(len(ranges), 1))(*ranges), threads,
                                  deterministic, None)
        if isinstance(model, str):
            check(lib.hone_model_load(model.encode(), None, C.byref(self.model)))
        else:
            data = model if isinstance(model, bytes) else model.SerializeToString()
            check(lib.hone_model_load_memory(data, C.c_size_t(len(data)), None,
                                             C.byref(self.model)))
        check(lib.hone_session_create(self.model, C.byref(options), C.byref(self.session)))
        self.inputs = [lib.hone_session_input_name(self.session, i).decode()
                       for i in range(lib.hone_session_input_count(self.session))]
        self.outputs = [lib.hone_session_output_name(self.session, i).decode()
                        for i in range(lib.hone_session_output_count(self.session))]

    def run(self, feeds):
        """`feeds`: a dict by name, or a list in order. Gives a list of outputs."""
        values = [feeds[n] for n in self.inputs] if isinstance(feeds, dict) else list(feeds)
        tensors = [to_tensor(v) for v in values]
        out = (PTR * max(len(self.outputs), 1))()
        try:
            check(lib.hone_session_run(self.session, None, len(tensors),
                                       (PTR * max(len(tensors), 1))(*tensors),
                                       len(self.outputs), out))
        finally:
            for t in tensors:
                lib.hone_tensor_release(t)
        results = []
        for i in range(len(self.outputs)):
            results.append(from_tensor(PTR(out[i])) if out[i] else None)
            if out[i]:
                lib.hone_tensor_release(PTR(out[i]))
        return results

    def describe(self):
        info = Info()
        lib.hone_session_describe(self.session, C.byref(info))
        return info

    def prepare(self, feeds):
        """A function that runs on `feeds` and drops the outputs: nothing else is in its time."""
        tensors = [to_tensor(feeds[name]) for name in self.inputs]
        inputs = (PTR * max(len(tensors), 1))(*tensors)

        def go():
            out = (PTR * max(len(self.outputs), 1))()
            check(lib.hone_session_run(self.session, None, len(tensors), inputs,
                                       len(self.outputs), out))
            for each in out:
                lib.hone_tensor_release(PTR(each))

        weakref.finalize(go, lambda: [lib.hone_tensor_release(t) for t in tensors])
        return go

    def __del__(self):
        if self.session:
            lib.hone_session_destroy(self.session)
        if self.model:
            lib.hone_model_destroy(self.model)


def run(model, feeds):
    return Session(model).run(feeds)
