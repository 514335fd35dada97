"""The states of Brunel's network over inhibition and outside input, as in figure 2 of the paper.

The network of `brunel_2000.py` is simulated for each pair of ``g``, the strength of inhibition
over that of excitation, and ``eta``, the outside input over what reaches the threshold. Below
``g = 4`` excitation wins: the neurons fire together, as fast as they can. Above it inhibition wins.
Then they fire irregularly, and together only where the input is very weak or very strong.

Brunel, N. Dynamics of sparsely connected networks of excitatory and inhibitory spiking neurons.
J Comput Neurosci 8, 183-208 (2000). https://doi.org/10.1023/A:1008925309027

    python examples/papers/brunel_2000_states.py [-o out/brunel_states.png]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
from brunel_2000 import DT, START, network
from numpy.typing import NDArray

import neurodriver as nd
from neurodriver.results import activity

# %%
# The values at which the network is simulated. Four of them are the examples of the paper.
G = (3.0, 4.5, 5.0, 6.0, 8.0)
ETA = (0.9, 2.0, 3.0, 4.0)
BIN = 5e-4
"""s."""

CORNERS = {"SR": (3.0, 2.0), "AI": (5.0, 2.0), "SI, fast": (6.0, 4.0), "SI, slow": (4.5, 0.9)}
"""The four states of the paper: synchronous or asynchronous, regular or irregular."""


class State(NamedTuple):
    """How a network fires; rate in Hz, spikes (time in s, neuron)."""

    rate: float
    irregularity: float
    variation: float
    time: NDArray[np.float64]
    neuron: NDArray[np.int64]


# %%
# One network: its spikes, the mean rate, the CV of the intervals, and how much the activity of all
# neurons varies: the standard deviation of the number of spikes in 0.5 ms over its mean.
def state(neurons: int, g: float, eta: float, seconds: float) -> State:
    """Return the state of a network."""
    circuit, inputs, populations = network(neurons, g, eta)
    recorder = nd.MemoryRecorder([("spike_state", None)])
    with nd.LPU(circuit, DT, inputs, [recorder]) as lpu:
        lpu.run(duration=seconds)
    spikes = recorder.get("spike_state")
    found = activity(**spikes, populations=populations, stop=seconds, start=START)[0]
    counts = np.histogram(spikes["time"], np.arange(START, seconds, BIN))[0]
    variation = float(counts.std() / counts.mean())
    return State(found.rate, found.cv, variation, spikes["time"], spikes["index"])


# %%
# Three maps show the plane. Four rasters show a corner each.
def draw(plane: dict[tuple[float, float], State], output: Path) -> None:
    """Draw rate, irregularity and synchrony over the plane, and the spikes of four states."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.colors import LogNorm

    figure = plt.figure(figsize=(10, 6), layout="constrained")
    upper, lower = figure.subfigures(2, 1, height_ratios=[1.1, 1])
    inhibition, outside = (sorted(set(axis)) for axis in zip(*plane, strict=True))
    titles = ("rate (Hz)", "CV of the intervals", "variation of the activity")
    for i, (title, axes) in enumerate(zip(titles, upper.subplots(1, 3), strict=True)):
        values = np.array([[plane[x, y][i] for x in inhibition] for y in outside])
        norm = LogNorm() if i == 0 else None
        image = axes.imshow(values, origin="lower", aspect="auto", cmap="viridis", norm=norm)
        axes.set(title=title, xlabel="$g$", ylabel="$\\eta$")
        axes.set_xticks(range(len(inhibition)), [f"{x:g}" for x in inhibition])
        axes.set_yticks(range(len(outside)), [f"{y:g}" for y in outside])
        figure.colorbar(image, ax=axes)
    corners = {name: at for name, at in CORNERS.items() if at in plane}
    rasters = lower.subplots(1, len(CORNERS), sharey=True)
    for axes, (name, (g, eta)) in zip(rasters, corners.items(), strict=False):
        one = plane[g, eta]
        end = one.time.max(initial=0.2)
        shown = (one.neuron < 50) & (one.time > end - 0.2)
        axes.plot(
            (one.time[shown] - end + 0.2) * 1e3, one.neuron[shown], ".", ms=2.5, color="#222222"
        )
        axes.set(title=f"{name}: $g$ = {g:g}, $\\eta$ = {eta:g}", xlabel="time (ms)", xlim=(0, 200))
        axes.title.set_fontsize(10)
        axes.spines[["top", "right"]].set_visible(False)
    lower.axes[0].set_ylabel("neuron")
    output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, dpi=150)


# %%
def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--neurons", type=int, default=12_500)
    parser.add_argument("--g", type=float, nargs="+", default=G, help="inhibition to excitation")
    parser.add_argument("--eta", type=float, nargs="+", default=ETA, help="input to threshold")
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("-o", "--output", type=Path, help="draw a figure")
    arguments = parser.parse_args()
    plane = {
        (float(g), float(eta)): state(arguments.neurons, g, eta, arguments.seconds)
        for g in arguments.g
        for eta in arguments.eta
    }
    for (g, eta), one in plane.items():
        values = f"{one.rate:.1f} Hz, CV {one.irregularity:.2f}, variation {one.variation:.2f}"
        print(f"g {g:g}, eta {eta:g}: {values}")
    if arguments.output:
        draw(plane, arguments.output)
        print(arguments.output)


if __name__ == "__main__":
    main()
