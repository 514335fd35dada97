"""A recording in a file -> variables by name and uid, times, units; pandas, xarray, Neo."""

from .events import Events as Events
from .joint import JointRecording as JointRecording
from .recording import Recording as Recording
from .recording import open_recording as open_recording
from .variable import Traces as Traces
from .variable import Variable as Variable
