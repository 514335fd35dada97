"""The check of a tree: names, types, what may be written, numbers of arguments.

    table = {"V": Symbol("state", writable=True), "tau": Symbol("parameter")}
    checked = check(parse("V = V / tau;"), table, source)

All faults of a text are collected. The types of all expressions come back with it, which the
translation to C needs.

Types are ``real``, ``int`` and ``bool``. A number without a point is ``whole``: it is an int beside
ints and a real number elsewhere, so ``1 / 2`` is 0.5. ``/`` divides real numbers, also between
ints. ``%``, shifts and the operators of bits are for ints, and so is the index of an array.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ...errors import ModelError, near
from . import tree
from .tokens import message, place
from .words import ARGUMENTS, DRAWS, FUNCTIONS, RESERVED

_INSTEAD = {
    "abs": "fabs", "min": "fmin", "max": "fmax", "power": "pow", "ln": "log", "rand": "uniform",
    "randn": "normal", "clip": "fmin(fmax(x, low), high)", "ceil": "-floor(-x)",
    "mod": "x - y * floor(x / y)", "fmod": "x - y * floor(x / y)", "round": "floor(x + 0.5)",
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
    """

    kind: str
    type: str = "real"
    unit: str | None = None
    writable: bool = False
    hint: str = ""
    size: int | None = None


Symbols = Mapping[str, Symbol]
Functions = Mapping[str, tree.Function]


@dataclass
class Checked:
    """A tree that means something.

    Attributes
    ----------
    node : Node
    types : dict of int to str
        ``id`` of an expression -> its type.
    faults : list of str
        Messages, each with line and column.
    """

    node: tree.Node
    types: dict[int, str] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def type_of(self, node: tree.Expression) -> str:
        """Return the type of an expression of the tree."""
        return self.types[id(node)]


def check(
    node: tree.Node,
    symbols: Symbols,
    source: str,
    where: str = "text",
    functions: Iterable[tree.Function] = (),
    draws: bool = True,
    calls: Mapping[str, int] | None = None,
    procedures: Mapping[str, int] | None = None,
) -> Checked:
    """Return a tree with the types of its expressions, and its faults.

    Parameters
    ----------
    node : Expression, Body or Function
    symbols : mapping of str to Symbol
        Names that the text may use.
    source : str
        The text of the tree, for messages.
    where : str
        What messages call it.
    functions : iterable of Function
        Functions that it may call beside the elementary ones.
    draws : bool
        Whether it may draw random numbers.
    calls, procedures : mapping of str to int
        Other functions that give a real number, and those that are statements -> how many real
        numbers they take.
    """
    checker = _Checker(symbols, source, where, {f.name: f for f in functions}, draws)
    checker.calls, checker.procedures = calls or {}, procedures or {}
    checker.checked = Checked(node)
    if isinstance(node, tree.Expression):
        checker.value(node)
    elif isinstance(node, tree.Function):
        checker.function(node)
    else:
        assert isinstance(node, tree.Body)
        checker.declared_later(node)
        checker.body(node)
    return checker.checked


def raise_faults(faults: Iterable[str]) -> None:
    """Raise ModelError with all faults, if there are any."""
    found = list(dict.fromkeys(faults))
    if found:
        raise ModelError("\n".join(found))


class _ValueChecker:
    """Checks expressions."""

    def __init__(
        self, symbols: Symbols, source: str, where: str, functions: Functions, draws: bool
    ) -> None:
        self.outer, self.source, self.where = symbols, source, where
        self.functions, self.draws = functions, draws
        self.scopes: list[dict[str, Symbol]] = [{}]
        self.later: dict[str, int] = {}
        self.loops = 0
        self.calls: Mapping[str, int] = {}
        self.procedures: Mapping[str, int] = {}
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
            return kinds.pop() if len(kinds) == 1 else _joined(kinds)
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
        return "whole" if set(kinds) == {"whole"} else _joined({*kinds, "whole"})

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
        if symbol.size is None:
            said = f"'{node.name}' is {_a(symbol.kind)} and no array; it has no elements"
            self.fault(node, said)
        elif isinstance(node.index, tree.Number) and node.index.whole:
            if int(node.index.text) >= symbol.size:
                last = symbol.size - 1
                self.fault(node, f"'{node.name}' has the elements 0 to {last}")
        if kind == "real":
            self.fault(node.index, "the index of an array is an integer; write (int)(...)")
        return symbol.type

    def _call(self, node: tree.Call) -> str:
        for one in node.arguments:
            self.value(one)
        name, given = node.name, len(node.arguments)
        own = self.functions.get(name)
        if own is not None:
            wanted = len(own.parameters)
        elif name in FUNCTIONS:
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
            said = f"'{name}' takes {_number(wanted, 'argument')}, {given or 'none'} given"
            self.fault(node, said)
        return own.type if own is not None else "real"

    def _unknown_function(self, node: tree.Call) -> None:
        name = node.name
        symbol = self.find(name)
        if symbol is not None:
            self.fault(node, f"'{name}' is {_a(symbol.kind)} and no function; is a '*' missing?")
        elif name in _INSTEAD:
            self.fault(node, f"unknown name '{name}'; write {_INSTEAD[name]}")
        elif name == self.inside:
            self.fault(node, f"'{name}' calls itself, which a function cannot; write a loop")
        else:
            known = [*FUNCTIONS, *DRAWS, *self.functions, *self.calls, *self.procedures]
            hint = near(name, known)
            self.fault(node, f"unknown name '{name}'{hint or '; it is no function'}")


class _Checker(_ValueChecker):
    """Checks statements and functions."""

    def declared_later(self, body: tree.Node) -> None:
        """Note where names are declared, for messages."""
        for node in body.walk():
            if isinstance(node, tree.Declaration):
                self.later.setdefault(node.name, node.at)

    def function(self, node: tree.Function) -> None:
        """Check a function: it knows its parameters alone."""
        self.inside = node.name
        taken = node.name in RESERVED or node.name.startswith("nd_") or node.name in self.outer
        if taken:
            self.fault(node, f"the name '{node.name}' is taken; choose another for the function")
        for one in node.parameters:
            self.statement(one)
        self.declared_later(node.body)
        self.body(node.body)
        if not _returns(node.body):
            self.fault(node, f"'{node.name}' does not return a value on every way through it")

    def body(self, node: tree.Body) -> None:
        """Check statements that have names of their own."""
        self.scopes.append({})
        for one in node.statements:
            self.statement(one)
        self.scopes.pop()

    def statement(self, node: tree.Statement) -> None:
        """Check one statement."""
        if isinstance(node, tree.Body):
            self.body(node)
        elif isinstance(node, tree.Declaration):
            self._declaration(node)
        elif isinstance(node, tree.Assignment):
            self._assignment(node)
        elif isinstance(node, tree.Increment):
            self._target(node.target)
        elif isinstance(node, tree.If):
            self.value(node.condition)
            self.body(node.then)
            if node.other is not None:
                self.body(node.other)
        elif isinstance(node, tree.While | tree.For):
            self._loop(node)
        elif isinstance(node, tree.Jump):
            if not self.loops:
                self.fault(node, f"'{node.word}' stands in no loop")
        elif isinstance(node, tree.Bare):
            before = len(self.checked.faults)
            call = node.value if isinstance(node.value, tree.Call) else None
            self.statement_call = call
            self.value(node.value)
            alone = call is not None and call.name in self.procedures
            if len(self.checked.faults) == before and not alone:
                said = "nothing takes the value of this; assign it: x = ...;"
                self.fault(node, said)
        elif isinstance(node, tree.PrintCall):
            for value in node.values:
                self.value(value)
        else:
            assert isinstance(node, tree.Return), node
            self.value(node.value)

    def _loop(self, node: tree.While | tree.For) -> None:
        self.scopes.append({})
        self.loops += 1
        before = node.begin if isinstance(node, tree.For) else ()
        for one in before:
            self.statement(one)
        if node.condition is not None:
            self.value(node.condition)
        for one in node.after if isinstance(node, tree.For) else ():
            self.statement(one)
        self.body(node.body)
        self.loops -= 1
        self.scopes.pop()

    def _declaration(self, node: tree.Declaration) -> None:
        name = node.name
        if node.value is not None:
            self.value(node.value)
        for value in node.values:
            self.value(value)
        if node.size is not None and len(node.values) > node.size:
            self.fault(node, f"'{name}' has {node.size} elements, {len(node.values)} are given")
        if node.const and node.value is None and not node.values:
            self.fault(node, f"'{name}' is const and has no value")
        if name in RESERVED or name.startswith("nd_"):
            self.fault(node, f"the name '{name}' is reserved; choose another")
        elif name in self.outer:
            kind = self.outer[name].kind
            self.fault(node, f"'{name}' is the name of {_a(kind)} already; choose another")
        elif name in self.scopes[-1]:
            self.fault(node, f"'{name}' is declared twice in this block")
        elif name in self.functions:
            self.fault(node, f"'{name}' is a function; choose another name")
        kind = "constant" if node.const else "variable"
        self.scopes[-1][name] = Symbol(kind, node.type, None, not node.const, "", node.size)

    def _assignment(self, node: tree.Assignment) -> None:
        kind = self._target(node.target)
        given = self.value(node.value)
        if node.sign in ("%=", "&=", "|=", "^=", "<<=", ">>="):
            self._integers(node, node.sign, kind, given)

    def _target(self, node: tree.Name | tree.Element) -> str:
        """Check what is assigned to; return its type."""
        kind = self.value(node)
        symbol = self.find(node.name)
        if symbol is not None and not symbol.writable:
            hint = f"; {symbol.hint}" if symbol.hint else ""
            said = f"'{node.name}' is {_a(symbol.kind)}, which the text cannot change{hint}"
            self.fault(node, said)
        return kind


def _joined(kinds: set[str]) -> str:
    """Return the type of a result that has values of several types."""
    return "real" if "real" in kinds else "int"


def _returns(node: tree.Statement) -> bool:
    """Whether every way through a statement ends with a value."""
    if isinstance(node, tree.Body):
        return any(map(_returns, node.statements))
    if isinstance(node, tree.If):
        return node.other is not None and _returns(node.then) and _returns(node.other)
    return isinstance(node, tree.Return)


def _a(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def _number(count: int, what: str) -> str:
    return f"{count or 'no'} {what}{'' if count == 1 else 's'}"
