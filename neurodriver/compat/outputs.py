"""The old output processors, under their old names and signatures, as recorders of an LPU."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import RequestError, near
from ..inputs.base import uid_list
from ..model.kinds import usually_event
from ..recorders.base import Block, Recorder, RecordingPlan
from ..recorders.hdf5 import HDF5Recorder
from ..recorders.memory import MemoryRecorder
from ..results import Recording
from .recordings import select, write_output
from .views import memory_of


class _OldNames(Recorder):
    """What users read from an output processor."""

    lenient = True

    LPU_obj: Any = None
    """The LPU; set before ``pre_run``."""

    def attach(self, lpu: Any) -> None:
        self.LPU_obj = lpu

    @property
    def memory_manager(self) -> Any:
        """Owner of the LPU's variables."""
        return None if self.LPU_obj is None else memory_of(self.LPU_obj)

    def open(self, plan: RecordingPlan) -> None:
        self.dt = self.sim_dt = plan.dt
        self.start_time = float(plan.sampling["start_time"])
        self.variables: dict[str, dict[str, Any]] = {
            c.variable: {"uids": c.uids.tolist(), "output": np.zeros(len(c.uids), plan.dtype)}
            for c in plan.columns
        }
        for variable, _ in self.record:  # nothing updates it
            self.variables.setdefault(variable, {"uids": [], "output": np.zeros(0, plan.dtype)})
        super().open(plan)


class BaseOutputProcessor(_OldNames):
    """Base of output processors; a subclass implements what it needs of the hooks.

    ``process_output`` is called at each sampled step; where ``spike_state`` is recorded,
    ``process_spike_output`` is called after it at every step. ``get_output(var)`` gives the values
    of that step. The run waits for the hooks, so an input processor may use what they keep.

    Parameters
    ----------
    var_list : list of (variable, uids)
        ``uids`` None or empty: all, Aggregators ``auto_<n>`` that were inserted among them.
        Columns keep the order asked for; uids that do not update the variable are left out, with
        a warning that counts them.
    sample_interval : int
        Steps from sample to sample, s: the sampled steps are s - 1, 2 s - 1, ...

    Attributes
    ----------
    variables : dict
        Variable -> ``{"uids": list, "output": (n,) array}``.
    time : float
        Time of the values at hand, s. ``LPU_obj.time`` is that of the next step by then.
    dt, sim_dt, start_time : float
        Step and time of the first sample, s.
    """

    per_step = True

    def __init__(self, var_list: Iterable[tuple[str, Any]], sample_interval: int = 1) -> None:
        super().__init__(_requests(var_list), sample_interval)
        self.time = 0.0

    def pre_run(self) -> None:
        """Get ready; called once, before the first step."""

    def process_output(self) -> None:
        """Take the values of a sampled step."""

    def process_spike_output(self) -> None:
        """Take the spikes of a step."""

    def post_run(self) -> None:
        """Clean up; called once, after the last step."""

    def get_output(self, var: str) -> NDArray[Any]:
        """Return the values of a variable at the step at hand, (n,); 0 and 1 for spikes."""
        values: NDArray[Any] = self._entry(var)["output"]
        return values

    get_output_gpu = get_output

    def get_output_array(self, var: str) -> NDArray[Any] | None:
        """Return an array (n,) into which the values shall be copied too; None for none."""
        return None

    def longest(self, step: int) -> int:
        spikes = any(usually_event(variable) for variable, _ in self.record)
        return 1 if spikes else self.sample_interval - step % self.sample_interval

    def _entry(self, var: str) -> dict[str, Any]:
        if var not in self.variables:
            known = ", ".join(self.variables)
            hint = near(str(var), self.variables)
            text = f"'{var}' is not recorded{hint}; known are {known}"
            raise RequestError(f"{type(self).__name__}: {text}")
        return self.variables[var]

    def _open(self, plan: RecordingPlan) -> None:
        self.time = 0.0
        self.pre_run()

    def _append(self, block: Block, rows: int) -> None:
        self.time = (block.step - 1) * self.dt
        sampled = block.step % self.sample_interval == 0
        for variable, (_, index) in block.events.items():
            values = np.zeros(len(self.variables[variable]["uids"]), self.plan.dtype)
            values[index] = 1
            self._keep(variable, values)
        if sampled:
            for variable, values in block.rows.items() if rows else ():
                self._keep(variable, np.array(values[-1]))
            self.process_output()
        if block.events:
            self.process_spike_output()

    def _keep(self, variable: str, values: NDArray[Any]) -> None:
        self.variables[variable]["output"] = values
        array = self.get_output_array(variable)
        if array is not None:
            array[:] = values

    def _close(self) -> None:
        self.post_run()


class FileOutputProcessor(_OldNames, HDF5Recorder):
    """Writes an HDF5 file, complete up to the last block whenever the run ends; see `HDF5Recorder`.

    Parameters
    ----------
    var_list, sample_interval
        As for `BaseOutputProcessor`.
    filename : path
        The file; one of an earlier run is replaced.
    cache_length : int
        Kept.
    """

    def __init__(
        self,
        var_list: Iterable[tuple[str, Any]],
        filename: Any,
        sample_interval: int = 1,
        cache_length: int = 1000,
    ) -> None:
        super().__init__(filename, _requests(var_list), sample_interval, overwrite=True)
        self.filename, self.cache_length = filename, cache_length


class OutputRecorder(_OldNames, MemoryRecorder):
    """Keeps its output in memory.

    Parameters
    ----------
    var_list, sample_interval
        As for `BaseOutputProcessor`.
    cache_length : int
        Kept.

    Attributes
    ----------
    output : dict
        Variable -> ``{"data": (rows, n) array or {"time", "index"}, "uids": list}``, filled at the
        end of the run.
    """

    def __init__(
        self,
        var_list: Iterable[tuple[str, Any]],
        sample_interval: int = 1,
        cache_length: int = 1000,
    ) -> None:
        super().__init__(_requests(var_list), sample_interval)
        self.cache_length = cache_length

    def get_output(self, var: str | None = None, uids: Any = None) -> Any:
        """Return all, or by variable, by uid, or by both; see `neurodriver.compat.recordings`."""
        times = self.time()
        return select(self.output, lambda variable: times, var, uids)

    def to_file(self, filename: Any) -> None:
        """Write the output as `FileOutputProcessor` does."""
        self.time()  # raises before the end of a run
        told = {"start_time": self.start_time, "sample_interval": self.sample_interval}
        now = datetime.now().isoformat()
        write_output(filename, self.output, {**told, "dt": self.dt, "DateCreated": now})


for _kind in (FileOutputProcessor, OutputRecorder):
    BaseOutputProcessor.register(_kind)  # scripts ask with isinstance


class FileOutputReader:
    """Reads the file of a `FileOutputProcessor`, also one of the old library.

    Parameters
    ----------
    filename : path

    Attributes
    ----------
    metadata : dict
        ``dt``, ``start_time``, ``sample_interval``, ``DateCreated`` and others.
    dt, start_time : float
        Seconds.
    sample_interval : int
        Steps.
    DateCreated : str
    output : dict
        As `OutputRecorder.output`; read when it is first used.
    """

    def __init__(self, filename: Any) -> None:
        self.filename = Path(filename)
        with self._open() as recording:
            self.metadata: dict[str, Any] = dict(recording.attributes)
            self.dt, self.sample_interval = recording.dt, recording.sample_interval
            self._uids = {v: recording.uids(v) for v in recording.variables}
        self.start_time = float(self.metadata.get("start_time", 0.0))
        self.DateCreated = str(self.metadata.get("DateCreated", ""))

    def _open(self) -> Recording:
        return Recording(self.filename)

    @cached_property
    def output(self) -> dict[str, Any]:
        """Everything in the file."""
        out: dict[str, Any] = {}
        self._times: dict[str, NDArray[np.float64]] = {}
        with self._open() as recording:
            for variable, uids in self._uids.items():
                data: Any
                if recording.is_events(variable) or usually_event(variable):
                    time, index = recording.events(variable)
                    data = {"time": time, "index": index}
                else:
                    data = recording.data(variable)[:]
                    self._times[variable] = recording.time(variable)
                out[variable] = {"data": data, "uids": list(uids)}
        return out

    def get_metadata(self) -> dict[str, Any]:
        """Return the attributes of the recording."""
        return self.metadata

    def get_uids(self, var: str | None = None) -> Any:
        """Return the uids of a variable, list; or variable -> uids."""
        if var is None:
            return {variable: list(uids) for variable, uids in self._uids.items()}
        if var not in self._uids:
            known = ", ".join(self._uids)
            text = f"no variable '{var}'{near(var, self._uids)}; known are {known}"
            raise RequestError(f"{self.filename}: {text}")
        return list(self._uids[var])

    def get_output(self, var: str | None = None, uids: Any = None) -> Any:
        """Return all, or by variable, by uid, or by both; see `neurodriver.compat.recordings`."""
        output: Mapping[str, Any] = self.output
        return select(output, lambda variable: self._times[variable], var, uids)


def _requests(var_list: Iterable[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Return pairs of variable and uids; None for all of them."""
    return [(variable, uid_list(uids) or None) for variable, uids in var_list]
