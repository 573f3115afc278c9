"""Fitting a model to hardware in one call."""

from .engine import compile as _compile

# What each level leaves out. Level 1 keeps every rounding as the model has it.
_LEVELS = {
    0: ("affine", "arithmetic", "attention", "bn_fold", "cse", "fuse", "integer", "normalization",
        "softmax"),
    1: ("affine", "bn_fold"),
    2: ("affine",),
    3: (),
}


def optimize(model, target_device="cpu", optimization_level=3, precision="fp32",
             fuse_operations=True, **options):
    """A model as an engine for `target_device`: see `hone.compile`, which `options` go to.

    `optimization_level`: 0 compiles each node by itself, 1 leaves all rounding as it is, 2 moves
    factors into weights, 3 does everything. `precision`: as there. `fuse_operations`: whether several nodes may become one kernel."""
    if optimization_level not in _LEVELS:
        raise ValueError(f"optimization_level {optimization_level!r}: there are 0, 1, 2 and 3")
    off = set(_LEVELS[optimization_level]) | set(options.pop("passes_off", ()))
    if not fuse_operations:
        off.add("fuse")
    return _compile(model, device=target_device, passes_off=sorted(off),
                    precision=precision, **options)
