"""Identifiers of ports: each names one port, and gets the one spelling of this port."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import SelectorError, quoted
from .selector import Selector

Column = NDArray[Any]

BLOCK = 1 << 22
"""Characters that are checked together."""

_SLASH, _ZERO, _NINE = map(ord, "/09")
MANY_DIGITS = 18
"""From this number of digits on, an integer may be too large."""


def spelled(selectors: Column) -> tuple[Column, dict[int, str]]:
    """Return port identifiers in one spelling, and the faults of some of them.

    Parameters
    ----------
    selectors : (n,) array of text

    Returns
    -------
    column : (n,) array of text
        As ``/a/b/0``: every level after a slash, integers without zeros before them.
    faults : dict
        Row -> why its text does not name one port.
    """
    plain, faults = {}, {}
    for row in _odd(selectors).tolist():
        text = str(selectors[row])
        try:
            meant = Selector(text)
            if len(meant) != 1 or not meant.identifiers[0].strip("/"):
                several = f"it selects {len(meant):,}" if len(meant) != 1 else "it is empty"
                faults[row] = f"must name one port, such as '/a/0'; {several} (got {quoted(text)})"
            else:
                plain[row] = meant.identifiers[0]
        except SelectorError as error:
            said = str(error).splitlines()[0].removeprefix("invalid selector: ")
            faults[row] = f"must name one port, such as '/a/0' (got {quoted(text)}): {said}"
    if not plain:
        return selectors, faults
    longest = max(selectors.dtype.itemsize // 4, *map(len, plain.values()))
    out = selectors.astype(f"U{longest}")
    out[[*plain]] = [*plain.values()]
    return out, faults


def _odd(selectors: Column) -> NDArray[np.int64]:
    """Return the rows that may be no identifier in its usual spelling."""
    width = max(selectors.dtype.itemsize // 4, 1)
    step = max(BLOCK // width, 1)
    found = [np.empty(0, dtype=np.int64)]
    for begin in range(0, len(selectors), step):
        part = np.ascontiguousarray(selectors[begin : begin + step])
        at = np.zeros((len(part), width + 2), dtype=np.uint32)  # an end behind each
        at[:, :width] = part.view(np.uint32).reshape(len(part), -1)
        slash, digit = at == _SLASH, (at >= _ZERO) & (at <= _NINE)
        name = (at > 0) & ~slash & ~digit
        here, follows, beyond = np.s_[:, :-2], np.s_[:, 1:-1], np.s_[:, 2:]
        sign = (at >= ord("(")) & (at <= ord(".")) & (at != ord("-"))
        sign |= (at == ord(":")) | (at == ord("[")) | (at == ord("]"))
        odd = ~slash[:, 0] | sign.any(axis=1)
        odd |= (slash[here] & (slash[follows] | (at[follows] == 0))).any(axis=1)
        odd |= (slash[here] & (at[follows] == _ZERO) & digit[beyond]).any(axis=1)
        odd |= (digit[here] & name[follows]).any(axis=1)
        odd |= digit.sum(axis=1) >= MANY_DIGITS
        found.append(np.flatnonzero(odd) + begin)
    return np.concatenate(found)
