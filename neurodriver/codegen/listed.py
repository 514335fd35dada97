"""Loops of a text over the connections of an access: ``for (s : exc) V += s.w * s.spike_state;``.

The text is the same for a CPU and a GPU: only the thread of a target accesses its synapses.
"""

from __future__ import annotations

from collections.abc import Callable

from ..model.component import Access
from ..model.language import tree
from ..model.text import block
from ..model.texts import INDEX, SIZE, sizes_of_sources
from ..plan.sums.listed import ListedConnections
from .component import ComponentText
from .cpu.stored_inputs import DATUM
from .cpu.sums import SumText


class ListedText(SumText):
    """Writes the loops over the connections of one access."""

    def __init__(self, component: ComponentText, access: Access) -> None:
        super().__init__(component, access)
        assert isinstance(self.gather, ListedConnections)
        self.written = self.gather.written
        component.translator.listed[self.symbol] = self

    @property
    def may_skip(self) -> bool:
        """Whether a row without events may be skipped: no, as a text may need its zeros."""
        return False

    def direct(self, component: str, lane: str) -> str:
        """Return an expression in the place of the sum, which nothing reads."""
        return "0"

    def storage(self) -> list[str]:
        lines = [self._array("start", "long long"), self._array(INDEX, "int", DATUM.format(INDEX))]
        sizes = sizes_of_sources(self.component.model, self.access)
        of_sources = [*self.access.places, *(f"{axis}{SIZE}" for axis in sizes)]
        lines += [self._array(name, "int", DATUM.format(name)) for name in of_sources]
        for name in self.access.connection if self.gather.edges else ():
            if name in self.written:
                pointer = self._pointer(name, "real")
                lines.append(f"real *nd_{DATUM.format(name)}_{self.access.name} = {pointer};")
            else:
                lines.append(self._array(name, "real", DATUM.format(name)))
        return lines

    def each_lines(self, node: tree.Each, body: Callable[[], list[str]]) -> list[str]:
        """Return a loop over the connections of the own cell."""
        if not self.gather.edges:
            return []
        name, at, start = f"nd_c_{node.name}", self.component.place, self._start
        head = f"for (long long {name} = {start(at)}; {name} < {start(f'{at} + 1')}; ++{name})"
        return [*self.component.translator.unrolled(node), *block(head, body())]

    def _start(self, at: str) -> str:
        return f"nd_start_{self.access.name}[{at}]"

    def degree(self) -> str:
        """Return the number of connections of the own cell."""
        at = self.component.place
        return f"(int)({self._start(f'{at} + 1')} - {self._start(at)})"

    def value(self, loop: str, *path: str) -> str:
        """Return a number of the connection at which a loop is, or of its source."""
        name = path[-1]
        place = f"nd_c_{loop}"
        if name == self.access.variable:
            return self.read(place)
        return self.datum(name, place)
