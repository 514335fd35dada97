"""YAML -> plain data and the lines of its keys, by the rules of YAML 1.2 for numbers and truths.

The old rules read ``1e-4`` as a text and ``on`` as true, which nobody means.
"""

from __future__ import annotations

import re
from pathlib import Path as File
from typing import Any

from ..errors import ExperimentError, Faults, NeurodriverError, quoted
from .positions import Path, Positions

MOST_NODES = 1_000_000
"""A few aliases can stand for more than memory holds."""


def parse(text: str, path: File) -> tuple[dict[str, Any], Positions]:
    """Return the data of a YAML file and the lines of its keys.

    Raises
    ------
    ExperimentError
        When it is no YAML, no mapping, or names a key twice.
    """
    try:
        import yaml
    except ImportError:
        message = f"{path}: YAML needs PyYAML: pip install 'neurodriver[yaml]'; or write TOML"
        raise NeurodriverError(message) from None
    lines: dict[Path, int] = {}
    faults = Faults(str(path))
    try:
        loader = _loader(yaml)(text)
        try:
            node = loader.get_single_node()
            if node is not None:
                _note(node, (), lines, faults, [0])
            if faults.count:
                raise ExperimentError(faults.report())
            data = {} if node is None else loader.construct_document(node)
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        raise ExperimentError(f"{path}: is no valid YAML: {error}") from None
    except (ValueError, RecursionError, TypeError) as error:
        if isinstance(error, ExperimentError):
            raise
        raise ExperimentError(f"{path}: is no valid YAML: {error}") from None
    if not isinstance(data, dict):
        raise ExperimentError(f"{path}: keys with values are needed, got {quoted(data)}")
    return data, Positions(lambda: lines)


def _loader(yaml: Any) -> Any:
    """Return a safe loader that reads numbers and truths as YAML 1.2 does."""

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        pass

    old = ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:float", "tag:yaml.org,2002:int")
    Loader.yaml_implicit_resolvers = {
        first: [(tag, rule) for tag, rule in rules if tag not in old]
        for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    for tag, rule, first in (
        (old[0], r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
        (old[2], r"^[-+]?(?:0|[1-9][0-9]*)$", "-+0123456789"),
        (
            old[1],
            r"^(?:[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
            r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$",
            "-+.0123456789",
        ),
    ):
        Loader.add_implicit_resolver(tag, re.compile(rule), list(first))
    return Loader


def _note(node: Any, path: Path, lines: dict[Path, int], faults: Faults, seen: list[int]) -> None:
    """Note the lines of a node's keys; a key that stands twice is a fault."""
    seen[0] += 1
    if seen[0] > MOST_NODES:
        raise ValueError("aliases make more than a million values")
    lines.setdefault(path, node.start_mark.line + 1)
    if node.id == "mapping":
        known: dict[str, int] = {}
        for key, value in node.value:
            name, line = str(key.value), key.start_mark.line + 1
            if name in known:
                faults.add(f"line {line}: {quoted(name)} stands on line {known[name]}, too")
            elif key.tag != "tag:yaml.org,2002:str":
                faults.add(f"line {line}: a key must be a text, got {quoted(name)}")
            known[name] = line
            lines[(*path, name)] = line
            _note(value, (*path, name), lines, faults, seen)
    elif node.id == "sequence":
        for i, item in enumerate(node.value):
            lines[(*path, i)] = item.start_mark.line + 1
            _note(item, (*path, i), lines, faults, seen)
