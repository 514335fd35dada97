"""Numbers of a circuit that float32 cannot hold: too large ones, and ones that become 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import Faults, quoted
from .circuit import Circuit
from .drawn import Drawn

_LARGEST = float(np.finfo(np.float32).max)
_SMALLEST = float(np.finfo(np.float32).smallest_subnormal)
_PIECE = 1 << 20
"""Numbers that are looked at together."""

_ADVICE = "take dtype='float64', or other units"


def check_single_precision(circuit: Circuit) -> None:
    """Raise CircuitError for numbers that are infinite in float32; warn of those that are 0.

    Laws of projections that have not been drawn are not looked at.
    """
    faults = Faults(circuit.name)
    for group in circuit.groups:
        for name, column in group.params.items():
            _check(column, f"'{name}' of", lambda i, g=group: quoted(g.uids[i]), faults)  # type: ignore[misc]
    for number, links in enumerate(circuit.connections):
        if not isinstance(links, Drawn):
            said = quoted(links.name) if links.name else f"{number + 1} ({links.variable})"
            for name, column in links.data.items():
                where = f"'{name}' of connections {said}, row"
                _check(column, where, str, faults)
    faults.finish()


def _check(given: Any, what: str, where: Callable[[int], str], faults: Faults) -> None:
    flat: NDArray[Any] = np.asarray(given).reshape(-1)
    if flat.dtype.kind != "f":
        return
    found = [_bad(flat[first : first + _PIECE], first) for first in range(0, len(flat), _PIECE)]
    large, small = (np.concatenate([one[n] for one in found] or [flat[:0]]) for n in (0, 1))
    faults.add_for(
        large,
        lambda i: (
            f"{what} {where(i)}: {flat[i]:g} is infinite in float32, whose largest number is "
            f"{_LARGEST:.3g}; {_ADVICE}"
        ),
    )
    if len(small):
        first = int(small[0])
        say = f"{what} {where(first)}: {flat[first]:g} is 0 in float32; {_ADVICE}"
        faults.warn(say, len(small))


def _bad(values: NDArray[Any], first: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where numbers are too large, and where they become 0."""
    size = np.abs(values)
    if size.max() <= _LARGEST and size.min(where=size > 0, initial=np.inf) >= _SMALLEST:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    large = np.flatnonzero(np.isfinite(size) & (size > _LARGEST))
    return large + first, np.flatnonzero((size > 0) & (size < _SMALLEST / 2)) + first
