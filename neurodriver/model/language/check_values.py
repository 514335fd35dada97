"""The check of expressions: names, types, numbers of arguments, what has elements."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field

from ...errors import near
from . import tree
from .tokens import message, place
from .words import ARGUMENTS, DRAWS, FUNCTIONS, MORE

_INSTEAD = {
    "min": "fmin", "max": "fmax", "power": "pow", "ln": "log", "rand": "uniform",
    "randn": "normal", "clip": "fmin(fmax(x, low), high)",
    "mod": "fmod(x, y)",
    "tan": "sin(x) / cos(x)", "log10": "log(x) / log(10)", "exp2": "pow(2, x)",
    "int": "(int)x", "sign": "x > 0 ? 1 : x < 0 ? -1 : 0", "square": "x * x",
}  # fmt: skip
"""Function of other languages -> what says the same here."""

_LATER = "it is declared further down, in line {}"


@dataclass(frozen=True)
class Symbol:
    """What a name means.

    Attributes
    ----------
    kind : str
        As messages say it, for instance ``"parameter"``.
    type : {"real", "int", "bool"}
    unit : str or None
        Its unit; None where it is not declared.
    writable : bool
        Whether the text may assign to it.
    hint : str
        What to do instead, where it may not.
    size : int or None
        Of an array.
    axes : tuple of str or None
        Names of the axes of a field that is an array.
    reach : Reach or None
        Of a population: what can be read of it.
    many : bool
        Whether it is a list of arrays.
    """

    kind: str
    type: str = "real"
    unit: str | None = None
    writable: bool = False
    hint: str = ""
    size: int | None = None
    axes: tuple[str, ...] | None = None
    reach: Reach | None = None
    many: bool = False


@dataclass(frozen=True)
class Reach:
    """What a text can read of a population.

    Attributes
    ----------
    said : str
        What messages call it.
    variables : tuple of str
        Variables that are read of its cells.
    axes : tuple of str or None
        Its axes; None where they are not known before there is a circuit.
    numbers : tuple of str or None
        Its fields and other numbers; None where they are not known.
    many : bool
        Whether these are several populations.
    here : bool
        Whether it is the population of the text.
    history : int
        How many steps back it can be read.
    pools : tuple of str
        Its pools, as far as its model is known.
    whole, written : tuple of str
        Of a connection: numbers that are whole, and those that the text may write.
    sizes : tuple of str
        Of a connection: what can be read of its source's population, as ``s.source.y_size``.
    """

    said: str
    variables: tuple[str, ...] = ()
    axes: tuple[str, ...] | None = None
    numbers: tuple[str, ...] | None = None
    many: bool = False
    here: bool = False
    history: int = 0
    pools: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ()


Symbols = Mapping[str, Symbol]
Functions = Mapping[str, tree.Function]


@dataclass
class Checked:
    """A tree that means something.

    Attributes
    ----------
    types : dict of int to str
        ``id`` of an expression -> its type.
    faults : list of str
        Messages, each with line and column.
    sizes : dict of int to int
        ``id`` of an element of an array that the text declares -> size of the array.
    """

    node: tree.Node
    types: dict[int, str] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    sizes: dict[int, int] = field(default_factory=dict)

    def type_of(self, node: tree.Expression) -> str:
        """Return the type of an expression of the tree."""
        return self.types[id(node)]


class ValueChecker:
    """Checks expressions."""

    def __init__(
        self, symbols: Symbols, source: str, where: str, functions: Functions, draws: bool
    ) -> None:
        self.outer, self.source, self.where = symbols, source, where
        self.functions, self.draws = functions, draws
        self.scopes: list[dict[str, Symbol]] = [{}]
        self.later: dict[str, int] = {}
        self.loops, self.bytes = 0, 0
        self.calls: Mapping[str, int] = {}
        self.procedures: Mapping[str, int] = {}
        self.prints = False
        self.taken: Container[str] = ()
        self.counting: list[set[str]] = []  # variables of the loops around, from outside
        self.heading = False  # whether the head of a loop is checked
        self.statement_call: tree.Call | None = None
        self.inside = ""  # the function that is checked
        self.checked = Checked(tree.Body(()))

    def fault(self, node: tree.Node, said: str) -> None:
        """Note a fault at a node."""
        self.checked.faults.append(message(self.source, self.where, node.at, said))

    def known(self) -> dict[str, Symbol]:
        """Return all names that mean something here."""
        inner = {name: one for scope in self.scopes for name, one in scope.items()}
        return {**self.outer, **inner}

    def find(self, name: str) -> Symbol | None:
        """Return what a name means here."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return self.outer.get(name)

    def value(self, node: tree.Expression) -> str:
        """Check an expression; return its type."""
        kind = self._value(node)
        self.checked.types[id(node)] = kind
        return kind

    def _value(self, node: tree.Expression) -> str:
        if isinstance(node, tree.Number):
            return "whole" if node.whole else "real"
        if isinstance(node, tree.Name):
            return self._name(node)
        if isinstance(node, tree.Element):
            return self._element(node)
        if isinstance(node, tree.Call):
            return self._call(node)
        if isinstance(node, tree.Cast):
            self.value(node.value)
            return node.type
        if isinstance(node, tree.Unary):
            return self._unary(node)
        if isinstance(node, tree.Ternary):
            self.value(node.condition)
            kinds = {self.value(node.yes), self.value(node.no)}
            return kinds.pop() if len(kinds) == 1 else joined(kinds)
        assert isinstance(node, tree.Binary), node
        return self._binary(node)

    def _unary(self, node: tree.Unary) -> str:
        kind = self.value(node.value)
        if node.sign == "!":
            return "bool"
        if node.sign == "~" and kind == "real":
            self.fault(node, "'~' is for integers; declare them as int")
        return "int" if kind == "bool" else kind

    def _binary(self, node: tree.Binary) -> str:
        kinds = self.value(node.left), self.value(node.right)
        if node.sign in ("&&", "||", "==", "!=", "<", ">", "<=", ">="):
            return "bool"
        if node.sign in ("%", "<<", ">>", "&", "|", "^"):
            self._integers(node, node.sign, *kinds)
            return "bool" if set(kinds) == {"bool"} and node.sign in "&|^" else "int"
        if node.sign == "/":
            return "real"
        return "whole" if set(kinds) == {"whole"} else joined({*kinds, "whole"})

    def _integers(self, node: tree.Node, sign: str, *kinds: str) -> None:
        if "real" in kinds:
            hint = "x - y * floor(x / y)" if sign.startswith("%") else "&& and ||"
            hint = f"for real numbers write {hint}" if sign[0] in "%&|" else "declare them as int"
            self.fault(node, f"'{sign}' is for integers; {hint}")

    def _name(self, node: tree.Name) -> str:
        if node.name in ("true", "false"):
            return "bool"
        symbol = self.find(node.name)
        if symbol is None:
            self._unknown(node, node.name)
            return "real"
        if symbol.size is not None:
            said = f"'{node.name}' is an array; say which element: {node.name}[0]"
            self.fault(node, said)
        return symbol.type

    def _unknown(self, node: tree.Node, name: str) -> None:
        others = {*self.functions, *self.calls, *self.procedures}
        if name in others or name in FUNCTIONS or name in DRAWS:
            self.fault(node, f"'{name}' is a function; call it: {name}(...)")
            return
        line = place(self.source, self.later[name])[0] if name in self.later else 0
        hint = f" ({_LATER.format(line)})" if line else near(name, [*self.known(), *FUNCTIONS])
        if self.inside and not hint:
            hint = "; a function knows its parameters alone"
        self.fault(node, f"unknown name '{name}'{hint}")

    def _element(self, node: tree.Element) -> str:
        kind = self.value(node.index)
        symbol = self.find(node.name)
        if symbol is None:
            self._unknown(node, node.name)
            return "real"
        if symbol.size is not None:
            self.checked.sizes[id(node)] = symbol.size
        if symbol.size is None:
            said = f"'{node.name}' is {article(symbol.kind)} and no array; it has no elements"
            self.fault(node, said)
        elif isinstance(node.index, tree.Number) and node.index.whole:
            if int(node.index.text) >= symbol.size:
                last = symbol.size - 1
                self.fault(node, f"'{node.name}' has the elements 0 to {last}")
        if kind == "real":
            self.fault(node.index, "the index of an array is an integer; write (int)(...)")
        return symbol.type

    def _call(self, node: tree.Call) -> str:
        kinds = [self.value(one) for one in node.arguments]
        name, given = node.name, len(node.arguments)
        own = self.functions.get(name)
        exact = name in MORE and self.find(name) is None
        if own is not None:
            wanted = len(own.parameters)
        elif name in FUNCTIONS or exact:
            wanted = ARGUMENTS.get(name, 1)
        elif name in self.calls:
            wanted = self.calls[name]
        elif name in self.procedures:
            wanted = self.procedures[name]
            if node is not self.statement_call:
                self.fault(node, f"{name}(...) has no value; it is a statement")
        elif name in DRAWS:
            wanted = int(name == "poisson")
            if not self.draws:
                self.fault(node, f"{name}() draws a random number, which may not stand here")
        else:
            self._unknown_function(node)
            return "real"
        if given != wanted:
            said = f"'{name}' takes {numbered(wanted, 'argument')}, {given or 'none'} given"
            self.fault(node, said)
        if own is None and name == "isnan":
            return "bool"
        if own is None and name == "abs" and {*kinds} <= {"int", "bool"}:
            return "int"
        return own.type if own is not None else "real"

    def _unknown_function(self, node: tree.Call) -> None:
        name = node.name
        symbol = self.find(name)
        if symbol is not None:
            self.fault(
                node, f"'{name}' is {article(symbol.kind)} and no function; is a '*' missing?"
            )
        elif name in _INSTEAD:
            self.fault(node, f"unknown name '{name}'; write {_INSTEAD[name]}")
        elif name == self.inside:
            self.fault(node, f"'{name}' calls itself, which a function cannot; write a loop")
        else:
            known = [*FUNCTIONS, *MORE, *DRAWS, *self.functions, *self.calls, *self.procedures]
            hint = near(name, known)
            self.fault(node, f"unknown name '{name}'{hint or '; it is no function'}")


def joined(kinds: set[str]) -> str:
    """Return the type of a result that has values of several types."""
    return "real" if "real" in kinds else "int"


def article(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def numbered(count: int, what: str) -> str:
    return f"{count or 'no'} {what}{'' if count == 1 else 's'}"
