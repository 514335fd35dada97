"""``Divided``: what an LPU asks of a circuit that is computed in several parts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Circuit, Connections
from ..state.snapshot import Snapshot
from ..state.synapses import Synapses
from .live import Components, GroupPart

if TYPE_CHECKING:
    from .needed import DescribedPart

Numbers = NDArray[np.int64]


class Divided(ABC):
    """A simulation in several parts. Each rank makes the same calls.

    Attributes
    ----------
    circuit : Circuit
        The whole.
    dt : float
        Step in seconds.
    step : int
        Steps that are done.
    advancing : bool
        Whether steps are done now.
    """

    circuit: Circuit
    dt: float
    step: int
    advancing = False

    @property
    @abstractmethod
    def shows_progress(self) -> bool:
        """Whether a bar of progress is shown here."""

    @abstractmethod
    def snapshot(self) -> Snapshot:
        """Return the state of the whole, on every rank."""

    @abstractmethod
    def go_on_from(self, snapshot: Snapshot) -> None:
        """Take over a state of the whole, before the first step."""

    @abstractmethod
    def go_on_recording(self, other: Divided | None) -> None:
        """Go on with the recordings of another one, or with those in files."""

    @abstractmethod
    def release(self) -> None:
        """Give back the memory, but not what inputs and recorders have open."""

    @abstractmethod
    def settle(self) -> None:
        """Let recordings in files be as far as the run."""

    @abstractmethod
    def write_once(self, work: Callable[[], None]) -> None:
        """Write a file on one rank; an error of it is one of all."""

    @abstractmethod
    def having(self, name: str) -> Numbers:
        """Return the components that have a variable, a state or a parameter."""

    @abstractmethod
    def components(
        self, numbers: Numbers, changed: Any, said: str, parts: Sequence[GroupPart], shape: Any
    ) -> Components:
        """Return some components, whose values can be read and set."""

    @abstractmethod
    def synapses(self, links: Connections) -> Synapses:
        """Return the synapses of connections of the whole that learn."""

    @abstractmethod
    def described(self) -> list[DescribedPart]:
        """Return what each part consists of, on every rank."""

    @abstractmethod
    def current(self, circuit: Circuit) -> Circuit:
        """Return the circuit with the parameters that have been set."""


@contextmanager
def advancing(one: Divided) -> Iterator[None]:
    """Let a simulation know that it does steps."""
    one.advancing = True
    try:
        yield
    finally:
        one.advancing = False
