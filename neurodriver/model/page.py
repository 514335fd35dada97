"""What a model declares, as text and as HTML."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, dataclass, fields
from typing import Any

from .. import html
from ..errors import ModelError, near
from .component import NDComponent, Parameter
from .equations.expand import written_as_equations
from .language import Symbol, to_text
from .language.words import DRAWS, FUNCTIONS, LIMITS, MORE
from .own_functions import functions_of
from .subunits import SubUnits
from .text import indent
from .texts import texts_of


@dataclass(frozen=True)
class ModelPage:
    """All that a model declares; a notebook shows it as tables."""

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
    if model.fixed_dt is not None:
        limit = f"{model.fixed_dt:g} s, which is the only step"
    lines += [f"largest sub-step: {limit}", "", "accesses"]
    for access in model.accesses:
        more = f", receptor {access.receptor}" if access.receptor else ""
        each = f", each adds {access.each}" if access.each else ""
        unit = f" [{access.unit}]" if access.unit else ""
        lines.append(f"  {access.variable}{unit}{more}{each}")
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
    if written_as_equations(model):
        lines += ["equations", *_written(model)]
    parts = {**model.constants, **model.terms}
    lines += ["mathematics", *[f"  {name} = {text}" for name, text in parts.items()]]
    lines += [f"  {line.strip()}" for line in model.update.strip().splitlines()]
    lines += [f"  {name} = {text}" for name, text in model.outputs.items()]
    return lines + (sub_units(model.sub_units) if model.sub_units is not None else [])


def source(model: type[NDComponent]) -> list[str]:
    """Return a model as a class that is written with texts: Python that can be run.

    Raises
    ------
    ModelError
        For a model whose mathematics is code of its own, or has sub-units.
    """
    if model.runtime.opaque or model.sub_units is not None:
        raise ModelError(f"{model.__name__}: only mathematics can be printed as text")
    used = {"NDComponent": True, "Access": model.accesses, "Parameter": model.params}
    used["State"] = model.states
    names = ", ".join(sorted(name for name, given in used.items() if given))
    lines = [f"from neurodriver import {names}", "", "", f"class {model.__name__}(NDComponent):"]
    lines.append(f'    """{inspect.cleandoc(model.__doc__ or "A model.").splitlines()[0]}"""')
    lines += ["", "    accesses = (", *[f"        {_made(a)}," for a in model.accesses], "    )"]
    lines += _mapping("updates", {v: repr(model.units[v]) for v in model.updates})
    kinds = {name: repr(kind.value) for name, kind in model.kinds.items()}
    lines += _mapping("kinds", kinds)
    lines += _mapping("params", {n: _made(p) for n, p in model.params.items()})
    lines += _mapping("states", {n: _made(s) for n, s in model.states.items()})
    if functions := texts_of(model).functions:
        lines += _block("functions", to_text(functions))
    lines += _mapping("constants", {n: repr(t) for n, t in model.constants.items()})
    lines += _mapping("terms", {n: repr(t) for n, t in model.terms.items()})
    lines += _mapping("outputs", {n: repr(t) for n, t in model.outputs.items()})
    for name in ("maximum_dt", "fixed_dt"):
        if (value := getattr(model, name)) is not None:
            lines.append(f"    {name} = {value!r}")
    return [*lines, *_block("update", inspect.cleandoc(model.update))]


def _written(model: type[NDComponent]) -> list[str]:
    """Return the equations of a model and the texts beside them."""
    lines = [f"  {line}" for line in inspect.cleandoc(model.equations).splitlines()]
    for name in ("arrivals", "threshold", "reset", "refractory", "method"):
        if text := getattr(model, name):
            lines.append(f"  {name}: {' '.join(text.split())}")
    return lines


def _made(one: Any) -> str:
    """Return the call that makes a declaration, without what is as by default."""
    given = []
    for field in fields(one):
        value = getattr(one, field.name)
        default = {} if field.default is MISSING else field.default
        if value != default:
            inner = {k: _made(v) for k, v in value.items()} if isinstance(value, dict) else {}
            text = f"{{{', '.join(f'{k!r}: {v}' for k, v in inner.items())}}}"
            given.append(f"{field.name}={text if inner else repr(value)}")
    return f"{type(one).__name__}({', '.join(given)})"


def _mapping(name: str, entries: dict[str, str]) -> list[str]:
    body = [f"        {key!r}: {value}," for key, value in entries.items()]
    return [f"    {name} = {{", *body, "    }"] if entries else []


def _block(name: str, text: str) -> list[str]:
    raw = "r" if "\\" in text else ""
    return [f'    {name} = {raw}"""', *indent(text.splitlines(), 2), '    """']


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


def usable_names(model: type[NDComponent]) -> list[str]:
    """Return lines with the names that each text of a model may use, and what they mean."""
    lines: list[str] = []
    for part in texts_of(model).parts.values():
        lines += [f"{part.name}:"]
        known = {n: one for n, one in part.symbols.items() if one.kind != "limit"}
        width = max(map(len, known), default=0)
        for name, one in known.items():
            unit = f" [{one.unit}]" if one.unit else ""
            kind = "" if one.type == "real" or one.reach is not None else f", {one.type}"
            use = ", read and written" if one.writable else ""
            lines.append(f"  {name:<{width}}  {one.kind}{unit}{kind}{_of(name, one)}{use}")
    functions = [*FUNCTIONS, *MORE, *DRAWS, *(one.name for one in functions_of(model))]
    return [*lines, "functions:", f"  {', '.join(functions)}", "limits:", f"  {', '.join(LIMITS)}"]


def _of(name: str, one: Symbol) -> str:
    """Return what is read of an array, or of a population."""
    if one.axes is not None:
        inside = f"[{', '.join(one.axes)}]"
        return f": {name}{'[n]' if one.many else ''}{inside}"
    if one.size is not None:
        return f": {name}[0] to {name}[{one.size - 1}]"
    if one.reach is None:
        return ""
    reach = one.reach
    numbers = [*(reach.numbers or ()), *(f"source.{n}" for n in reach.sizes)]
    whole = ", ".join(f"s.{n}" for n in numbers)
    index = f"[{', '.join(reach.axes or ('...',))}]"
    read = [f"{name}.{v}{index}" for v in reach.variables]
    read += [f"{name}.{v}" for v in (*(reach.axes or ()), *reach.pools)] if reach.here else []
    said = ", ".join([*read, *([whole] if whole else [])])
    return f": {said}" if said else ""
