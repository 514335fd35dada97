"""GEXF file -> records, in the order of the file; every fault is kept."""

from __future__ import annotations

import gzip
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any
from xml.parsers import expat

from ..circuit.records import Records
from ..circuit.validate import edge_name, node_name
from ..errors import CircuitError, Faults, quoted
from .gexf_places import HIERARCHY, TIMES, Attributes, Walker

BLOCK = 1 << 20
"""Bytes handed to the parser at once."""


def read_gexf(path: Path) -> Records:
    """Return the records of a GEXF file, plain or gzipped, with the faults found so far.

    Nodes and edges keep the order of the file. What cannot be read as GEXF at all raises
    CircuitError.
    """
    reader = _Reader(path)
    try:
        with open(path, "rb") as file:
            head = file.peek(8)[:8]
            if head.startswith(b"\x89HDF"):
                raise CircuitError(f"{path}: this is an HDF5 file; a GEXF file is expected")
            # by content: a wrong ending does no harm
            zipped = head.startswith(b"\x1f\x8b")
            stream: IO[bytes] = gzip.GzipFile(fileobj=file) if zipped else file  # type: ignore[assignment]
            while block := stream.read(BLOCK):
                reader.take(block)
            reader.take(b"", last=True)
    except FileNotFoundError:
        raise CircuitError(f"{path}: no such file") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise CircuitError(f"{path}: the gzip data are damaged or cut short ({error})") from None
    except expat.ExpatError as error:
        say = f"not well-formed XML ({error}); a GEXF file is expected"
        raise CircuitError(f"{path}: {say}") from None
    except OSError as error:
        raise CircuitError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (LookupError, ValueError) as error:
        if isinstance(error, CircuitError):
            raise
        # what Python says of an encoding that it does not know
        raise CircuitError(f"{path}: not readable XML ({error}); use UTF-8") from None
    return reader.records_of_file()


class _Reader(Walker):
    """Takes the elements of a file as the parser meets them.

    Declarations may stand behind what they declare, so values are text until the end.
    """

    def __init__(self, path: Path) -> None:
        self.records = Records(str(path))
        super().__init__(path, self.records.faults)
        self.declared = {kind: _Declared(kind, self.faults) for kind in ("node", "edge")}
        self.graphs = 0
        self.ids: Counter[str] = Counter()
        self.texts: dict[str, list[Attributes]] = {"node": [], "edge": []}
        """Values of each node and edge, by the ids of their declarations."""
        self.weights: dict[int, float] = {}
        """What edges say of their weights outside of these values."""
        self.said: dict[int, Attributes] = {}
        """What else they say outside of them."""
        self.labels: dict[int, str] = {}
        """Labels of nodes that are not their ids."""
        self.open: list[tuple[str, int, Attributes]] = []
        """Kind, row and values of the nodes and edges around the place in the file."""
        self.kind, self.key, self.default = "", "", ""
        self.counts: list[tuple[str, str, int]] = []
        """Open lists: name, number of elements announced, elements before."""

    def _nodes(self, given: Attributes) -> None:
        if self.around[-1].name == "node":
            self.faults.warn(f"nodes in a node: they stand beside it; {HIERARCHY}")
        self._list(given, "nodes", len(self.records.uids))

    def _edges(self, given: Attributes) -> None:
        self._list(given, "edges", len(self.records.sources))

    def _list(self, given: Attributes, name: str, before: int) -> None:
        self.counts.append((name, given.get("count", ""), before))

    def _end_of_node(self) -> None:
        self.open.pop()

    _end_of_edge = _end_of_node

    def _end_of_nodes(self) -> None:
        name, said, before = self.counts.pop()
        held = len(self.records.uids if name == "nodes" else self.records.sources) - before
        if said and said.strip() != str(held):
            say = f"attribute 'count' of <{name}> says {quoted(said)}, but there are {held:,}"
            self.faults.warn(f"{say}; something may be lost")

    _end_of_edges = _end_of_nodes

    def _graph(self, given: Attributes) -> None:
        self.graphs += 1
        if self.graphs == 2:
            self.faults.add("a second <graph>; one file holds one circuit")
        if (kind := given.get("defaultedgetype")) != "directed":
            got = "none" if kind is None else quoted(kind)
            say = "attribute 'defaultedgetype' of <graph> must be 'directed'"
            self.faults.add(f"{say} (got {got})")
        if (mode := given.get("mode", "static")) != "static":
            self.faults.warn(f"attribute 'mode' of <graph> is {quoted(mode)}; {TIMES}")

    def _attributes(self, given: Attributes) -> None:
        self.kind = given.get("class", "")
        if self.kind not in self.declared:
            say = "attribute 'class' of <attributes> must be 'node' or 'edge'"
            self.faults.add(f"{say} (got {quoted(self.kind)})")
        if given.get("mode") == "dynamic":
            say = "attribute 'mode' of <attributes> must be 'static'"
            self.faults.add(f"{say} (got 'dynamic': values do not change in time)")

    def _attribute(self, given: Attributes) -> None:
        if self.kind in self.declared:
            self.key = given.get("id", "")
            self.declared[self.kind].take(given)

    def _default(self, given: Attributes) -> None:
        self.default = ""
        self.parser.CharacterDataHandler = self._text_of_default

    def _text_of_default(self, text: str) -> None:
        self.default += text

    def _end_of_default(self) -> None:
        if self.kind in self.declared:
            declared = self.declared[self.kind]
            where = f"the default of a {self.kind} attribute"
            declared.defaults |= declared.values({self.key: self.default}, lambda: where)

    def _node(self, given: Attributes) -> None:
        values: Attributes = {}
        self.open.append(("node", len(self.records.uids), values))
        if "id" in given:
            self.records.uids.append(given["id"])
            self.texts["node"].append(values)
            if given.get("label", given["id"]) != given["id"]:
                self.labels[len(self.records.uids) - 1] = given["label"]
        else:
            self.faults.add("a node without 'id'")

    def _edge(self, given: Attributes) -> None:
        row = len(self.records.sources)
        values: Attributes = {}
        self.open.append(("edge", row, values))
        if "id" in given:
            self.ids[given["id"]] += 1
        for lost in ("source", "target"):
            if lost not in given:
                name = quoted(given.get("id", ""))
                self.faults.add(f"edge {name}: attribute '{lost}' is missing")
                return
        self.records.sources.append(given["source"])
        self.records.targets.append(given["target"])
        self.texts["edge"].append(values)
        if "weight" in given:
            try:
                self.weights[row] = _float(given["weight"])
            except ValueError:
                say = f"must be of type 'double' (got {quoted(given['weight'])})"
                self.faults.add(f"{self._name('edge', row)}, attribute 'weight': {say}")
        if more := {str(n): given[n] for n in ("label", "kind") if n in given}:
            self.said[row] = more
        if (kind := given.get("type", "directed")) != "directed":
            say = f"attribute 'type': must be 'directed' (got {quoted(kind)})"
            self.faults.add(f"{self._name('edge', row)}, {say}")

    def _attvalue(self, given: Attributes) -> None:
        kind, row, values = self.open[-1] if self.open else ("node", -1, {})
        key, text = given.get("for"), given.get("value")
        if key is None or text is None:
            lost = "for" if key is None else "value"
            self.faults.add(f"{self._name(kind, row)}: an <attvalue> without '{lost}'")
        elif key in values:
            self.faults.add(f"{self._name(kind, row)}: attribute '{key:.60}' has two values")
        else:
            values[key] = text

    def here(self) -> str:
        kind, row, _ = self.open[-1]
        return self._name(kind, row)

    def _name(self, kind: str, row: int) -> str:
        """Return how messages call a node or an edge."""
        if kind == "node":
            return node_name(self.records.uids[row])
        return edge_name(self.records.sources[row], self.records.targets[row])

    def records_of_file(self) -> Records:
        """Return what the file holds, now that all of it is known."""
        if not self.graphs:
            raise CircuitError(f"{self.path}: no <graph> element in this GEXF file")
        twice = [(name, n) for name, n in self.ids.items() if n > 1]  # uids are checked later
        say = "times; ids must be unique"
        texts = (f"edge id {quoted(name)} stands {n} {say}" for name, n in twice)
        self.faults.add_each(texts, len(twice))
        rows = {}
        for kind, declared in self.declared.items():
            if kind == "edge" and "weight" not in {*declared.title, *declared.title.values()}:
                # nobody has to declare it
                declared.take({"id": "weight", "title": "weight", "type": "double"})
            name = partial(self._name, kind)
            rows[kind] = [
                declared.values(texts, partial(name, row))
                for row, texts in enumerate(self.texts[kind])
            ]
        for row, label in self.labels.items():
            rows["node"][row].setdefault("label", label)
        for row, weight in self.weights.items():
            rows["edge"][row].setdefault("weight", weight)
        for row, more in self.said.items():
            rows["edge"][row] = more | rows["edge"][row]
        self.records.nodes, self.records.edges = rows["node"], rows["edge"]
        return self.records


def _boolean(text: str) -> bool:
    return {"true": True, "1": True, "false": False, "0": False}[text.strip().lower()]


def _float(text: str) -> float:
    if "_" in text:  # digits in groups, as in a program
        raise ValueError
    return float(text)


def _number(text: str) -> int | float:
    """Return a number; networkx calls an attribute ``long`` when only its first value is one."""
    try:
        return int(text) if "_" not in text else _float(text)
    except ValueError:
        return _float(text)


_TYPES: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("integer", "long", "int", "short", "byte", "biginteger"), _number),
    **dict.fromkeys(("float", "double", "bigdecimal"), _float),
    **dict.fromkeys(("string", "anyURI", "char", "date", "dateTime"), str),
    "boolean": _boolean,
}


@dataclass
class _Declared:
    """Attributes that a file declares for its nodes, or for its edges."""

    kind: str
    faults: Faults
    title: dict[str, str] = field(default_factory=dict)
    type: dict[str, str] = field(default_factory=dict)
    convert: dict[str, Callable[[str], Any]] = field(default_factory=dict)
    defaults: dict[str, Any] = field(default_factory=dict)

    def take(self, given: Attributes) -> None:
        """Take a declaration, noting what is wrong with it."""
        key, title, type_ = (given.get(name, "") for name in ("id", "title", "type"))
        where = f"the declaration of {self.kind} attribute {quoted(title or key)}"
        if not key or not title:
            self.faults.add(f"{where} has no '{'title' if key else 'id'}'")
        # lists, and the keys of edges that networkx writes, stay text
        free = type_.startswith("list") or title == "networkx_key"
        if not free and type_ not in _TYPES:
            use = "use 'double' or 'string'"
            self.faults.add(f"{where} has an unknown type {quoted(type_)}; {use}")
        if key in self.title or title in self.title.values():
            self.faults.add(f"{where} is repeated; 'id' and 'title' must be unique")
        self.title[key], self.type[key] = title, type_
        self.convert[key] = str if free else _TYPES.get(type_, str)

    def values(self, texts: Attributes, name: Callable[[], str]) -> dict[str, Any]:
        """Return values by title, defaults included; each bad one is named, the others are kept."""
        title, convert = self.title, self.convert
        try:
            data = {title[key]: convert[key](text) for key, text in texts.items()}
        except (KeyError, ValueError):
            data = {}
            for key, text in texts.items():
                if key not in title:
                    say = f"{quoted(key)} is not declared in the file's <attributes>"
                    self.faults.add(f"{name()}: {say}")
                    continue
                try:
                    data[title[key]] = convert[key](text)
                except (KeyError, ValueError):
                    say = f"must be of type {quoted(self.type[key])} (got {quoted(text)})"
                    self.faults.add(f"{name()}, attribute {quoted(title[key])}: {say}")
        return self.defaults | data if self.defaults else data
