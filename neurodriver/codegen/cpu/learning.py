"""Connections that learn -> C++ text: how their spikes are found, and how synapses are advanced."""

from __future__ import annotations

from ...model.component import Access
from ...model.rule_values import ValueRead
from ...model.synapse_traces import anchors
from ...model.text import block
from ...plan.arrays import (
    CUTS,
    THREADS,
    Key,
    Kind,
    ReceptorOwner,
    activity,
    depth,
    width,
)
from ...plan.spikes.learning import LISTED, LearningPlan
from ...plan.spikes.thread_shares import SharesByThread
from ...plan.sums.gather import learning_part
from ..component import ComponentText
from ..rule_intervals import drifts_to_intervals
from ..rules import RuleText
from .fanout import FanoutText
from .spike_search import each_event, each_spike


def learning_texts(main: FanoutText) -> list[LearningText]:
    """Return what writes the connections that learn, into one access."""
    return [LearningText(main.component, main, i) for i in range(len(main.gather.learning))]


_CODES = {"uint16": "unsigned short", "int32": "int"}

_OF_SOURCES = {
    "known": ("known spikes", "int", "2 * nd_l.listed.sources"),
    "traces": ("known traces", "real", "2 * {traces} * nd_l.listed.sources"),
    "before": ("spikes before", "int", "2 * nd_l.listed.sources"),
    "traces_before": ("traces before", "real", "2 * {traces} * nd_l.listed.sources"),
    "spike": ("listed spikes", "int", "4 * nd_l.listed.lists * nd_l.listed.sources"),
    "spike_traces": (
        "listed traces", "real", "2 * {traces} * nd_l.listed.lists * nd_l.listed.sources"
    ),
    "count": ("listed counts", "long long", "(nd_l.listed.lists + 7) / 8 * 8"),
}  # fmt: skip
"""Member of `nd_source_spikes` -> array of the plan, its type, and numbers of a thread."""


class LearningText:
    """Writes what happens at the synapses of one set of connections that learn.

    Parameters
    ----------
    component : ComponentText
        Of the targets.
    main : FanoutText
        Of the access whose slots take what is sent.
    number : int
        Which of the sets of this access.
    """

    def __init__(self, component: ComponentText, main: FanoutText, number: int) -> None:
        self.component, self.main = component, main
        plan = main.gather.learning[number]
        assert isinstance(plan, LearningPlan)
        self.plan = plan
        self.name = learning_part(main.access.name, number)
        self.owner = ReceptorOwner(component.spec.number, self.name)
        name = f"nd_rule_{self.name}"
        self.rule = RuleText(plan.rule, component.spec.dtype, name, plan.varied)

    @property
    def access(self) -> Access:
        """The access whose targets learn."""
        return self.main.access

    def _pointer(self, name: str, kind: str) -> str:
        return self.component.arguments.pointer(self.plan.key(self.owner, name), kind)

    def _size(self, name: str) -> str:
        return self.component.arguments.integer(Key(self.owner, Kind.SIZE, name))

    def structure(self) -> list[str]:
        """Return the structure of the rule."""
        return self.rule.structure()

    def step(self) -> list[str]:
        """Return the lines of a step: spikes of targets, intervals, arrivals."""
        sweep = [*self._sweep("nd_k"), "nd_l.swept_before(nd_begin, nd_end, (int)nd_k);"]
        lines = [*self._declare(), *self._spikes(), *self._list("nd_k - nd_l.least")]
        lines += block("if (nd_l.full())", sweep)
        if drifts_to_intervals(self.plan.rule):
            drift = [*self._sweep("nd_k", "ND_INTERVAL"), *sweep[1:]]
            lines += block("if (nd_k > 0 && nd_l.rule.last_interval((int)nd_k) == nd_k)", drift)
        for i, name in enumerate(self.plan.rule.every):
            interval = self.component.arguments.integer(Key(self.owner, Kind.SIZE, f"every {name}"))
            run = [*sweep, *block("if (nd_l.learns)", self._every(i))]
            lines += block(f"if (nd_k > 0 && nd_rest(nd_k, {interval}) == 0)", run)
        return block("", [*lines, *self._doses(), "nd_l.arrive((int)nd_k);", *self._each_step()])

    def _each_step(self) -> list[str]:
        """Return the lines that run the text of each step, after the events of this step."""
        if not self.plan.rule.on_step:
            return []
        lines = []
        if self.plan.rule.on_spike or self.plan.rule.between:
            swept = "nd_l.swept_before(nd_begin, nd_end, (int)nd_k + 1);"
            lines = [*self._sweep("(nd_k + 1)"), swept]
        lines += self._each_block("nd_l.run_step(nd_b, (int)nd_k);")
        return block("if (nd_l.learns)", lines)

    @staticmethod
    def _each_block(call: str) -> list[str]:
        """Return a loop that makes a call for each block of rows with equal a, f and b."""
        return block("for (int nd_b = 0; nd_b < nd_l.blocks; ++nd_b)", [call])

    def _rows_of(self, value: ValueRead) -> str:
        """Return the rows of a variable that a text reads; those of targets from their first on."""
        spec, a = self.component.spec, self.component.arguments
        variable, first = value.variable(self.access.variable), ""
        if value.side == "post":
            first = f" + {a.integer(spec.segment(variable, 'start'))}"
        return f"{{{self._ring(variable, first)}, {self._size(f'late {value.symbol}')}}}"

    def _ring(self, variable: str, first: str = "") -> str:
        """Return the rows of a variable, from one of their elements on, their number and width."""
        a = self.component.arguments
        rows = a.pointer(self.component.spec.ring(variable), "real")
        return f"{rows}{first}, {a.integer(depth(variable))}, {a.integer(width(variable))}"

    def _every(self, i: int) -> list[str]:
        """Return the lines that run the text of an interval, after the sums that it reads."""
        count = len(self.rule.sums[i])
        sums = "nd_sums" if count else "nullptr"
        run = f"nd_l.run_every<{i}, {count}>(nd_b, (int)nd_k, {sums});"
        if not count:
            return self._each_block(run)
        lines = [f"long long *nd_sums = {self._pointer('sums', 'long long')};"]
        for v in range(count):
            clear = "for (long long nd_j = nd_begin; nd_j < nd_end; ++nd_j)"
            lines.append(f"{clear} nd_sums[{v} * nd_l.width + nd_j] = 0;")
            add = f"nd_l.add_up<{i}>(nd_b, {v}, nd_sums + {v} * nd_l.width);"
            lines += self._each_block(add)
        return [*lines, *self._each_block(run)]

    def _doses(self) -> list[str]:
        """Return the lines that count the doses of this step and give them to the synapses."""
        spec, a, variable = self.component.spec, self.component.arguments, self.access.variable
        rows, number = a.pointer(spec.ring(variable), "real"), a.integer(depth(variable))
        shape = f"{number}, {a.integer(width(variable))}"
        active = a.pointer(activity(variable, "active"), "const long long")
        at = f"{active}[nd_row_index(nd_k, {number})]"
        lines = []
        for i, name in enumerate(self.plan.rule.doses()):
            if name not in self.plan.rule.released_by:
                continue
            elements = self._pointer(f"released {name}", "const int")
            give = [f"nd_l.dose({i}, (real)nd_doses, (int)nd_k);"]
            dosed = self._dosed()
            if name in self.plan.rule.on_dose:
                dosed = [f"nd_l.doses_of = {i}, nd_l.doses = nd_doses;", *dosed]
                give.append("nd_l.doses_of = -1;")
            size = self._size(f"released {name}")
            each = [
                f"const int *nd_from = {elements};",
                f"const real *nd_row_m = nd_row({rows}, nd_k, {shape});",
                "long long nd_doses = 0;",
                f"for (long long nd_i = 0; nd_i < {size}; ++nd_i)",
                "    nd_doses += nd_spikes(nd_row_m[nd_from[nd_i]]);",
                *block("if (nd_doses)", [*dosed, *give]),
            ]
            lines += block(f"if (nd_k == 0 || {at} == nd_k)", each)
        return lines

    def _dosed(self) -> list[str]:
        """Return the lines that bring all synapses to a dose of step ``nd_k``."""
        acts = self.plan.rule.between or self.plan.rule.on_dose
        why = "ND_DOSE" if acts else "ND_SWEEP"
        return [*self._sweep("nd_k", why), "nd_l.swept_before(nd_begin, nd_end, (int)nd_k);"]

    def catch_up(self) -> list[str]:
        """Return the lines that bring all synapses of a thread up to date before step ``nd_k``."""
        sweep = [*self._sweep("nd_k"), "nd_l.swept_before(nd_begin, nd_end, (int)nd_k);"]
        if anchors(self.plan.rule):
            dosed = f"if ({self._pointer('dosing', 'const long long')}[0])"
            sweep = [*block(dosed, self._dosed()), *block("else", sweep)]
        known = [*self._list("nd_k - 1 - nd_l.least"), *sweep, "nd_l.store((int)nd_k);"]
        return block("", [*self._declare(), *known])

    def _declare(self) -> list[str]:
        """Declare ``nd_l``: all that belongs to the connections, and the share of this thread."""
        a, plan, rule = self.component.arguments, self.plan, self.plan.rule
        slot, code = self.main.slot, _CODES[plan.arrays["code"].dtype.name]
        kind = f"nd_all_synapses<{self.rule.name}, {code}, {slot}, {plan.depth}>"
        cuts, threads = a.pointer(CUTS, "const long long"), a.integer(THREADS)
        head = [line for line in self.main.head() if "nd_unit_" not in line]
        given = {
            "rule": "nd_rule",
            **self._shares(threads),
            "block": self._pointer("block", "const long long"),
            "blocks": f"(int){self._size('blocks')}",
            "code": self._pointer("code", f"const {code}"),
            "places": self._size("places"),
            "spikes": self._pointer("spikes", "int"),
            "unswept": self._pointer("unswept", "int"),
            "arrivals": f"{self._pointer('arrivals', 'int')} + 2 * nd_rows * nd_u",
            "swept": f"{self._pointer('swept_step', 'long long')} + 8 * nd_u",
            "counts": f"{self._pointer('clamped', 'long long')} + 8 * nd_u",
            "level": f"{self._pointer('level', 'real')} + 8 * nd_u",
            "dosed": f"{self._pointer('dosed', 'int')} + 8 * nd_u",
            "learns": f"{self._pointer('learning', 'const long long')}[0] != 0",
            "slots": f"nd_slots_{self.access.name}",
            "dirty": f"(nd_dirty_byte *)nd_dirty_{self.access.name}"
            if self.main.marks_dirty else "nullptr",
            "now": f"(unsigned)nd_now_{self.access.name}",
            "end": f"(unsigned)(nd_turns_{self.access.name} * nd_ahead_{self.access.name})",
            "width": f"(unsigned)nd_ahead_{self.access.name}",
            "largest": a.scalar(Key(self.owner, Kind.PARAMETER, "largest sent")),
            "longest_back": f"(int){self._size('longest back')}",
            **self._units(),
            **self._sources(),
        }  # fmt: skip
        for i, value in enumerate(rule.values_read("on_arrival")):
            given[f"value[{i}]"] = f"nd_rows_of_values{self._rows_of(value)}"
        for member, side in (("before", "pre"), ("behind", "post")):
            for i, value in enumerate(self.rule.values(side)):
                given[f"{member}[{i}]"] = f"nd_rows_of_values{self._rows_of(value)}"
        for i, value in enumerate(self.rule.values("pre")):
            given[f"source_of[{i}]"] = self._pointer(f"seen {value.symbol}", "const int")
        for i, (name, shared) in enumerate(rule.levels().items()):
            given[f"shared[{i}]"] = f"nd_rows_of_values{{{self._ring(shared.variable)}, 0}}"
            given[f"element[{i}]"] = self._size(f"element {name}")
        for i, name in enumerate(plan.own):
            given[f"own[{i}]"] = self._pointer(name, "real")
        for i, name in enumerate(rule.post):
            given[f"post[{i}]"] = self._pointer(name, "real")
        for i, name in enumerate(rule.pre):
            given[f"pre[{i}]"] = f"{self._pointer(name, 'real')} + 2 * nd_rows * nd_u"
        return [
            *head,
            f"const int nd_u = nd_mine({cuts}, {threads}, nd_begin);",
            f"const long long nd_rows = {self._size('rows')};",
            *self.rule.filled(a, self.owner, a.scalar(self._step()), "nd_rule"),
            f"{kind} nd_l;",
            *[f"nd_l.{name} = {value};" for name, value in given.items()],
        ]

    def _shares(self, threads: str) -> dict[str, str]:
        """Return where the shares of a thread in the rows begin and end."""
        parts, each = self._pointer("parts", "const long long"), self._size("rows of a source")
        by_thread = isinstance(self.plan.parts, SharesByThread)
        apart = f"{self._size('sources')} * {each}" if by_thread else "1"
        return {
            "parts": f"{parts} + nd_u * {apart}",
            "stride": "1" if by_thread else f"{threads} + 1",
            "apart": apart,
            "thread": "nd_u",
            "threads": f"(int){threads}",
            "each": f"(int){each}",
        }

    def _step(self) -> Key:
        return Key(self.owner, Kind.STEP, "dt_ms")

    def _units(self) -> dict[str, str]:
        """Return where the multiples of units come from."""
        if "unit" in self.main.gather.arrays:
            return {"per_unit": self._pointer("per_unit", "const real"), "one_per_unit": "0"}
        one = self.component.arguments.scalar(self.plan.key(self.owner, "one_per_unit"))
        return {"per_unit": "nullptr", "one_per_unit": one}

    def _spikes(self) -> list[str]:
        """Return the lines that put the targets' spikes of row ``nd_k`` into their histories."""
        if not self.plan.variable:
            return []
        spec, a = self.component.spec, self.component.arguments
        own = a.integer(spec.segment(self.plan.variable, "start"))
        call = f"nd_l.spike((int)(nd_e - {own}), (int)nd_k);"
        return each_event(spec, a, self.plan.variable, f"{own} + nd_begin", f"{own} + nd_end", call)

    def _sources(self) -> dict[str, str]:
        """Return where a thread keeps what it knows of the sources and of their spikes."""
        out = {"first_of": self._pointer("first sources", "const long long")}
        out |= {
            "least": f"(int){self._size('least lag')}",
            "most": f"(int){self._size('most lag')}",
        }
        given = {"lists": "nd_l.most - nd_l.least + 1", "sources": self._size("sources")}
        given["next"] = f"nd_l.swept + {LISTED}"
        for member, (name, kind, size) in _OF_SOURCES.items():
            numbers = size.format(traces=len(self.plan.rule.pre))
            given[member] = f"{self._pointer(name, kind)} + {numbers} * nd_u"
        return out | {f"listed.{member}": value for member, value in given.items()}

    def _list(self, last: str) -> list[str]:
        """Return the lines that list the spikes of rows that are not listed yet, to a last one."""
        found = each_spike(
            self.component.spec, self.component.arguments, self.access.variable,
            (self._pointer("ranges of sources", "const long long"), 4, self._size("ranges")),
            "nd_l.listed.add(nd_rule, {source}, {count}, (int)nd_k);",
        )  # fmt: skip
        rows = f"for (long long nd_r = nd_l.listed.next[0] - 1; nd_r <= {last}; ++nd_r)"
        each = ["nd_l.listed.open(nd_r);", "const long long nd_k = nd_r;", *found]
        return ["if (nd_l.listed.next[0] == 0) nd_l.begin((int)nd_k);", *block(rows, each)]

    @staticmethod
    def _sweep(step: str, why: str = "ND_SWEEP") -> list[str]:
        """Return the lines that apply what all synapses of the thread saw before a step."""
        return [f"nd_l.sweep<{why}>((int){step});"]
