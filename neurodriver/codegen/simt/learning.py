"""Connections that learn, on a GPU: the plan -> CUDA text around ``learning.cuh``."""

from __future__ import annotations

from ...model.rule_values import ValueRead
from ...model.text import block, indent
from ...plan.arrays import Key, Kind, ReceptorOwner, activity, depth, width
from ...plan.spikes.fanout import PIECE
from ...plan.spikes.learning import LearningPlan
from ...plan.sums.gather import learning_part
from ...plan.unit import KernelSpec
from ..kernel import Arguments, Kernel
from ..rules import RuleText

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
        sums=text.intervals if text.apart else (),
        waiting=text.waiting,
        warps=text.warps,
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
        return -(-max(-(-plan.edges // 4), plan.rows_of_sources, self.spec.count) // WARP)

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
            *block("static ND_MEMBER type made()", made),
        ]
        return [
            *self.rule.structure(),
            *self._intervals(),
            *["struct learning {", *indent(members), "};"],
        ]

    @property
    def intervals(self) -> tuple[int, ...]:
        """Steps of the interval of each text."""
        return tuple(self.plan.limits[f"every {name}"] for name in self.plan.rule.every)

    @property
    def apart(self) -> bool:
        """Whether texts of intervals have a part of a turn: they read what components write."""
        return any(self.rule.sums) or self.plan.rule.intervals_read_components()

    def _intervals(self) -> list[str]:
        """Return the struct of the texts of intervals: when they run, and what sums they read."""
        every, sums = self.intervals, [len(each) for each in self.rule.sums]
        first = [sum(sums[:i]) for i in range(len(every))]
        texts, terms = range(len(every)), [(i, v) for i, n in enumerate(sums) for v in range(n)]
        due = " || ".join(f"n % {steps} == 0" for steps in every) or "false"
        rule, of = "template <class Rule> static ND_MEMBER", "const Rule &rule, int i"
        run = "template <class Rule, class Values> static ND_MEMBER void run"
        known = "real *s, const real *level, const real *sums, const Values &values"
        methods = {
            "static ND_MEMBER bool due(int n)": [f"return n > 0 && ({due});"],
            "static ND_MEMBER bool due_in(int i, int n)": [
                *(f"if (i == {i}) return n > 0 && n % {every[i]} == 0;" for i in texts),
                "return false;",
            ],
            "static ND_MEMBER int first_sum(int i)": [
                *(f"if (i == {i}) return {first[i]};" for i in texts),
                "return 0;",
            ],
            "static ND_MEMBER int text_of(int sum)": [
                *(f"if (sum == {first[i] + v}) return {i};" for i, v in terms),
                "return -1;",
            ],
            f"{run}({of}, {known})": [
                f"if (i == {i}) rule.template every<{i}>(s, level, sums, values);" for i in texts
            ],
            f"{rule} real term({of}, const real *s)": [
                *(f"if (i == {first[i] + v}) return rule.template summed<{i}>({v}, s);"
                  for i, v in terms),
                "return 0;",
            ],
        }  # fmt: skip
        members = [
            f"static const int TEXTS = {len(every)}, SUMS = {sum(sums)};",
            f"static const bool APART = {str(self.apart).lower()};",
        ]
        for head, body in methods.items():
            members += block(head, body)
        return ["struct nd_intervals {", *indent(members), "};"]

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
            "clamped": self._pointer("clamped", "unsigned long long"),
            "learns": f"{self._pointer('learning', 'const long long')}[0] != 0",
            "slots": a.pointer(self.spec.connection(self.access, "slots"), slot),
            "turns": f"(unsigned){a.integer(self.spec.size(self.access, 'depth'))}",
            "width": f"(unsigned){a.integer(self.spec.size(self.access, 'ahead'))}",
            "largest": a.scalar(Key(self.owner, Kind.PARAMETER, "largest sent")),
            "level": self._pointer("level", "real"),
            "dosed": self._pointer("dosed", "int"),
            "doses": self._pointer("doses", "long long"),
            "dosing": self._pointer("dosing", "const long long") if rule.doses() else "nullptr",
            "sums": self._pointer("sums", "long long") if any(self.rule.sums) else "nullptr",
            **self._units(),
            **self._events("from", self.variable),
            **self._targets(),
        }
        given |= self._values()
        for i, name in enumerate(self.plan.own):
            given[f"own[{i}]"] = self._pointer(name, "real")
        for i, name in enumerate(rule.doses()):
            released = name in rule.released_by
            elements = self._pointer(f"released {name}", "const int") if released else "nullptr"
            given[f"released[{i}]"] = elements
            given[f"releasing[{i}]"] = self._size(f"released {name}") if released else "0"
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
            return {"to.ring": "nullptr", "targets": "0", "first_target": "0"}
        start = self.arguments.integer(self.spec.segment(self.plan.variable, "start"))
        return {
            **self._events("to", self.plan.variable),
            "targets": f"{self.spec.count}",
            "first_target": f"(int){start}",
        }
