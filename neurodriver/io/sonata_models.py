"""The models and parameters here of the ``model_template`` of SONATA nodes, and what is wrong."""

from __future__ import annotations

import numpy as np

from ..circuit.groups import Group
from ..errors import Faults, near, quoted
from ..model.component import NDComponent
from ..model.library import shipped
from .sonata_glif import GLIF
from .sonata_places import OWN
from .sonata_template import Column, Theirs, Value
from .sonata_template import Template as Template
from .sonata_template import TemplateChoice as TemplateChoice
from .sonata_template import as_template as as_template


def written_as(group: Group) -> tuple[str, dict[str, Column]]:
    """Return the template with which a group is written, and its parameters, () or (n,) each.

    It is a template of NEST or NEURON if this gives the same bits when it is read. Otherwise it is
    ``neurodriver:<model>``, with the names of the parameters here.
    """
    for name, template in KNOWN.items():
        if isinstance(template, TemplateChoice):
            continue
        if template.model == group.name and group.model is shipped().get(group.name):
            params = template.written(group)
            if params is not None:
                return name, params
    given = {n: c for n, c in group.params.items() if not np.isnan(c).all()}
    return f"{OWN}{group.name}", given


def _rest_of_currents(p: Theirs) -> Column:
    """Return the potential at which a constant current holds a neuron."""
    return p["E_L"] + p["I_e"] * p["tau_m"] / p["C_m"]


def _rest_of_conductances(p: Theirs) -> Column:
    return p["E_L"] + p["I_e"] / p["g_L"]


IN_SECONDS = "NEURON_IntFire1"
"""Type in parameter files of the Allen Institute, whose times are in s. NEURON's are in ms."""


def _to_ms(p: Theirs) -> Column:
    """Return the factor of times in the files."""
    return np.where(np.asarray(p.get("type", "")) == IN_SECONDS, 1e3, 1.0)


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
KNOWN: dict[str, Template | TemplateChoice] = {
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
            "time_constant": lambda p: p["tau"] * _to_ms(p),
            "refractory_period": lambda p: p["refrac"] * _to_ms(p),
        },
        {"tau": 10.0, "refrac": 5.0},
        inverse={"tau": "time_constant", "refrac": "refractory_period"},
        signed=True,
        words={"type": (IN_SECONDS,)},
    ),
    **GLIF,
}
"""Templates that are known without ``models=``, with the defaults of NEST 3 and NEURON 8."""


def translated(
    template: Template,
    model: type[NDComponent],
    theirs: dict[str, Column],
    count: int,
    where: str,
    ignore: frozenset[str],
    faults: Faults,
) -> dict[str, Column]:
    """Return the parameters of some nodes, from those in the files and the defaults.

    ``theirs`` has a column (count,) for each parameter in the files: numbers, NaN for none, or
    texts, "" for none. ``where`` names the nodes in an error.
    """
    known = template.known(model)
    for key, column in theirs.items():
        say = _no_meaning(template, model, known, key, column)
        if say and key not in ignore and not template.is_aside(key):
            faults.add(f"{where}: {say}; map it, or say ignore=[{key!r}]")
    full: dict[str, Column] = {}
    for key, default in known.items():
        column = theirs.get(key, np.full(count, np.nan))
        if column.dtype.kind == "U":
            if (column != "").any():
                got = quoted(column[column != ""][0])
                faults.add(f"{where}: {quoted(key)} must be a number (got {got})")
            column = np.zeros(count)
        full[key] = np.where(np.isnan(column), default, column)
    full |= {k: c for k, c in theirs.items() if k in template.words and c.dtype.kind == "U"}
    with np.errstate(divide="ignore", invalid="ignore"):  # what is not finite is reported later
        out = template.translate(full, count)
    if template.params is None:  # defaults of the model hold where nothing is said
        needed = [key for key, rule in model.params.items() if rule.default is None]
        some = {k for k, c in theirs.items() if c.dtype.kind != "U" and not np.isnan(c).all()}
        out = {k: c for k, c in out.items() if k in some.union(needed, template.defaults)}
    for key in {*model.params}.intersection(out):
        lost = int(np.isnan(out[key]).sum())
        if lost:
            names = " or ".join(map(quoted, template.sources(key)))
            source = f" (in the files: {names})" if names else ""
            faults.add(f"{where}: {quoted(key)} of {model.__name__} is missing{source}", lost)
    return out


def _no_meaning(
    template: Template, model: type[NDComponent], known: dict[str, float], key: str, column: Column
) -> str:
    """Return what is wrong with a parameter that a model does not have, "" if nothing is."""
    if key in known:
        return ""
    if column.dtype.kind != "U":
        if np.isnan(column).all():
            return ""
        say = f"the parameter {quoted(key)} has no meaning in {model.__name__}"
        return f"{say}{near(key, known)}"
    allowed = template.words.get(key, ())
    strange = sorted({*np.unique(column).tolist()} - {"", *allowed})
    if not strange:
        return ""
    may = f" (allowed: {', '.join(map(quoted, allowed))})" if allowed else ""
    return f"the parameter {quoted(key)} of {model.__name__} must not be {quoted(strange[0])}{may}"
