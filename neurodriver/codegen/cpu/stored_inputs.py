"""Where the inputs of a component are stored, as text: rows of values, and the arrays of a plan."""

from __future__ import annotations

from ...model.component import Access
from ...plan.arrays import activity, depth, width
from ...plan.sums.gather import Gather
from ..component import ComponentText

DATUM = "datum_{}"
"""Name of the array of a connection variable in text, which no table of a plan has."""

INDEXED = ("single", "sliced", "lattice", "rows")
"""Forms that look values up in a row."""


class StoredInputs:
    """Writes where the connections of one access are stored, and their values."""

    def __init__(self, component: ComponentText, access: Access) -> None:
        self.component = component
        self.access = access
        self.gather: Gather = component.spec.gathers[access.name]
        self.symbol = component.inputs.get(access.name, "")
        self.varied = [n for n in access.connection if n in self.gather.arrays]
        self.asked = [] if self.gather.integer else component.texts.each(access)

    @property
    def reduced(self) -> bool:
        """Whether something else than the sum is wanted."""
        return self.access.reduce != "sum"

    @property
    def may_skip(self) -> bool:
        """Whether the row that is read may be known to be all zero."""
        indexed = self.gather.form in INDEXED and self.gather.back is not None
        return indexed and not self.reduced and self.component.spec.is_event(self.access.variable)

    @property
    def ends(self) -> int:
        """How many elements a component reads, in the form ``aligned``; else 0."""
        return len(self.gather.arrays["first"]) if self.gather.form == "aligned" else 0

    def of_input(self, end: int) -> bool:
        """Whether one of these elements belongs to an input, whose values may be known as equal."""
        return f"input {end}" in self.gather.limits

    def _pointer(self, array: str, kind: str) -> str:
        key = self.component.spec.connection(self.access.name, array)
        return self.component.arguments.pointer(key, kind)

    def _number(self, name: str) -> str:
        """Return the expression of a number that all connections share."""
        key = self.component.spec.connection(self.access.name, name)
        return self.component.arguments.scalar(key)

    def size(self, name: str) -> str:
        """Return the expression of an integer of the plan."""
        key = self.component.spec.size(self.access.name, name)
        return self.component.arguments.integer(key)

    @property
    def slot(self) -> str:
        """Type of a slot, in the form ``fanout``."""
        return "long long" if self.gather.limits["wide"] else "int"

    def head(self) -> list[str]:
        """Declare the row or the ring that is read, and the arrays of the form."""
        return [*self._values(), *self.storage()] if self.gather.form != "none" else []

    def _values(self) -> list[str]:
        """Declare where the values of the connections come from."""
        a, name, variable = self.component.arguments, self.access.name, self.access.variable
        rows = a.pointer(self.component.spec.ring(variable), "real")
        number, length = a.integer(depth(variable)), a.integer(width(variable))
        lines = []
        if self.gather.back is not None:
            back = self.size("back")
            row = f"nd_row({rows}, nd_k - {back}, {number}, {length})"
            if variable in self.component.spec.inputs_alone:
                kept = a.pointer(activity(variable, "kept"), "const long long")
                row = f"{rows} + {kept}[nd_row_index(nd_k, {number})] * {length}"
            if "first" in self.gather.arrays:
                row += f" + {self.size('first')}"
            lines.append(f"const real *__restrict nd_in_{name} = {row};")
            for end in range(1, self.ends):
                beside = f"nd_in_{name} + {self.size(f'beside {end}')}"
                lines.append(f"const real *__restrict nd_in{end}_{name} = {beside};")
            if any(map(self.of_input, range(self.ends))):
                level = a.pointer(activity(variable, "level"), "const long long")
                at = f"nd_row_index(nd_k, {number}) * {self.size('inputs')}"
                lines.append(f"const long long *nd_level_{name} = {level} + {at};")
            if self.may_skip:
                active = a.pointer(activity(variable, "active"), "const long long")
                silent = f"nd_silent({active}, nd_k - {back}, {number})"
                lines.append(f"const bool nd_silent_{name} = {silent};")
        else:
            if "first" in self.gather.arrays:
                rows += f" + {self.size('first')}"
            lines.append(f"const real *__restrict nd_ring_{name} = {rows};")
            lines.append(f"const long long nd_depth_{name} = {number}, nd_width_{name} = {length};")
            lines.append(_current_row(self.gather, name))
            lines.append(self._array("back", "int"))
        if "element" in self.gather.arrays:
            lines.append(self._array("element", "int"))
        return lines

    def storage(self) -> list[str]:
        """Declare how the connections are stored, and their data."""
        name = self.access.name
        wide = {
            "sliced": [("start", "long long"), ("degree", "int")],
            "lattice": [("start", "int"), ("mask", "int"), ("stride", "int")],
            "rows": [("start", "long long")],
        }.get(self.gather.form, [])
        lines = [self._array(array, kind) for array, kind in wide if array in self.gather.arrays]
        if self.gather.tail:
            lines.append(self._array("tail", "long long"))
        lines += self.data_arrays()
        lines += self.units()
        for n in self.access.connection:
            if n not in self.varied:
                lines.append(f"const real nd_u_{name}_{n} = {self._number(n)};")
        return lines

    def data_arrays(self) -> list[str]:
        """Declare the connection variables that differ between connections."""
        return [self._array(n, "real", DATUM.format(n)) for n in self.varied]

    def units(self) -> list[str]:
        """Declare what the weights are multiples of, where they are."""
        name = self.access.name
        if not self.gather.integer:
            return []
        if "unit" in self.gather.arrays:
            return [self._array("unit", "real")]
        return [f"const real nd_one_{name} = {self._number('unit')};"]

    def _array(self, array: str, kind: str, symbol: str = "") -> str:
        pointer = self._pointer(array, f"const {kind}")
        return f"ND_FIXED({kind}) nd_{symbol or array}_{self.access.name} = {pointer};"

    def datum(self, variable: str, place: str) -> str:
        """Return a connection variable at one stored connection."""
        return f"nd_{DATUM.format(variable)}_{self.access.name}[{place}]"

    def read(self, place: str, element: str = "") -> str:
        """Return the value at one stored connection, or at an element that is known already."""
        name = self.access.name
        element = element or f"nd_element_{name}[{place}]"
        if self.gather.back is not None:
            return f"nd_in_{name}[{element}]"
        row = f"nd_wrap(nd_now_{name} - nd_back_{name}[{place}], nd_depth_{name})"
        return f"nd_ring_{name}[{row} * nd_width_{name} + {element}]"

    def data(self, place: str) -> list[str]:
        """Load the connection data of one stored connection."""
        name = self.access.name
        return [
            f"const real {n} = {self.datum(n, place)};" if n in self.varied
            else f"const real {n} = nd_u_{name}_{n};"
            for n in self.access.connection
        ]  # fmt: skip


def _current_row(gather: Gather, name: str) -> str:
    """Declare the number of row k, or that of row k + 1 less one where that is read, too."""
    depth = f"nd_depth_{name}"
    row = f"nd_row_index(nd_k, {depth})"
    if gather.early:
        row = f"nd_row_index(nd_k + 1, {depth}) - 1"
    return f"const long long nd_now_{name} = {row};"
