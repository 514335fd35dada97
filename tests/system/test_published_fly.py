"""The published program's ``run_exp``: its arguments, its file, its numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neurodriver.errors import NeurodriverError
from neurodriver.published.shiu_2024 import Hz, default_params, ms, mV, run_exp

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")

IDS = [720575940628857210, 720575940596125868, 720575940597856265, 720575940604737708]


@pytest.fixture
def tables(tmp_path: Path) -> dict[str, Any]:
    """Write tables with the published columns: neuron 0 excites 1, 1 excites 2, 3 inhibits 2."""
    frame = pd.DataFrame({"Completed": [True] * 4}, index=IDS)
    frame.to_csv(tmp_path / "Completeness.csv")
    pre, post, count, sign = [0, 1, 3], [1, 2, 2], [400, 300, 900], [1, 1, -1]
    columns = {
        "Presynaptic_ID": [IDS[i] for i in pre],
        "Postsynaptic_ID": [IDS[i] for i in post],
        "Presynaptic_Index": pre,
        "Postsynaptic_Index": post,
        "Connectivity": count,
        "Excitatory": sign,
        "Excitatory x Connectivity": np.multiply(count, sign),
    }
    pd.DataFrame(columns).to_parquet(tmp_path / "Connectivity.parquet")
    paths = {
        "path_comp": tmp_path / "Completeness.csv",
        "path_con": tmp_path / "Connectivity.parquet",
    }
    return {**paths, "path_res": tmp_path / "results"}


def counts(path: Path, neuron: int) -> list[int]:
    """Return the spikes of a neuron in each trial."""
    table = pd.read_parquet(path)
    mine = table[table.flywire_id == IDS[neuron]]
    return [int((mine.trial == trial).sum()) for trial in range(4)]


def test_an_experiment(tables: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """The file has the published columns; and neurons do what they must."""
    params = dict(default_params) | {"t_run": 500 * ms, "n_run": 4, "r_poi": 40 * Hz}
    run_exp("one", [IDS[0]], params=params, **tables)
    path = tables["path_res"] / "one.parquet"
    table = pd.read_parquet(path)
    assert list(table.columns) == ["t", "trial", "flywire_id", "exp_name"]
    assert table.t.dtype == np.float64 and table.trial.dtype == table.flywire_id.dtype == np.int64
    assert set(table.exp_name) == {"one"} and set(table.flywire_id) == set(IDS[:3])
    assert table.t.max() < 0.5 and set(table.trial) == set(range(4))
    by_trial = table.groupby("trial").t.apply(list)
    assert len({tuple(times) for times in by_trial}) == 4  # each trial draws its own events
    assert 40 < sum(counts(path, 0)) < 130  # 80 are expected
    assert [abs(a - b) <= 8 for a, b in zip(counts(path, 0), counts(path, 1), strict=True)] == [
        True
    ] * 4
    first = path.read_bytes()
    run_exp("one", [IDS[0]], params=params | {"r_poi": 0 * Hz}, **tables)
    assert "Skipping experiment one" in capsys.readouterr().out and path.read_bytes() == first
    run_exp("cut", [IDS[0]], params=params, neu_slnc=[IDS[1]], **tables)
    assert counts(tables["path_res"] / "cut.parquet", 0) == counts(path, 0)
    assert counts(tables["path_res"] / "cut.parquet", 1) == counts(path, 1)
    assert sum(counts(tables["path_res"] / "cut.parquet", 2)) == 0 < sum(counts(path, 2))
    both = {"neu_exc2": [IDS[3]], "params": params | {"r_poi2": 200.0}}
    run_exp("two", [IDS[0]], n_proc=1, force_overwrite=True, **both, **tables)
    assert sum(counts(tables["path_res"] / "two.parquet", 2)) < sum(counts(path, 2)) / 2
    assert "Excited neurons: 2" in capsys.readouterr().out


def test_an_event_is_drawn_as_published(tables: dict[str, Any]) -> None:
    """A step has an event with the probability rate dt; there is no refractory period."""
    rate = 3000.0
    params = {"t_run": 1.0, "n_run": 4, "r_poi": rate, "w_syn": 0.275 * mV}
    run_exp("fast", [IDS[3]], params=params, **tables)
    found = sum(counts(tables["path_res"] / "fast.parquet", 3)) / 4
    # a kick takes effect in the row after it arrived, and one that arrives with a spike is lost
    p = rate * 1e-4
    assert abs(found - 1e4 * p / (1 + p)) < 5 * np.sqrt(1e4 * p / 4)


@pytest.mark.parametrize(
    ("params", "ids", "said"),
    [
        ({"t_rum": 1.0}, [IDS[0]], "no parameter 't_rum'.*t_run"),
        ({"eqs": "dv/dt = 0 : volt"}, [IDS[0]], "'eqs' is not that of the published program"),
        ({"n_run": 0}, [IDS[0]], "'n_run' must be a whole number"),
        ({"tau": "long"}, [IDS[0]], "'tau' must be a number in s"),
        ({"n_run": 1, "r_poi": 1e4}, [IDS[0]], "rates of Poisson input are 0 to 10000 Hz"),
        ({"n_run": 1}, [IDS[0], 17], "neu_exc: no neuron '17'"),
    ],
)
def test_faults(params: dict[str, Any], ids: list[int], said: str, tables: dict[str, Any]) -> None:
    """Nothing is written where something does not fit."""
    with pytest.raises(NeurodriverError, match=said):
        run_exp("bad", ids, params=params, **tables)
    assert not (tables["path_res"] / "bad.parquet").exists()


def test_quantities(tables: dict[str, Any]) -> None:
    """Quantities of pint are converted; the published equations are known."""
    u = pytest.importorskip("pint").UnitRegistry()
    text = "dv/dt = (v_0 - v + g) / t_mbr : volt (unless refractory)\n"
    text += "dg/dt = -g / tau : volt (unless refractory)\nrfc : second\n"
    given = {"t_run": 20 * u.ms, "n_run": 1, "r_poi": 0.5 * u.kHz, "eqs": text, "v_th": -45 * u.mV}
    run_exp("units", [IDS[0]], params=given, **tables)
    times = pd.read_parquet(tables["path_res"] / "units.parquet").t
    assert len(times) and times.max() < 0.02
