"""Phases, ranges, tables and traces of a profile, with a clock that the test turns."""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from neurodriver.errors import NeurodriverError
from neurodriver.profiling import phases, trace
from neurodriver.profiling.measured import Measured, Row, Traffic
from neurodriver.profiling.phases import OFF, Event, Profile, current, phased
from neurodriver.profiling.report import amount, duration


class Clock:
    """Seconds that pass only when told so."""

    now = 1000.0

    def pass_(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Return the clock that profiles look at."""
    made = Clock()
    clocks = SimpleNamespace(perf_counter=lambda: made.now, time=time.time)
    monkeypatch.setattr(phases, "time", clocks)
    return made


def seconds(profile: Profile) -> dict[tuple[str, ...], tuple[float, int]]:
    """Return seconds and passes of each phase."""
    return {path: (round(s.seconds, 9), s.passes) for path, s in profile.spent.items()}


def test_phases_inside_each_other(clock: Clock) -> None:
    """A phase has its own time and that of the phases inside; the table ends with the rest."""
    with Profile() as profile:
        for _ in range(2):
            with profile.phase("outer"):
                clock.pass_(0.5)
                with profile.phase("inner"):
                    clock.pass_(0.25)
        clock.pass_(1.0)
        with profile.phase("inner"), pytest.raises(ZeroDivisionError), profile.phase("fails"):
            clock.pass_(0.5)
            raise ZeroDivisionError
        with profile.phase("writes", beside=True):
            clock.pass_(0.25)
    assert seconds(profile) == {
        ("outer",): (1.5, 2),
        ("outer", "inner"): (0.5, 2),
        ("inner",): (0.5, 1),
        ("inner", "fails"): (0.5, 1),
        ("writes",): (0.25, 1),
    }
    assert profile.total == pytest.approx(3.25)
    lines = [line.split() for line in profile.report().splitlines()]
    assert ["outer", "1.5", "s", "46.2", "%", "2"] in lines
    assert ["everything", "else", "1.25", "s", "38.5", "%"] in lines  # what is beside counts not
    assert lines[-1] == ["together", "3.25", "s", "100.0", "%"]


def test_the_table_is_a_tree(clock: Clock) -> None:
    """A phase stands below the one around it, also when it came late."""
    with Profile() as profile:
        for late in (False, True):
            with profile.phase("a"):
                if late:
                    with profile.phase("inside a"):
                        clock.pass_(1.0)
            with profile.phase("b"):
                clock.pass_(1.0)
    names = [line.split("  ")[0] or line[:10] for line in profile.report().splitlines()]
    assert names == ["phase", "a", "  inside a", "b", "everything else", "together"]


def test_threads_have_phases_of_their_own(clock: Clock) -> None:
    """A phase of another thread is not inside the one that this thread is in."""
    with Profile(trace=True) as profile, profile.phase("here"):
        clock.pass_(1.0)

        def work() -> None:
            with profile.phase("there", beside=True):
                clock.pass_(2.0)

        thread = threading.Thread(target=work, name="helper")
        thread.start()
        thread.join()
    assert seconds(profile) == {("here",): (3.0, 1), ("there",): (2.0, 1)}
    assert {(e.name, e.thread) for e in profile.events} == {
        ("there", "helper"),
        ("here", threading.current_thread().name),
    }


def test_off_outside() -> None:
    """Outside a profile nothing is measured, and a decorated function is as it was."""

    @phased("work")
    def work(x: int) -> int:
        return x + 1

    assert current() is OFF and work(1) == 2
    with Profile() as profile:
        assert current() is profile and work(x=2) == 3
    assert current() is OFF and work(3) == 4
    assert profile.spent["work",].passes == 1


def test_ranges_for_nvidia(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the package is installed every phase is a range, closed whatever happens."""
    said: list[Any] = []
    fake = SimpleNamespace(
        push_range=lambda name, domain: said.append((name, domain)),
        pop_range=lambda domain: said.append(domain),
    )
    monkeypatch.setitem(sys.modules, "nvtx", fake)
    with Profile() as profile, pytest.raises(ValueError), profile.phase("a"):
        with profile.phase("b"):
            pass
        raise ValueError
    d = "neurodriver"
    assert said == [("a", d), ("b", d), d, d]
    monkeypatch.setitem(sys.modules, "nvtx", None)  # not installed
    with Profile() as profile, profile.phase("a"):
        pass
    assert profile.spent["a",].passes == 1 and len(said) == 4


def test_kernels_in_the_table() -> None:
    """Bandwidth is bytes a step times steps over the mean time of the threads."""
    rows = [
        Row("A", 2.0, 1000, Traffic(3_000_000, 1_000_000)),
        Row("B+C", 1.0, 7, Traffic(500, 500, 400)),
        Row("barrier", 1.0),
    ]
    measured = Measured(threads=2, steps=1000, rows=rows, peak=16e9)
    assert measured.bandwidth(rows[0]) == 4e6 * 1000 / 1.0
    assert measured.kernels == rows[:2] and measured.seconds == 4.0
    with Profile() as profile:
        profile.measured.append(measured)
    lines = [line.split() for line in profile.report().splitlines()]
    kernel = "A 1,000 1 s 50.0 % 1 ms 4 MB 4 GB/s 25.0 %"
    assert kernel.split() in lines
    assert "B+C 7 500 ms 25.0 % 500 us <= 1 kB <= 2 MB/s <= 0.0 %".split() in lines
    assert "barrier 500 ms 25.0 % 500 us".split() in lines
    assert "1,000 steps" in profile.report() and "16 GB/s" in profile.report()


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0 ns"), (2.5e-8, "25 ns"), (1.5e-6, "1.5 us"), (0.25, "250 ms"), (12345.0, "12,345 s")],
)
def test_durations(value: float, text: str) -> None:
    """Seconds get a unit that suits them."""
    assert duration(value) == text


def test_amounts() -> None:
    """Bytes get a decimal prefix."""
    assert [amount(v) + "B" for v in (0, 999, 1000, 2.5e6, 3e10)] == [
        "0 B", "999 B", "1 kB", "2.5 MB", "30 GB",
    ]  # fmt: skip


def test_trace_of_two_processes(tmp_path: Path) -> None:
    """Times count from the first event of all; processes that began at other times are aligned."""
    one = trace.ProcessTrace(1e9, [Event("late", "Main", 5.0, 6.0), Event("a", "w", 5.5, 5.75)], 2)
    other = trace.ProcessTrace(1e9 + 1.0, [Event("early", "Main", 3.0, 3.5)], 1)
    trace.write(tmp_path / "t.json", [one, other])
    read = json.loads((tmp_path / "t.json").read_text())
    whole = [e for e in read["traceEvents"] if e["ph"] == "X"]
    assert [(e["name"], e["pid"], e["tid"], e["ts"], e["dur"]) for e in whole] == [
        ("late", 0, 0, 1e6, 1e6),
        ("a", 0, 1, 1.5e6, 0.25e6),
        ("early", 1, 0, 0.0, 0.5e6),
    ]
    names = {(e["pid"], e["tid"], e["args"]["name"]) for e in read["traceEvents"] if e["ph"] == "M"}
    assert names == {
        (0, 0, "rank 0"), (0, 0, "Main"), (0, 1, "w"), (1, 0, "rank 1"), (1, 0, "Main"),
    }  # fmt: skip
    assert read["otherData"] == {"events lost": 3}


def test_a_trace_ends_somewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A long run keeps the first events and says how many are missing; the table has all."""
    monkeypatch.setattr(phases, "MOST_EVENTS", 5)
    with Profile(trace=True) as profile:
        for _ in range(8):
            with profile.phase("a"):
                pass
    profile.write_trace(tmp_path / "t.json")
    read = json.loads((tmp_path / "t.json").read_text())
    assert sum(e["ph"] == "X" for e in read["traceEvents"]) == 5
    assert read["otherData"]["events lost"] == 3 and profile.spent["a",].passes == 8


def test_traces_that_cannot_be_written(tmp_path: Path) -> None:
    """What is wrong with the file is told with what to do; without one nothing is kept."""
    with Profile() as profile, profile.phase("a"):
        pass
    assert profile.events == []
    with pytest.raises(NeurodriverError, match="is a folder"):
        trace.check(tmp_path)
    with pytest.raises(NeurodriverError, match=r"there is no folder .*missing; make it first"):
        trace.check(tmp_path / "missing" / "t.json")
    with pytest.raises(NeurodriverError, match=r"t.json: cannot be written: No such file"):
        profile.write_trace(tmp_path / "missing" / "t.json")
