"""Which components are meant by a name, by uids or by a population."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Circuit
from ..circuit.plastic import learning_connections
from ..circuit.uids import uid_list
from ..circuit.validate import checked
from ..errors import NeurodriverError, RequestError, near, quoted
from ..model.vectors import elements
from ..plan.copies import with_columns
from ..plan.program import Program
from .live_fields import with_constant, with_fields
from .live_places import keep_text, place_of

if TYPE_CHECKING:
    from .simulation import Simulation

Numbers = NDArray[np.int64]


def numbered(circuit: Circuit, scope: str | None, own: Circuit, who: Any) -> Numbers:
    """Return the numbers of components in the circuit that is simulated.

    Parameters
    ----------
    circuit : Circuit
        What is simulated, which may be joined from several.
    scope : str or None
        Id of the LPU in it.
    own : Circuit
        The circuit of the LPU.
    who : str, sequence of str, or what has ``uids``
        The name of a model stands for all its components, where no component is called so.

    Raises
    ------
    RequestError
        Where there is no such component.
    """
    uids: Sequence[str] = []
    if scope is None and isinstance(who, str) and who in circuit.populations:
        if own.find([who])[0] < 0 and who in own.populations:
            return circuit.populations[who].numbers
    if isinstance(who, str) and own.find([who])[0] < 0:
        uids = _called(own, who)
    else:
        uids = uid_list(who, RequestError)
    found = circuit.find(uids if scope is None else [f"{scope}/{uid}" for uid in uids])
    lost = np.flatnonzero(found < 0)
    if len(lost) or not len(found):
        some = ", ".join(quoted(uids[i]) for i in lost[:3].tolist())
        what = f"no component is called {some}" if some else "no component is named"
        raise RequestError(what + (near(uids[lost[0]], likely_names(own)) if some else ""))
    return found


def _called(own: Circuit, name: str) -> Sequence[str]:
    """Return the uids of a population, or of all components of a model."""
    if name in own.populations:
        return own.populations[name].uids.tolist()  # type: ignore[no-any-return]
    groups = [group for group in own.groups if group.name == name]
    if not groups:
        if any(links.name == name for links in learning_connections(own)):
            say = "connections that learn are called so, and components are needed"
            advice = "a number of each of their synapses is set"
            raise RequestError(f"'{name}': {say}; {advice}: lpu['{name}'].set(...)")
        known = [*own.populations, *(group.name for group in own.groups), *likely_names(own)]
        what = "no component, population or model is called"
        raise RequestError(f"{what} '{name}'{near(name, known)}")
    return [uid for group in groups for uid in group.uids.tolist()]


def likely_names(circuit: Circuit) -> list[str]:
    """Return the uids that a message may suggest: all, of a circuit that is not large."""
    names: list[str] = circuit.uids.tolist() if circuit.count <= 2000 else []
    return names


def having(program: Program, scope: str | None, name: str) -> Numbers:
    """Return the components of an LPU that have a variable, a state or a parameter.

    Raises
    ------
    NeurodriverError
        Where there are none, with the reason.
    """
    circuit = program.circuit
    mine = circuit.numbers(scope)
    with_it = np.zeros(circuit.count, bool)
    known: set[str] = set()
    for number, group in enumerate(circuit.groups):
        if number in program.merged.groups or group.is_port:
            continue
        vectors = group.model.vectors
        known |= {*group.model.updates, *group.model.states, *group.model.params, *vectors}
        first = next(iter(elements(name, vectors.get(name, 0))), name)
        if place_of(program, number, first) is not None:
            with_it[circuit.starts[number] : circuit.starts[number + 1]] = True
    found: Numbers = mine[with_it[mine]]
    if not len(found):
        if lost := [group for group in circuit.groups if name in group.model.updates]:
            why = f"'{name}' is not kept, as only its Aggregator reads it"
            raise NeurodriverError(f"{why}; {keep_text(lost[0].name, name)}, or record it")
        if name in program.layout.rings:
            raise NeurodriverError(f"nothing updates '{name}'; it holds inputs alone")
        raise NeurodriverError(f"no variable '{name}'{near(name, known)}")
    return found


def with_value(circuit: Circuit, number: int, name: str, values: NDArray[Any]) -> Circuit:
    """Return a circuit with another column of a parameter of a group, or another field."""
    if name in circuit.groups[number].model.every_field():
        return checked(with_constant(circuit, number, name, values), strict=False)
    return with_columns(circuit, {(number, name): values})


def with_parameters(circuit: Circuit, simulation: Simulation) -> Circuit:
    """Return the circuit of a simulation with the parameters that it has now."""
    program, columns = simulation.program, {}
    for number, group in enumerate(circuit.groups):
        for name in group.model.params:
            place = place_of(program, number, name)
            if place is None or place.array is None or place.array.key not in simulation.changed:
                continue
            columns[number, name] = place.read_all(simulation).astype(np.float64)
    return with_fields(with_columns(circuit, columns), simulation)
