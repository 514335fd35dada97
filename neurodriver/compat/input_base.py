"""Bases of the old input processors.

`BaseInputProcessor` is for a user's own class: its ``update_input`` is asked at every step. The
ready-made ones give whole stretches of steps at once, unless a subclass overrides
``update_input`` or ``is_input_available``.
"""

from __future__ import annotations

import copy
import warnings
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

import networkx as nx
import numpy as np

from ..errors import CircuitWarning, InputError
from ..inputs.base import Chunk, EventChunk, Input, uid_list
from ..inputs.recorded import InputRecording
from ..inputs.user import UserInput
from .views import memory_of


class BaseInputProcessor(UserInput):
    """Base of input processors; a subclass implements ``update_input``.

    Parameters
    ----------
    var_list : list of (variable, uids)
        Entries with ``uids`` None are skipped.
    mode : {0, 1}
        When no input is available: 0 injects zero, 1 repeats the last values.
    memory_mode : {"cpu", "gpu"}
        Arrays are host arrays in either.
    input_file : path, optional
        HDF5 file for what is injected; `neurodriver.inputs.recorded.InputRecording` tells its
        layout. It is closed at the end of the run.
    input_interval : int
        Steps per row of that file.
    sensory_file, sensory_interval
        Kept in ``record_settings``.

    Attributes
    ----------
    variables : dict
        Variable -> ``{"uids": list, "input": (n,) array}``; ``update_input`` fills ``input``.
    dt, sim_dt : float
        Step in seconds.
    dtypes : dict
        Variable -> type of its values.
    """

    def __init__(
        self,
        var_list: Iterable[tuple[Any, Any]],
        mode: int = 0,
        memory_mode: str = "cpu",
        input_file: Any = None,
        input_interval: int = 1,
        sensory_file: Any = None,
        sensory_interval: int = 1,
    ) -> None:
        name = type(self).__name__
        if mode not in (0, 1):
            text = f"{name}: mode {mode!r} is unknown; 0 (zero) is taken"
            warnings.warn(text, CircuitWarning, stacklevel=2)
            mode = 0
        super().__init__([], mode)
        if memory_mode not in ("cpu", "gpu"):
            raise InputError(f"{name}: memory_mode must be 'cpu' or 'gpu', got {memory_mode!r}")
        self.memory_mode = memory_mode
        self.input_file, self.input_interval = input_file, input_interval
        self.sensory_file, self.sensory_interval = sensory_file, sensory_interval
        self.metadata: dict[str, Any] = {}
        self.dtypes: dict[str, np.dtype] = {}
        self.sim_dt = 0.0
        self._recording = (
            None
            if input_file is None
            else InputRecording(input_file, input_interval, overwrite=True)
        )
        self._running = False
        self.add_variables(var_list)

    def add_variables(self, var_list: Iterable[tuple[Any, Any]]) -> None:
        """Inject into more components; those of a known variable come after its earlier ones."""
        name = type(self).__name__
        if self.dt:
            raise InputError(f"{name}: an LPU has been built with it; add variables before")
        for variable, given in var_list:
            if not isinstance(variable, str):
                want = "variables that are tuples cannot be injected; name each on its own"
                raise InputError(f"{name}: {want}, got {variable!r}")
            uids = uid_list(given)
            if uids:
                entry = self.variables.setdefault(variable, {"uids": [], "input": None})
                entry["uids"] = [*entry["uids"], *uids]
        self.targets = [(v, tuple(entry["uids"])) for v, entry in self.variables.items()]

    def open(self, dt: float, dtype: np.dtype) -> None:
        super().open(dt, dtype)
        self.sim_dt = dt
        self.dtypes = {variable: np.dtype(dtype) for variable, _ in self.targets}

    def begin_run(self, steps: int | None) -> None:
        self._running = True
        self.pre_run()
        if self._recording is not None:
            self._recording.attributes.update(self.metadata)
            self._recording.begin(self.targets, self.dt, self.dtype, steps)

    def chunk(self, number: int, first: int, steps: int) -> Chunk | EventChunk:
        chunk = self._values(number, first, steps)
        if self._recording is not None:
            self._recording.stage(number, chunk, first, steps)
        return chunk

    def _values(self, number: int, first: int, steps: int) -> Chunk | EventChunk:
        return super().chunk(number, first, steps)

    def end_run(self, steps: int) -> None:
        running, self._running = self._running, False
        try:
            if self._recording is not None:
                self._recording.end(steps)
        finally:
            if running:
                self.post_run()

    def close_files(self) -> None:
        """Close the file of what was injected; the end of a run does so too."""
        if self._recording is not None:
            self._recording.end(getattr(self.LPU_obj, "step", 0))

    def pre_run(self) -> None:
        """Get ready; called once, when the LPU is built."""

    def post_run(self) -> None:
        """Clean up; called once, after the last step."""

    def get_new_graph(self) -> nx.MultiDiGraph:
        """Return what the processor adds to the circuit."""
        return nx.MultiDiGraph()

    @property
    def LPU_obj(self) -> Any:
        """The LPU; set before ``pre_run``."""
        return self.lpu

    def set_metadata(self, metadata: Mapping[str, Any]) -> None:
        """Add attributes to the file of what is injected."""
        self.metadata.update(metadata)

    @property
    def memory_manager(self) -> Any:
        """Owner of the LPU's variables."""
        return None if self.LPU_obj is None else memory_of(self.LPU_obj)

    @property
    def record_settings(self) -> dict[str, Any]:
        """The arguments that tell what is recorded."""
        names = ("sensory_file", "sensory_interval", "input_file", "input_interval")
        return {name: getattr(self, name) for name in names}


class ReadyInputProcessor(BaseInputProcessor):
    """What the ready-made processors have in common: a native input gives their values."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # a subclass may bring its own values; then every step is asked for
        own = ("update_input", "is_input_available")
        self.per_step = any(
            getattr(type(self), name) is not getattr(ReadyInputProcessor, name) for name in own
        )

    @abstractmethod
    def _native(self) -> Input:
        """Return the input that gives the values."""

    _namespace: str | None = None

    def in_random_namespace(self, namespace: str) -> Input:
        other = self if self._namespace in (None, namespace) else copy.copy(self)
        other._namespace = namespace
        return other

    def open(self, dt: float, dtype: np.dtype) -> None:
        super().open(dt, dtype)
        self._source = self._native().in_random_namespace(self._namespace or "")
        self._source.open(dt, dtype)

    def _values(self, number: int, first: int, steps: int) -> Chunk | EventChunk:
        if self.per_step:
            return super()._values(number, first, steps)
        return self._source.chunk(number, first, steps)

    def update_input(self) -> None:
        for number, (variable, uids) in enumerate(self.targets):
            chunk = self._source.chunk(number, self._asked, 1)
            row = int(chunk.row_of_step[0])
            values = np.zeros(len(uids), self.dtype) if row < 0 else chunk.table[row].copy()
            self.variables[variable]["input"] = values

    def row_bytes(self) -> int:
        return self._source.row_bytes()

    def close(self) -> None:
        if self.dt:
            self._source.close()
