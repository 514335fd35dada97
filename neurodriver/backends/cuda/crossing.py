"""What warps send to other GPUs as they compute it: where it lies there. See ``peers.cuh``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...native.buffers import LANES
from ..tables import PeerRows
from . import schedule, warp_items
from .items import WARP, Items

if TYPE_CHECKING:
    from ...codegen.generate import Task
    from ...plan.layout import Ring
    from .device import Device

Numbers = NDArray[np.int64]

MOST = 16
"""Tables that a kernel has room for, ``ND_MOST_SENDERS`` of ``tables.cuh``."""

FEW_WORDS = 16
"""Words of spikes for a warp that does nothing else, at most."""

FEW_VALUES = 4
"""The same of values, for each thread: so many loads are in flight."""

WORD = 8
"""Bytes of a word."""


def crossing(ring: Ring, units: Sequence[Task], elements: Any) -> PeerRows:
    """Return how warps send some elements of a ring, at address 0; of width 0 where they do not.

    Spikes go as bits where they are in ascending order.
    """
    element, found = np.asarray(elements, np.int64), 0
    sends = {
        group for unit in units if ring.variable in unit.kernel.crosses for group in unit.groups
    }
    bits = np.zeros(len(element), np.int64)
    for owner, segment in ring.segments.items():
        at = element - segment.start
        mine = (at >= 0) & (at < segment.count)
        if owner != "inputs" and int(owner) in sends:
            found += int(mine.sum())
        at = at[mine]
        bits[mine] = (segment.start + at // 32 * 32) * 32 + at % 32
    if not len(element) or found < len(element):
        return PeerRows(0)
    if ring.is_event and (np.diff(element) > 0).all():
        return PeerRows(0, ring.width, 1, bits)
    return PeerRows(0, ring.width, 0, element)


def bytes_of(rows: PeerRows, count: int, kept: int, itemsize: int) -> int:
    """Return the bytes of words for ``kept`` rows of so many values."""
    size = kept * (rows.width or count) * itemsize // 4 * WORD
    return size + _bits(rows, kept)


def bring_items(
    number: int, count: int, rows: PeerRows, idle: int, plan: schedule.LaunchPlan
) -> Items:
    """Return the items that bring ``count`` words of spikes, or values, of a taker.

    Half of the warps without components bring them, if these are enough.
    """
    half = idle // 2
    if not rows.spikes:
        few = -(-count // (WARP * half)) if half else FEW_VALUES + 1
        size = WARP * few if few <= FEW_VALUES else 0
        return warp_items.pieces(warp_items.BRING, number, count, plan.warps, size)
    warps = half if count <= FEW_WORDS * half else plan.warps
    return warp_items.pieces(warp_items.BRING, number, count, warps, -(-count // warps))


def _bits(rows: PeerRows, kept: int) -> int:
    """Return the bytes of the words of spikes; values follow them."""
    return kept * (rows.width // LANES) * WORD * rows.spikes


def sender(ring: int, rows: PeerRows, kept: int) -> list[int]:
    """Return the fields of an ``nd_sender``; ``ring`` is its address."""
    bits = _bits(rows, kept)
    words = rows.address if bits else 0
    return [ring, words, rows.address + bits, rows.width // LANES, rows.width]


class Taker:
    """Where an input finds what the warps of another GPU send: its memory on a GPU.

    Parameters
    ----------
    depth : int
        Rows of the ring that it goes to.

    Attributes
    ----------
    number : int
        Words of spikes of a row, or values.
    """

    def __init__(self, device: Device, rows: PeerRows, depth: int) -> None:
        self._device, self._spikes = device, bool(rows.spikes)
        self._held: NDArray[np.uint32] = np.empty(0, np.uint32)
        if rows.spikes:
            element, begin = np.unique(rows.places // 32, return_index=True)
            place: NDArray[np.int32] = np.zeros((len(element), 4), np.int32)
            mask = np.bitwise_or.reduceat(1 << rows.places % 32, begin)
            place[:, 0], place[:, 1], place[:, 2] = element // LANES, mask.astype(np.uint32), begin
            self._held = np.full(depth * len(element), 2**32 - 1, np.uint32)
        else:
            place = rows.places.astype(np.int32)
        self.number = len(place)
        self._memory = device.allocate(place.nbytes + self._held.nbytes)
        self._places = int(self._memory)
        device.upload(self._places, place)

    def fields(self, rows: PeerRows, kept: int) -> list[int]:
        """Return the last fields of an ``nd_taker``; nothing is known of what the ring holds."""
        held, bits = self._places + 16 * self.number, _bits(rows, kept)
        if self._spikes:
            self._device.upload(held, self._held)
        words, places, elements = (
            (rows.address, self._places, 0) if self._spikes else (0, 0, self._places)
        )
        shape = self.number, rows.width // LANES, rows.width
        return [words, rows.address + bits, places, elements, held, *shape]

    def free(self) -> None:
        """Give the memory back."""
        self._memory.free()
