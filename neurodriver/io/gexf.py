"""GEXF file -> records: networkx decodes, the order of the file and every fault are kept here."""

from __future__ import annotations

import gzip
import re
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any
from xml.etree.ElementTree import Element, ParseError, XMLParser
from xml.parsers import expat

from networkx import NetworkXError
from networkx.readwrite.gexf import GEXFReader

from ..circuit.records import Records
from ..circuit.validate import edge_name, node_name
from ..errors import CircuitError, quoted
from .attributes import TYPES, Declared, convert_each

BLOCK = 1 << 20
"""Bytes handed to the parser at once."""

_NAMESPACE = re.compile(r"https?://(www\.)?gexf\.net/1\.[123](draft)?/?")
_KNOWN = "known are http://www.gexf.net/1.1draft, http://www.gexf.net/1.2draft, http://gexf.net/1.3"
_ROOT = re.compile(r"(?:\{(.*)\})?(.*)", re.DOTALL)


class _GEXFRecordReader(GEXFReader):  # type: ignore[misc]
    """networkx's reader, with records in the order of the file in the place of a graph.

    networkx's graphs keep neither the order of the edges nor ids that stand twice, and make nodes
    of edges that lead nowhere.
    """

    def __init__(self, records: Records, namespace: str) -> None:
        super().__init__(node_type=str)
        self.NS_GEXF = namespace
        self.records, self.faults = records, records.faults
        # networkx calls a column `long` when its first value is one: TYPES takes any number there
        self.python_type = TYPES
        self.convert_bool = _Lookup(TYPES["boolean"])
        self.declared = {"node": Declared(), "edge": Declared({"weight": "weight"})}
        self.defaults: dict[str, dict[str, Any]] = {"node": {}, "edge": {}}
        self._values = f"{{{namespace}}}attvalues"
        self._node = f"{{{namespace}}}node"

    def find_gexf_attributes(self, element: Element) -> Any:
        """Take the declarations of one <attributes>, noting what is wrong with them."""
        kind = element.get("class", "")
        found: dict[str, dict[str, str]] = {}
        declared = self.declared[kind]
        for xml in element.iterfind(f"{{{self.NS_GEXF}}}attribute"):
            key, title, type_ = (xml.get(name, "") for name in ("id", "title", "type"))
            where = f"the declaration of {kind} attribute {quoted(title or key)}"
            if not key or not title:
                self.faults.add(f"{where} has no '{'title' if key else 'id'}'")
            free = type_.startswith("list") or title == "networkx_key"
            if not free and type_ not in TYPES:
                use = "use 'double' or 'string'"
                self.faults.add(f"{where} has an unknown type {quoted(type_)}; {use}")
            if key != "weight" and (key in declared.title or title in declared.title.values()):
                self.faults.add(f"{where} is repeated; 'id' and 'title' must be unique")
            type_ = type_ if type_ in TYPES and not free else "string"
            declared.title[key], declared.type[key] = title, xml.get("type", "")
            declared.convert[key] = TYPES[type_]
            found[key] = {"title": title, "type": type_, "mode": "static"}
            text = xml.findtext(f"{{{self.NS_GEXF}}}default")
            if text is not None:
                name = f"the default of a {kind} attribute"
                value = convert_each({key: text}, declared, lambda n=name: n, self.faults)  # type: ignore[misc]
                self.defaults[kind].update(value)
        return found, {}

    def add_node(self, graph: Any, xml: Element, attributes: Any, parent: Any = None) -> None:
        """Take a node and the nodes within it."""
        for element in xml.iter(self._node):
            uid = element.get("id")
            if uid is None:
                self.faults.add("a node without 'id'")
                continue
            self.records.uids.append(uid)
            data = self._decode(attributes, element, "node", lambda uid=uid: node_name(uid))  # type: ignore[misc]
            self.records.nodes.append(data)

    def add_edge(self, graph: Any, xml: Element, attributes: Any) -> None:
        """Take an edge."""
        source, target = xml.get("source"), xml.get("target")
        if source is None or target is None:
            lost = "source" if source is None else "target"
            name = quoted(xml.get("id", ""))
            self.faults.add(f"edge {name}: attribute '{lost}' is missing")
            return
        kind = xml.get("type", "directed")
        if kind != "directed":
            message = f"must be 'directed' (got {quoted(kind)})"
            self.faults.add(f"{edge_name(source, target)}, attribute 'type': {message}")
        data = self._decode(attributes, xml, "edge", lambda: edge_name(source, target))
        weight = xml.get("weight")
        if weight is not None and "weight" not in data:
            try:
                data["weight"] = float(weight)
            except ValueError:
                where = f"{edge_name(source, target)}, attribute 'weight'"
                self.faults.add(f"{where}: must be of type 'double' (got {quoted(weight)})")
        self.records.sources.append(source)
        self.records.targets.append(target)
        self.records.edges.append(data)

    def _decode(
        self, attributes: Any, xml: Element, kind: str, name: Callable[[], str]
    ) -> dict[str, Any]:
        given = xml.find(self._values)
        defaults = self.defaults[kind]
        if given is None:
            return dict(defaults)
        try:
            data: dict[str, Any] = self.decode_attr_elements(attributes, xml)
            whole = len(data) == len(given)
        except (ValueError, KeyError, TypeError, AttributeError, NetworkXError):
            whole = False
        if not whole:  # value by value, so that each bad one is named and the others are kept
            data = convert_each(self._texts(given, name), self.declared[kind], name, self.faults)
        return {**defaults, **data} if defaults else data

    def _texts(self, given: Element, name: Callable[[], str]) -> dict[str, str]:
        """Return the texts of an element's values, noting what is odd about them."""
        texts: dict[str, str] = {}
        for value in given:
            key, text = value.get("for"), value.get("value")
            if value.tag != f"{{{self.NS_GEXF}}}attvalue":
                continue
            if key is None or text is None:
                lost = "for" if key is None else "value"
                self.faults.add(f"{name()}: an <attvalue> without '{lost}'")
            elif key in texts:
                self.faults.add(f"{name()}: attribute '{key:.60}' has two values")
            else:
                texts[key] = text
        return texts


class _Lookup:
    """A function in the place of networkx's table of booleans."""

    def __init__(self, function: Callable[[str], Any]) -> None:
        self.function = function

    def __getitem__(self, text: str) -> Any:
        return self.function(text)


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
    try:
        root = _tree(path)
    except FileNotFoundError:
        raise CircuitError(f"{path}: no such file") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise CircuitError(f"{path}: the gzip data are damaged or cut short ({error})") from None
    except (expat.ExpatError, ParseError) as error:
        message = f"not well-formed XML ({error}); a GEXF file is expected"
        raise CircuitError(f"{path}: {message}") from None
    except OSError as error:
        raise CircuitError(f"{path}: cannot be read ({error.strerror or error})") from None
    return _records(path, root)


def _tree(path: Path) -> Element:
    """Return the root of the file's tree; raise where it declares entities."""
    guard = _Guard(path)
    parser = XMLParser()
    with open(path, "rb") as file:
        head = file.peek(8)[:8]
        if head.startswith(b"\x89HDF"):
            raise CircuitError(f"{path}: this is an HDF5 file; a GEXF file is expected")
        # by content: a wrong ending does no harm
        zipped = head.startswith(b"\x1f\x8b")
        stream: IO[bytes] = gzip.GzipFile(fileobj=file) if zipped else file  # type: ignore[assignment]
        try:
            while block := stream.read(BLOCK):
                guard.feed(block)
                parser.feed(block)
            guard.close()
            return parser.close()
        except (LookupError, ValueError) as error:
            if isinstance(error, CircuitError):
                raise
            # what Python says of an encoding that it does not know
            raise CircuitError(f"{path}: not readable XML ({error}); use UTF-8") from None


class _Guard:
    """Watches what comes before the root element: only there can entities be declared."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.watching = True
        self.parser = expat.ParserCreate()
        self.parser.EntityDeclHandler = self._entity
        self.parser.StartElementHandler = self._root

    def _entity(self, name: str, *rest: Any) -> None:
        message = f"declares the XML entity {quoted(name)}, which is refused; write the text itself"
        raise CircuitError(f"{self.path}: {message}")  # entities can expand without bound

    def _root(self, *rest: Any) -> None:
        self.watching = False

    def feed(self, block: bytes) -> None:
        """Look at the next part of the file."""
        if self.watching:
            self.parser.Parse(block, False)

    def close(self) -> None:
        """Look at what is left: from 2.6 on, Expat keeps part of a long token until the end."""
        if self.watching:
            self.parser.Parse(b"", True)


def _records(path: Path, root: Element) -> Records:
    match = _ROOT.fullmatch(str(root.tag))
    space, name = (match.group(1) or "", match.group(2)) if match else ("", "")
    if name != "gexf" or not _NAMESPACE.fullmatch(space):
        got = f"<{name:.60}> with the namespace {quoted(space)}" if space else f"<{name:.60}>"
        raise CircuitError(
            f"{path}: not a GEXF file of version 1.1 to 1.3: the root element must be "
            f"<gexf> with its namespace ({_KNOWN}), got {got}"
        )
    records = Records(str(path))
    graphs = root.findall(f"{{{space}}}graph")
    if not graphs:
        raise CircuitError(f"{path}: no <graph> element in this GEXF file")
    if len(graphs) > 1:
        records.faults.add("a second <graph>; one file holds one circuit")
    graph = graphs[0]
    _check_graph(records, graph, space)
    _note_repeats(records, graph, space)
    _GEXFRecordReader(records, space).make_graph(graph)
    return records


def _check_graph(records: Records, graph: Element, space: str) -> None:
    """Note what a circuit does not have, and take it from the tree."""
    kind = graph.get("defaultedgetype")
    if kind != "directed":
        said = "none" if kind is None else quoted(kind)
        message = "attribute 'defaultedgetype' of <graph> must be 'directed'"
        records.faults.add(f"{message} (got {said})")
    for element in graph.findall(f"{{{space}}}attributes"):
        name = element.get("class", "")
        if name not in ("node", "edge"):
            message = "attribute 'class' of <attributes> must be 'node' or 'edge'"
            records.faults.add(f"{message} (got {quoted(name)})")
            graph.remove(element)
        if element.get("mode") == "dynamic":
            message = "attribute 'mode' of <attributes> must be 'static'"
            records.faults.add(f"{message} (got 'dynamic': values do not change in time)")


def _note_repeats(records: Records, graph: Element, space: str) -> None:
    """Note edge ids that stand twice; node ids are uids, which every circuit checks."""
    ids = [name for e in graph.iter(f"{{{space}}}edge") if (name := e.get("id")) is not None]
    if len(set(ids)) < len(ids):
        twice = [(name, n) for name, n in Counter(ids).items() if n > 1]
        say = "times; ids must be unique"
        texts = (f"edge id {quoted(name)} stands {n} {say}" for name, n in twice)
        records.faults.add_each(texts, len(twice))
