"""Poisson sources for components of a circuit, with events strong enough for a spike."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import CircuitError, Faults, near, quoted
from ..model.component import Access, NDComponent
from ..model.kinds import SPIKES, VariableKind
from ..model.library import shipped
from ..model.response import Response, weakest
from ..model.stability import sampled
from ..quantities import magnitude, seconds
from .builders import builds
from .circuit import Circuit, Connections, Group
from .drawn import Drawn
from .initial import initial_states
from .uids import Who, uid_list

Numbers = NDArray[np.int64]

_TRIED = 8
"""Components of a group whose response is tried, beside the extremes of each parameter."""


@dataclass
class _Stimulus:
    """What some components get."""

    model: str
    variable: str
    access: Access
    targets: Numbers
    rows: Numbers
    """Their places among all that are stimulated."""
    strength: NDArray[np.float64] | None
    """Weight of an event, or current of a pulse, () or (n,); None where there is no weight."""


@builds("stimulate")
def stimulate(
    circuit: Circuit,
    who: Who,
    rate: ArrayLike,
    weight: ArrayLike | None,
    receptor: str | None,
    delay: float | None,
    name: str,
) -> Circuit:
    """Return the circuit of `Circuit.stimulate`."""
    faults = Faults(f"{circuit.name}: stimulate")
    numbers = numbers_of(circuit, who, faults)
    hertz = _each(rate, len(numbers), "Hz", "rate", faults)
    given = None if weight is None else _each(weight, len(numbers), None, "weight", faults)
    if (hertz < 0).any():
        faults.add(f"rate must be at least 0 Hz (got {hertz.min():g})")
    late = _shortest(circuit) if delay is None else float(seconds(delay, "stimulate: delay"))
    if not 0 <= late < np.inf:
        faults.add(f"delay must be seconds, at least 0 (got {late:g})")
    _check_names(circuit, numbers, name, faults)
    if faults.count:
        faults.finish()
    stimuli = _Stimuli(circuit, numbers, given, receptor, faults).made()
    faults.finish()
    groups, links, count = list(circuit.groups), list(circuit.connections), circuit.count
    for one in stimuli:
        params: dict[str, Any] = {"rate": hertz[one.rows]}
        if one.model == "PoissonPulses":
            params["amplitude"] = one.strength
        uids = np.strings.add(f"{name}/", circuit.uids[one.targets])
        model, n = shipped()[one.model], len(one.targets)
        groups.append(Group(model, params, n, uids, hidden=True))
        data = {
            key: np.asarray(1.0 if rule.default is None else rule.default)
            for key, rule in one.access.connection.items()
        }
        if "weight" in data and one.strength is not None:
            data["weight"] = one.strength
        ends = np.arange(count, count + n, dtype=np.int32), one.targets.astype(np.int32)
        links.append(Connections(one.variable, one.access.name, *ends, np.array(late), data))
        count += n
    return circuit.with_parts(tuple(groups), tuple(links))


def numbers_of(circuit: Circuit, who: Who, faults: Faults) -> Numbers:
    """Return the component numbers of what a user names, each once; note what is unknown."""
    if isinstance(who, str) and circuit.find([who])[0] < 0 and who in circuit.populations:
        who = circuit.populations[who]
    uids = uid_list(who, CircuitError)
    found = circuit.find(uids)
    lost = np.flatnonzero(found < 0)
    known = circuit.uids.tolist() if 0 < len(lost) and circuit.count <= 2000 else []
    faults.add_for(lost, lambda i: f"no component {quoted(uids[i])}{near(uids[i], known)}")
    values, times = np.unique(found[found >= 0], return_counts=True)
    again = values[times > 1]
    faults.add_for(again, lambda i: f"component {quoted(circuit.uids[i])} is named twice")
    return found[found >= 0]


def _each(
    values: ArrayLike, count: int, unit: str | None, name: str, faults: Faults
) -> NDArray[np.float64]:
    """Return a number for each component, (count,)."""
    want = f"a number or {count} of them"
    try:
        array = np.asarray(magnitude(values, unit, f"stimulate: {name}"), dtype=np.float64)
    except (TypeError, ValueError):
        faults.add(f"{name} must be {want} (got {values!r:.60})")
        return np.zeros(count)
    if array.shape not in ((), (count,)):
        faults.add(f"{name} must be {want} (got shape {array.shape})")
        return np.zeros(count)
    if not np.isfinite(array).all():
        faults.add(f"{name} must be finite (got {array[~np.isfinite(array)].flat[0]})")
    return np.broadcast_to(array, (count,))


def _check_names(circuit: Circuit, numbers: Numbers, name: str, faults: Faults) -> None:
    uids = np.strings.add(f"{name}/", circuit.uids[numbers])
    taken = np.flatnonzero(circuit.find(uids) >= 0)
    fix = "give this stimulus another name="
    faults.add_for(taken, lambda i: f"there is a component {quoted(uids[i])} already; {fix}")


def _shortest(circuit: Circuit) -> float:
    """Return the shortest delay of spikes, s; 0 without any."""
    spikes = [one for one in circuit.connections if one.variable == SPIKES and len(one)]
    return min((_least(one) for one in spikes), default=0.0)


def _least(links: Connections) -> float:
    return links.latency.least if isinstance(links, Drawn) else float(np.min(links.delay))


@dataclass
class _Stimuli:
    """Finds out what reaches each model."""

    circuit: Circuit
    numbers: Numbers
    weight: NDArray[np.float64] | None
    receptor: str | None
    faults: Faults
    found: list[_Stimulus] = field(default_factory=list)

    def made(self) -> list[_Stimulus]:
        """Return what the components of each group get; note those that nothing fits."""
        starts = self.circuit.starts
        which = np.searchsorted(starts, self.numbers, side="right") - 1
        for number in np.unique(which).tolist():
            group = self.circuit.groups[number]
            rows = np.flatnonzero(which == number)
            self._group(group, rows, self.numbers[rows] - starts[number])
        return self.found

    def _group(self, group: Group, rows: Numbers, members: Numbers) -> None:
        model, strength = group.model, None if self.weight is None else self.weight[rows]
        accesses = self._accesses(model, len(rows))
        if not accesses:
            return
        plain = [a for a in accesses if model.kind_of(a.variable) is VariableKind.EVENT]
        access = next((a for a in plain if not a.weighted), None)
        if access is not None and len(plain) == 1:
            if strength is not None:
                say = f"{model.__name__}: its access {quoted(access.name)} takes no weights"
                self.faults.add(f"{say}; leave out weight=")
            self._add("PoissonSource", access, rows, None)
            return
        found = [(one, response(group, members, one)) for one in accesses]
        tried = [(one, answer) for one, answer in found if answer is not None]
        if strength is not None and (len(accesses) == 1 or not tried):
            access = accesses[0]
        elif tried:
            access, answer = min(tried, key=lambda one: one[1].latency)
            strength = np.asarray(answer.single) if strength is None else strength
        else:
            known = ", ".join(a.name for a in accesses)
            say = f"{model.__name__}: no stimulus was found that makes a resting cell fire"
            self.faults.add(f"{say}; give weight= and receptor= (it has {known})", len(rows))
            return
        if "weight" in access.connection:
            least = access.connection["weight"].at_least
            if strength is not None and (strength < least).any():
                say = f"{model.__name__}: weights at {quoted(access.name)} are at least {least:g}"
                self.faults.add(f"{say} (got {strength.min():g})")
        event = model.kind_of(access.variable) is VariableKind.EVENT
        self._add("PoissonSource" if event else "PoissonPulses", access, rows, strength)

    def _accesses(self, model: type[NDComponent], count: int) -> list[Access]:
        """Return where a stimulus may enter: receptors of events, else currents."""
        every = [] if model.is_port else [a for a in model.accesses if not a.single]
        events = [a for a in every if model.kind_of(a.variable) is VariableKind.EVENT]
        currents = [a for a in every if model.kind_of(a.variable) is VariableKind.CURRENT]
        fits = [*events, *currents] if self.receptor else events or currents
        chosen = [a for a in fits if self.receptor in (None, a.name, a.receptor)]
        if not fits:
            takes = ", ".join(a.variable for a in model.accesses) or "nothing"
            say = f"{model.__name__} takes neither spikes nor a current"
            self.faults.add(f"{say}; it accesses {takes}: inject that with an input", count)
        elif not chosen:
            known = ", ".join(a.name for a in fits)
            say = f"{model.__name__} has no receptor {quoted(self.receptor)}"
            self.faults.add(
                f"{say}{near(str(self.receptor), [a.name for a in fits])}; it has {known}"
            )
        return chosen

    def _add(self, source: str, access: Access, rows: Numbers, strength: Any) -> None:
        targets = self.numbers[rows]
        variable = access.variable
        self.found.append(_Stimulus(source, variable, access, targets, rows, strength))


def response(group: Group, members: Numbers, access: Access) -> Response | None:
    """Return how resting components of a group answer to a stimulus at an access.

    Parameters
    ----------
    group : Group
    members : (n,) int
        Places within the group; some of them are looked at, the extremes of parameters among them.
    access : Access
    """
    model = group.model
    columns = {}
    for name in model.fixed_params():
        column = np.asarray(group.params.get(name, model.params[name].default), dtype=np.float64)
        columns[name] = np.broadcast_to(column, (group.count,))[members]
    states = {name: column[members] for name, column in initial_states(group).items()}
    table = {**columns, **{f"init{name}": column for name, column in states.items()}}
    places = _distinct(table, sampled(table, len(members), _TRIED))
    columns = {name: column[places] for name, column in columns.items()}
    states = {name: column[places] for name, column in states.items()}
    return weakest(model, access.name, columns, states)


def _distinct(table: dict[str, NDArray[np.float64]], places: list[int]) -> list[int]:
    """Return those of some places that differ in a column."""
    rows = {tuple(float(column[i]) for column in table.values()): i for i in reversed(places)}
    return sorted(rows.values())
