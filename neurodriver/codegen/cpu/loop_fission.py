"""A long text as several loops over the components of a tile (loop fission).

A text with many states is one long pass of a loop for each vector of components. Such a pass has
more numbers than the processor has registers, and more instructions than it looks ahead. In shorter
loops the numbers stay in registers, and the next vector begins while the last one is not finished.
Between the loops, states wait in their own places, and other numbers in arrays of the tile. Each
component is computed by the same operations, so no bit changes.

An ``if`` whose condition is equal for all components has a loop of its own, which is left out in
steps in which the condition does not hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...model.language import assigned, tree, used
from ...model.language.words import FUNCTIONS, MORE, STEP
from ...model.text import block
from ..component import ComponentText
from ..finite import RangeFinite
from ..places import WORDS
from .shared_numbers import is_shared, shared_names
from .sums import SumText

OPERATIONS = 30
"""Operations of a loop."""

LEAST_STATES = 32
"""Texts with fewer states stay in one loop: processors have at most so many vector registers."""

_LIGHT = ("fabs", "abs", "fmin", "fmax", "floor", "ceil", "sqrt", "fma")
_OF_FUNCTION, _OF_DIVISION = 16, 4  # operations

_AT = "nd_t + nd_i"
_PLAIN = (tree.Declaration, tree.Assignment, tree.Increment, tree.If, tree.Body)


@dataclass(frozen=True)
class _Statement:
    """A statement, or the store of a value: its lines, what it reads or writes, and its length.

    ``where`` is a condition that is equal for all components: then the statement has a loop of its
    own, which is left out where the condition does not hold.
    """

    lines: list[str]
    names: set[str]
    changes: set[str]
    cost: int = 1
    declares: tree.Declaration | None = None
    where: str = ""


def in_loops(component: ComponentText, sums: list[SumText]) -> list[str]:
    """Return the loops over the components of one tile; nothing where one loop is better."""
    model, spec = component.model, component.spec
    body = component.texts["update"].tree
    plain = spec.substeps == 1 and not (model.draws_random() or spec.watch.debug)
    if not plain or RangeFinite(component).sums or not isinstance(body, tree.Body):
        return []
    if model.sub_units is not None or len(model.states) < LEAST_STATES:
        return []
    body = tree.Body(tuple(one for one in body.statements if not _is_empty(component, one)))
    whole = all(map(_splits, body.statements)) and not _declares_again(body)
    return _Loops(component, sums, body).lines() if whole else []


def _is_empty(component: ComponentText, node: tree.Statement) -> bool:
    """Whether a statement is a loop over populations of which the component has none."""
    if not isinstance(node, tree.Each) or not isinstance(node.over, tree.Name):
        return False
    place = component.spec.place
    return place is not None and not place.many(node.over.name)


def _declares_again(body: tree.Body) -> bool:
    """Whether a name of the text is declared once more within a statement."""
    outer = {id(one): one.name for one in body.statements if isinstance(one, tree.Declaration)}
    every = [one for one in body.walk() if isinstance(one, tree.Declaration)]
    return any(one.name in outer.values() for one in every if id(one) not in outer)


def _splits(node: tree.Statement) -> bool:
    """Whether loops may end before and after a statement."""
    for one in node.walk():
        listed = isinstance(one, tree.Each) and isinstance(one.over, tree.Name)  # is written out
        if isinstance(one, tree.Statement) and not (listed or isinstance(one, _PLAIN)):
            return False
        if isinstance(one, tree.Declaration) and one.size is not None:
            return False
        if isinstance(one, tree.Assignment | tree.Increment):
            if not isinstance(one.target, tree.Name):
                return False
    return True


class _Loops:
    """Writes the loops of one text."""

    def __init__(self, component: ComponentText, sums: list[SumText], body: tree.Body) -> None:
        self.component, self.sums = component, sums
        self.spec, self.model = component.spec, component.model
        self.functions = {one.name: one for one in component.texts.functions}
        self.flags, self.body = component.flags(), body
        self.locals: dict[str, tree.Declaration] = {}
        statements = [*self._terms(), *self._statements(body)]
        self.locals = {one.declares.name: one.declares for one in statements if one.declares}
        statements += self._stores(statements)
        self.loops = _shared_out(statements)
        if self.loops[-1][0].where:  # what follows the last loop is done in each step
            self.loops.append([_Statement([], set(), set())])

    # -- statements -----------------------------------------------------------------------------

    def _terms(self) -> Iterator[_Statement]:
        translator, texts = self.component.translator, self.component.texts
        for name in self.model.terms:
            part = f"terms['{name}']"
            node = texts[part].tree
            declared = tree.Declaration("real", name, const=True)
            line = f"const real {name} = {translator.value(part)};"
            yield _Statement([line], used(node), {name}, self._cost(node), declared)

    def _statements(self, body: tree.Body) -> Iterator[_Statement]:
        translator = self.component.translator
        translator.begin(self.component.texts["update"].checked)
        shared, changed = shared_names(self.component), {*self.model.terms}
        for one in body.statements:
            declares = one if isinstance(one, tree.Declaration) else None
            lines, names = translator.statement(one), used(one)
            changes = {declares.name} if declares else assigned(one)
            if declares and not lines:
                shared.add(declares.name)
                continue
            where = ""
            if (
                isinstance(one, tree.If)
                and not one.other
                and is_shared(self.component, one.condition, shared)
            ):
                where, lines = translator.expression(one.condition), translator.statements(one.then)
                for name in sorted(changes - changed):  # where nothing changes, a copy is left
                    if not self._place(name).startswith("nd_s_"):
                        yield _Statement([], {name}, {name})
            changed |= changes
            yield _Statement(lines, names, changes, self._cost(one), declares, where)

    def _stores(self, statements: list[_Statement]) -> Iterator[_Statement]:
        """Yield what fills rows that no statement fills."""
        changed = {name for one in statements for name in one.changes}
        for name in self.model.updates:
            place = self._place(name)
            if place and (name in self.model.outputs or name not in changed):
                value = self.component.output(name)
                names = {name}
                if name in self.model.outputs:
                    names = used(self.component.texts[f"outputs['{name}']"].tree)
                yield _Statement([f"{place} = {value};"], names, set())

    def _cost(self, node: tree.Node) -> int:
        """Return about how many operations a text has."""
        cost = 0
        for one in node.walk():
            if isinstance(one, tree.Call) and one.name in self.functions:
                cost += self._cost(self.functions[one.name].body)
            elif isinstance(one, tree.Call):
                heavy = one.name in (*FUNCTIONS, *MORE) and one.name not in _LIGHT
                cost += _OF_FUNCTION if heavy else 1
            elif isinstance(one, tree.Binary) and one.sign in "/%":
                cost += _OF_DIVISION
            else:
                cost += isinstance(one, tree.Binary | tree.Unary | tree.Ternary)
        return cost + 1

    # -- loops ----------------------------------------------------------------------------------

    def lines(self) -> list[str]:
        """Return the loops, with the arrays in which numbers wait between them."""
        count, head = self._count()
        loops = [self._loop(i, count) for i in range(len(self.loops))]
        waiting = [n for n in (*self.locals, *self.flags) if self._waits(n)]
        head += [f"alignas(64) {self._kind(n)} nd_l_{n}[ND_TILE];" for n in waiting]
        return [*head, *(line for loop in loops for line in loop)]

    def _count(self) -> tuple[str, list[str]]:
        """Return how many passes a loop has, and what declares it.

        Where nothing beside a component's own values is read, whole slices are computed. The last
        one may be longer than the population, and so is its memory: then no loop needs a remainder
        that is shorter than a vector.
        """
        if not self._alone():
            return "nd_m", []
        return "nd_whole", ["const int nd_whole = (nd_m + ND_LANES - 1) / ND_LANES * ND_LANES;"]

    def _alone(self) -> bool:
        """Whether components are read and written at their own place only."""
        place = self.spec.place
        if self.model.accesses or (self.spec.every, self.spec.first) != (1, 0):
            return False
        if place is None:
            return True
        reached = place.reached.values()
        if any(one.masked or len(one.axes) > 1 for one in reached):
            return False
        if any(one.sums is not None and one.sums.groups.count > 1 for one in reached):
            return False
        return all(self._here(one) for one in self.body.walk())

    def _here(self, node: tree.Node) -> bool:
        """Whether a part of the text reads no other place than a component's own."""
        if isinstance(node, tree.Call):
            return node.name not in WORDS
        if isinstance(node, tree.Item):
            own = tree.Path(("here", *self.model.axes))
            return node.ago is None and node.of is None and node.indices == (own,)
        return not isinstance(node, tree.Element)

    def _loop(self, number: int, count: str) -> list[str]:
        """Return one loop: loads, statements, stores."""
        component, loop = self.component, self.loops[number]
        names = {name for one in loop for name in one.names | one.changes}
        declared = {one.declares.name for one in loop if one.declares}
        changed = {name for one in loop for name in one.changes}
        lines = component.here(_AT)
        for name in component.numbers:
            if name in names and name not in self.spec.uniform:
                lines.append(f"const real {name} = nd_p_{name}[{_AT}];")
        for one in self.sums:
            if one.symbol in names:
                lines.append(f"const real {one.symbol} = {one.direct(f'({_AT})', 'nd_i')};")
        lines += self._given(names)
        loaded = (*self.model.states, *self.flags, *self.locals)
        lines += [self._load(n, number) for n in loaded if n in names and n not in declared]
        lines += [line for one in loop for line in one.lines]
        stored = [n for n in loaded if n in changed]
        lines += [self._store(n) for n in stored if n in self.model.states or self._kept(n, number)]
        if number == len(self.loops) - 1:
            lines += [line for one in self.sums for line in one.after()]
        made = ["ND_SIMD", *block(f"for (int nd_i = 0; nd_i < {count}; ++nd_i)", lines)]
        if not lines or not loop[0].where:
            return made if lines else []
        step = self._given(names & {STEP})  # the condition stands outside the loop
        return block("", [*step, *block(f"if ({loop[0].where})", made)])

    @staticmethod
    def _given(names: set[str]) -> list[str]:
        known = {"substep": "0", "substeps": "1", "step": "(int)nd_k"}
        return [f"const int {n} = {value}; (void){n};" for n, value in known.items() if n in names]

    def _load(self, name: str, number: int) -> str:
        """Return the declaration of a number that an earlier loop or step has left."""
        changed = self._changed_before(name, number)
        if name in self.model.states:
            if changed:
                return f"real {name} = {self._place(name)};"
            old = "nd_old" if name in self.spec.published else "nd_s"
            return f"real {name} = {old}_{name}[{_AT}];"
        if name in self.flags and not changed:
            return f"real {name} = 0;"
        kind = self.locals[name].type if name in self.locals else "real"
        value = f"{self._place(name)}{' != 0' if kind == 'bool' else ''}"
        return f"{kind} {name} = {value};"

    def _store(self, name: str) -> str:
        kind = self.locals[name].type if name in self.locals else "real"
        return f"{self._place(name)} = {f'{name} ? 1 : 0' if kind == 'bool' else name};"

    def _place(self, name: str) -> str:
        """Return where a number waits, and at last stays; nothing where it does neither."""
        if name in self.locals:
            return f"nd_l_{name}[nd_i]"
        if name in self.component.events:
            return f"nd_out_{name}[nd_i]"
        if name in self.spec.published:
            return f"nd_new_{name}[{_AT}]"
        if name in self.model.states:
            return f"nd_s_{name}[{_AT}]"
        return f"nd_l_{name}[nd_i]" if name in self.flags else ""

    def _kind(self, name: str) -> str:
        """Return the type of the array in which a number waits; truths are numbers there."""
        return "int" if name in self.locals and self.locals[name].type == "int" else "real"

    def _kept(self, name: str, number: int) -> bool:
        """Whether what a loop leaves of a number is used."""
        last = name in self.flags and name in self.spec.published
        return last or any(name in one.names for loop in self.loops[number + 1 :] for one in loop)

    def _waits(self, name: str) -> bool:
        """Whether a number has to wait in an array of the tile."""
        changed = (i for i, loop in enumerate(self.loops) if any(name in s.changes for s in loop))
        waits = any(self._kept(name, i) for i in changed)
        return waits and self._place(name).startswith("nd_l_")

    def _changed_before(self, name: str, number: int) -> bool:
        return any(name in one.changes for loop in self.loops[:number] for one in loop)


def _shared_out(statements: list[_Statement]) -> list[list[_Statement]]:
    """Return the statements of each loop, which have about the same number of operations."""
    total = sum(one.cost for one in statements if not one.where)
    count, before = max(total // OPERATIONS, 1), 0
    loops: list[list[_Statement]] = [[]]
    share = 0
    for one in statements:
        mine = min(before * count // total, count - 1)
        if one.where or mine > share or (loops[-1] and loops[-1][-1].where):
            loops.append([])
        loops[-1].append(one)
        share = mine
        before += 0 if one.where else one.cost
    return [loop for loop in loops if loop]
