"""Records -> GEXF file; any file: whole or not at all."""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .. import system
from ..circuit.records import RESERVED, Records, to_networkx
from ..errors import NeurodriverError, quoted


def write_gexf(records: Records, path: Path) -> None:
    """Write records as GEXF 1.2 that networkx reads back; gzipped where the name ends in ``.gz``.

    The file appears under its name when it is complete.
    """
    import networkx as nx

    plain = Records(records.source, records.uids, _uniform(records.nodes))
    plain.sources, plain.targets = records.sources, records.targets
    plain.edges = records.edges
    _check_texts(plain)
    graph = to_networkx(plain)
    with complete_or_none(path) as part, open(part, "wb") as file:
        if path.suffix == ".gz":
            # no name and no time in the header: the same bytes from every run of a day
            with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as zipped:
                nx.write_gexf(graph, zipped, prettyprint=False)
        else:
            nx.write_gexf(graph, file, prettyprint=False)


_NO_XML = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that no XML file can hold."""


def _check_texts(records: Records) -> None:
    """Raise NeurodriverError where a uid, or an attribute of a node, cannot stand in a file."""
    for uid, data in zip(records.uids, records.nodes, strict=True):
        texts = (text for pair in data.items() for text in pair if isinstance(text, str))
        if any(map(_NO_XML.search, (uid, *texts))):
            say = "holds a control character, which GEXF cannot; leave it out, or save as HDF5"
            raise NeurodriverError(f"{records.source}: node {quoted(uid)} {say}")


def new_file(path: Path) -> int:
    """Open a new file for writing; whatever has its name is removed, links are not followed."""
    with suppress(FileNotFoundError):
        os.unlink(path)
    return os.open(path, system.NEW, 0o666)


def folder_for_files(path: Path) -> None:
    """Make a folder, and those above it, if there is none.

    Raises
    ------
    NeurodriverError
        If it cannot be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or error
        raise NeurodriverError(f"{path}: the folder cannot be made ({reason})") from None


@contextmanager
def complete_or_none(
    path: Path, wrong: type[NeurodriverError] = NeurodriverError
) -> Iterator[Path]:
    """Give the name of an empty file, which takes the place of ``path`` when it is complete.

    Through a link the file behind it is replaced, not the link. A file that cannot be written
    raises ``wrong``.
    """
    goal = Path(os.path.realpath(path))
    part = goal.with_name(f".{goal.name}.{os.getpid()}.part")
    try:
        if goal.exists() and not goal.is_file():
            raise wrong(f"{path}: not a regular file; choose another name")
        os.close(new_file(part))
        yield part
        system.store(part)
        os.replace(part, goal)
    except NeurodriverError:  # some are an OSError, too
        raise
    except OSError as error:
        raise wrong(f"{path}: cannot be written ({error.strerror or error})") from None
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _uniform(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return attributes of which each has one type in the whole file, as GEXF declares them."""
    types: dict[str, set[type]] = {}
    for data in rows:
        for key, value in data.items():
            types.setdefault(key, set()).add(type(value))
    turn: dict[str, tuple[str, Callable[[Any], Any]]] = {}
    for key, found in types.items():
        one = next(iter(found)) if len(found) == 1 else None
        kind = one if one in (int, float, str, bool) else float if found == {int, float} else str
        turn[key] = f"{key}_" if key in RESERVED and key != "class" else key, kind
    return [{turn[k][0]: turn[k][1](value) for k, value in data.items()} for data in rows]
