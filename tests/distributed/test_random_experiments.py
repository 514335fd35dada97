"""Experiments of two eyes: each LPU draws its own random numbers, on any number of ranks."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from launch import mpiexec
from noisy import Values, assert_independent

import neurodriver as nd
from neurodriver.__main__ import main
from neurodriver.errors import CircuitWarning

HEAD = """
dt = 1e-4
steps = 2000
seed = 5
"""

EYE = """
[lpu.{name}]
function = "eyes:eye"
record = {{ x = "all", I = "all" }}
{more}

[[lpu.{name}.input]]
class = "NoiseInput"
variable = "I"
uids = {{ model = "Echo" }}
"""

CODE = """
from noisy import Echo
from neurodriver import Circuit
from neurodriver.circuit.cut import cut
from neurodriver.components.sources.noisy_current import NoisyCurrent

def eye(part=None):
    noisy = NoisyCurrent, 10, {"sigma": 1.0}, [f"noise{i}" for i in range(10)]
    echo = Echo, 10, {}, [f"e{i}" for i in range(10)]
    circuit = Circuit.from_arrays([noisy, echo])
    if part is None:
        return circuit
    return cut(circuit, [i % 2 for i in range(20)], ["a", "b"]).circuits[part]
"""


def write(folder: Path, **more: str) -> Path:
    """Write an experiment of LPUs that one function makes; ``more``: keys of each."""
    (folder / "eyes.py").write_text(CODE)
    sys.modules.pop("eyes", None)
    path = folder / "eyes.toml"
    path.write_text(HEAD + "".join(EYE.format(name=n, more=text) for n, text in more.items()))
    return path


def values(path: Path) -> Values:
    """Return all rows of a recording."""
    with nd.open(path) as recording:
        return {name: recording.data(name)[:] for name in recording.variables}


def run(path: Path) -> Values:
    """Run an experiment in this process and return all rows."""
    return values(nd.load_experiment(path, overwrite=True).run())


def test_two_eyes(tmp_path: Path) -> None:
    """LPUs of one function and one input draw independent numbers, the same on two ranks."""
    path = write(tmp_path, left="rank = 0", right="rank = 1")
    expected = run(path)
    for variable in ("x", "I"):
        assert_independent(expected[f"left/{variable}"], expected[f"right/{variable}"])
    mpiexec(2, ["-m", "neurodriver", "run", "-f", str(path)], 120)
    found = values(tmp_path / "eyes.h5")
    assert found.keys() == expected.keys() == {"left/x", "left/I", "right/x", "right/I"}
    for name, rows in expected.items():
        np.testing.assert_array_equal(found[name], rows)
    assert nd.open(tmp_path / "eyes.left.h5").attributes["random_namespace"] == "left"


def test_a_namespace_in_the_file(tmp_path: Path) -> None:
    """The key `random_namespace` repeats another LPU, or gives the parts of an eye one name."""
    expected = run(write(tmp_path, left="", right=""))
    other = run(write(tmp_path, other='random_namespace = "left"'))
    for variable in ("x", "I"):
        np.testing.assert_array_equal(other[f"other/{variable}"], expected[f"left/{variable}"])
    more = 'random_namespace = "left"\narguments = {{ part = "{}" }}'
    parts = run(write(tmp_path, a=more.format("a"), b=more.format("b")))
    for variable in ("x", "I"):
        for first, name in enumerate("ab"):
            rows = expected[f"left/{variable}"][:, first::2]
            np.testing.assert_array_equal(parts[f"{name}/{variable}"], rows)


def test_parts_of_two_eyes_in_one_namespace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before and at the run, a warning tells that they draw the same numbers."""
    part = 'arguments = { part = "a" }'
    path = write(tmp_path, left=part, right=part)
    text = "LPUs 'left', 'right' draw the same random numbers in one namespace"
    with pytest.warns(CircuitWarning, match=text):
        run(path)
    assert main(["check", str(path), "--trust"]) == 0
    assert text in capsys.readouterr().err
    assert main(["check", str(path), "--trust", "--strict"]) == 1
    more = f'random_namespace = "right"\n{part}'
    assert main(["check", str(write(tmp_path, left=part, right=more)), "--trust", "--strict"]) == 0
