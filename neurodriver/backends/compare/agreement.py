"""How far two backends may differ, and rows against it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import NeurodriverError

Row = NDArray[Any]


class DisagreementError(NeurodriverError, AssertionError):
    """Two backends give different values for the same circuit."""


RELATIVE = {"float64": 1e-10, "float32": 1e-5}
"""Allowed difference of values, as a share of the largest value that the variable has had among the
components of the same model."""


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
        0 for events.
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
