"""The page and the tables made of results of benchmarks, from samples: shapes, not figures."""

import json
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))
import models  # noqa: E402
import page  # noqa: E402
import results  # noqa: E402


def row(model="resnet50", ratio=1.2, precision="fp32", **more):
    peers = {"onnxruntime": {"state": "ok", "median_ms": 10.0 * ratio},
             "iree": {"state": "crashed", "why": "signal 11 <&>"}}
    return {"model": model, "batch": 1, "precision": precision, "threads": 2,
            "hone": {"state": "ok", "median_ms": 10.0}, "peers": peers, "best": "onnxruntime",
            "ratio": ratio, "lowest_ratio": ratio * 0.9, "highest_ratio": ratio * 1.1,
            "limit_ms": 5.0, **more}


def run(date, rows):
    return {"date": date, "version": "0.1.0", "commit": "abc",
            "peers": {"onnxruntime": "onnxruntime 1"}, "rows": rows}


MACHINE = {"cpu": "Some <CPU>", "features": ["avx2"], "cores": 2, "architecture": "x86_64"}
FAILED = {"model": "refused/model.onnx", "batch": 1, "precision": "fp32", "threads": 2,
          "error": "no such operator <X>"}
HISTORY = {"machine": MACHINE, "runs": [
    run("2026-01-01", [row(ratio=0.8), row(ratio=0.1, precision="int8")]),
    run("2026-02-01", [row(ratio=1.25), row("a/b.onnx", 0.5), row("c/" + "d" * 90, 30.0),
                                 FAILED])]}


def pictures(text):
    return [xml.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", text, re.S)]


def test_all_is_on_the_page():
    text = page.page([("some-kind", HISTORY)])
    for words in ("some-kind", "Some &lt;CPU&gt;", "0.800", "1.250", "geometric mean 3.873",
                  "least 0.500", "signal 11 &lt;&amp;&gt;", "no such operator &lt;X&gt;", "50 %"):
        assert words in text, words
    assert "<CPU>" not in text and "http" not in text  # it needs nothing else


def test_pictures_are_whole_and_inside_their_frames():
    drawn = pictures(page.page([("some-kind", HISTORY)]))
    assert len(drawn) == 2
    for svg in drawn:
        width, height = map(float, svg.get("viewBox").split()[2:])
        dots = svg.findall(".//circle")
        assert dots
        for dot in dots:
            assert 0 < float(dot.get("cx")) < width and 0 < float(dot.get("cy")) < height


def test_a_curve_has_a_point_for_each_run():
    over_time = pictures(page.page([("some-kind", HISTORY)]))[0]
    counts = sorted(len(line.get("points").split()) for line in over_time.findall(".//polyline"))
    assert counts == [1, 2]


def test_higher_ratios_are_drawn_higher():
    scale = page.Scale([0.5, 2.0], 300, 0)
    assert scale.at(2.0) < scale.at(1) < scale.at(0.5)
    assert scale.at(2.0) + scale.at(0.5) == pytest.approx(2 * scale.at(1), abs=0.2)


def test_no_figures_yet():
    assert "No figures yet" in page.page([])
    empty = {"machine": MACHINE, "runs": [run("2026-01-01", [FAILED])]}
    assert "no such operator" in page.page([("k", empty)])


def test_the_program_draws_what_is_committed(tmp_path):
    out = tmp_path / "page.html"
    subprocess.run([sys.executable, ROOT / "bench" / "page.py", "-o", out], check=True, timeout=60)
    text = out.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>") and pictures(text)
    for kind, history in results.load():
        assert kind == results.kind_of(history["machine"]) and f"<h2>{kind}</h2>" in text


def test_the_table_of_models():
    wrong = row(hone={"state": "wrong", "why": "output 'y' differs"})
    for each in [row(), row("x" * 200, 0.001), FAILED, wrong]:
        assert len(models.line(each)) <= 100 and all(len(note) <= 100 for note in models.notes(each))
    assert models.notes(row()) == ["    iree crashed: signal 11 <&>"]
    assert models.line(row()).split()[4:7] == ["10", "12", "1.200"]
    assert "no such operator" in models.line(FAILED) and "wrong" in models.line(wrong)
    assert len(models.head()) <= 100
    assert models.summary([row(ratio=2.0), row("m", 0.5), FAILED]) == (
        "2 rows: geometric mean 1.000, least 0.500 (m), 1 below 0.95")
    assert models.summary([row()]) == ""


def test_results_are_appended(tmp_path, monkeypatch):
    class Settings:
        rounds, seconds = 3, 0.5
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    for date in ("2026-01-01", "2026-01-02"):
        monkeypatch.setattr(results, "TODAY", date)
        results.save([row(ratio=3.0)], Settings)
        results.save([row(ratio=1.23456), FAILED], Settings)  # the same run, measured again
    [(kind, history)] = results.load()
    assert kind == results.kind_of(history["machine"])
    assert [len(each["rows"]) for each in history["runs"]] == [2, 2]
    assert history["runs"][1]["rows"][0]["ratio"] == 1.235
    assert json.loads(next(tmp_path.iterdir()).read_text()) == history


@pytest.mark.parametrize("cpu, features, kind", [
    ("AMD EPYC 7B13 64-Core Processor", ["avx2"], "amd-epyc-7b13-64-core-avx2-2-cores"),
    ("Intel(R) Xeon(R) CPU @ 2.20GHz", ["avx2", "avx512f"], "intel-xeon-avx512f-2-cores"),
    ("aarch64", ["asimd", "sve"], "aarch64-sve-2-cores")])
def test_kinds_of_machines(cpu, features, kind):
    assert results.kind_of({**MACHINE, "cpu": cpu, "features": features}) == kind
