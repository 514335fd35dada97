"""The configurations of SONATA: what a circuit or a simulation names, and where that is."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import CircuitError, Faults, near, quoted

_VARIABLE = re.compile(r"\$\{(\w+)\}|\$(\w+)")


@dataclass
class SonataNetwork:
    """What a configuration names: HDF5 files with tables of types, folders of parameter files.

    Attributes
    ----------
    nodes, edges : list of (Path, Path or None)
        HDF5 file, and table of types.
    components : dict of str to Path
        Folders.
    node_sets : Path or None
        File of node sets.
    """

    nodes: list[tuple[Path, Path | None]] = field(default_factory=list)
    edges: list[tuple[Path, Path | None]] = field(default_factory=list)
    components: dict[str, Path] = field(default_factory=dict)
    node_sets: Path | None = None


class ConfigPaths:
    """Paths of a configuration, with the variables of its manifest.

    Parameters
    ----------
    path : Path
        The configuration; relative paths begin in its folder.
    said : dict
        Its content.
    """

    def __init__(self, path: Path, said: dict[str, Any], faults: Faults) -> None:
        variables = said.get("manifest", {})
        if not isinstance(variables, dict):
            raise CircuitError(f"{path}: 'manifest' must be an object of variables")
        self.path, self.faults = path, faults
        self.values = {str(k).strip("${}"): str(v) for k, v in variables.items()}

    def place(self, text: Any, where: str, depth: int = 0) -> Path:
        """Return a path; ``where`` names it in messages."""
        if not isinstance(text, str):
            self.faults.add(f"{where}: must be a path (got {text!r:.60})")
            return self.path
        here = self.path.absolute().parent
        folder = {"configdir": str(here), **self.values}

        def value(match: re.Match[str]) -> str:
            name = match[1] or match[2]
            if name not in folder or depth > len(self.values):
                say = "leads back to itself" if name in folder else "is not in 'manifest'"
                hint = near(name, self.values)
                self.faults.add(f"{where}: the variable {quoted(match[0])} {say}{hint}")
                return name
            inner = folder[name]
            return inner if name == "configdir" else str(self.place(inner, where, depth + 1))

        return here / _VARIABLE.sub(value, text)


def read_config(path: Path) -> SonataNetwork:
    """Read circuit_config.json, or the one that a simulation_config.json names.

    Paths are relative to the folder of the file. All its faults are raised as CircuitError.
    """
    said = read_json(path)
    faults = Faults(str(path))
    paths = ConfigPaths(path, said, faults)
    if "networks" not in said and isinstance(said.get("network"), str):
        inner = paths.place(said["network"], "'network'")
        faults.finish()
        return read_config(inner)
    out = SonataNetwork()
    networks = said.get("networks")
    if not isinstance(networks, dict):
        raise CircuitError(f"{path}: not a SONATA circuit: it has no object 'networks'")
    for kind, files in (("nodes", out.nodes), ("edges", out.edges)):
        for number, entry in enumerate(networks.get(kind) or []):
            where = f"networks.{kind}[{number}]"
            if not isinstance(entry, dict) or f"{kind}_file" not in entry:
                faults.add(f"{where}: '{kind}_file' is missing")
                continue
            types = entry.get(f"{kind[:-1]}_types_file")
            table = None if types in (None, "", "NULL") else paths.place(types, where)
            files.append((paths.place(entry[f"{kind}_file"], where), table))
    for name, folder in (said.get("components") or {}).items():
        out.components[name] = paths.place(folder, f"components.{name}")
    if isinstance(said.get("node_sets_file"), str):
        out.node_sets = paths.place(said["node_sets_file"], "'node_sets_file'")
    faults.finish()
    return out


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file; raise CircuitError when there is none."""
    try:
        said = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise CircuitError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (ValueError, RecursionError) as error:
        raise CircuitError(f"{path}: not well-formed JSON ({str(error)[:200]})") from None
    if not isinstance(said, dict):
        raise CircuitError(f"{path}: an object is expected, got {type(said).__name__}")
    return said


def is_number(given: Any) -> bool:
    """Whether a value of a configuration is a finite number."""
    real = isinstance(given, int | float) and not isinstance(given, bool)
    return real and math.isfinite(given)


def switched_on(entry: dict[str, Any], where: str, faults: Faults) -> bool:
    """Whether an entry is used: its ``enabled`` is true, or is missing."""
    given = entry.get("enabled", True)
    if not isinstance(given, bool):
        faults.add(f"{where}.enabled: must be true or false (got {given!r:.60})")
        return False
    return given


def is_simulation(path: Path) -> bool:
    """Whether a file is the configuration of a simulation, not of a circuit alone."""
    if path.suffix.lower() != ".json" or not path.is_file():
        return False
    said = read_json(path)
    return "networks" not in said and "network" in said and "run" in said
