"""What a notebook shows of circuits and projections; nothing is drawn for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import html
from .numbered import Numbered


def circuit_text(circuit: Any) -> str:
    """Return a line about a circuit, as `repr` shows it."""
    models = html.some((f"{g.count:,} {g.name}" for g in circuit.groups), len(circuit.groups))
    return f"Circuit '{circuit.name}': {models or 'nothing'}; {_connected(circuit.connections)}"


def circuit_html(circuit: Any) -> str:
    """Return tables of the components and the connections of a circuit."""
    groups = [
        (g.name, g.count, html.some(_first_uids(g), g.count), ", ".join(g.model.updates))
        for g in circuit.groups
    ]
    links = [
        (_label(one), one.variable, one.access, "not drawn yet" if n is None else n)
        for one, n in ((one, known_count(one)) for one in circuit.connections)
    ]
    parts = [html.table(circuit_text(circuit), ("model", "components", "uids", "updates"), groups)]
    if links:
        head = ("connections", "variable", "access", "number")
        parts.append(html.table("", head, links))
    return "".join(parts)


def projection_html(projection: Any) -> str:
    """Return a table of the parts of a projection."""
    names = ("variable", "access", "source", "target", "rule", "weight", "delay", "name")
    rows = [(name, _said(getattr(projection, name, ""))) for name in names]
    return html.table("Projection", ("part", "value"), rows)


def known_count(links: Any) -> int | None:
    """Return the number of connections; None where these would have to be drawn."""
    projection = getattr(links, "projection", None)
    if projection is None:
        return len(links)
    known: int | None = projection.rule.edges(links.ends)
    return vars(links).get("_drawn_length") if known is None else known


def _connected(connections: Iterable[Any]) -> str:
    """Return how many connections there are, as far as that is known."""
    counts = [known_count(links) for links in connections]
    known = f"{sum(n for n in counts if n is not None):,} connections"
    open_ = counts.count(None)
    return f"{known} and {open_} projections that are not drawn yet" if open_ else known


def _said(value: object) -> str:
    return value.__name__ if isinstance(value, type) else str(value)


def _label(links: Any) -> str:
    """Return the name of a projection, or what stands for columns."""
    projection = getattr(links, "projection", None)
    return "columns" if projection is None else str(projection.label)


def _first_uids(group: Any) -> Iterable[str]:
    """Return the first uids; names that count are not made for all components."""
    if isinstance(counted := getattr(group, "names", None), Numbered):
        return counted.first(3)
    if (given := getattr(group, "given_uids", None)) is not None:
        return [str(uid) for uid in given[:3]]
    return [f"{group.name}/{i}" for i in range(min(3, group.count))]
