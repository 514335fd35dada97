"""How far two backends may differ: the rule for a circuit, and rows against it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...circuit.circuit import Circuit
from ...errors import NeurodriverError
from ...model.kinds import VariableKind

Row = NDArray[Any]


class DisagreementError(NeurodriverError, AssertionError):
    """Two backends give different values for the same circuit."""


@dataclass(frozen=True)
class Tolerance:
    """What counts as the same result.

    Attributes
    ----------
    relative : float
        Allowed difference of values, as a share of the largest value that the variable has had
        among the components of the same model.
    late : int
        Steps by which an event may be early or late.
    restarts : bool
        Whether every step begins with equal states on both sides, so that differences cannot grow.
    """

    relative: float
    late: int
    restarts: bool

    @classmethod
    def of(cls, circuit: Circuit, dtype: np.dtype) -> Tolerance:
        """Return the rule for a compiled circuit.

        Without loops, differences of rounding stay small: both sides run on by themselves. With
        loops they may grow without bound, so each step is judged alone.
        """
        loops = has_loops(circuit)
        if np.dtype(dtype) == np.float64:
            return cls(1e-10, 0, loops)
        return cls(1e-5, 0, True) if loops else cls(1e-4, 1, False)


def has_loops(circuit: Circuit) -> bool:
    """Whether some component acts on itself by way of others.

    What an Aggregator reads of the component that it feeds is that component's own affair.
    """
    source = np.concatenate([c.source for c in circuit.connections] or [np.zeros(0, np.int64)])
    target = np.concatenate([c.target for c in circuit.connections] or [np.zeros(0, np.int64)])
    forth = source.astype(np.int64) * circuit.count + target
    back = target.astype(np.int64) * circuit.count + source
    sums = np.zeros(circuit.count + 1, dtype=bool)
    for number, group in enumerate(circuit.groups):
        if group.model.converts is VariableKind.CONDUCTANCE:
            sums[circuit.starts[number] : circuit.starts[number + 1]] = True
    own = sums[target] & np.isin(forth, back)
    return _cyclic(source[~own], target[~own], circuit.count)


def _cyclic(source: NDArray[Any], target: NDArray[Any], count: int) -> bool:
    """Whether edges form a cycle: components without inputs are taken away as long as any is."""
    order = np.argsort(source, kind="stable")
    target = target[order]
    first = np.searchsorted(source[order], np.arange(count + 1))
    inputs = np.bincount(target, minlength=count)
    free, taken = np.flatnonzero(inputs == 0), 0
    while len(free):
        taken += len(free)
        lengths = first[free + 1] - first[free]
        skipped = np.cumsum(lengths) - lengths
        fed = target[np.repeat(first[free] - skipped, lengths) + np.arange(lengths.sum())]
        np.subtract.at(inputs, fed, 1)
        fed = np.unique(fed)
        free = fed[inputs[fed] == 0]
    return taken < count


@dataclass
class Verdict:
    """What came of comparing a row.

    Attributes
    ----------
    same : bool
        Whether the bits are equal.
    worst : int
        Where the difference is largest as a share of what is allowed; -1 where bits are equal.
    share : float
        That share: at most 1 where the row is good.
    """

    same: bool
    worst: int = -1
    share: float = 0.0


def same_bits(one: Row, other: Row) -> Row:
    """Return where two arrays of one type hold the same bits."""
    kind = np.dtype(f"u{one.dtype.itemsize}")
    out: Row = np.ascontiguousarray(one).view(kind) == np.ascontiguousarray(other).view(kind)
    return out


@dataclass
class ValueCheck:
    """Judges the rows of values of some components.

    Parameters
    ----------
    relative : float
    part : (n,) int64
        Number of the model of each component, from 0.
    """

    relative: float
    part: NDArray[np.int64]
    scale: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        self.scale = np.zeros(int(self.part.max(initial=-1)) + 1)

    def judge(self, got: Row, expected: Row) -> Verdict:
        """Compare two rows; values that are not finite have to be the same bits."""
        finite = np.where(np.isfinite(expected), np.abs(expected), 0.0)
        np.maximum.at(self.scale, self.part, finite)
        equal = same_bits(got, expected)
        if equal.all():
            return Verdict(True)
        with np.errstate(all="ignore"):
            apart = np.abs(got.astype(np.float64) - expected)
            allowed = self.relative * np.maximum(self.scale[self.part], np.abs(expected))
            share = np.where(apart == 0, 0.0, apart / allowed)
        share = np.where(equal, -1.0, np.where(np.isnan(share), np.inf, share))
        worst = int(share.argmax())
        return Verdict(False, worst, float(share[worst]))


@dataclass
class EventCheck:
    """Judges the rows of events of some components, step after step.

    Event number j of a component may come up to ``late`` (0 or 1) steps after or before that of
    the other side.
    """

    late: int
    count: int
    ahead: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        self.ahead = np.zeros(self.count, np.int64)

    def judge(self, got: Row, expected: Row) -> Verdict:
        """Compare two rows; with ``late``, an event of the row before may be missing still."""
        mine, theirs = got != 0, expected != 0
        same = bool(same_bits(got, expected).all())
        if not self.late:
            wrong = ~same_bits(got, expected)
        else:
            wrong = (self.ahead > theirs) | (-self.ahead > mine)
            self.ahead += mine.astype(np.int64) - theirs
        worst = int(wrong.argmax()) if wrong.any() else -1
        return Verdict(same, worst, float("inf") if worst >= 0 else 0.0)
