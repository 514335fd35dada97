"""Simulate neural circuits given as graphs."""

from . import importing as _importing  # noqa: F401  (first: what follows takes a while)
from .circuit import AllToAll as AllToAll
from .circuit import Batch as Batch
from .circuit import Circuit as Circuit
from .circuit import Connections as Connections
from .circuit import Exponential as Exponential
from .circuit import FixedInDegree as FixedInDegree
from .circuit import FixedOutDegree as FixedOutDegree
from .circuit import FixedProbability as FixedProbability
from .circuit import FixedTotal as FixedTotal
from .circuit import Lattice as Lattice
from .circuit import LogNormal as LogNormal
from .circuit import Normal as Normal
from .circuit import OneToOne as OneToOne
from .circuit import Population as Population
from .circuit import Projection as Projection
from .circuit import Selection as Selection
from .circuit import Uniform as Uniform
from .errors import CircuitError as CircuitError
from .errors import NeurodriverError as NeurodriverError
from .errors import NonFiniteError as NonFiniteError
from .inputs import ArrayInput as ArrayInput
from .inputs import BernoulliInput as BernoulliInput
from .inputs import FileInput as FileInput
from .inputs import Input as Input
from .inputs import NoiseInput as NoiseInput
from .inputs import PoissonInput as PoissonInput
from .inputs import PulseInput as PulseInput
from .inputs import RampInput as RampInput
from .inputs import RecordedInput as RecordedInput
from .inputs import StepInput as StepInput
from .inputs import UserInput as UserInput
from .io import files as _files  # noqa: F401
from .lazy import *  # noqa: F403
from .lazy import public as _public
from .model.component import Access as Access
from .model.component import NDComponent as NDComponent
from .model.component import Parameter as Parameter
from .model.component import State as State
from .model.component import Weighted as Weighted
from .model.subunits import Reaction as Reaction
from .model.subunits import Species as Species
from .model.subunits import SubUnits as SubUnits
from .native.addresses import host_array as host_array
from .plot.populations import plot_populations as plot_populations
from .plot.recording import plot_recording as plot_recording
from .recorders import HDF5Recorder as HDF5Recorder
from .recorders import MemoryRecorder as MemoryRecorder
from .results import Activity as Activity
from .results import Events as Events
from .results import Recording as Recording
from .results import Variable as Variable
from .results import open_recording as open_recording
from .run.lpu import LPU as LPU
from .version import __version__ as __version__

__all__ = _public(globals())
open = open_recording  # not in __all__: after `import *`, open() is still Python's own
