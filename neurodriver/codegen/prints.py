"""``PRINT`` and ``ERROR`` of a model -> calls in the text of its kernel."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..plan.arrays import Kind
from ..plan.diagnostics import PRINTED
from ..plan.unit import KernelSpec
from .kernel import Arguments

if TYPE_CHECKING:
    from .component import ComponentText

_CALL = re.compile(r"\bnd_printed_(\d+)\((\s*\))?")


def number_of(spec: KernelSpec, arguments: Arguments, at: str) -> str:
    """Return the expression of a component's number in the circuit; -1 for a place that none has.

    Parameters
    ----------
    spec : KernelSpec
    arguments : Arguments
    at : str
        Where the component lies.
    """
    first = arguments.integer(spec.key(Kind.SIZE, "first component"))
    if not spec.reordered:
        return f"{first} + ({at})"
    places = arguments.pointer(spec.key(Kind.INDEX, "order"), "const int")
    return f"nd_component({first}, {places}[{at}])"


def printing(component: ComponentText, names: Sequence[str]) -> str:
    """Return the update of a component with its calls; empty where it has none."""
    spec, arguments = component.spec, component.arguments
    statements = spec.model.printing.prints if spec.watch.debug else ()
    if not statements:
        return ""
    calls = [f"nd_printed_{number}" for number in range(len(statements))]
    text = component.translator.text(spec.model.printing.text, [*names, *calls], "update")
    to = arguments.pointer(PRINTED, "long long")
    room = arguments.integer(spec.key(Kind.SIZE, "records"))
    which = number_of(spec, arguments, component.place)
    if component.live:
        which = f"{component.live} ? {which} : -1"

    def call(match: re.Match[str]) -> str:
        number = int(match[1])
        name = "nd_error" if statements[number].error else "nd_print"
        given = f"{name}({to}, {room}, nd_k, {which}, (int)substep, {number}"
        return f"{given})" if match[2] else f"{given}, "

    return _CALL.sub(call, text)
