"""The history of figures: bench/results/KIND.json, one file for each kind of machine.

A file holds the machine and its runs, the oldest first; a run is what was measured of one commit
on one day: the versions of the peers, and a row for each model, precision, batch and number of
threads. What is measured again that day replaces its row.
"""

import json
import os
import pathlib
import platform
import re
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "bench" / "results"
FEATURES = ("avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16",
            "avx512_fp16", "avx_vnni", "amx_tile", "amx_int8", "amx_bf16", "asimd", "asimddp", "bf16",
            "i8mm", "sve")
# The widest of these names the kind of machine.
WIDEST = ("amx_tile", "avx512f", "avx2", "sve", "asimd")
TODAY = time.strftime("%Y-%m-%d", time.gmtime())


def machine():
    info = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    fields = dict(line.split(":", 1) for line in info.replace("\t", "").splitlines() if ":" in line)
    flags = fields.get("flags", fields.get("Features", "")).split()
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {"cpu": fields.get("model name", platform.machine()).strip(),
            "model": "/".join(fields.get(key, "?").strip() for key in ("cpu family", "model")),
            "features": [name for name in FEATURES if name in flags],
            "cores": len(os.sched_getaffinity(0)), "architecture": platform.machine(),
            "memory_gb": round(pages / 1e9)}


def kind_of(about):
    width = next((name for name in WIDEST if name in about["features"]), about["architecture"])
    words = re.sub(r"\(.*?\)|processor|cpu|@.*", " ", about["cpu"].lower())
    return re.sub(r"[^a-z0-9]+", "-", f"{words} {width} {about['cores']} cores").strip("-")


def commit():
    """Of HEAD; "+" where what is built is not that."""
    git = ["git", "-C", str(ROOT)]
    name = subprocess.run([*git, "rev-parse", "--short=10", "HEAD"], capture_output=True, text=True,
                          check=False).stdout.strip()
    changed = subprocess.run([*git, "diff", "--quiet", "HEAD", "--", "src", "include", "cmake"],
                             capture_output=True, check=False).returncode
    return name + "+" * bool(changed)


def key_of(row):
    return row["model"], row["precision"], row["batch"], row["threads"]


def run_of(rows, args, before):
    """The run of today, with what `before` has of it."""
    versions = {name: peer["version"] for row in rows for name, peer in row.get("peers", {}).items()
                if peer.get("version")}
    merged = {key_of(row): row for row in before.get("rows", [])}
    merged.update({key_of(row): {"rounds": args.rounds, **rounded(row), "turn_seconds": args.seconds,
                                 "load_average": round(os.getloadavg()[0], 1)} for row in rows})
    return {"date": TODAY, "version": (ROOT / "VERSION").read_text(encoding="utf-8").strip(),
            "commit": commit(), "peers": {**before.get("peers", {}), **versions},
            "rows": list(merged.values())}


def rounded(value):
    """Four digits: what a measurement is good for."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items() if key != "version"}
    return value


def save(rows, args):
    """Adds rows to the history of this kind of machine."""
    about = machine()
    path = FOLDER / f"{kind_of(about)}.json"
    runs = json.loads(path.read_text(encoding="utf-8"))["runs"] if path.exists() else []
    last = runs[-1] if runs else {}
    is_same = (last.get("date"), last.get("commit")) == (TODAY, commit())
    runs = runs[:-1] if is_same else runs
    runs.append(run_of(rows, args, last if is_same else {}))
    part = path.with_suffix(".part")
    part.write_text(json.dumps({"machine": about, "runs": runs}, indent=1) + "\n", encoding="utf-8")
    part.replace(path)


def load():
    """[(kind, history)] of all kinds of machine."""
    found = []
    for path in sorted(FOLDER.glob("*.json")):
        history = json.loads(path.read_text(encoding="utf-8"))
        if "runs" in history:
            found.append((path.stem, history))
    return found
