"""Sweeps: one function of a circuit's parameters, computed at many points."""

from .results import open_sweep as open_sweep
from .run import sweep as sweep
