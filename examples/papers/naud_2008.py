"""The repertoire of the adaptive exponential neuron: eight patterns of one model.

The eight neurons have the same equations and get a step of current. They differ in their parameters
alone, which are those of table 1 of the paper.

Naud, R., Marcille, N., Clopath, C. & Gerstner, W. Firing patterns in the adaptive exponential
integrate-and-fire model. Biol Cybern 99, 335-347 (2008). https://doi.org/10.1007/s00422-008-0264-7

    python examples/papers/naud_2008.py [-o out/naud_2008.png]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import neurodriver as nd

# %%
# Capacitance (pF), leak (nS), reversal of the leak, threshold and slope (mV), coupling of the
# adaptation to the potential (nS), its time constant (ms), what a spike adds to it (pA), reset
# (mV), and the current (pA).
NAMES = (
    "capacitance", "leak_conductance", "resting_potential", "threshold", "slope_factor", "a",
    "tau_w", "b", "reset_potential",
)  # fmt: skip
PATTERNS = {
    "tonic spiking": (200, 10, -70, -50, 2, 2, 30, 0, -58, 500),
    "adaptation": (200, 12, -70, -50, 2, 2, 300, 60, -58, 500),
    "initial burst": (130, 18, -58, -50, 2, 4, 150, 120, -50, 400),
    "regular bursting": (200, 10, -58, -50, 2, 2, 120, 100, -46, 210),
    "delayed accelerating": (200, 12, -70, -50, 2, -10, 300, 0, -58, 300),
    "delayed regular bursting": (100, 10, -65, -50, 2, -10, 90, 30, -47, 110),
    "transient spiking": (100, 10, -65, -50, 2, 10, 90, 100, -47, 180),
    "irregular spiking": (100, 12, -60, -50, 2, -11, 130, 30, -48, 160),
}
DT, START = 1e-5, 0.05
"""Steps of 0.01 ms; when the current begins, s."""


# %%
# One population holds all eight, because parameters are columns: a number for each neuron.
def respond(seconds: float) -> nd.Recording:
    """Return potentials and spikes of the eight neurons, in the order of `PATTERNS`."""
    table = np.array(list(PATTERNS.values()), float).T
    params = dict(zip(NAMES, table, strict=False))
    cells = nd.Population("AdaptiveExpIAF", len(PATTERNS), name="cells", peak=0.0, **params)
    current = nd.StepInput("I", cells, table[-1], start=START)
    recorder = nd.MemoryRecorder([("V", None), ("spike_state", None)])
    with nd.LPU(nd.Circuit([cells]), DT, [current], [recorder]) as lpu:
        lpu.run(duration=seconds)
    return recorder.recording


# %%
# The model reports a spike at its peak, in the step in which the potential is reset. So the figure
# draws a line at each spike.
def draw(found: nd.Recording, output: Path) -> None:
    """Draw the potential of each neuron."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    size = {"figsize": (9, 7), "sharex": True, "sharey": True, "layout": "constrained"}
    figure, panels = plt.subplots(4, 2, **size)
    time = found.V.time * 1e3
    for i, (name, axes) in enumerate(zip(PATTERNS, panels.flat, strict=True)):
        axes.plot(time, found.V[:, i], color="#4477AA", lw=0.8)
        spikes = found.spikes[f"cells/{i}"] * 1e3
        axes.vlines(spikes, -45, 10, color="#4477AA", lw=0.8)
        axes.axvline(START * 1e3, color="0.8", lw=0.8, zorder=0)
        axes.set_title(name, loc="left", fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in panels[-1]:
        axes.set_xlabel("time (ms)")
    for axes in panels[:, 0]:
        axes.set_ylabel("V (mV)")
    figure.suptitle("Naud et al. 2008: one model, eight patterns")
    output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, dpi=150)


# %%
def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("-o", "--output", type=Path, help="draw a figure")
    arguments = parser.parse_args()
    found = respond(arguments.seconds)
    for i, name in enumerate(PATTERNS):
        gaps = np.diff(found.spikes[f"cells/{i}"]) * 1e3
        shown = ", ".join(f"{gap:.0f}" for gap in gaps[:8])
        print(f"{name}: {len(found.spikes[f'cells/{i}'])} spikes, intervals {shown or '-'} ms")
    if arguments.output:
        draw(found, arguments.output)
        print(arguments.output)


if __name__ == "__main__":
    main()
