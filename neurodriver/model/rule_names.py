"""Which names the texts of a rule of plasticity may use."""

from __future__ import annotations

from functools import partial
from typing import Any

from .language import Symbol
from .rule_calls import call_of
from .rule_sums import sums_of
from .rule_values import VALUE_TEXTS
from .synapse_traces import BESIDE_EVENTS, taus

GIVEN_TO_EVENTS = ("since_arrival", "since_spike", "since_event", "dt_ms")
"""Names that the texts of events may read: ms since the events before, and the step in ms."""

OF_THE_TYPES = ("Before", "Values")
"""Types in the code around the texts of a rule, which no name of a rule can have."""

OF_THE_STRUCTURE = frozenset(
    "PRE POST OWN MODULATORS SHARED VALUES PRE_VALUES POST_VALUES SPIKE_FIRST PAIR DRIFTS STEPS "
    "ACTS_AT_DOSES ELAPSES LOOKS CHANGES DRIFTS_TO_INTERVALS last_interval pre_after post_after "
    "on_spike on_arrival between dosed on_dose on_step every summed".split()
)
"""Members of the structure that a rule becomes, which no parameter or constant can have."""


def names_known(cls: Any, where: str) -> dict[str, Symbol]:
    """Return the names that a text may use."""
    fixed = partial(Symbol, hint="a text writes 'weight' and what 'synapse' declares")
    found = {"dt_ms": fixed("step in ms", unit="ms")}
    found.update({n: fixed("parameter", unit=p.unit or None) for n, p in cls.params.items()})
    constants = list(cls.constants)
    if where.startswith("constants"):
        constants = constants[: constants.index(where.split("'")[1])]
    found.update({n: fixed("constant") for n in constants})
    if where.startswith("constants"):
        return found
    unknown = taus(cls.synapse) if where.split("[")[0] in BESIDE_EVENTS else ()
    found["weight"] = Symbol("number of the synapse", writable=True)
    for name, state in cls.synapse.items():
        if name not in unknown:
            found[name] = Symbol("number of the synapse", unit=state.unit or None, writable=True)
    known = cls.modulators if where == "on_step" or where.startswith("every") else cls.doses()
    found.update({n: fixed("modulator") for n in known})
    if where.startswith("on_call") and (call := call_of(where.split("'")[1])):
        found.update({n: fixed("number that the call gives") for n in call.given})
    if where == "between":
        found["since_event"] = fixed("time in ms", unit="ms")
    if where.startswith("every"):
        found.update({n: fixed("sum") for n, _ in sums_of(cls.every[where.split("'")[1]])[0]})
    place = where.split("[")[0]
    if place in ("on_arrival", "on_spike", "on_step", "on_dose"):
        found.update({n: fixed("trace") for n in (*cls.pre, *cls.post)})
    if place in ("on_arrival", "on_spike", "on_dose"):
        found.update({n: fixed("time in ms", unit="ms") for n in GIVEN_TO_EVENTS})
    if place in VALUE_TEXTS:
        found.update({v.symbol: fixed("value of a neuron") for v in cls.values_read(place)})
    if place in ("on_arrival", "on_dose"):
        found["count"] = fixed("number of spikes")
    return found
