"""The ONNX reader and writer against the onnx package: every model of its
backend tests comes back from hone as it went in, values too, and damaged files
give a message."""

import os
import pathlib
import random
import subprocess

import numpy as np
import onnx
import pytest
from onnx import AttributeProto, TensorProto, TypeProto, helper, numpy_helper
from onnx.backend.test.loader import load_model_tests

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("HONE_BUILD_DIR", ROOT / "build" / "release"))
PACKAGE = pathlib.Path(onnx.__file__).parent
NONE, TENSOR, SEQUENCE, MAP, OPTIONAL, SPARSE = range(6)  # hone_onnx_type_kind_t
NOT_KEPT = {"metadata_props", "training_info", "quantization_annotation", "configuration",
            "device_configurations", "opaque_type"}


class Tool:
    """tests/tools/onnx_roundtrip.c, kept running."""

    def __init__(self):
        program = BUILD / "tests" / "tests_tools_onnx_roundtrip"
        assert program.exists(), f"{program} is not built; run: make build"
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

    def __call__(self, *parts):
        """Gives the lines before the last, and the last."""
        self.process.stdin.write("\t".join(str(part) for part in parts) + "\n")
        self.process.stdin.flush()
        lines = []
        while True:
            line = self.process.stdout.readline()
            assert line, f"the tool died at {parts}"
            line = line.rstrip("\n")
            if line == "ok" or line.split(":")[0].isupper():
                return lines, line
            lines.append(line)


@pytest.fixture(scope="module")
def tool():
    one = Tool()
    yield one
    one.process.stdin.close()
    assert one.process.wait() == 0


@pytest.fixture(scope="module")
def cases():
    return [case for kind in ("node", "simple", "pytorch-converted", "pytorch-operator")
            for case in load_model_tests(kind=kind)]


def plain_tensor(tensor, folder=""):
    """A tensor in the one storage that hone writes."""
    plain = TensorProto(dims=tensor.dims, data_type=tensor.data_type)
    if tensor.name:
        plain.name = tensor.name
    if tensor.doc_string:
        plain.doc_string = tensor.doc_string
    if tensor.data_type == TensorProto.STRING:
        plain.string_data.extend(tensor.string_data)
    else:
        array = numpy_helper.to_array(tensor, folder)
        plain.raw_data = numpy_helper.from_array(array).raw_data
    return plain


def keeps_zero(message, name):
    """Fields that mean something when they are there with their default value."""
    kind = message.DESCRIPTOR.name
    return (kind == "AttributeProto" and name in "fis") or (kind, name) == ("Dimension", "dim_value")


def plain(message):
    """Clears, in place, what hone does not keep and what says nothing."""
    kind = message.DESCRIPTOR.name
    for field, value in message.ListFields():
        many = hasattr(value, "append")
        if field.name in NOT_KEPT or (kind == "Dimension" and field.name == "denotation"):
            message.ClearField(field.name)
        elif field.message_type is not None:
            for child in value if many else [value]:
                if child.DESCRIPTOR.name == "TensorProto":
                    child.CopyFrom(plain_tensor(child))
                else:
                    plain(child)
            if not many and (kind, field.name) == ("ValueInfoProto", "type") and not value.ByteSize():
                message.ClearField(field.name)
        elif kind == "Dimension" and value in ("?", "-1", -1):
            message.ClearField(field.name)  # says that nothing is known
        elif not many and value == field.default_value and not keeps_zero(message, field.name):
            message.ClearField(field.name)
        elif field.name == "domain" and value == "ai.onnx":
            message.ClearField(field.name)
    return message


def assert_same(before, after):
    before, after = plain(before), plain(after)
    assert before == after, f"before:\n{before}\nafter:\n{after}"


def copy(tool, tmp_path, model):
    before, after = tmp_path / "before.onnx", tmp_path / "after.onnx"
    before.write_bytes(model.SerializeToString())
    assert tool("copy", before, after) == ([], "ok")
    return onnx.load(after)


def test_every_backend_test_model_comes_back(tool, cases, tmp_path):
    for case in cases:
        model = case.model or onnx.load(pathlib.Path(case.model_dir) / "model.onnx")
        assert_same(model, copy(tool, tmp_path, model))
    assert len(cases) > 2000


def test_every_model_of_the_package_comes_back(tool, tmp_path):
    paths = sorted(PACKAGE.rglob("*.onnx"))
    for path in paths:
        model = onnx.load(path)
        assert_same(model, copy(tool, tmp_path, model))
    assert len(paths) > 140


def value_message(value, type_proto):
    if type_proto.HasField("sequence_type"):
        return SEQUENCE, numpy_helper.from_list(value)
    if type_proto.HasField("optional_type"):
        return OPTIONAL, numpy_helper.from_optional(value)
    return TENSOR, value if isinstance(value, TensorProto) else numpy_helper.from_array(value)


def plain_value(message):
    if isinstance(message, TensorProto):
        message = plain_tensor(message)
        message.ClearField("name")  # hone keeps no names of values
        return message
    for field, value in message.ListFields():
        if field.name in ("name", "elem_type"):
            message.ClearField(field.name)  # empty lists have no kind
        elif field.message_type is not None:
            for child in value if hasattr(value, "append") else [value]:
                child.CopyFrom(plain_value(child))
    return message


def test_every_backend_test_value_comes_back(tool, cases, tmp_path):
    before, after = tmp_path / "before.pb", tmp_path / "after.pb"
    count = 0
    for case in cases:
        if case.model is None or not case.data_sets:
            continue
        infos = list(case.model.graph.input) + list(case.model.graph.output)
        values = list(case.data_sets[0][0]) + list(case.data_sets[0][1])
        for info, value in zip(infos, values):
            kind, message = value_message(value, info.type)
            before.write_bytes(message.SerializeToString())
            assert tool("value", kind, before, after) == ([], "ok")
            again = type(message).FromString(after.read_bytes())
            assert plain_value(message) == plain_value(again), case.name
            count += 1
    assert count > 4000


def identity_model(initializers, name="w"):
    node = helper.make_node("Identity", [name], ["y"], name="node_y")
    graph = helper.make_graph([node], "g", [], [helper.make_empty_tensor_value_info("y")],
                              initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)])


ALL_TYPES = [kind for kind in TensorProto.DataType.values()
             if kind != TensorProto.UNDEFINED]


@pytest.mark.parametrize("shape", [(), (0,), (3,), (5, 7), (2, 0, 3)])
@pytest.mark.parametrize("raw", [True, False])
@pytest.mark.parametrize("kind", ALL_TYPES, ids=TensorProto.DataType.Name)
def test_every_type_in_every_storage(tool, tmp_path, kind, raw, shape):
    count = int(np.prod(shape))
    if kind == TensorProto.STRING:
        if raw:
            pytest.skip("strings have no raw form")
        tensor = helper.make_tensor("w", kind, shape, [f"é{i}\0" for i in range(count)])
    else:
        values = (np.arange(count) * 7 % 13 - 5).reshape(shape)
        if kind in (TensorProto.COMPLEX64, TensorProto.COMPLEX128):
            values = values + 1j * values[..., ::-1] if shape else values + 1j
        if TensorProto.DataType.Name(kind).startswith(("U", "B", "FLOAT8E8M0")):
            values = np.abs(values)
        array = values.astype(helper.tensor_dtype_to_np_dtype(kind))
        if raw:
            tensor = numpy_helper.from_array(array, "w")
        else:
            tensor = helper.make_tensor("w", kind, shape, array.flatten())
            assert not tensor.raw_data
    assert tensor.data_type == kind
    model = identity_model([tensor])
    assert_same(model, copy(tool, tmp_path, model))


@pytest.mark.parametrize("field, kind, wire, values", [
    (4, TensorProto.FLOAT, 5, [1.5, -2.0, 3.25]),
    (5, TensorProto.INT32, 0, [1, -2, 1 << 30]),
    (7, TensorProto.INT64, 0, [1, -2, 1 << 60]),
    (10, TensorProto.DOUBLE, 1, [1.5, -2.0, 3.25]),
    (11, TensorProto.UINT64, 0, [1, 2, 1 << 63]),
])
def test_numbers_that_are_not_packed(tool, tmp_path, field, kind, wire, values):
    def number(value):
        if wire == 5:
            return np.float32(value).tobytes()
        if wire == 1:
            return np.float64(value).tobytes()
        value &= (1 << 64) - 1
        out = bytearray()
        while value >= 0x80:
            out.append(value & 0x7F | 0x80)
            value >>= 7
        return bytes(out + bytes([value]))

    tensor = TensorProto(dims=[3], data_type=kind, name="w").SerializeToString()
    for value in values[:2]:
        tensor += bytes([field << 3 | wire]) + number(value)
    last = number(values[2])
    tensor += bytes([field << 3 | 2, len(last)]) + last  # and one packed, as the format allows
    model = identity_model([TensorProto.FromString(tensor)])
    # The package packs what it writes: the bytes are put in by hand.
    packed = model.graph.initializer[0].SerializeToString()
    whole = model.SerializeToString()
    assert packed in whole
    del model.graph.initializer[:]
    graph = model.graph.SerializeToString() + bytes([5 << 3 | 2, len(tensor)]) + tensor
    model.ClearField("graph")
    prefix = model.SerializeToString()
    assert len(graph) < 128
    before, after = tmp_path / "before.onnx", tmp_path / "after.onnx"
    before.write_bytes(prefix + bytes([7 << 3 | 2, len(graph)]) + graph)
    assert tool("copy", before, after) == ([], "ok")
    read = numpy_helper.to_array(onnx.load(after).graph.initializer[0])
    assert read.tolist() == values


def test_all_kinds_of_attributes(tool, tmp_path):
    tensor = numpy_helper.from_array(np.arange(3.0), "t")
    graph = helper.make_graph([], "sub", [], [])
    sparse = helper.make_sparse_tensor(
        numpy_helper.from_array(np.float32([1, 2]), "v"),
        numpy_helper.from_array(np.int64([0, 5]), "i"), [3, 4])
    type_proto = helper.make_map_type_proto(
        TensorProto.INT64,
        helper.make_sequence_type_proto(helper.make_optional_type_proto(
            helper.make_sparse_tensor_type_proto(TensorProto.FLOAT, ["n", 3, None]))))
    values = dict(f=0.0, i=0, s=b"", t=tensor, g=graph, sp=sparse, tp=type_proto,
                  fs=[1.0, 0.0], ins=[-1, 0, 1 << 62], ss=[b"a\0b", b""], ts=[tensor, tensor],
                  gs=[graph], sps=[sparse], tps=[type_proto, TypeProto()])
    node = helper.make_node("Anything", [], ["y"], domain="test", **values)
    empty = AttributeProto(name="empty", type=AttributeProto.INTS)
    node.attribute.append(empty)
    model = helper.make_model(
        helper.make_graph([node], "g", [], [helper.make_empty_tensor_value_info("y")]))
    assert len(model.graph.node[0].attribute) == 15
    assert_same(model, copy(tool, tmp_path, model))


def digest(tensor):
    """Each byte counts with its place, as in the tool."""
    data = np.frombuffer(numpy_helper.to_array(tensor).tobytes(), np.uint8).astype(np.uint64)
    return int((data * np.arange(1, len(data) + 1, dtype=np.uint64)).sum())


def assert_lists_agree(tool, path):
    graph = onnx.load(path).graph
    lines, last = tool("list", path)
    assert last == "ok"
    listed = [line.split("\t") for line in lines]
    assert [line[1:] for line in listed if line[0] == "node"] == [
        [node.op_type, node.name, str(len(node.input)), str(len(node.output)),
         str(len(node.attribute))] for node in graph.node]
    assert [line[1:] for line in listed if line[0] == "tensor"] == [
        [tensor.name, str(tensor.data_type), ",".join(map(str, tensor.dims)), str(digest(tensor))]
        for tensor in graph.initializer if tensor.data_type != TensorProto.STRING]


def test_contents_agree_with_the_package(tool, tmp_path):
    path = tmp_path / "model.onnx"
    arrays = [np.random.default_rng(i).standard_normal((i, 3)).astype(np.float32)
              for i in range(1, 30)]
    tensors = [numpy_helper.from_array(a, f"w{i}") for i, a in enumerate(arrays)]
    onnx.save(identity_model(tensors, "w0"), path)
    assert_lists_agree(tool, path)
    for path in sorted(PACKAGE.rglob("*.onnx")):
        assert_lists_agree(tool, path)


def external_model(folder, location="weights.bin", **entries):
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    (folder / "weights.bin").write_bytes(b"\0" * 64 + array.tobytes())
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[3, 4],
                         data_location=TensorProto.EXTERNAL)
    for key, value in {"location": location, "offset": 64, "length": 48, **entries}.items():
        if value is not None:
            tensor.external_data.add(key=key, value=str(value))
    path = folder / "model.onnx"
    path.write_bytes(identity_model([tensor]).SerializeToString())
    return path, array


@pytest.mark.parametrize("entries", [{}, {"length": None}])
def test_external_data(tool, tmp_path, entries):
    path, array = external_model(tmp_path, **entries)
    assert tool("copy", path, tmp_path / "after.onnx") == ([], "ok")
    after = onnx.load(tmp_path / "after.onnx")
    assert np.array_equal(numpy_helper.to_array(after.graph.initializer[0]), array)


@pytest.mark.parametrize("entries, words", [
    ({"location": "../weights.bin"}, ["../weights.bin", "'w'"]),
    ({"location": "/etc/passwd"}, ["/etc/passwd", "'w'"]),
    ({"location": "a/../../weights.bin"}, ["'w'"]),
    ({"location": "link.bin"}, ["link.bin", "'w'"]),
    ({"location": "absent.bin"}, ["absent.bin", "'w'"]),
    ({"location": "."}, ["'w'"]),
    ({"location": ""}, ["no location"]),
    ({"offset": 65}, ["weights.bin", "shorter", "48 bytes", "112", "'w'"]),
    ({"offset": 1 << 63}, ["shorter"]),
    ({"offset": -1}, ["not a number"]),
    ({"offset": 1 << 65}, ["not a number"]),
    ({"length": 47}, ["47", "48"]),
    ({"length": "x"}, ["not a number"]),
])
def test_external_data_that_is_refused(tool, tmp_path, entries, words):
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "secret.bin").write_bytes(b"\0" * 4096)
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    path, _ = external_model(folder, **entries)
    _, answer = tool("copy", path, tmp_path / "after.onnx")
    assert answer != "ok" and str(path) in answer
    for word in words:
        assert word in answer, answer
    assert not (tmp_path / "after.onnx").exists()


def test_damaged_files_never_crash(tool, tmp_path):
    path = tmp_path / "damaged.onnx"
    rng = random.Random(1)
    sources = sorted(PACKAGE.rglob("*.onnx"), key=lambda p: p.stat().st_size)[::12]
    for source in sources:
        whole = source.read_bytes()[:60_000]
        for _ in range(40):
            data = bytearray(whole)
            for _ in range(rng.choice([1, 1, 2, 5, 20])):
                data[rng.randrange(len(data))] = rng.randrange(256)
            path.write_bytes(data)
            _, answer = tool("list", path)
            assert answer == "ok" or str(path) in answer
