"""Which variable an edge carries, and into which access of its target."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from ..errors import near
from ..model.component import Access, NDComponent, Parameter
from ..model.kinds import VariableKind
from ..model.library import shipped
from ..model.renamed import renamed
from .circuit import Circuit, Connections

Model = type[NDComponent]


@dataclass(frozen=True)
class Inserted:
    """What comes between a variable of one kind and an access of a current.

    Its components are called ``<prefix>_<n>``.
    """

    kind: VariableKind
    prefix: str

    def rules(self) -> Mapping[str, Parameter]:
        """Return the numbers that every edge carries."""
        return carried(_converter(self.kind)).connection

    def model(self, variable: str, potential: str, current: str) -> Model:
        """Return the model that makes a current of a variable and the target's potential."""
        usual = _converter(self.kind)
        own = next(a for a in usual.accesses if a.single)
        accesses = {carried(usual).name: variable, own.name: potential}
        return renamed(usual, accesses, {usual.updates[0]: current})


INSERTED = {
    VariableKind.CONDUCTANCE: Inserted(VariableKind.CONDUCTANCE, "auto"),
    VariableKind.POTENTIAL: Inserted(VariableKind.POTENTIAL, "gap"),
}
"""What comes between a variable of some kind and an access of a current."""


_CURRENT = VariableKind.CURRENT


@cache
def _converter(kind: VariableKind) -> Model:
    """Return the shipped model that makes a current of a variable of that kind."""
    return next(model for model in shipped().values() if model.converts is kind)


def carried(model: Model) -> Access:
    """Return the access of what a model that is put between makes a current of."""
    access: Access = next(a for a in model.accesses if not a.single)
    return access


def takes(target: Model, access: Access, variable: str, kind: VariableKind) -> bool:
    """Whether an access takes a variable: as it is, or as a current that is made of it."""
    if access.variable == variable:
        return True
    return kind in INSERTED and target.kind_of(access.variable) is _CURRENT


def into_current(circuit: Circuit, links: Connections) -> bool:
    """Whether something else than currents is connected to an access of a current."""
    kind = circuit.kinds.of(links.variable)
    if kind not in INSERTED or not links.access or not len(links):
        return False
    owner = int(circuit.group_of(links.target[0]))
    model = circuit.groups[owner].model
    access = model.access(links.access)
    return access.variable != links.variable and takes(model, access, links.variable, kind)


def fitting(circuit: Circuit, target: Model, variable: str, access: str) -> list[Access]:
    """Return the accesses of a target that take a variable under a name."""
    kind = circuit.kinds.of(variable)
    named = [a for a in target.accesses if a.name == access]
    return [a for a in named if takes(target, a, variable, kind)]


def numbers_of(
    circuit: Circuit, variable: str, access: str, targets: Iterable[Model]
) -> dict[str, Parameter]:
    """Return the numbers that connections of a variable into an access carry."""
    rules: dict[str, Parameter] = {}
    for model in targets:
        for found in fitting(circuit, model, variable, access):
            rules.update(found.connection)
            if found.variable != variable:
                rules.update(INSERTED[circuit.kinds.of(variable)].rules())
    return rules


def misfits(
    circuit: Circuit,
    variable: str,
    access: str,
    sources: Sequence[Model],
    targets: Sequence[Model],
) -> Iterator[str]:
    """Yield what sources and targets do not know of a variable and an access."""
    for model in sources:
        if variable not in model.updates and not model.is_port:
            known = ", ".join(model.updates) or "nothing"
            hint = near(str(variable), model.updates)
            yield f"the source {model.__name__} updates {known}{hint}"
    for model in targets:
        fits = access == "" if model.is_port else fitting(circuit, model, variable, access)
        if not fits:
            known = ", ".join(f"{a.variable} -> {a.name}" for a in model.accesses) or "nothing"
            yield f"the target {model.__name__} accesses {known}"
    if not access and all(any(m.is_port for m in ends) for ends in (sources, targets)):
        yield "they lead from ports to ports; put components between them"


def routes(
    circuit: Circuit,
    sources: Sequence[Model],
    targets: Sequence[Model],
    variable: str | None = None,
    receptor: str | None = None,
) -> list[tuple[str, str]]:
    """Return each variable and access through which all sources reach all targets.

    A conversion into a current (`INSERTED`) counts where nothing fits as it is: of conductances
    always, of potentials where ``variable`` asks for them.
    """
    if any(model.is_port for model in sources):
        carried_by = {a.variable for model in targets for a in model.accesses}
    else:
        carried_by = set(sources[0].updates).intersection(*(m.updates for m in sources))
    flows = [v for v in _variables(sources, targets) if v in carried_by and variable in (None, v)]
    if any(model.is_port for model in targets):
        return [(v, "") for v in flows if receptor in (None, "")]
    names = dict.fromkeys(a.name for a in targets[0].accesses if receptor in (None, a.name))
    pairs = [(v, name) for v in flows for name in names]
    direct = [p for p in pairs if all((p[0], p[1]) in _taken_by(model) for model in targets)]
    if direct:
        return direct
    kinds = {VariableKind.CONDUCTANCE} | ({VariableKind.POTENTIAL} if variable else set())
    pairs = [(v, name) for v, name in pairs if circuit.kinds.of(v) in kinds]
    return [p for p in pairs if all(fitting(circuit, model, *p) for model in targets)]


def _variables(sources: Sequence[Model], targets: Sequence[Model]) -> Iterable[str]:
    """Return the variables that sources update or targets read, in the order of the models."""
    updated = [v for model in sources for v in model.updates]
    return dict.fromkeys([*updated, *(a.variable for model in targets for a in model.accesses)])


def _taken_by(model: Model) -> set[tuple[str, str]]:
    return {(a.variable, a.name) for a in model.accesses}


def no_route(
    sources: Sequence[Model],
    targets: Sequence[Model],
    variable: str | None,
    receptor: str | None,
    found: Sequence[tuple[str, str]],
) -> str:
    """Return why a projection does not know what flows: nothing fits, or several do."""
    if found:
        choices = ", ".join(f"{v} -> {name or 'a port'}" for v, name in found)
        several = dict.fromkeys(v for v, _ in found)
        what = "'receptor'" if len(several) == 1 else "'variable' and 'receptor'"
        return f"it could carry {choices}; say which with {what}"
    known = list(dict.fromkeys(a.name for model in targets for a in model.accesses))
    if receptor is not None and receptor not in known:
        models = ", ".join(model.__name__ for model in targets)
        among = ", ".join(known) or "none"
        return f"'receptor' is '{receptor}', but {models} has {among}{near(receptor, known)}"
    given = list(dict.fromkeys(v for model in sources for v in model.updates))
    if variable is not None and variable not in given:
        models = ", ".join(model.__name__ for model in sources)
        among = ", ".join(given) or "nothing"
        return f"'variable' is '{variable}', but {models} updates {among}{near(variable, given)}"
    reads = dict.fromkeys(f"{a.variable} -> {a.name}" for model in targets for a in model.accesses)
    text = f"sources update {', '.join(given) or 'nothing'}"
    text += f", targets access {', '.join(reads) or 'nothing'}"
    return f"nothing flows from source to target: {text}"


@dataclass(frozen=True)
class Wire:
    """What all edges of one kind carry, and into which access of the target.

    ``variable`` is empty when there is a fault; ``access`` is empty for an output port. An access
    of a current with another variable asks for what ``INSERTED`` says. ``unmatched``: the fault is
    that the two models have no variable in common.
    """

    variable: str = ""
    access: str = ""
    fault: str = ""
    warning: str = ""
    unmatched: bool = False


def resolve(source: Model, target: Model, variable: str = "", receptor: str = "") -> Wire:
    """Decide what an edge between two models carries; ``variable`` and ``receptor`` are its own.

    Without ``variable`` the first of the target's accesses that the source updates is taken. A
    conductance into a target that accesses a current but not this goes through an Aggregator; a
    potential, where the edge says so, through GapJunctions.
    """
    if source.is_port and target.is_port:
        return Wire(fault="connects a port with a port; put a component between them")
    if target.is_port:
        return _to_port(source, variable)
    if source.is_port:
        fits = [a for a in target.accesses if not variable or a.variable == variable]
    else:
        fits = [a for a in target.accesses if a.variable in source.updates]
        between = "" if fits else _between(source, target, variable)
        currents = [a for a in target.accesses if target.kind_of(a.variable) is _CURRENT]
        if between and currents:
            return Wire(between, currents[0].name)
        fits = [a for a in fits if not variable or a.variable == variable]
    chosen = [a for a in fits if not receptor or a.receptor == receptor]
    if not chosen:
        fault = _misfit(source, target, variable, receptor if fits else "")
        return Wire(fault=fault, unmatched=not (variable or receptor))
    warning = ""
    if len({a.variable for a in chosen}) > 1 and not source.is_port:
        among = ", ".join(a.variable for a in chosen)
        warning = (
            f"edges {source.__name__} -> {target.__name__} could carry {among}: "
            f"'{chosen[0].variable}' is taken; set the attribute 'variable'"
        )
    return Wire(chosen[0].variable, chosen[0].name, warning=warning)


def _between(source: Model, target: Model, variable: str) -> str:
    """Return the variable of which a current could be made; empty where there is none."""
    names: list[str] = [*source.updates]
    for name in names:
        kind = source.kind_of(name)
        if kind is VariableKind.CONDUCTANCE and variable in ("", name):
            return name
        driven = any(target.kind_of(v) is kind for v in target.updates)
        if kind is VariableKind.POTENTIAL and variable == name and driven:
            return name
    return ""


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
    gives = ", ".join(source.updates) or ("anything" if source.is_port else "nothing")
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
