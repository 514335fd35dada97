"""What rules of plasticity read beside their own numbers: traces, doses and levels."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Trace:
    """A number that jumps at events and decays in between.

    Parameters
    ----------
    tau : str
        Parameter or constant of the rule with its time constant in ms.
    jump : float or str
        What an event adds, or a parameter or constant with it.
    nearest : bool
        Whether an event sets the trace to ``jump`` instead of adding it.
    doc : str
        What it is.
    """

    tau: str
    jump: float | str = 1.0
    nearest: bool = False
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Doses:
    """A third factor that all synapses of a projection share, such as dopamine.

    A spike of a neuron that releases it, or a call from Python, adds a dose. It decays in between.

    Parameters
    ----------
    tau : str
        Parameter or constant of the rule with its time constant in ms.
    jump : float or str
        What a dose adds, or a parameter or constant with it.
    doc : str
        What it is.
    """

    tau: str
    jump: float | str = 1.0
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Level:
    """A third factor that is a variable of a component, as it is in the present step.

    Texts of each step and of intervals read it. A factor of each target is a variable of the
    target, which the synapse sees as late as the target's spikes. Texts of arrivals read it, too.

    Parameters
    ----------
    variable : str
        Of the component that the rule is given for this modulator, or of the target.
    doc : str
        What it is.
    per : {"", "target"}
        Whether all synapses share it, or those of each target.
    """

    variable: str
    doc: str = ""
    per: str = ""
