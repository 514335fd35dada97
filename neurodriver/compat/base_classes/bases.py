"""``BaseNeuron`` and ``BaseSynapse`` of the library's first LPUs."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from typing import Any


class Ending:
    """What is told that a run has ended."""

    def post_run(self) -> None:
        """Called once after the run."""


class BaseNeuron(Ending, ABC):
    """All neurons of one model.

    Parameters
    ----------
    n_dict : dict of list
        A list for each attribute of the neurons, ``id``, ``spiking``, ``public``, ``extern``; and
        the inputs: ``cond_pre`` (numbers of synapses), ``cond_post`` (which of these neurons they
        reach), ``reverse``, ``num_dendrites_cond`` (of each neuron), ``I_pre``, ``I_post``,
        ``num_dendrites_I``.
    pointer : int
        Address of the model's spikes (int32) if it is spiking, else of its potentials (float64).
    dt : float
        Step in seconds.
    debug : bool
    LPU_id : str

    Attributes
    ----------
    I : array
        Currents, float64; the LPU makes it unless ``update_I_override`` is True.
    """

    @abstractmethod
    def __init__(
        self, n_dict: Any, pointer: int, dt: float, debug: bool = False, LPU_id: Any = None
    ) -> None: ...

    @abstractmethod
    def eval(self, st: Any = None) -> None:
        """Advance the neurons by one step."""

    @property
    def neuron_class(self) -> bool:
        """Whether the neurons are spiking."""
        return False

    @property
    def update_I_override(self) -> bool:
        """Whether the class sums its inputs itself."""
        return False

    def update_I(self, synapse_state: int, st: Any = None) -> None:
        """Sum the inputs of all neurons into ``I``; the LPU does it unless a class overrides it."""


class BaseSynapse(Ending, ABC):
    """All synapses of one model.

    Parameters
    ----------
    s_dict : dict of list
        A list for each attribute of the synapses, ``id``, ``pre`` and ``post``: the columns of
        source and target in their buffers.
    synapse_state_pointer : int
        Address of the model's states (float64): conductances or currents.
    dt : float
        Step in seconds.
    debug : bool
    """

    @abstractmethod
    def __init__(
        self, s_dict: Any, synapse_state_pointer: int, dt: float, debug: bool = False
    ) -> None: ...

    @abstractmethod
    def update_state(self, buffer: Any, st: Any = None) -> None:
        """Advance the synapses by one step.

        ``buffer`` has ``gpot_buffer`` and ``spike_buffer``, each with ``gpudata`` and ``ld``;
        ``gpot_current`` and ``spike_current``, the rows of this step; ``gpot_delay_steps`` and
        ``spike_delay_steps``, the numbers of rows.
        """

    @property
    def synapse_class(self) -> int:
        """0: spikes to spikes, 1: spikes to graded, 2: graded to spikes, 3: graded to graded."""
        return 0


def imported(base: type) -> list[type]:
    """Return the direct subclasses of a base that modules hold, in the order of their making.

    A class whose file has been loaded again is none of them.
    """
    every: list[type] = base.__subclasses__()
    return [c for c in every if getattr(sys.modules.get(c.__module__), c.__name__, None) is c]
