"""Sequences and optionals against ONNX Runtime, both looked into while building and at run time."""

import numpy as np
import pytest
from onnx import parser

import hone_ctypes
from compare import check_model

A = np.arange(6, dtype=np.float32).reshape(2, 3)
B = -A[:1]
C = A * 2


def model(text, opset=18):
    return parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}]>\n{text}')


def check(text, *inputs, want=None, opset=18):
    check_model(model(text, opset), inputs, want, 0, 0)


def refused(text, *inputs):
    proto = model(text)
    with pytest.raises(hone_ctypes.HoneError) as caught:
        hone_ctypes.run(proto, {i.name: v for i, v in zip(proto.graph.input, inputs)})
    return str(caught.value)


# A sequence made of values of the graph, and one that is only there when it runs.
MADE = ("float[a,3] x, float[b,3] y, float[c,3] z", "s = SequenceConstruct (x, y, z)", [A, B, C])
GIVEN = ("seq(float[a,3]) s", "", [[A, B, C]])


@pytest.fixture(params=[MADE, GIVEN], ids=["made", "given"])
def sequence(request):
    return request.param


def i64(value):
    return np.array(value, np.int64)


@pytest.mark.parametrize("at", [0, 2, -1, -3])
@pytest.mark.parametrize("constant", [True, False])
def test_at(sequence, at, constant):
    inputs, made, values = sequence
    if constant:
        check(f"m ({inputs}) => (float[p,q] r) <int64 k = {{{at}}}> {{ {made} r = SequenceAt (s, k) }}",
              *values)
    else:
        check(f"m ({inputs}, int64 k) => (float[p,q] r) {{ {made} r = SequenceAt (s, k) }}", *values,
              i64(at))


@pytest.mark.parametrize("at", [3, -4])
def test_at_nowhere(sequence, at):
    inputs, made, values = sequence
    text = f"m ({inputs}) => (float[p,q] r) <int64 k = {{{at}}}> {{ {made} r = SequenceAt (s, k) }}"
    assert "position" in refused(text, *values)


def test_length(sequence):
    inputs, made, values = sequence
    check(f"m ({inputs}) => (int64 r) {{ {made} r = SequenceLength (s) }}", *values)


@pytest.mark.parametrize("at", [0, 1, 3, -1, -3, None])
def test_insert(sequence, at):
    inputs, made, values = sequence
    k = "" if at is None else f"<int64 k = {{{at}}}>"
    place = "" if at is None else ", k"
    check(f"m ({inputs}, float[d,3] w) => (seq(float[p,q]) r) {k} {{ {made} "
          f"r = SequenceInsert (s, w{place}) }}", *values, A[:0])


@pytest.mark.parametrize("at", [0, 2, -1, -3, None])
def test_erase(sequence, at):
    inputs, made, values = sequence
    k = "" if at is None else f"<int64 k = {{{at}}}>"
    place = "" if at is None else ", k"
    check(f"m ({inputs}) => (seq(float[p,q]) r, int64 n) {k} {{ {made} r = SequenceErase (s{place}) "
          "n = SequenceLength (r) }", *values)


@pytest.mark.parametrize("op", ["SequenceErase (s, k)", "SequenceInsert (s, w, k)"])
def test_change_nowhere(sequence, op):
    inputs, made, values = sequence
    text = f"m ({inputs}, float[d,3] w) => (seq(float[p,q]) r) <int64 k = {{7}}> {{ {made} r = {op} }}"
    assert "position 7" in refused(text, *values, A)


def test_empty():
    check("m () => (int64 n, seq(float[p]) s) { s = SequenceEmpty () n = SequenceLength (s) }",
          want=[i64(0), []])


def test_insert_into_empty():
    check("""m (int64[a] x) => (seq(int64[p]) s) { e = SequenceEmpty <dtype = 7> ()
             s = SequenceInsert (e, x) }""", i64([1, 2]))


@pytest.mark.parametrize("axis", [0, -2])
def test_concat(sequence, axis):
    inputs, made, values = sequence
    check(f"m ({inputs}) => (float[p,q] r) {{ {made} t = ConcatFromSequence <axis = {axis}> (s) "
          "r = Neg (t) }", *values)


@pytest.mark.parametrize("axis", [0, 1, -1, -3])
def test_stack(sequence, axis):
    inputs, made, values = sequence
    same = [A, C, A] if made else [[A, C, A]]
    check(f"m ({inputs}) => (float[p,q,u] r) {{ {made} "
          f"t = ConcatFromSequence <axis = {axis}, new_axis = 1> (s) r = Neg (t) }}", *same)


def test_concat_that_does_not_fit():
    text = "m (seq(float[a,b]) s) => (float[p,q] r) { r = ConcatFromSequence <axis = 1> (s) }"
    assert "element 1" in refused(text, [A, B])
    assert "no tensors" in refused(text, [])


def test_concat_strings():
    words = np.array(["a", "bcd"], object)
    check("m (seq(string[a]) s) => (string[p] r) { r = ConcatFromSequence <axis = 0> (s) }",
          [words, words[:1]], want=[np.array(["a", "bcd", "a"], object)])


SPLIT = "m (float[a,b] x%s) => (seq(float[p,q]) s, int64 n) %s { s = SplitToSequence <%s> (x%s) n = SequenceLength (s) }"


@pytest.mark.parametrize("static", [True, False])
@pytest.mark.parametrize("axis,sizes", [(0, "1"), (0, "2"), (1, "2"), (-1, "5"), (1, "[1, 2]"),
                                        (1, "[0, 3]"), (0, "[2]")])
def test_split(static, axis, sizes):
    values = sizes.strip("[]")
    shape = f"[{len(values.split(','))}]" if "[" in sizes else ""
    text = SPLIT % ("", f"<int64{shape} k = {{{values}}}>", f"axis = {axis}", ", k")
    if static:
        text = text.replace("float[a,b]", "float[2,3]")
    check(text, A)


def test_split_sizes_given_when_it_runs():
    text = SPLIT % (", int64[c] k", "", "axis = 1", ", k")
    check(text, A, i64([2, 1]))
    check(text, A, i64([3]))
    assert "add up" in refused(text, A, i64([2, 2]))
    check(SPLIT % (", int64 k", "", "axis = 1", ", k"), A, i64(2))


@pytest.mark.parametrize("keep", [0, 1])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", ["a,b", "2,3"])
def test_split_into_ones(keep, axis, shape):
    text = SPLIT % ("", "", f"axis = {axis}, keepdims = {keep}", "")
    check(text.replace("[a,b]", f"[{shape}]"), A)


def test_split_then_at_is_a_slice():
    check("""m (float[2,6] x) => (float[2,2] y) <int64 k = {2}, int64 two = {2}> {
             s = SplitToSequence <axis = 1> (x, two) y = SequenceAt (s, k) }""",
          np.arange(12, dtype=np.float32).reshape(2, 6))


# ---- SequenceMap ----

def test_map_over_given_and_made_sequences(sequence):
    inputs, made, values = sequence
    check(f"""m ({inputs}, float w) => (seq(float[p,q]) r, seq(float[q]) t, float[u,v] k) {{ {made}
              r, t = SequenceMap <body = g (float[p,q] e, float f) => (float[p,q] o, float[q] h) {{
                  o = Mul (e, f) c = Constant <value_ints = [0]> ()
                  h = ReduceSum <keepdims = 0> (o, c) }}> (s, w)
              k = ConcatFromSequence <axis = 0> (r) }}""", *values, np.array(2, np.float32),
          want=[[v * 2 for v in (A, B, C)], [(v * 2).sum(0) for v in (A, B, C)],
                np.concatenate([A, B, C]) * 2])


def test_map_over_two_sequences():
    check("""m (seq(float[a,3]) s, seq(float[b,3]) t) => (seq(float[p,q]) r) {
             r = SequenceMap <body = g (float[p,q] d, float[u,v] e) => (float[w,q] o) {
                 o = Concat <axis = 0> (d, e) }> (s, t) }""", [A, B], [B, C],
          want=[[np.concatenate([A, B]), np.concatenate([B, C])]])


def test_map_over_nothing():
    check("""m (seq(float[a,3]) s) => (seq(float[p,q]) r) {
             r = SequenceMap <body = g (float[p,q] e) => (float[p,q] o) { o = Neg (e) }> (s) }""",
          [], want=[[]])


def test_map_with_captures():
    check("""m (seq(float[a,3]) s, float w) => (seq(float[p,q]) r) { k = Neg (w)
             r = SequenceMap <body = g (float[p,q] e) => (float[p,q] o) { o = Add (e, k) }> (s) }""",
          [A, B], np.array(3, np.float32), want=[[A - 3, B - 3]])


# ---- optionals ----

def test_optional_of_a_tensor():
    check("""m (float[a,b] x) => (float[a,b] y, bool h) {
             o = Optional (x) h = OptionalHasElement (o) y = OptionalGetElement (o) }""", A)


def test_nothing():
    check("""m () => (bool h) { o = Optional <type = float[a]> () h = OptionalHasElement (o) }""",
          want=[np.array(False)])
    check("m () => (bool h) { h = OptionalHasElement () }", want=[np.array(False)])
    text = "m () => (float[a] y) { o = Optional <type = float[a]> () y = OptionalGetElement (o) }"
    assert "no element" in refused(text)


@pytest.mark.parametrize("value", [A, None])
def test_optional_input(value):
    text = """m (optional(float[a,b]) o) => (bool h) { h = OptionalHasElement (o) }"""
    check(text, value, want=[np.array(value is not None)])


def test_optional_decides():
    """One branch with content, the other without: known only when it runs."""
    text = """m (bool c, float[a,b] x) => (float[p,q] y) {
        o = If (c) <then_branch = t () => (optional(float[a,b]) u) { u = Optional (x) },
                    else_branch = e () => (optional(float[a,b]) v) { v = Optional <type = float[a,b]> () }>
        h = OptionalHasElement (o)
        y = If (h) <then_branch = tt () => (float[a,b] p1) { g = OptionalGetElement (o) p1 = Neg (g) },
                    else_branch = ee () => (float[p,q] q1) { q1 = Concat <axis = 0> (x, x) }> }"""
    check(text, np.array(True), A, want=[-A])
    check(text, np.array(False), A, want=[np.concatenate([A, A])])


def test_tensor_operator_on_a_sequence():
    assert "is a sequence" in refused("m (seq(float[a]) s) => (float[p] y) { y = Neg (s) }", [A[0]])


@pytest.mark.parametrize("op", ["SequenceLength", "SequenceErase"])
def test_sequence_operator_on_a_tensor(op):
    assert "sequence" in refused(f"m (float[a] s) => (int64 y) {{ y = {op} (s) }}", A[0])
