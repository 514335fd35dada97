"""GEXF file -> records; decoding is networkx's, order and faults are kept here."""

from __future__ import annotations

import gc
import gzip
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from xml.etree.ElementTree import Element, ElementTree, ParseError
from xml.parsers import expat

import networkx as nx
from networkx.readwrite.gexf import GEXFReader

from ..errors import CircuitError
from .records import Records


class _RootReached(Exception):
    pass


class _Reader(GEXFReader):  # type: ignore[misc]
    """networkx's reader, with records in file order in the place of a graph."""

    def __init__(self, records: Records) -> None:
        super().__init__(node_type=str)
        self.records = records
        self.timeformat = "string"
        self.defaults: dict[str, dict[str, Any]] = {"node": {}, "edge": {}}

    def find_gexf_attributes(self, element: Element) -> Any:
        found, defaults = super().find_gexf_attributes(element)
        self.defaults.get(element.get("class", ""), {}).update(defaults)
        return found, defaults

    def add_node(self, graph: Any, xml: Element, attributes: Any, parent: Any = None) -> None:
        uid = xml.get("id")
        if uid is None:
            self.records.faults.append("a node without 'id'")
            return
        data = self._decode(attributes, xml, "node", f"node '{uid}'")
        data["label"] = xml.get("label")
        self.records.uids.append(uid)
        self.records.nodes.append(data)
        for inner in xml.iterfind(f"{{{self.NS_GEXF}}}nodes/{{{self.NS_GEXF}}}node"):
            self.add_node(graph, inner, attributes)

    def add_edge(self, graph: Any, xml: Element, attributes: Any) -> None:
        ends = xml.get("source"), xml.get("target")
        where = f"edge '{ends[0]}' -> '{ends[1]}'"
        if ends[0] is None or ends[1] is None:
            self.records.faults.append(f"edge '{xml.get('id')}' without 'source' or 'target'")
            return
        if xml.get("type") in ("undirected", "mutual"):
            message = f"is {xml.get('type')}; write directed edges"
            self.records.faults.append(f"{where}, attribute 'type': {message}")
        data = self._decode(attributes, xml, "edge", where)
        weight = xml.get("weight")
        if weight is not None:
            try:
                data["weight"] = float(weight)
            except ValueError:
                message = f"must be a number (got {weight!r})"
                self.records.faults.append(f"{where}, attribute 'weight': {message}")
        self.records.ends.append(ends)  # type: ignore[arg-type]
        self.records.edges.append(data)

    def _decode(self, attributes: Any, xml: Element, kind: str, where: str) -> dict[str, Any]:
        try:
            data: dict[str, Any] = self.decode_attr_elements(attributes, xml)
        except (ValueError, KeyError, TypeError, nx.NetworkXError):
            data = self._decode_singly(attributes, xml, where)
        defaults = self.defaults[kind]
        return {**defaults, **data} if defaults else data

    def _decode_singly(self, attributes: Any, xml: Element, where: str) -> dict[str, Any]:
        """Decode value by value, so that each bad one is named and the others are kept."""
        data: dict[str, Any] = {}
        values = f"{{{self.NS_GEXF}}}attvalues"
        for value in list(xml.find(values) or ()):
            single = Element("single")
            Element.append(single, Element(values))
            single[0].append(value)
            key, got = value.get("for"), value.get("value")
            known = attributes.get(key, {})
            try:
                data.update(self.decode_attr_elements(attributes, single))
            except (ValueError, KeyError, TypeError):
                message = f"must be of type {known.get('type')} (got {got!r})"
                self.records.faults.append(f"{where}, attribute '{known.get('title')}': {message}")
            except nx.NetworkXError:
                message = f"'{key}' is not declared in the file's <attributes>"
                self.records.faults.append(f"{where}: {message}")
        return data


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
    with _no_collection():
        return _read(path)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Stop the cyclic garbage collector: a tree of a million elements has no cycles to find."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def _read(path: Path) -> Records:
    records = Records(str(path))
    try:
        with _open(path) as stream:
            _refuse_entities(stream, path)
            stream.seek(0)
            tree = ElementTree(file=stream)
    except FileNotFoundError:
        raise CircuitError(f"{path}: no such file") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise CircuitError(f"{path}: the gzip data are damaged or cut short ({error})") from None
    except (ParseError, expat.ExpatError, UnicodeError) as error:
        raise CircuitError(
            f"{path}: not well-formed XML ({error}); a GEXF file is expected"
        ) from None
    except OSError as error:
        raise CircuitError(f"{path}: cannot be read ({error.strerror or error})") from None
    _fill(records, tree)
    return records


def _open(path: Path) -> IO[bytes]:
    with open(path, "rb") as stream:
        zipped = stream.read(2) == b"\x1f\x8b"  # by content: a wrong ending does no harm
    return gzip.open(path, "rb") if zipped else open(path, "rb")  # type: ignore[return-value]


def _refuse_entities(stream: IO[bytes], path: Path) -> None:
    """Raise where the prolog declares entities: they can expand without bound."""
    parser = expat.ParserCreate()

    def entity(name: str, *rest: Any) -> None:
        message = f"declares the XML entity '{name}', which is refused; write the text itself"
        raise CircuitError(f"{path}: {message}")

    def root(*rest: Any) -> None:
        raise _RootReached

    parser.EntityDeclHandler = entity
    parser.StartElementHandler = root
    try:
        while block := stream.read(65536):
            parser.Parse(block, False)
    except _RootReached:
        return


def _fill(records: Records, tree: Any) -> None:
    reader = _Reader(records)
    for version in reader.versions:
        reader.set_version(version)
        graph = tree.find(f"{{{reader.NS_GEXF}}}graph")
        if graph is not None:
            break
    else:
        raise CircuitError(f"{records.source}: no <graph> element of GEXF 1.1 or 1.2 in this file")
    if graph.get("defaultedgetype", "undirected") == "undirected":
        got = graph.get("defaultedgetype", "none")
        message = "attribute 'defaultedgetype' of <graph> must be 'directed'"
        records.faults.append(f"{message} (got {got})")
    _note_repeats(records, graph, reader.NS_GEXF)
    try:
        reader.make_graph(graph)
    except (ValueError, KeyError, TypeError, RuntimeError, nx.NetworkXError) as error:
        text = f"{type(error).__name__} {error}" if str(error) else "an unknown attribute class"
        raise CircuitError(f"{records.source}: the <attributes> cannot be read ({text})") from None


def _note_repeats(records: Records, graph: Element, namespace: str) -> None:
    for kind in ("node", "edge"):
        ids = (e.get("id") for e in graph.iter(f"{{{namespace}}}{kind}"))
        for uid, times in Counter(i for i in ids if i is not None).items():
            if times > 1:
                records.faults.append(f"{kind} id '{uid}' stands {times} times; ids must be unique")
