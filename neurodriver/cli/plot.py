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
@click.option("--from", "start", type=float, help="Begin of the time window, s.")
@click.option("--to", "stop", type=float, help="End of the time window, s.")
@click.option("--interval", type=float, help="Simulated seconds between two frames of a movie.")
@click.option("--fps", type=float, default=10, show_default=True, help="Frames of a movie per s.")
@click.option("--title", default=None)
def command(**given: Any) -> int:
    """Draw the variables in RECORDING: traces, heat maps and rasters."""
    from ..plot.recording import plot_movie, plot_recording
    from ..results import open_recording

    if given["output"] is None and given["movie"] is None:
        raise click.UsageError("name a figure with -o, or a movie with --movie")
    with open_recording(given["recording"]) as recording:
        what: dict[str, Any] = {
            "variables": list(given["variables"]) or None,
            "uids": list(given["uids"]) or None,
            "title": given["title"],
        }
        if given["start"] is not None or given["stop"] is not None:
            end = recording.duration if given["stop"] is None else given["stop"]
            what["between"] = given["start"] or 0.0, end
        if given["output"] is not None:
            click.echo(str(plot_recording(recording, given["output"], **what)))
        if given["movie"] is not None:
            frames = {"interval": given["interval"], "fps": given["fps"]}
            click.echo(str(plot_movie(recording, given["movie"], **what, **frames)))
    return 0
