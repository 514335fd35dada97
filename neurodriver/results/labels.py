"""What the columns of a recording are: uids, units, populations, ends of synapses."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import RecordingError
from .sheets import axes_of
from .sources import StoredVariable
from .variable import VariableLabels


class RecordingLabels:
    """Names what a `Recording` holds."""

    name: str
    variables: tuple[str, ...]
    dt: float
    sample_interval: int
    attributes: dict[str, Any]
    _known_labels: dict[str, VariableLabels] | None = None

    def share_labels(self, known: dict[str, VariableLabels]) -> None:
        """Describe columns as ``known`` does, and add to it what it lacks.

        So a file that is opened again and again is asked for the names of its columns once.

        Parameters
        ----------
        known : dict of variable to VariableLabels
            Of recordings of the same file or recorder.
        """
        self._known_labels = known

    @abstractmethod
    def _stored(self, variable: str) -> StoredVariable:
        """Return a variable as the source holds it."""

    @property
    def units(self) -> dict[str, str]:
        """Variable -> unit; empty where the recording does not say."""
        return {variable: self.unit(variable) for variable in self.variables}

    @property
    def populations(self) -> dict[str, list[str]]:
        """Population -> uids of its recorded components.

        ``recording["V"].populations`` has the columns of each one.
        """
        found: dict[str, dict[str, None]] = {}
        for variable in self.variables:
            labels = self._labels(variable)
            for name, columns in labels.members.items():
                members = found.setdefault(name, {})
                members.update(dict.fromkeys(labels.uids[i] for i in columns))
        return {name: list(members) for name, members in found.items()}

    def uids(self, variable: str) -> list[str]:
        """Return the uids of the columns of a variable."""
        return self._stored(variable).uids()

    def ends(self, variable: str = "weight") -> tuple[list[str], list[str]]:
        """Return the uids of the sources and of the targets of recorded synapses.

        Raises
        ------
        RecordingError
            Where the columns of the variable are no synapses.
        """
        ends = self._stored(variable).ends()
        if ends is None:
            raise RecordingError(f"{self.name}: the columns of '{variable}' are no synapses")
        return ends

    def unit(self, variable: str) -> str:
        """Return the unit of a variable, empty if the recording does not say."""
        return self._stored(variable).unit

    def _labels(self, variable: str) -> VariableLabels:
        if self._known_labels is None:
            return self._read_labels(variable)
        if variable not in self._known_labels:
            self._known_labels[variable] = self._read_labels(variable)
        return self._known_labels[variable]

    def _read_labels(self, variable: str) -> VariableLabels:
        stored = self._stored(variable)
        step = self.dt * (1 if stored.events else self.sample_interval)
        uids, population = tuple(stored.uids()), stored.population()
        if population is not None and len(population) != len(uids):
            raise RecordingError(
                f"{self.name}: '{variable}' has {len(uids)} uids and {len(population)} entries of "
                "'population'"
            )
        members = {} if population is None else members_of(population)
        axes = axes_of(self.attributes)
        return VariableLabels(self.name, variable, stored.unit, uids, step, members, axes)


def members_of(population: Sequence[str]) -> Mapping[str, npt.NDArray[np.intp]]:
    """Return the columns of each population, ascending; '' stands for none."""
    names, number = np.unique(np.asarray(population, dtype=np.str_), return_inverse=True)
    order = np.argsort(number, kind="stable")
    parts = np.split(order, np.searchsorted(number[order], np.arange(1, len(names))))
    found = sorted(zip(names.tolist(), parts, strict=True), key=lambda pair: int(pair[1][0]))
    return {name: columns for name, columns in found if name}
