"""A recording in a file -> variables by name and uid, times, units; pandas, xarray, Neo."""

from .batch import BatchRecording as BatchRecording
from .events import Events as Events
from .firing import Activity as Activity
from .firing import activity as activity
from .firing import described as described
from .joint import JointRecording as JointRecording
from .joint import open_recording as open_recording
from .recording import Recording as Recording
from .trains import train_measures as train_measures
from .variable import Variable as Variable
