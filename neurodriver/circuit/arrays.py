"""Columns given directly -> Circuit: shapes, types and wiring are checked, nothing is copied."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import some
from ..errors import CircuitError, Faults, ModelError, near, quoted
from ..model.component import NDComponent
from ..model.plasticity import Plasticity
from ..quantities import is_quantity
from .builders import builds
from .circuit import Circuit, Connections, Group
from .drawn import Drawn
from .ends import with_uids
from .node_columns import given_columns
from .numbers import plain, whole
from .projections import Projection, bind
from .space import Space
from .validate import checked, groups_of
from .wiring import misfits, numbers_of

NAMED = 2000
"""Components of a circuit of which a message may suggest one."""

Given = tuple[Any, ...]
"""Model, count, params, uids or None, and maybe node columns."""


@builds("from_arrays")
def from_arrays(
    groups: Sequence[Given],
    connections: Sequence[Connections | Projection],
    name: str,
    strict: bool,
    seed: int,
) -> Circuit:
    """Return the circuit of ``Circuit.from_arrays``."""
    faults = Faults(name)
    made: list[Group] = []
    every: Sequence[object] = groups
    for given in every:
        if not isinstance(given, tuple | list) or len(given) not in (4, 5):
            want = (
                "a group is (model, count, params, uids) or also (..., columns); uids may be None"
            )
            raise CircuitError(f"{name}: {want}, got {given!r:.60}")
        model, count, params, uids, *more = given
        columns = {} if not more or more[0] is None else more[0]
        check_arguments(model, count, params, columns, name)
        label = model.__name__
        numbers = {
            k: floats(v, f"{label}.{k}", faults, unit_of(model, k)) for k, v in params.items()
        }
        names = None if uids is None else uid_column(uids, label)
        group = Group(model, numbers, int(count), names)
        group = replace(group, columns=given_columns(columns, group.count, label, faults))
        made.append(group if names is not None else _numbered(group, made))
    return connected(made, connections, seed, strict, faults)


def check_arguments(
    model: object, count: object, params: object, columns: object, where: str
) -> None:
    """Raise where components are not given as a model, a number, and mappings of columns."""
    check_model(model, where)
    assert isinstance(model, type)
    label = model.__name__
    if not whole(count) or count < 1:
        want = "count must be a whole number, at least 1"
        raise CircuitError(f"{where}: {label}: {want}, got {count!r:.60}")
    if count >= 2**31:
        want = f"a circuit has at most {2**31 - 1:,} components"
        raise CircuitError(f"{where}: {label}: {want}, got count={count:,}")
    for name, given in (("params", params), ("columns", columns)):
        if not isinstance(given, Mapping):
            what = "numbers" if name == "params" else "values"
            want = f"{name} must be a mapping of names to {what}"
            raise CircuitError(f"{where}: {label}: {want}, got {given!r:.60}")


def check_model(model: object, where: str) -> None:
    """Raise where something is no model that components can have."""
    if not (inspect.isclass(model) and issubclass(model, NDComponent)):
        raise CircuitError(f"{where}: expected an NDComponent subclass, got {model!r:.60}")
    if model.is_port:
        raise CircuitError(f"{where}: ports need selectors; build from a graph instead")
    if model.abstract:
        known = ", ".join(one.__name__ for one in concrete(model)) or "none yet"
        say = f"{model.__name__} is a base of models, which no population has"
        raise ModelError(f"{where}: {say}; its subclasses: {known}")


def concrete(model: type[NDComponent]) -> list[type[NDComponent]]:
    """Return the subclasses of a model that are no bases themselves, each once, by name."""
    found: dict[type[NDComponent], None] = {}
    for one in model.__subclasses__():
        found.update(dict.fromkeys([*([] if one.abstract else [one]), *concrete(one)]))
    return sorted(found, key=lambda one: one.__name__)


def connected(
    groups: Sequence[Group],
    connections: Iterable[Connections | Projection],
    seed: int,
    strict: bool,
    faults: Faults,
    spaces: Mapping[str, Space] = MappingProxyType({}),
) -> Circuit:
    """Return the checked circuit of groups and what connects them, named as the faults are.

    ``spaces`` are those of populations by name.
    """
    name = faults.source
    if not whole(seed):
        faults.add(f"seed must be a whole number (got {seed!r:.60})")
    given = some(connections, "connections")
    circuit = Circuit.from_columns(name, groups, (), source=name, spaces=dict(spaces))
    drawn = iter(bind([one for one in given if isinstance(one, Projection)], circuit, seed, faults))
    links = [
        next(drawn, None) if isinstance(one, Projection) else _connections(one, circuit, faults)
        for one in given
    ]
    if not faults.count:
        circuit = circuit.with_parts(groups, [one for one in links if one is not None])
        check_wiring(circuit, faults)
    faults.finish(strict)
    return checked(circuit, strict)


def uid_column(uids: Any, where: str) -> NDArray[np.str_]:
    """Return uids as a column; NumPy would drop a NUL at the end of one in silence."""
    if not isinstance(uids, np.ndarray) and isinstance(uids, Iterable):
        uids = list(uids)
        if lost := [one for one in uids if isinstance(one, str) and one.endswith("\0")]:
            say = "the uid holds a character that cannot be stored (NUL); leave it out"
            raise CircuitError(f"{where}: node {quoted(lost[0])}: {say}")
    return np.asarray(uids, dtype=np.str_)


def unit_of(model: type[NDComponent], name: str) -> str | None:
    """Return the unit of a parameter or an initial value; None where the model has no such one."""
    unit: str | None = None
    if name in model.params:
        unit = model.params[name].unit
    elif name in model.initial_names():
        unit = model.optional_unit(name)
    return unit


def _numbered(group: Group, earlier: Sequence[Group]) -> Group:
    """Return a group without names so that its ``<model>/<number>`` are not those of another one.

    The numbers go on from those of the groups of the model before it.
    """
    before = [g for g in earlier if g.name == group.name]
    if all(g.names is not None for g in before):
        return group
    first, start = (sum(g.count for g in some) for some in (before, earlier))
    number = np.arange(first, first + group.count).astype("U")
    keys = np.arange(start, start + group.count, dtype=np.uint64)  # as of any without names
    return replace(group, names=np.strings.add(f"{group.name}/", number), keys=keys)


def floats(values: ArrayLike, where: str, faults: Faults, unit: str | None) -> NDArray[np.float64]:
    """Return numbers as float64, quantities in a unit; what is none is a fault and 0."""
    values = plain(values, unit, where, faults)
    try:
        raw: NDArray[Any] = np.asarray(values)
        if raw.dtype.kind not in "fiu":
            raise TypeError
        return raw.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        faults.add(f"{where}: must be numbers (got {values!r:.60})")
        return np.zeros(())


def _connections(given: object, circuit: Circuit, faults: Faults) -> Connections:
    """Return connections whose columns fit each other."""
    if not isinstance(given, Connections):
        want = "expected Connections or a Projection"
        raise CircuitError(f"{faults.source}: {want}, got {given!r:.60}")
    where = f"connections {quoted(given.variable)} -> {quoted(given.access)}"
    ends = []
    for end in ("source", "target"):
        column = _numbered_ends(np.asarray(getattr(given, end)), circuit, f"{where}: {end}", faults)
        if column.ndim != 1 or (column.dtype.kind not in "iu" and column.size):
            got = f"{column.dtype} of shape {column.shape}"
            want = "must be whole numbers or uids, one per connection"
            faults.add(f"{where}: {end} {want} (got {got})")
            column = np.zeros(0)
        if column.dtype != np.int32:
            column = np.clip(column, -1, 2**31 - 1).astype(np.int32)  # what is clipped is refused
        ends.append(column)
    m = len(ends[0])
    if len(ends[1]) != m:
        faults.add(f"{where}: {m} sources, but {len(ends[1])} targets")
    columns: dict[str, Any] = {"delay": given.delay, **given.data}
    units = {"delay": "s", "reverse": "mV", "dendritic": "s", "back": "s"}
    if any(map(is_quantity, columns.values())):
        targets = groups_of(circuit, ends[1])
        rules = numbers_of(circuit, given.variable, given.access, targets)
        units |= {key: rule.unit for key, rule in rules.items()}
    numbers = {k: floats(v, f"{where}, '{k}'", faults, units.get(k)) for k, v in columns.items()}
    for key, column in numbers.items():
        if column.shape not in ((), (m,)):
            want = f"a number or {m} of them"
            faults.add(f"{where}, '{key}': expected {want}, got shape {column.shape}")
        elif key != "delay" and np.isnan(column).any():  # of a file it means: not given
            at = f" at connection {np.flatnonzero(np.isnan(column))[0]}" if column.ndim else ""
            faults.add(f"{where}, '{key}': must be finite (got nan{at})")
    delay = numbers.pop("delay")
    rule, name = given.plasticity, given.name
    if isinstance(rule, Plasticity):  # anything else is told of with the other faults
        rule = with_uids(rule, given.variable, circuit, faults)
        name = name or f"{given.variable} -> {given.access}"
    learning = rule, name
    return Connections(given.variable, given.access, ends[0], ends[1], delay, numbers, *learning)


def _numbered_ends(
    column: NDArray[Any], circuit: Circuit, where: str, faults: Faults
) -> NDArray[Any]:
    """Return the numbers of components that are given by their uids; others as they are."""
    if column.dtype.kind != "U" or column.ndim != 1:
        return column
    found = circuit.find(column)
    lost = [str(uid) for uid in column[found < 0]]
    known = circuit.uids.tolist() if lost and circuit.count <= NAMED else []
    faults.add_for(lost, lambda uid: f"{where}: no component {quoted(uid)}{near(uid, known)}")
    return np.maximum(found, 0)


def check_wiring(circuit: Circuit, faults: Faults) -> None:
    """Note connections of a variable that the source or the access of the target does not know."""
    for links in circuit.connections:
        if not isinstance(links, Drawn):
            say = f"connections {quoted(links.variable)} -> {quoted(links.access)}"
            sources, targets = (groups_of(circuit, e) for e in (links.source, links.target))
            for text in misfits(circuit, links.variable, links.access, sources, targets):
                faults.add(f"{say}: {text}")
