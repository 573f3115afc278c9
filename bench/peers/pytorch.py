"""PyTorch, eager."""

import peer

_torch = peer.module_of("_torch")
PACKAGES = _torch.PACKAGES


def load(task):
    return _torch.Runner(task, lambda model: model)
