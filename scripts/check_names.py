#!/usr/bin/env python3
"""Names: what libhone.so exports starts with hone_, files are in snake_case,
and no text names a place that exists on one machine only."""

import os
import re
import subprocess

import tree

LIBRARY = "build/release/libhone.so"
CODE = re.compile(r"^[a-z0-9_]+(\.[a-z0-9_]+)*$")
PAGE = re.compile(r"^[a-z0-9_-]+(\.[a-z0-9_]+)*$")  # pages and plain data may use dashes
CODE_ENDINGS = (".c", ".h", ".py", ".sh", ".cmake", ".hir")
AS_OTHERS_NAME_THEM = {"CMakeLists.txt", "CMakePresets.json", "CONTRIBUTING.md", "LICENSE",
                       "Makefile", "README.md", "VERSION"}
# Written in two pieces, so that this file passes.
FORBIDDEN = [re.compile(first + second) for first, second in [
    (r"(?<![\w.}])/wo", r"rk/"), (r"(?<![\w.}])/ro", r"ot/"), (r"(?<![\w.}])/ho", r"me/\w"),
    (r"session of the ", r"assistant"), (r"pypi", r"\.org"), (r"pythonhosted", r"\.org"),
    (r"deb\.debian", r"\.org"), (r"registry\.npmjs", r"\.org")]]


def bad_symbols():
    if not os.path.exists(LIBRARY):
        return
    listing = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True,
                             text=True, check=True).stdout
    for line in listing.splitlines():
        symbol = line.split()[-1]
        if not symbol.startswith("hone_"):
            yield f"{LIBRARY}: exports {symbol}, which does not start with hone_"


def bad_name(path):
    name = os.path.basename(path)
    if name.startswith(".") or name in AS_OTHERS_NAME_THEM or path.startswith("tests/fuzz_corpus/"):
        return None
    rule = CODE if name.endswith(CODE_ENDINGS) else PAGE
    return None if rule.match(name) else f"{path}: the name is not in snake_case"


def bad_words(path):
    with open(path, "rb") as file:
        data = file.read()
    if b"\0" in data:
        return
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        for pattern in FORBIDDEN:
            match = pattern.search(line)
            if match:
                yield f"{path}:{number}: {match.group()!r} has no place in the project"


def main():
    paths = tree.files()
    problems = list(bad_symbols()) + list(filter(None, map(bad_name, paths)))
    problems += [problem for path in paths for problem in bad_words(path)]
    library = "" if os.path.exists(LIBRARY) else f" ({LIBRARY} is not built: not looked at)"
    tree.fail_if(tree.report("names", problems, f"{len(paths)} files in order{library}"))


main()
