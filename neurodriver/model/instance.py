"""What an instance of a model is and can do.

A model of mathematics alone never has an instance. A class that overrides one of these methods
gets one for all its components: an object of that class and of `Instance`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

Pointers = Mapping[str, int]


class Link(Protocol):
    """What a backend gives to each instance."""

    def launch(self) -> None:
        """Advance all components of the instance by one step with its compiled kernel."""

    def store(self, address: int, column: Any) -> None:
        """Copy a column to an address of the backend's memory."""

    def inputs(self, access: str, out: Any, first_only: bool) -> None:
        """Write the sum of an access's inputs, or its first input, into an array."""


class Instance:
    """All components of one model in one LPU.

    Its arrays are numpy's on the CPU and PyCUDA's on a GPU; addresses are whole numbers. On a GPU
    the context is the current one in every method, all earlier work is done when a method begins,
    and what the method starts on any stream is waited for.

    Parameters
    ----------
    params_dict : dict
        One array for each parameter, in the order of the components, and ``pre``, ``npre``,
        ``cumpre`` and ``conn_data``, each a dict by accessed variable: element of each input in
        its row (int32), inputs of each component (int32), their sums (int32, one more), and the
        numbers of each input, among them ``delay`` (int32, rows back).
    access_buffers : dict
        Ring of each accessed variable: ``gpudata``, ``ld``, ``current``, ``buffer_length``,
        ``size``, ``dtype``.
    dt : float
        Step in seconds.
    LPU_id : str
        Name of the LPU.

    Attributes
    ----------
    num_comps : int
        Number of components.
    dtype : dtype
        Working type.
    internal_states : dict of array
        What the code keeps from step to step.
    inputs : dict of array
        Room for the inputs of each accessed variable.
    accesses, updates, params : list of str
        The names that the class declares.
    """

    _brings: ClassVar[frozenset[str] | None] = None  # the methods are no code of a model

    _link: Link
    num_comps: int
    dtype: np.dtype
    internal_states: dict[str, Any]
    inputs: dict[str, Any]

    def __init__(
        self,
        params_dict: dict[str, Any],
        access_buffers: dict[str, Any],
        dt: float,
        LPU_id: str | None = None,
        debug: bool = False,
        cuda_verbose: bool = False,
    ) -> None:
        self.params_dict = params_dict
        self.access_buffers = access_buffers
        self.dt = dt
        self.LPU_id = LPU_id
        self.debug = debug
        self.cuda_verbose = cuda_verbose

    def pre_run(self, update_pointers: Pointers) -> None:
        """Write row 0 of the updated variables; parameters ``init...`` are in it already."""

    def run_step(self, update_pointers: Pointers, st: Any = None) -> None:
        """Read rows up to the current one and write the next, at ``update_pointers``."""
        self._link.launch()

    def post_run(self) -> None:
        """Called once after the run."""

    def sum_in_variable(self, var: str, out_array: NDArray[Any], st: Any = None) -> None:
        """Write the sum of each component's inputs into an array, in the order of the edges.

        Parameters
        ----------
        var : str
            Accessed variable.
        out_array : (num_comps,) array
            Of the backend's memory, in the working type.
        """
        self._link.inputs(var, out_array, False)
