"""Published networks as they are, with input from outside, and cut into two LPUs.

The parts are the neurons of even and odd numbers. ``cut`` writes the drawn connections out as
columns, and those that cross take one step more. All variants record their spikes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

import neurodriver as nd
from neurodriver.backends.cuda.device import device_count
from neurodriver.circuit.cut import Parts, cut
from neurodriver.parallel.timing import Exchanged

from .measure import median, on_ranks
from .papers import THREADS, example
from .table import Row, StepTime, Table, one_run

NAMES = ("even", "odd")
TARGET = 1.2
"""Times the whole network."""

WINDOWS = 5
"""Of a round; the fastest counts, as others may be busy on the machine."""

WARM = 2
"""Windows before the first round."""


@dataclass(frozen=True, slots=True)
class Network:
    """A network at one size, and what enters it from outside beside its own inputs.

    Attributes
    ----------
    title, example : str
    arguments, small : dict
        Arguments of the example's ``network``; those to try it with where there is no GPU.
    current : float
        Into each neuron, in the unit of the model.
    rate : float
        Hz, of spikes of weight 1 into each neuron.
    """

    title: str
    example: str
    arguments: Mapping[str, Any]
    small: Mapping[str, Any]
    current: float
    rate: float


NETWORKS = {
    "potjans_diesmann": Network(
        "potjans_diesmann", "potjans_diesmann_2014", {"scale": 0.1}, {"scale": 0.02}, 1.0, 100.0
    ),
    "izhikevich": Network(
        "izhikevich", "izhikevich_2003", {"neurons": 100_000}, {"neurons": 2_000}, 0.01, 10.0
    ),
}
"""What enters is too little to change how they fire."""


def run(rounds: int, peers: str | None) -> Iterator[dict[str, Any]]:
    """Yield the rows of the CPU."""
    table = Table("cpu", rounds)
    for name, network in NETWORKS.items():
        yield from _rows(table, name, network, "float64")


def table(table: Table) -> Iterator[Row]:
    """Yield the rows of any backend."""
    for name, network in NETWORKS.items():
        yield from _rows(table, name, network, "float32")


class Variant:
    """A network that runs, and the times of its steps.

    Parameters
    ----------
    lpu : LPU
        Of several LPUs of a Manager any, as they advance together.
    recorders : sequence of MemoryRecorder
        Of spikes.
    steps : int
        Of a window.
    """

    def __init__(self, lpu: nd.LPU, recorders: Sequence[nd.MemoryRecorder], steps: int) -> None:
        self.lpu, self.recorders, self.steps = lpu, recorders, steps
        self.spent: list[StepTime] = []

    def advance(self) -> None:
        """Time a window."""
        self.spent.append(one_run(self.lpu, self.steps))

    def best(self, rounds: int) -> StepTime:
        """Return the median over the last rounds of the fastest windows of each."""
        last = self.spent[-rounds * WINDOWS :]
        each = [last[i : i + WINDOWS] for i in range(0, len(last), WINDOWS)]
        found = [min(some, key=lambda one: one.seconds) for some in each]
        device = median([one.device for one in found])
        return StepTime(median([one.wall for one in found]), device)

    def rate(self) -> float:
        """End the run; return the spikes of a second."""
        self.lpu.finish()
        spikes = sum(len(one.get("spike_state")["time"]) for one in self.recorders)
        self.lpu.close()
        return spikes / self.lpu.time


def _rows(table: Table, name: str, network: Network, dtype: str) -> Iterator[Row]:
    """Yield the rows of a network: whole, with input, two LPUs of one process and of two ranks."""
    module = example(network.example)
    made = module.network(seed=1, **(network.small if table.small else network.arguments))
    steps = round((0.2 if table.small else 1.0) / module.DT) // WINDOWS
    options = {"backend": table.backend, "dtype": dtype, "seed": 1}
    more = from_outside(network, made[0].uids)
    plain = whole(made, module.DT, [], steps, options)
    variants = {
        "whole": plain,
        "a current and Poisson input from outside": whole(made, module.DT, more, steps, options),
        "two LPUs of one process": parted(made, module.DT, steps, options),
    }
    for _ in range(WARM + table.rounds * WINDOWS):  # in turn
        for variant in variants.values():
            variant.advance()
    found = {what: variant.best(table.rounds) for what, variant in variants.items()}
    title = f"{network.title}, {made[0].count:,} neurons, {made[0].edges:,} connections, {dtype}"
    over: dict[str, list[dict[str, float]]] = {}
    if table.backend == "cpu" or device_count() > 1:
        for halves in ("lpus", "parts"):
            each = [_over_ranks(table, name, dtype, plain, halves) for _ in range(table.rounds)]
            over[halves] = each
    for what, variant in variants.items():
        row = table.row(f"{title}, {what}", found[what], None, "")
        row |= {"spikes a second": variant.rate()}
        ratio = found[what].seconds / found["whole"].seconds
        yield row if variant is plain else row | judged(table, ratio)
    for halves, found_over in over.items():
        what = "two LPUs" if halves == "lpus" else "two parts"
        yield _row_of_ranks(table, f"{title}, {what} of two ranks", found_over)


def _over_ranks(
    table: Table, name: str, dtype: str, plain: Variant, halves: str
) -> dict[str, float]:
    """Return what two ranks told of a round, and the time of the whole network beside it."""
    asked = name, table.backend, dtype, str(int(table.small)), halves
    plain.advance()
    found = on_ranks(2, "benchmarks.cut_ranks", *asked)
    for _ in range(WINDOWS - 1):
        plain.advance()
    return found | {"whole": plain.best(1).seconds}


def _row_of_ranks(table: Table, case: str, over: list[dict[str, float]]) -> Row:
    """Return the row of two ranks, one thread or GPU each."""
    found = {what: median([one[what] for one in over]) for what in over[0]}
    us = {what: 1e6 * found[what] for what in ("step", "bare", "latency", "exchange")}
    apart = median([(one["step"] - one["bare"]) / one["whole"] for one in over])
    return {
        "case": case,
        "us a step": us["step"],
        "spikes a second": found["rate"],
        "peer": f"bare Sendrecv {us['bare']:.3g} us, of one value {us['latency']:.3g} us",
        "floor": f"without the bare exchange {apart:.3g} times the whole; "
                 f"{found['bytes'] / 1e3:.3g} KB a step and rank in {us['exchange']:.3g} us, "
                 f"waiting for the other rank included",
    } | judged(table, median([one["step"] / one["whole"] for one in over]), apart)  # fmt: skip


def judged(table: Table, ratio: float, counted: float | None = None) -> Row:
    """Return how often the time of the whole network it took, and of the CPU what it may take."""
    row: Row = {"ratio": ratio}
    if table.small or table.backend != "cpu":
        return row
    met = (ratio if counted is None else counted) <= TARGET
    return row | {"target": f"<= {TARGET:g} of the whole", "met": "yes" if met else "no"}


def from_outside(network: Network, uids: Any) -> list[nd.Input]:
    """Return a current and spikes for some neurons."""
    return [
        nd.StepInput("I", uids, network.current),
        nd.PoissonInput("spike_state", uids, network.rate, seed=2),
    ]


def whole(
    made: Any, dt: float, more: list[nd.Input], steps: int, options: dict[str, Any]
) -> Variant:
    """Return a network as one LPU, with some inputs beside its own."""
    circuit, inputs, _ = made
    recorder = nd.MemoryRecorder([("spike_state", circuit.uids)])
    lpu = nd.LPU(circuit, dt, [*inputs, *more], [recorder], threads=THREADS, **options)
    return Variant(lpu, [recorder], steps)


def halves(made: Any) -> tuple[Parts, dict[str, list[nd.Input]]]:
    """Return the two parts of a network, and the inputs of each, all of which are steps."""
    circuit, inputs, _ = made
    parts = cut(circuit, np.arange(circuit.count) % 2, NAMES)
    own: dict[str, list[nd.Input]] = {}
    for number, name in enumerate(NAMES):
        own[name] = []
        for one in inputs:
            ((variable, uids),) = one.targets
            mine = np.flatnonzero(circuit.find(uids) % 2 == number)
            step = nd.StepInput(variable, np.asarray(uids)[mine], one.value[mine])
            own[name].append(step)
    return parts, own


def managed(
    made: Any,
    dt: float,
    ranks: Mapping[str, int],
    options: dict[str, Any],
    devices: Mapping[str, int] | None = None,
) -> tuple[nd.Manager, list[nd.MemoryRecorder]]:
    """Return a Manager of the two parts, not yet spawned, and the recorders of their spikes."""
    parts, inputs = halves(made)
    man = nd.Manager(threads=1 if ranks else THREADS, timeout=120.0)
    recorders = []
    for name, circuit in parts.circuits.items():
        recorders.append(nd.MemoryRecorder([("spike_state", None)]))
        given = [circuit, dt, inputs[name], [recorders[-1]]]
        where = {"device": devices[name]} if devices else {}
        man.add(nd.LPU, name, *given, rank=ranks.get(name), **options, **where)
    for (source, target), pattern in parts.patterns().items():
        man.connect(source, target, pattern)
    return man, recorders


def in_parts(
    made: Any, dt: float, steps: int, options: dict[str, Any]
) -> tuple[float, list[Exchanged], int]:
    """Run the part of this rank; return seconds of a step, exchanges and spikes of the whole."""
    circuit, inputs, _ = made
    recorder = nd.MemoryRecorder([("spike_state", None)])
    marks: list[float] = []
    with nd.LPU(circuit, dt, inputs, [recorder], parts="auto", threads=1, **options) as lpu:
        lpu.start((WARM + WINDOWS) * steps)
        for _ in range(WARM + WINDOWS):
            begin = time.perf_counter()
            lpu.advance(steps)
            marks.append((time.perf_counter() - begin) / steps)
        lpu.finish()
        exchanged = lpu.simulation.exchanged  # type: ignore[attr-defined]
    return min(marks[WARM:]), exchanged, len(recorder.get("spike_state")["time"])


def parted(made: Any, dt: float, steps: int, options: dict[str, Any]) -> Variant:
    """Return the parts of a network as LPUs of this process."""
    man, recorders = managed(made, dt, {}, options)
    man.spawn()
    return Variant(next(iter(man.lpus.values())), recorders, steps)


def clocked(man: nd.Manager, steps: int) -> float:
    """Run a round after a warm-up; return the seconds of a step of the fastest window.

    Parameters
    ----------
    steps : int
        Of a window.
    """
    marks, done = [(0, time.perf_counter())], 0

    def progress(count: int) -> None:
        nonlocal done
        done += count
        if done >= len(marks) * steps:
            marks.append((done, time.perf_counter()))

    man.start(steps=(WARM + WINDOWS) * steps, progress=progress)
    man.wait()
    timed = pairwise(marks[min(WARM, len(marks) - 2) :])  # a small run may be one call
    return min((end - begin) / (last - first) for (first, begin), (last, end) in timed)
