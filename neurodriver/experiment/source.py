"""A TOML or YAML file -> plain data and the lines of its keys."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ExperimentError
from .positions import Positions, toml_lines

TOML, YAML = (".toml",), (".yaml", ".yml")
ENDINGS = (*TOML, *YAML)
"""What files of experiments are called."""


@dataclass(frozen=True)
class Source:
    """An experiment file.

    Attributes
    ----------
    path : Path
    text : str
    data : dict
    positions : Positions
    """

    path: Path
    text: str
    data: dict[str, Any]
    positions: Positions

    @property
    def folder(self) -> Path:
        """Where relative paths of the file begin."""
        return self.path.resolve().parent


def read_source(path: Path) -> Source:
    """Read a file.

    Raises
    ------
    ExperimentError
        When it cannot be read or is no TOML or YAML; tells the line.
    """
    if path.suffix.lower() not in ENDINGS:
        raise ExperimentError(f"{path}: an experiment is a file {', '.join(ENDINGS)}")
    try:
        # As bytes: TOML counts lines by \n and \r\n, and nothing else.
        text = path.read_bytes().decode("utf-8").replace("\r\n", "\n")
    except FileNotFoundError:
        raise ExperimentError(f"{path}: no such file") from None
    except UnicodeDecodeError as error:
        raise ExperimentError(f"{path}: is not UTF-8 ({error.reason} at {error.start})") from None
    except OSError as error:
        raise ExperimentError(f"{path}: cannot be read: {error.strerror}") from None
    if path.suffix.lower() in YAML:
        from .yaml_file import parse

        data, positions = parse(text, path)
    else:
        data, positions = _parse_toml(text, path)
    return Source(path, text, data, positions)


def _parse_toml(text: str, path: Path) -> tuple[dict[str, Any], Positions]:
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        # The parser tells line and column itself.
        raise ExperimentError(f"{path}: is no valid TOML: {error}") from None
    return data, Positions(lambda: toml_lines(text))
