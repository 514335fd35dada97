"""Lookahead: the spikes of the next step, computed before its inputs are there, as CUDA text.

Example: ``V += s - 0.1 * V; if (V > 1) { V = 0; spike_state = 1; } s = 0.9 * s + exc;``. Here exc
changes s, and s changes V one step later. So the spike of step k + 1 follows from V and s at the
end of step k. Its thread computes it then, and lists all of its connections. Other warps deliver
them during step k + 1, and no warp waits for that. In its own step the spike is computed again,
stored and recorded.

Lookahead is the term of parallel simulation for how far ahead a process knows its own events.
Chandy, K. M. & Misra, J. Distributed simulation. IEEE Trans Softw Eng SE-5, 440-452 (1979).
https://doi.org/10.1109/TSE.1979.230182
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from ...model.language import Slice, backward_slice, tree, used
from ...model.language.words import DRAWS, STEP
from ...plan.unit import KernelSpec
from ..component import ComponentText
from .thread_events import ThreadEvents, each


class Lookahead:
    """Writes the part of a model's texts that its spikes depend on.

    Parameters
    ----------
    component : ComponentText
    """

    def __init__(self, component: ComponentText) -> None:
        self.component, self.texts = component, component.texts

    @cached_property
    def _update(self) -> Slice:
        body = self.texts["update"].tree
        assert isinstance(body, tree.Body)
        return backward_slice(body, self.component.events)

    @cached_property
    def _terms(self) -> list[str]:
        """Terms that the update needs, in order."""
        needed, terms = set(self._update.names), []
        for name in reversed([*self.component.model.terms]):
            if name in needed:
                terms.append(name)
                needed |= used(self._term(name))
        return terms[::-1]

    def _term(self, name: str) -> tree.Node:
        return self.texts[f"terms[{name!r}]"].tree

    @cached_property
    def possible(self) -> bool:
        """Whether spikes depend on states and parameters alone: on no input, draw or step.

        An input that nothing reaches is 0, so it does not count.
        """
        if not _plain(self.component.spec) or not self.component.events:
            return False
        terms = [self._term(name) for name in self._terms]
        names = self._update.names | used(*terms)
        inputs = [symbol for name, symbol in self.component.inputs.items() if self._reached(name)]
        given = {*inputs, *DRAWS, STEP, "substep", "substeps"}
        return names.isdisjoint(given)

    def _reached(self, access: str) -> bool:
        return self.component.spec.gathers[access].form != "none"

    def method(self, numbers: Sequence[str], events: Sequence[ThreadEvents]) -> list[str]:
        """Return the lines that send the spikes of step ``nd_k`` from the states before it.

        Parameters
        ----------
        numbers : sequence of str
            Lines that give the numbers of component ``nd_i`` their names.
        events : sequence of ThreadEvents
            The variables of events.
        """
        if not self.possible:
            return ["(void)nd_k;"]
        c, declared = self.component, []
        body = [*numbers, *self._given(), *self._mathematics()]
        for name in c.events:
            declared += [f"unsigned nd_e_{name}[ND_OWN];", f"real nd_y_{name}[ND_OWN];"]
            body.append(f"nd_y_{name}[nd_i] = {c.live} ? {name} : 0;")
        sends = [line for one in events for line in one.sends_ahead()]
        lines = [*c.head(), *declared, *each(body), *sends]
        return ["#if ND_LOOKAHEAD", *lines, "#else", "(void)nd_k;", "#endif"]

    def _given(self) -> list[str]:
        """Give states, flags and inputs that nothing reaches their names."""
        c = self.component
        nothing = [symbol for name, symbol in c.inputs.items() if not self._reached(name)]
        return [
            *(f"real {name} = nd_v_{name}[nd_i]; (void){name};" for name in c.model.states),
            *(f"real {name} = 0;" for name in c.flags()),
            *(f"const real {symbol} = 0; (void){symbol};" for symbol in nothing),
        ]

    def _mathematics(self) -> list[str]:
        """Return the terms and statements that spikes depend on."""
        translator, lines = self.component.translator, []
        for name in self._terms:
            lines.append(f"const real {name} = {translator.value(f'terms[{name!r}]')};")
        translator.begin(self.texts["update"].checked)
        return [*lines, *translator.statements(tree.Body(self._update.statements))]


def _plain(spec: KernelSpec) -> bool:
    """Whether a step is one pass over the text of a cell that a thread has to itself."""
    model = spec.model
    return (
        spec.substeps == 1
        and (spec.every, spec.first) == (1, 0)
        and model.sub_units is None
        and not spec.template
        and not (spec.side or spec.split or spec.adds or spec.place or spec.shared_by_warp)
        and not spec.watch.debug
        and not {*model.outputs} & {*filter(spec.is_event, model.updates)}
    )
