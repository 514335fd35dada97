"""Recorders: where the values of a run go."""

from .base import Block as Block
from .base import Columns as Columns
from .base import Recorder as Recorder
from .base import RecordingPlan as RecordingPlan
from .base import sampled as sampled
from .counts import CountRecorder as CountRecorder
from .hdf5 import HDF5Recorder as HDF5Recorder
from .memory import MemoryRecorder as MemoryRecorder
from .synapses import SynapseRecorder as SynapseRecorder
from .writer import Writer as Writer
