"""``LPU``: a circuit that runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike, DTypeLike

from ..adapters import adapters
from ..arguments import mapping, one_or_several, truth
from ..backends.base import Backend
from ..backends.choice import Choice, begin_building, begin_drawing
from ..circuit.batch import Batch, batch_of
from ..circuit.circuit import Circuit
from ..circuit.space import sizes_of
from ..errors import NeurodriverError
from ..inputs.base import Input
from ..plan.copies import Variants
from ..quantities import seconds
from ..recorders.base import Recorder
from ..results.sheets import axes_attribute
from ..version import __version__
from .assigned import check_assignment
from .checkpoints import Checkpoints
from .copies import check_inputs, seeds_attribute, variants_of
from .division import division_of
from .given import (
    check_settings,
    circuit_in,
    command_line,
    count_of_steps,
    dtype_name,
    whole_steps,
)
from .kept import Kept, kept_fields
from .member import Attributes, Member
from .needed import LPUDescription, PartsDescription, described
from .nonfinite import check_policy
from .progress import Progress, both, end_progress, step_progress
from .recorded_pools import sizes_of_pools
from .room import check_room
from .saving import advance_saving
from .simulation import Simulation
from .single_phases import advance_phase, in_one_launch
from .summary import lpu_html, lpu_text

_MANAGED: ContextVar[str | None] = ContextVar("managed", default=None)


@contextmanager
def managed(id: str) -> Iterator[None]:
    """Let an LPU be made without a simulation of its own: a manager gives it one.

    Parameters
    ----------
    id : str
        Id of the LPU. It is the namespace of random numbers where the circuit has none.
    """
    token = _MANAGED.set(str(id))  # old scripts may have numbers
    try:
        yield
    finally:
        _MANAGED.reset(token)


@dataclass(frozen=True)
class Settings:
    """How an LPU asked to be run."""

    dtype: str
    threads: int | None
    seed: int
    plans: bool
    choice: Choice
    merge: bool = True
    keep: tuple[Kept, ...] = ()
    nonfinite: str = "raise"
    debug: bool = False


class LPU(Checkpoints):
    """Local processing unit: one circuit, compiled, with its inputs and recorders.

    Parameters
    ----------
    circuit : Circuit, path of a circuit file, or networkx graph
    dt : float
        Step in seconds.
    inputs : Input or sequence of Input
    recorders : Recorder or sequence of Recorder
    dtype : {"float64", "float32"}
        Also as NumPy's type, such as ``np.float32``.
    threads : int, optional
        Worker threads; by the circuit's size when not given. The results do not depend on it.
    seed : int, or sequence of int
        Seed of the random numbers that models draw, at least 0. With ``batch``, also one for each
        copy.
    backend : {"cpu", "cuda"} or Choice, optional
        What advances the circuit; ``NEURODRIVER_BACKEND`` when not given.
    models : NDComponent subclass, module, path, or nested sequence of these
        Models beside the shipped ones, for a circuit from a file or a graph.
    attributes : mapping, optional
        Further attributes for recordings.
    plans : bool
        Whether faster algorithms for sums and for spike delivery may be used. Set it to False only
        to compare results.
    device : int, optional
        Number of the GPU; when not given ``NEURODRIVER_DEVICE``, or the rank's place on its host
        modulo the number of GPUs.
    executor : {"resident", "stepwise"}, optional
        On a GPU: one launch for many steps, or one for each kernel and step. The results are the
        same; ``NEURODRIVER_EXECUTOR`` when not given.
    wait : {"spin", "yield"}
        How a thread waits for a GPU: it tests again and again, which takes a core and is the
        fastest, or it leaves the core to others.
    merge : bool
        Whether linear synapses of one target and equal kinetics may be computed as one, which
        changes results by rounding. Without ``plans`` they are not.
    keep : str or sequence of str
        Fields that can be read and set between calls whatever is computed as one, such as
        ``"AlphaSynapse.g"``: a model, a population or a uid, and a variable, a state or a
        parameter. Synapses of that model are not merged.
    nonfinite : {"raise", "warn", "off"}
        What happens when a variable or a state becomes NaN or infinite, recorded or not: the run
        ends with NonFiniteError, after the recordings are written; it goes on with a warning for
        the first such value; or nothing tests for it. LPUs that run together follow the strictest.
    debug : bool
        Whether ``PRINT`` and ``ERROR`` in the mathematics of models are compiled.
    batch : int or Batch, optional
        Copies of the circuit that run together; a `Batch` says how they differ. Connections are
        stored once. Each copy has the bits that it has alone.
    parts : "auto", int, or (count,) array of int, optional
        Compute the circuit in parts; the results are the same. Under ``mpiexec -n R`` each rank
        computes one of R parts, and ``"auto"`` means R. In one process each part is a thread. An
        array gives the part of each component. Recordings contain the components of all parts:
        each rank has them in memory, and rank 0 writes files.
    devices : int or sequence of int, optional
        Compute the circuit in parts, each on a GPU: ``2`` means the GPUs 0 and 1, and ``[0, 0]``
        two parts on GPU 0. When not given, parts take the GPUs in turn. It does not choose the
        backend: without ``backend="cuda"`` the parts are computed on the CPU.

    Attributes
    ----------
    random_namespace : str
        Namespace of the random numbers of models and inputs: that of the circuit; where it has
        none, the id that a Manager knows the LPU by, or the empty one without a Manager. Equal
        uids draw independent numbers in different namespaces.

    Raises
    ------
    CircuitError, InputError, RecordingError, CompileError
        Before anything is written.

    Examples
    --------
    >>> with LPU(circuit, dt=1e-4, inputs=[...], recorders=[...]) as lpu:  # doctest: +SKIP
    ...     lpu.run(duration=0.5)
    >>> lpu = LPU(circuit, dt=1e-4, batch=128, seed=range(128))  # doctest: +SKIP
    >>> lpu.run(duration=0.5).copies[3]["exc"].V  # doctest: +SKIP
    """

    _view: Any = None
    _made = False

    def __setattr__(self, name: str, value: Any) -> None:
        if type(self) is LPU and self._made:
            check_assignment(self, name)
        super().__setattr__(name, value)

    def __init__(
        self,
        circuit: Circuit | str | Path | Any,
        dt: float,
        inputs: Sequence[Input] = (),
        recorders: Sequence[Recorder] = (),
        *,
        dtype: DTypeLike = "float64",
        threads: int | None = None,
        seed: int | Sequence[int] = 0,
        backend: str | Choice | None = None,
        models: Any = (),
        attributes: dict[str, str | int | float] | None = None,
        plans: bool = True,
        device: int | None = None,
        executor: str | None = None,
        wait: str = "spin",
        merge: bool = True,
        keep: str | Sequence[str] = (),
        nonfinite: str = "raise",
        debug: bool = False,
        batch: int | Batch | None = None,
        parts: ArrayLike | None = None,
        devices: int | Sequence[int] | None = None,
    ) -> None:
        check_policy(nonfinite)
        merge, plans, debug = truth(merge, "merge"), truth(plans, "plans"), truth(debug, "debug")
        dt, dtype = seconds(dt, "dt"), dtype_name(dtype)
        copies, seed = _batch(batch, seed)
        attributes = mapping(attributes, "LPU: attributes")
        check_settings(dt, threads, seed)
        choice = Choice.of(backend, device, executor, wait)
        begin_building(choice, dtype)
        self.circuit = circuit_in(dtype, circuit, models)
        if parts is None and devices is None:
            check_room(self.circuit, dtype)
        begin_drawing(choice, self.circuit)
        self.dt, self.seed = float(dt), seed
        manager_id, namespace = _MANAGED.get(), self.circuit.random_namespace
        self.random_namespace = (manager_id or "") if namespace is None else namespace
        given = [("LPU", inputs), *(("Batch", one) for one in ((copies and copies.inputs) or ()))]
        every = [one_or_several(some, Input, f"{who}: inputs") for who, some in given]
        self.inputs, *self.own_inputs = (
            [one.in_random_namespace(self.random_namespace) for one in some] for some in every
        )
        self.recorders = one_or_several(recorders, Recorder, "LPU: recorders")
        attached: list[Input | Recorder] = [*self.every_input, *self.recorders]
        for one in attached:
            one.attach(self)
        kept = merge and plans, kept_fields(keep, self.circuit)
        self.settings = Settings(dtype, threads, seed, plans, choice, *kept, nonfinite, debug)
        self.scope, self.managed = None, manager_id is not None
        check_inputs(self.own_inputs)
        self.variants = variants_of(copies, self.circuit, seed) if copies else None
        self.first_circuit, self.first_variants = self.circuit, self.variants
        self.attributes = {**self._provenance(dtype), **attributes}
        self.division = division_of(parts, devices, device, copies is not None, self.managed)
        self._made = True
        if not self.managed:
            self.simulation = self.simulated(self.circuit, self.variants)

    def simulated(self, circuit: Circuit, variants: Variants | None) -> Simulation:
        """Return a simulation of a form of the circuit, with these inputs and recorders."""
        settings = vars(self.settings).copy()
        if self.division is not None:
            run = self.inputs, self.recorders, self.attributes, self.division, settings
            made: Simulation = adapters("parts")[0].simulation(circuit, self.dt, *run)
            return made
        merge, keep = settings.pop("merge"), settings.pop("keep")
        given = self.inputs, self.recorders, self.attributes, merge, self.own_inputs, keep
        member = Member(None, *given)
        return Simulation(circuit, self.dt, [member], **settings, variants=variants)

    def join(self, simulation: Simulation, scope: str) -> None:
        """Become part of a simulation of several LPUs, under the name ``scope``."""
        self.simulation, self.scope = simulation, scope

    @property
    def backend(self) -> Backend:
        """What advances it."""
        return self.simulation.backend

    @property
    def step(self) -> int:
        """Steps done."""
        return self.simulation.step

    @property
    def time(self) -> float:
        """Simulated time in seconds."""
        return self.step * self.dt

    def start(self, steps: int | None = None) -> None:
        """Open the recorders for a run of ``steps`` steps (None: unknown length)."""
        self.simulation.start(steps)

    def _provenance(self, dtype: str) -> Attributes:
        return {
            "software": "neurodriver",
            "version": __version__,
            "seed": self.seed,
            "circuit": self.circuit.name,
            "circuit_digest": self.circuit.digest,
            "random_namespace": self.random_namespace,
            "dtype": dtype,
            "command": command_line(sys.argv),
            **seeds_attribute(self.variants),
            **axes_attribute(sizes_of(self.circuit.spaces) | sizes_of_pools(self.circuit)),
        }

    def advance(self, steps: int, progress: Callable[[int], None] | None = None) -> None:
        """Advance ``steps`` steps; ``progress`` gets the number that each call has done.

        Recordings stay open for the next call. `finish` and `close` end the run.
        """
        steps = count_of_steps(steps, "LPU.advance: steps")
        self.simulation.advance(steps, progress)

    def advance_phase(self) -> None:
        """Advance the next phase of the next step; the last phase ends the step.

        In between, `__getitem__` reads and sets what has been computed. ``circuit.phases`` lists
        the phases. `advance` ends a step that has begun, too.

        On a GPU each phase is a launch. An LPU that has been made for launches of many steps is
        compiled anew for this, and stays so.

        Raises
        ------
        NeurodriverError
            In several parts. In a batch or in a Manager, where the circuit has several phases.
        """
        if self._divided is not None:
            say = "a circuit of several parts has no single phases; leave out parts="
            raise NeurodriverError(f"LPU.advance_phase: {say}")
        if in_one_launch(self.simulation):
            choice = replace(self.settings.choice, executor="stepwise")
            self.settings = replace(self.settings, choice=choice)
            self._compile_anew(self.current_circuit())
        advance_phase(self.simulation)

    def run(
        self,
        steps: int | None = None,
        duration: float | None = None,
        progress: bool | Progress | None = None,
        *,
        record: Sequence[Any] | None = None,
        inputs: Sequence[Input] | Input | None = None,
        checkpoint: str | Path | None = None,
        every: float = 60.0,
    ) -> LPU:
        """Run from here and close the recordings; the next run goes on with them.

        Ctrl-C ends the run after a whole step.

        Parameters
        ----------
        steps : int
            Number of steps. Give `steps` or `duration`.
        duration : float
            Length in seconds, rounded to whole steps.
        progress : bool or callable, optional
            True shows a bar. A callable gets the number of steps that each call into compiled
            code has done.
        record : sequence of recorders, names or (name, uids), optional
            What to record from here on, in place of what was recorded before; names go to a
            `MemoryRecorder`. By default the recordings go on.
        inputs : sequence of Input, optional
            What to inject from here on, in place of the inputs before.
        checkpoint : path, optional
            File that is saved during the run and at its end; see `save` and `resume`.
        every : float
            Real time between two checkpoints in seconds.
        """
        steps = whole_steps(steps, duration, self.dt)
        if record is not None or inputs is not None:
            self.change(record, inputs)
        shown = step_progress(progress, steps, self.dt, self.simulation.shows_progress)
        try:
            if not self.simulation.started:
                self.start(steps)
            callback = both(view.begin(steps), shown) if (view := self._view) else shown
            if checkpoint is None:
                self.advance(steps, callback)
            else:
                advance_saving(self, steps, callback, Path(checkpoint), every)
        finally:
            if self._view:
                self._view.end()
            end_progress(shown, progress)
            self.finish()
        return self

    def show(self, *, paused: bool = False, copy: int | None = None, port: int = 0) -> Any:
        """Show the recording, and the runs from here on, in a page within a notebook.

        The page is served on this machine alone, until ``close()`` of what is returned.

        Parameters
        ----------
        paused : bool
            Whether the next run waits until the page starts it.
        copy : int, optional
            Copy of a batch; needed for a batch.
        port : int
            Port of the page; a free one by default.

        Returns
        -------
        neurodriver.view.notebook.ShownLPU

        Raises
        ------
        NeurodriverError
            For a batch without `copy`, a `copy` that is not there, or a port that is taken.
        """
        copies = 0 if self.variants is None else len(self.variants)
        if copy not in (range(copies) if copies else (None,)):
            said = f"a batch needs copy=0 to {copies - 1}" if copies else "copy is for a batch"
            raise NeurodriverError(f"show: {said}; got {copy!r}")
        if self._view is not None:
            self._view.close()
        self._view = adapters("view")[0].show(self, truth(paused, "paused"), copy, port)
        return self._view

    def describe(self) -> LPUDescription | PartsDescription:
        """Return what it consists of: kernels, plans of sums, memory, and how it runs.

        On a GPU this includes the registers and the memory that a thread takes. In several parts it
        is what each part consists of, and how many connections cross; every rank makes the call.
        """
        return described(self.simulation)

    __repr__ = lpu_text
    _repr_html_ = lpu_html

    def finish(self) -> None:
        """Write out and close the recordings; the next run goes on with them."""
        self.simulation.finish()


def _batch(batch: int | Batch | None, seed: Any) -> tuple[Batch | None, int]:
    """Return what was asked for as a batch, and the seed of the first copy."""
    copies, first = batch_of(batch, seed)
    if copies is not None and _MANAGED.get() is not None:
        raise NeurodriverError("an LPU of a Manager has no batch; ports join single LPUs")
    return copies, first
