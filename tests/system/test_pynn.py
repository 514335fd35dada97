"""The backend of PyNN: its numbers are those of closed forms and of the native interface."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from support import model

import neurodriver as nd
from neurodriver.errors import NeurodriverError

pytest.importorskip("pyNN")

import neurodriver.pynn as sim

PAGE = Path(__file__).parents[2] / "docs" / "pynn.md"
assert PAGE.name == "pynn.md"


def signal(population: Any, name: str) -> Any:
    """Return a variable of the last segment, (rows, n)."""
    return population.get_data().segments[-1].filter(name=name)[0].magnitude


def test_the_page_runs() -> None:
    """The block of the page, and the name that PyNN gives to backends."""
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    exec(compile(block, str(PAGE), "exec"), {})
    import pyNN.neurodriver

    assert pyNN.neurodriver is sim and "IF_cond_exp" in sim.list_standard_models()


def test_a_synapse_has_its_closed_form() -> None:
    """Weight, delay and time constants arrive in the right units: current and conductance."""
    sim.setup(timestep=0.1)
    source = sim.Population(1, sim.SpikeSourceArray(spike_times=[5.0]))
    cells = sim.Population(2, sim.IF_curr_exp(tau_m=10.0, cm=0.5, tau_syn_E=2.0, v_rest=-65.0))
    open_ = sim.Population(1, sim.IF_cond_exp(tau_syn_E=2.0, e_rev_E=0.0))
    sim.Projection(
        source, cells[1:], sim.AllToAllConnector(), sim.StaticSynapse(weight=0.2, delay=1.5)
    )
    sim.Projection(
        source, open_, sim.AllToAllConnector(), sim.StaticSynapse(weight=0.01, delay=1.5)
    )
    cells.record("v")
    open_.record("gsyn_exc")
    sim.run(30.0)
    V, g = signal(cells, "v"), signal(open_, "gsyn_exc")
    assert V.shape == (301, 2) and (V[:, 0] == -65.0).all()
    t = np.maximum(np.arange(301) * 0.1 - 6.5, 0.0)
    rise = 0.2 / 0.5 * (10.0 * 2.0 / (10.0 - 2.0)) * (np.exp(-t / 10.0) - np.exp(-t / 2.0))
    assert_allclose(V[:, 1] + 65.0, rise, atol=1e-9)
    assert_allclose(g[:, 0], np.where(np.arange(301) >= 65, 0.01 * np.exp(-t / 2.0), 0), atol=1e-12)


def test_the_native_interface_gives_the_same() -> None:
    """A network of PyNN is the circuit that one would write."""
    sim.setup(timestep=0.1, seed=3)
    cells = sim.Population(6, sim.IF_curr_exp(i_offset=np.linspace(0.8, 1.2, 6), tau_refrac=2.0))
    pairs = [(i, (i + 1) % 6, 0.4, 0.5 + 0.1 * i) for i in range(6)]
    sim.Projection(cells, cells, sim.FromListConnector(pairs))
    cells.initialize(v=-65.0)
    cells.record(["v", "spikes"])
    sim.run(40.0)
    sim.run(60.0)
    given = {"resting_potential": -65.0, "threshold": -50.0, "reset_potential": -65.0}
    given |= {"time_constant": 20.0, "capacitance": 1000.0, "refractory_period": 2.0}
    native = nd.Population("LeakyIAFExpCurrent", 6, name="p", tau_exc=5.0, tau_inh=5.0, **given)
    a, b, w, d = (np.array(column) for column in zip(*pairs, strict=True))
    links = nd.Connections("spike_state", "exc", a, b, d * 1e-3, {"weight": 1000.0 * w})
    current = nd.StepInput("I", native, 1000.0 * np.linspace(0.8, 1.2, 6))
    with nd.LPU(nd.Circuit([native], [links]), 1e-4, current) as lpu:
        lpu.run(steps=1000, record=["V", "spike_state"])
        V, spikes = lpu.recording.V[:], lpu.recording.spikes()
    assert_array_equal(signal(cells, "v")[:-1], V)
    trains = cells.get_data().segments[0].spiketrains
    for train, times in zip(trains, spikes.values(), strict=True):
        assert_allclose(train.magnitude, times * 1e3)
    assert sum(map(len, trains)) >= 15


def test_changes_between_runs() -> None:
    """Parameters, weights and spike times that are set between two runs act in the second one."""
    sim.setup(timestep=0.1)
    source = sim.Population(1, sim.SpikeSourceArray(spike_times=[5.0, 25.0, 45.0]))
    cells = sim.Population(3, sim.IF_curr_delta(tau_m=1e6, v_rest=-65.0, v_thresh=100.0))
    link = sim.Projection(
        source, cells, sim.AllToAllConnector(), sim.StaticSynapse(weight=1.0, delay=0.1)
    )
    cells.record("v")
    sim.run(20.0)
    link.set(weight=np.array([[1.0, 2.0, 3.0]]))
    sim.run(20.0)
    cells[1:2].set(v_rest=-60.0, tau_m=1e-3)
    source.set(spike_times=[42.0, 43.0])
    sim.run(5.0)
    V = signal(cells, "v")
    assert_allclose(V[[40, 100, 300]] + 65.0, [[0, 0, 0], [1, 1, 1], [2, 3, 4]], atol=1e-3)
    assert_allclose(V[450] + 65.0, [4, 5, 10], atol=1e-3)
    assert link.get("weight", format="list", with_address=False) == [1.0, 2.0, 3.0]
    with pytest.raises(NeurodriverError, match=r"delay of .* can be changed before the first run"):
        link.set(delay=0.2)
    sim.Population(1, sim.IF_curr_exp())
    with pytest.raises(NeurodriverError, match="added before the first run, or after reset"):
        sim.run(1.0)
    sim.reset()
    sim.run(1.0)
    assert len(cells.get_data().segments) == 2


def test_plastic_synapses() -> None:
    """Short-term depression, and weights that learn by pairs, are those of the formulas."""
    sim.setup(timestep=0.1)
    source = sim.Population(1, sim.SpikeSourceArray(spike_times=[5.0, 25.0]))
    cell = sim.Population(1, sim.IF_cond_exp(tau_syn_E=0.5))
    tired = sim.TsodyksMarkramSynapse(weight=0.01, delay=0.5, U=0.5, tau_rec=100.0, tau_facil=0.0)
    sim.Projection(source, cell, sim.AllToAllConnector(), tired)
    cell.record("gsyn_exc")
    sim.run(40.0)
    g = signal(cell, "gsyn_exc")[:, 0]
    second = 1 - 0.5 * np.exp(-20.0 / 100.0)
    assert_allclose(g[[55, 255]], [0.005, 0.005 * second], rtol=1e-7)
    sim.setup(timestep=0.1)
    pre = sim.Population(2, sim.SpikeSourceArray(spike_times=[[10.0], [30.0]]))
    post = sim.Population(1, sim.IF_curr_delta(v_rest=-65.0, v_thresh=-50.0))
    force = sim.Population(1, sim.SpikeSourceArray(spike_times=[20.0]))
    rule = sim.SpikePairRule(tau_plus=20.0, tau_minus=20.0, A_plus=0.01, A_minus=0.012)
    bounds = sim.AdditiveWeightDependence(w_min=0.0, w_max=1.0)
    learn = sim.STDPMechanism(rule, bounds, weight=0.5, delay=0.1, dendritic_delay_fraction=0.0)
    learned = sim.Projection(pre, post, sim.AllToAllConnector(), learn)
    sim.Projection(force, post, sim.AllToAllConnector(), sim.StaticSynapse(weight=20.0, delay=0.1))
    sim.run(50.0)
    w = learned.get("weight", format="array")[:, 0]
    assert w[0] == pytest.approx(0.5 + 0.01 * np.exp(-0.5), rel=5e-3)
    assert w[1] == pytest.approx(0.5 - 0.012 * np.exp(-0.5), rel=5e-3)


def test_what_is_refused() -> None:
    """What the backend cannot do is said."""
    sim.setup(timestep=0.1)
    a, b = (sim.Population(2, sim.IF_cond_exp()) for _ in range(2))
    links = sim.Projection(a, b, sim.AllToAllConnector(), sim.TsodyksMarkramSynapse(weight=0.1))
    links.set(U=np.array([[0.1, 0.2], [0.3, 0.4]]))
    with pytest.raises(NeurodriverError, match="U must be the same for all connections, got 4"):
        sim.run(1.0)
    sim.setup()
    with pytest.raises(NeurodriverError, match="there is no population to run"):
        sim.run(1.0)


def test_without_pynn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says what to install."""
    for name in [name for name in sys.modules if name.startswith("neurodriver.pynn")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyNN", None)
    with pytest.raises(NeurodriverError, match=r"neurodriver\[pynn\]"):
        __import__("neurodriver.pynn")


def test_alpha_conductances_of_the_adaptive_neuron() -> None:
    """The conductance after a spike is an alpha function whose peak is the weight."""
    neuron = model("AdaptiveExpIAFAlphaConductance")
    groups = [(model("SpikeSource"), 1, {}, ["s"]), (neuron, 1, {"tau_exc": 3.0}, ["n"])]
    links = nd.Connections("spike_state", "exc", [0], [1], 1e-4, {"weight": 5.0})
    spike = nd.ArrayInput({"spike_state": (["s"], ([9e-4], [0]))})
    with nd.LPU(nd.Circuit.from_arrays(groups, [links]), 1e-4, spike) as lpu:
        lpu.run(steps=300, record=[("s_exc", ["n"])])
        g = lpu.recording["s_exc"][:, 0]
    t = np.maximum(np.arange(300) - 11, 0) * 0.1
    assert_allclose(g, 5.0 * t / 3.0 * np.exp(1 - t / 3.0), atol=1e-9)
    assert g.argmax() == 41
