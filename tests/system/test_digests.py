"""``scripts/digests.py``: equal for any number of threads; what differs or stands still is told."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"
PART = ("delays of 1 to 20 steps", "rule in-degree", "cut, weights, 2 LPUs", "two LPUs, ports")
"""A small part of the zoo: synapses, drawn weights, a circuit that is cut, ports."""


@pytest.fixture
def zoo(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The package of the circuits."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import zoo

    yield zoo


def script(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the script."""
    command = [sys.executable, str(SCRIPTS / "digests.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_one_and_two_threads(tmp_path: Path) -> None:
    """Both give the same digests; a file in which one is changed does not pass for the same."""
    files = [tmp_path / f"{threads}.json" for threads in (1, 2)]
    for threads, path in enumerate(files, 1):
        done = script(*PART, "-o", path, "--threads", str(threads))
        assert done.returncode == 0, done.stderr
    equal = script("--compare", *files)
    assert equal.returncode == 0, equal.stdout
    assert "0 differences" in equal.stdout
    data = json.loads(files[0].read_text())
    names = list(data["digests"])
    assert len(names) >= 2 * len(PART)
    first, second = names[0], names[1]
    variable = next(iter(data["digests"][first]))
    data["digests"][first][variable] = "0" * 64
    del data["digests"][second]
    files[0].write_text(json.dumps(data))
    other = script("--compare", *files)
    assert other.returncode == 1
    lines = other.stdout.splitlines()
    assert f"{first}, {variable}: differs" in lines
    assert f"{second}: only in the second" in lines
    assert len(lines) == 3


@pytest.mark.usefixtures("quick_kernels")
def test_checkpoints_change_no_digest(tmp_path: Path) -> None:
    """All shipped models, with delays and noise: a run that goes on from a file has its bits."""
    files = [tmp_path / name for name in ("whole.json", "resumed.json")]
    words = ("model ", "weights normal", "delays of 1 to 20 steps", "weighted input Poisson")
    for path, more in zip(files, ((), ("--resume", "cpu", "cpu", "cpu")), strict=True):
        done = script(*words, "-o", path, "--jobs", "2", "--dtype", "float64", *more)
        assert done.returncode == 0, done.stdout + done.stderr
    equal = script("--compare", *files)
    assert equal.returncode == 0, equal.stdout
    assert " 0 differences" in equal.stdout
    assert len(json.loads(files[0].read_text())["digests"]) > 40


def test_a_case_that_fails_is_told(tmp_path: Path) -> None:
    """The others are run all the same, and the script does not pass."""
    path = tmp_path / "file.json"
    done = script("model LeakyIAFDelta", "-o", path, "--threads", "2000")
    assert done.returncode == 1
    assert "model LeakyIAFDelta, float32: failed: NeurodriverError: threads must be" in done.stdout
    data = json.loads(path.read_text())
    assert len(data["failed"]) == 4 and not data["digests"]


def test_every_name_is_listed_once(zoo: Any) -> None:
    """Every shipped model is in the zoo: `cases` raises where one is missing."""
    names = [case.name for case in zoo.cases()]
    assert len(names) == len(set(names)) > 200


@pytest.mark.parametrize(
    "data",
    [
        np.full((20, 30), 3.0),
        np.full((20, 30), np.nan),
        np.empty((0, 30)),
        {"time": np.array([]), "index": np.array([], np.int32)},
        {"time": np.zeros(30), "index": np.arange(30)},
    ],
)
def test_what_stands_still_is_refused(zoo: Any, data: Any) -> None:
    """A digest of values that never change would show nothing."""
    from zoo.case import Case, How, digests

    with pytest.raises(RuntimeError, match="'V' is still"):
        digests(Case("quiet", lambda how: {"V": (data, 30)}), How())


def test_a_digest_is_of_type_shape_and_bytes(zoo: Any) -> None:
    """Equal bytes of another type or shape have another digest; equal arrays the same."""
    from zoo.case import digest

    values = np.arange(12.0)
    others = [values.view(np.int64), values.reshape(3, 4), values + 1e-15, -values]
    others.append({"time": values, "index": np.arange(12, dtype=np.int32)})
    found = [digest(one) for one in (values, *others)]
    assert len(set(found)) == len(found)
    assert digest(values.reshape(3, 4)) == digest(values.reshape(4, 3).reshape(3, 4).copy())


def test_two_threads_both_work(zoo: Any) -> None:
    """Circuits of the zoo have work for more than one thread."""
    from zoo import networks, weighted

    from neurodriver import LPU

    for circuit in (networks.spiking(20), weighted.network("LeakyIAFDelta")):
        with LPU(circuit, 1e-4, threads=2, backend="cpu") as lpu:
            lpu.run(steps=20)
            assert min(lpu.backend.worked()) > 0
