"""Inputs: values that enter a circuit from outside."""

from .array import ArrayInput as ArrayInput
from .base import Chunk as Chunk
from .base import Input as Input
from .file import FileInput as FileInput
from .pulse import PulseInput as PulseInput
from .ramp import RampInput as RampInput
from .random import BernoulliInput as BernoulliInput
from .random import NoiseInput as NoiseInput
from .random import PoissonInput as PoissonInput
from .recorded import RecordedInput as RecordedInput
from .step import StepInput as StepInput
from .user import UserInput as UserInput
