"""``LiveValues``: what an LPU offers to read and set values between calls."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import one_or_several, some, text
from ..circuit.circuit import Circuit
from ..circuit.plastic import learning_connections
from ..circuit.validate import checked
from ..errors import NeurodriverError, RequestError, StateError
from ..inputs.base import Input
from ..plan.copies import Variants
from ..plan.program import Program
from ..recorders import HDF5Recorder, MemoryRecorder
from ..recorders.base import Recorder
from ..results.recording import Recording
from .begun import Begun
from .copies import with_set_parameters
from .divided import Divided
from .going_on import replaced
from .live import Components, GroupPart, parts_of
from .live_batch import CopiedComponents, CopyOfLPU
from .live_connections import ConnectionsByName, LiveConnections
from .live_fields import FieldPlace, shared_field
from .live_learning import LearningConnections
from .live_learning_batch import CopiedLearningConnections
from .live_synapses import LoopedConnections, loops_over
from .named import having, numbered, with_parameters, with_value
from .program_cache import ProgramCache

if TYPE_CHECKING:
    from .simulation import Simulation


Parts = tuple[GroupPart, ...]


class LiveValues(Begun, ABC):
    """Reads and sets variables, states and parameters by component and name."""

    circuit: Circuit
    first_circuit: Circuit
    scope: str | None
    inputs: list[Input]
    own_inputs: list[list[Input]]
    variants: Variants | None
    first_variants: Variants | None
    recorders: list[Recorder]
    random_namespace: str

    @property
    def program(self) -> Program:
        """The compiled circuit."""
        return self.simulation.program

    @abstractmethod
    def simulated(self, circuit: Circuit, variants: Variants | None) -> Simulation:
        """Return a simulation of a form of the circuit, and of its copies."""

    def __getitem__(self, who: Any) -> Any:
        """Return some components, or connections that learn; values can be read and set.

        Parameters
        ----------
        who : str, sequence of str, or what has ``uids``
            A uid, the name of a population or a model, uids, or a population itself. Or the name
            of connections that learn, where nothing else is called so.

        Examples
        --------
        >>> lpu["n0"].V  # doctest: +SKIP
        array([-61.3])
        >>> lpu["LeakyIAF"].set("resting_potential", -70.0)  # doctest: +SKIP
        """
        if isinstance(who, str) and who in self._named:
            return self._components(self._named[who][0], who, *self._named[who][1:])
        circuit = self._whole
        if not isinstance(who, str):
            numbers = numbered(circuit, self.scope, self.circuit, who)
            shape = getattr(who, "shape", ()) if hasattr(who, "uids") else ()
            return self._components(numbers, "components", (), shape)
        if self._learns(who):
            return self._learning(who)
        numbers = numbered(circuit, self.scope, self.circuit, who)
        shape = getattr(self.circuit.spaces.get(who), "shape", ())
        self._named[who] = numbers, parts_of(circuit, numbers), shape, ProgramCache()
        return self._components(self._named[who][0], who, *self._named[who][1:])

    @property
    def _divided(self) -> Divided | None:
        simulation = self._simulation()
        return simulation if isinstance(simulation, Divided) else None

    @property
    def _whole(self) -> Circuit:
        """What is simulated; a Manager joins the circuits of several LPUs."""
        return self.program.circuit if self._divided is None else self.circuit

    def _learns(self, name: str) -> bool:
        """Whether connections that learn are called so, and nothing else; refuse other ones."""
        own = self.circuit
        others = {*own.populations, *(group.name for group in own.groups)}
        if name in others or own.find([name])[0] >= 0:
            return False
        if name in [links.name for links in learning_connections(own)]:
            return True
        if name in self.connections:
            say = "connections that do not learn are called so, and no component"
            raise RequestError(f"'{name}': {say}; write lpu.connections['{name}']")
        return False

    def _learning(self, name: str) -> LearningConnections:
        kind = LearningConnections if self.variants is None else CopiedLearningConnections
        return kind(self._simulation, self.scope, name)

    def _components(
        self,
        numbers: NDArray[np.int64],
        said: str,
        parts: tuple[GroupPart, ...] = (),
        shape: tuple[int, ...] = (),
        found: ProgramCache | None = None,
    ) -> Components:
        if (divided := self._divided) is not None:
            return divided.components(numbers, self._compile_with, said, parts, shape)
        if self.variants is not None:
            return CopiedComponents(self._simulation, numbers, self._compile_copies, said, parts)
        return Components(self._simulation, numbers, self._compile_with, said, parts, shape, found)

    @property
    def copies(self) -> Sequence[CopyOfLPU]:
        """The copies of a batch, whose values can be read and set; none without a batch.

        Examples
        --------
        >>> lpu.copies[3]["exc"].V  # doctest: +SKIP
        array([-61.3, ...])
        """
        return [CopyOfLPU(self, number) for number in range(len(self.variants or ()))]

    @cached_property
    def _named(self) -> dict[str, tuple[NDArray[np.int64], Parts, tuple[int, ...], ProgramCache]]:
        """What has been looked up by a name; components keep their numbers."""
        return {}

    @cached_property
    def _known(self) -> ProgramCache:
        """Fields, and components that have a variable, as far as they have been asked for."""
        return ProgramCache()

    def get(self, name: str) -> Any:
        """Return the values of a variable, a state or a parameter, of all components that have it.

        The order is that of the circuit; ``uids(name)`` names the values. Of a batch, they are
        (copies, n).
        """
        if (field := self._shared_field(name)) is not None:
            return field.arrays(self._simulation())
        values: np.ndarray = self.having(name).get(name)
        return values

    def set(self, name: str, values: ArrayLike, *, at: Mapping[str, Any] | None = None) -> None:
        """Set a state or a parameter of all components that have it; see `Components.set`.

        Or a field of the circuit, or a `Value` of several populations; ``at`` is for these.
        """
        if (field := self._shared_field(name)) is not None:
            anew = self._compile_with if self.variants is None else None
            for one in self.simulation.copies:
                field.write(one, values, at, f"'{name}'", anew)
            return
        self.having(name).set(name, values, at=at)

    def uids(self, name: str) -> np.ndarray:
        """Return the uids of the components that have a variable, a state or a parameter."""
        return self.having(name).uids

    def _shared_field(self, name: str) -> FieldPlace | None:
        text(name, "name")
        if self._divided is not None:
            return None
        own = name if self.scope is None else f"{self.scope}/{name}"
        find = partial(shared_field, self.program, own)
        return self._known.get(self.program, ("field", own), find)

    def having(self, name: str) -> Components:
        """Return the components that have a variable, a state or a parameter of a name."""
        if (divided := self._divided) is not None:
            return self._components(divided.having(name), f"'{name}'")
        find = partial(having, self.program, self.scope, name)
        return self._known.get(self.program, name, lambda: self._components(find(), f"'{name}'"))

    @property
    def connections(self) -> ConnectionsByName:
        """Connections by name, whose weights can be read and set.

        Examples
        --------
        >>> w = lpu.connections["exc -> inh"].get("weight")  # doctest: +SKIP
        >>> lpu.connections["exc -> inh"].set("weight", 0.9 * w)  # doctest: +SKIP
        """
        now, first = self.current_circuit, self.first_circuit
        return ConnectionsByName(now, first, self._learning, self._live_connections)

    def _live_connections(self, number: int, name: str) -> LiveConnections:
        given = self.current_circuit, number, name, self._compile_checked
        if loops_over(self.circuit, number) and not self.managed:
            return LoopedConnections(self._simulation, *given)
        return LiveConnections(*given)

    def _compile_checked(self, circuit: Circuit) -> None:
        """Compile another form of the circuit, if it keeps the rules of circuits."""
        self._compile_anew(checked(circuit, strict=False))

    @property
    def every_input(self) -> list[Input]:
        """The inputs of all copies, each once."""
        return list(dict.fromkeys([*self.inputs, *(o for part in self.own_inputs for o in part)]))

    @property
    def recording(self) -> Recording:
        """What the first recorder has recorded, during the run, too."""
        for recorder in self.recorders:
            if isinstance(recorder, MemoryRecorder | HDF5Recorder):
                return recorder.recording
        raise NeurodriverError("LPU: no recorder keeps values; give one, or run(record=...)")

    def change(self, record: Sequence[Any] | None, inputs: Sequence[Input] | Input | None) -> None:
        """Take other recorders or inputs from here on, as `LPU.run` does; None: keep them."""
        before = self.inputs, self.recorders
        if inputs is not None:
            listed = one_or_several(inputs, Input, "inputs")
            self._now(inputs=[o.in_random_namespace(self.random_namespace) for o in listed])
        if record is not None:
            self._now(recorders=recorders_of(record))
        try:
            for source in self.inputs:
                if source not in before[0]:
                    source.attach(self)
            for recorder in self.recorders:
                if recorder not in before[1]:
                    recorder.attach(self)
            self._compile_anew(self.current_circuit())
        except BaseException:
            self._now(inputs=before[0], recorders=before[1])
            raise

    def _compile_with(self, group: int, name: str, column: np.ndarray) -> None:
        """Compile the circuit anew with another column of a parameter, and go on from here.

        The same with another value of a field.
        """
        self._compile_anew(with_value(self.current_circuit(), group, name, column))

    def _compile_copies(self, group: int, name: str, columns: np.ndarray) -> None:
        """Do the same with a column for each copy."""
        variants = self.current_variants()
        assert variants is not None
        columns_of = {**variants.columns, (group, name): columns}
        self._compile_anew(self.current_circuit(), replace(variants, columns=columns_of))

    def current_variants(self) -> Variants | None:
        """Return what differs between the copies now; None without a batch."""
        return with_set_parameters(self._simulation()) if self.variants is not None else None

    def current_circuit(self) -> Circuit:
        """Return the circuit with the parameters that it has now, but for those of copies."""
        simulation = self._simulation()
        if self.managed or self.variants is not None:
            return self.circuit
        if (divided := self._divided) is not None:
            return divided.current(self.circuit)
        return with_parameters(self.circuit, simulation)

    def _compile_anew(self, circuit: Circuit, variants: Variants | None = None) -> None:
        if self.managed:
            raise StateError(
                "an LPU of a Manager cannot be compiled anew; change its circuit before the run, "
                "and give a parameter one value for each component"
            )
        variants = variants or self.current_variants()
        self.simulation = replaced(self.simulation, lambda: self.simulated(circuit, variants))
        self._now(circuit=circuit, variants=variants)

    def _now(self, **own: Any) -> None:
        """Replace what users do not assign."""
        vars(self).update(own)


def recorders_of(record: Sequence[Any]) -> list[Recorder]:
    """Return recorders as they are, and one in memory for all names."""
    given = [record] if isinstance(record, str | Recorder) else some(record, "record")
    names = [one if not isinstance(one, str) else (one, None) for one in given]
    requests = [one for one in names if not isinstance(one, Recorder)]
    recorders = [one for one in names if isinstance(one, Recorder)]
    return [*([MemoryRecorder(requests)] if requests else []), *recorders]
