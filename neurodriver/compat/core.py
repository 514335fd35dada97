"""``Module`` and ``Manager`` of ``neurokernel.core``."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from ..parallel import manager, module
from ..ports.port_table import COLUMNS

CTRL_TAG, GPOT_TAG, SPIKE_TAG = 1, 2, 3


class Module(module.Module):
    """A native `Module` whose arguments stand in the order of the old CPU module.

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


class Manager(manager.Manager):
    """A native `Manager` with the habits of the old one.

    Several patterns may feed one input port: the last one connected wins, with a warning.

    Attributes
    ----------
    start_time, stop_time : float
        When the steps began and ended, in seconds since 1970; 0.0 before. Both are final when
        ``wait`` has returned.
    """

    last_wins = True
    start_time = stop_time = 0.0

    def start(
        self, steps: float = float("inf"), progress: Callable[[int], None] | None = None
    ) -> None:
        """Run in the background; arguments as for `neurodriver.parallel.manager.Manager.start`."""
        super().start(steps, progress)
        self.start_time = time.time()

    def wait(self, return_timing: bool = False) -> float | None:
        """Wait until all ranks have closed their recordings; returns and raises as the base."""
        try:
            return super().wait(return_timing)
        finally:
            self.stop_time = time.time()
            self.start_time = self.stop_time - self._seconds
