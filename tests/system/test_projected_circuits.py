"""Circuits with projections run like circuits with the connections that these stand for."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cutting import assert_equal_bits, managed, whole, with_crossings
from support import DT, assert_same_bits, model, recorded, started

from neurodriver import (
    AllToAll,
    Circuit,
    Connections,
    FixedInDegree,
    FixedOutDegree,
    FixedProbability,
    FixedTotal,
    LogNormal,
    Normal,
    Projection,
    StepInput,
)
from neurodriver.circuit.cut import cut
from neurodriver.circuit.drawn import Drawn
from neurodriver.errors import CircuitWarning

NEURON = {"resting_potential": -65.0, "threshold": -50.0, "reset_potential": -65.0,
          "time_constant": 10.0, "capacitance": 250.0, "tau_exc": 2.0, "tau_inh": 4.0}  # fmt: skip
EXC, INH = range(0, 401), range(401, 503)
EVERY = range(0, 613)
"""Two groups: 503 neurons of one model, 110 of another."""

STEPS = 300
RECORD: Any = [("V", None), ("spike_state", None)]


def projections() -> list[Projection]:
    """Return a random network, some of it into both models at once."""
    delay = LogNormal(np.log(1.5e-3), 0.5, low=DT, high=6e-3)
    weight = Normal(90.0, 20.0, low=0.0)
    one = model("LeakyIAFExpCurrent").__name__
    return [
        Projection("spike_state", "exc", EXC, EVERY, FixedProbability(0.05), weight, delay),
        Projection("spike_state", "inh", INH, one, FixedInDegree(20, False, False),
                   Normal(-400.0, 60.0, high=0.0), 1e-3, "inhibition"),
        Projection("spike_state", "exc", (503, 613), one, FixedTotal(1500), 80.0, delay),
        Projection("spike_state", "inh", INH, "LeakyIAFExpConductance", FixedOutDegree(9), 3.0),
    ]  # fmt: skip


def network(*more: Any, seed: int = 5, given: Any = None) -> Circuit:
    """Return the network, with projections or with what is given for them."""
    conductance = {**NEURON, "E_exc": 0.0, "E_inh": -80.0, "leak_conductance": 25.0}
    other = model("LeakyIAFExpConductance")
    groups: Any = [
        (model("LeakyIAFExpCurrent"), 503, {**NEURON, "initV": -60.0}, None),
        (other, 110, {k: v for k, v in conductance.items() if k in other.params}, None),
    ]
    links = [*(projections() if given is None else given), *more]
    return Circuit.from_arrays(groups, links, "network", seed=seed)


def currents(circuit: Circuit) -> list[StepInput]:
    """Return currents that make most neurons spike."""
    size = np.random.default_rng(3).uniform(200.0, 900.0, circuit.count)
    return [StepInput("I", circuit.uids, size, 0.0, 1.0)]


def run(circuit: Circuit, **settings: Any) -> Any:
    """Return what all neurons did."""
    with started(circuit, DT, currents(circuit), RECORD, **settings) as lpu:
        lpu.run(steps=STEPS)
        return recorded(lpu, STEPS)


def expanded(circuit: Circuit) -> list[Connections]:
    """Return plain columns, copied."""
    return [
        Connections(c.variable, c.access, c.source.copy(), c.target.copy(), c.delay, dict(c.data))
        for c in circuit.connections
    ]


def test_runs_like_its_connections() -> None:
    """Projections and their columns give the same bits, for any plan and number of threads."""
    here = network()
    columns = network(given=expanded(network()))
    assert all(isinstance(c, Drawn) for c in here.connections)
    assert not any(isinstance(c, Drawn) for c in columns.connections)
    first = run(here, threads=1)
    assert first["spike_state"].sum() > 500
    assert_same_bits(first, run(columns, threads=1))
    for threads, plans in ((2, True), (3, True), (2, False)):
        assert_same_bits(first, run(network(), threads=threads, plans=plans))
    other = run(network(seed=6))
    assert (other["spike_state"] != first["spike_state"]).any()


def test_the_digest_draws_nothing() -> None:
    """It covers every part of a projection, and neither it nor the summary draws columns."""
    circuit = network()
    digests = {circuit.digest}
    edges = [len(c) for c in circuit.connections]
    assert circuit.edges == sum(edges) and edges[1:] == [20 * 503, 1500, 9 * 102]
    assert f"; {circuit.edges:,} connections" in str(circuit)
    assert any("FixedTotal(n=1500)" in repr(one) for one in circuit.connections)
    assert not any("_columns" in vars(c) for c in circuit.connections)
    assert network().digest == circuit.digest
    first, *others = projections()
    changes: list[dict[str, Any]] = [
        {"name": "other"},
        {"weight": Normal(90.0, 20.0, low=0.0, outside="clip")},
        {"weight": Normal(90.0, 20.1, low=0.0)},
        {"delay": 1e-3},
        {"rule": FixedProbability(0.05, autapses=False)},
        {"rule": FixedProbability(0.051)},
        {"rule": AllToAll()},
        {"access": "inh", "weight": 1.0},
        {"source": range(0, 400)},
        {"target": range(0, 503)},
    ]
    for change in changes:
        digests.add(network(given=[dataclasses.replace(first, **change), *others]).digest)
    digests.add(network(seed=6).digest)
    assert len(digests) == len(changes) + 2
    assert edges == [len(c.source) for c in circuit.connections]


def test_columns_and_rules_side_by_side() -> None:
    """Connections keep their place between projections."""
    own = Connections("spike_state", "exc", np.arange(9), np.arange(50, 59), np.array(1e-3))
    circuit = network(given=[projections()[0], own, projections()[1]])
    kinds = [isinstance(c, Drawn) for c in circuit.connections]
    assert kinds == [True, False, True]
    assert circuit.edges == sum(len(c.target) for c in circuit.connections)
    alone = network(given=[projections()[0]])
    assert np.array_equal(alone.connections[0].target, circuit.connections[0].target)


@pytest.mark.parametrize("parts", [2, 3])
def test_cut_and_joined(parts: int) -> None:
    """A circuit with projections can be cut into LPUs, with the bits of the whole."""
    circuit = network()
    part = np.random.default_rng(parts).integers(0, parts, circuit.count)
    made = cut(circuit, part, [f"p{i}" for i in range(parts)])
    assert sum(c.edges for c in made.circuits.values()) > circuit.edges
    expected: Any = whole(with_crossings(network(given=expanded(circuit)), part), currents(circuit),
                          STEPS)  # fmt: skip
    _, found = managed(made, currents(circuit), STEPS)
    assert assert_equal_bits(expected, found, all_of=True) > 1000


def test_two_lpus_with_projections() -> None:
    """LPUs that are joined in one process keep their projections apart."""
    from neurodriver import LPU, Manager, MemoryRecorder

    manager = Manager(timeout=60.0)
    for name, seed in (("a", 5), ("b", 6)):
        circuit = network(seed=seed)
        manager.add(LPU, name, circuit, DT, currents(circuit), [MemoryRecorder(RECORD)])
    manager.spawn()
    manager.start(steps=STEPS)
    manager.wait()
    for name, seed in (("a", 5), ("b", 6)):
        assert_same_bits(run(network(seed=seed)), recorded(manager.lpus[name], STEPS))


def test_a_rule_that_connects_nothing_is_told() -> None:
    """Legal, but worth a look; an error where warnings are."""
    none = Projection("spike_state", "exc", EXC, EXC, FixedTotal(0), name="empty")
    with pytest.warns(CircuitWarning, match="projection 'empty' has no connections"):
        assert network(given=[none]).edges == 0
    groups: Any = [(model("Izhikevich"), 503, {}, None)]
    with pytest.raises(ValueError, match="'empty' has no connections"):
        Circuit.from_arrays(groups, [dataclasses.replace(none, access="spike_state")], strict=True)


def test_the_page(tmp_path: Path) -> None:
    """The example of docs/projections.md runs as it stands, and its network spikes."""
    page = Path(__file__).parents[2] / "docs" / "projections.md"
    block = re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)
    script = tmp_path / "example.py"
    script.write_text("\n".join(block), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=120, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    said = re.fullmatch(
        r"circuit: 1,000 LeakyIAFExpCurrent; ([\d,]+) connections\s+(\d+) spikes\s+"
        r"circuit: 1,000 LeakyIAFExpCurrent; 80,000 connections\s+"
        r"\['exc/0' 'exc/0' 'exc/5'\] \['inh/0' 'inh/1' 'exc/3'\] \[85\. 95\. 80\.\]\n",
        done.stdout,
    )
    assert said, done.stdout
    edges, spikes = (int(x.replace(",", "")) for x in said.groups())
    assert 95_000 < edges < 105_000 and 1000 < spikes < 50_000
