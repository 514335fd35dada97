"""Rules of plasticity <-> groups of an HDF5 file, and the connections that name them.

``plasticity/<i>`` has the attribute ``class``, and for each parameter of the rule an attribute
under ``params``. Of projections, ``columns/<parameter>`` are the numbers of each synapse, and an
attribute under ``laws`` says what they are drawn from. ``released/<modulator>`` are the uids of
what releases it. Connections that learn
have the attributes ``plasticity``, the number of their rule, and ``name``. Those of a projection
have ``dendritic`` and ``back``, in s, and ``largest``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import h5py
import numpy as np

from ..circuit.circuit import Circuit, Connections
from ..circuit.drawn import Drawn
from ..errors import ModelError, near, quoted
from ..model.plasticity import Plasticity
from .columns import ColumnReader, put, shown_name, stored_name
from .stored_rules import law_of_text, law_text

GROUP = "plasticity"


def put_rules(circuit: Circuit, file: h5py.File) -> dict[str, int]:
    """Write the rules of a circuit; return the number of each by what it tells."""
    numbers: dict[str, int] = {}
    for links in (*circuit.connections, *circuit.replaced):
        rule = links.plasticity
        if rule is None or rule.digest_input() in numbers:
            continue
        number = numbers[rule.digest_input()] = len(numbers)
        at = file.create_group(f"{GROUP}/{number}")
        at.attrs["class"] = type(rule).__name__
        params = at.create_group("params").attrs
        for name, value in rule.values.items():
            params[stored_name(name)] = float(value)
        for name, column in rule.columns.items():
            if isinstance(column, np.ndarray):
                put(at.require_group("columns"), name, column)
            else:
                at.require_group("laws").attrs[stored_name(name)] = law_text(column)
        for name, uids in rule.released_by.items():
            put(at.require_group("released"), name, np.asarray(uids, np.str_))
    return numbers


def put_learning(at: h5py.Group, links: Connections, numbers: Mapping[str, int]) -> None:
    """Write which rule connections have, and their name."""
    if links.plasticity is None:
        return
    at.attrs.update({GROUP: numbers[links.plasticity.digest_input()], "name": links.name})
    if isinstance(links, Drawn):
        at.attrs.update({name: float(value) for name, value in links.learning.items()})


class RulesReader:
    """Takes rules from a file.

    Parameters
    ----------
    known : mapping of str to Plasticity subclass
        Rules by the names of their classes.
    """

    def __init__(
        self, reader: ColumnReader, file: Any, known: Mapping[str, type[Plasticity]]
    ) -> None:
        self._reader = reader
        self._rules: list[Plasticity | None] = []
        found = reader.members(file, GROUP) if GROUP in file else {}
        for number in range(len(found)):
            at = found.get(str(number))
            if isinstance(at, h5py.Group):
                self._rules.append(self._rule(at, known))
            else:
                reader.faults.add(f"/{GROUP}/{number}: a group of this name is expected")
                self._rules.append(None)

    def _rule(self, at: Any, known: Mapping[str, type[Plasticity]]) -> Plasticity | None:
        """Return the rule of a group; None after noting what is wrong."""
        name, faults = self._reader.attribute(at, "class", str), self._reader.faults
        if name is None:
            return None
        if name not in known:
            say = f"unknown rule of plasticity {quoted(name)}{near(name[:60], known)}"
            faults.add(f"{at.name}: {say}; give your own with models= or --models")
            return None
        params = at.get("params")
        given = dict(params.attrs) if isinstance(params, h5py.Group) else {}
        values = {shown_name(key): value for key, value in given.items()}
        for key, column in (at.get("columns") or {}).items():
            shape = getattr(column, "shape", ())
            numbers = self._reader.values(column, column.name, "f", shape)
            values |= {} if numbers is None else {shown_name(key): numbers}
        laws = at.get("laws")
        for key, text in (dict(laws.attrs) if isinstance(laws, h5py.Group) else {}).items():
            where = f"{at.name}/laws, attribute '{key}'"
            law = self._reader.attempt(where, partial(law_of_text, str(text)), "not known")
            if law is None:
                return None
            values[shown_name(key)] = law
        for key, column in (at.get("released") or {}).items():
            shape = getattr(column, "shape", ())
            uids = self._reader.values(column, column.name, "U", shape)
            values |= {} if uids is None else {shown_name(key): uids}
        try:
            return known[name](**values)
        except ModelError as error:
            faults.add(f"{at.name}: {error}")
            return None

    def of(self, at: Any) -> dict[str, Any] | None:
        """Return the rule, the name and the numbers of connections; None after noting a fault."""
        if GROUP not in at.attrs:
            return {}
        reader = self._reader
        number, name = reader.attribute(at, GROUP, int), reader.attribute(at, "name", str)
        if number is None or name is None:
            return None
        if not 0 <= number < len(self._rules):
            said = f"there are {len(self._rules)} rules, from 0 on"
            reader.faults.add(f"{at.name}, attribute '{GROUP}': {said} (got {number})")
            return None
        out: dict[str, Any] = {"plasticity": self._rules[number], "name": name}
        for key in ("dendritic", "back", "largest"):
            if key in at.attrs:
                where = f"{at.name}, attribute '{key}'"
                out[key] = reader.attempt(where, partial(float, at.attrs[key]), "not a number")
        return None if None in out.values() else out
