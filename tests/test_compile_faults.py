"""Compiling when things go wrong: broken compilers, full disks, damaged caches, many processes,
foreign engines, and kill -9 at any moment. Nothing is left half-written, and the next run works.

HONE_KILLS=100 kills at as many moments, which is what `make faults` does."""

import json
import os
import pathlib
import random
import resource
import shutil
import signal
import sqlite3
import stat
import subprocess
import time

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("HONE_BUILD_DIR", ROOT / "build" / "release"))
HONE = BUILD / "hone"
KILLS = int(os.environ.get("HONE_KILLS", "12"))
TUNING_KILLS = KILLS if "HONE_KILLS" in os.environ else 3


class Place:
    """A folder with a model, a cache and a folder for temporary files of its own."""

    def __init__(self, folder):
        self.folder, self.cache, self.tmp = folder, folder / "cache", folder / "tmp"
        self.tmp.mkdir()
        self.model, self.engine = folder / "net.onnx", folder / "net.hone"
        self.env = {**os.environ, "HONE_CACHE": str(self.cache), "TMPDIR": str(self.tmp),
                    "XDG_CACHE_HOME": str(folder / "xdg")}
        self.env.pop("HONE_CC", None)
        info = helper.make_tensor_value_info
        nodes = [helper.make_node("Exp", ["x"], ["a"], "one"),
                 helper.make_node("CumSum", ["a", "axis"], ["b"], "two"),
                 helper.make_node("Softmax", ["b"], ["c"], "three"),
                 helper.make_node("ReduceSum", ["c"], ["y"], "four")]
        graph = helper.make_graph(nodes, "g", [info("x", TensorProto.FLOAT, ["n", 40])],
                                  [info("y", TensorProto.FLOAT, [1, 1])],
                                  [onnx.numpy_helper.from_array(np.int64(1), "axis")])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                                    ir_version=8), self.model)

    def command(self, *words):
        return [str(word) for word in (HONE, *words)]

    def hone(self, *words, code=0, **settings):
        done = subprocess.run(self.command(*words), cwd=self.folder, env=self.env, timeout=200,
                              capture_output=True, text=True, **settings)
        assert done.returncode == code, done.stdout[-2000:] + done.stderr[-2000:]
        return done.stdout + done.stderr

    def compile(self, code=0, **settings):
        return self.hone("compile", self.model, "-o", self.engine, code=code, **settings)

    def runs(self):
        out = self.hone("run", self.engine, "--random", "--shape", "x=3,40", "--json")
        assert json.loads(out)["outputs"]

    def compiler(self, body):
        """A script in place of the compiler, which sees where its product should go as $out."""
        path = self.folder / "cc"
        path.write_text("#!/bin/sh\n[ \"$1\" = --version ] && { echo fake compiler 1; exit; }\n"
                        "all=\"$*\"\nwhile [ $# -gt 0 ]; do [ \"$1\" = -o ] && out=$2; shift; done\n"
                        + body + "\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        self.env["HONE_CC"] = str(path)

    def assert_clean(self):
        """No engine, no part of one, no folder of a build."""
        assert not list(self.folder.glob("net.hone*"))
        assert not list(self.tmp.iterdir())


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


@pytest.mark.parametrize("body,words", [
    ("echo 'x.c:1: error: no' >&2; exit 1", "error: no"),
    ("kill -SEGV $$", "signal 11"),
    ("echo garbage > $out", "no ELF file"),
    ("exit 0", "made nothing"),
])
def test_broken_compilers_are_named(place, body, words):
    place.compiler(body)
    assert words in place.compile(code=1)
    place.assert_clean()
    del place.env["HONE_CC"]
    place.compile()
    place.runs()


def test_without_a_compiler_engines_still_run(place):
    place.compile()
    place.env.update(PATH=str(place.folder / "empty"), HONE_CACHE=str(place.folder / "other"))
    place.env.pop("CC", None)
    assert "install gcc or clang" in place.hone("compile", place.model, "-o", "b.hone", code=1)
    assert not list(place.folder.glob("b.hone*"))
    place.runs()


def limit_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def test_no_room_for_files(place):
    """Not even for what the compiler reads: an error, and nothing is left."""
    place.compile(code=1, preexec_fn=limit_files)
    place.assert_clean()
    place.compile()
    place.runs()


@pytest.fixture
def tiny_disk(tmp_path):
    """64 KiB that are full soon; needs the right to mount."""
    folder = tmp_path / "disk"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=700", "none", folder],
                          capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"no small file system can be mounted here: {done.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_full_cache_disk_costs_time_only(place, tiny_disk):
    (tiny_disk / "filler").write_bytes(bytes(60 << 10))
    place.env["HONE_CACHE"] = str(tiny_disk)
    place.env["HONE_LOG"] = "warning"
    assert "No space left" in place.compile()
    place.runs()
    names = {path.name for path in tiny_disk.iterdir()}  # small entries may fit, whole
    assert "filler" in names and not [name for name in names if ".tmp-" in name]


def test_a_full_disk_for_the_engine_is_an_error(place, tiny_disk):
    (tiny_disk / "filler").write_bytes(bytes(60 << 10))
    assert "disk is full" in place.hone("compile", place.model, "-o", tiny_disk / "n.hone", code=1)
    assert [path.name for path in tiny_disk.iterdir()] == ["filler"]


def test_a_cache_that_is_no_folder_costs_time_only(place):
    place.cache.write_text("in the way")
    place.compile()
    place.runs()
    assert place.cache.read_text() == "in the way"


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only to root")
def test_a_read_only_cache_costs_time_only(place):
    place.cache.mkdir(mode=0o500)
    place.compile()
    place.runs()
    assert not list(place.cache.iterdir())


def test_a_cache_on_a_read_only_disk_costs_time_only(place, tiny_disk):
    done = subprocess.run(["mount", "-o", "remount,ro", tiny_disk], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("a file system cannot be made read-only here")
    place.env["HONE_CACHE"] = str(tiny_disk)
    place.compile()
    place.runs()


def test_damaged_cache_entries_are_made_again(place):
    place.compile()
    rng = random.Random(1)
    for entry in place.cache.iterdir():
        data = bytearray(entry.read_bytes())
        how = rng.randrange(3)
        if how == 0:
            data = data[:rng.randrange(len(data))]
        elif how == 1:
            data[rng.randrange(len(data))] ^= 0x40
        else:
            data = bytearray(len(data))
        entry.write_bytes(data)
    place.engine.unlink()
    place.compile()
    place.runs()
    assert place.hone("compile", place.model, "-o", place.engine)


@pytest.mark.parametrize("count", [2, 8])
def test_processes_share_a_cache(place, count):
    running = [subprocess.Popen(place.command("compile", place.model, "-o", f"{i}.hone"),
                                cwd=place.folder, env=place.env, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT) for i in range(count)]
    for process in running:
        out, _ = process.communicate(timeout=200)
        assert process.returncode == 0, out
    engines = {(place.folder / f"{i}.hone").read_bytes() for i in range(count)}
    assert len(engines) == 1
    assert not list(place.tmp.iterdir())
    assert not [path for path in place.cache.iterdir() if ".tmp-" in path.name]


def test_engines_for_others_are_refused(place):
    place.compile()
    data = place.engine.read_bytes()
    last = len(data.rstrip(b"\0")) - 1  # no padding, which nobody reads
    words = {"foreign": b"\x7fELF" + data[4:], "cut": data[:len(data) // 2], "empty": b"",
             "flipped": data[:last] + bytes([data[last] ^ 1]) + data[last + 1:],
             "newer": data[:8] + b"\xff\x7f\x00\x00" + data[12:]}
    for name, content in words.items():
        (place.folder / "bad.hone").write_bytes(content)
        said = place.hone("run", "bad.hone", "--random", "--shape", "x=3,40", code=1)
        assert "bad.hone" in said, name


def test_engines_for_another_instruction_set_are_refused(place):
    if not shutil.which("aarch64-linux-gnu-gcc"):
        pytest.skip("there is no compiler for aarch64 here")
    said = place.hone("compile", place.model, "-o", place.engine, "--target", "aarch64")
    assert "does not run on this machine" in said
    said = place.hone("run", place.engine, "--random", "--shape", "x=3,40", code=1)
    assert "aarch64" in said


def test_a_damaged_tuning_database_stops_no_compiling(place):
    folder = place.folder / "xdg" / "hone"
    folder.mkdir(parents=True)
    (folder / "tune.db").write_bytes(b"not a database, though long enough to be one" * 100)
    place.compile()
    place.runs()
    assert (folder / "tune.db").read_bytes().startswith(b"not a database")


def kill_at_random(place, words, seconds, rng):
    """Whether it was killed before it had ended."""
    process = subprocess.Popen(place.command(*words), cwd=place.folder, env=place.env,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(rng.random() * seconds)
    process.kill()
    return process.wait() == -signal.SIGKILL


def wait_until(holds):
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def living(group):
    """Processes of the group that have not ended."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, its = path.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(its) == group and state != "Z":
            found.append(path.parent.name)
    return found


def test_kill_9_while_compiling_leaves_all_usable(place):
    rng = random.Random(3)
    start = time.time()
    place.compile()
    cold, killed = time.time() - start, 0
    for i in range(KILLS):
        if i % 4 == 0:
            shutil.rmtree(place.cache, ignore_errors=True)
        killed += kill_at_random(place, ["compile", place.model, "-o", place.engine], cold, rng)
        assert len(list(place.tmp.iterdir())) <= 2  # what the last ones left, which the next removes
        assert len(list(place.folder.glob("net.hone*"))) <= 2
        if place.engine.exists() and i % 4 == 3:
            place.runs()
    assert killed > 0
    shutil.rmtree(place.cache, ignore_errors=True)
    place.compile()
    place.runs()
    assert not list(place.tmp.iterdir())
    assert [path.name for path in place.folder.glob("net.hone*")] == ["net.hone"]


def test_a_compiler_that_hangs_goes_with_who_is_killed(place):
    place.compiler('echo $$ > started; sleep 1000')
    process = subprocess.Popen(place.command("compile", place.model), cwd=place.folder, env=place.env,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    started = place.folder / "started"
    wait_until(lambda: started.exists() and started.read_text())
    group = int(started.read_text())
    time.sleep(0.1)
    process.kill()
    process.wait()
    wait_until(lambda: not living(group))


def test_kill_9_while_tuning_leaves_the_database_usable(place):
    rng = random.Random(4)
    database = place.folder / "tune.db"
    words = ["tune", place.model, "--dim", "n=3", "--budget", "3s", "--db", database]
    killed = 0
    for _ in range(TUNING_KILLS):
        killed += kill_at_random(place, words, 3, rng)
        if database.exists():
            with sqlite3.connect(database) as opened:
                assert opened.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            place.hone("tune", "check", "--db", database)
    assert killed > 0
    place.hone(*words)
    place.hone("tune", "list", "--db", database)
    place.hone("compile", place.model, "-o", place.engine)
    place.runs()
    assert not list(place.tmp.iterdir())
