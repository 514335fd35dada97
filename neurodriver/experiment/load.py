"""A file -> an experiment that is known to be whole."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ExperimentError, quoted
from .contents import Contents
from .references import Check, file_of
from .run import run as run_experiment
from .schema import FaultsOfFile, validate
from .source import read_source


@dataclass(frozen=True, eq=False)
class Experiment(Contents):
    """LPUs, patterns between them, and how long they run.

    Attributes
    ----------
    source : Source
        The file.
    section : ExperimentSection
        Its contents.
    command : tuple of str
        What started it, for its recordings.

    Examples
    --------
    >>> experiment = load_experiment("experiment.toml")  # doctest: +SKIP
    >>> experiment.run()  # doctest: +SKIP
    """

    def run(self) -> Path:
        """Run it in this process, or on all ranks of a job; return the master file.

        Raises
        ------
        NeurodriverError
            On every rank, when an LPU of any rank fails.
        """
        return run_experiment(self)


def load_experiment(
    path: str | Path,
    output: str | Path | None = None,
    command: Sequence[str] | None = None,
    **replaced: Any,
) -> Experiment:
    """Read and check an experiment file.

    Parameters
    ----------
    path : path
        A file ``.toml`` or ``.yaml``.
    output : path, optional
        Recorded to instead of what the file says; relative to the current folder.
    command : sequence of str, optional
        What started it, for its recordings; by default that of this process.
    **replaced
        ``backend``, ``device``, ``executor``, ``overwrite`` instead of what the file says; None
        leaves that.

    Raises
    ------
    ExperimentError
        With everything that is wrong: line, key, what was got, what is allowed.
    """
    source = read_source(Path(path))
    faults = FaultsOfFile(source)
    section = validate(source, faults)
    Check(section, source.folder, faults)
    if faults.count:
        raise ExperimentError(faults.report())
    if output is not None:
        replaced["output"] = str(Path(output).resolve())
    known = {name: value for name, value in replaced.items() if value is not None}
    section = section.model_copy(update=known)
    experiment = Experiment(source, section, tuple(sys.argv if command is None else command))
    _check_output(experiment, faults)
    if faults.count:
        raise ExperimentError(faults.report())
    return experiment


def programs_of(path: str | Path) -> list[str]:
    """Return the functions and the files of models that an experiment names; none is imported.

    Those of this package are left out.

    Raises
    ------
    ExperimentError
        With what is wrong, but for what is found only by importing.
    """
    source = read_source(Path(path))
    faults = FaultsOfFile(source)
    found = Check(validate(source, faults), source.folder, faults, imports=False)
    if faults.count:
        raise ExperimentError(faults.report())
    return list(dict.fromkeys(found.programs))


def _check_output(experiment: Experiment, faults: FaultsOfFile) -> None:
    """Note recordings that would overwrite what they come from, or that are too short."""
    section, folder = experiment.section, experiment.folder
    if section.output is not None and (not section.output or "\0" in section.output):
        faults.at(("output",), f"must be the name of a file, got {quoted(section.output)}")
        return
    read = [experiment.source.path, *(file_of(m, folder) for m in section.models)]
    for name, lpu in section.lpu.items():
        named = [lpu.circuit, *lpu.models]
        named += [v for one in lpu.input for v in one.arguments.values() if isinstance(v, str)]
        read += [file_of(text, folder) for text in named if text]
        if lpu.sample_interval > experiment.steps:
            allowed = f"must be at most the {experiment.steps:,} steps of the run"
            faults.at(("lpu", name, "sample_interval"), f"{allowed}, got {lpu.sample_interval:,}")
    read += [file_of(p.file, folder) for p in section.pattern if p.file]
    for path in (experiment.output, *experiment.recordings.values()):
        if path.exists() and any(one.exists() and one.samefile(path) for one in read):
            message = f"the recording {path.name} would overwrite a file that the experiment reads"
            faults.at(("output",), f"{message}; choose another 'output'")
    if not experiment.output.parent.is_dir():
        faults.at(("output",), f"there is no folder {experiment.output.parent}; make it first")
