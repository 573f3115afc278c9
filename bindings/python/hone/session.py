"""Sessions: models made ready on a device."""

import re
import time
from typing import NamedTuple, Optional

import numpy as np

from . import dtype as dtypes
from ._error import HoneError, check
from ._native import ffi, lib
from ._options import Keeper, Limit
from .model import Model
from .tensor import from_tensor, to_tensor

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


class SessionInfo(NamedTuple):
    device: str
    target: str  # what its kernels were built for; "" where there are none
    precision: str
    kernels: int
    interpreted: int  # steps that run on the reference interpreter
    weight_bytes: int
    from_cache: bool  # compiled before, and found in the engine cache


class Session:
    """A model on a device. Several threads may run one session at once."""

    def __init__(self, model, device="ref", dims=None, mem_limit=None, threads=0,
                 deterministic=False, precision="fp32", tuned=True, exact=False, cached=True):
        """`model`: a Model, or what Model takes. `dims`: sizes of named dimensions, numbers or
        (least, largest). `mem_limit`: bytes, or text as "2G"; 0 or None for none. `threads`: that a
        run may use; 0 for all. `deterministic`: equal inputs give equal bits, whatever the number
        of threads. `precision`, `tuned`, `exact`, `cached`: see `hone.compile`."""
        start = time.perf_counter()
        self.model = model if isinstance(model, Model) else Model(model)
        load_ms = (time.perf_counter() - start) * 1e3
        keep, limit, out = Keeper(), Limit(mem_limit), ffi.new("hone_session_t**")
        options = keep.hold(ffi.new("hone_session_options_t*"))
        options.struct_size = ffi.sizeof("hone_session_options_t")
        options.device, options.precision = keep.text(device), keep.text(precision)
        options.n_dims, options.dims = keep.dims(dims or {})
        options.threads, options.deterministic = threads, deterministic
        options.no_tuned, options.tuned_database = keep.tuned(tuned)
        options.exact, options.no_engine_cache = exact, not cached
        options.allocator = limit.allocator()
        start = time.perf_counter()
        try:
            check(lib.hone_session_create(self.model._model, options, out))
        finally:
            limit.close()
        self._adopt(out[0], self.model, load_ms, (time.perf_counter() - start) * 1e3)

    @classmethod
    def _of(cls, pointer, owner, load_ms, compile_ms):
        """A session that C made, of something that has to live as long."""
        session = cls.__new__(cls)
        session.model = None
        session._adopt(pointer, owner, load_ms, compile_ms)
        return session

    def _adopt(self, pointer, owner, load_ms, compile_ms):
        # The default argument keeps the owner until the session has gone.
        self._session = ffi.gc(pointer, lambda s, owner=owner: lib.hone_session_destroy(s))
        self.load_ms, self.compile_ms = load_ms, compile_ms
        self.inputs = self._infos(lib.hone_session_input_count, lib.hone_session_input_name,
                                  lib.hone_session_input_type)
        self.outputs = self._infos(lib.hone_session_output_count, lib.hone_session_output_name,
                                   lib.hone_session_output_type)

    @property
    def info(self):
        info = ffi.new("hone_session_info_t*")
        lib.hone_session_describe(self._session, info)
        text = [ffi.string(t).decode() for t in (info.device, info.target, info.precision)]
        return SessionInfo(*text, info.n_kernels, info.n_interpreted, info.weight_bytes,
                           info.from_cache)

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
        owned = self._prepared(feeds, seed)()
        return [from_tensor(tensor) if tensor is not None else None for tensor in owned]

    def _prepared(self, feeds, seed=0):
        """A function that runs on `feeds` and gives the outputs as C has them."""
        tensors = [to_tensor(value) for value in self._in_order(feeds)]
        array = ffi.new("hone_tensor_t*[]", tensors or [ffi.NULL])
        options = ffi.new("hone_run_options_t*")
        options.struct_size, options.seed = ffi.sizeof("hone_run_options_t"), seed
        n = len(self.outputs)

        def go():
            out = ffi.new("hone_tensor_t*[]", max(n, 1))
            check(lib.hone_session_run(self._session, options, len(tensors), array, n, out))
            return [ffi.gc(out[i], lib.hone_tensor_release) if out[i] else None for i in range(n)]

        return go


def run(model, feeds, **options):
    """Loads, runs once, and gives the outputs by name."""
    return Session(model, **options).run(feeds)
