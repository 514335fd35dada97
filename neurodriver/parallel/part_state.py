"""``PartedState``: values of a circuit in several parts are read, set, taken and put as a whole."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Circuit, Connections
from ..circuit.share import Share, counted
from ..errors import NeurodriverError, StateError
from ..mpi import World
from ..plan.copies import with_columns
from ..plan.passes.aggregate import insert_aggregators
from ..run.divided import Divided
from ..run.live import Components, GroupPart
from ..run.named import having
from ..run.needed import DescribedPart, LPUDescription, described
from ..run.simulation import Simulation
from ..state.looped import take_looped
from ..state.putting import put
from ..state.snapshot import Snapshot
from ..state.taking import check_readable, take
from .checkpoints import on_every_rank
from .exchange import Exchange
from .part_blocks import PartColumns, PartRecorder
from .part_learned import learned_of_part, learned_of_whole
from .part_recorders import WholeRecording
from .part_rows import PartRows, inserted, renamed, whole_of
from .part_synapses import PartedSynapses
from .part_values import PartedComponents, PartOfValues
from .peer_exchange import part_all

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class CircuitPart:
    """A part of this process."""

    number: int
    world: World
    simulation: Simulation
    recorders: tuple[PartRecorder | None, ...]
    share: Share
    own: Numbers  # its components, as the whole numbers them

    @property
    def exchange(self) -> Exchange:
        """What moves its values to other parts and from them."""
        exchange = self.simulation.exchange
        assert isinstance(exchange, Exchange)
        return exchange

    def described(self) -> DescribedPart:
        """Return what it consists of."""
        own, share, consists = len(self.own), self.share, described(self.simulation)
        assert isinstance(consists, LPUDescription)
        connections, crossing = counted(share)
        imports = sum(len(one.sources) for one in share.incoming)
        window = self.exchange.window
        return DescribedPart(self.number, own, connections, crossing, imports, window, consists)

    def recorded_columns(self) -> list[PartColumns]:
        """Return the columns of the open recordings."""
        return [{} if one is None else one.columns() for one in self.recorders]


class PartedState(Divided):
    """What does not need that steps are done."""

    of: Numbers
    started: bool
    closed: bool = False
    recordings: list[WholeRecording]
    _parts: list[CircuitPart]
    _world: World
    _set: set[tuple[int, str]]
    _sends_again: bool
    """Whether rows may have been changed since others got them, or have not been sent yet."""
    _inside: bool
    _closed = False
    """Whether a slice has not been completed, so that parts are at different steps."""

    @abstractmethod
    def _each(self, work: Callable[[CircuitPart], None]) -> None:
        """Do something with all parts of this process, side by side."""

    def _everywhere(self, work: Callable[[], list[Any]]) -> list[Any]:
        """Return what all processes have found; an error of one is an error of all."""
        if self.closed:
            raise NeurodriverError("LPU: closed; read what you need before, or make a new one")
        mine = on_every_rank(self._world, work)
        return [one for found in self._world.gather(mine) for one in found]

    # -- values -----------------------------------------------------------------------------------

    def having(self, name: str) -> Numbers:
        found = self._everywhere(lambda: [_having(part, name) for part in self._parts])
        numbers = [one for one in found if not isinstance(one, str)]
        if not numbers:
            raise NeurodriverError(found[0])
        return np.sort(np.concatenate(numbers))

    def components(
        self, numbers: Numbers, changed: Any, said: str, parts: Sequence[GroupPart], shape: Any
    ) -> Components:
        here = [PartOfValues(part.simulation, part.own) for part in self._parts]
        given = self.circuit, here, self._everywhere, self._note_set, numbers, changed, said
        return PartedComponents(*given, tuple(parts), shape)

    def described(self) -> list[DescribedPart]:
        return self._everywhere(lambda: [part.described() for part in self._parts])

    def synapses(self, links: Connections) -> PartedSynapses:
        for part in self._parts:
            part.simulation.check_whole()
            part.simulation.complete_calls()
        here = {part.number: part.simulation.backend for part in self._parts}
        return PartedSynapses(self.circuit, links, self.of, here, self._everywhere, self.dt)

    def _note_set(self, group: int, name: str) -> None:
        """Note what is going to be set."""
        self._set.add((group, name))
        self._sends_again = True

    def current(self, circuit: Circuit) -> Circuit:
        columns = {}
        for number, name in sorted(self._set):
            group, first = self.circuit.groups[number], int(self.circuit.starts[number])
            if name in group.model.params and name not in group.model.states:
                numbers = np.arange(first, first + group.count)
                values = self.components(numbers, None, f"'{name}'", (), ()).get(name)
                columns[number, name] = np.array(values, np.float64)
        return with_columns(circuit, columns)

    # -- states -----------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        on_every_rank(self._world, self._check_savable)
        found: dict[int, Snapshot] = {}
        self._each(partial(self._take, found))
        every = self._everywhere(lambda: list(found.items()))
        whole = whole_of(self.circuit, [state for _, state in every])
        return replace(whole, learned=learned_of_whole(self.circuit, self.of, every))

    @property
    def shows_progress(self) -> bool:
        """Whether a bar is shown here: one rank shows it."""
        return self._world.rank == 0

    def check_whole(self) -> None:
        """Raise NeurodriverError if it is closed, or if parts may be at different steps."""
        if self._closed:
            raise NeurodriverError("LPU: closed; make a new one to run again")
        if self._inside:
            raise NeurodriverError("LPU: interrupted within a step; make a new LPU to run again")

    def _check_savable(self) -> None:
        self.check_whole()
        for part in self._parts:
            part.simulation.check_whole()
            check_readable(part.simulation.program)
            if take_looped(part.simulation.backend):
                raise StateError(
                    "variables of synapses are not saved in several parts; leave out parts="
                )

    def _take(self, found: dict[int, Snapshot], part: CircuitPart) -> None:
        simulation = part.simulation
        simulation.complete_calls()
        rows = PartRows(self.circuit, part.share, simulation)
        given = simulation.backend, self.step, simulation.targets, simulation.late
        names = {mine: whole for whole, mine in self._names(part).items()}
        found[part.number] = renamed(take(*given, rows), names)

    @cached_property
    def _inserted(self) -> dict[tuple[str, str, int], str]:
        return inserted(insert_aggregators(self.circuit))

    def _names(self, part: CircuitPart) -> dict[str, str]:
        """Return the names of what was inserted in the whole, and of the same in a part."""
        mine = inserted(part.simulation.program.circuit, part.own)
        return {self._inserted[key]: uid for key, uid in mine.items()}

    def go_on_from(self, snapshot: Snapshot) -> None:
        on_every_rank(self._world, self._check_savable)
        self._sends_again = True
        self._each(partial(self._put, snapshot))
        self.step = snapshot.step

    def _put(self, snapshot: Snapshot, part: CircuitPart) -> None:
        simulation = part.simulation
        rows = PartRows(self.circuit, part.share, simulation)
        learned = learned_of_part(self.circuit, self.of, part.number, snapshot)
        state = replace(renamed(snapshot, self._names(part)), learned=learned)
        simulation.late = put(simulation.backend, state, simulation.targets, rows)
        simulation.step = snapshot.step

    # -- files ------------------------------------------------------------------------------------

    def go_on_recording(self, other: Divided | None) -> None:
        if other is None:
            for one in self.recordings:
                one.resumes = one.recorder.outlives
            return
        assert isinstance(other, PartedState)
        before = {one.recorder: one for one in other.recordings}
        for one in self.recordings:
            if one.recorder in before:
                one.go_on(before[one.recorder])

    def settle(self) -> None:
        for one in self.recordings:
            if not (self._world.rank and one.recorder.outlives):
                one.recorder.settle()

    def write_once(self, work: Callable[[], None]) -> None:
        on_every_rank(self._world, lambda: None if self._world.rank else work())

    def release(self) -> None:
        self._leave_others()
        for part in self._parts:
            part.exchange.close()
            part.simulation.backend.close()

    def _leave_others(self) -> None:
        """Let no part have memory open that another one gives back next; once."""
        first, self.closed = not self.closed, True
        if first:
            part_all((part.exchange for part in self._parts), self._world)


def send_again(part: CircuitPart) -> None:
    """Exchange the rows that the imports do not have: they may have been set."""
    part.exchange.unchanged = False
    part.exchange.begin(None, part.simulation.step)


def _having(part: CircuitPart, name: str) -> Numbers | str:
    """Return the components of a part that have something, or why there are none."""
    try:
        return part.own[having(part.simulation.program, None, name)]
    except NeurodriverError as error:
        return str(error)
