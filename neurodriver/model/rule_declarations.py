"""What the declarations of every rule of plasticity keep, before its texts are read."""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import Faults, ModelError, near, shown
from .attributes import fault_of, unknown_in_rule
from .component import Parameter, State
from .declarations import OF_CONNECTIONS
from .language.words import is_reserved
from .rule_calls import call_of
from .rule_names import OF_THE_STRUCTURE
from .rule_sums import sums_of
from .rule_values import VALUE_TEXTS, values_of
from .synapse_traces import misplaced, taus

CHOICES = {"first": ("arrival", "spike"), "same_step": ("apart", "pair")}
"""Attribute -> what it may be."""

STORED = frozenset(
    "arrivals begin block clamped code dosed doses dosing found learning level listed one_per_unit "
    "parts per_unit pieces spikes sums swept_step unswept".split()
)
"""Names of what is stored beside numbers of synapses and traces: these have others."""

UNNAMED = ("every", "late", "on_call", "on_dose")
"""Attributes that map something else than names of their own."""

Kinds = Mapping[str, type | tuple[type, ...]]

_MAPPED = ("every", "on_call", "on_dose")
"""Attributes that map something to texts."""

DECAYING = ("pre", "post", "modulators")
"""Attributes whose values decay: they name time constants."""


def check_declarations(cls: Any, base: Any, kinds: Kinds, own: Iterable[str]) -> None:
    """Raise ModelError with all that is wrong in the attributes of a rule.

    Parameters
    ----------
    base : type
        The class of all rules.
    kinds : mapping of str to type, or to several
        Attribute that is a mapping -> what its values are.
    own : iterable of str
        Names that have a meaning in texts.
    """
    faults = Faults(cls.__name__)
    for text in unknown_in_rule(cls, base):
        faults.add(text)
    for attribute, kind in kinds.items():
        for name, given in getattr(cls, attribute).items():
            if not isinstance(given, kind):
                each = kind if isinstance(kind, tuple) else (kind,)
                wanted = (
                    "a text" if kind is str else " or ".join(f"nd.{k.__name__}(...)" for k in each)
                )
                faults.add(f"{attribute}[{name!r}]: must be {wanted} (got {shown(given)})")
            elif isinstance(given, Parameter | State):
                taker = f"{cls.__name__}({name}=...)" if attribute == "params" else ""
                if said := fault_of(given, taker):
                    faults.add(f"{attribute}[{name!r}]: {said}")
    for attribute in ("on_arrival", "on_spike", "on_step", "between"):
        if not isinstance(getattr(cls, attribute, ""), str):
            got = shown(getattr(cls, attribute))
            faults.add(f"{attribute}: must be a text (got {got})")
    if not faults.count:
        _check_names(cls, kinds, set(own), faults)
        _check_calls(cls, set(own), faults)
        _check_sums(cls, set(own), faults)
        _check_references(cls, faults)
        _check_values(cls, faults)
        for text in misplaced(cls):
            faults.add(text)
    for attribute, allowed in CHOICES.items():
        given = getattr(cls, attribute)
        if not (isinstance(given, str) and given in allowed):
            either = " or ".join(map(repr, allowed))
            faults.add(f"{attribute}: must be {either} (got {shown(given)})")
    if faults.count:
        raise ModelError(faults.report())


def mapping(cls: type, attribute: str, given: Any) -> Mapping[str, Any]:
    """Return what a class gives for an attribute that is a mapping, {} for None.

    Raises
    ------
    ModelError
        If it is none.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        say = f"{cls.__name__}: {attribute}: must map names to declarations"
        raise ModelError(f"{say} (got {shown(given)})")
    return given


def _check_names(cls: Any, kinds: Kinds, own: set[str], faults: Faults) -> None:
    """Note names that cannot be used, and those that are declared twice."""
    places: dict[str, list[str]] = {}
    for attribute in kinds:
        for name in getattr(cls, attribute) if attribute not in UNNAMED else ():
            places.setdefault(name, []).append(attribute)
    for name in cls.of_targets:
        places.setdefault(name, []).append("modulators")
    for name, where in places.items():
        if not _usable(name):
            faults.add(f"{where[0]}: {name!r} is not a usable name (letters, digits and _)")
        elif is_reserved(name) or name in own or _is_taken(name, where):
            faults.add(f"{where[0]}: the name '{name}' is reserved; choose another")
        elif len(where) > 1:
            faults.add(f"the name '{name}' is declared twice, in {' and '.join(where)}")


def _check_calls(cls: Any, own: set[str], faults: Faults) -> None:
    """Note texts for Python whose names, or whose numbers, cannot be used."""
    declared = _declared(cls)
    names: dict[str, str] = {}
    for written in cls.on_call:
        call, where = call_of(written), f"on_call[{written!r}]"
        if call is None:
            faults.add(f"{where}: write a name and the numbers it is given, as 'reward(r)'")
            continue
        if call.name in names:
            faults.add(f"{where}: '{call.name}' is declared as {names[call.name]!r}, too")
        names[call.name] = written
        for name in dict.fromkeys(call.given):
            if name in declared:
                faults.add(f"{where}: '{name}' is declared by the rule; choose another name")
            elif is_reserved(name) or name in own:
                faults.add(f"{where}: the name '{name}' is reserved; choose another")
            elif not _usable(name):
                faults.add(f"{where}: {name!r} is not a usable name")
            elif call.given.count(name) > 1:
                faults.add(f"{where}: '{name}' is given twice")


def _declared(cls: Any) -> set[str]:
    """Return the names that a rule declares."""
    return {*cls.params, *cls.constants, *cls.synapse, *cls.pre, *cls.post, *cls.modulators}


def _check_sums(cls: Any, own: set[str], faults: Faults) -> None:
    """Note sums over synapses whose names cannot be used."""
    for interval, text in cls.every.items():
        names = [name for name, _ in sums_of(text)[0]]
        for name in dict.fromkeys(names):
            where = f"every[{interval!r}]: the sum '{name}'"
            if is_reserved(name) or name in own:
                faults.add(f"{where} has a name that is reserved; choose another")
            elif name in _declared(cls):
                faults.add(f"{where} is called as what the rule declares; choose another name")
            elif names.count(name) > 1:
                faults.add(f"{where} is declared twice")


def _is_taken(name: str, where: list[str]) -> bool:
    """Whether something beside the values of these attributes has a name."""
    if name in STORED | OF_CONNECTIONS and {*where} & {"synapse", "pre", "post"}:
        return True
    return name in OF_THE_STRUCTURE and bool({*where} & {"params", "constants"})


def _usable(name: Any) -> bool:
    if not (isinstance(name, str) and name.isidentifier() and name.isascii()):
        return False
    return not keyword.iskeyword(name)


def _check_references(cls: Any, faults: Faults) -> None:
    """Note names of parameters and constants that are none, or have the wrong unit."""
    numbers = [*cls.params, *cls.constants]
    for attribute in DECAYING:
        for name, one in getattr(cls, attribute, {}).items():
            where = f"{attribute}['{name}']"
            if not hasattr(one, "tau"):  # a value, which does not decay
                if not _usable(one.variable):
                    faults.add(f"{where}: {shown(one.variable)} is no name of a variable")
                if not isinstance(one.per, str) or one.per:
                    faults.add(f"{where}, per: must be 'target', or '' (got {shown(one.per)})")
                continue
            _check_number(one.jump, numbers, f"{where}, jump", faults)
            _check_tau(cls, one.tau, numbers, where, faults)
    for name in cls.every:
        if name not in cls.params:
            hint = near(name, cls.params)
            faults.add(f"every['{name}']: must be a parameter with an interval in ms{hint}")
        _check_time(cls, name, f"every['{name}']", faults)
    for name, tau in taus(cls.synapse).items():
        _check_tau(cls, tau, numbers, f"synapse['{name}']", faults)
    doses = [name for name, one in cls.modulators.items() if hasattr(one, "tau")]
    for name in cls.on_dose:
        if name not in doses:
            hint = near(name, doses)
            faults.add(f"on_dose['{name}']: must be a modulator that has doses{hint}")
    for name, state in cls.synapse.items():
        _check_number(state.initial, list(cls.params), f"synapse['{name}'], initial", faults)
    _check_bounds(cls, faults)


def _check_number(given: Any, known: list[str], where: str, faults: Faults) -> None:
    """Note a name that is not known; numbers are right."""
    if isinstance(given, str) and given not in known:
        faults.add(f"{where}: no parameter or constant {shown(given)}{near(given, known)}")


def _check_tau(cls: Any, tau: Any, known: list[str], where: str, faults: Faults) -> None:
    """Note a time constant that is no parameter or constant in ms."""
    if not isinstance(tau, str):
        want = "must be the name of a parameter or constant in ms"
        faults.add(f"{where}, tau: {want} (got {shown(tau)})")
    _check_number(tau, known, f"{where}, tau", faults)
    _check_time(cls, tau, f"{where}, tau", faults)


def _check_time(cls: Any, name: Any, where: str, faults: Faults) -> None:
    """Note a parameter that is no time."""
    given = cls.params.get(name) if isinstance(name, str) else None
    if isinstance(given, Parameter) and given.unit != "ms":
        faults.add(f"{where}: '{name}' must be in ms (its unit is '{given.unit}')")


def _check_values(cls: Any, faults: Faults) -> None:
    """Note values of neurons in texts that do not know them, and names that look like them."""
    texts = {name: getattr(cls, name) for name in ("on_arrival", "on_spike", "between", "on_step")}
    texts |= {f"{of}[{name!r}]": text for of in _MAPPED for name, text in getattr(cls, of).items()}
    declared = _declared(cls)
    for where, text in texts.items():
        for value in values_of(text):
            if value.side not in VALUE_TEXTS.get(where.split("[")[0], ()):
                able = [text for text, sides in VALUE_TEXTS.items() if value.side in sides]
                faults.add(f"{where} reads {value}, which only {_listed(able)} may read")
            elif value.symbol in declared:
                faults.add(f"{where} reads {value}: give '{value.symbol}' another name")
    for name, text in cls.every.items():
        for sum_, term in sums_of(text)[0]:
            for value in values_of(term):
                own = "a sum is over numbers of synapses: keep the value in one of them"
                faults.add(f"every[{name!r}] reads {value} in the sum '{sum_}'; {own}")
    read = {str(value): None for text in texts.values() for value in values_of(text)}
    for name, time in cls.late.items():
        if name not in read:
            hint = near(name, read)
            faults.add(f"late[{name!r}]: must be a value that a text reads, as 'post.V'{hint}")
        _check_number(time, list(cls.params), f"late[{name!r}]", faults)
        _check_time(cls, time, f"late[{name!r}]", faults)


def _listed(names: Iterable[str]) -> str:
    return " and ".join(map(repr, names))


def _check_bounds(cls: Any, faults: Faults) -> None:
    """Note bounds that are no pair of parameters or numbers."""
    if cls.bounds is None:
        return
    if not isinstance(cls.bounds, tuple | list) or len(cls.bounds) != 2:
        faults.add(f"bounds: must be a pair of parameters or numbers (got {shown(cls.bounds)})")
        return
    for one in cls.bounds:
        if isinstance(one, str):
            if one not in cls.params:
                faults.add(f"bounds: no parameter {shown(one)}{near(one, cls.params)}")
        elif isinstance(one, bool) or not isinstance(one, int | float):
            faults.add(f"bounds: must be parameters or numbers (got {shown(one)})")
