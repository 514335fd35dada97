"""Trees -> text, with the brackets that are needed and no others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..text import block
from . import tree
from .expressions import BINDING, LEVELS

_UNARY = len(LEVELS)
_PRIMARY = _UNARY + 1


class Printer:
    """Writes a tree as text of the language; a subclass writes other words."""

    def statements(self, body: tree.Body) -> list[str]:
        """Return the lines of the statements of a text."""
        return [line for one in body.statements for line in self.statement(one)]

    def statement(self, node: tree.Statement) -> list[str]:
        """Return the lines of one statement."""
        if isinstance(node, tree.Body):
            return block("", self.statements(node)) if node.statements else []
        if isinstance(node, tree.If):
            return self._if(node)
        if isinstance(node, tree.While):
            body, condition = self.statements(node.body), self.expression(node.condition)
            if node.late:
                return [*self.unrolled(node), *block("do", body), f"while ({condition});"]
            return [*self.unrolled(node), *block(f"while ({condition})", body)]
        if isinstance(node, tree.For):
            begin, after = self._listed(node.begin), self._listed(node.after)
            condition = "" if node.condition is None else " " + self.expression(node.condition)
            head = f"for ({begin};{condition}; {after})"
            return [*self.unrolled(node), *block(head, self.statements(node.body))]
        if isinstance(node, tree.Each):
            return self.each(node)
        if isinstance(node, tree.PrintCall):
            return self.printed(node)
        return [f"{self.simple(node)};"]

    def each(self, node: tree.Each) -> list[str]:
        """Return a loop over a look-up or over populations."""
        head = f"for ({node.name} : {self.expression(node.over)})"
        return [*self.unrolled(node), *block(head, self.statements(node.body))]

    def unrolled(self, node: tree.For | tree.Each | tree.While) -> list[str]:
        """Return what asks to write out passes of a loop, where its text does."""
        return [f"unroll({node.unroll})"] if node.unroll else []

    def _if(self, node: tree.If) -> list[str]:
        lines = block(f"if ({self.expression(node.condition)})", self.statements(node.then))
        if node.other is None:
            return lines
        inner = node.other.statements
        if len(inner) == 1 and isinstance(inner[0], tree.If):
            first, *rest = self._if(inner[0])
            return [*lines, f"else {first}", *rest]
        return [*lines, *block("else", self.statements(node.other))]

    def _listed(self, nodes: Iterable[tree.Statement]) -> str:
        texts = [self.simple(one) for one in nodes]
        kinds = {one.type for one in nodes if isinstance(one, tree.Declaration)}
        rest = [text.removeprefix(f"{kind} ") for text in texts[1:] for kind in kinds]
        return ", ".join([*texts[:1], *(rest if kinds else texts[1:])])

    def printed(self, node: tree.PrintCall) -> list[str]:
        """Return ``PRINT`` or ``ERROR``."""
        given = [f'"{node.format}"', *(self.expression(v) for v in node.values)]
        return [f"{'ERROR' if node.error else 'PRINT'}({', '.join(given)});"]

    def simple(self, node: tree.Statement) -> str:
        """Return a statement of one line, without its semicolon."""
        if isinstance(node, tree.Assignment):
            return f"{self.expression(node.target)} {node.sign} {self.assigned(node)}"
        if isinstance(node, tree.Increment):
            return f"{node.sign}{self.expression(node.target)}"
        if isinstance(node, tree.Declaration):
            return self.declaration(node)
        if isinstance(node, tree.Jump):
            return node.word
        if isinstance(node, tree.Return):
            return f"return {self.expression(node.value)}"
        assert isinstance(node, tree.Bare), node
        return self.expression(node.value)

    def assigned(self, node: tree.Assignment) -> str:
        """Return what an assignment assigns."""
        return self.expression(node.value)

    def declaration(self, node: tree.Declaration) -> str:
        """Return a declaration without its semicolon."""
        head = f"{'const ' * node.const}{node.type} {node.name}"
        if node.size is not None:
            head += f"[{node.length or node.size}]"
            return head + (f" = {{{self._all(node.values)}}}" if node.values else "")
        return head if node.value is None else f"{head} = {self.expression(node.value)}"

    def function(self, node: tree.Function) -> list[str]:
        """Return a function."""
        given = ", ".join(f"{one.type} {one.name}" for one in node.parameters)
        return block(f"{node.type} {node.name}({given})", self.statements(node.body))

    def expression(self, node: tree.Expression, least: int = -1) -> str:
        """Return an expression, in brackets where it binds less than ``least``."""
        text, binding = self._bound(node)
        return f"({text})" if binding < least else text

    def _bound(self, node: tree.Expression) -> tuple[str, int]:
        if isinstance(node, tree.Ternary):
            condition, yes = self.expression(node.condition, 0), self.expression(node.yes)
            return f"{condition} ? {yes} : {self.expression(node.no)}", -1
        if isinstance(node, tree.Binary):
            return self.binary(node), BINDING[node.sign]
        if isinstance(node, tree.Unary):
            inner = self.expression(node.value, _UNARY)
            space = " " if inner.startswith(node.sign) else ""
            return f"{node.sign}{space}{inner}", _UNARY
        if isinstance(node, tree.Cast):
            return f"({node.type}){self.expression(node.value, _UNARY)}", _UNARY
        if isinstance(node, tree.Call):
            return self.call(node), _PRIMARY
        if isinstance(node, tree.Element):
            return self.element(node), _PRIMARY
        if isinstance(node, tree.Number):
            return self.number(node), _PRIMARY
        if isinstance(node, tree.Path):
            return self.path(node), _PRIMARY
        if isinstance(node, tree.Item):
            return self.item(node), _PRIMARY
        assert isinstance(node, tree.Name), node
        return self.name(node.name), _PRIMARY

    def binary(self, node: tree.Binary) -> str:
        """Return an operator between its two values."""
        level = BINDING[node.sign]
        left, right = self.expression(node.left, level), self.expression(node.right, level + 1)
        return f"{left} {self.operator(node)} {right}"

    def operator(self, node: tree.Binary) -> str:
        """Return what stands between two values."""
        return node.sign

    def call(self, node: tree.Call) -> str:
        """Return a call."""
        return f"{node.name}({self._all(node.arguments)})"

    def element(self, node: tree.Element) -> str:
        """Return an element of an array."""
        return f"{self.name(node.name)}[{self.expression(node.index)}]"

    def path(self, node: tree.Path) -> str:
        """Return what belongs to a population, or to an array of a list."""
        which = "" if node.of is None else f"[{self.expression(node.of)}]"
        return node.name + which + "".join(f".{one}" for one in node.names[1:])

    def item(self, node: tree.Item) -> str:
        """Return an element of an array or a value of a cell."""
        ago = "" if node.ago is None else f", ago={self.expression(node.ago)}"
        which = "" if node.of is None else f"[{self.expression(node.of)}]"
        return f"{'.'.join(node.path)}{which}[{self._all(node.indices)}{ago}]"

    def number(self, node: tree.Number) -> str:
        """Return a number."""
        return node.text

    def name(self, name: str) -> str:
        """Return a name."""
        return name

    def _all(self, nodes: Iterable[tree.Expression]) -> str:
        return ", ".join(self.expression(one) for one in nodes)


def to_text(node: tree.Node | Iterable[tree.Function]) -> str:
    """Return the text of a tree; what is parsed from it is the same tree.

    Parameters
    ----------
    node : Node, or functions
        An expression, statements, or one function.
    """
    printer = Printer()
    if isinstance(node, tree.Expression):
        return printer.expression(node)
    if isinstance(node, tree.Function):
        return "\n".join(printer.function(node))
    if isinstance(node, tree.Body):
        return "\n".join(printer.statements(node))
    if isinstance(node, tree.Statement):
        return "\n".join(printer.statement(node))
    assert not isinstance(node, tree.Node)
    return "\n".join(line for one in node for line in printer.function(one))


class _Renaming(Printer):
    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def name(self, name: str) -> str:
        return self.names.get(name, name)


def renamed_text(node: tree.Node, names: Mapping[str, str]) -> str:
    """Return the text of an expression or of statements with other names for what it reads."""
    printer = _Renaming(names)
    if isinstance(node, tree.Expression):
        return printer.expression(node)
    assert isinstance(node, tree.Body)
    return "\n".join(printer.statements(node))
