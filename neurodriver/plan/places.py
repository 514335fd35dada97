"""What the text of a population reads beside its own cells, bound to rows of the array table.

``image.val[y, x]`` becomes a row of a ring and numbers of cells along axes, ``near(image.y, 11)``
a table of two numbers for each cell of the own axis, ``filters[t, i, j]`` an array.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..circuit.axis import Axis
from ..circuit.groups import FieldValue, Group
from ..circuit.pointers import Pointer, pointers_of, pool_source
from ..circuit.space import AxisGrid
from ..errors import CircuitError, quoted
from ..model.fields import Field
from ..model.language import raise_faults, tree
from ..model.language.check_places import NOT_READ, of_each_cell
from ..model.language.tokens import message
from ..model.texts import TextPart, texts_of
from .arrays import Array, FieldOwner, Key, Kind, Owner, PopulationOwner, Role, row
from .layout import Layout
from .look_ups import LookUp, look_up_name, look_up_of
from .member_sums import MemberSum

Resolved = tuple[str, int]
"""Name of a source, and number of the population among those that it stands for."""

HERE: Resolved = ("here", 0)

SPARE = 64
"""Elements behind a field that may be read with it and are not used."""


@dataclass(frozen=True)
class Reached:
    """A population that a text reads.

    Attributes
    ----------
    names : tuple of str
        Its axes; one without a name where it has none.
    masked : bool
        Whether there are cells at some points only.
    ahead : bool
        Whether the row of this step is read, which an earlier phase has written.
    fields : mapping of str to Field
        What its model declares.
    sums : MemberSum or None
        The integers that are read in the place of a variable, if members add to them.
    """

    pointer: Pointer
    names: tuple[str, ...]
    axes: tuple[Axis, ...]
    masked: bool
    ahead: bool
    fields: Mapping[str, Field]
    sums: MemberSum | None = None

    @property
    def label(self) -> str:
        """Its name in the text of a kernel."""
        return f"{self.pointer.source}{self.pointer.place or ''}".replace(".", "__")

    def axis(self, name: str) -> Axis:
        """Return an axis by its name."""
        return self.axes[self.names.index(name)]


@dataclass(frozen=True)
class Surroundings:
    """All that the text of a group reads.

    Attributes
    ----------
    number : int
        Of the group.
    fields : mapping of str to (Key, FieldValue)
    """

    number: int
    reached: Mapping[Resolved, Reached]
    fields: Mapping[str, tuple[Key, FieldValue]]
    look_ups: Mapping[str, LookUp]

    def key(self, kind: Kind, name: str) -> Key:
        """Return the key of a row of this group."""
        return Key(PopulationOwner(self.number), kind, name)

    def size(self, name: str) -> Key:
        """Return the key of an integer of this group."""
        return self.key(Kind.SIZE, name)

    def pool(self, of: Resolved, name: str) -> Reached | None:
        """Return where a pool of a population is; None where it has none of this name."""
        return self.reached.get((pool_source(of[0], name), of[1]))

    def many(self, source: str) -> list[Resolved]:
        """Return the populations that a source stands for."""
        return [one for one in self.reached if one[0] == source]


def place_of(layout: Layout, number: int) -> Surroundings | None:
    """Return what the text of a group reads; None where it reads its own cells alone.

    Raises
    ------
    ModelError
        With all faults of texts that do not fit the axes.
    """
    group = layout.circuit.groups[number]
    if group.layer is None:
        return None
    reached: dict[Resolved, Reached] = {}
    for one in pointers_of(layout.circuit, number):
        source = layout.circuit.groups[one.group]
        more = source.model.every_field(), layout.member_sums.get(one.group)
        reached[one.source, one.place] = _reached(one, source.phase < group.phase, *more)
    own = {n: (field_key(number, n, v), v) for n, v in group.layer.fields.items()}
    binding = TextBinding(group, Surroundings(number, reached, own, {}))
    binding.run()
    return Surroundings(number, reached, own, binding.look_ups)


def _reached(
    one: Pointer, ahead: bool, fields: Mapping[str, Field], sums: MemberSum | None
) -> Reached:
    if isinstance(one.space, AxisGrid):
        axes, masked = tuple(one.space.axes.values()), one.space.mask is not None
        return Reached(one, one.space.names, axes, masked, ahead, fields, sums)
    return Reached(one, ("",), (Axis(one.count),), False, ahead, fields, sums)


def field_key(number: int, name: str, value: FieldValue) -> Key:
    """Return the key of a field of a group."""
    owner: Owner = FieldOwner(value.name) if value.name else PopulationOwner(number)
    return Key(owner, Kind.FIELD, value.name or name)


def place_rows(layout: Layout, place: Surroundings) -> Iterator[Array]:
    """Yield the rows of what a text reads, but for fields that others have, too."""
    group, real = layout.circuit.groups[place.number], layout.dtype
    for one in place.reached.values():
        for variable in one.pointer.reads if one.sums is None else ():
            segment = layout.segment(one.pointer.group, variable)
            key = place.size(f"{one.label} first {variable}")
            yield row(key, segment.start + one.pointer.first)
        points = np.cumprod([1, *(axis.count for axis in one.axes[:0:-1])])[::-1]
        for name, axis, stride in zip(one.names, one.axes, points.tolist(), strict=True):
            yield row(place.size(f"{one.label} {name}"), axis.count)
            yield row(place.size(f"{one.label} {name} stride"), stride)
            if axis.positions is not None:
                key = place.key(Kind.POSITION, f"{one.label} {name}")
                yield row(key, axis.positions)
                yield row(place.key(Kind.POSITION, f"{one.label} {name} step"), axis.step)
                period = axis.period or 0.0
                yield row(place.key(Kind.POSITION, f"{one.label} {name} period"), period)
        yield row(place.size(f"{one.label} count of all"), one.pointer.count)
        if isinstance(one.pointer.space, AxisGrid) and one.masked:
            numbers = one.pointer.space.numbers().ravel().astype(np.int32)
            yield row(place.key(Kind.INDEX, f"{one.label} cells"), numbers)
            assert one.pointer.space.mask is not None
            points = np.flatnonzero(one.pointer.space.mask).astype(np.int32)
            padded = np.resize(points, -(-len(points) // 64) * 64)
            yield row(place.key(Kind.INDEX, f"{one.label} points"), padded)
    for look_up in place.look_ups.values():
        if look_up.even:
            yield row(place.size(f"{look_up.name} offset"), int(look_up.first[0]))
            yield row(place.size(f"{look_up.name} stride"), look_up.stride)
            yield row(place.size(f"{look_up.name} length"), look_up.most)
        else:
            yield row(place.key(Kind.INDEX, f"{look_up.name} first"), look_up.first)
            yield row(place.key(Kind.INDEX, f"{look_up.name} last"), look_up.last)
    for name, (key, value) in place.fields.items():
        rule = group.model.every_field()[name]
        for number, axis_name in enumerate(rule.indexed):
            lengths = value.lengths(number)
            if not rule.many:
                yield row(place.size(f"{name}.{axis_name}"), lengths[0])
            else:
                each = np.array(lengths, np.int32)
                yield row(place.key(Kind.INDEX, f"{name}.{axis_name}"), each)
        if rule.many:
            sizes = [math.prod(shape) for shape in value.shapes[:-1]]
            first = np.cumsum([0, *sizes]).astype(np.int32)
            yield row(place.key(Kind.INDEX, f"{name} first"), first)
        if isinstance(key.owner, PopulationOwner):
            yield field_row(key, value, real, rule.unit)


def field_row(key: Key, value: FieldValue, real: np.dtype, unit: str) -> Array:
    """Return the row of a field; elements behind it may be read, too."""
    flat = value.values.reshape(-1)
    padded = np.concatenate([flat, np.zeros(SPARE, flat.dtype)])
    return row(key, padded, Role.SETTABLE, real, unit)


# -- texts and axes --------------------------------------------------------------------------------


@dataclass
class Scope:
    """What the variables of loops stand for.

    Attributes
    ----------
    populations : dict of str to Resolved
        Variable of a loop over populations -> the one that it stands for.
    """

    populations: dict[str, Resolved] = field(default_factory=dict)

    def resolved(self, name: str) -> Resolved:
        """Return which population a name stands for."""
        return self.populations.get(name, (name, 0))


class TextBinding:
    """Goes through the texts of a group: collects its look-ups, and what does not fit."""

    def __init__(self, group: Group, place: Surroundings) -> None:
        self.group, self.place = group, place
        self.look_ups: dict[str, LookUp] = {}
        self.faults: list[str] = []
        self.part: TextPart

    def run(self) -> None:
        """Go through all texts; raise ModelError with all faults."""
        texts = texts_of(self.group.model)
        texts.check()
        for part in texts.step():
            self.part = part
            self._visit(part.tree, Scope())
        raise_faults(self.faults)

    def fault(self, node: tree.Node, said: str) -> None:
        """Note a fault at a node."""
        assert self.group.layer is not None
        where = f"{self.part.where} of population {quoted(self.group.layer.population)}"
        self.faults.append(message(self.part.source, where, node.at, said))

    def _visit(self, node: Any, scope: Scope) -> None:
        if isinstance(node, tree.Each) and isinstance(node.over, tree.Name):
            for one in self.place.many(node.over.name):
                self._visit(node.body, Scope({**scope.populations, node.name: one}))
            return
        if isinstance(node, tree.Path):
            self._path(node, scope)
        elif isinstance(node, tree.Item) and len(node.path) > 1:
            self._item(node, scope)
        elif isinstance(node, tree.Call) and node.name in ("near", "within"):
            self._look_up(node, scope)
        elif isinstance(node, tree.Call) and node.name in ("position", "step"):
            self._positions(node.arguments[0], scope, node.name)
        for part in node.parts():
            self._visit(part, scope)

    def _path(self, node: tree.Path, scope: Scope) -> None:
        found = self.place.reached.get(scope.resolved(node.name))
        if found is None or node.name in self.place.fields:
            return
        name = node.names[-1]
        known = numbers_of(found)
        pool = self.place.pool(scope.resolved(node.name), name)
        if pool is not None:
            self._pool(node, pool, None)
        elif node.names[1] == "pos":
            self._positions(tree.Path(("here", name), at=node.at), scope, "here.pos")
        elif name in found.pointer.reads and len(node.names) == 2:
            axes = [*filter(None, found.names)] or ["its number"]
            self.fault(node, of_each_cell(node.names, axes))
        elif name not in found.names and name not in known:
            has_axes = ", ".join(filter(None, found.names)) or "none"
            has = ", ".join(known) or "none"
            said = f"population {quoted(found.pointer.population)} has no '{name}'"
            more = f"; its axes are {has_axes}, its fields {has}; {NOT_READ}"
            self.fault(node, f"{said}{more}")

    def _item(self, node: tree.Item, scope: Scope) -> None:
        found = self.place.reached.get(scope.resolved(node.name))
        pool = self.place.pool(scope.resolved(node.name), node.path[1])
        if pool is not None:
            self._pool(node, pool, len(node.indices))
        elif found is not None and len(node.indices) != len(found.names):
            axes = ", ".join(filter(None, found.names)) or "its number"
            wanted, given = len(found.names), len(node.indices)
            self.fault(node, f"'{'.'.join(node.path)}' takes {wanted} ({axes}), {given} given")

    def _pool(self, node: tree.Path | tree.Item, pool: Reached, given: int | None) -> None:
        """Note a pool of several groups of which it is not said which, or a wrong number."""
        own = given is None and node.name == "here"
        if not own and (given or 0) != len([*filter(None, pool.names)]):
            axes = ", ".join(filter(None, pool.names)) or "none"
            named = ".".join(node.path)
            said = f"the pool '{named}' takes its group: {named}[{axes}]"
            self.fault(node, f"{said}, {given or 'no index'} given")

    def _positions(self, node: Any, scope: Scope, what: str) -> bool:
        """Note an axis without positions; return whether it has some."""
        found = self.place.reached.get(scope.resolved(node.name))
        name = node.names[-1]
        if found is None:
            return False
        if name not in found.names:
            self._path(node, scope)
            return False
        if found.axis(name).positions is None:
            said = f"{what} needs positions, and '{name}' of {quoted(found.pointer.population)} "
            size = f"size({'.'.join(node.names)})"
            fix = f"has none; give it some (Axis.span, ...), or loop over {size}"
            self.fault(node, said + fix)
            return False
        return True

    def _look_up(self, node: tree.Call, scope: Scope) -> None:
        over, *given = node.arguments
        assert isinstance(over, tree.Path)
        if not self._positions(over, scope, node.name):
            return
        found = self.place.reached[scope.resolved(over.name)]
        if len(given) > 1:
            return
        name = over.names[1]
        own = tree.Path(("here", name), at=over.at)
        if not self._positions(own, scope, node.name):
            return
        amount = self.number(given[0], scope)
        if amount is None:
            return
        about, axis = self.place.reached[HERE].axis(name), found.axis(name)
        assert about.positions is not None
        try:
            if node.name == "near":
                first, last = axis.runs_near(about.positions, int(amount))
            else:
                first, last = axis.runs_within(about.positions, float(amount))
        except CircuitError as error:
            self.fault(node, str(error).removeprefix("axis: "))
            return
        key = look_up_name(node, found.label)
        self.look_ups[key] = look_up_of(key, axis, first, last)

    def number(self, node: tree.Expression, scope: Scope) -> float | int | None:
        """Return an expression of numbers and sizes; None where it has to be computed in a step."""
        if isinstance(node, tree.Number):
            return int(node.text) if node.whole else float(node.text)
        if isinstance(node, tree.Name):
            rule = self.group.model.every_field().get(node.name)
            fixed = rule is not None and rule.constant and not rule.indexed
            known: float | int = self.place.fields[node.name][1].values.item() if fixed else 0
            return known if fixed else None
        if isinstance(node, tree.Unary) and node.sign in "+-":
            value = self.number(node.value, scope)
            return None if value is None else -value if node.sign == "-" else value
        if isinstance(node, tree.Binary) and node.sign in "+-*/":
            left, right = self.number(node.left, scope), self.number(node.right, scope)
            if left is None or right is None:
                return None
            made: float | int = _ARITHMETIC[node.sign](left, right)
            return made
        if isinstance(node, tree.Call) and node.name in ("size", "step"):
            return self._of_axis(node, scope)
        return None

    def _of_axis(self, node: tree.Call, scope: Scope) -> float | int | None:
        over = node.arguments[0]
        if not isinstance(over, tree.Path):
            return None
        if over.name in self.place.fields:
            rule = self.group.model.every_field()[over.name]
            lengths = self.place.fields[over.name][1].lengths(rule.indexed.index(over.names[1]))
            which = 0 if over.of is None else self.number(over.of, scope)
            return lengths[int(which)] if which is not None and 0 <= which < len(lengths) else None
        found = self.place.reached.get(scope.resolved(over.name))
        if found is None or over.names[1] not in found.names:
            return None
        axis = found.axis(over.names[1])
        return axis.count if node.name == "size" else axis.step


_ARITHMETIC: dict[str, Any] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b if b else float("nan"),
}


def numbers_of(one: Reached) -> list[str]:
    """Return the numbers of a population that the texts of others can read."""
    layer, rules = one.pointer.layer, one.fields
    if layer is None:
        return []
    numbers = [name for name, value in layer.fields.items() if not value.values.ndim]
    return [name for name in numbers if not rules[name].private]
