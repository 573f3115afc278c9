"""Presence is registration: an operator or a tactic is one new file, a backend one new folder.

The smallest of each is copied under a new name into a copy of the project,
which is then built with nothing else changed.
"""

import pathlib
import shutil
import subprocess

import onnx
import pytest
from onnx import TensorProto, helper

ROOT = pathlib.Path(__file__).resolve().parent.parent


def run(*command, **settings):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          **settings)


def must(*command, **settings):
    done = run(*command, **settings)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def extended(tmp_path_factory):
    """The build folder of a hone that has one operator, one tactic and one backend more."""
    project = tmp_path_factory.mktemp("project")
    for name in ("CMakeLists.txt", "VERSION"):
        shutil.copy(ROOT / name, project)
    for name in ("cmake", "include", "src", "tools"):
        shutil.copytree(ROOT / name, project / name)
    operator = (project / "src/ops/relu.c").read_text()
    (project / "src/ops/presence.c").write_text(
        operator.replace("Relu", "Presence").replace("relu", "presence"))
    tactics = project / "src/backends/common/tactics"
    plain = (tactics / "plain.c").read_text()
    (tactics / "presence.c").write_text(plain.replace("hone_tactic_plain", "hone_tactic_presence")
                                        .replace('"plain"', '"presence"'))
    backend = project / "src/backends/presence"
    shutil.copytree(project / "src/backends/null", backend)
    for file in backend.iterdir():
        text = file.read_text()
        file.write_text(text.replace("null:0", "presence:0").replace('"null"', '"presence"')
                        .replace("hone_backend_null", "hone_backend_presence"))
    build = project / "build"
    must("cmake", "-S", project, "-B", build, "-G", "Ninja", "-DHONE_TESTS=OFF",
         "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_FLAGS_DEBUG=-O0")
    must("ninja", "-C", build)
    return build


def save_model(folder, op_type):
    """A model of one node."""
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in "xy"]
    graph = helper.make_graph([helper.make_node(op_type, ["x"], ["y"])], "g", value[:1],
                              value[1:])
    path = folder / f"{op_type}.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]), path)
    return path


def test_a_new_backend_is_listed(extended):
    done = run(extended / "hone", "devices")
    assert "presence:0" in done.stdout, done.stdout + done.stderr


def test_a_new_operator_is_known(extended, tmp_path):
    done = run(extended / "hone", "check", save_model(tmp_path, "Presence"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "runs on ref" in done.stdout, done.stdout


def test_a_new_tactic_is_tried(extended, tmp_path):
    done = run(extended / "hone", "tune", save_model(tmp_path, "Relu"), "--budget", "1h",
               "--trials", "1", "--db", tmp_path / "t.db", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "presence.parallel=" in done.stdout, done.stdout


def test_an_operator_without_a_file_is_unknown(extended, tmp_path):
    done = run(extended / "hone", "check", save_model(tmp_path, "Absence"))
    assert done.returncode == 3, done.stdout + done.stderr
    assert "Absence" in done.stdout, done.stdout
