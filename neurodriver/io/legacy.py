"""Legacy records (before September 2016) -> records of today: ports, synapse nodes, delays, units.

The legacy form has a node for each neuron or input port and an *edge* for each synapse; `convert`
says what becomes of them, ``legacy_models`` what becomes of the numbers.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..circuit.records import Records, from_networkx, no_collection
from ..circuit.validate import edge_name, node_name
from ..errors import Faults, near, quoted
from .legacy_models import MILLI, NEURONS, PORTS, SYNAPSES, Neuron, Renamed, Synapse

MUST_BE_INTEGER = "node id must be an integer"

_INTEGER = re.compile(r"-?[0-9]{1,18}", re.ASCII)
_FLAGS = {"true": True, "false": False, "1": True, "0": False}
_NODE_WORDS = frozenset({"model", "public", "spiking", "extern", "selector", "class"})
_EDGE_WORDS = frozenset(
    {"id", "model", "class", "conductance", "delay", "reverse", "reversal_pot", "networkx_key"}
)
_STEEPEST = 100.0

Data = dict[str, Any]


def is_legacy(records: Records) -> bool:
    """Whether nodes name a ``model`` and none has a ``class``."""
    return any("model" in data for data in records.nodes) and not any(
        "class" in data for data in records.nodes
    )


def as_current(records: Records) -> Records:
    """Return the records, converted with a warning where they have the legacy form."""
    if not is_legacy(records):
        return records
    with no_collection():
        made = convert(records)
    neurons = sum(data.get("model") in NEURONS for data in records.nodes)
    counts = f"{neurons:,} neurons, {len(records.nodes) - neurons:,} input ports"
    made.faults.warn(
        f"the legacy form of before September 2016: {counts} and {len(records.edges):,} synapses "
        f"are converted each time; `neurodriver convert` writes the form of today"
    )
    return made


def convert_graph(graph: Any, name: str = "") -> Any:
    """Return a legacy graph in the form of today.

    Parameters
    ----------
    graph : networkx.DiGraph or MultiDiGraph
        Only read.
    name : str
        Name used in messages.

    Returns
    -------
    networkx.MultiDiGraph
        As `convert` says. Node ids are integers where all of the given ones are, text otherwise.

    Raises
    ------
    CircuitError
        With all faults; it is a ValueError. Also where the graph has a node with a ``class``.
    """
    records = from_networkx(graph, name)
    strange = [
        uid for uid, data in zip(records.uids, records.nodes, strict=True) if "class" in data
    ]
    texts = (f"{node_name(uid)}: attribute 'class' is not of the legacy form" for uid in strange)
    records.faults.add_each(texts, len(strange))
    made = convert(records)
    made.faults.finish()
    whole = all(isinstance(n, int | np.integer) and not isinstance(n, bool) for n in graph)
    return as_graph(made, integers=whole)


def as_graph(records: Records, integers: bool = False) -> Any:
    """Return records as a networkx.MultiDiGraph, whose ids are integers on demand."""
    import networkx as nx

    kind = int if integers else str
    made = nx.MultiDiGraph()
    made.add_nodes_from((kind(u), d) for u, d in zip(records.uids, records.nodes, strict=True))
    ends = map(kind, records.sources), map(kind, records.targets)
    made.add_edges_from(zip(*ends, records.edges, strict=True))
    return made


def convert(records: Records) -> Records:
    """Turn legacy records into records of today.

    * A neuron keeps its id; ``class`` is its model, parameters have the names and units of today,
      and ``extern`` stays where it is True. Attributes that mean nothing to the model are kept.
    * A public neuron gets an output ``Port`` with its ``selector`` and an edge to it; without a
      selector it gets none, with a warning.
    * ``port_in_gpot`` and ``port_in_spk`` become input ``Port`` nodes.
    * An edge becomes a synapse node between two edges, with the edge's attributes; ``reverse`` (or
      ``reversal_pot``) in mV stays with the synapse, ``delay`` goes to the first edge, in seconds.

    Nodes are in the order of their ids; new ids count up from the highest: output ports, then
    synapses by source and target. Edges are in the order of their sources.

    A ``delay`` of D ms was ``d = round(D / dt)`` rows back in a ring of d + 1 rows: d + 1 steps
    from one neuron's potential to the next one's. Now the delay is that of the first edge, and the
    conductance and the current take a step each: max(d, 1) + 2 steps. The number is kept and not
    shortened by a step, since a file knows no dt. (The old kernels of spiking synapses ignored it.)

    Parameters
    ----------
    records : Records
        Only its ``faults`` are added to; the result shares them.

    Raises
    ------
    CircuitError
        With all faults of the file and of its conversion.
    """
    faults = records.faults
    number = _numbers(records)
    if faults.count:
        faults.finish()
    made = Records(records.source)
    made.faults = faults
    order = sorted(range(len(records.uids)), key=lambda row: number[records.uids[row]])
    neurons, ports, out = _nodes(records, order, made)
    following = max(0, *number.values()) + 1 if number else 1
    links: list[tuple[int, int, str, str, Data]] = []
    for uid, selector, neuron in out:
        kind = "spike" if neuron.spiking else "gpot"
        port = {"class": "Port", "selector": selector, "port_type": kind, "port_io": "out"}
        _append(made, str(following), port)
        links.append((number[uid], 1, uid, str(following), {}))
        following += 1
    onto = []
    ends = zip(records.sources, records.targets, strict=True)
    rows = [(number.get(a, -1), number.get(b, -1), row) for row, (a, b) in enumerate(ends)]
    for at, _, row in sorted(rows):
        a, b = records.sources[row], records.targets[row]
        made_of = _synapse(a, b, records.edges[row], neurons, ports, number, faults)
        if made_of is None:
            continue
        synapse, delay = made_of
        uid = str(following)
        following += 1
        _append(made, uid, synapse)
        links.append((at, 0, a, uid, delay))
        receptors = SYNAPSES[records.edges[row]["model"]].receptors
        if receptors:
            delay["receptor"] = receptors[0]
            links.append((number[b], 0, b, uid, {"receptor": receptors[1]}))
        onto.append((uid, b))
    # synapses of a neuron, then its port, as a graph would list them: files keep this order
    for _, _, a, b, data in sorted(links, key=lambda link: link[:2]):
        made.sources.append(a)
        made.targets.append(b)
        made.edges.append(data)
    made.sources += [a for a, _ in onto]
    made.targets += [b for _, b in onto]
    made.edges += [{} for _ in onto]
    if faults.count:
        faults.finish()
    return made


def _append(made: Records, uid: str, data: Data) -> None:
    made.uids.append(uid)
    made.nodes.append(data)


def _numbers(records: Records) -> dict[str, int]:
    """Return the id of each node as an integer, noting those that are none or stand twice."""
    out = {uid: int(uid) for uid in records.uids if _INTEGER.fullmatch(uid)}
    odd = [uid for uid in records.uids if uid not in out]
    texts = (f"{node_name(uid)}: {MUST_BE_INTEGER} in the legacy form" for uid in odd)
    records.faults.add_each(texts, len(odd))
    times = Counter(out[uid] for uid in records.uids if uid in out)
    twice = [n for n, many in times.items() if many > 1]
    said = (f"node id {n} stands {times[n]} times; ids must be unique" for n in twice)
    records.faults.add_each(said, len(twice))
    return out


def _nodes(
    records: Records, order: list[int], made: Records
) -> tuple[dict[str, Neuron], dict[str, str], list[tuple[str, str, Neuron]]]:
    """Convert neurons and input ports; return both by uid, and the public neurons."""
    faults = records.faults
    neurons: dict[str, Neuron] = {}
    ports: dict[str, str] = {}
    public: list[tuple[str, str, Neuron]] = []
    for row in order:
        uid, data = records.uids[row], records.nodes[row]
        model = data.get("model")
        if isinstance(model, str) and model in PORTS:
            ports[uid] = PORTS[model]
            _append(made, uid, _input_port(uid, data, ports[uid], faults))
        elif isinstance(model, str) and model in NEURONS:
            neuron = neurons[uid] = NEURONS[model]
            where = f"{node_name(uid)} ({model})"
            _append(made, uid, _neuron(where, data, neuron, faults))
            if _flag(where, data, "public", False, faults):
                selector = _selector(data)
                if selector:
                    public.append((uid, selector, neuron))
                else:
                    faults.warn("public neurons without a 'selector' get no output port")
        elif model is None:
            faults.add(f"{node_name(uid)} has no attribute 'model'; name its model")
        else:
            known = [*NEURONS, *PORTS]
            say = f"unknown legacy model {quoted(model)}{near(str(model)[:60], known)}"
            faults.add(f"{node_name(uid)}: {say}; known are {', '.join(known)}")
    return neurons, ports, public


def _input_port(uid: str, data: Data, kind: str, faults: Faults) -> Data:
    where = f"{node_name(uid)} (input port)"
    selector = _selector(data)
    if not selector:
        faults.add(f"{where} has no 'selector'")
    if _flag(where, data, "extern", False, faults):
        faults.add(f"{where}: attribute 'extern' must be False; only neurons take a column")
    return {"class": "Port", "selector": selector, "port_type": kind, "port_io": "in"}


def _neuron(where: str, data: Data, neuron: Neuron, faults: Faults) -> Data:
    if _flag(where, data, "spiking", neuron.spiking, faults) != neuron.spiking:
        faults.add(f"{where}: attribute 'spiking' must be {neuron.spiking} for this model")
    out = {"class": neuron.model, **neuron.fixed}
    out |= _params(where, data, neuron.params, neuron.optional, faults)
    out |= {name: out[other] for name, other in neuron.copies.items() if other in out}
    _keep_rest(neuron.model, data, _NODE_WORDS.union(neuron.params), out, faults)
    if _flag(where, data, "extern", False, faults):
        out["extern"] = True
    return out


def _synapse(
    a: str,
    b: str,
    data: Data,
    neurons: Mapping[str, Neuron],
    ports: Mapping[str, str],
    number: Mapping[str, int],
    faults: Faults,
) -> tuple[Data, Data] | None:
    """Return the synapse node of an edge, and the attributes of the edge that leads to it."""
    model = data.get("model")
    synapse = SYNAPSES.get(model) if isinstance(model, str) else None
    lost = [uid for uid in (a, b) if uid not in number]
    if lost or synapse is None or b not in neurons or (a not in neurons and a not in ports):
        for text in _misfits(a, b, model, lost, ports):
            faults.add(text)
        return None
    spikes = neurons[a].spiking if a in neurons else ports[a] == "spike"
    if spikes != synapse.spiking:
        needs, has = ("spikes", "graded potentials")[:: 1 if synapse.spiking else -1]
        faults.add(f"{edge_name(a, b)}: {model} needs {needs}, its source has {has}")
    if synapse.receptors and not neurons[b].spiking:
        faults.add(f"{edge_name(a, b)}: {model} needs spikes of its target, too")
    where = f"{edge_name(a, b)} ({model})"
    if not _flag(where, data, "conductance", True, faults):
        say = "a current-based synapse; only conductances can be converted"
        faults.add(f"{where}: attribute 'conductance' is False: {say}; write a model for it")
    out = {"class": synapse.model, **_conductances(where, data, synapse, neurons[b], faults)}
    given = [data[key] for key in ("reverse", "reversal_pot") if data.get(key) is not None]
    if not given:
        faults.add(f"{where}: attribute 'reverse' [V] is missing")
    elif (reverse := _number(given[0])) is None:
        faults.add(f"{where}, attribute 'reverse': must be a finite number (got {given[0]!r:.60})")
    else:
        out["reverse"] = reverse * neurons[b].potential
    _keep_rest(synapse.model, data, _EDGE_WORDS.union(synapse.params, synapse.unused), out, faults)
    said = data.get("delay")
    if said is None:
        return out, {}
    delay = _number(said)
    if delay is None or delay < 0:
        allowed = "must be finite and not negative"
        faults.add(f"{where}, attribute 'delay' [ms]: {allowed} (got {said!r:.60})")
        return out, {}
    return out, {"delay": delay / MILLI}


def _misfits(a: str, b: str, model: Any, lost: list[str], ports: Mapping[str, str]) -> list[str]:
    """Say what keeps an edge from being a synapse; empty where its nodes were told already."""
    where = edge_name(a, b)
    if lost:
        return [f"{where}: there is no node {quoted(lost[0])}"]
    if b in ports:
        return [f"{where}: leads to an input port; a synapse leads to a neuron"]
    if model is None:
        return [f"{where} has no attribute 'model'; name the model of the synapse"]
    if not isinstance(model, str) or model not in SYNAPSES:
        hint = near(str(model)[:60], SYNAPSES)
        known = f"known are {', '.join(SYNAPSES)}"
        return [f"{where}: unknown legacy model {quoted(model)}{hint}; {known}"]
    return []


def _conductances(where: str, data: Data, synapse: Synapse, target: Neuron, faults: Faults) -> Data:
    """Return the parameters of a synapse in the units of its target."""
    before = faults.count
    out = _params(where, data, synapse.params, frozenset(), faults)
    if faults.count > before:
        return out
    for name in synapse.conductances:
        out[name] *= target.conductance
    if synapse.power:
        name, power = synapse.power
        if 0 <= out[power] <= _STEEPEST:
            out[name] *= MILLI ** -out[power]
        else:
            allowed = f"must be 0 to {_STEEPEST:g} (got {out[power]:g})"
            faults.add(f"{where}, attribute '{power}': {allowed}")
    return out


def _params(
    where: str, data: Data, renamed: Renamed, optional: frozenset[str], faults: Faults
) -> dict[str, float]:
    """Return parameters with the names and units of today."""
    out = {}
    for old, (new, factor) in renamed.items():
        given = data.get(old)
        if given is None:
            if old not in optional:
                hint = near(old, data.keys() - renamed.keys())
                today = "; is this the form of today? name its models by 'class'"
                today = today if new != old and new in data else ""
                faults.add(f"{where}: legacy parameter '{old}' is missing{hint}{today}")
            continue
        value = _number(given)
        if value is None:
            faults.add(f"{where}, attribute '{old}': must be a finite number (got {given!r:.60})")
        else:
            out[new] = value * factor
    return out


def _keep_rest(model: str, data: Data, used: frozenset[str], out: Data, faults: Faults) -> None:
    """Keep what means nothing to the model, unless it would begin to mean something."""
    for key, value in data.items():
        if key in used:
            continue
        if key in out:
            text = f"{model}: the legacy form did not know '{key}'; it is left out"
            faults.warn(text)
        else:
            out[key] = value


def _number(value: Any) -> float | None:
    """Return a finite number, None for anything else."""
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        try:
            number = float(value)
        except (OverflowError, TypeError):
            return None
        return number if math.isfinite(number) else None
    return None


def _flag(where: str, data: Data, key: str, default: bool, faults: Faults) -> bool:
    value = data.get(key)
    if value is None:
        return default
    told = str(value).strip().lower()
    if told in _FLAGS:
        return _FLAGS[told]
    faults.add(f"{where}, attribute '{key}': must be True or False (got {value!r:.60})")
    return default


def _selector(data: Data) -> str:
    return str(data.get("selector") or "")
