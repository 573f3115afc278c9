"""The interface of onnx.backend.base on hone, for the onnx package's own tests.

    python -c 'import hone.onnx_backend as b; print(b.prepare(model).run(inputs))'
"""

from onnx import helper
from onnx.backend.base import Backend, BackendRep, namedtupledict

from .session import Session

# ONNX's names of devices, and the devices of hone that stand for them.
_DEVICES = {"CPU": "ref"}


class HoneRep(BackendRep):
    """A prepared model."""

    def __init__(self, session):
        self.session = session

    def run(self, inputs, **kwargs):
        """`inputs`: values in order (arrays, or messages of the onnx package), one value, or a
        dict by name. Gives the outputs as a tuple that also has their names."""
        if not isinstance(inputs, (list, tuple, dict)):
            inputs = [inputs]
        outputs = self.session.run_list(inputs)
        names = [info.name for info in self.session.outputs]
        return namedtupledict("Outputs", names)(*outputs)


class HoneBackend(Backend):
    devices = _DEVICES

    @classmethod
    def prepare(cls, model, device="CPU", **kwargs):
        name = device.split(":")[0]
        return HoneRep(Session(model, device=cls.devices.get(name, device)))

    @classmethod
    def run_model(cls, model, inputs, device="CPU", **kwargs):
        return cls.prepare(model, device).run(inputs)

    @classmethod
    def run_node(cls, node, inputs, device="CPU", outputs_info=None, **kwargs):
        import numpy as np
        values = [np.asarray(v) for v in inputs]
        graph = helper.make_graph(
            [node], "node",
            [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
             for n, v in zip(filter(None, node.input), values)],
            [helper.make_empty_tensor_value_info(n) for n in node.output if n])
        version = kwargs.get("opset_version", 0) or _newest_opset()
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid(node.domain, version)])
        return cls.run_model(model, values, device)

    @classmethod
    def supports_device(cls, device):
        return device.split(":")[0] in cls.devices


def on(device):
    """The backend whose "CPU" is a device of hone's: tests that know no others run there."""
    return type("HoneBackendOn", (HoneBackend,), {"devices": {"CPU": device}})


def _newest_opset():
    from onnx import defs
    return defs.onnx_opset_version()


prepare = HoneBackend.prepare
run_model = HoneBackend.run_model
run_node = HoneBackend.run_node
supports_device = HoneBackend.supports_device
is_compatible = HoneBackend.is_compatible
