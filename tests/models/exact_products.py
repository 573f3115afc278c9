"""Products of integers that ONNX Runtime gets right on every CPU.

Without VNNI its products of uint8 with int8 saturate. Weights of MatMulInteger are therefore moved
from int8 to uint8, zero point and all, which gives the same true product.
"""

import numpy as np
import onnx
from onnx import numpy_helper


def exact_products(path):
    """The model, its MatMulInteger weights moved from int8 to uint8; the path when it has none."""
    model = onnx.load(path)
    tensors = {t.name: t for t in model.graph.initializer}
    moved = set()
    for node in model.graph.node:
        if node.op_type != "MatMulInteger" or len(node.input) < 4:
            continue
        for name in (node.input[1], node.input[3]):
            tensor = tensors.get(name)
            if tensor is None or tensor.data_type != onnx.TensorProto.INT8 or name in moved:
                continue
            values = numpy_helper.to_array(tensor).astype(np.int16) + 128
            tensor.CopyFrom(numpy_helper.from_array(values.astype(np.uint8), name))
            moved.add(name)
    return model.SerializeToString() if moved else path
