"""How long runs take: contestants are timed by turns, one run each a round, so that whatever else
the machine does meets all of them alike."""

import math
import time
from typing import NamedTuple

from .engine import Engine
from .session import Session


class Times(NamedTuple):
    """Milliseconds, of `runs` runs that count."""

    median_ms: float
    min_ms: float
    mean_ms: float
    p90_ms: float
    p99_ms: float
    max_ms: float
    first_ms: float  # the very first run
    load_ms: float  # reading the model's or engine's file; 0 where that is not known
    compile_ms: float
    runs: int


def _runner(contestant, feeds):
    """A function that runs once, and what is known of its making."""
    if isinstance(contestant, Engine):
        contestant = contestant._own()
    if isinstance(contestant, Session):
        return contestant._prepared(feeds), contestant.load_ms, contestant.compile_ms
    if callable(contestant):
        return lambda: contestant(feeds), 0.0, 0.0
    session = Session(contestant, device="cpu")
    return session._prepared(feeds), session.load_ms, session.compile_ms


def _timed(run):
    start = time.perf_counter_ns()
    run()
    return (time.perf_counter_ns() - start) / 1e6


def _summary(samples, first, load, compiled):
    ordered, count = sorted(samples), len(samples)
    middle = count // 2
    median = ordered[middle] if count % 2 else (ordered[middle - 1] + ordered[middle]) / 2
    p90, p99 = (ordered[max(math.ceil(part * count), 1) - 1] for part in (0.9, 0.99))
    return Times(median, ordered[0], sum(ordered) / count, p90, p99, ordered[-1], first, load,
                 compiled, count)


def bench(contestants, feeds, runs=None, seconds=None, warmup=3):
    """Times one contestant, giving Times, or several (a list, or a dict by name), giving the same of
    Times. A contestant is a Session, an Engine, a model (then on cpu), or any function of `feeds`.
    `runs` that count, or as many as fit in `seconds` each (3 when neither is given); `warmup` runs go
    before, the very first included."""
    if isinstance(contestants, dict):
        return dict(zip(contestants, bench(list(contestants.values()), feeds, runs, seconds, warmup)))
    if not isinstance(contestants, (list, tuple)):
        return bench([contestants], feeds, runs, seconds, warmup)[0]
    if (runs is not None and runs < 1) or (seconds is not None and not seconds > 0) or warmup < 1:
        raise ValueError("runs and warmup are 1 or more, seconds more than 0")
    left = (math.inf if runs else 3.0) if seconds is None else seconds
    made = [_runner(c, feeds) for c in contestants]
    first = [_timed(run) for run, _, _ in made]
    for run, _, _ in made:
        for _ in range(warmup - 1):
            run()
    samples, order = [[] for _ in made], list(range(len(made)))
    while order and (not samples[0] or ((not runs or len(samples[0]) < runs) and left > 0)):
        for i in order:
            samples[i].append(_timed(made[i][0]))
        left -= max(s[-1] for s in samples) / 1e3
        order.append(order.pop(0))
    return [_summary(s, f, load, compiled) for s, f, (_, load, compiled) in zip(samples, first, made)]
