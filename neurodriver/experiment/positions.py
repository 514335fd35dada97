"""The lines of an experiment file on which its keys stand."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

Path = tuple[str | int, ...]
"""Keys and places in lists, from the top of the file."""


MOST_TRIES = 500
"""How many ends are tried for one statement of several lines."""

_CLOSING = ("]", "}", '"""', "'''")
"""What the last line of a statement of several lines holds."""


class Positions:
    """Lines of keys; looked for when the first one is asked for.

    Parameters
    ----------
    find : callable
        Returns the line of each path, counted from 1.
    """

    def __init__(self, find: Callable[[], Mapping[Path, int]]) -> None:
        self._find = find

    @cached_property
    def lines(self) -> Mapping[Path, int]:
        """Path -> line."""
        return self._find()

    def line(self, path: Path) -> int:
        """Return the line of a key, or of the nearest section around it that has one."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def toml_lines(text: str) -> dict[Path, int]:
    """Return the lines of all keys of a valid TOML file.

    Every statement of TOML is valid on its own, and none of its beginnings is. So the parser itself
    tells where each ends, and there is no second grammar here.
    """
    lines: dict[Path, int] = {}
    counts: dict[Path, int] = {}
    section: Path = ()
    for line, statement in _statements(text):
        parsed = tomllib.loads(statement)
        if not parsed:
            continue
        if statement.lstrip().startswith("["):
            keys, array = _keys(parsed), statement.lstrip().startswith("[[")
            section = _resolved(keys, counts, array)
        else:
            _note(parsed, section, line, lines)
        for depth in range(1, len(section) + 1):
            lines.setdefault(section[:depth], line)
    return lines


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield the statements with the numbers of their first lines."""
    rows = text.split("\n")
    first = 0
    while first < len(rows):
        last, tried = first + 1, 1
        while not _valid("\n".join(rows[first:last])) and tried < MOST_TRIES:
            last += 1
            while last < len(rows) and not any(mark in rows[last - 1] for mark in _CLOSING):
                last += 1
            if last >= len(rows):
                last = len(rows)
                tried = MOST_TRIES
            tried += 1
        statement = "\n".join(rows[first:last])
        if not _valid(statement):
            return  # a table of many lines: what follows is told by its section
        yield first + 1, statement
        first = last


def _valid(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _keys(parsed: Mapping[str, Any]) -> list[str]:
    """Return the keys of a header."""
    keys = []
    node: Any = parsed
    while node:
        node = node[0] if isinstance(node, list) else node
        if not node:
            break
        ((key, node),) = node.items()
        keys.append(key)
    return keys


def _resolved(keys: list[str], counts: dict[Path, int], array: bool) -> Path:
    """Return the path of a section; lists of sections above it stand for their last one."""
    path: Path = ()
    for i, key in enumerate(keys):
        path = (*path, key)
        if array and i == len(keys) - 1:
            counts[path] = counts.get(path, 0) + 1
        if path in counts:
            path = (*path, counts[path] - 1)
    return path


def _note(value: Any, path: Path, line: int, lines: dict[Path, int]) -> None:
    if path:
        lines.setdefault(path, line)
    if isinstance(value, dict):
        for key, item in value.items():
            _note(item, (*path, key), line, lines)
    elif isinstance(value, list):
        for i, item in enumerate(value):
            _note(item, (*path, i), line, lines)
