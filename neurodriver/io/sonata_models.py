"""The models and parameters here of the ``model_template`` of SONATA nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..circuit.groups import Group
from ..model.component import NDComponent
from ..model.library import shipped
from .sonata_places import OWN

Column = NDArray[np.float64]
Theirs = Mapping[str, Column]
Value = str | float | Callable[[Theirs], Column]


@dataclass(frozen=True)
class Template:
    """How a model of another program is expressed by a model of neurodriver.

    Parameters
    ----------
    model : NDComponent subclass or str
        The model of neurodriver.
    params : mapping of str to str, float or function, optional
        Parameter here -> its name in the files, a number, or a function of all parameters in the
        files (name -> column). Without it the names are the same.
    defaults : mapping of str to float
        Parameters in the files -> defaults; NaN: no default. Other parameters are refused.
    receptors : (str, str)
        Receptors of edges with weights from 0 on, and of edges with negative weights.
    factors : (float, float)
        Factors of the weights into these receptors.
    inverse : mapping of str to str
        Parameter in the files -> parameter here, for writing, if ``params`` has a function.
    """

    model: type[NDComponent] | str
    params: Mapping[str, Value] | None = None
    defaults: Mapping[str, float] = field(default_factory=dict)
    receptors: tuple[str, str] = ("", "")
    factors: tuple[float, float] = (1.0, 1.0)
    inverse: Mapping[str, str] = field(default_factory=dict)

    def known(self, model: type[NDComponent]) -> dict[str, float]:
        """Return the parameters that the files may have, with their defaults (NaN: none)."""
        if self.params is None:
            given = {n: np.nan if p.default is None else p.default for n, p in model.params.items()}
            return {**given, **dict.fromkeys(model.initial_names(), np.nan), **self.defaults}
        named = [value for value in self.params.values() if isinstance(value, str)]
        return {**dict.fromkeys(named, np.nan), **self.defaults}

    def translate(self, theirs: Theirs, count: int) -> dict[str, Column]:
        """Return the parameters here from those in the files, (count,) each."""
        if self.params is None:
            return dict(theirs)
        out = {}
        for name, value in self.params.items():
            if callable(value):
                column = value(theirs)
            else:
                column = theirs[value] if isinstance(value, str) else np.array(float(value))
            out[name] = np.broadcast_to(column, (count,))
        return out

    def written(self, group: Group) -> dict[str, Column] | None:
        """Return the parameters of a group by their names in the files, () or (n,) each.

        The result is None if reading them would not give the same bits for each parameter here. An
        initial value that was not given is written as the model's default.
        """
        ours = {value: key for key, value in (self.params or {}).items() if isinstance(value, str)}
        ours |= self.inverse
        found = {theirs: _start(group, name) for theirs, name in ours.items()}
        theirs = {key: column for key, column in found.items() if column is not None}
        defaults = {key: np.array(value) for key, value in self.defaults.items()}
        if len(theirs) < len(found):
            return None
        back = self.translate({**defaults, **theirs}, group.count)
        for name, column in group.params.items():
            given = np.asarray(column, np.float64)
            if name in back:
                read = np.where(np.isnan(given), np.nan, back[name])
            else:
                rule = group.model.params.get(name)
                read = np.array(np.nan if rule is None else rule.default, np.float64)
            wide = [np.broadcast_to(one, (group.count,)) for one in (given, read)]
            if not _same_bits(*wide):
                return None
        return theirs


def _start(group: Group, name: str) -> Column | None:
    """Return a parameter or an initial value of a group, or None if it has no value."""
    given = group.params.get(name)
    state = group.model.initial_names().get(name)
    rule = group.model.params.get(name)
    if state is None:
        default = None if rule is None or rule.default is None else np.array(rule.default)
        return default if given is None else given
    start = group.model.states[state].initial
    own = np.array(start) if isinstance(start, float | int) else _start(group, start)
    return own if given is None or own is None else np.where(np.isnan(given), own, given)


def _same_bits(a: Column, b: Column) -> bool:
    numbers = np.isnan(a)
    return bool((numbers == np.isnan(b)).all()) and a[~numbers].tobytes() == b[~numbers].tobytes()


def written_as(group: Group) -> tuple[str, dict[str, Column]]:
    """Return the template with which a group is written, and its parameters, () or (n,) each.

    It is a template of NEST or NEURON if this gives the same bits when it is read. Otherwise it is
    ``neurodriver:<model>``, with the names of the parameters here.
    """
    for name, template in KNOWN.items():
        if template.model == group.name and group.model is shipped().get(group.name):
            params = template.written(group)
            if params is not None:
                return name, params
    given = {n: c for n, c in group.params.items() if not np.isnan(c).all()}
    return f"{OWN}{group.name}", given


def as_template(given: Any) -> Template:
    """Return a template from one, a model, or a model with a mapping of its parameters."""
    if isinstance(given, Template):
        return given
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], Mapping):
        return Template(given[0], given[1])
    return Template(given)


def _rest_of_currents(p: Theirs) -> Column:
    """Return the potential at which a constant current holds a neuron."""
    return p["E_L"] + p["I_e"] * p["tau_m"] / p["C_m"]


def _rest_of_conductances(p: Theirs) -> Column:
    return p["E_L"] + p["I_e"] / p["g_L"]


_MEMBRANE: dict[str, Value] = {
    "threshold": "V_th",
    "reset_potential": "V_reset",
    "capacitance": "C_m",
    "refractory_period": "t_ref",
    "initV": "V_m",
}
_KINETICS: dict[str, Value] = {"tau_exc": "tau_syn_ex", "tau_inh": "tau_syn_in"}
_CURRENTS: dict[str, Value] = {
    **_MEMBRANE,
    "time_constant": "tau_m",
    "resting_potential": _rest_of_currents,
}
_CONDUCTANCES: dict[str, Value] = {
    **_MEMBRANE,
    **_KINETICS,
    "leak_conductance": "g_L",
    "E_exc": "E_ex",
    "E_inh": "E_in",
    "resting_potential": _rest_of_conductances,
}
_PSC = {"E_L": -70.0, "V_th": -55.0, "V_reset": -70.0, "C_m": 250.0, "tau_m": 10.0}
_PSC |= {"t_ref": 2.0, "I_e": 0.0, "V_m": -70.0}
_PSC_SLOW = {**_PSC, "tau_syn_ex": 2.0, "tau_syn_in": 2.0}
_COND = {"E_L": -70.0, "V_th": -55.0, "V_reset": -60.0, "C_m": 250.0, "g_L": 16.6667}
_COND |= {"t_ref": 2.0, "I_e": 0.0, "V_m": -70.0, "E_ex": 0.0, "E_in": -85.0}
_COND |= {"tau_syn_ex": 0.2, "tau_syn_in": 2.0}

_BOTH = ("exc", "inh")
_REST = {"E_L": "resting_potential"}
KNOWN: dict[str, Template] = {
    "virtual": Template("SpikeSource", {}),
    "nest:iaf_psc_delta": Template("LeakyIAFDelta", _CURRENTS, _PSC, inverse=_REST),
    "nest:iaf_psc_exp": Template(
        "LeakyIAFExpCurrent", {**_CURRENTS, **_KINETICS}, _PSC_SLOW, _BOTH, inverse=_REST
    ),
    "nest:iaf_psc_alpha": Template(
        "LeakyIAFAlphaCurrent", {**_CURRENTS, **_KINETICS}, _PSC_SLOW, _BOTH, inverse=_REST
    ),
    "nest:iaf_cond_exp": Template(
        "LeakyIAFExpConductance", _CONDUCTANCES, _COND, _BOTH, (1.0, -1.0), _REST
    ),
    "nest:iaf_cond_alpha": Template(
        "LeakyIAFAlphaConductance", _CONDUCTANCES, _COND, _BOTH, (1.0, -1.0), _REST
    ),
    "nrn:IntFire1": Template(
        "LeakyIAFDelta",
        {
            "resting_potential": 0.0,
            "reset_potential": 0.0,
            "threshold": float(np.nextafter(1.0, 2.0)),  # there it fires above 1
            "time_constant": "tau",
            "refractory_period": "refrac",
        },
        {"tau": 10.0, "refrac": 5.0},
    ),
}
"""Templates that are known without ``models=``, with the defaults of NEST 3 and NEURON 8."""
