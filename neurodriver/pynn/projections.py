"""Projections: the connections that a connector makes, as columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from pyNN import common
from pyNN.space import Space

from ..errors import CircuitError
from . import simulator
from .synapses import StaticSynapse

_GATHER: dict[str, tuple[Any, float]] = {
    "sum": (np.add, 0.0),
    "min": (np.minimum, np.inf),
    "max": (np.maximum, -np.inf),
}


class NDConnection(common.Connection):
    """A connection; its attributes are those of the projection's columns."""

    def __init__(self, projection: NDProjection, row: int) -> None:
        object.__setattr__(self, "projection", projection)
        object.__setattr__(self, "row", row)

    def __getattr__(self, name: str) -> Any:
        columns = self.projection.columns
        if name not in columns:
            raise AttributeError(name)
        return self.projection.current(name)[self.row].item()

    def __setattr__(self, name: str, value: Any) -> None:
        self.projection.put(name, self.row, value)

    def as_tuple(self, *attribute_names: str) -> tuple[Any, ...]:
        """Return some attributes."""
        return tuple(getattr(self, name) for name in attribute_names)


class NDProjection(common.Projection):
    __doc__ = common.Projection.__doc__
    _simulator = simulator
    _static_synapse_class = StaticSynapse

    def __init__(
        self,
        presynaptic_population: Any,
        postsynaptic_population: Any,
        connector: Any,
        synapse_type: Any = None,
        source: Any = None,
        receptor_type: str | None = None,
        space: Any = None,
        label: str | None = None,
    ) -> None:
        ends = presynaptic_population, postsynaptic_population
        space = Space() if space is None else space
        super().__init__(*ends, connector, synapse_type, source, receptor_type, space, label)
        self._parts: list[dict[str, Any]] = []
        connector.connect(self)
        names = [n for n, _ in self.synapse_type.native_parameters.items()]
        every = ["presynaptic_index", "postsynaptic_index", *names]
        self.columns = {
            name: np.concatenate([part[name] for part in self._parts] or [np.empty(0)])
            for name in every
        }
        for name in every[:2]:
            self.columns[name] = self.columns[name].astype(np.int64)
        self._parts = []
        self.number = len(simulator.state.projections)
        simulator.state.projections.append(self)

    def __len__(self) -> int:
        return len(self.columns["presynaptic_index"])

    @property
    def connections(self) -> Iterator[NDConnection]:
        """Return the connections one after the other; they are made when somebody asks."""
        return (NDConnection(self, row) for row in range(len(self)))

    def _convergent_connect(
        self,
        presynaptic_indices: Any,
        postsynaptic_index: int,
        location_selector: Any = None,
        **connection_parameters: Any,
    ) -> None:
        if location_selector is not None:
            raise CircuitError("cells have one compartment here: leave out location_selector")
        sources = np.atleast_1d(np.asarray(presynaptic_indices, dtype=np.int64))
        part = {
            "presynaptic_index": sources,
            "postsynaptic_index": np.full(len(sources), postsynaptic_index, dtype=np.int64),
        }
        for name, value in connection_parameters.items():
            part[name] = np.broadcast_to(np.asarray(value, dtype=float), sources.shape).copy()
        self._parts.append(part)

    def put(self, name: str, rows: Any, value: Any) -> None:
        """Set an attribute of some connections; a running network takes weights."""
        if name not in self.columns or name in ("presynaptic_index", "postsynaptic_index"):
            raise AttributeError(f"connections have no attribute {name!r} that can be set")
        self.columns[name][rows] = value
        if simulator.state.network is not None:
            simulator.state.network.changed_projection(self, name)

    def current(self, name: str) -> Any:
        """Return an attribute of all connections; weights that learn are those of the network."""
        network = simulator.state.network
        if name == "weight" and network is not None:
            network.take_weights(self)
        return self.columns[name]

    def _get_attributes_as_list(self, names: Any) -> list[tuple[Any, ...]]:
        return list(zip(*(self.current(name).tolist() for name in names), strict=True))

    def _get_attributes_as_arrays(self, names: Any, multiple_synapses: str = "sum") -> list[Any]:
        at = self.columns["presynaptic_index"], self.columns["postsynaptic_index"]
        out = []
        for name in names:
            known = name if name in self.columns else name.removesuffix("s")
            values, array = self.current(known), np.full(self.shape, np.nan)
            if multiple_synapses in ("first", "last"):
                order = slice(None, None, -1) if multiple_synapses == "first" else slice(None)
                array[tuple(a[order] for a in at)] = values[order]
            else:
                gather, none = _GATHER[multiple_synapses]
                array[at] = none
                gather.at(array, at, values)
            out.append(array)
        return out

    def _set_attributes(self, parameter_space: Any) -> None:
        parameter_space.evaluate(simplify=False)
        at = self.columns["presynaptic_index"], self.columns["postsynaptic_index"]
        for name, value in parameter_space.items():
            self.put(name, slice(None), np.broadcast_to(value, self.shape)[at])

    def _set_initial_value_array(self, variable: str, initial_values: Any) -> None:
        say = "synapses start at the values of their type; set parameters of the type instead"
        raise CircuitError(f"{variable}: {say}")
