"""What the rows of the GPU's table share: LPUs on the backend, their timing, targets, ceilings."""

from __future__ import annotations

import inspect
import math
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import neurodriver as nd
from neurodriver import system

from .measure import WINDOW, barrier, median, triad

Row = dict[str, Any]


@dataclass(frozen=True)
class StepTime:
    """Seconds of a step.

    Attributes
    ----------
    wall : float
        By the clock.
    device : float
        By the device's events; NaN where the backend has none.
    """

    wall: float
    device: float = math.nan

    @property
    def seconds(self) -> float:
        """The device's figure where there is one."""
        return self.wall if math.isnan(self.device) else self.device


@dataclass(frozen=True)
class Ceilings:
    """What the machine can do at best.

    Attributes
    ----------
    copy : float
        Bytes a second, read and written.
    barriers : dict
        Width -> seconds of one barrier.
    """

    copy: float
    barriers: dict[str, float]


@dataclass(frozen=True)
class Table:
    """How the rows of one table are measured.

    Attributes
    ----------
    backend : str
    rounds : int
        Timed runs after the warm-up; the median counts.
    small : bool
        Small circuits, to try the cases where there is no GPU; no target applies.
    devices : int
        GPUs that compute a published network together.
    """

    backend: str
    rounds: int = 5
    small: bool = False
    devices: int = 1

    def lpu(
        self, circuit: nd.Circuit, dt: float, inputs: Any, recorders: Any = (), **options: Any
    ) -> nd.LPU:
        """Return an LPU on the backend."""
        return nd.LPU(circuit, dt, inputs, recorders, backend=self.backend, **options)

    def timed(self, lpu: nd.LPU, steps: int | None = None) -> StepTime:
        """Return the median over the rounds, each of ``steps`` steps or of a quarter second."""
        if steps is None:
            lpu.advance(200)
            begin = time.perf_counter()
            lpu.advance(200)
            steps = max(20, int(WINDOW * 200 / (time.perf_counter() - begin)))
        lpu.advance(steps)
        found = [one_run(lpu, steps) for _ in range(self.rounds)]
        return StepTime(median([f.wall for f in found]), median([f.device for f in found]))

    def rate(self, circuit: nd.Circuit, dt: float, inputs: Any, steps: int) -> float:
        """Return the mean rate of the spiking neurons in spikes a second, without timing."""
        recorder = nd.MemoryRecorder([("spike_state", None)])
        with self.lpu(circuit, dt, inputs, [recorder]) as lpu:
            lpu.run(steps=steps)
            neurons = len(lpu.uids("spike_state"))
        rate: float = len(recorder.get("spike_state")["time"]) / (neurons * steps * dt)
        if not rate:
            raise RuntimeError(f"{circuit.name}: no neuron spiked")
        return rate

    def row(self, case: str, spent: StepTime, target: float | None, floor: str, **more: Any) -> Row:
        """Return a row; the target, if any, is so many microseconds a step."""
        us = spent.seconds * 1e6
        met = {} if target is None else self.judged(f"<= {target:g} us", us <= target)
        wall = {} if math.isnan(spent.device) else {"wall us": spent.wall * 1e6}
        return {
            "case": case,
            "us a step": spent.seconds * 1e6,
            **wall,
            **met,
            "floor": floor,
        } | more

    def judged(self, target: str, *met: bool) -> Row:
        """Return a target and whether it was met; where there are two, one after the other.

        The targets are those of the GPU.
        """
        if self.small or self.backend == "cpu":
            return {}
        return {"target": target, "met": ", ".join("yes" if one else "no" for one in met)}

    def floor(self, lpu: nd.LPU, nbytes: float) -> str:
        """Return how long the bytes of a step, and the barrier it ends with, take alone."""
        copy = ceilings(self.backend).copy
        plan = getattr(backend_of(lpu), "plan", None)
        if plan is None:
            met = f"barrier {ceilings(self.backend).barriers['threads'] * 1e6:.2g} us"
        else:
            shape = plan.width, plan.blocks, plan.shape.threads
            spent = attempt(lambda: meeting(*shape))
            met = "barrier of a {} ({} x {}) ".format(*shape) + f"{spent * 1e6:.2g} us"
        return f"{nbytes / 1e6:.2g} MB a step: {nbytes / copy * 1e6:.2g} us by copy; {met}"


def one_run(lpu: nd.LPU, steps: int, finish: bool = False) -> StepTime:
    """Return the time of a step of one run; with ``finish``, until its recordings are closed."""
    backend = backend_of(lpu)
    before = getattr(backend, "device_seconds", math.nan)
    begin = time.perf_counter()
    lpu.advance(steps)
    if finish:
        lpu.finish()
    wall = (time.perf_counter() - begin) / steps
    return StepTime(wall, (getattr(backend, "device_seconds", math.nan) - before) / steps)


def backend_of(lpu: nd.LPU) -> Any:
    """Return the backend of an LPU; of several parts that of the first one."""
    parts = vars(lpu.simulation).get("_parts")
    return parts[0].simulation.backend if parts else lpu.backend


def bytes_of(lpu: nd.LPU) -> float:
    """Return the bytes that a step moves: states twice, parameters and edges once, rows thrice.

    A component reads an input and writes a row, which another one reads.
    """
    program = lpu.program
    total = 3 * program.dtype.itemsize * sum(unit.count for unit in program.units)
    for row in program.arrays.values():
        if row.shape:
            total += row.nbytes * (1 if row.value is not None else 2)
    return float(total)


def accepts(option: str) -> bool:
    """Tell whether an LPU has an option."""
    return option in inspect.signature(nd.LPU.__init__).parameters


@cache
def ceilings(backend: str) -> Ceilings:
    """Return the ceilings of the machine, measured once in a run."""
    if backend != "cuda":
        threads = system.cores()
        return Ceilings(triad(3 * 64e6, "float64", threads), {"threads": barrier(threads)})
    from neurodriver.backends.cuda.probe import copy_bandwidth

    from .device_limits import WIDTHS

    return Ceilings(attempt(copy_bandwidth), {w: attempt(partial(meeting, w)) for w in WIDTHS})


@cache
def meeting(width: str, blocks: int | None = None, threads: int = 1024) -> float:
    """Return the seconds of a barrier of the device."""
    from .device_limits import barrier_seconds

    return barrier_seconds(width, blocks, threads)


def attempt(measure: Callable[[], float]) -> float:
    """Return a ceiling; NaN, and why, where it cannot be measured: the table goes on."""
    try:
        return measure()
    except Exception:
        traceback.print_exc()
        return math.nan
