"""``Module`` and ``Manager`` of the old core."""

from __future__ import annotations

from ..parallel.manager import Manager as Manager
from ..parallel.module import Module as Module

CTRL_TAG, GPOT_TAG, SPIKE_TAG = 1, 2, 3
