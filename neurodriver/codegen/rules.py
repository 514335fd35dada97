"""The texts of a rule of plasticity -> a C++ structure with the same methods for every rule."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from ..model.language import Checked, tree, used
from ..model.plasticity import Plasticity
from ..model.rule_values import IN_STEPS, ValueRead
from ..model.synapse_traces import anchors
from ..model.text import block, indent
from ..model.texts import named
from ..model.traces import Doses, Trace
from ..plan.arrays import Key, Kind, Owner
from .kernel import Arguments
from .rule_intervals import filled_intervals, last_interval
from .translate import CText

_SINCE = {
    "since_arrival": "nd_b.arrival",
    "since_spike": "nd_b.spike",
    "since_event": "nd_b.elapsed",
}


def _following(constants: Mapping[str, Checked], varied: Sequence[str]) -> list[str]:
    """Return the constants that follow from parameters of which each synapse has a number."""
    out: list[str] = []
    for name, checked in constants.items():
        if {*varied, *out} & {*used(checked.node)}:
            out.append(name)
    return out


def _trees(rule: Plasticity) -> list[tree.Node]:
    """Return the trees of all texts of a rule."""
    return [rule.checked(where).node for where, _ in rule.texts()]


class RuleText:
    """Writes the structure of one rule.

    Parameters
    ----------
    name : str
        Of the structure.
    varied : sequence of str
        Parameters of which each synapse has a number.
    """

    def __init__(self, rule: Plasticity, dtype: str, name: str, varied: Sequence[str] = ()) -> None:
        self.rule, self.name = rule, name
        self.translator = CText(dtype)
        self.written = ["weight", *rule.synapse]
        self.own = [*self.written, *varied]
        self.constants = {n: rule.checked(f"constants['{n}']") for n in rule.constants}
        self.of_synapse = _following(self.constants, varied)
        self.numbers = [n for n in rule.params if n not in varied]
        self.numbers += [n for n in rule.constants if n not in self.of_synapse]
        decaying: list[Trace | Doses] = [*rule.pre.values(), *rule.post.values()]
        decaying += rule.doses().values()
        self.time_constants = sorted({one.tau for one in decaying})
        self.sums = [rule.sums(name) for name in rule.every]
        self.own_bounds = [str(one) for one in rule.bounds or () if one in varied]
        """Bounds of weights of which each synapse has a number."""

    def structure(self) -> list[str]:
        """Return the definition of the structure."""
        rule = self.rule
        sizes = {"PRE": len(rule.pre), "POST": len(rule.post), "OWN": len(self.own)}
        sizes |= {"MODULATORS": anchors(rule), "SHARED": len(rule.levels())}
        sizes["VALUES"] = len(rule.values_read("on_arrival"))
        sizes |= {f"{s.upper()}_VALUES": len(self.values(s)) for s in ("pre", "post")}
        flags = {"SPIKE_FIRST": rule.first == "spike", "PAIR": rule.same_step == "pair"}
        flags |= {"DRIFTS": bool(rule.between), "STEPS": bool(rule.on_step)}
        flags["ACTS_AT_DOSES"] = bool(rule.on_dose)
        read = set().union(*(used(one) for one in _trees(rule)))
        flags["ELAPSES"] = bool(rule.between) or "since_event" in read
        of_targets = bool(rule.post) or not read.isdisjoint(("since_spike", "since_event"))
        flags["LOOKS"] = rule.acts_late() or of_targets
        flags["CHANGES"] = rule.changes_synapses()
        lines = [f"static const int {n} = {size};" for n, size in sizes.items()]
        lines += [f"static const bool {n} = {str(flag).lower()};" for n, flag in flags.items()]
        rates = [f"nd_per_{tau}" for tau in self.time_constants]
        lines.append(f"real {', '.join(['dt_ms', *self.numbers, *rates])};")
        lines += [*last_interval(rule), *self._clip()]
        lines += self._after("pre_after", rule.pre, ", real nd_count", " * nd_count")
        lines += self._after("post_after", rule.post, "", "")
        head = "template <class Before> ND_METHOD"
        on_spike = self._event("on_spike") if rule.on_spike else []
        lines += block(f"{head} void on_spike(real *nd_s, const Before &nd_b) const", on_spike)
        given = "real *nd_s, const Before &nd_b, real count"
        lines += block(f"{head} real on_arrival({given}) const", self._arrival())
        lines += block(
            f"{head} void between(real *nd_s, const Before &nd_b) const", self._between()
        )
        lines += self._dosed()
        given = "int nd_which, real *nd_s, const Before &nd_b, real count"
        lines += block(f"{head} void on_dose({given}) const", self._doses())
        head = "template <class Before, class Values> ND_METHOD"
        given = "real *nd_s, const Before &nd_b, const Values &nd_v"
        lines += block(f"{head} void on_step({given}) const", self._step())
        head = "template <int nd_which, class Values> ND_METHOD"
        given = "real *nd_s, const real *nd_level, const real *nd_sums, const Values &nd_v"
        lines += block(f"{head} void every({given}) const", self._every())
        head = "template <int nd_which> ND_METHOD"
        lines += block(f"{head} real summed(int nd_v, const real *nd_s) const", self._summed())
        return [f"struct {self.name} {{", *indent(lines), "};"]

    def filled(self, arguments: Arguments, owner: Owner, dt_ms: str, variable: str) -> list[str]:
        """Return the lines that give a variable of the structure its numbers."""
        lines = [f"{self.name} {variable};", f"{variable}.dt_ms = {dt_ms};"]
        for name in self.rule.params:
            if name not in self.numbers:
                continue
            number = arguments.scalar(Key(owner, Kind.PARAMETER, name))
            lines.append(f"{variable}.{name} = {number};")
        known = ["dt_ms", *self.numbers]
        for name, checked in self.constants.items():
            if name in self.of_synapse:
                continue
            value = self.translator.value_of(checked)
            names = [f"const real {n} = {variable}.{n};" for n in named(known, [checked.node])]
            lines += block("", [*names, f"{variable}.{name} = {value};"])
        for tau in self.time_constants:
            lines.append(f"{variable}.nd_per_{tau} = {dt_ms} / {variable}.{tau};")
        return [*lines, *filled_intervals(self.rule, arguments, owner, variable)]

    def _clip(self) -> list[str]:
        if self.rule.bounds is None or self.own_bounds:
            return []
        return [f"ND_METHOD real clip(real nd_v) const {{ return {self._clipped()}; }}"]

    def _clipped(self) -> str:
        """Return the expression that limits ``nd_v``."""
        assert self.rule.bounds is not None
        low, high = map(self._number, self.rule.bounds)
        return f"nd_v < {low} ? {low} : nd_v > {high} ? {high} : nd_v"

    @staticmethod
    def _decayed(value: str, trace: Trace | Doses, steps: str) -> str:
        return f"{value} * nd_exp(-(real){steps} * nd_per_{trace.tau})"

    def _number(self, given: str | float) -> str:
        """Return a parameter or constant by its name, or a number as text of the working type."""
        if isinstance(given, str):
            return given
        return self.translator.real(given)

    def _after(self, name: str, traces: Mapping[str, Trace], more: str, times: str) -> list[str]:
        """Return the method that says what a trace is after an event."""
        body = []
        for i, trace in enumerate(traces.values()):
            jump = self._number(trace.jump)
            value = jump if trace.nearest else (
                f"{self._decayed('nd_x', trace, 'nd_h')} + {jump}{times}"
            )  # fmt: skip
            body.append(f"if (nd_v == {i}) return {value};")
        head = f"ND_METHOD real {name}(int nd_v, real nd_x, int nd_h{more}) const"
        return block(head, [*body, "return 0;"])

    def _arrival(self) -> list[str]:
        sends = ["real nd_sent = 0;", "auto send = [&nd_sent](real nd_v) { nd_sent = nd_v; };"]
        values = [
            f"const real {value.symbol} = nd_b.value[{i}];"
            for i, value in enumerate(self.rule.values_read("on_arrival"))
        ]
        return [*sends, *values, *self._event("on_arrival"), "return nd_sent;"]

    def _event(self, where: str) -> list[str]:
        """Return the body of the text of an event: what it reads, the text, what it writes."""
        read = used(self.rule.checked(where).node)
        lines = []
        for symbol, step, traces in (
            ("x", "arrival", self.rule.pre),
            ("y", "spike", self.rule.post),
        ):
            for i, (name, trace) in enumerate(traces.items()):
                if name in read:
                    value = self._decayed(f"nd_b.{symbol}[{i}]", trace, f"nd_b.{step}")
                    lines.append(f"const real {name} = {value};")
        for i, (name, doses) in enumerate(self.rule.doses().items()):
            if name in read:
                value = self._decayed(f"nd_b.level[{i}]", doses, f"nd_b.dosed[{i}]")
                lines.append(f"const real {name} = {value};")
        return [*lines, *self._since(read), *self._changing(where)]

    @staticmethod
    def _since(read: Container[str]) -> list[str]:
        """Declare the times since the events before, in ms, where a text reads them."""
        lines = []
        for name, steps in _SINCE.items():
            if name in read:
                never = f"{steps} >= -ND_NEVER ? (real)ND_INF_D"
                lines.append(f"const real {name} = {never} : (real){steps} * dt_ms;")
        return lines

    def _between(self) -> list[str]:
        """Return the body of the text that runs before each event of a synapse."""
        if not self.rule.between:
            return []
        read = used(self.rule.checked("between").node)
        lines = self._since(read)
        for i, (name, doses) in enumerate(self.rule.doses().items()):
            if name in read:  # doses are events: none comes after the event before
                steps = f"(nd_b.dosed[{i}] - nd_b.elapsed)"
                value = self._decayed(f"nd_b.level[{i}]", doses, steps)
                lines.append(f"const real {name} = {value};")
        return [*lines, *self._changing("between")]

    def _dosed(self) -> list[str]:
        """Return the method that says what a modulator is, some steps and doses later."""
        body = []
        for i, doses in enumerate(self.rule.doses().values()):
            jump = self._number(doses.jump)
            value = f"{self._decayed('nd_x', doses, 'nd_h')} + {jump} * nd_doses"
            body.append(f"if (nd_v == {i}) return {value};")
        head = "ND_METHOD real dosed(int nd_v, real nd_x, int nd_h, real nd_doses) const"
        return block(head, [*body, "return 0;"])

    def _doses(self) -> list[str]:
        """Return the body of the texts of doses: those of modulator ``nd_which``."""
        lines = ["(void)nd_which, (void)nd_s, (void)nd_b, (void)count;"]
        for i, name in enumerate(self.rule.doses()):
            if name in self.rule.on_dose:
                lines += block(f"if (nd_which == {i})", self._event(f"on_dose['{name}']"))
        return lines

    def _changing(self, where: str) -> list[str]:
        """Return a text between the loads and the stores of what belongs to the synapse."""
        checked = self.rule.checked(where)
        follow = [self.constants[n] for n in self._followed(checked)]
        clips = self.own_bounds if "clip" in used(checked.node) else []
        mine = named(self.own, [checked.node, *(one.node for one in follow)])
        mine += [n for n in clips if n not in mine]
        load = [f"real {n} = nd_s[{self.own.index(n)}];" for n in mine]
        load += [
            f"const real {n} = {self.translator.value_of(self.constants[n])};"
            for n in self._followed(checked)
        ]
        if clips:
            load.append(f"auto clip = [&](real nd_v) -> real {{ return {self._clipped()}; }};")
        store = [f"nd_s[{self.own.index(n)}] = {n};" for n in mine if n in self.written]
        return [*load, *self.translator.lines_of(checked), *store]

    def _followed(self, checked: Checked) -> list[str]:
        """Return the constants that a text needs and that each synapse has of its own, in order."""
        needed = {*used(checked.node)}
        for name in reversed(self.of_synapse):
            needed |= {*used(self.constants[name].node)} if name in needed else set()
        return [name for name in self.of_synapse if name in needed]

    def _step(self) -> list[str]:
        """Return the body of the text of each step; values of neurons are counted by side."""
        if not self.rule.on_step:
            return ["(void)nd_s, (void)nd_b, (void)nd_v;"]
        return [*self._of_components("on_step"), *self._event("on_step"), "(void)nd_b, (void)nd_v;"]

    def values(self, side: str) -> list[ValueRead]:
        """Return the values of one end, ``pre`` or ``post``, that texts read at steps."""
        return [one for one in self.rule.values_read(*IN_STEPS) if one.side == side]

    def _of_components(self, where: str) -> list[str]:
        """Declare the values of neurons, and the levels of modulators, that a text reads."""
        known = {
            one.symbol: f"nd_v.{side}[{i}]"
            for side in ("pre", "post")
            for i, one in enumerate(self.values(side))
        }
        known |= {name: f"nd_v.shared[{i}]" for i, name in enumerate(self.rule.levels())}
        read = used(self.rule.checked(where).node)
        return [f"const real {name} = {at};" for name, at in known.items() if name in read]

    def _every(self) -> list[str]:
        lines = []
        for i, name in enumerate(self.rule.every):
            where = f"every['{name}']"
            read = used(self.rule.checked(where).node)
            given = [f"const real {n} = nd_sums[{v}];" for v, n in enumerate(self.sums[i])]
            given += [
                f"const real {n} = nd_level[{m}];"
                for m, n in enumerate(self.rule.doses())
                if n in read
            ]
            given += self._of_components(where)
            lines += block(f"if (nd_which == {i})", [*given, *self._changing(where)])
        return [*lines, "(void)nd_level, (void)nd_sums, (void)nd_v;"]

    def _summed(self) -> list[str]:
        """Return the body of what one synapse adds to the sums over those of its target."""
        lines = []
        for i, sums in enumerate(self.sums):
            for v, term in enumerate(sums.values()):
                mine = named(self.own, [term.node])
                load = [f"const real {n} = nd_s[{self.own.index(n)}];" for n in mine]
                body = [*load, f"return {self.translator.value_of(term)};"]
                lines += block(f"if (nd_which == {i} && nd_v == {v})", body)
        return [*lines, "(void)nd_s;", "return 0;"]
