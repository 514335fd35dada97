"""Experiments as files: LPUs, patterns, inputs and recordings in TOML or YAML."""

from .load import Experiment as Experiment
from .load import load_experiment as load_experiment
