"""Questions of a page -> answers that JSON can hold."""

from __future__ import annotations

import base64
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from ..errors import NeurodriverError, near, quoted
from ..model.kinds import usually_event
from ..results import Events, Recording, Variable
from ..results.sheets import axes_of
from .events import raster, rates, read_events
from .map import drawn_map, values_at
from .places import PlanePlaces, places_of
from .rows import drawn_rows
from .watched import Watched

MOST_UIDS = 12
"""Components that a question may name."""

MOST_LISTED = 200
"""Populations and uids that a page lists."""

Question = Mapping[str, Any]
Answer = dict[str, Any]


class Controlled(Protocol):
    """A run that a page may pause."""

    def state(self) -> Answer:
        """Return how far it is, whether it is paused, and its inputs."""

    def act(self, question: Question) -> None:
        """Start, pause, or switch an input."""


class Viewer:
    """Answers questions about recordings, and passes on what a page asks a run to do.

    Parameters
    ----------
    parts : sequence of Watched
        One for each LPU.
    control : Controlled, optional
        The run; without it the page has no buttons.

    Examples
    --------
    >>> view = Viewer("out.h5", watched_file("out.h5"))  # doctest: +SKIP
    >>> view.answer({"ask": "about"})["parts"]  # doctest: +SKIP
    """

    def __init__(
        self, title: str, parts: Sequence[Watched], control: Controlled | None = None
    ) -> None:
        self.title, self.control = title, control
        self.parts = {part.name: part for part in parts}
        self._places: dict[tuple[str, str, str, int], PlanePlaces] = {}
        self._lock = threading.Lock()
        self._asked: dict[str, Callable[[Question], Answer]] = {
            "about": self._about, "state": self._state, "events": self._events,
            "rows": self._rows, "map": self._map, "act": self._act,
        }  # fmt: skip

    def answer(self, question: object) -> Answer:
        """Answer a question; what is wrong with it is the answer's ``error``.

        Parameters
        ----------
        question : mapping
            ``ask`` is one of ``about``, ``state``, ``events``, ``rows``, ``map``, ``act``. The
            rest depends on it.

        Returns
        -------
        dict
            Arrays are mappings of ``type``, ``shape`` and ``data`` in base64.
        """
        try:
            if not isinstance(question, dict):
                raise NeurodriverError("a question must be an object of JSON")
            asked = question.get("ask")
            if not isinstance(asked, str) or asked not in self._asked:
                known = ", ".join(self._asked)
                raise NeurodriverError(f"ask must be one of {known}; got {quoted(str(asked)[:40])}")
            with self._lock:
                found: Answer = _plain(self._asked[asked](question))
                return found
        except NeurodriverError as error:
            return {"error": str(error)}

    def _about(self, question: Question) -> Answer:
        parts = [self._describe(part) for part in self.parts.values()]
        return {"title": self.title, "parts": parts, **self._state(question)}

    def _describe(self, part: Watched) -> Answer:
        try:
            with part.recording() as found:
                variables = [_variable(found, name) for name in found.variables]
                here = {"duration": found.duration, "dt": found.dt, "complete": found.complete}
                return {"name": part.name, "variables": variables, **here}
        except NeurodriverError as error:  # nothing recorded yet
            empty = {"duration": 0.0, "dt": 1.0, "complete": False}
            return {"name": part.name, "variables": [], "said": str(error), **empty}

    def _state(self, question: Question) -> Answer:
        control = None if self.control is None else self.control.state()
        return {"control": control, "durations": [self._reach(p) for p in self.parts.values()]}

    def _reach(self, part: Watched) -> Answer:
        try:
            with part.recording() as found:
                return {"duration": found.duration, "complete": found.complete}
        except NeurodriverError:
            return {"duration": 0.0, "complete": False}

    def _act(self, question: Question) -> Answer:
        if self.control is None:
            raise NeurodriverError("a recording cannot be started, paused or given inputs")
        self.control.act(question)
        return self._state(question)

    def _part(self, question: Question) -> Watched:
        name = question.get("part", "")
        if not isinstance(name, str) or name not in self.parts:
            said = quoted(str(name)[:80])
            hint = near(str(name)[:80], self.parts)
            raise NeurodriverError(f"no LPU {said}{hint}; there are {', '.join(self.parts)}")
        return self.parts[name]

    def _events(self, question: Question) -> Answer:
        start, stop = _window(question)
        with self._part(question).recording() as found:
            events = _chosen(found, question, events=True)
            assert isinstance(events, Events)
            columns, populations = len(events.uids), events.populations
            if not columns:
                raise NeurodriverError(f"no component of {quoted(events.name)} was recorded")
            read = read_events(events, start, stop, found.dt)
            marks = raster(read, start, stop, columns)
            mean = rates(read, start, stop, columns, populations)
        names = {"columns": columns, "uids": events.uids[:MOST_UIDS], "total": read.total}
        return {**names, "raster": marks, "rates": mean}

    def _rows(self, question: Question) -> Answer:
        start, stop = _window(question)
        with self._part(question).recording() as found:
            part = _chosen(found, question, events=False)
            assert isinstance(part, Variable)
            width = found.dataset(part.name).shape[1]
            drawn = drawn_rows(part.between(start, stop), width, start)
        uids = part.uids
        names = {"columns": len(uids), "uids": uids[:MOST_UIDS], "unit": part.unit}
        return {**names, **drawn}

    def _map(self, question: Question) -> Answer:
        time, window = _seconds(question, "time"), _seconds(question, "window")
        watched = self._part(question)
        with watched.recording() as found:
            window = max(window, found.dt)
            part = _chosen(found, question, events=None)
            values, label, said = values_at(part, time, window)
            key = watched.name, part.name, str(question.get("population", "")), len(values)
            if key not in self._places:
                axes = dict(axes_of(found.attributes))
                self._places[key] = places_of(part.uids, key[2], watched.circuit, axes)
        drawn = drawn_map(self._places[key], values)
        return {**drawn, "label": label, "said": f"{said}; {drawn['said']}"}


def _variable(found: Recording, name: str) -> Answer:
    """Return what a page has to know of a variable."""
    part = found.as_events(name) if found.is_events(name) else found.data(name)
    names = list(part.populations)
    return {
        "name": name,
        "unit": found.unit(name),
        "events": isinstance(part, Events) or usually_event(name),
        "columns": len(part.uids),
        "populations": names[:MOST_LISTED],
        "more": max(0, len(names) - MOST_LISTED),
    }


def _chosen(found: Recording, question: Question, events: bool | None) -> Variable | Events:
    """Return the variable of a question, of the population and the uids that it names."""
    name = question.get("variable")
    if not isinstance(name, str):
        raise NeurodriverError("variable must be the name of a variable")
    part: Any = found[name]
    if isinstance(part, Variable) and (events or (events is None and usually_event(name))):
        part = found.as_events(name)  # rows, in older files
    if isinstance(part, Events) and events is False:
        raise NeurodriverError(f"{quoted(name)} is stored as events; ask for events")
    population, uids = question.get("population", ""), question.get("uids", [])
    if population and population not in part.populations:
        hint = near(str(population)[:80], part.populations)
        raise NeurodriverError(f"no population {quoted(str(population)[:80])} in {name}{hint}")
    if population:
        part = part[[population]]
    if not isinstance(uids, list) or len(uids) > MOST_UIDS:
        raise NeurodriverError(f"uids must be a list of at most {MOST_UIDS} names")
    return part[[str(uid) for uid in uids]] if uids else part  # type: ignore[no-any-return]


def _seconds(question: Question, name: str) -> float:
    value = question.get(name)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value):  # type: ignore[arg-type]
        raise NeurodriverError(f"{name} must be a number of seconds, got {str(value)[:40]}")
    return float(value)  # type: ignore[arg-type]


def _window(question: Question) -> tuple[float, float]:
    start, stop = _seconds(question, "start"), _seconds(question, "stop")
    if not start < stop:
        raise NeurodriverError(f"start must be before stop, got {start:g} and {stop:g} s")
    return start, stop


def _plain(value: Any) -> Any:
    """Return an answer without arrays, and without numbers that JSON has not got."""
    if isinstance(value, np.ndarray):
        data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        little = value.dtype.newbyteorder("<").str
        return {"type": little.lstrip("<|"), "shape": list(value.shape), "data": data}
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
