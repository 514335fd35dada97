"""The check of arrays that are fields: ``filters[t, i, j]``, ``banks[e][t, i, j]``."""

from __future__ import annotations

from collections.abc import Sequence

from . import tree
from .check_values import Reach, Symbol, ValueChecker, article, numbered


class ArrayChecker(ValueChecker):
    """Checks expressions, and elements of fields."""

    def _name(self, node: tree.Name) -> str:
        symbol = self.find(node.name)
        if symbol is not None and symbol.reach is not None:
            said = f"'{node.name}' is {article(symbol.kind)}; say what of it"
            self.fault(node, f"{said}: {_example(node.name, symbol.reach)}")
            return "real"
        if symbol is not None and symbol.axes is not None:
            self._say_which(node, node.name, symbol)
            return symbol.type
        return super()._name(node)

    def _say_which(self, node: tree.Node, name: str, symbol: Symbol) -> None:
        inside = f"[{', '.join(symbol.axes or ())}]"
        what, which = ("a list of arrays", f"[n]{inside}") if symbol.many else ("an array", inside)
        self.fault(node, f"'{name}' is {what}; say which element: {name}{which}")

    def _element(self, node: tree.Element) -> str:
        symbol = self.find(node.name)
        if symbol is not None and symbol.axes is not None:
            return self._of_array(node, node.name, symbol, (node.index,))
        return super()._element(node)

    def _of_list(self, node: tree.Path | tree.Item) -> Symbol | None:
        """Check ``banks[e]``; return what the list is, None where it is none."""
        assert node.of is not None
        self._index(node.of)
        symbol = self.find(node.name)
        if symbol is None:
            self._unknown(node, node.name)
        elif not symbol.many:
            say = "is no list of arrays; declare nd.Field(axes=..., many=True)"
            self.fault(node, f"'{node.name}' is {article(symbol.kind)} and {say}")
        else:
            return symbol
        return None

    def _of_field(self, node: tree.Item) -> str:
        name = node.path[0]
        symbol = self.find(name)
        if symbol is None:
            self._unknown(node, name)
        elif symbol.axes is None:
            said = "has one index" if symbol.size is not None else "is no array; it has no elements"
            self.fault(node, f"'{name}' is {article(symbol.kind)} and {said}")
        else:
            return self._of_array(node, name, symbol, node.indices)
        return "real"

    def _of_array(
        self,
        node: tree.Node,
        name: str,
        symbol: Symbol,
        indices: Sequence[tree.Expression],
        chosen: bool = False,
    ) -> str:
        """Check an element of an array; ``chosen`` says that an array of a list has been named."""
        assert symbol.axes is not None
        for one in indices:
            self._index(one)
        if symbol.many and not chosen:
            self._say_which(node, name, symbol)
        elif len(indices) != len(symbol.axes):
            self._wrong_number(node, name, symbol.axes, len(indices))
        return symbol.type

    def _wrong_number(self, node: tree.Node, name: str, axes: Sequence[str], given: int) -> None:
        wanted = numbered(len(axes), "index").replace("indexs", "indices")
        self.fault(node, f"'{name}' takes {wanted} ({', '.join(axes)}), {given or 'none'} given")

    def _index(self, node: tree.Expression) -> None:
        if self.value(node) == "real":
            self.fault(node, "the index of an array is an integer; write (int)(...)")


def _example(name: str, reach: Reach) -> str:
    if reach.many:
        return f"for (p : {name}) {{ ... }}"
    if reach.here:
        return f"here.{(reach.axes or ('y',))[0]}"
    inside = ", ".join(reach.axes or ("y", "x"))
    return f"{name}.{(reach.variables or ('V',))[0]}[{inside}]"
