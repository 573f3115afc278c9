"""What a caller says in Python, as the option structs of the C interface."""

import os
import re

from ._error import check
from ._native import ffi, lib

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def size_in_bytes(limit):
    if limit is None or isinstance(limit, int):
        return limit or 0
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]?)", limit)
    if not match:
        raise ValueError(f"mem_limit {limit!r} is no size; examples: 512M, 2G")
    return int(float(match.group(1)) * _UNITS[match.group(2)])


class Keeper:
    """Holds what C memory points to, for as long as a call takes."""

    def __init__(self):
        self._held = []

    def text(self, text):
        if text is None:
            return ffi.NULL
        self._held.append(ffi.new("char[]", str(text).encode()))
        return self._held[-1]

    def texts(self, texts):
        self._held.append(ffi.new("char*[]", [self.text(t) for t in texts] or [ffi.NULL]))
        return len(texts), self._held[-1]

    def tuned(self, tuned):
        """no_tuned and tuned_database of True, False, or a path."""
        path = None if isinstance(tuned, bool) else os.fspath(tuned)
        return tuned is False, self.text(path)

    def dims(self, dims):
        array = ffi.new("hone_dim_option_t[]", max(len(dims), 1))
        for entry, (name, size) in zip(array, dims.items()):
            low, high = (size, size) if isinstance(size, int) else size
            entry.name, entry.min, entry.max = self.text(name), low, high
        self._held.append(array)
        return len(dims), array

    def hold(self, what):
        self._held.append(what)
        return what


class Limit:
    """An allocator for at most so many bytes; 0: the system's."""

    def __init__(self, mem_limit):
        self._limit, size = ffi.NULL, size_in_bytes(mem_limit)
        if size:
            out = ffi.new("hone_limit_allocator_t**")
            check(lib.hone_limit_allocator_create(ffi.NULL, size, out))
            self._limit = out[0]

    def allocator(self):
        return lib.hone_limit_allocator_get(self._limit) if self._limit else ffi.NULL

    def close(self):
        lib.hone_limit_allocator_destroy(self._limit)  # goes with the last of what is made with it
