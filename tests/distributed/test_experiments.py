"""Experiments on two ranks: what is recorded, and who says what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from experiment_files import WHOLE, write
from launch import mpiexec

import neurodriver as nd

FAILING = """
from neurodriver import UserInput

def failing():
    class Late(UserInput):
        def __init__(self):
            super().__init__([("I", ["m0"])])
        def update_input(self):
            if self.lpu.step == 40:
                raise ZeroDivisionError("at step 40")
    return Late()
"""


def run(path: Path, ranks: int = 2, more: tuple[str, ...] = ()) -> tuple[int, str, str]:
    """Run an experiment; return exit code and what was said."""
    done = mpiexec(ranks, ["-m", "neurodriver", "run", str(path), *more], 120, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("rank", ["", "rank = 0", "rank = 3"])
def test_same_recordings(tmp_path: Path, rank: str) -> None:
    """Spikes, rows and the order of LPUs do not depend on the ranks, nor on a rank asked for."""
    text = WHOLE.replace('circuit = "right.gexf"', f'circuit = "right.gexf"\n{rank}')
    path = write(tmp_path, text)
    alone = nd.load_experiment(path, tmp_path / "alone.h5").run()
    code, said, errors = run(path)
    assert code == 0 and said.count("2 LPUs on 2 ranks") == 1, errors
    compared = 0
    with nd.open(alone) as expected, nd.open(tmp_path / "experiment.h5") as found:
        assert found.variables == expected.variables and found.complete
        for name in expected.variables:
            if expected.is_events(name):
                for a, b in zip(expected.events(name), found.events(name), strict=True):
                    np.testing.assert_array_equal(a, b)
                    compared += len(a)
            else:
                np.testing.assert_array_equal(expected.data(name)[:], found.data(name)[:])
    assert compared > 10


def test_recordings_are_kept(tmp_path: Path) -> None:
    """All ranks end where one LPU's recording is there already; ``-f`` replaces it."""
    path = write(tmp_path)
    there = tmp_path / "experiment.right.h5"
    there.write_text("precious")
    code, _, errors = run(path)
    assert code == 1 and errors.count(f"{there}: there is a file already") == 1, errors
    assert "-f" in errors and "Traceback" not in errors
    assert there.read_text() == "precious" and list(tmp_path.glob("*.h5")) == [there]
    code, _, errors = run(path, more=("-f",))
    assert code == 0, errors
    with nd.open(tmp_path / "experiment.h5") as recording:
        assert recording.complete and list(recording.lpus) == ["left", "right"]


def test_each_rank_is_compared_with_the_cpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes from other ranks, from step 0 on, reaches the reference of a compared run, too."""
    monkeypatch.setenv("NEURODRIVER_VALIDATE", "1")
    code, _, errors = run(write(tmp_path))
    assert code == 0, errors
    assert errors.count("beside the CPU: 300 steps") == errors.count("all bits equal") == 2


FAULTS = {
    "form": ("dt = 1e-4", "dt = 0", "line 1: dt: must be above 0, got 0"),
    "ports": ("/left/v[0:3]", "/left/w[0:3]", "left has no port '/left/w/0'"),
    "one rank": ('["s1", "s0"]', '["s9"]', "lpu.right.record.g: no component 's9'"),
    "folder": ("seed = 5", 'output = "experiment.toml/x.h5"', "there is no folder"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_errors_are_told_once(tmp_path: Path, case: str) -> None:
    """One rank says what is wrong, also when another has found it; all end."""
    old, new, text = FAULTS[case]
    code, said, errors = run(write(tmp_path, WHOLE.replace(old, new)))
    assert code != 0 and said == ""
    assert errors.count("error: ") == 1 and errors.count(text) == 1, errors
    assert "Traceback" not in errors
    assert not list(tmp_path.glob("*.h5"))


def test_a_failure_in_the_middle(tmp_path: Path) -> None:
    """When a user's own input fails, the other rank leaves, too, and recordings are readable."""
    (tmp_path / "late.py").write_text(FAILING)
    text = WHOLE.replace("seed = 5", "").replace("0.03", "5000.0")
    path = write(tmp_path, text + '\n[[lpu.right.input]]\nfunction = "late:failing"\n')
    code, _, errors = run(path)
    assert code != 0 and errors.count("error: LPU 'right' failed at step 40") == 1, errors
    assert "ZeroDivisionError: at step 40" in errors
    with nd.open(tmp_path / "experiment.h5") as recording:
        assert list(recording.lpus) == ["left", "right"]
        assert all(len(one["V"]) >= 30 for one in recording.lpus.values())


def test_a_profile_of_each_rank(tmp_path: Path) -> None:
    """Rank 0 prints the tables of all; one trace holds all, as processes of their own."""
    path, trace = write(tmp_path, WHOLE), tmp_path / "trace.json"
    words = ["-m", "neurodriver", "run", str(path), "--profile", "--trace", str(trace)]
    said = mpiexec(2, words, 120).stdout
    first, second = said[said.index("rank 0\n") :].split("rank 1\n")
    for text in (first, second):
        assert "exchange" in text and text.count("step loop") == 1 and "LeakyIAF" in text
    assert "PowerGPotGPot" in first + second
    events = json.loads(trace.read_text())["traceEvents"]
    exchanges = [e["pid"] for e in events if e["name"] == "exchange"]
    assert set(exchanges) == {0, 1}
    bad = mpiexec(2, [*words[:-1], str(path)], 120, check=False)
    assert bad.returncode == 1 and bad.stderr.count("would overwrite") == 1
