"""``Checkpoints``: what an LPU offers to be saved, restored and reset."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ..arguments import file_path
from ..circuit.circuit import Connections
from ..circuit.difference import first_difference
from ..circuit.numbers import whole
from ..circuit.plastic import learning_connections
from ..errors import NeurodriverError, StateError, quoted
from ..inputs.base import Input
from ..recorders.base import Recorder
from ..state.checkpoint import Checkpoint, write_checkpoint
from ..state.learned import with_learned
from .copies import restored_batch
from .divided import Divided
from .going_on import go_on_from, leave, renumbered, snapshots_of, taken_back
from .held_state import LPUState
from .injected import compare_inputs, injected_by
from .live_values import LiveValues

LATEST = 2**31 - 1
"""Largest number of a step that texts can read."""


class Checkpoints(LiveValues):
    """Saves an LPU, restores it, and takes it back to step 0."""

    if TYPE_CHECKING:
        settings: Any
        dt: float
        seed: int

        def __init__(self, *given: Any, **options: Any) -> None: ...

    def save(self, path: str | Path) -> None:
        """Write a checkpoint: the circuit as it is now, and all that decides how it goes on.

        Its bits are those of the run that goes on by itself, whatever backend, executor and number
        of threads either of them has. Inputs are not stored: their values follow from the step.

        Parameters
        ----------
        path : str or Path
            HDF5 file; it is replaced when the new one is complete.

        Raises
        ------
        NeurodriverError
            Where a class keeps its state in Python, or the file cannot be written.
        """
        if self.managed:
            raise StateError(
                "an LPU of a Manager cannot be saved alone; see Manager.start(checkpoint=...)"
            )
        path = file_path(path, "save: path")
        divided = self._divided
        for recorder in self.recorders if divided is None else ():
            recorder.settle()  # no recording is behind the checkpoint
        snapshots, circuit = snapshots_of(self._simulation()), self.current_circuit()
        given = self.random_namespace, injected_by(self.every_input), self.current_variants()
        if divided is None:
            write_checkpoint(path, circuit, snapshots, *given)
        else:
            divided.settle()
            divided.write_once(lambda: write_checkpoint(path, circuit, snapshots, *given))

    @classmethod
    def restore(
        cls,
        path: str | Path,
        inputs: Sequence[Input] = (),
        recorders: Sequence[Recorder] = (),
        *,
        models: Any = (),
        **options: Any,
    ) -> Self:
        """Return an LPU that goes on from a checkpoint.

        Parameters
        ----------
        path : str or Path
            What `save` wrote.
        inputs : sequence of Input
            Those of the run that was saved; others give a CircuitWarning.
        recorders : sequence of Recorder
            They record from here on.
        models
            Models beside the shipped ones.
        **options
            Those of an LPU, but for dt, dtype and seed. Of a batch, ``batch`` is a `Batch` of as
            many copies whose ``inputs`` are those that each copy has of its own.

        Raises
        ------
        NeurodriverError
            For a file that is missing, damaged or no checkpoint.
        """
        saved = Checkpoint(Path(path), models)
        state, batch = saved.snapshots[0], options.pop("batch", None)
        taken = {"dt", "dtype", "seed"} & set(options)
        if taken:
            names = ", ".join(sorted(taken))
            raise StateError(f"{path}: {names}: stay as they were when it was saved")
        circuit = saved.circuit.in_random_namespace(saved.namespace)
        given = state.dt, inputs, recorders
        if batch is not None or saved.variants is not None:
            options["batch"] = restored_batch(path, saved.variants, batch, circuit)
        lpu = cls(circuit, *given, dtype=state.dtype, seed=state.seed, **options)
        compare_inputs(str(path), saved.inputs, injected_by(lpu.every_input))
        go_on_from(lpu.simulation, saved.snapshots)
        return lpu

    def resume(self, path: str | Path) -> None:
        """Go on from a checkpoint of the same circuit, before the first step.

        Recordings in files go on, too: what they hold of later steps is forgotten. Other recorders
        begin here.

        Raises
        ------
        NeurodriverError
            For a checkpoint of another circuit, dt, dtype or seed, or a recording that ends before.
        """
        path = file_path(path, "resume: path")
        models = [group.model for group in self.circuit.groups]
        rules = [type(links.plasticity) for links in learning_connections(self.circuit)]
        saved = Checkpoint(Path(path), [*models, *rules])
        if saved.circuit.digest != self.circuit.digest:
            here, was = self.circuit, saved.circuit
            digests = f"{was.digest[:12]} and {here.digest[:12]}"
            what = f"was saved of another circuit than {here.name} (digests {digests})"
            say = f"the first difference is: {first_difference(was, here)}"
            raise StateError(f"{path}: {what}: {say}; take the circuit of that run")
        compare_inputs(str(path), saved.inputs, injected_by(self.every_input))
        go_on_from(self.simulation, saved.snapshots)
        if isinstance(self.simulation, Divided):
            self.simulation.go_on_recording(None)
            return
        for _, feed in self.simulation.feeds:
            if feed.recorder.outlives:
                feed.go_on()

    def state(self) -> LPUState:
        """Return the present state, held in memory: `restore_state` goes back to it.

        It has what a checkpoint has: states, parameters, weights, fields, and what is on its way.

        Raises
        ------
        NeurodriverError
            Where a class keeps its state in Python, or in an LPU of a Manager.
        """
        if self.managed:
            raise StateError("the state of an LPU of a Manager cannot be held alone")
        snapshots = snapshots_of(self._simulation())
        return LPUState(
            self.current_circuit(), self.first_circuit, snapshots, self.current_variants()
        )

    def restore_state(self, state: LPUState) -> None:
        """Go back to a state, or on to one of another LPU of the same circuit.

        The next run has the bits of the run that went on from there. Recordings are closed, and
        begin anew.

        Raises
        ------
        NeurodriverError
            For a state of another circuit, dt, dtype or seed.

        Examples
        --------
        >>> state = lpu.state()  # doctest: +SKIP
        >>> lpu.run(100)  # doctest: +SKIP
        >>> lpu.restore_state(state)  # doctest: +SKIP
        """
        if not isinstance(state, LPUState):
            raise StateError(f"restore_state: takes what state() returned, got {state!r:.60}")
        simulation = self._simulation()
        if self.managed:
            raise StateError("an LPU of a Manager cannot go back; make the Manager anew")
        state.check(self.first_circuit, self.dt, self.settings.dtype, self.seed)
        make = partial(self.simulated, state.circuit, state.variants)
        self.simulation = taken_back(simulation, make, state.snapshots)
        self._now(circuit=state.circuit, variants=state.variants)

    def _renumber(self, keep: Sequence[str], step: int) -> None:
        """Give the next step a number."""
        if keep:
            raise NeurodriverError("LPU.reset: with step all values stay; leave out keep")
        if not whole(step) or not 0 <= step <= LATEST:
            want = f"a whole number from 0 to {LATEST:,}"
            raise NeurodriverError(f"LPU.reset: step must be {want}, got {step!r:.40}")
        if self.managed:
            raise StateError("an LPU of a Manager cannot be reset; make the Manager anew")
        if any(True for _ in learning_connections(self.circuit)):
            raise StateError(
                "LPU.reset: the steps cannot be numbered anew where synapses learn, which remember "
                "the steps of spikes; make a new LPU"
            )
        circuit, variants = self.current_circuit(), self.current_variants()
        self.simulation = renumbered(
            self.simulation, lambda: self.simulated(circuit, variants), int(step)
        )

    def _with_learned(self, links: Connections) -> Connections:
        """Return connections that begin with the weights that they have learned."""
        if links.plasticity is None:
            return links
        if self.variants is not None:
            raise StateError(
                f"LPU.reset: each copy of a batch has learned weights of its own, and begins with "
                f"those of the circuit ({quoted(links.name)}); leave out keep=['weights'], or set "
                f"them after the reset"
            )
        return with_learned(links, self._learning(links.name).get("weight"))

    def reset(self, keep: Sequence[str] = (), *, step: int | None = None) -> None:
        """Go back to step 0: states as the circuit declares them, nothing on its way.

        Recordings begin anew when the next run starts. With ``step`` nothing else changes: the next
        step has this number for inputs, random numbers and texts that read ``step``.

        Parameters
        ----------
        keep : sequence of {"parameters", "weights"}
            What stays as it has been set. Inputs and recorders stay in any case. The first
            parameters and weights of a restored LPU are those of its checkpoint.
        step : int, optional
            Number of the next step, at least 0; all values stay, and so does what is on its way.

        Raises
        ------
        NeurodriverError
            With ``step`` where synapses learn: they remember the steps of spikes. While a run does
            its steps.

        Examples
        --------
        >>> lpu.reset(step=0)  # doctest: +SKIP
        """
        if step is not None:
            self._renumber(keep, step)
            return
        known = ("parameters", "weights")
        for name in keep:
            if name not in known:
                want = ", ".join(map(repr, known))
                raise NeurodriverError(f"LPU.reset: keep is some of {want}, got {name!r}")
        if self.managed:
            raise StateError("an LPU of a Manager cannot be reset; make the Manager anew")
        now, first = self.current_circuit(), self.first_circuit
        groups = now.groups if "parameters" in keep else first.groups
        links = first.connections
        if "weights" in keep:
            links = tuple(self._with_learned(one) for one in now.connections)
        variants = self.current_variants() if "parameters" in keep else self.first_variants
        leave(self.simulation)
        self._now(circuit=first.with_parts(groups, links), variants=variants)
        self.simulation = self.simulated(self.circuit, variants)
