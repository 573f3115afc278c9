"""tract; it has one thread."""

import numpy as np
import peer
import tract

PACKAGES = ["tract"]
KINDS = {"float32": "f32", "float64": "f64", "float16": "f16", "int64": "i64", "int32": "i32",
         "int8": "i8", "uint8": "u8", "bool": "bool"}


class Runner:
    def __init__(self, runnable, feeds):
        self.runnable, self.feeds, self.values = runnable, feeds, None

    def run(self):
        self.values = self.runnable.run(self.feeds)

    def outputs(self):
        return [np.array(value.to_numpy()) for value in self.values]


def load(task):
    task.need("fp32", "int8")
    model = tract.onnx().load(task.model)
    for i, value in enumerate(task.ordered()):
        if value.dtype.name not in KINDS:
            raise peer.Cannot(f"takes no input of {value.dtype.name}")
        shape = "".join(f"{extent}," for extent in value.shape)
        model.set_input_fact(i, shape + KINDS[value.dtype.name])
    model.analyse()
    return Runner(model.into_model().into_runnable(), task.ordered())
