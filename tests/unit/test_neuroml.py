"""Point neurons of NeuroML files, against their equations solved here in SI units."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray

import neurodriver as nd
from neurodriver import CircuitError

pytest.importorskip("sympy")

HEAD = '<?xml version="1.0"?>\n<neuroml xmlns="http://www.neuroml.org/schema/neuroml2" id="x">\n'
IAF = 'leakReversal="-50mV" thresh="-55mV" reset="-0.07V"'
CAP = f'{IAF} C="0.2nF" leakConductance="0.01uS"'
CELLS = f"""
<!-- nine cells -->
<iafTauCell id="tau" {IAF} tau="30ms"><notes>as in the examples</notes></iafTauCell>
<iafTauRefCell id="tau_ref" {IAF} tau="0.03 s" refract="5ms"/>
<iafCell id="cap" {CAP}/>
<iafRefCell id="cap_ref" {CAP} refract="4ms" metaid="m1"/>
<izhikevichCell id="bursts" v0="-70mV" thresh="30mV" a="0.02" b="0.2" c="-50" d="2"/>
<izhikevich2007Cell id="regular" v0="-60mV" C="100pF" k="0.7nS_per_mV" vr="-60mV" vt="-40mV"
  vpeak="35mV" a="30per_s" b="-2nS" c="-50mV" d="100pA"/>
<adExIaFCell id="adapts" C="281pF" gL="30nS" EL="-70.6mV" reset="-48.5mV" VT="-50.4mV"
  thresh="-40.4mV" refract="2ms" delT="2mV" tauw="40ms" a="4nS" b="0.08nA"/>
<fitzHughNagumoCell id="slow" I="0.8"/>
<fitzHughNagumo1969Cell id="excitable" a="0.7" b="0.8" I="0.5" phi="0.08" V0="-1" W0="-0.5"/>
"""
DT, STEPS = 2e-5, 5000
CURRENT = {"cap": 0.0, "cap_ref": 50.0, "bursts": 10.0, "regular": 200.0, "adapts": 900.0}
"""Injected currents: pA, and a number for the cell of Izhikevich 2003."""

State = NDArray[np.float64]


def izhikevich(y: State) -> State:
    """Return the slopes of the model of 2003 in V and 1/s."""
    v, u = y[0] * 1e3, y[1]
    return np.array([0.04 * v * v + 5 * v + 140 - u + 10, 0.02 * (0.2 * v - u) * 1e3])


def izhikevich_2007(y: State) -> State:
    """Return the slopes of the model of 2007 in V and A."""
    v, u = y
    membrane = 0.7e-6 * (v + 0.06) * (v + 0.04) + 200e-12 - u
    return np.array([membrane / 100e-12, 30 * (-2e-9 * (v + 0.06) - u)])


def adaptive(y: State) -> State:
    """Return the slopes of the adaptive exponential neuron in V and A."""
    v, w = y
    leak = -30e-9 * (v + 0.0706) + 30e-9 * 2e-3 * np.exp((v + 0.0504) / 2e-3)
    return np.array([(leak - w + 900e-12) / 281e-12, (4e-9 * (v + 0.0706) - w) / 0.04])


def slow(y: State) -> State:
    """Return the slopes of the cell of FitzHugh and Nagumo whose time is in s."""
    v, w = y
    return np.array([v - v**3 / 3 - w + 0.8, 0.08 * (v + 0.7 - 0.8 * w)])


def excitable(y: State) -> State:
    """Return the slopes of the cell of 1969, whose time is in ms."""
    v, w = y
    return 1e3 * np.array([v - v**3 / 3 - w + 0.5, 0.08 * (v + 0.7 - 0.8 * w)])


def solve(
    slopes: Callable[[State], State],
    start: tuple[float, float],
    peak: float = np.inf,
    after: Callable[[State], tuple[float, float]] = lambda y: (y[0], y[1]),
    rest: float = 0.0,
) -> tuple[State, State]:
    """Integrate by Runge and Kutta; return V of each step, and the times of spikes."""
    y, times, trace, left, h = np.array(start), [], [], 0, DT
    for step in range(STEPS):
        trace.append(y[0])
        k1 = slopes(y)
        k2 = slopes(y + h / 2 * k1)
        k3 = slopes(y + h / 2 * k2)
        k4 = slopes(y + h * k3)
        move = h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        if left:
            move[0], left = 0.0, left - 1
        y = y + move
        if y[0] > peak and not left:
            times.append((step + 1) * h)
            y, left = np.array(after(y)), round(rest / h)
    return np.array(trace), np.array(times)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[nd.Recording, dict[str, type]]:
    """Run all cells in one circuit; a second file includes the first."""
    folder = tmp_path_factory.mktemp("neuroml")
    (folder / "cells.nml").write_text(f"{HEAD}{CELLS}</neuroml>")
    network = '<include href="cells.nml"/><include href="all.nml"/><network id="n"/>'
    (folder / "all.nml").write_text(f"{HEAD}{network}</neuroml>")
    cells = nd.read_neuroml(folder / "all.nml", ignore=["network"])
    circuit = nd.Circuit([nd.Population(model, 1, name=name) for name, model in cells.items()])
    inputs = [nd.StepInput("I", [f"{name}/0"], now) for name, now in CURRENT.items()]
    with nd.LPU(circuit, dt=DT, inputs=inputs) as lpu:
        return lpu.run(steps=STEPS, record=["V", "spike_state"]).recording, dict(cells)


def test_models_have_the_values_of_the_file(recorded: tuple[nd.Recording, dict[str, type]]) -> None:
    """Ids are names of classes; units are ours."""
    _, cells = recorded
    assert [*cells] == ["tau", "tau_ref", "cap", "cap_ref", "bursts", "regular", "adapts", "slow",
                        "excitable"]  # fmt: skip
    model = cells["regular"]
    assert model.__name__ == "regular" and "izhikevich2007Cell" in str(model.__doc__)
    values = {name: rule.default for name, rule in model.params.items()}
    assert values == {"v0": -60.0, "vr": -60.0, "vt": -40.0, "vpeak": 35.0, "c": -50.0, "C": 100.0,
                      "k": 0.7, "a": 0.03, "b": -2.0, "d": 100.0}  # fmt: skip
    assert cells["tau_ref"].params["tau"].default == 30.0
    assert cells["slow"].params["drive"].default == 0.8
    assert cells["tau"].method == "exact" and cells["adapts"].params["b"].default == 80.0


def test_leaky_cells_fire_at_the_intervals_of_the_formula(
    recorded: tuple[nd.Recording, dict[str, type]],
) -> None:
    """The time from reset to threshold is tau log((E - reset) / (E - threshold))."""
    spikes = recorded[0].spikes()
    rest, to = {"tau_ref": 5.0, "cap_ref": 4.0}, {"cap_ref": -45.0}
    for name in ("tau", "tau_ref", "cap", "cap_ref"):
        tau = 30.0 if name.startswith("tau") else 20.0
        end = to.get(name, -50.0)
        want = tau * np.log((end + 70) / (end + 55)) + rest.get(name, 0.0)
        times = spikes[f"{name}/0"] * 1e3
        assert len(times) == 1 + int((STEPS * DT * 1e3 - times[0]) / want)
        assert_allclose(np.diff(times), want, atol=1.5e3 * DT)


def test_cells_start_and_fire_as_the_equations_say(
    recorded: tuple[nd.Recording, dict[str, type]],
) -> None:
    """Potentials on the way to the first spike, and times of all spikes, by another method."""
    cases = {
        "bursts": (izhikevich, (-0.07, -14.0), 0.03, lambda y: (-0.05, y[1] + 2), 0.0),
        "regular": (izhikevich_2007, (-0.06, 0.0), 0.035, lambda y: (-0.05, y[1] + 1e-10), 0.0),
        "adapts": (adaptive, (-0.0706, 0.0), -0.0404, lambda y: (-0.0485, y[1] + 8e-11), 2e-3),
    }
    for name, case in cases.items():
        trace, times = solve(*case)
        found = recorded[0].spikes[f"{name}/0"]
        assert len(times) == len(found) > 2
        assert_allclose(found, times, atol=6 * DT)  # each spike is found at a step
        until = int(times[0] / DT / 2)
        V = recorded[0].V[f"{name}/0"][:until].ravel()
        assert_allclose(V, trace[:until] * 1e3, atol=2e-3)
        assert np.ptp(V) > 5.0


def test_cells_without_spikes(recorded: tuple[nd.Recording, dict[str, type]]) -> None:
    """Both cells of FitzHugh and Nagumo have no threshold, and no unit."""
    for name, slopes, start in (("slow", slow, (0.0, 0.0)), ("excitable", excitable, (-1.0, -0.5))):
        trace, _ = solve(slopes, start)
        V = recorded[0].V[f"{name}/0"][:].ravel()
        assert_allclose(V, trace, atol=1e-3)
        assert np.ptp(trace) > 0.05


BAD = [
    ('<iafTauCell id="a" leakReversal="1mV"/>', ["<iafTauCell id='a'>", "'tau' is missing", "3 f"]),
    (f'<iafTauCell id="a" {IAF} tau="3mV"/>', ["'tau' must be", "'s', 'ms'", "got '3mV'"]),
    (f'<iafTauCell id="a" {IAF} tau="x ms"/>', ["'tau' must be", "got 'x ms'"]),
    (f'<iafTauCell id="a" {IAF} tau="1e9999999s"/>', ["'tau' must be", "got '1e9999999s'"]),
    (f'<iafTauCell id="a" {IAF} tau="1e307s"/>', ["'tau' must be", "got '1e307s'"]),
    (f'<iafTauCell id="a" {IAF} tau="0ms"/>', ["'tau' must be above 0 (got '0ms')"]),
    (f'<iafTauCell id="a" {IAF} tau="1ms" thrash="1mV"/>', ["'thrash'", "mean 'thresh'?"]),
    (f'<iafTauCell id="a" {IAF} tau="1ms"><soma/></iafTauCell>', ["the element <soma> has no"]),
    (f'<iafTauCell id="1 a" {IAF} tau="1ms"/>', ["'1 a'", "needs an id that is a name"]),
    (f'<iafTauCell id="a" {IAF} tau="1ms"/>' * 2, ["<iafTauCell id='a'> stands twice"]),
    ('<izhikevichCell id="a" v0="1mV" thresh="1mV" a="1ms" b="1" c="1" d="1"/>',
     ["'a' must be a number (got '1ms')"]),
    ('<hindmarshRose1984Cell id="h"/>',
     ["<hindmarshRose1984Cell id='h'> is no point neuron", "known are iafTauCell", "ignore=["]),
    ('<pulseGenerator id="p"/><network id="n"/>', ["<pulseGenerator id='p'>", "<network id='n'>"]),
    ('<include href="gone.nml"/>', ["gone.nml: cannot be read (No such file"]),
    ("<iafTauCell", ["not well-formed XML"]),
    ("", ["has no point neurons"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "words"), BAD)
def test_what_is_no_point_neuron_is_named(text: str, words: list[str], tmp_path: Path) -> None:
    """File, element, id and attribute are named."""
    path = tmp_path / "bad.nml"
    path.write_text(f"{HEAD}{text}</neuroml>")
    with pytest.raises(CircuitError) as caught:
        nd.read_neuroml(path)
    for word in (str(path), *words):
        assert word in str(caught.value)


def test_no_neuroml(tmp_path: Path) -> None:
    """Another root, or no file."""
    path = tmp_path / "other.xml"
    path.write_text("<Lems/>")
    with pytest.raises(CircuitError, match=r"the root must be <neuroml> \(got <Lems>\)"):
        nd.read_neuroml(path)
    with pytest.raises(CircuitError, match=r"gone\.nml: cannot be read"):
        nd.read_neuroml(tmp_path / "gone.nml")
