"""What enters and leaves a step loop, as tables that compiled code reads."""

from __future__ import annotations

import ctypes as ct
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_NONE = np.empty(0, np.int64)
_i64, _ptr = ct.c_longlong, ct.c_void_p


class RingTable(ct.Structure):
    """The rows of one variable in host memory, and which of them hold events."""

    _fields_ = [("data", _ptr), ("depth", _i64), ("width", _i64), ("active", _ptr),
                ("dirty", _ptr), ("counted", _ptr), ("where", _ptr), ("level", _ptr)]  # fmt: skip


class InputTable(ct.Structure):
    """Values that one input injects during a chunk of steps.

    Rows of a table, or, where ``begin`` is not null, the events of an `EventChunk`.

    Attributes
    ----------
    events : float
        Number of events in a step on average; infinite where rows may come.
    """

    events = math.inf

    _fields_ = [("ring", _i64), ("first", _i64), ("count", _i64), ("table", _ptr),
                ("row_of_step", _ptr), ("version", _i64), ("back", _i64), ("begin", _ptr),
                ("column", _ptr), ("value", _ptr), ("level", _ptr)]  # fmt: skip


class Probe(ct.Structure):
    """Buffer for the rows of one recorded variable.

    Rows are ``stride`` values apart; those of copy b of a batch begin at column b * ``count``.
    """

    _fields_ = [("ring", _i64), ("count", _i64), ("elements", _ptr), ("contiguous", _i64),
                ("interval", _i64), ("rows", _ptr), ("capacity", _i64),
                ("stride", _i64)]  # fmt: skip


class EventTable(ct.Structure):
    """Buffers for the events of one recorded variable."""

    _fields_ = [("ring", _i64), ("count", _i64), ("elements", _ptr), ("contiguous", _i64),
                ("capacity", _i64), ("step", _ptr), ("index", _ptr), ("found", _ptr),
                ("ascending", _i64)]  # fmt: skip


class PeerRows(NamedTuple):
    """Rows that the kernel of one GPU writes into the memory of another one.

    Attributes
    ----------
    address : int
        Of the words of the first row.
    width : int
        Where warps send what they compute: elements of a row of the sender. 0: values are copied.
    spikes : int
        Whether words hold spikes, as bits.
    places : (n,) int64
        Where warps send: the element of each value there. Or of each spike the first element of
        its word, times 32, and its bit.
    """

    address: int
    width: int = 0
    spikes: int = 0
    places: NDArray[Any] = _NONE
