"""Read NIR, the Neuromorphic Intermediate Representation, as a ``Circuit``.

The format is that of Pedersen et al. 2024, Nat Commun 15:8122, doi:10.1038/s41467-024-52259-9.
Nodes of neurons become populations with the same parameters. Matrices become the weights of
connections, and ``Delay`` nodes become their delays.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Circuit, Column, Connections
from ..circuit.node_columns import POPULATION
from ..errors import CircuitError, Faults, near, quoted
from ..model.kinds import SPIKES
from ..model.library import shipped
from .hdf5_files import open_hdf5
from .optional import needed

NEURONS = {
    "LIF": ("NIRLIF", ("tau", "r", "v_leak", "v_threshold", "v_reset")),
    "IF": ("NIRIF", ("r", "v_threshold", "v_reset")),
    "LI": ("NIRLI", ("tau", "r", "v_leak")),
    "CubaLIF": (
        "NIRCubaLIF",
        ("tau_syn", "tau_mem", "r", "v_leak", "v_threshold", "v_reset", "w_in"),
    ),
    "CubaLI": ("NIRCubaLI", ("tau_syn", "tau_mem", "r", "v_leak", "w_in")),
}
"""Primitive of NIR -> model here, and the parameters, which have the same names."""

INPUT = "SpikeSource"
"""Model of an ``Input``."""

MATRICES, DELAY = ("Linear", "Affine"), "Delay"
KNOWN = (*NEURONS, *MATRICES, DELAY, "Input", "Output")
"""Primitives that are read and written."""

OUTPUT = "nir_output"
"""Node column with the name of the ``Output`` node that follows a neuron."""

DIRECT = "one to one"
"""Name of the connections of an edge that joins two populations directly."""

ARROW = " > "
"""Separator of nodes in the name of connections: ``Delay:d > Linear:w``."""


@dataclass(frozen=True)
class Way:
    """A path from one population to another through matrices and delays.

    Attributes
    ----------
    source, target : str
        Names of the populations.
    names : tuple of str
        Nodes between the populations, in the order of the path.
    """

    source: str
    target: str
    names: tuple[str, ...]


def read_nir(source: Any, *, strict: bool = False) -> Circuit:
    """Read a network of NIR.

    Parameters
    ----------
    source : path or nir.NIRGraph
        File that ``nir.write`` has written, or a graph.
    strict : bool
        Turn warnings into errors.

    Returns
    -------
    Circuit
        Each node of neurons and each ``Input`` is a population with the node's name. Its uids are
        ``<name>/<number>``. An ``Input`` becomes SpikeSources.

    Raises
    ------
    CircuitError
        With all nodes and primitives that neurodriver does not have.
    NeurodriverError
        If the package ``nir`` is not installed.
    """
    nir = needed("nir", "nir")
    where = str(source) if isinstance(source, str | os.PathLike) else "NIR graph"
    graph = _graph(nir, Path(source), where) if isinstance(source, str | os.PathLike) else source
    if not hasattr(graph, "nodes") or not hasattr(graph, "edges"):
        raise CircuitError(f"{where}: expected a file or a nir.NIRGraph, got {source!r:.60}")
    faults = Faults(where)
    reader = _NIRReader(graph, faults)
    if not faults.count:
        reader.read()
    faults.finish(strict)
    return Circuit.from_arrays(reader.groups, reader.connections, where, strict)


def _graph(nir: Any, path: Path, where: str) -> Any:
    open_hdf5(path).close()  # damage that would hang the package
    try:
        return nir.read(path)
    except Exception as error:  # the package raises what it meets
        said = "its nodes or edges are not as those of NIR"
        if isinstance(error, OSError | KeyError | ValueError):
            said = " ".join(str(error).split())[:200]
        raise CircuitError(f"{where}: cannot be read as NIR ({said})") from None


class _NIRReader:
    """Reads the neurons, then the paths between them."""

    def __init__(self, graph: Any, faults: Faults) -> None:
        self.nodes: dict[str, Any] = dict(graph.nodes)
        self.kinds = {name: type(node).__name__ for name, node in self.nodes.items()}
        self.faults = faults
        self.after: dict[str, list[str]] = {name: [] for name in self.nodes}
        self.groups: list[tuple[Any, ...]] = []
        self.connections: list[Connections] = []
        self.starts: dict[str, int] = {}
        self.counts: dict[str, int] = {}
        self.bias: dict[str, NDArray[np.float64]] = {}
        """Sum of the biases of the matrices that lead into each population."""
        self.biased: set[tuple[str, str]] = set()
        for name, kind in self.kinds.items():
            if kind not in KNOWN:
                say = f"the primitive {kind} has no model here{near(kind, KNOWN)}"
                faults.add(f"node {quoted(name)}: {say}; known are {', '.join(KNOWN)}")
        for a, b in graph.edges:
            for name in (a, b):
                if name not in self.nodes:
                    faults.add(f"edge {quoted(a)} -> {quoted(b)}: no node {quoted(name)}")
            self.after.setdefault(a, []).append(b)

    def read(self) -> None:
        """Make populations and connections."""
        populations = [n for n, k in self.kinds.items() if k in NEURONS or k == "Input"]
        columns = {name: self._columns(name) for name in populations}
        if self.faults.count:
            return
        for name in populations:
            self.starts[name] = sum(self.counts[n] for n in self.starts)
        ways = [way for name in populations for way in self._ways(name, name, ())]
        outputs = {w.source: w.target for w in ways if self.kinds[w.target] == "Output"}
        for way in ways:
            if self.kinds[way.target] == "Output":
                self._check_output(way)
            else:
                self._connect(way)
        for name in populations:
            kind, count = self.kinds[name], self.counts[name]
            params = dict(columns[name])
            if name in self.bias:
                params["bias"] = self.bias[name]
            model = shipped()[INPUT if kind == "Input" else NEURONS[kind][0]]
            uids = [f"{name}/{number}" for number in range(count)]
            texts = {POPULATION: name, OUTPUT: outputs.get(name, "")}
            self.groups.append((model, count, params, uids, texts))

    def _columns(self, name: str) -> dict[str, Column]:
        """Return the parameters of a node, and store its number of cells."""
        node, kind = self.nodes[name], self.kinds[name]
        if kind == "Input":
            shape = tuple(int(n) for n in np.asarray(node.input_type["input"]).ravel())
            found = {}
        else:
            found = {key: np.asarray(getattr(node, key)) for key in NEURONS[kind][1]}
            shape = found["r"].shape
        self.counts[name] = shape[0] if len(shape) == 1 else 0
        if len(shape) != 1 or not shape[0]:
            say = f"has the shape {shape}; a vector of cells is expected, (n,)"
            self.faults.add(f"node {quoted(name)} ({kind}): {say}")
        for key, column in found.items():
            if column.shape != shape or column.dtype.kind not in "fiu":
                say = f"must be {shape} numbers (got {column.dtype}, {column.shape})"
                self.faults.add(f"node {quoted(name)} ({kind}): '{key}' {say}")
        numbers = {key: column for key, column in found.items() if column.dtype.kind in "fiu"}
        return {key: column.astype(np.float64) for key, column in numbers.items()}

    def _ways(self, source: str, at: str, names: tuple[str, ...]) -> Iterator[Way]:
        """Yield all paths that begin at a population."""
        for name in self.after[at]:
            kind = self.kinds[name]
            if name in names:
                self.faults.add(f"node {quoted(name)}: leads back to itself without a neuron")
            elif kind in (*MATRICES, DELAY):
                yield from self._ways(source, name, (*names, name))
            elif kind == "Input":
                self.faults.add(f"edge {quoted(at)} -> {quoted(name)}: nothing leads into an Input")
            else:
                yield Way(source, name, names)

    def _check_output(self, way: Way) -> None:
        if way.names:
            say = "stands before an Output; here the spikes of neurons, or their V, are recorded"
            self.faults.add(f"node {quoted(way.names[0])} ({self.kinds[way.names[0]]}): {say}")

    def _connect(self, way: Way) -> None:
        """Make the connections of a path."""
        where = f"{quoted(way.source)} -> {quoted(way.target)}"
        if self.kinds[way.source] in ("LI", "CubaLI"):
            say = f"{self.kinds[way.source]} has no spikes; only an Output may follow"
            self.faults.add(f"{where}: {say}")
            return
        kinds = [self.kinds[name] for name in way.names]
        for what in (MATRICES, (DELAY,)):
            if sum(kind in what for kind in kinds) > 1:
                say = f"several nodes {' or '.join(what)} in a row; make one of them"
                self.faults.add(f"{where} by {', '.join(map(quoted, way.names))}: {say}")
                return
        counts = self.counts[way.source], self.counts[way.target]
        weight, delay, dense = self._numbers(way, where, counts)
        if weight is None:
            return
        keep = np.full(weight.shape, dense) | (weight.view(np.int64) != 0)
        source, target = np.nonzero(keep.T)
        ends = source + self.starts[way.source], target + self.starts[way.target]
        late = delay if not delay.ndim else np.broadcast_to(delay, weight.shape)[target, source]
        label = ARROW.join(f"{k}:{n}" for k, n in zip(kinds, way.names, strict=True)) or DIRECT
        first, last = (end.astype(np.int32) for end in ends)
        data = {"weight": weight[target, source]}
        made = Connections(SPIKES, "spikes", first, last, late, data, None, label)
        self.connections.append(made)

    def _numbers(
        self, way: Way, where: str, counts: tuple[int, int]
    ) -> tuple[Column | None, Column, bool]:
        """Return weights and delays (s), (targets, sources); whether zeros are connections, too."""
        weight: Column | None = None
        delay: Column = np.zeros(())
        length = counts[0]
        for name in way.names:
            node, kind = self.nodes[name], self.kinds[name]
            if kind == DELAY:
                delay = np.asarray(node.delay, np.float64)
                if delay.shape != (length,) or not (np.isfinite(delay) & (delay >= 0)).all():
                    say = f"'delay' must be {length} numbers of at least 0 s (got {delay.shape})"
                    self.faults.add(f"node {quoted(name)} (Delay): {say}")
                    return None, delay, False
                delay = delay[None, :] if weight is None else delay[:, None]
                continue
            weight = np.asarray(node.weight, np.float64)
            if weight.shape != (counts[1], length):
                say = f"'weight' must have the shape ({counts[1]}, {length}), got {weight.shape}"
                self.faults.add(f"node {quoted(name)} ({kind}), {where}: {say}")
                return None, delay, False
            length = counts[1]
            if kind == "Affine" and (name, way.target) not in self.biased:
                self.biased.add((name, way.target))
                bias = np.broadcast_to(np.asarray(node.bias, np.float64), (length,))
                known = self.bias.get(way.target)
                self.bias[way.target] = bias if known is None else known + bias
        if weight is None:
            if counts[0] != counts[1]:
                say = f"{counts[0]} cells are connected one to one with {counts[1]}"
                self.faults.add(f"{where}: {say}")
                return None, delay, False
            return np.eye(counts[0]), delay, False
        return weight, delay, bool(delay.ndim)
