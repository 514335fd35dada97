"""``Module`` and ``Manager`` of the old core."""

from __future__ import annotations

from typing import Any

from ..errors import NeurodriverError

CTRL_TAG, GPOT_TAG, SPIKE_TAG = 1, 2, 3

_ADVICE = "run one LPU with LPU(..., manager=False).run(steps=N) meanwhile"


class Module:
    """Base of modules that exchange ports; not provided yet."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NeurodriverError(f"Module: modules beside LPUs come with a later version; {_ADVICE}")


class Manager:
    """Runs several LPUs that exchange ports; not provided yet."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NeurodriverError(f"Manager: several LPUs come with a later version; {_ADVICE}")
