"""Traces of synapses: numbers that decay between the events of a synapse.

``synapse = {"c": nd.Trace("tau_c")}`` is a number of each synapse that texts of events change. It
is stored as it was after the last event. So it decays before each event, as a text ``between``
says, and again where it is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import ModelError
from .parameters import State
from .traces import Trace

BESIDE_EVENTS = ("on_step", "every", "on_call")
"""Texts that run at steps without events: they do not know traces of synapses."""


@dataclass(frozen=True, slots=True)
class Decaying(State):
    """A trace of a synapse, as it is stored.

    Parameters
    ----------
    tau : str
        Parameter or constant of the rule with its time constant in ms.
    """

    tau: str = ""


def as_stored(cls: type, declared: Mapping[str, Any]) -> dict[str, Any]:
    """Return numbers of a synapse, where traces have become what is stored.

    Raises
    ------
    ModelError
        For a trace that jumps by itself.
    """
    out = dict(declared)
    for name, one in declared.items():
        if not isinstance(one, Trace):
            continue
        plain = isinstance(one.jump, int | float) and one.jump == 1.0
        if not plain or one.nearest is not False:
            say = "texts of events change the trace of a synapse; leave out 'jump' and 'nearest'"
            raise ModelError(f"{cls.__name__}: synapse['{name}']: {say}")
        out[name] = Decaying(doc=one.doc, tau=one.tau)
    return out


def taus(synapse: Mapping[str, Any]) -> dict[str, str]:
    """Return the traces among numbers of a synapse: name -> time constant."""
    return {name: one.tau for name, one in synapse.items() if isinstance(one, Decaying)}


def with_decays(between: str, synapse: Mapping[str, Any]) -> str:
    """Return a text that runs before events, and lets the traces of a synapse decay at its end."""
    decays = (f"{name} *= exp(-since_event / {tau});" for name, tau in taus(synapse).items())
    return " ".join([between, *decays]).strip()


def anchors(rule: Any) -> int:
    """Return of how many kinds of events of all synapses at once the last step is kept.

    One for the doses of each modulator. A rule with the text ``between`` has one at least: before
    Python changes something, all synapses apply that text, and it begins anew.
    """
    return max(len(rule.doses()), int(bool(rule.between)))


def misplaced(cls: Any) -> Iterator[str]:
    """Yield which texts read a trace of a synapse that they do not know."""
    texts = {"on_step": cls.on_step}
    for of in BESIDE_EVENTS[1:]:
        texts |= {f"{of}[{name!r}]": text for name, text in getattr(cls, of).items()}
    advice = "declare it as nd.State(...) and let it decay there"
    for name in filter(lambda one: isinstance(one, str), taus(cls.synapse)):
        for where, text in texts.items():
            if re.search(rf"\b{re.escape(name)}\b", text):
                what = "a trace of synapses, which texts of events alone know"
                yield f"{where} uses '{name}', {what}; {advice}"
