"""The tree of a text: expressions and statements, each with its place in the text.

Two trees are equal where they say the same thing; places do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any


@dataclass(frozen=True)
class Node:
    """Part of a tree; ``at`` is where it stands in the text, from 0."""

    at: int = field(default=0, compare=False, kw_only=True)

    def parts(self) -> Iterator[Node]:
        """Yield the nodes directly below."""
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(value, Node):
                yield value
            elif isinstance(value, tuple):
                yield from (v for v in value if isinstance(v, Node))

    def walk(self) -> Iterator[Node]:
        """Yield this node and all below, in the order of the text."""
        yield self
        for part in self.parts():
            yield from part.walk()


class Expression(Node):
    """What has a value."""


class Statement(Node):
    """What does something."""


@dataclass(frozen=True)
class Number(Expression):
    """A number, as it is written; ``whole`` where it has neither point nor exponent."""

    text: str

    @property
    def whole(self) -> bool:
        """Whether it is written as an integer."""
        return self.text.isdigit()


@dataclass(frozen=True)
class Name(Expression):
    """The value of a name, ``true`` and ``false`` included."""

    name: str


@dataclass(frozen=True)
class Element(Expression):
    """``array[index]``."""

    name: str
    index: Expression


@dataclass(frozen=True)
class Path(Expression):
    """``here.y``, ``image.gain``: what belongs to a population; ``banks[e].dy``: an axis.

    ``of`` says which array of a list.
    """

    names: tuple[str, ...]
    of: Expression | None = None

    @property
    def name(self) -> str:
        """Its first name."""
        return self.names[0]

    @property
    def path(self) -> tuple[str, ...]:
        """All names."""
        return self.names


@dataclass(frozen=True)
class Item(Expression):
    """``image.val[y, x]``, ``filters[t, i, j]``; with ``ago=3`` the value of an earlier step.

    ``of`` says which array of a list: ``banks[e][t, i, j]``.
    """

    path: tuple[str, ...]
    indices: tuple[Expression, ...]
    ago: Expression | None = None
    of: Expression | None = None

    @property
    def name(self) -> str:
        """Its first name."""
        return self.path[0]


@dataclass(frozen=True)
class Call(Expression):
    """``function(arguments)``."""

    name: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class Unary(Expression):
    """``-x``, ``+x``, ``!x`` or ``~x``."""

    sign: str
    value: Expression


@dataclass(frozen=True)
class Cast(Expression):
    """``(int)x``."""

    type: str
    value: Expression


@dataclass(frozen=True)
class Binary(Expression):
    """``left sign right``."""

    sign: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Ternary(Expression):
    """``condition ? yes : no``."""

    condition: Expression
    yes: Expression
    no: Expression


@dataclass(frozen=True)
class Body(Statement):
    """Statements one after the other: a whole text, or what stands in braces."""

    statements: tuple[Statement, ...]


@dataclass(frozen=True)
class Declaration(Statement):
    """``real x = value;``, or ``real x[size] = {values};``.

    ``size`` is None for a single number, ``value`` where it is not given. ``length`` is the name of
    a number that the size is; 0 stands for it until the number is put in.
    """

    type: str
    name: str
    value: Expression | None = None
    size: int | None = None
    values: tuple[Expression, ...] = ()
    const: bool = False
    length: str = ""


Target = Name | Element | Path | Item
"""What may stand to the left of ``=``."""


@dataclass(frozen=True)
class Assignment(Statement):
    """``target sign value;`` with ``=``, ``+=`` and so on."""

    target: Target
    sign: str
    value: Expression


@dataclass(frozen=True)
class Increment(Statement):
    """``++target`` or ``--target``."""

    target: Target
    sign: str


@dataclass(frozen=True)
class If(Statement):
    """``if (condition) then else other``."""

    condition: Expression
    then: Body
    other: Body | None = None


@dataclass(frozen=True)
class While(Statement):
    """``while (condition) body``; with ``late``, ``do body while (condition);``.

    ``unroll`` is how many passes a compiler is asked to write out; 0 leaves it to the compiler.
    """

    condition: Expression
    body: Body
    late: bool = False
    unroll: int = 0


@dataclass(frozen=True)
class For(Statement):
    """``for (begin; condition; after) body``; ``unroll`` as of `While`."""

    begin: tuple[Statement, ...]
    condition: Expression | None
    after: tuple[Statement, ...]
    body: Body
    unroll: int = 0


@dataclass(frozen=True)
class Each(Statement):
    """``for (name : over) body``: over the cells of a look-up, or the populations of a source.

    ``unroll`` as of `While`.
    """

    name: str
    over: Expression
    body: Body
    unroll: int = 0


@dataclass(frozen=True)
class Jump(Statement):
    """``break;`` or ``continue;``."""

    word: str


@dataclass(frozen=True)
class Return(Statement):
    """``return value;``, in a function."""

    value: Expression


@dataclass(frozen=True)
class Bare(Statement):
    """An expression whose value nothing takes; it is a fault that the check reports."""

    value: Expression


@dataclass(frozen=True)
class PrintCall(Statement):
    """``PRINT("format", values);``, or ``ERROR``; ``format`` is as it is written in quotes."""

    error: bool
    format: str
    values: tuple[Expression, ...]


@dataclass(frozen=True)
class Function(Node):
    """``type name(parameters) { body }``; a parameter is a declaration without a value."""

    type: str
    name: str
    parameters: tuple[Declaration, ...]
    body: Body


def below(node: Node, levels: int) -> Node | None:
    """Return an expression that lies in more than so many others; None where there is none."""
    todo = [(node, 0)]
    while todo:
        one, level = todo.pop()
        if level > levels:
            return one
        todo += ((part, level + isinstance(part, Expression)) for part in one.parts())
    return None


def rewritten(node: Any, change: Callable[[Any], Any]) -> Any:
    """Return a tree in which ``change`` has been done to each node, the lowest first."""
    new: dict[str, Any] = {}
    for one in fields(node):
        value = getattr(node, one.name)
        if isinstance(value, Node):
            new[one.name] = rewritten(value, change)
        elif isinstance(value, tuple):
            new[one.name] = tuple(rewritten(v, change) if isinstance(v, Node) else v for v in value)
    return change(replace(node, **new) if new else node)
