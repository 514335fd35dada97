"""``progress=True`` shows a bar; a function gets the steps; anything else is refused."""

from __future__ import annotations

import math
from typing import Any

import pytest
from support import IAF, build, node

import neurodriver as nd
from neurodriver.run import progress as module
from neurodriver.run.progress import StepBar, step_progress

DT, STEPS = 1e-4, 500


def lpu(*inputs: nd.Input) -> nd.LPU:
    return nd.LPU(build({"a": node("LeakyIAF", IAF)}), DT, list(inputs))


class Bars(list[StepBar]):
    """All bars that are made."""

    @property
    def ended(self) -> list[bool]:
        return [bool(one.bar.disable) for one in self]  # tqdm disables a bar that is closed


@pytest.fixture
def bars(monkeypatch: pytest.MonkeyPatch) -> Bars:
    made = Bars()

    class Kept(StepBar):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            made.append(self)

    monkeypatch.setattr(module, "StepBar", Kept)
    return made


def test_a_bar(bars: Bars, capsys: pytest.CaptureFixture[str]) -> None:
    """It counts all steps, says how fast they are, and is closed at the end."""
    with lpu() as one:
        one.run(duration=STEPS * DT, progress=True)
    assert [(b.bar.total, b.done) for b in bars] == [(STEPS, STEPS)] and bars.ended == [True]
    said = capsys.readouterr()
    assert "100%" in said.err and "500/500 steps, 0.05 s" in said.err and not said.out
    assert "x real time" in said.err


def test_functions_and_nothing(bars: Bars, capsys: pytest.CaptureFixture[str]) -> None:
    """A function is called as it is; None and False are silent."""
    done: list[int] = []
    for progress in (done.append, None, False):
        with lpu() as one:
            one.run(steps=STEPS, progress=progress)
    assert sum(done) == STEPS and not bars and capsys.readouterr().err == ""
    bar = StepBar(STEPS, DT)  # of the user, who closes it
    with lpu() as one:
        one.run(steps=STEPS, progress=bar)
    assert bar.done == STEPS and not bar.bar.disable
    bar.close()


@pytest.mark.parametrize("wrong", ["yes", 1, 0, [], math.nan])
def test_wrong(wrong: Any) -> None:
    """Neither a switch nor a function: refused before the run begins, here and by a Manager."""
    with lpu() as one:
        with pytest.raises(nd.NeurodriverError, match="progress must be True, False, or a func"):
            one.run(steps=STEPS, progress=wrong)
        assert one.step == 0
    man = nd.Manager()
    man.add(nd.LPU, "a", one.circuit, DT)
    with pytest.raises(nd.NeurodriverError, match="progress must be True, False, or a func"):
        man.start(steps=STEPS, progress=wrong)
    man.start(steps=STEPS)
    man.wait()


def test_the_bar_of_a_run_that_fails(bars: Bars) -> None:
    """It is closed, too."""

    class Fails(nd.UserInput):
        def update_input(self) -> None:
            if self.lpu.step > 50:
                raise RuntimeError("mine")

    with lpu(Fails([("I", ["a"])])) as one, pytest.raises(Exception, match="mine"):
        one.run(steps=STEPS, progress=True)
    assert bars.ended == [True] and 0 < bars[0].done < STEPS


def test_managers(bars: Bars) -> None:
    """A Manager shows a bar for all its LPUs."""
    man = nd.Manager()
    for name in "ab":
        man.add(nd.LPU, name, build({"a": node("LeakyIAF", IAF)}), DT)
    man.start(steps=STEPS, progress=True)
    man.wait()
    assert [b.done for b in bars] == [STEPS] and bars.ended == [True]


def test_a_run_without_end() -> None:
    """A bar of unknown length counts."""
    bar = step_progress(True, None, DT)
    assert isinstance(bar, StepBar)
    bar(70)
    assert bar.done == 70 and "70" in str(bar.bar)
    bar.close()
