"""``Module`` and ``Manager`` of ``neurokernel.core``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ports.interface import COLUMNS
from .manager import Manager as Manager
from .module import CTRL_TAG as CTRL_TAG
from .module import GPOT_TAG as GPOT_TAG
from .module import SPIKE_TAG as SPIKE_TAG
from .module import Module as GPUModule


class Module(GPUModule):
    """A `Module` whose arguments stand in the order of the old CPU module.

    After ``device`` come ``routing_table``, ``rank_to_id``, ``debug`` and ``time_sync``; what the
    module of ``neurokernel.core_gpu`` has besides is given by name.
    """

    def __init__(
        self,
        sel: Any,
        sel_in: Any,
        sel_out: Any,
        sel_gpot: Any,
        sel_spike: Any,
        data_gpot: Any,
        data_spike: Any,
        columns: Sequence[str] = COLUMNS,
        ctrl_tag: int = CTRL_TAG,
        gpot_tag: int = GPOT_TAG,
        spike_tag: int = SPIKE_TAG,
        id: str | None = None,
        device: int | None = None,
        routing_table: Any = None,
        rank_to_id: Any = None,
        debug: bool = False,
        time_sync: bool = False,
        *,
        manager: bool = True,
        print_timing: bool = False,
    ) -> None:
        ports = sel, sel_in, sel_out, sel_gpot, sel_spike, data_gpot, data_spike, columns
        tags = ctrl_tag, gpot_tag, spike_tag
        rest = routing_table, rank_to_id, debug, time_sync, print_timing
        super().__init__(*ports, *tags, id, device, manager, *rest)
