"""Sessions: models made ready on a device."""

import re
from typing import NamedTuple, Optional

import numpy as np

from . import dtype as dtypes
from ._error import HoneError, check
from ._native import ffi, lib
from .model import Model
from .tensor import from_tensor, to_tensor

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


class ValueInfo(NamedTuple):
    """An input or output of a model."""

    name: str
    type: str  # "f32[batch, 3, 224, 224]"
    dtype: Optional[np.dtype]  # None where it is no tensor, or of unknown type
    shape: Optional[tuple]  # numbers and names of dimensions


def _shape(text):
    inside = re.search(r"^\w+\[(.*)\]$", text)
    if not inside or inside.group(1) == "...":
        return None
    parts = [p.strip() for p in inside.group(1).split(",")] if inside.group(1) else []
    return tuple(int(p) if re.fullmatch(r"-?\d+", p) else p for p in parts)


def _bytes(limit):
    if limit is None or isinstance(limit, int):
        return limit or 0
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]?)", limit)
    if not match:
        raise ValueError(f"mem_limit {limit!r} is no size; examples: 512M, 2G")
    return int(float(match.group(1)) * _UNITS[match.group(2)])


class Session:
    """A model on a device. Several threads may run one session at once."""

    def __init__(self, model, device="ref", dims=None, mem_limit=None):
        """`model`: a Model, or what Model takes. `dims`: sizes of named dimensions, numbers or
        (least, largest). `mem_limit`: bytes, or text as "2G"; 0 or None for none."""
        self.model = model if isinstance(model, Model) else Model(model)
        options, keep = ffi.new("hone_session_options_t*"), []
        options.struct_size = ffi.sizeof("hone_session_options_t")
        options.device = self._kept(keep, device)
        options.n_dims, options.dims = self._dims(keep, dims or {})
        limit = self._make_limit(_bytes(mem_limit)) if _bytes(mem_limit) else ffi.NULL
        if limit:
            options.allocator = lib.hone_limit_allocator_get(limit)
        out = ffi.new("hone_session_t**")
        try:
            check(lib.hone_session_create(self.model._model, options, out))
        finally:
            lib.hone_limit_allocator_destroy(limit)  # goes with the last of what is made with it
        # The default argument keeps the model until the session has gone.
        self._session = ffi.gc(out[0], lambda s, model=self.model: lib.hone_session_destroy(s))
        self.inputs = self._infos(lib.hone_session_input_count, lib.hone_session_input_name,
                                  lib.hone_session_input_type)
        self.outputs = self._infos(lib.hone_session_output_count, lib.hone_session_output_name,
                                   lib.hone_session_output_type)

    @staticmethod
    def _kept(keep, text):
        keep.append(ffi.new("char[]", text.encode()))
        return keep[-1]

    @staticmethod
    def _make_limit(size):
        out = ffi.new("hone_limit_allocator_t**")
        check(lib.hone_limit_allocator_create(ffi.NULL, size, out))
        return out[0]

    def _dims(self, keep, dims):
        array = ffi.new("hone_dim_option_t[]", max(len(dims), 1))
        for entry, (name, size) in zip(array, dims.items()):
            low, high = (size, size) if isinstance(size, int) else size
            entry.name, entry.min, entry.max = self._kept(keep, name), low, high
        keep.append(array)
        return len(dims), array

    def _infos(self, count, name, type_text):
        infos = []
        for i in range(count(self._session)):
            length = type_text(self._session, i, ffi.NULL, 0)
            buffer = ffi.new("char[]", length + 1)
            type_text(self._session, i, buffer, length + 1)
            text = ffi.string(buffer).decode(errors="replace")
            number = lib.hone_dtype_parse(text.split("[")[0].encode())
            dtype = dtypes.to_numpy(number) if number not in (0, dtypes.STRING) else None
            infos.append(ValueInfo(ffi.string(name(self._session, i)).decode(), text,
                                   np.dtype(object) if number == dtypes.STRING else dtype,
                                   _shape(text)))
        return infos

    def _in_order(self, feeds):
        names = [info.name for info in self.inputs]
        if not isinstance(feeds, dict):
            return list(feeds)
        unknown = sorted(set(feeds) - set(names))
        missing = [name for name in names if name not in feeds]
        if unknown or missing:
            raise HoneError("INVALID_ARGUMENT",
                            f"inputs unknown: {unknown}, missing: {missing}; the model takes "
                            + ", ".join(f"{i.name}: {i.type}" for i in self.inputs),
                            "correct the names")
        return [feeds[name] for name in names]

    def run(self, feeds, seed=0):
        """Runs on `feeds`: a dict by name, or values in order. Gives a dict by output name."""
        return dict(zip((info.name for info in self.outputs), self.run_list(feeds, seed)))

    def run_list(self, feeds, seed=0):
        """The same, giving a list."""
        tensors = [to_tensor(value) for value in self._in_order(feeds)]
        options = ffi.new("hone_run_options_t*")
        options.struct_size, options.seed = ffi.sizeof("hone_run_options_t"), seed
        n = len(self.outputs)
        out = ffi.new("hone_tensor_t*[]", max(n, 1))
        check(lib.hone_session_run(self._session, options, len(tensors),
                                   ffi.new("hone_tensor_t*[]", tensors or [ffi.NULL]), n, out))
        owned = [ffi.gc(out[i], lib.hone_tensor_release) if out[i] else None for i in range(n)]
        return [from_tensor(tensor) if tensor is not None else None for tensor in owned]


def run(model, feeds, **options):
    """Loads, runs once, and gives the outputs by name."""
    return Session(model, **options).run(feeds)
