"""Formulas that read fields of the populations at both ends, and where the ends are on their axes.

    weight="filters[theta, dy, dx]"
    weight=Formula("gain * filters[theta, place(y), place(x)] * exp(-d2)")

``theta`` is an index along an axis, that of the target if it has the axis. ``place(y)`` is the
number of the source within the uncut run of the target. In an index ``dy`` is short for it.
"""

from __future__ import annotations

import ctypes as ct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError, near, quoted
from ..model.fields import Field
from ..model.language import Symbol, check, parse_expression, tree, used
from ..model.language.check_places import LOOKED_UP
from .formula import KNOWN, CDouble, Formula, functions_known, library, names_of
from .groups import FieldValue
from .relation import Relation

if TYPE_CHECKING:
    from .circuit import Circuit
    from .rules import Ends

_KNOWN = (*KNOWN, tree.Item, tree.Element)


@dataclass(frozen=True)
class FieldAtEnd:
    """A field of one of the populations.

    Attributes
    ----------
    group : int
        Number of the group that has it.
    """

    group: int
    rule: Field
    value: FieldValue


def fields_at(circuit: Circuit, ends: Ends) -> dict[str, FieldAtEnd]:
    """Return the fields of both populations; those of the target come before the source's."""
    found: dict[str, FieldAtEnd] = {}
    for end in (ends.source, ends.target):
        number = int(circuit.group_of(end.start)) if len(end) else 0
        group = circuit.groups[number]
        rules = group.model.every_field()
        for name, value in {} if group.layer is None else group.layer.fields.items():
            found[name] = FieldAtEnd(number, rules[name], value)
    return found


def bound(formula: Formula, circuit: Circuit, ends: Ends, relation: Relation) -> Formula:
    """Return a formula that knows the fields it reads; itself where it reads none, and no index."""
    try:
        node = parse_expression(str(formula.text), "formula")
    except ModelError:  # it is told of later
        return formula
    fields, plain = fields_at(circuit, ends), {*names_of(relation.names), *formula.numbers}
    words = used(node)
    asked = any(isinstance(one, tree.Item | tree.Element) for one in node.walk())
    if not asked and not words & ({*fields, *relation.names, "place"} - plain):
        return formula
    axes = tuple(one.name for one in relation.axes)
    return PlaceFormula(formula, {n: one for n, one in fields.items() if n in words}, fields, axes)


class PlaceFormula(Formula):
    """A formula of one projection.

    Parameters
    ----------
    fields : dict of str to FieldAtEnd
        Those that it reads.
    known : collection of str
        All that there are.
    axes : tuple of str
        Of both ends; none of cells at ``positions=``.
    """

    def __init__(
        self, formula: Formula, fields: dict[str, FieldAtEnd], known: Any, axes: tuple[str, ...]
    ) -> None:
        vars(self).update(text=formula.text, numbers=formula.numbers, fields=fields)
        vars(self).update(_known=known, _axes=axes)
        vars(self)["node"] = _with_places(parse_expression(self.text, "formula"), axes)

    fields: dict[str, FieldAtEnd]
    node: tree.Expression
    _known: Any
    _axes: tuple[str, ...]
    indexed = True
    __hash__ = Formula.__hash__

    @cached_property
    def arrays(self) -> Sequence[NDArray[np.float64]]:
        return [
            np.ascontiguousarray(one.value.values, dtype=np.float64).reshape(-1)
            for one in self.fields.values()
        ]

    def faults(self, axes: tuple[str, ...]) -> Iterator[str]:
        yield from self.number_faults((*names_of(axes), *self._axes, *self.fields))
        if any(not isinstance(one, _KNOWN) for one in self.node.walk()):
            yield f"{self}: a formula consists of numbers, names, fields, signs and functions"
            return
        lists = [name for name, one in self.fields.items() if one.rule.many]
        if lists:
            yield f"{self}: '{lists[0]}' is a list of arrays; a formula reads fields of one array"
            return
        known = [*names_of(axes), *self._axes, *self._known, *self.numbers]
        for name in sorted(used(self.node) - {*known, "place", *functions_known()}):
            among = ", ".join(known)
            yield f"{self}: unknown name {quoted(name)}{near(name, known)}; there are {among}"
            return
        symbols = {name: Symbol("name") for name in (*names_of(axes), *self.numbers)}
        symbols |= {name: Symbol(LOOKED_UP, "int") for name in self._axes}
        for name, one in self.fields.items():
            kind = "int" if one.rule.whole else "real"
            symbols[name] = Symbol("field", kind, axes=one.rule.indexed or None)
        yield from check(self.node, symbols, self.text, "formula", draws=False).faults

    def reads_distance(self, axes: tuple[str, ...]) -> bool:
        """Whether it reads how far the ends are apart."""
        return bool(used(self.node) & {*names_of(axes)})

    def reads_place(self, axis: str) -> bool:
        """Whether it reads the place along an axis."""
        every = (one for one in self.node.walk() if isinstance(one, tree.Call))
        return any(one.name == "place" and one.arguments[0] == tree.Name(axis) for one in every)

    def reads_index(self, axis: str) -> bool:
        """Whether it reads the index along an axis."""
        names = [one for one in self.node.walk() if one == tree.Name(axis)]
        places = [one for one in self.node.walk() if one == tree.Call("place", (tree.Name(axis),))]
        return len(names) > len(places)

    def c_text(self) -> str:
        shapes = {name: one.value.values.shape for name, one in self.fields.items()}
        return _CPlaces(self.numbers, self._axes, shapes).expression(self.node)

    def compiled(self, axes: tuple[str, ...]) -> ct.CDLL:
        """Return the library of ``nd_formula``.

        Columns are the squared distance, the ways along the axes, then the indices and the places
        along them; last come the fields.
        """
        names = ["d2", *(f"d{axis}" for axis in axes)]
        lines = [f"const double {n} = at[{i}][i]; (void){n};" for i, n in enumerate(names)]
        for kind in ("index", "place"):
            first = len(names)
            names += [f"nd_{kind}_{axis}" for axis in self._axes]
            lines += [
                f"const long long {n} = (long long)at[{first + i}][i]; (void){n};"
                for i, n in enumerate(names[first:])
            ]
        for number, name in enumerate(self.fields):
            lines.append(f"const double *nd_field_{name} = at[{len(names) + number}];")
        return library(tuple(lines), self.c_text())


def _with_places(node: Any, axes: tuple[str, ...]) -> Any:
    """Return a tree in which ``dy`` in an index is the place along the axis."""
    short = {f"d{axis}": axis for axis in axes}

    def inside(one: Any) -> Any:
        if isinstance(one, tree.Name) and one.name in short:
            return tree.Call("place", (tree.Name(short[one.name], at=one.at),), at=one.at)
        return one

    def change(one: Any) -> Any:
        if isinstance(one, tree.Item):
            return replace(one, indices=tuple(tree.rewritten(n, inside) for n in one.indices))
        if isinstance(one, tree.Element):
            return replace(one, index=tree.rewritten(one.index, inside))
        return one

    return tree.rewritten(node, change)


class _CPlaces(CDouble):
    """Writes such an expression as C; an element that a field does not have is NaN."""

    def __init__(self, numbers: Any, axes: tuple[str, ...], shapes: dict[str, Any]) -> None:
        super().__init__(numbers)
        self.axes, self.shapes, self.inside = axes, shapes, False

    def number(self, node: tree.Number) -> str:
        return node.text if self.inside else super().number(node)

    def name(self, name: str) -> str:
        if name in self.shapes:
            return f"nd_field_{name}[0]"
        return f"nd_index_{name}" if name in self.axes else super().name(name)

    def binary(self, node: tree.Binary) -> str:
        if node.sign != "%" or not self.inside:
            return super().binary(node)
        divisor = self.expression(node.right)  # an index of -1 is out of range
        return f"(({divisor}) == 0 ? -1 : (long long){super().binary(node)})"

    def call(self, node: tree.Call) -> str:
        if node.name == "place":
            (one,) = node.arguments
            assert isinstance(one, tree.Name)
            return f"nd_place_{one.name}"
        return super().call(node)

    def element(self, node: tree.Element) -> str:
        return self._of(node.name, (node.index,))

    def item(self, node: tree.Item) -> str:
        return self._of(node.name, node.indices)

    def _of(self, name: str, indices: Sequence[tree.Expression]) -> str:
        before, self.inside = self.inside, True
        given = [f"(long long)({self.expression(one)})" for one in indices]
        self.inside = before
        text, tests = "0", []
        for length, one in zip(self.shapes[name], given, strict=True):
            tests.append(f"(unsigned long long){one} < {length}u")
            text = f"({text}) * {length} + {one}"
        return f'({" && ".join(tests)} ? nd_field_{name}[{text}] : (double)__builtin_nan(""))'
