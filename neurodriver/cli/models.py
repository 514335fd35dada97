"""``neurodriver models``: the model library."""

from __future__ import annotations

import inspect
from typing import Any

import click

from ..component import NDComponent
from ..errors import ModelError, near
from . import options


@click.command("models")
@click.argument("name", required=False)
@click.option("--markdown", is_flag=True, help="Print the table as Markdown.")
@options.own_models
def command(**given: Any) -> int:
    """List the models, or tell all about the model NAME."""
    from ..library import models

    known = models(options.load_models(given["model_files"]))
    name = given["name"]
    if name is None:
        for line in markdown(known) if given["markdown"] else listing(known):
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
    return (inspect.getdoc(model) or "").split("\n")[0]


def listing(known: dict[str, type[NDComponent]]) -> list[str]:
    """Return the table of models as aligned text."""
    width = max(map(len, known), default=0)
    return [f"{name:<{width}} {summary(model)}" for name, model in known.items()]


def markdown(known: dict[str, type[NDComponent]]) -> list[str]:
    """Return the table of models as Markdown."""
    lines = [
        "| model | what it is | accesses | updates | parameters |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, model in known.items():
        reads = ", ".join(a.variable for a in model.accesses)
        params = ", ".join(model.params)
        lines.append(
            f"| {name} | {summary(model)} | {reads} | {', '.join(model.updates)} | {params} |"
        )
    return lines


def page(model: type[NDComponent]) -> list[str]:
    """Return everything that is declared about one model."""
    lines = [model.__name__, "", inspect.getdoc(model) or "", "", f"source: {model.reference}"]
    limit = "one sub-step a step" if model.maximum_dt is None else f"{model.maximum_dt:g} s"
    lines += [f"largest sub-step: {limit}", "", "accesses"]
    for access in model.accesses:
        more = f", receptor {access.receptor}" if access.receptor else ""
        each = f", each adds {access.each}" if access.each else ""
        lines.append(f"  {access.variable}{more}{each}")
    lines += ["updates", *[f"  {v} [{model.units[v]}]" for v in model.updates], "parameters"]
    for name, rule in model.params.items():
        default = "required" if rule.default is None else f"default {rule.default:g}"
        lines.append(f"  {name} [{rule.unit}] {rule.doc}; {rule.allowed()}; {default}")
    lines.append("states (optional parameter init<name> sets the first value)")
    for name, state in model.states.items():
        start = f"the parameter {name}" if state.initial == name else state.initial
        lines.append(f"  {name} [{state.unit}] {state.doc}; starts at {start}")
    parts = {**model.constants, **model.terms}
    lines += ["mathematics", *[f"  {name} = {text}" for name, text in parts.items()]]
    lines += [f"  {line.strip()}" for line in model.update.strip().splitlines()]
    lines += [f"  {name} = {text}" for name, text in model.outputs.items()]
    return lines
