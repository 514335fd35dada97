"""Circuits: from a file, a graph or arrays to checked columns."""

from .arrays import from_arrays as from_arrays
from .axis import Axis as Axis
from .batch import Batch as Batch
from .circuit import Circuit as Circuit
from .circuit import Connections as Connections
from .circuit import Group as Group
from .circuit import Port as Port
from .copied import copy as _copy  # noqa: F401
from .distributions import Exponential as Exponential
from .distributions import LogNormal as LogNormal
from .distributions import Normal as Normal
from .distributions import Uniform as Uniform
from .formula import Formula as Formula
from .neighbours import inputs_of as _inputs_of  # noqa: F401
from .place_rules import Near as Near
from .place_rules import Offsets as Offsets
from .place_rules import Within as Within
from .population import Population as Population
from .population_view import PopulationView as PopulationView
from .projections import Projection as Projection
from .rules import AllToAll as AllToAll
from .rules import FixedInDegree as FixedInDegree
from .rules import FixedOutDegree as FixedOutDegree
from .rules import FixedProbability as FixedProbability
from .rules import FixedTotal as FixedTotal
from .rules import Lattice as Lattice
from .rules import OneToOne as OneToOne
from .selection import Selection as Selection
from .silence import silence as _silence  # noqa: F401
from .stimulate import stimulate as _stimulate  # noqa: F401
