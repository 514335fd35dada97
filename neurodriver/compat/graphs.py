"""Circuits in the old spellings -> records: dictionaries of lists, pickles, functions, files.

Nothing that a caller hands over is changed.
"""

from __future__ import annotations

import gzip
import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import networkx as nx

from ..circuit.forms import in_our_form
from ..circuit.records import Records, flattened, from_networkx
from ..circuit.validate import edge_name, node_name
from ..errors import CircuitError, near, quoted
from ..io.gexf import read_gexf
from ..model.component import NDComponent
from .legacy.graphs import convert_graph

CompDict = dict[str, dict[str, list[Any]]]
Conns = list[tuple[Any, Any, dict[str, Any]]]

PORT_IN_GPOT, PORT_IN_SPK = "port_in_gpot", "port_in_spk"
PORT_OUT_GPOT, PORT_OUT_SPK = "port_out_gpot", "port_out_spk"

_DROPPED = ("id", "tag")
_ARGUMENTS = ("uid_key", "class_key", "remove_edge_id")


class GraphTypeError(CircuitError, TypeError):
    """A circuit is handed over in a form that is not known."""


def graph_to_dicts(
    graph: Any,
    uid_key: str | None = None,
    class_key: str = "class",
    remove_edge_id: bool = True,
) -> tuple[CompDict, Conns]:
    """Return a graph as dictionaries of lists and a list of connections.

    Parameters
    ----------
    graph : networkx.DiGraph or MultiDiGraph
    uid_key : str, optional
        Node attribute that holds the uid; the node id when not given.
    class_key : str
        Node attribute that names the model.
    remove_edge_id : bool
        Whether the attributes ``id`` and ``tag`` of edges are left out.

    Returns
    -------
    comp_dict : dict
        Model -> attribute -> list over its components, ``id`` among the attributes. A component
        without an attribute that others of its model have holds None there: the default is taken.
    conns : list of (uid, uid, dict)

    Raises
    ------
    CircuitError
        For nodes without a model or uid, or ports without a selector; all of them together.
    """
    records = from_networkx(graph)
    faults = records.faults
    names: dict[Any, Any] = {}
    members: dict[str, list[dict[str, Any]]] = {}
    for node, data in zip(graph.nodes, records.nodes, strict=True):
        model = data.pop(class_key, None)
        uid = node if uid_key is None else data.pop(uid_key, None)
        if model is None:
            faults.add(f"{node_name(node)} has no attribute {quoted(class_key)}; name its model")
        elif uid is None:
            faults.add(f"{node_name(node)} has no attribute {quoted(uid_key)} (uid_key)")
        elif model == "Port" and data.get("selector") is None:
            faults.add(f"{node_name(node)} (Port), attribute 'selector' is missing")
        names[node] = uid
        members.setdefault(str(model), []).append({**data, "id": uid})
    faults.finish()
    comp_dict: CompDict = {}
    for model, nodes in members.items():
        keys = dict.fromkeys(key for data in nodes for key in data)
        comp_dict[model] = {str(key): [data.get(key) for data in nodes] for key in keys}
    left_out = _DROPPED if remove_edge_id else ()
    conns: Conns = []
    for start, end, data in graph.edges(data=True):
        kept = {k: v for k, v in flattened(data).items() if k not in left_out}
        conns.append((names[start], names[end], kept))
    return comp_dict, conns


def lpu_parser(filename: str | Path) -> tuple[CompDict, Conns]:
    """Return ``graph_to_dicts`` of a GEXF file."""
    return graph_to_dicts(_graph_of(read_gexf(Path(filename))))


def conv_legacy_graph(graph: Any, *args: Any, **kwargs: Any) -> Any:
    """Convert a graph of before 2016 (one edge per synapse) into one of today.

    See ``neurodriver.compat.legacy.graphs.convert_graph``.
    """
    return convert_graph(graph, *args, **kwargs)


def lpu_parser_legacy(filename: str | Path) -> tuple[CompDict, Conns]:
    """Return ``graph_to_dicts`` of a GEXF file of before 2016."""
    return graph_to_dicts(conv_legacy_graph(_graph_of(read_gexf(Path(filename)))))


def _graph_of(records: Records) -> nx.MultiDiGraph:
    """Return a checked file as a graph with its order of nodes and edges."""
    known = set(records.uids)
    if len(known) < len(records.uids):
        records.faults.add("two nodes have one id; ids must be unique")
    ends = zip(records.sources, records.targets, strict=True)
    lost = [pair for pair in ends if not known.issuperset(pair)]
    texts = (f"{edge_name(*pair)}: one of them is no node" for pair in lost)
    records.faults.add_each(texts, len(lost))
    records.faults.finish()
    graph = nx.MultiDiGraph()
    graph.add_nodes_from(zip(records.uids, records.nodes, strict=True))
    graph.add_edges_from(zip(records.sources, records.targets, records.edges, strict=True))
    return graph


def records_from_dicts(
    comp_dict: Mapping[str, Mapping[str, Sequence[Any]]],
    conns: Iterable[Sequence[Any]],
    uid_key: str = "id",
    name: str = "comp_dict",
) -> Records:
    """Return the records of ``(comp_dict, conns)``.

    Connections from or to uids that no component has are left out, with a warning.
    """
    records = Records(name)
    faults = records.faults
    for model, table in comp_dict.items():
        if not isinstance(table, Mapping) or uid_key not in table:
            faults.add(f"{model}: a dictionary of lists with {quoted(uid_key)} is needed")
            continue
        bad = [k for k, column in table.items() if not _is_list(column)]
        for key in bad:
            faults.add(f"{model}, {quoted(key)}: a list is needed (got {table[key]!r:.60})")
        if bad:
            continue
        uids = list(table[uid_key])
        columns = {str(k): column for k, column in table.items() if k != uid_key}
        for key, column in columns.items():
            if len(column) != len(uids):
                faults.add(f"{model}, {quoted(key)}: {len(column)} values for {len(uids)} uids")
        if faults.count:
            continue
        for i, uid in enumerate(uids):
            given = {k: column[i] for k, column in columns.items() if column[i] is not None}
            records.uids.append(str(uid))
            records.nodes.append({**flattened(given), "class": model})
    faults.finish()
    known = set(records.uids)
    lost = []
    for conn in conns:
        if isinstance(conn, str) or len(conn) not in (2, 3):
            faults.add(f"connections are (uid, uid, attributes), got {conn!r:.60}")
            continue
        start, end = str(conn[0]), str(conn[1])
        if start not in known or end not in known:
            lost.append(edge_name(start, end))
            continue
        records.sources.append(start)
        records.targets.append(end)
        records.edges.append(flattened(conn[2] if len(conn) == 3 else {}))
    if lost:
        what = "connections with an end that is no component are ignored"
        faults.warn(f"{what}, the first is {lost[0]}", len(lost))
    return records


def _is_list(column: Any) -> bool:
    if isinstance(column, str | bytes | Mapping):
        return False
    try:
        return len(column) >= 0
    except TypeError:
        return False


def _renamed(records: Records, uid_key: str | None, class_key: str) -> Records:
    """Bring records whose attributes for model and uid have other names into the usual form."""
    if class_key != "class":
        for data in records.nodes:
            if class_key in data:
                data["class"] = data.pop(class_key)
    if uid_key is not None:
        names = {}
        for i, (uid, data) in enumerate(zip(records.uids, records.nodes, strict=True)):
            if data.get(uid_key) is None:
                records.faults.add(f"{node_name(uid)} has no attribute {quoted(uid_key)} (uid_key)")
                continue
            names[uid] = records.uids[i] = str(data.pop(uid_key))
        records.sources = [names.get(uid, uid) for uid in records.sources]
        records.targets = [names.get(uid, uid) for uid in records.targets]
    return records


def read_records(
    graph_type: Any, graph_dict: Any, side_graphs: Iterable[Any], uid_key: str, name: str
) -> Records:
    """Return the records of a circuit in any of the forms that the old LPU takes.

    Parameters
    ----------
    graph_type : dict or str
        A ``comp_dict``, or one of ``obj``, ``gpickle``, ``pickle``, ``gexf``, ``function``.
    graph_dict : object
        The connections of the ``comp_dict``; otherwise the graph, file name, bytes or function,
        or a dictionary with it under ``graph``, ``filename``, ``stream`` or ``function`` and the
        arguments of `graph_to_dicts` under ``kwargs``.
    side_graphs : iterable of networkx graph
        Merged into the circuit, except into a ``comp_dict``.
    uid_key : str
        Entry of the ``comp_dict`` that holds the uids.
    name : str
        Name of the LPU, for messages.

    Raises
    ------
    GraphTypeError
        A `TypeError`, for any other form.
    CircuitError
        For what is wrong with the circuit itself.
    """
    if isinstance(graph_type, Mapping):
        return records_from_dicts(graph_type, graph_dict, uid_key, name)
    if graph_type not in _READERS:
        known = ", ".join(f"'{k}'" for k in _READERS)
        hint = near(graph_type, _READERS) if isinstance(graph_type, str) else ""
        message = f"graph_type must be a comp_dict or one of {known}"
        raise GraphTypeError(f"{name}: {message}, got {graph_type!r:.60}{hint}")
    key, read = _READERS[graph_type]
    kwargs: Mapping[str, Any] = {}
    if isinstance(graph_dict, Mapping):
        if key not in graph_dict:
            message = f"graph_dict of type '{graph_type}' needs the entry '{key}'"
            raise GraphTypeError(f"{name}: {message}, got {sorted(map(str, graph_dict))}")
        graph_dict, kwargs = graph_dict[key], graph_dict.get("kwargs") or {}
    unknown = set(kwargs).difference(_ARGUMENTS)
    if unknown:
        known = ", ".join(_ARGUMENTS)
        raise GraphTypeError(f"{name}: unknown kwargs {sorted(unknown)}; known are {known}")
    wanted = kwargs.get("uid_key"), kwargs.get("class_key", "class")
    records = _renamed(read(graph_dict, name), *wanted)
    if wanted[1] == "class":
        records = in_our_form(records)
    for side in side_graphs:
        _merge(records, _renamed(from_networkx(side, name), None, wanted[1]))
    return records


def _merge(records: Records, side: Records) -> None:
    """Add a side graph: its nodes by uid, then its edges."""
    place = {uid: i for i, uid in enumerate(records.uids)}
    for uid, data in zip(side.uids, side.nodes, strict=True):
        if uid in place:
            records.nodes[place[uid]].update(data)
        else:
            place[uid] = len(records.uids)
            records.uids.append(uid)
            records.nodes.append(data)
    records.sources += side.sources
    records.targets += side.targets
    records.edges += side.edges


def _from_file(filename: Any, name: str) -> Records:
    return read_gexf(Path(filename))


def _from_gpickle(filename: Any, name: str) -> Records:
    try:
        raw = Path(filename).read_bytes()
    except OSError as error:
        raise CircuitError(f"{filename}: cannot be read ({error.strerror})") from None
    try:
        raw = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    except (OSError, EOFError) as error:
        raise CircuitError(f"{filename}: the gzip data are damaged ({error})") from None
    return _from_pickle(raw, str(filename))


def _from_pickle(stream: Any, name: str) -> Records:
    if not isinstance(stream, bytes | bytearray | memoryview):
        got = type(stream).__name__
        raise CircuitError(f"{name}: bytes of a pickled graph are needed, got {got}")
    try:
        graph = pickle.loads(stream)  # the caller says that these bytes are a pickle
    except Exception as error:  # a pickle may raise anything
        what = f"{type(error).__name__}: {error}"
        raise CircuitError(f"{name}: the pickled graph cannot be read ({what})") from None
    return from_networkx(graph, name)


def _from_function(function: Any, name: str) -> Records:
    if not callable(function):
        got = type(function).__name__
        raise CircuitError(f"{name}: a function that returns a graph is needed, got {got}")
    return from_networkx(function(), name)


_READERS: dict[str, tuple[str, Callable[[Any, str], Records]]] = {
    "obj": ("graph", from_networkx),
    "gpickle": ("filename", _from_gpickle),
    "pickle": ("stream", _from_pickle),
    "gexf": ("filename", _from_file),
    "function": ("function", _from_function),
}


def warn_of_partial(records: Records, models: Mapping[str, type[NDComponent]]) -> None:
    """Warn of optional values that only some components of a model have: the rest take defaults."""
    members: dict[str, list[dict[str, Any]]] = {}
    for data in records.nodes:
        members.setdefault(str(data.get("class")), []).append(data)
    for name, nodes in members.items():
        model = models.get(name)
        if model is None:
            continue
        optional = [n for n, rule in model.params.items() if rule.default is not None]
        for key in [*optional, *model.initial_names()]:
            given = sum(data.get(key) is not None for data in nodes)
            if 0 < given < len(nodes):
                text = f"{given} of {len(nodes)} {name} have '{key}'; the others take the default"
                records.faults.warn(text)


def ports(comp_dict: CompDict, uid_key: str, io: str, kind: str) -> tuple[Any, Any]:
    """Return selectors and uids of the ports of one direction and type.

    Returns
    -------
    selectors, uids : tuple
        ``('', [])`` where there is no such port.
    """
    table = comp_dict.get("Port", {})
    columns = [table.get(key, []) for key in ("selector", uid_key, "port_io", "port_type")]
    found = [(s, uid) for s, uid, d, t in zip(*columns, strict=True) if (d, t) == (io, kind)]
    if not found:
        return "", []
    selectors, uids = zip(*found, strict=True)
    return selectors, uids


def selectors(comp_dict: CompDict, io: Sequence[str], kind: Sequence[str]) -> str:
    """Return the selectors of the ports of some directions and types as one, in their order."""
    table = comp_dict.get("Port", {})
    columns = [table.get(key, []) for key in ("selector", "port_io", "port_type")]
    return ",".join(s for s, d, t in zip(*columns, strict=True) if d in io and t in kind)
