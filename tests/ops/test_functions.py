"""Functions of a model: attributes, defaults, nesting, omitted inputs, overloads, subgraphs.

The reference is the onnx package's own evaluator or, where that cannot, NumPy."""

import numpy as np
import onnx
import pytest
from onnx import helper, parser
from onnx.reference import ReferenceEvaluator

import hone_ctypes

HEADER = '<ir_version: 10, opset_import: ["": 18, "local": 1]>\n'
FUNCTION = '<domain: "local", opset_import: ["": 18, "local": 1]>\n'
X = np.linspace(-2, 3, 12, dtype=np.float32).reshape(3, 4)


def model(main, *functions):
    return parser.parse_model(HEADER + main + "\n" + "\n".join(FUNCTION + f for f in functions))


def check(proto, *inputs, want=None):
    feeds = {i.name: v for i, v in zip(proto.graph.input, inputs)}
    if want is None:
        want = ReferenceEvaluator(proto).run(None, feeds)
    got = hone_ctypes.run(proto, feeds)
    assert len(got) == len(want)
    for g, w in zip(got, want):
        np.testing.assert_allclose(g, w, rtol=1e-6)
        assert g.dtype == w.dtype
    return got


def refused(proto, *inputs):
    with pytest.raises(hone_ctypes.HoneError) as caught:
        hone_ctypes.run(proto, {i.name: v for i, v in zip(proto.graph.input, inputs)})
    return str(caught.value)


def test_plain_call():
    check(model("m (float[3,4] x) => (float[3,4] y) { y = local.twice (x) }",
                "twice (a) => (b) { b = Add (a, a) }"), X)


def test_names_inside_do_not_clash():
    """The body's names are its own, and each call has a set."""
    check(model("""m (float[3,4] x) => (float[3,4] y, float[3,4] t) {
                     t = Neg (x)
                     u = local.f (t)
                     y = local.f (u) }""",
                "f (x) => (y) { t = Mul (x, x) u = Add (t, x) y = Abs (u) }"), X)


def test_several_outputs_and_unused_ones():
    functions = "f (a) => (b, c) { b = Neg (a) c = Abs (a) }"
    check(model("m (float[3,4] x) => (float[3,4] y, float[3,4] z) { y, z = local.f (x) }",
                functions), X)
    check(model('m (float[3,4] x) => (float[3,4] z) { "", z = local.f (x) }', functions), X,
          want=[np.abs(X)])
    check(model("m (float[3,4] x) => (float[3,4] y) { y = local.f (x) }", functions), X)


def test_input_passed_through():
    check(model("m (float[3,4] x) => (float[3,4] y) { z = local.same (x) y = Neg (z) }",
                "same (a) => (a) { }"), X, want=[-X])


def test_attributes():
    check(model("m (float[3,4] x) => (float[3,4] y) { y = local.leak <slope: float = 0.25> (x) }",
                "leak <slope> (a) => (b) { b = LeakyRelu <alpha: float = @slope> (a) }"), X,
          want=[np.where(X < 0, X / 4, X)])


def test_attribute_left_out_without_default():
    """The operator's own default holds then."""
    check(model("m (float[3,4] x) => (float[3,4] y) { y = local.leak (x) }",
                "leak <slope> (a) => (b) { b = LeakyRelu <alpha: float = @slope> (a) }"), X,
          want=[np.where(X < 0, X * np.float32(0.01), X)])


def test_attribute_defaults():
    function = """scale <by: float = 3.0> (a) => (b) {
                    k = Constant <value_float: float = @by> ()
                    b = Mul (a, k) }"""
    check(model("m (float[3,4] x) => (float[3,4] y) { y = local.scale (x) }", function), X,
          want=[X * 3])
    check(model("m (float[3,4] x) => (float[3,4] y) { y = local.scale <by: float = 0.5> (x) }",
                function), X, want=[X / 2])


def test_attribute_lists_and_renamed():
    check(model("m (float[3,4] x) => (float[4,3] y) { y = local.turn <order: ints = [1, 0]> (x) }",
                "turn <order> (a) => (b) { b = Transpose <perm: ints = @order> (a) }"), X)


def test_nested_functions_hand_attributes_on():
    check(model("m (float[3,4] x) => (float[3,4] y) { y = local.outer <s: float = 0.5> (x) }",
                "outer <s> (a) => (b) { c = local.inner <t: float = @s> (a) b = Neg (c) }",
                "inner <t> (a) => (b) { b = Elu <alpha: float = @t> (a) }"), X,
          want=[-np.where(X < 0, np.expm1(X) / 2, X)])


def test_nested_default_below_missing_attribute():
    """What the outer call leaves out lets the inner function's default hold."""
    check(model("m (float[3,4] x) => (float[3,4] y) { y = local.outer (x) }",
                "outer <s> (a) => (b) { b = local.inner <t: float = @s> (a) }",
                "inner <t: float = 2.0> (a) => (b) { b = Elu <alpha: float = @t> (a) }"), X,
          want=[np.where(X < 0, 2 * np.expm1(X), X)])


def test_order_of_functions_does_not_matter():
    check(model("m (float[3,4] x) => (float[3,4] y) { y = local.b (x) }",
                "a (x) => (y) { y = Abs (x) }", "b (x) => (y) { z = local.a (x) y = local.c (z) }",
                "c (x) => (y) { y = Sqrt (x) }"), X, want=[np.sqrt(np.abs(X))])


CLIP = "limit (a, low, high) => (b) { b = Clip (a, low, high) }"


def test_omitted_inputs():
    low, high = np.float32(-1), np.float32(2)
    text = "m (float[3,4] x, float low, float high) => (float[3,4] y) { y = local.limit (%s) }"
    check(model(text % "x", CLIP), X, low, high, want=[X])
    check(model(text % "x, low", CLIP), X, low, high, want=[np.maximum(X, low)])
    check(model(text % 'x, "", high', CLIP), X, low, high, want=[np.minimum(X, high)])


def test_omitted_input_in_subgraph():
    """The body reads an input that the call leaves out inside of a branch."""
    function = """f (c, a, low, high) => (b) {
      b = If (c) <then_branch = t () => (float[3,4] p) { p = Clip (a, low, high) },
                  else_branch = e () => (float[3,4] q) { q = Neg (a) }> }"""
    text = "m (bool c, float[3,4] x, float h) => (float[3,4] y) { y = local.f (%s) }"
    for c in [True, False]:
        check(model(text % 'c, x, "", h', function), np.array(c), X, np.float32(1),
              want=[np.minimum(X, 1) if c else -X])
        check(model(text % "c, x", function), np.array(c), X, np.float32(1),
              want=[X if c else -X])


def test_attribute_reference_in_subgraph():
    function = """f <s> (c, a) => (b) {
      b = If (c) <then_branch = t () => (float[3,4] p) { p = LeakyRelu <alpha: float = @s> (a) },
                  else_branch = e () => (float[3,4] q) { q = Elu <alpha: float = @s> (a) }> }"""
    proto = model("m (bool c, float[3,4] x) => (float[3,4] y) {"
                  " y = local.f <s: float = 0.5> (c, x) }", function)
    check(proto, np.array(True), X, want=[np.where(X < 0, X / 2, X)])
    check(proto, np.array(False), X, want=[np.where(X < 0, np.expm1(X) / 2, X)])


def test_function_called_in_subgraph():
    proto = model("""m (bool c, float[3,4] x) => (float[3,4] y) {
        y = If (c) <then_branch = t () => (float[3,4] p) { p = local.twice (x) },
                    else_branch = e () => (float[3,4] q) { r = local.twice (x)
                                                           q = local.twice (r) }> }""",
                  "twice (a) => (b) { b = Add (a, a) }")
    for c in [True, False]:
        check(proto, np.array(c), X, want=[X * (2 if c else 4)])


def test_overloads():
    proto = model("""m (float[3,4] x) => (float[3,4] y, float[3,4] z) {
        y = local.f (x)
        z = local.f (x) }""", "f (a) => (b) { b = Neg (a) }", "f (a) => (b) { b = Abs (a) }")
    proto.functions[1].overload = "absolute"
    proto.graph.node[1].overload = "absolute"
    check(proto, X, want=[-X, np.abs(X)])
    proto.graph.node[1].overload = "missing"
    assert "f" in refused(proto, X)


def test_function_takes_the_place_of_an_operator():
    """A function that is named like an operator is what its calls mean."""
    proto = model("m (float[3,4] x) => (float[3,4] y) { y = Relu (x) }", "f (a) => (b) { b = Neg (a) }")
    proto.functions[0].domain = ""
    proto.functions[0].name = "Relu"
    check(proto, X, want=[-X])


def test_own_opset():
    """A body is read with the opset that the function imports."""
    function = helper.make_function(
        "local", "f", ["a"], ["b"], [helper.make_node("ReduceSum", ["a"], ["b"], axes=[1],
                                                      keepdims=0)],
        [helper.make_opsetid("", 11)])
    proto = model("m (float[3,4] x) => (float[3] y) { y = local.f (x) }")
    proto.functions.append(function)
    check(proto, X, want=[X.sum(1)])


def test_shapes_that_depend_on_data_inside():
    """A node of the body that is built only when it runs."""
    proto = model("""m (float[3,4] x, bool[3] keep) => (float[n,4] y) {
                       y = local.pick <k: int = 0> (x, keep) }""",
                  """pick <k> (a, keep) => (b) { c = Compress <axis: int = @k> (a, keep)
                                                 b = Neg (c) }""")
    keep = np.array([True, False, True])
    check(proto, X, keep, want=[-X[keep]])


def test_recursion_is_refused():
    message = refused(model("m (float[3,4] x) => (float[3,4] y) { y = local.f (x) }",
                            "f (a) => (b) { c = local.g (a) b = local.g (c) }",
                            "g (a) => (b) { c = local.f (a) b = local.f (c) }"), X)
    assert "call themselves" in message or "calling itself" in message


def test_wrong_calls_are_refused():
    function = "f (a) => (b) { b = Neg (a) }"
    text = "m (float[3,4] x) => (float[3,4] y) { %s }"
    assert "inputs" in refused(model(text % "y = local.f (x, x)", function), X)
    assert "outputs" in refused(model(text % "y, z = local.f (x)", function), X)
    assert "nowhere" in refused(model(text % "y = local.f (nowhere)", function), X)
    assert "unknown operator" in refused(model(text % "y = local.g (x)", function), X)


def test_output_that_the_body_does_not_make():
    message = refused(model("m (float[3,4] x) => (float[3,4] y) { y = local.f (x) }",
                            "f (a) => (b) { c = Neg (a) }"), X)
    assert "'b'" in message


def test_error_names_the_way_through_the_calls():
    message = refused(model("m (float[3,4] x) => (float[3,4] y) { [call] y = local.f (x) }",
                            "f (a) => (b) { [inner] b = Transpose <perm = [0, 0]> (a) }"), X)
    assert "call" in message and "inner" in message


def test_calls_that_multiply_are_refused():
    """40 functions, each calling the next one twice: 2^40 nodes."""
    functions = [f"f{i} (a) => (b) {{ c = local.f{i + 1} (a) b = local.f{i + 1} (c) }}"
                 for i in range(40)]
    message = refused(model("m (float[3,4] x) => (float[3,4] y) { y = local.f0 (x) }", *functions,
                            "f40 (a) => (b) { b = Identity (a) }"), X)
    assert "nodes" in message
