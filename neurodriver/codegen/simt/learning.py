"""Connections that learn, on a GPU: the plan -> CUDA text around ``learning.cuh``."""

from __future__ import annotations

import numpy as np

from ...model.rule_values import ValueRead
from ...model.synapse_traces import anchors
from ...model.text import block, indent
from ...plan.arrays import Key, Kind, ReceptorOwner, activity, depth, width
from ...plan.spikes.fanout import PIECE
from ...plan.spikes.learning import LearningPlan
from ...plan.sums.gather import learning_part
from ...plan.unit import KernelSpec
from ..kernel import Arguments, Kernel
from ..rules import RuleText
from .learning_intervals import IntervalsText

WARP = 32
_CODES = {"uint16": "unsigned short", "int32": "int"}


def learning_kernel(spec: KernelSpec, access: str, number: int) -> Kernel:
    """Return the struct ``learning`` of one set of connections that learn.

    Parameters
    ----------
    spec : KernelSpec
        Of the targets.
    access : str
        Whose slots take what is sent.
    number : int
        Which of the sets of this access.
    """
    text = _LearningText(spec, access, number)
    lines = text.lines()
    a = text.arguments
    name = f"{spec.model.__name__} {access}, {text.plan.name or number}"
    tables = tuple(a.pointers), tuple(a.integers), tuple(a.scalars)
    return Kernel(
        name,
        "\n".join(lines),
        *tables,
        learns=True,
        every=bool(text.plan.rule.every),
        sums=text.intervals.every if text.intervals.apart else (),
        waiting=text.waiting,
        warps=text.warps,
        pieces=text.pieces,
        looked=text.looked,
    )


class _LearningText:
    """Writes the struct of one plan."""

    def __init__(self, spec: KernelSpec, access: str, number: int) -> None:
        plan = spec.gathers[access].learning[number]
        assert isinstance(plan, LearningPlan)
        self.spec, self.plan, self.access = spec, plan, access
        self.main = spec.gathers[access]
        self.owner = ReceptorOwner(spec.number, learning_part(access, number))
        self.arguments = Arguments()
        self.rule = RuleText(plan.rule, spec.dtype, "nd_rule_text", plan.varied)
        self.intervals = IntervalsText(plan, self.rule)
        (self.variable,) = (a.variable for a in spec.model.accesses if a.name == access)

    def _pointer(self, name: str, kind: str) -> str:
        return self.arguments.pointer(self.plan.key(self.owner, name), kind)

    def _size(self, name: str) -> str:
        return f"(int){self.arguments.integer(Key(self.owner, Kind.SIZE, name))}"

    @property
    def waiting(self) -> int:
        """Bytes of an ``nd_waiting``, a multiple of 16."""
        word = 4 if self.spec.dtype == "float32" else 8
        return PIECE * (word * len(self.rule.own) + 13)

    @property
    def warps(self) -> int:
        """Warps that find something to do."""
        plan = self.plan
        return -(-max(-(-plan.edges // 4), plan.rows_of_sources, len(self.reached)) // WARP)

    @property
    def reached(self) -> range:
        """Places of targets from the first to the last one that has a synapse, by whole warps."""
        has = np.flatnonzero(self.plan.degree)
        first, last = (int(has[0]), int(has[-1])) if len(has) else (0, -1)
        return range(first // WARP * WARP, min((last // WARP + 1) * WARP, self.spec.count))

    @property
    def looked(self) -> int:
        """Bytes of a warp's shared memory for the pieces and the doses that it looks at."""
        return WARP * (32 + 4 * anchors(self.plan.rule))

    @property
    def pieces(self) -> int:
        """Pieces, where turns of one step need no scan; else 0: see ``learning_direct.cuh``."""
        plan, doses = self.plan, (f"released {name}" for name in self.plan.rule.doses())
        if plan.rule.on_step or (plan.rule.every and not self.intervals.wait):
            return 0
        if plan.rule.first == "spike" and not plan.arrays["block"][:, 5].all():
            return 0  # an arrival has to know the target's spikes of the same row
        few = all(plan.limits.get(name, 0) <= WARP for name in doses)
        return few * plan.rows_of_sources * -(-plan.limits["most"] // plan.piece)

    def lines(self) -> list[str]:
        """Return the rule, its intervals, and the struct."""
        slot = "long long" if self.main.limits["wide"] else "int"
        code = _CODES[self.plan.arrays["code"].dtype.name]
        beside = self.plan.piece // WARP
        synapses = f"nd_synapses<{self.rule.name}, {self.plan.depth}, {beside}>"
        kind = f"nd_learning<{synapses}, nd_intervals, {code}, {slot}>"
        made = ["const auto *nd_a = nd_steady;", *self._made(code, slot), "return nd_l;"]
        members = [
            f"typedef {kind} type;",
            "static ND_MEMBER int first_warp() { return ND_FIRST_WARP; }",
            "static ND_MEMBER int warps() { return ND_WARPS; }",
            "static ND_MEMBER int4 *nd_looked()",
            "{ return (int4 *)((unsigned char *)nd_waiting_room() + ND_LOOKED_AT); }",
            *block("static ND_MEMBER type made()", made),
        ]
        return [
            *self.rule.structure(),
            *self.intervals.structure(),
            *["struct learning {", *indent(members), "};"],
        ]

    def _made(self, code: str, slot: str) -> list[str]:
        """Return the lines that fill the structure."""
        a, rule = self.arguments, self.plan.rule
        step = a.scalar(Key(self.owner, Kind.STEP, "dt_ms"))
        given = {
            "synapses.rule": "nd_rule",
            "synapses.places": self._size("places"),
            "synapses.spikes": self._pointer("spikes", "int"),
            "synapses.back": "0",
            "scanned": self._pointer("scanned", "const int2"),
            "about": self._pointer("about", "const int4"),
            "first_warp": "first_warp()",
            "warps": "warps()",
            "rows": self._size("rows"),
            "longest": self._size("most"),
            "unswept": self._pointer("unswept", "int"),
            "longest_back": self._size("longest back"),
            "code": self._pointer("code", f"const {code}"),
            "arrivals": self._pointer("arrivals", "int"),
            "next_arrivals": self._pointer("next arrivals", "int"),
            "found": self._pointer("found", "unsigned"),
            "pieces": self._pointer("pieces", "uint4"),
            "most_pieces": self._size("pieces"),
            "swept": self._pointer("swept_step", "long long"),
            "counts": self._pointer("clamped", "unsigned long long"),
            "learns": f"{self._pointer('learning', 'const long long')}[0] != 0",
            "slots": a.pointer(self.spec.connection(self.access, "slots"), slot),
            "turns": f"(unsigned){a.integer(self.spec.size(self.access, 'depth'))}",
            "width": f"(unsigned){a.integer(self.spec.size(self.access, 'ahead'))}",
            "largest": a.scalar(Key(self.owner, Kind.PARAMETER, "largest sent")),
            "level": self._pointer("level", "real"),
            "dosed": self._pointer("dosed", "int"),
            "levels": self._pointer("levels", "real") if self.intervals.wait else "nullptr",
            "doses": self._pointer("doses", "long long"),
            "looked": "nd_looked()",
            "looked_doses": "(int *)(nd_looked() + 2 * ND_WARP)",
            "dosing": self._pointer("dosing", "const long long") if anchors(rule) else "nullptr",
            "sums": self._pointer("sums", "long long") if any(self.rule.sums) else "nullptr",
            **self._units(),
            **self._events("from", self.variable),
            **self._targets(),
        }
        given |= self._values()
        for i, name in enumerate(self.plan.own):
            given[f"own[{i}]"] = self._pointer(name, "real")
        given |= self._doses()
        for i, name in enumerate(rule.post):
            given[f"synapses.post[{i}]"] = self._pointer(name, "real")
        for i, name in enumerate(rule.pre):
            given[f"pre[{i}]"] = self._pointer(name, "real")
            given[f"next_pre[{i}]"] = self._pointer(f"next {name}", "real")
        return [
            *self.rule.filled(a, self.owner, step, "nd_rule"),
            "type nd_l;",
            *[f"nd_l.{name} = {value};" for name, value in given.items()],
        ]

    def _doses(self) -> dict[str, str]:
        """Return where the components are whose spikes are doses."""
        out = {}
        names = [*self.plan.rule.doses(), ""][: anchors(self.plan.rule)]
        for i, name in enumerate(names):
            released = name in self.plan.rule.released_by
            elements = self._pointer(f"released {name}", "const int") if released else "nullptr"
            out[f"released[{i}]"] = elements
            out[f"releasing[{i}]"] = self._size(f"released {name}") if released else "0"
        return out

    def _units(self) -> dict[str, str]:
        """Return where the multiples of units come from."""
        if "per_unit" in self.plan.arrays:
            return {"per_unit": self._pointer("per_unit", "const real"), "one_per_unit": "0"}
        one = self.arguments.scalar(self.plan.key(self.owner, "one_per_unit"))
        return {"per_unit": "nullptr", "one_per_unit": one}

    def _events(self, member: str, variable: str) -> dict[str, str]:
        """Return where the rows of a variable of events are."""
        a = self.arguments
        return {
            f"{member}.ring": a.pointer(self.spec.ring(variable), "const real"),
            f"{member}.active": a.pointer(activity(variable, "active"), "const long long"),
            f"{member}.depth": a.integer(depth(variable)),
            f"{member}.width": a.integer(width(variable)),
        }

    def _values(self) -> dict[str, str]:
        """Return where the values of neurons are that texts read."""
        read = {
            "synapses.value": self.plan.rule.values_read("on_arrival"),
            "synapses.behind": self.rule.values("post"),
            "before": self.rule.values("pre"),
        }
        out = {
            f"{member}[{i}]": self._rows_of(value)
            for member, values in read.items()
            for i, value in enumerate(values)
        }
        for i, (name, one) in enumerate(self.plan.rule.levels().items()):
            out[f"shared[{i}]"] = self._rows(one.variable, "0", self._size(f"element {name}"))
        for i, value in enumerate(read["before"]):
            out[f"seen[{i}]"] = self._pointer(f"seen {value.symbol}", "const int")
        return out

    def _rows_of(self, value: ValueRead) -> str:
        """Return the rows of a variable that a text reads; those of targets from their first on."""
        variable, first = value.variable(self.variable), "0"
        if value.side == "post":
            first = f"(int){self.arguments.integer(self.spec.segment(variable, 'start'))}"
        return self._rows(variable, self._size(f"late {value.symbol}"), first)

    def _rows(self, variable: str, late: str, first: str) -> str:
        """Return the rows of a variable, from their element ``first`` on."""
        a, event = self.arguments, self.spec.is_event(variable)
        rows = [
            a.pointer(self.spec.ring(variable), "const real"),
            a.pointer(activity(variable, "active"), "const long long") if event else "nullptr",
            a.integer(depth(variable)),
            a.integer(width(variable)),
            late,
            first,
        ]
        return f"nd_values_of{{{', '.join(rows)}}}"

    def _targets(self) -> dict[str, str]:
        """Return where the spikes of the targets are."""
        if not self.plan.variable:
            return {"to.ring": "nullptr", "targets": "0", "first_place": "0", "first_target": "0"}
        start = self.arguments.integer(self.spec.segment(self.plan.variable, "start"))
        return {
            **self._events("to", self.plan.variable),
            "targets": f"{len(self.reached)}",
            "first_place": f"{self.reached.start}",
            "first_target": f"(int){start}",
        }
