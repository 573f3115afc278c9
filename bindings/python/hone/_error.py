"""Statuses of the C library as exceptions."""

from ._native import ffi, lib


class HoneError(RuntimeError):
    """What went wrong, where, and what to do. `code`: "INVALID_MODEL" and so on."""

    def __init__(self, code, message, advice):
        super().__init__(message)
        self.code = code
        self.advice = advice


def check(status):
    """Raises HoneError unless the status is success; frees it."""
    if status == ffi.NULL:
        return
    code = lib.hone_status_code(status)
    name = ffi.string(lib.hone_code_name(code)).decode()
    message = ffi.string(lib.hone_status_message(status)).decode(errors="replace")
    advice = ffi.string(lib.hone_code_advice(code)).decode()
    lib.hone_status_free(status)
    raise HoneError(name, message, advice)
