"""Experiments from files: what they compute, record and say."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from experiment_files import HEAD, LEFT, RIGHT, WHOLE, write
from launch import ROOT, environment, start_in_foreground
from support import DT

import neurodriver as nd
from neurodriver import (
    LPU,
    ArrayInput,
    Circuit,
    Manager,
    MemoryRecorder,
    Pattern,
    StepInput,
)
from neurodriver.__main__ import main
from neurodriver.results import JointRecording

Capture = pytest.CaptureFixture[str]
STEPS = 300


def pattern() -> Pattern:
    """Return the pattern of the experiment, made in Python."""
    ports = "/left/v[0:3]", "/right/v[0:3]"
    return Pattern.from_concat(*ports, from_sel=ports[0], to_sel=ports[1], data=1)


def by_hand(folder: Path, steps: int = STEPS) -> dict[str, np.ndarray]:
    """Return what the same LPUs give when a script makes them."""
    recorders = MemoryRecorder([("V", None)]), MemoryRecorder([("V", None), ("g", ["s1", "s0"])])
    man = Manager()
    step = StepInput("I", ["n0", "n1", "n2"], 10.0, 2e-3, 2e-2)
    man.add(LPU, "left", folder / "left.gexf", DT, [step], [recorders[0]], seed=5)
    man.add(LPU, "right", folder / "right.gexf", DT, [], [recorders[1]], seed=5)
    man.connect("left", "right", pattern(), delay=2e-4)
    man.spawn()
    man.start(steps=steps)
    man.wait()
    left, right = recorders
    out = {"left/V": left.get("V"), "right/V": right.get("V"), "right/g": right.get("g")}
    return {name: np.asarray(values) for name, values in out.items()}


def values(path: Path) -> dict[str, np.ndarray]:
    """Return all rows of a recording."""
    with nd.open(path) as recording:
        dense = [v for v in recording.variables if not recording.is_events(v)]
        return {name: recording.data(name)[:] for name in dense}


def test_same_bits_as_a_script(tmp_path: Path) -> None:
    """A file and a script that say the same compute the same."""
    output = nd.load_experiment(write(tmp_path)).run()
    assert output == tmp_path / "experiment.h5"
    expected, found = by_hand(tmp_path), values(output)
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, name)
        assert array.shape[0] == STEPS and np.ptp(array) > 1e-4


def test_wiring_matters(tmp_path: Path) -> None:
    """Without the pattern, or with another delay, the right LPU does something else."""
    found = []
    for text in (WHOLE, WHOLE.replace("delay = 2e-4", "delay = 4e-4"), HEAD + LEFT + RIGHT):
        experiment = nd.load_experiment(write(tmp_path, text), overwrite=True)
        found.append(values(experiment.run())["right/V"])
    for other in found[1:]:
        assert np.abs(found[0] - other).max() > 1e-6


def yaml_of(text: str) -> str:
    """Return the same experiment as YAML."""
    yaml = pytest.importorskip("yaml")
    import tomllib

    said: str = yaml.safe_dump(tomllib.loads(text), sort_keys=False)
    return said.replace("dt: 0.0001", "dt: 1e-4")  # a text by the rules of YAML 1.1


def test_yaml_is_the_same(tmp_path: Path) -> None:
    """TOML and YAML differ in form alone."""
    expected = values(nd.load_experiment(write(tmp_path)).run())
    path = write(tmp_path, yaml_of(WHOLE), "other.yaml")
    assert "1e-4" in path.read_text()
    for name, array in values(nd.load_experiment(path).run()).items():
        np.testing.assert_array_equal(array, expected[name])


PATTERNS = {
    "csv": 'between = ["left", "right"]\nfile = "pattern.csv"\ndelay = 2e-4\n',
    "levels": 'between = ["left", "right"]\nfile = "levels.csv"\ndelay = 2e-4\n',
    "gexf": 'between = ["left", "right"]\nfile = "pattern.gexf"\ndelay = 2e-4\n',
    "turned": 'between = ["right", "left"]\ninterfaces = [1, 0]\nfile = "pattern.gexf"\n'
    "delay = 2e-4\n",
    "function": 'between = ["left", "right"]\nfunction = "mine:pattern"\narguments = { n = 3 }\n'
    "delay = 2e-4\n",
    "functions": 'function = "mine:patterns"\ndelay = 2e-4\n',
}


@pytest.mark.parametrize("form", PATTERNS)
def test_every_form_of_a_pattern(tmp_path: Path, form: str) -> None:
    """Files, functions and selectors wire the same."""
    import networkx as nx

    expected = values(nd.load_experiment(write(tmp_path)).run())
    rows = "\n".join(f"/left/v/{i},/right/v/{i}" for i in range(3))
    (tmp_path / "pattern.csv").write_text(f"from,to\n{rows}\n")
    rows = "\n".join(f"left,v,{i},right,v,{i},{int(i < 3)}" for i in range(4))
    head = "from_0,from_1,from_2,to_0,to_1,to_2,conn"
    (tmp_path / "levels.csv").write_text(f"{head}\n{rows}\n")
    nx.write_gexf(pattern().to_graph(), tmp_path / "pattern.gexf")
    (tmp_path / "mine.py").write_text(
        "from neurodriver import Pattern\n"
        "def pattern(n):\n"
        "    a, b = f'/left/v[0:{n}]', f'/right/v[0:{n}]'\n"
        "    return Pattern.from_concat(a, b, from_sel=a, to_sel=b, data=1)\n"
        "def patterns():\n    return {('left', 'right'): pattern(3)}\n"
    )
    sys.modules.pop("mine", None)
    text = HEAD + LEFT + RIGHT + "[[pattern]]\n" + PATTERNS[form]
    found = values(nd.load_experiment(write(tmp_path, text), overwrite=True).run())
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, name)


def test_one_port_feeds_several(tmp_path: Path) -> None:
    """One port in ``from`` leads to all in ``to``."""
    text = WHOLE.replace("/left/v[0:3]", "/left/v[1]")
    g = values(nd.load_experiment(write(tmp_path, text)).run())["right/g"]
    assert np.ptp(g) > 0.01
    np.testing.assert_array_equal(g[:, 0], g[:, 1])


def test_inputs_by_class_and_function(tmp_path: Path) -> None:
    """Classes of ``neurodriver.inputs`` take files and selections, functions get dt and circuit."""
    with h5py.File(tmp_path / "current.h5", "w") as file:
        file["I/uids"] = np.array([b"n1"])
        file["I/data"] = np.full((20, 1), 7.0)
    (tmp_path / "light.py").write_text(
        "from neurodriver import ArrayInput\n"
        "def rows(number, dt, circuit):\n"
        "    uid = str(circuit.uids[number])\n"
        "    return ArrayInput({'I': ([uid], [[dt * 1e4]] * 50)})\n"
    )
    sys.modules.pop("light", None)
    inputs = """
[[lpu.left.input]]
class = "FileInput"
filename = "current.h5"
mode = 1

[[lpu.left.input]]
class = "RampInput"
variable = "I"
uids = { model = "LeakyIAF", match = "n[02]" }
start = 0.0
duration = 0.01
start_value = 0.0
stop_value = [1.0, 2.0]

[[lpu.left.input]]
function = "light:rows"
number = 0
"""
    path = write(tmp_path, HEAD + '[lpu.left]\ncircuit = "left.gexf"\n' + inputs)
    found = values(nd.load_experiment(path).run())["left/V"]
    recorder = MemoryRecorder([("V", None)])
    given = [
        StepInput("I", ["n1"], 7.0),
        nd.RampInput("I", ["n0", "n2"], 0.0, 0.01, 0.0, [1.0, 2.0]),
        ArrayInput({"I": (["n0"], np.ones((50, 1)))}),
    ]
    circuit = Circuit.from_file(tmp_path / "left.gexf")
    with LPU(circuit, DT, given, [recorder], seed=5) as lpu:
        lpu.run(steps=STEPS)
    np.testing.assert_array_equal(found, np.asarray(recorder.get("V")))


def test_recordings_open_as_one(tmp_path: Path) -> None:
    """The master file gives every LPU by its name, and every variable by LPU and name."""
    output = nd.load_experiment(write(tmp_path)).run()
    with nd.open(output) as recording:
        assert isinstance(recording, JointRecording)
        assert list(recording.lpus) == list(recording) == ["left", "right"]
        assert recording.variables == ("left/V", "left/spike_state", "right/V", "right/g")
        assert recording.complete and recording.missing == ()
        assert recording.duration == pytest.approx(STEPS * DT)
        V = recording.lpus["right"]["V"]
        np.testing.assert_array_equal(V[:], recording["right/V"][:])
        assert recording["right"]["g"].uids == ["s1", "s0"]
        np.testing.assert_array_equal(recording["g"][:], recording["right/g"][:])  # one LPU has it
        spikes = recording.spikes(variable="left/spike_state")
        assert spikes.keys() == {"n0", "n1", "n2"} and all(map(len, spikes.values()))
        assert recording["right/V"]["m1"].between(0.01, 0.02).shape == (100,)
        assert "JointRecording" in repr(recording) and "s1, s0" in repr(recording)
        assert recording.attributes["steps"] == STEPS and recording.attributes["seed"] == "5"
        with pytest.raises(nd.NeurodriverError, match="several LPUs recorded 'V': name one of"):
            recording["V"]
        with pytest.raises(nd.NeurodriverError, match=r"no LPU 'lef' \(did you mean 'left'"):
            recording["lef"]
    for name in ("left", "right"):  # also as files of their own
        with nd.open(tmp_path / f"experiment.{name}.h5") as alone:
            assert alone.attributes["lpu"] == name
    with h5py.File(output) as file:
        assert file["experiment"][()].decode() == WHOLE
        assert file["right/V/data"].shape == (STEPS, 3)
    moved = tmp_path / "moved"
    moved.mkdir()
    for path in tmp_path.glob("*.h5"):
        path.rename(moved / path.name)
    (moved / "experiment.left.h5").unlink()
    with nd.open(moved / "experiment.h5") as recording:
        assert list(recording.lpus) == ["right"] and recording.missing == ("left",)
        assert not recording.complete
        with pytest.raises(nd.NeurodriverError, match="recording of 'left' is not there"):
            recording["left"]


def test_plot_and_info_of_a_master(tmp_path: Path, capsys: Capture) -> None:
    """``plot`` draws the variables of all LPUs, ``info`` lists them."""
    output = nd.load_experiment(write(tmp_path)).run()
    figure = tmp_path / "figure.png"
    assert main(["plot", str(output), "-o", str(figure)]) == 0
    assert figure.stat().st_size > 20_000
    small = tmp_path / "small.png"
    words = ["plot", str(output), "-o", str(small), "-v", "right/V", "-u", "m0"]
    assert main(words) == 0 and small.stat().st_size < figure.stat().st_size
    assert main(["plot", str(output), "-o", str(small), "-v", "right/W"]) == 1
    capsys.readouterr()
    assert main(["info", str(output)]) == 0
    said = capsys.readouterr().out
    assert "2 LPUs, 0.03 s" in said and "left" in said and "3 uids (m0, m1, m2)" in said


def test_a_killed_run_is_readable(tmp_path: Path) -> None:
    """After SIGKILL the master opens what was written, for every LPU, with the right bits."""
    text = WHOLE.replace("duration = 0.03", "steps = 50_000_000")
    path = write(tmp_path, text)
    command = [sys.executable, "-m", "neurodriver", "run", str(path)]
    process = start_in_foreground(command, env=environment(), stdout=subprocess.PIPE)
    try:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.05)
            try:
                with nd.open(tmp_path / "experiment.h5") as recording:
                    if (
                        not recording.missing
                        and min(len(one["V"]) for one in recording.lpus.values()) > STEPS
                    ):
                        break
            except (nd.NeurodriverError, KeyError):
                continue
        assert process.poll() is None
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        process.communicate()
    found = by_hand(tmp_path)
    with nd.open(tmp_path / "experiment.h5") as recording:
        assert not recording.complete and "incomplete" in repr(recording)
        for name, expected in found.items():
            rows = recording.data(name)
            assert len(rows) > STEPS
            np.testing.assert_array_equal(rows[:STEPS], expected, name)


def test_run_and_check(tmp_path: Path, capsys: Capture) -> None:
    """The command line runs and describes an experiment."""
    path = write(tmp_path)
    assert main(["check", str(path)]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    for line in ("2 LPUs, 300 steps of 0.0001 s, float64",
                 "left: 3 components, 3 connections, 0 input and 3 output ports",
                 "input StepInput: I of 3", "left -> right: 3 V (gpot), 0.0002 s later",
                 "records V, g of 2 to experiment.right.h5"):  # fmt: skip
        assert line in said.out, line
    assert not (tmp_path / "experiment.h5").exists()
    assert main(["run", str(path), "-o", str(tmp_path / "out.h5")]) == 0
    said = capsys.readouterr()
    assert said.err == "" and said.out.startswith("2 LPUs; 300 steps of 0.0001 s; ready in")
    assert said.out.splitlines()[-1] == str(tmp_path / "out.h5")
    with nd.open(tmp_path / "out.h5") as recording:
        assert recording.attributes["command"].startswith("neurodriver run ")
        assert recording["left"].attributes["command"].startswith("neurodriver run ")
    assert main(["run", str(path), "--dt", "1e-3"]) == 2
    assert "--dt is for circuits" in capsys.readouterr().err
    assert main(["run", str(tmp_path / "left.gexf"), "--dt", "1e-4"]) == 2
    assert "--duration" in capsys.readouterr().err


def test_a_run_replaces_another_one_only_on_demand(tmp_path: Path, capsys: Capture) -> None:
    """Nothing is touched by default; on demand, nothing of the first run is left.

    Also not of LPUs that the second run does not record.
    """
    output = nd.load_experiment(write(tmp_path)).run()
    files = {path: path.read_bytes() for path in tmp_path.glob("*.h5")}
    assert len(files) == 3
    text = WHOLE.replace('record = { V = "all", g = ["s1", "s0"] }', "record = {}")
    path = write(tmp_path, text)
    with pytest.raises(nd.NeurodriverError, match=r"a recording of 0.03 s already.*overwrite=True"):
        nd.load_experiment(path).run()
    assert main(["run", str(path)]) == 1 and "-f" in capsys.readouterr().err
    assert main(["check", str(path)]) == 0
    output.unlink()  # what an LPU recorded counts on its own
    assert main(["run", str(path)]) == 1
    assert f"{tmp_path / 'experiment.left.h5'}: there is" in capsys.readouterr().err
    output.write_bytes(files[output])
    assert {p: p.read_bytes() for p in tmp_path.glob("*.h5")} == files
    assert main(["run", str(path), "-f"]) == 0
    with nd.open(output) as recording:
        assert list(recording.lpus) == ["left"] and not recording.missing
    said = text.replace("dt = 1e-4", "dt = 1e-4\noverwrite = true")
    assert said != text
    nd.load_experiment(write(tmp_path, said)).run()
    with pytest.raises(nd.NeurodriverError, match="line 2: overwrite: must be true or false"):
        nd.load_experiment(write(tmp_path, said.replace("= true", '= "yes"')))


FAULTS: dict[str, tuple[str, str, str]] = {
    "wrong type of port": (
        'type = "gpot"',
        'type = "spike"',
        r"line 24: pattern\[0\]\.type: port '/left/v/0' of left, and 2 more are of type "
        "gpot, the pattern says spike",
    ),
    "no such port": ("/left/v[0:3]", "/left/w[0:3]", "left has no port '/left/w/0'"),
    "wrong direction": (
        'from = "/left/v[0:3]"\nto = "/right/v[0:3]"',
        'from = "/right/v[0:3]"\nto = "/left/v[0:3]"',
        "left has no port '/right/v/0'",
    ),
    "unequal": ("/left/v[0:3]", "/left/v[0:2]", "2 ports in 'from', 3 in 'to': as many are needed"),
    "unknown uid": ('"n0"', '"n7"', r"line 8: lpu.left.input\[0\]: StepInput: 'I': no component"),
    "unknown variable": (
        '"I"',
        '"X"',
        r"line 8: lpu.left.input\[0\]: StepInput: 3 faults\n  1. 'X'",
    ),
    "values": ("value = 10.0", 'value = "a"', r"line 8: .*a number or 3 of them, got 'a'"),
    "recorded": ('["s1", "s0"]', '["s9"]', r"lpu.right.record.g: no component 's9'"),
    "nothing": ('V = "all"', 'W = "all"', r"record.W: nothing updates it"),
    "match": ('["s1", "s0"]', '{ match = "m*" }', r"no component that updates 'g' matches 'm\*'"),
    "model": ('["n0", "n1", "n2"]', '{ model = "LeakyIAV" }', "did you mean 'LeakyIAF'"),
}


@pytest.mark.parametrize("command", ["check", "run"])
@pytest.mark.parametrize("case", FAULTS)
def test_faults_of_parts(tmp_path: Path, case: str, command: str, capsys: Capture) -> None:
    """What only the parts can tell is told with the line and the key, and nothing is written."""
    old, new, said = FAULTS[case]
    assert old in WHOLE
    path = write(tmp_path, WHOLE.replace(old, new))
    assert main([command, str(path)]) == 1
    text = capsys.readouterr().err
    assert text.startswith(f"error: {path}") and "Traceback" not in text, text
    assert re.search(said, text), text
    assert not list(tmp_path.glob("*.h5"))


def test_warnings(tmp_path: Path, capsys: Capture) -> None:
    """Ports that nothing feeds or takes are told by ``check``, and refused with --strict."""
    path = write(tmp_path, WHOLE.replace("[0:3]", "[0:2]"))
    assert main(["check", str(path)]) == 0
    said = capsys.readouterr().err
    assert "right: input ports that no pattern feeds" in said
    assert "left: output ports that no pattern takes" in said
    assert main(["check", str(path), "--strict"]) == 1
    path = write(tmp_path, HEAD + LEFT + RIGHT)
    assert main(["check", str(path)]) == 0
    assert "right: input ports that no pattern feeds (3 times)" in capsys.readouterr().err


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example of docs/experiments.md runs as it stands, file and script alike."""
    text = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")
    blocks: dict[str, list[str]] = {}
    for kind, body in re.findall(r"^```(\w+)\n(.*?)^```", text, re.S | re.M):
        blocks.setdefault(kind, []).append(body)
    (tmp_path / "circuits.py").write_text(blocks["python"][0])
    (tmp_path / "pair.toml").write_text(blocks["toml"][0])
    sys.modules.pop("circuits", None)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert main(["check", "pair.toml", "--strict"]) == 0
    assert main(["run", "pair.toml"]) == 0
    scope: dict[str, Any] = {}
    for body in blocks["python"][1:]:
        exec(compile(body, "experiments.md", "exec"), scope)
    from_file = values(tmp_path / "pair.h5")
    assert set(from_file) == {"source/V", "target/V", "target/g"}
    assert all(np.ptp(array) > 0 for array in from_file.values())
    for lpu in ("source", "target"):
        with nd.open(tmp_path / f"{lpu}.h5") as recording:
            np.testing.assert_array_equal(recording["V"][:], from_file[f"{lpu}/V"])
