#!/usr/bin/env python3
"""The size of things, and its limits.

Functions: median at most 12 lines, nine in ten at most 40, none over 100.
Files: at most 1,000 lines. Tables and interpreter loops may be longer when
scripts/budget_exceptions.txt names them with a reason. Lengths are lines of
the body. Tests are held to the two hard limits only.
"""

import collections
import os
import statistics

import tree

MEDIAN, NINE_IN_TEN, LONGEST, FILE_LINES, COLD_BUILD_S = 12, 40, 100, 1000, 60
EXCEPTIONS = "scripts/budget_exceptions.txt"


def read_exceptions():
    """{(path, function or '-')}; each line: path, function or - for the whole file, reason."""
    found = set()
    with open(EXCEPTIONS, encoding="utf-8") as file:
        for line in file:
            words = line.split(maxsplit=2)
            if words and not words[0].startswith("#"):
                if len(words) < 3:
                    raise SystemExit(f"{EXCEPTIONS}: no reason given: {line.strip()}")
                found.add((words[0], words[1]))
    return found


def part_of(path):
    if tree.is_test(path):
        return "tests"
    pieces = path.split("/")
    return "/".join(pieces[:2]) if len(pieces) > 2 else pieces[0]


def ninth_decile(lengths):
    return sorted(lengths)[(len(lengths) * 9 + 9) // 10 - 1] if lengths else 0


def median(lengths):
    return statistics.median_high(lengths) if lengths else 0


def row(name, file_count, lines, lengths):
    return (f"{name:22} {file_count:6} {lines:7} {len(lengths):7} {median(lengths):7} "
            f"{ninth_decile(lengths):7} {max(lengths, default=0):8}")


def measure(problems, exceptions):
    """Lines and function lengths by part; adds what is over a hard limit to problems."""
    counts, lines = collections.Counter(), collections.Counter()
    lengths = collections.defaultdict(list)
    used = set()
    for path in tree.c_files():
        with open(path, encoding="utf-8") as file:
            text = file.read()
        part, size = part_of(path), text.count("\n")
        counts[part] += 1
        lines[part] += size
        if size > FILE_LINES:
            if (path, "-") not in exceptions:
                problems.append(f"{path}: {size} lines, the limit is {FILE_LINES}")
            used.add((path, "-"))
        for name, line, length in tree.functions(text):
            if length > LONGEST:
                if (path, name) not in exceptions:
                    problems.append(f"{path}:{line}: {name} has {length} lines, "
                                    f"the limit is {LONGEST}")
                used.add((path, name))
            if (path, name) not in exceptions:
                lengths[part].append(length)
    problems += [f"{EXCEPTIONS}: {path} {name} needs no exception"
                 for path, name in sorted(exceptions - used)]
    return counts, lines, lengths


def print_sizes():
    """What only a build can tell; nothing is said of what was not built."""
    for path in ("build/release/libhone.so", "build/release/hone"):
        if os.path.exists(path):
            print(f"{path}: {os.path.getsize(path) / 1024:.0f} KiB")
    if os.path.exists("build/cold_build_seconds"):
        with open("build/cold_build_seconds", encoding="utf-8") as file:
            print(f"cold build of library and command: {float(file.read()):.1f} s on "
                  f"{os.cpu_count()} cores (budget {COLD_BUILD_S} s on two)")


def main():
    problems = []
    counts, lines, lengths = measure(problems, read_exceptions())
    print(f"{'':22} {'files':>6} {'lines':>7} {'funcs':>7} {'median':>7} {'9 in 10':>7} {'longest':>8}")
    for part in sorted(counts):
        print(row(part, counts[part], lines[part], lengths[part]))
    code = [length for part in lengths if part != "tests" for length in lengths[part]]
    print(row("all but tests", sum(counts.values()) - counts["tests"],
              sum(lines.values()) - lines["tests"], code))
    print_sizes()
    if median(code) > MEDIAN:
        problems.append(f"the median function has {median(code)} lines, the limit is {MEDIAN}")
    if ninth_decile(code) > NINE_IN_TEN:
        problems.append(f"one function in ten is longer than {ninth_decile(code)} lines, "
                        f"the limit is {NINE_IN_TEN}")
    tree.fail_if(tree.report("budgets", problems, "within limits"))


main()
