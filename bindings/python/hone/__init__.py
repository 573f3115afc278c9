"""hone: runs ONNX models as fast as the hardware allows."""

from . import hardware
from ._error import HoneError
from .benchmark import Times, bench
from .device import Device, devices
from .engine import Engine, EngineInfo, compile
from .model import Model, load
from .session import Session, SessionInfo, ValueInfo, run
from .tuning import Trial, TunedKernel, Tuning, tune
from ._native import ffi as _ffi, lib as _lib

__version__ = _ffi.string(_lib.hone_version()).decode()
__all__ = ["Device", "Engine", "EngineInfo", "HoneError", "Model", "Session", "SessionInfo", "Times",
           "Trial", "TunedKernel", "Tuning", "ValueInfo", "bench", "compile", "devices", "hardware",
           "load", "run", "tune"]
