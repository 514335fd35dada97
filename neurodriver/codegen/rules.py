"""The texts of a rule of plasticity -> a C++ structure with the same methods for every rule."""

from __future__ import annotations

from collections.abc import Mapping

from ..model.language import used
from ..model.plasticity import Plasticity, Trace
from ..model.text import block, indent
from ..model.texts import named
from ..plan.arrays import Key, Kind, Owner
from .kernel import Arguments
from .translate import CText

_SINCE = {"since_arrival": "nd_b.arrival", "since_spike": "nd_b.spike"}


class RuleText:
    """Writes the structure of one rule.

    Parameters
    ----------
    rule : Plasticity
    dtype : str
    name : str
        Of the structure.
    """

    def __init__(self, rule: Plasticity, dtype: str, name: str) -> None:
        self.rule, self.name = rule, name
        self.translator = CText(dtype)
        self.numbers = [*rule.params, *rule.constants]
        self.own = ["weight", *rule.synapse]
        traces = [*rule.pre.values(), *rule.post.values()]
        self.time_constants = sorted({trace.tau for trace in traces})

    def structure(self) -> list[str]:
        """Return the definition of the structure."""
        rule = self.rule
        sizes = {"PRE": len(rule.pre), "POST": len(rule.post), "OWN": len(self.own)}
        flags = {"SPIKE_FIRST": rule.first == "spike", "PAIR": rule.same_step == "pair"}
        lines = [f"static const int {n} = {size};" for n, size in sizes.items()]
        lines += [f"static const bool {n} = {str(flag).lower()};" for n, flag in flags.items()]
        rates = [f"nd_per_{tau}" for tau in self.time_constants]
        lines.append(f"real {', '.join(['dt_ms', *self.numbers, *rates])};")
        lines += self._clip()
        lines += self._after("pre_after", rule.pre, ", real nd_count", " * nd_count")
        lines += self._after("post_after", rule.post, "", "")
        head = "template <class Before> ND_METHOD"
        on_spike = self._event("on_spike") if rule.on_spike else []
        lines += block(f"{head} void on_spike(real *nd_s, const Before &nd_b) const", on_spike)
        given = "real *nd_s, const Before &nd_b, real count"
        lines += block(f"{head} real on_arrival({given}) const", self._arrival())
        every = "template <int nd_which> ND_METHOD void every(real *nd_s) const"
        lines += block(every, self._every())
        return [f"struct {self.name} {{", *indent(lines), "};"]

    def filled(self, arguments: Arguments, owner: Owner, dt_ms: str, variable: str) -> list[str]:
        """Return the lines that give a variable of the structure its numbers."""
        lines = [f"{self.name} {variable};", f"{variable}.dt_ms = {dt_ms};"]
        for name in self.rule.params:
            number = arguments.scalar(Key(owner, Kind.PARAMETER, name))
            lines.append(f"{variable}.{name} = {number};")
        known = ["dt_ms", *self.rule.params]
        for name in self.rule.constants:
            checked = self.rule.checked(f"constants['{name}']")
            value = self.translator.value_of(checked)
            names = [f"const real {n} = {variable}.{n};" for n in named(known, [checked.node])]
            lines += block("", [*names, f"{variable}.{name} = {value};"])
            known.append(name)
        for tau in self.time_constants:
            lines.append(f"{variable}.nd_per_{tau} = {dt_ms} / {variable}.{tau};")
        return lines

    def _clip(self) -> list[str]:
        if self.rule.bounds is None:
            return []
        low, high = map(self._number, self.rule.bounds)
        value = f"nd_v < {low} ? {low} : nd_v > {high} ? {high} : nd_v"
        return [f"ND_METHOD real clip(real nd_v) const {{ return {value}; }}"]

    @staticmethod
    def _decayed(value: str, trace: Trace, steps: str) -> str:
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
        return [*sends, *self._event("on_arrival"), "return nd_sent;"]

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
        last = "(nd_b.arrival < nd_b.spike ? nd_b.arrival : nd_b.spike)"
        for name, steps in {**_SINCE, "since_event": last}.items():
            if name in read:
                never = f"{steps} >= -ND_NEVER ? (real)__builtin_inf()"
                lines.append(f"const real {name} = {never} : (real){steps} * dt_ms;")
        return [*lines, *self._changing(where)]

    def _changing(self, where: str) -> list[str]:
        """Return a text between the loads and the stores of what belongs to the synapse."""
        checked = self.rule.checked(where)
        mine = named(self.own, [checked.node])
        load = [f"real {n} = nd_s[{self.own.index(n)}];" for n in mine]
        store = [f"nd_s[{self.own.index(n)}] = {n};" for n in mine]
        return [*load, *self.translator.lines_of(checked), *store]

    def _every(self) -> list[str]:
        lines = []
        for i, name in enumerate(self.rule.every):
            lines += block(f"if (nd_which == {i})", self._changing(f"every['{name}']"))
        return lines
