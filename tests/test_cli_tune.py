"""`hone tune` on databases: listing, exchange, and what is wrong with files."""

import json
import sqlite3

import pytest

from command import hone


def tune(*words, code=0, env=None):
    done = hone("tune", *words, code=code, env=env)
    return done.stdout if code == 0 else done.stderr


def record(kernel, parameters, seconds=None, **more):
    made = {"kernel": kernel, "tactic": "tiles", "device": "some cpu", "driver": "",
            "compiler": "gcc 12", "hone": "0.1.0", "label": f"matmul {kernel}",
            "parameters": parameters, "outcome": "ok", "seconds": seconds, "spread": 0.0,
            "when": 1700000000}
    if seconds is None:
        made.update(outcome="build failed", message="no")
        del made["seconds"], made["spread"]
    return {**made, **more}


def write(path, *records):
    lines = [{"format": "hone-tune", "version": 1}, *records]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def filled(tmp_path):
    """A database with two kernels."""
    write(tmp_path / "a.jsonl", record("k1", "vec=8", 2e-3), record("k1", "vec=4", 1e-3),
          record("k1", "vec=2"), record("k2", "vec=16", 5e-6))
    tune("import", tmp_path / "a.jsonl", "--db", tmp_path / "a.db")
    return tmp_path / "a.db"


def test_list_and_best(filled):
    lines = tune("list", "--db", filled).splitlines()
    assert lines[0].split() == ["KERNEL", "TACTIC", "OK", "FAILED", "BEST", "DEVICE"]
    assert lines[1].split() == ["matmul", "k1", "tiles", "2", "1", "1", "ms", "some", "cpu"]
    assert lines[2].split() == ["matmul", "k2", "tiles", "1", "0", "5", "us", "some", "cpu"]
    assert tune("best", "--db", filled).splitlines() == [
        "matmul k1  tiles  1 ms  some cpu", "    vec=4",
        "matmul k2  tiles  5 us  some cpu", "    vec=16"]
    assert tune("best", "--db", filled, "--kernel", "k2").count("\n") == 2


def test_json(filled):
    best = json.loads(tune("best", "--db", filled, "--json"))
    assert best["database"] == str(filled)
    assert [(k["kernel"], k["parameters"], k["seconds"]) for k in best["kernels"]] == [
        ("k1", "vec=4", 1e-3), ("k2", "vec=16", 5e-6)]
    listed = json.loads(tune("list", "--db", filled, "--json"))
    assert [(k["ok"], k["failed"]) for k in listed["kernels"]] == [(2, 1), (1, 0)]
    assert json.loads(tune("check", "--db", filled, "--json"))["sound"] is True


def test_export_is_json_lines_that_import(filled, tmp_path):
    lines = [json.loads(line) for line in tune("export", "--db", filled).splitlines()]
    assert lines[0] == {"format": "hone-tune", "version": 2}
    assert lines[1] == record("k1", "vec=4", 1e-3)
    assert len(lines) == 5
    assert tune("export", tmp_path / "best", "--best", "--db", filled).startswith("2 records")
    other = tmp_path / "deep" / "other.db"
    assert tune("import", tmp_path / "best", "--db", other).startswith("2 added, 0 there already")
    merged = json.loads(tune("import", filled, "--db", other, "--json"))
    assert (merged["added"], merged["same"]) == (2, 2)
    assert tune("export", "--db", other) == tune("export", "--db", filled)


def test_conflicts_are_counted_and_the_better_stays(filled, tmp_path):
    write(tmp_path / "b.jsonl", record("k1", "vec=8", 9e-3), record("k1", "vec=4", 5e-4),
          record("k2", "vec=16", outcome="wrong result"))
    merged = json.loads(tune("import", tmp_path / "b.jsonl", "--db", filled, "--json"))
    assert (merged["replaced"], merged["kept"]) == (2, 1)
    best = json.loads(tune("best", "--db", filled, "--json"))["kernels"]
    assert [(k["kernel"], k["seconds"]) for k in best] == [("k1", 5e-4)]


def test_a_bad_line_imports_nothing(filled, tmp_path):
    before = tune("export", "--db", filled)
    write(tmp_path / "bad", record("k9", "p", 1e-3), {"kernel": "k9"})
    message = tune("import", tmp_path / "bad", "--db", filled, code=1)
    assert f"{tmp_path / 'bad'}: line 3: \"tactic\" is missing" in message
    assert tune("export", "--db", filled) == before


def test_the_default_database_is_in_the_cache(tmp_path):
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert str(tmp_path / "cache" / "hone" / "tune.db") in tune("list", code=1, env=cache)
    write(tmp_path / "a.jsonl", record("k", "vec=8", 2e-3))
    tune("import", tmp_path / "a.jsonl", env=cache)
    assert (tmp_path / "cache" / "hone" / "tune.db").is_file()
    assert "matmul k" in tune("list", env=cache)


def test_damaged_files_are_set_aside_on_request(tmp_path):
    path = tmp_path / "a.db"
    path.write_bytes(b"not a database, though long enough to be one" * 10)
    assert "hone tune set-aside" in tune("list", "--db", path, code=1)
    assert path.is_file()
    tune("set-aside", "--db", path)
    assert not path.exists() and (tmp_path / "a.db.corrupt").is_file()
    assert "not found" in tune("set-aside", "--db", path, code=1)


def test_foreign_and_newer_databases_are_refused(filled, tmp_path):
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("CREATE TABLE mine(a)")
    assert "not one of tuning" in tune("list", "--db", tmp_path / "other.db", code=1)
    with sqlite3.connect(filled) as newer:
        newer.execute("PRAGMA user_version = 9")
    assert "newer hone" in tune("list", "--db", filled, code=1)


def test_names_cannot_command_the_terminal(tmp_path):
    write(tmp_path / "a.jsonl", record("k", "p\x1b[2J", 1e-3, label="evil \x1b[31m \u009b name"))
    tune("import", tmp_path / "a.jsonl", "--db", tmp_path / "a.db")
    for action in ("list", "best"):
        assert "\x1b" not in tune(action, "--db", tmp_path / "a.db")


@pytest.mark.parametrize("words", [["guess"], ["import"], ["list", "file"], ["list", "--best"],
                                   ["export", "a", "b"], []])
def test_misuse_is_told(words):
    assert "hone tune" in tune(*words, code=2)


def test_the_file_can_be_looked_into(filled):
    """The schema is for people too: a view gives the best of each kernel."""
    with sqlite3.connect(filled) as database:
        rows = database.execute("SELECT label, seconds, parameters FROM best").fetchall()
    assert rows == [("matmul k1", 1e-3, "vec=4"), ("matmul k2", 5e-6, "vec=16")]
