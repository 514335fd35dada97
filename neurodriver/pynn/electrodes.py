"""Current sources of PyNN: each gives its current for any steps, nA."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyNN.parameters import ParameterSpace, Sequence
from pyNN.standardmodels import StandardCurrentSource, build_translations
from pyNN.standardmodels import electrodes as standard

from . import simulator

Values = NDArray[np.float64]


class InjectedCurrent(StandardCurrentSource):
    """What the current sources of this backend have in common."""

    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)
        self.cells: list[Any] = []
        self._native: dict[str, Any] = {}
        simulator.state.current_sources.append(self)
        space = ParameterSpace(self.default_parameters, self.get_schema(), shape=(1,))
        space.update(**parameters)
        self.set_native_parameters(self.translate(space))

    def get_native_parameters(self) -> ParameterSpace:
        """Return the parameters."""
        plain = {n: getattr(v, "value", v) for n, v in self._native.items()}
        return ParameterSpace(plain)

    def set_native_parameters(self, parameters: ParameterSpace) -> None:
        """Take parameters; they hold from the next step on."""
        parameters.evaluate(simplify=True)
        for name, value in parameters.items():
            self._native[name] = _single(value)
        self._check()

    def _check(self) -> None:
        """Raise ValueError for parameters that make no sense."""

    def inject_into(self, cells: Any) -> None:
        """Inject the current into cells."""
        for cell in cells:
            if not cell.celltype.injectable:
                raise TypeError("Can't inject current into a spike source.")
            self.cells.append(cell)

    def record(self) -> None:
        """Currents are functions of time, which `get_data` computes."""

    def within(self, steps: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whether the source is on at steps."""
        dt = simulator.state.dt
        first, end = (round(min(self._native[n], 1e12) / dt) for n in ("start", "stop"))
        return np.asarray((steps >= first) & (steps < end))

    @abstractmethod
    def amplitudes_at(self, steps: NDArray[np.int64]) -> Values:
        """Return the current at steps, nA."""

    def _get_data(self) -> tuple[Values, Values]:
        steps = np.arange(simulator.state.step + 1)
        return np.asarray(steps * simulator.state.dt, dtype=float), self.amplitudes_at(steps)


class DCSource(InjectedCurrent, standard.DCSource):
    __doc__ = standard.DCSource.__doc__
    translations = build_translations(
        ("amplitude", "amplitude"), ("start", "start"), ("stop", "stop")
    )

    def amplitudes_at(self, steps: NDArray[np.int64]) -> Values:
        return np.where(self.within(steps), self._native["amplitude"], 0.0)


class ACSource(InjectedCurrent, standard.ACSource):
    __doc__ = standard.ACSource.__doc__
    translations = build_translations(
        ("amplitude", "amplitude"), ("start", "start"), ("stop", "stop"),
        ("frequency", "frequency"), ("offset", "offset"), ("phase", "phase"),
    )  # fmt: skip

    def amplitudes_at(self, steps: NDArray[np.int64]) -> Values:
        """Return the current at steps, nA; the phase holds at the start."""
        given = self._native
        time = (steps * simulator.state.dt - given["start"]) * 1e-3
        angle = 2 * np.pi * given["frequency"] * time + np.deg2rad(given["phase"])
        wave = given["offset"] + given["amplitude"] * np.sin(angle)
        return np.where(self.within(steps), wave, 0.0)


class StepCurrentSource(InjectedCurrent, standard.StepCurrentSource):
    __doc__ = standard.StepCurrentSource.__doc__
    translations = build_translations(("amplitudes", "amplitudes"), ("times", "times"))

    def _check(self) -> None:
        times, values = (_array(self._native[name]) for name in ("times", "amplitudes"))
        if (times < 0).any():
            raise ValueError("Step current cannot accept negative timestamps.")
        if (np.diff(times) <= 0).any():
            raise ValueError("Step current timestamps should be monotonically increasing.")
        if len(times) != len(values):
            raise ValueError("Step current needs an amplitude for each time.")
        dt = simulator.state.dt
        steps = np.round(times / dt).astype(np.int64)
        last = np.append(np.diff(steps) > 0, True)[: len(steps)]  # of a step, the last one counts
        self._native["times"] = Sequence(steps[last] * dt)
        self._native["amplitudes"] = Sequence(values[last])

    def amplitudes_at(self, steps: NDArray[np.int64]) -> Values:
        """Return the current at steps, nA; it stays at the last value."""
        times, values = (_array(self._native[name]) for name in ("times", "amplitudes"))
        at = np.searchsorted(np.round(times / simulator.state.dt), steps, side="right")
        return np.concatenate([[0.0], values])[at]


class NoisyCurrentSource(InjectedCurrent, standard.NoisyCurrentSource):
    __doc__ = standard.NoisyCurrentSource.__doc__
    translations = build_translations(
        ("mean", "mean"), ("start", "start"), ("stop", "stop"), ("stdev", "stdev"), ("dt", "dt")
    )

    def amplitudes_at(self, steps: NDArray[np.int64]) -> Values:
        """Return the current at steps, nA: a new value every ``dt``, the same at each call."""
        given, dt = self._native, simulator.state.dt
        every = max(round((given["dt"] or dt) / dt), 1)
        number = (steps - round(given["start"] / dt)) // every
        least, most = (int(n) for n in (number.min(initial=0), number.max(initial=0)))
        source = simulator.state.current_sources.index(self)
        rng = np.random.Generator(np.random.Philox(key=[simulator.state.settings["seed"], source]))
        noise = rng.standard_normal(max(most, 0) + 1)
        values = given["mean"] + given["stdev"] * noise[np.maximum(number, 0)]
        return np.where(self.within(steps) & (number >= min(least, 0)), values, 0.0)


def _single(value: Any) -> Any:
    """Return the one value that an array of one holds."""
    if isinstance(value, np.ndarray) and value.dtype == object and value.size == 1:
        return value.reshape(-1)[0]
    return value


def _array(given: Any) -> Values:
    return np.asarray(getattr(given, "value", given), dtype=float).reshape(-1)


__all__ = ["ACSource", "DCSource", "NoisyCurrentSource", "StepCurrentSource"]
