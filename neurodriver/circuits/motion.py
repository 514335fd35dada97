"""Moving edges as light on the optic lobe, and the direction selectivity of what answers them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neurodriver.inputs import ArrayInput

from .optic_lobe import OpticLobe, expand

SPEED = 19.0
"""Speed of the edge in columns per second."""

LUMINANCE = {"on": 1.0, "off": 0.0}
"""Luminance behind an edge of each contrast."""

_SAME_PLACE = 1e-9
"""Columns. Column positions that differ by less are rounded copies of one position."""

DIRECTIONS = tuple(range(0, 360, 30))
"""Directions of motion in degrees."""


def moving_edge(
    lobe: OpticLobe,
    direction_deg: float,
    contrast: Literal["on", "off"],
    dt: float,
    speed: float = SPEED,
    grey: float = 0.5,
    settle: float = 2.0,
    margin: float = 1.0,
    tail: float = 0.5,
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return the light of a straight edge that sweeps across the eye once.

    For the time `settle` all is grey. Then the edge starts `margin` columns before the centre of
    the first column and moves along `direction_deg`. A column takes the luminance of the contrast
    in the first step at whose begin the edge has reached its centre. After the last column has
    switched, the light stays for the time `tail`.

    Parameters
    ----------
    lobe
        Gives the columns and the photoreceptors; those of one column see the same.
    direction_deg
        Direction of motion, degrees: 0 along x, 90 along y of `OpticLobe.position`.
    contrast
        ``"on"``: 1 behind the edge, ``"off"``: 0.
    dt
        Duration of a step, s.
    speed
        Columns per second.
    grey
        Luminance before the edge.
    settle, tail
        Time of grey before the sweep and of light after it, s, rounded to whole steps.
    margin
        Distance of the edge from the first column when the sweep starts, columns.

    Returns
    -------
    luminance : (steps, inputs) float64
        Row k is the light from time k dt to (k + 1) dt; the sweep starts at row
        ``round(settle / dt)``.
    cells : (inputs,) int64
        The cells it falls on, `OpticLobe.input_cells`.
    """
    if contrast not in LUMINANCE:
        raise ValueError(f"contrast must be 'on' or 'off' (got {contrast!r})")
    for name, value in (("dt", dt), ("speed", speed), ("margin", margin)):
        if not value > 0:
            raise ValueError(f"{name} must be positive (got {value})")
    cells = lobe.input_cells
    x, y = lobe.position(lobe.u[cells], lobe.v[cells])
    angle = np.deg2rad(direction_deg)
    along = x * np.cos(angle) + y * np.sin(angle)
    distance = along - (along.min() - margin)
    switch = np.ceil((distance - _SAME_PLACE) / (speed * dt)).astype(np.int64)
    switch += round(settle / dt)
    steps = int(switch.max()) + 1 + round(tail / dt)
    passed = np.arange(steps)[:, np.newaxis] >= switch
    return np.where(passed, LUMINANCE[contrast], grey), cells


def edge_input(
    extent: int,
    direction_deg: float,
    contrast: Literal["on", "off"],
    dt: float,
    speed: float = SPEED,
    grey: float = 0.5,
    settle: float = 2.0,
) -> ArrayInput:
    """Return a moving edge as input into the photoreceptors; the last light stays.

    Parameters
    ----------
    extent
        Radius of the hexagon in columns.
    direction_deg, contrast, dt, speed, grey, settle
        As those of `moving_edge`.
    """
    lobe = expand(extent)
    edge = moving_edge(lobe, direction_deg, contrast, dt, speed=speed, grey=grey, settle=settle)
    light, cells = edge
    return ArrayInput({"I": (lobe.uids[cells].tolist(), light)}, mode=1, name="moving edge")


def tuning(
    peaks: ArrayLike, directions: ArrayLike, total: ArrayLike | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the preferred direction and the selectivity of responses to several directions.

    Parameters
    ----------
    peaks
        Peak responses, none negative, ``(..., directions)``.
    directions
        Evenly spaced directions of motion, ``(directions,)``, degrees.
    total
        What the vector sum is divided by, by default the sum of the peaks. To compare
        contrasts, pass the sum of the stronger one.

    Returns
    -------
    preferred : (...) float64
        Angle of the vector sum, degrees in [0, 360); nan where there is no response.
    dsi : (...) float64
        Direction selectivity index: length of the vector sum divided by `total`, from 0 to 1.
    """
    responses = np.asarray(peaks, dtype=np.float64)
    vector = responses @ np.exp(1j * np.deg2rad(np.asarray(directions, dtype=np.float64)))
    own = responses.sum(axis=-1)
    scale = own if total is None else np.asarray(total, dtype=np.float64)
    silent = own <= 0
    preferred = np.where(silent, np.nan, np.rad2deg(np.angle(vector)) % 360.0)
    return preferred, np.where(silent, 0.0, np.abs(vector) / np.where(silent, 1.0, scale))


@dataclass(frozen=True, eq=False)
class Sweeps:
    """Edges in several directions and of both contrasts, one after the other.

    Attributes
    ----------
    luminance : (steps, inputs) float32
        Light at each step.
    cells : (inputs,) int64
        The cells it falls on.
    spans : dict of (contrast, direction) to slice
        Steps of each sweep, without the grey before it.
    """

    luminance: NDArray[np.float32]
    cells: NDArray[np.intp]
    spans: dict[tuple[str, int], slice]


def sweeps(
    lobe: OpticLobe,
    dt: float,
    directions: Iterable[int] = DIRECTIONS,
    settle: float = 2.0,
) -> Sweeps:
    """Return moving edges in all directions and of both contrasts, each after a time of grey.

    Parameters
    ----------
    lobe
    dt
        Duration of a step, s.
    directions
        Degrees.
    settle
        Time of grey before each sweep, s.
    """
    parts, spans, at = [], {}, 0
    cells = lobe.input_cells
    for contrast in ("on", "off"):
        for direction in directions:
            light, cells = moving_edge(lobe, direction, contrast, dt, settle=settle)
            parts.append(light.astype(np.float32))
            spans[contrast, direction] = slice(at + round(settle / dt), at + len(light))
            at += len(light)
    return Sweeps(np.concatenate(parts), cells, spans)


def selectivity(
    potential: NDArray[np.floating], spans: dict[tuple[str, int], slice]
) -> dict[str, dict[str, float]]:
    """Return peak, preferred direction and selectivity of one cell for each contrast.

    Parameters
    ----------
    potential : (steps,) float
        The cell's V at each step.
    spans : dict
        As in `Sweeps`.

    Returns
    -------
    dict
        Contrast -> ``peak``, ``direction`` (degrees), ``dsi``. The selectivity is taken relative
        to the stronger contrast.
    """
    peaks: dict[str, dict[int, float]] = {}
    for (contrast, direction), span in spans.items():
        peak = max(float(potential[span].max()), 0.0)
        peaks.setdefault(contrast, {})[direction] = peak
    strongest = max(sum(p.values()) for p in peaks.values())
    out = {}
    for contrast, of in peaks.items():
        preferred, dsi = tuning(list(of.values()), list(of), strongest or 1.0)
        out[contrast] = {"peak": max(of.values()), "direction": float(preferred), "dsi": float(dsi)}
    return out
