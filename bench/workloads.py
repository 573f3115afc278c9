"""What is measured: three networks with random weights, and the models of tests/models.

A workload is a model, inputs for it, and a name that stays the same from one result to the next.
"""

import argparse
import dataclasses
import pathlib
import re
import subprocess
import sys
import typing

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
MADE = ROOT / "build" / "bench"
LENGTH = 128
MODEL_SETS = ("ci", "more")


def precisions(text):
    """What --precision names, for argparse: some of fp32, bf16 and int8, with commas between."""
    words = text.split(",")
    if unknown := set(words) - {"fp32", "bf16", "int8"}:
        raise argparse.ArgumentTypeError(f"no such precision: {', '.join(sorted(unknown))}")
    return words


def image(random, batch):
    return {"image": random.standard_normal((batch, 3, 224, 224), np.float32)}


def sentence(random, batch, length=LENGTH):
    return {"input_ids": random.integers(0, 30522, (batch, length)),
            "attention_mask": np.ones((batch, length), np.int64),
            "token_type_ids": np.zeros((batch, length), np.int64),
            "position_ids": np.tile(np.arange(length), (batch, 1))}


class Network(typing.NamedTuple):
    """One that is made: the program that writes it, and what makes inputs of a batch for it."""
    words: list
    feeds: typing.Callable


NETWORKS = {
    "resnet50": Network(["make_resnet.py", "--model", "resnet50"], image),
    "mobilenet_v2": Network(["make_resnet.py", "--model", "mobilenet_v2"], image),
    "bert_base": Network(["make_bert.py"], sentence),
}


@dataclasses.dataclass
class Workload:
    name: str
    batch: int
    precision: str
    path: str
    feeds: typing.Callable  # gives {name: array}
    # How far rounding alone moves its answers, of the largest; some magnify it (tests/models/compare.py).
    rounding: typing.Callable = lambda feeds: 0


def _make(path, script, *words):
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part.onnx")
        subprocess.run([sys.executable, ROOT / "bench" / script, *words, part], check=True)
        part.replace(path)
    return path


def network_path(name, precision="fp32"):
    """The file of a network, made when it is not there."""
    script, *words = NETWORKS[name].words
    path = _make(MADE / f"{name}.onnx", script, *words)
    return path if precision != "int8" else _make(MADE / f"{name}_int8.onnx", "make_int8.py", path)


def network(name, batch=1, precision="fp32"):
    return Workload(name, batch, precision, str(network_path(name, precision)),
                    lambda: NETWORKS[name].feeds(np.random.default_rng(1), batch))


def _row_feeds(row):
    import compare
    import inputs
    return inputs.make(row, compare.reference_session(row.file))


def _row_rounding(row, feeds):
    import compare
    want = compare.reference_session(row.file).run(None, feeds)
    return max(compare.rounding(row, feeds, want), default=0)


def downloaded(only=""):
    """The models of `ci` and `more`, the small ones first; those that cannot be fetched are said."""
    sys.path.insert(0, str(ROOT / "tests" / "models"))
    sys.path.insert(0, str(ROOT / "tests"))
    import fetch
    rows, errors = fetch.fetch(list(MODEL_SETS))
    errors += fetch.fetch(["pictures"])[1]
    for text in errors:
        print(f"cannot fetch {text}", file=sys.stderr)
    return [Workload(row.name, 1, "fp32", str(row.file), lambda row=row: _row_feeds(row),
                     lambda feeds, row=row: _row_rounding(row, feeds))
            for row in sorted(rows, key=lambda row: row.bytes) if re.search(only, row.name)]
