"""PyNN backend: ``import neurodriver.pynn as sim``, or ``import pyNN.neurodriver`` after it.

PyNN 0.13 (Davison et al. 2009, Front Neuroinform 2:11, doi:10.3389/neuro.11.011.2008) is installed
by ``pip install "neurodriver[pynn]"``. It describes networks; neurodriver computes them.
"""

from __future__ import annotations

import sys

from ..errors import NeurodriverError

try:
    import pyNN as _pyNN
except ImportError as error:
    raise NeurodriverError(
        f'pyNN cannot be imported ({error}); pip install "neurodriver[pynn]"'
    ) from error

from pyNN import errors as errors
from pyNN import random as random
from pyNN import space as space
from pyNN.connectors import *  # noqa: F403
from pyNN.network import Network as Network
from pyNN.random import GSLRNG as GSLRNG
from pyNN.random import NumpyRNG as NumpyRNG
from pyNN.random import RandomDistribution as RandomDistribution
from pyNN.space import Space as Space
from pyNN.standardmodels import StandardCellType as _StandardCellType

from .cells import *  # noqa: F403
from .control import *  # noqa: F403
from .electrodes import *  # noqa: F403
from .populations import NDAssembly, NDPopulation, NDPopulationView
from .projections import NDProjection
from .synapses import *  # noqa: F403

Assembly, Population, PopulationView = NDAssembly, NDPopulation, NDPopulationView
Projection = NDProjection


def list_standard_models() -> list[str]:
    """Return the names of the standard cell types that this backend has."""
    kinds = (one for one in globals().values() if isinstance(one, type))
    return [one.__name__ for one in kinds if issubclass(one, _StandardCellType)]


sys.modules.setdefault("pyNN.neurodriver", sys.modules[__name__])
_pyNN.neurodriver = sys.modules[__name__]
