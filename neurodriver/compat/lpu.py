"""The ``LPU`` of old scripts: its constructor, its life cycle and its names, over the new one."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from tqdm import tqdm

from ..backends.choice import Choice
from ..backends.cuda.device import device_count
from ..circuit.assemble import assemble
from ..circuit.circuit import Circuit
from ..circuit.records import no_collection
from ..errors import (
    CircuitError,
    CircuitWarning,
    InputError,
    NeurodriverError,
    RecordingError,
    near,
)
from ..inputs.base import Input
from ..model.library import models as known_models
from ..recorders.base import Recorder
from ..run import lpu as native
from ..run.given import whole_steps
from ..run.progress import Progress
from ..run.simulation import Simulation
from . import graphs, views

COLUMNS = ("io", "type", "interface")


class UnknownModelError(CircuitError, NotImplementedError):
    """A circuit names a model that is not known."""


class LPU(native.LPU):
    """Local processing unit with the old library's constructor.

    Parameters
    ----------
    dt : float
        Step in seconds.
    graph_type : dict or {"obj", "gpickle", "pickle", "gexf", "function"}
        A ``comp_dict``, or what ``graph_dict`` is.
    graph_dict : object
        The connections that go with a ``comp_dict``; otherwise the graph, the file name, the
        pickled bytes or the function, or a dictionary with it under ``graph``, ``filename``,
        ``stream`` or ``function`` and arguments of `graph_to_dicts` under ``kwargs``.
    device : int
        With ``NEURODRIVER_BACKEND=cuda`` the number of the GPU, modulo how many there are; 0 and
        None leave it to ``NEURODRIVER_DEVICE`` or the rank. LPUs of one process share a GPU.
    input_processors, output_processors : sequence, or a single one
        Inputs and recorders, under their old names or the new ones.
    uid_key : str
        Entry of a ``comp_dict`` that holds the uids.
    debug, print_timing : bool
        Kept for models; print how long building and running took.
    default_dtype : dtype
        float64 or float32, also for parameters that are given as integers.
    id : str
        Name of the LPU.
    extra_comps : list
        Models beside the shipped ones: classes, modules, paths, or lists of them.
    ctrl_tag, gpot_tag, spike_tag, manager, rank_to_id, routing_table, columns, cuda_verbose, \
time_sync, control_inteface
        Kept.

    Raises
    ------
    UnknownModelError
        A `NotImplementedError`.
    GraphTypeError
        A `TypeError`, for an unknown ``graph_type``.
    CircuitError, InputError, RecordingError, NeurodriverError
        For anything else that does not fit; nothing that was handed over is changed.

    Notes
    -----
    ``run`` is ``pre_run``, the steps, ``post_run``. A subclass that overrides ``run_step`` or
    ``do_work`` is called at every step, which costs some microseconds each. Memory of a GPU is
    given back when the LPU is closed, or when nobody holds it any more.
    """

    graph_to_dicts = staticmethod(graphs.graph_to_dicts)
    lpu_parser = staticmethod(graphs.lpu_parser)
    conv_legacy_graph = staticmethod(graphs.conv_legacy_graph)
    lpu_parser_legacy = staticmethod(graphs.lpu_parser_legacy)

    def __init__(
        self,
        dt: float,
        graph_type: Any,
        graph_dict: Any,
        device: int | None = 0,
        input_processors: Any = [],  # noqa: B006  (the old defaults, read by `inspect`)
        output_processors: Any = [],  # noqa: B006
        ctrl_tag: int = 1,
        gpot_tag: int = 2,
        spike_tag: int = 3,
        manager: bool = True,
        rank_to_id: Any = None,
        routing_table: Any = None,
        uid_key: str = "id",
        debug: bool = False,
        columns: list[str] = ["io", "type", "interface"],  # noqa: B006
        cuda_verbose: bool = False,
        time_sync: bool = False,
        default_dtype: Any = np.double,
        control_inteface: Any = None,
        id: str | None = None,
        extra_comps: Any = [],  # noqa: B006
        print_timing: bool = False,
    ) -> None:
        begin = time.perf_counter()
        _check_columns(columns)
        self.id = self.LPU_id = "LPU" if id is None else str(id)
        self.device, self.manager, self.debug = device, manager, debug
        self.ctrl_tag, self.gpot_tag, self.spike_tag = ctrl_tag, gpot_tag, spike_tag
        self.rank_to_id, self.routing_table = rank_to_id, routing_table
        self.cuda_verbose, self.time_sync, self.print_timing = cuda_verbose, time_sync, print_timing
        self.control_inteface, self.columns, self.uid_key = control_inteface, list(columns), uid_key
        self.default_dtype = np.dtype(default_dtype)
        inputs = _processors(input_processors, Input, InputError)
        recorders = _processors(output_processors, Recorder, RecordingError)
        for one in inputs:
            if hasattr(one, "get_new_graph"):  # others need the circuit
                one.attach(self)
        circuit = build(self.id, graph_type, graph_dict, uid_key, inputs, extra_comps)
        super().__init__(
            circuit,
            dt,
            inputs,
            recorders,
            dtype=self.default_dtype.name,
            backend=_backend(self.id, device),
            nonfinite="warn",  # old scripts run on
            attributes={"lpu": self.id},
        )
        self._planned: int | None = None
        self._seconds = {"build": time.perf_counter() - begin, "run": 0.0}
        if hasattr(self, "simulation"):  # a manager gives it later
            self._introduce()

    def join(self, simulation: Simulation, scope: str) -> None:
        super().join(simulation, scope)
        self._introduce()

    def _introduce(self) -> None:
        for _, group, mine in self._part.groups:
            if not group.is_port:
                print(f"{self.id}: Number of {group.name}: {mine.sum()}")
        count: dict[str, int] = {}
        for one in self.inputs:
            for variable, uids in one.targets:
                count[variable] = count.get(variable, 0) + len(uids)
        print(f"{self.id}: Number of Input: {count}")

    @cached_property
    def _part(self) -> views.Part:
        live = self.settings.choice.name == "cpu"
        return views.Part(self.backend, self.scope, live)

    # what users read

    @property
    def memory_manager(self) -> views.MemoryView:
        """Variables and parameters."""
        self._memory.step_number = self.step
        return self._memory

    @cached_property
    def _memory(self) -> views.MemoryView:
        return views.MemoryView(self._part)

    @cached_property
    def conn_dict(self) -> views.ConnDict:
        """Uid -> variable -> connections, Aggregators among them."""
        return views.ConnDict(self._part)

    @cached_property
    def comp_list(self) -> list[tuple[str, dict[str, list[Any]]]]:
        """(model, lists of uids and parameters), one for each model."""
        return views.comp_list(self._part)

    @cached_property
    def models(self) -> dict[str, int]:
        """Model -> its number in ``comp_list``."""
        return {group.name: i for i, (_, group, _) in enumerate(self._part.groups)}

    @property
    def model_num(self) -> list[int]:
        """Number of components of each model."""
        return [int(mine.sum()) for _, _, mine in self._part.groups]

    @cached_property
    def components(self) -> dict[str, Any]:
        """Model -> its class."""
        return {g.name: g.model for _, g, _ in self._part.groups if not g.is_port}

    @property
    def pm(self) -> dict[str, Any]:
        """``gpot`` and ``spike`` -> mapper of the ports of that type, with their values."""
        return views.port_mappers(self._part, self.step)

    # life cycle

    def pre_run(self) -> None:
        """Open the recordings."""
        if not self.simulation.started:
            self.start(self._planned)
        seconds = self._seconds["build"]
        print(f"Compilation of executable circuit completed in {seconds:.3f} seconds")

    def run_step(self) -> None:
        """Advance one step."""
        self.advance(1)

    def do_work(self) -> None:
        """Advance one step and exchange ports."""
        self.run_step()

    def post_run(self) -> None:
        """Close recordings and inputs; what is in the memory of a GPU can still be read."""
        if self.settings.choice.name == "cpu":
            self.simulation.close()  # values can be read afterwards
        else:
            self.finish()
            for one in self.inputs:
                one.close()
        if self.print_timing:
            told = ", ".join(f"{name} {s:.3f} s" for name, s in self._seconds.items())
            print(f"{self.id}: {told}, {self.step} steps")

    def run(
        self,
        steps: int | None = None,
        duration: float | None = None,
        progress: bool | Progress | None = None,
        **more: Any,
    ) -> LPU:
        """Run ``pre_run``, the steps and ``post_run``; arguments as for `neurodriver.LPU.run`."""
        if more:
            names = ", ".join(more)
            raise NeurodriverError(f"LPU.run: {names}: not for LPUs of old scripts")
        count = whole_steps(steps, duration, self.dt)
        self._planned = count
        stepped = any(
            getattr(type(self), n) is not getattr(LPU, n) for n in ("run_step", "do_work")
        )
        self.pre_run()
        begin = time.perf_counter()
        try:
            hidden = False if progress is True else None  # None: shown on a terminal
            with tqdm(total=count, desc=self.id, disable=hidden) as bar:

                def told(done: int) -> None:
                    bar.update(done)
                    if callable(progress):
                        progress(done)

                if stepped:
                    for _ in range(count):
                        self.do_work()
                        told(1)
                else:
                    self.advance(count, told)
        finally:
            self._seconds["run"] = time.perf_counter() - begin
            self.post_run()
        return self

    # selectors of ports in a ``comp_dict``

    @classmethod
    def extract_in_gpot(cls, comp_dict: Any, uid_key: str = "id") -> tuple[Any, Any]:
        """Return selectors and uids of graded input ports; ``('', [])`` without any."""
        return graphs.ports(comp_dict, uid_key, "in", "gpot")

    @classmethod
    def extract_in_spk(cls, comp_dict: Any, uid_key: str = "id") -> tuple[Any, Any]:
        """Return selectors and uids of spiking input ports; ``('', [])`` without any."""
        return graphs.ports(comp_dict, uid_key, "in", "spike")

    @classmethod
    def extract_out_gpot(cls, comp_dict: Any, uid_key: str = "id") -> tuple[Any, Any]:
        """Return selectors and uids of graded output ports; ``('', [])`` without any."""
        return graphs.ports(comp_dict, uid_key, "out", "gpot")

    @classmethod
    def extract_out_spk(cls, comp_dict: Any, uid_key: str = "id") -> tuple[Any, Any]:
        """Return selectors and uids of spiking output ports; ``('', [])`` without any."""
        return graphs.ports(comp_dict, uid_key, "out", "spike")

    @classmethod
    def extract_sel_in_gpot(cls, comp_dict: Any) -> str:
        """Return the selector of all graded input ports."""
        return graphs.selectors(comp_dict, ("in",), ("gpot",))

    @classmethod
    def extract_sel_in_spk(cls, comp_dict: Any) -> str:
        """Return the selector of all spiking input ports."""
        return graphs.selectors(comp_dict, ("in",), ("spike",))

    @classmethod
    def extract_sel_out_gpot(cls, comp_dict: Any) -> str:
        """Return the selector of all graded output ports."""
        return graphs.selectors(comp_dict, ("out",), ("gpot",))

    @classmethod
    def extract_sel_out_spk(cls, comp_dict: Any) -> str:
        """Return the selector of all spiking output ports."""
        return graphs.selectors(comp_dict, ("out",), ("spike",))

    @classmethod
    def extract_sel_in(cls, comp_dict: Any) -> str:
        """Return the selector of all input ports."""
        return graphs.selectors(comp_dict, ("in",), ("gpot", "spike"))

    @classmethod
    def extract_sel_out(cls, comp_dict: Any) -> str:
        """Return the selector of all output ports."""
        return graphs.selectors(comp_dict, ("out",), ("gpot", "spike"))

    @classmethod
    def extract_sel_all(cls, comp_dict: Any) -> str:
        """Return the selector of all ports."""
        return graphs.selectors(comp_dict, ("in", "out"), ("gpot", "spike"))


def build(
    name: str,
    graph_type: Any,
    graph_dict: Any,
    uid_key: str = "id",
    inputs: Iterable[Any] = (),
    extra_comps: Any = (),
) -> Circuit:
    """Return the circuit of what the old LPU is given, with what its inputs add to it.

    Parameters
    ----------
    name : str
        Name of the LPU, for messages.
    graph_type, graph_dict, uid_key, extra_comps
        As for `LPU`.
    inputs : iterable
        Those with a method ``get_new_graph`` may return a graph to merge.
    """
    extra = extra_comps if isinstance(extra_comps, list | tuple) else [extra_comps]
    models: Mapping[str, Any] = known_models(extra)
    found = (getattr(one, "get_new_graph", lambda: None)() for one in inputs)
    sides = [graph for graph in found if graph is not None]
    with no_collection():
        records = graphs.read_records(graph_type, graph_dict, sides, uid_key, name)
        graphs.warn_of_partial(records, models)
        named = dict.fromkeys(d.get("class") for d in records.nodes)
        unknown = [m for m in named if m is not None and m not in models and m != "Port"]
        try:
            return assemble(records, models.values(), strict=False, lenient=True)
        except CircuitError as error:
            if not unknown:
                raise
            hint = near(str(unknown[0])[:60], models)
            old = f"Model {str(unknown[0])[:60]}: Can not find implementation{hint}"
            advice = "give its class in extra_comps"
            raise UnknownModelError(f"{old}; {advice}\n{error}") from None


def _processors(given: Any, kind: type, error: type[NeurodriverError]) -> list[Any]:
    """Return a list from a single processor or a sequence of them."""
    if given is None:
        return []
    listed = [given] if isinstance(given, kind) else list(given)
    for one in listed:
        if not isinstance(one, kind):
            expected = f"an instance of {kind.__name__} or of a class made from it"
            raise error(f"processors: expected {expected}, got {one!r:.60}")
    return listed


def _backend(name: str, device: Any) -> Choice:
    """Return what advances an LPU that was given a device."""
    choice = Choice.of()
    if choice.name != "cuda" or not device:
        return choice
    if not isinstance(device, int | np.integer) or device < 0:
        raise NeurodriverError(f"{name}: device must be the number of a GPU, got {device!r}")
    count = max(device_count(), 1)  # where there is none, the backend says so
    if device >= count:
        text = f"{name}: there is no GPU {device}, only {count}; GPU {device % count} is taken"
        warnings.warn(text, CircuitWarning, stacklevel=3)
    return replace(choice, device=None, wish=int(device) % count)


def _check_columns(columns: Iterable[str]) -> None:
    missing = [name for name in COLUMNS if name not in list(columns)]
    if missing:
        raise NeurodriverError(f"columns must contain {', '.join(COLUMNS)}; missing: {missing}")
