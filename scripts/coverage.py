#!/usr/bin/env python3
"""Which lines the C tests run: builds preset coverage, runs ctest, prints the
share of each file, least covered first. With file names: the lines not run."""

import collections
import json
import subprocess
import sys

import tree

BUILD = tree.ROOT / "build/coverage"


def run_tests():
    for command in (["cmake", "--preset", "coverage"], ["cmake", "--build", "--preset", "coverage"]):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    for old in BUILD.rglob("*.gcda"):
        old.unlink()
    return subprocess.run(["ctest", "--preset", "coverage", "-j2"]).returncode


def line_counts():
    """{file: {line: times run}}, summed over all programs."""
    counts = collections.defaultdict(collections.Counter)
    for data in BUILD.rglob("*.gcno"):
        done = subprocess.run(["gcov", "--json-format", "--stdout", str(data)],
                              cwd=BUILD, capture_output=True, text=True)
        for document in filter(None, done.stdout.splitlines()):
            for file in json.loads(document)["files"]:
                path = (BUILD / file["file"]).resolve()
                if not path.is_relative_to(tree.ROOT) or path.is_relative_to(BUILD):
                    continue
                for line in file["lines"]:
                    counts[str(path.relative_to(tree.ROOT))][line["line_number"]] += line["count"]
    return counts


def main():
    status = run_tests()
    counts = {path: lines for path, lines in line_counts().items() if not tree.is_test(path)}
    share = {path: sum(map(bool, lines.values())) / len(lines) for path, lines in counts.items()}
    for path in sorted(share, key=share.get):
        print(f"{share[path]:7.1%}  {path}")
        if path in sys.argv[1:]:
            print("         not run:", *(line for line in sorted(counts[path]) if not counts[path][line]))
    run = sum(sum(map(bool, lines.values())) for lines in counts.values())
    print(f"{run / max(1, sum(map(len, counts.values()))):7.1%}  all")
    tree.fail_if(status)


main()
