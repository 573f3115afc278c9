"""The checks of make check find what they are there to find."""

import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLEAN = """/* Idea. */
int hone_one(void);
int hone_one(void) { return 1; }
"""


@pytest.fixture
def project(tmp_path):
    """An empty project with hone's scripts; write(path, text) adds a file."""
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts",
                    ignore=shutil.ignore_patterns("__pycache__", "budget_exceptions.txt"))
    for name in (".clang-format", ".gitignore"):
        shutil.copy(ROOT / name, tmp_path / name)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    write(tmp_path, "scripts/budget_exceptions.txt", "# none\n")
    write(tmp_path, "src/base/one.c", CLEAN)
    return tmp_path


def write(project, path, text):
    file = project / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def run(project, check):
    done = subprocess.run(["python3", f"scripts/check_{check}.py"], cwd=project,
                          capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def remove_prelude(project):
    """The analyzer's prelude needs hone's own headers."""
    (project / "scripts/tidy_prelude.h").unlink()


@pytest.mark.parametrize("check", ["format", "layers", "names", "budgets"])
def test_a_clean_project_passes(project, check):
    remove_prelude(project)
    status, output = run(project, check)
    assert status == 0, output


@pytest.mark.parametrize("path, include, problem", [
    ("src/ir/two.c", "ops/op.h", "ir may not include ops"),
    ("src/passes/two.c", "import/in.h", "passes may not include import"),
    ("src/backends/a/two.c", "backends/b/b.h", "backends/a may not include backends/b"),
    ("include/hone/two.h", "base/b.h", "include may not include base"),
    ("src/ir/two.c", "ir/missing.h", "is no file of the project"),
    ("src/other/two.c", "base/b.h", "no layer is called that"),
])
def test_an_include_to_the_right_is_found(project, path, include, problem):
    for header in ("ops/op.h", "import/in.h", "backends/b/b.h", "base/b.h"):
        write(project, f"src/{header}", "/* Idea. */\n")
    write(project, path, f'#include "{include}"\n')
    status, output = run(project, "layers")
    assert status == 1
    assert problem in output


@pytest.mark.parametrize("path, include", [
    ("src/ops/two.c", "ir/i.h"),
    ("src/ir/two_test.c", "ops/op.h"),
    ("src/backends/a/two.c", "backends/common/c.h"),
])
def test_an_include_to_the_left_or_of_a_test_is_fine(project, path, include):
    remove_prelude(project)
    for header in ("ir/i.h", "ops/op.h", "backends/common/c.h"):
        write(project, f"src/{header}", "/* Idea. */\n")
    write(project, path, f'#include "{include}"\n')
    status, output = run(project, "layers")
    assert status == 0, output


def test_a_header_that_leans_on_another_is_found(project):
    write(project, "src/base/two.h", "size_t hone_two(void);\n")
    status, output = run(project, "layers")
    assert status == 1
    assert "src/base/two.h: does not compile alone" in output


def long_function(lines):
    body = "".join(f"  x += {i};\n" for i in range(lines - 1))
    return f"int hone_long(int x);\nint hone_long(int x) {{\n{body}  return x;\n}}\n"


@pytest.mark.parametrize("lines, fits", [(100, True), (101, False)])
def test_a_function_may_have_a_hundred_lines(project, lines, fits):
    for name in ("a", "b", "c", "d", "e", "f", "g", "h", "i", "j"):
        write(project, f"src/base/{name}.c", CLEAN)
    write(project, "src/base/long.c", long_function(lines))
    status, output = run(project, "budgets")
    assert (status == 0) == fits, output
    assert ("hone_long has 101 lines" in output) != fits


def test_an_exception_needs_to_be_needed(project):
    write(project, "scripts/budget_exceptions.txt", "src/base/one.c hone_one it is a table\n")
    status, output = run(project, "budgets")
    assert status == 1
    assert "src/base/one.c hone_one needs no exception" in output


def test_an_exception_lets_a_long_table_pass(project):
    write(project, "src/base/long.c", long_function(200))
    write(project, "scripts/budget_exceptions.txt", "src/base/long.c hone_long it is a table\n")
    status, output = run(project, "budgets")
    assert status == 0, output


def test_a_long_file_is_found(project):
    write(project, "src/base/long.c", "\n" * 1001)
    status, output = run(project, "budgets")
    assert status == 1
    assert "src/base/long.c: 1001 lines" in output


@pytest.mark.parametrize("path, text, problem", [
    ("src/base/Two.c", "", "not in snake_case"),
    ("docs/two.md", "see /wo" + "rk/notes\n", "has no place in the project"),
    ("docs/two.md", "from pypi" + ".org\n", "has no place in the project"),
])
def test_a_bad_name_is_found(project, path, text, problem):
    write(project, path, text)
    status, output = run(project, "names")
    assert status == 1
    assert problem in output


def test_bad_format_is_found(project):
    write(project, "src/base/two.c", "int   x ;\n")
    status, output = run(project, "format")
    assert status == 1
    assert "src/base/two.c" in output
