"""A recording in a file -> variables by name and uid, times, units; pandas, xarray, Neo."""

from .events import Events as Events
from .firing import Activity as Activity
from .firing import activity as activity
from .firing import described as described
from .joint import JointRecording as JointRecording
from .recording import Recording as Recording
from .recording import open_recording as open_recording
from .variable import Traces as Traces
from .variable import Variable as Variable
