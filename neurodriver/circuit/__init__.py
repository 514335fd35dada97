"""Circuits: from a file, a graph or arrays to checked columns."""

from .circuit import Circuit as Circuit
from .circuit import Connections as Connections
from .circuit import Group as Group
from .circuit import Port as Port
