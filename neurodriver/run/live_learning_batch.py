"""Connections that learn in all copies of a batch."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import NeurodriverError
from .divided import Divided
from .live_learning import LearningConnections
from .synapse_choice import Ends


class CopiedLearningConnections(LearningConnections):
    """Connections that learn, in all copies of a batch: ``lpu["learning"]`` of such an LPU.

    Arrays that are (m,) in `LearningConnections` are (copies, m) here. Counts, means and tables are
    those of one copy: ``lpu.copies[3]["learning"]``.
    """

    def _each(self) -> list[LearningConnections]:
        given, simulation = (self._simulation, self._scope, self.name), self._simulation()
        assert not isinstance(simulation, Divided)  # a batch has no parts
        return [LearningConnections(*given, b) for b in range(len(simulation.copies))]

    @property
    def names(self) -> tuple[str, ...]:
        return self._each()[0].names

    @property
    def learning(self) -> bool:
        """Whether the synapses of all copies learn; see `learn`."""
        return all(one.learning for one in self._each())

    def learn(self, on: ArrayLike = True) -> None:
        """Let the synapses of the copies learn, or not; see `LearningConnections.learn`.

        Parameters
        ----------
        on : bool or (copies,) bool
            For all copies, or for each of them.

        Raises
        ------
        NeurodriverError
            For anything else. No copy has been changed then.
        """
        copies = self._each()
        try:
            given = np.asarray(on)
        except ValueError:  # lists of unequal lengths
            given = np.asarray(None)
        if given.dtype != np.bool_ or given.shape not in ((), (len(copies),)):
            want = f"learn takes True or False, or {len(copies)} of them, got {on!r:.60}"
            raise NeurodriverError(f"'{self.name}': {want}")
        for one, learns in zip(copies, np.broadcast_to(given, (len(copies),)), strict=True):
            one.learn(bool(learns))

    def call(self, name: str, /, **given: ArrayLike) -> None:
        """Run a text of the rule in all copies; see `LearningConnections.call`.

        Parameters
        ----------
        **given : float or (copies,)
            Numbers that the text reads, for all copies or for each of them.
        """
        copies = self._each()
        columns = {}
        for one, value in given.items():
            try:
                columns[one] = np.broadcast_to(np.asarray(value, np.float64), (len(copies),))
            except (TypeError, ValueError):
                want = f"a number or {len(copies)} of them are needed, got {value!r:.60}"
                raise NeurodriverError(f"'{self.name}', '{one}': {want}") from None
        ready = [
            copy._called(name, {one: column[b] for one, column in columns.items()})
            for b, copy in enumerate(copies)
        ]
        for store in ready:
            store()

    def get(self, name: str = "weight", of: Ends | None = None) -> NDArray[np.float64]:
        """Return a number of each synapse, (copies, m), or a modulator of each copy, (copies,).

        Parameters
        ----------
        name, of
            As `LearningConnections.get` takes them.
        """
        return np.stack([one.get(name, of) for one in self._each()])

    def set(self, name: str, values: ArrayLike, *, at: Any = None, of: Ends | None = None) -> None:
        """Set a number of the synapses in all copies.

        Parameters
        ----------
        values : float or array
            What NumPy broadcasts to (copies, m): (m,) is the same in all copies, (copies, 1) is one
            number for each copy. The level of a modulator: a number, or (copies,).
        at, of
            As `LearningConnections.set` takes them.

        Raises
        ------
        NeurodriverError
            As `LearningConnections.set`; no copy has been changed then.
        """
        copies = self._each()
        level = name in self._rule.doses()
        count = 1 if level else len(copies[0]._which(at, of))
        wanted = (len(copies),) if level else (len(copies), count)
        plain = self._plain(name, values)
        try:
            numbers = np.broadcast_to(np.asarray(plain, np.float64), wanted)
        except (TypeError, ValueError):
            what = "(copies,)" if level else "(copies, m)"
            want = f"numbers that NumPy broadcasts to {what} = {wanted}"
            raise NeurodriverError(
                f"'{self.name}', '{name}': {want} are needed, got {values!r:.60}"
            ) from None
        same = name == "weight" and np.ndim(values) < 2 and not self._own_bounds()
        same = same and self._within_bounds(numbers[0])
        ready = [
            one._checked(name, row, at, of, known=same and one is not copies[0])
            for one, row in zip(copies, numbers, strict=True)
        ]
        for change in ready:
            change()

    def _within_bounds(self, weights: NDArray[np.float64]) -> bool:
        """Whether no weight lies beyond bounds, where that of one copy may lie."""
        low, high = self._rule.limits or (-np.inf, np.inf)
        return bool(((weights >= low) & (weights <= high)).all())

    def _own_bounds(self) -> bool:
        """Whether synapses have bounds of their own, which may differ between copies."""
        return bool({*(self._rule.bounds or ())} & {*self._each()[0].names})

    def histogram(self, *given: Any, **more: Any) -> Any:
        """Refuse: each copy has counts of its own."""
        raise self._of_one("histogram")

    def means(self, name: str = "weight") -> Any:
        """Refuse: each copy has means of its own."""
        raise self._of_one("means")

    def columns(self) -> Any:
        """Refuse: each copy has a table of its own."""
        raise self._of_one("columns")

    def to_pandas(self) -> Any:
        """Refuse: each copy has a table of its own."""
        raise self._of_one("to_pandas")

    def to_xarray(self) -> Any:
        """Refuse: each copy has a table of its own."""
        raise self._of_one("to_xarray")

    def _of_one(self, what: str) -> NeurodriverError:
        say = f"each copy has its own {what}; use lpu.copies[b]['{self.name}'].{what}"
        return NeurodriverError(f"'{self.name}': {say}")
