"""An installed hone is found by pkg-config and links into a program."""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/release"
PROGRAM = """
#include <hone/status.h>
#include <stdio.h>
int main(void) { return puts(hone_code_name(HONE_IO)) < 0; }
"""


def run(*command, **settings):
    done = subprocess.run(command, capture_output=True, text=True, **settings)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(not (BUILD / "libhone.so").exists(), reason="build/release is not built")
@pytest.mark.parametrize("linkage", ["shared", "static"])
def test_a_program_builds_against_an_installation(tmp_path, linkage):
    prefix = tmp_path / "anywhere"
    run("cmake", "--install", str(BUILD), "--prefix", str(prefix))
    settings = {**os.environ, "PKG_CONFIG_PATH": str(next(prefix.rglob("pkgconfig")))}
    static = ["--static"] if linkage == "static" else []
    flags = run("pkg-config", *static, "--cflags", "--libs", "hone", env=settings).split()
    if static:
        flags = ["-static", *flags]
    (tmp_path / "program.c").write_text(PROGRAM)
    run("cc", "program.c", *flags, "-o", "program", cwd=tmp_path)
    settings["LD_LIBRARY_PATH"] = str(next(prefix.rglob("libhone.so")).parent)
    assert run("./program", cwd=tmp_path, env=settings) == "IO\n"
