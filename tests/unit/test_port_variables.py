"""What output ports publish without being told, and the warnings of it."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from support import AMPA, IAF, ML, build, node

from neurodriver.errors import CircuitError, CircuitWarning

NODES = {
    "a": node("LeakyIAF", IAF),
    "b": node("LeakyIAF", IAF),
    "m": node("MorrisLecar", ML),
    "s": node("SynapseAMPA", AMPA),
    "p": node("PoissonSource", {}),
}


def port(name: str, kind: str, io: str = "out") -> dict[str, str]:
    """Return a port."""
    return {"class": "Port", "selector": f"/x/{name}", "port_type": kind, "port_io": io}


PORTS = {
    "g0": port("g0", "gpot"),
    "g1": port("g1", "gpot"),
    "k0": port("k0", "spike"),
}


def told(*edges: tuple[Any, ...]) -> list[str]:
    """Return the warnings of a circuit about what ports publish."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        build({**NODES, **PORTS}, edges)
    texts = [str(w.message) for w in caught if issubclass(w.category, CircuitWarning)]
    assert any("ports that no edge touches" in text for text in texts)
    return [text for text in texts if "port_type" in text]


def test_a_spiking_neuron_at_a_gpot_port_is_counted() -> None:
    """It publishes spike_state, as it always did; the warning says what to write."""
    (text,) = told(("a", "g0"), ("b", "g1"))
    assert "output ports with port_type 'gpot' publish 'spike_state' of LeakyIAF; " in text
    assert "write variable='V' on the edges or make it port_type 'spike'" in text
    assert text.endswith("(2 times)")


def test_a_graded_membrane_at_a_spike_port() -> None:
    """There is no spike to publish: only the port can change."""
    (text,) = told(("m", "k0"))
    assert "port_type 'spike' publish 'V' of MorrisLecar; make it port_type 'gpot'" in text


def test_the_potential_of_a_spiking_neuron_at_a_spike_port() -> None:
    """Even where the edge says so; spikes are there to be published."""
    (text,) = told(("a", "k0", {"variable": "V"}))
    assert "write variable='spike_state' on the edges or make it port_type 'gpot'" in text


def test_a_source_without_another_variable() -> None:
    """A source of spikes has nothing else to write."""
    (text,) = told(("p", "g0"))
    assert text.endswith("publish 'spike_state' of PoissonSource; make it port_type 'spike'")


@pytest.mark.parametrize(
    "edge",
    [
        ("a", "g0", {"variable": "V"}),
        ("a", "g0", {"variable": "spike_state"}),
        ("a", "k0"),
        ("m", "g0"),
        ("s", "g1"),
        ("p", "k0"),
    ],
)
def test_what_fits_is_not_told(edge: tuple[Any, ...]) -> None:
    """What the port carries, or what the edge says of spikes, is meant."""
    assert told(edge) == []


def test_strict_refuses() -> None:
    """The warning is an error where warnings are."""
    from support import graph

    from neurodriver import Circuit

    made = graph({"a": NODES["a"], "g0": PORTS["g0"]}, [("a", "g0")])
    with pytest.raises(CircuitError, match="publish 'spike_state' of LeakyIAF"):
        Circuit.from_graph(made, strict=True)
