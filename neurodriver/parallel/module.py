"""``Module``: a user's own Python, run step by step beside LPUs."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import CircuitError, NeurodriverError, PortError
from ..ports import Interface, PortMapper, SelectorMethods
from ..ports.port_table import COLUMNS

if TYPE_CHECKING:
    from .directory import PortColumns

KINDS = ("gpot", "spike")


class Module:
    """Takes and gives values at ports; what happens between is a subclass's own ``run_step``.

    A Manager calls ``pre_run``, then ``run_step`` once a step, then ``post_run``. What ``run_step``
    writes to its output ports in step k stands at the input ports of others in step k + 1.

    Parameters
    ----------
    sel : SelectorLike
        All ports.
    sel_in, sel_out : SelectorLike
        Input and output ports; subsets of ``sel`` without a port in common.
    sel_gpot, sel_spike : SelectorLike
        Graded and spiking ports; likewise.
    data_gpot, data_spike : (n,) array
        First values of the graded and of the spiking ports, in the order of their selectors.
    columns : sequence of str
        Attributes of ports.
    id : str, optional
        Name of the module.
    routing_table : RoutingTable, optional
        Where it is not empty, it has to know the id.
    device, manager, rank_to_id, debug, time_sync, print_timing, ctrl_tag, gpot_tag, spike_tag
        Kept; modules run on the CPU.

    Attributes
    ----------
    interface : Interface
    pm : dict
        'gpot' and 'spike' -> PortMapper with the values of the ports.
    data : dict
        'gpot' and 'spike' -> the arrays behind ``pm``.
    in_gpot_ports, out_gpot_ports, in_spike_ports, out_spike_ports : list of tuple
        Identifiers of the ports.
    steps : int
        Steps done.
    max_steps : int or float
        Steps to do; infinite until it is told.

    Raises
    ------
    PortError
        When the selectors or the numbers of values do not fit together.
    CircuitError
        When the routing table does not know the id.
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
        ctrl_tag: int = 1,
        gpot_tag: int = 2,
        spike_tag: int = 3,
        id: str | None = None,
        device: int | None = None,
        manager: bool = True,
        routing_table: Any = None,
        rank_to_id: Any = None,
        debug: bool = False,
        time_sync: bool = False,
        print_timing: bool = False,
    ) -> None:
        self.id = type(self).__name__ if id is None else str(id)
        self.logger = logging.getLogger(f"neurodriver.{self.id}")
        self.device, self.manager, self.debug = device, manager, debug
        self.ctrl_tag, self.gpot_tag, self.spike_tag = ctrl_tag, gpot_tag, spike_tag
        self.rank_to_id, self.routing_table = rank_to_id, routing_table
        self.time_sync, self.print_timing = time_sync, print_timing
        if routing_table is not None and routing_table.ids and not routing_table.has_node(id):
            known = ", ".join(map(str, routing_table.ids))
            raise CircuitError(f"module '{self.id}': the routing table knows only {known}")
        _check_parts(self.id, sel, sel_in=sel_in, sel_out=sel_out)
        _check_parts(self.id, sel, sel_gpot=sel_gpot, sel_spike=sel_spike)
        self.interface = Interface(sel, columns)
        self.interface.labels["interface"].set(slice(None), 0)
        for name, value, part in (
            ("io", "in", sel_in),
            ("io", "out", sel_out),
            ("type", "gpot", sel_gpot),
            ("type", "spike", sel_spike),
        ):
            self.interface[part, name] = value
        self.data: dict[str, NDArray[Any]] = {}
        self.pm: dict[str, PortMapper] = {}
        for kind, part, values in (("gpot", sel_gpot, data_gpot), ("spike", sel_spike, data_spike)):
            self.data[kind] = _values(self.id, kind, part, values)
            self.pm[kind] = PortMapper(part, self.data[kind], make_copy=False)
        self.in_gpot_ports, self.out_gpot_ports = self._ports("gpot")
        self.in_spike_ports, self.out_spike_ports = self._ports("spike")
        self.steps = 0
        self.max_steps: float = float("inf")

    def _ports(self, kind: str) -> list[list[tuple[Any, ...]]]:
        ports = self.interface
        return [ports.ids.take(ports.mask(io=io, type=kind)).tuples() for io in ("in", "out")]

    def pre_run(self) -> None:
        """Get ready; called once before the first step."""

    def run_step(self) -> None:
        """Read the input ports and write the output ports, once a step; does nothing here."""

    def post_run(self) -> None:
        """Clean up; called once after the last step, also when the run has failed."""

    def run(self, steps: int) -> None:
        """Run alone, without a manager: nothing arrives at the ports."""
        if steps != int(steps) or steps < 0:
            raise NeurodriverError(f"Module.run: steps must be a whole number >= 0, got {steps!r}")
        self.max_steps = steps
        self.pre_run()
        try:
            for _ in range(int(steps)):
                self.run_step()
                self.steps += 1
        finally:
            self.post_run()

    def log_debug(self, message: object) -> None:
        """Log a message for those who look for a fault."""
        self.logger.debug(message)

    def log_info(self, message: object) -> None:
        """Log a message."""
        self.logger.info(message)

    def log_warning(self, message: object) -> None:
        """Log a warning."""
        self.logger.warning(message)

    def log_error(self, message: object) -> None:
        """Log an error."""
        self.logger.error(message)

    def log_critical(self, message: object) -> None:
        """Log what ends everything."""
        self.logger.critical(message)

    def port_table(self) -> PortColumns:
        """Return the ports that have a direction and a type, as a manager routes them."""
        from .directory import PortColumns

        rows = np.flatnonzero(
            (self.interface.mask(io="in") | self.interface.mask(io="out"))
            & (self.interface.mask(type="gpot") | self.interface.mask(type="spike"))
        )
        texts = self.interface.ids.take(rows).texts()
        spike = self.interface.mask(type="spike")[rows]
        return PortColumns(
            np.array(texts, dtype=np.str_) if texts else np.empty(0, "U1"),
            rows.astype(np.int64),
            self.interface.mask(io="out")[rows],
            spike,
            np.where(spike, "spike", "gpot"),
            np.ones(len(rows), dtype=np.int64),
        )


def _check_parts(name: str, sel: Any, **parts: Any) -> None:
    """Raise where two selectors are not within the ports or overlap."""
    for argument, part in parts.items():
        if not SelectorMethods.is_in(part, sel):
            raise PortError(f"module '{name}': {argument} has ports that are not in sel")
    if not SelectorMethods.are_disjoint(*parts.values()):
        raise PortError(f"module '{name}': {' and '.join(parts)} have ports in common")


def _values(name: str, kind: str, selector: Any, given: Any) -> NDArray[Any]:
    """Return a copy of the first values of the ports of a type."""
    count = SelectorMethods.count_ports(selector)
    values = np.array([] if given is None else given)
    if values.shape != (count,) or (count and values.dtype.kind not in "fiub"):
        got = f"{values.dtype} {values.shape}"
        raise PortError(f"module '{name}': data_{kind} must be {count} numbers, got {got}")
    return values
