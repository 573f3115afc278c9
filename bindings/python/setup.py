"""Builds the extension hone._native: cffi in API mode over hone's public headers."""

import os
import pathlib

from setuptools import setup

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent

if not (ROOT / "include" / "hone" / "hone.h").exists():
    raise SystemExit("hone: build this package inside hone's source tree, bindings/python")

os.chdir(HERE)
setup(
    version=(ROOT / "VERSION").read_text().strip(),
    cffi_modules=["native_build.py:ffi"],
)
