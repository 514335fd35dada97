"""``Trials``: runs trials of a network, one by one, and changes its weights after each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from itertools import pairwise
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neurodriver.arguments import (
    ArgumentError,
    checked_arguments,
    from_one_on,
    instance,
    keyed,
    optional,
    text,
    truth,
    whole_number,
)
from neurodriver.errors import RequestError
from neurodriver.run.lpu import LPU
from neurodriver.run.state_reader import StateReader, Values
from neurodriver.run.state_writer import StateWriter

from .changes import PathSynapses
from .circuit import CYCLE, first_units, placed_circuit
from .context import ContextPath
from .layers import NetworkLayer
from .learner import Learner
from .lesions import Lesions
from .levels import Levels
from .live_parameters import LiveParameters
from .network import Network
from .neuron_text import NEVER
from .shown import Showing
from .starts import first_weights
from .trial_end import OF_ALL, OF_TARGETS, TrialEnd

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm

Reals = NDArray[np.float64]


def _a_communicator(value: Any, name: str) -> Any:
    if not hasattr(value, "Get_rank"):
        raise ArgumentError(f"{name} must be a communicator of mpi4py, got {value!r:.60}")
    return value


def _slices(layers: Sequence[NetworkLayer]) -> list[slice]:
    """Return where the units of some layers are, one layer after the other."""
    ends = np.cumsum([0, *(one.count for one in layers)]).tolist()
    return [slice(*both) for both in pairwise(ends)]


class Trials:
    """A network that runs trial by trial. Its parameters are those of `Trainer`."""

    @checked_arguments(
        network=instance(Network),
        communicator=optional(_a_communicator),
        slow_interval=from_one_on,
        inhibition_interval=from_one_on,
    )
    def __init__(
        self,
        network: Network,
        items: int | None = None,
        communicator: Intracomm | None = None,
        slow_interval: int = 100,
        inhibition_interval: int = 1000,
        **options: Any,
    ) -> None:
        if items is not None and (
            not isinstance(items, int | np.integer) or not 1 <= items < 2**31
        ):
            raise RequestError(f"items: a whole number from 1 on (got {items!r:.60})")
        self.network, self.items = network, items
        self.count = 1 if items is None else int(items)
        weights = first_weights(network)
        made = placed_circuit(network, weights)
        self.lpu = LPU(made.circuit, CYCLE, batch=items, **options)
        layers = network.layers.values()
        judged = [one for one in layers if one.learns_by_target]
        places = zip(judged, _slices(judged), strict=True)
        self._targets = {one.name: (one.number, units) for one, units in places}
        read: dict[str, tuple[str, ...]] = dict.fromkeys(OF_ALL, ())
        read |= dict.fromkeys(OF_TARGETS if judged else (), (*self._targets,))
        self._read = StateReader(self.lpu, read)
        shows = [one for one in layers if not one.hidden]
        self._shows = dict(zip((one.name for one in shows), _slices(shows), strict=True))
        dtype = self.lpu.simulation.program.dtype
        self._inputs = np.zeros((self.count, sum(one.count for one in shows)), dtype)
        self._write_inputs = StateWriter(self.lpu, "Ext", [*self._shows]) if shows else None
        self._write_start = StateWriter(self.lpu, "start")
        self._levels = Levels(network, self.lpu)
        self._showing = Showing(network.layers, self._levels.names, float(np.finfo(dtype).max))
        self.synapses = PathSynapses(network, weights, made, self.lpu)
        self.learner = Learner(
            network, self.synapses, self.count, communicator, slow_interval, inhibition_interval
        )
        self.averages = self.learner.averages
        self._parameters = LiveParameters(network, self.lpu, self.averages, self.synapses, items)
        context = [path for path in network.paths.values() if path.kind == "context"]
        self._context = sorted(
            (ContextPath(network, path) for path in context), key=lambda one: one.cycle
        )
        self._populations = {name: self.lpu[name] for name in network.layers}
        self.lesions = Lesions(network, self.lpu, self.synapses)
        self._first = [*first_units(network).values(), sum(one.count for one in layers)]
        self._clamped = dict.fromkeys(network.layers, NEVER)
        self._shown: dict[str, Reals] = {}
        self._end: TrialEnd | None = None
        self._statistics: dict[str, Reals] | None = None
        self._start = 0
        self._arriving: dict[str, Reals] = {}
        self._learned = False
        network.users.add(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self.close()

    def close(self) -> None:
        """Release threads, memory and devices."""
        self.network.users.discard(self)
        self.synapses.close()
        self.lpu.close()

    @property
    def trials(self) -> int:
        """Number of trials in which weights were changed; each item counts."""
        return self.learner.trials

    # -- trials ---------------------------------------------------------------------------------

    @checked_arguments(shown=keyed)
    def begin(self, shown: Mapping[str, ArrayLike]) -> None:
        """Begin a trial: an interval without input, decay, and new inputs and targets.

        Parameters
        ----------
        shown : mapping of str to (units,) array
            Layer -> input or target; with several items, (items, units). Layers that are not named
            have neither. Modulator -> its level, one number for each item.

        Raises
        ------
        RequestError
            For a layer that takes neither input nor target, for another number of values, and for
            values that are not finite.
        """
        values = {n: self._showing.values(n, given, self.items) for n, given in shown.items()}
        self._forget_end()
        self.learner.forget_changes()
        levels = {name: values.pop(name) for name in self._levels.names if name in values}
        self._shown = values
        self._levels.write(levels, self.items)
        if self._write_inputs is not None:
            for name, units in self._shows.items():
                self._inputs[:, units] = self._shown.get(name, 0.0)
                if name in self.lesions.layers:
                    self._inputs[:, units] *= self.lesions.on[name]
            self._write_inputs(self._inputs[0] if self.items is None else self._inputs)
        for name, layer in self.network.layers.items():
            from_cycle = self._clamped_from(layer) if name in self._shown else NEVER
            if self._clamped[name] != from_cycle:
                self._populations[name].set("clamped_from", from_cycle)
                self._clamped[name] = from_cycle
        self._start = self.lpu.step + self.network.interval
        self._write_start(self._start)
        self._arriving, self._learned = {}, False

    @checked_arguments(count=whole_number)
    def cycle(self, count: int = 1) -> None:
        """Run ``count`` cycles of the present trial; those of its interval are the first."""
        self._cycle(count)

    def _cycle(self, count: int, behind: Callable[[], None] | None = None) -> None:
        """Run cycles; `Behind` says when the work ``behind`` them begins."""
        self._forget_end()
        begin, end = self.lpu.step, self.lpu.step + count
        for one in self._context:
            due = self._start + one.cycle + 1
            if begin < due <= end:
                self.lpu.advance(due - self.lpu.step)
                self._send_context(one)
        self.lpu.simulation.advance(end - self.lpu.step, work=behind)

    @checked_arguments(learn=truth)
    def trial(self, shown: Mapping[str, ArrayLike], learn: bool = True) -> dict[str, Any]:
        """Run a whole trial, and change the weights.

        Parameters
        ----------
        shown : mapping of str to (units,) array
            Layer -> input or target, as for `begin`.
        learn : bool
            Whether weights and averages change.

        Returns
        -------
        dict of str to float
            ``unit_error``, ``error`` and ``correlation`` of the layers with targets; see
            `statistics`. With several items the values are arrays (items,).
        """
        self.begin(shown)
        whole = self.network.interval + self.network.cycles
        given = self._read, self.states
        with self.learner.counting(*given) if learn else nullcontext() as count:
            self._cycle(whole, count)
        self.end(learn)
        found = self.statistics()
        return found if self.items else {n: float(values[0]) for n, values in found.items()}

    @checked_arguments(learn=truth)
    def end(self, learn: bool = True) -> None:
        """End a trial: with ``learn``, change the averages and the weights.

        Raises
        ------
        RequestError
            If weights are to change, and the trial has not run all of its cycles, or more of them,
            or has changed weights before.
        """
        if not learn:
            return
        whole = self.network.interval + self.network.cycles
        ran = self.lpu.step - self._start + self.network.interval
        if ran != whole:
            do = f"run {whole - ran} more by cycle" if ran < whole else "begin another trial"
            say = f"a trial learns after all of its {whole} cycles, and {ran} have run"
            raise RequestError(f"end: {say}; {do}, or call end(learn=False)")
        if self._learned:
            raise RequestError("end: weights have changed after this trial; begin another one")
        self._learned = True
        for name in self.learner.learn(self.states()):
            self._populations[name].set("gi_mult", self.learner.averages[name].gi_mult)

    @checked_arguments(layer=text)
    def lesion(self, layer: str, units: ArrayLike) -> None:
        """Switch units of a layer off, and all its other units on, from the next trial on.

        A unit that is switched off takes part in nothing. It neither gets input nor spikes, and its
        states are those of the start. Means over the layer and errors are over the other units. Its
        synapses and averages keep their values, but traces of synapses become 0.

        Parameters
        ----------
        units : array of bool
            True for units that are off, in the shape of the layer; or one value for all.

        Raises
        ------
        RequestError
            For values that are not bool, or another shape.
        """
        self._forget_end()
        self.lesions.switch(self._showing.layer(layer), units, self.learner.averages[layer])

    def statistics(self) -> dict[str, Reals]:
        """Return the errors and the correlation of this trial, (items,) each.

        ``error`` is that of all layers with targets together, without those of the kind
        ``compare``. ``Output.error`` is that of one layer. Layers that were shown no target have
        NaN.
        """
        if self._statistics is None:
            self._statistics = self.states().statistics(self.network.layers, self._shown)
        return dict(self._statistics)

    def states(self) -> TrialEnd:
        """Return the states that learning and statistics read."""
        if self._end is None:
            begun = self._read.begin()
            read = lambda: self._of_items(begun.finish())  # noqa: E731
            self._end = TrialEnd(read, self._first, self._targets, self.lesions)
        return self._end

    def _forget_end(self) -> None:
        """Forget the states of a trial's end; who has them may go on to read them."""
        if self._end is not None:
            self._end.complete()
        self._end = self._statistics = None

    def _of_items(self, read: dict[str, Values]) -> dict[str, Values]:
        """Return values with an axis of items."""
        one = self.items is None
        return {name: values[None] for name, values in read.items()} if one else read

    def _send_context(self, one: ContextPath) -> None:
        """Let the bursts of a layer arrive at a deep layer in the last cycle."""
        path, receiver = one.path, one.path.receiver.name
        weight = self.synapses.carried(path.name)
        bursts = np.asarray(self._populations[path.sender.name].get("Burst"), np.float64)
        came = one.arriving(bursts.reshape(self.count, -1), weight)
        self._arriving[receiver] = total = self._arriving.get(receiver, 0.0) + came
        self._populations[receiver].set("CtxtRaw", total[0] if self.items is None else total)

    def _clamped_from(self, layer: NetworkLayer) -> int:
        return {"input": 0, "target": self.network.minus}.get(layer.kind, NEVER)
