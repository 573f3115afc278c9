"""hone verify: a sample of the conformance program on each device, and what it says when a
device is wrong."""

import json
import re
import stat

import numpy as np
import pytest

import command
from command import ROOT


def hone(folder, *words, code=0, env=None):
    done = command.hone(*words, code=code, cwd=folder, env=env, timeout=600)
    return done.stdout if code < 2 else done.stderr


def devices():
    return [line.split()[0].split(":")[0] for line in hone(ROOT, "devices").splitlines()[1:]
            if line.split()[1] == "usable"]


@pytest.fixture(scope="module")
def wrong_compiler(tmp_path_factory):
    """A compiler that turns differences of floats into sums."""
    path = tmp_path_factory.mktemp("cc") / "cc"
    path.write_text("""#!/bin/sh
for word; do
  case $word in *.c) [ -f "$word" ] && sed -i -E '/^void hone_/,$ s/hone_sub_f32v?\\((\\w+), (\\w+)\\)/(\\1 + \\2)/g' $word;; esac
done
exec cc "$@"
""")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return {"HONE_CC": str(path)}


@pytest.mark.parametrize("device", ["ref", "cpu", "opencl"])
def test_a_sample(tmp_path, device):
    if device not in devices():
        pytest.skip(f"there is no device {device} here")
    words = ["verify", "--device", device, "--json"]
    report = json.loads(hone(tmp_path, *words, "--slice", "7/150", "--random", 150))
    assert report["totals"]["differs"] == report["totals"]["failed"] == 0
    assert report["totals"]["same"] > 30
    if device == "ref":
        assert report["totals"]["interpreted"] == 0
    assert not list(tmp_path.iterdir())


def test_every_primitive_has_units(tmp_path):
    units = hone(tmp_path, "verify", "--list").split()
    assert len(units) == len(set(units)) > 1500
    text = (ROOT / "src" / "ir" / "prim.h").read_text()
    rows = text[text.index("#define HONE_PRIMS(X)"):text.index("typedef enum hone_prim {")]
    prims = set(re.findall(r'X\([A-Z]+, "(\w+)"', rows))
    assert len(prims) == 53
    assert prims - {unit.split(".")[0] for unit in units} == set()


def test_what_the_device_refuses_is_told(tmp_path):
    report = json.loads(hone(tmp_path, "verify", "--filter", "add.c64", "--json"))
    forms = report["units"][0]["forms"]
    assert {form["verdict"] for form in forms.values()} == {"interpreted"}
    assert "c64" in forms["odd"]["text"]
    assert "c64" in hone(tmp_path, "verify", "--filter", "add.c64")


def test_a_wrong_kernel_is_found_and_its_case_runs(tmp_path, wrong_compiler):
    env = {**wrong_compiler, "HONE_CACHE": str(tmp_path / "cache")}
    words = ["verify", "--filter", "sub.f32", "--filter", "sub.i32", "--json"]
    report = json.loads(hone(tmp_path, *words, code=1, env=env))
    units = {unit["unit"]: unit["forms"] for unit in report["units"]}
    assert units["sub.f32"]["odd"]["verdict"] == units["sub.f32"]["line"]["verdict"] == "differs"
    assert all(form["verdict"] == "same" for form in units["sub.i32"].values())
    folder = tmp_path / "hone-verify-cases" / "sub.f32.scalar"
    assert [path.name for path in folder.parent.iterdir()] == ["sub.f32.scalar"]
    wanted = np.load(folder / "expected.npz")["out0"]
    for device, extra in [("ref", {}), ("cpu", env)]:
        hone(tmp_path, "run", folder / "graph.hg", folder / "inputs.npz", "--device", device,
             "-o", "y.npy", env=extra)
        same = np.array_equal(np.load(tmp_path / "y.npy"), wanted, equal_nan=True)
        assert same == (device == "ref")


def test_a_journal_goes_on_where_it_ended(tmp_path):
    words = ["verify", "--device", "ref", "--filter", "reduce.*", "--resume", "j", "--json"]
    whole = json.loads(hone(tmp_path, *words))
    lines = (tmp_path / "j").read_bytes().splitlines(keepends=True)
    assert len(lines) == len(whole["units"]) + 1
    (tmp_path / "j").write_bytes(b"".join(lines[:5]) + lines[5][:20])  # ended while writing
    again = json.loads(hone(tmp_path, *words))
    assert again["units"] == whole["units"]
    assert (tmp_path / "j").read_bytes().splitlines(keepends=True) == lines
    message = hone(tmp_path, *words[:-1], "--seed", 2, code=1)
    assert message == ""


def test_a_journal_of_something_else_stays_as_it_is(tmp_path):
    (tmp_path / "j").write_text("precious\n")
    hone(tmp_path, "verify", "--filter", "add.f32", "--resume", "j", code=1)
    assert (tmp_path / "j").read_text() == "precious\n"


@pytest.mark.parametrize("name", ["r.html", "r.json"])
def test_reports(tmp_path, name):
    hone(tmp_path, "verify", "--device", "ref", "--filter", "neg.*", "-o", name)
    text = (tmp_path / name).read_text()
    assert "neg.f32" in text and "src=" not in text and "http" not in text
    if name == "r.json":
        assert json.loads(text)["device"] == "ref"


@pytest.mark.parametrize("words", [["--slice", "3/2"], ["--slice", "x"], ["--random", "-1"],
                                   ["-o", "report.txt"], ["--threads", "-1"], ["model.onnx"]])
def test_misuse_is_told(tmp_path, words):
    assert "hone verify" in hone(tmp_path, "verify", *words, code=2)


def test_devices_that_are_not_there(tmp_path):
    hone(tmp_path, "verify", "--device", "abacus", code=1)
    hone(tmp_path, "verify", "--filter", "no such unit", code=1)
