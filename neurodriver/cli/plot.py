"""``neurodriver plot``: a recording in, a figure out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


@click.command("plot")
@click.argument("recording", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="PNG, PDF or SVG."
)
@click.option("-v", "--variable", "variables", multiple=True, help="Variable; all by default.")
@click.option("-u", "--uid", "uids", multiple=True, help="Component; all by default.")
@click.option("--title", default=None)
def command(**given: Any) -> int:
    """Draw the variables in RECORDING: traces, heat maps and rasters."""
    from ..plot import plot_recording

    path = plot_recording(
        given["recording"],
        given["output"],
        variables=list(given["variables"]) or None,
        uids=list(given["uids"]) or None,
        title=given["title"],
    )
    click.echo(str(path))
    return 0
