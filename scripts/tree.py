"""What the checks share: the files of the project and what C text consists of."""

import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
os.chdir(ROOT)


def files():
    """Every file that belongs to the project, as paths relative to its root."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True, text=True, check=True).stdout
    return sorted(path for path in set(listing.split("\0")) if path and os.path.isfile(path))


def c_files():
    return [path for path in files() if path.endswith((".c", ".h"))]


def is_test(path):
    """Tests, fuzzers and what only they use."""
    return bool(re.search(r"_(test|fuzz|bench)\.c$|/testing/|^tests/|^bench/", path))


def blank_out(text):
    """The C text with comments, strings and character constants blanked: same lines, same columns."""
    token = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
    return token.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def includes(text):
    """(line number, name) of each #include "name"."""
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
        if match:
            yield number, match.group(1)


def resolve(path, name):
    """The file that #include "name" in `path` means, or None."""
    for folder in (os.path.dirname(path), "include", "src", "tools/hone", "tools/look"):
        found = os.path.normpath(os.path.join(folder, name))
        if os.path.isfile(found):
            return found
    return None


def functions(text):
    """(name, first line, lines of the body) of each function defined in the C text.

    The body's lines are those between its braces; at least one.
    """
    plain = "\n".join("" if line.lstrip().startswith("#") else line
                      for line in drop_continuations(blank_out(text)).split("\n"))
    depth, start, head_from, line = 0, None, 0, 1
    for position, char in enumerate(plain):
        if char == "\n":
            line += 1
        elif char == "{":
            if depth == 0:
                name = function_name(plain[head_from:position])
                if name is None and re.search(r"\bextern\s*$", plain[head_from:position]):
                    head_from = position + 1
                    continue  # extern "C" {
                start = (name, line)
            depth += 1
        elif char == "}" and depth:
            depth -= 1
            if depth == 0:
                if start[0]:
                    yield start[0], start[1], max(1, line - start[1] - 1)
                head_from = position + 1
        elif char == ";" and depth == 0:
            head_from = position + 1


def drop_continuations(text):
    """Blanks preprocessor lines that go on over several lines."""
    blank = lambda match: re.sub(r"[^\n]", " ", match.group())
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)+[^\n]*", blank, text, flags=re.MULTILINE)


def function_name(head):
    """The name in the text before a `{`, or None when that opens no function."""
    head = re.sub(r"__attribute__\s*\(\(.*?\)\)", " ", head, flags=re.DOTALL).strip()
    if not head.endswith(")") or "=" in head:
        return None
    match = re.search(r"(\w+)\s*\(", head)
    return match.group(1) if match else None


def report(title, problems, summary):
    """Prints the outcome of a check; the exit status it deserves."""
    for problem in problems:
        print(problem)
    print(f"{title}: {f'{len(problems)} problems' if problems else summary}")
    return 1 if problems else 0


def fail_if(status):
    sys.exit(status)
