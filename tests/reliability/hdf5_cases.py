"""HDF5 files of every kind with each of their parts lost or replaced, and what lies elsewhere."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import contents
import h5py
import numpy as np
import seeds
from isolated import CLEAR, LEGAL, WARNED, Case, Unnoticed

Edit = Callable[[h5py.File], None]

ANY = (CLEAR, WARNED, LEGAL)
KINDS = ("circuit", "rules", "rows", "events", "recording", "checkpoint", "weights", "nir")

UNREAD = {
    "'/' without 'origin'": "who wrote the file",
    "'origin' of '/'": "who wrote the file",
    "without 'dtype'": "the width of texts in memory",
    "without 'units'": "times are in seconds",
    "no 'V/time'": "times follow from the steps",
    "no 'V/valid_rows'": "all rows are valid then",
    "no 'spike_state/valid_events'": "all events are valid then",
    "no 'spike_state/valid_steps'": "all steps were searched then",
    "'spike_state/valid_steps' is a number": "the rows of V say how long the run was",
    "'spike_state/data/index' is vast": "its values are 0, as before",
    "'seed' of": "it is 0, as before",
    "no 'version'": "the version of the package nir that wrote the file",
    "'version' ": "the version of the package nir that wrote the file",
    "'trials' of '/' is 0": "it is 0, as before",
    "no 'node/nodes/lif/v_reset'": "it is 0, as before",
}
"""Edits that may change nothing, and why; all others change what is read, or are refused."""


def cases() -> Iterator[Case]:
    """Yield the cases of this class."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, True)
    good = seeds.make(folder)
    for kind in KINDS:
        yield Case(f"{kind}: good", _edited(kind, good[kind], lambda file: None), (LEGAL,))
        for name, edit in _foreign(good[kind]):
            yield Case(f"{kind}: {name}", _edited(kind, good[kind], edit), words=("secret.h5",))
        for name, edit in [*_parts(good[kind]), *_attributes(good[kind])]:
            noticed = not any(one in name for one in UNREAD)
            yield Case(f"{kind}: {name}", _edited(kind, good[kind], edit, noticed), ANY)
        for name in ("a folder", "nothing", "empty", "text", "a pipe"):
            yield Case(f"{kind}: {name}", _no_file(kind, name))
    for rows in (False, True):
        kind = "rows" if rows else "events"
        name = "I/data" if rows else "spike_state/data/time"
        yield Case(f"{kind}: never written", _edited(kind, good[kind], _unwritten(name)), (WARNED,))
    yield from _values(good)


@cache
def _contents(kind: str, path: Path) -> str:
    return contents.digest(kind, path)


def _edited(kind: str, path: Path, edit: Edit, noticed: bool = False) -> Callable[[Path], object]:
    """Return what reads an edited file; where it is ``noticed``, something else has to come of it.

    Raises
    ------
    Unnoticed
        Where the same comes of it as of the good file.
    """

    def run(folder: Path) -> None:
        secret = folder / "secret.h5"
        with h5py.File(secret, "w") as file:
            file["x"] = np.arange(4.0)
        mine = folder / path.name
        shutil.copy(path, mine)
        with h5py.File(mine, "r+") as file:
            edit(file)
        try:
            found = contents.digest(kind, mine)
        except BaseException as error:
            assert str(mine) in str(error), error  # the file is named
            raise
        else:
            if noticed and found == _contents(kind, path):
                raise Unnoticed("the edit has no effect")
        finally:
            mine.unlink()

    return run


def _no_file(kind: str, what: str) -> Callable[[Path], object]:
    def run(folder: Path) -> None:
        import os

        path = folder / "some.h5"
        if what == "a folder":
            path.mkdir()
        elif what == "empty":
            path.write_bytes(b"")
        elif what == "text":
            path.write_text("no HDF5 here")
        elif what == "a pipe":
            os.mkfifo(path)
        seeds.READ[kind](path)

    return run


def _everything(path: Path) -> list[tuple[str, bool]]:
    """Return the names of all objects, and whether they are data sets."""
    found: list[tuple[str, bool]] = []
    with h5py.File(path, "r") as file:
        file.visititems(lambda name, one: found.append((name, isinstance(one, h5py.Dataset))))
    return found


def _foreign(path: Path) -> Iterator[tuple[str, Edit]]:
    """Yield edits that make values come from another file."""
    some = [name for name, data in _everything(path) if data]
    for name in dict.fromkeys([some[0], some[-1], max(some, key=len)]):

        def link(file: h5py.File, name: str = name) -> None:
            del file[name]
            file[name] = h5py.ExternalLink(str(Path(file.filename).parent / "secret.h5"), "/x")

        def above(file: h5py.File, name: str = name) -> None:
            del file[name]
            file[name] = h5py.ExternalLink("../secret.h5", "/x")

        def raw(file: h5py.File, name: str = name) -> None:
            shape, kind = _laid(file, name)
            place = [(str(Path(file.filename).parent / "secret.h5"), 0, 10**6)]
            file.create_dataset(name, shape, kind, external=place)

        def virtual(file: h5py.File, name: str = name) -> None:
            shape, kind = _laid(file, name)
            layout = h5py.VirtualLayout(shape, kind)
            layout[...] = h5py.VirtualSource("secret.h5", "x", shape, kind)
            file.create_virtual_dataset(name, layout)

        yield f"'{name}' is a link to a file", link
        yield f"'{name}' is a link to a file above", above
        yield f"'{name}' has raw data elsewhere", raw
        yield f"'{name}' is virtual", virtual


def _laid(file: h5py.File, name: str) -> tuple[tuple[int, ...], Any]:
    shape, kind = file[name].shape or (2,), file[name].dtype
    del file[name]
    return shape, kind


def _parts(path: Path) -> Iterator[tuple[str, Edit]]:
    """Yield edits of each object: lost, or replaced by something else."""
    values: dict[str, Any] = {
        "text": "text", "texts": np.array([b"x", b"y"]), "a number": 3, "NaN": np.full(2, np.nan),
        "whole numbers": np.array([-1, 2**62]), "no values": np.empty(0), "one more axis":
        np.zeros((2, 2, 2)), "a compound": np.zeros(2, [("a", "i4"), ("b", "f8")]),
        "an empty space": h5py.Empty("f8"),
    }  # fmt: skip
    for name, data in _everything(path):

        def lost(file: h5py.File, name: str = name) -> None:
            del file[name]

        yield f"no '{name}'", lost

        def dangling(file: h5py.File, name: str = name) -> None:
            del file[name]
            file[name] = h5py.SoftLink("/nowhere")

        yield f"'{name}' leads nowhere", dangling

        def turned(file: h5py.File, name: str = name, data: bool = data) -> None:
            del file[name]
            if data:
                file.create_group(name)
            else:
                file[name] = np.zeros(3)

        yield f"'{name}' of the other kind", turned

        def cycle(file: h5py.File, name: str = name) -> None:
            parent = file[name].parent
            del file[name]
            file[name] = parent

        yield f"'{name}' is what it lies in", cycle
        if data:

            def vast(file: h5py.File, name: str = name) -> None:
                kind = file[name].dtype
                del file[name]
                file.create_dataset(name, (10**13,), kind, chunks=(1000,))

            yield f"'{name}' is vast", vast
            for what, value in values.items():

                def other(file: h5py.File, name: str = name, value: Any = value) -> None:
                    del file[name]
                    file[name] = value

                yield f"'{name}' is {what}", other


def _attributes(path: Path) -> Iterator[tuple[str, Edit]]:
    """Yield edits of each attribute."""
    values: dict[str, Any] = {
        "text": "text", "-1": -1, "2**62": 2**62, "NaN": np.nan, "inf": np.inf, "many": np.zeros(3),
        "empty": h5py.Empty("f8"), "bytes": np.bytes_(b"\xff"), "0": 0,
    }  # fmt: skip
    with h5py.File(path, "r") as file:
        places = [(name, key) for name, _ in [*_everything(path), ("/", False)]
                  for key in file[name].attrs]  # fmt: skip
    for name, key in places:

        def lost(file: h5py.File, name: str = name, key: str = key) -> None:
            del file[name].attrs[key]

        yield f"'{name}' without '{key}'", lost
        for what, value in values.items():

            def other(
                file: h5py.File, name: str = name, key: str = key, value: Any = value
            ) -> None:
                file[name].attrs[key] = value

            yield f"'{key}' of '{name}' is {what}", other


def _unwritten(name: str) -> Edit:
    def edit(file: h5py.File) -> None:
        shape, kind = file[name].shape, file[name].dtype
        del file[name]
        file.create_dataset(name, shape, kind, chunks=tuple(max(n // 2, 1) for n in shape))

    return edit


def _values(good: dict[str, Path]) -> Iterator[Case]:
    """Values that an input or a recording may not have."""
    for number in (np.nan, np.inf, -np.inf):

        def rows(file: h5py.File, number: float = number) -> None:
            file["I/data"][7, 1] = number

        def events(file: h5py.File, number: float = number) -> None:
            file["spike_state/data/time"][3] = number

        yield Case(f"rows: {number}", _edited("rows", good["rows"], rows), words=("row 7",))
        yield Case(f"events: {number}", _edited("events", good["events"], events))
    for number in (-1, 1, 2**31 - 1):

        def index(file: h5py.File, number: int = number) -> None:
            file["spike_state/data/index"][3] = number

        yield Case(f"events: index {number}", _edited("events", good["events"], index))
    for number in (-1, 10**9, 2**40):

        def counted(file: h5py.File, number: int = number) -> None:
            file["V/valid_rows"][()] = number

        edited = _edited("recording", good["recording"], counted)
        yield Case(f"recording: {number} valid rows", edited)
