"""Tuning: faster kernels for a model, found by trying within a budget of time."""

import os
from typing import NamedTuple

from ._error import check
from ._native import ffi, lib
from ._options import Keeper, Limit
from .model import Model


class TunedKernel(NamedTuple):
    name: str
    origin: str  # the model's nodes
    tactic: str  # that compiling will use
    parameters: str
    skipped: str  # why it was not tuned; ""
    count: int  # launches in a run of the model
    trials: int
    known: int  # from the database
    failed: int
    default_seconds: float  # of one launch, untuned; 0: not measured
    best_seconds: float


class Tuning(NamedTuple):
    kernels: list  # those that take longest first
    trials: int
    seconds: float
    default_seconds: float  # of a run, over the kernels that were measured
    best_seconds: float
    stop: str  # why it ended
    database: str
    database_error: str  # "" unless it failed; what was found is then not kept
    confirmed: int  # candidates that runs of the whole model confirmed,
    refused: int  # refused,
    untested: int  # and those that there was no time for
    whole_gain: float  # how many times as fast a run became; 0: not measured
    whole_error: str  # "" unless whole runs failed: what was not decided by then is not used


class Trial(NamedTuple):
    """What a progress function is told; of verdicts of whole runs the kernel is "whole runs"."""

    kernel: str
    parameters: str
    outcome: str  # "ok", "build failed", "run failed", "wrong result", "timeout"; a verdict
    seconds: float  # 0: it failed, or is a verdict
    is_gain: bool
    trials: int
    whole: float  # seconds of a run with the best so far; 0: not known yet
    untuned: float
    spent: float
    left: float


def _text(pointer):
    return ffi.string(pointer).decode(errors="replace")


@ffi.def_extern(error=False)
def hone_python_tuning(self, p):
    return ffi.from_handle(self)(Trial(
        _text(p.kernel), _text(p.parameters), _text(p.outcome), p.seconds, p.is_gain, p.trials,
        p.whole, p.untuned, p.spent, p.left)) is not False


def _report(pointer):
    report = lib.hone_tuning_report(pointer)
    kernels = [TunedKernel(_text(k.name), _text(k.origin), _text(k.tactic), _text(k.parameters),
                           _text(k.skipped), k.count, k.trials, k.known, k.failed,
                           k.default_seconds, k.best_seconds)
               for k in report.kernels[0:report.n_kernels]]
    return Tuning(kernels, report.trials, report.seconds, report.default_seconds,
                  report.best_seconds, _text(report.stop), _text(report.database),
                  _text(report.database_error), report.n_confirmed, report.n_refused,
                  report.n_untested, report.whole_gain, _text(report.whole_error))


def tune(model, budget=60.0, device="cpu", dims=None, precision="fp32", threads=0,
         deterministic=False, database=None, trials=0, early_stopping=0, strategy=None, seed=0,
         repeats=0, build_timeout=0.0, run_timeout=0.0, log=None, progress=None, mem_limit=None,
         exact=False):
    """Tunes the kernels of a model (a Model, or what Model takes) for `budget` seconds.

    What is found goes to `database` (a path; None for the usual one); compiling uses from then on
    what runs of the whole model confirmed. `trials` of each kernel, at most; `early_stopping`: after so many without a gain;
    `strategy`: "learned", "evolve", "grid" or "random". `progress` is called with a Trial after
    each, and ends the tuning by returning False. A zero is the default."""
    loaded = model if isinstance(model, Model) else Model(model)
    keep, limit, out = Keeper(), Limit(mem_limit), ffi.new("hone_tuning_t**")
    options = keep.hold(ffi.new("hone_tuning_options_t*"))
    options.struct_size = ffi.sizeof("hone_tuning_options_t")
    options.device, options.precision = keep.text(device), keep.text(precision)
    options.exact = exact
    options.n_dims, options.dims = keep.dims(dims or {})
    options.threads, options.deterministic = threads, deterministic
    options.database = keep.text(database if database is None else os.fspath(database))
    options.log = keep.text(log if log is None else os.fspath(log))
    options.budget_seconds, options.trials = budget, trials
    options.early_stopping, options.strategy = early_stopping, keep.text(strategy)
    options.seed, options.repeats = seed, repeats
    options.build_timeout, options.run_timeout = build_timeout, run_timeout
    options.allocator = limit.allocator()
    if progress:
        options.progress = lib.hone_python_tuning
        options.progress_self = keep.hold(ffi.new_handle(progress))
    try:
        check(lib.hone_model_tune(loaded._model, options, out))
    finally:
        limit.close()
    tuning = ffi.gc(out[0], lib.hone_tuning_destroy)
    return _report(tuning)
