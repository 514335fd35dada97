"""``LPU``: a circuit that runs."""

from __future__ import annotations

import math
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from . import settings
from .backends.cpu import CPUBackend
from .circuit.circuit import Circuit
from .compile.program import Program, compile_circuit
from .component import NDComponent
from .errors import NeurodriverError, near
from .execution import InputFeed, RecorderFeed
from .initial import fill_initial
from .inputs.base import Input
from .recorders.base import Recorder, RecordingPlan
from .recorders.writer import Writer

CALL_SECONDS = 0.03
"""Length of one call into compiled code: short enough for Ctrl-C, long enough to be cheap."""

_BUFFER = 64 << 20


class LPU:
    """Local processing unit: one circuit, compiled, with its inputs and recorders.

    Parameters
    ----------
    circuit : Circuit, path of a GEXF file, or networkx graph
    dt : float
        Step in seconds.
    inputs : sequence of Input
    recorders : sequence of Recorder
    dtype : {"float64", "float32"}
    threads : int, optional
        Worker threads; by the circuit's size when not given. The results do not depend on it.
    seed : int
        Seed of all random numbers, at least 0.
    backend : {"cpu"}
    models : iterable of NDComponent subclasses
        Models beside the shipped ones, for a circuit from a file or a graph.
    attributes : mapping, optional
        Further attributes for recordings.
    plans : bool
        Whether special plans may be chosen; False is for comparisons.

    Raises
    ------
    CircuitError, InputError, RecordingError, CompileError
        Before anything is written.

    Examples
    --------
    >>> with LPU(circuit, dt=1e-4, inputs=[...], recorders=[...]) as lpu:  # doctest: +SKIP
    ...     lpu.run(duration=0.5)
    """

    def __init__(
        self,
        circuit: Circuit | str | Path | Any,
        dt: float,
        inputs: Sequence[Input] = (),
        recorders: Sequence[Recorder] = (),
        *,
        dtype: str = "float64",
        threads: int | None = None,
        seed: int = 0,
        backend: str = "cpu",
        models: Iterable[type[NDComponent]] = (),
        attributes: dict[str, str | int | float] | None = None,
        plans: bool = True,
    ) -> None:
        _check_settings(dt, dtype, threads, seed, backend)
        self.circuit = as_circuit(circuit, models)
        self.dt = float(dt)
        self.seed = seed
        self.step = 0
        self.inputs = [inputs] if isinstance(inputs, Input) else list(inputs)
        self.recorders = [recorders] if isinstance(recorders, Recorder) else list(recorders)
        self._attributes = attributes or {}
        targets = [target for one in self.inputs for target in one.targets]
        recorded = frozenset(v for r in self.recorders for v, _ in r.record)
        self.program: Program = compile_circuit(
            self.circuit, self.dt, dtype, targets, recorded, seed, plans
        )
        if settings.debug():
            show(self.program)
        self._feed = InputFeed(self.program, self.inputs)
        for one in self.inputs:
            if one.per_step:
                one.LPU_obj = self  # type: ignore[attr-defined]
        self.backend = CPUBackend(self.program, threads)
        fill_initial(self.program)
        self.backend.publish()
        self._taps = [RecorderFeed(self.program, r, self.backend.threads) for r in self.recorders]
        probes = [p for tap in self._taps for p in tap.probes]
        events = [e for tap in self._taps for e in tap.events]
        self.backend.start(self._feed.tables, probes, events)
        self._writer: Writer | None = None
        self._started = False
        self._inside = False  # stays True when a call is interrupted: states are ahead of `step`
        self._seconds_per_step = 0.0

    @property
    def time(self) -> float:
        """Simulated time in seconds."""
        return self.step * self.dt

    @property
    def memory_manager(self) -> Any:
        """Owner of the variables."""
        return self.program.memory

    def get(self, variable: str) -> np.ndarray:
        """Return a copy of the current row of a variable, one value for each component updating it.

        The order is that of the circuit; ``uids(variable)`` names the values.
        """
        depth = self._depth(variable)
        row = self.program.memory.get_buffer(variable)[self.step % depth]
        values: np.ndarray = row[self._elements(variable)].copy()
        return values

    def uids(self, variable: str) -> np.ndarray:
        """Return the uids of the components that update a variable."""
        circuit = self.program.circuit
        parts = [circuit.groups[g].uids for g in self._owners(variable)]
        return np.concatenate(parts)

    def _owners(self, variable: str) -> list[int]:
        ring = self.program.memory.rings.get(variable)
        if ring is None:
            known = self.program.memory.rings
            if any(variable in g.model.updates for g in self.program.circuit.groups):
                message = f"'{variable}' is not kept, as only its Aggregator reads it; record it"
                raise NeurodriverError(message)
            raise NeurodriverError(f"no variable '{variable}'{near(variable, known)}")
        groups = self.program.circuit.groups
        owners = [
            g
            for g in range(len(groups))
            if variable in groups[g].model.updates and str(g) in ring.segments
        ]
        if not owners:
            raise NeurodriverError(f"nothing updates '{variable}'; it holds inputs alone")
        return owners

    def _elements(self, variable: str) -> np.ndarray:
        return np.concatenate([self.program.elements(g, variable) for g in self._owners(variable)])

    def _depth(self, variable: str) -> int:
        self._owners(variable)
        return self.program.memory.rings[variable].depth

    def start(self, steps: int | None = None) -> None:
        """Open the recorders for a run of ``steps`` steps (None: unknown length)."""
        if self._started:
            raise NeurodriverError("LPU: started already; an LPU records one run")
        try:
            for tap in self._taps:
                tap.recorder.open(self._plan(tap, steps))
        except BaseException:
            for tap in self._taps:
                tap.recorder.close()
            raise
        if self.recorders:
            self._writer = Writer(self.recorders)
        self._started = True

    def _plan(self, tap: RecorderFeed, steps: int | None) -> RecordingPlan:
        from . import __version__

        attributes: dict[str, str | int | float] = {
            "software": "neurodriver",
            "version": __version__,
            "seed": self.seed,
            "circuit": self.circuit.name,
            "circuit_digest": self.circuit.digest,
            "dtype": self.program.dtype.name,
            "command": command_line(sys.argv),
            **self._attributes,
        }
        return RecordingPlan(
            self.dt,
            steps,
            tap.recorder.sample_interval,
            self.program.dtype,
            tuple(tap.columns),
            attributes,
        )

    def advance(self, steps: int, progress: Callable[[int], None] | None = None) -> None:
        """Advance ``steps`` steps; ``progress`` is told the steps done by each call."""
        if not self._started:
            self.start()
        if self.recorders and self._writer is None:
            raise NeurodriverError("LPU: the recordings are closed; make a new LPU to run again")
        end = self.step + steps
        while self.step < end:
            done = self._call(min(end - self.step, self._chunk()))
            if progress is not None:
                progress(done)

    def _chunk(self) -> int:
        """Return how many steps the next call should take."""
        rows = sum(tap.row_bytes // tap.recorder.sample_interval for tap in self._taps)
        limit = min(self._feed.longest, max(1, _BUFFER // rows) if rows else 1 << 30)
        wanted = CALL_SECONDS / self._seconds_per_step if self._seconds_per_step else 16
        return max(1, min(int(wanted), limit))

    def _call(self, steps: int) -> int:
        if self._inside:
            raise NeurodriverError("LPU: interrupted within a step; make a new LPU to run again")
        first = self.step
        self._inside = True
        self._feed.stage(self.backend, first, steps)
        at = 0
        for tap in self._taps:
            count = len(tap.probes)
            tap.prepare([self.backend.probes[at + i] for i in range(count)], first, steps)
            at += count
        begin = time.perf_counter()
        done = self.backend.run(first, steps)
        spent = (time.perf_counter() - begin) / done
        known = self._seconds_per_step
        self._seconds_per_step = max(spent, known / 8) if known else spent
        self.step += done
        if self._writer is not None:
            for tap in self._taps:
                self._writer.put(tap.recorder, tap.block(first, done))
        self._inside = False
        return done

    def run(
        self,
        steps: int | None = None,
        duration: float | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> LPU:
        """Run from here and close the recordings.

        Parameters
        ----------
        steps : int
            Number of steps; or give
        duration : float
            seconds, rounded to whole steps.
        progress : callable, optional
            Told the number of steps done by each call into compiled code.
        """
        if (steps is None) == (duration is None):
            raise NeurodriverError("LPU.run: give either steps or duration")
        if duration is not None:
            if not 0 <= duration < math.inf:
                raise NeurodriverError(f"LPU.run: duration must be seconds >= 0, got {duration}")
            steps = round(duration / self.dt)
        if steps is None or int(steps) != steps or steps < 0:
            raise NeurodriverError(f"LPU.run: steps must be a whole number >= 0, got {steps!r}")
        try:
            if not self._started:
                self.start(int(steps))
            self.advance(int(steps), progress)
        finally:
            self.finish()
        return self

    def finish(self) -> None:
        """Write out and close the recordings."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    def close(self) -> None:
        """Close recordings and inputs and end the threads."""
        try:
            self.finish()
        finally:
            self.backend.close()
            for one in self.inputs:
                one.close()

    def __enter__(self) -> LPU:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def as_circuit(given: Any, models: Iterable[type[NDComponent]] = ()) -> Circuit:
    """Return a circuit from a circuit, the path of a file, or a networkx graph."""
    if isinstance(given, Circuit):
        return given
    if isinstance(given, str | Path):
        return Circuit.from_file(given, models, lenient=True)
    return Circuit.from_graph(given, models, lenient=True)


def command_line(arguments: list[str]) -> str:
    """Return a command line that a shell would take again, cut where HDF5 has no room for it."""
    text = shlex.join(arguments).encode(errors="backslashreplace").decode()
    return text if len(text) <= 10_000 else f"{text[:10_000]} ..."


def show(program: Program) -> None:
    """Print the plan of a program, and its generated text at debug level 2."""
    for unit in program.units:
        print(f"{unit.kernel.name}: {unit.count:,} components", file=sys.stderr)
        for number in unit.groups:
            for (owner, access), gather in program.gathers.items():
                if owner == number:
                    what = f"{gather.edges:,} connections, {gather.form}"
                    print(
                        f"  {access}: {what}, {gather.nbytes(program.dtype.itemsize):,} bytes",
                        file=sys.stderr,
                    )
        if settings.debug() > 1:
            print(unit.kernel.text, file=sys.stderr)


def _check_settings(dt: float, dtype: str, threads: int | None, seed: int, backend: str) -> None:
    if not (isinstance(dt, int | float | np.floating) and 0 < dt < math.inf):
        raise NeurodriverError(f"dt must be positive seconds, got {dt!r}")
    if dtype not in ("float64", "float32"):
        raise NeurodriverError(f"dtype must be 'float64' or 'float32', got {dtype!r}")
    if threads is not None and (threads < 1 or threads > 1024):
        raise NeurodriverError(f"threads must be 1 to 1024, got {threads!r}")
    if not 0 <= seed < 2**64:
        raise NeurodriverError(f"seed must be 0 to 2^64 - 1, got {seed!r}")
    if backend != "cpu":
        raise NeurodriverError(f"backend must be 'cpu', got {backend!r}")
