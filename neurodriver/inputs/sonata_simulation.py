"""A simulation that a SONATA configuration describes: circuit, inputs, time, and reports."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..arguments import checked_arguments, file_path, optional, texts, truth
from ..circuit.circuit import Circuit
from ..errors import Faults
from ..io.sonata import read_sonata
from ..io.sonata_config import ConfigPaths, read_json
from ..io.sonata_node_sets import read_node_sets
from ..results.recording import Recording
from ..results.sonata_reports import ReportReader, SonataReport, needed_record, refuse_files
from .base import Input
from .sonata_inputs import InputReader


@dataclass(frozen=True)
class SonataSimulation:
    """What a configuration describes.

    Attributes
    ----------
    inputs : list of Input
        In the order of the file.
    dt, duration : float
        s.
    reports : list of SonataReport
        The files that are to be written.
    overwrite : bool
        Whether files of these names may be replaced.
    """

    circuit: Circuit
    inputs: list[Input]
    dt: float
    duration: float
    reports: list[SonataReport] = field(default_factory=list)
    overwrite: bool = False

    @property
    def record(self) -> list[tuple[str, list[str]]]:
        """What the reports need: pairs of a variable and uids, for recorders and ``record=``."""
        return needed_record(self.reports)

    @checked_arguments(overwrite=optional(truth))
    def write(self, recording: Recording, overwrite: bool | None = None) -> list[Path]:
        """Write the reports.

        Parameters
        ----------
        recording : Recording
            Of `record`, with a row for each step.
        overwrite : bool, optional
            Whether files are replaced; by default as the configuration says.

        Returns
        -------
        list of Path
            The files.

        Raises
        ------
        RecordingError
            If a file exists or cannot be written, or if the recording lacks something.
        """
        if not (self.overwrite if overwrite is None else overwrite):
            refuse_files(self.reports)
        for report in self.reports:
            report.write(recording)
        return [report.path for report in self.reports]


@checked_arguments(config=file_path, ignore=texts, strict=truth)
def read_sonata_simulation(
    config: str | Path,
    models: Mapping[str, Any] | None = None,
    *,
    ignore: Iterable[str] = (),
    own: Any = (),
    strict: bool = False,
) -> SonataSimulation:
    """Read the simulation that a ``simulation_config.json`` describes.

    Parameters
    ----------
    config : str or Path
        Its sections ``network``, ``run``, ``inputs``, ``output``, ``reports`` and the node sets
        are read.
    models, ignore, own, strict
        As of ``Circuit.from_sonata``.

    Returns
    -------
    SonataSimulation

    Raises
    ------
    CircuitError
        With all faults of the files: inputs of other kinds than spikes and current clamps, node
        sets that are not there, missing values.

    Examples
    --------
    >>> it = nd.read_sonata_simulation("simulation_config.json")  # doctest: +SKIP
    >>> with nd.LPU(it.circuit, it.dt, it.inputs) as lpu:  # doctest: +SKIP
    ...     it.write(lpu.run(duration=it.duration, record=it.record).recording)
    """
    path = Path(config)
    said = read_json(path)
    circuit = read_sonata(path, models, ignore=ignore, own=own, strict=strict)
    faults = Faults(str(path))
    dt, duration = _times(said.get("run"), faults)
    paths = ConfigPaths(path, said, faults)
    sets = read_node_sets(said, paths, faults)
    reader = InputReader(circuit, paths, sets, faults)
    inputs = said.get("inputs") or {}
    if not isinstance(inputs, dict):
        faults.add(f"'inputs' must be an object (got {inputs!r:.60})")
        inputs = {}
    made = [one for name, entry in inputs.items() for one in reader.inputs(name, entry)]
    reports = ReportReader(circuit, paths, sets, dt, faults).read(
        said.get("output"), said.get("reports")
    )
    both = [part for part in (said.get("run"), said.get("output")) if isinstance(part, dict)]
    given = [one for part in both if (one := part.get("overwrite_output_dir")) is not None]
    for one in given:
        if not isinstance(one, bool):
            faults.add(f"overwrite_output_dir: must be true or false (got {one!r:.60})")
    faults.finish(strict)
    return SonataSimulation(circuit, made, dt, duration, reports, True in given)


def _times(run: Any, faults: Faults) -> tuple[float, float]:
    """Return time step and duration in s, from the section ``run``."""
    said = run if isinstance(run, dict) else {}
    end = "tstop" if "tstop" in said else "duration" if "duration" in said else "tstop"
    out = []
    for name in ("dt", end):
        value: Any = said.get(name)
        good = isinstance(value, int | float) and 0 < value < math.inf
        if not good:
            faults.add(f"run.{name}: must be a time in ms above 0 (got {value!r:.60})")
        out.append(value / 1e3 if good else math.nan)
    if said.get("tstart", 0) != 0:
        faults.add(f"run.tstart: must be 0 (got {said['tstart']!r:.60})")
    return out[0], out[1]
