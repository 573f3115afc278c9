"""Writes BERT-base with random weights, 438 MB, as PATH: what bench_import loads."""

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

import onnx_builder

LAYERS, WIDTH, HEADS, INNER, VOCABULARY, POSITIONS = 12, 768, 12, 3072, 30522, 512


class Builder(onnx_builder.Builder):
    """The layers of a transformer."""

    def weight(self, name, *shape):
        values = self.random.standard_normal(shape, np.float32) * np.float32(0.02)
        return self.constant(name, values)

    def dense(self, name, value, inner, outer):
        product = self.node("MatMul", value, self.weight(name + ".weight", inner, outer))
        return self.node("Add", product, self.weight(name + ".bias", outer))

    def norm(self, name, value):
        return self.node("LayerNormalization", value, self.weight(name + ".weight", WIDTH),
                         self.weight(name + ".bias", WIDTH), axis=-1, epsilon=1e-12)

    def split(self, value, order):
        heads = self.node("Reshape", value, "to_heads")
        return self.node("Transpose", heads, perm=order)

    def attention(self, name, value, mask):
        query, key, values = (self.dense(f"{name}.{part}", value, WIDTH, WIDTH)
                              for part in ("query", "key", "value"))
        scores = self.node("MatMul", self.split(query, [0, 2, 1, 3]), self.split(key, [0, 2, 3, 1]))
        scores = self.node("Add", self.node("Div", scores, "head_root"), mask)
        mixed = self.node("MatMul", self.node("Softmax", scores, axis=-1),
                          self.split(values, [0, 2, 1, 3]))
        joined = self.node("Reshape", self.node("Transpose", mixed, perm=[0, 2, 1, 3]), "to_width")
        return self.dense(name + ".output", joined, WIDTH, WIDTH)

    def gelu(self, value):
        erf = self.node("Erf", self.node("Div", value, "root_two"))
        return self.node("Mul", self.node("Mul", value, self.node("Add", erf, "one")), "half")

    def layer(self, name, value, mask):
        value = self.norm(name + ".norm1",
                          self.node("Add", value, self.attention(name + ".attention", value, mask)))
        inner = self.gelu(self.dense(name + ".inner", value, WIDTH, INNER))
        outer = self.dense(name + ".outer", inner, INNER, WIDTH)
        return self.norm(name + ".norm2", self.node("Add", value, outer))


def bert():
    b = Builder()
    for name, value in (("head_root", np.sqrt(WIDTH / HEADS)), ("root_two", np.sqrt(2)),
                        ("one", 1), ("half", 0.5), ("far", -10000)):
        b.constant(name, np.float32(value))
    b.constant("to_heads", np.int64([0, 0, HEADS, WIDTH // HEADS]))
    b.constant("to_width", np.int64([0, 0, WIDTH]))
    b.constant("middle", np.int64([1, 2]))
    mask = b.node("Unsqueeze", b.node("Cast", "attention_mask", to=TensorProto.FLOAT), "middle")
    mask = b.node("Mul", b.node("Sub", "one", mask), "far")
    words = b.node("Gather", b.weight("words", VOCABULARY, WIDTH), "input_ids")
    types = b.node("Gather", b.weight("types", 2, WIDTH), "token_type_ids")
    places = b.node("Gather", b.weight("positions", POSITIONS, WIDTH), "position_ids")
    value = b.norm("embeddings.norm", b.node("Add", b.node("Add", words, types), places))
    for i in range(LAYERS):
        value = b.layer(f"layer.{i}", value, mask)
    first = b.node("Gather", value, b.constant("first", np.int64(0)), axis=1)
    pooled = b.node("Tanh", b.dense("pooler", first, WIDTH, WIDTH))
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])
              for name in ("input_ids", "attention_mask", "token_type_ids", "position_ids")]
    outputs = [helper.make_tensor_value_info(value, TensorProto.FLOAT, ["batch", "length", WIDTH]),
               helper.make_tensor_value_info(pooled, TensorProto.FLOAT, ["batch", WIDTH])]
    graph = helper.make_graph(b.nodes, "bert_base", inputs, outputs, b.weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


if __name__ == "__main__":
    onnx.save(bert(), sys.argv[1])
