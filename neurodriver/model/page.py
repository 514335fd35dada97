"""What a model declares, as text and as HTML."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

from .. import html
from ..errors import ModelError, near
from .component import NDComponent, Parameter
from .subunits import SubUnits


@dataclass(frozen=True)
class ModelPage:
    """All that a model declares; a notebook shows it as tables.

    Attributes
    ----------
    model : NDComponent subclass
    """

    model: type[NDComponent]

    def __repr__(self) -> str:
        return "\n".join(page(self.model))

    def _repr_html_(self) -> str:
        model = self.model
        reads = [("reads", a.variable, "", a.receptor or "") for a in model.accesses]
        writes = [("writes", name, model.units[name], "") for name in model.updates]
        head = f"{model.__name__}: {summary(model)}"
        tables = html.table(head, ("", "variable", "unit", "receptor"), [*reads, *writes])
        rows = [(name, *_row(rule)) for name, rule in model.params.items()]
        return tables + html.table("", ("parameter", "unit", "default", "meaning"), rows)


def describe(model: type[NDComponent] | str) -> ModelPage:
    """Return what a model declares: variables, parameters, states and mathematics.

    Parameters
    ----------
    model : NDComponent subclass, or name of a shipped one

    Raises
    ------
    ModelError
        If no shipped model has the name.

    Examples
    --------
    >>> neurodriver.describe("LeakyIAF")  # doctest: +SKIP
    """
    if isinstance(model, str):
        from .library import shipped

        known = shipped()
        if model not in known:
            hint = near(model, known)
            raise ModelError(f"unknown model '{model}'{hint}; `neurodriver models` lists all")
        model = known[model]
    if not (isinstance(model, type) and issubclass(model, NDComponent)):
        raise ModelError(f"describe: a model or its name is needed, got {model!r:.60}")
    return ModelPage(model)


def summary(model: type[NDComponent]) -> str:
    """Return the first line of a model's documentation."""
    return (inspect.getdoc(model) or "").split("\n")[0].replace("``", "`")


def _row(rule: Parameter) -> tuple[str, str, str]:
    default = "required" if rule.default is None else f"{rule.default:g}"
    return rule.unit, default, rule.doc


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
    runtime = model.runtime
    if runtime.opaque:
        starts = [f"  {name} starts at {start:g}" for name, start in runtime.states.items()]
        code = "kernel" if runtime.kernel else "run_step"
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
