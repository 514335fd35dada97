"""The instances of a program's models: made, started, stepped, ended; on whatever backend."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .. import settings
from ..adapters import adapters
from ..codegen.template import Signature
from ..errors import ModelError, near
from ..model.component import NDComponent
from ..model.instance import Instance
from ..plan.arrays import InstanceOwner, InstanceReceptorOwner, Key, Kind, PopulationOwner
from ..plan.instances import check_backend, events_of, initial_columns
from ..plan.program import Custom, Program
from ..profiling.phases import current
from .place import MemorySpace

PACKAGE = str(Path(__file__).parents[1])
"""Folder of this program."""


class Clock:
    """The current step."""

    step = 0


class Buffer:
    """Ring of a variable as an instance reads it; ``current`` moves on with the steps."""

    def __init__(self, place: MemorySpace, variable: str, clock: Clock) -> None:
        self._place, self._variable, self._clock = place, variable, clock
        now = place.buffer(variable, 0)
        self.gpudata = now.gpudata
        self.ld = now.ld
        self.buffer_length = now.buffer_length
        self.size = now.size
        self.dtype = now.dtype

    @property
    def current(self) -> int:
        """Row of the current step."""
        return self._place.buffer(self._variable, self._clock.step).current


class OwnLink:
    """What one instance is given to call."""

    def __init__(self, owner: Instances, one: Custom) -> None:
        self.owner, self.number = owner, one.number
        self.kernel: Callable[[int], None] | None = None

    @property
    def group(self) -> Any:
        """The group of the instance."""
        return self.owner.program.circuit.groups[self.number]

    def launch(self) -> None:
        """Advance the group by one step with its compiled kernel."""
        if self.kernel is None:
            raise ModelError(f"{self.group.name} has no kernel that run_step could call")
        self.kernel(self.owner.clock.step)

    def store(self, address: int, column: Any) -> None:
        self.owner.place.store(address, column, self.group.count)

    def inputs(self, access: str, out: Any, first_only: bool) -> None:
        model = self.group.model
        known = [a.name for a in model.accesses]
        if access not in known:
            raise ModelError(f"{model.__name__} does not access '{access}'{near(access, known)}")
        if model.access(access).each and not model.access(access).weighted:
            raise ModelError(f"{model.__name__}: '{access}' declares `each`, which is no plain sum")
        self.owner.place.inputs(self.number, access, self.owner.clock.step, out, first_only)


def add_bases(model: type[NDComponent]) -> None:
    """Let a model that brings code inherit what an instance can do.

    The bases come last, so that the class and the models above it override them.
    """
    for base in (*(adapter.instance for adapter in adapters("model")), Instance):
        if not issubclass(model, base):
            model.__bases__ = (*model.__bases__, base)


class Instances:
    """All instances of a program.

    Parameters
    ----------
    place : MemorySpace
        The memory of its backend.

    Attributes
    ----------
    templates : dict of int to (str, Signature)
        Texts of kernels, by the number of the group.

    Raises
    ------
    ModelError
        When a class's own code fails, or does not run on this backend.
    """

    def __init__(self, program: Program, place: MemorySpace) -> None:
        self.program, self.place = program, place
        self.profile = current()
        self.clock = Clock()
        self.made: dict[int, Instance] = {}
        self.links: dict[int, OwnLink] = {}
        self.templates: dict[int, tuple[str, Signature]] = {}
        for one in program.custom:
            group = program.circuit.groups[one.number]
            check_backend(group, program.target.name)
            self._make(one)
            if group.model.runtime.kernel:
                self.templates[one.number] = self._template(one)

    @property
    def stepwise(self) -> bool:
        """Whether Python has to run at each step."""
        return any(one.stepwise for one in self.program.custom)

    @contextmanager
    def _blame(self, number: int, method: str, when: str = "") -> Iterator[None]:
        """Turn what a user's code raises into an error that says where."""
        circuit = self.program.circuit
        name = circuit.groups[number].name
        try:
            with self.place.current():
                yield
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            code = getattr(getattr(circuit.groups[number].model, method, None), "__code__", None)
            own = [frame for frame in frames if code and frame.filename == code.co_filename]
            last = own[-1] if own else frames[-1]
            what = f"{type(error).__name__}: {error} ({last.filename}, line {last.lineno})"
            if isinstance(error, ModelError) and last.filename.startswith(PACKAGE):
                what = str(error)  # which says where in the user's code it is
            raise ModelError(f"{name}.{method}{when}: {what}") from error

    def _make(self, one: Custom) -> None:
        """Make the instance of one group; what it needs is there before its ``__init__``."""
        program, number = self.program, one.number
        group = program.circuit.groups[number]
        params, states, inputs = self._sorted(one)
        rings = {a.variable for a in group.model.accesses}
        buffers = {v: Buffer(self.place, v, self.clock) for v in sorted(rings)}
        add_bases(group.model)
        instance: Any = object.__new__(group.model)
        link = self.links[number] = OwnLink(self, one)
        instance.__dict__.update(
            params_dict=params, access_buffers=buffers, dt=program.dt, LPU_id=program.circuit.name,
            debug=settings.debug() > 0, cuda_verbose=False, num_comps=group.count,
            dtype=program.dtype, internal_states=states, inputs=inputs, _link=link,
            accesses=[a.name for a in group.model.accesses], updates=list(group.model.updates),
            params=list(group.model.params),
        )  # fmt: skip
        self.made[number] = instance
        extra = {"LPU_id": instance.LPU_id, "debug": instance.debug, "cuda_verbose": False}
        with self._blame(number, "__init__"):
            takes = inspect.signature(group.model.__init__).parameters
            every = any(p.kind is p.VAR_KEYWORD for p in takes.values())
            given = {n: v for n, v in extra.items() if every or n in takes}
            instance.__init__(params, buffers, program.dt, **given)

    def _sorted(self, one: Custom) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        """Return the arrays of a group as an instance knows them: parameters, states, inputs."""
        params: dict[str, Any] = {"pre": {}, "npre": {}, "cumpre": {}, "conn_data": {}}
        own: dict[str, Any] = {}
        states, inputs = {}, {}
        number = one.number
        for row in self.program.arrays.select(owner=InstanceOwner(number)):
            if row.shape and row.key.kind is Kind.PARAMETER:
                own[row.key.name] = self.place.array(row.key)
            elif row.shape:
                states[row.key.name] = self.place.array(row.key)
        for access in self.program.circuit.groups[number].model.accesses:
            for row in self.program.arrays.select(owner=InstanceReceptorOwner(number, access.name)):
                array, name = self.place.array(row.key), row.key.name
                if row.key.kind is Kind.SUM:
                    inputs[access.name] = array
                elif name in ("pre", "npre", "cumpre"):
                    params[name][access.name] = array
                else:
                    params["conn_data"].setdefault(access.name, {})[name] = array
        return {**own, **params}, states, inputs

    def _template(self, one: Custom) -> tuple[str, Signature]:
        """Return the text of a template, and what it takes."""
        model = self.program.circuit.groups[one.number].model
        with self._blame(one.number, "get_update_template"):
            text = model.runtime.text(self.made[one.number])
        runtime = model.runtime
        return text, Signature(tuple(model.params), tuple(runtime.states), runtime.integers)

    def bind(self, launches: Mapping[int, Callable[[int], None]]) -> None:
        """Take what launches the compiled kernels of groups with instances, by group number."""
        for number, launch in launches.items():
            self.links[number].kernel = launch
            group = self.program.circuit.groups[number]
            for name in group.model.states if group.model.runtime.declared else ():
                key = Key(PopulationOwner(number), Kind.STATE, name)
                if key in self.program.arrays:
                    column = self.place.array(key)[: group.count]
                    self.made[number].internal_states[name] = column

    def pre_run(self) -> None:
        """Write row 0 of what the instances update."""
        for number, instance in self.made.items():
            group = self.program.circuit.groups[number]
            pointers = self.place.pointers(number, -1)
            if group.model.runtime.opaque:
                for name, column in initial_columns(group).items():
                    if name in pointers:
                        self.links[number].store(pointers[name], column)
            with self._blame(number, "pre_run"):
                instance.pre_run(pointers)

    def run_step(self, step: int) -> None:
        """Let every instance with its own ``run_step`` write row ``step + 1``."""
        self.clock.step = step
        for one in self.program.custom:
            if one.stepwise:
                pointers = self.place.pointers(one.number, step)
                name = self.program.circuit.groups[one.number].name
                blame = self._blame(one.number, "run_step", f", step {step}")
                with blame, self.profile.phase(name):
                    self.made[one.number].run_step(pointers)
                circuit = self.program.circuit
                for name in events_of(circuit, circuit.groups[one.number]):
                    self.place.mark(one.number, name, step)

    def post_run(self) -> None:
        """Inform each instance that the run has ended."""
        for number, instance in self.made.items():
            with self._blame(number, "post_run"):
                instance.post_run()
