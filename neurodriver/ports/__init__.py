"""Ports: selectors, interfaces and patterns."""

from .interface import Interface as Interface
from .pattern import Pattern as Pattern
from .selector import Selector as Selector
