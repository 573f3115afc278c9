"""Loaded models."""

import os

from ._error import check
from ._native import ffi, lib


class Model:
    """A model file, loaded and checked. Immutable; sessions may share it."""

    def __init__(self, source, folder=None):
        """`source`: a path, the bytes of a model, or an onnx ModelProto. `folder`: where the
        external data of a model in memory lies."""
        out = ffi.new("hone_model_t**")
        options = ffi.new("hone_model_options_t*")
        options.struct_size = ffi.sizeof("hone_model_options_t")
        if hasattr(source, "SerializeToString"):
            source = source.SerializeToString()
        if isinstance(source, (bytes, bytearray, memoryview)):
            keep = ffi.NULL if folder is None else ffi.new("char[]", os.fsencode(folder))
            options.folder = keep
            data = ffi.from_buffer(source)
            check(lib.hone_model_load_memory(data, len(source), options, out))
        else:
            check(lib.hone_model_load(os.fsencode(source), options, out))
        self._model = ffi.gc(out[0], lib.hone_model_destroy)


def load(source, folder=None):
    """Loads a model: see Model."""
    return Model(source, folder)
