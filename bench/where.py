"""Where the milliseconds of the three networks go, against the least that the machine needs for them.

usage: where.py [--threads N,...] [NETWORK ...]

Prints a table in Markdown for each, from `hone explain`: steps by their kind, the time they took, the
least time for their arithmetic as it is written (or for their bytes), and the share of it. Kinds are
told by what stands around: products between transforms are Winograd's; a product with fewer than
INTENSE operations a byte waits for memory.
"""

import argparse
import collections
import json
import subprocess

import workloads
from models import HONE

INTENSE = 10
DIMS = {"bert_base": ["--dim", "batch=1", "--dim", f"length={workloads.LENGTH}"]}
ROUNDS = 3


def explained(network, threads):
    """The steps, each with the least time of some rounds."""
    dims = DIMS.get(network, ["--dim", "batch=1"])
    rounds = [json.loads(subprocess.run(
        [HONE, "explain", workloads.network_path(network), *dims, "--threads", str(threads), "--json"],
        check=True, capture_output=True, text=True).stdout)["steps"] for _ in range(ROUNDS)]
    for same in zip(*rounds):
        yield {**same[0], "execution_time_ms": min(step["execution_time_ms"] for step in same)}


def transforms(step):
    """Whether it computes something for a convolution without being its products."""
    return step.get("tactic") != "contract" and step.get("arithmetic", 0) > 0 and \
        any("(Conv)" in node for node in step["nodes"][:1])


def kind(step, before, last_tiled):
    is_product = step.get("tactic") == "contract"
    moved = step.get("read_bytes", 0) + step.get("written_bytes", 0)
    if step.get("tactic") == "attention":
        return "attention"
    if transforms(step) or last_tiled:
        return "Winograd: transforms"
    if is_product and before and transforms(before):
        return "Winograd: products"
    if not is_product:
        return "all else: normalization, pooling, lookups"
    if step.get("arithmetic", 0) < INTENSE * moved:
        return "products that wait for memory: depthwise, last layers"
    return "products: convolutions by windows, 1 x 1, matrices"


def kinds(steps):
    """Each step with its kind; results of tiles follow their products."""
    before, name = None, ""
    for step in steps:
        name = kind(step, before, name == "Winograd: products" and step.get("tactic") != "contract")
        yield step, name
        before = step


def table(network, threads):
    sums = collections.defaultdict(lambda: [0, 0, 0])
    for step, name in kinds(explained(network, threads)):
        row = sums[name]
        least = step.get("limit_ms", 0) * step.get("runs", 1)
        for i, number in enumerate((1, step["execution_time_ms"], least)):
            row[i] += number
    sums["together"] = [sum(column) for column in zip(*sums.values())]
    print(f"\n**{network}, {threads} thread{'s' * (threads > 1)}**\n")
    print("| steps | how many | ms | least ms | share |\n|---|---|---|---|---|")
    for name, (count, took, least) in sorted(sums.items(), key=lambda row: row[1][1]):
        print(f"| {name} | {count} | {took:.2f} | {least:.2f} | {least / took:.0%} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", metavar="NETWORK")
    parser.add_argument("--threads", default="1,2")
    args = parser.parse_args()
    for network in args.networks or workloads.NETWORKS:
        for threads in args.threads.split(","):
            table(network, int(threads))


if __name__ == "__main__":
    main()
