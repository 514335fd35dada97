"""Projections <-> attributes of an HDF5 group: the rule is stored, not what it draws."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from ..circuit.distributions import DISTRIBUTIONS, Distribution
from ..circuit.drawn import Drawn
from ..circuit.formula import Formula
from ..circuit.place_rules import PLACE_RULES
from ..circuit.projections import Projection
from ..circuit.rules import RULES, Rule
from .columns import Column, ColumnReader, put


def put_rule(at: Any, links: Drawn, compress: bool) -> None:
    """Write the rule of a projection, its laws, its ends and the key of its random numbers."""
    given = links.projection
    at.attrs["rule"] = law_text(given.rule)
    at.attrs["weight"], at.attrs["delay"] = law_text(given.weight), law_text(given.delay)
    at.attrs["name"] = given.label
    at.attrs["key"] = np.uint64(links.key)
    if given.stored != "auto":
        at.attrs["stored"] = bool(given.stored)
    ends = links.ends.source, links.ends.target
    at.attrs["ends"] = np.array([[end.start, end.stop] for end in ends], np.int64)
    columns = at.create_group("columns")
    for name, column in given.rule.columns.items():
        put(columns, name, column, compress)


def take_rule(
    reader: ColumnReader, at: Any, variable: str, access: str, learning: Mapping[str, Any]
) -> tuple[Projection, int] | None:
    """Return a projection and its key; None after noting what is wrong.

    ``learning`` holds its rule of plasticity and what belongs to it, where it has one.
    """
    columns: dict[str, Column] = {}
    for name, found in reader.members(at, "columns").items():
        shape = getattr(found, "shape", ())
        column = reader.values(found, f"{at.name}/columns/{name}", "fiu", shape)
        if column is not None:
            columns[name] = column
    texts = {name: reader.attribute(at, name, str) for name in ("rule", "weight", "delay", "name")}
    key = reader.attribute(at, "key", int)
    ends = reader.attempt(f"{at.name}, attribute 'ends'", lambda: _ends(at))
    made: dict[str, Any] = {}
    for name, text in texts.items():
        if text is not None and name != "name":
            where = f"{at.name}, attribute '{name}'"
            made[name] = reader.attempt(
                where, partial(law_of_text, text, name, columns), "not known"
            )
    if ends is None or key is None or None in texts.values() or None in made.values():
        return None
    rule, weight, delay = (made[name] for name in ("rule", "weight", "delay"))
    name, (source, target) = texts["name"] or "", ends
    more = {key: value for key, value in learning.items() if key != "name"}
    if "stored" in at.attrs:
        more["stored"] = bool(reader.attribute(at, "stored", bool))
    return Projection(variable, access, source, target, rule, weight, delay, name, **more), key


def law_text(value: Any) -> str:
    """Return a rule, a law or a number as JSON."""
    said: Any = value
    if isinstance(value, Formula):
        said = {"type": "Formula", "text": value.text, "numbers": value.numbers}
    elif isinstance(value, Rule | Distribution):
        columns = value.columns if isinstance(value, Rule) else {}
        numbers = {key: part for key, part in vars(value).items() if key not in columns}
        said = {"type": type(value).__name__, **numbers}
    return json.dumps(said, default=lambda number: number.item())


def law_of_text(
    text: str, name: str = "", columns: Mapping[str, Column] = MappingProxyType({})
) -> Any:
    """Return what a text says; raise ValueError where that is nothing known."""
    said = json.loads(text)
    if name != "rule" and isinstance(said, int | float):
        return said
    laws = {**DISTRIBUTIONS, "Formula": Formula}
    known: dict[str, Any] = {**RULES, **PLACE_RULES} if name == "rule" else laws
    kind = said.pop("type", None) if isinstance(said, dict) else None
    if kind not in known:
        raise ValueError(f"one of {', '.join(known)} is expected, got {text!s:.60}")
    given = {**said, **columns} if name == "rule" else said
    names = [one.name for one in fields(known[kind])]
    if sorted(names) != sorted(given):
        got = ", ".join(map(str, given)) or "nothing"
        raise ValueError(f"{kind} consists of {', '.join(names)}; got {got}")
    if kind == "Formula":
        return Formula(given["text"], **given["numbers"])
    return known[kind](**given)


def _ends(at: Any) -> tuple[range, range]:
    (a, b), (c, d) = np.asarray(at.attrs["ends"]).astype(np.int64, casting="safe").tolist()
    return range(a, b), range(c, d)
