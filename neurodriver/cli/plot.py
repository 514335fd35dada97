"""``neurodriver plot``: a recording in, a figure or a movie out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


@click.command("plot")
@click.argument("recording", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), help="PNG, PDF or SVG.")
@click.option(
    "-m", "--movie", type=click.Path(path_type=Path), help="GIF; MP4, WEBM, ... with ffmpeg."
)
@click.option("-v", "--variable", "variables", multiple=True, help="Variable; all by default.")
@click.option("-u", "--uid", "uids", multiple=True, help="Component; all by default.")
@click.option("--start", type=float, help="Begin of the time window, s.")
@click.option("--stop", type=float, help="End of the time window, s.")
@click.option("--from", "old_start", type=float, hidden=True)
@click.option("--to", "old_stop", type=float, hidden=True)
@click.option("--interval", type=float, help="Simulated seconds between two frames of a movie.")
@click.option("--fps", type=float, default=10, show_default=True, help="Frames of a movie per s.")
@click.option("--title", default=None)
@click.option("--copy", type=int, default=None, help="Copy of a batch to draw.")
def command(**given: Any) -> int:
    """Draw the variables in RECORDING: traces, heat maps and rasters."""
    from ..plot.recording import plot_movie, plot_recording
    from ..results import open_recording
    from ..results.batch import single

    if given["output"] is None and given["movie"] is None:
        raise click.UsageError("name a figure with -o, or a movie with --movie")
    for name, old in (("start", "from"), ("stop", "to")):
        given[name] = _renamed(given[name], name, given.pop(f"old_{name}"), old)
    with open_recording(given["recording"]) as opened:
        recording = single(opened, given["copy"])
        what: dict[str, Any] = {
            "variables": list(given["variables"]) or None,
            "uids": list(given["uids"]) or None,
            "title": given["title"],
            "start": given["start"],
            "stop": given["stop"],
        }
        if given["output"] is not None:
            click.echo(str(plot_recording(recording, given["output"], **what)))
        if given["movie"] is not None:
            frames = {"interval": given["interval"], "fps": given["fps"]}
            click.echo(str(plot_movie(recording, given["movie"], **what, **frames)))
    return 0


def _renamed(value: float | None, name: str, old_value: float | None, old: str) -> float | None:
    """Return the value of an option, which may have been given by its old name."""
    if old_value is None:
        return value
    if value is not None:
        raise click.UsageError(f"--{old} is the old name of --{name}; give --{name} alone")
    click.echo(f"warning: --{old} is called --{name} now", err=True)
    return old_value
