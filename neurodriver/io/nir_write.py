"""Write a ``Circuit`` as NIR: nodes of neurons, matrices and delays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Circuit, Column, Connections, Group
from ..errors import Faults, quoted
from ..model.kinds import SPIKES
from .nir_read import ARROW, DELAY, DIRECT, INPUT, MATRICES, NEURONS, OUTPUT
from .optional import needed
from .sonata_places import Places, places_of
from .write import complete_or_none

Matrix = NDArray[np.float64]
MODELS = {model: (kind, names) for kind, (model, names) in NEURONS.items()}


def as_nir(circuit: Circuit) -> Any:
    """Return a circuit as a graph of NIR.

    Parameters
    ----------
    circuit : Circuit
        Populations of NIRLIF, NIRIF, NIRLI, NIRCubaLIF, NIRCubaLI and SpikeSource, and their
        connections.

    Returns
    -------
    nir.NIRGraph
        A circuit that was read gives the same graph. Numbers are float32 if this represents all of
        them exactly, otherwise float64.

    Raises
    ------
    CircuitError
        With all that NIR has no primitive for.
    """
    nir = needed("nir", "nir")
    faults = Faults(circuit.name)
    writer = _NIRWriter(circuit, places_of(circuit), faults)
    writer.neurons()
    if not faults.count:
        for links in circuit.connections:
            writer.ways(links.expanded())
        writer.place_biases()
        writer.outputs()
    faults.finish()
    return writer.graph(nir)


def write_nir(circuit: Circuit, path: Path) -> None:
    """Write a circuit to a NIR file, which gets its name when it is complete."""
    graph, nir = as_nir(circuit), needed("nir", "nir")
    with complete_or_none(path) as part:
        nir.write(part, graph)


class _NIRWriter:
    """Collects nodes as (primitive, numbers), and edges."""

    def __init__(self, circuit: Circuit, places: Places, faults: Faults) -> None:
        self.circuit, self.places, self.faults = circuit, places, faults
        self.nodes: dict[str, tuple[str, dict[str, Any]]] = {}
        self.edges: dict[tuple[str, str], None] = {}
        self.bias: dict[str, Matrix] = {}
        """Biases of populations that are not yet part of an Affine."""
        self.before: dict[str, list[str]] = {}
        """Matrices that lead into each population."""

    def neurons(self) -> None:
        """Make a node for each population."""
        for name, members in zip(self.places.names, self.places.members, strict=True):
            which = np.unique(np.searchsorted(self.circuit.starts, members, side="right") - 1)
            group = self.circuit.groups[int(which[0])]
            if len(which) > 1:
                self.faults.add(f"the population {quoted(name)} has several models; NIR has one")
            elif group.name == INPUT:
                self.nodes[name] = "Input", {"count": len(members)}
            elif group.name not in MODELS:
                say = f"NIR has no primitive for {group.name}"
                self.faults.add(f"the population {quoted(name)}: {say}; it has {', '.join(MODELS)}")
            else:
                self._neuron(name, group, members - self.circuit.starts[int(which[0])])

    def _neuron(self, name: str, group: Group, rows: NDArray[np.int64]) -> None:
        kind, params = MODELS[group.name]
        for key, column in group.params.items():
            started = key in group.model.initial_names() and np.nan_to_num(column).any()
            if started:
                say = f"{quoted(key)} is given, and NIR has no first values"
                self.faults.add(f"the population {quoted(name)}: {say}")
        found = {key: _column(group, key)[rows] for key in params}
        self.nodes[name] = kind, found
        bias = _column(group, "bias")[rows]
        if bias.any():
            self.bias[name] = bias

    def ways(self, links: Connections) -> None:
        """Make the nodes between two populations of connections."""
        ends = (links.source, links.target)
        if (links.variable, links.access) != (SPIKES, "spikes") or links.plasticity:
            what = "synapses that learn" if links.plasticity else f"the access {links.access!r}"
            self.faults.add(f"NIR has no primitive for {what} of {quoted(links.variable)}")
            return
        pair = [self.places.population[end] for end in ends]
        code = pair[0] * len(self.places.names) + pair[1]
        for one in np.unique(code).tolist():
            rows = np.flatnonzero(code == one)
            number = divmod(one, len(self.places.names))
            at = [self.places.row[end[rows]] for end in ends]
            self._way(links, rows, at, [self.places.names[n] for n in number])

    def _way(self, links: Connections, rows: Any, at: list[Any], names: list[str]) -> None:
        """Make the nodes of connections between two populations."""
        where = f"{quoted(names[0])} -> {quoted(names[1])}"
        counts = [len(self.places.members[self.places.names.index(name)]) for name in names]
        shape = counts[1], counts[0]
        weight, late, there = np.zeros(shape), np.zeros(shape), np.zeros(shape, bool)
        there[at[1], at[0]] = True
        if int(there.sum()) < len(rows):
            say = "several connections of one pair; NIR has one weight for it"
            self.faults.add(f"{where}: {say}")
            return
        weight[at[1], at[0]] = np.broadcast_to(links.data["weight"], (len(links),))[rows]
        late[at[1], at[0]] = np.broadcast_to(links.delay, (len(links),))[rows]
        plan = _said(links.name)
        one_to_one = shape[0] == shape[1] and (weight == np.eye(shape[0])).all()
        if not plan and not (links.name == DIRECT and one_to_one and not late.any()):
            link = f"{names[0]}_to_{names[1]}"
            plan = [(DELAY, f"{link}_delay")] * bool(late.any()) + [(MATRICES[0], link)]
        steps, length = [names[0]], counts[0]
        passed = False
        for kind, name in plan:
            if kind == DELAY:
                axis = 1 if passed else 0
                delay = _shared(late, there, axis)
                if delay is None:
                    say = "delays differ between connections of a cell; NIR has one for a cell"
                    self.faults.add(f"{where}: {say}")
                    return
                name = self._add(name, kind, {"delay": delay})
            else:
                passed, length = True, counts[1]
                numbers: dict[str, Any] = {"weight": weight}
                if kind == "Affine":
                    numbers["bias"] = self.bias.pop(names[1], np.zeros(length))
                name = self._add(name, kind, numbers)
                self.before.setdefault(names[1], []).append(name)
            steps.append(name)
        for a, b in zip(steps, [*steps[1:], names[1]], strict=True):
            self.edges[a, b] = None

    def _add(self, name: str, kind: str, numbers: dict[str, Any]) -> str:
        """Add a node, unless there is one with this name and the same numbers; return its name."""
        wanted, count = name, 0
        while wanted in self.nodes:
            known, old = self.nodes[wanted]
            keys = [key for key in numbers if key != "bias"]
            if known == kind and all(np.array_equal(old[key], numbers[key]) for key in keys):
                if "bias" in numbers and numbers["bias"].any():
                    old["bias"] = numbers["bias"]
                return wanted
            count += 1
            wanted = f"{name}_{count}"
        self.nodes[wanted] = kind, numbers
        return wanted

    def place_biases(self) -> None:
        """Change the first matrix that leads into a population with a bias to an Affine."""
        for name, bias in self.bias.items():
            before = self.before.get(name, [])
            shared = [n for n in before if sum(n in many for many in self.before.values()) > 1]
            if not before or before[0] in shared:
                say = "has a bias, and no matrix of its own before it, which an Affine would be"
                self.faults.add(f"the population {quoted(name)} {say}")
            else:
                _, numbers = self.nodes[before[0]]
                self.nodes[before[0]] = "Affine", {**numbers, "bias": bias}

    def outputs(self) -> None:
        """Add an Output after each population that had one; without any, after those at the end."""
        said: dict[str, str] = {}
        for group in self.circuit.groups:
            column = group.columns.get(OUTPUT)
            if column is not None:
                for name in np.unique(column).tolist():
                    rows = np.flatnonzero(column == name)
                    at = self.circuit.starts[self.circuit.groups.index(group)] + rows
                    some = np.unique(self.places.population[at]).tolist()
                    said |= {self.places.names[n]: name for n in some if name}
        leads = {a for a, b in self._between_populations() if a != b}
        wanted = said or {
            name: f"{name}_output"
            for name in self.places.names
            if name not in leads and self.nodes[name][0] != "Input"
        }
        for name, output in wanted.items():
            count = len(self.places.members[self.places.names.index(name)])
            self.nodes[output] = "Output", {"count": count}
            self.edges[name, output] = None

    def _between_populations(self) -> set[tuple[str, str]]:
        out = set()
        for links in self.circuit.connections:
            whole = links.expanded()
            ends = [self.places.population[end] for end in (whole.source, whole.target)]
            out |= set(zip(*(end.tolist() for end in ends), strict=True))
        return {(self.places.names[a], self.places.names[b]) for a, b in out}

    def graph(self, nir: Any) -> Any:
        """Return the graph."""
        arrays = [
            value
            for _, numbers in self.nodes.values()
            for value in numbers.values()
            if isinstance(value, np.ndarray)
        ]
        with np.errstate(over="ignore"):
            single = all((a.astype(np.float32).astype(np.float64) == a).all() for a in arrays)
        dtype = np.float32 if single else np.float64
        nodes = {}
        for name, (kind, numbers) in self.nodes.items():
            if kind in ("Input", "Output"):
                end = "input" if kind == "Input" else "output"
                shape = {f"{end}_type": {end: np.array([numbers["count"]])}}
                nodes[name] = getattr(nir, kind)(**shape)
            else:
                made = {key: value.astype(dtype) for key, value in numbers.items()}
                nodes[name] = getattr(nir, kind)(**made)
        return nir.NIRGraph(nodes=nodes, edges=list(self.edges), metadata={})


def _column(group: Group, name: str) -> Column:
    """Return a parameter of each component."""
    given = group.params.get(name)
    default = group.model.params[name].default
    return np.broadcast_to(default if given is None else given, (group.count,)).astype(np.float64)


def _said(name: str) -> list[tuple[str, str]]:
    """Return primitives and names of a way that was read; nothing for other names."""
    parts = [part.partition(":") for part in name.split(ARROW)] if name else []
    if all(kind in (*MATRICES, DELAY) and colon for kind, colon, _ in parts):
        return [(kind, label) for kind, _, label in parts]
    return []


def _shared(late: Matrix, there: NDArray[np.bool_], axis: int) -> Matrix | None:
    """Return the delay of each cell of one end; None where its connections differ."""
    masked = np.where(there, late, -np.inf)
    most = masked.max(axis=0 if axis == 0 else 1, initial=-np.inf)
    most = np.where(np.isfinite(most), most, 0.0)
    wide = most[None, :] if axis == 0 else most[:, None]
    return most if (~there | (late == wide)).all() else None
