"""Rates of groups under several conditions -> a figure."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ..results.comparison import Comparison
from .style import COLOURS, STYLE, finish, given_axes, matplotlib, new_figure


def draw_comparison(
    found: Comparison, path: str | os.PathLike[str] | None, ax: Any, most: int
) -> Any:
    """Draw horizontal bars for each group, the one that differs most on top."""
    chosen = found.order[:most]
    with matplotlib().rc_context(STYLE):
        if ax is None:
            axis = new_figure(6.4, 1.2 + 0.22 * len(chosen) * len(found.conditions)).subplots()
        else:
            (axis,) = given_axes(ax, ["rates"], "plot of a comparison")
        height = 0.8 / len(found.conditions)
        middle = np.arange(len(chosen))
        for number, (name, colour) in enumerate(
            zip(found.conditions, _colours(found), strict=True)
        ):
            spread = found.deviations[number, chosen]
            axis.barh(
                middle + (number - (len(found.conditions) - 1) / 2) * height,
                found.rates[number, chosen],
                height,
                xerr=None if np.isnan(spread).all() else spread,
                color=colour,
                label=name,
                ecolor="#555555",
            )
        cells = [f"{found.groups[g]} ({found.components[g]:,})" for g in chosen]
        axis.set_yticks(middle, cells)
        axis.set(ylim=(len(chosen) - 0.5, -0.5), xlabel="rate (Hz)", ylabel=f"{found.by} (cells)")
        axis.set_xlim(left=0.0)
        left_out = len(found.groups) - len(chosen)
        axis.set_title(
            f"the {len(chosen)} of {len(found.groups)} that differ most" if left_out else ""
        )
        axis.legend(frameon=False)
        return finish(axis.figure, ax, path)


def _colours(found: Comparison) -> list[str]:
    return [COLOURS[i % len(COLOURS)] for i in range(len(found.conditions))]
