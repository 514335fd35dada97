"""A TOML or YAML file -> plain data and the lines of its keys."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ..errors import ExperimentError, Faults, NeurodriverError, quoted

ENDINGS = (".toml", ".yaml", ".yml")
"""What files of experiments are called."""

KeyPath = tuple[str | int, ...]
"""Keys and places in lists, from the top of the file."""

LONGEST_STATEMENT = 500
"""Lines; behind a longer one, keys are told by the line of their section."""

MOST_NODES = 1_000_000
"""A few aliases can stand for more than memory holds."""


@dataclass(frozen=True)
class SourceFile:
    """An experiment file; ``find`` returns the line of each key, counted from 1."""

    path: Path
    text: str
    data: dict[str, Any]
    find: Callable[[], dict[KeyPath, int]]

    @property
    def folder(self) -> Path:
        """Where relative paths of the file begin."""
        return self.path.resolve().parent

    @cached_property
    def lines(self) -> dict[KeyPath, int]:
        """Key -> line."""
        return self.find()

    def line(self, path: KeyPath) -> int:
        """Return the line of a key, or of the nearest section around it that has one."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def read_source(path: Path) -> SourceFile:
    """Read a file; raise ExperimentError with the line where it is no TOML or YAML."""
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
    if path.suffix.lower() != ".toml":
        data, lines = parse_yaml(text, path)
        return SourceFile(path, text, data, lambda: lines)
    try:
        return SourceFile(path, text, tomllib.loads(text), lambda: toml_lines(text))
    except (RecursionError, ValueError) as error:  # the parser tells line and column itself
        raise ExperimentError(f"{path}: is no valid TOML: {error}") from None


def toml_lines(text: str) -> dict[KeyPath, int]:
    """Return the lines of all keys of a valid TOML file.

    Every statement of TOML is valid on its own, and none of its beginnings is. So the parser itself
    tells where each ends, and there is no second grammar here.
    """
    lines: dict[KeyPath, int] = {}
    counts: dict[KeyPath, int] = {}
    section: KeyPath = ()
    rows = text.split("\n")
    first = 0
    while first < len(rows):
        parsed, last = _statement(rows, first)
        if parsed is None:
            break
        if parsed and rows[first].lstrip().startswith("["):
            section = _section(parsed, counts)
            for depth in range(1, len(section) + 1):
                lines.setdefault(section[:depth], first + 1)
        else:
            _note(parsed, section, first + 1, lines)
        first = last
    return lines


def _statement(rows: list[str], first: int) -> tuple[dict[str, Any] | None, int]:
    """Return the statement that begins at a line, parsed, and the line after it."""
    for last in range(first + 1, min(first + LONGEST_STATEMENT, len(rows)) + 1):
        try:
            return tomllib.loads("\n".join(rows[first:last])), last
        except tomllib.TOMLDecodeError:
            pass
    return None, len(rows)


def _section(parsed: dict[str, Any], counts: dict[KeyPath, int]) -> KeyPath:
    """Return the path of a header; lists of sections above it stand for their last one."""
    path: KeyPath = ()
    node: Any = parsed
    while node:
        ((key, node),) = node.items()
        path = (*path, key)
        if isinstance(node, list):
            counts[path] = counts.get(path, -1) + 1
            node = node[0]
        if path in counts:
            path = (*path, counts[path])
    return path


def _note(value: Any, path: KeyPath, line: int, lines: dict[KeyPath, int]) -> None:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        lines.setdefault((*path, key), line)
        if isinstance(item, dict | list):
            _note(item, (*path, key), line, lines)


def parse_yaml(text: str, path: Path) -> tuple[dict[str, Any], dict[KeyPath, int]]:
    """Return the data of a YAML file and the lines of its keys."""
    try:
        import yaml
    except ImportError:
        message = f"{path}: YAML needs PyYAML: pip install 'neurodriver[yaml]'; or write TOML"
        raise NeurodriverError(message) from None
    lines: dict[KeyPath, int] = {}
    faults = Faults(str(path))
    try:
        loader = _loader(yaml)(text)
        node = loader.get_single_node()
        if node is not None:
            _note_node(node, (), lines, faults, [0])
        if not faults.count:
            data = {} if node is None else loader.construct_document(node)
    except (yaml.YAMLError, ValueError, RecursionError, TypeError) as error:
        raise ExperimentError(f"{path}: is no valid YAML: {error}") from None
    if faults.count:
        raise ExperimentError(faults.report())
    if not isinstance(data, dict):
        raise ExperimentError(f"{path}: keys with values are needed, got {quoted(data)}")
    return data, lines


def _loader(yaml: Any) -> Any:
    """Return a safe loader that reads numbers and truths by the rules of YAML 1.2.

    The old rules read ``1e-4`` as a text and ``on`` as true, which nobody means.
    """
    rules = {
        "bool": (r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
        "int": (r"^[-+]?(?:0|[1-9][0-9]*)$", "-+0123456789"),
        "float": (
            r"^(?:[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
            r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$",
            "-+.0123456789",
        ),
    }
    tags = {f"tag:yaml.org,2002:{name}": rule for name, rule in rules.items()}

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        yaml_implicit_resolvers = {
            first: [(tag, rule) for tag, rule in known if tag not in tags]
            for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
        }

    for tag, (rule, first) in tags.items():
        Loader.add_implicit_resolver(tag, re.compile(rule), list(first))
    return Loader


def _note_node(
    node: Any, path: KeyPath, lines: dict[KeyPath, int], faults: Faults, seen: list[int]
) -> None:
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
            known[name] = lines[(*path, name)] = line
            _note_node(value, (*path, name), lines, faults, seen)
    elif node.id == "sequence":
        for i, item in enumerate(node.value):
            _note_node(item, (*path, i), lines, faults, seen)
