"""``neurodriver run --view``: a run that is started, paused and switched over the socket."""

from __future__ import annotations

import http.client
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiment_files import write

import neurodriver as nd
from neurodriver.__main__ import main

ROOT = Path(__file__).parents[2]
ONE_NEURON = ROOT / "data" / "circuits" / "one_neuron.gexf"
SECONDS = 60


class Run:
    """A command that runs, and the questions of its page."""

    def __init__(self, child: subprocess.Popen[str]) -> None:
        self.child = child
        self.lines: list[str] = []
        found = self.line(r"view: http://127\.0\.0\.1:(\d+)/\?token=(\S+)")
        self.port, self.token = int(found[1]), found[2]

    def line(self, pattern: str) -> re.Match[str]:
        """Read what the command prints until a line fits."""
        assert self.child.stdout is not None
        for text in self.child.stdout:
            self.lines.append(text)
            if found := re.match(pattern, text):
                return found
        raise AssertionError(f"no line {pattern!r}: {self.lines}")

    def ask(self, **question: Any) -> dict[str, Any]:
        """Return the answer to a question."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        connection.request("POST", "/ask", json.dumps(question), headers)
        answer: dict[str, Any] = json.loads(connection.getresponse().read())
        connection.close()
        assert "error" not in answer, answer
        return answer

    def until(self, reached: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Wait until the state of the run is as wanted."""
        end = time.monotonic() + SECONDS
        while not reached(state := self.ask(ask="state")["control"]):
            assert time.monotonic() < end, state
            time.sleep(0.02)
        return state

    def stands_still(self) -> dict[str, Any]:
        """Wait until neither the run nor its recording goes on; return the state."""
        end = time.monotonic() + SECONDS
        state = self.ask(ask="state")
        while True:
            time.sleep(0.2)  # more than a call takes
            before, state = state, self.ask(ask="state")
            if before == state:
                return state
            assert time.monotonic() < end, state

    def interrupt(self) -> tuple[int, str]:
        """Press Ctrl-C; return the exit code and all that the command prints after that."""
        self.child.send_signal(signal.SIGINT)
        said, _ = self.child.communicate(timeout=SECONDS)
        return self.child.returncode, said


@contextmanager
def command(*words: object) -> Iterator[Run]:
    """Start ``neurodriver run words --view``."""
    line = [sys.executable, "-m", "neurodriver", "run", *map(str, words), "--view"]
    out = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    child = subprocess.Popen(line, cwd=ROOT, **out)  # type: ignore[call-overload]
    try:
        yield Run(child)
    finally:
        child.kill()
        child.communicate()


def test_a_circuit(tmp_path: Path) -> None:
    """Nothing happens before the start; the recording has the bits of a run without a view."""
    alone, out = tmp_path / "alone.h5", tmp_path / "out.h5"
    words = [ONE_NEURON, "--dt", 1e-4, "--duration", 0.05]
    assert main(["run", *map(str, words), "-o", str(alone)]) == 0
    with command(*words, "-o", out, "--paused") as run:
        state = run.until(lambda state: True)
        flags = {"paused": True, "ended": False, "idle": False}
        assert state == {"step": 0, "steps": 500, **flags, "inputs": []}
        assert run.ask(ask="about")["title"] == "out.h5" and not out.exists()
        run.ask(ask="act", action="start")
        assert run.until(lambda state: state["ended"])["step"] == 500
        (part,) = run.ask(ask="about")["parts"]
        assert part["complete"] and part["duration"] == pytest.approx(0.05)
        run.line("Ctrl-C ends the view")
        assert run.interrupt() == (0, "the view has ended\n")
    with nd.open(alone) as one, nd.open(out) as other:
        assert one.variables == other.variables
        assert np.array_equal(one.V[:], other.V[:])


def test_a_run_that_is_paused_and_ended(tmp_path: Path) -> None:
    """A paused run stands still, its recording can be read, and Ctrl-C ends it as any run."""
    out = tmp_path / "long.h5"
    with command(ONE_NEURON, "--dt", 1e-5, "--duration", 1e3, "--sample-interval", 1000, "-o", out,
                 "-r", "spike_state") as run:  # fmt: skip
        run.until(lambda state: state["step"] > 1000)
        run.ask(ask="act", action="pause")
        still = run.stands_still()
        assert still["control"]["paused"]
        about = run.ask(ask="about")["parts"][0]
        assert not about["complete"] and about["duration"] > 0.01
        run.ask(ask="act", action="start")
        run.until(lambda state: state["step"] > still["control"]["step"])
        run.ask(ask="act", action="pause")
        code, said = run.interrupt()
        assert code == 130 and "interrupted after" in said and "Traceback" not in said
    assert nd.open(out).complete


def test_an_experiment(tmp_path: Path) -> None:
    """Each LPU is a part; an input is off from the step that the command prints."""
    file = write(tmp_path)
    with command(file, "--paused") as run:
        about = run.ask(ask="about")
        assert [part["name"] for part in about["parts"]] == ["left", "right"]
        run.until(lambda state: bool(state["inputs"]))
        run.ask(ask="act", action="switch", number=0, on=False)
        run.line(r"left: StepInput I: off from step 0")
        run.ask(ask="act", action="start")
        run.until(lambda state: state["ended"])
        question = {"ask": "rows", "part": "left", "start": 0.0, "stop": 0.03, "variable": "V"}
        assert run.ask(**question)["uids"][:3] == ["n0", "n1", "n2"]
        run.line("Ctrl-C ends the view")
        assert run.interrupt() == (0, "the view has ended\n")
    with nd.open(tmp_path / "experiment.h5") as found:
        values = found["left/V"][:]
    assert len(values) == 300 and values.max() < -50.0  # no current has entered


def test_wrong_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Options of the view need it."""
    words = [
        "run",
        str(ONE_NEURON),
        "--dt",
        "1e-4",
        "--duration",
        "1",
        "-o",
        str(tmp_path / "x.h5"),
    ]
    for more in (["--paused"], ["--port", "8000"]):
        assert main([*words, *more]) == 2
        assert "--paused and --port are for --view" in capsys.readouterr().err
    assert not (tmp_path / "x.h5").exists()
