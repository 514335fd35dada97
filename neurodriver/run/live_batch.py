"""Values of the copies of a batch between calls: of all of them at once, or of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import NeurodriverError
from ..quantities import magnitude
from ..results.batch import BatchRecording
from ..results.recording import Recording
from .copied_values import CopiedValues, copied
from .device_values import on_host
from .live import Components, check_values
from .live_learning import LearningConnections
from .live_places import Live
from .named import having, numbered

if TYPE_CHECKING:
    from .live_values import LiveValues
    from .simulation import Simulation


class CopiedComponents(Components):
    """Some components in all copies of a batch.

    What `Components` has as (n,) is (copies, n) here.
    """

    __slots__ = ("_kept",)
    _kept: tuple[Live, list[Components]]

    def _in(self, simulation: Live, copy: int) -> Components:
        """Return the components in one copy."""
        changed = partial(_change_copy, self, copy)
        return Components(lambda: simulation, self._numbers, changed, self._said, self._parts)

    def _each(self) -> list[Components]:
        """Return the components in each copy: the same objects as long as nothing is compiled."""
        simulation, kept = self._simulation(), getattr(self, "_kept", None)
        if kept is None or kept[0] is not simulation:
            kept = simulation, [self._in(one, i) for i, one in enumerate(self._copies())]
            object.__setattr__(self, "_kept", kept)
        return kept[1]

    def _copies(self) -> Sequence[Live]:
        return cast("Simulation", self._simulation()).copies

    def get(self, name: str) -> Any:
        """Return a copy of the values of a variable, a state or a parameter, (copies, n).

        Of a field that is a list of arrays, a list: (copies, ...) of each.
        """
        each = [one.get(name) for one in self._each()]
        if isinstance(each[0], list):
            return copied([np.stack([*map(np.asarray, some)]) for some in zip(*each, strict=True)])
        return np.stack([*map(np.asarray, each)]).view(CopiedValues)

    def show(self, rows: int = 4) -> None:
        """Refuse: a line is about one copy."""
        raise NeurodriverError(f"{self._said}: show one copy: lpu.copies[b][...].show()")

    def shared(self, name: str) -> Any:
        """Refuse: each copy has memory of its own."""
        raise NeurodriverError(
            f"{self._said}: '{name}' of each copy lies elsewhere; use lpu.copies[b][...].shared"
        )

    def events(self, name: str | None = None) -> Any:
        """Refuse: each copy has events of its own."""
        raise NeurodriverError(
            f"{self._said}: each copy has events of its own; use lpu.copies[b][...].events()"
        )

    def set(self, name: str, values: ArrayLike, *, at: Mapping[str, Any] | None = None) -> None:
        """Set a variable that is a state, a state, a parameter, or a field.

        Parameters
        ----------
        values : float or array
            What NumPy broadcasts to (copies, n): (n,) is the same in all copies, (copies, 1) is one
            value for each copy. A field is the same in all copies.
        at : mapping of str to index, optional
            As `Components.set` takes it.

        Raises
        ------
        NeurodriverError
            As `Components.set`; nothing has been changed then.
        """
        copies, said = self._each(), f"{self._said}, '{name}'"
        values = on_host(values, self._copies()[0], said)
        if self._field(name) is not None:
            for copy in copies:
                copy.set(name, values, at=at)
            return
        if at is not None:
            self._at(at).set(name, values)
            return
        wanted = len(copies), len(self)
        values = magnitude(values, self._unit(name), said)
        try:
            numbers = np.broadcast_to(np.asarray(values, np.float64), wanted)
        except (TypeError, ValueError):
            raise NeurodriverError(
                f"{said}: numbers that NumPy broadcasts to (copies, n) = {wanted} "
                f"are needed, such as ({len(copies)}, 1) for one in each copy, got {values!r:.60}"
            ) from None
        placed = list(self.placed_parts(name))
        for part, place, _ in placed:
            place.check_settable(self._simulation().program)
            for row in numbers:
                check_values(self, part, name, row[part.out])
        for part, place, _ in placed:
            mine = numbers[:, part.out]
            each = self._copies()
            if place.one_for_all and not all(self._whole(part, row) for row in mine):
                columns = np.stack([place.read_all(one) for one in each]).astype(np.float64)
                columns[:, part.rows] = mine
                self._changed(part.number, name, columns)
                continue
            for one, row in zip(each, mine, strict=True):
                place.write(one, part.rows, row)


def _change_copy(
    components: CopiedComponents, copy: int, number: int, name: str, column: NDArray[np.float64]
) -> None:
    """Compile anew with one value of a parameter for each component, others in one copy."""
    if components._field(name) is not None:
        say = "needs another program; copies of a batch cannot change it"
        raise NeurodriverError(f"{components._said}, '{name}': {say}")
    part = next(p for p in components._parts if p.number == number)
    place = next(p for q, p, _ in components.placed_parts(name) if q.number == part.number)
    parts = [place.read_all(one) for one in components._copies()]
    columns = np.stack(parts).astype(np.float64)
    columns[copy] = column
    components._changed(number, name, columns)


class CopyOfLPU:
    """One copy of a batch, as an LPU of its own shows its values.

    ``lpu.copies[3]["exc"].V`` and ``lpu.copies[3].get("V")`` are (n,).

    Parameters
    ----------
    number : int
        Of the copy.
    """

    def __init__(self, lpu: LiveValues, number: int) -> None:
        self._lpu, self.number = lpu, number

    def __repr__(self) -> str:
        return f"copy {self.number} of {self._lpu.circuit!r}"

    @property
    def seed(self) -> int:
        """Seed of its random numbers."""
        return self._lpu.simulation.copies[self.number].program.seed

    def __getitem__(self, who: Any) -> Any:
        """Return some components of the copy, or connections that learn; see `LPU.__getitem__`."""
        circuit, lpu = self._lpu.program.circuit, self._lpu
        if isinstance(who, str) and lpu._learns(who):
            return LearningConnections(lpu._simulation, lpu.scope, who, self.number)
        numbers = numbered(circuit, lpu.scope, lpu.circuit, who)
        return self._components(numbers, who if isinstance(who, str) else "components")

    def _components(self, numbers: NDArray[np.int64], said: str) -> Components:
        whole = self._lpu._components(numbers, said)
        assert isinstance(whole, CopiedComponents)
        return Components(
            lambda: self._lpu._simulation().copies[self.number],
            numbers,
            partial(_change_copy, whole, self.number),
            f"copy {self.number}, {said}",
        )

    def having(self, name: str) -> Components:
        """Return the components that have a variable, a state or a parameter of a name."""
        return self._components(having(self._lpu.program, self._lpu.scope, name), f"'{name}'")

    def get(self, name: str) -> Any:
        """Return the values of a variable, a state or a parameter; see `LPU.get`."""
        return self.having(name).get(name)

    def set(self, name: str, values: ArrayLike) -> None:
        """Set a state or a parameter of all components that have it; see `Components.set`."""
        self.having(name).set(name, values)

    @property
    def recording(self) -> Recording:
        """What the first recorder has recorded of this copy."""
        whole = cast(BatchRecording, self._lpu.recording)
        return whole.copies[self.number]
