"""Base classes of models under their old names.

A subclass lists ``params``, ``extra_params`` and ``internals`` and overrides
``get_update_template`` (and ``maximum_dt_allowed``), or has an ``__init__`` and a ``run_step`` of
its own. Modules with such classes import everything from here with ``*``.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike

from ..errors import ModelError
from ..model.component import NDComponent
from ..native.addresses import HostArray, host_array

__all__ = [
    "BaseAxonHillockModel",
    "BaseDendriteModel",
    "BaseMembraneModel",
    "BaseSynapseModel",
    "HostArray",
    "NDComponent",
    "OrderedDict",
    "dtype_to_ctype",
    "host_array",
    "np",
]

_C_TYPES = {
    "float64": "double",
    "float32": "float",
    "int32": "int",
    "uint32": "unsigned int",
    "int64": "long long",
    "uint64": "unsigned long long",
    "int16": "short",
    "int8": "signed char",
    "uint8": "unsigned char",
    "bool": "bool",
}


def dtype_to_ctype(dtype: DTypeLike) -> str:
    """Return the C type of a numpy type.

    Raises
    ------
    ValueError
        For a type that has none.
    """
    name = np.dtype(dtype).name
    if name not in _C_TYPES:
        raise ValueError(f"no C type for {name}; known are {', '.join(_C_TYPES)}")
    return _C_TYPES[name]


class _Old:
    """What a base class offers to a ``run_step``.

    Attributes
    ----------
    compile_options : list of str
        For the CUDA compiler.
    update_func : function of PyCUDA
        The kernel of ``get_update_template``, prepared; made when it is first used, on a GPU only.
    """

    _link: Any

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

    def retrieve_buffer(self, var: str, st: Any = None) -> None:
        """Copy the first input of each component into ``self.inputs[var]``."""
        self._link.inputs(var, self.inputs[var], True)  # type: ignore[attr-defined]


def _arrays(one: Any) -> Iterator[Any]:
    """Go through the parameters of an instance."""
    return (one.params_dict[name] for name in one.params)


class BaseAxonHillockModel(_Old, NDComponent):
    """Neuron that spikes."""

    needs_code: ClassVar[bool] = True
    accesses = ["I"]
    updates = ["spike_state", "V"]


class BaseMembraneModel(_Old, NDComponent):
    """Neuron with a graded potential."""

    needs_code: ClassVar[bool] = True
    accesses = ["I"]
    updates = ["V"]


class BaseSynapseModel(_Old, NDComponent):
    """Synapse: spikes or a potential in, a conductance out."""

    needs_code: ClassVar[bool] = True
    accesses = ["spike_state"]
    updates = ["g"]


class BaseDendriteModel(_Old, NDComponent):
    """Dendrite: conductances in, a current out."""

    needs_code: ClassVar[bool] = True
    accesses = ["g", "V"]
    updates = ["I"]
