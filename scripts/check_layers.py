#!/usr/bin/env python3
"""Includes point left to right only, and every header stands by itself.

    base <- ir <- ops <- import, passes <- loop <- sched <- tune, codegen <- runtime <- backends
         <- quant, prune, train, dist, serve, bundle, nas <- tools

Public headers (include/hone) include public headers only. A folder of the same
rank is as far away as one to the right; so is another backend. Tests may
include anything.
"""

import concurrent.futures
import os
import re
import shutil
import subprocess

import tree

RANKS = [["base"], ["ir"], ["ops"], ["import", "passes"], ["loop"], ["sched"],
         ["tune", "codegen"], ["runtime"], ["backends"],
         ["quant", "prune", "train", "dist", "serve", "bundle", "nas"]]
RANK = {folder: rank for rank, folders in enumerate(RANKS) for folder in folders}


def place(path):
    """(rank, part) of a file: parts of one rank may not know each other; None: no layer."""
    if path.startswith("include/hone/"):
        return -1, "include"
    if path.startswith("tools/"):
        return len(RANKS), "tools"
    match = re.match(r"src/(\w+)/(?:(\w+)/)?", path)
    if not match or match.group(1) not in RANK:
        return None
    folder, inner = match.groups()
    part = f"backends/{inner}" if folder == "backends" and inner else folder
    return RANK[folder], part


def may_include(user, used):
    if user[1] == used[1]:
        return True
    if user[1].startswith("backends/") and used[1] in ("backends", "backends/common"):
        return True
    return used[0] < user[0]


def wrong_includes(path):
    user = place(path)
    if user is None or tree.is_test(path):
        return
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for line, name in tree.includes(text):
        target = tree.resolve(path, name)
        used = place(target) if target else None
        if target is None and not name.endswith("_registry.h"):
            yield f"{path}:{line}: \"{name}\" is no file of the project"
        elif used and not may_include(user, used):
            yield f"{path}:{line}: {user[1]} may not include {used[1]} (\"{name}\")"


def compile_alone(path):
    """Compiles a header with nothing before it, a public one as C++ too."""
    flags = ["-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter",
             "-Wno-missing-field-initializers", "-Wno-unused-function",
             "-Iinclude", "-Isrc", "-Itools/hone",
             "-Itools/look"]
    public = path.startswith("include/")
    runs = [["cc", "-x", "c", "-std=c11", "-D_GNU_SOURCE"]]
    if public:
        runs = [["cc", "-x", "c", "-std=c11", "-pedantic"]]
        if shutil.which("clang"):
            runs.append(["clang", "-x", "c++", "-std=c++17"])
    for run in runs:
        source = f'#include "{os.path.abspath(path)}"\n'
        done = subprocess.run(run + flags + ["-"], input=source, capture_output=True, text=True)
        if done.returncode:
            return f"{path}: does not compile alone ({' '.join(run[:3])}):\n{done.stderr.rstrip()}"
    return None


def main():
    paths = tree.c_files()
    problems = [problem for path in paths for problem in wrong_includes(path)]
    for path in paths:
        if path.startswith("src/") and place(path) is None:
            problems.append(f"{path}: no layer is called that; see scripts/check_layers.py")
    headers = [path for path in paths
               if path.endswith(".h") and path.startswith(("include/", "src/", "tools/hone/", "tools/look/"))]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        problems += filter(None, pool.map(compile_alone, headers))
    tree.fail_if(tree.report("layers", problems, f"{len(paths)} files keep to their layer, "
                             f"{len(headers)} headers compile alone"))


main()
