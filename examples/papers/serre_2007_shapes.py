"""A model of the visual cortex recognises three shapes wherever they are.

The layers S1, C1, S2 and C2 are those of `serre_2007.py`: simple cells compare, complex cells take
the greatest. C2 hardly changes when a shape moves.

Serre, T. et al. IEEE Trans Pattern Anal Mach Intell 29, 411-426 (2007).
https://doi.org/10.1109/TPAMI.2007.56

    python examples/papers/serre_2007_shapes.py [-o out/serre_2007_shapes.png]
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from serre_2007 import layers

import neurodriver as nd


# %%
# The layers are those of `serre_2007.py`. Their sizes:
@dataclass(frozen=True)
class Small:
    """Sizes of the layers, and what a pixel is."""

    shape: tuple[int, int] = (64, 64)
    extent: tuple[tuple[float, float], ...] = ((0.0, 1.0), (0.0, 1.0))
    scales: int = 2
    bands: int = 2
    factor: float = 2**0.5
    rf: int = 7
    s1_step: int = 1
    pool: int = 6
    pool_step: int = 3
    rf2: int = 8
    beta: float = 0.3


THETAS = 4
SHAPES = ("square", "disc", "cross")
SHIFT = 8
"""Pixels between two places of a shape."""


def gabors(size: int) -> np.ndarray:
    """Return filters of four orientations: no mean, length 1, (thetas, size, size)."""
    y, x = np.mgrid[:size, :size] - size // 2
    out = []
    for angle in np.pi * np.arange(THETAS) / THETAS:
        across = x * np.cos(angle) + y * np.sin(angle)
        one = np.exp(-(x**2 + y**2) / (0.18 * size**2)) * np.cos(2 * np.pi * across / 5)
        one -= one.mean()
        out.append(one / np.linalg.norm(one))
    return np.array(out)


def picture(name: str, case: Small, shift: tuple[int, int] = (0, 0)) -> np.ndarray:
    """Return the outline of a shape, some pixels from the middle."""
    y, x = np.mgrid[: case.shape[0], : case.shape[1]]
    y, x = y - case.shape[0] // 2 - shift[0], x - case.shape[1] // 2 - shift[1]
    far = {
        "square": np.abs(np.maximum(np.abs(x), np.abs(y)) - 11),
        "disc": np.abs(np.hypot(x, y) - 12),
        "cross": np.where(np.hypot(x, y) < 15, np.minimum(np.abs(x - y), np.abs(x + y)) * 0.7, 9),
    }[name]
    return np.exp(-(far**2) / 2)


# %%
# S2 needs patterns. They are what C1 gives for each shape in the middle of the picture.
def remembered(case: Small, filters: np.ndarray) -> np.ndarray:
    """Return the patterns of the shapes, (shapes, thetas, rf2, rf2)."""
    none = np.zeros((1, THETAS, case.rf2, case.rf2))
    found = layers(case, filters, none, none)
    c1 = next(one for one in found if one.name == "c1_0")
    out = []
    with nd.LPU(nd.Circuit(found, order="listed"), dt=1e-3) as lpu:
        for name in SHAPES:
            lpu["image"].set("val", picture(name, case).ravel())
            lpu.advance(1)
            seen = np.reshape(lpu["c1_0"].get("val"), c1.shape)
            y, x = ((side - case.rf2) // 2 for side in seen.shape[1:])
            out.append(seen[:, y : y + case.rf2, x : x + case.rf2])
    return np.array(out)


# %%
# Now each shape is shown at nine places. C2 answers to its shape wherever it is.
def recognise(case: Small) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return the mean of C2 (shown, remembered), and the layers for the last picture."""
    filters = gabors(case.rf)
    patterns = remembered(case, filters)
    found = layers(case, filters, patterns, np.ones_like(patterns))
    places = [(y, x) for y in (-SHIFT, 0, SHIFT) for x in (-SHIFT, 0, SHIFT)]
    mean = np.zeros((len(SHAPES), len(SHAPES)))
    with nd.LPU(nd.Circuit(found, order="listed"), dt=1e-3) as lpu:
        for shown, name in enumerate(SHAPES):
            for place in places:
                lpu["image"].set("val", picture(name, case, place).ravel())
                lpu.advance(1)
                mean[shown] += lpu["c2"].get("val") / len(places)
        values = {one.name: np.reshape(lpu[one.name].get("val"), one.shape) for one in found}
    return mean, values


def draw(mean: np.ndarray, values: dict[str, np.ndarray], output: Path) -> None:
    """Draw the layers for a picture, and what C2 makes of each shape."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 5, figsize=(13, 3.2), layout="compressed")
    shown = {
        "picture": values["image"],
        "S1, greatest of 4 orientations": values["s1_0"].max(axis=0),
        "C1, greatest of 4 orientations": values["c1_0"].max(axis=0),
        f"S2 for the {SHAPES[-1]}": values["s2_0"][-1],
    }
    for axes, (title, image) in zip(panels, shown.items(), strict=False):
        axes.imshow(image, cmap="magma")
        axes.set(xticks=[], yticks=[])
        axes.set_title(title, fontsize=9)
    image = panels[4].imshow(mean, cmap="viridis", vmin=0, vmax=1)
    panels[4].set_xticks(range(len(SHAPES)), SHAPES)
    panels[4].set_yticks(range(len(SHAPES)), SHAPES)
    panels[4].set(xlabel="remembered", ylabel="shown")
    panels[4].set_title("C2, mean of 9 places", fontsize=9)
    figure.colorbar(image, ax=panels[4])
    output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, dpi=150)


# %%
def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, help="draw a figure")
    arguments = parser.parse_args()
    mean, values = recognise(Small())
    for name, row in zip(SHAPES, mean, strict=True):
        print(f"{name:<8}" + "".join(f"{value:8.3f}" for value in row))
    if arguments.output:
        draw(mean, values, arguments.output)
        print(arguments.output)


if __name__ == "__main__":
    main()
