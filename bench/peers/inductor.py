"""PyTorch compiled by inductor, weights frozen; the first run compiles."""

import peer

_torch = peer.module_of("_torch")
PACKAGES = _torch.PACKAGES


def load(task):
    import torch
    import torch._inductor.config as config
    config.freezing = True
    return _torch.Runner(task, torch.compile)
