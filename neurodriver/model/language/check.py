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

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace

from ...errors import ModelError
from . import tree
from .check_places import LOOK_UPS, LOOKED_UP, PlaceChecker
from .check_values import Checked, Symbol, Symbols, article
from .words import is_reserved

WORD, MOST_BYTES = 8, 16384
"""Bytes of an element, and most bytes of all arrays of a text."""

VECTOR = "vector"
"""Kind of a name that stands for an array only where its elements are computed."""


def check(
    node: tree.Node,
    symbols: Symbols,
    source: str,
    where: str = "text",
    functions: Iterable[tree.Function] = (),
    draws: bool = True,
    calls: Mapping[str, int] | None = None,
    procedures: Mapping[str, int] | None = None,
    prints: bool = False,
    taken: Container[str] = (),
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
    prints : bool
        Whether it may have ``PRINT``, ``ERROR`` and ``ENSURE``.
    taken : container of str
        Names of the code around it, which its variables cannot have.
    """
    checker = _Checker(symbols, source, where, {f.name: f for f in functions}, draws)
    checker.calls, checker.procedures = calls or {}, procedures or {}
    checker.prints, checker.taken = prints, taken
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


class _Checker(PlaceChecker):
    """Checks statements and functions."""

    def declared_later(self, body: tree.Node) -> None:
        """Note where names are declared, for messages."""
        for node in body.walk():
            if isinstance(node, tree.Declaration):
                self.later.setdefault(node.name, node.at)

    def function(self, node: tree.Function) -> None:
        """Check a function: it knows its parameters alone."""
        self.inside = node.name
        taken = is_reserved(node.name) or node.name in self.outer
        if taken:
            self.fault(node, f"the name '{node.name}' is taken; choose another for the function")
        for one in node.parameters:
            self.statement(one)
        self.declared_later(node.body)
        for inner in node.body.statements:  # in C++ the parameters belong to the same block
            self.statement(inner)
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
            if self._target(node.target) == "bool":
                self.fault(node, f"'{node.sign}' counts, and this is a bool; declare it as int")
        elif isinstance(node, tree.If):
            self.value(node.condition)
            self.body(node.then)
            if node.other is not None:
                self.body(node.other)
        elif isinstance(node, tree.While | tree.For):
            self._loop(node)
        elif isinstance(node, tree.Each):
            self._each(node)
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
            if not self.prints:
                words = "PRINT, ERROR and ENSURE"
                self.fault(node, f"{words} stand in 'update' of a model; this text has none")
            for value in node.values:
                self.value(value)
        else:
            assert isinstance(node, tree.Return), node
            self.value(node.value)

    def _loop(self, node: tree.While | tree.For) -> None:
        self.scopes.append({})
        self.loops += 1
        before = node.begin if isinstance(node, tree.For) else ()
        self.heading = True
        for one in before:
            self.statement(one)
        self.heading = False
        self.counting.append({*self.scopes[-1]})
        if node.condition is not None:
            self.value(node.condition)
        for one in node.after if isinstance(node, tree.For) else ():
            self.statement(one)
        self.body(node.body)
        self.counting.pop()
        self.loops -= 1
        self.scopes.pop()

    def _each(self, node: tree.Each) -> None:
        """Check a loop over a look-up, or over the populations of a source."""
        over = node.over
        symbol = self.find(over.name) if isinstance(over, tree.Name) else None
        found = Symbol(LOOKED_UP, "int")
        if isinstance(over, tree.Call) and over.name in LOOK_UPS:
            self.look_up(over)
        elif symbol is not None and symbol.reach is not None and symbol.reach.many:
            found = Symbol("population", reach=replace(symbol.reach, many=False))
        else:
            known = "near(image.y, 11), within(image.y, 0.1), a source of many populations, "
            known += "or the connections of an access"
            self.fault(over, f"a loop goes over {known}")
        self.named_anew(node, node.name)
        self._hides(node, node.name)
        self.scopes.append({node.name: found})
        self.loops += 1
        self.body(node.body)
        self.loops -= 1
        self.scopes.pop()

    def named_anew(self, node: tree.Node, name: str) -> None:
        """Note a name that no variable may have."""
        if is_reserved(name):
            self.fault(node, f"the name '{name}' is reserved; choose another")
        elif name in self.taken:
            self.fault(node, f"the name '{name}' is reserved in this text; choose another")
        elif name in self.calls or name in self.procedures:
            self.fault(node, f"'{name}' is a function of this text; choose another name")
        elif name in self.outer and self.outer[name].kind != VECTOR:
            kind = self.outer[name].kind
            self.fault(node, f"'{name}' is the name of {article(kind)} already; choose another")

    def _declaration(self, node: tree.Declaration) -> None:
        name = node.name
        if node.value is not None:
            self.value(node.value)
        for value in node.values:
            self.value(value)
        if node.length:
            said = "the size of an array is a whole number, or one of the 'numbers' of a model"
            self.fault(node, f"{said}; '{node.length}' is none")
        elif node.size is not None and len(node.values) > node.size:
            self.fault(node, f"'{name}' has {node.size} elements, {len(node.values)} are given")
        self.bytes += WORD * (node.size or 0)
        if node.size is not None and self.bytes > MOST_BYTES:
            total = f"the arrays up to '{name}' have {self.bytes:,} bytes for each cell"
            self.fault(node, f"{total}, {MOST_BYTES:,} are allowed; take a field, or a smaller one")
        if node.const and node.value is None and not node.values:
            self.fault(node, f"'{name}' is const and has no value")
        before = len(self.checked.faults)
        self.named_anew(node, name)
        if len(self.checked.faults) > before:
            pass
        elif name in self.scopes[-1]:
            self.fault(node, f"'{name}' is declared twice in this block")
        elif name in self.functions:
            self.fault(node, f"'{name}' is a function; choose another name")
        else:
            self._hides(node, name)
        kind = "constant" if node.const else "variable"
        self.scopes[-1][name] = Symbol(kind, node.type, None, not node.const, "", node.size)

    def _hides(self, node: tree.Node, name: str) -> None:
        """Note a name that the variable of a loop around has."""
        hidden = [scope[name] for scope in self.scopes if name in scope]
        each = any(one.kind == LOOKED_UP or one.reach is not None for one in hidden)
        if each or (not self.heading and any(name in one for one in self.counting)):
            said = "is the variable of a loop around this already; choose another name"
            self.fault(node, f"'{name}' {said}")

    def _assignment(self, node: tree.Assignment) -> None:
        kind = self._target(node.target)
        given = self.value(node.value)
        if node.sign in ("%=", "&=", "|=", "^=", "<<=", ">>="):
            self._integers(node, node.sign, kind, given)

    def _target(self, node: tree.Target) -> str:
        """Check what is assigned to; return its type."""
        kind = self.value(node)
        symbol = self.find(node.name)
        if isinstance(node, tree.Path | tree.Item) and symbol is not None:
            reach = symbol.reach
            if isinstance(node, tree.Path) and reach is not None and node.names[1] in reach.written:
                return kind
            said = f"'{'.'.join(node.path)}' belongs to another cell or population, or is a field"
            more = "; a text writes the states and updated variables of its own cell"
            self.fault(node, said + more)
        elif symbol is not None and not symbol.writable:
            hint = f"; {symbol.hint}" if symbol.hint else ""
            said = f"'{node.name}' is {article(symbol.kind)}, which the text cannot change{hint}"
            self.fault(node, said)
        return kind


def _returns(node: tree.Statement) -> bool:
    """Whether every way through a statement ends with a value."""
    if isinstance(node, tree.Body):
        return any(map(_returns, node.statements))
    if isinstance(node, tree.If):
        return node.other is not None and _returns(node.then) and _returns(node.other)
    return isinstance(node, tree.Return)
