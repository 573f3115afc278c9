"""Arithmetic on the extents of an input, known as expressions while the graph is built, against
the same in NumPy: random graphs, run for several sizes."""

import hone_ctypes
import numpy as np
import pytest
from onnx import TensorProto, helper

I64 = TensorProto.INT64


def remainder(a, b):
    return np.where(b == 0, 0, a - b * np.where(b == 0, 0, np.fix(a / np.where(b == 0, 1, b))))


def quotient(a, b):
    return np.where(b == 0, 0, np.fix(a / np.where(b == 0, 1, b)))


NUMBER = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": quotient,
          "Max": np.maximum, "Min": np.minimum}
COMPARE = {"Less": np.less, "LessOrEqual": np.less_equal, "Greater": np.greater,
           "GreaterOrEqual": np.greater_equal, "Equal": np.equal}
LOGIC = {"And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor}
UNARY = {"Neg": np.negative, "Abs": np.abs}


class Builder:
    """A random graph, and the function that computes the same in NumPy."""

    def __init__(self, rng):
        self.rng, self.nodes, self.steps, self.constants = rng, [], [], []
        self.numbers, self.truths = ["shape"], []
        self.nodes.append(helper.make_node("Shape", ["x"], ["shape"]))

    def pick(self, names):
        return names[self.rng.integers(len(names))]

    def add(self, op, function, inputs, names, **attrs):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attrs))
        self.steps.append((name, function, inputs))
        names.append(name)

    def constant(self):
        name, value = f"c{len(self.constants)}", self.rng.integers(-7, 8, 2)
        self.constants.append((name, value))
        self.numbers.append(name)

    def grow(self):
        kind = self.rng.integers(8)
        two = [self.pick(self.numbers), self.pick(self.numbers)]
        if kind == 0:
            self.constant()
        elif kind <= 2:
            op = self.pick(list(NUMBER))
            self.add(op, NUMBER[op], two, self.numbers)
        elif kind == 3:
            op = self.pick(list(UNARY))
            self.add(op, UNARY[op], two[:1], self.numbers)
        elif kind == 4:
            self.add("Mod", remainder, two, self.numbers, fmod=1)
        elif kind == 5 or not self.truths:
            op = self.pick(list(COMPARE))
            self.add(op, COMPARE[op], two, self.truths)
        elif kind == 6:
            op = self.pick(list(LOGIC))
            self.add(op, LOGIC[op], [self.pick(self.truths), self.pick(self.truths)], self.truths)
        else:
            self.add("Where", np.where, [self.pick(self.truths), *two], self.numbers)

    def model(self):
        """Outputs zeros whose extents are the results, cut to 0 … 5 (0 … 1 for truths)."""
        constants = [helper.make_tensor(n, I64, [2], v) for n, v in self.constants]
        constants += [helper.make_tensor("five", I64, [], [5])]
        nodes, outputs = list(self.nodes), []
        for name in self.numbers + self.truths:
            if name in self.numbers:
                nodes.append(helper.make_node("Abs", [name], [name + "_abs"]))
                nodes.append(helper.make_node("Min", [name + "_abs", "five"], [name + "_size"]))
            else:
                nodes.append(helper.make_node("Cast", [name], [name + "_size"], to=I64))
            nodes.append(helper.make_node("ConstantOfShape", [name + "_size"], [name + "_out"]))
            outputs.append(
                helper.make_tensor_value_info(name + "_out", TensorProto.FLOAT, [None, None]))
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["h", "w"])
        graph = helper.make_graph(nodes, "sizes", [x], outputs, constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])

    def expected(self, shape):
        values = {"shape": np.array(shape)} | dict(self.constants)
        for name, function, inputs in self.steps:
            values[name] = np.asarray(function(*[values[i] for i in inputs]))
        results = [values[n].astype(np.int64) for n in self.numbers + self.truths]
        return [np.minimum(np.abs(r), 5) for r in results]


@pytest.mark.parametrize("seed", range(40))
def test_random_arithmetic_on_extents(seed):
    builder = Builder(np.random.default_rng(seed))
    for _ in range(14):
        builder.grow()
    session = hone_ctypes.Session(builder.model())
    for shape in ((1, 1), (2, 5), (7, 3), (0, 4), (8, 8)):
        outputs = session.run([np.zeros(shape, np.float32)])
        assert [list(y.shape) for y in outputs] == [list(e) for e in builder.expected(shape)]
