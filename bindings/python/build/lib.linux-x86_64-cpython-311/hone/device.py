"""The devices of this machine."""

from typing import NamedTuple

from ._error import check
from ._native import ffi, lib


class Device(NamedTuple):
    name: str  # what Session's `device` takes: "ref:0"
    description: str
    usable: bool
    reason: str  # why it is not usable, and what to do
    compute_units: int
    memory_bytes: int


def _text(array):
    return ffi.string(array).decode(errors="replace")


def devices():
    """Every device of every backend, usable or not."""
    found, room = [], 64
    infos, count = ffi.new("hone_device_info_t[]", room), ffi.new("int*")
    for i in range(lib.hone_backend_total()):
        check(lib.hone_backend_at(i).enumerate(room, infos, count))
        for info in infos[0:min(count[0], room)]:
            found.append(Device(_text(info.name), _text(info.description), info.usable,
                                _text(info.reason), info.compute_units, info.memory_bytes))
    return found
