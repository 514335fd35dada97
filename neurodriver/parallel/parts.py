"""One circuit in several parts: on the ranks of a job, or in threads of this process.

Each part has its components and all connections into them. The parts exchange the values of sources
that other parts read. They do so once in a window, which is as long as the least delay of a
connection between two parts. No step is added, so the parts compute the same bits as the whole
circuit.

The inputs and recorders of an LPU are those of the whole circuit. Each part takes its columns of
the inputs, and the recordings of the parts are joined. Each rank has the joined recording in
memory. Only rank 0 writes files.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import mpi, settings
from ..backends.choice import Choice, gpu_of, reaching_gpus
from ..circuit.circuit import Circuit
from ..circuit.partition import given_parts, partition
from ..circuit.plastic import learning_connections
from ..circuit.share import Share, shares
from ..errors import CircuitError, LPUExecutionError, NeurodriverError, lines_of
from ..inputs.base import Input
from ..mpi import TASKS, World
from ..plan.instances import needs_instance
from ..recorders.base import Recorder, RecordingPlan
from ..recorders.writer import Writer
from ..run.divided import advancing
from ..run.division import Division
from ..run.interrupts import boundary_of_parts
from ..run.member import Attributes, Member
from ..run.simulation import Progress, Simulation
from .agreement import of_circuit
from .border import border_of
from .exchange import Left
from .part_inputs import inputs_of_parts
from .part_recorders import Arrived, WholeRecording
from .part_state import CircuitPart, PartedState, send_again
from .part_synapse_recordings import whole_recording
from .thread_ranks import Team
from .timing import Exchanged
from .window import Timing, least_crossing

Numbers = NDArray[np.int64]
Result = TypeVar("Result")

SLICE_SECONDS = 0.25
"""Time after which ranks join the recordings of their parts."""

LONG_SLICE_SECONDS = 1.0
"""The same where all parts are in one process. Their recordings are joined meanwhile, so only
Ctrl-C and those who watch the progress wait for the end of a slice."""

SLICE_BYTES = 64 << 20
"""Most bytes of rows of a slice."""

AHEAD, LONG_AHEAD = 1, 4
"""How many recordings may wait for the recorder while the next ones are made. On ranks these are
recordings of slices. Where all parts are in one process they are recordings of calls."""


class PartedSimulation(PartedState):
    """Advances the parts of a circuit.

    Parameters
    ----------
    inputs, recorders : list
        Of the whole.
    attributes : mapping
        Of its recordings.
    given : dict
        Further arguments of `Simulation`; ``merge`` is that of its member.

    Raises
    ------
    CircuitError
        For a circuit that cannot be cut, or another number of parts than of ranks.
    """

    def __init__(
        self,
        circuit: Circuit,
        dt: float,
        inputs: list[Input],
        recorders: list[Recorder],
        attributes: Attributes,
        division: Division,
        given: dict[str, Any],
    ) -> None:
        self.circuit, self.dt, self.step, self.started = circuit, dt, 0, False
        self._set, self._sends_again, self._inside, self._opened = set(), True, False, False
        self._world = mpi.world()
        self._inputs, self._attributes = inputs, attributes
        self.of = part_of_each(circuit, division.parts, self._world.size)
        self.count = int(self.of.max(initial=0)) + 1
        division.check(self.count)
        alone = self._world.size == 1
        numbers = range(self.count) if alone else range(self._world.rank, self._world.rank + 1)
        choices = {n: division.choice(n, given["choice"], alone) for n in numbers}
        self._writer: Writer[WholeRecording] | None = None
        self._dtype, self._steps_a_second, self._slice_seconds = np.dtype(given["dtype"]), 0.0, 0.0
        self.recordings = [
            whole_recording(one, circuit, self.of, self.synapses) for one in recorders
        ]
        if not alone:
            self._world.limit(settings.timeout())
            names = ("dtype", "seed", "plans", "merge", "keep")
            asked = {"the parts": _digest(self.of), "dt": dt, **{n: given[n] for n in names}}
            self._world.agree("LPU", of_circuit(circuit, inputs, recorders) | asked)
        with TASKS.task("LPU"):
            own = any(needs_instance(group) for group in circuit.groups)
            waits, peers = waiting(list(choices.values()), self._everywhere, own)
            self._together(lambda: self._make(circuit, given, choices, waits, peers))
        self._pool = ThreadPoolExecutor(len(self._parts), "neurodriver-part")
        self._each(lambda part: part.exchange.fill())

    def _make(
        self,
        circuit: Circuit,
        given: dict[str, Any],
        choices: dict[int, Choice],
        waits: bool,
        peers: bool,
    ) -> None:
        """Make the parts of this process.

        Parameters
        ----------
        waits : bool
            Whether a call may wait for the others.
        peers : bool
            Whether kernels exchange rows.
        """
        numbers, alone = list(choices), self._world.size == 1
        worlds: Sequence[World] = Team(self.count).ranks() if alone else [self._world]
        timing = Timing.of(least_crossing(circuit, self.of, self.dt), gates=True, late=0)
        settings_of = dict(given)
        merge, keep = settings_of.pop("merge"), settings_of.pop("keep")
        if alone and self.count > 1 and settings_of["threads"] is None:
            settings_of["threads"] = 1
        for one in self._inputs:
            one.open(self.dt, self._dtype)
        inputs = inputs_of_parts(self._inputs, circuit, self.of, numbers)
        sends = all(map(sends_imports, choices.values())) and not any(learning_connections(circuit))

        def make(share: Share, world: World, mine: list[Input]) -> CircuitPart:
            kept = tuple(one.of_part(share.part) for one in self.recordings)
            recorders: list[Recorder] = [one for one in kept if one]
            member = Member(None, mine, recorders, self._attributes, merge, keep=keep)
            choice = choices[share.part]
            border = border_of(share, world, timing, waits, lists=not choice.target.threads)
            border.peers = peers
            chosen = {**settings_of, "choice": choice, "border": border}
            made = Simulation(share.circuit, self.dt, [member], **chosen)
            own = np.flatnonzero(self.of == share.part)
            return CircuitPart(share.part, world, made, kept, share, own)

        every = zip(shares(circuit, self.of, numbers, sends), worlds, inputs, strict=True)
        beside = alone and all(choice.target.threads for choice in choices.values())
        self._parts = _done((partial(make, *given) for given in every), len(numbers) * beside)

    def _together(self, work: Callable[[], None]) -> None:
        """Do something on every rank; an error of one is an error of all."""
        failed: BaseException | None = None
        try:
            work()
        except Exception as error:
            failed = error
        mine = lines_of(failed) if failed else []
        others = self._world.gather(mine, at="LPU")
        if failed is not None:
            failed.known_to_all_ranks = True  # type: ignore[attr-defined]
            raise failed
        for rank, lines in enumerate(others):
            if lines:
                other = LPUExecutionError(lpu=f"part {rank}", step=self.step, traceback=lines)
                other.known_to_all_ranks = other.of_another_rank = True  # type: ignore[attr-defined]
                raise other

    # -- what an LPU asks for -------------------------------------------------------------------

    def start(self, steps: int | None = None) -> None:
        """Open the recorders for a run of ``steps`` steps."""
        if self.started:
            raise NeurodriverError("LPU: started already; finish() ends a run")
        self.check_whole()
        same = {"steps": steps, "the step": self.step, "whether values were set": self._sends_again}
        self._world.agree("LPU.start", same)
        for recording in self._own_recordings():
            recording.check()
        for one in self._inputs:
            one.check()
            one.first_step = self.step
            one.begin_run(steps)
        self._each(partial(_start, steps, self._sends_again))
        self.started, self._sends_again = True, False
        own = self._own_recordings()
        if not self._opened:  # columns stay what they are
            gathered = self._gathered([part.recorded_columns() for part in self._parts])
            for number, recording in enumerate(self.recordings):
                if recording in own:
                    recording.put_together([part[number] for part in gathered])
            self._opened = True
        self._writer = Writer(own, LONG_AHEAD if self._world.size == 1 else AHEAD)
        for recording in own:
            interval = recording.recorder.sample_interval
            plan = RecordingPlan(self.dt, steps, interval, self._dtype, (), self._attributes)
            recording.open(plan, self.step)
        if self._world.size == 1:  # all parts are here
            for number, recording in enumerate(self.recordings):
                put = partial(self._writer.put, recording)
                recording.follow([part.recorders[number] for part in self._parts], put)

    @property
    def exchanged(self) -> list[Exchanged]:
        """What the exchange of values took since the start, one entry for each part."""
        return self._gathered([Exchanged.of(part.simulation) for part in self._parts])

    def advance(self, steps: int, progress: Progress = None) -> None:
        """Advance steps, in one process until Ctrl-C, when all parts have done the same ones."""
        self.check_whole()
        if not self.started:
            self.start()
        end = self.step + steps
        if self._sends_again:
            self._each(send_again)
            self._sends_again = False
        if steps > 1:  # else the ranks find at the end of the step that they differ
            self._world.agree("LPU.advance", {"the steps": f"{self.step} to {end}"})
        backends = (part.simulation.backend for part in self._parts)
        goal = seconds_of_slice(self._world.size)
        boundary = boundary_of_parts(backends, lambda: max(self._slice_seconds, goal))
        with boundary if self._world.size == 1 else contextlib.nullcontext(), advancing(self):
            while self.step < end and not boundary.asked:
                count = min(self._slice(), end - self.step)
                self._advance_slice(count)
                if progress is not None:
                    progress(count)

    def _advance_slice(self, count: int) -> None:
        begin, self._inside = time.perf_counter(), True
        self._each(lambda part: part.simulation.advance(count))
        self._inside = False
        self.step += count
        self._slice_seconds = self._put_together(time.perf_counter() - begin)
        self._steps_a_second = count / max(self._slice_seconds, 1e-6)

    def finish(self) -> None:
        """Close the recordings."""
        with contextlib.ExitStack() as stack:  # each of them, whatever another one raises
            if self.started:
                for one in self._inputs:
                    stack.callback(one.end_run, self.step)
            if self._writer is not None:
                stack.callback(self._writer.close)
            for part in self._parts:
                stack.callback(part.simulation.finish)
            self.started = False

    def close(self) -> None:
        """Close recordings and inputs and end the threads."""
        with contextlib.ExitStack() as stack:
            for one in self._inputs:
                stack.callback(one.close)
            for part in self._parts:
                stack.callback(part.simulation.close)
            stack.callback(self._pool.shutdown)
            stack.callback(self._leave_others)
            self.finish()
            self._closed = True

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise NeurodriverError(f"LPU: a circuit of several parts has no '{name}'; leave out parts=")

    # -- slices ---------------------------------------------------------------------------------

    def _own_recordings(self) -> list[WholeRecording]:
        """Return the recordings that this rank takes: files are those of rank 0."""
        return [one for one in self.recordings if not (self._world.rank and one.recorder.outlives)]

    def _slice(self) -> int:
        """Return how many steps to advance before recordings are put together; all ranks agree."""
        if any(one.recorder.per_step for one in self.recordings):
            return 1
        known = seconds_of_slice(self._world.size) * self._steps_a_second
        steps = max(1, int(known)) if self._steps_a_second else 16
        row = self._dtype.itemsize * sum(one.width for one in self.recordings)
        limits = (one.longest(self.step) or steps for one in self.recordings)
        return max(1, min(steps, int(SLICE_BYTES // max(row, 1)), *limits))

    def _put_together(self, seconds: float) -> float:
        """Give the recorders what the parts have recorded; return the time of the slowest rank."""
        for one in (one for part in self._parts for one in part.recorders if one):
            one.settle()
        blocks = [
            [[] if one is None else one.take(self.step) for one in part.recorders]
            for part in self._parts
        ]
        everything = self._world.gather((blocks, seconds), at="LPU.advance")
        parts = [part for found, _ in everything for part in found]
        for number, recording in enumerate(self.recordings):
            read = recording.read(self.step)
            if self._writer is not None and recording in self._writer.recorders:
                some = Arrived([part[number] for part in parts], read, self.step)
                self._writer.put(recording, some)
        if self._writer is not None:
            self._writer.check()
        return max(float(each) for _, each in everything)

    def _gathered(self, mine: list[Result]) -> list[Result]:
        """Return what there is of each part, on all ranks."""
        return [part for found in self._world.gather(mine) for part in found]

    def _each(self, work: Callable[[CircuitPart], None]) -> None:
        if len(self._parts) == 1:
            _guarded(work, self._parts[0])
            return
        run = [self._pool.submit(copy_context().run, _guarded, work, part) for part in self._parts]
        try:
            failed = [error for one in run if (error := one.exception()) is not None]
        except KeyboardInterrupt:
            self._parts[0].world.tell()
            raise
        for error in sorted(failed, key=lambda one: isinstance(one, Left)):
            raise error


def seconds_of_slice(ranks: int) -> float:
    """Return how long a slice is meant to take."""
    return SLICE_SECONDS if ranks > 1 else LONG_SLICE_SECONDS


def _guarded(work: Callable[[CircuitPart], None], part: CircuitPart) -> None:
    """Do something with a part; if it fails, the others leave."""
    part.world.engaged = True
    try:
        with TASKS.task("the run") as task:
            part.simulation.watch = lambda: task.advanced(part.simulation.step)
            part.simulation.watch()
            work(part)
    except BaseException as error:
        part.world.tell()
        part.simulation.leave()
        if isinstance(error, Left):
            part.world.check()
            left = Left(f"part {part.number} ends, as {error}")
            left.known_to_all_ranks = left.of_another_rank = True  # type: ignore[attr-defined]
            raise left from error
        raise
    finally:
        part.world.engaged = False


def _done(tasks: Iterable[Callable[[], Result]], threads: int) -> list[Result]:
    """Return what tasks give; with ``threads`` they are done side by side."""
    if not threads:
        return [task() for task in tasks]
    with ThreadPoolExecutor(threads, "neurodriver-part") as pool:
        begun = [pool.submit(copy_context().run, task) for task in tasks]
    return [one.result() for one in begun]


def _start(steps: int | None, sends_again: bool, part: CircuitPart) -> None:
    """Open the recorders of a part, and exchange the rows that its imports do not have."""
    part.exchange.unchanged = not sends_again
    part.simulation.start(steps)


def sends_imports(choice: Choice) -> bool:
    """Return whether a GPU delivers the spikes of other parts by their sources."""
    return choice.target.threads and choice.executor == "resident"


def waiting(
    choices: Sequence[Choice],
    everywhere: Callable[[Callable[[], list[Any]]], list[Any]],
    own: bool = False,
) -> tuple[bool, bool]:
    """Return whether a call may wait for other parts, and whether kernels exchange rows.

    Kernels on GPUs do so where each part has a GPU of its own, and all reach each other's memory.
    Elsewhere a kernel may wait for the host only where no other part is in its process.

    Parameters
    ----------
    choices : sequence of Choice
        Of the parts of this process.
    everywhere : callable
        Returns what all processes have found.
    own : bool
        Whether classes bring code of their own. It may run at each step, which ends each launch.
    """
    if not choices[0].target.threads:
        return True, False
    gpus = everywhere(lambda: [gpu_of(choice) for choice in choices])
    if not all(gpus) or len(set(gpus)) < len(gpus) or len(gpus) < 2:
        return False, False
    peers = reaching_gpus([] if own else choices, everywhere) == len(gpus)
    return peers or len(choices) == 1, peers


def part_of_each(circuit: Circuit, parts: Any, ranks: int) -> Numbers:
    """Return the part of each component, (count,), from what an LPU was asked for.

    Raises
    ------
    CircuitError
        For something else, and for another number of parts than of ranks.
    """
    if isinstance(parts, str):
        if parts != "auto":
            raise CircuitError(f"parts: 'auto', a number, or the part of each, got {parts!r}")
        return partition(circuit, ranks)
    of = partition(circuit, parts) if np.ndim(parts) == 0 else given_parts(circuit, parts)
    count = int(of.max(initial=0)) + 1
    if ranks > 1 and count != ranks:
        say = f"{count} parts do not fit {ranks} ranks"
        raise CircuitError(f"{circuit.name}: parts: {say}; take parts='auto', or as many as ranks")
    return of


def _digest(array: Numbers) -> str:
    return hashlib.sha256(array.tobytes()).hexdigest()


class PartsAdapter:
    """Adapter that gives an LPU of several parts its simulation."""

    def simulation(self, *given: Any) -> PartedSimulation:
        """Return it; arguments are those of `PartedSimulation`."""
        return PartedSimulation(*given)
