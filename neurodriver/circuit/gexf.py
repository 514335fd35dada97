"""GEXF file -> records: one pass over the file, no tree, every fault named."""

from __future__ import annotations

import gzip
import re
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any
from xml.parsers import expat

from ..errors import CircuitError, quoted
from .attributes import TYPES, Declared, convert_each
from .records import Records
from .validate import edge_name, node_name

BLOCK = 1 << 20
"""Bytes handed to the parser at once."""

_NAMESPACE = re.compile(r"https?://(www\.)?gexf\.net/1\.[123](draft)?/?")
_KNOWN = "known are http://www.gexf.net/1.1draft, http://www.gexf.net/1.2draft, http://gexf.net/1.3"


class _Reader:
    """Takes the parser's events; keeps the text of values until all declarations are known."""

    def __init__(self, path: Path, records: Records) -> None:
        self.path, self.records, self.faults = path, records, records.faults
        weight = Declared({"weight": "weight"}, {"weight": "double"}, {"weight": float})
        self.declared = {"node": Declared(), "edge": weight}
        self.edge_ids: list[str] = []
        self._kind = ""
        self._key = ""
        self._default: list[str] | None = None
        self._values: dict[str, str] = {}
        self._outer: list[dict[str, str]] = []
        self._graphs = 0
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.EntityDeclHandler = self._entity
        self.parser.StartElementHandler = self._root
        self.parser.CharacterDataHandler = None

    def _entity(self, name: str, *rest: Any) -> None:
        message = f"declares the XML entity {quoted(name)}, which is refused; write the text itself"
        raise CircuitError(f"{self.path}: {message}")  # entities can expand without bound

    def _root(self, tag: str, attributes: dict[str, str]) -> None:
        space, _, name = tag.rpartition(" ")
        if name != "gexf" or not _NAMESPACE.fullmatch(space):
            got = f"<{name:.60}> with the namespace {quoted(space)}" if space else f"<{name:.60}>"
            raise CircuitError(
                f"{self.path}: not a GEXF file of version 1.1 to 1.3: the root element must be "
                f"<gexf> with its namespace ({_KNOWN}), got {got}"
            )
        start: dict[str, Callable[[dict[str, str]], None]] = {
            "graph": self._graph,
            "attributes": self._attributes,
            "attribute": self._attribute,
            "default": self._start_default,
            "node": self._node,
            "edge": self._edge,
        }
        self._start = {f"{space} {name}": act for name, act in start.items()}
        self._end = {f"{space} node": self._end_node, f"{space} default": self._end_default}
        self._value_tag = f"{space} attvalue"
        self.parser.StartElementHandler = self._element
        self.parser.EndElementHandler = self._close

    def _element(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == self._value_tag:
            key = attributes.get("for")
            text = attributes.get("value")
            if key is None or text is None or key in self._values:
                self._odd_value(key, text)
            else:
                self._values[key] = text
        elif act := self._start.get(tag):
            act(attributes)

    def _close(self, tag: str) -> None:
        if act := self._end.get(tag):
            act()

    def _odd_value(self, key: str | None, text: str | None) -> None:
        records = self.records
        where = node_name(records.uids[-1]) if records.uids else "an <attvalue>"
        if records.edges:
            where = edge_name(records.sources[-1], records.targets[-1])
        if key is None or text is None:
            lost = "for" if key is None else "value"
            self.faults.add(f"{where}: an <attvalue> without '{lost}'")
        else:
            self.faults.add(f"{where}: attribute '{key:.60}' has two values")

    def _graph(self, attributes: dict[str, str]) -> None:
        self._graphs += 1
        if self._graphs > 1:
            self.faults.add("a second <graph>; one file holds one circuit")
        got = attributes.get("defaultedgetype")
        if got != "directed":
            said = "none" if got is None else quoted(got)
            message = "attribute 'defaultedgetype' of <graph> must be 'directed'"
            self.faults.add(f"{message} (got {said})")

    def _attributes(self, attributes: dict[str, str]) -> None:
        self._kind = attributes.get("class", "")
        if self._kind not in self.declared:
            message = "attribute 'class' of <attributes> must be 'node' or 'edge'"
            self.faults.add(f"{message} (got {quoted(self._kind)})")
        if attributes.get("mode") == "dynamic":
            message = "attribute 'mode' of <attributes> must be 'static'"
            self.faults.add(f"{message} (got 'dynamic': values do not change in time)")

    def _attribute(self, attributes: dict[str, str]) -> None:
        declared = self.declared.get(self._kind)
        if declared is None:
            return
        key, title, kind = (attributes.get(name, "") for name in ("id", "title", "type"))
        self._key = key
        where = f"the declaration of {self._kind} attribute {quoted(title or key)}"
        if not key or not title:
            self.faults.add(f"{where} has no '{'title' if key else 'id'}'")
        free = kind.startswith("list") or title == "networkx_key"
        convert = str if free else TYPES.get(kind)
        if convert is None:
            self.faults.add(f"{where} has an unknown type {quoted(kind)}; use 'double' or 'string'")
        again = key != "weight" and (key in declared.title or title in declared.title.values())
        if again:
            self.faults.add(f"{where} is repeated; 'id' and 'title' must be unique")
        declared.title[key], declared.type[key] = title, kind
        declared.convert[key] = convert or str

    def _start_default(self, attributes: dict[str, str]) -> None:
        self._default = []
        self.parser.CharacterDataHandler = self._default.append

    def _end_default(self) -> None:
        if self._default is not None and self._kind in self.declared:
            self.declared[self._kind].defaults[self._key] = "".join(self._default)
        self._default = None
        self.parser.CharacterDataHandler = None

    def _node(self, attributes: dict[str, str]) -> None:
        uid = attributes.get("id")
        self._outer.append(self._values)  # a node may stand within a node
        self._values = {}
        if uid is None:
            self.faults.add("a node without 'id'")
            return
        self.records.uids.append(uid)
        self.records.nodes.append(self._values)

    def _end_node(self) -> None:
        self._values = self._outer.pop()

    def _edge(self, attributes: dict[str, str]) -> None:
        self._values = {}
        source, target = attributes.get("source"), attributes.get("target")
        name = attributes.get("id")
        if name is not None:
            self.edge_ids.append(name)
        if source is None or target is None:
            lost = "source" if source is None else "target"
            self.faults.add(f"edge {quoted(name or '')}: attribute '{lost}' is missing")
            return
        kind = attributes.get("type", "directed")
        if kind != "directed":
            message = f"must be 'directed' (got {quoted(kind)})"
            self.faults.add(f"{edge_name(source, target)}, attribute 'type': {message}")
        weight = attributes.get("weight")
        if weight is not None:
            self._values["weight"] = weight
        self.records.sources.append(source)
        self.records.targets.append(target)
        self.records.edges.append(self._values)

    def finish(self) -> None:
        """Decode all values; note edge ids that stand twice."""
        if not self._graphs:
            raise CircuitError(f"{self.path}: no <graph> element in this GEXF file")
        if len(set(self.edge_ids)) < len(self.edge_ids):
            twice = [(name, n) for name, n in Counter(self.edge_ids).items() if n > 1]
            say = "times; ids must be unique"
            texts = (f"edge id {quoted(name)} stands {n} {say}" for name, n in twice)
            self.faults.add_each(texts, len(twice))
        records = self.records
        self._decode("node", records.nodes, lambda row: node_name(records.uids[row]))
        ends = (records.sources, records.targets)
        self._decode("edge", records.edges, lambda row: edge_name(*(end[row] for end in ends)))

    def _decode(self, kind: str, rows: list[dict[str, Any]], name: Callable[[int], str]) -> None:
        """Replace texts by values and ids by titles, in place."""
        declared = self.declared[kind]
        title, convert = declared.title, declared.convert
        where = f"the default of a {kind} attribute"
        given = {k: v for k, v in declared.defaults.items() if k in title}
        defaults = convert_each(given, declared, lambda: where, self.faults)
        for row, values in enumerate(rows):
            if not values:
                rows[row] = defaults
                continue
            try:
                found = {title[k]: convert[k](v) for k, v in values.items()}
            except (KeyError, ValueError):
                found = convert_each(values, declared, lambda row=row: name(row), self.faults)  # type: ignore[misc]
            rows[row] = {**defaults, **found} if defaults else found


def read_gexf(path: Path) -> Records:
    """Read a GEXF file, plain or gzipped.

    Parameters
    ----------
    path : Path

    Returns
    -------
    Records
        Nodes and edges in file order, with the faults found so far.

    Raises
    ------
    CircuitError
        When the file cannot be read as GEXF at all.
    """
    reader = _Reader(path, Records(str(path)))
    try:
        _feed(reader, path)
        reader.finish()
    except FileNotFoundError:
        raise CircuitError(f"{path}: no such file") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise CircuitError(f"{path}: the gzip data are damaged or cut short ({error})") from None
    except expat.ExpatError as error:
        message = f"not well-formed XML ({error}); a GEXF file is expected"
        raise CircuitError(f"{path}: {message}") from None
    except OSError as error:
        raise CircuitError(f"{path}: cannot be read ({error.strerror or error})") from None
    return reader.records


def _feed(reader: _Reader, path: Path) -> None:
    with open(path, "rb") as file:
        head = file.peek(8)[:8]
        if head.startswith(b"\x89HDF"):
            raise CircuitError(f"{path}: this is an HDF5 file; a circuit is a GEXF file")
        # by content: a wrong ending does no harm
        zipped = head.startswith(b"\x1f\x8b")
        stream: IO[bytes] = gzip.GzipFile(fileobj=file) if zipped else file  # type: ignore[assignment]
        while block := stream.read(BLOCK):
            _parse(reader, path, block, False)
        _parse(reader, path, b"", True)


def _parse(reader: _Reader, path: Path, block: bytes, last: bool) -> None:
    try:
        reader.parser.Parse(block, last)
    except (LookupError, ValueError) as error:
        if isinstance(error, CircuitError):
            raise
        # what Python says of an encoding that it does not know
        raise CircuitError(f"{path}: not readable XML ({error}); use UTF-8") from None
