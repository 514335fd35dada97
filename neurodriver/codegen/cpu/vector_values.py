"""Expressions of a loop, for a vector of neighbouring cells."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.language import tree
from .vector_kinds import LANES, UNIFORM, Strided, VectorKinds

FARTHEST = 8
"""Cells from one neighbour's run to the next, at most, so that whole vectors are read."""


class VectorValues(VectorKinds):
    """Writes expressions."""

    def vector(self, node: tree.Expression, c: int) -> str:
        """Return an expression for the vector with number ``c`` of a strip."""
        node = self.plain(node)
        kind = self.kind(node)
        if kind == UNIFORM:
            return f"nd_all((real)({self.translator.expression(node)}))"
        if isinstance(node, tree.Name):
            if self._find(node.name) is None and node.name not in self.strip.carried:
                return f"nd_load(nd_p_{node.name} + nd_t + {c} * ND_VECTOR)"
            return f"{node.name}_{c}"
        if isinstance(node, tree.Item | tree.Element):
            return self._read(node, c)
        if isinstance(node, tree.Unary):
            return f"({node.sign}{self.vector(node.value, c)})"
        if isinstance(node, tree.Ternary):
            yes, no = self.vector(node.yes, c), self.vector(node.no, c)
            if self.kind(node.condition) == UNIFORM:
                return f"({self.translator.expression(node.condition)} ? {yes} : {no})"
            return f"({self.vector(node.condition, c)} ? {yes} : {no})"
        if isinstance(node, tree.Call):
            if node.name in ("fmin", "fmax"):
                given = ", ".join(self.vector(one, c) for one in node.arguments)
                return f"nd_{node.name}({given})"
            call = f"[](real nd_one) {{ return nd_{node.name}(nd_one); }}"
            return f"nd_each_of({call}, {self.vector(node.arguments[0], c)})"
        assert isinstance(node, tree.Binary)
        sign = {"&&": "&", "||": "|"}.get(node.sign, node.sign)
        return f"({self._side(node.left, c)} {sign} {self._side(node.right, c)})"

    def _side(self, node: tree.Expression, c: int) -> str:
        """Return one side of an operator; a number that all cells share stays one."""
        if self.kind(node) == UNIFORM:
            return f"(real)({self.translator.expression(node)})"
        return self.vector(node, c)

    def _read(self, node: tree.Item | tree.Element, c: int) -> str:
        """Return the values that the cells of a vector read."""
        indices = (node.index,) if isinstance(node, tree.Element) else node.indices
        *others, last = indices
        beside = all(self.kind(one) == UNIFORM for one in others)
        steps = self._steps(last) if beside and self._inside_for_all(node) else 0
        text = self.translator.expression(node)
        if steps == 1:
            return f"nd_load(&{text} + {c} * ND_VECTOR)"
        lines = "".join(f"{one} " for one in self._lane_names(node))
        lane = f"[&](int nd_l) {{ {lines}return {text}; }}"
        cells = isinstance(node, tree.Item) and len(node.path) > 1 and node.ago is None
        if 1 < steps <= FARTHEST and cells:
            assert isinstance(node, tree.Item)
            return f"nd_every<{steps}>(&{text}, {c}, {self._end(node)}, {lane})"
        return f"nd_each_lane({lane}, {c} * ND_VECTOR)"

    def _end(self, node: tree.Item) -> str:
        """Return the end of what lies behind the cells of a population in memory."""
        one, variable = self.places.read_by(node)
        first = f"{one.label}_{one.names[0]}"
        base = f"nd_at_{one.label}_{variable}"
        return f"{base} + nd_n_{first} * nd_m_{first} + ND_LANES"

    def _steps(self, node: tree.Expression) -> int:
        """Return by how much an index grows from cell to cell."""
        if isinstance(node, tree.Binary):
            return max(self._steps(one) for one in (node.left, node.right))
        if isinstance(node, tree.Path):
            return int(node.names == ("here", self.strip.last))
        found = self._find(node.name) if isinstance(node, tree.Name) else None
        return found.steps if isinstance(found, Strided) else 0

    def _inside_for_all(self, node: tree.Item | tree.Element) -> bool:
        """Whether no index has to be tested, so that the text is that of an element."""
        text = self.translator.expression(node)
        return not text.startswith("(") and "nd_wrapped" not in text and "nd_cells" not in text

    def _lane_names(self, node: tree.Expression) -> Iterator[str]:
        """Yield declarations of the indices that differ between the cells, for one cell."""
        own = f"nd_h_{self.strip.last}"
        yield f"const int nd_h_of = {own} + nd_lane[nd_l], {own} = nd_h_of; (void){own};"
        for one in node.walk():
            if not isinstance(one, tree.Name):
                continue
            found = self._find(one.name)
            if isinstance(found, Strided):
                grown = f"{one.name} + nd_lane[nd_l] * {found.stride}"
                yield f"const int nd_g_{one.name} = {grown}, {one.name} = nd_g_{one.name};"
            elif found == LANES:
                low, high = f"nd_low_{one.name}[nd_l]", f"nd_high_{one.name}[nd_l]"
                turn = f"{low} + nd_j_{one.name}"
                yield f"const int nd_g_{one.name} = {turn} < {high} ? {turn} : {high};"
                yield f"const int {one.name} = nd_g_{one.name} > 0 ? nd_g_{one.name} : 0;"
