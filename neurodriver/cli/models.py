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
from ..model.subunits import SubUnits
from . import options

FOLDERS = ("axon_hillocks", "point_neurons", "membranes", "synapses", "dendrites", "sources")
"""Kinds of models in the order of the page; others follow."""

OVERVIEW = ("model", "what it is", "accesses", "updates", "largest sub-step")
"""Heads of the table of a kind."""

DOI = r"doi:(10\.\S+?)(?=[;,]?(?:\s|$))"


@click.command("models")
@click.argument("name", required=False)
@click.option("--markdown", is_flag=True, help="Print all models, by kind, as Markdown.")
@options.own_models
def command(**given: Any) -> int:
    """List the models, or tell all about the model NAME."""
    from ..model.library import models

    known = models(given["model_files"])
    name = given["name"]
    if name is None:
        for line in by_kind(known) if given["markdown"] else listing(known):
            click.echo(line)
        return 0
    if name not in known:
        raise ModelError(
            f"unknown model '{name}'{near(name, known)}; `neurodriver models` lists all"
        )
    for line in page(known[name]):
        click.echo(line)
    return 0


def summary(model: type[NDComponent]) -> str:
    """Return the first line of a model's documentation."""
    return (inspect.getdoc(model) or "").split("\n")[0].replace("``", "`")


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
        lines += [f"## {kind}", "", *_table(OVERVIEW, [_overview(*one) for one in members]), ""]
        for name, model in members:
            lines += [*_section(name, model), ""]
    return lines[:-1]


def _overview(name: str, model: type[NDComponent]) -> tuple[str, ...]:
    """Return what one model reads and writes, as a row of the table of its kind."""
    reads = [f"`{a.variable}`" + (f" at `{a.receptor}`" * bool(a.receptor)) for a in model.accesses]
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
        lines += [*_table(("parameter", "unit", "default", "meaning"), rows), ""]
    edges = [
        (f"`{access.name}`", *_row(n, rule))
        for access in model.accesses
        for n, rule in access.connection.items()
    ]
    if edges:
        heads = ("edge into", "attribute", "unit", "default", "meaning")
        lines += [*_table(heads, edges), ""]
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


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    heads = tuple(heads)
    lines = [heads, ("---",) * len(heads), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in lines]


def _with_unit(name: str, unit: str) -> str:
    return f"`{name}` {_unit(unit)}".rstrip()


def _unit(unit: str) -> str:
    return "" if unit in ("", "1") else unit


def _described(name: str, rule: Parameter) -> str:
    default = "required" if rule.default is None else f"default {rule.default:g}"
    return f"{name} [{rule.unit}] {rule.doc}; {rule.allowed()}; {default}"


def page(model: type[NDComponent]) -> list[str]:
    """Return everything that is declared about one model."""
    lines = [model.__name__, "", inspect.getdoc(model) or "", "", f"source: {model.reference}"]
    limit = "one sub-step a step" if model.maximum_dt is None else f"{model.maximum_dt:g} s"
    lines += [f"largest sub-step: {limit}", "", "accesses"]
    for access in model.accesses:
        more = f", receptor {access.receptor}" if access.receptor else ""
        each = f", each adds {access.each}" if access.each else ""
        lines.append(f"  {access.variable}{more}{each}")
        lines += [f"    edge's {_described(n, rule)}" for n, rule in access.connection.items()]
    lines += ["updates", *[f"  {v} [{model.units[v]}]" for v in model.updates], "parameters"]
    for name, rule in model.params.items():
        lines.append(f"  {_described(name, rule)}")
    if model.in_old_style():
        starts = [f"  {name} starts at {start:g}" for name, start in model.internals.items()]
        code = "get_update_template" if model.kernel else "run_step"
        return [*lines, "internal states", *starts, f"mathematics: its own {code}"]
    lines.append("states (optional parameter init<name> sets the first value)")
    for name, state in model.states.items():
        start = f"the parameter {name}" if state.initial == name else state.initial
        lines.append(f"  {name} [{state.unit}] {state.doc}; starts at {start}")
    parts = {**model.constants, **model.terms}
    lines += ["mathematics", *[f"  {name} = {text}" for name, text in parts.items()]]
    lines += [f"  {line.strip()}" for line in model.update.strip().splitlines()]
    lines += [f"  {name} = {text}" for name, text in model.outputs.items()]
    return lines + (sub_units(model.sub_units) if model.sub_units is not None else [])


def sub_units(units: SubUnits) -> list[str]:
    """Return what is declared about the sub-units of a model."""
    lines = [f"sub-units, {units.per} in each component, advanced before the mathematics"]
    for name, kind in units.species.items():
        lines.append(f"  {name} {kind.doc}; starts at {kind.initial}; at most {kind.most}")
    lines += [f"  {name} = {text}" for name, text in units.terms.items()]
    lines.append("reactions (rate in 1/s: change)")
    for reaction in units.reactions:
        change = ", ".join(f"{name} {step:+d}" for name, step in reaction.change.items())
        lines.append(f"  {reaction.rate}: {change}; {reaction.doc}")
    return lines + [f"  {total} = sum of {name}" for total, name in units.totals.items()]
