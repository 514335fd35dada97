"""The layers and paths of a network, as they are declared."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from neurodriver.arguments import some
from neurodriver.errors import CircuitError, quoted

from .pairs import SynapsePairs


@dataclass(eq=False)
class NetworkLayer:
    """A layer of a network. `Network.layer` makes it.

    Attributes
    ----------
    shape : tuple of int
        Number of units along each axis. The last axis is the fastest in memory.
    own : dict
        Parameters that were given with the layer.
    number : int
        Number of the layer, in the order in which layers were added.
    classes : tuple of str
        Classes, by which `Network.set` may select it.
    driver : NetworkLayer or None
        Of a pulvinar layer: the layer that it predicts.
    modulators : dict
        Of a matrix layer: modulator -> the name by which its level is given with a trial.
    inhibited_as : list of NetworkLayer
        Other layers whose inhibition it gets if that is stronger than its own.
    """

    name: str
    kind: str
    shape: tuple[int, ...]
    own: dict[str, float | bool]
    number: int
    classes: tuple[str, ...] = ()
    driver: NetworkLayer | None = None
    modulators: dict[str, str] = field(default_factory=dict)
    inhibited_as: list[NetworkLayer] = field(default_factory=list)

    @property
    def count(self) -> int:
        """Number of units."""
        return math.prod(self.shape)

    @property
    def pools(self) -> int:
        """Number of sub-pools: a layer of shape (py, px, y, x) has py times px."""
        return int(np.prod(self.shape[:2])) if len(self.shape) == 4 else 1

    @property
    def learns_by_target(self) -> bool:
        """Whether paths into the layer learn by the difference of the phases alone."""
        return self.kind in ("target", "compare", "pulvinar")

    @property
    def hidden(self) -> bool:
        """Whether it has neither input nor target."""
        return self.kind in ("super", "ct", "matrix")

    @property
    def balanced(self) -> bool:
        """Whether its units approach target averages, by slow changes of the weights into them."""
        return self.kind in ("super", "ct")


@dataclass(eq=False)
class NetworkPath:
    """A path: the synapses from one layer to another. `Network.connect` makes it.

    Attributes
    ----------
    kind : {"forward", "back", "lateral", "inhib", "context", "maintenance", "striatal"}
    pairs : SynapsePairs
        Sender and receiver of each synapse.
    own : dict
        Parameters that were given with the path.
    number : int
        Number of the path, in the order in which paths were added.
    classes : tuple of str
        Classes, by which `Network.set` may select it.
    """

    sender: NetworkLayer
    receiver: NetworkLayer
    kind: str
    name: str
    pairs: SynapsePairs
    own: dict[str, float | bool]
    number: int
    classes: tuple[str, ...] = ()

    @property
    def conductance(self) -> str:
        """The conductance that the path increases: ``exc``, ``inh`` or ``maint``."""
        return {"inhib": "inh", "maintenance": "maint"}.get(self.kind, "exc")


def _is_size(n: object) -> bool:
    return isinstance(n, int | np.integer) and not isinstance(n, bool) and bool(n > 0)


def shape_of(name: str, given: int | Iterable[int]) -> tuple[int, ...]:
    """Return the shape of a layer; raise CircuitError if it is none."""
    sizes = (given,) if isinstance(given, int) else tuple(some(given, "shape"))
    if not sizes or not all(_is_size(n) for n in sizes):
        raise CircuitError(f"layer {quoted(name)}: a shape has whole numbers (got {given!r})")
    return tuple(map(int, sizes))


def check_driver(name: str, kind: str, shape: tuple[int, ...], driver: NetworkLayer | None) -> None:
    """Raise CircuitError for a driver that does not fit a layer, or one that is missing."""
    where = f"layer {quoted(name)}, driver"
    if (kind == "pulvinar") != (driver is not None):
        got = "none" if driver is None else "one"
        say = "a pulvinar layer needs one, and other layers have none"
        raise CircuitError(f"{where}: {say} (got {got} for kind {quoted(kind)})")
    count = math.prod(shape)
    if driver is not None and driver.count != count:
        say = f"as many units are needed as the layer has, {count}"
        raise CircuitError(f"{where}: {say} (got {quoted(driver.name)} with {driver.count})")
