"""``neurodriver models``: the model library."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable
from typing import Any

import click

from ..errors import ModelError, near
from ..model.component import NDComponent, Parameter
from ..model.page import page, source, summary, usable_names
from . import options

FOLDERS = ("axon_hillocks", "point_neurons", "membranes", "synapses", "dendrites", "sources")
"""Kinds of models in the order of the page; others follow."""

OVERVIEW = ("model", "what it is", "accesses", "updates", "largest sub-step")
"""Heads of the table of a kind."""

DOI = r"doi:(10\.\S+?)(?=[;,]?(?:\s|$))"


@click.command("models")
@click.argument("name", required=False)
@click.option("--text", is_flag=True, help="Print NAME as a class that is written with texts.")
@click.option("--markdown", is_flag=True, help="Print all models, by kind, as Markdown.")
@click.option("--names", is_flag=True, help="Print the names that each text of NAME may use.")
@options.own_models
def command(**given: Any) -> int:
    """List the models, or tell all about the model NAME."""
    from ..model.library import models

    known = models(given["model_files"])
    name = given["name"]
    if given["text"] + given["names"] > (name is not None):
        raise click.UsageError("--text and --names are for a model NAME; give one of them")
    if name is None:
        for line in by_kind(known) if given["markdown"] else listing(known):
            click.echo(line)
        return 0
    if name not in known:
        raise ModelError(
            f"unknown model '{name}'{near(name, known)}; `neurodriver models` lists all"
        )
    show = source if given["text"] else usable_names if given["names"] else page
    for line in show(known[name]):
        click.echo(line)
    return 0


def listing(known: dict[str, type[NDComponent]]) -> list[str]:
    """Return the table of models as aligned text."""
    width = max(map(len, known), default=0)
    return [f"{name:<{width}} {summary(model)}" for name, model in known.items()]


def by_kind(known: dict[str, type[NDComponent]]) -> list[str]:
    """Return the models as Markdown: for each kind a table, then a section for each model."""
    kinds: dict[str, list[tuple[str, type[NDComponent]]]] = {}
    for name, model in sorted(known.items(), key=lambda item: (_rank(item[1]), item[0].lower())):
        kinds.setdefault(_kind(model), []).append((name, model))
    lines: list[str] = []
    for kind, members in kinds.items():
        lines += [
            f"## {kind}",
            "",
            *markdown_table(OVERVIEW, [_overview(*one) for one in members]),
            "",
        ]
        for name, model in members:
            lines += [*_section(name, model), ""]
    return lines[:-1]


def _overview(name: str, model: type[NDComponent]) -> tuple[str, ...]:
    """Return what one model reads and writes, as a row of the table of its kind."""
    reads = [
        _with_unit(a.variable, a.unit) + (f" at `{a.receptor}`" * bool(a.receptor))
        for a in model.accesses
    ]
    writes = [_with_unit(v, model.units[v]) for v in model.updates]
    longest = "the step" if model.maximum_dt is None else f"{1000 * model.maximum_dt:g} ms"
    link = f"[`{name}`](#{name.lower()})"
    return link, summary(model), ", ".join(reads), ", ".join(writes), longest


def _section(name: str, model: type[NDComponent]) -> list[str]:
    """Return the parameters of one model, those of its edges, and its source."""
    lines = [f"### {name}", "", summary(model), ""]
    rows = [_row(n, rule) for n, rule in model.params.items()]
    rows += [_first_value(model, *names) for names in model.initial_names().items()]
    if rows:
        lines += [*markdown_table(("parameter", "unit", "default", "meaning"), rows), ""]
    edges = [
        (f"`{access.name}`", *_row(n, rule))
        for access in model.accesses
        for n, rule in access.connection.items()
    ]
    if edges:
        heads = ("edge into", "attribute", "unit", "default", "meaning")
        lines += [*markdown_table(heads, edges), ""]
    source = re.sub(DOI, r"[doi:\1](https://doi.org/\1)", model.reference)
    return [*lines, f"Source: {source}"] if source else lines[:-1]


def _first_value(model: type[NDComponent], name: str, state: str) -> tuple[str, ...]:
    """Return the row of an optional parameter, which sets the first value of a state."""
    unit = _unit(model.optional_unit(name))
    if state not in model.states:  # of a class with its own kernel
        return f"`{name}`", unit, "", f"first value of `{state}`" if state else ""
    first, doc = model.states[state].initial, model.states[state].doc or f"`{state}`"
    default = f"`{first}`" if isinstance(first, str) else f"{first:g}"
    return f"`{name}`", unit, default, f"first value: {doc}"


def _row(name: str, rule: Parameter) -> tuple[str, ...]:
    default = "required" if rule.default is None else f"{rule.default:g}"
    return f"`{name}`", _unit(rule.unit), default, rule.doc


def _rank(model: type[NDComponent]) -> tuple[bool, int, str]:
    """Return what orders the kinds: neurons first, models of one's own last."""
    own = ".components." not in model.__module__
    folder = model.__module__.rpartition(".")[0].rpartition(".")[2]
    known = folder in FOLDERS
    return own, FOLDERS.index(folder) if known else len(FOLDERS), "" if own else folder


def _kind(model: type[NDComponent]) -> str:
    """Return what the folder of a model says that it holds."""
    package = sys.modules.get(model.__module__.rpartition(".")[0])
    if package is None or ".components." not in model.__module__:
        return "Own models"
    return (inspect.getdoc(package) or package.__name__).split("\n")[0].rstrip(".")


def markdown_table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """Return a table in Markdown."""
    heads = tuple(heads)
    lines = [heads, ("---",) * len(heads), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in lines]


def _with_unit(name: str, unit: str) -> str:
    return f"`{name}` {_unit(unit)}".rstrip()


def _unit(unit: str) -> str:
    return "" if unit in ("", "1") else unit
