"""Spikes of NWB files in simulations that a SONATA configuration describes."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from test_sonata_simulation import described

import neurodriver as nd
from neurodriver import CircuitError
from neurodriver.errors import CircuitWarning
from neurodriver.io.nwb import read_units

TRAINS = {
    10: [0.001, 0.003, 0.009], 11: [0.002], 12: [0.004, 0.005], 13: [], 14: [0.006, 0.0125],
}  # fmt: skip
"""Unit -> its spikes, s."""

PLACES = ["LGd", "LGd", "VISp", "LGd", "VISp"]


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """Write units with a quality, electrodes and intervals, as a recording of an experiment has."""
    pynwb = pytest.importorskip("pynwb")
    file = pynwb.NWBFile("d", "id", datetime(2026, 1, 2, tzinfo=UTC))
    device = file.create_device("probe")
    group = file.create_electrode_group("g", "d", "LGd", device)
    for number, place in zip((7, 5, 3, 8, 4), PLACES, strict=True):
        file.add_electrode(id=number, location=place, group=group)
    file.add_unit_column("quality", "q")
    file.add_unit_column("snr", "s")
    for row, (unit, train) in enumerate(TRAINS.items()):
        more = {"quality": "good" if unit % 2 == 0 else "noise", "snr": float(unit)}
        file.add_unit(id=unit, spike_times=train, electrodes=[row], **more)
    table = pynwb.epoch.TimeIntervals(name="gratings_presentations", description="d")
    table.add_column("angle", "degrees")
    for start, angle in ((0.0, 0.0), (0.002, 90.0), (0.008, 90.0)):
        table.add_row(start_time=start, stop_time=start + 0.005, angle=angle)
    file.add_time_intervals(table)
    with pynwb.NWBHDF5IO(str(tmp_path / "session.nwb"), "w") as io:
        io.write(file)
    return tmp_path / "session.nwb"


def entry(**changed: Any) -> dict[str, Any]:
    """Return an input of units, each for one of three nodes."""
    said = {"input_type": "spikes", "module": "ecephys_probe", "node_set": "lgn",
            "input_file": "session.nwb", "mapping": "units_map", "units": "map.csv"}  # fmt: skip
    return {key: value for key, value in {**said, **changed}.items() if value is not None}


def fired(folder: Path, one: dict[str, Any]) -> dict[str, list[int]]:
    """Return the steps at which each node fires, in 20 ms."""
    new = Path(tempfile.mkdtemp(dir=folder))  # the files of an input are beside it
    for name in ("input_file", "units"):
        if isinstance(given := one.get(name), str):
            one = {**one, name: f"../{given}"}
        elif name == "input_file" and isinstance(given, list):
            one = {**one, name: [f"../{file}" for file in given]}
    it = nd.read_sonata_simulation(described(new, inputs={"one": one}))
    (made,) = it.inputs
    made.open(1e-4, np.dtype(np.float64))
    chunk: Any = made.chunk(0, 0, 200)
    out: dict[str, list[int]] = {uid: [] for uid in made.targets[0][1]}
    for step in range(200):
        for column in chunk.column[chunk.begin[step] : chunk.begin[step + 1]]:
            out[made.targets[0][1][column]].append(step)
    return out


def test_columns(session: Path) -> None:
    """Those of the table, and those of the electrode of each unit."""
    units = read_units(session)
    assert units.id.tolist() == [*TRAINS] and units.columns["location"].tolist() == PLACES
    assert [units.train(row).tolist() for row in range(5)] == [*TRAINS.values()]
    assert units.columns["snr"].tolist() == [10.0, 11.0, 12.0, 13.0, 14.0]
    (tables,) = units.intervals
    assert tables["gratings_presentations"]["angle"].tolist() == [0.0, 90.0, 90.0]


def test_a_table_of_units(session: Path) -> None:
    """Each node fires its unit; a window begins with the run."""
    (session.parent / "map.csv").write_text("node_ids unit_ids\n0 14\n1 10\n2 12\n")
    assert fired(session.parent, entry()) == {
        "lgn/0": [60, 125], "lgn/1": [10, 30, 90], "lgn/2": [40, 50],
    }  # fmt: skip
    seen = fired(session.parent, entry(interval=[3.0, 6.0], interval_offset=2.0))
    assert seen == {"lgn/0": [50], "lgn/1": [20], "lgn/2": [30, 40]}
    rule = {"interval_name": "gratings", "angle": 90.0, "interval_index": 1}
    assert fired(session.parent, entry(interval=rule)) == {"lgn/0": [45], "lgn/1": [10]}
    del rule["interval_index"]
    assert fired(session.parent, entry(interval=rule))["lgn/0"] == [40, 105]


def test_windows_of_a_table(session: Path) -> None:
    """A table may have a window for each unit; nodes without a unit are told."""
    text = "node_ids unit_ids start_times stop_times\n0 14 5.0 9.0\n1 10 0 2\n"
    (session.parent / "map.csv").write_text(text)
    with pytest.raises(CircuitError, match="1 of 3 nodes have no unit"):
        fired(session.parent, entry())
    with pytest.warns(CircuitWarning, match=r"inputs\.one: 1 of 3 nodes have no unit"):
        seen = fired(session.parent, entry(missing_ids="warn"))
    assert seen == {"lgn/0": [10], "lgn/1": [10]}


def test_units_by_chance(session: Path) -> None:
    """Nodes get units that fit, each at most once; the seed decides which."""
    rules = {"location": "LGd", "snr": {"operation": "<", "value": 13}}
    one = entry(mapping="sample", units=rules, missing_ids="ignore")
    seen = fired(session.parent, one)
    assert sorted(map(len, seen.values())) == [1, 3] and fired(session.parent, one) == seen
    whole = entry(mapping="sample_with_replacement", units={"quality": ["good"]}, node_set="lgn")
    chosen = {str(fired(session.parent, {**whole, "random_seed": seed})) for seed in range(12)}
    assert len(chosen) > 5
    with pytest.raises(CircuitError, match="nodes have no unit"):
        fired(session.parent, entry(mapping="sample", units=rules))


def test_several_files(session: Path) -> None:
    """Units of several files, with a window for each."""
    files = ["session.nwb", "session.nwb"]
    one = entry(mapping="sample", units={"snr": 12}, input_file=files, missing_ids="ignore",
                interval=[[0.0, 4.5], [4.5, 9.0]])  # fmt: skip
    assert sorted(fired(session.parent, one).values()) == [[5], [40]]


def test_units_that_name_their_nodes(tmp_path: Path) -> None:
    """A recording that was written as NWB gives the network its spikes again."""
    pytest.importorskip("pynwb")
    it = nd.read_sonata_simulation(described(tmp_path))
    with nd.LPU(it.circuit, it.dt, it.inputs) as lpu:
        recording = lpu.run(duration=it.duration, record=["spike_state", "V"]).recording
    recording.to_nwb(tmp_path / "run.nwb", "spike_state")
    one = {"input_type": "spikes", "module": "nwb", "input_file": "run.nwb", "node_set": "lgn"}
    seen = fired(tmp_path, one)
    want = {uid: np.rint(recording.spikes[uid] * 1e4).tolist() for uid in seen}
    assert seen == want and sum(map(len, want.values())) == 4


@pytest.mark.parametrize("columns", [{}, {"node_id": [2, 0, 1]}])
def test_units_of_one_population(tmp_path: Path, columns: dict[str, list[int]]) -> None:
    """The node is the id of the unit, or a column; with a population it is one of several."""
    with h5py.File(tmp_path / "units.nwb", "w") as file:
        file["units/id"], file["units/spike_times_index"] = [0, 1, 2], [1, 1, 3]
        file["units/spike_times"] = [0.001, 0.002, 0.003]
        for name, values in columns.items():
            file[f"units/{name}"] = values
    one = {"input_type": "spikes", "module": "nwb", "input_file": "units.nwb", "node_set": "lgn"}
    first, last = ("lgn/2", "lgn/1") if columns else ("lgn/0", "lgn/2")
    assert fired(tmp_path, one) == {first: [10], last: [20, 30]}
    with h5py.File(tmp_path / "units.nwb", "r+") as file:
        file["units/population"] = ["v1", "lgn", "lgn"]
    assert fired(tmp_path, one) == {last: [20, 30]}


def test_trials(tmp_path: Path) -> None:
    """Files of NWB 1 have trials, and a group for each node."""
    with h5py.File(tmp_path / "old.nwb", "w") as file:
        for trial, shift in (("trial_0", 0.0), ("trial_1", 5.0)):
            for node, times in ((0, [1.0, 2.0]), (2, [3.5])):
                where = f"processing/{trial}/spike_train/{node}/data"
                file[where] = np.array(times) + shift  # ms
    one = {"input_type": "spikes", "module": "nwb", "input_file": "old.nwb", "node_set": "lgn"}
    seen = fired(tmp_path, {**one, "trial": "trial_1"})
    assert seen == {"lgn/0": [60, 70], "lgn/2": [85]}
    with pytest.raises(CircuitError, match="name one by 'trial'; there are trial_0, trial_1"):
        fired(tmp_path, one)
    with pytest.raises(CircuitError, match="no trial 'trial_2'"):
        fired(tmp_path, {**one, "trial": "trial_2"})


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"mapping": "sampel"}, r"'mapping' 'sampel' is not known \(did you mean 'sample'\?\)"),
        ({"input_file": "none.nwb"}, r"none\.nwb: no such file"),
        ({"input_file": 3}, "a path of a file is needed"),
        ({"units": "none.csv"}, r"none\.csv: cannot be read"),
        ({"mapping": "sample", "units": {"locaton": "x"}}, "no column 'locaton'.*'location'"),
        ({"mapping": "sample", "units": {"snr": {"operation": "~", "value": 1}}}, "'operation'"),
        ({"mapping": "sample", "units": {"snr": 99.0}}, "no unit is like"),
        ({"mapping": "sample", "units": [1]}, "'units' must be an object"),
        ({"mapping": "sample", "units": {}, "random_seed": -1}, "'random_seed' must be"),
        ({"interval": [3.0]}, "'interval' must be two times in ms"),
        ({"interval": [[1.0, 2.0], [1.0, 2.0]]}, "one is needed for each file"),
        ({"interval": {"interval_name": "flash"}}, "no table of intervals 'flash'"),
        ({"interval": {"interval_name": "gratings", "angle": 7.0}}, "no row of 'gratings'"),
        ({"interval": {"interval_name": "gratings", "interval_index": 9}}, "'interval_index'"),
    ],
)
def test_faults(session: Path, changed: dict[str, Any], said: str) -> None:
    """Each names the entry, what was got and what is allowed."""
    (session.parent / "map.csv").write_text("node_ids unit_ids\n0 14\n1 10\n2 12\n")
    with pytest.raises(CircuitError, match=said) as caught:
        fired(session.parent, entry(**changed))
    assert "inputs.one" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("spike_times_index", [2, 1, 8], "must ascend to 8"),
        ("spike_times_index", [1, 2, 3], "must ascend to 8"),
        ("spike_times", [np.nan] * 8, "must be finite"),
        ("spike_times", ["a"] * 8, "must hold numbers"),
        ("spike_times_index", None, "is missing"),
        ("spike_times", None, "no NWB file with units"),
    ],
)
def test_damaged_files(tmp_path: Path, name: str, value: Any, said: str) -> None:
    """Indices and times that do not fit are told with their place."""
    with h5py.File(tmp_path / "bad.nwb", "w") as file:
        columns = {"spike_times": np.arange(8) * 1e-3, "spike_times_index": [1, 2, 8]}
        for key, good in columns.items():
            if key != name or value is not None:
                file[f"units/{key}"] = value if key == name else good
    one = {"input_type": "spikes", "module": "nwb", "input_file": "bad.nwb", "node_set": "lgn"}
    with pytest.raises(CircuitError, match=rf"bad\.nwb.*{said}"):
        fired(tmp_path, one)
