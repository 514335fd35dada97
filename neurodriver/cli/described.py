"""Simulations of SONATA on the command line: what a file describes, and the reports it asks for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..io.sonata_config import is_simulation
from ..io.write import folder_for_files

if TYPE_CHECKING:
    from ..inputs.sonata_simulation import SonataSimulation

RECORDING = "recording.h5"
"""File of the recording, in the folder of the reports, if no -o names one."""

Requests = list[tuple[str, list[str] | None]]


def read_described(given: dict[str, Any]) -> SonataSimulation | None:
    """Return the simulation that a file describes; its values become those of missing options."""
    file: Path = given["file"]
    if not is_simulation(file):
        return None
    from ..inputs.sonata_simulation import read_sonata_simulation
    from ..results.sonata_reports import refuse_files

    found = read_sonata_simulation(file, own=given["models"], strict=given["strict"])
    for name in ("dt", "duration"):
        given[name] = getattr(found, name) if given[name] is None else given[name]
    if found.reports and given["output"] is None:
        folder = found.reports[0].path.parent
        folder_for_files(folder)
        given["output"] = folder / RECORDING
        given["force"] = given["force"] or found.overwrite
    for report in found.reports:
        report.every(given["dt"] * given["sample_interval"])
    if not (found.overwrite or given["force"] or given["resume"]):
        refuse_files(found.reports)
    return found


def with_reports(requests: Requests, described: SonataSimulation | None) -> Requests:
    """Return what to record, with what the reports of a simulation need."""
    out = dict(requests)
    for variable, uids in described.record if described else ():
        asked = out.get(variable, [])
        out[variable] = None if asked is None else [*dict.fromkeys([*asked, *uids])]
    return list(out.items())


def write_reports(described: SonataSimulation | None, output: Path) -> None:
    """Write the reports of a simulation from its recording."""
    if described is None or not described.reports:
        return
    from ..results.recording import Recording

    with Recording(output) as recording:
        for path in described.write(recording, overwrite=True):
            click.echo(path)
