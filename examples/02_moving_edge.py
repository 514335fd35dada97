"""Edges move across the fly's eye in twelve directions; T4 neurons answer some and not others.

    python examples/02_moving_edge.py out/moving_edge.png

This does all in one process. `scripts/demo` does it in three steps, with a file of the light and
a recording:

    python examples/02_moving_edge.py stimulus out/moving_edge.h5
    neurodriver run data/circuits/optic_lobe_extent3.gexf.gz --dt 5e-3 --duration ... \
        --input out/moving_edge.h5 --input-mode repeat -r V:T4a/0/0,... -f -o out/optic_lobe.h5
    python examples/02_moving_edge.py report out/optic_lobe.h5 out/optic_lobe.png

The stimulus is the light on the photoreceptors R1 to R8 of 37 columns. The report compares the
central T4a to T4d with an independent SciPy simulation and draws them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import h5py
import numpy as np

import neurodriver as nd
from neurodriver.circuits.motion import DIRECTIONS, selectivity, sweeps
from neurodriver.circuits.optic_lobe import expand
from neurodriver.results import Recording

# %%
# The circuit has 37 columns. The four cells of the central column are recorded.
EXTENT = 3
DT = 5e-3
CELLS = [f"T4{name}/0/0" for name in "abcd"]
REFERENCE = Path(__file__).parents[1] / "data" / "reference" / "optic_lobe_extent3.json"
PEAK_TOLERANCE, DSI_TOLERANCE, ANGLE_TOLERANCE = 1e-3, 1e-3, 0.5  # sweeps follow each other here


# %%
# Light is a current into the photoreceptors. For each direction the eye is grey for two seconds,
# and then an edge moves across it.
def run(figure: Path) -> int:
    """Run the circuit in this process, and draw the responses."""
    lobe = expand(EXTENT)
    light = sweeps(lobe, DT)
    edges = nd.ArrayInput({"I": (lobe.uids[light.cells].tolist(), light.luminance)}, mode=1)
    with nd.LPU(nd.example("optic_lobe_extent3"), DT, [edges]) as lpu:
        lpu.run(steps=len(light.luminance), record=[("V", CELLS)])
    potential = lpu.recording.V[CELLS][:]
    for cell, trace in zip(CELLS, potential.T, strict=True):
        found = selectivity(trace, light.spans)["on"]
        print(f"{cell[:3]}: preferred direction {found['direction']:.0f} degrees")
    draw(potential, light.spans, figure)
    print(figure)
    return 0


# %%
# With files: the light as an input, and a report on a recording.
def stimulus(path: Path) -> None:
    """Write the light as an input file and print the duration and the cells to record."""
    lobe = expand(EXTENT)
    light = sweeps(lobe, DT)
    with h5py.File(path, "w") as file:
        file["I/uids"] = np.strings.encode(lobe.uids[light.cells], "utf-8")
        file.create_dataset("I/data", data=light.luminance, compression="gzip")
    print(len(light.luminance) * DT, ",".join(CELLS))


def report(recording: Path, figure: Path) -> int:
    """Print the tuning of the T4 neurons, draw it, and compare it with the reference."""
    spans = sweeps(expand(EXTENT), DT).spans
    reference = json.loads(REFERENCE.read_text(encoding="utf-8"))["responses"]
    failed = 0
    with Recording(recording) as result:
        potential = np.asarray(result.data("V", CELLS))
    print("cell  peak   at (deg)  selectivity   reference: peak   at (deg)  selectivity")
    for cell, trace in zip(CELLS, potential.T, strict=True):
        got = selectivity(trace, spans)["on"]
        want = reference[cell[:3]]["on"]
        target = (want["maximum"], want["preferred_direction_deg"], want["dsi"])
        found = (got["peak"], got["direction"], got["dsi"])
        turn = abs((found[1] - target[1] + 180) % 360 - 180)
        near = abs(found[0] - target[0]) < PEAK_TOLERANCE and turn < ANGLE_TOLERANCE
        good = near and abs(found[2] - target[2]) < DSI_TOLERANCE
        failed += not good
        row = "{:.4f}  {:7.1f}  {:11.4f}"
        mark = "=" if good else "!"
        print(f"{cell[:3]}   {row.format(*found)}   {mark}         {row.format(*target)}")
    draw(potential, spans, figure)
    print(recording, figure, sep="\n")
    return 1 if failed else 0


# %%
# The figure: polar plots of the peak by direction, and the responses in the same colours.
def draw(potential: np.ndarray, spans: dict, figure: Path) -> None:
    """Draw the responses to ON edges: traces by direction, and tuning as polar plots."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig = plt.figure(figsize=(11, 5.2), layout="constrained")
    grid = fig.add_gridspec(2, 4, height_ratios=[1.1, 1])
    colours = plt.get_cmap("twilight")(np.linspace(0, 1, len(DIRECTIONS), endpoint=False))
    angle = np.deg2rad([*DIRECTIONS, DIRECTIONS[0]])
    for i, (cell, trace) in enumerate(zip(CELLS, potential.T, strict=True)):
        polar = fig.add_subplot(grid[0, i], projection="polar")
        peaks = [max(trace[spans["on", d]].max(), 0.0) for d in DIRECTIONS]
        polar.plot(angle, [*peaks, peaks[0]], color="0.2", lw=1.5)
        polar.scatter(angle[:-1], peaks, c=colours, s=30, zorder=3)
        polar.set_title(cell[:3], weight="bold")
        polar.set_xticks(np.deg2rad([0, 90, 180, 270]))
        polar.tick_params(labelsize=7)
        polar.yaxis.set_major_locator(plt.MaxNLocator(3))
        polar.set_rlabel_position(DIRECTIONS[int(np.argmax(peaks))] + 165)  # where no line is
        polar.set_ylim(0, 1.15 * max(peaks))
        axes = fig.add_subplot(grid[1, i])
        for d, colour in zip(DIRECTIONS, colours, strict=True):
            response = np.maximum(trace[spans["on", d]], 0.0)
            axes.plot(np.arange(len(response)) * DT * 1e3, response, color=colour, lw=1.2)
        axes.set_xlabel("time since the edge starts (ms)", fontsize=8)
        axes.set_ylabel("V above 0" if i == 0 else "", fontsize=8)
        axes.tick_params(labelsize=7)
        axes.spines[["top", "right"]].set_visible(False)
    fig.suptitle("Central T4 neurons of the fly's optic lobe: bright edges in twelve directions")
    fig.savefig(figure, dpi=150)


# %%
if __name__ == "__main__":
    given = sys.argv[1:] or ["out/moving_edge.png"]
    commands = {"stimulus": stimulus, "report": report}
    command = commands.get(given[0], run)
    if status := command(*map(Path, given[1:] if given[0] in commands else given)):
        sys.exit(status)
