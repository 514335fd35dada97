"""The README's chart of speed: wall-clock time of one simulated second, network by network."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

WIDTH, LEFT, RIGHT = 800, 190, 64
TOP, ROW, BELOW = 66, 34, 46
LANE = 7
"""Distance of a device's line from the middle of a row."""

RADIUS = 5
INK, GRID = "#333333", "#dddddd"


@dataclass(frozen=True)
class Times:
    """Seconds that one simulated second of a network takes on a device; None: not measured.

    Attributes
    ----------
    ours : float or None
    peer : float or None
        Of the fastest other program.
    """

    ours: float | None = None
    peer: float | None = None


@dataclass(frozen=True)
class Device:
    """How a device is drawn.

    Attributes
    ----------
    ours, peer : str
        Texts of the legend.
    lane : int
        Place of its line in a row, downwards.
    """

    ours: str
    peer: str
    colour: str
    lane: int


DEVICES = (
    Device("neurodriver, two CPU cores", "faster of Brian2 and NEST", "#0072b2", -LANE),
    Device("neurodriver, one GPU", "GeNN", "#d55e00", LANE),
)
"""In the order of the times of a row; the colours are told apart by all eyes."""


def chart(rows: Sequence[tuple[str, int, tuple[Times, Times]]]) -> list[str]:
    """Return the chart as lines of SVG.

    Parameters
    ----------
    rows : sequence
        Network, number of neurons, and its times on a CPU and on a GPU.
    """
    known = [t for *_, pair in rows for one in pair for t in (one.ours, one.peer) if t]
    low, high = math.floor(math.log10(min(known))), math.ceil(math.log10(max(known)))

    def x(seconds: float) -> float:
        part = (math.log10(seconds) - low) / (high - low)
        return round(LEFT + part * (WIDTH - LEFT - RIGHT), 1)

    height = TOP + ROW * len(rows) + BELOW
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" font-family="Helvetica, Arial, sans-serif" font-size="13" '
        f'fill="{INK}">',
        "<title>Wall-clock time of one simulated second</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for number, device in enumerate(DEVICES):
        lines += _legend(device, 20 + 20 * number)
    for power in range(low, high + 1):
        lines += _tick(power, x(10.0**power), height - BELOW)
    middle = (LEFT + WIDTH - RIGHT) / 2
    lines.append(_text(middle, height - 10, "wall-clock time of one simulated second", "middle"))
    lines.append(_text(LEFT - 12, TOP - 10, "network, neurons", "end", ' font-style="italic"'))
    for number, (network, neurons, pair) in enumerate(rows):
        y = TOP + ROW * number + ROW // 2
        lines.append(_text(LEFT - 12, y + 4, f"{network}, {neurons:,}", "end"))
        for device, times in zip(DEVICES, pair, strict=True):
            lines += _dumbbell(device, times, y + device.lane, x)
    return [*lines, "</svg>"]


def _text(x: float, y: float, text: str, anchor: str = "start", more: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{more}>{escape(text)}</text>'


def _dot(x: float, y: float, colour: str, full: bool) -> str:
    fill = colour if full else "#ffffff"
    return (
        f'<circle cx="{x:g}" cy="{y:g}" r="{RADIUS}" fill="{fill}" stroke="{colour}" '
        f'stroke-width="2"/>'
    )


def _legend(device: Device, y: int) -> list[str]:
    """Return a line of the legend."""
    second = LEFT + 220
    return [
        _dot(LEFT, y - 4, device.colour, True),
        _text(LEFT + 12, y, device.ours),
        _dot(second, y - 4, device.colour, False),
        _text(second + 12, y, device.peer),
    ]


def _tick(power: int, x: float, bottom: int) -> list[str]:
    """Return a line of the grid and its text; at one second the network runs in real time."""
    colour, name = (INK, "1 s, real time") if power == 0 else (GRID, _seconds(power))
    line = f'<line x1="{x:g}" y1="{TOP}" x2="{x:g}" y2="{bottom}" stroke="{colour}"/>'
    return [line, _text(x, bottom + 17, name, "middle")]


def _seconds(power: int) -> str:
    """Return a power of ten of a second, as 10 ms."""
    return f"{10 ** (power + 3):,} ms" if power < 0 else f"{10**power:,} s"


def _dumbbell(device: Device, times: Times, y: float, x: Callable[[float], float]) -> Iterator[str]:
    """Yield the dots of a device, the line between them, and how many times faster ours is."""
    ends = sorted(x(seconds) for seconds in (times.ours, times.peer) if seconds)
    if times.ours and times.peer:
        yield (
            f'<line x1="{ends[0]:g}" y1="{y:g}" x2="{ends[1]:g}" y2="{y:g}" '
            f'stroke="{device.colour}" stroke-width="2"/>'
        )
        ratio = f"{times.peer / times.ours:.2g} ×"
        yield _text(ends[1] + 10, y + 4, ratio, more=f' font-size="11" fill="{device.colour}"')
    if times.ours:
        yield _dot(x(times.ours), y, device.colour, True)
    if times.peer:
        yield _dot(x(times.peer), y, device.colour, False)
