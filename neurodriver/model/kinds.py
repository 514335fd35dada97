"""The kinds of variables, and the one table of the names that models share.

What a program does with a variable follows from its kind: events are delivered by their sources
and recorded as events; a conductance that meets a current gets a driving force in between. A model
declares the kind of a variable by ``kinds``; a name of the table has its kind without that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING

from ..errors import CircuitError, ModelError, near

if TYPE_CHECKING:
    from .component import NDComponent


class VariableKind(Enum):
    """What the values of a variable mean."""

    EVENT = "event"  # zero nearly always
    GRADED = "graded"  # any number at any step
    CONDUCTANCE = "conductance"  # graded; times a driving force it is a current
    CURRENT = "current"  # graded; currents into one component add up
    POTENTIAL = "potential"  # graded; of a membrane


SPIKES, CONDUCTANCE, CURRENT, POTENTIAL = "spike_state", "g", "I", "V"
"""Usual names: those that the shipped models exchange."""

_SHARED: dict[str, tuple[VariableKind, str]] = {
    SPIKES: (VariableKind.EVENT, "1"),
    CONDUCTANCE: (VariableKind.CONDUCTANCE, "mS/cm^2"),
    CURRENT: (VariableKind.CURRENT, "uA/cm^2"),
    POTENTIAL: (VariableKind.POTENTIAL, "mV"),
    "r": (VariableKind.GRADED, "1"),
    "photon": (VariableKind.GRADED, "1/s"),
}
"""Kind and unit of the names that the shipped models share."""

Kinds = Mapping[str, VariableKind]
Model = type["NDComponent"]


def usual_unit(name: str) -> str:
    """Return the unit of a name of the table; empty for others."""
    return _SHARED[name][1] if name in _SHARED else ""


def agreed_unit(name: str) -> str:
    """Return the unit that a name has in every model; empty where models differ, as in currents."""
    return usual_unit(name) if name in (SPIKES, POTENTIAL, "r", "photon") else ""


def usually_event(name: str) -> bool:
    """Whether a name means events where no model is known, as in a recording."""
    return name in _SHARED and _SHARED[name][0] is VariableKind.EVENT


def declared(given: object, inherited: Kinds, names: Iterable[str], owner: str) -> Kinds:
    """Return the kinds of a model's variables, as far as they are known.

    Parameters
    ----------
    given : mapping of str to str or VariableKind
        What the class itself declares.
    inherited : mapping of str to VariableKind
        What the classes declare that it inherits from.
    names : iterable of str
        Variables that it reads or writes.
    owner : str
        Name of the class, for messages.

    Raises
    ------
    ModelError
        For a kind that is none, or a variable that the class neither reads nor writes.
    """
    names = list(dict.fromkeys(names))
    if not isinstance(given, Mapping):
        raise ModelError(f"{owner}.kinds: expected a mapping of variable to kind, got {given!r}")
    own = {}
    for name, value in given.items():
        where = f"{owner}.kinds['{name}']"
        if name not in names:
            hint = near(str(name), names)
            raise ModelError(f"{where}: the model neither accesses nor updates it{hint}")
        try:
            own[name] = VariableKind(value)
        except ValueError:
            known = ", ".join(kind.value for kind in VariableKind)
            hint = near(str(value), [kind.value for kind in VariableKind])
            message = f"'{value}' is no kind{hint}; known are {known}"
            raise ModelError(f"{where}: {message}") from None
    shared = {name: kind for name, (kind, _) in _SHARED.items()}
    kinds = {**shared, **inherited, **own}
    return {name: kinds[name] for name in names if name in kinds}


class CircuitKinds:
    """What the models of a circuit say about their variables.

    Parameters
    ----------
    models : sequence of NDComponent subclasses
        The first one that knows a variable decides.

    Attributes
    ----------
    faults : list of str
        A message for each variable to which two models give different kinds.
    """

    def __init__(self, models: Sequence[Model]) -> None:
        first: dict[str, Model] = {}
        found: dict[str, str] = {}
        for model in models:
            for name, kind in model.kinds.items():
                other = first.setdefault(name, model)
                if other.kinds[name] is not kind:
                    said = f"{other.__name__} ({other.kinds[name].value})"
                    also = f"{model.__name__} ({kind.value})"
                    message = f"variable '{name}' has two kinds, of {said} and of {also}"
                    found.setdefault(name, f"{message}; rename one, or declare one kind in both")
        self.faults = list(found.values())
        self._known: Kinds = {name: model.kinds[name] for name, model in first.items()}
        self._written = sorted({variable for model in models for variable in model.updates})

    @classmethod
    def agreed(cls, models: Sequence[Model], circuit: str) -> CircuitKinds:
        """Return the kinds; raise CircuitError where models disagree."""
        kinds = cls(models)
        if kinds.faults:
            raise CircuitError(f"{circuit}: {'; '.join(kinds.faults)}")
        return kinds

    def of(self, variable: str) -> VariableKind:
        """Return the kind of a variable: graded where no model says more."""
        return self._known.get(variable, VariableKind.GRADED)

    def is_event(self, variable: str) -> bool:
        """Whether a variable is one of events."""
        return self.of(variable) is VariableKind.EVENT

    def updated(self, *kinds: VariableKind) -> list[str]:
        """Return the updated variables of some kinds, ordered by kind and by name."""
        return [v for kind in kinds for v in self._written if self.of(v) is kind]
