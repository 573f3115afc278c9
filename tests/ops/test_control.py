"""If, Loop and Scan against ONNX Runtime: scoping, captures, shapes that change or depend on data."""

import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, parser

import hone_ctypes
from command import HONE
from compare import check_model

X = np.linspace(-2, 3, 12, dtype=np.float32).reshape(3, 4)
TRUE, FALSE = np.array(True), np.array(False)


def model(text, opset=18):
    return parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}]>\n{text}')


def check(proto, *inputs, want=None):
    check_model(proto, inputs, want, 1e-6, 1e-6)


def refused(proto, *inputs):
    with pytest.raises(hone_ctypes.HoneError) as caught:
        hone_ctypes.run(proto, {i.name: v for i, v in zip(proto.graph.input, inputs)})
    return str(caught.value)


def i64(*values):
    return np.array(values, np.int64)


# ---- If ----

IF = """m (bool c, float[a,b] x) => (float[p,q] y) {
    y = If (c) <then_branch = t () => (float[p,q] u) { u = %s },
                else_branch = e () => (float[p,q] v) { v = %s }> }"""


@pytest.mark.parametrize("then_op,else_op", [
    ("Neg (x)", "Abs (x)"), ("Transpose (x)", "Neg (x)"), ("Concat <axis = 0> (x, x)", "Neg (x)"),
    ("Identity (x)", "Neg (x)")])
def test_branches(then_op, else_op):
    for c in [TRUE, FALSE]:
        check(model(IF % (then_op, else_op)), c, X)


def test_condition_known_when_built():
    """Only the branch that is taken is looked at: the other one may hold anything."""
    for value in [1, 0]:
        proto = model(f"""m (float[a,b] x) => (float[a,b] y) <bool c = {{{value}}}> {{
            y = If (c) <then_branch = t () => (float[a,b] u) {{ u = Neg (x) }},
                        else_branch = e () => (float[a,b] v) {{ v = Abs (x) }}> }}""")
        check(proto, X)
    proto.graph.node[0].attribute[0].g.node[0].op_type = "NoSuchOperator"
    check(proto, X, want=[np.abs(X)])


def test_condition_of_one_element():
    proto = model(IF.replace("bool c", "bool[1] c") % ("Neg (x)", "Abs (x)"))
    for c in [True, False]:
        check(proto, np.array([c]), X)


def test_branches_of_different_rank():
    """What comes behind cannot be built before it runs."""
    proto = model("""m (bool c, float[a,b] x) => (float y) {
        r = If (c) <then_branch = t () => (float[n] u) { u = ReduceMax <keepdims = 0> (x, k) },
                    else_branch = e () => (float[p,q] v) { v = Neg (x) }>
        z = Shape (r)
        s = ReduceSum <keepdims = 0> (r)
        f = Cast <to = 1> (z)
        g = ReduceSum <keepdims = 0> (f)
        y = Add (s, g) }""".replace("(bool c,", "(bool c,").replace("{\n        r", "<int64[1] k = {1}> {\n        r", 1))
    for c in [TRUE, FALSE]:
        check(proto, c, X)


def test_nested_with_captures_from_every_level():
    proto = model("""m (bool c, bool d, float[a,b] x) => (float[a,b] y) {
        k = Neg (x)
        y = If (c) <
          then_branch = t () => (float[a,b] u) {
            l = Abs (k)
            u = If (d) <
              then_branch = tt () => (float[a,b] p) { m1 = Add (k, l) p = Mul (m1, x) },
              else_branch = te () => (float[a,b] q) { q = Sub (l, x) }> },
          else_branch = e () => (float[a,b] v) { v = Identity (k) }> }""")
    for c in [TRUE, FALSE]:
        for d in [TRUE, FALSE]:
            check(proto, c, d, X)


def test_same_name_in_both_branches():
    proto = model("""m (bool c, float[a,b] x) => (float[a,b] y) {
        y = If (c) <then_branch = t () => (float[a,b] w) { s = Neg (x) w = Exp (s) },
                    else_branch = e () => (float[a,b] w) { s = Abs (x) w = Exp (s) }> }""")
    for c in [TRUE, FALSE]:
        check(proto, c, X)


def test_branch_with_initializers():
    proto = model("""m (bool c, float[a,b] x) => (float[a,b] y) {
        y = If (c) <then_branch = t () => (float[a,b] u) <float k = {2.5}> { u = Mul (x, k) },
                    else_branch = e () => (float[a,b] v) <float k = {-1}> { v = Mul (x, k) }> }""")
    for c in [TRUE, FALSE]:
        check(proto, c, X)


def test_data_dependent_shapes_in_a_branch():
    proto = model("""m (bool c, float[a,b] x, bool[a] keep) => (float[n,b] y) {
        z = If (c) <then_branch = t () => (float[n,b] u) { u = Compress <axis = 0> (x, keep) },
                    else_branch = e () => (float[n,b] v) { w = NonZero (x)
                       s = Shape (w) r = Gather (s, one) v = Tile (x, rep) }>
        y = Neg (z) }""".replace("=> (float[n,b] y) {", "=> (float[n,b] y) <int64 one = {1}, "
                                 "int64[2] rep = {2, 1}> {"))
    for c in [TRUE, FALSE]:
        check(proto, c, X, np.array([True, False, True]))


def test_condition_is_not_bool():
    proto = model(IF.replace("bool c", "float c") % ("Neg (x)", "Abs (x)"))
    assert hone_ctypes.run(proto, {"c": np.float32(1), "x": X})[0].shape == X.shape


# ---- Loop ----

LOOP = """m (int64 n, bool c, float[a] x) => (float[b] y%s) {
    y%s = Loop (%s, x) <body = g (int64 i, bool ci, float[p] s) => (bool co, float[q] t%s) {
        %s }> }"""


def loop(body, trip="n, c", scan=""):
    outer = (", float[k,l] z", ", z") if scan else ("", "")
    return model(LOOP % (*outer, trip, f", float[l] {scan}" if scan else "", body))


@pytest.mark.parametrize("n", [0, 1, 5])
@pytest.mark.parametrize("c", [True, False])
def test_rounds_and_condition(n, c):
    proto = loop("co = Identity (ci) f = Cast <to = 1> (i) t = Add (s, f) u = Neg (t)", scan="u")
    rounds = n if c else 0
    sums = X[0] + np.cumsum(np.arange(rounds, dtype=np.float32))[:, None]
    check(proto, np.array(n), np.array(c), X[0],
          want=[sums[-1] if rounds else X[0], -sums.astype(np.float32)])


def test_condition_ends_it():
    proto = loop("l = Constant <value_int = 3> () co = Less (i, l) t = Add (s, s) u = Neg (s)",
                 scan="u")
    check(proto, np.array(10), TRUE, X[0])
    check(proto, np.array(2), TRUE, X[0])


@pytest.mark.parametrize("trip", ['"", c', 'n, ""', '"", ""'])
def test_left_out_bounds(trip):
    proto = loop("l = Constant <value_int = 3> () co = Less (i, l) t = Add (s, s)", trip)
    check(proto, np.array(2), TRUE, X[0])


DEVICES = [line.split(":")[0] for line in subprocess.run(
    [HONE, "devices"], capture_output=True, text=True, timeout=60).stdout.splitlines()]


@pytest.mark.parametrize("device", ["ref", "cpu", "opencl"])
def test_many_rounds_know_their_numbers(device):
    """Of more rounds than a device is told the numbers of at once; and what one run gave stays as
    it was while the next works in the same memory."""
    if device not in DEVICES:
        pytest.skip(f"there is no device {device}")
    proto = model("""m (int64 n, float[k,l] x, float[l] s0) => (float[l] y, float[r,l] z) {
        c = Constant <value = bool[1] {1}> ()
        y, z = Loop (n, c, s0) <body = g (int64 i, bool ci, float[l] s) => (bool co, float[l] t, float[l] u) {
            co = Identity (ci) row = Gather (x, i) f = Cast <to = 1> (i)
            a = Add (s, row) t = Add (a, f) u = Neg (t) }> }""")
    session = hone_ctypes.Session(proto, device)
    results = []
    for seed in range(3):
        x = np.random.default_rng(seed).integers(-4, 5, (700, 8)).astype(np.float32)
        sums = np.cumsum(x + np.arange(700, dtype=np.float32)[:, None], axis=0) + 1
        results.append((session.run([np.array(700), x, np.ones(8, np.float32)]), sums))
    for (state, stacked), sums in results:
        np.testing.assert_array_equal(state, sums[-1])
        np.testing.assert_array_equal(stacked, -sums)


@pytest.mark.parametrize("n", [0, 1, 2, 4])
def test_extent_that_grows(n):
    check(loop("co = Identity (ci) t = Concat <axis = 0> (s, s)"), np.array(n), TRUE, X[0])


@pytest.mark.parametrize("device", ["ref", "cpu"])
def test_extent_that_grows_once(device):
    proto = model("""m (float[a] x, float[b] z) => (float[p] y, float[p] w) <int64 n = {1}, bool c = {1}> {
        y = Loop (n, c, x) <body = g (int64 i, bool ci, float[k] s) => (bool co, float[l] t) {
            co = Identity (ci) t = Concat <axis = 0> (s, z) }>
        w = Neg (y) }""")
    x, z = X[0], np.arange(200, dtype=np.float32)
    for got in (hone_ctypes.Session(proto, device).run([x, z]),
                hone_ctypes.Session(proto, device).run([z, x])):
        assert len(got[0]) == len(x) + len(z)
        np.testing.assert_array_equal(got[1], -got[0])


def test_extent_that_shrinks_in_a_fixed_way():
    body = """co = Identity (ci) one = Constant <value_ints = [1]> ()
              end = Constant <value_ints = [1000]> () t = Slice (s, one, end)"""
    for n in [0, 2, 4, 6]:
        check(loop(body), np.array(n), TRUE, X[0])


def test_extent_that_depends_on_data():
    body = """co = Identity (ci) z = Constant <value_float = 0.0> () f = Cast <to = 1> (i)
              k = Greater (s, f) t = Compress <axis = 0> (s, k)"""
    for n in [0, 1, 3]:
        check(loop(body), np.array(n), TRUE, np.array([3, -1, 2, 1, 0.5], np.float32))


def test_rank_that_changes():
    proto = model("""m (int64 n, float[a] x) => (float y, int64 r) <int64[1] ax = {0}, bool c = {1}> {
        s = Loop (n, c, x) <body = g (int64 i, bool ci, float s0) => (bool co, float t) {
              co = Identity (ci) u = Unsqueeze (s0, ax) t = Concat <axis = -1> (u, u) }>
        y = ReduceSum <keepdims = 0> (s)
        z = Shape (s)
        r = Size (z) }""")
    for graph in [proto.graph, proto.graph.node[0].attribute[0].g]:
        for info in list(graph.input) + list(graph.output):  # nothing is said of the rank
            if info.name in ("s0", "t"):
                info.type.tensor_type.ClearField("shape")
    for n in [0, 1, 3]:
        times = 2 ** n
        check(proto, np.array(n), X[0], want=[X[0].sum() * np.float32(times), np.array(1 + n)])


def test_several_carried_values_that_trade_places():
    proto = model("""m (int64 n, float[a] x, float[b] y) => (float[a] p, float[b] q) <bool c = {1}> {
        p, q = Loop (n, c, x, y) <body = g (int64 i, bool ci, float[s] u, float[t] v)
              => (bool co, float[t] v2, float[s] u2) {
              co = Identity (ci) v2 = Neg (v) u2 = Abs (u) }> }""")
    for n in [0, 1, 2, 3]:
        x, y = X[0], X[0][:2]
        want = [x, y]
        for _ in range(n):
            want = [-want[1], np.abs(want[0])]
        check(proto, np.array(n), x, y, want=want)


def test_captures_and_nested_loops():
    proto = model("""m (int64 n, int64 k, float[a] x, float[a] w) => (float[a] y, float[n,k,a] z)
        <bool c = {1}> {
        h = Exp (w)
        y, z = Loop (n, c, x) <body = g (int64 i, bool ci, float[a] s)
              => (bool co, float[a] t, float[k,a] r) {
            co = Identity (ci)
            f = Cast <to = 1> (i)
            b = Add (s, f)
            t, r = Loop (k, ci, b) <body = gg (int64 j, bool cj, float[a] u)
                  => (bool cq, float[a] v, float[a] q) {
                cq = Identity (cj)
                jf = Cast <to = 1> (j)
                o = Mul (h, jf)
                v = Add (u, o)
                q = Sub (v, s) }> }> }""")
    for n, k in [(2, 3), (1, 1), (2, 0)]:
        check(proto, np.array(n), np.array(k), X[0], X[1], want=_nested(n, k))


def _nested(n, k):
    s, h, rows = X[0], np.exp(X[1]), []
    for i in range(n):
        u, row = s + np.float32(i), []
        for j in range(k):
            u = u + h * np.float32(j)
            row.append(u - s)
        rows.append(row)
        s = u
    return [s, np.array(rows, np.float32).reshape(n, k, 4)]


def test_if_inside_loop():
    body = """co = Identity (ci) two = Constant <value_int = 2> () m2 = Mod (i, two)
              z = Constant <value_int = 0> () even = Equal (m2, z)
              t = If (even) <then_branch = tb () => (float[q] e1) { e1 = Concat <axis = 0> (s, x) },
                             else_branch = eb () => (float[q] e2) { e2 = Neg (s) }>"""
    for n in [0, 1, 2, 5]:
        check(loop(body), np.array(n), TRUE, X[0][:2])


def test_reshape_by_carried_numbers():
    """The shape of a body's value comes from numbers that change from round to round."""
    proto = model("""m (int64 n, int64[1] k) => (int64[1] r, float[n] z) <bool c = {1}> {
        r, z = Loop (n, c, k) <body = g (int64 i, bool ci, int64[1] s)
              => (bool co, int64[1] t, float q) {
            co = Identity (ci)
            o = ConstantOfShape (s)
            e = Exp (o)
            q = ReduceSum <keepdims = 0> (e)
            t = Add (s, s) }> }""")
    for n in [0, 1, 4]:
        check(proto, np.array(n), i64(3))


def test_stacked_strings():
    proto = model("""m (int64 n, string[2] x) => (string[n,2] z) <bool c = {1}> {
        z = Loop (n, c) <body = g (int64 i, bool ci) => (bool co, string[2] u) {
            co = Identity (ci) u = Identity (x) }> }""")
    x = np.array(["a", "bc"], object)
    check(proto, np.array(3), x, want=[np.array([x] * 3)])


def test_rounds_of_one_element():
    proto = loop("co = Identity (ci) f = Cast <to = 1> (i) t = Add (s, f)")
    for name in ["n", "c"]:
        info = next(i for i in proto.graph.input if i.name == name)
        info.type.tensor_type.shape.dim.add().dim_value = 1
    body = proto.graph.node[0].attribute[0].g
    for info in [body.input[0], body.input[1], body.output[0]]:
        info.type.tensor_type.shape.dim.add().dim_value = 1
    check(proto, i64(3), np.array([True]), X[0], want=[X[0] + 3])


def test_carried_type_must_stay():
    message = refused(loop("co = Identity (ci) t = Cast <to = 7> (s)"), np.array(2), TRUE, X[0])
    assert "f32" in message and "i64" in message


def test_body_with_wrong_number_of_values():
    proto = loop("co = Identity (ci) t = Neg (s)")
    del proto.graph.node[0].attribute[0].g.output[1]
    assert "carried" in refused(proto, np.array(2), TRUE, X[0])


def test_unknown_name_in_body():
    assert "nowhere" in refused(loop("co = Identity (ci) t = Add (s, nowhere)"), np.array(2), TRUE,
                                X[0])


def test_body_cannot_see_later_names():
    proto = model("""m (int64 n, bool c, float[a] x) => (float[a] y, float[a] w) {
        y = Loop (n, c, x) <body = g (int64 i, bool ci, float[p] s) => (bool co, float[q] t) {
            co = Identity (ci) t = Add (s, w) }>
        w = Neg (y) }""")
    assert "w" in refused(proto, np.array(2), TRUE, X[0])


# ---- sequences and optionals that are carried ----

def test_carried_sequence():
    proto = model("""m (int64 n, float[a] x) => (seq(float[k]) q, float[r] y) <bool c = {1}> {
        e = SequenceEmpty <dtype = 1> ()
        f = SequenceInsert (e, x)
        q = Loop (n, c, f) <body = g (int64 i, bool ci, seq(float[k]) s)
              => (bool co, seq(float[k]) t) {
            co = Identity (ci)
            l = SequenceAt (s, i)
            d = Concat <axis = 0> (l, x)
            t = SequenceInsert (s, d) }>
        y = ConcatFromSequence <axis = 0> (q) }""")
    for n in [0, 1, 3]:
        check(proto, np.array(n), X[0])


def test_sequence_from_nothing():
    """The elements' type is found while the loop is built."""
    proto = model("""m (int64 n, float[a] x) => (float[r,a] y, float[a] z)
        <bool c = {1}, int64[1] ax = {0}> {
        e = SequenceEmpty ()
        q = Loop (n, c, e) <body = g (int64 i, bool ci, seq(float[k]) s)
              => (bool co, seq(float[k]) t) {
            co = Identity (ci) f = Cast <to = 1> (i) d = Mul (x, f) t = SequenceInsert (s, d) }>
        y = ConcatFromSequence <axis = 0, new_axis = 1> (q)
        z = ReduceSum <keepdims = 0> (y, ax) }""")
    for n in [1, 3]:
        check(proto, np.array(n), X[0])


# ---- Scan ----

SCAN = """m (float[a] s, float[t,a] x) => (float[a] p, float[u,v] q) {
    p, q = Scan <num_scan_inputs = 1, body = g (float[a] s0, float[a] xi) => (float[a] s1, float[a] z) {
        s1 = Add (s0, xi) z = Mul (s1, xi) }%s> (s, x) }"""


@pytest.mark.parametrize("more", [
    "", ", scan_input_directions = [1]", ", scan_output_directions = [1]",
    ", scan_output_axes = [1]", ", scan_output_axes = [-1], scan_output_directions = [1]"])
@pytest.mark.parametrize("rows", [0, 1, 3])
def test_scan(more, rows):
    want = None
    if rows == 0:  # which ONNX Runtime does not take
        want = [X[0], np.zeros((4, 0) if "axes" in more else (0, 4), np.float32)]
    check(model(SCAN % more), X[0], X[:rows], want=want)


@pytest.mark.parametrize("axis", [1, -1])
def test_scan_along_other_axes(axis):
    proto = model((SCAN % f", scan_input_axes = [{axis}]").replace("x) =>", "x) =>"))
    proto.graph.input[1].type.tensor_type.shape.dim[0].dim_param = "a"
    proto.graph.input[1].type.tensor_type.shape.dim[1].dim_param = "t"
    check(proto, X[:, 0].copy(), X)


def test_scan_of_several_inputs_without_state():
    proto = model("""m (float[t,a] x, int64[t] k, float w) => (float[t,a] q) {
        q = Scan <num_scan_inputs = 2, body = g (float[a] xi, int64 ki) => (float[a] z) {
            f = Cast <to = 1> (ki) h = Mul (xi, f) z = Add (h, w) }> (x, k) }""")
    check(proto, X, i64(3, 0, -1), np.array(0.5, np.float32))


def test_scan_inside_scan():
    proto = model("""m (float[t,a] x) => (float[t,a] q) <float z = {0}> {
        q = Scan <num_scan_inputs = 1, body = g (float[a] row) => (float[a] sums) {
            last, sums = Scan <num_scan_inputs = 1, body = gg (float s, float e) => (float s1, float o) {
                s1 = Add (s, e) o = Identity (s1) }> (z, row) }> (x) }""")
    check(proto, X, want=[np.cumsum(X, 1)])


@pytest.mark.parametrize("lengths", [None, [3, 1], [2, 2]])
@pytest.mark.parametrize("reverse", [0, 1])
def test_scan_8(lengths, reverse):
    """With a batch axis, and sequences of different length in it."""
    value = helper.make_tensor_value_info
    body = helper.make_graph(
        [helper.make_node("Add", ["s", "x"], ["t"]), helper.make_node("Identity", ["t"], ["o"])],
        "g", [value("s", TensorProto.FLOAT, [2]), value("x", TensorProto.FLOAT, [2])],
        [value("t", TensorProto.FLOAT, [2]), value("o", TensorProto.FLOAT, [2])])
    node = helper.make_node("Scan", ["l" if lengths else "", "s0", "xs"], ["final", "all"],
                            num_scan_inputs=1, body=body, directions=[reverse])
    inputs = [value("s0", TensorProto.FLOAT, [2, 2]), value("xs", TensorProto.FLOAT, [2, 3, 2])]
    feeds = {"s0": np.ones((2, 2), np.float32),
             "xs": np.arange(12, dtype=np.float32).reshape(2, 3, 2)}
    if lengths:
        inputs.append(value("l", TensorProto.INT64, [2]))
        feeds["l"] = np.array(lengths, np.int64)
    proto = helper.make_model(
        helper.make_graph([node], "m", inputs, [value("final", TensorProto.FLOAT, None),
                                                value("all", TensorProto.FLOAT, None)]),
        opset_imports=[helper.make_opsetid("", 8)], ir_version=8)
    want_final, want_all = np.ones((2, 2), np.float32), np.zeros((2, 3, 2), np.float32)
    for b, n in enumerate(lengths or [3, 3]):
        for k in range(n):
            want_final[b] += feeds["xs"][b, n - 1 - k if reverse else k]
            want_all[b, k] = want_final[b]
    got = hone_ctypes.run(proto, feeds)
    np.testing.assert_array_equal(got[0], want_final)
    np.testing.assert_array_equal(got[1], want_all)


def test_scan_with_wrong_lists():
    assert "scan_input_axes" in refused(model(SCAN % ", scan_input_axes = [0, 1]"), X[0], X)
