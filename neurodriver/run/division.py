"""``Division``: the parts that an LPU is computed in, and the GPU of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..backends.choice import Choice
from ..circuit.numbers import whole
from ..errors import NeurodriverError


@dataclass(frozen=True)
class Division:
    """What an LPU was asked for.

    Attributes
    ----------
    devices : tuple of int, optional
        GPU of each part; when not given, parts take the GPUs in turn.
    """

    parts: ArrayLike
    devices: tuple[int, ...] | None = None

    def check(self, count: int) -> None:
        """Raise NeurodriverError where another number of parts is needed than of GPUs."""
        if self.devices is not None and len(self.devices) != count:
            raise NeurodriverError(
                f"devices: GPUs for {len(self.devices)} parts are given, but the circuit has "
                f"{count}; give one number for each part"
            )

    def choice(self, part: int, choice: Choice, alone: bool) -> Choice:
        """Return the choice of a part; ``alone``: all parts are in this process."""
        if self.devices is not None:
            return replace(choice, device=self.devices[part])
        return replace(choice, wish=part) if alone else choice


def division_of(
    parts: ArrayLike | None, devices: Any, device: int | None, batch: bool, managed: bool
) -> Division | None:
    """Return the parts that an LPU was asked for; None where it is computed as a whole.

    Raises
    ------
    NeurodriverError
        Where it cannot have parts, or for devices that are none.
    """
    if parts is None and devices is None:
        return None
    name = "parts" if devices is None else "devices"
    if batch or managed:
        what = "of a Manager runs whole on its rank" if managed else "with a batch is whole"
        raise NeurodriverError(f"{name}: an LPU {what}; leave out {name}=")
    if devices is not None and device is not None:
        raise NeurodriverError("devices: 'device' is given, too; leave out one of them")
    numbers = None if devices is None else _numbers(devices)
    if parts is None or (numbers and isinstance(parts, str) and parts == "auto"):
        parts = len(numbers or ())
    return Division(parts, numbers)


def _numbers(devices: Any) -> tuple[int, ...]:
    """Return the numbers of GPUs from how many there are, or a list."""
    if whole(devices) and devices > 0:
        return tuple(range(devices))
    several = isinstance(devices, Sequence | np.ndarray) and not isinstance(devices, str)
    if several and len(devices) and all(whole(one) and one >= 0 for one in devices):
        return tuple(map(int, devices))
    raise NeurodriverError(
        f"devices: expected how many GPUs, or the GPU of each part, such as [0, 1]; got "
        f"{devices!r:.60}"
    )
