"""A text of a rule that Python calls -> a library of the host, for synapses of any backend."""

from __future__ import annotations

import ctypes as ct
from collections.abc import Container, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model.language import used
from ..model.plasticity import Plasticity
from ..model.rule_calls import calls_of
from ..model.synapse_traces import anchors
from ..model.text import block
from ..native.compiler import build
from ..native.headers import header
from .rules import RuleText
from .source import CPU, prelude

Numbers = NDArray[np.floating]


class CalledText(RuleText):
    """Writes a function that runs a text of ``on_call`` at synapses."""

    def function(self, written: str, given: Sequence[str]) -> list[str]:
        """Return a function that runs a text for Python at ``nd_m`` synapses.

        It takes the numbers of the step, of the rule and of the call, each modulator with the
        steps since its last dose, and where each number of the synapses is stored.

        Parameters
        ----------
        written : str
            Which of ``on_call``.
        given : sequence of str
            Names of the numbers of the call.
        """
        where, rule = f"on_call['{written}']", self.rule
        read = used(rule.checked(where).node)
        lines, numbers = self._shared(read, given), 1 + len(rule.params) + len(given)
        for i, (name, doses) in enumerate(rule.doses().items()):
            if name in read:
                at = numbers + 2 * i
                value = self._decayed(f"(real)nd_n[{at}]", doses, f"nd_n[{at + 1}]")
                lines.append(f"const real {name} = {value};")
        head = "void nd_call(long long nd_m, const double *nd_n, real *const *nd_own)"
        return block(f'extern "C" {head}', [*lines, *self._each(self._changing(where))])

    def drift(self) -> list[str]:
        """Return a function that runs ``between`` at ``nd_m`` synapses.

        It takes what a text of a call takes, and the steps since the last event of each synapse.
        """
        numbers, anchored = 1 + len(self.rule.params), anchors(self.rule)
        lines = self._shared(used(self.rule.checked("between").node), ())
        lines.append(f"nd_before<0, 0, {anchored}> nd_b;")
        for i in range(anchored):
            at = numbers + 2 * i
            lines.append(f"nd_b.level[{i}] = (real)nd_n[{at}];")
            lines.append(f"nd_b.dosed[{i}] = (int)nd_n[{at + 1}];")
        each = self._each(["nd_b.elapsed = nd_since[nd_p];", *self._between()])
        given = "const double *nd_n, real *const *nd_own, const int *nd_since"
        function = block(f'extern "C" void nd_drift(long long nd_m, {given})', [*lines, *each])
        return [*header("codegen/event.h").splitlines(), *function]

    def _shared(self, read: Container[str], given: Sequence[str]) -> list[str]:
        """Declare the numbers that all synapses share."""
        rule = self.rule
        numbers = enumerate(["dt_ms", *rule.params, *given])
        lines = [
            f"const real {n} = (real)nd_n[{i}]; (void){n};" for i, n in numbers if n not in self.own
        ]
        for name, checked in self.constants.items():
            if name not in self.of_synapse:
                value = self.translator.value_of(checked)
                lines.append(f"const real {name} = {value}; (void){name};")
        for tau in sorted({one.tau for name, one in rule.doses().items() if name in read}):
            lines.append(f"const real nd_per_{tau} = dt_ms / {tau};")
        if rule.bounds is not None and not self.own_bounds:
            lines.append(f"auto clip = [&](real nd_v) -> real {{ return {self._clipped()}; }};")
            lines.append("(void)clip;")
        return lines

    def _each(self, body: list[str]) -> list[str]:
        """Return a loop over the synapses that runs a text at each of them."""
        stored = [f"nd_own[{v}][nd_p]" for v in range(len(self.own))]
        each = [f"real nd_s[] = {{{', '.join(stored)}}};", *body]
        each += [f"{at} = nd_s[{v}];" for v, at in enumerate(stored[: len(self.written)])]
        return block("for (long long nd_p = 0; nd_p < nd_m; ++nd_p)", each)


def run_call(
    rule: Plasticity,
    name: str,
    own: Mapping[str, Numbers],
    given: Mapping[str, float],
    levels: Sequence[tuple[float, int]],
    dt_ms: float,
) -> None:
    """Run a text that Python calls, for all synapses.

    Parameters
    ----------
    name : str
        Of the text.
    own : mapping of str to (m,) float
        Numbers of each synapse, as stored; they are changed. ``weight`` comes first, then what the
        rule declares, then parameters of which each synapse has a number.
    given : mapping of str to float
        Numbers of the call.
    levels : sequence of (float, int)
        Modulators after their last doses, and the steps since.
    dt_ms : float
        Step in ms.
    """
    written, call = calls_of(rule.on_call)[name]
    text, dtype = _text_of(rule, own)
    library = _built(f"{name}, {dtype}", dtype, text.function(written, call.given))
    numbers = _numbers(rule, dt_ms, [given[one] for one in call.given], levels)
    library.nd_call(*_given(own, numbers))


def run_drift(
    rule: Plasticity,
    own: Mapping[str, Numbers],
    levels: Sequence[tuple[float, int]],
    since: NDArray[np.int32],
    dt_ms: float,
) -> None:
    """Run the text ``between`` for all synapses, as an event would.

    Parameters are those of `run_call`.

    Parameters
    ----------
    since : (m,) int32
        Steps since the last event of each synapse.
    """
    text, dtype = _text_of(rule, own)
    library = _built(f"between, {dtype}", dtype, text.drift())
    numbers = _numbers(rule, dt_ms, [], levels)
    library.nd_drift(*_given(own, numbers), ct.c_void_p(since.ctypes.data))


def _text_of(rule: Plasticity, own: Mapping[str, Numbers]) -> tuple[CalledText, str]:
    """Return what writes texts of a rule for Python, and the type of numbers."""
    dtype = next(iter(own.values())).dtype.name
    return CalledText(rule, dtype, "", [*own][1 + len(rule.synapse) :]), dtype


def _built(title: str, dtype: str, function: list[str]) -> ct.CDLL:
    """Return the library of a function."""
    lines = [f"/* {title} */", *prelude(function, dtype, CPU), *function]
    (library,) = build([("\n".join(lines), ())])
    return library


def _numbers(
    rule: Plasticity,
    dt_ms: float,
    given: Sequence[float],
    levels: Sequence[tuple[float, int]],
) -> NDArray[np.float64]:
    """Return the numbers that a text reads, in their order."""
    each = (one for level in levels for one in level)
    return np.array([dt_ms, *rule.values.values(), *given, *each], np.float64)


def _given(own: Mapping[str, Numbers], numbers: NDArray[np.float64]) -> list[Any]:
    """Return what a function takes: how many synapses there are, numbers, and those of synapses."""
    places = (ct.c_void_p * len(own))(*(one.ctypes.data for one in own.values()))
    count = len(next(iter(own.values())))
    return [ct.c_longlong(count), ct.c_void_p(numbers.ctypes.data), places]
