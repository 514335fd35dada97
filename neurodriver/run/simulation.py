"""``Simulation``: the step loop of one or more LPUs that one backend advances together."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Protocol

from .. import settings
from ..backends.base import Backend, Gated
from ..backends.choice import Choice, depths, drawer_of, make_backend
from ..backends.tables import InputTable, Probe
from ..backends.traffic import measured
from ..circuit.circuit import Circuit
from ..errors import NeurodriverError
from ..plan.arrays import Key
from ..plan.compile import compile_circuit
from ..plan.copies import Variants, programs_of_copies
from ..plan.edges import element_of
from ..plan.passes.join import Relay
from ..plan.program import Program
from ..plan.spikes.fanout import LONGEST_WINDOW
from ..plan.spikes.learning import check_steps
from ..profiling.measured import Timed
from ..profiling.phases import OFF, current, phased
from ..recorders.base import Recorder
from ..recorders.writer import Writer
from ..state.late import LateArrivals
from ..state.sent import Ports
from .behind import Behind, Work
from .call_length import CallLength
from .copies import Copied, copies_of
from .execution import InputFeed, RecorderFeed
from .findings import CopyWatches
from .in_flight import CallsInFlight
from .interrupts import NO_STEPS, StepBoundary, boundary_of
from .member import Member, injected, inputs_of, merging_of, read_of
from .nonfinite import watching
from .queued_steps import QueuedSteps
from .recorded_pools import RecordedPools
from .single_phases import phases_done
from .synapse_feed import feed_of


class OpenExchange(Protocol):
    """Moves values between this process and others, each ``window`` steps."""

    window: int
    first: int
    gated: bool
    gate: Callable[[int], bool]
    imports: list[InputTable]
    exports: list[Probe]
    spent: float
    received: int
    waits: bool

    @property
    def asking(self) -> str | None: ...
    def begin(self, steps: int | None, step: int) -> None: ...
    def left(self, step: int) -> int: ...
    def due(self, step: int) -> bool: ...
    def stage(self, first: int, steps: int) -> None: ...
    def swap(self, step: int) -> None: ...
    def end(self, step: int) -> None: ...
    def leave(self) -> None: ...
    def close(self) -> None: ...


class Border(Protocol):
    """Makes what moves values between this process and others."""

    exported: set[str]  # variables that others read
    window: int  # steps between two exchanges
    gates: bool  # whether a call may wait for other processes
    peers: bool  # whether kernels of GPUs exchange values by themselves
    depth: Mapping[str, Callable[[int], int]]
    """Variable -> rows of a ring, from the rows that it needs."""

    def open(self, backend: Backend) -> OpenExchange:
        """Return buffers and requests for what a backend runs."""


Progress = Callable[[int], None] | None
"""What gets the number of steps that each call has done."""

Ending = StepBoundary | None
"""What ends steps early; without one, Ctrl-C does."""


class Simulation:
    """A compiled circuit with its backend, and the inputs and recorders of one or more LPUs.

    Arguments are those of `LPU`. ``border`` is where the circuit goes on in other processes;
    ``relays`` start with row 0 of their sources; ``variants`` are the copies of a batch.
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
        nonfinite: str = "raise",
        debug: bool = False,
        variants: Variants | None = None,
    ) -> None:
        self.dt, self.step, self.variants = dt, 0, variants
        self.late: list[LateArrivals] = []  # spikes on their way that have no slot yet
        self.ports: Ports | None = None  # to other LPUs
        self.changed: set[Key] = set()  # parameters that have been set
        self.profile, self.members = current(), list(members)
        inputs, own = inputs_of(members)
        self.targets = injected([*inputs, *(own[0] if own else [])])
        chosen = choice or Choice.of()
        compiled = partial(
            compile_circuit, circuit, dt, dtype, self.targets,
            _read_elsewhere(members, border), seed, plans,
            depths(circuit, self.targets, border.depth if border else {}),
            merging=merging_of(members), watch=watching(nonfinite, debug),
            apart=variants.apart if variants else None, longest_window=_window(border, chosen),
        )  # fmt: skip
        self.program: Program = compiled(chosen.target, drawer=drawer_of(chosen))
        programs = programs_of_copies(self.program, variants) if variants else []
        self.pools = RecordedPools(self.program)
        self._findings = CopyWatches(self.program, nonfinite, len(programs))
        self._inputs = InputFeed(self.program, inputs, own)
        self.feeds = _feeds_of(members, self.program, len(programs))
        copied, gates = sum(feed.copied for _, feed in self.feeds), bool(border and border.gates)
        given = chosen, self.program, threads, copied, compiled, gates, programs
        self.backend: Backend = make_backend(*given)
        self._copies = copies_of(self) if variants else []
        show(self.backend)
        self.backend.publish()
        start_relays(self.backend, relays)
        self.exchange = border.open(self.backend) if border else None
        self._broken: BaseException | None = None
        self._connect()
        self.watch: Callable[[], None] = lambda: None
        self._writer: Writer[Recorder] | None = None
        self._make_calls(self.backend.stepwise, [feed for _, feed in self.feeds])
        self._failed: Recorder | None = None
        self.queued, self.boundary, self.shows_progress = QueuedSteps(), NO_STEPS, True
        self.started = self._inside = False  # inside: a call was interrupted, states are ahead

    def _make_calls(self, stepwise: bool, feeds: list[RecorderFeed]) -> None:
        self._stepwise = stepwise
        waits = stepwise or self._inputs.longest == 1 or bool(self.exchange and self.exchange.waits)
        follows, waits = not (stepwise or self.exchange), waits or self._findings.waits
        self.calls = CallsInFlight(self.backend, feeds, waits, self.profile, follows)
        self._inputs.draw_in_threads(self.backend, self.calls.ahead is not None)
        most = min(self._inputs.longest, self._findings.longest)
        self.length = CallLength(self.backend, self.calls, feeds, most, bool(self.exchange))

    def _connect(self) -> None:
        """Give the backend the tables of inputs, recorders and exchange."""
        exchange = self.exchange
        probes = [p for _, feed in self.feeds for p in feed.probes]
        events = [e for _, feed in self.feeds for e in feed.events]
        tables = self._inputs.tables + (exchange.imports if exchange else [])
        self.backend.start(tables, probes, events, exchange.exports if exchange else [])
        if exchange and isinstance(self.backend, Gated):
            exchange.gate = partial(self.backend.gate, exchange.window, self._serve)
            exchange.gated = exchange.gate(0)

    @property
    def copies(self) -> Sequence[Copied]:
        """What has the values of each copy: this object, without a batch."""
        return self._copies or [self]

    @property
    def culprit(self) -> str | None:
        """Id of the LPU that failed: its recorder, a value, its own code; None where none did."""
        return _culprit(self, self._failed)

    @phased("open recordings")
    def start(self, steps: int | None = None) -> None:
        """Open the recorders for a run of ``steps`` steps (None: unknown length)."""
        if self.started:
            raise NeurodriverError("LPU: started already; finish() ends a run")
        self.check_whole()
        for _, feed in self.feeds:
            if feed.plan is None:
                feed.recorder.check()
        for one in self._inputs.inputs:
            one.check()
        try:
            for member, feed in self.feeds:
                self._failed = feed.recorder
                feed.open(self.step, steps, member.attributes)
            self._failed = None
            for one in self._inputs.inputs:
                one.first_step = self.step
                one.begin_run(steps)
        except BaseException:
            for _, feed in self.feeds:
                feed.recorder.close()
            for one in self._inputs.inputs:
                one.end_run(self.step)
            raise
        self._findings.begin_run(self.backend)
        if self.exchange is not None:
            self.exchange.begin(steps, self.step)
        if self.feeds:
            self._writer = Writer([feed.recorder for _, feed in self.feeds], profile=self.profile)
        works = self.feeds, self._inputs.inputs, self.exchange, self._stepwise, self.profile.on
        self.queued.begin_run(self.backend, self._findings, any(works))
        self.started = True

    def advance(
        self, steps: int, progress: Progress = None, ending: Ending = None, work: Work | None = None
    ) -> None:
        """Advance steps; ``progress`` gets how many each call has done; ``ending`` ends them.

        `Behind` says when the ``work`` is done that follows them.
        """
        check_steps(self.program.gathers.values(), self.step + steps, self.program.dt)
        alone = progress is None and ending is None and work is None
        if alone and self.queued.begin(self, steps):
            return
        self.pools.begin()
        if not self.started:
            self.start()
        with ending or boundary_of(self.backend, self.calls) as self.boundary:
            last = Behind(self.step + steps, self._findings, work)
            self._advance_to(last, progress, self.boundary)

    def _advance_to(self, last: Behind, progress: Progress, boundary: StepBoundary) -> None:
        while self.step < last.end and not boundary.asked:
            limit = self.length.steps(self.step, last.end - self.step)
            if self.exchange is not None:
                limit = min(limit, self.exchange.left(self.step))
            done = self._call(limit, last)
            if self._broken is not None:
                raise self._broken
            if self.exchange is not None and self.exchange.due(self.step):
                with self.profile.phase("exchange"):
                    self.exchange.swap(self.step)
            self.watch()
            self._findings.check(self.backend)
            if progress is not None:
                progress(done)
        self.complete_calls()
        last.check(self.backend, self.step)
        boundary.reached()
        last.completed(self.step)

    def complete_calls(self) -> None:
        """Wait for all calls that have begun; recorders get what they have recorded."""
        while self.calls:
            self._complete(self._writer)

    def check_whole(self) -> None:
        """Raise NeurodriverError where a call was interrupted, so that states are ahead."""
        if self._inside:
            raise NeurodriverError("LPU: interrupted within a step; make a new LPU to run again")

    def _call(self, steps: int, last: Behind) -> int:
        self.check_whole()
        first = self.step
        steps = 1 if phases_done(self.backend) else self.prepare(steps)
        self._inside = True
        done = self.calls.begin(first, steps, last)
        self.step, self._inside = self.step + done, self._stepwise
        while self.calls.due:
            self._complete(self._writer)
        if self._stepwise:
            with self.profile.phase("run_step"):
                self.backend.run_step(first)
        self._inside = False
        return done

    def prepare(self, steps: int) -> int:
        """Bring what enters in the next steps; return how many steps the next call may have."""
        self.pools.refresh(self.copies)
        steps = 1 if _enter_late(self) or self._stepwise else steps
        stage(self, self._inputs, steps)
        return steps

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

    def _complete(self, writer: Writer[Recorder] | None) -> None:
        self.calls.complete(writer)
        if writer is not None:
            self._failed = writer.failed
            writer.check()

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
        self._findings.finish()
        writer, self._writer = self._writer, None
        with contextlib.ExitStack() as stack:  # each of them, whatever another one raises
            if self.started and not self._inside:
                stack.callback(self.backend.instances.post_run)
            for one in self._inputs.inputs if self.started else []:
                stack.callback(one.end_run, self.step)
            if writer is not None:
                stack.callback(_close_writer, self, writer)
            stack.callback(self.queued.end_run, self.backend)
            self.started = False

    def close(self) -> None:
        """Close recordings and inputs and end the threads."""
        with contextlib.ExitStack() as last:  # each one is closed, whatever the others raise
            for member in self.members:
                for one in member.every_input:
                    last.callback(one.close)
            if self.exchange is not None:
                last.callback(self.exchange.close)
            last.callback(self.backend.close)
            self.finish()
            profile, self.profile = self.profile, OFF
            if profile.on and self.step and isinstance(self.backend, Timed):
                profile.measure(partial(measured, self.backend, self.program, self.step))


@phased("close recordings")
def _close_writer(one: Simulation, writer: Writer[Recorder]) -> None:
    try:
        with contextlib.ExitStack() as stack:
            stack.callback(writer.close)
            while one.calls:
                one.calls.complete(writer)
    finally:
        one._failed = one._failed or writer.failed


def _culprit(one: Simulation, failed: Recorder | None) -> str | None:
    if failed is not None:
        return next(m.scope for m, feed in one.feeds if feed.recorder is failed)
    for member in one.members:
        if one._findings.belongs_to(member.scope):
            return member.scope
    asking = one.exchange.asking if one.exchange else None
    return one._inputs.asking if asking is None else asking


def stage(simulation: Simulation, feed: InputFeed, steps: int) -> None:
    """Bring what inputs and other processes inject in the next steps."""
    first, profile = simulation.step, simulation.profile
    with profile.phase("stage inputs"):
        feed.stage(simulation.backend, first, steps)
    if simulation.exchange is not None:
        with profile.phase("exchange"):
            simulation.exchange.stage(first, steps)


def _enter_late(simulation: Simulation) -> bool:
    """Let spikes enter that had no slot before; return whether there are any."""
    late = [copy for copy in simulation.copies if copy.late]
    for copy in late:
        step = simulation.step
        copy.late = [rest for one in copy.late if (rest := one.enter(copy.backend, step))]
    return bool(late)


def _feeds_of(
    members: Sequence[Member], program: Program, copies: int
) -> list[tuple[Member, RecorderFeed]]:
    """Return the buffers of all recorders."""
    made = ((m, r) for m in members for r in m.recorders)
    return [(m, feed_of(program, r, m.scope, copies)) for m, r in made]


def start_relays(backend: Backend, relays: Sequence[Relay]) -> None:
    """Let components start with row 0 of others."""
    layout = backend.program.layout
    for one in [one for one in relays if not one.imported]:  # those are filled with the imports
        begin = backend.row(one.source_variable, 0)[
            element_of(layout, one.source, one.source_variable)
        ]
        backend.put(one.variable, element_of(layout, one.component, one.variable), begin)


def _window(border: Border | None, choice: Choice) -> int:
    """Return how many steps may follow each other without a barrier.

    On a GPU it is one step where the host exchanges values at gates between steps.
    """
    if settings.validates() or (border and choice.target.threads and not border.peers):
        return 1
    return border.window if border else LONGEST_WINDOW


def _read_elsewhere(members: Sequence[Member], border: Border | None) -> frozenset[str]:
    """Return the variables that recorders or other processes read, or that are to be kept."""
    return frozenset(read_of(members) | (border.exported if border else set()))


def show(backend: Backend) -> None:
    """Print the plan of what a backend runs at debug level 1, and its text at level 2."""
    program = backend.program
    for task in backend.generated.tasks if settings.debug() else ():
        print(f"{task.kernel.name}: {task.count:,} components", file=sys.stderr)
        for number in task.groups:
            for (owner, access), gather in program.gathers.items():
                if owner == number:
                    what = f"{gather.edges:,} connections, {gather.form}"
                    what += f", {gather.note}" if gather.note else ""
                    print(
                        f"  {access}: {what}, {gather.nbytes(program.dtype.itemsize):,} bytes",
                        file=sys.stderr,
                    )
        if settings.debug() > 1:
            print(task.kernel.text, file=sys.stderr)
