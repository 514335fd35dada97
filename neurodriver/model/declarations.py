"""Rules that the declarations of every model keep."""

from __future__ import annotations

import keyword
import math
from collections.abc import Iterable
from typing import Any

from ..errors import ModelError, near
from .language.words import is_reserved
from .texts import looped_accesses, named, texts_of

REDUCTIONS = ("sum", "max", "min", "mean", "product", "any", "argmax")
"""What an access may make of the values of its connections."""


OF_POPULATIONS = frozenset(
    "model count name uids columns axes mask positions period every first space shape".split()
)
"""Names of what a population takes and has, which no field or source can have."""

OF_CONNECTIONS = frozenset(
    "back block code degree element event_back event_block event_element event_first event_head "
    "event_rank event_target first head index mask multiple rank start stride tail target "
    "unit".split()
)
"""Names of what is stored beside the variables of a connection, which have others."""


def several(given: Any, where: str) -> Iterable[Any]:
    """Return what a class declares as a list; raise ModelError for something else."""
    if isinstance(given, Iterable):
        return given
    raise ModelError(f"{where}: must be a list of names, got {given!r:.60}")


def check_declarations(cls: Any) -> None:
    """Raise ModelError where the declarations of a class contradict each other."""
    where = cls.__name__
    names = [a.name for a in cls.accesses]
    if len(set(names)) < len(names):
        raise ModelError(f"{where}.accesses: two accesses of one name; give each a receptor")
    for access in cls.accesses:
        if access.reduce not in REDUCTIONS:
            hint = f"{near(str(access.reduce), REDUCTIONS)}; there are {', '.join(REDUCTIONS)}"
            said = f"accesses['{access.name}']: no reduction {access.reduce!r}{hint}"
            raise ModelError(f"{where}.{said}")
        _check_loops(cls, access)
    symbols: list[str] = [*cls.fixed_params(), *cls.constants, *cls.terms]
    symbols += [*cls.states, *[v for v in cls.updates if v not in cls.states]]
    symbols += [cls.input_symbol(a) for a in cls.accesses]
    symbols += [*cls.fields, *cls.shared, *cls.sources, *cls.numbers, *cls.pools]
    if cls.sub_units is not None:
        cls.sub_units.check(f"{where}.sub_units", cls.params)
        symbols += cls.sub_units.symbols()
    inner = [name for a in cls.accesses for name in (a.variable, *a.connection)]
    for name in [*symbols, *inner, *[a.receptor for a in cls.accesses if a.receptor]]:
        if not (name.isidentifier() and name.isascii()) or keyword.iskeyword(name):
            raise ModelError(f"{where}: '{name}' is not a usable name (letters, digits and _)")
        if is_reserved(name):
            raise ModelError(f"{where}: the name '{name}' is reserved; choose another")
    for access in cls.accesses:
        _check_connection(f"{where}.accesses['{access.name}']", access)
    for name in (*cls.fields, *cls.sources):
        if name in OF_POPULATIONS:
            raise ModelError(f"{where}: the name '{name}' belongs to populations; choose another")
    for name in symbols:
        if symbols.count(name) > 1:
            raise ModelError(f"{where}: the name '{name}' is declared twice")
    texts_of(cls).parse()
    _check_inputs(cls)
    for name in cls.outputs:
        if name not in cls.updates:
            hint = near(name, cls.updates)
            raise ModelError(f"{where}.outputs: '{name}' is not among its updates{hint}")
    earlier = list(cls.params)
    for state, value in cls.states.items():
        if isinstance(value.initial, str) and value.initial not in earlier:
            hint = near(value.initial, earlier)
            message = f"no parameter or earlier state '{value.initial}'{hint}"
            raise ModelError(f"{where}.states['{state}']: {message}")
        earlier.append(state)
    if "linear" in cls.__dict__ and cls.linear is not None:
        cls.linear.check(cls)
    for name in ("maximum_dt", "fixed_dt"):
        value = getattr(cls, name)
        if value is not None and not 0 < value < math.inf:
            raise ModelError(f"{where}.{name}: must be positive seconds, got {value!r}")


def _check_connection(where: str, access: Any) -> None:
    """Raise ModelError for a connection variable with a name that means something else."""
    for name in access.connection:
        said = ""
        if name in OF_CONNECTIONS:
            said = "would be mistaken for a table of connections"
        elif name == access.variable:
            said = "would hide the variable that arrives"
        elif name == "delay":
            said = "would be mistaken for the delay of a connection, in s"
        if said:
            say = f"a connection variable '{name}' {said}; choose another name"
            raise ModelError(f"{where}: {say}")


def _check_loops(cls: Any, access: Any) -> None:
    """Raise ModelError for variables of synapses that no loop reaches, and for sums beside one."""
    where, symbol = f"{cls.__name__}.accesses['{access.name}']", cls.input_symbol(access)
    if access.name not in looped_accesses(cls):
        if access.written:
            said = f"'{access.written[0]}' is a variable of synapses, which a loop reads and writes"
            raise ModelError(f"{where}: {said}: for (s : {symbol}) s.{access.written[0]} = ...;")
    elif access.each or access.reduce != "sum" or access.single:
        said = "the text loops over its connections; leave out each=, reduce= and single="
        raise ModelError(f"{where}: {said}")


def _check_inputs(cls: Any) -> None:
    """Raise ModelError where a component's own value could be taken for what arrives."""
    parts = texts_of(cls).parts.values()
    for access in cls.accesses if cls.update and cls.sub_units is None else ():
        symbol = cls.input_symbol(access)
        if symbol != access.name and not named([symbol], parts):
            said = f"what arrives is called '{symbol}', as '{access.name}' is the component's own"
            raise ModelError(f"{cls.__name__}.accesses['{access.name}']: {said}; nothing reads it")
