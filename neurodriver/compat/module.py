"""The old ``Module``: its arguments and its ports as interface and port mappers."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import CircuitError, PortError
from ..parallel import module
from ..ports.interface import COLUMNS
from .ports import Interface, PortMapper, Selector, SelectorMethods
from .ports.tuples import tuples_of

CTRL_TAG, GPOT_TAG, SPIKE_TAG = 1, 2, 3


class Module(module.Module):
    """A `neurodriver.parallel.module.Module` with the arguments and attributes of the old one.

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
        ctrl_tag: int = CTRL_TAG,
        gpot_tag: int = GPOT_TAG,
        spike_tag: int = SPIKE_TAG,
        id: str | None = None,
        device: int | None = None,
        manager: bool = True,
        routing_table: Any = None,
        rank_to_id: Any = None,
        debug: bool = False,
        time_sync: bool = False,
        print_timing: bool = False,
    ) -> None:
        super().__init__(id=id)
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
        self._route()

    def _ports(self, kind: str) -> list[list[tuple[Any, ...]]]:
        ports = self.interface
        return [tuples_of(ports.ids.take(ports.mask(io=io, type=kind))) for io in ("in", "out")]

    def _route(self) -> None:
        """Tell a manager which ports there are, and find the value of each."""
        spike = self.interface.mask(type="spike")
        index = np.zeros(len(spike), dtype=np.int64)  # of each port in the data of its type
        for kind in ("gpot", "spike"):
            mine = self.interface.mask(type=kind)
            index[mine] = self.pm[kind].ports_to_inds(
                Selector.of_identifiers(self.interface.ids.take(mine))
            )
        self._spike, self._index = spike, index
        io = self.interface.mask(io="in") | self.interface.mask(io="out")
        rows = np.flatnonzero(io & (self.interface.mask(type="gpot") | spike))
        names = self.interface.ids.take(rows).texts()
        out = self.interface.mask(io="out")
        self.ports = module.port_table(names, rows, out[rows], spike[rows])

    def read(self, numbers: NDArray[np.int64]) -> NDArray[Any]:
        spike, index = self._spike[numbers], self._index[numbers]
        if spike.all() or not spike.any():
            values: NDArray[Any] = self.pm["spike" if spike.any() else "gpot"].data[index]
            return values
        values = np.empty(len(numbers))
        values[spike] = self.pm["spike"].data[index[spike]]
        values[~spike] = self.pm["gpot"].data[index[~spike]]
        return values

    def write(self, numbers: NDArray[np.int64], values: NDArray[Any]) -> None:
        spike, index = self._spike[numbers], self._index[numbers]
        for kind, some in (("spike", spike), ("gpot", ~spike)):
            if some.any():
                self.pm[kind].data[index[some]] = values[some]

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
