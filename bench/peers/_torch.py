"""What PyTorch's two peers share: the model by way of onnx2torch."""

import onnx2torch
import peer
import torch

PACKAGES = ["torch", "onnx2torch"]


class Runner:
    def __init__(self, task, change):
        task.need("fp32", "bf16")
        torch.set_num_threads(task.threads)
        torch.set_num_interop_threads(1)
        with task.preparing():
            model = onnx2torch.convert(task.fixed()).eval()
        self.feeds = [torch.from_numpy(value) for value in task.ordered()]
        self.mixed = torch.autocast("cpu", torch.bfloat16, enabled=task.precision == "bf16")
        self.model, self.values = change(model), None

    def run(self):
        with torch.inference_mode(), self.mixed:
            self.values = self.model(*self.feeds)

    def outputs(self):
        values = [self.values] if isinstance(self.values, torch.Tensor) else list(self.values)
        return [value.float().numpy() if value.dtype == torch.bfloat16 else value.numpy()
                for value in values]
