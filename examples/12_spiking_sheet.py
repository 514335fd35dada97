"""A bar moves over a retina; a sheet of spiking cells with centre and surround answers its edges.

    python examples/12_spiking_sheet.py
    python examples/12_spiking_sheet.py --cells 1000 --seconds 0.05

The first one has two sheets of 40,000 cells each, the second one of a million. Both draw the figure
`out/spiking_sheet.png`.

Cells of the retina fire at random, more often where it is bright. A cell of the sheet is excited by
the retina near its place and inhibited by what is farther away. Cells of the sheet excite and
inhibit each other in the same way, with delays that grow with the distance. No connection is
stored.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import neurodriver as nd

# %%
# Two sheets are connected by rules of place: a weight is a formula of the distance.
DT, FRAME = 5e-4, 0.01
DARK, BRIGHT = 20.0, 120.0
"""Pulses into a cell of the retina per second."""

CELL = {"resting_potential": -65, "reset_potential": -65, "threshold": -50, "time_constant": 10,
        "refractory_period": 2}  # fmt: skip
CENTRE = "1.0 * exp(-d2 / 4.5) - 0.113 * exp(-d2 / 40.5)"
"""Difference of Gaussians of 1.5 and 4.5 cells, with a sum of about 0."""


def network(cells: int) -> nd.Circuit:
    """Return the retina and the sheet: squares of ``cells`` times ``cells`` on a torus."""
    side = nd.Axis.span(cells, 0, cells, period=cells)
    axes = {"y": side, "x": side}
    dark = np.full((cells, cells), DARK)
    retina = nd.Population("LeakyIAFDeltaDriven", name="retina", axes=axes, drive_rate=dark,
                           drive_weight=20.0, **CELL)  # fmt: skip
    sheet = nd.Population("LeakyIAFDeltaDriven", name="sheet", axes=axes, drive_rate=3000.0,
                          drive_weight=0.4, **CELL)  # fmt: skip
    delay = nd.Formula("5e-4 + 5e-4 * d")
    links = [
        nd.Projection(retina, sheet, nd.Within(12.0), name="filter", delay=1e-3,
                      weight=nd.Formula(f"1.6 * ({CENTRE})")),
        nd.Projection(sheet, sheet, nd.Within(12.0, autapses=False), name="lateral", delay=delay,
                      weight=nd.Formula(f"0.5 * ({CENTRE})")),
    ]  # fmt: skip
    return nd.Circuit([retina, sheet], links, seed=1)


# %%
# The bar is painted anew for each frame, as the rate of the retina.
def bar(cells: int, time: float) -> np.ndarray:
    """Return where a bar is, a fifth of the retina wide, that crosses it in half a second."""
    x = (np.arange(cells) / cells - 2.0 * time) % 1.0
    return np.tile((x > 0.1) & (x < 0.3), (cells, 1))


def run(cells: int, seconds: float) -> dict[str, np.ndarray]:
    """Return the spikes of each frame and cell: (frames, cells, cells) of both populations."""
    circuit = network(cells)
    print(circuit)
    recorder = nd.MemoryRecorder([("spike_state", None)])
    frames = round(seconds / FRAME)
    with nd.LPU(circuit, dt=DT, dtype="float32", recorders=[recorder]) as lpu:
        for frame in range(frames):
            bright = bar(cells, frame * FRAME)
            lpu["retina"].set("drive_rate", np.where(bright, BRIGHT, DARK))
            lpu.advance(round(FRAME / DT))
    spikes = recorder.recording["spike_state"]
    frame = np.minimum(((spikes.time - DT / 2) / FRAME).astype(int), frames - 1)
    at = frame * 2 * cells**2 + spikes.index  # the retina comes first
    counts = np.bincount(at, minlength=2 * frames * cells**2)
    both = counts.reshape(frames, 2, cells, cells)
    return {"retina": both[:, 0], "sheet": both[:, 1]}


def profile(spikes: np.ndarray, skip: int) -> np.ndarray:
    """Return rates (Hz) by the place along x from the middle of the bar, after some frames."""
    cells = spikes.shape[-1]
    shifted = [
        np.roll(one.mean(axis=0), cells // 2 - round((0.2 + 2.0 * frame * FRAME) * cells))
        for frame, one in enumerate(spikes)
    ]
    return np.mean(shifted[skip:], axis=0) / FRAME


# %%
LIMITS = {"retina": 200, "sheet": 100}
"""Rates that are white in the figure, Hz."""


def draw(spikes: dict[str, np.ndarray], path: Path) -> None:
    """Draw three frames of both populations, and their rates around the bar."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    frames, cells = spikes["sheet"].shape[:2]
    how = {"cmap": "magma", "origin": "lower", "interpolation": "nearest"}
    figure, axes = plt.subplots(2, 4, figsize=(13, 6), layout="constrained")
    for row, (name, counts) in zip(axes, spikes.items(), strict=True):
        for axis, frame in zip(row, (frames // 4, frames // 2, 3 * frames // 4), strict=False):
            rate = counts[max(frame - 2, 0) : frame + 1].mean(axis=0) / FRAME
            image = axis.imshow(rate, vmin=0, vmax=LIMITS[name], **how)
            axis.set(title=f"{name}, {1e3 * frame * FRAME:.0f} ms", xticks=[], yticks=[])
        figure.colorbar(image, ax=row[:3], label="rate (Hz)", aspect=12)
        row[3].plot(np.arange(cells) - cells // 2, profile(counts, frames // 4))
        row[3].axvspan(-0.1 * cells, 0.1 * cells, color="0.9", zorder=0)
        row[3].set(xlabel="cells from the middle of the bar", ylabel="rate (Hz)")
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=100)
    print(path)


# %%
if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cells", type=int, default=200, help="cells along each side")
    parser.add_argument("--seconds", type=float, default=0.4)
    parser.add_argument("--figure", type=Path, default=Path("out/spiking_sheet.png"))
    given = parser.parse_args()
    spikes = run(given.cells, given.seconds)
    inside = profile(spikes["sheet"], 4)
    middle, edge = given.cells // 2, round(0.1 * given.cells)
    near = np.abs(np.abs(np.arange(given.cells) - middle) - edge + 2) <= 2
    rates = (
        inside[near].mean(),
        inside[middle - 1 : middle + 2].mean(),
        inside[: middle // 2].mean(),
    )
    print(
        "Hz: {:.1f} inside the edges of the bar, {:.1f} in its middle, {:.1f} beyond".format(*rates)
    )
    draw(spikes, given.figure)
