"""A slice of the onnx package's backend tests on the backends that compile, through
hone.onnx_backend: every STRIDE-th case that the kept results have as passed, from another one on
with each commit, so that runs cover all of them in turn. `make conformance` runs all at once;
docs/support.md says what passes."""

import os
import subprocess
import sys

import pytest

import conformance_run
import onnx_backend_run

backend = pytest.importorskip("hone.onnx_backend", reason="the Python package is not installed")

HERE = os.path.dirname(os.path.abspath(__file__))
STRIDE = {"cpu": 37, "opencl": 71}
GOAL = {"cpu": 0.99, "opencl": 0.97}  # of what passes on ref


def failed_on(device):
    return conformance_run.load(device)["failed"]


def usable(device):
    import hone
    return any(d.name.split(":")[0] == device and d.usable for d in hone.devices())


def first_of_slice(stride):
    """The same for a commit; outside of a repository the very first."""
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=HERE, capture_output=True, text=True)
    return int(done.stdout[:8] or "0", 16) % stride


@pytest.mark.parametrize("device", STRIDE)
def test_a_slice_of_the_cases_passes(device):
    if not usable(device):
        pytest.skip(f"no usable device {device}: see hone devices")
    bad = {**failed_on("ref"), **failed_on(device)}
    items = [item for item in onnx_backend_run.cases(backend.on(device)) if item[0] not in bad]
    chosen = items[first_of_slice(STRIDE[device])::STRIDE[device]]
    assert len(chosen) > 20
    failed = {}
    for name, function in chosen:
        try:
            function(None)
        except Exception as error:  # noqa: BLE001 - each kind of failure counts
            failed[name] = f"{type(error).__name__}: {error}"
    assert not failed, failed


@pytest.mark.parametrize("device", GOAL)
def test_kept_results_reach_the_goal(device):
    total = sum(len(names) for names in conformance_run.load("cases").values())
    passed = {name: total - len(failed_on(name)) for name in ("ref", device)}
    assert total > 2000
    assert passed[device] >= GOAL[device] * passed["ref"]


def test_the_page_is_what_the_results_say():
    script = os.path.join(os.path.dirname(HERE), "scripts", "support_matrix.py")
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
