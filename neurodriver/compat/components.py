"""Base classes of models under their old names.

A subclass lists ``params``, ``extra_params`` and ``internals`` and overrides
``get_update_template`` (and ``maximum_dt_allowed``), or has an ``__init__`` and a ``run_step`` of
its own. Modules with such classes import everything from here with ``*``.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import ClassVar

import numpy as np

from ..model.component import NDComponent
from ..native.addresses import HostArray, host_array
from .models.c_types import dtype_to_ctype as dtype_to_ctype
from .models.instance import OldInstance

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


class BaseAxonHillockModel(OldInstance, NDComponent):
    """Neuron that spikes."""

    needs_code: ClassVar[bool] = True
    accesses = ["I"]
    updates = ["spike_state", "V"]


class BaseMembraneModel(OldInstance, NDComponent):
    """Neuron with a graded potential."""

    needs_code: ClassVar[bool] = True
    accesses = ["I"]
    updates = ["V"]


class BaseSynapseModel(OldInstance, NDComponent):
    """Synapse: spikes or a potential in, a conductance out."""

    needs_code: ClassVar[bool] = True
    accesses = ["spike_state"]
    updates = ["g"]


class BaseDendriteModel(OldInstance, NDComponent):
    """Dendrite: conductances in, a current out."""

    needs_code: ClassVar[bool] = True
    accesses = ["g", "V"]
    updates = ["I"]
