"""``test_NDComponent``: one component under a given input, as the old library tested models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError, ModelError, near
from ..inputs import ArrayInput, Input
from ..model.component import NDComponent
from ..model.kinds import usually_event
from ..model.library import models as known_models
from ..recorders import MemoryRecorder
from ..run.lpu import LPU

UID = "component"


def test_NDComponent(comp: type[NDComponent] | str, dt: float, **kwargs: Any) -> dict[str, Any]:
    """Run one component of a model and return what it updates.

    Parameters
    ----------
    comp : NDComponent subclass or name of a known model
    dt : float
        Step in seconds.
    input : dict, Input, or sequence of Input
        Variable -> (steps,) or (steps, n) array, whose columns are all injected into the
        component; for ``spike_state`` also ``{"time": seconds, "index": ...}``. Or inputs whose
        uids are ``"component"``.
    steps, dur : int, float
        Number of steps, or seconds; without them as long as the input.
    device, print_timing, debug
        Taken and not used.
    **kwargs
        Parameters by name; ``init<state>``, or just the state, sets an initial value.

    Returns
    -------
    dict
        Variable -> ``{"time": (steps,) seconds, "data": (steps,)}``; for ``spike_state``
        ``{"data": times of the spikes}``.

    Raises
    ------
    ModelError
        For an unknown model or a name that is neither parameter nor state.
    InputError, CircuitError

    Examples
    --------
    >>> from neurodriver.compat.testing import test_NDComponent as run_one
    >>> out = run_one("SynapseAMPA", 1e-4, gmax=1.0, st=5.0, steps=20,
    ...               input={"spike_state": {"time": [1e-3], "index": [0]}})  # doctest: +SKIP
    """
    given = {n: kwargs.pop(n, None) for n in ("input", "steps", "dur")}
    for name in ("device", "print_timing", "debug", "cuda_verbose"):
        kwargs.pop(name, None)
    model = _model(comp)
    graph = nx.MultiDiGraph()
    graph.add_node(UID, **{"class": model.__name__, **_attributes(model, kwargs)})
    inputs, length = _inputs(given["input"], dt)
    steps = _steps(given["steps"], given["dur"], length, dt)
    recorder = MemoryRecorder([(variable, [UID]) for variable in model.updates])
    with LPU(graph, dt, inputs, [recorder], models=model) as lpu:
        lpu.run(steps=steps)
    out: dict[str, Any] = {}
    for variable, entry in recorder.output.items():
        if usually_event(variable):
            out[variable] = {"data": np.asarray(entry["data"]["time"])}
        else:
            out[variable] = {"time": np.arange(steps) * dt, "data": entry["data"][:, 0].copy()}
    return out


test_NDComponent.__test__ = False  # type: ignore[attr-defined]  # it is no test of pytest's


def _model(comp: Any) -> type[NDComponent]:
    if not isinstance(comp, str):
        known_models(comp)
        model: type[NDComponent] = comp
        return model
    known = known_models()
    if comp not in known:
        raise ModelError(f"unknown model '{comp}'{near(comp, known)}")
    return known[comp]


def _attributes(model: type[NDComponent], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of the node; a bare state becomes ``init<state>``."""
    optional = model.initial_names()
    out = {}
    for name, value in kwargs.items():
        if name in model.params or name in optional:
            out[name] = value
        elif f"init{name}" in optional:
            out[f"init{name}"] = value
        else:
            hint = near(name, [*model.params, *optional])
            raise ModelError(f"{model.__name__} has no parameter or state '{name}'{hint}")
    return out


def _inputs(given: Any, dt: float) -> tuple[list[Input], int | None]:
    """Return the inputs and the length of the longest array."""
    if given is None:
        return [], None
    if isinstance(given, Input):
        return [given], None
    if not isinstance(given, Mapping):
        inputs = list(given)
        if not all(isinstance(one, Input) for one in inputs):
            raise InputError(f"input: expected a dict or inputs, got {given!r:.80}")
        return inputs, None
    inputs, lengths = [], []
    for variable, values in given.items():
        if isinstance(values, Mapping):
            times = _times(variable, values)
            data: Any = times, np.zeros(len(times), dtype=np.int64)
            lengths.append(round(float(times.max(initial=0.0)) / dt) + 1)
        else:
            data = _column(variable, values)[:, None]
            lengths.append(len(data))
        inputs.append(ArrayInput({variable: ([UID], data)}))
    return inputs, max(lengths, default=None)


def _times(variable: str, values: Mapping[str, Any]) -> NDArray[np.float64]:
    if "time" not in values:
        raise InputError(f"input '{variable}': expected 'time' and 'index', got {list(values)}")
    return np.sort(_numbers(variable, values["time"]).reshape(-1))


def _column(variable: str, values: Any) -> NDArray[np.float64]:
    """Return one value a step: the sum of the columns."""
    array = _numbers(variable, values)
    if array.ndim not in (1, 2):
        raise InputError(f"input '{variable}': expected (steps, n) values, got {array.shape}")
    columns = array.reshape(len(array), -1).T
    return np.add.accumulate(columns, axis=0)[-1] if len(columns) else np.zeros(len(array))


def _numbers(variable: str, values: ArrayLike) -> NDArray[np.float64]:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"input '{variable}': must be numbers, got {values!r:.80}") from None


def _steps(steps: Any, dur: Any, length: int | None, dt: float) -> int:
    if steps is not None:
        return int(steps)
    if dur is not None:
        return round(float(dur) / dt)
    if length is None:
        raise InputError("give `steps` or `dur`: no input array says how long to run")
    return length
