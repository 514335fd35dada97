"""Runs whose model does not end its 12th step, and Ctrl-C while they do: ``endless.py``.

Prints what each of them says, and the seconds from Ctrl-C until then. At last a run goes on in the
background when the program ends.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import neurodriver as nd


class Endless(nd.NDComponent):
    """Counts its steps, and does not end the 12th."""

    accesses = ("I",)
    updates = ("V",)
    states = {"V": nd.State("mV", 0.0), "n": nd.State("", 0.0)}
    update = """
        n += 1;
        while (n > 12) n += 1e-9 * (n < 1e9) + (n > 1e9 ? -1e9 : 0);
        V = n;
    """


def circuit() -> nd.Circuit:
    """Return two shares of components."""
    return nd.Circuit.from_arrays([(Endless, 300, {}, [f"n{i}" for i in range(300)])])


def run_again(said: str, **options: int) -> None:
    """Run an LPU, and once more after Ctrl-C; print what that says."""
    with nd.LPU(circuit(), 1e-3, **options) as lpu:
        try:
            lpu.run(100)
        except KeyboardInterrupt:
            try:
                lpu.run(1)
            except nd.NeurodriverError as error:
                print(f"{said}:", error)
            raise


def parted() -> None:
    """Run an LPU in two parts, of which one does not end its step."""
    run_again("parted_again", parts=2)


class Slow(nd.UserInput):
    """Does not return from Python at a step."""

    def __init__(self) -> None:
        super().__init__([("I", ["n0"])])

    def update_input(self) -> None:
        while self.lpu.step > 5:
            time.sleep(1e-3)


def alone() -> None:
    """Run an LPU on two threads."""
    run_again("again", threads=2)


def batch() -> None:
    """Run copies."""
    with nd.LPU(circuit(), 1e-3, batch=nd.Batch(3), threads=2) as lpu:
        lpu.run(100)


def managed() -> None:
    """Run an LPU of a Manager, in a thread of its own."""
    man = nd.Manager(threads=2)
    man.add(nd.LPU, "a", circuit(), 1e-3)
    man.spawn()
    man.start(100)
    man.wait()


def in_python() -> None:
    """Run an input that does not return."""
    with nd.LPU(circuit(), 1e-3, [Slow()]) as lpu:
        lpu.run(10)


def within() -> bool:
    """Whether a thread is in compiled code, or in the input that does not return."""
    places = [(Path(f.f_code.co_filename).parent.name, f.f_code.co_name)
              for f in sys._current_frames().values()]  # fmt: skip
    return ("cpu", "run") in places or ("reliability", "update_input") in places


def wait_until_within() -> None:
    """Wait until a run is where it does not end."""
    seen = 0
    while seen < 20:
        time.sleep(0.01)
        seen = seen + 1 if within() else 0


def press(begun: list[float]) -> None:
    """Press Ctrl-C once a run is where it does not end."""
    wait_until_within()
    begun.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)


def main(*each: Callable[[], None]) -> None:
    """Interrupt each of them."""
    nd.LPU(circuit(), 1e-3).close()  # what is compiled now is in the cache later
    for work in each:
        begun: list[float] = []
        threading.Thread(target=press, args=[begun]).start()
        try:
            work()
        except KeyboardInterrupt as error:
            print(f"{work.__name__}: {time.monotonic() - begun[0]:.2f} s: {error}", flush=True)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    man = nd.Manager()
    man.add(nd.LPU, "a", circuit(), 1e-3)
    man.spawn()
    man.start(100)
    wait_until_within()


if __name__ == "__main__":
    main(alone, batch, managed, parted, in_python)
