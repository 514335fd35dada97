"""What instances of models had in the old library beside ``pre_run``, ``run_step`` and inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ...errors import ModelError, near
from ...model.instance import Instance
from .c_types import dtype_to_ctype
from .template_of import template_of


class OldInstance(Instance):
    """An instance with the helpers of the old base classes.

    Attributes
    ----------
    internal_states : dict of array
        Internal states of a class with a kernel.
    compile_options : list of str
        For the CUDA compiler.
    update_func : function of PyCUDA
        The kernel of ``get_update_template``, prepared; made when it is first used, on a GPU only.
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

    @cached_property
    def compile_options(self) -> list[str]:
        return []

    @cached_property
    def update_func(self) -> Any:
        one: Any = self
        types = {"dt": one.dtype}
        types.update({f"input_{name}": one.dtype for name in one.accesses})
        types.update({f"param_{name}": one.params_dict[name].dtype for name in one.params})
        types.update({f"internal_{name}": one.dtype for name in one.internals})
        types.update({f"update_{name}": one.dtype for name in one.updates})
        return self.get_update_func(types)

    def get_update_func(self, dtypes: Mapping[str, Any]) -> Any:
        """Compile the template with PyCUDA.

        Parameters
        ----------
        dtypes : mapping of str to dtype
            Of the placeholders ``dt``, ``input_<variable>``, ``param_<name>``,
            ``internal_<name>`` and ``update_<variable>``, in the order of the arguments.

        Raises
        ------
        ModelError
            On the CPU.
        """
        one: Any = self
        if any(isinstance(array, np.ndarray) for array in (*one.inputs.values(), *_arrays(one))):
            raise ModelError(
                f"{type(self).__name__} starts its kernel itself, which takes a GPU "
                f"(NEURODRIVER_BACKEND=cuda); on the CPU super().run_step(update_pointers) does it"
            )
        from pycuda.compiler import SourceModule

        names = {name: dtype_to_ctype(dtype) for name, dtype in dtypes.items()}
        names["fletter"] = "f" if np.dtype(one.dtype) == np.float32 else ""
        module = SourceModule(one.get_update_template() % names, options=self.compile_options)
        made = module.get_function("update")
        made.prepare("i" + np.dtype(dtypes["dt"]).char + "i" + "P" * (len(dtypes) - 1))
        made.block, made.grid = (128, 1, 1), ((one.num_comps - 1) // 128 + 1, 1)
        return made

    def add_initializer(
        self, param_name: str, state_name: str, update_pointers: Mapping[str, int]
    ) -> None:
        """Start a state at the value of a parameter, where the components have that parameter.

        Parameters
        ----------
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


def _arrays(one: Any) -> Iterator[Any]:
    """Go through the parameters of an instance."""
    return (one.params_dict[name] for name in one.params)
