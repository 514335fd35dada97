"""``Module`` and ``Manager`` of the old core."""

from __future__ import annotations

from typing import Any

from ..errors import NeurodriverError
from ..manager import Manager as Manager

CTRL_TAG, GPOT_TAG, SPIKE_TAG = 1, 2, 3


class Module:
    """Base of modules that exchange ports beside LPUs; not provided."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        advice = "write an LPU with a model of your own, or an input that computes its values"
        raise NeurodriverError(f"Module: modules beside LPUs are not provided; {advice}")
