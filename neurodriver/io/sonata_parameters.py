"""From the parameters of SONATA nodes to those of a model, and what is wrong with them."""

from __future__ import annotations

import numpy as np

from ..circuit.circuit import Column
from ..errors import Faults, near, quoted
from ..model.component import NDComponent
from .sonata_template import Template


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
