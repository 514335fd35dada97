"""Inputs of every kind, and recorders of every interval."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import h5py
import numpy as np

import neurodriver as nd

from .case import COUNT, DT, STEPS, Case, How, Values, named, simulated
from .networks import ALL, NEURONS, current, spiking
from .weighted import network

INTO = NEURONS[:301]
"""Where currents enter; the others have none."""

N, LEVEL = len(INTO), np.linspace(1.5, 4.0, len(INTO))

Make = Callable[[Path], list[nd.Input]]
"""Makes inputs; files of theirs lie in the folder."""


class Wave(nd.UserInput):
    """Is asked for its values at every step, and has none at every seventh."""

    def __init__(self, mode: int) -> None:
        super().__init__([("I", INTO)], mode)
        self.calls = 0

    def is_input_available(self) -> bool:
        self.calls += 1
        return self.calls % 7 > 0

    def update_input(self) -> None:
        row = self.variables["I"]["input"]
        row[:] = 3.0 + np.arange(len(row)) % 5 * 0.25 * (self.calls % 20)


def rows(low: float, high: float, steps: int) -> tuple[list[str], Any]:
    """Return uids and random values."""
    return INTO, np.random.default_rng(41).uniform(low, high, (steps, N))


def file_of_rows(folder: Path) -> Path:
    """Write a file of values."""
    path = folder / "values.h5"
    with h5py.File(path, "w") as file:
        file["I/uids"], file["I/data"] = np.array(INTO, dtype="S"), rows(1.0, 4.0, 120)[1]
    return path


def noise(**options: Any) -> nd.Input:
    """Return noise around a level."""
    return nd.NoiseInput("I", INTO, LEVEL, 1.0, stop=0.9 * STEPS * DT, seed=3, **options)


CURRENTS: dict[str, Make] = {
    "array": lambda _: [nd.ArrayInput({"I": rows(0.0, 5.0, 150)})],
    "array, last row repeated": lambda _: [nd.ArrayInput({"I": rows(2.0, 4.0, 30)}, mode=1)],
    "file": lambda folder: [nd.FileInput(file_of_rows(folder))],
    "file, last row repeated": lambda folder: [
        nd.FileInput(file_of_rows(folder), mode=1, preload=True)
    ],
    "step": lambda _: [nd.StepInput("I", INTO, LEVEL, 2e-3, 15e-3)],
    "ramp": lambda _: [nd.RampInput("I", INTO, 1e-3, 15e-3, LEVEL, 6.0)],
    "pulses": lambda _: [nd.PulseInput("I", INTO, [1e-3, 4e-3], [6e-3, 15e-3], [3.0, 4.0])],
    "periodic pulses": lambda _: [nd.PulseInput.periodic("I", INTO, 3 * LEVEL, 3e-3, 1e-3)],
    "noise": lambda _: [noise()],
    "uniform noise": lambda _: [noise(distribution="uniform")],
    "coloured noise": lambda _: [noise(tau=5e-3)],
    "user": lambda _: [Wave(0)],
    "user, last values repeated": lambda _: [Wave(1)],
    "recorded": lambda folder: [
        nd.RecordedInput(nd.StepInput("I", INTO, LEVEL), folder / "own.h5", 3, overwrite=True)
    ],
    "several": lambda _: [
        nd.StepInput("I", INTO, LEVEL, 2e-3),
        nd.NoiseInput("I", NEURONS[100:], 0.0, 1.0, seed=5),
        nd.RampInput("I", NEURONS[200:], 0.0, 1e-2, 0.0, 4.0),
    ],
}
"""Inputs of currents."""


def events(columns: int) -> tuple[Any, Any]:
    """Return random times and columns."""
    rng = np.random.default_rng(42)
    return rng.uniform(0.0, STEPS * DT, 8 * columns), rng.integers(0, columns, 8 * columns)


def file_of_events(folder: Path, uids: list[str]) -> Path:
    """Write a file of spikes."""
    path = folder / "events.h5"
    with h5py.File(path, "w") as file:
        file["spike_state/uids"] = np.array(uids, dtype="S")
        file["spike_state/data/time"], file["spike_state/data/index"] = events(len(uids))
    return path


def poisson(uids: list[str], times: float = 1.0, **options: Any) -> nd.Input:
    """Return Poisson trains of different rates."""
    rate = times * np.linspace(100.0, 900.0, len(uids))
    return nd.PoissonInput("spike_state", uids, rate, seed=6, **options)


SPIKES: dict[str, Callable[[Path, list[str]], list[nd.Input]]] = {
    "Poisson": lambda _, uids: [poisson(uids)],
    "Poisson, many": lambda _, uids: [poisson(uids, 40.0)],
    "Poisson, at most one": lambda _, uids: [
        poisson(uids, 40.0, start=2e-3, stop=15e-3, counts=False)
    ],
    "Bernoulli": lambda _, uids: [nd.BernoulliInput("spike_state", uids, 0.03, seed=7)],
    "counts": lambda _, uids: [
        nd.ArrayInput(
            {"spike_state": (uids, np.random.default_rng(43).poisson(0.04, (STEPS, len(uids))))}
        )
    ],
    "events": lambda _, uids: [nd.ArrayInput({"spike_state": (uids, events(len(uids)))})],
    "file of events": lambda folder, uids: [nd.FileInput(file_of_events(folder, uids))],
    "several": lambda _, uids: [
        poisson(uids),
        poisson(uids[50:], start=5e-3),
        nd.BernoulliInput("spike_state", uids[:70], 0.03, seed=7),
    ],
}
"""Inputs of spikes for some components."""


def into_neurons(name: str, how: How) -> Values:
    """Inject currents into the neurons of a network."""
    with TemporaryDirectory() as folder:
        return simulated(how, spiking(20), CURRENTS[name](Path(folder)), ALL)


def into_synapses(name: str, how: How) -> Values:
    """Inject spikes into the synapses of a network, whose neurons have a current."""
    uids = named("AlphaSynapse", 3 * COUNT // 2)
    uids = [uid.replace("_", "/") for uid in uids]
    with TemporaryDirectory() as folder:
        inputs = SPIKES[name](Path(folder), uids[7:]) + current(NEURONS, 1.0, 2.0)
        return simulated(how, spiking(20), inputs, ALL)


def into_weighted(name: str, with_current: bool, how: How) -> Values:
    """Inject spikes into neurons whose spikes have weights."""
    model = "LeakyIAFDelta"
    uids = named(model, COUNT)
    with TemporaryDirectory() as folder:
        inputs = SPIKES[name](Path(folder), uids[3:])
        if with_current:
            inputs.append(nd.StepInput("I", uids[:-3], np.linspace(0.3, 0.9, COUNT - 3), 1e-3))
        return simulated(how, network(model, 3), inputs, seed=7)


def sampled(interval: int, pieces: tuple[int, ...], how: How) -> Values:
    """Record every so many steps, advancing in uneven pieces."""
    options = {"interval": interval, "pieces": pieces}
    return simulated(how, spiking(20), current(NEURONS, 1.2, 4.0), ALL, **options)


def some(how: How) -> Values:
    """Record some components of each variable, in another order than the circuit's."""
    wanted = [("V", NEURONS[200:20:-3]), ("spike_state", NEURONS[::2]),
              ("g", ["AlphaSynapse/7", "SynapseAMPA/9", "AlphaSynapse/3"])]  # fmt: skip
    return simulated(how, spiking(20), current(NEURONS, 1.2, 4.0), wanted)


def to_file(interval: int, how: How) -> Values:
    """Record into an HDF5 file and read it."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "out.h5")
        kept = nd.HDF5Recorder(path, [("V", None), ("spike_state", None)], interval)
        options = {**how.options, "threads": how.threads}
        with nd.LPU(spiking(20), DT, current(NEURONS, 1.2, 4.0), [kept], **options) as lpu:
            lpu.run(steps=STEPS)
        with h5py.File(path, "r") as file:
            spikes = file["spike_state/data"]
            found = {"time": spikes["time"][()], "index": spikes["index"][()]}
            return {"V": (file["V/data"][()], COUNT), "spike_state": (found, COUNT)}


def cases() -> Iterator[Case]:
    """Yield the cases of this file."""
    for name in CURRENTS:
        yield Case(f"input {name}", partial(into_neurons, name))
    for name in SPIKES:
        yield Case(f"input of spikes {name}", partial(into_synapses, name))
        for beside in (False, True):
            told = f"weighted input {name}{', current beside' if beside else ''}"
            yield Case(told, partial(into_weighted, name, beside))
    for interval in (3, 64):
        yield Case(f"every {interval} steps", partial(sampled, interval, ()))
        yield Case(f"every {interval} steps, file", partial(to_file, interval))
    yield Case("every 7 steps, in pieces", partial(sampled, 7, (1, 0, 13, 50)))
    yield Case("in pieces", partial(sampled, 1, (1, 0, 13, 50)))
    yield Case("some components", some)
