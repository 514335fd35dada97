"""The ports of the old library: tables of pandas, tuples, port mappers and the routing table."""

from .checks import Route as Route
from .checks import check_fan_in as check_fan_in
from .checks import find_fan_in as find_fan_in
from .checks import infer_types as infer_types
from .interface import Interface as Interface
from .interface import are_compatible as are_compatible
from .methods import SelectorMethods as SelectorMethods
from .methods import SelectorParser as SelectorParser
from .pattern import Pattern as Pattern
from .port_mapper import BasePortMapper as BasePortMapper
from .port_mapper import PortMapper as PortMapper
from .routing import RoutingTable as RoutingTable
from .selector import Selector as Selector
