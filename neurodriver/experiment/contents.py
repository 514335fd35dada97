"""What an experiment file says: LPUs, patterns between them, and how long they run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from .references import file_of
from .schema import ExperimentSection
from .source import SourceFile


@dataclass(frozen=True, eq=False)
class Contents:
    """The file, its contents, and what started the experiment, for its recordings."""

    source: SourceFile
    section: ExperimentSection
    command: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """Where relative paths begin."""
        return self.source.folder

    @property
    def steps(self) -> int:
        """Length of the run."""
        if self.section.steps is not None:
            return self.section.steps
        assert self.section.duration is not None
        return round(self.section.duration / self.section.dt)

    @cached_property
    def output(self) -> Path:
        """The master file: the experiment's name with the ending ``.h5`` when none is named."""
        name = self.section.output
        return file_of(name, self.folder) if name else self.source.path.with_suffix(".h5")

    @property
    def checkpoint(self) -> Path:
        """The file beside the recordings that checkpoints go to."""
        return self.output.with_name(f"{self.output.stem}.checkpoint.h5")

    def recording_of(self, lpu: str) -> Path | None:
        """Return the file that an LPU records to, None where it records nothing."""
        if self.section.lpu[lpu].record == {}:
            return None
        return self.output.with_name(f"{self.output.stem}.{lpu}{self.output.suffix}")

    @property
    def recordings(self) -> dict[str, Path]:
        """LPU -> file of its recording."""
        found = {name: self.recording_of(name) for name in self.section.lpu}
        return {name: path for name, path in found.items() if path is not None}
