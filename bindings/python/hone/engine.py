"""Engines: models compiled for a device, that can be saved and run without the model."""

import json
import os
import time
from typing import NamedTuple

import numpy as np

from ._error import check
from ._native import ffi, lib
from ._options import Keeper, Limit
from .model import Model
from .session import Session
from .tensor import to_tensor


class EngineInfo(NamedTuple):
    device: str
    target: str  # what its kernels were built for
    precision: str
    version: str  # of hone, that compiled it
    kernels: int
    interpreted: int  # steps that run on the reference interpreter
    weight_bytes: int
    kernel_bytes: int
    runs_here: bool  # False: built for another kind of machine
    from_cache: bool  # compiled before, and found in the engine cache


class MixedLayer(NamedTuple):
    node: str
    dtype: str  # "f32", or what it takes
    gain_us: float  # of a run, if narrow, as the model of cost expects
    error: float  # of the outputs, with this one alone narrow; None: not measured


class Mixed(NamedTuple):
    """What precision "mixed" has chosen."""
    dtype: str  # of what is narrow
    error: float  # measured: the largest difference to fp32, relative to the outputs' largest number
    error_bound: float
    narrow: int
    measured: int  # engines, on the way
    layers: list  # a MixedLayer for each contraction that could be narrow


@ffi.def_extern()
def hone_python_dump(self, kind, name, text):
    ffi.from_handle(self).append(tuple(ffi.string(t).decode(errors="replace")
                                       for t in (kind, name, text)))


class Engine:
    """A compiled model. Sessions of it share its weights and may run at the same time; the engine
    itself runs as one of them."""

    def __init__(self, pointer, owner=None, load_ms=0.0, compile_ms=0.0, texts=(), mixed=None):
        """Use `compile` or `Engine.load`."""
        self._engine = ffi.gc(pointer, lambda e, owner=owner: lib.hone_engine_destroy(e))
        self.load_ms, self.compile_ms = load_ms, compile_ms
        self.texts = list(texts)  # (kind, name, text) of what `explain` asked for
        self.mixed = mixed  # a Mixed, where that was asked for
        self._own_session = None

    @classmethod
    def load(cls, path, device=None, threads=0, deterministic=False, mem_limit=None):
        """An engine file. Errors (HoneError) when it is damaged, or for another device or machine."""
        keep, limit, out = Keeper(), Limit(mem_limit), ffi.new("hone_engine_t**")
        options = keep.hold(ffi.new("hone_engine_options_t*"))
        options.struct_size = ffi.sizeof("hone_engine_options_t")
        options.device, options.threads = keep.text(device), threads
        options.deterministic, options.allocator = deterministic, limit.allocator()
        start = time.perf_counter()
        try:
            check(lib.hone_engine_load(os.fsencode(path), options, out))
        finally:
            limit.close()
        return cls(out[0], load_ms=(time.perf_counter() - start) * 1e3)

    def save(self, path):
        """Writes the engine file, whole or not at all."""
        check(lib.hone_engine_save(self._engine, os.fsencode(path)))

    @property
    def info(self):
        info = ffi.new("hone_engine_info_t*")
        lib.hone_engine_describe(self._engine, info)
        text = [ffi.string(t).decode() for t in (info.device, info.target, info.precision,
                                                 info.version)]
        return EngineInfo(*text, info.n_kernels, info.n_interpreted, info.weight_bytes,
                          info.kernel_bytes, info.runs_here, info.from_cache)

    @property
    def passes(self):
        """What each pass did, as dicts, where `explain` asked for it; else an empty list."""
        for kind, _, text in self.texts:
            if kind == "passes.json":
                return json.loads(text)
        return []

    def session(self):
        """A session of the engine: costs next to nothing."""
        out = ffi.new("hone_session_t**")
        check(lib.hone_session_create_from_engine(self._engine, out))
        return Session._of(out[0], self, self.load_ms, self.compile_ms)

    def _own(self):
        if self._own_session is None:
            # Of the pointer alone: a session that held `self` would make a circle.
            out = ffi.new("hone_session_t**")
            check(lib.hone_session_create_from_engine(self._engine, out))
            self._own_session = Session._of(out[0], self._engine, self.load_ms, self.compile_ms)
        return self._own_session

    @property
    def inputs(self):
        return self._own().inputs

    @property
    def outputs(self):
        return self._own().outputs

    def run(self, feeds, seed=0):
        """As Session.run."""
        return self._own().run(feeds, seed)

    def run_list(self, feeds, seed=0):
        return self._own().run_list(feeds, seed)

    def __call__(self, *values):
        """On inputs in order: the only output, or a list of all."""
        outputs = self.run_list(values)
        return outputs[0] if len(outputs) == 1 else outputs


def _made_up(inputs, seed):
    """Values for inputs without data; sizes that vary are 1."""
    random = np.random.default_rng(seed)
    for info in inputs:
        if info.dtype is None or info.dtype == object or info.shape is None:
            raise ValueError(f"precision mixed: no random value for input {info.name}: give data")
        shape = [size if isinstance(size, int) else 1 for size in info.shape]
        if info.dtype.kind in "biu":
            yield random.integers(0, 2, shape).astype(info.dtype)
        else:
            yield random.uniform(-1, 1, shape).astype(info.dtype)


def _compile_mixed(model, dims, options, error_bound, data, seed, out):
    """As C's hone_engine_compile_mixed, with the report as a Mixed."""
    session = Session(model, dims=dims)
    feeds = session._in_order(data) if data is not None else _made_up(session.inputs, seed)
    tensors = [to_tensor(value) for value in feeds]
    inputs = ffi.new("hone_tensor_t*[]", tensors or [ffi.NULL])
    mixed, report = ffi.new("hone_mixed_options_t*"), ffi.new("hone_mixed_report_t**")
    mixed.struct_size, mixed.error_bound = ffi.sizeof("hone_mixed_options_t"), error_bound
    mixed.n_inputs, mixed.inputs = len(tensors), inputs
    check(lib.hone_engine_compile_mixed(model._model, options, mixed, out, report))
    told = ffi.gc(report[0], lib.hone_mixed_report_destroy)
    dtype = ffi.string(told.dtype).decode()
    layers = [MixedLayer(ffi.string(layer.node).decode(errors="replace"),
                         dtype if layer.is_narrow else "f32", layer.gain_seconds * 1e6,
                         layer.error if layer.error >= 0 else None)
              for layer in told.layers[0:told.n_layers]]
    return Mixed(dtype, told.error, told.error_bound, told.n_narrow, told.n_measured, layers)


def compile(model, device="cpu", dims=None, precision="fp32", threads=0, deterministic=False,
            target=None, passes_off=(), mem_limit=None, explain=False, tuned=True, exact=False,
            guard=False, error_bound=1e-2, data=None, seed=0, cached=True):
    """Compiles a model (a Model, or what Model takes) to an Engine.

    `precision`: "fp32"; "bf16" or "fp16" for weights and operands of convolutions and matrix
    products, with sums in fp32; "bf16x3" for products of fp32 by three of bf16 where that is faster, which
    lose some 2^-17 of what they add up; "int8" for quantized models; "mixed" for bf16 or fp16 where that gains
    time, as long as the outputs on `data` (inputs by name or in order; None: random numbers by `seed`)
    differ from those of fp32 by at most `error_bound` of their largest number (Engine.mixed). `target`: another kind of machine than
    this one ("x86-64-v3", "aarch64"). `passes_off`: names of graph passes not to run. `explain`: keep
    what is made on the way (Engine.texts, Engine.passes). `tuned`: whether to ask what `hone.tune`
    found, or the path of a database of it. `exact`: nothing that loses precision for speed, such as
    convolutions by tiles with fewer products. `cached`: whether a model that was compiled before may be
    taken from the engine cache, and be kept there. `guard`: kernels that access memory outside of their
    buffers are found and named, wherever the engine runs; slow."""
    start = time.perf_counter()
    loaded = model if isinstance(model, Model) else Model(model)
    load_ms = (time.perf_counter() - start) * 1e3
    keep, limit, texts, out = Keeper(), Limit(mem_limit), [], ffi.new("hone_engine_t**")
    options = keep.hold(ffi.new("hone_engine_options_t*"))
    options.struct_size = ffi.sizeof("hone_engine_options_t")
    options.device, options.target = keep.text(device), keep.text(target)
    options.precision, options.exact, options.guard = keep.text(precision), exact, guard
    options.no_engine_cache = not cached
    options.no_tuned, options.tuned_database = keep.tuned(tuned)
    options.threads, options.deterministic = threads, deterministic
    options.n_dims, options.dims = keep.dims(dims or {})
    options.n_passes_off, options.passes_off = keep.texts(list(passes_off))
    options.allocator = limit.allocator()
    if explain:
        options.dump, options.dump_self = lib.hone_python_dump, keep.hold(ffi.new_handle(texts))
    mixed, start = None, time.perf_counter()
    try:
        if precision == "mixed":
            mixed = _compile_mixed(loaded, dims, options, error_bound, data, seed, out)
        else:
            check(lib.hone_engine_compile(loaded._model, options, out))
    finally:
        limit.close()
    return Engine(out[0], loaded, load_ms, (time.perf_counter() - start) * 1e3, texts, mixed)
