"""``lpu.show()``: what a notebook draws, and how runs follow its page."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any

import numpy as np
import pytest
from support import eventually

import neurodriver as nd
from neurodriver.errors import NeurodriverError


def circuit() -> nd.Circuit:
    """Return three neurons."""
    cells = nd.Population(
        "LeakyIAF", 3, name="shown", resting_potential=-70.0, reset_potential=-70.0,
        threshold=-45.0, capacitance=2.0, resistance=10.0, initV=-70.0,
    )  # fmt: skip
    return nd.Circuit([cells])


@pytest.fixture
def lpu() -> Iterator[nd.LPU]:
    """Return an LPU with an input and a recorder."""
    made = circuit()
    current = nd.StepInput("I", made.populations["shown"].uids, 4.0)
    recorder = nd.MemoryRecorder([("V", None), ("spike_state", None)])
    with nd.LPU(made, 1e-4, current, [recorder], backend="cpu") as opened:
        yield opened


def asked(view: Any, **question: Any) -> Any:
    """Ask what the page asks."""
    return view._server.view.answer(question)


def test_a_run_follows_the_page(lpu: nd.LPU) -> None:
    """It waits for the start; the inputs that the page switches are those that it gets."""
    view = lpu.show(paused=True)
    assert f'<iframe src="{view.address}"' in view._repr_html_()
    before = asked(view, ask="about")
    assert before["control"]["idle"] and before["control"]["paused"]
    assert before["parts"][0]["variables"] == []
    answer = asked(view, ask="act", action="switch", number=0, on=False)
    assert answer["control"]["inputs"] == [{"name": "StepInput I", "on": False}]
    assert not lpu.inputs[0].on  # no run, so at once
    run = threading.Thread(target=lpu.run, kwargs={"steps": 400})
    run.start()
    try:
        eventually(lambda: not asked(view, ask="state")["control"]["idle"])
        assert lpu.step == 0 and asked(view, ask="state")["control"]["steps"] == 400
    finally:
        asked(view, ask="act", action="start")
        run.join(60)
    assert lpu.step == 400 and not len(lpu.recording.spikes.time)
    asked(view, ask="act", action="switch", number=0, on=True)
    lpu.run(steps=400)
    after = asked(view, ask="about")
    assert after["control"] == {
        "step": 800, "steps": 800, "paused": False, "ended": False, "idle": True,
        "inputs": [{"name": "StepInput I", "on": True}],
    }  # fmt: skip
    assert after["durations"][0]["duration"] == pytest.approx(0.08)
    found = asked(view, ask="events", part="circuit", variable="spike_state", start=0.0, stop=0.08)
    assert "error" not in found, found
    assert found["total"] == len(lpu.recording.spikes.time) > 0
    assert (np.asarray(lpu.recording.spikes.time) >= 0.04).all()


def test_a_script_may_switch_inputs_too(lpu: nd.LPU) -> None:
    """What the page shows between runs is what the script has set, and a run keeps it."""
    view = lpu.show()
    lpu.inputs[0].on = False
    assert not asked(view, ask="state")["control"]["inputs"][0]["on"]
    counts: list[int] = []
    lpu.run(steps=300, progress=counts.append)
    assert sum(counts) == 300 and not len(lpu.recording.spikes.time)


def test_frames_and_the_end(lpu: nd.LPU) -> None:
    """Notebooks of this machine may hold the page; a new view ends the one before."""
    first = lpu.show()
    server = first._server
    connection = HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request("GET", f"/?token={server.token}")
    allowed = connection.getresponse().getheader("Content-Security-Policy") or ""
    connection.close()
    frames = allowed.partition("frame-ancestors ")[2].split()
    assert {"http://localhost:*", "http://127.0.0.1:*", "vscode-webview:"} <= set(frames)
    assert "*" not in frames and "'none'" not in frames
    second = lpu.show(paused=True)
    assert first.closed and not second.closed and "closed" in first._repr_html_()
    with pytest.raises(ConnectionRefusedError):
        connection.request("GET", "/")
    second.close()
    second.close()
    lpu.run(steps=5)
    assert lpu.step == 5


def test_a_batch_needs_a_copy(lpu: nd.LPU) -> None:
    """It is refused before anything is served; then the copy's recording is shown."""
    with pytest.raises(NeurodriverError, match="show: copy is for a batch; got 1"):
        lpu.show(copy=1)
    recorder = nd.MemoryRecorder([("V", None)])
    with nd.LPU(circuit(), 1e-4, (), [recorder], batch=2, backend="cpu") as many:
        for wrong in (None, 2):
            with pytest.raises(NeurodriverError, match="a batch needs copy=0 to 1"):
                many.show(copy=wrong)
        view = many.show(copy=1)
        many.run(steps=20)
        (part,) = asked(view, ask="about")["parts"]
        assert [one["name"] for one in part["variables"]] == ["V"]
        view.close()


def test_a_file_is_followed(tmp_path: Any) -> None:
    """The recording of a recorder of files is opened anew for each question."""
    recorder = nd.HDF5Recorder(tmp_path / "shown.h5", [("V", None)])
    with nd.LPU(circuit(), 1e-4, (), [recorder], backend="cpu") as lpu:
        view = lpu.show()
        assert asked(view, ask="about")["parts"][0]["variables"] == []
        lpu.run(steps=50)
        assert asked(view, ask="state")["durations"][0]["duration"] == pytest.approx(0.005)
        view.close()
