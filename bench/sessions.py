"""Two sessions at once beside the same two, one after the other: they share one pool of threads.

usage: sessions.py [--rounds N] [--seconds S] [NETWORK ...]

GAIN is the time of one after the other by that of both at once: 1 and above is as it should be.
Takes the Python package, as `make test` installs it.
"""

import argparse
import statistics
import threading
import time

import hone
import numpy as np
import workloads


def runs(session, inputs, count):
    for _ in range(count):
        session.run(inputs)


def timed(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def at_once(sessions, inputs, count):
    threads = [threading.Thread(target=runs, args=(session, inputs, count)) for session in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def one_after_the_other(sessions, inputs, count):
    for session in sessions:
        runs(session, inputs, count)


def gains(network, args):
    model = str(workloads.network_path(network))
    inputs = workloads.NETWORKS[network].feeds(np.random.default_rng(1), 1)
    sessions = [hone.Session(model, device="cpu") for _ in range(2)]
    one_after_the_other(sessions, inputs, 3)
    count = max(3, round(args.seconds / timed(lambda: runs(sessions[0], inputs, 1)) / 2))
    for _ in range(args.rounds):
        apart = timed(lambda: one_after_the_other(sessions, inputs, count))
        together = timed(lambda: at_once(sessions, inputs, count))
        yield apart / together


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", metavar="NETWORK")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1)
    args = parser.parse_args()
    print(f"{'MODEL':<16}{'GAIN':>6}{'ROUNDS':>14}")
    for network in args.networks or workloads.NETWORKS:
        found = sorted(gains(network, args))
        print(f"{network:<16}{statistics.median(found):>6.2f}{found[0]:>8.2f}..{found[-1]:.2f}", flush=True)


if __name__ == "__main__":
    main()
