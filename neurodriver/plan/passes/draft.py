"""``Draft``: a circuit on its way through the passes, with what each pass adds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...circuit.circuit import Circuit
from ...circuit.uids import Uids
from ..injection import Slots

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Recorded:
    """What is recorded, and where nothing is to be merged.

    Attributes
    ----------
    requests : sequence of (scope, variable, uids)
        As recorders ask for it; uids None: all of that LPU.
    apart : sequence of str
        LPUs whose synapses stay as they are.
    kept : sequence of (scope, model)
        Models of LPUs whose components stay as they are.
    """

    requests: Sequence[tuple[str | None, str, Uids | None]] = ()
    apart: Sequence[str | None] = ()
    kept: Sequence[tuple[str | None, str]] = ()


@dataclass(frozen=True)
class Merged:
    """Result of ``merge``.

    Attributes
    ----------
    circuit : Circuit
        With a hidden group at its end for each model.
    slots : Slots
    computed : dict of int to (count,) bool
        Groups of which some are merged: which ones are computed all the same.
    groups : frozenset of int
        The hidden groups.
    """

    circuit: Circuit
    slots: Slots
    computed: dict[int, Flags] = field(default_factory=dict)
    groups: frozenset[int] = frozenset()

    @property
    def partly(self) -> frozenset[int]:
        """Groups of which not everything is computed."""
        return frozenset(n for n, flags in self.computed.items() if not flags.all())

    @property
    def gone(self) -> frozenset[int]:
        """Groups of which nothing is computed."""
        return frozenset(n for n, flags in self.computed.items() if not flags.any())

    @property
    def silent(self) -> frozenset[tuple[int, str]]:
        """Groups of which nothing is computed, each with its conductance."""
        groups = self.circuit.groups
        return frozenset((n, v) for n in self.gone for v in groups[n].model.updates)

    @property
    def places(self) -> dict[int, int]:
        """Storage places of groups of which some are computed; all others share the last."""
        return {n: int(f.sum()) + 1 for n, f in self.computed.items() if n not in self.gone}

    @property
    def positions(self) -> dict[int, Numbers]:
        """Storage place of each component of such a group."""
        return {
            n: np.where(self.computed[n], np.cumsum(self.computed[n]) - 1, last - 1)
            for n, last in self.places.items()
        }


@dataclass(frozen=True)
class Draft:
    """What a pass takes and returns.

    Attributes
    ----------
    dt : float
        Step in seconds.
    targets : sequence of (variable, uids)
        What inputs inject.
    merging : Recorded, optional
        Where synapses may be merged; None: nowhere.
    slots : Slots
        Where inputs inject, once the pass ``inject`` has run.
    merged : Merged or None
        Which synapses are computed as one, once the pass ``merge`` has run.
    """

    circuit: Circuit
    dt: float
    targets: Sequence[tuple[str, Sequence[str]]] = ()
    merging: Recorded | None = None
    slots: Slots = field(default_factory=Slots)
    merged: Merged | None = None


Pass = Callable[[Draft], Draft]
