"""What the texts of a population read beside its own cells: fields, and other populations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import CircuitError, Faults, near, quoted
from ..model.component import NDComponent
from ..model.fields import Field, Source, Value, values_of
from ..model.language.check_places import NOT_READ
from .distributions import Distribution
from .groups import FieldValue, Layer
from .members import Members

if TYPE_CHECKING:
    from .population import Population


@dataclass
class Given:
    """Fields and sources of a population, as they were given.

    Attributes
    ----------
    fields : dict of str to FieldValue
        Of the population; those of the circuit come later.
    sources : dict of str to list
        Populations, or their names.
    """

    fields: dict[str, FieldValue] = field(default_factory=dict)
    sources: dict[str, list[Any]] = field(default_factory=dict)

    def layer(self, population: Population, shared: Mapping[str, FieldValue]) -> Layer:
        """Return what a group of one population has."""
        own = {n: shared[n] for n in population.model.shared if n in shared}
        sources = {n: tuple(map(_name_of, some)) for n, some in self.sources.items()}
        return Layer(population.name, {**own, **self.fields}, sources)


def take(
    model: type[NDComponent],
    given: dict[str, Any],
    lengths: Mapping[str, int],
    faults: Faults,
) -> Given:
    """Take fields and sources out of the keywords of a population.

    Parameters
    ----------
    model : NDComponent subclass
    given : dict
        Keywords; what is taken is removed.
    lengths : mapping of str to int
        Lengths of the population's axes.
    faults : Faults
    """
    found = Given()
    label = model.__name__
    for name in model.fields:
        if name in given:
            found.fields[name] = field_value(
                model.fields[name], given.pop(name), lengths, f"{label}.{name}", faults
            )
    for name in model.shared:
        if name in given:
            given.pop(name)
            fix = f"give it to the circuit: Circuit(..., shared={{{name!r}: ...}})"
            faults.add(f"{label}.{name}: belongs to the circuit, not to one population; {fix}")
    for name, source in model.sources.items():
        if name in given:
            found.sources[name] = _populations(source, given.pop(name), f"{label}.{name}", faults)
        elif source.many:
            found.sources[name] = []
        else:
            faults.add(f"{label}: source '{name}' is missing: the population that it reads")
    return found


def complete(
    model: type[NDComponent], found: Given, lengths: Mapping[str, int], faults: Faults
) -> None:
    """Fill up fields that nobody gave with their defaults; note those that have none."""
    for name, rule in model.fields.items():
        if name in found.fields:
            continue
        where = f"{model.__name__}.{name}"
        if rule.default is None:
            faults.add(f"{model.__name__}: field '{name}' is missing{_wanted(rule, lengths)}")
        else:
            found.fields[name] = field_value(rule, rule.default, lengths, where, faults)


def field_value(
    rule: Field, given: Any, lengths: Mapping[str, int], where: str, faults: Faults
) -> FieldValue:
    """Return the checked value of a field."""
    value = given.values if isinstance(given, Value) else given
    if rule.size is not None and np.ndim(value) == 0 and rule.default is value:
        value = np.full(rule.size, value)
    array, shapes, fault = values_of(rule, value, lengths)
    if fault := law_fault(value) or fault:
        faults.add(f"{where}: {fault}")
    array.flags.writeable = False
    return FieldValue(array, given.name if isinstance(given, Value) else "", shapes)


def law_fault(given: Any) -> str:
    """Return what is wrong with a distribution, which is given as a field; else ""."""
    if not isinstance(given, Distribution):
        return ""
    give = "give an array, such as numpy.random.default_rng(1).normal(0, 1, (12, 10))"
    return f"{given!r:.40}: distributions draw parameters and states, not fields; {give}"


def _wanted(rule: Field, lengths: Mapping[str, int]) -> str:
    if not rule.indexed:
        return f" [{rule.unit}]" if rule.unit else ""
    said = (f"{n} = {rule.size or lengths.get(n)}" if rule.size or n in lengths else n
            for n in rule.indexed)  # fmt: skip
    return f", {'a list of arrays' if rule.many else 'an array'} ({', '.join(said)})"


def _populations(source: Source, given: Any, where: str, faults: Faults) -> list[Any]:
    some = [given] if isinstance(given, str | Members) else given
    if not isinstance(some, Iterable):
        faults.add(f"{where}: expected a population, got {given!r:.60}")
        return []
    listed = list(some)
    if not source.many and len(listed) != 1:
        faults.add(f"{where}: takes one population, got {len(listed)}; say many=True to read more")
    for one in listed:
        if not isinstance(one, str) and not hasattr(one, "space"):
            faults.add(f"{where}: expected a whole population, got {one!r:.60}")
            return []
    return listed


def _name_of(one: Any) -> str:
    return one if isinstance(one, str) else str(one.name)


def shared_values(
    models: Iterable[type[NDComponent]], given: Any, faults: Faults
) -> dict[str, FieldValue]:
    """Return the fields of the circuit by name.

    Parameters
    ----------
    models : iterable of NDComponent subclass
        Whose declarations count.
    """
    rules: dict[str, tuple[Field, str]] = {}
    for model in models:
        for name, rule in model.shared.items():
            known, by = rules.setdefault(name, (rule, model.__name__))
            if known.form != rule.form:
                say = f"'{name}' has two forms, of {by} and of {model.__name__}"
                faults.add(f"shared: {say}; give one of them another name")
    if not isinstance(given, Mapping):
        raise CircuitError(f"{faults.source}: shared: expected a mapping, got {given!r:.60}")
    for name in given:
        if name not in rules:
            among = ", ".join(rules) or "none"
            hint = near(str(name), rules)
            faults.add(f"shared: no model has a field {quoted(name)}{hint}; there are {among}")
    out = {}
    for name, (rule, by) in rules.items():
        value = given.get(name, rule.default)
        if value is None:
            faults.add(f"shared: field '{name}' of {by} is missing{_wanted(rule, {})}")
            continue
        one = field_value(rule, value, {}, f"shared: {name}", faults)
        out[name] = replace(one, name=name)
    return out


def check_values(layers: Iterable[Layer], faults: Faults) -> None:
    """Note two values of one name."""
    known: dict[str, FieldValue] = {}
    for layer in layers:
        for one in layer.fields.values():
            other = known.setdefault(one.name, one) if one.name else one
            if other.values is one.values and other.shapes == one.shapes:
                continue
            if other.shapes != one.shapes or not np.array_equal(other.values, one.values):
                say = f"two values have the name {quoted(one.name)}"
                faults.add(f"population {quoted(layer.population)}: {say}; names are unique")


def check_sources(
    layers: Mapping[str, tuple[type[NDComponent], Layer]],
    models: Mapping[str, type[NDComponent]],
    faults: Faults,
) -> None:
    """Note sources that are not there, or are not what the model reads.

    Parameters
    ----------
    layers : mapping of str to (model, layer)
        By the name of the population.
    models : mapping of str to NDComponent subclass
        Of all populations.
    """
    for population, (model, layer) in layers.items():
        for name, some in layer.sources.items():
            for fault in _source_faults(model.sources[name], some, models):
                faults.add(f"population {quoted(population)}, source '{name}': {fault}")


def _source_faults(
    source: Source, some: Iterable[str], models: Mapping[str, type[NDComponent]]
) -> Iterator[str]:
    for one in some:
        if one not in models:
            hint = near(one, models)
            yield f"the circuit has no population {quoted(one)}{hint}; add it to the circuit"
            continue
        found = models[one]
        if source.model is not None and not issubclass(found, source.model):
            want = source.model.__name__
            yield f"{quoted(one)} is of {found.__name__}, and has to be of {want}"
        for variable in source.reads:
            given = {
                **dict.fromkeys(found.params, "parameter"),
                **dict.fromkeys(found.fields, "field"),
            }
            if variable in given and variable not in found.updates:
                say = f"{quoted(one)} ({found.__name__}) has '{variable}' as a {given[variable]}"
                yield f"{say}, and a source reads variables; {NOT_READ}"
            elif variable not in (*found.updates, *found.pools):
                has = ", ".join(found.updates) or "nothing"
                fix = f"it updates {has}; name '{variable}' in its 'updates'"
                hidden = "a state of its own, " if variable in found.states else ""
                say = f"{quoted(one)} ({found.__name__}) does not update '{variable}'"
                yield f"{say}: {hidden}{fix}"
