"""hone: runs ONNX models as fast as the hardware allows."""

from ._error import HoneError
from .device import Device, devices
from .model import Model, load
from .session import Session, ValueInfo, run
from ._native import ffi as _ffi, lib as _lib

__version__ = _ffi.string(_lib.hone_version()).decode()
__all__ = ["Device", "HoneError", "Model", "Session", "ValueInfo", "devices", "load", "run"]
