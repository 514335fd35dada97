"""Which variable an edge carries, and into which access of its target."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..errors import near
from ..model.component import Access, NDComponent, Parameter
from ..model.library import shipped
from .circuit import Port

Model = type[NDComponent]


@dataclass(frozen=True)
class Inserted:
    """A component that comes between, where the target accesses ``I`` and the edge carries more.

    ``model`` is a shipped one that updates ``I``; ``access`` takes what the edge carries, ``own``
    the target's potential. Its name is ``<prefix>_<n>``.
    """

    model: str
    access: str
    own: str
    prefix: str

    def rules(self) -> Mapping[str, Parameter]:
        """Return the numbers that every edge carries."""
        return shipped()[self.model].access(self.access).connection


INSERTED = {
    "g": Inserted("Aggregator", "g", "V", "auto"),
    "V": Inserted("GapJunctions", "neighbour", "own", "gap"),
}
"""What comes between an edge's variable and an access of ``I``."""


def fitting(model: Model, variable: str, access: str) -> list[Access]:
    """Return the accesses of a target that take a variable under a name.

    Conductances and potentials may open onto a current: something comes between.
    """
    reads = (variable, "I") if variable in INSERTED else (variable,)
    return [a for a in model.accesses if a.variable in reads and a.name == access]


def numbers_of(variable: str, access: str, targets: Iterable[Model]) -> dict[str, Parameter]:
    """Return the numbers that connections of a variable into an access carry."""
    rules: dict[str, Parameter] = {}
    for model in targets:
        for found in fitting(model, variable, access):
            rules.update(found.connection)
            if found.variable != variable:
                rules.update(INSERTED[variable].rules())
    return rules


def misfits(
    variable: str, access: str, sources: Sequence[Model], targets: Sequence[Model]
) -> Iterator[str]:
    """Yield what sources and targets do not know of a variable and an access."""
    for model in sources:
        if variable not in model.updates and model is not Port:
            known = ", ".join(model.updates) or "nothing"
            hint = near(str(variable), model.updates)
            yield f"the source {model.__name__} updates {known}{hint}"
    for model in targets:
        if not (access == "" if model is Port else fitting(model, variable, access)):
            known = ", ".join(f"{a.variable} -> {a.name}" for a in model.accesses) or "nothing"
            yield f"the target {model.__name__} accesses {known}"
    if Port in sources and Port in targets and not access:
        yield "they lead from ports to ports; put components between them"


@dataclass(frozen=True)
class Wire:
    """What all edges of one kind carry, and into which access of the target.

    ``variable`` is empty when there is a fault; ``access`` is empty for an output port. An access
    of ``I`` with another variable asks for what ``INSERTED`` says. ``unmatched``: the fault is that
    the two models have no variable in common.
    """

    variable: str = ""
    access: str = ""
    fault: str = ""
    warning: str = ""
    unmatched: bool = False


def resolve(source: Model, target: Model, variable: str = "", receptor: str = "") -> Wire:
    """Decide what an edge between two models carries; ``variable`` and ``receptor`` are its own.

    Without ``variable`` the first of the target's accesses that the source updates is taken. A
    conductance ``g`` into a target that accesses ``I`` but not ``g`` goes through an Aggregator; a
    potential ``V``, where the edge says so, through GapJunctions.
    """
    if source is Port and target is Port:
        return Wire(fault="connects a port with a port; put a component between them")
    if target is Port:
        return _to_port(source, variable)
    if source is Port:
        fits = [a for a in target.accesses if not variable or a.variable == variable]
    else:
        fits = [a for a in target.accesses if a.variable in source.updates]
        through = ""
        if not fits and "g" in source.updates and variable in ("", "g"):
            through = "g"
        elif not fits and variable == "V" and "V" in source.updates and "V" in target.updates:
            through = "V"
        currents = [a for a in target.accesses if a.variable == "I" and through]
        if currents:
            return Wire(through, currents[0].name)
        fits = [a for a in fits if not variable or a.variable == variable]
    chosen = [a for a in fits if not receptor or a.receptor == receptor]
    if not chosen:
        fault = _misfit(source, target, variable, receptor if fits else "")
        return Wire(fault=fault, unmatched=not (variable or receptor))
    warning = ""
    if len({a.variable for a in chosen}) > 1 and source is not Port:
        among = ", ".join(a.variable for a in chosen)
        warning = (
            f"edges {source.__name__} -> {target.__name__} could carry {among}: "
            f"'{chosen[0].variable}' is taken; set the attribute 'variable'"
        )
    return Wire(chosen[0].variable, chosen[0].name, warning=warning)


def _to_port(source: Model, variable: str) -> Wire:
    if variable and variable not in source.updates:
        known = ", ".join(source.updates) or "nothing"
        hint = near(variable, source.updates)
        message = f"{source.__name__} does not update it; it updates {known}{hint}"
        return Wire(fault=f"attribute 'variable' is '{variable}', but {message}")
    if not source.updates:
        return Wire(fault=f"{source.__name__} updates nothing that a port could publish")
    return Wire(variable or source.updates[0])


def _misfit(source: Model, target: Model, variable: str, receptor: str) -> str:
    gives = ", ".join(source.updates) or ("anything" if source is Port else "nothing")
    takes = ", ".join(a.variable for a in target.accesses) or "nothing"
    if receptor:
        known = [a.receptor for a in target.accesses if a.receptor]
        among = ", ".join(known) or "none"
        hint = near(receptor, known)
        return f"attribute 'receptor' is '{receptor}', but {target.__name__} has {among}{hint}"
    what = f"source {source.__name__} updates {gives}, target {target.__name__} accesses {takes}"
    if variable:
        hint = near(variable, {*source.updates, *[a.variable for a in target.accesses]})
        return f"attribute 'variable' is '{variable}', which does not fit: {what}{hint}"
    return f"has no variable to carry: {what}"
