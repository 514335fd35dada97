"""``PlaceHead``: a kernel's declarations of other cells, axes and fields, and their names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..model.language import tree
from ..plan.arrays import Kind, depth, width
from ..plan.look_ups import LookUp
from ..plan.member_sums import MemberSum
from ..plan.places import HERE, Reached, Resolved
from .kernel import Arguments

if TYPE_CHECKING:
    from ..plan.unit import KernelSpec
    from .translate import Translator


@dataclass(frozen=True)
class Loop:
    """A loop over the cells of a look-up.

    Attributes
    ----------
    name : str
        Of its variable.
    most : int or None
        Cells of the longest run, where that is known.
    inside : bool
        Whether every run exists as a whole.
    """

    name: str
    reached: Reached
    axis: str
    most: int | None
    inside: bool


@dataclass(frozen=True)
class Counted:
    """The variable of a loop that counts from 0 up to a number that is known."""

    count: int


Meaning = Loop | Counted | Resolved | None
"""What a name stands for inside a loop; None where that is not known."""


class PlaceHead:
    """Declares what one kernel reads beside its own components.

    Parameters
    ----------
    translator : Translator
        Writes the expressions inside.
    """

    def __init__(self, spec: KernelSpec, arguments: Arguments, translator: Translator) -> None:
        assert spec.place is not None
        self.spec, self.place = spec, spec.place
        self.arguments, self.translator = arguments, translator
        self.rules = spec.model.every_field()
        self.scopes: list[dict[str, Meaning]] = []
        self.beside = ""
        """Axis along which the cells of a thread lie: ``nd_o`` cells behind ``nd_h_first``."""

    # -- what does not depend on the component ----------------------------------------------------

    def head(self) -> list[str]:
        """Declare rows, sizes, positions, tables and fields."""
        reached = self.place.reached.values()
        lines = [line for one in reached for line in self._reached(one)]
        lines += [line for one in reached if one.sums for line in self._value(one, one.sums)]
        for one in self.place.look_ups.values():
            lines += self._look_up(one)
        return [*lines, *(line for name in self.place.fields for line in self._field(name))]

    def _int(self, name: str) -> str:
        return f"(int){self.arguments.integer(self.place.size(name))}"

    def _reached(self, one: Reached) -> list[str]:
        a, label, lines = self.arguments, one.label, []
        for name, axis in zip(one.names, one.axes, strict=True):
            lines.append(f"const int nd_n_{label}_{name} = {self._int(f'{label} {name}')};")
            stride = self._int(f"{label} {name} stride")
            lines.append(f"const int nd_m_{label}_{name} = {stride};")
            if axis.positions is not None:
                pointer = a.pointer(
                    self.place.key(Kind.POSITION, f"{label} {name}"), "const double"
                )
                lines.append(f"const double *nd_x_{label}_{name} = {pointer};")
        if one.masked:
            for what in ("cells", "points"):
                pointer = a.pointer(self.place.key(Kind.INDEX, f"{label} {what}"), "const int")
                lines.append(f"const int *nd_{what}_{label} = {pointer};")
        if one.sums is not None:
            return [*lines, *self._sums(one, one.sums)]
        for variable in one.pointer.reads:
            row = self._row(one, variable, f"nd_k + {int(one.ahead)}")
            lines.append(f"const real *__restrict nd_at_{label}_{variable} = {row};")
        return lines

    def _sums(self, one: Reached, pool: MemberSum) -> list[str]:
        """Declare where the integers of a pool are that its members add to."""
        sums = self.arguments.pointer(pool.sums, "long long")
        sizes = self.arguments.pointer(pool.sizes, "const int")
        count = self._int(f"{one.label} count of all")
        at = f"nd_sums_of({sums}, nd_k + {int(pool.ahead)}, {count})"
        lines = [
            f"const long long *nd_sums_{one.label} = {at};",
            f"ND_FIXED(int) nd_members_{one.label} = {sizes};",
        ]
        if pool.groups.count > 1:
            return lines
        label = one.label
        return [
            *lines,
            f"const long long nd_units_{label} = nd_load_sum(nd_sums_{label});",
            f"const int nd_many_{label} = nd_members_{label}[0]; (void)nd_many_{label};",
        ]

    @staticmethod
    def _value(one: Reached, pool: MemberSum) -> list[str]:
        """Compute the value of a pool without groups, once for all components.

        The integers of all such pools are loaded before, so that a GPU waits for them once.
        """
        if pool.groups.count > 1:
            return []
        units, members = f"nd_units_{one.label}", f"nd_many_{one.label}"
        value = _reduced(pool, units, members)
        return [f"const real nd_pool_{one.label} = {value}; (void)nd_pool_{one.label};"]

    @staticmethod
    def reduced(one: Reached, pool: MemberSum, cell: str) -> str:
        """Return the value of a group of a pool that its members add to."""
        units = f"nd_load_sum(nd_sums_{one.label} + ({cell}))"
        return _reduced(pool, units, f"nd_members_{one.label}[{cell}]")

    def _row(self, one: Reached, variable: str, step: str) -> str:
        """Return where the cells of a population begin in the row of a step."""
        a = self.arguments
        rows = a.pointer(self.spec.ring(variable), "real")
        shape = f"{a.integer(depth(variable))}, {a.integer(width(variable))}"
        first = self._int(f"{one.label} first {variable}")
        return f"nd_row({rows}, {step}, {shape}) + {first}"

    def _look_up(self, one: LookUp) -> list[str]:
        if one.even:
            return []
        number = self._number(one)
        lines = []
        for what in ("first", "last"):
            key = self.place.key(Kind.INDEX, f"{one.name} {what}")
            pointer = self.arguments.pointer(key, "const int")
            lines.append(f"ND_FIXED(int) nd_{what}_{number} = {pointer};")
        return lines

    def _number(self, one: LookUp) -> int:
        return list(self.place.look_ups).index(one.name)

    def _field(self, name: str) -> list[str]:
        key, value = self.place.fields[name]
        kind = "int" if self.rules[name].whole else "real"
        pointer = self.arguments.pointer(key, f"const {kind}")
        if not value.values.ndim:
            return [f"const {kind} {name} = {pointer}[0]; (void){name};"]
        lines = [f"ND_FIXED({kind}) nd_f_{name} = {pointer};"]
        if value.shapes:
            tables = {f"nd_b_{name}": f"{name} first"}
            tables |= {f"nd_n_{name}_{a}": f"{name}.{a}" for a in self.rules[name].indexed}
            for table, row in tables.items():
                pointer = self.arguments.pointer(self.place.key(Kind.INDEX, row), "const int")
                lines.append(f"ND_FIXED(int) {table} = {pointer};")
            return lines
        for axis in self.rules[name].indexed:
            lines.append(f"const int nd_n_{name}_{axis} = {self._int(f'{name}.{axis}')};")
        return lines

    # -- the own cell ---------------------------------------------------------------------------

    def here(self, at: str) -> list[str]:
        """Declare the indices of the component at a place in memory."""
        own = self.place.reached.get(HERE)
        if own is None:
            return []
        # terms are cast one by one: then a compiler sees neighbours as neighbours, and uses vectors
        point = " + ".join(f"(int)({term})" for term in at.split(" + "))
        point = f"nd_points_here[{at}]" if own.masked else point
        lines = [f"const int nd_q = {point};"]
        for number, name in enumerate(own.names):
            index = f"nd_q / nd_m_here_{name}" if number < len(own.names) - 1 else "nd_q"
            index = f"({index}) % nd_n_here_{name}" if number else index
            lines.append(f"const int nd_h_{name} = {index}; (void)nd_h_{name};")
        return lines

    # -- names ----------------------------------------------------------------------------------

    def _find(self, name: str) -> Meaning:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    def _reached_by(self, name: str) -> Reached:
        found = self._find(name)
        return self.place.reached[found if isinstance(found, tuple) else (name, 0)]

    def _loop(self, node: tree.Call) -> Loop:
        (one,) = node.arguments
        assert isinstance(one, tree.Name)
        loop = self._find(one.name)
        assert isinstance(loop, Loop)
        return loop

    # -- pools ----------------------------------------------------------------------------------

    def pool_of(self, node: tree.Path | tree.Item) -> Reached | None:
        """Return where the pool is that a text reads; None where it reads something else."""
        found = self._find(node.name)
        population = found if isinstance(found, tuple) else (node.name, 0)
        return self.place.pool(population, node.path[1]) if len(node.path) == 2 else None

    def own_pool(self, node: tree.Path) -> tree.Item | None:
        """Return ``here.activity`` as the value of a group; None where it is no pool."""
        pool = self.pool_of(node)
        if pool is None:
            return None
        own = self.place.reached.get(HERE)
        indices = [
            tree.Path(("here", name))
            if own and name in own.names
            else tree.Cast("int", tree.Name(name))
            for name in filter(None, pool.names)
        ]
        return tree.Item(node.names, tuple(indices))

    def read_by(self, node: tree.Item) -> tuple[Reached, str]:
        """Return the population that has a value, and the variable."""
        pool = self.pool_of(node)
        if pool is not None:
            return pool, pool.pointer.reads[0]
        return self._reached_by(node.name), node.path[1]

    def is_inside(self, node: tree.Expression, count: int) -> bool:
        """Whether an index is known to be one of ``count``."""
        if isinstance(node, tree.Number):
            return node.whole and int(node.text) < count
        if isinstance(node, tree.Name):
            loop = self._find(node.name)
            if isinstance(loop, Counted):
                return loop.count <= count
            return isinstance(loop, Loop) and loop.reached.axis(loop.axis).count <= count
        if isinstance(node, tree.Path) and len(node.names) == 2 and node.name == "here":
            own = self.place.reached[HERE]
            return node.names[1] in own.names and own.axis(node.names[1]).count <= count
        if isinstance(node, tree.Call) and node.name == "place":
            loop = self._loop(node)
            return loop.most is not None and loop.most <= count
        return False

    def is_beside(self, index: tree.Expression, count: int) -> bool:
        """Whether an index is that of a thread's own cell, along the axis of its cells."""
        return index == tree.Path(("here", self.beside)) and self.is_inside(index, count)


def _reduced(pool: MemberSum, units: str, members: str) -> str:
    """Return the value of a group whose members have added so many units."""
    given = f"{units}, (real){pool.multiple!r}"
    return f"nd_mean_of({given}, {members})" if pool.mean else f"nd_sum_of({given})"
