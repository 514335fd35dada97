"""What users of the old LPU look into: its variables and connections, computed when asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends.base import Backend
from ..circuit.assemble import PORT_LABELS
from ..circuit.circuit import Connections, Group
from ..errors import near
from ..plan.delays import steps_of
from ..plan.edges import element_of
from .ports import PortMapper


class HostArray(np.ndarray[Any, Any]):
    """An array that also answers to what scripts call on arrays of a GPU."""

    @property
    def gpudata(self) -> int:
        """Address of the first element."""
        return int(self.ctypes.data)

    @property
    def ld(self) -> int:
        """Elements from one row to the next."""
        return self.strides[0] // self.itemsize

    def get(self) -> NDArray[Any]:
        """Return a copy as a plain array."""
        return np.array(self)


class CircularArray:
    """The ring of one variable; for reading."""

    def __init__(self, memory: MemoryView, variable: str) -> None:
        self._memory, self._variable = memory, variable
        self._ring = memory.program.layout.rings[variable]

    @property
    def parr(self) -> HostArray:
        """The rows, (buffer_length, size): on the CPU themselves, of a GPU a copy."""
        array: HostArray = self._memory.part.rows(self._variable).view(HostArray)
        return array

    @property
    def current(self) -> int:
        """Row of the current step."""
        step = self._memory.step_number
        return self._memory.part.backend.memory.access_buffer(self._variable, step).current

    @property
    def buffer_length(self) -> int:
        """Number of rows."""
        return self._ring.depth

    @property
    def size(self) -> int:
        """Elements of a row."""
        return self._ring.width

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the elements."""
        return self._memory.program.dtype

    @property
    def gpudata(self) -> int:
        """Address of row 0, in the memory of the GPU where the circuit runs on one."""
        return self._memory.part.address(self._variable)

    @property
    def ld(self) -> int:
        """Elements from one row to the next."""
        return self._ring.width

    def get(self) -> NDArray[Any]:
        """Return a copy of all rows."""
        return self.parr.get()


def memory_of(lpu: Any) -> MemoryView:
    """Return the variables of an LPU, be it an old or a new one."""
    known: MemoryView | None = getattr(lpu, "memory_manager", None)
    if known is None:
        here = lpu.settings.choice.name == "cpu"
        known = MemoryView(Part(lpu.backend, lpu.scope, here))
        known.step_number = lpu.step
    return known


class Part:
    """The components of one LPU in a program, which may hold several LPUs.

    Parameters
    ----------
    program : Program
    scope : str, optional
        Id of the LPU in a joined circuit; None where it is alone.
    backend : Backend, optional
        Where the memory is, if it is not that of the host.

    Attributes
    ----------
    groups : list of (int, Group, (n,) bool)
        Number and group of each model that the LPU has, and which components are its own.
    """

    def __init__(self, backend: Backend, scope: str | None = None, live: bool = True) -> None:
        self.backend, self.program, self.scope = backend, backend.program, scope
        self._live = live
        circuit = self.program.circuit
        mine = np.split(circuit.members(scope), circuit.starts[1:-1])
        self.groups = [(i, g, m) for i, (g, m) in enumerate(zip(circuit.groups, mine, strict=True))]
        self.groups = [entry for entry in self.groups if entry[2].any()]

    @cached_property
    def names(self) -> NDArray[np.str_]:
        """Name of each component of the program, as this LPU knows it."""
        circuit = self.program.circuit
        plain = np.concatenate([g.uids for g in circuit.groups])
        return np.where(circuit.members(self.scope), plain, circuit.uids)

    def rows(self, variable: str) -> NDArray[Any]:
        """Return the ring of a variable, (depth, width); a copy where it is not on the host."""
        if self._live:
            return self.backend.memory.get_buffer(variable)
        depth = self.program.layout.rings[variable].depth
        return np.stack([self.backend.row(variable, row) for row in range(depth)])

    def row(self, variable: str, step: int) -> NDArray[Any]:
        """Return the row of a step, (width,)."""
        if not self._live:
            return self.backend.row(variable, step)
        rows = self.rows(variable)
        row: NDArray[Any] = rows[step % len(rows)]
        return row

    def address(self, variable: str) -> int:
        """Return the address of row 0 of a variable."""
        if self._live:
            return int(self.rows(variable).ctypes.data)
        where: Any = self.backend
        return int(where.ring_address(variable))

    def find(self, uid: str) -> int:
        """Return the number of a component, -1 for an unknown one."""
        full = uid if self.scope is None else f"{self.scope}/{uid}"
        return int(self.program.circuit.find([full])[0])


class MemoryView:
    """The variables and parameters of an LPU under the names of the old ``MemoryManager``.

    Attributes
    ----------
    step_number : int
        The LPU's step, set whenever the view is taken.
    """

    def __init__(self, part: Part) -> None:
        self.part, self.program = part, part.program
        self.step_number = 0

    @cached_property
    def variables(self) -> Mapping[str, dict[str, Any]]:
        """Variable -> ``buffer, models, len, delay, cumlen, uids``.

        ``models`` are the owners of a row's segments in their order (``Input`` and ``Port`` among
        them), ``len`` their components, ``cumlen`` the first element of each segment (segments are
        padded) and the length of a row, ``delay`` the longest delay in rows back, ``uids`` uid ->
        element.
        """
        updated = {v for g in self.program.circuit.groups for v in g.model.updates}
        rings = self.program.layout.rings
        lost = "is not kept, as only its Aggregator reads it; record it"
        return Lazy(list(rings), self._variable, "variable", dict.fromkeys(updated, lost))

    @cached_property
    def parameters(self) -> Mapping[str, Mapping[str, NDArray[np.float64]]]:
        """Model -> parameter -> values of its components."""
        groups = {g.name: (g, mine) for _, g, mine in self.part.groups}
        return Lazy(list(groups), lambda name: _parameters(*groups[name]), "model")

    def get_buffer(self, variable: str) -> CircularArray:
        """Return the ring of a variable."""
        return self.variables[variable]["buffer"]  # type: ignore[no-any-return]

    def _variable(self, name: str) -> dict[str, Any]:
        ring = self.program.layout.rings[name]
        groups = self.program.circuit.groups
        uids: dict[str, int] = {}
        for number, group, mine in self.part.groups:
            if str(number) in ring.segments:
                elements = self.program.layout.elements(number, name)[mine].tolist()
                uids.update(zip(group.uids[mine].tolist(), elements, strict=True))
        return {
            "buffer": CircularArray(self, name),
            "models": [_owner(groups, key) for key in ring.segments],
            "len": [s.count for s in ring.segments.values()],
            "delay": self._longest(name),
            "cumlen": [*[s.start for s in ring.segments.values()], ring.width],
            "uids": uids,
        }

    def _longest(self, variable: str) -> int:
        """Return the longest delay of a variable, in rows back."""
        links = [one for one in self.program.circuit.connections if one.variable == variable]
        longest = (int(steps_of(one, self.program.dt).max(initial=1)) for one in links)
        return max(longest, default=1) - 1


class Lazy(Mapping[str, Any]):
    """A mapping whose values are made when they are first asked for."""

    def __init__(
        self, keys: list[str], make: Any, what: str, lost: Mapping[str, str] | None = None
    ) -> None:
        self._keys, self._make, self._what = dict.fromkeys(keys), make, what
        self._lost = lost or {}
        self._made: dict[str, Any] = {}

    def __getitem__(self, key: str) -> Any:
        if key in self._lost and key not in self._keys:
            raise KeyError(f"'{key}' {self._lost[key]}")
        if key not in self._keys:
            raise KeyError(f"no {self._what} '{key}'{near(str(key), self._keys)}")
        if key not in self._made:
            self._made[key] = self._make(key)
        return self._made[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


def _owner(groups: tuple[Group, ...], key: str) -> str:
    return "Input" if key == "inputs" else groups[int(key)].name


def _parameters(group: Group, mine: NDArray[np.bool_]) -> dict[str, NDArray[np.float64]]:
    return {n: np.broadcast_to(c, (group.count,))[mine] for n, c in group.params.items()}


class ConnDict(Mapping[str, dict[str, dict[str, list[Any]]]]):
    """Uid -> accessed variable -> ``pre`` (uids), ``delay`` (rows back) and further numbers.

    A component without an input for a variable has no entry for it.
    """

    def __init__(self, part: Part) -> None:
        self._part, self._circuit, self._dt = part, part.program.circuit, part.program.dt
        self._orders: dict[int, tuple[NDArray[np.int64], NDArray[np.int32]]] = {}

    def __getitem__(self, uid: str) -> dict[str, dict[str, list[Any]]]:
        number = self._part.find(str(uid))
        if number < 0:
            raise KeyError(uid)
        out: dict[str, dict[str, list[Any]]] = {}
        for at, links in enumerate(self._circuit.connections):
            rows = self._rows(at, links, number)
            if not len(rows):
                continue
            entry = out.setdefault(links.variable, {"pre": [], "delay": []})
            back = np.broadcast_to(steps_of(links, self._dt) - 1, (len(links),))[rows]
            before = len(entry["pre"])
            entry["pre"] += self._part.names[links.source[rows]].tolist()
            entry["delay"] += back.tolist()
            for key, column in links.data.items():
                values = np.broadcast_to(column, (len(links),))[rows].tolist()
                entry.setdefault(key, [np.nan] * before).extend(values)
        return out

    def _rows(self, at: int, links: Connections, number: int) -> NDArray[np.int64]:
        """Return the connections of one set that lead to a component, in the set's order."""
        if at not in self._orders:
            order = np.argsort(links.target, kind="stable")
            self._orders[at] = order, links.target[order]
        order, targets = self._orders[at]
        first, end = np.searchsorted(targets, [number, number + 1])
        return order[first:end]

    def __iter__(self) -> Iterator[str]:
        return iter(name for _, g, mine in self._part.groups for name in g.uids[mine].tolist())

    def __len__(self) -> int:
        return sum(int(mine.sum()) for _, _, mine in self._part.groups)


def comp_list(part: Part) -> list[tuple[str, dict[str, list[Any]]]]:
    """Return the models in their order with the uids and parameters of their components."""
    out = []
    for _, group, mine in part.groups:
        table: dict[str, list[Any]] = {"id": group.uids[mine].tolist()}
        table.update({n: c.tolist() for n, c in _parameters(group, mine).items()})
        table.update({n: c[mine].tolist() for n, c in group.labels.items()})
        out.append((group.name, table))
    return out


def port_mappers(part: Part, step: int) -> dict[str, Any]:
    """Return ``gpot`` and ``spike`` -> a mapper from the ports' selectors to their values.

    Input ports come first. Output ports have what the last step published, others 0.
    """
    labels = {name: np.empty(0, "U1") for name in PORT_LABELS}
    values = np.zeros(0)
    for number, group, mine in part.groups:
        if group.is_port:
            labels = {name: column[mine] for name, column in group.labels.items()}
            values = _published(part, number, step)[mine]
    out = {}
    for kind in ("gpot", "spike"):
        of_kind = labels["port_type"] == kind
        order = [np.flatnonzero(of_kind & (labels["port_io"] == io)) for io in ("in", "out")]
        rows = np.concatenate(order)
        selector = ",".join(labels["selector"][rows].tolist())
        out[kind] = PortMapper(selector, values[rows].astype(part.program.dtype))
    return out


def _published(part: Part, number: int, step: int) -> NDArray[np.float64]:
    """Return what the last step brought to each port of a group, (ports,)."""
    program, circuit = part.program, part.program.circuit
    start, end = circuit.starts[number : number + 2]
    values = np.zeros(end - start)
    for links in circuit.connections if step else ():
        rows = np.flatnonzero((links.target >= start) & (links.target < end))
        if len(rows):
            elements = element_of(program.layout, links.source[rows], links.variable)
            values[links.target[rows] - start] = part.row(links.variable, step - 1)[elements]
    return values
