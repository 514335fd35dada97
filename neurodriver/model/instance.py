"""What an instance of a model is and can do: the side of ``NDComponent`` in the old style.

A model of mathematics alone never has an instance. A class that overrides one of these methods
gets one for all its components.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError, near
from .template_of import template_of

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
    debug, cuda_verbose : bool

    Attributes
    ----------
    num_comps : int
        Number of components.
    dtype : dtype
        Working type.
    internal_states : dict of array
        Internal states of a class with a kernel.
    inputs : dict of array
        Room for the inputs of each accessed variable.
    accesses, updates, params : list of str
        The names that the class declares.
    """

    backends: ClassVar[tuple[str, ...]] = ()
    """Where a class can run (``"cpu"``, ``"cuda"``). Without it: everywhere, but a class with its
    own ``run_step`` and no kernel only on a GPU if its code uses PyCUDA, else on the CPU."""

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

    @property
    def maximum_dt_allowed(self) -> float:
        """Largest sub-step in seconds."""
        longest: float | None = getattr(type(self), "maximum_dt", None)
        return self.dt if longest is None else longest

    @cached_property
    def internal_steps(self) -> int:
        """Sub-steps of a step."""
        count: int = type(self).substeps(self.dt)  # type: ignore[attr-defined]
        return count

    @cached_property
    def internal_dt(self) -> float:
        """Length of a sub-step in seconds."""
        return self.dt / self.internal_steps

    def get_update_template(self) -> str:
        """Return the CUDA kernel of the model, with placeholders for types."""
        return template_of(type(self))  # type: ignore[arg-type]

    def pre_run(self, update_pointers: Pointers) -> None:
        """Write row 0 of the updated variables; parameters ``init...`` are in it already."""

    def run_step(self, update_pointers: Pointers, st: Any = None) -> None:
        """Read rows up to the current one and write the next, at ``update_pointers``."""
        self._link.launch()

    def post_run(self) -> None:
        """Called once after the run."""

    def add_initializer(self, param_name: str, state_name: str, update_pointers: Pointers) -> None:
        """Start a state at the value of a parameter, where the components have that parameter.

        Parameters
        ----------
        param_name : str
        state_name : str
            Internal state, updated variable, or both.
        update_pointers : mapping of str to int
            As given to ``pre_run``.

        Raises
        ------
        ModelError
            When there is neither a state nor a variable of that name.
        """
        known = [*self.internal_states, *update_pointers]
        if state_name not in known:
            where = f"{type(self).__name__}: add_initializer('{param_name}', '{state_name}')"
            hint = near(state_name, known)
            raise ModelError(f"{where}: no such internal state or updated variable{hint}")
        column = self.params_dict.get(param_name)
        if column is None:
            return
        if state_name in self.internal_states:
            self._link.store(self.internal_states[state_name].gpudata, column)
        if state_name in update_pointers:
            self._link.store(update_pointers[state_name], column)

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
