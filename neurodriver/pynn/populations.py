"""Populations, views of them, and assemblies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from pyNN import common, errors
from pyNN.parameters import ParameterSpace, simplify

from . import simulator
from .recording import NDRecorder


class NDAssembly(common.Assembly):
    """Populations that are handled together."""

    _simulator = simulator


class _Cells(ABC):
    """What populations and views have in common: parameters are arrays of the population."""

    _assembly_class = NDAssembly
    _simulator = simulator

    @abstractmethod
    def _where(self) -> tuple[Any, Any]:
        """Return the population, and which of its cells are meant."""

    def _get_view(self, selector: Any, label: Any = None) -> Any:
        return NDPopulationView(self, selector, label)

    def _get_parameters(self, *names: str) -> ParameterSpace:
        population, _ = self._where()
        kind = population.celltype
        if any(name in kind.computed_parameters() for name in names):
            native = kind.get_native_names()
        else:
            native = kind.get_native_names(*names)
        return kind.reverse_translate(self._get_native_parameters(*native))

    def _get_native_parameters(self, *names: str) -> ParameterSpace:
        """Return parameters of the models."""
        population, rows = self._where()
        values = {name: simplify(population.native[name][rows]) for name in names}
        size = self.size  # type: ignore[attr-defined]
        return ParameterSpace(values, shape=(size,))

    def _set_parameters(self, parameter_space: ParameterSpace) -> None:
        population, rows = self._where()
        parameter_space.evaluate(simplify=False)
        for name, value in parameter_space.items():
            check_order(name, value)
            population.native[name][rows] = value
            population.changed.add(name)

    def _set_initial_value_array(self, variable: str, initial_values: Any) -> None:
        population, rows = self._where()
        value = initial_values.evaluate(simplify=False)
        known = population.starts.setdefault(variable, np.full(population.size, np.nan))
        known[rows] = value
        population.changed.add(f"init {variable}")


def check_order(name: str, values: Any) -> None:
    """Raise InvalidParameterValueError where the times of spikes do not ascend."""
    if name != "spike_times":
        return
    for times in np.atleast_1d(np.asarray(values, dtype=object)):
        listed = np.asarray(getattr(times, "value", times), dtype=float)
        if (np.diff(listed) < 0).any():
            raise errors.InvalidParameterValueError("Spike times should be sorted and ascend")


class NDPopulationView(_Cells, common.PopulationView):
    """Some cells of a population."""

    def _where(self) -> tuple[Any, Any]:
        return self.grandparent, self.index_in_grandparent(np.arange(self.size))


class NDPopulation(_Cells, common.Population):
    __doc__ = common.Population.__doc__
    _recorder_class = NDRecorder

    def _where(self) -> tuple[Any, Any]:
        return self, slice(None)

    def _create_cells(self) -> None:
        state = simulator.state
        first = state.id_counter
        self.all_cells = np.array(
            [simulator.ID(n) for n in range(first, first + self.size)], dtype=simulator.ID
        )
        self._mask_local = np.ones(self.size, dtype=bool)
        for cell in self.all_cells:
            cell.parent = self
        state.id_counter += self.size
        space = self.celltype.native_parameters
        space.shape = (self.size,)
        space.evaluate(simplify=False)
        self.native = {}
        for name, value in space.items():
            check_order(name, value)
            self.native[name] = np.broadcast_to(np.asarray(value), (self.size,)).copy()
        self.starts: dict[str, Any] = {}
        self.changed: set[str] = set()
        self.number = len(state.populations)
        state.populations.append(self)
