"""Sums of graded values whose weights learn, as text: each connection is added, then it learns.

The same lines serve the lanes of a slice on a CPU and a thread of a GPU: each synapse belongs to
one target, and so to one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..model.component import Access
from ..model.rule_values import ValueRead
from ..model.text import block
from ..plan.arrays import Key, Kind, ReceptorOwner, depth, width
from ..plan.sums.learned import LearnedSum
from .component import ComponentText
from .cpu.stored_inputs import DATUM
from .cpu.sums import SumText
from .rules import RuleText


def learned_parts(component: ComponentText, access: Access) -> list[LearnedSumText]:
    """Return what writes the parts of a sum whose weights learn."""
    names = {*component.spec.learned_parts(access.name)}
    every = component.spec.accesses
    return [LearnedSumText(component, one) for one in every if one.name in names]


class LearnedSumText(SumText):
    """Writes how one set of connections is summed and changed.

    Parameters
    ----------
    component : ComponentText
        Of the targets.
    access : Access
        Named as the part of the sum.
    """

    def __init__(self, component: ComponentText, access: Access) -> None:
        super().__init__(component, access)
        plan = self.gather
        assert isinstance(plan, LearnedSum)
        self.plan, self.varied = plan, []
        self.owner = ReceptorOwner(component.spec.number, access.name)
        name = f"nd_rule_of_{access.name}"
        self.rule = RuleText(plan.rule, component.spec.dtype, name, plan.varied)
        self.sources = [v for v in self.rule.values("pre") if not self._carried(v)]

    def _carried(self, value: ValueRead) -> bool:
        return value.symbol not in self.plan.arrays

    @property
    def loops(self) -> bool:
        return True

    def structure(self) -> list[str]:
        """Return the structure of the rule."""
        return self.rule.structure()

    def storage(self) -> list[str]:
        """Declare how the connections are stored, the rule, and where its values are."""
        a, name = self.component.arguments, self.access.name
        lines = [self._array("start", "long long"), self._array("degree", "int")]
        if self.gather.tail:
            lines.append(self._array("tail", "long long"))
        lines += [
            f"real *const nd_{DATUM.format(one)}_{name} = {self._pointer(one, 'real')};"
            for one in self.plan.own
        ]
        learning = self._pointer("learning", "const long long")
        lines.append(f"const bool nd_learns_{name} = {learning}[0] != 0;")
        step = a.scalar(Key(self.owner, Kind.STEP, "dt_ms"))
        lines += self.rule.filled(a, self.owner, step, f"nd_rule_{name}")
        for value in self.sources:
            lines.append(self._array(value.symbol, "int"))
            lines += self._source_rows(value)
        for value in self.rule.values("post"):
            lines.append(self._target_row(value))
        return [*lines, *self._levels(), *self._due()]

    def _levels(self) -> list[str]:
        """Declare the values of modulators, which are variables of components."""
        given = []
        for name, one in self.plan.rule.levels().items():
            rows, number, length = self._ring(one.variable)
            element = self.component.arguments.integer(
                Key(self.owner, Kind.SIZE, f"element {name}")
            )
            given.append(f"nd_row({rows}, nd_k, {number}, {length})[{element}]")
        if not given:
            return []
        return [f"const real nd_level_{self.access.name}[] = {{{', '.join(given)}}};"]

    def _due(self) -> list[str]:
        """Declare which texts of intervals are due in step ``nd_k``."""
        lines = []
        for i, name in enumerate(self.plan.rule.every):
            steps = self.component.arguments.integer(Key(self.owner, Kind.SIZE, f"every {name}"))
            due = f"nd_k > 0 && nd_k % {steps} == 0"
            lines.append(f"const bool nd_due_{i}_{self.access.name} = {due};")
        return lines

    def slice_loop(self, earlier: list[SumText]) -> list[str]:
        """Return the loops over the connections of a slice; texts of intervals come first."""
        lane = "for (int nd_l = 0; nd_l < ND_LANES; ++nd_l)"
        at = "nd_t + nd_s + nd_l"
        intervals = [line for i in self.texts for line in self.interval(i, self._walk, at)]
        due = " || ".join(f"nd_due_{i}_{self.access.name}" for i in self.texts)
        first = block(f"if (({due}) && nd_learns_{self.access.name}) {lane}", intervals)
        return [*(first if due else []), *super().slice_loop(earlier)]

    @property
    def texts(self) -> range:
        """Numbers of the texts of intervals."""
        return range(len(self.plan.rule.every))

    def _walk(self, body: list[str]) -> list[str]:
        """Return a loop over the connections of lane ``nd_l``, at ``nd_p``, in the sum's order."""
        name, lane = self.access.name, "nd_slice * ND_LANES + nd_l"
        place = f"const long long nd_p = nd_start_{name}[nd_slice] + nd_j * ND_LANES + nd_l;"
        full = f"(nd_start_{name}[nd_slice + 1] - nd_start_{name}[nd_slice]) / ND_LANES"
        live = f"nd_j < {full} && nd_j < nd_degree_{name}[{lane}]"
        lines = block(f"for (long long nd_j = 0; {live}; ++nd_j)", [place, *body])
        if self.gather.tail:
            ends = f"nd_p = nd_tail_{name}[{lane}]; nd_p < nd_tail_{name}[{lane} + 1]"
            lines += block(f"for (long long {ends}; ++nd_p)", body)
        return lines

    def interval(
        self,
        i: int,
        walk: Callable[[list[str]], list[str]],
        target: str,
        before: Sequence[str] = (),
    ) -> list[str]:
        """Return the lines that run a text of an interval at all connections of a component.

        Parameters
        ----------
        i : int
            Number of the text.
        walk : callable
            Returns a loop over the connections, which stand at ``nd_p``.
        target : str
            Their component.
        before : sequence of str
            What comes before a number is stored.
        """
        rule, count = f"nd_rule_{self.access.name}", len(self.rule.sums[i])
        load = f"real nd_state[] = {{{', '.join(self.stored('nd_p'))}}};"
        store = [f"{at} = nd_state[{v}];" for v, at in enumerate(self.stored("nd_p"))]
        lines = [f"double nd_sums[{count or 1}] = {{0}};", f"real nd_totals[{count or 1}];"]
        add = [f"nd_sums[{v}] += {rule}.template summed<{i}>({v}, nd_state);" for v in range(count)]
        lines += walk([load, *add]) if count else []
        lines += [f"nd_totals[{v}] = (real)nd_sums[{v}];" for v in range(count)]
        values = self._values_at("nd_p", self.read("nd_p"), target)
        call = f"{rule}.template every<{i}>(nd_state, 0, nd_totals, nd_v);"
        lines += walk([load, *values, call, *before, *store])
        return block(f"if (nd_due_{i}_{self.access.name})", lines)

    def _ring(self, variable: str) -> tuple[str, str, str]:
        """Return the expressions of a ring, the number of its rows and their width."""
        a = self.component.arguments
        rows = a.pointer(self.component.spec.ring(variable), "real")
        return rows, a.integer(depth(variable)), a.integer(width(variable))

    def _source_rows(self, value: ValueRead) -> list[str]:
        """Declare the row, or the ring, of a variable of the sources."""
        at = f"{value.symbol}_{self.access.name}"
        rows, number, length = self._ring(value.variable(self.plan.variable))
        step = f"nd_k - {self._late(value)}"
        if self.gather.back is not None:
            row = f"nd_row({rows}, {step} - {self.size('back')}, {number}, {length})"
            return [f"const real *const nd_row_{at} = {row};"]
        return [
            f"const real *const nd_row_{at} = {rows};",
            f"const long long nd_depth_{at} = {number}, nd_width_{at} = {length};",
            f"const long long nd_now_{at} = nd_row_index({step}, nd_depth_{at});",
        ]

    def _target_row(self, value: ValueRead) -> str:
        """Declare the row of a variable of the targets, from their first one on."""
        variable = value.variable(self.plan.variable)
        rows, number, length = self._ring(variable)
        own = self.component.arguments.integer(self.component.spec.segment(variable, "start"))
        row = f"nd_row({rows}, nd_k - {self._late(value)}, {number}, {length}) + {own}"
        return f"const real *const nd_row_{value.symbol}_{self.access.name} = {row};"

    def _late(self, value: ValueRead) -> str:
        """Return by how many steps a value is seen later."""
        return self.component.arguments.integer(self.plan.late(self.owner, value))

    def source_value(self, value: ValueRead, place: str) -> str:
        """Return a value of the source of the connection at a place."""
        at = f"{value.symbol}_{self.access.name}"
        element = f"nd_{at}[{place}]"
        if self.gather.back is not None:
            return f"nd_row_{at}[{element}]"
        row = f"nd_wrap(nd_now_{at} - nd_back_{self.access.name}[{place}], nd_depth_{at})"
        return f"nd_row_{at}[{row} * nd_width_{at} + {element}]"

    def each(self) -> str:
        value = f"weight * {self.access.variable}"
        return f"(nd_sum_t)({value})" if self.access.accumulate == "double" else f"({value})"

    def numbers(self, place: str) -> list[str]:
        """Load the numbers of the synapse at a place."""
        own = self.stored(place)
        return [
            f"real nd_state[{len(own)}] = {{{', '.join(own)}}};",
            "const real weight = nd_state[0];",
        ]

    def change(self, place: str, target: str) -> list[str]:
        """Return the lines by which the synapse at a place learns; ``target``: its component."""
        call = f"nd_rule_{self.access.name}.on_step(nd_state, 0, nd_v);"
        return [*self._values_at(place, self.access.variable, target), call]

    def _values_at(self, place: str, carried: str, target: str) -> list[str]:
        """Declare ``nd_v``: what texts read of neurons and levels, at the connection at a place."""
        name, counts = self.access.name, [len(self.rule.values(s)) for s in ("pre", "post")]
        lines = [f"nd_values<{counts[0]}, {counts[1]}, {len(self.plan.rule.levels())}> nd_v;"]
        for i, value in enumerate(self.rule.values("pre")):
            given = carried if self._carried(value) else self.source_value(value, place)
            lines.append(f"nd_v.pre[{i}] = {given};")
        for i in range(len(self.plan.rule.levels())):
            lines.append(f"nd_v.shared[{i}] = nd_level_{name}[{i}];")
        for i, value in enumerate(self.rule.values("post")):
            lines.append(f"nd_v.post[{i}] = nd_row_{value.symbol}_{name}[{target}];")
        return lines

    def stored(self, place: str) -> list[str]:
        """Return where the numbers of the synapse at a place are."""
        return [self.datum(one, place) for one in self.plan.own]

    def add(self, value: str, place: str, live: str, rank: str = "") -> list[str]:
        holds = f"{live} && nd_learns_{self.access.name}"
        stored = enumerate(self.stored(place))
        return [
            f"const real {self.access.variable} = {value};",
            *self.numbers(place),
            f"nd_acc[nd_l] = {live} ? nd_acc[nd_l] + {self.each()} : nd_acc[nd_l];",
            *self.change(place, "nd_t + nd_s + nd_l"),
            *(f"{at} = {holds} ? nd_state[{i}] : {at};" for i, at in stored),
        ]
