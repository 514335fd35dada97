"""Error-driven learning in layers: networks such as those of Axon, their trials and statistics."""

from .circuit import circuit_of as circuit_of
from .layers import NetworkLayer as NetworkLayer
from .layers import NetworkPath as NetworkPath
from .network import Network as Network
from .neuron import AxonArrivals as AxonArrivals
from .neuron import AxonNeuron as AxonNeuron
from .neuron import AxonPoolArrivals as AxonPoolArrivals
from .neuron import AxonPoolNeuron as AxonPoolNeuron
from .patterns import Circle as Circle
from .patterns import PathPattern as PathPattern
from .patterns import PoolOneToOne as PoolOneToOne
from .patterns import PoolTile as PoolTile
from .patterns import Rectangle as Rectangle
from .patterns import UniformRandom as UniformRandom
from .statistics import Log as Log
from .synapse import AxonSynapse as AxonSynapse
from .table import Table as Table
from .table import stop_after_zero as stop_after_zero
from .trainer import Trainer as Trainer
