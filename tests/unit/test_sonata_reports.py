"""What a SONATA simulation writes: spikes and reports, as its configuration says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from test_sonata_simulation import INPUTS, described

import neurodriver as nd
from neurodriver import CircuitError
from neurodriver.__main__ import main
from neurodriver.errors import CircuitWarning, RecordingError

OUTPUT = {"output_dir": "$HERE/out", "log_file": "log.txt"}
STRONG = {"step": {**INPUTS["step"], "amp": 3000.0, "delay": 2.0, "duration": 14.0}}
POTENTIAL = {"cells": "layer 5", "variable_name": "v", "module": "membrane_report"}


def simulation(folder: Path, reports: dict[str, Any], **output: Any) -> Any:
    """Return a simulation of 20 ms in which two neurons fire."""
    both = {"output": {**OUTPUT, **output}, "reports": reports}
    return nd.read_sonata_simulation(described(folder, inputs=STRONG, **both))


def run(it: Any, **more: Any) -> nd.Recording:
    """Return the recording that the reports need."""
    with nd.LPU(it.circuit, it.dt, it.inputs) as lpu:
        recording: nd.Recording = lpu.run(duration=it.duration, record=it.record).recording
    it.write(recording, **more)
    return recording


def test_spikes(tmp_path: Path) -> None:
    """All spikes of neurons, with node ids and times in ms; by time, or by id."""
    it = simulation(tmp_path, {})
    recording = run(it)
    with h5py.File(tmp_path / "out" / "spikes.h5") as file:
        time, node = file["spikes/v1/timestamps"][()], file["spikes/v1/node_ids"][()]
        assert set(file["spikes"]) == {"v1"}
    want = {int(uid[3:]): 1e3 * times for uid, times in recording.spikes().items() if len(times)}
    assert {0, 1} <= set(want) and len(time) > 8 and (np.diff(time) >= 0).all()
    for number, times in want.items():
        np.testing.assert_allclose(time[node == number], times, rtol=0, atol=1e-9)
    (tmp_path / "two").mkdir()
    run(simulation(tmp_path / "two", {}, spikes_file="by_id.h5", spikes_sort_order="id"))
    with h5py.File(tmp_path / "two" / "out" / "by_id.h5") as file:
        assert (np.diff(file["spikes/v1/node_ids"][()].astype(int)) >= 0).all()
        assert len(file["spikes/v1/timestamps"]) == len(time)
    again = nd.SonataInput(tmp_path / "two" / "out" / "by_id.h5")
    assert [*again.targets[0][1]] == sorted(f"v1/{number}" for number in want)


def test_rows_of_some_cells(tmp_path: Path) -> None:
    """A report has the cells of a set, from a time to another one, each so many steps."""
    part = {"start_time": 5.0, "end_time": 15.0, "dt": 0.5, "file_name": "part.h5"}
    it = simulation(tmp_path, {"whole": POTENTIAL, "part": {**POTENTIAL, **part}})
    assert dict(it.record)["V"] == ["v1/0", "v1/1"]
    V = run(it).V[["v1/0", "v1/1"]][:]
    with h5py.File(tmp_path / "out" / "whole.h5") as file:
        at = file["report/v1"]
        assert at["mapping/node_ids"][()].tolist() == [0, 1]
        np.testing.assert_allclose(at["mapping/time"][()], [0.0, 20.0, 0.1])
        assert np.array_equal(at["data"][()], V.astype(np.float32))
        assert at["data"].attrs["units"] == "mV"
    with h5py.File(tmp_path / "out" / "part.h5") as file:
        at = file["report/v1"]
        np.testing.assert_allclose(at["mapping/time"][()], [5.4, 15.4, 0.5])
        assert np.array_equal(at["data"][()], V[54:150:5].astype(np.float32))


def test_files_are_not_replaced(tmp_path: Path) -> None:
    """Unless the configuration or the caller says so."""
    it = simulation(tmp_path, {"V": POTENTIAL})
    recording = run(it)
    with pytest.raises(RecordingError, match=r"spikes\.h5: the file exists"):
        it.write(recording)
    assert it.write(recording, overwrite=True) == [
        tmp_path / "out" / f for f in ("spikes.h5", "V.h5")
    ]
    (tmp_path / "two").mkdir()
    it = simulation(tmp_path / "two", {}, overwrite_output_dir=True)
    run(it)
    run(it)


def test_a_report_of_spikes(tmp_path: Path) -> None:
    """It takes the place of the file of all spikes; what is switched off is not written."""
    spikes = {"module": "spikes_report", "cells": {"node_id": [1]}, "file_name": "one.h5"}
    it = simulation(tmp_path, {"spikes": spikes, "off": {**POTENTIAL, "enabled": False}})
    run(it)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["one.h5"]
    with h5py.File(tmp_path / "out" / "one.h5") as file:
        assert set(file["spikes/v1/node_ids"][()]) == {1}


def test_nothing_is_asked_for(tmp_path: Path) -> None:
    """A configuration without these sections has no reports."""
    assert nd.read_sonata_simulation(described(tmp_path)).reports == []


def test_what_is_written_describes_itself(tmp_path: Path) -> None:
    """The configuration that `to_sonata` writes asks for the same files."""
    it = simulation(tmp_path, {"V": POTENTIAL})
    recording = run(it)
    recording.to_sonata(tmp_path / "new", network=tmp_path / "circuit_config.json")
    again = nd.read_sonata_simulation(tmp_path / "new" / "simulation_config.json")
    assert [one.path.name for one in again.reports] == ["spikes.h5", "V_report.h5"]


def test_by_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`run` writes the reports and the recording, which they are a part of."""
    reports = {"V": {**POTENTIAL, "dt": 0.4}}
    path = described(tmp_path, inputs=STRONG, output=OUTPUT, reports=reports)
    assert main(["run", str(path)]) == 0
    folder = tmp_path / "out"
    told = capsys.readouterr().out
    assert str(folder / "spikes.h5") in told and str(folder / "V.h5") in told
    recording = nd.open(folder / "recording.h5")
    with h5py.File(folder / "V.h5") as file:
        want = recording.V[["v1/0", "v1/1"]][3::4].astype(np.float32)
        assert np.array_equal(file["report/v1/data"][()], want) and len(want) == 50
    assert main(["run", str(path)]) == 1
    assert "spikes.h5: the file exists" in capsys.readouterr().err
    options = ["-f", "--sample-interval", "3", "-o", str(tmp_path / "mine.h5")]
    assert main(["run", str(path), *options]) == 1
    assert "a row every 0.4 ms is asked for" in capsys.readouterr().err
    options[2] = "2"
    assert main(["run", str(path), *options, "--duration", "0.03", "-r", "V:v1/4"]) == 0
    with h5py.File(folder / "V.h5") as file:
        assert file["report/v1/data"].shape == (75, 2)
    assert set(nd.open(tmp_path / "mine.h5").V.uids) == {"v1/4", "v1/0", "v1/1"}


BAD: list[tuple[dict[str, Any], str]] = [
    ({"output": 3}, "'output' must be an object"),
    ({"reports": [1]}, "'reports' must be an object"),
    ({"reports": {"V": 1}}, r"reports\.V: must be an object"),
    ({"reports": {"V": {"cells": "all"}}}, r"reports\.V\.variable_name: must name one variable"),
    ({"reports": {"V": {**POTENTIAL, "variable_name": ["v", "u"]}}}, "must name one variable"),
    ({"reports": {"V": {**POTENTIAL, "variable_name": "cai"}}}, r"no cell has the variable 'cai'"),
    ({"reports": {"V": {**POTENTIAL, "cells": "layer5"}}}, "unknown node set 'layer5'"),
    ({"reports": {"V": {**POTENTIAL, "dt": 0.25}}}, r"reports\.V\.dt: .*every 0\.25 ms"),
    ({"reports": {"V": {**POTENTIAL, "start_time": -1}}}, r"start_time: must be a time in ms"),
    ({"reports": {"V": {**POTENTIAL, "start_time": 9, "end_time": 4}}},
     r"end_time: must be after the start, 9 ms \(got 4 ms\)"),
    ({"reports": {"V": {**POTENTIAL, "file_name": 3}}}, r"file_name: must be the name"),
    ({"reports": {"a": {**POTENTIAL, "file_name": "x"}, "b": {**POTENTIAL, "file_name": "x"}}},
     "two reports write this file"),
    ({"output": {"spikes_sort_order": "rank"}}, "spikes_sort_order: must be one of"),
]  # fmt: skip


@pytest.mark.parametrize(("changed", "said"), BAD)
def test_faults(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    """Each names the file, the entry, what was got and what is allowed."""
    with pytest.raises(CircuitError, match=said) as caught:
        nd.read_sonata_simulation(described(tmp_path, **{"output": OUTPUT, **changed}))
    assert "simulation_config.json" in str(caught.value)


def test_what_is_not_written(tmp_path: Path) -> None:
    """Other modules and unknown keys are told; the rest is written."""
    field = {"module": "extracellular", "variable_name": "v", "cells": "all"}
    with pytest.warns(CircuitWarning) as caught:
        it = simulation(tmp_path, {"ecp": field, "V": {**POTENTIAL, "varable": 1}})
    told = json.dumps([str(one.message) for one in caught])
    assert "reports.ecp: module 'extracellular' is not written" in told
    assert "reports.V: 'varable' is not used" in told
    assert [one.path.name for one in it.reports] == ["spikes.h5", "V.h5"]
