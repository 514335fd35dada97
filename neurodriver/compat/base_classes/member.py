"""``BaseClasses``: an LPU of old classes as one group of a circuit, which runs step by step.

In step k neurons read the states of the synapses after step k - 1 and the currents that are
injected at step k; then synapses read what the neurons gave in step k. Row k + 1 holds potentials,
spikes and currents of step k.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...errors import ModelError
from ...model.component import NDComponent
from ...native.addresses import DeviceAddress
from . import host_cuda
from .bases import BaseNeuron
from .bound import bound
from .tables import NeuronTable, SynapseTable, Tables, summed


class Rows:
    """A buffer of past rows, as synapses get it."""

    def __init__(self, cuda: Any, arrays: Any, rows: int, first: NDArray[Any]) -> None:
        self._cuda, self.ld = cuda, max(len(first), 1)
        self.rows, self.current = rows, 0
        whole = np.zeros((rows, self.ld), first.dtype)
        whole[:, : len(first)] = first
        self._array = arrays.to_gpu(whole)
        self.gpudata = self._array.gpudata
        self._width, self._size = self.ld * first.dtype.itemsize, first.nbytes

    def advance(self, source: Any) -> None:
        """Copy new values from an address into the next row."""
        self.current = (self.current + 1) % self.rows
        if self._size:
            to = int(self.gpudata) + self.current * self._width
            self._cuda.memcpy_dtod(to, int(source), self._size)


class Buffer:
    """What synapses read."""

    def __init__(self, gpot: Rows, spike: Rows) -> None:
        self.gpot_buffer, self.spike_buffer = gpot, spike
        self.gpot_delay_steps, self.spike_delay_steps = gpot.rows, spike.rows

    @property
    def gpot_current(self) -> int:
        """Row of the potentials of this step."""
        return self.gpot_buffer.current

    @property
    def spike_current(self) -> int:
        """Row of the spikes of this step."""
        return self.spike_buffer.current


class BaseClasses(NDComponent):
    """Neurons and synapses of old classes; a subclass has their ``tables``."""

    accesses = ("I", "V", "spike_state")
    updates: ClassVar[Any] = {"spike_state": "", "V": "mV", "I": "uA/cm^2"}
    backends = ("cpu", "cuda")
    reference = "Givon & Lazar 2016 (doi:10.1371/journal.pone.0146581), the library before 2016."
    tables: ClassVar[Tables]

    def pre_run(self: Any, update_pointers: Mapping[str, int]) -> None:
        """Make the neurons and the synapses, and write row 0."""
        self._on_host = not any(isinstance(p, DeviceAddress) for p in update_pointers.values())
        modules = host_cuda.MODULES if self._on_host else _pycuda()
        self._cuda, self._arrays = modules["pycuda.driver"], modules["pycuda.gpuarray"]
        tables = self.tables
        spiking = np.array(tables.spiking, bool)
        self._components = [np.flatnonzero(spiking == kind) for kind in (False, True)]
        counts = [len(one) for one in self._components]
        self._V = self._arrays.to_gpu(np.zeros(max(counts[0], 1)))
        self._spikes = self._arrays.to_gpu(np.zeros(max(counts[1], 1), np.int32))
        self._states = self._arrays.to_gpu(np.zeros(max(tables.states, 1)))
        self._columns = np.array(tables.columns, int)
        self._neurons = [(table, self._neuron(table)) for table in tables.neurons]
        self._synapses = [(table, self._synapse(table)) for table in tables.synapses]
        steps = [int(np.round(one * 1e-3 / self.dt)) + 1 for one in tables.longest]
        gpot, spike = self._V.get()[: counts[0]], np.zeros(counts[1], np.int32)
        given = self._cuda, self._arrays
        self._buffer = Buffer(Rows(*given, steps[0], gpot), Rows(*given, steps[1], spike))
        self._I = np.zeros(self.num_comps)
        self._write(update_pointers)

    def run_step(self: Any, update_pointers: Mapping[str, int], st: Any = None) -> None:
        """Advance all neurons, then all synapses."""
        external = self._brought("I")
        self._I[:] = 0.0
        for table, neuron in self._neurons:
            self._update_I(table, neuron, external[table.rows])
            with self._calling(table.model, "eval"):
                neuron.eval()
            if not neuron.update_I_override:
                _check_I(table, neuron, "eval")
        self._relay()
        self._buffer.gpot_buffer.advance(self._V.gpudata)
        self._buffer.spike_buffer.advance(self._spikes.gpudata)
        for table, synapse in self._synapses:
            if hasattr(synapse, "update_I"):
                with self._calling(table.model, "update_I"):
                    synapse.update_I(int(self._states.gpudata))
            with self._calling(table.model, "update_state"):
                synapse.update_state(self._buffer)
        self._write(update_pointers)

    def post_run(self: Any) -> None:
        """Tell all instances that the run has ended."""
        for table, one in (*self._neurons, *self._synapses):
            with self._calling(table.model, "post_run"):
                one.post_run()

    # -- inside ---------------------------------------------------------------------------------

    def _brought(self: Any, access: str) -> NDArray[np.float64]:
        """Return the sum of the inputs of each component."""
        self.sum_in_variable(access, self.inputs[access])
        given = self.inputs[access]
        return np.array(given.get() if hasattr(given, "get") else given, float)[: self.num_comps]

    def _relay(self: Any) -> None:
        """Put what input ports bring among the potentials and the spikes."""
        relays = np.array(self.tables.relays, int)
        for kind, (access, array) in enumerate((("V", self._V), ("spike_state", self._spikes))):
            mine = [i for i in relays if self.tables.spiking[i] == bool(kind)]
            if mine:
                whole = array.get()
                whole[self._columns[mine]] = self._brought(access)[mine]
                array.set(whole)

    def _update_I(self: Any, table: NeuronTable, neuron: Any, external: NDArray[Any]) -> None:
        own = type(neuron).update_I is not BaseNeuron.update_I
        if own or neuron.update_I_override:
            with self._calling(table.model, "update_I"):
                neuron.update_I(int(self._states.gpudata))
            if neuron.update_I_override:
                return
        if own:
            _check_I(table, neuron, "update_I")
        else:
            potentials = self._potentials(table, neuron)
            neuron.I.set(summed(table, self._states.get(), potentials) + external)
        self._I[table.rows] = neuron.I.get()

    def _potentials(self: Any, table: NeuronTable, neuron: Any) -> NDArray[np.float64]:
        n = len(table.rows)
        if not table.spiking:
            values: NDArray[np.float64] = self._V.get()[table.first : table.first + n]
            return values
        if not table.n_dict["cond_post"]:
            return np.zeros(n)
        held: Any = getattr(neuron, "V", None)
        if not hasattr(held, "get"):
            what = "conductances reach it, and the driving force needs its attribute V"
            raise ModelError(f"{table.model.__name__}: {what}: an array of {n} potentials")
        return np.asarray(held.get(), np.float64).reshape(-1)[:n]

    def _neuron(self: Any, table: NeuronTable) -> Any:
        """Return the instance of a class of neurons."""
        array, size = (self._spikes, 4) if table.spiking else (self._V, 8)
        pointer = int(array.gpudata) + size * table.first
        given = {"debug": False, "LPU_id": self.LPU_id} if table.spiking else {"debug": False}
        with self._calling(table.model, "__init__"):
            made: Any = table.model(dict(table.n_dict), pointer, self.dt, **given)
            override = made.update_I_override
        if not override:
            if getattr(made, "I", None) is None:
                made.I = self._arrays.to_gpu(np.zeros(len(table.rows)))
            _check_I(table, made, "__init__")
        return made

    def _synapse(self: Any, table: SynapseTable) -> Any:
        """Return the instance of a class of synapses."""
        pointer = int(self._states.gpudata) + 8 * table.first
        with self._calling(table.model, "__init__"):
            return table.model(dict(table.s_dict), pointer, self.dt, debug=False)

    @contextmanager
    def _calling(self: Any, model: type, method: str) -> Iterator[None]:
        """Give the names of PyCUDA their meaning; say where an error of a class comes from."""
        try:
            with bound(model, self._on_host):
                yield
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            file = getattr(_module_of(model), "__file__", None) or ""
            own = [f for f in frames if f.filename == file] or [frames[-1]]
            name = os.path.basename(own[-1].filename)
            said = (
                str(error) if isinstance(error, ModelError) else f"{type(error).__name__}: {error}"
            )
            where = f"{name}, line {own[-1].lineno}"
            raise ModelError(f"{model.__name__}.{method} ({where}): {said}") from error

    def _write(self: Any, pointers: Mapping[str, int]) -> None:
        """Write a row of what all components have."""
        graded, spiking = self._components
        V, spikes = np.zeros(self.num_comps), np.zeros(self.num_comps)
        V[graded] = self._V.get()[self._columns[graded]]
        spikes[spiking] = self._spikes.get()[self._columns[spiking]]
        for table, neuron in self._neurons if hasattr(self, "_neurons") else ():
            held: Any = getattr(neuron, "V", None) if table.spiking else None
            if hasattr(held, "get") and held.size == len(table.rows):
                V[table.rows] = held.get().reshape(-1)
        for name, column in (("V", V), ("spike_state", spikes), ("I", self._I)):
            if name in pointers:
                self._link.store(pointers[name], column.astype(self.dtype))


def _check_I(table: NeuronTable, neuron: Any, method: str) -> None:
    """Raise ModelError where a method has made the currents of another size or type."""
    held, n = getattr(neuron, "I", None), len(table.rows)
    size, dtype = getattr(held, "size", None), getattr(held, "dtype", None)
    if size != n or dtype != np.float64 or not hasattr(held, "get"):
        got = f"{dtype} of {size}" if dtype is not None else f"{held!r:.40}"
        where = _where(table.model, method)
        raise ModelError(f"{where}: self.I must be float64 of {n} neurons, got {got}")


def _module_of(model: type) -> Any:
    import sys

    return sys.modules.get(model.__module__)


def _where(model: type, method: str) -> str:
    import inspect

    found = getattr(model, method)
    file = os.path.basename(inspect.getsourcefile(found) or "")
    return f"{model.__name__}.{method} ({file}, line {inspect.getsourcelines(found)[1]})"


def _pycuda() -> dict[str, Any]:
    import pycuda.driver
    import pycuda.gpuarray

    return {"pycuda.driver": pycuda.driver, "pycuda.gpuarray": pycuda.gpuarray}
