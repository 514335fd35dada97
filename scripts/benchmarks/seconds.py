"""Published networks in the table of any backend: a second of simulated time, spikes recorded."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from statistics import fmean as mean
from typing import Any

import numpy as np
from numpy.typing import NDArray

import neurodriver as nd

from .measure import median
from .papers import example
from .table import Row, StepTime, Table, one_run

WORD = {"float32": 4, "float64": 8}

WALL = 1.15
"""Times the device's time that the clock may show, with all spikes recorded in memory."""

MOST_ANEW = 2
"""Runs that begin with step 0, as each compiles the circuit."""

EDGE = 4
"""Bytes that are read of an edge at least when a spike arrives by it: where it ends."""


@dataclass(frozen=True, slots=True)
class Network:
    """A network at one size.

    Attributes
    ----------
    title, example : str
    arguments, small : dict
        Arguments of the example's ``network``; those to try it with where there is no GPU.
    target, then : float
        Milliseconds a second of simulated time, by the clock; a second target. Infinite where there
        is none.
    peer : str
        Who else was measured on the same GPU, and what.
    seconds : float
        Simulated in a run. Below 1, each run begins with step 0: the network changes later. Above
        1, a whole number: so many runs of a second follow each other, and their mean counts.
    before : float
        Simulated before the first run, where it does not begin with step 0. 0: as long as a run.
    spikes : float
        Spikes of a step by the published rates, where seconds differ. If seconds have fewer and
        more, a line through their times gives the time at so many, which the targets are for.
    dtypes : tuple of str
    parts : float
        Greatest ratio of the time on several devices to that on one. Infinite where there is none.
    """

    title: str
    example: str
    arguments: Mapping[str, Any]
    small: Mapping[str, Any]
    target: float = math.inf
    then: float = math.inf
    peer: str = ""
    _: KW_ONLY
    seconds: float = 1.0
    before: float = 0.0
    spikes: float = math.nan
    dtypes: tuple[str, ...] = ("float32", "float64")
    parts: float = math.inf

    def __post_init__(self) -> None:
        if self.seconds > 1.0 and self.seconds % 1.0:
            raise ValueError(f"{self.title}: {self.seconds:g} s are no whole number of seconds")


def rows(table: Table, *networks: Network) -> Iterator[Row]:
    """Yield a row for each network and precision as soon as it is measured.

    On several devices, one device is measured first, in the same run.
    """
    for network in networks:
        module = example(network.example)
        begin = time.perf_counter()
        made = module.network(seed=1, **(network.small if table.small else network.arguments))
        spent = time.perf_counter() - begin
        for dtype in network.dtypes:
            given = network, made, module.DT, dtype, spent
            yield (one := _row(replace(table, devices=1), *given))
            if table.devices > 1:
                several = _row(table, *given)
                yield several | _compared(table, network, several, one, dtype)


def _compared(table: Table, network: Network, several: Row, one: Row, dtype: str) -> Row:
    """Return what the row of several devices tells of the row of one, by the clock."""
    alone, wall = (row.get("wall us", row["us a step"]) for row in (one, several))
    told = {"peer": f"one device in the same run: {alone:.3g} us", "ratio": wall / alone}
    told |= {"target": "", "met": ""}
    if dtype == "float32" and math.isfinite(network.parts):
        target = f"<= {network.parts:g} of one device, by the clock"
        told |= table.judged(target, wall <= network.parts * alone)
    return told


def _row(table: Table, network: Network, made: Any, dt: float, dtype: str, drawing: float) -> Row:
    """Return the row of a precision; the targets are those of float32."""
    circuit, inputs, _ = made
    neurons = circuit.groups[0]
    anew, lasting = network.seconds < 1.0, network.seconds > 1.0
    steps = round((0.1 if table.small else min(network.seconds, 1.0)) / dt)
    before = steps if table.small or not network.before else round(network.before / dt)
    recorder = nd.MemoryRecorder([("spike_state", neurons.uids)])
    given = {"devices": table.devices} if table.devices > 1 else {}
    begin = time.perf_counter()
    with table.lpu(circuit, dt, inputs, [recorder], dtype=dtype, seed=1, **given) as lpu:
        rounds = round(network.seconds) if lasting else table.rounds
        lpu.start(before + rounds * steps)
        built = time.perf_counter() - begin
        found = []
        rounds = min(rounds, MOST_ANEW) if anew else rounds
        for number in range(rounds + 1):
            if anew and number:
                lpu.finish()
                lpu.reset()
                lpu.start(steps)
            found.append(one_run(lpu, steps if number else before))
        begin = time.perf_counter()
        lpu.finish()
        closing = time.perf_counter() - begin
        ends = np.cumsum([0, *[steps] * (1 if anew else rounds)]) + (0 if anew else before)
        spikes = _fired(recorder, circuit.name, dt * ends)
        rate: float = spikes.sum() / ((ends[-1] - ends[0]) * dt)
        arrivals = rate * dt * circuit.edges / circuit.count
        states = sum(g.count * len(g.model.states) for g in circuit.groups)
        floor = table.floor(lpu, 2 * WORD[dtype] * states + EDGE * arrivals)
    middle = mean if lasting else median
    spent = StepTime(middle([f.wall for f in found[1:]]), middle([f.device for f in found[1:]]))
    size = f"{neurons.count:,} neurons, {circuit.edges:,} connections"
    size += f", the first {network.seconds:g} s" if anew else ""
    size += f", {network.seconds:g} s" if network.seconds > 1.0 else ""
    size += f", {table.devices} parts" if given else ""
    row = table.row(f"{network.title}, {size}, {dtype}", spent, None, "")
    ms = spent.seconds / dt * 1e3
    row |= {"ms a second": ms, "build s": drawing + built, "spikes a second": rate}
    closed = sum(f.wall for f in found[1:]) / rounds + closing / ((1 if anew else rounds) * steps)
    row["floor"] = (
        f"{floor}; {arrivals:.3g} synaptic events per step; "
        f"{closed * 1e6:.3g} us per step until the recording is closed"
    )
    clock = spent.wall / dt * 1e3
    at = _at_rate(network.spikes, spikes / steps, found[1:], dt) if lasting else None
    if at is not None:
        clock, said = at
        row["floor"] += f"; {said}"
    ratio = spent.wall / spent.device
    if math.isfinite(ratio):
        row["wall of device"] = ratio
    if dtype == "float32" and math.isfinite(network.target):
        row["peer"] = network.peer
    return row | _judged(table, network, dtype, clock, ratio, at is not None)


def _judged(
    table: Table, network: Network, dtype: str, clock: float, ratio: float, at_rate: bool
) -> Row:
    """Return the targets of a row, and which of them it meets by the clock, ms a second.

    ``ratio`` is that of the clock to the device's time, NaN where there is no device.
    """
    limits = [one for one in (network.target, network.then) if math.isfinite(one)]
    limits = limits if dtype == "float32" else []
    told = [f"<= {', then '.join(f'{one:g}' for one in limits)} ms by the clock"] if limits else []
    told = [f"{one}, at {network.spikes:,.4g} spikes per step" for one in told] if at_rate else told
    told += [f"wall <= {WALL:g} of the device"] if math.isfinite(ratio) else []
    met = [clock <= one and not ratio > WALL for one in limits] or [not ratio > WALL]
    return table.judged("; ".join(told), *met) if told else {}


def _fired(
    recorder: nd.MemoryRecorder, name: str, ends: NDArray[np.floating]
) -> NDArray[np.integer]:
    """Return the spikes of each run, none of them silent.

    ``ends`` is where the first run begins, and where each one ends, in s.
    """
    times = recorder.get("spike_state")["time"]
    counts: NDArray[np.integer] = np.histogram(times, ends)[0]
    if not counts.all():
        raise RuntimeError(f"{name}: no spikes in a run; in the runs there were {counts.tolist()}")
    return counts


def _at_rate(
    wanted: float, each: NDArray[np.floating], found: Sequence[StepTime], dt: float
) -> tuple[float, str] | None:
    """Return the milliseconds of a second with so many spikes a step, and how they were found.

    By a least-squares line through the times of some seconds, by the clock; None where all of them
    have fewer spikes, or more. ``each`` is the spikes of a step of each second.
    """
    if not (each.min() < wanted < each.max() and len(each) > 2):
        return None
    times = np.array([one.wall for one in found]) / dt * 1e3
    line = np.polynomial.Polynomial.fit(each, times, 1)
    ms, beside = float(line(wanted)), float(np.abs(line(each) - times).max())
    low, high = (f"{x:,.4g}" for x in (each.min(), each.max()))
    said = f"by a line through {len(each)} seconds of {low} to {high} spikes per step, at most "
    return ms, f"{said}{beside:.3g} ms beside them: {ms:.4g} ms by the clock at {wanted:,.4g}"
