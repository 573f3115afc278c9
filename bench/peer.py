#!/usr/bin/env python3
"""Runs one peer for `hone bench --vs`: reads tasks from standard input, answers on standard output.

usage: peer.py NAME [FOLDER]    runs peers/NAME.py, which keeps files in FOLDER
       peer.py                  lists the names

A line in, a line out, each a JSON object:

  {"do": "load", "model": PATH, "inputs": NPZ, "threads": N, "precision": WORD, "answers": NPZ}
      -> {"version": TEXT, "prepare_ms": X, "load_ms": X, "first_ms": X}; the outputs of that very
         first run are in the archive, as "0", "1", ... in the model's order, but for sequences and maps
  {"do": "reference", ...the same...} -> {"version": TEXT}; outputs of a run without any rewriting
  {"do": "run", "seconds": S, "least": N, "most": N} -> {"ms": [of each run], "cpus": X}
      after one that does not count; `least` is 1 where that alone took S

`cpus` is CPU seconds by seconds: it shows whether the threads that were asked for are those that
ran; 0 where the turn was too short to tell. Whatever a peer cannot do it says as {"cannot": WHY}. What peers print goes to standard error.
"""

import contextlib
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import sys
import tempfile
import time

PEERS = pathlib.Path(__file__).resolve().parent / "peers"
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TVM_NUM_THREADS")
TELLING_SECONDS = 0.02  # shorter, what threads still do from before counts for more than the runs


class Cannot(Exception):
    """Why a peer does not run a model, in a sentence for the report."""


class Task:
    """What a peer is to load: the model, what it will be run on, and how."""

    def __init__(self, words, folder):
        import numpy
        self.model, self.threads, self.precision = words["model"], words["threads"], words["precision"]
        with numpy.load(words["inputs"], allow_pickle=False) as archive:
            self.inputs = {name: numpy.ascontiguousarray(archive[name]) for name in archive}
        self.folder, self.prepare_ms, self._proto = pathlib.Path(folder), 0.0, None

    def proto(self):
        """The model, with the inputs' sizes as they are in this task."""
        if self._proto is None:
            import onnx
            self._proto = onnx.load(self.model)
            for value in self.runtime_inputs():
                if value.name not in self.inputs:
                    raise Cannot(f"input '{value.name}' has no value")
        return self._proto

    def runtime_inputs(self):
        """The graph's inputs that are no weights."""
        graph = self._proto.graph if self._proto else self.proto().graph
        weights = {weight.name for weight in graph.initializer}
        return [value for value in graph.input if value.name not in weights]

    def dims(self):
        """{name of a size: its extent}; not of those that one model uses for several."""
        found = {}
        self.proto()
        for value in self.runtime_inputs():
            shape = self.inputs[value.name].shape
            for dim, extent in zip(value.type.tensor_type.shape.dim, shape):
                if dim.dim_param:
                    found.setdefault(dim.dim_param, set()).add(extent)
        return {name: min(extents) for name, extents in found.items() if len(extents) == 1}

    def fixed(self):
        """The model with every input's size written in it, for peers that want that."""
        model = self.proto()
        for value in self.runtime_inputs():
            shape = value.type.tensor_type.shape
            del shape.dim[:]
            for extent in self.inputs[value.name].shape:
                shape.dim.add().dim_value = extent
        return model

    def fixed_path(self):
        """The same as a file."""
        import onnx
        path = self.folder / "fixed.onnx"
        if not path.exists():
            onnx.save(self.fixed(), path)
        return str(path)

    def input_names(self):
        self.proto()
        return [value.name for value in self.runtime_inputs()]

    def output_names(self):
        return [value.name for value in self.proto().graph.output]

    def ordered(self):
        """The inputs in the model's order."""
        return [self.inputs[name] for name in self.input_names()]

    def need(self, *precisions):
        if self.precision not in precisions:
            raise Cannot(f"has no {self.precision} for this model here, only {', '.join(precisions)}")

    @contextlib.contextmanager
    def preparing(self):
        """What is done once, offline, is timed apart from loading: conversion, compilation."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.prepare_ms += (time.perf_counter() - start) * 1e3

    def pin(self):
        """For peers that take as many threads as they see CPUs."""
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:self.threads])


def module_of(name):
    """peers/NAME.py, under a name that is not its package's."""
    sys.modules.setdefault("peer", sys.modules[__name__])
    spec = importlib.util.spec_from_file_location(f"peer_{name}", PEERS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def version_of(module):
    return ", ".join(f"{name} {importlib.metadata.version(name)}" for name in module.PACKAGES)


def save(path, outputs, task):
    """The outputs in the model's own types: some peers know fewer."""
    import numpy
    import onnx
    arrays = {}
    for i, (value, declared) in enumerate(zip(outputs, task.proto().graph.output)):
        if not declared.type.HasField("tensor_type"):
            continue  # sequences and maps are not compared
        value, number = numpy.asarray(value), declared.type.tensor_type.elem_type
        wanted = onnx.helper.tensor_dtype_to_np_dtype(number) if number else value.dtype
        both = value.dtype.kind + numpy.dtype(wanted).kind
        alike = value.dtype.name == "bfloat16" or both in ("ff", "ii", "iu", "ui", "uu", "ib", "ub")
        arrays[str(i)] = value.astype(wanted) if alike else value
    numpy.savez(path, **arrays)


class Worker:
    def __init__(self, name, folder):
        self.name, self.folder, self.runner, self.module = name, folder, None, None

    def _import(self, words):
        if self.module is None:
            for variable in THREAD_VARIABLES:
                os.environ[variable] = str(words["threads"])
            try:
                self.module = module_of(self.name)
            except ImportError as error:
                raise Cannot(f"is not installed: {error}") from None
        return self.module

    def load(self, words):
        module = self._import(words)
        task = Task(words, self.folder)
        task.proto()
        start = time.perf_counter()
        self.runner = module.load(task)
        loaded = time.perf_counter()
        self.runner.run()
        ran = time.perf_counter()
        save(words["answers"], self.runner.outputs(), task)
        task._proto = None
        return {"version": version_of(module), "prepare_ms": task.prepare_ms,
                "load_ms": (loaded - start) * 1e3 - task.prepare_ms, "first_ms": (ran - loaded) * 1e3}

    def reference(self, words):
        module = self._import(words)
        if not hasattr(module, "reference"):
            raise Cannot("offers no reference")
        task = Task(words, self.folder)
        runner = module.reference(task)
        runner.run()
        save(words["answers"], runner.outputs(), task)
        return {"version": version_of(module)}

    def run(self, words):
        start = time.perf_counter()
        self.runner.run()  # what others left in the caches is not this one's business
        times, cpu, begin = [], time.process_time(), time.perf_counter()
        least = words["least"] if begin - start < words["seconds"] else 1
        end = begin + words["seconds"]
        while len(times) < words["most"] and (len(times) < least or time.perf_counter() < end):
            start = time.perf_counter()
            self.runner.run()
            times.append((time.perf_counter() - start) * 1e3)
        elapsed = time.perf_counter() - begin
        cpus = (time.process_time() - cpu) / elapsed if elapsed >= TELLING_SECONDS else 0
        return {"ms": times, "cpus": cpus}

    def answer(self, words):
        try:
            return {"load": self.load, "reference": self.reference, "run": self.run}[words["do"]](words)
        except Cannot as why:
            return {"cannot": one_line(why)}
        except Exception as error:  # noqa: BLE001 - libraries raise anything; it is told, not hidden
            return {"cannot": one_line(f"{type(error).__name__}: {error}")}


def one_line(message, start=60, end=180):
    """A message for the report: without colours and the middle of what is long."""
    text = " ".join(re.sub(r"\x1b\[[0-9;]*m", "", str(message)).split())
    return text if len(text) <= start + end else f"{text[:start]} … {text[-end:]}"


def names():
    return sorted(path.stem for path in PEERS.glob("*.py") if not path.stem.startswith("_"))


def main():
    if len(sys.argv) < 2:
        print("\n".join(names()))
        return
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # libraries print
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # sent when who asks ends while this one is held
    parent = sys.argv[2] if len(sys.argv) > 2 else None
    with tempfile.TemporaryDirectory(prefix="hone_peer_", dir=parent) as folder:
        worker = Worker(sys.argv[1], folder)
        if sys.argv[1] not in names():
            worker.answer = lambda words: {"cannot": f"is no peer; there are {', '.join(names())}"}
        with contextlib.suppress(OSError):  # nobody listens any more
            for line in sys.stdin:
                answers.write(json.dumps(worker.answer(json.loads(line))) + "\n")
                answers.flush()
    if parent:  # no more questions: whoever asked was ended before it could clean up
        shutil.rmtree(parent, ignore_errors=True)
    os._exit(0)  # some libraries crash when they end


if __name__ == "__main__":
    main()
