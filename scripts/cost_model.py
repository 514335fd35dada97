"""Model of cost: how long a step takes on several devices, from measured steps and exchanges.

python scripts/cost_model.py    prints the table of docs/design/cost-model.md

A step on P devices takes ``floor + (one - floor) / P + exchange / window``: ``one`` is the step on
one device, and ``floor`` what no further device makes shorter, the barrier. Populations are dealt
evenly, so all devices have the same work. All times are in microseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

BARRIER = 0.97
"""Barrier of the whole GPU."""

COPY = 3.65e6
"""Bytes a microsecond of a step that streams its states (10,000,000 LIF neurons)."""

IN_CACHE, IN_MEMORY = 93e3, 16e3
"""Arrivals a microsecond: into the slots of one step, and into a ring of many steps."""


@dataclass(frozen=True)
class Case:
    """A circuit; ``one`` and ``floor`` are times of a step, ``window`` steps of an exchange."""

    name: str
    one: float
    window: int = 1
    floor: float = BARRIER


def streamed(name: str, neurons: float, size: float, arrivals: float, rate: float) -> Case:
    """Return a case that was not run: states of ``size`` bytes a neuron, and arrivals a step."""
    return Case(name, BARRIER + neurons * size / COPY + arrivals / rate)


CASES = [
    Case("potjans_diesmann, full", 4.75),
    Case("brunel, 10,000 neurons", 1.33, window=15, floor=2 * 0.93 / 15),
    Case("izhikevich, 100,000 neurons", 4.04),
    streamed("coba_lif, 4,000,000 neurons *", 4e6, 32, 0.65e6, IN_MEMORY),
    Case("multi-area, ground state", 247.0),
    streamed("the same, ring of many steps *", 4.13e6, 32, 6.40e6, IN_MEMORY),
    streamed("multi-area, metastable state *", 4.13e6, 32, 33.4e6, IN_CACHE),
]


@dataclass(frozen=True)
class Path:
    """How values get from device to device: time of an exchange, and more for each third device."""

    name: str
    exchange: float
    each: float = 0.0

    def time(self, devices: int) -> float:
        """Return the time of an exchange of so many devices."""
        return self.exchange + self.each * (devices - 2)


DIRECT = Path("kernels write into each other's memory", 4.8)
IN_TURN = Path("the same, one peer after the other", 4.8, 4.8)
HOSTED = Path("gates, memory of the host", 47.0)
HOSTS = Path("hosts: copy, message, copy", 13.0, 2.1)
COLUMNS: Sequence[tuple[str, Path | None, int]] = (
    ("one GPU", None, 1),
    ("2 GPUs", DIRECT, 2),
    ("8 GPUs", DIRECT, 8),
    ("8, in turn", IN_TURN, 8),
    ("8, by gates", HOSTED, 8),
    ("32 hosts", HOSTS, 32),
)


def step(case: Case, path: Path | None, devices: int) -> float:
    """Return the time of a step."""
    exchange = path.time(devices) / case.window if path else 0.0
    return case.floor + (case.one - case.floor) / devices + exchange


def rows() -> list[list[str]]:
    """Return the cells of the table, without its head."""
    return [
        [case.name, *(f"{step(case, path, devices):.3g}" for _, path, devices in COLUMNS)]
        for case in CASES
    ]


def heads() -> list[str]:
    """Return the head of the table."""
    return ["us per step", *(name for name, _, _ in COLUMNS)]


if __name__ == "__main__":
    for cells in (heads(), *rows()):
        print(" | ".join(cells))
