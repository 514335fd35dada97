"""What notebooks show and complete: tables as HTML, names of packages and recordings."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from support import IAF, build, node

import neurodriver as nd
from neurodriver import html
from neurodriver.circuit.drawn import Drawn
from neurodriver.recorders import HDF5Recorder

EVIL = "<script>alert('x')</script>&"


class Cells(HTMLParser):
    """The texts of a table; tags have to be closed in their order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.tags: set[str] = set()
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def cells(thing: Any) -> list[str]:
    """Return the texts of what a notebook shows of a thing; nothing but tables is allowed."""
    found = Cells(thing._repr_html_())
    assert found.tags <= {"table", "caption", "tr", "th", "td"}
    return found.texts


def test_tables_are_escaped_and_short() -> None:
    """Texts of users are never markup; many rows and long texts are cut."""
    text = html.table(EVIL, ("a", EVIL), [(i * 1000, EVIL * 50) for i in range(40)])
    found = Cells(text)
    assert EVIL in found.texts and "11,000" in found.texts and "and 28 more" in found.texts
    assert max(map(len, found.texts)) <= html.MOST_LETTERS and len(text) < 6000
    endless = html.table("t", ("n",), ((i,) for i in iter(int, 1)), count=10**9)
    assert "and 999,999,988 more" in Cells(endless).texts
    assert "more" not in html.table("t", ("n",), [(1,), (2,)])


def test_circuits_and_lpus(tmp_path: Path) -> None:
    """Models, numbers, names, inputs and recorders; names of users are escaped."""
    circuit = build({EVIL: node("LeakyIAF", IAF), "b": node("LeakyIAF", IAF)})
    shown = cells(circuit)
    assert {"LeakyIAF", "2", "spike_state, V"} <= set(shown)
    assert any(text.startswith("<script>") and text.endswith(", b") for text in shown)
    assert repr(circuit).startswith("Circuit '") and "2 LeakyIAF; 0 connections" in repr(circuit)
    recorder = nd.MemoryRecorder([("V", None), ("spike_state", ["b"])])
    with nd.LPU(circuit, 1e-4, nd.StepInput("I", [EVIL, "b"], 9.0), recorder) as lpu:
        lpu.run(steps=20)
        shown = cells(lpu)
    assert {"StepInput", "I of 2", "V of all, spike_state of 1"} <= set(shown)
    assert any("LPU at 0.002 s: dt 0.0001 s, float64, seed 0" in text for text in shown)
    assert "2 LeakyIAF; 0 connections; dt 0.0001 s, closed; float64, seed 0, cpu" in repr(lpu)


def test_a_line_about_an_lpu_draws_nothing() -> None:
    """Connections that a rule does not count are told by their number of projections."""
    cells = nd.Population("LeakyIAFShiu", 40, name="cells")
    links = [
        nd.Projection(cells, cells, rule, "syn", name=name)
        for name, rule in (("a", nd.FixedProbability(0.5)), ("b", nd.OneToOne()))
    ]
    with nd.LPU(nd.Circuit([cells], links), 1e-4) as lpu:
        lpu.run(3)
        text = repr(lpu)
    assert "40 LeakyIAFShiu; 40 connections and those of 1 projections; dt" in text
    assert "step 3 (0.0003 s)" in text


def test_recordings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of the variables, of memory and files; the rows are not read."""
    circuit = build({uid: node("LeakyIAF", IAF) for uid in (EVIL, "b", "c", "d")})
    requests = [("V", None), ("spike_state", None)]
    memory, file = nd.MemoryRecorder(requests), HDF5Recorder(tmp_path / "run.h5", requests)
    with nd.LPU(circuit, 1e-4, nd.StepInput("I", ["b", "c"], 90.0), [memory, file]) as lpu:
        lpu.run(steps=500)

    def refuse(*_: object) -> None:
        raise AssertionError("values were read")

    monkeypatch.setattr(nd.Variable, "_read", refuse)
    monkeypatch.setattr(nd.Events, "read", refuse)
    for recording in (memory.recording, file.recording):
        shown = cells(recording)
        assert {"V", "mV", "rows", "500", "spike_state", "events"} <= set(shown)
        assert any("0.05 s, dt 0.0001 s" in text for text in shown)
        assert any(text.startswith("<script>") and text.endswith("(4)") for text in shown)
    recording.close()
    assert any("(closed)" in text for text in cells(recording))


def test_nothing_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers of connections are shown where the rule knows them, and once they are drawn."""
    leaky = {"resting_potential": -70.0, "reset_potential": -70.0, "threshold": -45.0}
    leaky |= {"capacitance": 2.0, "resistance": 10.0}
    model = build({"a": node("SynapseAMPA", {"gmax": 0.1, "st": 1.0})}).groups[0].model
    neuron = build({"a": node("LeakyIAF", IAF)}).groups[0].model
    rules = {"p": nd.FixedProbability(0.5), "k": nd.FixedInDegree(3)}
    ends = range(50), range(50, 80)
    circuit = nd.Circuit.from_arrays(
        [(neuron, 50, leaky, None), (model, 30, {"gmax": 0.1, "st": 1.0}, None)],
        [nd.Projection("spike_state", "spike_state", *ends, r, name=n) for n, r in rules.items()],
    )

    def refuse(*_: object) -> None:
        raise AssertionError("a projection was drawn")

    with monkeypatch.context() as patch:
        patch.setattr(Drawn, "rows", refuse)
        shown = cells(circuit)
        assert {"p", "k", "not drawn yet", "90"} <= set(shown)
        assert "90 connections and 1 projections that are not drawn yet" in repr(circuit)
    number = sum(len(links) for links in circuit.connections)
    assert number > 300
    assert f"{number:,} connections" in repr(circuit)
    shown = cells(nd.Projection("spike_state", "spike_state", neuron, range(3), rules["p"]))
    assert {"source", "LeakyIAF", "rule", "range(0, 3)"} <= set(shown)
    assert any("FixedProbability" in text for text in shown)


def test_models() -> None:
    """``describe`` shows a model's variables and parameters, of a class and of a name."""

    class Mine(nd.NDComponent):
        """A model & <b>more</b>."""

        accesses = ("I",)
        updates = {"V": "mV"}
        states = {"V": nd.State(unit="mV", initial=0.0)}
        params = {"tau": nd.Parameter("ms", 20.0, above=0.0, doc=EVIL)}
        update = "V += dt_ms / tau * (I - V);"

    shown = cells(nd.describe(Mine))
    assert {"Mine: A model & <b>more</b>.", "reads", "I", "V", "mV", "tau", "20"} <= set(shown)
    assert EVIL in shown
    assert "V += dt_ms / tau * (I - V);" in repr(nd.describe(Mine))
    assert {"writes", "spike_state", "resistance"} <= set(cells(nd.describe("LeakyIAF")))
    with pytest.raises(nd.NeurodriverError, match=r"unknown model 'LeakyIAf' .*'LeakyIAF'"):
        nd.describe("LeakyIAf")
    for wrong in (3, nd.LPU, None):
        with pytest.raises(nd.NeurodriverError, match="a model or its name is needed"):
            nd.describe(wrong)


def test_names_are_completed() -> None:
    """``dir`` knows all public names, also those that are imported with their first use."""
    assert set(nd.__all__) <= set(dir(nd))
    assert not [name for name in nd.__all__ if isinstance(getattr(nd, name), ModuleType)]
    assert {"LPU", "Manager", "Pattern", "load_experiment", "open"} <= set(dir(nd))
    assert all(hasattr(nd, name) for name in dir(nd))
    with pytest.raises(AttributeError, match="no attribute 'Manger'"):
        _ = nd.Manger


def test_figures_show_themselves() -> None:
    """What ``plot`` returns is a picture, also where pyplot is not loaded."""
    recorder = nd.MemoryRecorder([("V", None), ("spike_state", None)])
    with nd.LPU(build({"a": node("LeakyIAF", IAF)}), 1e-4, [], recorder) as lpu:
        lpu.run(steps=300)
    figure = recorder.recording.plot(variables=["V"], start=0.01, stop=0.02, title="A title")
    assert figure._repr_png_().startswith(b"\x89PNG") and len(figure.axes) == 1
    assert np.allclose(figure.axes[0].get_xlim(), (10, 20))
    with pytest.raises(nd.NeurodriverError, match=r"window from 0\.02 to 0\.01 s is empty"):
        recorder.recording.plot(start=0.02, stop=0.01)
