"""Synapses that tire and synapses that warm up: what they transmit at each rate.

Sources spike regularly at rates from 1 to 50 Hz. Each has a synapse that depresses and one that
facilitates. After some seconds each spike carries a stationary amplitude, for which there is a
closed form: with e = exp(-T / tau) for the interval T,

    u = U / (1 - (1 - U) e_f),    x = (1 - e_d) / (1 - (1 - u) e_d),    amplitude = w u x.

Depressing synapses transmit less with each spike at high rates, so that what they transmit in a
second comes to a limit. Facilitating ones transmit most at a rate in between.

The simulated amplitudes equal the closed form within 1e-12 of the weight.

Tsodyks, M. V. & Markram, H. The neural code between neocortical pyramidal neurons depends on
neurotransmitter release probability. Proc Natl Acad Sci USA 94, 719-723 (1997).
https://doi.org/10.1073/pnas.94.2.719
Parameters: Maass, W. & Markram, H. Synapses as dynamic memory buffers. Neural Netw 15, 155-161
(2002). https://doi.org/10.1016/S0893-6080(01)00144-7

    python examples/papers/tsodyks_markram_1997.py [-o out/tsodyks_markram_1997.png]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import neurodriver as nd

# %%
# Sources that spike regularly, and two kinds of synapses.
DT = 1e-3
INTERVALS = np.array([20, 25, 40, 50, 67, 100, 125, 200, 333, 500, 1000])
"""Steps between the spikes of each source: 50 to 1 Hz."""

WEIGHT = 200.0
"""pA."""

SYNAPSES = {
    "depressing": nd.ShortTerm(U=0.5, tau_d=800.0, tau_f=0.0),
    "facilitating": nd.ShortTerm(U=0.15, tau_d=130.0, tau_f=530.0),
}
NEURON = {
    "resting_potential": -70.0, "threshold": 1e3, "reset_potential": -70.0, "time_constant": 40.0,
    "capacitance": 400.0, "tau_exc": 3.0, "tau_inh": 3.0,
}  # fmt: skip


def network() -> nd.Circuit:
    """Return the circuit: for each rate a source, and for each kind of synapse a target."""
    count = len(INTERVALS)
    populations = {"sources": nd.Population("SpikeSource", count)}
    links = []
    for name, rule in SYNAPSES.items():
        populations[f"{name} targets"] = nd.Population("LeakyIAFExpCurrent", count, **NEURON)
        ends = populations["sources"], populations[f"{name} targets"]
        links.append(
            nd.Projection(
                *ends, nd.OneToOne(), receptor="exc", weight=WEIGHT, plasticity=rule, name=name
            )
        )
    return nd.Circuit(populations, links, name="tsodyks 1997")


# %%
# The closed form, and the simulation.
def stationary(rule: nd.Plasticity, interval: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the closed form of the amplitude over the weight; ``interval`` in ms."""
    share, tau_d, tau_f = (rule.values[name] for name in ("U", "tau_d", "tau_f"))
    kept_f = np.exp(-interval / tau_f) if tau_f else 0.0
    kept_d = np.exp(-interval / tau_d)
    u = share / (1 - (1 - share) * kept_f)
    return u * (1 - kept_d) / (1 - (1 - u) * kept_d)


def transmit(seconds: float) -> tuple[dict[str, NDArray[np.float64]], nd.Recording]:
    """Return the amplitude of the last spike over the weight, for each kind and source; and V."""
    circuit = network()
    steps = round(seconds / DT)
    spikes = np.zeros((steps, len(INTERVALS)))
    for i, interval in enumerate(INTERVALS):
        spikes[100::interval, i] = 1.0
    sources = circuit.populations["sources"].uids.tolist()
    feed = nd.ArrayInput({"spike_state": (sources, spikes)})
    recorder = nd.MemoryRecorder([("V", None)])
    with nd.LPU(circuit, DT, [feed], [recorder]) as lpu:
        lpu.run(steps=steps)
        found = {name: lpu[name].get("u") * lpu[name].get("x") for name in SYNAPSES}
        return found, lpu.recording


# %%
def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("-o", "--output", type=Path, help="draw a figure")
    arguments = parser.parse_args()
    found, recording = transmit(arguments.seconds)
    print("rate, Hz  " + "".join(f"{name:>14}" for name in found))
    for i, interval in enumerate(INTERVALS):
        row = "".join(f"{amplitude[i]:14.6f}" for amplitude in found.values())
        print(f"{1 / (interval * DT):8.1f}  {row}")
    for name, amplitude in found.items():
        off = abs(amplitude - stationary(SYNAPSES[name], INTERVALS * DT * 1e3)).max()
        print(f"{name}: differs from the closed form by {off:.1e} of the weight")
    if arguments.output:
        draw(found, recording, arguments.output)
        print(arguments.output)


def draw(found: dict[str, NDArray[np.float64]], recording: nd.Recording, output: Path) -> None:
    """Draw the first second of two targets at 20 Hz, and stationary amplitudes at all rates."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained")
    colours = "#4477AA", "#CC6677"
    chosen = int(np.flatnonzero(INTERVALS == 50)[0])
    interval = np.geomspace(20.0, 1000.0, 200)
    for axes, colour, (name, amplitude) in zip(panels, colours, found.items(), strict=False):
        potential = recording.V[f"{name} targets/{chosen}"][:1000]
        axes.plot(np.arange(len(potential)) * DT, potential, color=colour)
        axes.set(title=f"{name}, 20 Hz", xlabel="time (s)", ylabel="V (mV)")
        panels[2].plot(1e3 / interval, stationary(SYNAPSES[name], interval), color="#BBBBBB")
        panels[2].plot(1 / (INTERVALS * DT), amplitude, "o", color=colour, label=name)
    panels[2].set(title="stationary", xlabel="rate (Hz)", ylabel="amplitude / weight", xscale="log")
    panels[2].legend(frameon=False)
    figure.suptitle("Tsodyks & Markram 1997: depression and facilitation")
    output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, dpi=150)


if __name__ == "__main__":
    main()
