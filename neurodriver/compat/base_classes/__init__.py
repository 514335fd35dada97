"""Classes of neurons and synapses in the form of the library's first LPUs."""

from .bases import BaseNeuron as BaseNeuron
from .bases import BaseSynapse as BaseSynapse
from .graphs import read_base_classes as read_base_classes
