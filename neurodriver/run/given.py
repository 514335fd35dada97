"""What an LPU is given, checked: a circuit, a working type, a length, the command that made it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np

from ..arguments import MANY_STEPS, ArgumentError, number, whole_number
from ..circuit.circuit import Circuit
from ..circuit.numbers import whole
from ..circuit.single_precision import check_single_precision
from ..errors import NeurodriverError
from ..model.loading import load_classes
from ..quantities import seconds


def as_circuit(source: Any, models: Any = ()) -> Circuit:
    """Return a circuit from a circuit, the path of a file, or a networkx graph."""
    if isinstance(source, Circuit):
        load_classes(models)  # its models are known; what is none is told all the same
        return source
    if isinstance(source, str | Path):
        return Circuit.from_file(source, models, lenient=True)
    return Circuit.from_graph(source, models, lenient=True)


def circuit_in(dtype: str, source: Any, models: Any) -> Circuit:
    """Return a circuit whose numbers the working type can hold."""
    circuit = as_circuit(source, models)
    if dtype == "float32":
        check_single_precision(circuit)
    return circuit


def command_line(arguments: list[str]) -> str:
    """Return a command line that a shell would take again, cut where HDF5 has no room for it."""
    text = shlex.join(arguments).encode(errors="backslashreplace").decode()
    return text if len(text) <= 10_000 else f"{text[:10_000]} ..."


def dtype_name(dtype: Any) -> str:
    """Return the name of a working type, also given as NumPy's type or dtype."""
    try:
        name = "" if dtype is None else np.dtype(dtype).name
    except TypeError:
        name = ""
    if name not in ("float64", "float32"):
        raise NeurodriverError(f"dtype must be 'float64' or 'float32', got {dtype!r}")
    return name


def check_settings(dt: float, threads: int | None, seed: int) -> None:
    """Raise NeurodriverError for a step, threads or a seed that no LPU can have."""
    if number(dt, "dt", "positive seconds") <= 0:
        raise NeurodriverError(f"dt must be positive seconds, got {dt!r}")
    if threads is not None and not (whole(threads) and 1 <= threads <= 1024):
        raise NeurodriverError(f"threads must be 1 to 1024, got {threads!r:.60}")
    if not (whole(seed) and 0 <= seed < 2**64):
        raise NeurodriverError(f"seed must be 0 to 2^64 - 1, got {seed!r:.60}")


def whole_steps(steps: int | None, duration: float | None, dt: float) -> int:
    """Return the length of a run in steps from steps or seconds."""
    duration = seconds(duration, "LPU.run: duration")
    if (steps is None) == (duration is None):
        raise NeurodriverError("LPU.run: give either steps or duration")
    if duration is None:
        return count_of_steps(steps, "LPU.run: steps")
    if number(duration, "LPU.run: duration", "seconds >= 0") < 0:
        raise NeurodriverError(f"LPU.run: duration must be seconds >= 0, got {duration}")
    if duration > 0 and not round(duration / dt):
        say = f"is less than half a step of dt = {dt:g} s; give at least {dt:g}, in seconds"
        raise NeurodriverError(f"LPU.run: duration = {duration:g} {say}")
    return whole_number(round(duration / dt), "LPU.run: steps", most=MANY_STEPS)


def count_of_steps(steps: Any, name: str) -> int:
    """Return a number of steps; a float was meant as a time."""
    if isinstance(steps, float | np.floating):
        raise ArgumentError(
            f"{name} must be a whole number, got {float(steps)!r}; a time in seconds is given by "
            f"run(duration=...)"
        )
    return whole_number(steps, name, most=MANY_STEPS)
