"""Runs that go wrong on the way: bad inputs, Ctrl-C, other folders; through the command line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from circuit_files import GOOD, gexf, save
from launch import start_in_foreground
from support import AMPA, node

from neurodriver import Circuit, Recording
from neurodriver.__main__ import main

Capture = pytest.CaptureFixture[str]
ROOT = Path(__file__).parents[2]
NAMES = ["a", 'quo"te', "com,ma", "new\nline", "tab\t", "smile 😀", "é", "e\u0301", " space ", "'"]


@pytest.fixture
def circuit(tmp_path: Path) -> Path:
    """Return a circuit file: two neurons and a synapse between them."""
    nodes = {**GOOD, "s": node("SynapseAMPA", AMPA, reverse=0.0)}
    return save(tmp_path, gexf(nodes, [("a", "s"), ("s", "b")]))


def run(circuit: Path, *more: str | Path, duration: float = 0.01) -> int:
    """Run a circuit and record to ``out.h5`` beside it."""
    words = [
        "run",
        circuit,
        "--dt",
        "1e-4",
        "--duration",
        duration,
        "-o",
        circuit.parent / "out.h5",
    ]
    return main([str(word) for word in (*words, *more)])


def write_input(path: Path, **groups: Any) -> Path:
    """Write an input file: variable -> (uids, data), both as given."""
    with h5py.File(path, "w") as file:
        for variable, (uids, data) in groups.items():
            group = file.create_group(variable)
            if uids is not None:
                group["uids"] = np.array([u if isinstance(u, bytes) else u.encode() for u in uids])
            if isinstance(data, dict):
                for name, values in data.items():
                    group[f"data/{name}"] = values
            elif data is not None:
                group["data"] = data
    return path


ONE = np.ones((5, 1))
EVENTS = {"time": [1e-4, 2e-4], "index": [0, 0]}


@pytest.mark.parametrize(
    ("group", "words"),
    [
        ({"I": (None, ONE)}, ["'I/uids' is missing"]),
        ({"I": (["a"], None)}, ["'I/data' is missing"]),
        ({"I": (["a"], np.ones((5, 2)))}, ["'I'", "(steps, 1)", "got (5, 2)"]),
        ({"I": (["a"], np.ones(5))}, ["'I'", "(steps, 1)", "got (5,)"]),
        ({"I": (["a"], np.array([[b"x"]]))}, ["'I'", "must be numbers"]),
        ({"I": ([b"\xff"], ONE)}, ["'I/uids' is not UTF-8"]),
        ({"I": (["A"], ONE)}, ["in.h5: 'I'", "no component 'A' (did you mean 'a'?)"]),
        ({"I": (["nobody"], ONE)}, ["'I'", "no component 'nobody'"]),
        ({"I": (["s"], ONE)}, ["'I'", "'s'", "SynapseAMPA accesses spike_state"]),
        ({"W": (["a"], ONE)}, ["'W'", "'a'", "LeakyIAF accesses I"]),
        ({"spike_state": (["s"], {"time": [0.0]})}, ["'spike_state/data/index' is missing"]),
        ({"spike_state": (["s"], {**EVENTS, "time": [0.0]})}, ["of one length"]),
        ({"spike_state": (["s"], {**EVENTS, "index": [0, 1]})}, ["index 1", "0 to 0"]),
        ({"spike_state": (["s"], {**EVENTS, "index": [0, -1]})}, ["index -1"]),
        ({"spike_state": (["s"], {**EVENTS, "time": [0.0, -1.0]})}, ["not negative"]),
        ({"spike_state": (["s"], {**EVENTS, "time": [0.0, np.nan]})}, ["finite"]),
        ({"spike_state": (["s"], {"time": [b"x"], "index": [0]})}, ["spike_state"]),
        ({}, ["no group '<variable>'"]),
    ],
)
def test_bad_inputs(circuit: Path, capsys: Capture, group: Any, words: list[str]) -> None:
    """An input that does not fit is refused before anything is written."""
    given = write_input(circuit.parent / "in.h5", **group)
    assert run(circuit, "-i", given) == 1
    text = capsys.readouterr().err
    assert text.startswith("error: ") and "Traceback" not in text
    for word in words:
        assert word in text, f"{word!r} not in {text!r}"
    assert sorted(os.listdir(circuit.parent)) == ["circuit.gexf", "in.h5"]


def test_inputs_that_are_no_files(circuit: Path, capsys: Capture) -> None:
    """Text, folders and cut files given as inputs are told by name."""
    cut = write_input(circuit.parent / "cut.h5", I=(["a"], np.ones((5000, 1))))
    cut.write_bytes(cut.read_bytes()[:3000])
    unreadable = "cannot be read as HDF5"
    for bad, told in (
        (circuit, unreadable),
        (circuit.parent, "not a regular file"),
        (cut, unreadable),
    ):
        assert run(circuit, "-i", bad) == 1
        text = capsys.readouterr().err
        assert text.startswith(f"error: {bad}: {told}")
    assert not (circuit.parent / "out.h5").exists()


def test_fault_in_mid_run(circuit: Path, capsys: Capture) -> None:
    """A value that is no number in row 3000 ends the run; what was recorded stays readable."""
    data = np.full((5000, 1), 5.0)
    data[3000] = np.nan
    given = write_input(circuit.parent / "in.h5", I=(["a"], data))
    assert run(circuit, "-i", given, duration=0.5) == 1
    text = capsys.readouterr().err
    for word in ("in.h5", "'I'", "finite", "nan", "row 3000", "column 0"):
        assert word in text
    assert "Traceback" not in text
    assert sorted(os.listdir(circuit.parent)) == ["circuit.gexf", "in.h5", "out.h5"]
    with Recording(circuit.parent / "out.h5") as recording:
        rows = recording.data("V")[:]
    assert 0 < len(rows) <= 3000 and np.isfinite(rows).all() and np.ptp(rows) > 1


def test_uids_survive(tmp_path: Path) -> None:
    """Legal but odd names reach the recording byte for byte, and can be asked for."""
    path = save(tmp_path, gexf(dict.fromkeys(NAMES, GOOD["a"])))
    assert Circuit.from_file(path).uids.tolist() == NAMES
    assert run(path) == 0
    with h5py.File(tmp_path / "out.h5") as file:
        assert file["V/uids"][()].tolist() == [uid.encode() for uid in NAMES]
    wanted = [word for uid in NAMES for word in ("-r", f"V:{uid}")]
    assert run(path, "-f", *wanted) == 0
    with Recording(tmp_path / "out.h5") as recording:
        assert recording.uids("V") == NAMES
    given = write_input(tmp_path / "in.h5", I=(NAMES, np.ones((5, len(NAMES)))))
    assert run(path, "-f", "-i", given) == 0


def test_a_population_is_recorded(tmp_path: Path) -> None:
    """The name of a population stands for its uids; a uid of the same name comes first."""
    nodes = {uid: {**GOOD["a"], "population": "exc"} for uid in ("a", "b", "inh")}
    path = save(tmp_path, gexf({**nodes, "c": {**GOOD["a"], "population": "inh"}}))
    assert run(path, "-r", "V:exc") == 0
    with Recording(tmp_path / "out.h5") as recording:
        assert recording.uids("V") == ["a", "b", "inh"]
    assert run(path, "-f", "-r", "V:inh,c") == 0
    with Recording(tmp_path / "out.h5") as recording:
        assert recording.uids("V") == ["inh", "c"]
    assert run(path, "-r", "V:nobody") == 1


def start(circuit: Path, *more: str, cwd: Path | None = None) -> subprocess.Popen[str]:
    """Start a long run in a process of its own."""
    words = [sys.executable, "-m", "neurodriver", "run", str(circuit), "--dt", "1e-4",
             "--duration", "10000", "-o", str(circuit.parent / "out.h5"), *more]  # fmt: skip
    return start_in_foreground(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt(circuit: Path, number: signal.Signals) -> None:
    """Ctrl-C or SIGTERM in mid-run: its exit code, one line, a recording of all steps so far."""
    given = write_input(circuit.parent / "in.h5", I=(["a"], np.full((1, 1), 5.0)))
    process = start(circuit, "-i", str(given), "--input-mode", "repeat", "--sample-interval", "50")
    assert process.stdout is not None
    assert "ready in" in process.stdout.readline()
    deadline = time.monotonic() + 30
    while not (circuit.parent / "out.h5").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.5)
    process.send_signal(number)
    _, text = process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert text.startswith("error: interrupted after ") and text.count("\n") == 1
    steps = int(text.split()[3].replace(",", ""))
    assert sorted(os.listdir(circuit.parent)) == ["circuit.gexf", "in.h5", "out.h5"]
    with Recording(circuit.parent / "out.h5") as recording:
        rows = recording.data("V")[:]
    assert len(rows) == steps // 50 > 10
    assert np.ptp(rows) > 1


@pytest.mark.parametrize("wait", [0.05, 0.15, 0.3])
def test_interrupt_while_starting(circuit: Path, wait: float) -> None:
    """Ctrl-C before the first step leaves no file and no wrong exit code."""
    process = start(circuit)
    time.sleep(wait)
    process.send_signal(signal.SIGINT)
    try:  # before the program's first line Python itself may drop it: then a second one has to do
        process.communicate(timeout=10)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert process.returncode not in (0, None)
    assert [name for name in os.listdir(circuit.parent) if name.endswith(".tmp")] == []


class Dying:
    """Something whose end a Ctrl-C falls into: Python tells of it and goes on."""

    def __del__(self) -> None:
        raise KeyboardInterrupt


@pytest.mark.parametrize("handler", [signal.default_int_handler, signal.SIG_IGN])
def test_no_interrupt_is_lost(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture, handler: Any
) -> None:
    """An interrupt inside a destructor ends the program, also where SIGINT is ignored."""
    hook, before = sys.unraisablehook, signal.signal(signal.SIGINT, handler)

    def command(*words: object, **more: object) -> int:
        Dying()
        time.sleep(30)
        return 0

    monkeypatch.setattr("neurodriver.__main__.cli.main", command)
    begin = time.monotonic()
    try:
        assert main(["models"]) == 130
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - begin < 20
    assert capsys.readouterr().err == "error: interrupted\n"
    assert sys.unraisablehook is hook


@pytest.mark.parametrize("empty", [False, True])
def test_module_from_any_folder(tmp_path: Path, empty: bool) -> None:
    """``python -m neurodriver`` works from the repository and from anywhere else."""
    words = [sys.executable, "-m", "neurodriver", "models"]
    cwd = tmp_path if empty else ROOT
    done = subprocess.run(words, capture_output=True, text=True, cwd=cwd, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) >= 8 and "LeakyIAF" in done.stdout


def test_refusals_of_the_real_program(tmp_path: Path) -> None:
    """A process of its own refuses bad files with 1 and bad usage with 2, without a traceback."""
    bad = save(tmp_path, "<gexf>")
    nan = save(tmp_path, gexf({"a": {**GOOD["a"], "threshold": float("nan")}}), "nan.gexf")
    for words, code in (
        (["run", bad, "--dt", "1e-4", "--duration", "1", "-o", tmp_path / "x.h5"], 1),
        (["check", nan], 1),
        (["check"], 2),
    ):
        command = [sys.executable, "-m", "neurodriver", *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == code
        assert done.stderr.startswith("error: " if code == 1 else "Usage: ")
        assert "Traceback" not in done.stderr and done.stdout == ""
    assert sorted(os.listdir(tmp_path)) == ["circuit.gexf", "nan.gexf"]
