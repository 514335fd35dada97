"""What the attributes in the body of a model or of a rule may be, and which of them mean nothing.

A class may have attributes and methods of its own. A text or a table is a mistake if its name is
nearly one of the known names, or belongs to the other kind of class: nothing would read it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ..adapters import MODEL_NAMES
from ..errors import Faults, ModelError, near, shown
from ..quantities import has_unit
from .language import parse, parse_expression, tree
from .runtime import brought_by
from .units import misspelled

_OF_MODELS = {
    "arrivals": "on_arrival", "equations": "on_step", "update": "on_step", "terms": "constants",
    "outputs": "synapse", "states": "synapse", "reset": "on_spike", "threshold": "post",
    "refractory": "", "method": "", "functions": "", "parts": "", "numbers": "params",
    "fields": "params", "shared": "params", "vectors": "", "accesses": "", "updates": "synapse",
    "sources": "", "pools": "", "axes": "",
}  # fmt: skip
"""Attribute that models alone have -> what a rule has for it."""

_OF_RULES = {
    "on_arrival": "arrivals", "on_spike": "reset", "on_step": "update", "between": "update",
    "synapse": "states", "pre": "", "post": "", "modulators": "accesses", "every": "update",
    "late": "", "on_call": "", "on_dose": "", "on_pre": "arrivals", "on_post": "",
    "eqs": "equations",
}  # fmt: skip
"""Attribute that rules alone have, or classes of other programs -> what a model has for it."""

_TO_RULES = {"on_pre": "on_arrival", "on_post": "on_spike", "model": "synapse", "eqs": "on_step"}
"""Attribute of other programs -> what a rule has for it."""

Check = Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are_texts(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(name, str) and isinstance(text, str) for name, text in value.items()
    )


def _are_functions(value: Any) -> bool:
    return _is_text(value) or _are_texts(value)


def _is_number(value: Any) -> bool:
    known = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return known and bool(np.isreal(value))


def _are_names(value: Any) -> bool:
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        return False
    listed = isinstance(value, list | tuple | set | frozenset | Mapping | np.ndarray)
    return not listed or not any(_is_number(one) or one is None for one in value)


def _are_updates(value: Any) -> bool:
    units = value.values() if isinstance(value, Mapping) else ()
    return _are_names(value) and all(isinstance(unit, str) for unit in units)


def _are_entries(value: Any) -> bool:
    return not isinstance(value, np.ndarray) and not (
        isinstance(value, Mapping) and any(not isinstance(name, str) for name in value)
    )


_SECONDS = "a number of seconds, such as 1e-4"
_MODELS: dict[str, tuple[Check, str]] = {
    "equations": (_is_text, "a text such as 'dV/dt = (E - V) / tau : mV'"),
    "threshold": (_is_text, "a text such as 'V > -50*mV'"),
    "reset": (_is_text, "a text such as 'V = -60*mV'"),
    "refractory": (_is_text, "a text such as '5*ms'"),
    "arrivals": (_is_text, "a text such as 'g += exc'"),
    "method": (_is_text, "a text such as 'euler'"),
    "update": (_is_text, "a text such as 'V = V + dt_ms * I;'"),
    "functions": (
        _are_functions, "a text such as 'real twice(real x) { return 2 * x; }', or texts by name",
    ),
    "constants": (_are_texts, "texts by name, such as {'decay': 'exp(-dt_ms / tau)'}"),
    "terms": (_are_texts, "texts by name, such as {'drive': 'R * I'}"),
    "outputs": (_are_texts, "texts by name, such as {'r': 'fmax(V, 0)'}"),
    "accesses": (_are_names, "a list of names, such as ['I']"),
    "updates": (_are_updates, "a list of names, such as ['V'], or units by name"),
    "axes": (lambda value: isinstance(value, str | list | tuple), "names, such as ('y', 'x')"),
    "maximum_dt": (_is_number, _SECONDS),
    "fixed_dt": (_is_number, _SECONDS),
    "params": (_are_names, "parameters by name, such as {'tau': nd.Parameter('ms')}"),
    "states": (_are_names, "states by name, such as {'V': nd.State('mV')}"),
    **dict.fromkeys(
        ("parts", "numbers", "fields", "shared", "sources", "pools", "kinds"),
        (_are_entries, "a mapping, whose keys are names"),
    ),
}  # fmt: skip
"""Attribute of a model -> what it may be, and how a message says this."""


def check_body(cls: type, base: type) -> None:
    """Raise ModelError with the attributes in the body of a model that are wrong.

    Parameters
    ----------
    base : type
        The class of all models.
    """
    faults = Faults(cls.__name__)
    for name, (fits, wanted) in _MODELS.items():
        given = cls.__dict__.get(name)
        if given is not None and not fits(given):
            faults.add(f"{name}: must be {wanted} (got {shown(given)})")
    method = cls.__dict__.get("prepare")
    if method is not None and not isinstance(method, classmethod) and not _brings_code(cls):
        faults.add("prepare: must be a class method: @classmethod, def prepare(cls, population)")
    for said in unknown(cls, base, "model", (*MODEL_NAMES, "reactions"), _OF_RULES):
        faults.add(said)
    if faults.count:
        raise ModelError(faults.report())


def _brings_code(cls: type) -> bool:
    """Whether methods of a class belong to its instances."""
    return any(brought_by(one) - {"text"} for one in cls.__mro__)


def unknown_in_rule(cls: type, base: type) -> Iterator[str]:
    """Yield what is wrong with the names in the body of a rule."""
    return unknown(cls, base, "rule", (), {**_OF_MODELS, **_TO_RULES})


def unknown(
    cls: type, base: type, kind: str, more: Iterable[str], foreign: Mapping[str, str]
) -> Iterator[str]:
    """Yield the attributes of a class that nothing reads, though they look as if something did.

    Parameters
    ----------
    base : type
        The class of all such classes.
    kind : str
        What messages call them.
    more : iterable of str
        Names that some of them have.
    foreign : mapping of str to str
        Attributes of other classes -> what these have for them.
    """
    known = {*more, *inspect.get_annotations(base), *(n for one in cls.__bases__ for n in dir(one))}
    for name, given in vars(cls).items():
        family = _family(given)
        if name.startswith("_") or name in known or not family:
            continue
        if name in foreign and (family != "list" or name in _LISTS):
            instead = foreign[name]
            yield f"no {kind} has an attribute '{name}'" + (f"; it has '{instead}'" * bool(instead))
        else:
            alike = [
                one for one, default in vars(base).items()
                if one[0] != "_" and family in (_family(default), _ALSO.get(one))
            ]  # fmt: skip
            hint = near(name, alike)
            if not hint and _is_of_the_language(given) and not _is_part(cls, given):
                public = [one for one, default in vars(base).items() if _family(default)]
                among = [one for one in public if one in name.split("_")]
                hint = f"; is '{among[0]}' meant?" if among else ""
            if hint:
                yield f"no {kind} has an attribute '{name}'{hint}"


_LISTS = ("accesses", "updates")
"""Attributes of models that are lists, and no usual word."""

_ALSO = {"functions": "table", "updates": "table", "params": "list", "bounds": "list"}
"""Attribute that may be of another family than what it is without being given."""


def _family(given: Any) -> str:
    """Return what a value is of the things that attributes may be; nothing for others."""
    if isinstance(given, str):
        return "text"
    if isinstance(given, Mapping):
        return "table"
    return "list" if isinstance(given, list | tuple) else ""


def _is_part(cls: type, given: Any) -> bool:
    """Whether a text of a class body is part of another one."""
    tables = [one.values() for one in vars(cls).values() if isinstance(one, Mapping)]
    others = [*vars(cls).values(), *(text for table in tables for text in table)]
    return isinstance(given, str) and any(
        isinstance(one, str) and given in one and one is not given for one in others
    )


def _is_of_the_language(given: Any) -> bool:
    """Whether something is a text, or texts by name, with an operator of the language."""
    texts = list(given.values()) if isinstance(given, Mapping) else [given]
    return bool(texts) and all(isinstance(one, str) and _says_something(one) for one in texts)


def _says_something(text: str) -> bool:
    for read, given in ((parse, text), (parse, f"{text};"), (parse_expression, text)):
        try:
            nodes = [*read(given).walk()]
        except ModelError:
            continue
        return any(isinstance(one, tree.Binary | tree.Assignment | tree.Increment) for one in nodes)
    return False


def fault_of(rule: Any, taker: str) -> str:
    """Return what is wrong with a parameter or a state; nothing where all is right.

    Parameters
    ----------
    taker : str
        What takes a distribution in place of its number, as a message writes it; may be empty.
    """
    kind = "State" if hasattr(rule, "initial") else "Parameter"
    number = "default" if kind == "Parameter" else "initial"
    value = getattr(rule, number)
    if not isinstance(rule.unit, str):
        form = f"nd.{kind}('ms', {shown(rule.unit)})" if _is_number(rule.unit) else "'ms'"
        return f"the unit comes first, and must be a text: {form} (got {shown(rule.unit)})"
    if hint := misspelled(rule.unit):
        return f"{shown(rule.unit)} is no unit{hint}"
    bounds = ("above", "at_least", "at_most") if kind == "Parameter" else ()
    for name in bounds:
        if not _is_number(getattr(rule, name)):
            return f"{name} must be a number (got {shown(getattr(rule, name))})"
    if value is None and kind == "Parameter":
        return ""
    if isinstance(value, str) and kind == "State":
        return ""
    if has_unit(type(value)):
        return f"{number} must be a number in '{rule.unit}' without unit (got {shown(value)})"
    if not (_is_number(value) or isinstance(value, bool) or _is_plain_array(value)):
        names = " or the name of a parameter" * (kind == "State")
        more = f"; a distribution is for {taker}" if taker else ""
        return f"{number} must be a number{names} (got {shown(value)}){more}"
    return ""


def _is_plain_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "biuf"
