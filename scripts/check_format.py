#!/usr/bin/env python3
"""Every C file is as clang-format would write it."""

import subprocess

import tree


def main():
    paths = tree.c_files()
    done = subprocess.run(["clang-format", "--dry-run", "-Werror", *paths],
                          capture_output=True, text=True)
    problems = sorted({line.split(":")[0] + ": run clang-format -i on it"
                       for line in done.stderr.splitlines() if ": error: " in line})
    if done.returncode and not problems:
        problems = [done.stderr]
    tree.fail_if(tree.report("format", problems, f"{len(paths)} files"))


main()
