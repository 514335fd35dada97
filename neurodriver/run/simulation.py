"""``Simulation``: the step loop of one or more LPUs that one backend advances together."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from .. import settings
from ..backends.base import Backend, Gated
from ..backends.choice import Choice, depths, make_backend
from ..backends.measured import measured
from ..circuit.circuit import Circuit
from ..errors import NeurodriverError
from ..inputs.base import Input
from ..plan.compile import compile_circuit
from ..plan.edges import element_of
from ..plan.passes.merge import Recorded
from ..plan.program import Program
from ..profiling.measured import Timed
from ..profiling.phases import OFF, current, phased
from ..recorders.base import Recorder, RecordingPlan
from ..recorders.writer import Writer
from .execution import InputFeed, RecorderFeed
from .in_flight import Flights

if TYPE_CHECKING:
    from ..parallel.exchange import Exchange

CALL_SECONDS = 0.03
"""Length of one call into compiled code: short enough for Ctrl-C, long enough to be cheap."""

_BUFFER = 16 << 20
"""Bytes of rows of one call: what is written soon after is still in a cache."""

Attributes = dict[str, str | int | float]


Relay = tuple[str, NDArray[np.int64], str, NDArray[np.int64]]


@dataclass
class Member:
    """One LPU's share of a simulation.

    Attributes
    ----------
    scope : str or None
        Its id in a joined circuit; None where there is one circuit.
    inputs : list of Input
    recorders : list of Recorder
    attributes : dict
        Provenance, for its recordings.
    merge : bool
        Whether synapses may be merged.
    """

    scope: str | None = None
    inputs: list[Input] = field(default_factory=list)
    recorders: list[Recorder] = field(default_factory=list)
    attributes: Attributes = field(default_factory=dict)
    merge: bool = True


class Border(Protocol):
    """Makes what moves values between this process and others."""

    exported: set[str]
    gates: bool
    """Whether a call may wait for other processes."""

    depth: Mapping[str, Callable[[int], int]]
    """Variable -> rows of a ring, from the rows that it needs."""

    def open(self, backend: Backend) -> Exchange:
        """Return buffers and requests for what a backend runs."""
        ...


class Simulation:
    """A compiled circuit with its backend, inputs and recorders.

    Parameters
    ----------
    circuit : Circuit
    dt : float
        Step in seconds.
    members : sequence of Member
    dtype : {"float64", "float32"}
    threads : int, optional
    seed : int
    plans : bool
        Whether special plans may be chosen.
    border : Border, optional
        Where the circuit goes on in other processes.
    relays : sequence of (variable, components, variable of the sources, sources)
        Components that start with row 0 of others.
    choice : Choice, optional
        What advances the circuit.
    """

    @phased("make ready")
    def __init__(
        self,
        circuit: Circuit,
        dt: float,
        members: Sequence[Member],
        *,
        dtype: str = "float64",
        threads: int | None = None,
        seed: int = 0,
        plans: bool = True,
        border: Border | None = None,
        relays: Sequence[Relay] = (),
        choice: Choice | None = None,
    ) -> None:
        self.dt, self.step = dt, 0
        self.profile = current()
        self.members = list(members)
        inputs = [(m.scope, one) for m in members for one in m.inputs]
        targets = [
            (variable, scoped(scope, uids)) for scope, i in inputs for variable, uids in i.targets
        ]
        recorded = {v for m in members for r in m.recorders for v, _ in r.record}
        recorded |= border.exported if border else set()
        depth = depths(circuit, targets, border.depth if border else {})
        chosen = choice or Choice.of()
        compiled = partial(
            compile_circuit, circuit, dt, dtype, targets, frozenset(recorded), seed, plans, depth,
            merging=merging_of(members),
        )  # fmt: skip
        self.program: Program = compiled(chosen.target)
        self._feed = InputFeed(self.program, inputs)
        self._taps = [
            (m, RecorderFeed(self.program, r, m.scope)) for m in members for r in m.recorders
        ]
        copied = sum(tap.copied for _, tap in self._taps)
        gates = border is not None and border.gates
        self.backend: Backend = make_backend(chosen, self.program, threads, copied, compiled, gates)
        if settings.debug():
            show(self.backend)
        self.backend.publish()
        self._start_relays(relays)
        for _, tap in self._taps:
            tap.connect()
        self.exchange = border.open(self.backend) if border else None
        self._broken: BaseException | None = None
        self._connect()
        self.watch: Callable[[], None] = lambda: None
        self._writer: Writer | None = None
        self._stepwise = self.backend.stepwise
        waits = self.exchange is not None or self._stepwise or self._feed.longest == 1
        taps = [tap for _, tap in self._taps]
        self.flights = Flights(self.backend, taps, waits, self.profile)
        size = sum(tap.row_bytes // tap.recorder.sample_interval for _, tap in self._taps)
        self._longest = min(self._feed.longest, max(1, _BUFFER // size) if size else 1 << 30)
        self._failed: Recorder | None = None
        self.started = self._ended = False
        self._inside = False  # stays True when a call is interrupted: states are ahead of `step`

    def _connect(self) -> None:
        """Give the backend the tables of inputs, recorders and exchange."""
        exchange = self.exchange
        probes = [p for _, tap in self._taps for p in tap.probes]
        events = [e for _, tap in self._taps for e in tap.events]
        tables = self._feed.tables + (exchange.imports if exchange else [])
        self.backend.start(tables, probes, events, exchange.exports if exchange else [])
        if exchange and isinstance(self.backend, Gated):
            exchange.gated = self.backend.gate(exchange.timing.window, self._serve)

    def _start_relays(self, relays: Sequence[Relay]) -> None:
        for variable, component, other, source in relays:
            begin = self.backend.row(other, 0)[element_of(self.program.layout, source, other)]
            self.backend.put(variable, element_of(self.program.layout, component, variable), begin)

    @property
    def culprit(self) -> str | None:
        """Id of the LPU whose recorder failed, or whose own code ran; None where none did."""
        if self._failed is not None:
            return next(m.scope for m, tap in self._taps if tap.recorder is self._failed)
        asking = self.exchange.asking if self.exchange else None
        return self._feed.asking if asking is None else asking

    @phased("open recordings")
    def start(self, steps: int | None = None) -> None:
        """Open the recorders for a run of ``steps`` steps (None: unknown length)."""
        if self.started:
            raise NeurodriverError("LPU: started already; an LPU records one run")
        try:
            for member, tap in self._taps:
                self._failed = tap.recorder
                tap.recorder.open(self._plan(member, tap, steps))
            self._failed = None
            for one in self._feed.inputs:
                one.begin_run(steps)
        except BaseException:
            for _, tap in self._taps:
                tap.recorder.close()
            for one in self._feed.inputs:
                one.end_run(0)
            raise
        if self.exchange is not None:
            self.exchange.begin(steps)
        if self._taps:
            self._writer = Writer([tap.recorder for _, tap in self._taps], profile=self.profile)
        self.started = True

    def _plan(self, member: Member, tap: RecorderFeed, steps: int | None) -> RecordingPlan:
        return RecordingPlan(
            self.dt,
            steps,
            tap.recorder.sample_interval,
            self.program.dtype,
            tuple(tap.columns),
            member.attributes,
        )

    def advance(self, steps: int, progress: Callable[[int], None] | None = None) -> None:
        """Advance ``steps`` steps; ``progress`` is told the steps done by each call."""
        if not self.started:
            self.start()
        if self._taps and self._writer is None:
            raise NeurodriverError("LPU: the recordings are closed; make a new LPU to run again")
        end = self.step + steps
        while self.step < end:
            limit = min(end - self.step, self.chunk())
            if self.exchange is not None:
                limit = min(limit, self.exchange.left(self.step))
            done = self._call(limit)
            if self._broken is not None:
                raise self._broken
            if self.exchange is not None and self.step % self.exchange.timing.window == 0:
                with self.profile.phase("exchange"):
                    self.exchange.swap(self.step)
            self.watch()
            if progress is not None:
                progress(done)
        while self.flights:
            self._land(self._writer)

    def chunk(self) -> int:
        """Return how many steps the next call should take."""
        limit = min(self._longest, self.backend.longest)
        for _, tap in self._taps:
            limit = min(limit, tap.recorder.longest(self.step) or limit)
        known = self.flights.seconds_per_step
        wanted = CALL_SECONDS / known if known else 16
        return max(1, min(int(wanted), limit))

    def _call(self, steps: int) -> int:
        if self._inside:
            raise NeurodriverError("LPU: interrupted within a step; make a new LPU to run again")
        first = self.step
        if self._stepwise:
            steps = 1
        self._inside = True
        with self.profile.phase("stage inputs"):
            self._feed.stage(self.backend, first, steps)
        if self.exchange is not None:
            with self.profile.phase("exchange"):
                self.exchange.stage(first, steps)
        done = self.flights.begin(first, steps)
        self.step += done
        while self.flights.due:
            self._land(self._writer)
        if self._stepwise:
            with self.profile.phase("run_step"):
                self.backend.run_step(first)
        self._inside = False
        return done

    def _serve(self, step: int) -> bool:
        """Exchange in the middle of a call; return whether it may go on."""
        assert self.exchange is not None
        try:
            with self.profile.phase("exchange"):
                self.exchange.swap(step)
            self.watch()
        except BaseException as error:  # what was done until then is recorded first
            self._broken = error
            return False
        return True

    def _land(self, writer: Writer | None) -> None:
        try:
            self.flights.land(writer)
        finally:
            self._failed = writer.failed if writer is not None else None

    def end(self) -> None:
        """Take leave of the other processes, then close the recordings."""
        if self.exchange is not None:
            with self.profile.phase("exchange"):
                self.exchange.end(self.step)
        self.finish()

    def leave(self) -> None:
        """Tell the other processes that this one goes no further."""
        if self.exchange is not None:
            self.exchange.leave()

    def finish(self) -> None:
        """Write out and close the recordings."""
        writer, self._writer = self._writer, None
        with contextlib.ExitStack() as stack:  # each of them, whatever another one raises
            if self.started and not self._inside and not self._ended:
                self._ended = True
                stack.callback(self.backend.instances.post_run)
            for one in self._feed.inputs if self.started else []:
                stack.callback(one.end_run, self.step)
            if writer is not None:
                stack.callback(self._close_writer, writer)

    @phased("close recordings")
    def _close_writer(self, writer: Writer) -> None:
        try:
            with contextlib.ExitStack() as stack:
                stack.callback(writer.close)
                while self.flights and not writer.failed:
                    self._land(writer)
        finally:
            self._failed = self._failed or writer.failed

    def close(self) -> None:
        """Close recordings and inputs and end the threads."""
        with contextlib.ExitStack() as last:  # each one is closed, whatever the others raise
            for member in self.members:
                for one in member.inputs:
                    last.callback(one.close)
            if self.exchange is not None:
                last.callback(self.exchange.close)
            last.callback(self.backend.close)
            self.finish()
            profile, self.profile = self.profile, OFF
            if self.step and isinstance(self.backend, Timed):
                profile.measure(partial(measured, self.backend, self.program, self.step))


def merging_of(members: Sequence[Member]) -> Recorded:
    """Return what is recorded, and which LPUs keep their synapses apart."""
    requests = [(m.scope, v, uids) for m in members for r in m.recorders for v, uids in r.record]
    return Recorded(requests, [m.scope for m in members if not m.merge])


def scoped(scope: str | None, uids: Sequence[str]) -> Sequence[str]:
    """Return uids as a joined circuit names them."""
    return uids if scope is None else [f"{scope}/{uid}" for uid in uids]


def show(backend: Backend) -> None:
    """Print the plan of what a backend runs, and its generated text at debug level 2."""
    program = backend.program
    for task in backend.generated.tasks:
        print(f"{task.kernel.name}: {task.count:,} components", file=sys.stderr)
        for number in task.groups:
            for (owner, access), gather in program.gathers.items():
                if owner == number:
                    what = f"{gather.edges:,} connections, {gather.form}"
                    print(
                        f"  {access}: {what}, {gather.nbytes(program.dtype.itemsize):,} bytes",
                        file=sys.stderr,
                    )
        if settings.debug() > 1:
            print(task.kernel.text, file=sys.stderr)
