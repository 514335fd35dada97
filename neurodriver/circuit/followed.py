"""How connections are followed from component to component: methods of `Circuit`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .builders import BUILDERS
from .numbered import Column


class CircuitNeighbours:
    """Base of `Circuit`: what leads to a component, and from it."""

    def inputs_of(self, uid: str) -> dict[str, Column]:
        """Return what leads to a component, also by rules whose connections are stored nowhere.

        Columns are ``variable``, ``access``, ``uid`` (of the sources), ``weight`` and ``delay``
        (s), one entry for each connection, in the order in which the component takes them. What a
        text reads by position is no connection: a CircuitWarning names the populations.
        """
        return BUILDERS["inputs_of"](self, uid)  # type: ignore[return-value]

    def outputs_of(self, uid: str) -> dict[str, Column]:
        """Return where a component leads; ``uid`` are the targets. See `inputs_of`."""
        return BUILDERS["outputs_of"](self, uid)  # type: ignore[return-value]

    def trace(self, uid: str, populations: Sequence[str]) -> list[Column]:
        """Follow connections back through populations, one after the other.

        For example ``circuit.trace("s2/7", ["c1", "s1"])`` returns the uids of the cells of c1 that
        lead to this cell, and of the cells of s1 that lead to any of those. Connections by rules
        count, too, whether they are stored or not. What texts read by position does not: a
        CircuitWarning names the populations.

        Parameters
        ----------
        populations : sequence of str
            Names of populations; the nearest one to the component comes first.

        Returns
        -------
        list of (n,) str
            Uids of each population in the order of its components, each once.

        Raises
        ------
        CircuitError
            For a component or a population that the circuit does not have.
        """
        return BUILDERS["trace"](self, uid, populations)  # type: ignore[return-value]

    def memory(self, backend: str = "cpu", dt: float = 1e-3, dtype: Any = "float64") -> Any:
        """Return how much memory the circuit needs on a backend, before anything starts.

        The circuit is compiled for it, and no device is opened. Buffers of recordings and of inputs
        are not counted, nor is the code.

        Parameters
        ----------
        backend : {"cpu", "cuda"}
        dt : float
            Step in seconds. With a shorter one more rows are kept for delays.
        dtype : {"float64", "float32"}

        Returns
        -------
        MemoryNeeded
            Bytes by what they are for, the largest part first; ``total`` is the sum.

        Raises
        ------
        NeurodriverError
            For a backend that does not exist, and as `LPU` for a circuit that cannot be compiled.
        """
        return BUILDERS["memory"](self, backend, dt, dtype)
