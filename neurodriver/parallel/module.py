"""``Module``: a user's own Python, run step by step beside LPUs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import NeurodriverError, PortError
from ..ports import Selector
from .directory import PortColumns

Numbers = NDArray[np.int64]
Values = NDArray[Any]


class Module:
    """Takes and gives values at ports; what happens between is a subclass's own ``run_step``.

    A Manager calls ``pre_run``, then ``run_step`` once a step, then ``post_run``. What ``run_step``
    writes to its output ports in step k stands at the input ports of others in step k + 1.

    Parameters
    ----------
    gpot_in, gpot_out : SelectorLike
        Graded input and output ports.
    spike_in, spike_out : SelectorLike
        Spiking input and output ports.
    id : str, optional
        Name of the module; the Manager sets its own.

    Attributes
    ----------
    inputs, outputs : dict
        'gpot' and 'spike' -> values of these ports, (n,) float64 in the order of the selector. A
        spike is 1, and no spike is 0. A value that nothing has sent yet stays as ``__init__`` left
        it; the default is 0.
    steps : int
        Steps done.
    max_steps : int or float
        Steps to do; infinite while the number is not known.

    Raises
    ------
    PortError
        When two of the ports have one identifier.

    Examples
    --------
    >>> class Twice(Module):
    ...     def __init__(self, **given):
    ...         super().__init__(gpot_in="/twice/in[0:3]", gpot_out="/twice/out[0:3]", **given)
    ...
    ...     def run_step(self):
    ...         self.outputs["gpot"][:] = 2.0 * self.inputs["gpot"]
    """

    def __init__(
        self,
        gpot_in: Any = "",
        gpot_out: Any = "",
        spike_in: Any = "",
        spike_out: Any = "",
        *,
        id: str | None = None,
    ) -> None:
        self.id = type(self).__name__ if id is None else str(id)
        self.steps = 0
        self.max_steps: float = float("inf")
        parts = [Selector(one).identifiers for one in (gpot_in, gpot_out, spike_in, spike_out)]
        counts = [len(part) for part in parts]
        names = [name for part in parts for name in part]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise PortError(f"module '{self.id}': port '{twice}' is named twice")
        self.values: Values = np.zeros(len(names))
        views = np.split(self.values, np.cumsum(counts)[:-1])
        self.inputs = {"gpot": views[0], "spike": views[2]}
        self.outputs = {"gpot": views[1], "spike": views[3]}
        out, spike = (np.repeat(which, counts) for which in ([0, 1, 0, 1], [0, 0, 1, 1]))
        self.ports = port_table(names, np.arange(len(names)), out == 1, spike == 1)

    def pre_run(self) -> None:
        """Get ready; called once before the first step."""

    def run_step(self) -> None:
        """Read the input ports and write the output ports, once a step; does nothing here."""

    def post_run(self) -> None:
        """Clean up; called once after the last step, also when the run has failed."""

    def run(self, steps: int) -> None:
        """Run alone, without a manager: nothing arrives at the ports."""
        if steps != int(steps) or steps < 0:
            raise NeurodriverError(f"Module.run: steps must be a whole number >= 0, got {steps!r}")
        self.max_steps = steps
        self.pre_run()
        try:
            for _ in range(int(steps)):
                self.run_step()
                self.steps += 1
        finally:
            self.post_run()

    def read(self, numbers: Numbers) -> Values:
        """Return the values of some ports, by their ``number`` in ``ports``."""
        values: Values = self.values[numbers]
        return values

    def write(self, numbers: Numbers, values: Values) -> None:
        """Set the values of some ports."""
        self.values[numbers] = values


def port_table(
    names: list[str], number: Numbers, out: NDArray[np.bool_], spike: NDArray[np.bool_]
) -> PortColumns:
    """Return the ports of a module as a manager routes them.

    Parameters
    ----------
    names : list of str
        Identifiers such as '/a/0'.
    number : (n,) int64
        What ``read`` and ``write`` are asked for.
    out, spike : (n,) bool
    """
    return PortColumns(
        np.array(names, dtype=np.str_) if names else np.empty(0, "U1"),
        number.astype(np.int64),
        out,
        spike,
        np.where(spike, "spike", "gpot"),
        np.ones(len(names), dtype=np.int64),
    )
