"""The command line: what it writes, what it says, and its exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from io import BytesIO, TextIOWrapper
from pathlib import Path

import h5py
import numpy as np
import pytest
from circuit_files import GOOD, gexf, save
from support import AMPA, node

from neurodriver import Circuit, Recording, __version__
from neurodriver.__main__ import main

Capture = pytest.CaptureFixture[str]
PAIR = {**GOOD, "s": node("SynapseAMPA", AMPA, reverse=0.0)}
WIRES = [("a", "s"), ("s", "b")]


@pytest.fixture
def circuit(tmp_path: Path) -> Path:
    """Return a circuit file: two neurons and a synapse between them."""
    return save(tmp_path, gexf(PAIR, WIRES))


@pytest.fixture
def current(tmp_path: Path) -> Path:
    """Return an input file: 20 rows of current for the neuron ``a``, ten of them with spikes."""
    path = tmp_path / "current.h5"
    with h5py.File(path, "w") as file:
        file["I/uids"] = np.array([b"a"])
        file["I/data"] = np.full((20, 1), 1000.0)
    return path


def run(circuit: Path, *arguments: str | Path, steps: int = 40) -> int:
    """Run a circuit for some steps; ``-o`` is added unless it is given."""
    output = [] if "-o" in arguments else ["-o", circuit.parent / "out.h5"]
    words = ["run", circuit, "--dt", "1e-4", "--duration", steps * 1e-4, *output, *arguments]
    return main([str(word) for word in words])


def shown(capsys: Capture, code: int, *words: str) -> str:
    """Return what was said on standard error, which holds all words and no traceback."""
    text = capsys.readouterr().err
    assert text.startswith("error: " if code == 1 else "Usage: "), text
    assert "Traceback" not in text
    for word in words:
        assert word in text, f"{word!r} not in {text!r}"
    return text


def files(folder: Path) -> list[str]:
    """Return the names of all files in a folder, hidden ones too."""
    return sorted(os.listdir(folder))


def test_run(circuit: Path, current: Path, capsys: Capture) -> None:
    """A run ends with 0, quiet lines and a recording with its provenance."""
    assert run(circuit, "--input", current, "--seed", "7") == 0
    said = capsys.readouterr()
    assert said.err == ""  # no bar where no terminal is
    assert "ready in" in said.out and "0.004 s simulated" in said.out
    output = circuit.parent / "out.h5"
    assert said.out.splitlines()[-1] == str(output)
    assert files(circuit.parent) == ["circuit.gexf", "current.h5", "out.h5"]
    with h5py.File(output) as file:
        assert set(file) == {"V", "spike_state", "metadata"}
        assert file["V/data"].shape == (40, 2) and file["V/data"].dtype == np.float64
        assert file["V/data"].attrs["units"] == "mV"
        assert file["V/uids"][()].tolist() == [b"a", b"b"]
        assert len(file["spike_state/data/time"]) >= 10
        given = dict(file["metadata"].attrs)
    command = f"neurodriver run {circuit} --dt 1e-4 --duration {40 * 1e-4}"
    assert given["command"].startswith(command) and given["command"].endswith("--seed 7")
    digest = Circuit.from_file(circuit).digest
    expected = {"dt": 1e-4, "seed": 7, "dtype": "float64", "version": __version__,
                "software": "neurodriver", "circuit": str(circuit), "circuit_digest": digest,
                "sample_interval": 1, "start_time": 0.0}  # fmt: skip
    assert {key: given[key] for key in expected} == expected


def test_command_can_be_repeated(circuit: Path) -> None:
    """The recorded command is quoted as a shell needs it, and never too long for HDF5."""
    folder = circuit.parent / "a folder"
    folder.mkdir()
    many = ["-r", "V:" + ",".join(f"nobody{i}" for i in range(40_000))]
    assert run(circuit, "-o", folder / "x.h5") == 0
    assert f"-o '{folder}/x.h5'" in Recording(folder / "x.h5").attributes["command"]
    assert run(circuit, *many) == 1
    assert run(circuit, "--seed", "1", *["--input-mode", "zero"] * 3000) == 0
    assert Recording(circuit.parent / "out.h5").attributes["command"].endswith(" ...")


def test_options(circuit: Path, current: Path) -> None:
    """dtype, sample interval, threads and backend reach the recording."""
    flags = ["--dtype", "float32", "--sample-interval", "4", "--threads", "2", "--backend", "cpu"]
    assert run(circuit, "-i", current, *flags) == 0
    with Recording(circuit.parent / "out.h5") as recording:
        assert recording.data("V").shape == (10, 2)
        assert recording.data("V").dtype == np.float32
        assert recording.sample_interval == 4
        assert recording.attributes["dtype"] == "float32"
        np.testing.assert_allclose(recording.time("V")[:2], [3e-4, 7e-4])


@pytest.mark.parametrize(("mode", "last"), [("zero", False), ("repeat", True)])
def test_input_mode(circuit: Path, current: Path, mode: str, last: bool) -> None:
    """After its last row an input injects zero, or that row again."""
    assert run(circuit, "-i", current, "--input-mode", mode, "-r", "spike_state:a") == 0
    with Recording(circuit.parent / "out.h5") as recording:
        spikes = recording.spikes()["a"]
    assert len(spikes) and (spikes.max() > 30e-4) == last


def test_record(circuit: Path) -> None:
    """The forms of --record: a variable, some components, several times, in the order given."""
    assert run(circuit, "-r", "g", "-r", "V:b", "-r", "V:a", "-r", "spike_state:b,a") == 0
    with h5py.File(circuit.parent / "out.h5") as file:
        uids = {name: file[name]["uids"][()].tolist() for name in ("g", "V", "spike_state")}
    assert uids == {"g": [b"s"], "V": [b"b", b"a"], "spike_state": [b"b", b"a"]}


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["-r", "W"], 1, ["no component updates 'W'", "V"]),
        (["-r", "spikestate"], 1, ["did you mean 'spike_state'?"]),
        (["-r", "V:nobody"], 1, ["'nobody'", "'V'"]),
        (["-r", "V:s"], 1, ["'s'", "no such component updates 'V'"]),
        (["-r", "V:"], 2, ["--record", "VARIABLE:UID"]),
        (["-r", ":a"], 2, ["--record", "VARIABLE:UID"]),
        (["-r", ""], 2, ["--record"]),
        (["-r", "V", "-r", "V:a"], 2, ["'V' is named twice"]),
        (["-r", "V", "-r", "V"], 2, ["'V' is named twice"]),
        (["-r", "V:a", "-r", "V:a"], 2, ["'V:a' is named twice"]),
        (["-o", "no/such/folder/out.h5"], 1, ["out.h5", "folder"]),
        (["-o", "."], 1, ["not a regular file"]),
        (["--dt", "0"], 2, ["--dt", "positive"]),
        (["--dt", "nan"], 2, ["--dt", "positive"]),
        (["--dt", "-1e-4"], 2, ["--dt", "positive"]),
        (["--dt", "fast"], 2, ["--dt"]),
        (["--duration", "inf"], 2, ["--duration", "positive"]),
        (["--duration", "1e-6"], 2, ["--duration", "0 steps", "1 to"]),
        (["--duration", "1e300"], 2, ["--duration", "allowed"]),
        (["--sample-interval", "41"], 2, ["--duration", "40 steps", "41"]),
        (["--sample-interval", "0"], 2, ["--sample-interval"]),
        (["--dtype", "float16"], 2, ["--dtype", "float32"]),
        (["--threads", "0"], 2, ["--threads"]),
        (["--seed", "-1"], 2, ["--seed"]),
        (["--seed", str(2**64)], 2, ["--seed"]),
        (["--backend", "abacus"], 2, ["--backend", "cpu"]),
        (["--nonsense"], 2, ["--nonsense"]),
        (["--models", "missing.py"], 1, ["missing.py", "no such Python file"]),
        (["--input", "missing.h5"], 1, ["missing.h5", "no such file"]),
    ],
)
def test_wrong_arguments(
    circuit: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, arguments: list[str],
    code: int, words: Sequence[str],
) -> None:  # fmt: skip
    """Every wrong argument is told with its exit code, and nothing is written."""
    monkeypatch.chdir(circuit.parent)
    before = files(circuit.parent)
    assert run(circuit, *arguments) == code
    shown(capsys, code, *words)
    assert files(circuit.parent) == before


def test_usage(capsys: Capture) -> None:
    """Missing commands and arguments are usage errors; help and version are not."""
    for wrong in (["fly"], ["run"], ["check"], ["run", "x.gexf"], ["plot", "x.h5"]):
        assert main(wrong) == 2
        shown(capsys, 2)
    for right, word in ((["--help"], "models"), (["run", "-h"], "--dt"), (["--version"], "0.")):
        assert main(right) == 0
        assert word in capsys.readouterr().out


def test_output_is_an_input(circuit: Path, current: Path, capsys: Capture) -> None:
    """Neither the circuit nor an input nor a model file is ever overwritten."""
    models = save(circuit.parent, MODEL, "own.py")
    link = circuit.parent / "link.h5"
    link.symlink_to(current)
    for output in (circuit, current, link, models):
        content = output.read_bytes()
        flags = ["-i", current, "--models", models, "-o", output]
        assert run(circuit, *flags) == 1
        shown(capsys, 1, str(output), "overwrite")
        assert output.read_bytes() == content


def test_earlier_recording_is_kept(circuit: Path) -> None:
    """A run that cannot begin leaves the recording of an earlier one alone."""
    assert run(circuit) == 0
    output = circuit.parent / "out.h5"
    content = output.read_bytes()
    assert run(circuit, "-r", "V:nobody") == 1
    save(circuit.parent, "no circuit")
    assert run(circuit) == 1
    assert output.read_bytes() == content


MODEL = """
from neurodriver import NDComponent
class Doubled(NDComponent):
    \"\"\"Twice its input.\"\"\"
    accesses = ["I"]
    updates = ["V"]
    update = "V = 2 * I;"
"""


def test_own_models(tmp_path: Path, capsys: Capture) -> None:
    """--models brings models from a file; what is wrong with the file is told."""
    path = save(tmp_path, gexf({"d": {"class": "Doubled"}}))
    own = save(tmp_path, MODEL, "own.py")
    assert run(path) == 1
    shown(capsys, 1, "unknown model 'Doubled'")
    assert run(path, "--models", own) == 0
    assert main(["check", str(path), "--models", str(own)]) == 0
    assert main(["models", "Doubled", "--models", str(own)]) == 0
    assert "Twice its input." in capsys.readouterr().out
    wrong = {
        "import nowhere": ["cannot be imported", "nowhere"],
        "x = 1": ["no subclass of NDComponent"],
        "def f(:": ["cannot be imported", "SyntaxError"],
        MODEL.replace('"I"', '"not a name"'): ["'not a name' is not a usable name"],
        MODEL.replace("2 * I", "2 * J"): ["J"],
        "raise SystemExit(3)": ["cannot be imported", "SystemExit"],
    }
    for text, words in wrong.items():
        bad = save(tmp_path, text, "bad.py")
        before = [f for f in files(tmp_path) if f != "__pycache__"]
        assert run(path, "--models", bad, "-o", tmp_path / "new.h5") == 1
        shown(capsys, 1, *words)
        assert [f for f in files(tmp_path) if f != "__pycache__"] == before
    assert run(path, "--models", tmp_path / "own.txt") == 1
    shown(capsys, 1, "own.txt")


def test_check_models_info_plot(circuit: Path, capsys: Capture) -> None:
    """The other commands end with 0 and show what they are for."""
    assert main(["check", str(circuit), "--strict"]) == 0
    said = capsys.readouterr().out
    for word in ("3 components", "2 connections", "2  LeakyIAF", "KiB  in all", "digest "):
        assert word in said
    assert main(["models"]) == 0
    assert "LeakyIAF" in capsys.readouterr().out
    assert main(["models", "--markdown"]) == 0
    said = capsys.readouterr().out
    assert "| [`LeakyIAF`](#leakyiaf) | " in said and "\n### LeakyIAF\n" in said
    assert "| `threshold` | mV | required | potential at which it fires |" in said
    assert "| `initV` | mV | `resting_potential` | first value: membrane potential |" in said
    assert "| `exc` | `weight` |  | 1 | factor of this connection |" in said
    own = str(Path(__file__).parents[1] / "old_style.py")
    assert main(["models", "--markdown", "--models", own]) == 0
    assert "\n## Own models\n" in capsys.readouterr().out
    assert main(["models", "AlphaSynapse"]) == 0
    said = capsys.readouterr().out
    for word in ("ar [1/ms]", "required", "doi:", "z [1]", "mathematics", "spike_state"):
        assert word in said
    assert main(["models", "GapJunctions"]) == 0
    said = capsys.readouterr().out
    assert "edge's conductance [mS/cm^2] of the gap junction; at least 0; required" in said
    for wrong in (["--names"], ["--text"], ["AlphaSynapse", "--names", "--text"]):
        assert main(["models", *wrong]) == 2
        shown(capsys, 2, "give one of them")
    assert main(["models", "AlphaSynapses"]) == 1
    shown(capsys, 1, "did you mean 'AlphaSynapse'?")
    assert main(["info"]) == 0
    said = capsys.readouterr().out
    for word in ("compiler", "cores", "kernel cache", "NEURODRIVER_CXX", "h5py"):
        assert word in said


def test_an_output_without_a_character(
    circuit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its number is printed, and no command ends for that."""
    path, held = tmp_path / "θ.gexf", BytesIO()
    circuit.rename(path)
    monkeypatch.setattr("sys.stdout", TextIOWrapper(held, encoding="cp1252"))
    assert main(["check", str(path)]) == 0
    sys.stdout.flush()
    assert rb"\u03b8.gexf: " in held.getvalue()


def test_plot(circuit: Path, current: Path, capsys: Capture) -> None:
    """``plot`` draws a recording; what it cannot draw is told."""
    pytest.importorskip("matplotlib")
    assert run(circuit, "-i", current) == 0
    output, figure = circuit.parent / "out.h5", circuit.parent / "f.png"
    capsys.readouterr()
    assert main(["plot", str(output), "-o", str(figure), "-v", "V", "-u", "a"]) == 0
    assert capsys.readouterr().out == f"{figure}\n"
    assert figure.read_bytes()[:4] == b"\x89PNG"
    for wrong in ([str(circuit)], [str(output), "-v", "W"], [str(output), "-u", "x"], ["no.h5"]):
        assert main(["plot", *wrong, "-o", str(circuit.parent / "g.png")]) == 1
        shown(capsys, 1)
    assert not (circuit.parent / "g.png").exists()
