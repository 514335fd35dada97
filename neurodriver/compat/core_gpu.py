"""``Module`` and ``Manager`` of ``neurokernel.core_gpu``."""

from __future__ import annotations

from ..parallel.module import Module as Module
from .core import CTRL_TAG as CTRL_TAG
from .core import GPOT_TAG as GPOT_TAG
from .core import SPIKE_TAG as SPIKE_TAG
from .core import Manager as Manager
