"""The table of adapters: what packages beside the core add to it, imported when it is needed.

The core asks for the adapters of a kind and knows nothing else of the packages that provide them.
It runs without a package that is not there.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

ADAPTERS: dict[str, tuple[str, ...]] = {
    "graph form": (
        "neurodriver.compat.base_classes.form:BaseClassForm",
        "neurodriver.compat.legacy.graphs:LegacyForm",
    ),
    "input file": ("neurodriver.compat.legacy.inputs:LegacyFile",),
    "model": ("neurodriver.compat.models.adapter:OldModel",),
    "parts": ("neurodriver.parallel.parts:PartsAdapter",),
    "view": ("neurodriver.view.notebook:ViewAdapter",),
}
"""Kind of adapter -> ``module:class``.

* graph form: a `neurodriver.circuit.forms.GraphForm`
* input file: a `neurodriver.inputs.file.InputFile`
* model: a `neurodriver.model.runtime.ModelAdapter`
* parts: what gives an LPU of several parts its simulation
* view: what shows an LPU in a notebook
"""

MODEL_NAMES = {
    "extra_params": "declaration",
    "get_update_template": "kernel",
    "int_params": "declaration",
    "internals": "declaration",
    "maximum_dt_allowed": "limit",
}
"""Name in the body of a model class that only an adapter understands -> what it says."""

MODEL_VIEWS = ("extra_params", "get_update_template", "int_params", "internals")
"""Names that every model class has, so that a subclass can build on them."""

NAMES = {"LegacyInput": "compat.legacy.inputs"}
"""Names of the package ``neurodriver`` -> modules beside the core that hold them."""

if TYPE_CHECKING:
    LegacyInput: Any

__all__ = ["LegacyInput"]


@cache
def adapters(kind: str) -> tuple[Any, ...]:
    """Return an instance of every adapter of a kind."""
    places = [place.partition(":") for place in ADAPTERS[kind]]
    return tuple(
        getattr(import_module(module), name)() for module, _, name in places if _exists(module)
    )


def _exists(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # a package above it
        return False
