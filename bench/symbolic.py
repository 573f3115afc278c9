"""What symbolic sizes cost: one engine for a range beside engines for the exact size, by turns.

usage: symbolic.py [--sizes N] [--seed S] [--threads N] [--seconds S] [--precision P,P...] [--save]
                   [NETWORK ...]

For each of N different sizes of the range (ten without it; drawn evenly over their logarithm) both
engines run on the same inputs in one `hone bench`. COST is the symbolic engine's median time by the
exact one's: 1.10 is 10 % slower. --save keeps the figures in bench/results/symbolic.json.
"""

import argparse
import itertools
import json
import math
import pathlib
import subprocess
import tempfile
import typing

import numpy as np

import results
import workloads
from models import HONE

RESULT = results.FOLDER / "symbolic.json"


class Range(typing.NamedTuple):
    """The size that is open, how far, what the others are, and what makes inputs of a size."""
    dim: str
    most: int
    fixed: list
    feeds: typing.Callable


RANGES = {
    "mobilenet_v2": Range("batch", 64, [], workloads.image),
    "resnet50": Range("batch", 64, [], workloads.image),
    "bert_base": Range("length", 512, ["--dim", "batch=1"],
                       lambda random, length: workloads.sentence(random, 1, length)),
}


def compiled(folder, model, name, *dims):
    engine = pathlib.Path(folder) / name
    subprocess.run([HONE, "compile", model, "-o", engine, "--no-engine-cache", *dims], check=True,
                   capture_output=True)
    return engine


def medians(engines, inputs, args):
    done = subprocess.run([HONE, "bench", *engines, "--input", inputs, "--threads", str(args.threads),
                           "--seconds", str(args.seconds), "--json"],
                          check=True, capture_output=True, text=True)
    return [row["median_ms"] for row in json.loads(done.stdout)["results"]]


def sizes_of(most, args):
    """As many different sizes as were asked for, or all there are."""
    random, sizes = np.random.default_rng(args.seed), set()
    while len(sizes) < min(args.sizes, most):
        sizes.add(round(math.exp(random.uniform(0, math.log(most)))))
    return sorted(sizes)


def measure(network, precision, args):
    about, model = RANGES[network], workloads.network_path(network, precision)
    # A network in int8 is one by its file.
    fixed = about.fixed + (["--precision", "bf16"] if precision == "bf16" else [])
    with tempfile.TemporaryDirectory() as folder:
        open_dim = f"{about.dim}=1..{about.most}"
        symbolic = compiled(folder, model, "symbolic.hone", "--dim", open_dim, *fixed)
        for size in sizes_of(about.most, args):
            exact = compiled(folder, model, "exact.hone", "--dim", f"{about.dim}={size}", *fixed)
            inputs = pathlib.Path(folder) / "inputs.npz"
            np.savez(inputs, **about.feeds(np.random.default_rng(1), size))
            times = medians((symbolic, exact), inputs, args)
            yield {"model": network, "precision": precision, "dim": about.dim, "size": size,
                   "threads": args.threads, "symbolic_ms": times[0], "exact_ms": times[1],
                   "cost": round(times[0] / times[1], 3)}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", choices=[[], *RANGES], default=[], metavar="NETWORK")
    parser.add_argument("--sizes", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--precision", default="fp32", type=workloads.precisions)
    parser.add_argument("--save", action="store_true")
    args = parser.parse_args()
    print(f"{'MODEL':<16}{'PRECISION':<11}{'SIZE':>18}{'SYMBOLIC ms':>13}{'EXACT ms':>10}{'COST':>7}")
    rows = []
    for network, precision in itertools.product(args.networks or RANGES, args.precision):
        for row in measure(network, precision, args):
            rows.append(row)
            size = f"{row['dim']} = {row['size']}"
            print(f"{network:<16}{precision:<11}{size:>18}{row['symbolic_ms']:>13.2f}"
                  f"{row['exact_ms']:>10.2f}{row['cost']:>7.3f}", flush=True)
    worst = max(rows, key=lambda row: row["cost"])
    print(f"worst: {worst['cost']:.3f}, {worst['model']} in {worst['precision']} at "
          f"{worst['dim']} = {worst['size']}")
    if args.save:
        about = {"machine": results.machine(), "date": results.TODAY, "commit": results.commit(),
                 "rows": rows}
        RESULT.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
