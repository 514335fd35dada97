"""A text of a rule that Python calls -> a library of the host, for synapses of any backend."""

from __future__ import annotations

import ctypes as ct
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..model.language import used
from ..model.plasticity import Plasticity
from ..model.rule_calls import calls_of
from ..model.text import block
from ..native.compiler import build
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
        numbers = ["dt_ms", *rule.params, *given]
        lines = [
            f"const real {n} = (real)nd_n[{i}]; (void){n};"
            for i, n in enumerate(numbers) if n not in self.own
        ]  # fmt: skip
        for name, checked in self.constants.items():
            if name not in self.of_synapse:
                value = self.translator.value_of(checked)
                lines.append(f"const real {name} = {value}; (void){name};")
        decaying = {n: one for n, one in rule.doses().items() if n in read}
        for tau in sorted({one.tau for one in decaying.values()}):
            lines.append(f"const real nd_per_{tau} = dt_ms / {tau};")
        for i, (name, doses) in enumerate(rule.doses().items()):
            if name in decaying:
                at = len(numbers) + 2 * i
                value = self._decayed(f"(real)nd_n[{at}]", doses, f"nd_n[{at + 1}]")
                lines.append(f"const real {name} = {value};")
        if rule.bounds is not None and not self.own_bounds:
            lines.append(f"auto clip = [&](real nd_v) -> real {{ return {self._clipped()}; }};")
            lines.append("(void)clip;")
        stored = [f"nd_own[{v}][nd_p]" for v in range(len(self.own))]
        each = [f"real nd_s[] = {{{', '.join(stored)}}};", *self._changing(where)]
        each += [f"{at} = nd_s[{v}];" for v, at in enumerate(stored[: len(self.written)])]
        lines += block("for (long long nd_p = 0; nd_p < nd_m; ++nd_p)", each)
        head = "void nd_call(long long nd_m, const double *nd_n, real *const *nd_own)"
        return block(f'extern "C" {head}', lines)


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
    dtype = next(iter(own.values())).dtype
    varied = [*own][1 + len(rule.synapse) :]
    function = CalledText(rule, dtype.name, "", varied).function(written, call.given)
    text = "\n".join(
        [f"/* {name}, {dtype.name} */", *prelude(function, dtype.name, CPU), *function]
    )
    (library,) = build([(text, ())])
    shared = [*rule.values.values(), *(given[one] for one in call.given)]
    numbers = np.array([dt_ms, *shared, *(one for level in levels for one in level)], np.float64)
    places = (ct.c_void_p * len(own))(*(one.ctypes.data for one in own.values()))
    count = len(next(iter(own.values())))
    library.nd_call(ct.c_longlong(count), ct.c_void_p(numbers.ctypes.data), places)
