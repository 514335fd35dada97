"""Direction selectivity of T4 in a connectome-constrained model of the fly's optic lobe.

A straight edge crosses the eye in twelve directions. The central T4 neurons prefer four different
directions; a map of the lattice shows the activity that an edge leaves behind. 45,669 cells and
1,513,231 connections at extent 15, parameters of the ensemble's model 000. Shown for this model and
this stimulus alone; the published result is about the whole ensemble and another renderer.

Lappalainen, J. K. et al. Connectome-constrained networks predict neural activity across the fly
visual system. Nature 634, 1132-1140 (2024). https://doi.org/10.1038/s41586-024-07939-3

    python examples/papers/lappalainen_2024.py [--extent 15]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import neurodriver as nd
from neurodriver.circuits.motion import DIRECTIONS, selectivity, sweeps
from neurodriver.circuits.optic_lobe import OpticLobe, circuit, expand

DT = 5e-3
NAMES = ["T4a", "T4b", "T4c", "T4d"]
SHOWN = 0  # direction of the edge in the map, degrees


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--extent", type=int, default=15)
    parser.add_argument("-o", "--output", type=Path, default=Path("out/lappalainen_2024.png"))
    arguments = parser.parse_args()

    # (1) the circuit and the light of all sweeps, one after the other
    lobe = expand(arguments.extent)
    made = circuit(arguments.extent)
    light = sweeps(lobe, DT)
    inputs = nd.ArrayInput({"I": (lobe.uids[light.cells], light.luminance)})

    # (2) record every T4 neuron
    cells = np.concatenate([lobe.cells_of(name) for name in NAMES])
    recorder = nd.MemoryRecorder([("V", lobe.uids[cells])])

    # (3) run
    begin = time.perf_counter()
    with nd.LPU(made, DT, [inputs], [recorder], dtype="float32") as lpu:
        lpu.run(steps=len(light.luminance))
    spent = time.perf_counter() - begin
    print(f"{made}; {lpu.time:.0f} s simulated in {spent:.1f} s")

    # (4) tuning of the central cells, and the lattice while an edge crosses
    potential = recorder.get("V")
    central = [int(np.flatnonzero(cells == lobe.central(name))[0]) for name in NAMES]
    for name, column in zip(NAMES, central, strict=True):
        on = selectivity(potential[:, column], light.spans)["on"]
        print(f"{name}: DSI {on['dsi']:.2f} at {on['direction']:.0f} degrees")
    figure = draw(lobe, cells, potential, light.spans, central)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(arguments.output, dpi=150)
    print(arguments.output)


def draw(
    lobe: OpticLobe, cells: np.ndarray, potential: np.ndarray, spans: dict, central: list[int]
) -> plt.Figure:
    """Draw a polar plot of each type over a map of its responses on the lattice."""
    figure = plt.figure(figsize=(11, 5.6), layout="constrained")
    grid = figure.add_gridspec(2, len(NAMES))
    angle = np.deg2rad([*DIRECTIONS, DIRECTIONS[0]])
    sweep = spans["on", SHOWN]
    middle = sweep.start + (sweep.stop - sweep.start) // 3
    for i, (name, column) in enumerate(zip(NAMES, central, strict=True)):
        polar = figure.add_subplot(grid[0, i], projection="polar")
        for contrast, colour in (("on", "tab:orange"), ("off", "0.6")):
            peaks = [max(potential[spans[contrast, d], column].max(), 0.0) for d in DIRECTIONS]
            polar.plot(angle, [*peaks, peaks[0]], color=colour, label=contrast.upper())
        polar.set_title(name, weight="bold")
        polar.set_xticks(np.deg2rad([0, 90, 180, 270]))
        polar.tick_params(labelsize=7)
        if i == 0:
            polar.legend(fontsize=7, loc="lower left", bbox_to_anchor=(-0.35, -0.1))
        axes = figure.add_subplot(grid[1, i])
        mine = np.isin(cells, lobe.cells_of(name))
        x, y = lobe.position(lobe.u[cells[mine]], lobe.v[cells[mine]])
        size = 2.2e4 / (2 * lobe.extent + 1) ** 2
        response = np.maximum(potential[middle, mine], 0.0)
        dots = axes.scatter(x, y, c=response, marker="h", s=size, cmap="inferno", linewidths=0)
        axes.set_aspect("equal")
        axes.axis("off")
        figure.colorbar(dots, ax=axes, shrink=0.7).ax.tick_params(labelsize=7)
    figure.suptitle(
        f"T4 in the optic lobe: peak of max(V, 0) by direction of the edge (top); activity "
        f"on the lattice while a bright edge moves at {SHOWN} degrees (bottom)",
        fontsize=10,
    )
    return figure


if __name__ == "__main__":
    main()
