"""A sweep in a folder: a description, and a file for each finished point.

``sweep.json`` says what the sweep is. ``points/000012.h5`` is the result of point 12: the groups
``values`` and ``coordinates`` hold data sets with the attribute ``dimensions``, and the group
``events`` holds for each variable ``time`` (s) and ``index``. A file gets its name when it is
complete, so a kill loses no point that was finished.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import os
import pickle
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import CodeType
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ..errors import NeurodriverError
from ..io.hdf5_files import open_hdf5, reading, written_hdf5
from ..io.write import complete_or_none
from ..system import lock
from .points import SweepPoints
from .values import PointResult, PointValue

FORMAT = "neurodriver sweep 1"

Description = dict[str, Any]


class SweepFolder:
    """The folder of a sweep."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    @contextmanager
    def opened(self, description: Description) -> Iterator[None]:
        """Hold the folder for one sweep; it is made where there is none.

        Raises
        ------
        NeurodriverError
            Something else is there, or another sweep, or another process computes this one.
        """
        if self.path.exists() and not self.path.is_dir():
            raise NeurodriverError(f"{self.path}: a sweep needs a folder, but a file has this name")
        if self.path.is_dir() and any(self.path.iterdir()):
            check_same(self.path, self.description(), description)
        try:
            (self.path / "points").mkdir(parents=True, exist_ok=True)
            mark = open(self.path / "lock", "wb")
        except OSError as error:
            raise NeurodriverError(f"{self.path}: cannot be made ({error.strerror})") from None
        with mark:
            if not lock(mark):
                message = "another process computes this sweep; wait for it or end it"
                raise NeurodriverError(f"{self.path}: {message}")
            if not (self.path / "sweep.json").exists():
                with complete_or_none(self.path / "sweep.json") as part:
                    part.write_text(json.dumps(description, indent=1), encoding="utf-8")
            for part in (self.path / "points").glob(".*.part"):  # of a sweep that was killed
                part.unlink(missing_ok=True)
            yield

    def description(self) -> Description:
        """Return what ``sweep.json`` says."""
        try:
            found = json.loads((self.path / "sweep.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            message = f"{self.path}: no folder of a sweep, as its sweep.json cannot be read"
            raise NeurodriverError(f"{message} ({error})") from None
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise NeurodriverError(f"{self.path}: its sweep.json is not of the form '{FORMAT}'")
        return found

    def points(self) -> SweepPoints:
        """Return the points of the stored sweep."""
        given = self.description()
        axes = {name: tuple(values) for name, values in given["axes"].items()}
        return SweepPoints(axes, given["listed"])

    def results(self) -> dict[int, PointResult]:
        """Return the results of all finished points; a file that cannot be read is none."""
        out = {}
        for file in sorted((self.path / "points").glob("*.h5")):
            try:
                out[int(file.stem)] = _read(file)
            except ValueError:
                continue
        return out

    def store(self, number: int, result: PointResult) -> None:
        """Write the result of a point: whole or not at all."""
        with complete_or_none(self.path / "points" / f"{number:06}.h5") as part:
            _write(part, result)


def description_of(
    points: SweepPoints, build: Description, steps: int | None, duration: float | None
) -> Description:
    """Return what decides the results of a sweep, for ``sweep.json``."""
    return {
        "format": FORMAT,
        "axes": {name: list(values) for name, values in points.axes.items()},
        "listed": points.listed,
        "build": build,
        "steps": steps,
        "duration": duration,
    }


def check_same(path: Path, stored: Description, now: Description) -> None:
    """Raise NeurodriverError where the stored sweep is another one, and say what differs."""
    differ = [
        f"axis '{name}': {_value(stored['axes'], name)} is stored, now {_value(now['axes'], name)}"
        for name in {**stored["axes"], **now["axes"]}
        if stored["axes"].get(name) != now["axes"].get(name)
    ]
    if not differ and list(stored["axes"]) != list(now["axes"]):
        orders = (", ".join(one["axes"]) for one in (stored, now))
        differ.append("order of the axes: {} is stored, now {}".format(*orders))
    if stored["listed"] != now["listed"]:
        kinds = ("listed points" if one["listed"] else "a product of axes" for one in (stored, now))
        differ.append("{} are stored, now {}".format(*kinds))
    for name in ("steps", "duration"):
        if stored[name] != now[name]:
            differ.append(f"{name}: {stored[name]} is stored, now {now[name]}")
    if stored["build"]["name"] != now["build"]["name"]:
        differ.append(f"build: {stored['build']['name']} is stored, now {now['build']['name']}")
    elif stored["build"] != now["build"]:
        differ.append("the code of build, or what it is bound to, has changed")
    if differ:
        lines = "".join(f"\n  {text}" for text in differ)
        advice = "give another path, or delete the folder"
        raise NeurodriverError(f"{path}: holds another sweep; {advice}{lines}")


def _value(axes: dict[str, Any], name: str) -> str:
    return f"{axes[name]!r:.60}" if name in axes else "none"


def _write(path: Path, result: PointResult) -> None:
    with written_hdf5(path) as file:
        for part in ("values", "coordinates"):
            group = file.create_group(part)
            for name, value in getattr(result, part).items():
                one = group.create_dataset(name, data=_encoded(value.data), **_packing(value.data))
                one.attrs["dimensions"] = list(value.dimensions) or np.empty(0, "S1")
                for key, text in value.attributes.items():
                    one.attrs[f"attribute {key}"] = text
        for name, (time, index) in result.events.items():
            group = file.create_group(f"events/{name}")
            group["time"], group["index"] = time, index


def _packing(data: NDArray[Any]) -> dict[str, str]:
    """Return how HDF5 compresses texts; numbers stay as they are."""
    return {"compression": "gzip"} if data.dtype.kind == "U" and data.size and data.ndim else {}


def _encoded(data: NDArray[Any]) -> Any:
    """Return an array as h5py takes it: texts as bytes of UTF-8 of one length."""
    if data.dtype.kind != "U":
        return data
    raw = np.char.encode(data, "utf-8")
    return raw.astype(h5py.string_dtype("utf-8", max(1, raw.dtype.itemsize)))


def _read(path: Path) -> PointResult:
    out = PointResult()
    with open_hdf5(path) as file, reading(path):
        for part in ("values", "coordinates"):
            for name, one in file[part].items():
                data = one[()]
                if h5py.check_string_dtype(one.dtype):
                    data = np.char.decode(np.asarray(data, dtype="S"), "utf-8")
                names = tuple(d for d in one.attrs["dimensions"] if isinstance(d, str))
                keys = [k for k in one.attrs if k.startswith("attribute ")]
                attributes = {k.removeprefix("attribute "): one.attrs[k] for k in keys}
                getattr(out, part)[name] = PointValue(names, np.asarray(data), attributes)
        for name, group in file.get("events", {}).items():
            out.events[name] = group["time"][()], group["index"][()]
    return out


def identity_of(build: Callable[..., Any]) -> dict[str, str]:
    """Return the name of a function, and a digest of its code and of what it is bound to.

    Comments and blank lines do not count, nor do functions that it calls.
    """
    bound: list[Any] = []
    while isinstance(build, partial):
        bound.append((build.args, sorted(build.keywords.items())))
        build = build.func
    if not hasattr(build, "__qualname__"):  # an object that can be called
        bound.append(vars(build) if hasattr(build, "__dict__") else ())
        build = type(build)
    bound.append(getattr(build, "__self__", None))
    with suppress(ValueError):  # a name that has no value yet
        bound += [cell.cell_contents for cell in getattr(build, "__closure__", None) or ()]
    digest = hashlib.sha256(_code(build).encode())
    for value in bound:
        with suppress(Exception):  # what cannot be pickled cannot be compared either
            digest.update(pickle.dumps(value, protocol=5))
    return {"name": build.__qualname__, "digest": digest.hexdigest()}


def _code(function: Callable[..., Any]) -> str:
    """Return the text of a function without comments, or its compiled code."""
    try:
        text = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):  # typed in, or written in C
        code = getattr(function, "__code__", None)
        if code is None:
            return ""
        constants = [c for c in code.co_consts if not isinstance(c, CodeType)]
        return repr((code.co_code, code.co_names, constants))
    try:
        return ast.unparse(ast.parse(text))
    except SyntaxError:  # a lambda within a longer line
        return text
