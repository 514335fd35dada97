"""A run that is saved and goes on elsewhere has the bits of one that was never interrupted.

``NEURODRIVER_TEST_KILLS`` says how often a run with checkpoints is killed (four times by default).
"""

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
from test_live import COUNT, DT, data, drive, network, simulated

import neurodriver as nd
from neurodriver.errors import CircuitWarning
from neurodriver.plan.arrays import ReceptorOwner

KILLS = int(os.environ.get("NEURODRIVER_TEST_KILLS", "4"))
WANTED = [("V", None), ("g", None), ("spike_state", None)]


def whole(steps: int = 200, **options: Any) -> dict[str, Any]:
    """What a run without interruption records."""
    with simulated(network(), **options) as lpu:
        lpu.run(steps)
        return {name: data(lpu, name) for name, _ in WANTED}


def assert_tail(recorder: nd.MemoryRecorder, expected: dict[str, Any], first: int) -> None:
    """The recording has the rows and events of another one from a step on."""
    for name in ("V", "g"):
        assert np.array_equal(recorder.get(name), expected[name][first:])
    later = expected["spike_state"]["time"] >= (first - 0.5) * DT
    assert later.any()
    for part in ("time", "index"):
        assert np.array_equal(
            recorder.get("spike_state")[part], expected["spike_state"][part][later]
        )


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_checkpoint_goes_on_with_equal_bits(tmp_path: Path, dtype: str) -> None:
    """Other threads, other plans; the restored LPU can be saved again."""
    expected = whole(dtype=dtype)
    with simulated(network(), dtype=dtype, threads=1) as lpu:
        lpu.run(83)
        lpu.save(tmp_path / "a.h5")
    with nd.LPU.restore(tmp_path / "a.h5", drive(), [], threads=3) as lpu:
        assert lpu.step == 83 and lpu.time == pytest.approx(83 * DT)
        lpu.run(40)
        lpu.save(tmp_path / "a.h5")
    recorder = nd.MemoryRecorder(WANTED)
    with nd.LPU.restore(tmp_path / "a.h5", drive(), [recorder], plans=False, threads=2) as lpu:
        lpu.run(77)
    assert_tail(recorder, expected, 123)


def test_what_was_set_is_saved(tmp_path: Path) -> None:
    """Parameters and states that were set go on in the restored run."""
    gmax = np.linspace(4.0, 1.0, COUNT)
    recorder = nd.MemoryRecorder(WANTED)
    with simulated(network()) as lpu:
        lpu.run(60)
        lpu.set("gmax", gmax)
        lpu.set("st", 2.5)
        lpu["s1"].s = 0.5
        lpu.save(tmp_path / "set.h5")
        lpu.run(60)
        expected = {name: data(lpu, name) for name, _ in WANTED}
    with nd.LPU.restore(tmp_path / "set.h5", drive(), [recorder]) as lpu:
        assert np.array_equal(lpu.get("gmax"), gmax) and set(lpu.get("st")) == {2.5}
        lpu.run(60)
    assert_tail(recorder, expected, 60)


def test_a_reset_begins_again() -> None:
    """After reset() the same bits come once more; what is kept stays."""
    expected = whole(100)
    with simulated(network()) as lpu:
        lpu.set("gmax", 9.0)
        lpu.run(70)
        lpu.reset()
        assert lpu.step == 0 and lpu.get("gmax").max() == 2.0
        lpu.run(100)
        assert np.array_equal(data(lpu, "V"), expected["V"])
        assert np.array_equal(data(lpu, "g"), expected["g"])
        lpu.set("gmax", 9.0)
        lpu.reset(keep=["parameters"])
        assert lpu.step == 0 and set(lpu.get("gmax")) == {9.0}
        with pytest.raises(nd.NeurodriverError, match="'parameters', 'weights'"):
            lpu.reset(keep=["wieghts"])


def test_a_checkpoint_is_a_circuit_file(tmp_path: Path) -> None:
    """What reads circuits reads the circuit of a checkpoint."""
    with simulated(network()) as lpu:
        lpu.run(5)
        lpu.save(tmp_path / "c.h5")
    assert nd.Circuit.from_file(tmp_path / "c.h5").digest == network().digest


def test_damage_is_told(tmp_path: Path) -> None:
    """A changed byte, a circuit file, another version, other inputs."""
    path = tmp_path / "c.h5"
    with simulated(network()) as lpu:
        lpu.run(50)
        lpu.save(path)
    good = path.read_bytes()
    with pytest.warns(CircuitWarning, match="StepInput: I into 37 components; now they are: noth"):
        nd.LPU.restore(path).close()
    with pytest.raises(nd.NeurodriverError, match="dt: stay"):
        nd.LPU.restore(path, dt=1e-3)
    with h5py.File(path, "r+") as file:
        file["state/groups/0/rows/V"][0, 3] += 1e-9
    with pytest.raises(nd.NeurodriverError, match="differs from its digest"):
        nd.LPU.restore(path, drive())
    path.write_bytes(good)
    with h5py.File(path, "r+") as file:
        file["state"].attrs["version"] = 99
    with pytest.raises(nd.NeurodriverError, match="version 99"):
        nd.LPU.restore(path, drive())
    network().save(path)
    with pytest.raises(nd.NeurodriverError, match="no checkpoint"):
        nd.LPU.restore(path, drive())
    path.write_bytes(good[: len(good) // 2])
    with pytest.raises(nd.NeurodriverError, match=r"not a whole HDF5 file|damaged"):
        nd.LPU.restore(path, drive())
    with pytest.raises(nd.NeurodriverError, match="no such file"):
        nd.LPU.restore(tmp_path / "none.h5", drive())


def test_arrivals_in_a_calendar_are_saved(tmp_path: Path) -> None:
    """So many targets and spikes that arrivals of later steps wait in the calendars of threads."""
    count = 40_000
    cell = {
        "resting_potential": -65.0, "threshold": -50.0, "reset_potential": -65.0,
        "time_constant": 10.0, "capacitance": 250.0, "tau_exc": 0.5, "tau_inh": 0.5,
    }  # fmt: skip
    cells = nd.Population("LeakyIAFExpCurrent", count, initV=nd.Uniform(-65.0, -50.0), **cell)
    loop = nd.Projection(cells, cells, nd.FixedInDegree(12), receptor="exc", weight=20.0,
                         delay=nd.Uniform(1e-4, 2e-3))  # fmt: skip
    circuit = nd.Circuit([cells], [loop], seed=3)
    current = nd.StepInput("I", cells, 900.0)
    with nd.LPU(circuit, DT, current, threads=2, backend="cpu") as lpu:
        (gather,) = (g for g in lpu.program.gathers.values() if g.form == "fanout")
        assert "calendar" in gather.blanks
        lpu.run(60)
        key = gather.key(ReceptorOwner(0, "exc"), "calendar")
        assert lpu.backend.array(key).any()  # some have passed through it
        lpu.save(tmp_path / "c.h5")
        lpu.run(30)
        expected = lpu.get("V")
    with nd.LPU.restore(tmp_path / "c.h5", current, threads=3, backend="cpu") as lpu:
        lpu.run(30)
        assert np.array_equal(lpu.get("V"), expected) and np.ptp(expected) > 5


class Pressed(nd.Input):
    """Nothing is injected, but Ctrl-C is pressed in some of the steps."""

    per_step = True

    def __init__(self, steps: set[int]) -> None:
        super().__init__([("I", ["LeakyIAF/0"])])
        self.steps = steps

    def chunk(self, number: int, first: int, steps: int) -> nd.inputs.base.Chunk:
        if first in self.steps:
            self.steps.remove(first)
            os.kill(os.getpid(), signal.SIGINT)
        rows = np.full(steps, -1, np.int32)
        return nd.inputs.base.Chunk(np.zeros((0, 1), self.dtype), rows)


def test_an_interrupt_ends_at_a_step_and_the_run_goes_on() -> None:
    """Ctrl-C closes the recordings after a whole step; the next run goes on from there."""
    expected, recorder = (nd.MemoryRecorder([("V", None)]) for _ in range(2))
    with nd.LPU(network(), DT, [*drive(), Pressed(set())], [expected]) as lpu:
        lpu.run(100)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with nd.LPU(network(), DT, [*drive(), Pressed({0, 30, 31})], [recorder]) as lpu:
            for ended in (1, 31, 32):
                with pytest.raises(KeyboardInterrupt):
                    lpu.run(100 - lpu.step)
                assert lpu.step == ended == len(recorder.get("V"))
            lpu.run(100 - lpu.step)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert np.array_equal(recorder.get("V"), expected.get("V"))


ENDLESS = """
import sys
import test_live
with test_live.simulated(test_live.network()) as lpu:
    while True:
        lpu.run(7)
        lpu.save(sys.argv[1])
        print(lpu.step, flush=True)
"""


@pytest.mark.parametrize("lines", [1, 2, 5, 9])
def test_a_kill_leaves_a_whole_checkpoint(tmp_path: Path, lines: int) -> None:
    """A process that saves all the time is killed; what is there goes on with equal bits."""
    path = tmp_path / "killed.h5"
    folder = str(Path(__file__).parent)
    paths = os.pathsep.join([folder, str(Path(folder).parent), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": paths}
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS, str(path)], stdout=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout is not None
        seen = [int(process.stdout.readline()) for _ in range(lines)]
        process.kill()
    recorder = nd.MemoryRecorder(WANTED)
    with nd.LPU.restore(path, drive(), [recorder]) as lpu:
        first = lpu.step
        assert first >= seen[-1]
        lpu.run(60)
    assert_tail(recorder, whole(first + 60), first)


def command(*given: object) -> subprocess.Popen[str]:
    """Start ``neurodriver run`` on a circuit."""
    words = [sys.executable, "-m", "neurodriver", "run", *map(str, given)]
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(words, **pipes)


def wait_for_a_save(process: subprocess.Popen[str], path: Path) -> None:
    """Return when a program has written its checkpoint anew, or has ended."""
    before = path.stat().st_mtime_ns if path.exists() else 0
    while process.poll() is None and (not path.exists() or path.stat().st_mtime_ns == before):
        time.sleep(0.005)


def test_a_killed_command_is_resumed_without_a_seam(tmp_path: Path) -> None:
    """The recording of a run that is killed several times is that of a run without interruption."""
    network().save(tmp_path / "c.h5")
    with h5py.File(tmp_path / "i.h5", "w") as file:
        file["I/uids"] = np.array([f"LeakyIAF/{i}".encode() for i in range(COUNT)])
        file["I/data"] = np.full((1, COUNT), 400.0)
    steps = 500_000 * KILLS
    line = [tmp_path / "c.h5", "--dt", DT, "--duration", steps * DT, "-i", tmp_path / "i.h5"]
    line += ["--input-mode", "repeat", "--sample-interval", 500, "--threads", 1]
    with command(*line, "-o", tmp_path / "whole.h5") as process:
        assert process.wait() == 0
    rng = np.random.default_rng(0)
    line += ["-o", tmp_path / "parts.h5", "--checkpoint", "0.05s", "--resume"]
    kills, said, ended = 0, "", False
    while not ended:
        with command(*line) as process:
            try:
                if kills < KILLS:
                    wait_for_a_save(process, tmp_path / "parts.checkpoint.h5")
                limit = rng.uniform(0.0, 0.2) if kills < KILLS else None
                said, _ = process.communicate(timeout=limit)
                ended = True
            except subprocess.TimeoutExpired:
                process.kill()
                kills += 1
    assert kills >= KILLS / 2 and process.returncode == 0, said
    with (
        nd.open_recording(tmp_path / "whole.h5") as a,
        nd.open_recording(tmp_path / "parts.h5") as b,
    ):
        assert b.complete and np.array_equal(a["V"][:], b["V"][:]) and np.ptp(a["V"][:]) > 0
        assert np.array_equal(a.time("V"), b.time("V"))
        for x, y in zip(a.events(), b.events(), strict=True):
            assert np.array_equal(x, y) and len(x) > 300
    with command(*line) as process:  # nothing is left to do
        said, _ = process.communicate()
        assert process.returncode == 0 and f"goes on at step {steps:,}" in said
    line[line.index("--duration") + 1] = 1.0
    with command(*line) as process:
        said, _ = process.communicate()
        assert process.returncode != 0 and "asks for 10,000" in said
    with command(*line[:-2], "60x") as process:
        said, _ = process.communicate()
        assert process.returncode != 0 and "60s, 5min or 2h" in said


@pytest.mark.parametrize("after", [0, 1])
def test_a_recording_is_cut_at_the_step_of_the_checkpoint(tmp_path: Path, after: int) -> None:
    """Events of the checkpoint's own step are dropped; those of the step before it are kept."""
    with simulated(network()) as lpu:
        lpu.run(200)
        steps = np.rint(data(lpu, "spike_state")["time"] / DT).astype(int)
    cut = int(steps[len(steps) // 2]) + after
    assert (steps < cut).any() and (steps > cut).any()

    def recorded(name: str) -> nd.LPU:
        wanted = [("V", None), ("spike_state", None)]
        files = [nd.HDF5Recorder(tmp_path / name, wanted, overwrite=True)]
        return nd.LPU(network(), DT, drive(), files)

    with recorded("whole.h5") as lpu:
        lpu.run(200)
    with recorded("parts.h5") as lpu:
        lpu.run(cut)
        lpu.save(tmp_path / "c.h5")
        lpu.run(170 - cut)
    with recorded("parts.h5") as lpu:
        lpu.resume(tmp_path / "c.h5")
        lpu.run(200 - cut)
    with (
        nd.open_recording(tmp_path / "whole.h5") as a,
        nd.open_recording(tmp_path / "parts.h5") as b,
    ):
        assert np.array_equal(a["V"][:], b["V"][:]) and len(b["V"][:]) == 200
        for x, y in zip(a.events(), b.events(), strict=True):
            assert np.array_equal(x, y)
