"""The elements of a GEXF file: where each may be, its attributes, and what is done with them."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

from ..errors import CircuitError, Faults, near, quoted

Attributes = dict[str, str]

_NAMESPACE = re.compile(r"https?://(www\.)?gexf\.net/1\.[123](draft)?/?")
_KNOWN = "known are http://www.gexf.net/1.1draft, http://www.gexf.net/1.2draft, http://gexf.net/1.3"


@dataclass(eq=False)
class Tag:
    """An element, and what it may contain.

    Attributes
    ----------
    used : frozenset of str
        Attributes that are read.
    described : frozenset of str
        Attributes that describe the file and change nothing in a circuit.
    text : bool
        Whether it may contain text.
    unused : str
        Why it is not read, with all that is in it; "" if it is read.
    free : bool
        Whether it may contain anything.
    inside : dict
        Name -> place of the elements that it may contain.
    take : callable, optional
        What is called with its attributes.
    end : callable, optional
        What is called at its end.
    """

    name: str
    used: frozenset[str] = frozenset()
    described: frozenset[str] = frozenset()
    text: bool = False
    unused: str = ""
    free: bool = False
    inside: dict[str, Tag] = field(default_factory=dict)
    take: Any = None
    end: Any = None

    def known(self) -> frozenset[str]:
        """Return the attributes that need no word."""
        return self.used | self.described


TIMES = "nodes and edges do not come and go"
HIERARCHY = "nodes have no hierarchy"

_USED = {
    "gexf": "",
    "graph": "defaultedgetype mode",
    "attributes": "class mode",
    "attribute": "id title type",
    "default": "",
    "nodes": "count",
    "node": "id label",
    "attvalues": "",
    "attvalue": "for value",
    "edges": "count",
    "edge": "id source target weight type label kind",
    "meta": "",
}
_DESCRIBED = {
    "gexf": "version variant",
    "graph": "idtype name timeformat timerepresentation timezone",
    "meta": "lastmodifieddate",
}
_UNUSED = {
    "spells": TIMES,
    "slices": TIMES,
    "parents": HIERARCHY,
    "options": "values are not compared with it",
}
_INSIDE = {
    "gexf": "meta graph",
    "graph": "attributes nodes edges",
    "attributes": "attribute",
    "attribute": "default options",
    "nodes": "node",
    "edges": "edge",
    "node": "attvalues nodes edges spells slices parents",
    "edge": "attvalues spells slices",
    "attvalues": "attvalue",
}
TIMED = frozenset({"start", "end", "startopen", "endopen", "timestamp"})
"""Attributes that say when something holds."""


def places(space: str) -> dict[str, Tag]:
    """Return the place of each element of a file by its name, without its namespace."""
    out = {
        name: Tag(
            name,
            frozenset(words.split()),
            frozenset(_DESCRIBED.get(name, "").split()),
            text=name in ("meta", "default"),
            free=name == "meta",
        )
        for name, words in _USED.items()
    }
    out |= {name: Tag(name, unused=why, text=True, free=True) for name, why in _UNUSED.items()}
    for name, words in _INSIDE.items():
        out[name].inside = {f"{space}}}{word}": out[word] for word in words.split()}
    return out


class Walker(ABC):
    """Goes through the elements of a file; those that are not read give an error or a warning.

    A method ``_name`` takes the attributes of each element of that name, ``_end_of_name`` is called
    at its end.
    """

    def __init__(self, path: Path, faults: Faults) -> None:
        self.path, self.faults = path, faults
        self.place = Tag("")
        self.around: list[Tag] = []
        """Elements around the place in the file."""
        self.stray: list[str] = []
        """Text between the elements."""
        self.space = ""
        self.parser = expat.ParserCreate(namespace_separator="}")
        self.parser.EntityDeclHandler = self._refuse
        self.parser.StartElementHandler = self._root

    @abstractmethod
    def here(self) -> str:
        """Return how messages call the node or edge around the place in the file."""

    def take(self, block: bytes, last: bool = False) -> None:
        """Read the next bytes of the file."""
        self.parser.Parse(block, last)
        text = "".join(self.stray).split()
        self.stray.clear()
        if text:
            say = "stands between the elements, where it means nothing; write <attvalue>"
            self.faults.add(f"the text {quoted(' '.join(text))} {say}")

    def _refuse(self, name: str, *rest: Any) -> None:  # entities can expand without bound
        say = f"declares the XML entity {quoted(name)}, which is refused; write the text itself"
        raise CircuitError(f"{self.path}: {say}")

    def _root(self, tag: str, given: Attributes) -> None:
        space, _, name = tag.rpartition("}")
        if name != "gexf" or not _NAMESPACE.fullmatch(space):
            got = f"<{name:.60}> with the namespace {quoted(space)}" if space else f"<{name:.60}>"
            raise CircuitError(
                f"{self.path}: not a GEXF file of version 1.1 to 1.3: the root element must be "
                f"<gexf> with its namespace ({_KNOWN}), got {got}"
            )
        self.space, known = space, places(space)
        for name, place in known.items():
            place.take = getattr(self, f"_{name}", None)
            place.end = getattr(self, f"_end_of_{name}", None)
        self.around.append(self.place)
        self.place = known["gexf"]
        self._unused_attributes(self.place, given)
        self.parser.StartElementHandler, self.parser.EndElementHandler = self._start, self._end
        self.parser.CharacterDataHandler = self.stray.append

    def _start(self, tag: str, given: Attributes) -> None:
        around = self.place
        place = around.inside.get(tag) or self._stranger(around, tag)
        self.around.append(around)
        self.place = place
        if not given.keys() <= place.used and not place.free:
            self._unused_attributes(place, given)
        if place.text:
            self.parser.CharacterDataHandler = None
        if place.take is not None:
            place.take(given)

    def _end(self, tag: str) -> None:
        place = self.place
        if place.end is not None:
            place.end()
        self.place = self.around.pop()
        if place.text and not self.place.text:
            self.parser.CharacterDataHandler = self.stray.append

    def _stranger(self, around: Tag, tag: str) -> Tag:
        """Return the place of an element that stands where none of its name is known."""
        space, _, name = tag.rpartition("}")
        if not around.free:
            if space != self.space:
                drawn = space.endswith("/viz")
                what = "elements of viz, which tell how to draw," if drawn else "elements of"
                what = what if drawn else f"{what} the namespace {quoted(space)}"
                self.faults.warn(f"{what} are not used")
            else:
                allowed = [known.name for known in around.inside.values()]
                hint = near(name, allowed)
                if not hint:
                    may = ", ".join(f"<{one}>" for one in allowed) or "no element"
                    hint = f"; in it may stand {may}"
                self.faults.add(f"<{name:.60}> in <{around.name}> is no part of GEXF{hint}")
        return Tag(name, text=True, free=True)

    def _unused_attributes(self, place: Tag, given: Attributes) -> None:
        for name in given.keys() - place.known():
            if "}" in name:  # of another namespace: where a schema is, or the language
                continue
            if place.name == "attvalue" and name in TIMED:
                say = "values do not change in time"
                self.faults.add(f"{self.here()}: an <attvalue> with {name!r}: {say}")
                continue
            why = f"; {TIMES}" if name in TIMED else near(name, place.used)
            why = f"; {HIERARCHY}" if name == "pid" else why
            self.faults.warn(f"attribute {quoted(name)} of <{place.name}> is not used{why}")

    def _unused(self, given: Attributes) -> None:
        self.faults.warn(f"<{self.place.name}> is not used; {self.place.unused}")

    _spells = _slices = _parents = _options = _unused
