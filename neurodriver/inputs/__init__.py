"""Inputs: values that enter a circuit from outside."""

from .array import ArrayInput as ArrayInput
from .base import Chunk as Chunk
from .base import EventChunk as EventChunk
from .base import Input as Input
from .file import FileInput as FileInput
from .random import BernoulliInput as BernoulliInput
from .random import NoiseInput as NoiseInput
from .random import PoissonInput as PoissonInput
from .recorded import RecordedInput as RecordedInput
from .user import UserInput as UserInput
from .waveforms import PulseInput as PulseInput
from .waveforms import RampInput as RampInput
from .waveforms import StepInput as StepInput
