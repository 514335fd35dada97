"""The optic lobe as four LPUs: the same bits on any number of ranks, and those of one LPU."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cutting import with_crossings
from launch import ROOT, environment, mpiexec

import neurodriver as nd
from neurodriver import LPU, MemoryRecorder
from neurodriver.circuits.motion import edge_input
from neurodriver.circuits.optic_lobe import PARTS, circuit, expand, part_of

EXPERIMENT = ROOT / "examples" / "optic_lobe" / "experiment.toml"
DT, STEPS = 5e-3, 640


def arguments(output: Path) -> list[str]:
    """Return the command line of a run."""
    return ["-m", "neurodriver", "run", str(EXPERIMENT), "-o", str(output)]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the recording of a run in one process."""
    output = tmp_path_factory.mktemp("alone") / "out.h5"
    subprocess.run(
        [sys.executable, *arguments(output)],
        check=True, env=environment(), cwd=ROOT, capture_output=True, timeout=300,
    )  # fmt: skip
    return output


def recorded(path: Path) -> dict[str, dict[str, np.ndarray]]:
    """Return LPU/variable -> uid -> values."""
    out = {}
    with nd.open(path) as recording:
        assert list(recording.lpus) == list(PARTS)
        assert recording.complete
        for name in recording.variables:
            variable = recording.data(name)
            out[name] = dict(zip(variable.uids, variable[:].T, strict=True))
    return out


@pytest.mark.parametrize("ranks", [2, 4])
def test_same_bits_on_any_number_of_ranks(alone: Path, tmp_path: Path, ranks: int) -> None:
    """The recordings of a run under ``mpiexec`` are those of a run without."""
    done = mpiexec(ranks, arguments(tmp_path / "out.h5"))
    assert done.stdout.count(f"on {ranks} ranks") == 1
    assert done.stdout.count("out.h5") == 1
    expected, found = recorded(alone), recorded(tmp_path / "out.h5")
    assert expected.keys() == found.keys()
    for name, columns in expected.items():
        assert columns.keys() == found[name].keys()
        for uid, values in columns.items():
            np.testing.assert_array_equal(found[name][uid], values, f"{name} of {uid}")


def test_same_bits_as_one_lpu(alone: Path) -> None:
    """One LPU in which every connection between the parts takes a step more has the same bits."""
    lobe = expand(5)
    part = np.array([PARTS.index(part_of(t)) for t in lobe.type_names])[lobe.cell_type]
    whole = with_crossings(circuit(5), part, DT)
    recorder = MemoryRecorder([("V", None), ("r", None)])
    edge = edge_input(5, 90, "on", DT)
    with LPU(whole, DT, [edge], [recorder]) as lpu:
        lpu.run(steps=STEPS)
    column = {uid: i for i, uid in enumerate(recorder.uids("V"))}
    values = {v: np.asarray(recorder.get(v)) for v in ("V", "r")}
    compared = 0
    for name, columns in recorded(alone).items():
        variable = name.partition("/")[2]
        for uid, found in columns.items():
            np.testing.assert_array_equal(found, values[variable][:, column[uid]], uid)
            compared += int(np.ptp(found[400:]) > 1e-3)  # the edge has passed here
    assert compared > 500


def test_the_extra_step_matters(alone: Path) -> None:
    """Without it the single LPU is another: the comparison can fail."""
    recorder = MemoryRecorder([("V", ["L1/0/0"])])
    with LPU(circuit(5), DT, [edge_input(5, 90, "on", DT)], [recorder]) as lpu:
        lpu.run(steps=STEPS)
    found = recorded(alone)["lamina/V"]["L1/0/0"]
    assert np.abs(np.asarray(recorder.get("V"))[:, 0] - found).max() > 1e-4


def test_every_cell_is_in_one_part() -> None:
    """Retina, lamina, medulla and lobula complex hold the types that the anatomy says."""
    lobe = expand(1)
    parts = {name: part_of(name) for name in lobe.type_names.tolist()}
    count = {part: sum(p == part for p in parts.values()) for part in PARTS}
    assert count == {"retina": 8, "lamina": 11, "medulla": 37, "lobula_complex": 9}
    anatomy = {"R7": 0, "L1": 1, "T1": 1, "Am": 1, "Mi1": 2, "TmY14": 2, "T2a": 2, "CT1(M10)": 2,
               "T4a": 3, "T5d": 3, "CT1(Lo1)": 3}  # fmt: skip
    assert {name: PARTS.index(parts[name]) for name in anatomy} == anatomy
