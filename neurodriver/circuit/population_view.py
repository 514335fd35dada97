"""Parts of populations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..model.component import NDComponent
from .members import Members, Rows, index_text, rows_of
from .space import taken

if TYPE_CHECKING:
    from .circuit import Circuit
    from .population import Population


class PopulationView(Members):
    """Some components of a population; it holds their numbers and nothing else.

    Indexing a population makes one.

    Parameters
    ----------
    parent : Population
    index : (n,) int64
        Numbers within the population.
    text : str
        How the index is written.
    shape : tuple of int, optional
        Shape of a value of each component.

    Attributes
    ----------
    parent, index, shape
        As given.
    """

    def __init__(
        self, parent: Population, index: Rows, text: str, shape: tuple[int, ...] | None = None
    ) -> None:
        self.parent = parent
        self.index = index
        self.shape = shape or index.shape
        self._text = text

    def __repr__(self) -> str:
        return f"<PopulationView {self.parent!r}{self._text}: {self.count:,}>"

    @property
    def name(self) -> str:
        """Name of the population, with the index."""
        return f"{self.parent.name}{self._text}"

    @property
    def model(self) -> type[NDComponent]:
        """Model of the components."""
        return self.parent.model

    @property
    def count(self) -> int:
        return len(self.index)

    @property
    def uids(self) -> NDArray[np.str_]:
        """Names of the components, (n,) str."""
        return self.parent.uids[self.index]

    def __getitem__(self, index: Any) -> PopulationView:
        if len(self.shape) > 1:
            axes = tuple(f"axis {d}" for d in range(len(self.shape)))
            rows, shape = taken(self.index.reshape(self.shape), index, axes, repr(self))
        else:
            rows = self.index[rows_of(index, self.count, repr(self))]
            shape = rows.shape
        return PopulationView(self.parent, rows, f"{self._text}{index_text(index)}", shape)

    def numbers_in(self, circuit: Circuit) -> Rows:
        found = circuit.populations.get(self.parent.name)
        whole = found is not None and found.count == self.parent.count
        return self.parent.numbers_in(circuit)[self.index] if whole else super().numbers_in(circuit)
