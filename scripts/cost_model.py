"""Model of cost: how long a step takes on several devices, from measured steps and exchanges.

python scripts/cost_model.py    prints the table of docs/design/cost-model.md

A step on P devices takes ``floor + (one - floor) (stays + (1 - stays) / P) + exchange / window``:
``one`` is the step on one device, ``floor`` what no further device makes shorter, the barrier, and
``stays`` the share of the rest that each device has whole. In the ideal case ``stays`` is 0; it is
also found from the step that two GPUs were measured to take. Populations are dealt evenly, so all
devices have the same work. All times are in microseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

BARRIER = 0.97
"""Barrier of the whole GPU."""

COPY = 3.65e6
"""Bytes a microsecond of a step that streams its states (10,000,000 LIF neurons)."""

IN_MEMORY = 16e3
"""Arrivals a microsecond into a ring of many steps."""


@dataclass(frozen=True)
class Case:
    """A circuit.

    Attributes
    ----------
    name : str
    one, floor : float
        Times of a step.
    window : int
        Steps of an exchange.
    two : float, optional
        The step that two GPUs were measured to take; docs/speed.md has it, and ``one``.
    like : float, optional
        ``stays``, where it is that of another case.
    """

    name: str
    one: float
    window: int = 1
    floor: float = BARRIER
    two: float | None = None
    like: float | None = None

    @property
    def stays(self) -> float | None:
        """Share that each device has whole, as two GPUs show it.

        None where they did not run, or where no share explains their step.
        """
        if self.two is None:
            return self.like
        rest = self.two - self.floor - DIRECT.exchange / self.window
        share = max(2 * rest / (self.one - self.floor) - 1, 0.0)
        return share if share <= 1.01 else None


def streamed(
    name: str, neurons: float, size: float, arrivals: float, rate: float, like: float | None = None
) -> Case:
    """Return a case that was not run: states of ``size`` bytes a neuron, and arrivals a step."""
    return Case(name, BARRIER + neurons * size / COPY + arrivals / rate, like=like)


@dataclass(frozen=True)
class Path:
    """How values get from device to device: time of an exchange, and more for each third device."""

    name: str
    exchange: float
    each: float = 0.0

    def time(self, devices: int) -> float:
        """Return the time of an exchange of so many devices."""
        return self.exchange + self.each * (devices - 2)


DIRECT = Path("kernels write into each other's memory", 2.9)
IN_TURN = Path("the same, one peer after the other", 2.9, 2.9)
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
AS_TWO: Sequence[tuple[str, Path, int]] = (
    ("8 as two", DIRECT, 8),
    ("32 hosts as two", HOSTS, 32),
)
"""Where the share that stays is the one that two GPUs show."""

GROUND = Case("multi-area, ground state", 147.0, two=94.9)
CASES = [
    Case("potjans_diesmann", 3.87, two=5.83),
    Case("brunel, 10,000 neurons", 1.38, window=15, floor=2 * 0.93 / 15, two=1.64),
    Case("izhikevich, 100,000 neurons", 4.3, two=7.9),
    Case("coba_lif, 400,000 neurons", 9.7, two=14.0),
    Case("coba_lif, 4,000,000 neurons", 74.3, two=45.2),
    GROUND,
    streamed("the same, ring of many steps *", 4.13e6, 56, 6.40e6, IN_MEMORY, GROUND.stays),
    Case("multi-area, metastable state", 637.0, two=371.0),
]


def step(case: Case, path: Path | None, devices: int, stays: float = 0.0) -> float:
    """Return the time of a step."""
    exchange = path.time(devices) / case.window if path else 0.0
    return case.floor + (case.one - case.floor) * (stays + (1 - stays) / devices) + exchange


def rows() -> list[list[str]]:
    """Return the cells of the table, without its head."""
    out = []
    for case in CASES:
        one, ideal, *more = (f"{step(case, path, devices):.3g}" for _, path, devices in COLUMNS)
        stays = case.stays
        as_two = (
            "" if stays is None else f"{step(case, path, devices, stays):.3g}"
            for _, path, devices in AS_TWO
        )
        measured = "" if case.two is None else f"{case.two:.3g}"
        out.append([case.name, one, ideal, measured, *more, *as_two])
    return out


def heads() -> list[str]:
    """Return the head of the table."""
    one, two, *more = (name for name, _, _ in COLUMNS)
    return ["us per step", one, two, "2, measured", *more, *(name for name, _, _ in AS_TWO)]


if __name__ == "__main__":
    for cells in (heads(), *rows()):
        print(" | ".join(cells))
