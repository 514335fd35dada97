"""The items of warps that let the values of an input enter."""

from __future__ import annotations

import math

import numpy as np

from ..tables import InputTable
from . import warp_items
from .items import Items, items_of

READ, SENT = 512, 16
"""Components whose values a warp reads to send their spikes; spikes of a list that it sends."""


def input_items(number: int, table: InputTable, warps: int, sends: bool) -> Items:
    """Return the items of an input.

    Parameters
    ----------
    number : int
        Of its table.
    warps : int
        Of the launch.
    sends : bool
        Whether its spikes are added to slots alone. Else warps store its values in a row of a ring,
        and add what they have stored to slots, where some targets have these.
    """
    if not sends:
        return warp_items.pieces(warp_items.INJECT, number, table.count, warps)
    wanted = table.count / READ if math.isinf(table.events) else table.events / SENT
    some = max(1, min(math.ceil(wanted), warps))
    return items_of(warp_items.SEND, np.arange(some), some, number)
