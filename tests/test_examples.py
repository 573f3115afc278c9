"""The small example programs run, agree with themselves, and refuse bad arguments."""

import os
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("HONE_BUILD_DIR", os.path.join(ROOT, "build", "release"))


def run(name, *arguments):
    return subprocess.run([os.path.join(BUILD, "examples", f"hone-{name}"), *map(str, arguments)],
                          capture_output=True, text=True, timeout=300, check=False)


def test_schedules_of_a_product_agree():
    done = run("schedule_matmul", 64)
    assert done.returncode == 0, done.stderr
    for schedule in ("basic", "tiled", "vectorized"):
        assert schedule in done.stdout


def test_a_convolution_is_tuned_and_then_built_so(tmp_path):
    done = run("tune_conv2d", 4, 20, "cpu", tmp_path / "tune.db")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("trial ") == 4
    assert "tuned: " in done.stdout


@pytest.mark.parametrize("arguments", [["0"], ["4", "1"], ["4", "20", "nothing"]])
def test_bad_arguments_are_refused(tmp_path, arguments):
    done = run("tune_conv2d", *arguments)
    assert done.returncode != 0
    assert done.stderr
