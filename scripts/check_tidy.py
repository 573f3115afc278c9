#!/usr/bin/env python3
"""clang-tidy over the C files, as many at once as there are cores.

A file that passed is not examined again until it, a header it includes, or the
rules change: build/tidy/ holds one empty file per digest of all these. After
TIDY_SECONDS (480) no further file is begun; what is left is counted, and is
first in line the next time. Files are taken in an order that changes with
every commit, so that runs which start with nothing cover all of them in turn.
"""

import concurrent.futures
import hashlib
import os
import subprocess
import sys
import time

import tree

CACHE = "build/tidy"
REPORT = "build/tidy_report.txt"
PRELUDE = "scripts/tidy_prelude.h"
FLAGS = ["-std=c11", "-D_GNU_SOURCE", '-DHONE_VERSION="0"', "-Iinclude", "-Isrc",
         "-Itools/hone", "-Itools/look"]
# A failing assertion of cmocka leaves the test by a jump: nothing is freed, nor need be.
NOT_IN_TESTS = "-clang-analyzer-unix.Malloc,-cert-err34-c"
LIMIT_S = float(os.environ.get("TIDY_SECONDS", 480))


def closure(path, seen):
    """Adds the file and all that it includes to `seen`."""
    if path in seen:
        return
    with open(path, encoding="utf-8") as file:
        seen[path] = file.read()
    for _, name in tree.includes(seen[path]):
        target = tree.resolve(path, name)
        if target:
            closure(target, seen)


def digest(path):
    seen = {}
    closure(path, seen)
    closure(PRELUDE, seen)
    with open(".clang-tidy", encoding="utf-8") as file:
        seen[".clang-tidy"] = file.read()
    text = repr((path, FLAGS, NOT_IN_TESTS, sorted(seen.items())))
    return hashlib.sha256(text.encode()).hexdigest()


def examine(path, stamp, deadline):
    """'left', 'passed' or the findings."""
    if time.monotonic() > deadline:
        return "left"
    flags = list(FLAGS)
    if path != "src/base/status.c":  # defines what the prelude replaces
        flags += ["-include", PRELUDE]
    checks = f"--checks={NOT_IN_TESTS}" if tree.is_test(path) else "--checks="
    done = subprocess.run(["clang-tidy", "--quiet", checks, path, "--"] + flags,
                          capture_output=True, text=True)
    if done.returncode == 0:
        open(stamp, "w").close()
        return "passed"
    return (done.stdout or done.stderr).replace(f"{tree.ROOT}/", "").rstrip()


def heads(text):
    """The lines that name a finding, without how it comes about."""
    return [line.replace(",-warnings-as-errors", "") for line in text.splitlines()
            if ": error: " in line] or [text]


def commit():
    done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True)
    return done.stdout.strip()


def main():
    os.makedirs(CACHE, exist_ok=True)
    named = sys.argv[1:]
    paths = [path for path in tree.c_files() if path.endswith(".c") and (not named or path in named)]
    stamps = {path: f"{CACHE}/{digest(path)}" for path in paths}
    to_do = [path for path in paths if not os.path.exists(stamps[path])]
    to_do.sort(key=lambda path: hashlib.sha256((commit() + path).encode()).digest())
    deadline = time.monotonic() + LIMIT_S
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda path: examine(path, stamps[path], deadline), to_do))
    for old in set(os.listdir(CACHE)) - {os.path.basename(stamp) for stamp in stamps.values()}:
        if not named:
            os.remove(f"{CACHE}/{old}")
    left = results.count("left")
    findings = [text for text in results if text not in ("left", "passed")]
    with open(REPORT, "w", encoding="utf-8") as file:
        file.write("\n\n".join(findings))
    problems = [line for text in findings for line in heads(text)]
    if problems:
        print(f"clang-tidy: how each comes about is in {REPORT}")
    summary = f"{len(paths)} files clean, {len(paths) - len(to_do)} of them from the cache"
    if left:
        summary = f"{len(paths) - left} files clean, {left} left for the next run (out of time)"
    tree.fail_if(tree.report("clang-tidy", problems, summary))


main()
