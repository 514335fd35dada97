"""``PRINT`` and ``ERROR`` of a model -> calls in the text of its kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..model.index_checks import statement
from ..plan.arrays import Kind
from ..plan.diagnostics import PRINTED
from ..plan.unit import KernelSpec
from .kernel import Arguments

if TYPE_CHECKING:
    from .component import ComponentText


def number_of(spec: KernelSpec, arguments: Arguments, at: str) -> str:
    """Return the expression of a component's number in the circuit; -1 for a place that none has.

    Parameters
    ----------
    at : str
        Where the component lies.
    """
    first = arguments.integer(spec.key(Kind.SIZE, "first component"))
    if not spec.reordered:
        return f"{first} + ({at})"
    places = arguments.pointer(spec.key(Kind.INDEX, "order"), "const int")
    return f"nd_component({first}, {places}[{at}])"


def printing(component: ComponentText) -> Callable[[int, list[str]], str]:
    """Return what writes the call of a statement, by its number and its values."""
    spec, arguments = component.spec, component.arguments

    def call(number: int, values: list[str]) -> str:
        to = arguments.pointer(PRINTED, "long long")
        room = arguments.integer(spec.key(Kind.SIZE, "records"))
        which = number_of(spec, arguments, component.place)
        if component.live:
            which = f"{component.live} ? {which} : -1"
        name = "nd_error" if statement(spec.model, number).error else "nd_print"
        given = [to, room, "nd_k", which, "(int)substep", str(number), *values]
        return f"{name}({', '.join(given)})"

    return call
