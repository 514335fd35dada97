"""What instances of models had in the old library beside ``pre_run``, ``run_step`` and inputs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

from ...custom.instance import Instance
from ...errors import ModelError, near
from .template_of import template_of


class OldInstance(Instance):
    """An instance with the helpers of the old base classes.

    Attributes
    ----------
    internal_states : dict of array
        Internal states of a class with a kernel.
    """

    _brings: ClassVar[frozenset[str] | None] = None

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

    def add_initializer(
        self, param_name: str, state_name: str, update_pointers: Mapping[str, int]
    ) -> None:
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

    def retrieve_buffer(self, var: str, st: Any = None) -> None:
        """Copy the first input of each component into ``self.inputs[var]``."""
        self._link.inputs(var, self.inputs[var], True)
