"""States that rest in memory: those that a text reads and writes in some steps only.

``if (full > 0) { bins[0] = bins[1]; ... }`` needs the bins in one step of ten. A thread that kept
them would load and store them in each step, and have no registers for other numbers meanwhile.
Where a warp keeps its components from step to step (``ND_HOLDS``), nothing is loaded or stored,
and registers keep these states, too.
"""

from __future__ import annotations

import re

from ...model.language import assigned, tree, used
from ...model.text import block
from ..component import ComponentText
from ..finite import products

_NUMBER = re.compile(r"const real (\w+) = \(\(real\)(nd_a->u\[\d+\])\);")
_ARRAY = re.compile(r"real \*__restrict nd_s_(\w+) = \(\(real \*\)(nd_a->p\[\d+\])\);")


class ThreadRest:
    """The states of a model that rest, and the statements in which they occur.

    Parameters
    ----------
    hidden : list of str
        States that have no row.
    few : int
        If there are no more of them, all are kept.
    """

    def __init__(self, component: ComponentText, hidden: list[str], few: int) -> None:
        self.translator, self.names = component.translator, list[str]()
        self._ifs: dict[int, list[str]] = {}
        part, model = component.texts["update"], component.spec.model
        self._debug, self._tests = component.spec.watch.debug, component.spec.watch.finite
        spec, plain = component.spec, model.sub_units is None and not model.draws_random()
        plain &= spec.substeps == 1 and not spec.side and not spec.split
        if not isinstance(part.tree, tree.Body) or not plain or len(hidden) <= few:
            return
        others = used(*(one.tree for one in component.texts.step() if one is not part))
        others |= {pool.variable for pool in model.pools.values()} | {*model.outputs}
        names = [name for name in hidden if name not in others]
        for one in part.tree.statements:
            if not isinstance(one, tree.If) or one.other is not None:
                names = [name for name in names if name not in used(one) | assigned(one)]
            else:
                names = [name for name in names if name not in used(one.condition)]
        for one in part.tree.statements if names else ():
            inside = used(one) | assigned(one)
            found = [name for name in names if name in inside]
            if found:
                self._ifs[id(one)] = found
        self.names = [name for name in names if any(name in some for some in self._ifs.values())]

    def begin(self) -> list[str]:
        """Declare the test of their values."""
        return ["float nd_rested = 0;"] if self.names and self._tests else []

    def members(self) -> list[str]:
        """Declare what a thread keeps that holds its components."""
        return self._held([f"real nd_v_{name}[ND_OWN];" for name in self.names])

    def load(self) -> list[str]:
        """Load them where a thread holds its components."""
        return self._held([f"nd_v_{name}[nd_i] = nd_s_{name}[nd_at];" for name in self.names])

    def save(self) -> list[str]:
        """Store them where a thread holds its components; threads beyond the end have others."""
        lines = [f"nd_s_{name}[nd_at] = nd_v_{name}[nd_i];" for name in self.names]
        return self._held(block("if (nd_live[nd_i])", lines)) if lines else []

    def _held(self, lines: list[str]) -> list[str]:
        return ["#if ND_HOLDS", *lines, "#endif"] if lines else []

    def late(self, lines: list[str]) -> list[str]:
        """Return declarations of the text: what a batch has in shared memory is read where used.

        A compiler would read all of it before the first store, and keep it in registers.
        """
        if not self.names or self._debug:
            return lines
        found = []
        for line in lines:
            number, array = _NUMBER.fullmatch(line), _ARRAY.fullmatch(line)
            if number:
                line = f"ND_LATE_NUMBER({number[1]}, {number[2]});"
            elif array and array[1] in self.names:
                line = f"ND_LATE_ARRAY(nd_s_{array[1]}, {array[2]});"
            found.append(line)
        return found

    def states(self) -> list[str]:
        """Give all their values their names."""
        return [f"const real {name} = ND_RESTS({name}, nd_at);" for name in self.names]

    def mathematics(self, component: ComponentText) -> list[str]:
        """Return the text of a step."""
        self.translator.writer = self.statement if self.names else None
        lines = component.mathematics()
        self.translator.writer = None
        return lines

    def statement(self, node: tree.Statement) -> list[str] | None:
        """Return the lines of a statement with such states; threads beyond the end leave it out."""
        found = self._ifs.get(id(node))
        if found is None or not isinstance(node, tree.If):
            return None
        # a compiler would compute all addresses before, and keep them in registers
        lines = ["int nd_place = nd_at;", 'asm volatile("" : "+r"(nd_place));']
        # all are loaded before the first one is stored: no load waits for another
        lines += [f"real {name} = ND_RESTS({name}, nd_place);" for name in found]
        lines += self.translator.statements(node.then)
        changed = assigned(node)
        lines += [f"ND_RESTS({name}, nd_place) = {name};" for name in found if name in changed]
        test = products("nd_rested", found) if self._tests else []
        condition = f"if (nd_live[nd_i] && ({self.translator.expression(node.condition)}))"
        return [condition, "{", *(f"    {line}" for line in [*lines, *test]), "}"]
