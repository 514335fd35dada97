"""``Module`` and ``Manager`` of ``neurokernel.core_gpu``."""

from __future__ import annotations

from .manager import Manager as Manager
from .module import CTRL_TAG as CTRL_TAG
from .module import GPOT_TAG as GPOT_TAG
from .module import SPIKE_TAG as SPIKE_TAG
from .module import Module as Module
