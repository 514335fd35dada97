"""Control of the simulation: ``setup``, ``run``, ``reset``, ``end``; the procedural interface."""

from __future__ import annotations

from typing import Any

from pyNN import common
from pyNN.connectors import FixedProbabilityConnector
from pyNN.recording import get_io

from . import simulator
from .populations import NDPopulation
from .projections import NDProjection
from .synapses import StaticSynapse

SETTINGS = ("backend", "threads", "dtype", "device")
"""Arguments of `neurodriver.LPU` that ``setup`` takes, beside ``seed``."""


def setup(timestep: float = 0.1, min_delay: Any = "auto", **extra_params: Any) -> int:
    """Begin a new network.

    Parameters
    ----------
    timestep, min_delay : float
        ms.
    **extra_params
        ``max_delay``; ``backend``, ``threads``, ``dtype``, ``device`` and ``seed`` of
        `neurodriver.LPU`. Others are those of other simulators.
    """
    common.setup(timestep, min_delay, **extra_params)
    state = simulator.state
    state.clear()
    state.dt, state.min_delay = timestep, min_delay
    state.max_delay = extra_params.get("max_delay", "auto")
    state.settings = {key: extra_params[key] for key in SETTINGS if key in extra_params}
    state.settings["seed"] = int(extra_params.get("seed", 0))
    return int(rank())


def end(compatible_output: bool = True) -> None:
    """Write the files that were asked for."""
    for population, variables, filename in simulator.state.write_on_end:
        population.write_data(get_io(filename), variables)
    simulator.state.write_on_end = []


run, run_until = common.build_run(simulator)
run_for = run
reset = common.build_reset(simulator)
initialize = common.initialize
(
    get_current_time, get_time_step, get_min_delay, get_max_delay, num_processes, rank,
) = common.build_state_queries(simulator)  # fmt: skip
create = common.build_create(NDPopulation)
connect = common.build_connect(NDProjection, FixedProbabilityConnector, StaticSynapse)
record = common.build_record(simulator)


def record_v(source: Any, filename: str) -> None:
    """Record membrane potentials to a file."""
    record(["v"], source, filename)


def record_gsyn(source: Any, filename: str) -> None:
    """Record synaptic conductances to a file."""
    record(["gsyn_exc", "gsyn_inh"], source, filename)
