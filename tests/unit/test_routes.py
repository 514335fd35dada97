"""Patterns and ports that do not fit are told together, before a step is run."""

from __future__ import annotations

import numpy as np
import pytest
from support import IAF, build, node

from neurodriver import Circuit
from neurodriver.errors import CircuitError, CircuitWarning
from neurodriver.parallel.directory import port_table
from neurodriver.parallel.job_plan import deal
from neurodriver.parallel.routes import Crossing, make_routes

DT = 1e-4


def circuit(name: str) -> Circuit:
    """Return a neuron with two outputs, one output without an edge, and two inputs."""

    def port(selector: str, kind: str, io: str) -> dict[str, str]:
        return {"class": "Port", "selector": selector, "port_type": kind, "port_io": io}

    nodes = {
        "n": node("LeakyIAF", IAF),
        "spikes": port(f"/{name}/out/spk[0]", "spike", "out"),
        "V": port(f"/{name}/out/v", "gpot", "out"),
        "mute": port(f"/{name}/out/mute", "gpot", "out"),
        "in": port(f"/{name}/in/spk/0", "spike", "in"),
        "current": port(f"/{name}/in/i", "gpot", "in"),
        "s": node("SynapseAMPA", {"gmax": 0.003, "st": 20.0}, reverse=0.0),
    }
    edges = [("n", "spikes"), ("n", "V", {"variable": "V", "delay": 3e-4}), ("in", "s"),
             ("s", "n"), ("current", "n")]  # fmt: skip
    return build(nodes, edges)


TABLES = {name: port_table(circuit(name), DT) for name in ("a", "b")}
RANKS = {"a": 0, "b": 1}


def crossing(*pairs: tuple[str, str], steps: int = 0) -> Crossing:
    """Return connections from a to b."""
    ends = zip(*pairs, strict=True)
    out_ports, in_ports = (np.array(end) for end in ends)
    return Crossing("a", "b", out_ports, in_ports, np.asarray(steps))


SPIKES = ("/a/out/spk/0", "/b/in/spk/0")
VOLTS = ("/a/out/v", "/b/in/i")


@pytest.mark.filterwarnings("ignore::neurodriver.errors.CircuitWarning")
def test_columns_of_a_link_between_two_ranks() -> None:
    """One rank sends what the other takes; the latencies of edge and pattern add up."""
    sender = make_routes(TABLES, RANKS, [crossing(SPIKES, VOLTS, steps=2)], 0)
    taker = make_routes(TABLES, RANKS, [crossing(SPIKES, VOLTS, steps=2)], 1)
    assert not sender.links and not sender.incoming and not taker.outgoing
    assert [b.variable for b in sender.outgoing] == ["V", "spike_state"]
    assert [b.variable for b in taker.incoming] == ["V", "spike_state"]
    assert taker.imported == 2
    (imports,) = taker.imports
    numbers = circuit("b").find(["in", "current"])
    by_port = dict(zip(imports.in_port.tolist(), imports.steps.tolist(), strict=True))
    assert by_port == {numbers[0]: 2, numbers[1]: 4}  # the edge to V's port takes three steps


@pytest.mark.filterwarnings("ignore::neurodriver.errors.CircuitWarning")
def test_one_process_links() -> None:
    """LPUs of one process are wired without any message."""
    routes = make_routes(TABLES, {"a": 0, "b": 0}, [crossing(SPIKES)], 0)
    assert len(routes.links) == 1
    assert not routes.incoming and not routes.outgoing


def test_a_source_is_sent_once() -> None:
    """One output port that feeds two inputs of another rank is one value of the message."""
    twice = crossing(("/a/out/v", "/b/in/i"))
    other = port_table(circuit("c"), DT)
    tables = {**TABLES, "c": other}
    more = Crossing("a", "c", np.array(["/a/out/v"]), np.array(["/c/in/i"]))
    with pytest.warns(CircuitWarning, match="no pattern feeds"):
        routes = make_routes(tables, {"a": 0, "b": 1, "c": 1}, [twice, more], 0)
    assert [len(block) for block in routes.outgoing] == [1]


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        (("/a/out/v", "/b/in/nowhere"), "b has no port '/b/in/nowhere'"),
        (("/a/in/i", "/b/in/i"), "must be an output port"),
        (("/a/out/v", "/b/out/v"), "must be an input port"),
        (("/a/out/v", "/b/in/spk/0"), "is of type gpot"),
        (("/a/out/mute", "/b/in/i"), "no edge leads to the output port"),
    ],
)
def test_faults(pair: tuple[str, str], words: str) -> None:
    """Each fault names pattern, port and what is needed."""
    with pytest.raises(CircuitError, match=words):
        make_routes(TABLES, RANKS, [crossing(pair)], 0)


def test_all_faults_at_once() -> None:
    """Faults of several patterns, and an input port that two patterns feed, in one message."""
    bad = crossing(("/a/out/v", "/b/in/nowhere"), ("/a/in/i", "/b/in/i"))
    with pytest.raises(CircuitError) as caught:
        make_routes(TABLES, RANKS, [bad, crossing(VOLTS), crossing(VOLTS)], 0)
    text = str(caught.value)
    assert "/b/in/nowhere" in text
    assert "must be an output port" in text
    assert "port '/b/in/i' of b is fed by 2 connections" in text


def test_warnings_become_errors() -> None:
    """Input ports that nothing feeds are a counted warning; strictly an error."""
    with pytest.warns(CircuitWarning, match="b: input ports that no pattern feeds"):
        make_routes(TABLES, RANKS, [crossing(SPIKES)], 0)
    with pytest.raises(CircuitError, match="no pattern feeds"):
        make_routes(TABLES, RANKS, [crossing(SPIKES)], 0, strict=True)


def test_lpus_are_dealt_by_cost() -> None:
    """The costliest first, each to the rank with the least to do; a chosen rank is kept."""
    costs = {"a": 5.0, "b": 4.0, "c": 3.0, "d": 2.0}
    assert deal(costs, {}, 2) == {"a": 0, "b": 1, "c": 1, "d": 0}
    assert deal(costs, {"d": 1}, 2) == {"a": 0, "b": 1, "c": 0, "d": 1}
    assert deal({"a": 1.0, "b": 1.0}, {}, 3) == {"a": 0, "b": 1}
    with pytest.raises(CircuitError, match="ranks are 0 to 1"):
        deal(costs, {"a": 2}, 2)
