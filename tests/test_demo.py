"""The demo end to end: real models, real pictures, the text that must be read, the report."""

import html.parser
import os
import re
import subprocess

import numpy as np
import PIL.Image
import pytest

import demo_check
import demo_gains
from demo_check import fetch

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("HONE_BUILD_DIR", os.path.join(ROOT, "build", "release"))
DEMO = os.path.join(BUILD, "examples", "hone-demo")
LINES = [
    "Region-based segmentation",
    "Let us first determine markers of the coins and the",
    "background. These markers are pixels that we can label",
    "unambiguously as either object or background. Here,",
    "the markers are found at the two extreme parts of the",
    "histogram of grey values:",
]
VOID = {"meta", "img", "br", "link", "input", "hr"}


@pytest.fixture(scope="module")
def files():
    rows, failed = fetch.fetch(["demo", "pictures"])
    assert not failed, failed
    return {os.path.basename(row.file): row.file for row in rows}


def command(files, report, **changed):
    options = {"style": files[demo_check.MODELS["style"]],
               "detect": files[demo_check.MODELS["detect"]],
               "read": files[demo_check.MODELS["read"]],
               "photo": files["chelsea.png"], "page": files["page.png"],
               "report": str(report)} | changed
    return [DEMO] + [word for name, value in options.items() for word in (f"--{name}", str(value))]


@pytest.fixture(scope="module")
def result(files, tmp_path_factory):
    """(folder of the run, what it printed); the photograph comes as a JPEG here."""
    folder = tmp_path_factory.mktemp("demo")
    PIL.Image.open(files["chelsea.png"]).save(folder / "photo.jpg", quality=95)
    (folder / "dump").mkdir()
    done = subprocess.run(
        command(files, folder / "report.html", photo=folder / "photo.jpg", styles="19",
                **{"dump-dir": folder / "dump"}),
        capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


def test_reads_the_page(result):
    read = [line[8:] for line in result[1].splitlines() if re.match(r"  [01]\.\d\d  ", line)]
    assert read[:len(LINES)] == LINES
    assert len(read) == len(LINES) + 1  # and a line of code


def test_networks_agree_with_onnx_runtime(result):
    errors = demo_check.errors(result[0] / "dump")
    assert set(errors) == set(demo_check.MODELS)
    assert len(errors["read"]) >= len(LINES)
    assert max(max(each) for each in errors.values()) <= demo_check.LIMIT


def test_pictures_go_in_unchanged(result, files):
    """At its own size nothing is resampled, so the input is the picture to the last bit."""
    fed = np.load(result[0] / "dump" / "style-0.in.image.npy")
    assert fed.shape == (1, 3, 256, 384)
    photo = np.asarray(PIL.Image.open(files["chelsea.png"]), np.float64) / 255
    assert np.allclose(fed[0].mean(axis=(1, 2)), photo.mean(axis=(0, 1)), atol=0.01)


class Tags(html.parser.HTMLParser):
    """Notes attributes, and fails where tags do not nest."""

    def __init__(self):
        super().__init__()
        self.open, self.attributes, self.names = [], [], []

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.names.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> inside {self.open[-3:]}"
        self.open.pop()


def test_report_stands_alone(result):
    text = (result[0] / "report.html").read_text()
    tags = Tags()
    tags.feed(text)
    tags.close()
    assert tags.open == []
    for name, value in tags.attributes:
        if name in ("src", "href", "xlink:href", "srcset", "action", "data"):
            assert value.startswith("data:image/jpeg;base64,"), (name, value[:80])
    assert not re.search(r"https?:|@import|url\(", text)
    assert tags.names.count("img") == 2 and tags.names.count("svg") == 4
    assert tags.names.count("polygon") == len(LINES) + 1
    for line in LINES:
        assert f"<td>{line}</td>" in text


@pytest.mark.parametrize("option", ["style", "detect", "read", "photo", "page"])
def test_missing_and_cut_files_are_named(files, tmp_path, option):
    whole = {"photo": files["chelsea.png"], "page": files["page.png"]}
    whole |= {name: files[model] for name, model in demo_check.MODELS.items()}
    cut = tmp_path / os.path.basename(whole[option])
    with open(whole[option], "rb") as file:
        cut.write_bytes(file.read()[:5000])
    for path in (cut, tmp_path / "absent"):
        done = subprocess.run(command(files, tmp_path / "report.html", **{option: path}),
                              capture_output=True, text=True)
        assert done.returncode == 1
        assert path.name in done.stderr and "what to do" in done.stderr
    assert not list(tmp_path.glob("report*"))


def test_a_jpeg_cut_short_is_refused(result, files, tmp_path):
    cut = tmp_path / "cut.jpg"
    cut.write_bytes((result[0] / "photo.jpg").read_bytes()[:20000])
    done = subprocess.run(command(files, tmp_path / "report.html", photo=cut),
                          capture_output=True, text=True)
    assert done.returncode == 1 and "cut.jpg: the picture is damaged or cut short" in done.stderr


def test_wrong_options_show_the_usage(files, tmp_path):
    for changed in ({"styles": "26"}, {"styles": "1,,2"}, {"nonsense": "x"}):
        done = subprocess.run(command(files, tmp_path / "report.html", **changed),
                              capture_output=True, text=True)
        assert done.returncode == 2 and "usage: hone-demo" in done.stderr


def test_without_a_compiler_the_message_says_what_to_do(files, tmp_path):
    nothing = {"PATH": str(tmp_path), "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run(command(files, tmp_path / "report.html"), capture_output=True, text=True,
                          env=nothing)
    assert done.returncode == 1 and "compiler" in done.stderr and "--device ref" in done.stderr
    assert not list(tmp_path.glob("report*"))
    done = subprocess.run(command(files, tmp_path / "report.html", device="ref", styles="5"),
                          capture_output=True, text=True, env=nothing)
    assert done.returncode == 0 and (tmp_path / "report.html").exists()


# ---- what compiling gains ----

def gain(**changed):
    return demo_gains.Gain(**{"network": "style", "cpu_ms": 10.0, "peer_ms": 20.0, "ref_ms": 400.0,
                              "error": 1e-6, "runs": 9} | changed)


def test_gains_are_measured_and_put_into_the_report(result, tmp_path, capsys):
    folder = result[0]
    report = tmp_path / "report.html"
    report.write_text((folder / "report.html").read_text())
    for _ in range(2):  # the second time takes the place of the first
        assert demo_gains.main([str(folder / "dump"), str(report), "--seconds", "0.01"]) == 0
    text = report.read_text()
    tags = Tags()
    tags.feed(text)
    tags.close()
    assert tags.open == [] and text.count("What compiling gains") == 1
    assert "over ONNX Runtime" in text and not list(tmp_path.glob("*.part"))
    printed = capsys.readouterr().out
    assert all(title in printed for title in demo_gains.TITLES.values())
    assert all(len(line) <= 100 for line in printed.splitlines())


def test_gains_are_ratios_of_times():
    text = demo_gains.section([gain()], 2)
    assert "<b>40.0 ×</b>" in text and "<b>2.00 ×</b>" in text and "2 threads" in text
    assert "width:50.0%" in text and "width:100.0%" in text


def test_turns_are_taken():
    order = []
    times = demo_gains.by_turns([lambda: order.append("a"), lambda: order.append("b")], 0.001)
    assert len(times[0]) == len(times[1]) == len(order) // 2
    assert "".join(order[:6]) == "abbaab"[:len(order)]


def test_wrong_results_are_not_timed(result, tmp_path, monkeypatch):
    monkeypatch.setattr(demo_gains, "difference", lambda got, want: 0.5)
    with pytest.raises(SystemExit, match="nothing is timed"):
        demo_gains.measure("read", result[0] / "dump", 1, 0.01)
    (tmp_path / "other.html").write_text("<p>something else</p>")
    with pytest.raises(SystemExit, match="no report of hone-demo"):
        demo_gains.put_into(tmp_path / "other.html", "x")
