"""Simple model of spiking neurons, as published."""

from collections.abc import Mapping
from typing import ClassVar

from neurodriver.model.component import Access, NDComponent, Parameter, State, Weighted


def _preset(a: float, b: float, c: float, d: float) -> dict[str, float]:
    """Return parameters with the first u of the paper's programs, ``b V`` at -65 mV."""
    return {"a": a, "b": b, "c": c, "d": d, "initu": -65.0 * b}


class Izhikevich(NDComponent):
    """Simple model of spiking neurons, integrated as in the paper.

    ``dV/dt = 0.04 V^2 + 5 V + 140 - u + I`` and ``du/dt = a (b V - u)``: in each step V takes two
    steps of ``dt / 2`` of explicit Euler, then u one of ``dt`` from the new V. When ``V >= peak``
    the neuron spikes, ``V = c`` and u grows by d, all in the same row, so a published V is below
    the peak. At ``dt`` 1 ms, with edges of one step, rows are those of the paper's program.

    A spike that arrives adds to I, for one step, its edge's weight over ``dt`` in ms: V jumps by
    about the weight (mV), and at 1 ms the current is the weight. A spike of row k over an edge of d
    steps acts from row k + d - 1 to row k + d.

    ``presets`` holds the published parameter sets: RS regular spiking, IB intrinsically bursting,
    CH chattering, FS fast spiking, LTS low-threshold spiking, TC thalamo-cortical, RZ resonator.

    Limits: V has no refractory period; a step of 1 ms is coarse, and results depend on it.
    """

    reference = "Izhikevich 2003, IEEE Trans Neural Netw 14:1569-1572, doi:10.1109/TNN.2003.820440"
    presets: ClassVar[Mapping[str, Mapping[str, float]]] = {
        "RS": _preset(0.02, 0.2, -65.0, 8.0),
        "IB": _preset(0.02, 0.2, -55.0, 4.0),
        "CH": _preset(0.02, 0.2, -50.0, 2.0),
        "FS": _preset(0.1, 0.2, -65.0, 2.0),
        "LTS": _preset(0.02, 0.25, -65.0, 2.0),
        "TC": _preset(0.02, 0.25, -65.0, 0.05),
        "RZ": _preset(0.1, 0.26, -65.0, 2.0),
    }
    accesses = (Access("I", unit="mV/ms"), Weighted("spike_state"))
    updates = ("spike_state", "V")
    params = {
        "a": Parameter("1/ms", default=0.02, doc="rate of the recovery u"),
        "b": Parameter("1/ms", default=0.2, doc="dependence of u on V"),
        "c": Parameter("mV", default=-65.0, doc="potential after a spike"),
        "d": Parameter("mV/ms", default=8.0, doc="step of u at a spike"),
        "peak": Parameter("mV", default=30.0, doc="potential at which it fires"),
    }
    states = {
        "V": State("mV", -65.0, doc="membrane potential"),
        "u": State("mV/ms", -13.0, doc="recovery"),
    }
    constants = {"per_ms": "1 / dt_ms", "half": "dt_ms / 2"}
    terms = {"drive": "I + per_ms * input_spike_state"}
    update = """
        V += half * ((0.04 * V + 5) * V + 140 - u + drive);
        V += half * ((0.04 * V + 5) * V + 140 - u + drive);
        u += dt_ms * a * (b * V - u);
        if (V >= peak) {
            V = c;
            u += d;
            spike_state = 1;
        }
    """
